//! NOT NULL and CHECK: whether new rows may be written.
//!
//! Every writer asks here, with its rows as they will be, a batch at a time. The first bad row is reported as PostgreSQL
//! does: its first NULL, else the first of its failed checks by name, with the row's values in the DETAIL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::BytesMut;
use datafusion::logical_expr::execution_props::ExecutionProps;
use tablegate_types::error::{ErrorKind, Shown, SqlError, SqlResult};
use tablegate_types::output::TextColumn;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Style;

use super::row_expressions::{BoundExpressions, RowExpressions};
use crate::plan::Planner;
use crate::relation::{ColumnSource, Relation, RelationColumn};
use crate::syntax::parse_expression;

/// Longest value shown in a DETAIL, in bytes: PostgreSQL's own bound.
const SHOWN_BYTES: usize = 64;

/// What the rows of a table must fulfil.
#[derive(Debug, Clone)]
pub(crate) struct RowChecks {
    relation: Arc<Relation>,
    /// Names in the order of `expressions`, which is the names' own.
    names: Vec<String>,
    expressions: Option<RowExpressions>,
}

impl RowChecks {
    /// # Errors
    /// 0A000 or XX000 when a declared CHECK can no longer be planned.
    pub(super) fn prepare(planner: &Planner<'_>, relation: &Arc<Relation>) -> SqlResult<Self> {
        let mut checks: Vec<_> = relation.constraints.checks.iter().collect();
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        let names = checks.iter().map(|check| check.name.clone()).collect();
        let expressions = if checks.is_empty() {
            None
        } else {
            let parsed = checks.iter().map(|c| parse_expression(&c.expression)).collect::<SqlResult<_>>()?;
            Some(RowExpressions::plan(planner, &relation.name, &visible_schema(relation), parsed)?)
        };
        Ok(Self { relation: relation.clone(), names, expressions })
    }

    /// The first required column of one row that is NULL.
    pub(super) fn first_null(&self, row: &RowValues<'_>) -> Option<&str> {
        first_null(&self.relation, row).map(|(_, column)| column)
    }

    /// Whether an UPDATE must look at whole rows, and not only at what it sets.
    pub(super) fn need_whole_rows(&self) -> bool {
        self.expressions.is_some()
    }

    /// Makes the checks ready for one statement, whose errors show values in this style.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of a CHECK.
    pub(super) fn bind(&self, moment: &ExecutionProps, style: Style) -> SqlResult<BoundChecks> {
        let expressions = self.expressions.as_ref().map(|e| e.bind(moment)).transpose()?;
        Ok(BoundChecks { relation: self.relation.clone(), names: self.names.clone(), expressions, style })
    }
}

/// The checks as one statement applies them.
#[derive(Debug, Clone)]
pub(crate) struct BoundChecks {
    relation: Arc<Relation>,
    names: Vec<String>,
    expressions: Option<BoundExpressions>,
    style: Style,
}

/// A row that may not be written, by its place in the batch.
pub(crate) struct BadRow {
    pub row: usize,
    pub error: Box<SqlError>,
}

impl From<BadRow> for Box<SqlError> {
    fn from(bad: BadRow) -> Self {
        bad.error
    }
}

impl BoundChecks {
    /// Checks rows as they will be.
    ///
    /// # Errors
    /// 23502 or 23514 for the first bad row, and what the expressions of the checks meet.
    pub(super) fn check(&self, rows: &RowValues<'_>) -> Result<(), BadRow> {
        let first_null = first_null(&self.relation, rows);
        if first_null.is_none() && self.expressions.is_none() {
            return Ok(());
        }
        let shown = rows.visible(&self.relation).map_err(|error| BadRow { row: 0, error })?;
        // Rows behind the first NULL are never reported, so what a CHECK would meet there does not matter either.
        let sound = first_null.map_or(rows.count, |(row, _)| row);
        self.check_expressions(&shown.slice(0, sound))?;
        match first_null {
            Some((row, column)) => {
                Err(BadRow { row, error: not_null_in(&self.relation, column, &shown, row, self.style) })
            }
            None => Ok(()),
        }
    }

    fn check_expressions(&self, rows: &RecordBatch) -> Result<(), BadRow> {
        let Some(expressions) = &self.expressions else { return Ok(()) };
        let mut first: Option<(usize, &str)> = None;
        for (index, name) in self.names.iter().enumerate() {
            let held = expressions.evaluate(index, rows).map_err(|error| BadRow { row: 0, error })?;
            if let Some(row) = first_false(&held)
                && first.is_none_or(|(earlier, _)| row < earlier)
            {
                first = Some((row, name));
            }
        }
        match first {
            Some((row, name)) => Err(BadRow { row, error: self.violation(name, rows, row) }),
            None => Ok(()),
        }
    }

    fn violation(&self, check: &str, rows: &RecordBatch, row: usize) -> Box<SqlError> {
        let relation = &self.relation;
        let message = format!("new row for relation \"{}\" violates check constraint \"{check}\"", relation.name);
        let mut error = relation.error(ErrorKind::CheckViolation, message);
        error.constraint = Some(check.to_owned());
        with_failing_row(error, relation, rows, row, self.style)
    }
}

