//! From the columns a store hands out to the columns of a relation: property types become SQL types.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use tablegate_store::model::StoredEntity;
use tablegate_store::table::{EntityColumns, ScanColumn, ScanColumns, dictionary_type};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::misfit;
use crate::relation::{ColumnSource, Relation};

/// How some of a relation's columns are made out of a scan's columns.
#[derive(Debug)]
pub(super) struct RowLayout {
    scan: Arc<ScanColumns>,
    sources: Vec<Source>,
    schema: SchemaRef,
}

/// The column of the scan that one comes from.
#[derive(Debug)]
struct Source {
    index: usize,
    /// What it is converted to, unless the store hands it out as it is shown.
    sql_type: Option<SqlType>,
}

impl RowLayout {
    /// The layout of the relation's columns at these indexes. With `keys`, the scan's first columns are PartitionKey
    /// and RowKey, whether they were asked for or not.
    pub(super) fn new(relation: &Relation, columns: &[usize], keys: bool) -> Self {
        Self::with_dictionaries(relation, columns, &[], keys)
    }

    /// The same, the texts of some of the columns as dictionaries: of those that [`Relation::dictionary`] knows.
    pub(super) fn with_dictionaries(
        relation: &Relation,
        columns: &[usize],
        dictionaries: &[usize],
        keys: bool,
    ) -> Self {
        let mut scan = Vec::new();
        if keys {
            scan.extend([ScanColumn::PartitionKey, ScanColumn::RowKey]);
        }
        let mut sources = Vec::with_capacity(columns.len());
        let mut fields = Vec::with_capacity(columns.len());
        for &index in columns {
            let (column, field) = (&relation.columns[index], relation.arrow_schema.field(index).clone());
            let dictionary = dictionaries.contains(&index).then(|| relation.dictionary(index)).flatten();
            let is_dictionary = dictionary.is_some();
            let (wanted, sql_type) = match (dictionary, &relation.derived[index], stored_column(&column.source)) {
                (Some(dictionary), ..) => (ScanColumn::Derived(Arc::new(dictionary)), Some(column.sql_type.clone())),
                (None, Some(derived), _) => (ScanColumn::Derived(Arc::clone(derived)), None),
                (None, None, Some(stored)) => (stored, Some(column.sql_type.clone())),
                (None, None, None) => unreachable!("what is no stored column is derived"),
            };
            sources.push(Source { index: position_or_push(&mut scan, wanted), sql_type });
            fields.push(if is_dictionary { field.with_data_type(dictionary_type()) } else { field });
        }
        Self { scan: Arc::new(ScanColumns::new(scan)), sources, schema: Arc::new(Schema::new(fields)) }
    }

    /// What to ask the store for.
    pub(super) fn scan_columns(&self) -> &Arc<ScanColumns> {
        &self.scan
    }

    /// The schema of [`RowLayout::assemble`]'s batches.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether it takes long to make the column at this place out of the scan's: each value is looked at.
    pub(super) fn takes_long(&self, place: usize) -> bool {
        self.sources[place].sql_type.as_ref().is_some_and(edm::is_read_from_text)
    }

    /// The columns at these places out of the scan's.
    ///
    /// # Errors
    /// As [`RowLayout::assemble`].
    pub(super) fn columns(&self, scanned: &RecordBatch, places: &[usize]) -> SqlResult<Vec<ArrayRef>> {
        places.iter().map(|place| self.column(scanned, *place)).collect()
    }

    /// The relation's columns out of the scan's.
    ///
    /// # Errors
    /// 22P02 for a stored value that is not one of the declared type, 23502 for one that is not there and has to be.
    pub(super) fn assemble(&self, scanned: &RecordBatch) -> SqlResult<RecordBatch> {
        let columns =
            (0..self.sources.len()).map(|place| self.column(scanned, place)).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(scanned.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn column(&self, scanned: &RecordBatch, place: usize) -> SqlResult<ArrayRef> {
        let (column, field) = (self.sources[place].column(scanned)?, self.schema.field(place));
        if field.is_nullable() || column.null_count() == 0 { Ok(column) } else { Err(not_there(field.name())) }
    }
}

/// A row that another client of the store wrote, without a value that its table's declaration asks for.
fn not_there(column: &str) -> Box<SqlError> {
    let message = format!("a stored row has no value for column \"{column}\", which is declared NOT NULL");
    let mut error = SqlError::new(ErrorKind::NotNullViolation, message);
    error.column = Some(column.to_owned());
    error.with_hint(
        "Give the row the value where it was written; or ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL, and IS NULL finds it.",
    )
}

impl Source {
    fn column(&self, scanned: &RecordBatch) -> SqlResult<ArrayRef> {
        let column = scanned.column(self.index);
        match &self.sql_type {
            Some(sql_type) => edm::to_sql(column, sql_type),
            None => Ok(Arc::clone(column)),
        }
    }
}

/// The stored column of a source, unless it is a part of a key.
fn stored_column(source: &ColumnSource) -> Option<ScanColumn> {
    Some(match source {
        ColumnSource::PartitionKey => ScanColumn::PartitionKey,
        ColumnSource::RowKey => ScanColumn::RowKey,
        ColumnSource::Timestamp => ScanColumn::Timestamp,
        ColumnSource::ETag => ScanColumn::ETag,
        ColumnSource::Property { name, column_type } => {
            ScanColumn::Property { name: name.clone(), column_type: *column_type }
        }
        ColumnSource::EdmTypeOf(name) => ScanColumn::EdmTypeOf(name.clone()),
        ColumnSource::KeyPart(_) => return None,
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
pub(crate) fn relation_rows(relation: &Relation, stored: &[&StoredEntity]) -> SqlResult<RecordBatch> {
    rows_of(relation, stored).map_err(|error| misfit::of_entities(relation, stored, error))
}

fn rows_of(relation: &Relation, stored: &[&StoredEntity]) -> SqlResult<RecordBatch> {
    let all: Vec<usize> = (0..relation.columns.len()).collect();
    let layout = RowLayout::new(relation, &all, false);
    let mut columns = EntityColumns::new(Arc::clone(&layout.scan));
    for entity in stored {
        columns.push(entity).map_err(tablegate_store::table::StoreError::from)?;
    }
    let schema = nullable(&layout.schema);
    match columns.take()? {
        None => Ok(RecordBatch::new_empty(schema)),
        Some(batch) => Ok(RecordBatch::try_new(schema, layout.assemble(&batch)?.columns().to_vec())?),
    }
}

fn nullable(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new(fields))
}
