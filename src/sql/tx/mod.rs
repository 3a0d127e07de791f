//! Transactions as entity group transactions.
//!
//! A block collects its writes in a [`WriteSet`] and commits them as one EGT; [`rules`] refuses the statement that
//! would make that impossible, or in observe mode notes it. The set may be large: [`layers`] shares its past with readers
//! and savepoints, rows that are loaded stay columns ([`column_writes`]), are read as such ([`own_entries`], [`column_entries`]) and
//! become other columns when they are changed ([`own_rows`]), and what memory has no room for goes to files ([`spill`],
//! [`column_file`]); rows for a table that is empty are written ahead besides ([`ahead_of_commit`]). [`CommitGroup`] is where the
//! batches of a transaction come together, [`commit_memory`] lets so many commit at once as there is memory for. Outside a block, [`EgtWriter`] commits as many EGTs as a statement needs, each atomic:
//! [`window`] collects the rows of each, [`in_flight`] keeps many under way, [`together`] where the store takes many at
//! once, [`fill`] where nobody else sees the table yet. Where nobody else writes to the store, rows are locked as in
//! PostgreSQL: [`claims`] on top of [`locks`].

mod ahead;
mod ahead_of_commit;
mod all_rows;
mod claims;
mod column_entries;
mod column_file;
mod column_writes;
mod commit_errors;
mod commit_group;
mod commit_memory;
mod egt_writer;
mod fill;
mod held_back;
mod held_back_space;
mod in_flight;
mod layers;
mod loader;
mod locks;
mod net_write;
mod only_ahead;
mod own_entries;
mod own_rows;
mod own_writes;
mod rules;
mod seen_keys;
mod serial;
mod spill;
mod stretch;
mod table_writes;
mod together;
mod totals;
mod transaction;
mod values;
mod window;
mod write_set;

pub(super) use all_rows::AllRows;
pub(super) use claims::{Claims, Found, changed_since_snapshot};
pub(super) use column_writes::ColumnWindow;
pub(super) use commit_errors::{after_commits, with_known};
pub(super) use commit_group::CommitGroup;
pub(super) use egt_writer::{EgtCount, EgtWriter};
pub(super) use held_back_space::HeldBackSpace;
pub(super) use layers::{Entries, Layers};
pub(super) use loader::{LoadError, TableLoader};
pub(super) use locks::{AdvisoryKey, AdvisoryLocks, Level, LockWait, Locks, Sharing, ShownTarget};
pub(super) use own_entries::OwnEntries;
pub(super) use own_rows::{OwnRows, Replacement};
pub(super) use own_writes::OwnWrites;
pub(super) use rules::moved_row;
pub(super) use serial::Serial;
pub(super) use spill::WriteSpace;
pub(super) use transaction::{Collected, Snapshot, Transaction, TransactionState};
pub(super) use write_set::WriteSet;
