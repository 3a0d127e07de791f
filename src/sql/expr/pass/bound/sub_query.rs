//! Sub-queries inside of expressions: their plans are those of the queries around.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema as _, NullHandling, ScalarValue, UnnestOptions};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, when};
use datafusion::prelude::lit;
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind, SubQueryUse};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{EntryRow, Surroundings};
use crate::expr::literal;
use crate::expr::meaning::Meaning;
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::pass::{Pass, chains, raised};

impl Pass<'_> {
    pub(super) fn bound_sub_query(
        &self,
        number: usize,
        used: &SubQueryUse,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let (test, is_any) = match used {
            SubQueryUse::Exists => {
                return Ok(Expr::Exists(Exists { subquery: around.sub_query(number)?, negated: false }));
            }
            SubQueryUse::Value => {
                return match around.known_value(number) {
                    Some((value, sql_type)) => Ok(literal::literal(value, &sql_type)),
                    None => Ok(Expr::ScalarSubquery(around.sub_query(number)?)),
                };
            }
            SubQueryUse::Array => return self.array_of_query(around.sub_query(number)?, around),
            SubQueryUse::OnlyRow => return self.only_row(around.sub_query(number)?, around),
            SubQueryUse::Row(test) => return self.tested(around.sub_query(number)?, test, around),
            SubQueryUse::Any(test) => (test, true),
            SubQueryUse::All(test) => (test, false),
        };
        let Some((first, op)) = comparison(test) else {
            return self.quantified(&around.sub_query(number)?, test, is_any, around);
        };
        let expr = Box::new(self.bound(first, around)?);
        let subquery = around.sub_query(number)?;
        Ok(match (op, is_any) {
            (Operator::Eq, true) | (Operator::NotEq, false) => {
                self.in_subquery(InSubquery { expr, subquery, negated: !is_any }, around.schema())?
            }
            _ => {
                let quantifier = if is_any { SetQuantifier::Any } else { SetQuantifier::All };
                self.set_comparison(SetComparison { expr, subquery, op, quantifier }, around.schema())?
            }
        })
    }

    /// A query's only row as one value; NULL when it has none.
    fn only_row(&self, query: Subquery, around: &dyn Surroundings) -> SqlResult<Expr> {
        let inside = Inside { around, schema: query.subquery.schema() };
        let schema = query.subquery.schema();
        let column = |at: usize| (format!("f{}", at + 1), Expr::Column(Column::from(schema.qualified_field(at))));
        let columns = (0..schema.fields().len()).map(column).collect();
        let row = self.entry_row(EntryRow { table: None, columns, is_there: None }, &inside)?.alias("row");
        let plan = LogicalPlan::Projection(Projection::try_new(vec![row], query.subquery)?);
        Ok(Expr::ScalarSubquery(sub_query_of(plan)))
    }

    /// What a test gives of a query's only row; NULL when it has none.
    fn tested(&self, query: Subquery, test: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let inside = Inside { around, schema: query.subquery.schema() };
        let test = self.bound(test, &inside)?;
        refuse_over_rows(&test)?;
        let test = test.alias("row");
        let plan = LogicalPlan::Projection(Projection::try_new(vec![test], query.subquery)?);
        Ok(Expr::ScalarSubquery(sub_query_of(plan)))
    }

    /// Whether a test holds for one of a query's rows, or for all; that may be unknown.
    fn quantified(
        &self,
        query: &Subquery,
        test: &BoundExpr,
        is_any: bool,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let inside = Inside { around, schema: query.subquery.schema() };
        self.decided(query, self.bound(test, &inside)?, is_any)
    }

    fn decided(&self, query: &Subquery, test: Expr, is_any: bool) -> SqlResult<Expr> {
        refuse_over_rows(&test)?;
        let exists = |condition: Expr| {
            let rows = LogicalPlan::Filter(Filter::try_new(condition, Arc::clone(&query.subquery))?);
            SqlResult::Ok(Expr::Exists(Exists { subquery: sub_query_of(rows), negated: false }))
        };
        let decides = exists(if is_any { test.clone() } else { Expr::Not(Box::new(test.clone())) })?;
        let is_unknown = exists(test.is_null())?;
        let unknown = Expr::Literal(ScalarValue::Boolean(None), None);
        Ok(when(decides, lit(is_any)).when(is_unknown, unknown).otherwise(lit(!is_any))?)
    }

    /// An operator that is no comparison, between a value and each item of an array.
    pub(super) fn with_each_item(
        &self,
        operator: &str,
        is_any: bool,
        value: Operand,
        array: &BoundExpr,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let test = |value: Operand, item: Operand, schema: &DFSchema| {
            SqlResult::Ok(self.call(Meaning::Binary(operator.to_owned()), vec![value, item], schema)?)
        };
        if let ExprKind::Array { items, is_of_arrays: false } = &array.without_implicit_casts().kind {
            let items = self.bound_operands(items, around)?.into_iter();
            let tests = items.map(|item| test(value.clone(), item, around.schema()));
            let way = if is_any { Operator::Or } else { Operator::And };
            return Ok(chains::joined(tests.collect::<SqlResult<_>>()?, way).unwrap_or_else(|| lit(!is_any)));
        }
        let outer = |expr| outward(expr, &|column| Ok(around.schema().field_from_column(column)?.clone()));
        let array = self.bound_operand(array, around)?;
        let is_absent = array.expr.clone().is_null();
        let list = self.bound_call("unnest_items", vec![array], around)?;
        let list = outer(list)?.alias("item");
        let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
        let items = LogicalPlanBuilder::empty(true).project([list])?;
        let items = items.unnest_columns_with_options(vec![Column::from_name("item")], options)?.build()?;
        let items = self.finished(items, &DFSchema::empty())?;
        let item = self.operand(Expr::Column(Column::from_name("item")), items.schema())?;
        let value = Operand { expr: outer(value.expr)?, ..value };
        let test = test(value, item, items.schema())?;
        let decided = self.decided(&sub_query_of(items), test, is_any)?;
        Ok(when(is_absent, Expr::Literal(ScalarValue::Boolean(None), None)).otherwise(decided)?)
    }
}

