//! The columns an INSERT gives, and a query's rows as values of them.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use tablegate_bind::query::changes::InsertColumn;
use tablegate_types::edm;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::checks::batch_of;
use super::target::{TargetColumn, target_named};
use crate::plan::Receiver;
use crate::relation::Relation;

/// Columns that are given.
pub(super) struct GivenRows {
    relation: Arc<Relation>,
    targets: Vec<TargetColumn>,
    /// Where each value stands in a batch, and whether it has no type of its own.
    columns: Vec<(usize, bool)>,
    reading: Reading,
}

impl GivenRows {
    pub(super) fn new(
        relation: &Arc<Relation>,
        targets: Vec<TargetColumn>,
        untyped: Vec<bool>,
        reading: Reading,
    ) -> Self {
        Self { relation: relation.clone(), targets, columns: untyped.into_iter().enumerate().collect(), reading }
    }

    pub(super) fn width(&self) -> usize {
        self.targets.len()
    }

    /// The columns that take the values, which begin at `first` in a query.
    pub(super) fn receivers(&self, first: usize) -> Vec<Receiver> {
        receivers(&self.relation, &self.targets, &self.columns, first)
    }

    /// A batch of given values with each column as its target's type.
    ///
    /// # Errors
    /// The errors of assigning them to their columns.
    pub(super) fn rows(&self, batch: &RecordBatch) -> SqlResult<RecordBatch> {
        given_rows(&self.relation, &self.targets, &self.columns, &[], batch, self.reading)
    }
}

/// The columns that take the values of a query, whose columns they take begin at `first`. What is not declared takes
/// values of all types.
pub(super) fn receivers(
    relation: &Relation,
    targets: &[TargetColumn],
    chosen: &[(usize, bool)],
    first: usize,
) -> Vec<Receiver> {
    let receiver = |(target, (index, untyped)): (&TargetColumn, &(usize, bool))| {
        let column = target.column(relation).filter(|column| column.observed.is_none())?;
        let (name, sql_type) = (column.name.clone(), column.sql_type.clone());
        Some(Receiver { place: first + index, name, sql_type, untyped: *untyped })
    };
    targets.iter().zip(chosen).filter_map(receiver).collect()
}

/// A query's batch with each column as its target's type, or the own type that its values keep. `chosen` says for each
/// target which column of the batch it takes, and whether that has no type of its own.
///
/// # Errors
/// The errors of assigning the values to their columns.
pub(super) fn given_rows(
    relation: &Relation,
    targets: &[TargetColumn],
    chosen: &[(usize, bool)],
    own_types: &[Option<SqlType>],
    batch: &RecordBatch,
    reading: Reading,
) -> SqlResult<RecordBatch> {
    let mut fields = Vec::with_capacity(targets.len());
    let mut columns = Vec::with_capacity(targets.len());
    for (position, (target, (index, untyped))) in targets.iter().zip(chosen).enumerate() {
        let name = target.name(relation);
        let from = SqlType::of_field(batch.schema().field(*index));
        let (values, sql_type) = match target.column(relation) {
            Some(column) => {
                let to = own_types.get(position).and_then(Option::as_ref).unwrap_or(&column.sql_type);
                let values = edm::assign_as(batch.column(*index), &from, to, *untyped, reading);
                let values = values.map_err(|e| e.for_column(name))?;
                (values, to.clone())
            }
            None => (batch.column(*index).clone(), from),
        };
        fields.push(sql_type.field(name, true).with_data_type(values.data_type().clone()));
        columns.push(values);
    }
    batch_of(Arc::new(Schema::new(fields)), columns, batch.num_rows())
}

/// The columns of the table that a statement gives.
///
/// # Errors
/// As [`target_named`].
pub(super) fn targets_of(
    relation: &Relation,
    bound: &tablegate_bind::catalogue::Relation,
    columns: &[InsertColumn],
) -> SqlResult<Vec<TargetColumn>> {
    columns.iter().map(|given| target_named(relation, &bound.columns[given.column].name)).collect()
}
