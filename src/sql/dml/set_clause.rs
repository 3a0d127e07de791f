//! SET: what UPDATE, ON CONFLICT DO UPDATE and MERGE assign.
//!
//! The right sides become columns of the query that computes the new values. `(a, b) = (SELECT ...)` is one column that
//! holds a whole row, so that the sub-query runs once for both.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::{ExprKind, SubQueryUse};
use tablegate_bind::query::changes::{self, AssignedValue};
use tablegate_bind::{BoundExpr, ExprType, Place};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::assigned_values::{as_given, has_no_type};
use super::defaults::bound_default;
use super::own_types::{evolved, stored_type};
use super::target::{TargetColumn, target_named};
use crate::plan::Receiver;
use crate::relation::Relation;

/// The assignments of one statement, or of one action of it.
#[derive(Debug)]
pub(super) struct SetClause {
    relation: Arc<Relation>,
    assignments: Vec<Assigned>,
    /// Columns that the values are computed in.
    width: usize,
    /// When the transaction began.
    reading: Reading,
}

/// One column and where its value stands.
#[derive(Debug)]
struct Assigned {
    target: TargetColumn,
    /// The value is a literal without a type: its text is read as the column's type.
    untyped: bool,
    /// Which of the computed columns.
    column: usize,
    /// For a column of rows: which of their fields.
    field: Option<usize>,
    /// The type its values keep, where that is not the column's.
    own_type: Option<SqlType>,
}

impl SetClause {
    /// What is assigned to columns of the relation, of which `bound` is what the binder knows. Also the expressions to compute.
    ///
    /// # Errors
    /// 42602 and 42939 for a column that no property can be.
    pub(super) fn of(
        relation: &Arc<Relation>,
        bound: &tablegate_bind::catalogue::Relation,
        assigned: &[changes::Assigned],
        reading: Reading,
    ) -> SqlResult<(Self, Vec<BoundExpr>)> {
        let mut set = Self { relation: relation.clone(), assignments: Vec::new(), width: 0, reading };
        let mut values: Vec<BoundExpr> = Vec::new();
        // Where the rows of queries stand that several columns are set from.
        let mut rows: Vec<(usize, usize)> = Vec::new();
        for one in assigned {
            let target = target_named(relation, &bound.columns[one.column].name)?;
            let (column, field, untyped) = match &one.value {
                AssignedValue::OfRow { query, value } => {
                    let known = rows.iter().find(|(of, _)| of == query).map(|(_, column)| *column);
                    let column = known.unwrap_or_else(|| {
                        rows.push((*query, values.len()));
                        values.push(row_of(*query, value.place));
                        values.len() - 1
                    });
                    let ExprKind::SubQueryColumn(field) = as_given(value).kind else {
                        return Err(SqlError::new(ErrorKind::Internal, "a column that is set from no row"));
                    };
                    // A sub-query's literals are text, as in PostgreSQL.
                    (column, Some(field), false)
                }
                AssignedValue::Expr(value) => {
                    let value = match value.kind {
                        // It is computed anyway.
                        ExprKind::Default if target.column(relation).is_some_and(|c| c.generated.is_some()) => continue,
                        ExprKind::Default => bound_default(relation, &target)?,
                        _ => as_given(value).clone(),
                    };
                    values.push(value);
                    (values.len() - 1, None, values.last().is_some_and(has_no_type))
                }
            };
            set.assignments.push(Assigned { target, untyped, column, field, own_type: None });
        }
        set.width = values.len();
        Ok((set, values))
    }

    /// How many columns the values are computed in.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &TargetColumn> {
        self.assignments.iter().map(|assigned| &assigned.target)
    }

    /// Whether it may change the keys of rows.
    pub(super) fn assigns_key(&self) -> bool {
        let key_columns = self.relation.key_columns();
        self.targets().any(|target| key_columns.iter().any(|c| *target == TargetColumn::Known(*c)))
    }

    /// The columns that take the values, which begin at `first`. What is not declared takes values of all types.
    pub(super) fn receivers(&self, first: usize) -> Vec<Receiver> {
        let receiver = |assigned: &Assigned| {
            let column = assigned.target.column(&self.relation)?;
            (assigned.field.is_none() && column.observed.is_none()).then(|| Receiver {
                place: first + assigned.column,
                name: column.name.clone(),
                sql_type: column.sql_type.clone(),
                untyped: assigned.untyped,
            })
        };
        self.assignments.iter().filter_map(receiver).collect()
    }

    /// Lets values of undeclared properties keep their own types, which a plan's schema tells; the values begin at
    /// `first`. The table as it shows then.
    pub(super) fn keep_own_types(&mut self, schema: &Schema, first: usize) -> Arc<Relation> {
        for assigned in self.assignments.iter_mut().filter(|assigned| assigned.field.is_none()) {
            let from = SqlType::of_field(schema.field(first + assigned.column));
            let stored = assigned.target.column(&self.relation).map(|c| stored_type(c, &from, assigned.untyped));
            assigned.own_type = stored;
        }
        let stored = self.assignments.iter().filter_map(|a| Some((&a.target, a.own_type.clone()?)));
        evolved(&self.relation, stored)
    }

    /// The new values, each as its column's type, from a batch whose column at `first` is the first computed one.
    ///
    /// # Errors
    /// The errors of assigning them to their columns.
    pub(super) fn values(&self, batch: &RecordBatch, first: usize) -> SqlResult<Vec<ArrayRef>> {
        let schema = batch.schema();
        let value = |assigned: &Assigned| {
            let index = first + assigned.column;
            let (values, from) = match assigned.field {
                None => (batch.column(index).clone(), SqlType::of_field(schema.field(index))),
                Some(field) => field_of(batch.column(index), field)?,
            };
            match assigned.target.column(&self.relation) {
                Some(column) => {
                    let to = assigned.own_type.as_ref().unwrap_or(&column.sql_type);
                    edm::assign_as(&values, &from, to, assigned.untyped, self.reading)
                        .map_err(|e| e.for_column(&column.name))
                }
                None => Ok(values),
            }
        };
        self.assignments.iter().map(value).collect()
    }
}

/// One field of a column of rows; NULL where there is no row.
fn field_of(rows: &ArrayRef, field: usize) -> SqlResult<(ArrayRef, SqlType)> {
    let row = rows.as_struct_opt().filter(|row| field < row.num_columns());
    let row = row.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a row-valued sub-query did not give rows"))?;
    let from = SqlType::of_field(&row.fields()[field]);
    let values = row.column(field);
    if row.null_count() == 0 {
        return Ok((values.clone(), from));
    }
    let absent = arrow::compute::is_null(row)?;
    Ok((arrow::compute::nullif(values, &absent)?, from))
}

/// The only row of a sub-query of the statement's: it runs once for all columns that are set from it.
fn row_of(query: usize, place: Place) -> BoundExpr {
    let kind = ExprKind::SubQuery { query, used: SubQueryUse::OnlyRow };
    BoundExpr::new(kind, ExprType::plain(oids::RECORD), place)
}
