//! Patterns of LIKE in the form that the engine has, with a backslash; or walked along, where each row has its own.

use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{Expr, lit};

use super::kernels::{Computation, ILIKE_UNENDED, LIKE_EACH, LIKE_UNENDED, NOT_LIKE_EACH};
use super::typed::ValueType;

/// `text LIKE pattern`. A text that reaches a backslash at the end of the pattern is an error, which is found in another way.
pub(super) fn like(text: Expr, pattern: Expr, negated: bool, case_insensitive: bool) -> Expr {
    if let Some(start) = start_of_unended(&pattern) {
        let kernel = if case_insensitive { &ILIKE_UNENDED } else { &LIKE_UNENDED };
        let reached = lit(format!("{start}_%"));
        let matches = Computation::call(kernel, None, ValueType::boolean(), vec![text, reached]);
        return if negated { Expr::Not(Box::new(matches)) } else { matches };
    }
    if pattern.any_column_refs() && !case_insensitive {
        let (kernel, symbol) = if negated { (&NOT_LIKE_EACH, "!~~") } else { (&LIKE_EACH, "~~") };
        return Computation::call(kernel, Some(symbol), ValueType::boolean(), vec![text, pattern]);
    }
    Expr::Like(Like::new(negated, Box::new(text), Box::new(pattern), None, case_insensitive))
}

/// What stands before a backslash that ends a pattern and escapes nothing.
fn start_of_unended(pattern: &Expr) -> Option<&str> {
    let Expr::Literal(pattern, _) = pattern else { return None };
    let pattern = pattern.try_as_str().flatten()?;
    let backslashes = pattern.len() - pattern.trim_end_matches('\\').len();
    (backslashes % 2 == 1).then(|| &pattern[..pattern.len() - 1])
}
