//! CREATE TABLE: from the statement to a declaration.
//!
//! What PostgreSQL would make of a clause and the Table model cannot hold is refused with its way out; what is only
//! renamed or has a consequence for transactions is said in a NOTICE.

mod alter;
mod columns;
mod constraints;
mod counters;
mod create_table;
mod dependents;
mod expressions;
mod index;
mod key_layout;
mod names;
mod unenforced;
mod written;

pub(super) use alter::{Alteration, Computed, Origin, Renaming, Rewrite, RowCheck, alter, renaming};
pub(super) use counters::{counting_with, counts_with};
pub(super) use create_table::{Declared, declare};
pub(super) use dependents::{Reference, cascades, needed_by, references_to, still_needed, still_referenced};
pub(super) use expressions::{Place, check_expressions, plan_condition};
pub(super) use index::index_name;
pub(super) use unenforced::{Recorder, resolve_references};
pub(super) use written::{Written, bind_index};
