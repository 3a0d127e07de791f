//! The temporary files of queries: so many at a time that there are descriptors left for clients and for the store.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::DiskManager;
use datafusion::execution::spill_file::{SpillFile, TempFileFactory};
use rlimit::Resource;
use tablegate_types::error::SqlError;

/// A process may have at least so many files open on any system that we know of.
const DESCRIPTORS_LEAST: usize = 1024;
/// The part of the descriptors that temporary files may take. Each has one, and a second while it is read.
const SHARE: usize = 4;

/// Makes the files in the folder of a disk manager, which counts their bytes.
pub(crate) struct SpillFiles {
    disk: Arc<DiskManager>,
    most: usize,
    /// Those that are there, and some that are gone.
    files: Mutex<Vec<Weak<dyn SpillFile>>>,
}

impl SpillFiles {
    pub(crate) fn new(disk: Arc<DiskManager>) -> Self {
        Self { disk, most: descriptors() / SHARE, files: Mutex::default() }
    }
}

impl TempFileFactory for SpillFiles {
    /// # Errors
    /// 53400 when there are too many of them.
    fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= self.most {
            files.retain(|file| file.strong_count() > 0);
        }
        if files.len() >= self.most {
            return Err(DataFusionError::External(SqlError::too_many_temporary_files()));
        }
        let file = self.disk.create_tmp_file(description)?;
        files.push(Arc::downgrade(&file));
        Ok(file)
    }
}

/// How many files the process may have open.
fn descriptors() -> usize {
    let limit = Resource::NOFILE.get_soft().ok().and_then(|limit| usize::try_from(limit).ok());
    limit.unwrap_or(DESCRIPTORS_LEAST)
}

#[cfg(test)]
mod tests {
    use datafusion::execution::disk_manager::DiskManagerBuilder;
    use tablegate_types::error::ErrorKind;

    use super::*;

    #[test]
    fn files_beyond_their_number_are_refused_until_others_are_gone() {
        let disk = Arc::new(DiskManagerBuilder::default().build().unwrap());
        let files = SpillFiles { most: 2, ..SpillFiles::new(disk) };
        let (first, _second) = (files.create_temp_file("a").unwrap(), files.create_temp_file("b").unwrap());
        let refused: Box<SqlError> = files.create_temp_file("c").err().unwrap().into();
        assert_eq!(refused.kind, ErrorKind::TemporaryFileLimit);
        drop(first);
        files.create_temp_file("d").unwrap();
    }

    #[test]
    fn the_descriptors_of_this_process_are_known() {
        assert!(descriptors() >= 64);
    }
}
