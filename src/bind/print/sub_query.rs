//! Queries inside of expressions: PostgreSQL's `get_sublink_expr`.

use super::lines::Printer;
use crate::expr::{BoundExpr, ExprKind, SubQueryUse};

impl Printer<'_> {
    pub(super) fn sub_query(&mut self, query: usize, used: &SubQueryUse) {
        match used {
            SubQueryUse::Exists => self.push("(EXISTS ("),
            SubQueryUse::Value | SubQueryUse::OnlyRow => self.push("("),
            SubQueryUse::Array => self.push("ARRAY("),
            SubQueryUse::Row(test) => self.compared(test, operator_of(test)),
            SubQueryUse::Any(test) => match operator_of(test) {
                "=" => self.compared(test, "IN"),
                name => self.compared(test, &format!("{name} ANY")),
            },
            SubQueryUse::All(test) => self.compared(test, &format!("{} ALL", operator_of(test))),
        }
        let text = self.settings.names.query(query, self.indent);
        self.push(&text);
        self.push(if matches!(used, SubQueryUse::Value | SubQueryUse::Array | SubQueryUse::OnlyRow) {
            ")"
        } else {
            "))"
        });
    }

    /// What the query's rows are compared with, and how.
    fn compared(&mut self, test: &BoundExpr, operator: &str) {
        self.push("(");
        match &test.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                self.push("(");
                for (at, part) in parts.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.left_operand(part);
                }
                self.push(")");
            }
            ExprKind::RowComparison { left, .. } => {
                self.push("(");
                self.list(left);
                self.push(")");
            }
            _ => self.left_operand(test),
        }
        self.push(&format!(" {operator} ("));
    }

    /// What stands before the last operator.
    fn left_operand(&mut self, test: &BoundExpr) {
        let ExprKind::Operation { first, links } = &test.kind else { return };
        match links.as_slice() {
            [] | [_] => self.expr(first, true),
            [before @ .., _] => self.operation(first, before),
        }
    }
}

/// The first of the operators by which rows are compared.
fn operator_of(test: &BoundExpr) -> &'static str {
    match &test.kind {
        ExprKind::Operation { links, .. } => links.last().map_or("", |link| link.operator.name),
        ExprKind::RowComparison { operators, .. } => operators.first().map_or("", |operator| operator.name),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.first().map_or("", operator_of),
        _ => "",
    }
}
