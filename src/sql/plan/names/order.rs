//! ORDER BY, GROUP BY and DISTINCT ON: labels and positions of the select list, and when they come before columns.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr, GroupByExpr, Ident, ObjectName, OrderByExpr, Value, ValueWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::expr::Clause;
use super::{Output, Resolver};
use crate::syntax;
use crate::syntax::{fold, next_free, walk_expressions};

/// What an item says by itself.
pub(super) enum OrderItem {
    /// A column of the result, from 1.
    Position(usize),
    /// A bare name that no column of the result has.
    Name(String),
    Expression,
}

/// A resolved select list.
pub(super) struct SelectList<'s> {
    pub exprs: &'s [Expr],
    pub outputs: &'s [Output],
    /// Whether these are all of its columns.
    pub is_known: bool,
}

/// What an item of ORDER BY means by a label or position, given the columns of the result.
///
/// # Errors
/// 42P10 for a position that is not there, 42601 for another constant, 42702 for a name of several columns.
pub(super) fn order_item(expr: &Expr, columns: &[Output], exprs: Option<&[Expr]>) -> SqlResult<OrderItem> {
    if let Some(position) = position_of(expr, "ORDER BY", columns.len())? {
        return Ok(OrderItem::Position(position));
    }
    let Expr::Identifier(ident) = expr else { return Ok(OrderItem::Expression) };
    let name = fold(ident);
    let with_label = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
        columns.iter().enumerate().filter(|(_, c)| is_it(&c.label)).map(|(i, _)| i).collect()
    };
    let mut found = with_label(&|label| label == name);
    if found.is_empty() && ident.quote_style.is_none() {
        found = with_label(&|label| label.eq_ignore_ascii_case(&name));
    }
    match found.as_slice() {
        [] => Ok(OrderItem::Name(name)),
        [first, others @ ..] if others.iter().all(|o| exprs.is_some_and(|exprs| exprs[*o] == exprs[*first])) => {
            Ok(OrderItem::Position(first + 1))
        }
        _ => Err(SqlError::new(ErrorKind::AmbiguousColumn, format!("ORDER BY \"{name}\" is ambiguous"))),
    }
}

/// The position that an integer constant in a clause means.
///
/// # Errors
/// 42P10 when there is no such column, 42601 for another constant.
fn position_of(expr: &Expr, clause: &str, width: usize) -> SqlResult<Option<usize>> {
    let Expr::Value(ValueWithSpan { value, .. }) = expr else { return Ok(None) };
    match value {
        Value::Placeholder(_) => Ok(None),
        Value::Number(text, _) if text.bytes().all(|b| b.is_ascii_digit()) => {
            let position: usize = text.parse().unwrap_or(0);
            if (1..=width).contains(&position) {
                return Ok(Some(position));
            }
            let message = format!("{clause} position {text} is not in select list");
            Err(SqlError::new(ErrorKind::InvalidColumnReference, message))
        }
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("non-integer constant in {clause}"))),
    }
}

