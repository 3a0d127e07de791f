//! How much the user's tables hold, as the store estimates it when a statement begins.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::place::Readers;
use crate::sql::relation::Relation;
use crate::table::{TableSize, TableStore};

/// Bytes of a page, which clients multiply `relpages` by.
const PAGE: u64 = 8192;

/// The sizes of one statement.
#[derive(Default)]
pub(in crate::sql) struct Sizes {
    /// Under the tables' OIDs. One that is missing is not known.
    tables: HashMap<u32, TableSize>,
    /// Asked about its files by those who want to know: it may wait for the disk.
    store: Option<Arc<dyn TableStore>>,
}

impl Sizes {
    /// Of these tables, and of `store`, which is the one that the server is for.
    pub fn new(readers: &Readers, relations: &[Arc<Relation>], store: Arc<dyn TableStore>) -> Self {
        let size = |relation: &Arc<Relation>| Some((relation.oid, readers.size_of(&relation.stored)?));
        Self { tables: relations.iter().filter_map(size).collect(), store: Some(store) }
    }

    pub fn of_table(&self, oid: u32) -> Option<TableSize> {
        self.tables.get(&oid).copied()
    }

    /// Pages that would hold a table.
    pub fn pages_of(&self, oid: u32) -> i32 {
        let pages = self.of_table(oid).unwrap_or_default().bytes.div_ceil(PAGE);
        i32::try_from(pages).unwrap_or(i32::MAX)
    }

    /// What all tables take: on the disk, where the store keeps them there.
    pub fn database(&self) -> u64 {
        let disk = self.store.as_ref().and_then(|store| store.figures().disk_bytes);
        disk.unwrap_or_else(|| self.tables.values().map(|size| size.bytes).sum())
    }
}
