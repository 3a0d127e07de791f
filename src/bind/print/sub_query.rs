//! Queries inside of expressions: PostgreSQL's `get_sublink_expr`.

use super::lines::Printer;
use crate::expr::{BoundExpr, ExprKind, SubQueryUse};

impl Printer<'_> {
    pub(super) fn sub_query(&mut self, query: usize, used: &SubQueryUse) {
        let operator = |test: &BoundExpr| operator_of(test);
        match used {
            SubQueryUse::Exists => self.push("(EXISTS ("),
            SubQueryUse::Value => self.push("("),
            SubQueryUse::Array => self.push("ARRAY("),
            SubQueryUse::Row(test) => self.compared(test, operator(test)),
            SubQueryUse::Any(test) => match operator(test) {
                "=" => self.compared(test, "IN"),
                name => self.compared(test, &format!("{name} ANY")),
            },
            SubQueryUse::All(test) => self.compared(test, &format!("{} ALL", operator(test))),
        }
        let text = self.settings.names.query(query, self.indent);
        self.push(&text);
        self.push(if matches!(used, SubQueryUse::Value | SubQueryUse::Array) { ")" } else { "))" });
    }

    /// What the query's rows are compared with, and how.
    fn compared(&mut self, test: &BoundExpr, operator: &str) {
        self.push("(");
        match &test.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                self.push("(");
                for (at, first) in parts.iter().filter_map(first_operand).enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.expr(first, true);
                }
                self.push(")");
            }
            ExprKind::RowComparison { left, .. } => {
                self.push("(");
                self.list(left);
                self.push(")");
            }
            _ => first_operand(test).into_iter().for_each(|first| self.expr(first, true)),
        }
        self.push(&format!(" {operator} ("));
    }
}

fn first_operand(test: &BoundExpr) -> Option<&BoundExpr> {
    match &test.kind {
        ExprKind::Operation { first, .. } => Some(first),
        _ => None,
    }
}

/// The first of the operators by which rows are compared.
fn operator_of(test: &BoundExpr) -> &'static str {
    match &test.kind {
        ExprKind::Operation { links, .. } => links.first().map_or("", |link| link.operator.name),
        ExprKind::RowComparison { operators, .. } => operators.first().map_or("", |operator| operator.name),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.first().map_or("", operator_of),
        _ => "",
    }
}
