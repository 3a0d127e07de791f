//! Sub-queries that stand for one value.
//!
//! The planner joins a correlated sub-query to its outer query, and for that it must see that there is at most one
//! row for each outer row: an aggregate says so. Catalogue queries look things up by their OIDs, so there is one row
//! or none, and the greatest of one value is that value. Only equalities can be joined on: other conditions on the
//! outer query are put around the sub-query.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident,
    OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, UnaryOperator, Value,
    Visitor, VisitorMut,
};

use super::forms::{call, is_aggregate, last_name, take, value};
use super::scopes::Scope;
use crate::expr::{FIRST_OF, ONLY_OF};
use crate::syntax::{query_of, walk, walk_mut};

/// Makes a scalar sub-query one row by an aggregate.
pub(super) fn at_most_one_row(expr: &mut Expr) {
    let Expr::Subquery(query) = expr else { return };
    let SetExpr::Select(select) = &mut *query.body else { return };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if select.from.is_empty() || !ungrouped || select.having.is_some() || select.distinct.is_some() {
        return;
    }
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] if !has_aggregate(item) => {}
        _ => return,
    }
    let around = conditions_around(select);
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_mut_slice()
    else {
        return;
    };
    let order = query.order_by.take().map(|o| o.kind);
    let limited = query.limit_clause.take().is_some();
    *item = match order {
        Some(OrderByKind::Expressions(order)) if limited => {
            let mut first = call(FIRST_OF, vec![take(item)]);
            if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut first {
                list.clauses.push(FunctionArgumentClause::OrderBy(order));
            }
            first
        }
        _ => call(ONLY_OF, vec![take(item)]),
    };
    if let Some(condition) = around {
        let result = take(expr);
        *expr = Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen { condition, result }],
            else_result: None,
        };
    }
}

/// Takes the conditions that the planner cannot join on out of a sub-query: those on outer columns alone, and
/// comparisons of outer with inner columns, whose inner side becomes a sub-query of its own.
fn conditions_around(select: &mut Select) -> Option<Expr> {
    let scope = Scope::of(select);
    if !scope.is_complete() {
        return None;
    }
    let mut conjuncts = Vec::new();
    split(select.selection.take()?, &mut conjuncts);
    let (mut kept, mut equal, mut outer, mut mixed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for conjunct in conjuncts {
        let origins = scope.origins(&conjunct);
        match &conjunct {
            _ if !origins.outside => kept.push(conjunct),
            _ if !origins.inside => outer.push(conjunct),
            Expr::BinaryOp { left, op, right } if scope.origins(left) != scope.origins(right) => match op {
                BinaryOperator::Eq => equal.push(conjunct),
                op if is_inequality(op) => mixed.push(conjunct),
                _ => kept.push(conjunct),
            },
            _ => kept.push(conjunct),
        }
    }
    let inner: Vec<Expr> = mixed.iter_mut().filter_map(|conjunct| inner_side(&scope, conjunct)).map(take).collect();
    let mut values = look_up(&scope, select, &inner, kept, equal).into_iter();
    for mut conjunct in mixed {
        if let (Expr::BinaryOp { left, right, .. }, Some(value)) = (&mut conjunct, values.next()) {
            // The side that was taken is the one that is NULL now.
            let side = if scope.origins(left).outside { right } else { left };
            **side = value;
        }
        outer.push(conjunct);
    }
    join(outer)
}

/// The operand of a comparison with outer columns that has the inner ones.
fn inner_side<'e>(scope: &Scope, comparison: &'e mut Expr) -> Option<&'e mut Expr> {
    let Expr::BinaryOp { left, right, .. } = comparison else { return None };
    Some(if scope.origins(left).inside { left } else { right })
}

/// Gives the select its conditions back, and the values that the given expressions have in its only row.
///
/// Keys of several tables may have one name (`oid`), and the planner tells the columns it joins on by their names
/// alone. So there the tables are joined first, in a derived table that gives each key a name of its own.
fn look_up(scope: &Scope, select: &mut Select, inner: &[Expr], kept: Vec<Expr>, mut equal: Vec<Expr>) -> Vec<Expr> {
    const ROW: &str = "catalog_row";
    if !scope.has_several() || equal.is_empty() {
        select.selection = join(kept.into_iter().chain(equal).collect());
        return inner.iter().map(|value| value_of(value.clone(), select)).collect();
    }
    let mut row = select.clone();
    row.selection = join(kept);
    row.projection.clear();
    let mut named = |expr: Expr| {
        let alias = Ident::with_quote('"', format!("value{}", row.projection.len()));
        row.projection.push(SelectItem::ExprWithAlias { expr, alias: alias.clone() });
        Expr::CompoundIdentifier(vec![Ident::new(ROW), alias])
    };
    for side in equal.iter_mut().filter_map(|conjunct| inner_side(scope, conjunct)) {
        *side = named(take(side));
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            *expr = named(take(expr));
        }
    }
    let inner: Vec<Expr> = inner.iter().map(|value| named(value.clone())).collect();
    let alias = TableAlias { explicit: true, name: Ident::new(ROW), columns: Vec::new(), at: None };
    let derived =
        TableFactor::Derived { lateral: false, subquery: Box::new(query_of(row)), alias: Some(alias), sample: None };
    select.from = vec![TableWithJoins { relation: derived, joins: Vec::new() }];
    select.selection = join(equal);
    inner.into_iter().map(|value| value_of(value, select)).collect()
}

/// The value of an expression in the sub-query's only row.
fn value_of(inner: Expr, select: &Select) -> Expr {
    let mut select = select.clone();
    select.projection = vec![SelectItem::UnnamedExpr(call(ONLY_OF, vec![inner]))];
    Expr::Subquery(Box::new(query_of(select)))
}

fn is_inequality(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq)
}

pub(super) fn split(expr: Expr, conjuncts: &mut Vec<Expr>) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            split(*left, conjuncts);
            split(*right, conjuncts);
        }
        Expr::Nested(inner) => split(*inner, conjuncts),
        other => conjuncts.push(other),
    }
}

pub(super) fn join(conjuncts: Vec<Expr>) -> Option<Expr> {
    let and = |left, right| Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) };
    // Parentheses that were around an OR are put back.
    conjuncts.into_iter().map(|c| Expr::Nested(Box::new(c))).reduce(and)
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
    walk(expr, &mut Finds { depth: 0 }).is_break()
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
        let _ = walk_mut(item, &mut SpellsOut);
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
