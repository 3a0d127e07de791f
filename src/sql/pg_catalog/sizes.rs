//! How much the user's tables hold, as their stores estimate it when a statement begins, and what stores keep for them.

use std::collections::HashMap;
use std::sync::Arc;

use tablegate_store::table::{SegmentFigures, TableSize};

use crate::place::{Readers, StoredTable, Stores};
use crate::relation::Relation;

/// Bytes of a page, which clients multiply `relpages` by.
const PAGE: u64 = 8192;

/// The sizes of one statement.
#[derive(Default)]
pub(crate) struct Sizes {
    /// Under the tables' OIDs. One that is missing is not known.
    tables: HashMap<u32, TableSize>,
    /// Asked about their files by those who want to know: they may wait for the disk.
    stores: Option<Stores>,
}

impl Sizes {
    pub(crate) fn new(readers: &Readers, relations: &[Arc<Relation>], stores: Stores) -> Self {
        let size = |relation: &Arc<Relation>| Some((relation.oid, readers.size_of(&relation.stored)?));
        Self { tables: relations.iter().filter_map(size).collect(), stores: Some(stores) }
    }

    pub(crate) fn of_table(&self, oid: u32) -> Option<TableSize> {
        self.tables.get(&oid).copied()
    }

    /// Pages that would hold a table.
    pub(crate) fn pages_of(&self, oid: u32) -> i32 {
        let pages = self.of_table(oid).unwrap_or_default().bytes.div_ceil(PAGE);
        i32::try_from(pages).unwrap_or(i32::MAX)
    }

    /// The parts of a table that its store keeps as columns too.
    pub(crate) fn segments_of(&self, table: &StoredTable) -> Vec<SegmentFigures> {
        let store = self.stores.as_ref().and_then(|stores| stores.at(table.place).ok());
        store.map(|store| store.segments(table)).unwrap_or_default()
    }

    /// What all tables take: on the disk, where the store that the server is for keeps them there.
    pub(crate) fn database(&self) -> u64 {
        let disk = self.stores.as_ref().and_then(|stores| stores.public().figures().disk_bytes);
        disk.unwrap_or_else(|| self.tables.values().map(|size| size.bytes).sum())
    }
}
