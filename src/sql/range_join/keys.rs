//! The keys that both sides are to have alike, numbered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;
use arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion::common::{NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use hashbrown::HashTable;
use xxhash_rust::xxh64::xxh64;

/// Numbers of keys, from 0 on in the order in which they were seen first.
pub(super) struct Keys {
    converter: RowConverter,
    nulls_match: bool,
    table: HashTable<Slot>,
    /// Each key, at the place of its number.
    rows: Rows,
}

/// A key that has been seen.
#[derive(Debug, Clone, Copy)]
struct Slot {
    beginning: Beginning,
    number: u32,
}

impl Keys {
    pub(super) fn new(types: Vec<DataType>, nulls: NullEquality) -> Result<Self> {
        let converter = RowConverter::new(types.into_iter().map(SortField::new).collect())?;
        let rows = converter.empty_rows(0, 0);
        let nulls_match = nulls == NullEquality::NullEqualsNull;
        Ok(Self { converter, nulls_match, table: HashTable::new(), rows })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Bytes that it holds.
    pub(super) fn size(&self) -> usize {
        self.rows.size() + self.table.allocation_size()
    }

    /// The number of each row's key, new ones among them; `None` for a row that has no partner since it has a NULL.
    pub(super) fn add(&mut self, exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<Option<u32>>> {
        let (encoded, valid) = self.encode(exprs, batch)?;
        let mut numbers = Vec::with_capacity(batch.num_rows());
        for (place, key) in encoded.iter().enumerate() {
            let is_null = valid.as_ref().is_some_and(|valid| valid.is_null(place));
            numbers.push((!is_null).then(|| self.number(key).unwrap_or_else(|| self.push(key))));
        }
        Ok(numbers)
    }

    /// As [`Keys::add`], with `None` for keys that there are none of.
    pub(super) fn find(&self, exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<Option<u32>>> {
        let (encoded, valid) = self.encode(exprs, batch)?;
        let number = |(place, key): (usize, Row<'_>)| {
            let is_null = valid.as_ref().is_some_and(|valid| valid.is_null(place));
            if is_null { None } else { self.number(key) }
        };
        Ok(encoded.iter().enumerate().map(number).collect())
    }

    fn number(&self, key: Row<'_>) -> Option<u32> {
        let beginning = Beginning::of(key);
        let is_it = |slot: &Slot| {
            slot.beginning == beginning && (beginning.is_whole() || self.rows.row(slot.number as usize) == key)
        };
        self.table.find(beginning.hash(key), is_it).map(|slot| slot.number)
    }

    fn push(&mut self, key: Row<'_>) -> u32 {
        // A side has fewer rows than that.
        let number = u32::try_from(self.rows.num_rows()).unwrap_or(u32::MAX);
        self.rows.push(key);
        let (rows, beginning) = (&self.rows, Beginning::of(key));
        let hash = |slot: &Slot| slot.beginning.hash(rows.row(slot.number as usize));
        self.table.insert_unique(beginning.hash(key), Slot { beginning, number }, hash);
        number
    }

    /// All keys, a column each.
    pub(super) fn columns(&self) -> Result<Vec<ArrayRef>> {
        Ok(self.converter.convert_rows(self.rows.iter())?)
    }

    /// The keys of rows, and which of them can have partners.
    fn encode(&self, exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<(Rows, Option<NullBuffer>)> {
        let columns = evaluate_expressions_to_arrays(exprs, batch)?;
        let columns: Vec<ArrayRef> = columns.into_iter().map(comparable).collect();
        let valid = match self.nulls_match {
            true => None,
            false => columns
                .iter()
                .fold(None, |valid, column| NullBuffer::union(valid.as_ref(), column.logical_nulls().as_ref())),
        };
        Ok((self.converter.convert_columns(&columns)?, valid))
    }
}

/// The first bytes of a key, and in the last of them how many it has: most keys are no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Beginning(u128);

impl Beginning {
    const BYTES: usize = 15;

    fn of(key: Row<'_>) -> Self {
        let key = key.as_ref();
        let mut bytes = [0; Self::BYTES + 1];
        let length = key.len().min(Self::BYTES);
        bytes[..length].copy_from_slice(&key[..length]);
        bytes[Self::BYTES] = u8::try_from(key.len()).unwrap_or(u8::MAX);
        Self(u128::from_be_bytes(bytes))
    }

    fn is_whole(self) -> bool {
        usize::from(self.0.to_be_bytes()[Self::BYTES]) <= Self::BYTES
    }

    #[expect(clippy::cast_possible_truncation, reason = "halves of a number")]
    fn hash(self, key: Row<'_>) -> u64 {
        if !self.is_whole() {
            return xxh64(key.as_ref(), 0);
        }
        // The two halves of a product: both have all bits of both halves of the key in them. Any odd numbers do.
        let (high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        let product = u128::from(high ^ 0x9e37_79b9_7f4a_7c15) * u128::from(low ^ 0xd6e8_feb8_6659_fd93);
        (product >> 64) as u64 ^ product as u64
    }
}

/// Values that are equal have the same bytes then: of floats both zeros, and all that are no numbers.
pub(super) fn comparable(values: ArrayRef) -> ArrayRef {
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Arc::new(floats.unary::<_, Float64Type>(|x| if x.is_nan() { f64::NAN } else { x + 0.0 }));
    }
    if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        return Arc::new(floats.unary::<_, Float32Type>(|x| if x.is_nan() { f32::NAN } else { x + 0.0 }));
    }
    values
}
