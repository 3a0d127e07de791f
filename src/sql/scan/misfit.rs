//! Which row it is whose stored value is not one of its column's type.
//!
//! Columns are converted as a whole, often without the keys beside them, so whoever meets such a value mostly does not know its
//! row. Errors alone pay for finding out: what was read is read once more with its keys, up to that row.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::record_batch::RecordBatch;
use datafusion::common::DataFusionError;
use futures::StreamExt;
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_store::table::{
    Direction, EntityColumns, KeyRange, Predicate, ScanColumn, ScanColumns, ScanRequest, StoreError, Unfit,
};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::output::ShownKey;

use super::layout::relation_rows;
use crate::reads::Reads;
use crate::relation::{ColumnSource, Relation};

/// How such a row becomes one that can be read.
const REPAIR: &str =
    "UPDATE the column to a value of its type, or DELETE the row: each with a condition on the key alone.";

/// What was read.
pub(super) struct ReadRows {
    pub relation: Arc<Relation>,
    pub reads: Arc<Reads>,
    pub columns: Arc<[usize]>,
    pub ranges: Arc<[KeyRange]>,
    pub predicate: Option<Predicate>,
    pub batch_rows: usize,
}

impl ReadRows {
    /// The error, with the row and the column that it is about where that is a stored value.
    pub(super) async fn told(self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::External(inner) = &error else { return error };
        let store = inner.downcast_ref::<StoreError>();
        let found = match (store, inner.downcast_ref::<SqlError>()) {
            (Some(StoreError::Unfit(unfit)), _) => self.columns_sought().of_store(unfit),
            (Some(StoreError::Underived(error)), _) if error.downcast_ref::<SqlError>().is_some_and(is_misfit) => {
                self.search().await
            }
            (_, Some(error)) if is_misfit(error) => self.search().await,
            _ => None,
        };
        match found {
            Some(misfit) => {
                let told = misfit.told(&self.relation);
                DataFusionError::External(ShownKey::in_style(told, &self.reads.moments.style()))
            }
            None => error,
        }
    }

    fn columns_sought(&self) -> Sought<'_> {
        Sought::new(&self.relation, self.columns.iter().copied())
    }

    async fn search(&self) -> Option<Misfit> {
        let sought = self.columns_sought();
        let request = ScanRequest {
            table: self.relation.stored.name.clone(),
            ranges: Arc::clone(&self.ranges),
            columns: sought.scan_columns(),
            predicate: self.predicate.clone(),
            direction: Direction::Forward,
            limit: None,
            batch_rows: self.batch_rows,
            stats: Arc::default(),
        };
        let mut batches = self.reads.readers.of(&self.relation.stored).ok()?.scan(request).ok()?;
        while let Some(batch) = batches.next().await {
            let found = match batch {
                Ok(batch) => sought.first_of(&batch, |key| self.is_overwritten(key)),
                Err(StoreError::Unfit(unfit)) => return sought.of_store(&unfit),
                Err(_) => return None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Whether the transaction has put a row that can be read in the place of the stored one.
    fn is_overwritten(&self, key: &EntityKey) -> bool {
        let own = self.reads.own_writes(&self.relation.stored).and_then(|own| own.get(key).ok().flatten());
        own.is_some_and(|own| own.is_none_or(|own| relation_rows(&self.relation, &[&own]).is_ok()))
    }
}

/// The error of rows that were read one by one, in the same words.
pub(super) fn of_entities(relation: &Relation, stored: &[&StoredEntity], error: Box<SqlError>) -> Box<SqlError> {
    if !is_misfit(&error) {
        return error;
    }
    let sought = Sought::new(relation, 0..relation.columns.len());
    let found = stored.iter().find_map(|entity| {
        let mut columns = EntityColumns::new(sought.scan_columns());
        match columns.push(entity) {
            Err(unfit) => sought.of_store(&unfit),
            Ok(()) => sought.first_of(&columns.take().ok()??, |_| false),
        }
    });
    found.map_or(error, |misfit| misfit.told(relation))
}

fn is_misfit(error: &SqlError) -> bool {
    error.kind == ErrorKind::StoredValueUnfit
}

/// The columns that may have such a value: those that are properties.
struct Sought<'a> {
    relation: &'a Relation,
    /// Indexes in the relation.
    columns: Vec<usize>,
}

/// A value that is not of its column's type.
struct Misfit {
    key: EntityKey,
    column: usize,
    /// Without its row.
    error: Box<SqlError>,
}

impl<'a> Sought<'a> {
    fn new(relation: &'a Relation, columns: impl Iterator<Item = usize>) -> Self {
        let is_property = |column: &usize| relation.columns[*column].property().is_some();
        Self { relation, columns: columns.filter(is_property).collect() }
    }

    /// The keys, and behind them the columns.
    fn scan_columns(&self) -> Arc<ScanColumns> {
        let property = |column: &usize| match &self.relation.columns[*column].source {
            ColumnSource::Property { name, column_type } => {
                Some(ScanColumn::Property { name: name.clone(), column_type: *column_type })
            }
            _ => None,
        };
        let keys = [ScanColumn::PartitionKey, ScanColumn::RowKey];
        Arc::new(ScanColumns::new(keys.into_iter().chain(self.columns.iter().filter_map(property)).collect()))
    }

    /// What the store itself cannot show.
    fn of_store(&self, unfit: &Unfit) -> Option<Misfit> {
        let is_it = |column: &usize| {
            let source = &self.relation.columns[*column].source;
            matches!(source, ColumnSource::Property { name, column_type }
                if *name == unfit.property && *column_type == unfit.expected)
        };
        let column = self.columns.iter().copied().find(is_it)?;
        let error = edm::not_of_type(&unfit.value, &self.relation.columns[column].sql_type);
        let error = error.with_detail(format!("it is stored as {}", unfit.stored.name()));
        Some(Misfit { key: EntityKey::clone(&unfit.key), column, error })
    }

    /// The first row of a batch of [`Sought::scan_columns`] with such a value, but for those that are passed over.
    fn first_of(&self, batch: &RecordBatch, is_passed_over: impl Fn(&EntityKey) -> bool) -> Option<Misfit> {
        let values = |column: usize| (&self.relation.columns[column].sql_type, column);
        let mut first: Option<(usize, Misfit)> = None;
        for ((to, column), array) in self.columns.iter().copied().map(values).zip(batch.columns().iter().skip(2)) {
            if edm::to_sql(array, to).is_ok() {
                continue;
            }
            for row in 0..first.as_ref().map_or(array.len(), |(row, _)| *row) {
                let Err(error) = edm::to_sql(&array.slice(row, 1), to) else { continue };
                let text = |place: usize| batch.column(place).as_string::<i32>().value(row);
                let Ok(key) = EntityKey::parse(text(0), text(1)) else { continue };
                if !is_passed_over(&key) {
                    first = Some((row, Misfit { key, column, error }));
                    break;
                }
            }
        }
        first.map(|(_, misfit)| misfit)
    }
}

impl Misfit {
    fn told(self, relation: &Relation) -> Box<SqlError> {
        let Self { key, column, mut error } = self;
        let name = &relation.columns[column].name;
        let why = error.detail.take().map_or_else(String::new, |why| format!(": {why}"));
        let error = error.for_table(&relation.place().schema(), &relation.name).for_column(name);
        relation.shown_key(&key).shown_in(error, &format!(", column \"{name}\"{why}.")).with_hint(REPAIR)
    }
}
