//! Window functions: computed by nodes of their own, and all else of their columns.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr, Window};
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
        let mut plan = input;
        for node in nodes {
            let mut named = Vec::with_capacity(node.len());
            for (call, name) in node.into_iter().zip(&mut names) {
                columns.push((call.clone(), name.clone()));
                named.push(call.alias(name));
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