impl Resolver<'_> {
    /// Resolves ORDER BY of a select: what is in its list becomes a position, everything else an expression over its
    /// tables. Gives whether there is an aggregate in it.
    pub(super) fn order_by(&mut self, items: &mut [OrderByExpr], list: &SelectList) -> SqlResult<bool> {
        let mut aggregates = false;
        for item in items {
            let listed = match list.is_known {
                true => order_item(&item.expr, list.outputs, Some(list.exprs))?,
                false => OrderItem::Expression,
            };
            match listed {
                OrderItem::Position(position) => item.expr = syntax::number(position),
                OrderItem::Name(_) | OrderItem::Expression => {
                    if !list.is_known && is_label_or_position(&item.expr, list) {
                        continue;
                    }
                    aggregates |= self.expr(&mut item.expr, Clause::OrderBy)?.aggregate;
                    if let Some(found) = list.exprs.iter().position(|e| *e == item.expr).filter(|_| list.is_known) {
                        item.expr = syntax::number(found + 1);
                    }
                }
            }
        }
        Ok(aggregates)
    }

    /// Resolves DISTINCT ON and the ORDER BY it must agree with. Both become expressions, in the order of ORDER BY.
    ///
    /// # Errors
    /// 42P10 when ORDER BY begins with something else.
    pub(super) fn distinct_on(
        &mut self,
        on: &mut Vec<Expr>,
        order: &mut Vec<OrderByExpr>,
        list: &SelectList,
    ) -> SqlResult<()> {
        for expr in on.iter_mut() {
            self.listed_or_expression(expr, list, "SELECT DISTINCT ON", Clause::DistinctOn)?;
        }
        for item in order.iter_mut() {
            self.listed_or_expression(&mut item.expr, list, "ORDER BY", Clause::OrderBy)?;
        }
        // What stands there again orders nothing, and the planner wants it once.
        let ordered = std::mem::take(order);
        for item in ordered {
            if !order.iter().any(|earlier| earlier.expr == item.expr) {
                order.push(item);
            }
        }
        let mut rest = std::mem::take(on);
        rest = rest.into_iter().fold(Vec::new(), |mut once, expr| {
            if !once.contains(&expr) {
                once.push(expr);
            }
            once
        });
        for item in order.iter() {
            if rest.is_empty() {
                break;
            }
            match rest.iter().position(|expr| *expr == item.expr) {
                Some(found) => on.push(rest.remove(found)),
                None if on.contains(&item.expr) => {}
                None => {
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
                }
            }
        }
        if !order.is_empty() {
            order.extend(rest.iter().cloned().map(syntax::order_by));
        }
        on.extend(rest);
        Ok(())
    }

    fn listed_or_expression(
        &mut self,
        expr: &mut Expr,
        list: &SelectList,
        clause: &str,
        place: Clause,
    ) -> SqlResult<()> {
        if list.is_known {
            position_of(expr, clause, list.exprs.len())?;
            if let OrderItem::Position(position) = order_item(expr, list.outputs, Some(list.exprs))? {
                *expr = list.exprs[position - 1].clone();
                return Ok(());
            }
        }
        self.expr(expr, place).map(|_| ())
    }

    /// Resolves GROUP BY; gives the expressions that rows are grouped by.
    pub(super) fn group_by(&mut self, group_by: &mut GroupByExpr, list: &SelectList) -> SqlResult<Vec<Expr>> {
        let mut groups = Vec::new();
        if let GroupByExpr::Expressions(items, _) = group_by {
            let flat = std::mem::take(items).into_iter().flat_map(|item| match item {
                Expr::Tuple(parts) if !parts.is_empty() => parts,
                other => vec![other],
            });
            *items = flat.collect();
            for item in items.iter_mut() {
                self.group_item(item, list, &mut groups)?;
            }
            if items.len() > 1 {
                items.retain(|item| !matches!(item, Expr::Tuple(parts) if parts.is_empty()));
            }
        }
        Ok(groups)
    }

    fn group_item(&mut self, item: &mut Expr, list: &SelectList, groups: &mut Vec<Expr>) -> SqlResult<()> {
        match item {
            Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
                for expr in sets.iter_mut().flatten() {
                    self.group_item(expr, list, groups)?;
                }
                return Ok(());
            }
            Expr::Tuple(parts) => {
                for part in parts.iter_mut() {
                    self.group_item(part, list, groups)?;
                }
                return Ok(());
            }
            _ => {}
        }
        if let Some(position) = position_of(item, "GROUP BY", list.exprs.len())? {
            *item = list.exprs[position - 1].clone();
            self.check_group(item)?;
        } else if let Some(listed) = self.label_to_group_by(item, list)? {
            *item = listed;
            self.check_group(item)?;
        } else {
            self.expr(item, Clause::GroupBy)?;
        }
        groups.push(item.clone());
        Ok(())
    }

    /// A label is looked for behind the columns of the select's own tables, unlike in ORDER BY.
    fn label_to_group_by(&self, item: &Expr, list: &SelectList) -> SqlResult<Option<Expr>> {
        let Expr::Identifier(ident) = item else { return Ok(None) };
        if self.scopes.last().is_some_and(|scope| !matches!(scope.find(ident), Ok(None))) {
            return Ok(None);
        }
        match order_item(item, list.outputs, Some(list.exprs)) {
            Ok(OrderItem::Position(position)) => Ok(Some(list.exprs[position - 1].clone())),
            Ok(OrderItem::Name(_) | OrderItem::Expression) => Ok(None),
            Err(_) => {
                let message = format!("GROUP BY \"{}\" is ambiguous", fold(ident));
                Err(SqlError::new(ErrorKind::AmbiguousColumn, message))
            }
        }
    }

    /// An expression of the select list has its names resolved, but may not be one to group by.
    fn check_group(&mut self, resolved: &Expr) -> SqlResult<()> {
        super::expr::check_calls(self, resolved, Clause::GroupBy)
    }
}

/// The select list's columns with names that no column in ORDER BY has: `SELECT -a AS a FROM t ORDER BY t.a`. To the planner
/// they would be one.
pub(super) fn apart(list: &SelectList, order: &[OrderByExpr]) -> Arc<[Output]> {
    let mut named = HashSet::new();
    for item in order {
        let _ = walk_expressions(&item.expr, |expr| {
            if let Expr::CompoundIdentifier(parts) = expr {
                named.extend(parts.last().map(|column| column.value.clone()));
            }
            ControlFlow::<()>::Continue(())
        });
    }
    // Rows made of arrays in the list stand beside all the columns that the list names.
    if list.exprs.iter().any(gives_rows) {
        for expr in list.exprs {
            let _ = walk_expressions(expr, |expr| {
                if let Expr::CompoundIdentifier(parts) = expr {
                    named.extend(parts.last().map(|column| column.value.clone()));
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }
    let mut used: HashSet<String> = list.outputs.iter().map(|output| output.name.clone()).collect();
    used.extend(named.iter().cloned());
    let mut renamed = |(expr, output): (&Expr, &Output)| {
        let is_column = |parts: &[Ident]| parts.last().is_some_and(|column| column.value == output.name);
        match expr {
            Expr::CompoundIdentifier(parts) if is_column(parts) => output.clone(),
            _ if !named.contains(&output.name) => output.clone(),
            _ => Output { label: output.label.clone(), name: next_free(&output.label, &mut used) },
        }
    };
    list.exprs.iter().zip(list.outputs).map(&mut renamed).collect()
}

/// Whether a function in the expression gives rows: all of them are called by this name by now.
fn gives_rows(expr: &Expr) -> bool {
    let is_unnest = |name: &ObjectName| matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| ident.value == "unnest"));
    walk_expressions(expr, |expr| match expr {
        Expr::Function(function) if is_unnest(&function.name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// Beside a wildcard that is not spelled out, the planner finds labels and positions itself.
fn is_label_or_position(expr: &Expr, list: &SelectList) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Identifier(ident) => list.outputs.iter().any(|o| o.label == fold(ident)),
        _ => false,
    }
}

/// The rows of SELECT DISTINCT have nothing to be ordered by but their columns.
pub(super) fn check_distinct_order(order: &[OrderByExpr]) -> SqlResult<()> {
    let is_position = |item: &OrderByExpr| matches!(item.expr, Expr::Value(_));
    match order.iter().all(is_position) {
        true => Ok(()),
        false => {
            let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
            Err(SqlError::new(ErrorKind::InvalidColumnReference, message))
        }
    }
}
