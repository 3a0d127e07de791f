//! Aggregates and window functions: what stands behind their arguments.

use tablegate_types::quoting::quote_ident;

use super::constant::{Label, constant};
use super::lines::Printer;
use crate::expr::{BoundExpr, CastMethod, ExprKind, OverRows, SortKey, Window};

impl Printer<'_> {
    pub(super) fn over_rows(&mut self, arguments: &[BoundExpr], variadic: bool, rows: &OverRows) {
        if rows.is_distinct {
            self.push("DISTINCT ");
        }
        if rows.is_star {
            self.push("*");
        }
        let ordered = if rows.within_group { rows.order.len() } else { 0 };
        self.arguments(&arguments[..arguments.len() - ordered], &[], variadic);
        if rows.within_group {
            self.push(") WITHIN GROUP (ORDER BY ");
            self.sort_keys(&rows.order);
        } else if !rows.order.is_empty() {
            self.push(" ORDER BY ");
            self.sort_keys(&rows.order);
        }
        self.push(")");
        if let Some(filter) = &rows.filter {
            self.push(" FILTER (WHERE ");
            self.expr(filter, false);
            self.push(")");
        }
        if let Some(window) = &rows.window {
            self.window(window);
        }
    }

    fn window(&mut self, window: &Window) {
        match window {
            Window::Numbered(number) => {
                let text = self.settings.names.window(*number, self.indent);
                self.push(&text.map_or_else(String::new, |text| format!(" OVER {text}")));
            }
            Window::Named(name) => self.push(&format!(" OVER {}", quote_ident(name))),
            Window::Own { name, partition, order } => {
                self.push(" OVER (");
                self.push(&name.as_deref().map_or_else(String::new, quote_ident));
                if !partition.is_empty() {
                    self.push(if self.text.ends_with('(') { "PARTITION BY " } else { " PARTITION BY " });
                    self.sorted_list(partition.iter());
                }
                if !order.is_empty() {
                    self.push(if self.text.ends_with('(') { "ORDER BY " } else { " ORDER BY " });
                    self.sort_keys(order);
                }
                self.push(")");
            }
        }
    }

    fn sort_keys(&mut self, keys: &[SortKey]) {
        for (at, key) in keys.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.sorted(&key.expr);
            self.push(direction(key.descending, key.nulls_first));
        }
    }

    pub(super) fn sorted_list<'e>(&mut self, exprs: impl Iterator<Item = &'e BoundExpr>) {
        for (at, expr) in exprs.enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.sorted(expr);
        }
    }

    /// An expression that is sorted or grouped by: a literal says its type, or it would be read as the number of a column,
    /// and a call is in parentheses: PostgreSQL's `get_rule_sortgroupclause`.
    pub(super) fn sorted(&mut self, expr: &BoundExpr) {
        match &expr.kind {
            ExprKind::Constant(literal) => {
                let text = constant(self.settings.lookup, literal, expr.ty, Label::Always);
                self.push(&text);
            }
            ExprKind::Column { .. } | ExprKind::WholeRow { .. } => self.expr(expr, true),
            kind => {
                let in_parentheses = self.settings.pretty || is_call(kind);
                self.push(if in_parentheses { "(" } else { "" });
                self.expr(expr, true);
                self.push(if in_parentheses { ")" } else { "" });
            }
        }
    }
}

fn is_call(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Call { .. }
            | ExprKind::Aggregate { .. }
            | ExprKind::WindowCall { .. }
            | ExprKind::Cast { method: CastMethod::Function(_), .. }
    )
}

/// The words behind what is sorted by.
pub(super) fn direction(descending: bool, nulls_first: bool) -> &'static str {
    match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}
