//! `COPY ... FROM ... WHERE`: which of the rows read are written.

use std::ops::ControlFlow;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{filter_record_batch, prep_null_mask_filter};
use arrow::record_batch::RecordBatch;
use sqlparser::ast::{Expr, Visitor};
use sqlparser::tokenizer::Token;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use crate::ddl::{Place, plan_condition};
use crate::dml::BoundExpressions;
use crate::plan::{Planner, resolve_column};
use crate::relation::Relation;
use crate::syntax::{parse_tokens_of_expression, walk};

/// A condition, ready for one COPY.
pub(super) struct Condition {
    bound: BoundExpressions,
    sql_type: SqlType,
}

impl Condition {
    /// # Errors
    /// The errors of planning the condition; 42P10 for a generated column in it.
    pub(super) fn plan(planner: &Planner<'_>, relation: &Relation, tokens: &[Token]) -> SqlResult<Option<Self>> {
        if tokens.is_empty() {
            return Ok(None);
        }
        let expression = parse_tokens_of_expression(tokens.to_vec())?;
        if let ControlFlow::Break(column) = walk(&expression, &mut NamesGenerated { relation }) {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message)
                .with_detail(format!("Column \"{column}\" is a generated column.")));
        }
        let planned = plan_condition(planner, relation, &expression, Place::CopyWhere)?;
        let sql_type = planned.types().first().cloned().unwrap_or(SqlType::Bool);
        Ok(Some(Self { bound: planned.bind(&planner.moment())?, sql_type }))
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

struct NamesGenerated<'a> {
    relation: &'a Relation,
}

impl Visitor for NamesGenerated<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        let ident = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        let names: Vec<String> = self.relation.columns.iter().map(|c| c.name.clone()).collect();
        let named = ident.and_then(|ident| resolve_column(names.iter(), ident).ok().flatten());
        match named.and_then(|name| self.relation.column(name)) {
            Some((_, column)) if column.generated.is_some() => ControlFlow::Break(column.name.clone()),
            _ => ControlFlow::Continue(()),
        }
    }
}
