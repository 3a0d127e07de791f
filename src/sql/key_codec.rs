//! Maps relational keys to PartitionKey and RowKey and back, keeping their order.

use super::types::SqlType;

/// A column of the primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// Sorted downwards: the digits are inverted. Fixed-width types only.
    pub descending: bool,
}

/// What the PartitionKey is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionScheme {
    /// The first `n` key columns.
    Columns(usize),
    /// The same for every entity.
    Constant(String),
    /// xxh64 (seed 0) of the encoded row key, modulo this count, zero-padded.
    Bucket(u32),
}

/// The mapping of one table's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCodec {
    columns: Vec<KeyColumn>,
    partition: PartitionScheme,
    escape: bool,
}

impl KeyCodec {
    /// The key columns in key order: the partition's first.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }
}
