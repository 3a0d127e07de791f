//! `COPY ... FROM ... WHERE`: which of the rows read are written.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{filter_record_batch, prep_null_mask_filter};
use arrow::record_batch::RecordBatch;
use tablegate_bind::ParsedExpression;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use crate::ddl::{Place, plan_condition};
use crate::dml::BoundExpressions;
use crate::plan::{Planner, resolve_column};
use crate::relation::Relation;
use crate::syntax::column_names;

/// A condition, ready for one COPY.
pub(super) struct Condition {
    bound: BoundExpressions,
    sql_type: SqlType,
}

impl Condition {
    /// # Errors
    /// What is wrong with the condition; 42P10 for a generated column in it.
    pub(super) fn plan(
        planner: &Planner<'_>,
        relation: &Relation,
        parsed: &SqlResult<ParsedExpression>,
    ) -> SqlResult<Self> {
        let expression = parsed.as_ref().map_err(Clone::clone)?;
        if let Some(column) = generated_column_in(relation, expression) {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message)
                .with_detail(format!("Column \"{column}\" is a generated column.")));
        }
        let planned = plan_condition(planner, relation, expression, Place::CopyWhere)?;
        let sql_type = planned.types().first().cloned().unwrap_or(SqlType::Bool);
        Ok(Self { bound: planned.bind(&planner.moment())?, sql_type })
    }

    /// Which rows are written: where it is true. `rows` are the visible columns.
    ///
    /// # Errors
    /// What the condition meets.
    pub(super) fn of(&self, rows: &RecordBatch) -> SqlResult<BooleanArray> {
        let held: ArrayRef = self.bound.evaluate(0, rows)?;
        let held = edm::assign(&held, &self.sql_type, &SqlType::Bool, true)?;
        let held = held.as_boolean();
        Ok(if held.null_count() > 0 { prep_null_mask_filter(held) } else { held.clone() })
    }
}

/// The rows where the mask is true.
///
/// # Errors
/// None are expected: the mask is as long as the rows.
pub(super) fn kept(rows: &RecordBatch, mask: &BooleanArray) -> SqlResult<RecordBatch> {
    Ok(filter_record_batch(rows, mask)?)
}

/// The first generated column that a condition names.
fn generated_column_in<'r>(relation: &'r Relation, condition: &ParsedExpression) -> Option<&'r str> {
    let names: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
    column_names(condition).iter().find_map(|name| {
        let (_, column) = relation.column(resolve_column(names.iter(), name).ok().flatten()?)?;
        column.generated.is_some().then_some(column.name.as_str())
    })
}
