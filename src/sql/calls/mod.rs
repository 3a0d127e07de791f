//! PostgreSQL's functions as DataFusion calls them.
//!
//! What they compute is in [`tablegate_types::functions`]. Here a call becomes an expression of a plan ([`udf`]). Functions
//! that answer from the catalogue or the session are in `pg_catalog::functions`.

mod held;
mod moments;
mod names;
mod simplify;
mod udf;

pub(super) use self::held::{constant, is_long, made};
pub(super) use self::moments::{StatementMoments, interrupt_of, moments_of};
pub(super) use self::names::name_of_call;
pub(super) use self::udf::{Choice, Known, choose, field_of};
