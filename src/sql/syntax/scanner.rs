//! From a text to the parser's tokens, as PostgreSQL cuts it.

use std::any::TypeId;

use sqlparser::dialect::{Dialect, PostgreSqlDialect};
use sqlparser::tokenizer::{TokenWithSpan, Tokenizer, TokenizerError};

use super::bounded::as_postgresql;

/// The tokens of a text, each with its place.
///
/// # Errors
/// When something begins and does not end.
pub(super) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    Tokenizer::new(&Scanner, text).tokenize_with_location()
}

/// PostgreSQL's dialect, without its strings of numbered characters: the parser's library does not know UESCAPE, which stands
/// behind them (`dialect::unicode`).
#[derive(Debug)]
struct Scanner;

impl Dialect for Scanner {
    /// The tokenizer asks in places whether it has that dialect.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn supports_unicode_string_literal(&self) -> bool {
        false
    }

    as_postgresql! {
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        is_custom_operator_part(ch: char) -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_geometric_types() -> bool;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_else_is_cut_as_the_library_cuts_it() {
        let text = r#"SELECT E'a\'b', 'x\', b'1', x'ff', $1, $t$ a $t$, 1_000 + 1.5e3 /* a /* b */ c */ -- d
            FROM "a""b".c$1 ü WHERE a ->> 'x' @> b <-> c !~* d AND a::int[1:2] <> ~1 # 2 && |/ 3 ## 4"#;
        let theirs = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().unwrap();
        assert_eq!(tokens(text).unwrap(), theirs);
    }
}
