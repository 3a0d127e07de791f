//! What the writes that a transaction has collected come to, as the rules of its commit ask for it.

use tablegate_store::model::PartitionKey;
use tablegate_store::table::EntityWindow;

use super::column_writes::ColumnWindow;
use crate::place::StoredTable;

/// What holds for writes to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Those of entity group transactions.
    Egt,
    /// None: only that all of it is committed, or nothing.
    None,
    /// None at all: nobody sees the table before the commit, so they are written before.
    Unseen,
}

/// What the operations of a set come to. Kept with each write, so that the rules can be asked after each row.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    /// Those of tables to which the rules of entity group transactions apply. All below is of them alone.
    pub operations: usize,
    pub payload_bytes: usize,
    /// Where the first of the operations is; the others are counted from there.
    pub home: Option<(StoredTable, PartitionKey)>,
    pub at_home: usize,
    pub other_tables: usize,
    pub other_partitions: usize,
    /// Those of tables of which all is committed, or nothing.
    pub free_operations: usize,
    /// Those of tables that nobody sees before the commit.
    pub unseen_operations: usize,
}

/// Of rows of a table: those in another table, or in another partition, than the first operation; and those where it is.
#[derive(Default)]
struct Elsewhere {
    tables: usize,
    partitions: usize,
    at_home: usize,
}

impl Totals {
    pub(super) fn add(&mut self, rules: Rules, table: &StoredTable, partition: &PartitionKey, bytes: usize) {
        match rules {
            Rules::Egt => {}
            Rules::None => {
                self.free_operations += 1;
                return;
            }
            Rules::Unseen => {
                self.unseen_operations += 1;
                return;
            }
        }
        let (home_table, home_partition) = self.home.get_or_insert_with(|| (table.clone(), partition.clone()));
        let (other_table, other_partition) = (home_table != table, home_partition != partition);
        self.operations += 1;
        self.payload_bytes += bytes;
        self.other_tables += usize::from(other_table);
        self.other_partitions += usize::from(other_partition);
        self.at_home += usize::from(!other_table && !other_partition);
    }

    /// As [`Totals::add`] of each row of columns.
    pub(super) fn add_columns(&mut self, rules: Rules, table: &StoredTable, window: &ColumnWindow) {
        let entities = window.entities();
        match rules {
            Rules::None => self.free_operations += entities.len(),
            Rules::Unseen => self.unseen_operations += entities.len(),
            Rules::Egt if entities.is_empty() => {}
            Rules::Egt => {
                self.home.get_or_insert_with(|| (table.clone(), entities.keys().key(0).partition));
                let elsewhere = self.elsewhere(table, entities);
                self.operations += entities.len();
                self.payload_bytes += window.operations_bytes().iter().sum::<usize>();
                self.other_tables += elsewhere.tables;
                self.other_partitions += elsewhere.partitions;
                self.at_home += elsewhere.at_home;
            }
        }
    }

    /// As [`Totals::remove`] of each row of columns.
    pub(super) fn remove_columns(&mut self, rules: Rules, table: &StoredTable, window: &ColumnWindow) {
        let entities = window.entities();
        match rules {
            Rules::None => self.free_operations -= entities.len(),
            Rules::Unseen => self.unseen_operations -= entities.len(),
            Rules::Egt => {
                let elsewhere = self.elsewhere(table, entities);
                self.operations -= entities.len();
                self.payload_bytes -= window.operations_bytes().iter().sum::<usize>();
                self.other_tables -= elsewhere.tables;
                self.other_partitions -= elsewhere.partitions;
                self.at_home -= elsewhere.at_home;
                if self.operations == 0 {
                    self.home = None;
                }
            }
        }
    }

    /// How many of these rows are not where the first operation is, and how many are.
    fn elsewhere(&self, table: &StoredTable, entities: &EntityWindow) -> Elsewhere {
        let Some((home_table, home_partition)) = &self.home else { return Elsewhere::default() };
        let in_partition = entities.keys().pairs().filter(|(partition, _)| *partition == home_partition.as_str());
        let (rows, in_partition, is_table) = (entities.len(), in_partition.count(), home_table == table);
        Elsewhere {
            tables: if is_table { 0 } else { rows },
            partitions: rows - in_partition,
            at_home: if is_table { in_partition } else { 0 },
        }
    }

    pub(super) fn remove(&mut self, rules: Rules, table: &StoredTable, partition: &PartitionKey, bytes: usize) {
        match rules {
            Rules::Egt => {}
            Rules::None => {
                self.free_operations -= 1;
                return;
            }
            Rules::Unseen => {
                self.unseen_operations -= 1;
                return;
            }
        }
        let Some((home_table, home_partition)) = &self.home else { return };
        let (other_table, other_partition) = (home_table != table, home_partition != partition);
        self.operations -= 1;
        self.payload_bytes -= bytes;
        self.other_tables -= usize::from(other_table);
        self.other_partitions -= usize::from(other_partition);
        self.at_home -= usize::from(!other_table && !other_partition);
        if self.operations == 0 {
            self.home = None;
        }
    }
}
