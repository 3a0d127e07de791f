//! Rows that come in no order on their way into files of the engine: sorted some megabytes at a time into *runs*, files of their
//! own without a name, which are merged when the last row has come.
//!
//! Given to the engine as they are, the runs would lie over each other among its files, and it would merge them with all that
//! is beside them, several times. One file that overlaps no other is moved down its levels instead.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Of each run so much is read at a time: some hundred runs are merged in as many tens of megabytes.
const BUFFER_BYTES: usize = 128 << 10;

/// The runs of one table, in the order in which they came.
#[derive(Default)]
pub(super) struct SortedRuns {
    files: Vec<File>,
    bytes: u64,
}

impl SortedRuns {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What they take on the disk.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a run: `fill` gives its keys and rows, in the order of the keys, each key once. A folder on the disk that has room
    /// for them.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn add(
        &mut self,
        folder: &Path,
        fill: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile_in(folder)?);
        fill(&mut |key, row| {
            for part in [key, row] {
                let length = u32::try_from(part.len()).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
                file.write_all(&length.to_le_bytes())?;
            }
            file.write_all(key)?;
            file.write_all(row)
        })?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.bytes += file.stream_position()?;
        file.seek(SeekFrom::Start(0))?;
        self.files.push(file);
        Ok(())
    }

    /// Gives all of them in the order of their keys; of rows with one key that of the last run.
    ///
    /// # Errors
    /// Those of `put`, and what the disk says.
    pub(super) fn merge<E: From<io::Error>>(self, mut put: impl FnMut(&[u8], &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut next = BinaryHeap::with_capacity(self.files.len());
        for (number, file) in self.files.into_iter().enumerate() {
            let file = BufReader::with_capacity(BUFFER_BYTES, file);
            let mut head = Head { key: Vec::new(), row: Vec::new(), number, file };
            if head.advance()? {
                next.push(Reverse(head));
            }
        }
        let mut last: Option<Vec<u8>> = None;
        while let Some(mut least) = next.peek_mut() {
            let Reverse(head) = &mut *least;
            if last.as_ref() != Some(&head.key) {
                put(&head.key, &head.row)?;
                let key = last.get_or_insert_default();
                key.clear();
                key.extend_from_slice(&head.key);
            }
            if !head.advance()? {
                PeekMut::pop(least);
            }
        }
        Ok(())
    }
}

/// The first row that is left of a run.
struct Head {
    key: Vec<u8>,
    row: Vec<u8>,
    /// Of the run: a later one has newer rows.
    number: usize,
    file: BufReader<File>,
}

impl Head {
    /// Reads the next row; false at the end of the run.
    fn advance(&mut self) -> io::Result<bool> {
        let mut lengths = [0; 8];
        match self.file.read_exact(&mut lengths) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        let [a, b, c, d, e, f, g, h] = lengths;
        for (part, length) in [(&mut self.key, [a, b, c, d]), (&mut self.row, [e, f, g, h])] {
            part.resize(u32::from_le_bytes(length) as usize, 0);
            self.file.read_exact(part)?;
        }
        Ok(true)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_and_the_last_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = SortedRuns::default();
        let long = "x".repeat(3 * BUFFER_BYTES);
        for run in [vec![("b", "1"), ("d", "1")], vec![], vec![("a", "2"), ("b", "2"), ("e", &long)], vec![("b", "3")]]
        {
            runs.add(folder.path(), |put| run.iter().try_for_each(|(key, row)| put(key.as_bytes(), row.as_bytes())))
                .unwrap();
        }
        let mut merged = Vec::new();
        let put = |key: &[u8], row: &[u8]| {
            merged.push((String::from_utf8(key.to_vec()).unwrap(), String::from_utf8(row.to_vec()).unwrap()));
            Ok::<(), io::Error>(())
        };
        runs.merge(put).unwrap();
        let expected = [("a", "2"), ("b", "3"), ("d", "1"), ("e", &*long)];
        assert_eq!(merged, expected.map(|(key, row)| (key.to_owned(), row.to_owned())));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a crash leaves nothing of them");
    }
}
