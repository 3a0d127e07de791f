//! Walking through an expression: its parts in the order in which they are written.

use crate::expr::{BoundExpr, CastMethod, ExprKind, Index, OverRows, SubQueryUse, Window};
use crate::place::Place;

impl BoundExpr {
    /// Of how many expressions it is made, itself among them.
    pub fn size(&self) -> usize {
        let (mut size, mut open) = (0, vec![self]);
        while let Some(expr) = open.pop() {
            size += 1;
            expr.for_each_part(&mut |part| open.push(part));
        }
        size
    }

    /// Calls `see` with each direct part.
    pub fn for_each_part<'e>(&'e self, see: &mut dyn FnMut(&'e BoundExpr)) {
        match &self.kind {
            ExprKind::Column { .. }
            | ExprKind::WholeRow { .. }
            | ExprKind::Parameter(_)
            | ExprKind::Constant(_)
            | ExprKind::CaseOperand
            | ExprKind::Item
            | ExprKind::SubQueryColumn(_)
            | ExprKind::Word(_)
            | ExprKind::Default => {}
            ExprKind::Operation { first, links } => {
                see(first);
                links.iter().for_each(|link| see(&link.operand));
            }
            ExprKind::Prefix { operand: inner, .. }
            | ExprKind::Not(inner)
            | ExprKind::Test { value: inner, .. }
            | ExprKind::Field { row: inner, .. }
            | ExprKind::Collate { value: inner, .. } => see(inner),
            ExprKind::Cast { value, method, .. } => {
                see(value);
                if let CastMethod::Items(item) = method {
                    see(item);
                }
            }
            ExprKind::Call { arguments: parts, .. }
            | ExprKind::Grouping { arguments: parts, .. }
            | ExprKind::And(parts)
            | ExprKind::Or(parts)
            | ExprKind::InList { comparisons: parts, .. }
            | ExprKind::Array { items: parts, .. }
            | ExprKind::Row(parts)
            | ExprKind::Coalesce(parts)
            | ExprKind::Greatest(parts)
            | ExprKind::Least(parts) => parts.iter().for_each(see),
            ExprKind::Aggregate { arguments, rows, .. } | ExprKind::WindowCall { arguments, rows, .. } => {
                arguments.iter().for_each(&mut *see);
                of_rows(rows, see);
            }
            ExprKind::Distinct { left, right, .. }
            | ExprKind::NullIf { left, right, .. }
            | ExprKind::OfItems { value: left, array: right, .. } => {
                see(left);
                see(right);
            }
            ExprKind::RowComparison { left, right, .. } => left.iter().chain(right).for_each(see),
            ExprKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|operand| see(operand));
                branches.iter().for_each(|(when, then)| {
                    see(when);
                    see(then);
                });
                see(otherwise);
            }
            ExprKind::Subscript { value, indexes } => {
                see(value);
                for index in indexes {
                    match index {
                        Index::One(index) => see(index),
                        Index::Slice(low, high) => low.iter().chain(high).for_each(|end| see(end)),
                    }
                }
            }
            ExprKind::SubQuery { used, .. } => match used {
                SubQueryUse::Any(test) | SubQueryUse::All(test) | SubQueryUse::Row(test) => see(test),
                SubQueryUse::Exists | SubQueryUse::Value | SubQueryUse::Array | SubQueryUse::OnlyRow => {}
            },
        }
    }

    /// Whether some part, or the whole, is so: asked in the order in which they are written.
    pub fn any(&self, is_so: &mut dyn FnMut(&BoundExpr) -> bool) -> bool {
        // Not by calls of itself: an expression may be deep.
        let mut waiting = vec![self];
        while let Some(next) = waiting.pop() {
            if is_so(next) {
                return true;
            }
            let from = waiting.len();
            next.for_each_part(&mut |part| waiting.push(part));
            waiting[from..].reverse();
        }
        false
    }

    /// Whether it names a column of the query that it is in.
    pub fn names_columns(&self) -> bool {
        self.any(&mut |part| {
            matches!(part.kind, ExprKind::Column { level: 0, .. } | ExprKind::WholeRow { level: 0, .. })
        })
    }

    /// Whether it may give several rows.
    pub fn gives_rows(&self) -> bool {
        self.place_of_rows().is_some()
    }

    /// Where the first function is that gives several rows.
    pub(crate) fn place_of_rows(&self) -> Option<Place> {
        let mut found = None;
        self.any(&mut |part| {
            let gives_rows = matches!(&part.kind, ExprKind::Call { function, .. } if function.gives_rows);
            found = found.or(gives_rows.then_some(part.place));
            found.is_some()
        });
        found
    }
}

fn of_rows<'e>(rows: &'e OverRows, see: &mut dyn FnMut(&'e BoundExpr)) {
    rows.order.iter().for_each(|key| see(&key.expr));
    rows.filter.iter().for_each(|filter| see(filter));
    if let Some(Window::Own { partition, order, .. }) = &rows.window {
        partition.iter().for_each(&mut *see);
        order.iter().for_each(|key| see(&key.expr));
    }
}
