//! The meaning of SQL: statements become scans and batches. DataFusion lives here and nowhere else.

mod catalog;
mod ddl;
mod dml;
pub mod edm;
pub mod engine;
pub mod error;
mod explain;
mod expr;
mod findings;
pub mod input;
pub mod key_codec;
pub mod key_range;
pub mod key_set;
mod locking;
mod observe;
pub mod outcome;
pub mod output;
mod pg_catalog;
mod plan;
mod read_log;
mod reads;
pub mod relation;
mod respell;
mod scan;
mod sequence;
pub mod session;
mod settings;
mod statement;
mod transaction_syntax;
mod tuning;
mod tx;
pub mod types;

pub use datafusion::common::ScalarValue;
pub use engine::{Engine, EngineConfig};
pub use error::{ErrorKind, SqlError};
pub use settings::EgtMode;
