//! Sub-queries are told apart by a number: the planner names the columns of aggregates, groups and windows after what they are
//! computed by, and a sub-query after its own column, a test of one after nothing. Such names meet each other, and those of tables' columns.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select};

use super::is_query;
use crate::expr::pending::VALUE;
use crate::syntax::{call, take};

/// Groups by each expression once: PostgreSQL does not mind the same one again.
pub(super) fn group_once(select: &mut Select) {
    let GroupByExpr::Expressions(by, _) = &mut select.group_by else { return };
    let mut known = HashSet::new();
    by.retain(|expr| known.insert(expr.to_string()));
}

/// The sub-queries of a statement so far, with their numbers. Those of one text are one.
#[derive(Default)]
pub(super) struct Subqueries {
    numbers: HashMap<String, usize>,
}

impl Subqueries {
    /// Takes the number off what ANY or ALL are about: an array is another matter than a query.
    pub(super) fn bare(expr: &mut Expr) {
        let (Expr::AnyOp { right, .. } | Expr::AllOp { right, .. }) = expr else { return };
        let mut numbered: &mut Expr = right;
        while let Expr::Nested(inner) = numbered {
            numbered = inner;
        }
        let Expr::Function(function) = &mut *numbered else { return };
        let FunctionArguments::List(list) = &mut function.args else { return };
        let is_value = function.name.0.iter().any(|part| part.as_ident().is_some_and(|i| i.value.starts_with(VALUE)));
        if let (true, [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner @ Expr::Subquery(_)))]) =
            (is_value, list.args.as_mut_slice())
        {
            *numbered = take(inner);
        }
    }

    /// Gives an expression that is a sub-query, or a test of one, a number. The first test needs none.
    pub(super) fn number(&mut self, expr: &mut Expr) {
        let is_subquery = match &*expr {
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => is_query(right),
            _ => false,
        };
        if !is_subquery {
            return;
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(expr.to_string()).or_insert(next);
        if number > 0 || matches!(expr, Expr::Subquery(_)) {
            *expr = call(&format!("{VALUE} {number}"), vec![take(expr)]);
        }
    }
}
