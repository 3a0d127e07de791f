//! Transactions as entity group transactions.
//!
//! A block collects its writes in a [`WriteSet`] and commits them as one EGT; [`rules`] refuses the statement that
//! would make that impossible. Outside a block, [`EgtWriter`] commits as many EGTs as a statement needs, each atomic.

mod egt_writer;
mod rules;
mod transaction;
mod write_set;

pub(super) use egt_writer::{EgtCount, EgtWriter, commit_error};
pub(super) use transaction::{Transaction, TransactionState};
pub(super) use write_set::WriteSet;
