//! Changed rows: what a statement assigns, completed with generated columns, and checked.
//!
//! UPDATE and ON CONFLICT DO UPDATE come through here with the rows as they were and the values they assign.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::execution_props::ExecutionProps;
use tablegate_store::model::PropertyName;
use tablegate_store::table::KnownChange;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Style;

use super::checks::{BoundChecks, RowChecks, RowValues, not_null_in};
use super::generated::{BoundGenerated, Generated};
use super::own_types::{shown, type_of_values};
use super::returning::Returning;
use super::target::TargetColumn;
use super::writes::Change;
use crate::plan::Planner;
use crate::relation::{ColumnSource, Relation};

/// What the changed rows of a statement need besides what it assigns.
#[derive(Debug)]
pub(crate) struct ChangedRows {
    relation: Arc<Relation>,
    /// What the statement assigns, then generated columns.
    targets: Vec<TargetColumn>,
    generated: Generated,
    checks: RowChecks,
}

impl ChangedRows {
    /// For rows whose columns in `assigned` change.
    ///
    /// # Errors
    /// The errors of planning the table's generated columns or checks.
    pub(super) fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        mut assigned: Vec<TargetColumn>,
    ) -> SqlResult<Self> {
        let generated = Generated::prepare(planner, relation)?;
        assigned.extend(generated.targets());
        let checks = RowChecks::prepare(planner, relation)?;
        Ok(Self { relation: relation.clone(), targets: assigned, generated, checks })
    }

    /// Whether the rows are needed as they were, and not only what is assigned.
    pub(super) fn need_whole_rows(&self) -> bool {
        self.checks.need_whole_rows() || !self.generated.is_empty()
    }

    /// Whether all rows get a new value in a column, whatever they had.
    pub(super) fn replaces(&self, column: usize) -> bool {
        self.targets.contains(&TargetColumn::Known(column))
    }

    /// Makes everything ready for one statement.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of the table's expressions.
    pub(super) fn bind(&self, planner: &Planner<'_>) -> SqlResult<BoundChanges<'_>> {
        let moment = if self.need_whole_rows() { planner.moment() } else { ExecutionProps::new() };
        let checks = self.checks.bind(&moment, planner.style())?;
        Ok(BoundChanges { plan: self, generated: self.generated.bind(&moment)?, checks })
    }

    /// The change of one row's properties. NULL removes one; in a NOT NULL column it is left to the caller to say so,
    /// who knows the row.
    ///
    /// # Errors
    /// The errors of checking the values.
    pub(super) fn change(&self, values: &[ArrayRef], row: usize) -> SqlResult<Result<Change, NullRefused>> {
        let mut change = Change::default();
        for (target, array) in self.targets.iter().zip(values) {
            let Some((name, sql_type)) = self.property(target, array) else { continue };
            match edm::to_edm(array, &sql_type, row)? {
                Some(value) => change.set.set(name, value),
                None if target.column(&self.relation).is_some_and(|column| column.not_null) => {
                    return Ok(Err(NullRefused));
                }
                None => change.removed.push(name),
            }
        }
        Ok(Ok(change))
    }

    /// The error for a row that would have a NULL where there must be none, from the row as it was, if it is known.
    ///
    /// # Errors
    /// XX000 when a column's values are not of its type.
    pub(super) fn null_error(
        &self,
        before: &RecordBatch,
        values: &[ArrayRef],
        row: usize,
        style: Style,
    ) -> SqlResult<Box<SqlError>> {
        let column = |index: usize| match self.targets.iter().position(|t| *t == TargetColumn::Known(index)) {
            Some(position) => values.get(position).map(|array| array.slice(row, 1)),
            None => (before.num_rows() == 1).then(|| before.column(index).clone()),
        };
        let after = RowValues { count: 1, column: &column };
        Ok(match self.checks.first_null(&after) {
            Some(name) => not_null_in(&self.relation, name, &after.visible(&self.relation)?, 0, style),
            None => SqlError::new(ErrorKind::Internal, "a NULL that was refused is not found again"),
        })
    }

    /// The rows in which every property gets a value.
    pub(super) fn rows_with_all_values(&self, values: &[ArrayRef], rows: usize) -> BooleanArray {
        let written = self.targets.iter().zip(values).filter(|(target, array)| self.property(target, array).is_some());
        let nulls = written.fold(None, |nulls, (_, array)| NullBuffer::union(nulls.as_ref(), array.nulls()));
        nulls.map_or_else(|| BooleanArray::from(vec![true; rows]), |nulls| BooleanArray::new(nulls.into_inner(), None))
    }

    /// The changes of all rows at once, where each of them gets a value for every property; NULLs, and what has no stored form,
    /// are looked at row by row.
    pub(super) fn merge_of(&self, values: &[ArrayRef]) -> Option<KnownChange> {
        let mut columns = Vec::with_capacity(values.len());
        for (target, array) in self.targets.iter().zip(values) {
            let Some((name, sql_type)) = self.property(target, array) else { continue };
            columns.push((name, edm::to_edm_column(array, &sql_type)?));
        }
        Some(KnownChange::Merge(columns))
    }

    fn property(&self, target: &TargetColumn, values: &ArrayRef) -> Option<(PropertyName, SqlType)> {
        match target {
            TargetColumn::New(name) => Some((name.clone(), SqlType::of_arrow(values.data_type()))),
            TargetColumn::Known(index) => {
                let column = &self.relation.columns[*index];
                match &column.source {
                    ColumnSource::Property { name, .. } => Some((name.clone(), type_of_values(values, column))),
                    _ => None,
                }
            }
        }
    }
}

/// A NULL is assigned to a NOT NULL column.
pub(crate) struct NullRefused;

/// [`ChangedRows`] as one statement makes them.
pub(crate) struct BoundChanges<'p> {
    plan: &'p ChangedRows,
    generated: BoundGenerated,
    checks: BoundChecks,
}

impl BoundChanges<'_> {
    /// The rows as they will be, in all of the relation's columns, from the rows as they were and what is assigned.
    /// Values of generated columns are added to those assigned.
    ///
    /// # Errors
    /// The errors of evaluating generated columns; 23502 and 23514 for the first bad row.
    pub(super) fn apply(
        &self,
        before: Vec<ArrayRef>,
        count: usize,
        values: &mut Vec<ArrayRef>,
    ) -> SqlResult<RecordBatch> {
        let mut columns = before;
        let mut set = |target: &TargetColumn, array: &ArrayRef| {
            if let TargetColumn::Known(index) = target {
                columns[*index] = array.clone();
            }
        };
        self.plan.targets.iter().zip(&*values).for_each(|(target, array)| set(target, array));
        if !self.plan.generated.is_empty() {
            let column = |index: usize| columns.get(index).cloned();
            let shown = RowValues { count, column: &column }.visible(&self.plan.relation)?;
            let computed = self.generated.values(&shown)?;
            for (target, array) in self.plan.generated.targets().zip(computed) {
                if let TargetColumn::Known(index) = target {
                    columns[index] = array.clone();
                }
                values.push(array);
            }
        }
        let column = |index: usize| columns.get(index).cloned();
        self.checks.check(&RowValues { count, column: &column })?;
        let described = &self.plan.relation.columns;
        let columns =
            columns.into_iter().zip(described).map(|(values, c)| shown(values, c)).collect::<SqlResult<Vec<_>>>()?;
        Ok(RecordBatch::try_new(Returning::row_schema(&self.plan.relation), columns)?)
    }
}
