//! Which parts of an expression need no parentheses in the pretty form: PostgreSQL's `isSimpleNode`.

use crate::expr::{BoundExpr, CallForm, CastMethod, ExprKind};

/// What stands around a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around<'a> {
    /// An operator between two operands, of which this is the first or not.
    Operator {
        name: &'a str,
        is_first: bool,
    },
    And,
    Or,
    Not,
    /// A cast by a function.
    CastCall,
    /// A call in words.
    Words,
    Field,
    Other,
}

/// Whether the part needs no parentheses there.
pub(super) fn is_simple(part: &BoundExpr, around: Around<'_>) -> bool {
    match &part.kind {
        ExprKind::Column { .. }
        | ExprKind::WholeRow { .. }
        | ExprKind::Parameter(_)
        | ExprKind::Constant(_)
        | ExprKind::Default
        | ExprKind::Subscript { .. }
        | ExprKind::Array { .. }
        | ExprKind::Row(_)
        | ExprKind::Coalesce(_)
        | ExprKind::Greatest(_)
        | ExprKind::Least(_)
        | ExprKind::Word(_)
        | ExprKind::NullIf { .. }
        | ExprKind::Aggregate { .. }
        | ExprKind::Grouping { .. }
        | ExprKind::WindowCall { .. }
        | ExprKind::Call { form: CallForm::Plain | CallForm::Words, .. }
        | ExprKind::Cast { method: CastMethod::Function(_), .. }
        | ExprKind::Case { .. } => true,
        ExprKind::Field { .. } => around != Around::Field,
        ExprKind::Cast { value, .. } => is_simple(value, Around::Other),
        ExprKind::Operation { links, .. } => match around {
            Around::Operator { name, is_first } => {
                links.last().is_some_and(|last| binds_within(last.operator.name, name, is_first))
            }
            _ => is_lower_or_separates(around),
        },
        ExprKind::Prefix { .. } => !matches!(around, Around::Operator { .. }) && is_lower_or_separates(around),
        ExprKind::SubQuery { .. } | ExprKind::Test { .. } | ExprKind::Distinct { .. } => is_lower_or_separates(around),
        ExprKind::And(_) | ExprKind::Not(_) | ExprKind::InList { any: false, .. } => {
            matches!(around, Around::And | Around::Or)
        }
        ExprKind::Or(_) | ExprKind::InList { any: true, .. } => matches!(around, Around::Or),
        ExprKind::OfItems { .. }
        | ExprKind::RowComparison { .. }
        | ExprKind::Collate { .. }
        | ExprKind::CaseOperand
        | ExprKind::Item
        | ExprKind::SubQueryColumn(_) => false,
    }
}

fn is_lower_or_separates(around: Around<'_>) -> bool {
    matches!(around, Around::And | Around::Or | Around::Not)
}

/// Whether an arithmetic operator within another one needs no parentheses. PostgreSQL knows of these alone.
pub(super) fn binds_within(own: &str, outer: &str, is_first: bool) -> bool {
    let low = |name: &str| name.starts_with(['+', '-']);
    let high = |name: &str| name.starts_with(['*', '/', '%']);
    // It looks at names of one letter, as `get_simple_binary_op_name` gives.
    if own.len() != 1 || outer.len() != 1 || !(low(own) || high(own)) || !(low(outer) || high(outer)) {
        return false;
    }
    match (high(own), high(outer)) {
        (true, false) => true,
        (false, true) => false,
        _ => is_first,
    }
}
