//! From the columns a store hands out to the columns of a relation: property types become SQL types, keys are decoded.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use crate::model::StoredEntity;
use crate::sql::edm;
use crate::sql::error::SqlResult;
use crate::sql::key_codec::KeyCodec;
use crate::sql::relation::{ColumnSource, Relation};
use crate::sql::types::SqlType;
use crate::table::{EntityColumns, ScanColumn, ScanColumns};

/// How some of a relation's columns are made out of a scan's columns.
#[derive(Debug)]
pub(super) struct RowLayout {
    scan: Arc<ScanColumns>,
    sources: Vec<Source>,
    /// The key columns to decode, as indexes of the codec's.
    decoded: Vec<usize>,
    codec: Arc<KeyCodec>,
    schema: SchemaRef,
}

/// Where one column comes from.
#[derive(Debug)]
enum Source {
    /// A column of the scan, converted.
    Stored { index: usize, sql_type: SqlType },
    /// The key column at this index of `decoded`.
    Key(usize),
}

/// Where the keys are in the scan of a layout that has them: they come first.
const PARTITION_KEY: usize = 0;
const ROW_KEY: usize = 1;

impl RowLayout {
    /// The layout of the relation's columns at these indexes. With `keys`, the scan's first columns are PartitionKey
    /// and RowKey, whether they were asked for or not.
    pub fn new(relation: &Relation, columns: &[usize], keys: bool) -> Self {
        let chosen = || columns.iter().map(|&index| &relation.columns[index]);
        let decodes = chosen().any(|c| matches!(c.source, ColumnSource::KeyPart(_)));
        let mut scan = Vec::new();
        if keys || decodes {
            scan.extend([ScanColumn::PartitionKey, ScanColumn::RowKey]);
        }
        let mut decoded = Vec::new();
        let mut sources = Vec::with_capacity(columns.len());
        for column in chosen() {
            sources.push(match scan_column(&column.source) {
                Ok(wanted) => {
                    Source::Stored { index: position_or_push(&mut scan, wanted), sql_type: column.sql_type.clone() }
                }
                Err(part) => Source::Key(position_or_push(&mut decoded, part)),
            });
        }
        let fields: Vec<_> = columns.iter().map(|&index| relation.arrow_schema.field(index).clone()).collect();
        Self {
            scan: Arc::new(ScanColumns::new(scan)),
            sources,
            decoded,
            codec: Arc::clone(&relation.codec),
            schema: Arc::new(Schema::new(fields)),
        }
    }

    /// What to ask the store for.
    pub fn scan_columns(&self) -> &Arc<ScanColumns> {
        &self.scan
    }

    /// The schema of [`RowLayout::assemble`]'s batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The relation's columns out of the scan's.
    ///
    /// # Errors
    /// 22P02 for a stored value or key that is not one of the declared type.
    pub fn assemble(&self, scanned: &RecordBatch) -> SqlResult<RecordBatch> {
        let keys = if self.decoded.is_empty() {
            Vec::new()
        } else {
            let (partitions, rows) = (scanned.column(PARTITION_KEY), scanned.column(ROW_KEY));
            self.codec.decode(partitions.as_string(), rows.as_string(), &self.decoded)?
        };
        let columns = self.sources.iter().map(|source| match source {
            Source::Stored { index, sql_type } => edm::to_sql(scanned.column(*index), sql_type),
            Source::Key(index) => Ok(Arc::clone(&keys[*index])),
        });
        let columns = columns.collect::<SqlResult<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(scanned.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// The scan column of a source, or the index of the key column it is decoded from.
fn scan_column(source: &ColumnSource) -> Result<ScanColumn, usize> {
    Ok(match source {
        ColumnSource::PartitionKey => ScanColumn::PartitionKey,
        ColumnSource::RowKey => ScanColumn::RowKey,
        ColumnSource::Timestamp => ScanColumn::Timestamp,
        ColumnSource::ETag => ScanColumn::ETag,
        ColumnSource::Property { name, column_type } => {
            ScanColumn::Property { name: name.clone(), column_type: *column_type }
        }
        ColumnSource::EdmTypeOf(name) => ScanColumn::EdmTypeOf(name.clone()),
        ColumnSource::KeyPart(part) => return Err(*part),
    })
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Whole entities as rows with all the relation's columns, hidden ones included. Every column may be NULL: the rows
/// can also be the old versions of rows that are being changed.
///
/// # Errors
/// 22P02 for a stored value or key that is not one of the declared type.
pub(in crate::sql) fn relation_rows(relation: &Relation, stored: &[&StoredEntity]) -> SqlResult<RecordBatch> {
    let all: Vec<usize> = (0..relation.columns.len()).collect();
    let layout = RowLayout::new(relation, &all, false);
    let mut columns = EntityColumns::new(Arc::clone(&layout.scan));
    for entity in stored {
        columns.push(entity).map_err(crate::table::StoreError::from)?;
    }
    let schema = nullable(&layout.schema);
    match columns.take() {
        None => Ok(RecordBatch::new_empty(schema)),
        Some(batch) => Ok(RecordBatch::try_new(schema, layout.assemble(&batch)?.columns().to_vec())?),
    }
}

fn nullable(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new(fields))
}
