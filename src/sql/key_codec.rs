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
    pub fn raw() -> Self {
        Self {
            columns: vec![
                KeyColumn { name: "PartitionKey".into(), sql_type: SqlType::Text, descending: false },
                KeyColumn { name: "RowKey".into(), sql_type: SqlType::Text, descending: false },
            ],
            partition: PartitionScheme::Columns(1),
            escape: false,
        }
    }
    pub fn relational(
        columns: Vec<KeyColumn>,
        partition: PartitionScheme,
        escape: bool,
    ) -> Result<Self, KeyCodecError> {
        Ok(Self { columns, partition, escape })
    }
    pub fn encode_batch(&self, _a: &[arrow::array::ArrayRef]) -> Result<Vec<crate::model::EntityKey>, KeyCodecError> {
        Err(KeyCodecError)
    }
    pub fn decode(
        &self,
        _p: &arrow::array::StringArray,
        _r: &arrow::array::StringArray,
        _w: &[usize],
    ) -> Result<Vec<arrow::array::ArrayRef>, KeyCodecError> {
        Err(KeyCodecError)
    }
    pub fn partition(&self) -> &PartitionScheme {
        &self.partition
    }
    /// The key columns in key order: the partition's first.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }
}

#[derive(Debug, thiserror::Error)]
#[error("placeholder")]
pub struct KeyCodecError;
impl From<KeyCodecError> for Box<super::error::SqlError> {
    fn from(_: KeyCodecError) -> Self {
        super::error::SqlError::not_supported("placeholder")
    }
}