/// Rows by column: values for some columns of the relation, each as its column's type; the others are NULL.
pub(crate) struct RowValues<'a> {
    pub count: usize,
    /// The values of the column at an index of the relation's columns.
    pub column: &'a dyn Fn(usize) -> Option<ArrayRef>,
}

impl RowValues<'_> {
    /// The rows in the relation's visible columns.
    ///
    /// # Errors
    /// XX000 when a column's values are not of its type.
    pub(super) fn visible(&self, relation: &Relation) -> SqlResult<RecordBatch> {
        let schema = visible_schema(relation);
        let shown = relation.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
        let columns = shown
            .zip(schema.fields())
            .map(|((index, _), field)| match (self.column)(index) {
                Some(values) => as_layout(&values, field.data_type()),
                None => Ok(arrow::array::new_null_array(field.data_type(), self.count)),
            })
            .collect::<SqlResult<Vec<_>>>()?;
        batch_of(schema, columns, self.count)
    }
}

/// The first row with a NULL in a required column, and the first such column in it.
fn first_null<'r>(relation: &'r Relation, rows: &RowValues<'_>) -> Option<(usize, &'r str)> {
    let required = relation.columns.iter().enumerate().filter(|(_, column)| is_required(column));
    let first_of = |index: usize| match (rows.column)(index) {
        None => (rows.count > 0).then_some(0),
        Some(values) if values.null_count() == 0 => None,
        Some(values) => (0..values.len()).find(|row| values.is_null(*row)),
    };
    required
        .filter_map(|(index, column)| Some((first_of(index)?, column.name.as_str())))
        // The first column of the row wins: `min_by_key` keeps the first of equals.
        .min_by_key(|(row, _)| *row)
}

/// The first row for which the condition is false; NULL passes.
fn first_false(held: &ArrayRef) -> Option<usize> {
    let held = held.as_boolean_opt()?;
    if held.null_count() == 0 && held.true_count() == held.len() {
        return None;
    }
    (0..held.len()).find(|row| held.is_valid(*row) && !held.value(*row))
}

/// The schema of rows in the relation's visible columns, NULLs allowed.
pub(crate) fn visible_schema(relation: &Relation) -> SchemaRef {
    let fields: Vec<_> = visible(relation).map(|c| c.sql_type.field(&c.name, true)).collect();
    Arc::new(arrow::datatypes::Schema::new(fields))
}

/// A batch that keeps its number of rows even without columns.
pub(super) fn batch_of(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> SqlResult<RecordBatch> {
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// Scans give text in several layouts; expressions are planned for one.
fn as_layout(values: &ArrayRef, layout: &DataType) -> SqlResult<ArrayRef> {
    if values.data_type() == layout {
        return Ok(values.clone());
    }
    Ok(arrow::compute::cast(values, layout)?)
}

fn visible(relation: &Relation) -> impl Iterator<Item = &RelationColumn> {
    relation.columns.iter().filter(|column| !column.hidden)
}

/// Whether a writer must give the column a value: the store sets Timestamp itself.
pub(super) fn is_required(column: &RelationColumn) -> bool {
    column.not_null && !column.hidden && !matches!(column.source, ColumnSource::Timestamp | ColumnSource::ETag)
}

/// A NULL where there must be none (23502).
pub(crate) fn not_null(relation: &Relation, column: &str) -> Box<SqlError> {
    let message =
        format!("null value in column \"{column}\" of relation \"{}\" violates not-null constraint", relation.name);
    let mut error = relation.error(ErrorKind::NotNullViolation, message);
    error.column = Some(column.to_owned());
    error
}

/// The same, with the row. `rows` are the visible columns.
pub(crate) fn not_null_in(
    relation: &Relation,
    column: &str,
    rows: &RecordBatch,
    row: usize,
    style: Style,
) -> Box<SqlError> {
    with_failing_row(not_null(relation, column), relation, rows, row, style)
}

fn with_failing_row(
    mut error: Box<SqlError>,
    relation: &Relation,
    rows: &RecordBatch,
    row: usize,
    style: Style,
) -> Box<SqlError> {
    let columns = visible(relation).zip(rows.columns());
    let shown = |(column, values): (&RelationColumn, &ArrayRef)| {
        (column.name.clone(), shown_value(values, &column.sql_type, row, style))
    };
    let columns: Vec<(String, String)> = columns.map(shown).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
    let sentence = format!("Failing row contains ({}).", values.join(", "));
    error.detail = Some(sentence.clone());
    error.shown = Some(Box::new(Shown { sentence, columns, key: None }));
    error
}

fn shown_value(values: &ArrayRef, sql_type: &SqlType, row: usize, style: Style) -> String {
    let column = TextColumn::new(values, sql_type, &style);
    if column.is_null(row) {
        return "null".to_owned();
    }
    let mut text = BytesMut::new();
    column.write(row, &mut text);
    let text = String::from_utf8_lossy(&text);
    if text.len() <= SHOWN_BYTES {
        return text.into_owned();
    }
    let end = (0..=SHOWN_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned() + "..."
}
