//! The keys that both sides are to have alike, numbered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;
use arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion::common::{NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use hashbrown::HashTable;
use xxhash_rust::xxh64::xxh64;

/// Numbers of keys, from 0 on in the order in which they were seen first.
pub(super) struct Keys {
    converter: RowConverter,
    nulls_match: bool,
    table: HashTable<u32>,
    /// Each key, at the place of its number.
    rows: Rows,
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
        let Self { table, rows, .. } = self;
        let mut numbers = Vec::with_capacity(batch.num_rows());
        for (place, key) in encoded.iter().enumerate() {
            if valid.as_ref().is_some_and(|valid| valid.is_null(place)) {
                numbers.push(None);
                continue;
            }
            let hashed = hash(key);
            let known = table.find(hashed, |&number| rows.row(number as usize) == key).copied();
            numbers.push(Some(match known {
                Some(number) => number,
                None => {
                    // A side has fewer rows than that.
                    let number = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
                    rows.push(key);
                    table.insert_unique(hashed, number, |&number| hash(rows.row(number as usize)));
                    number
                }
            }));
        }
        Ok(numbers)
    }

    /// As [`Keys::add`], with `None` for keys that there are none of.
    pub(super) fn find(&self, exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<Option<u32>>> {
        let (encoded, valid) = self.encode(exprs, batch)?;
        let number = |(place, key): (usize, Row<'_>)| {
            if valid.as_ref().is_some_and(|valid| valid.is_null(place)) {
                return None;
            }
            self.table.find(hash(key), |&number| self.rows.row(number as usize) == key).copied()
        };
        Ok(encoded.iter().enumerate().map(number).collect())
    }

    /// All keys, a column each.
    pub(super) fn columns(&self) -> Result<Vec<ArrayRef>> {
        Ok(self.converter.convert_rows(self.rows.iter())?)
    }

    /// The keys of rows, and which of them can have partners.
    fn encode(&self, exprs: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<(Rows, Option<NullBuffer>)> {
        let column = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(batch.num_rows());
        let columns = exprs.iter().map(|expr| Ok(comparable(column(expr)?))).collect::<Result<Vec<_>>>()?;
        let valid = match self.nulls_match {
            true => None,
            false => columns
                .iter()
                .fold(None, |valid, column| NullBuffer::union(valid.as_ref(), column.logical_nulls().as_ref())),
        };
        Ok((self.converter.convert_columns(&columns)?, valid))
    }
}

fn hash(key: Row<'_>) -> u64 {
    xxh64(key.as_ref(), 0)
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
