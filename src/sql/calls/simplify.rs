//! Rewrites calls as conditions that the optimizer knows, so that key ranges can be read out of them.
//!
//! `x ~ '^abc'` is `x LIKE 'abc%'`.

use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{Expr, lit};

/// The condition that a call is, if there is a simpler one.
pub(super) fn simplified(name: &str, arguments: &[Expr]) -> Option<Expr> {
    match (name, arguments) {
        ("textregexeq", [operand, Expr::Literal(pattern, _)]) => prefix(operand, pattern.try_as_str().flatten()?),
        _ => None,
    }
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
