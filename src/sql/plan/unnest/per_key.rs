//! LIMIT and DISTINCT ON of a sub-query: they choose among the rows of each key, so the rows are numbered by key.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    DistinctOn, Expr, ExprFuncBuilder, ExprFunctionExt, Limit, LogicalPlan, Projection, SortExpr, Window, WindowFrame,
    WindowFrameBound, WindowFrameUnits, cast, lit,
};

use super::correlation::{Key, deciding};
use super::pieces::{column_exprs, filter, project};
use super::push::{Free, Pusher};

impl Pusher<'_> {
    pub(super) fn push_limit(&mut self, plan: Limit) -> Result<Free> {
        let (input, number) = self.numbered(Arc::unwrap_or_clone(plan.input))?;
        let number = || cast(Expr::Column(number.clone()), DataType::Int64);
        let skip = self.bound(plan.skip, &input.keys)?;
        let fetch = self.bound(plan.fetch, &input.keys)?;
        // NULL is none of both.
        let skip = skip.map(|skip| coalesce(vec![skip, lit(0_i64)]));
        let last = fetch.map(|fetch| skip.clone().map_or(fetch.clone(), |skip| skip + fetch));
        let mut conditions = Vec::new();
        conditions.extend(skip.map(|skip| number().gt(skip)));
        conditions.extend(last.map(|last| last.clone().is_null().or(number().lt_eq(last))));
        Ok(Free { plan: filter(input.plan, conditions)?, ..input })
    }

    pub(super) fn push_distinct_on(&mut self, plan: DistinctOn) -> Result<Free> {
        let input = self.push_rows(Arc::unwrap_or_clone(plan.input))?;
        let on = plan.on_expr.into_iter().map(|e| self.inward(e, &input.keys)).collect::<Result<_>>()?;
        let (plan_numbered, number) = self.number(input.plan, &input.keys, on, plan.sort_expr.unwrap_or_default())?;
        let first = filter(plan_numbered, vec![cast(Expr::Column(number), DataType::Int64).eq(lit(1_i64))])?;
        let names = NamePreserver::new_for_projection();
        let mut exprs = Vec::with_capacity(plan.select_expr.len() + input.keys.len());
        for expr in plan.select_expr {
            let name = names.save(&expr);
            exprs.push(name.restore(self.inward(expr, &input.keys)?));
        }
        exprs.extend(input.keys.iter().map(|k| Expr::Column(k.column.clone())));
        Ok(Free { plan: project(first, exprs)?, keys: input.keys, on_empty: None })
    }

    /// The rows with their number within their key, in the order they are sorted in.
    fn numbered(&mut self, plan: LogicalPlan) -> Result<(Free, Column)> {
        match plan {
            LogicalPlan::Sort(sort) => {
                let input = self.push_rows(Arc::unwrap_or_clone(sort.input))?;
                let (plan, number) = self.number(input.plan, &input.keys, Vec::new(), sort.expr)?;
                Ok((Free { plan, ..input }, number))
            }
            LogicalPlan::Projection(projection) if is_sorted_below(&projection.input) => {
                self.numbered_projection(projection)
            }
            other => {
                let input = self.push_rows(other)?;
                let (plan, number) = self.number(input.plan, &input.keys, Vec::new(), Vec::new())?;
                Ok((Free { plan, ..input }, number))
            }
        }
    }

    fn numbered_projection(&mut self, plan: Projection) -> Result<(Free, Column)> {
        let (input, number) = self.numbered(Arc::unwrap_or_clone(plan.input))?;
        let names = NamePreserver::new_for_projection();
        let mut exprs = Vec::with_capacity(plan.expr.len() + input.keys.len() + 1);
        for expr in plan.expr {
            let name = names.save(&expr);
            exprs.push(name.restore(self.inward(expr, &input.keys)?));
        }
        exprs.extend(column_exprs(input.keys.iter().map(|k| k.column.clone()).collect()));
        exprs.push(Expr::Column(number.clone()));
        Ok((Free { plan: project(input.plan, exprs)?, keys: input.keys, on_empty: None }, number))
    }

    fn number(
        &mut self,
        plan: LogicalPlan,
        keys: &[Key],
        mut by: Vec<Expr>,
        order: Vec<SortExpr>,
    ) -> Result<(LogicalPlan, Column)> {
        by.extend(deciding(keys));
        let order = order.into_iter().map(|s| Ok(s.with_expr(self.inward(s.expr.clone(), keys)?)));
        let order: Vec<SortExpr> = order.collect::<Result<_>>()?;
        let name = self.names.next("row");
        let number = row_number_in_rows().partition_by(by).order_by(order).build()?.alias(name.clone());
        let plan = LogicalPlan::Window(Window::try_new(vec![number], Arc::new(plan))?);
        Ok((plan, Column::from_name(name)))
    }

    /// LIMIT's or OFFSET's number; none for NULL, which is ALL.
    fn bound(&self, expr: Option<Box<Expr>>, keys: &[Key]) -> Result<Option<Expr>> {
        match expr.map(|e| *e) {
            None => Ok(None),
            Some(Expr::Literal(value, _)) if value.is_null() || value == ScalarValue::Null => Ok(None),
            Some(expr) => Ok(Some(cast(self.inward(expr, keys)?, DataType::Int64))),
        }
    }
}

/// `row_number()`, in a frame of rows: one of values needs an order, and the optimizer takes constants off it.
pub(super) fn row_number_in_rows() -> ExprFuncBuilder {
    row_number().window_frame(WindowFrame::new_bounds(
        WindowFrameUnits::Rows,
        WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
        WindowFrameBound::CurrentRow,
    ))
}

fn is_sorted_below(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(projection) => is_sorted_below(&projection.input),
        _ => false,
    }
}
