//! New rows: what a statement gives, completed with defaults and generated columns, and checked.
//!
//! INSERT and COPY come through here with batches of what they give. What goes on has every column that gets a value.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::execution_props::ExecutionProps;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::checks::{BadRow, BoundChecks, RowChecks, RowValues, batch_of};
use super::defaults::{BoundDefaults, Defaults};
use super::generated::{BoundGenerated, Generated};
use super::target::TargetColumn;
use crate::plan::Planner;
use crate::relation::{Relation, RelationColumn};

/// What the new rows of a statement need besides what it gives.
#[derive(Debug)]
pub(crate) struct NewRows {
    relation: Arc<Relation>,
    /// What the statement gives, then defaults, then generated columns.
    targets: Vec<TargetColumn>,
    given: usize,
    filled: Vec<usize>,
    defaults: Defaults,
    generated: Generated,
    checks: RowChecks,
}

impl NewRows {
    /// For rows with values for `given`. Other columns get their defaults; those of the given columns in `asked` can be
    /// asked for.
    ///
    /// # Errors
    /// The errors of planning the table's defaults, generated columns or checks.
    pub(crate) fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        given: &[TargetColumn],
        asked: &[usize],
    ) -> SqlResult<Self> {
        let is_given = |index: usize| given.contains(&TargetColumn::Known(index));
        let wanted = (0..relation.columns.len()).filter(|index| !is_given(*index) || asked.contains(index));
        let defaults = Defaults::prepare(planner, relation, wanted)?;
        let generated = Generated::prepare(planner, relation)?;
        let filled: Vec<usize> = defaults.columns().filter(|index| !is_given(*index)).collect();
        let mut targets = given.to_vec();
        targets.extend(filled.iter().map(|index| TargetColumn::Known(*index)));
        targets.extend(generated.targets());
        let checks = RowChecks::prepare(planner, relation)?;
        Ok(Self { relation: relation.clone(), targets, given: given.len(), filled, defaults, generated, checks })
    }

    /// The columns of completed rows.
    pub(crate) fn targets(&self) -> &[TargetColumn] {
        &self.targets
    }

    /// Whether rows are complete as they are given, and nothing is asked of them but values where these are required.
    pub(crate) fn is_plain(&self) -> bool {
        self.defaults.is_plain() && self.generated.is_empty() && !self.checks.need_whole_rows()
    }

    /// Makes everything ready for one statement.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of the table's expressions.
    pub(crate) fn bind(self: &Arc<Self>, planner: &Planner<'_>) -> SqlResult<BoundRows> {
        let moment = if self.is_plain() { ExecutionProps::new() } else { planner.moment() };
        Ok(BoundRows {
            plan: self.clone(),
            defaults: self.defaults.bind(&moment, planner.system.sequences()?)?,
            generated: self.generated.bind(&moment)?,
            checks: self.checks.bind(&moment, planner.style())?,
        })
    }
}

/// [`NewRows`] as one statement makes them.
pub(crate) struct BoundRows {
    plan: Arc<NewRows>,
    defaults: BoundDefaults,
    generated: BoundGenerated,
    checks: BoundChecks,
}

impl BoundRows {
    /// The columns of completed rows.
    pub(crate) fn targets(&self) -> &[TargetColumn] {
        &self.plan.targets
    }

    /// The rows, from the columns that the statement gives.
    ///
    /// # Errors
    /// What defaults and generated columns meet; 23502 and 23514 for the first bad row.
    pub(crate) async fn complete(&self, given: &RecordBatch) -> Result<RecordBatch, BadRow> {
        let filled = self.fill(given).await.map_err(|error| BadRow { row: 0, error })?;
        self.finish(&filled)
    }

    /// The rows with the defaults of what the statement does not give; they are not checked yet.
    ///
    /// # Errors
    /// The errors of evaluating the defaults.
    pub(crate) async fn fill(&self, given: &RecordBatch) -> SqlResult<RecordBatch> {
        let plan = &*self.plan;
        if plan.filled.is_empty() {
            return Ok(given.clone());
        }
        let rows = given.num_rows();
        let mut fields: Vec<_> = given.schema().fields().iter().cloned().collect();
        let mut columns: Vec<ArrayRef> = given.columns().to_vec();
        debug_assert_eq!(columns.len(), plan.given, "a batch of given columns");
        columns.extend(self.defaults.values(&plan.filled, &plan.relation.columns, rows).await?);
        fields.extend(plan.filled.iter().map(|index| field(&plan.relation.columns[*index])));
        batch_of(Arc::new(Schema::new(fields)), columns, rows)
    }

    /// The visible columns of rows that [`BoundRows::fill`] gave.
    ///
    /// # Errors
    /// XX000 when a column's values are not of its type.
    pub(crate) fn visible(&self, filled: &RecordBatch) -> SqlResult<RecordBatch> {
        let known = |index: usize| values_of(&self.plan.targets, filled.columns(), index);
        RowValues { count: filled.num_rows(), column: &known }.visible(&self.plan.relation)
    }

    /// Rows that [`BoundRows::fill`] gave, with their generated columns, checked.
    ///
    /// # Errors
    /// The errors of evaluating generated columns; 23502 and 23514 for the first bad row.
    pub(crate) fn finish(&self, filled: &RecordBatch) -> Result<RecordBatch, BadRow> {
        let of_batch = |error: Box<SqlError>| BadRow { row: 0, error };
        let plan = &*self.plan;
        let batch = if plan.generated.is_empty() {
            filled.clone()
        } else {
            let mut fields: Vec<_> = filled.schema().fields().iter().cloned().collect();
            let mut columns: Vec<ArrayRef> = filled.columns().to_vec();
            let shown = self.visible(filled).map_err(of_batch)?;
            columns.extend(self.generated.values(&shown).map_err(of_batch)?);
            fields.extend(plan.generated.targets().filter_map(|target| target.column(&plan.relation).map(field)));
            batch_of(Arc::new(Schema::new(fields)), columns, filled.num_rows()).map_err(of_batch)?
        };
        let known = |index: usize| values_of(&plan.targets, batch.columns(), index);
        self.checks.check(&RowValues { count: batch.num_rows(), column: &known })?;
        Ok(batch)
    }

    /// The default of a column for some rows, as the column's type; NULL where it has none.
    ///
    /// # Errors
    /// The errors of evaluating the default's expression.
    pub(crate) async fn default_values(&self, index: usize, rows: usize) -> SqlResult<ArrayRef> {
        let values = self.defaults.values(&[index], &self.plan.relation.columns, rows).await?.pop();
        values.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a default was not computed"))
    }
}

/// The values given so far for a column of the relation.
fn values_of(targets: &[TargetColumn], columns: &[ArrayRef], index: usize) -> Option<ArrayRef> {
    let position = targets.iter().position(|target| *target == TargetColumn::Known(index))?;
    columns.get(position).cloned()
}

fn field(column: &RelationColumn) -> Arc<arrow::datatypes::Field> {
    Arc::new(column.sql_type.field(&column.name, true))
}
