//! Window functions: computed by nodes of their own, and all else of their columns.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, Window};
use tablegate_types::error::SqlResult;

use super::{Lowering, add_parts, with_parts};
use crate::expr::printed;
use crate::syntax::unique_names;

impl Lowering<'_> {
    /// The rows with the values of the window functions, and the expressions over these.
    pub(super) fn over_windows(&self, input: LogicalPlan, exprs: Vec<Expr>) -> SqlResult<(LogicalPlan, Vec<Expr>)> {
        let mut calls: Vec<Expr> = Vec::new();
        for expr in &exprs {
            add_parts(expr, &is_call, &mut calls)?;
        }
        if calls.is_empty() {
            return Ok((input, exprs));
        }
        // One node for those that sort alike; the longest order first, which may serve the others.
        let mut nodes: Vec<Vec<Expr>> = Vec::new();
        for call in calls {
            match nodes.iter_mut().find(|node| sort_of(&node[0]) == sort_of(&call)) {
                Some(node) => node.push(call),
                None => nodes.push(vec![call]),
            }
        }
        nodes.sort_by_key(|node| std::cmp::Reverse(sort_of(&node[0]).map_or(0, |(by, order)| by.len() + order.len())));
        // Different calls may be written alike.
        let written: Vec<String> = nodes.iter().flatten().map(printed).collect();
        let mut names = unique_names(&written).into_iter();
        let mut columns: Vec<(Expr, String)> = Vec::new();
        let (mut plan, keys) = with_comparisons(input, nodes.iter().flatten())?;
        let key_of = |part: &Expr| {
            let place = keys.iter().position(|key| key == part)?;
            Some(Expr::Column(Column::from_name(key_name(place))))
        };
        for node in nodes {
            let mut named = Vec::with_capacity(node.len());
            for (call, name) in node.into_iter().zip(&mut names) {
                columns.push((call.clone(), name.clone()));
                named.push(with_parts(call, &key_of)?.alias(name));
            }
            plan = self.forms.node(LogicalPlan::Window(Window::try_new(named, Arc::new(plan))?))?;
        }
        let of_column = |part: &Expr| {
            let (_, name) = columns.iter().find(|(call, _)| call == part)?;
            Some(Expr::Column(Column::from_name(name)))
        };
        let exprs = exprs.into_iter().map(|expr| with_parts(expr, &of_column)).collect::<Result<_>>()?;
        Ok((plan, exprs))
    }
}

/// The comparisons that rows are sorted by, as columns beside them: the engine does not see that rows are sorted by one.
fn with_comparisons<'e>(input: LogicalPlan, calls: impl Iterator<Item = &'e Expr>) -> Result<(LogicalPlan, Vec<Expr>)> {
    let mut keys: Vec<Expr> = Vec::new();
    for (by, order) in calls.filter_map(sort_of) {
        for key in by.iter().chain(order.iter().map(|key| &key.expr)) {
            if matches!(key, Expr::BinaryExpr(_)) && !keys.contains(key) {
                keys.push(key.clone());
            }
        }
    }
    if keys.is_empty() {
        return Ok((input, keys));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let computed = keys.iter().cloned().enumerate().map(|(place, key)| key.alias(key_name(place)));
    let exprs: Vec<Expr> = columns.chain(computed).collect();
    Ok((LogicalPlanBuilder::from(input).project(exprs)?.build()?, keys))
}

fn key_name(place: usize) -> String {
    format!("window key#{place}")
}

/// What the rows of a call are sorted by: by what they are parted, and their order.
fn sort_of(call: &Expr) -> Option<(&[Expr], &[SortExpr])> {
    match call {
        Expr::WindowFunction(function) => Some((&function.params.partition_by, &function.params.order_by)),
        _ => None,
    }
}

fn is_call(expr: &Expr) -> bool {
    matches!(expr, Expr::WindowFunction(_))
}
