//! Maps relational keys to PartitionKey and RowKey and back, keeping their order.
//!
//! Each key column becomes one *part*, a piece of text that sorts as the column's values do. Parts of fixed width say
//! themselves where they end; text and binary parts that others follow end with a space, which sorts before everything
//! that can stand inside them. So the parts of a key can be written one after the other, and the whole sorts as the
//! tuple does. Reading is strict: what writing could not have produced is an error, never a skipped row.

mod decode;
mod encode;
mod error;
mod escape;
mod locate;
mod part;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use datafusion_common::ScalarValue;
use tablegate_store::model::{EntityKey, EntityKeys, KeyPart, PartitionKey, RowKey, Span};
use xxhash_rust::xxh64::xxh64;

pub use self::error::KeyCodecError;
pub use self::locate::Located;
use self::part::{KeyValue, PartKind, PartLayout};
use super::single_row::Value;
use super::sql_type::SqlType;

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

/// Room for the key of most rows.
pub const KEY_BYTES: usize = 32;

/// The mapping of one table's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCodec {
    columns: Vec<KeyColumn>,
    partition: PartitionScheme,
    layouts: Vec<PartLayout>,
    raw: bool,
}

impl KeyCodec {
    /// The identity: PartitionKey and RowKey as two text columns.
    pub fn raw() -> Self {
        let text = |name: &str| KeyColumn { name: name.to_owned(), sql_type: SqlType::Text, descending: false };
        let layout = |key| PartLayout {
            kind: PartKind::Text { trim: false },
            descending: false,
            last: true,
            escape: false,
            key,
        };
        Self {
            columns: vec![text("PartitionKey"), text("RowKey")],
            partition: PartitionScheme::Columns(1),
            layouts: vec![layout(KeyPart::PartitionKey), layout(KeyPart::RowKey)],
            raw: true,
        }
    }

