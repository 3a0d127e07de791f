//! Sub-queries that stand for one value.
//!
//! The planner joins a correlated sub-query to its outer query, and for that it must see that there is at most one
//! row for each outer row: an aggregate says so. Catalogue queries look things up by their OIDs, so there is one row
//! or none, and the greatest of one value is that value.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, OrderByKind, Query, SelectItem, SetExpr,
    UnaryOperator, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::forms::{call, is_aggregate, last_name, take, value};

/// Makes a scalar sub-query one row by an aggregate.
pub(super) fn at_most_one_row(expr: &mut Expr) {
    let Expr::Subquery(query) = expr else { return };
    let SetExpr::Select(select) = &mut *query.body else { return };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if select.from.is_empty() || !ungrouped || select.having.is_some() || select.distinct.is_some() {
        return;
    }
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_mut_slice()
    else {
        return;
    };
    if has_aggregate(item) {
        return;
    }
    let order = query.order_by.take().map(|o| o.kind);
    let limited = query.limit_clause.take().is_some();
    *item = match order {
        Some(OrderByKind::Expressions(order)) if limited => {
            let mut first = call("first_value", vec![take(item)]);
            if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut first {
                list.clauses.push(FunctionArgumentClause::OrderBy(order));
            }
            first
        }
        _ => call("max", vec![take(item)]),
    };
}

/// Whether the expression itself aggregates, not counting its sub-queries.
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    struct Finds {
        depth: usize,
    }
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(f) if self.depth == 0 && f.over.is_none() && is_aggregate(&last_name(&f.name)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Finds { depth: 0 }).is_break()
}

/// EXISTS in a select list, where the planner does not take it: whether any row says true.
pub(super) fn spell_out_exists(projection: &mut [SelectItem]) {
    struct SpellsOut;
    impl VisitorMut for SpellsOut {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Exists { subquery, negated } = expr {
                let negated = *negated;
                if let Some(any) = any_row(subquery) {
                    let any = call("coalesce", vec![any, value(Value::Boolean(false))]);
                    *expr = match negated {
                        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(any) },
                        false => any,
                    };
                }
            }
            ControlFlow::Continue(())
        }
    }
    for item in projection {
        let _ = item.visit(&mut SpellsOut);
    }
}

fn any_row(query: &mut Query) -> Option<Expr> {
    let mut query = query.clone();
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if !ungrouped || query.limit_clause.is_some() {
        return None;
    }
    query.order_by = None;
    select.distinct = None;
    select.projection = vec![SelectItem::UnnamedExpr(call("bool_or", vec![value(Value::Boolean(true))]))];
    Some(Expr::Subquery(Box::new(query)))
}
