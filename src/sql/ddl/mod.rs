//! CREATE TABLE: from the statement to a declaration.
//!
//! What PostgreSQL would make of a clause and the Table model cannot hold is refused with its way out; what is only
//! renamed or has a consequence for transactions is said in a NOTICE.

mod columns;
mod constraints;
mod create_table;
mod dependents;
mod expressions;
mod key_layout;
mod names;
mod type_names;
mod unenforced;

pub(super) use create_table::declare;
pub(super) use dependents::{Reference, cascades, references_to, still_needed, still_referenced};
pub(super) use expressions::check_expressions;
pub(super) use type_names::sql_type;
pub(super) use unenforced::resolve_references;
