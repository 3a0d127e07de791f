//! A file without a name that grows at its end, and whose bytes are read where they lie: the system keeps them in memory as
//! long as it has room for them, and nothing is left of them when nobody reads them any longer, however the process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};

/// Where each piece begins: columns of any type are read there without a copy.
const ALIGNMENT: u64 = 64;
/// How much is mapped at once, at least. A process may have no more than some 65,000 mappings, and address space is plenty.
const REGION_BYTES: u64 = 64 << 20;

/// Bytes that are written once, and read as memory.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    end: u64,
    /// The part of the file that the last piece is in.
    region: Option<Region>,
}

/// A part of the file as memory: it may reach behind the file's end, where nobody may read.
#[derive(Debug, Clone)]
struct Region {
    map: Arc<MmapRaw>,
    start: u64,
}

/// A piece that was written.
struct Piece {
    map: Arc<MmapRaw>,
    offset: usize,
    length: usize,
}

impl MappedFile {
    /// An empty one on the disk of a folder.
    ///
    /// # Errors
    /// When it cannot be made there.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(folder)?, end: 0, region: None })
    }

    /// Writes a piece at the end, which is these parts one behind the other, and gives it back as it lies in the file.
    ///
    /// # Errors
    /// When there is no room on the disk, or the file cannot be mapped.
    pub fn append<P: AsRef<[u8]>>(&mut self, parts: impl IntoIterator<Item = P>) -> io::Result<Bytes> {
        let at = self.end.next_multiple_of(ALIGNMENT);
        let mut end = at;
        for part in parts {
            self.file.write_all_at(part.as_ref(), end)?;
            end += part.as_ref().len() as u64;
        }
        self.end = end;
        let region = match &self.region {
            Some(region) if end <= region.start + region.map.len() as u64 => region.clone(),
            _ => self.region.insert(Region::map(&self.file, at, end - at)?).clone(),
        };
        let in_memory = |bytes| usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
        let (offset, length) = (in_memory(at - region.start)?, in_memory(end - at)?);
        Ok(Bytes::from_owner(Piece { map: region.map, offset, length }))
    }

    /// What was read of the last pieces leaves the memory of the process: it comes back from the file when it is read again.
    #[expect(
        unsafe_code,
        reason = "of a mapping that is shared with a file nothing is lost by this: who reads there next finds the same bytes"
    )]
    pub fn let_go(&self) {
        if let Some(Region { map, .. }) = &self.region {
            // Where it is refused it stays there a while longer.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

impl Region {
    fn map(file: &File, start: u64, at_least: u64) -> io::Result<Self> {
        let length = usize::try_from(at_least.max(REGION_BYTES)).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let map = MmapOptions::new().offset(start).len(length).map_raw_read_only(file.as_raw_fd())?;
        Ok(Self { map: Arc::new(map), start })
    }
}

/// Who has read a piece for the last time leaves nothing of it in the memory of the process, though others lie beside it.
impl Drop for Piece {
    #[expect(
        unsafe_code,
        reason = "of a mapping that is shared with a file nothing is lost by this: who reads in the same pages finds the same bytes"
    )]
    fn drop(&mut self) {
        // Where it is refused it stays there a while longer.
        let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.offset, self.length) };
    }
}

impl AsRef<[u8]> for Piece {
    #[expect(
        unsafe_code,
        reason = "the piece was written before it was given out, so it lies before the file's end, within what is mapped \
                  as long as `map` lives; nobody writes there again, since the file has no name and only grows"
    )]
    fn as_ref(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(self.offset), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of all lengths, also longer than what is mapped at once, outlive the file.
    #[test]
    fn pieces_are_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = MappedFile::new_in(folder.path()).unwrap();
        let lengths = [0, 1, 63, 64, 65, 4_097, 3 << 20, 70 << 20, 5];
        let written: Vec<Vec<u8>> = lengths.iter().zip(1_u8..).map(|(length, byte)| vec![byte; *length]).collect();
        let pieces: Vec<Bytes> = written.iter().map(|bytes| file.append(bytes.chunks(1 << 20)).unwrap()).collect();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        file.let_go();
        drop(file);
        assert!(pieces == written);
        assert!(pieces.iter().all(|piece| piece.as_ptr().addr().is_multiple_of(64)));
    }

    #[test]
    fn a_folder_that_is_gone_is_an_error() {
        assert!(MappedFile::new_in(Path::new("/nonexistent")).is_err());
    }
}