    /// # Errors
    /// [`KeyCodecError`] when a column cannot be part of a key, or the partition scheme does not fit the columns.
    pub fn relational(
        columns: Vec<KeyColumn>,
        partition: PartitionScheme,
        escape: bool,
    ) -> Result<Self, KeyCodecError> {
        let in_partition = match &partition {
            PartitionScheme::Columns(n) if *n == 0 || *n > columns.len() => {
                return Err(KeyCodecError::Scheme(format!(
                    "the partition key cannot have {n} of {} columns",
                    columns.len()
                )));
            }
            PartitionScheme::Columns(n) => *n,
            PartitionScheme::Constant(text) => {
                PartitionKey::parse(text.as_str())?;
                0
            }
            PartitionScheme::Bucket(0) => {
                return Err(KeyCodecError::Scheme("a table needs at least one bucket".to_owned()));
            }
            PartitionScheme::Bucket(_) => 0,
        };
        let mut layouts = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let key = if index < in_partition { KeyPart::PartitionKey } else { KeyPart::RowKey };
            let last = index + 1 == in_partition || index + 1 == columns.len();
            layouts.push(PartLayout::of(column, key, last, escape)?);
        }
        Ok(Self { columns, partition, layouts, raw: false })
    }

    /// Whether this is the identity of [`KeyCodec::raw`].
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The key columns in key order: the partition's first.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    pub fn partition(&self) -> &PartitionScheme {
        &self.partition
    }

    /// How many of the key columns make up the PartitionKey; the others are the RowKey.
    pub fn partition_columns(&self) -> usize {
        match self.partition {
            PartitionScheme::Columns(n) => n,
            PartitionScheme::Constant(_) | PartitionScheme::Bucket(_) => 0,
        }
    }

    /// The keys of rows, from one array per key column, all of one length.
    ///
    /// # Errors
    /// [`KeyCodecError`] for the first value that cannot be part of a key.
    pub fn encode_batch(&self, arrays: &[ArrayRef]) -> Result<Vec<EntityKey>, KeyCodecError> {
        let keys = self.encode_keys(arrays)?;
        Ok((0..keys.len()).map(|index| keys.key(index)).collect())
    }

    /// As [`KeyCodec::encode_batch`], without an object for each.
    ///
    /// # Errors
    /// As [`KeyCodec::encode_batch`].
    pub fn encode_keys(&self, arrays: &[ArrayRef]) -> Result<EntityKeys, KeyCodecError> {
        let rows = arrays.first().map_or(0, |a| a.len());
        if arrays.len() != self.columns.len() || arrays.iter().any(|a| a.len() != rows) {
            return Err(KeyCodecError::Shape);
        }
        let inputs = encode::Inputs::new(&self.columns, &self.layouts, arrays)?;
        let split = self.partition_columns();
        let mut keys = EntityKeys::with_capacity(rows);
        let (mut partition, mut row_key) = (String::new(), String::new());
        for row in 0..rows {
            row_key.clear();
            inputs.write(row, split..self.columns.len(), &mut row_key)?;
            match &self.partition {
                PartitionScheme::Columns(_) => {
                    partition.clear();
                    inputs.write(row, 0..split, &mut partition)?;
                    keys.push(&partition, &row_key)?;
                }
                PartitionScheme::Constant(text) => keys.push(text, &row_key)?,
                PartitionScheme::Bucket(n) => keys.push(&bucket_name(&row_key, *n), &row_key)?,
            }
        }
        Ok(keys)
    }

    /// The values of the key columns at the indexes `wanted`, from stored keys.
    ///
    /// # Errors
    /// [`KeyCodecError::Stored`], naming the key, for a key this codec does not produce.
    pub fn decode(
        &self,
        partitions: &StringArray,
        rows: &StringArray,
        wanted: &[usize],
    ) -> Result<Vec<ArrayRef>, KeyCodecError> {
        if partitions.len() != rows.len() || wanted.iter().any(|w| *w >= self.columns.len()) {
            return Err(KeyCodecError::Shape);
        }
        if self.raw {
            let array = |index: &usize| if *index == 0 { partitions.clone() } else { rows.clone() };
            return Ok(wanted.iter().map(|index| Arc::new(array(index)) as ArrayRef).collect());
        }
        let mut output = decode::Outputs::new(&self.columns, wanted, rows.len());
        for row in 0..rows.len() {
            let (partition, row_key) = (partitions.value(row), rows.value(row));
            self.decode_row(partition, row_key, |column, value| output.push(column, value))
                .ok_or_else(|| KeyCodecError::stored(partition, row_key))?;
        }
        output.finish()
    }

    /// How the key column at `part` is written into keys: the same where keys are, whatever the columns are called.
    pub fn describe_part(&self, part: usize) -> String {
        let types: Vec<String> = self.columns.iter().map(|column| column.sql_type.to_string()).collect();
        format!("key {part} of {types:?} {:?} {:?}", self.partition, self.layouts)
    }

    /// The PartitionKey of the bucket that a row key belongs to; `None` unless the table is split into buckets.
    pub fn bucket_of(&self, row_key: &str) -> Option<String> {
        match self.partition {
            PartitionScheme::Bucket(n) => Some(bucket_name(row_key, n)),
            PartitionScheme::Columns(_) | PartitionScheme::Constant(_) => None,
        }
    }

    /// The PartitionKeys of all buckets, ascending; none unless the table is split into buckets.
    pub fn buckets(&self) -> impl Iterator<Item = String> + use<> {
        let count = match self.partition {
            PartitionScheme::Bucket(n) => n,
            PartitionScheme::Columns(_) | PartitionScheme::Constant(_) => 0,
        };
        (0..count).map(move |bucket| pad_bucket(bucket, count))
    }

    /// Where a value lies among the parts of the key column at `column`. `None` when the two do not compare by the
    /// column's order, and for NULL.
    pub fn locate(&self, column: usize, value: &ScalarValue) -> Option<Located> {
        locate::locate(self.layouts.get(column)?, value)
    }

    /// Whether a key is one column, which is the PartitionKey.
    pub fn is_one_column(&self) -> bool {
        self.columns.len() == 1 && matches!(self.partition, PartitionScheme::Columns(1))
    }

    /// The key of a row with these values of the key columns, by index; `None` where [`KeyCodec::push_part`] has no part, or
    /// there is no such key.
    pub fn key_of<'v>(&self, mut value: impl FnMut(usize) -> Option<&'v ScalarValue>) -> Option<EntityKey> {
        let split = self.partition_columns();
        let (mut partition, mut row) = (String::with_capacity(KEY_BYTES), String::with_capacity(KEY_BYTES));
        for column in 0..self.columns.len() {
            self.push_part(column, value(column)?, if column < split { &mut partition } else { &mut row })?;
        }
        match &self.partition {
            PartitionScheme::Columns(_) => {}
            PartitionScheme::Constant(constant) => partition.push_str(constant),
            PartitionScheme::Bucket(n) => partition = bucket_name(&row, *n),
        }
        Some(EntityKey::new(PartitionKey::parse(partition).ok()?, RowKey::parse(row).ok()?))
    }

    /// Appends the part of a value; `None` where that is not of the column's own type, or [`KeyCodec::locate`] cannot say. An
    /// integer of another width is the same number.
    pub fn push_part(&self, column: usize, value: &ScalarValue, out: &mut String) -> Option<()> {
        if value.is_null() {
            return None;
        }
        let sql_type = &self.columns.get(column)?.sql_type;
        let layout = self.layouts.get(column)?;
        if let Some(whole) = integer_of(value, sql_type) {
            return encode::push(layout, &KeyValue::Number(whole.into()), out).ok();
        }
        if value.data_type() != sql_type.arrow() {
            return None;
        }
        let Located::At(part) = locate::locate(layout, value)? else { return None };
        out.push_str(&part);
        Some(())
    }

    /// The values of the key columns of one stored key, each with its column's index; false when it does not decode, or
    /// has a value that is no [`Value`].
    pub fn values_of(&self, (partition, row_key): (&str, &str), take: &mut dyn FnMut(usize, Value<'_>)) -> bool {
        let mut are_values = true;
        let decoded = self.decode_row(partition, row_key, |column, value| {
            match self.columns.get(column).and_then(|column| value.shown_as(&column.sql_type)) {
                Some(value) => take(column, value),
                None => are_values = false,
            }
        });
        decoded.is_some() && are_values
    }

    /// The parts of the key column at `column` whose text starts with `prefix`; `None` unless the column is text.
    pub fn locate_prefix(&self, column: usize, prefix: &str) -> Option<Span> {
        locate::locate_prefix(self.layouts.get(column)?, prefix)
    }

    fn decode_row<'a>(
        &self,
        partition: &'a str,
        row_key: &'a str,
        mut push: impl FnMut(usize, KeyValue<'a>),
    ) -> Option<()> {
        match &self.partition {
            PartitionScheme::Columns(_) => {}
            PartitionScheme::Constant(text) if text == partition => {}
            PartitionScheme::Bucket(n) if bucket_name(row_key, *n) == partition => {}
            PartitionScheme::Constant(_) | PartitionScheme::Bucket(_) => return None,
        }
        let mut rest = [partition, row_key];
        if self.partition_columns() == 0 {
            rest[0] = "";
        }
        for (index, layout) in self.layouts.iter().enumerate() {
            let text = &mut rest[usize::from(layout.key == KeyPart::RowKey)];
            let (value, behind) = decode::take(layout, text)?;
            *text = behind;
            push(index, value);
        }
        rest.iter().all(|text| text.is_empty()).then_some(())
    }
}

/// The integer that a value is, as a column of this type has it; `None` for other values and columns, and beyond its range.
fn integer_of(value: &ScalarValue, sql_type: &SqlType) -> Option<i64> {
    let whole = match value {
        ScalarValue::Int16(value) => i64::from((*value)?),
        ScalarValue::Int32(value) => i64::from((*value)?),
        ScalarValue::Int64(value) => (*value)?,
        _ => return None,
    };
    let is_within = match sql_type {
        SqlType::Int2 => i16::try_from(whole).is_ok(),
        SqlType::Int4 => i32::try_from(whole).is_ok(),
        SqlType::Int8 => true,
        _ => false,
    };
    is_within.then_some(whole)
}

fn bucket_name(row_key: &str, count: u32) -> String {
    let bucket = xxh64(row_key.as_bytes(), 0) % u64::from(count);
    pad_bucket(u32::try_from(bucket).expect("a remainder is smaller than its u32 divisor"), count)
}

/// Zero-padded to the digits of the largest bucket number.
fn pad_bucket(bucket: u32, count: u32) -> String {
    let width = (count - 1).to_string().len();
    format!("{bucket:0width$}")
}
