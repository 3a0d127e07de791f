//! PostgreSQL's functions as DataFusion calls them.
//!
//! What they compute is in [`tablegate_types::functions`]. Here a call becomes an expression of a plan ([`udf`]), and what is
//! no plain call is brought into a form that can be planned. Functions that answer from the catalogue or the session are
//! in `pg_catalog::functions`.

mod collected;
mod hypothetical;
mod moments;
mod sets;
mod simplify;
mod syntax;
mod udf;

pub(super) use self::moments::{StatementMoments, moments_of};
pub(super) use self::sets::{Sets, column_names};
pub(super) use self::syntax::rewrite;
pub(super) use self::udf::{Choice, Known, choose};