/// An expression over columns around, as one inside of a sub-query; `field` is what such a column is.
///
/// # Errors
/// When there is no such column.
pub(crate) fn outward(expr: Expr, field: &dyn Fn(&Column) -> SqlResult<FieldRef>) -> SqlResult<Expr> {
    let outer = |part: Expr| match part {
        Expr::Column(column) => {
            let field = field(&column).map_err(raised)?;
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        part => Ok(Transformed::no(part)),
    };
    Ok(expr.transform_down(outer)?.data)
}

/// # Errors
/// 0A000 for an aggregate of the query around in a test inside of a sub-query.
fn refuse_over_rows(test: &Expr) -> SqlResult<()> {
    match test.exists(|part| Ok(matches!(part, Expr::AggregateFunction(_) | Expr::WindowFunction(_))))? {
        true => Err(SqlError::not_supported("an aggregate or a window function beside the rows of a sub-query")
            .with_hint("Compute it in a sub-query in FROM.")),
        false => Ok(()),
    }
}

/// A plan as a sub-query of what is around it.
pub(crate) fn sub_query_of(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: plan.into(), outer_ref_columns, spans: Default::default() }
}

/// The value that is compared with a sub-query's only column, and the operator; `None` for other tests.
fn comparison(test: &BoundExpr) -> Option<(&BoundExpr, Operator)> {
    let ExprKind::Operation { first, links } = &test.without_implicit_casts().kind else { return None };
    let [link] = links.as_slice() else { return None };
    let is_column = matches!(link.operand.without_implicit_casts().kind, ExprKind::SubQueryColumn(0));
    let operator = comparison_operator(link.operator.name)?;
    is_column.then_some((&**first, operator))
}

/// The surroundings of an expression that is computed of a sub-query's rows, beside those of the query around.
struct Inside<'a> {
    around: &'a dyn Surroundings,
    schema: &'a DFSchema,
}

impl Inside<'_> {
    /// A column around, as one that the sub-query refers to.
    fn outer(&self, expr: Expr) -> SqlResult<Expr> {
        outward(expr, &|column| Ok(self.around.schema().field_from_column(column)?.clone()))
    }
}

impl Surroundings for Inside<'_> {
    fn schema(&self) -> &DFSchema {
        self.schema
    }

    fn column(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr> {
        self.outer(self.around.column(level, entry, column)?)
    }

    fn row(&self, level: usize, entry: usize) -> SqlResult<EntryRow> {
        let EntryRow { table, columns, is_there } = self.around.row(level, entry)?;
        let columns = columns.into_iter().map(|(name, column)| Ok((name, self.outer(column)?)));
        let is_there = is_there.map(|is_there| self.outer(is_there)).transpose()?;
        Ok(EntryRow { table, columns: columns.collect::<SqlResult<_>>()?, is_there })
    }

    fn query(&self) -> Option<&BoundQuery> {
        self.around.query()
    }

    fn has_own_groups(&self) -> bool {
        false
    }

    fn aggregate_outside(&self, level: usize, make: &dyn Fn(&dyn Surroundings) -> SqlResult<Expr>) -> SqlResult<Expr> {
        self.around.aggregate_outside(level, make)
    }

    fn sub_query(&self, number: usize) -> SqlResult<Subquery> {
        self.around.sub_query(number)
    }

    fn known_value(&self, number: usize) -> Option<(ScalarValue, SqlType)> {
        self.around.known_value(number)
    }

    fn stored_type(&self, level: usize, entry: usize, column: usize) -> SqlResult<Expr> {
        self.outer(self.around.stored_type(level, entry, column)?)
    }

    fn changes_settings(&self) -> bool {
        self.around.changes_settings()
    }

    fn sub_query_column(&self, number: usize) -> SqlResult<Expr> {
        match number < self.schema.fields().len() {
            true => Ok(Expr::Column(Column::from(self.schema.qualified_field(number)))),
            false => Err(SqlError::not_supported("a column that a sub-query does not have")),
        }
    }
}
