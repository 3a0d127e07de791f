//! Calls that are conditions the optimizer knows: so they reach the keys of a table.
//!
//! `x = ANY (array)` with a constant array is `x IN (...)`, and `x ~ '^abc'` is `x LIKE 'abc%'`.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, lit};

/// The condition that a call is, if there is a simpler one.
///
/// # Errors
/// When an argument has no type.
pub(super) fn simplified(name: &str, arguments: &[Expr], context: &SimplifyContext) -> Result<Option<Expr>> {
    match (name, arguments) {
        ("any_equal", [operand, Expr::Literal(list, _)]) => in_list(operand, list, false, context),
        ("all_not_equal", [operand, Expr::Literal(list, _)]) => in_list(operand, list, true, context),
        ("textregexeq", [operand, Expr::Literal(pattern, _)]) => {
            Ok(pattern.try_as_str().flatten().and_then(|pattern| prefix(operand, pattern)))
        }
        _ => Ok(None),
    }
}

fn in_list(
    operand: &Expr,
    list: &ScalarValue,
    negated: bool,
    context: &SimplifyContext,
) -> Result<Option<Expr>> {
    let ScalarValue::List(list) = list else { return Ok(None) };
    let wanted = context.get_data_type(operand)?;
    if arrow::array::Array::is_null(list.as_ref(), 0) {
        return Ok(None);
    }
    let items = list.value(0);
    let mut values = Vec::with_capacity(items.len());
    for row in 0..items.len() {
        let item = ScalarValue::try_from_array(&items, row)?;
        if item.data_type() == wanted {
            values.push(lit(item));
            continue;
        }
        // A value that the operand's type does not hold equals none of its values, but a comparison may still be asked
        // for with it: then the list is left as it is.
        match item.cast_to(&wanted) {
            Ok(cast) if cast.cast_to(&item.data_type()).is_ok_and(|back| back == item) => values.push(lit(cast)),
            _ => return Ok(None),
        }
    }
    Ok((!values.is_empty()).then(|| Expr::InList(InList::new(Box::new(operand.clone()), values, negated))))
}

/// `^` and characters that stand for themselves, and `$` perhaps.
fn prefix(operand: &Expr, pattern: &str) -> Option<Expr> {
    let text = pattern.strip_prefix('^')?;
    let (text, whole) = match text.strip_suffix('$') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | ':' | ',' | '@' | '~');
    if text.is_empty() || !text.chars().all(plain) {
        return None;
    }
    if whole {
        return Some(operand.clone().eq(lit(text)));
    }
    let pattern = lit(format!("{}%", text.replace('_', "\\_")));
    Some(Expr::Like(Like::new(false, Box::new(operand.clone()), Box::new(pattern), None, false)))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::col;

    use super::*;

    #[test]
    fn plain_prefixes_are_like() {
        let shown = |pattern: &str| prefix(&col("a"), pattern).map(|expr| expr.to_string());
        assert_eq!(shown("^ab_c").as_deref(), Some("a LIKE Utf8(\"ab\\_c%\")"));
        assert_eq!(shown("^abc$").as_deref(), Some("a = Utf8(\"abc\")"));
        for pattern in ["abc", "^", "^a.c", "^a|b", "^ab*"] {
            assert_eq!(shown(pattern), None);
        }
    }
}
