//! The meaning of SQL: statements become scans and batches. DataFusion lives here and nowhere else.

pub mod error;
pub mod key_codec;
pub mod key_range;
pub mod key_set;
pub mod outcome;
pub mod relation;
pub mod session;
pub mod types;

pub use error::{ErrorKind, SqlError};
