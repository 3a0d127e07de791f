//! Spellings that have no effect, or a shorter equivalent: `FROM t *`, `FOR READ ONLY`, `GROUP BY ALL`, `ORDER BY a
//! USING <`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use tablegate_bind::query::DISTINCT_SETS;
use tablegate_types::error::{SqlError, SqlResult};

use super::names::is_reserved;
use crate::syntax::{is_significant, is_word, keyword};

/// Rewrites the tokens of one statement.
///
/// # Errors
/// 0A000 for other operators than `<` and `>` to order by, and for EXPLAIN of what is no
/// query and no change of rows.
pub(crate) fn spelled(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    let source: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut plain = Plain { source, at: 0, kept: Vec::new(), depth: 0 };
    plain.explained()?;
    while plain.at < plain.source.len() {
        plain.step()?;
    }
    Ok(plain.kept)
}

struct Plain {
    source: Vec<TokenWithSpan>,
    at: usize,
    kept: Vec<TokenWithSpan>,
    depth: usize,
}

impl Plain {
    fn step(&mut self) -> SqlResult<()> {
        match self.source[self.at].token {
            Token::LParen => self.depth += 1,
            Token::RParen => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        let skipped = match keyword(&self.source[self.at]) {
            Some(Keyword::FOR) if self.is(1, "READ") && self.is(2, "ONLY") => 3,
            Some(Keyword::GROUP) if self.is(1, "BY") => return self.group_by(),
            Some(Keyword::USING) if self.is_ordered() => return self.order_using(),
            Some(Keyword::SELECT) if self.is_empty_list() => {
                self.empty_list();
                return Ok(());
            }
            Some(Keyword::FROM) if self.opens_trim() => 1,
            _ if self.is(0, "NCHAR") && (self.opens(1) || self.is(1, "VARYING")) => {
                self.kept.push(self.word("CHAR", Keyword::CHAR));
                self.at += 1;
                return Ok(());
            }
            Some(Keyword::NATIONAL) if self.is(1, "CHARACTER") || self.is(1, "CHAR") => 1,
            Some(Keyword::ON) if self.is(1, "CONFLICT") && self.opens(2) => {
                self.conflict();
                return Ok(());
            }
            Some(Keyword::SIMILAR) if !self.is(1, "TO") && self.kept.iter().any(|t| is_word(t, "SUBSTRING")) => {
                self.similar();
                return Ok(());
            }
            None if self.source[self.at].token == Token::Mul && self.follows_table() => 1,
            _ => 0,
        };
        self.at += skipped;
        if skipped == 0 {
            self.keep();
        }
        Ok(())
    }

    fn keep(&mut self) {
        self.kept.push(self.source[self.at].clone());
        self.at += 1;
    }

    /// Whether FROM has nothing before it in TRIM: `trim(FROM a)`, `trim(BOTH FROM a)`.
    fn opens_trim(&self) -> bool {
        let sides = ["BOTH", "LEADING", "TRAILING"];
        let side = self.kept.last().is_some_and(|before| sides.iter().any(|side| is_word(before, side)));
        let behind = self.kept.len().saturating_sub(usize::from(side));
        matches!(&self.kept[..behind], [.., trim, open] if open.token == Token::LParen && is_word(trim, "TRIM"))
    }

    /// `EXPLAIN ANALYSE`, and a query in parentheses, which sqlparser would take for options.
    fn explained(&mut self) -> SqlResult<()> {
        if !self.is(0, "EXPLAIN") {
            return Ok(());
        }
        self.keep();
        let mut has_options = false;
        if self.opens(0) && !self.begins_query(1) {
            let mut depth = 0_usize;
            while let Some(token) = self.source.get(self.at) {
                match token.token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    _ => {}
                }
                self.keep();
                if depth == 0 {
                    break;
                }
            }
            has_options = true;
        }
        while self.is(0, "ANALYZE") || self.is(0, "ANALYSE") || self.is(0, "VERBOSE") {
            let word = if self.is(0, "VERBOSE") { "VERBOSE" } else { "ANALYZE" };
            self.kept.push(self.word(word, Keyword::NoKeyword));
            if let Some(TokenWithSpan { token, .. }) = self.kept.last_mut() {
                *token = Token::make_keyword(word);
            }
            has_options = true;
            self.at += 1;
        }
        if self.is(0, "CREATE") || self.is(0, "REFRESH") {
            return Err(SqlError::not_supported("EXPLAIN of a command that makes a table")
                .with_hint("Explain the query behind AS."));
        }
        if self.opens(0) && !has_options {
            for token in [Token::LParen, Token::make_keyword("FORMAT"), Token::make_word("text", None), Token::RParen] {
                let span = self.source[self.at].span;
                self.kept.push(TokenWithSpan { token, span });
            }
        }
        Ok(())
    }

    fn begins_query(&self, ahead: usize) -> bool {
        self.opens(ahead) || ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| self.is(ahead, word))
    }

    fn group_by(&mut self) -> SqlResult<()> {
        self.keep();
        self.keep();
        let is_list = |ahead: &Option<&TokenWithSpan>| ahead.is_some_and(|t| t.token != Token::Comma);
        if self.is(0, "ALL") && is_list(&self.source.get(self.at + 1)) {
            self.at += 1;
        } else if self.is(0, "DISTINCT") {
            let has = |word: &&str| self.source[self.at..].iter().any(|token| is_word(token, word));
            if ["ROLLUP", "CUBE", "GROUPING"].iter().any(has) {
                let span = self.source[self.at].span;
                let mark = Token::make_word(DISTINCT_SETS, Some('"'));
                let tokens = [mark, Token::LParen, Token::RParen, Token::Comma];
                self.kept.extend(tokens.map(|token| TokenWithSpan { token, span }));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Whether USING here is behind an expression of ORDER BY.
    fn is_ordered(&self) -> bool {
        let is_operator = self.source.get(self.at + 1).is_some_and(|next| {
            is_word(next, "OPERATOR") || next.token.to_string().chars().all(|c| "<>=!~+-*/@#%^&|`?".contains(c))
        });
        is_operator && self.kept.iter().any(|token| keyword(token) == Some(Keyword::ORDER))
    }

    fn order_using(&mut self) -> SqlResult<()> {
        let (symbol, length) = if self.is(1, "OPERATOR") {
            let close = self.source[self.at..].iter().position(|token| token.token == Token::RParen).unwrap_or(2);
            (self.source.get((self.at + close).saturating_sub(1)).map(|t| t.token.clone()), close + 1)
        } else {
            (self.source.get(self.at + 1).map(|t| t.token.clone()), 2)
        };
        let direction = match symbol {
            Some(Token::Lt) => self.word("ASC", Keyword::ASC),
            Some(Token::Gt) => self.word("DESC", Keyword::DESC),
            // Texts are sorted by their bytes anyway.
            Some(symbol) if symbol.to_string() == "~<~" => self.word("ASC", Keyword::ASC),
            Some(symbol) if symbol.to_string() == "~>~" => self.word("DESC", Keyword::DESC),
            other => {
                let symbol = other.map(|token| token.to_string()).unwrap_or_default();
                return Err(
                    SqlError::not_supported(format!("ORDER BY ... USING {symbol}")).with_hint("Use ASC or DESC.")
                );
            }
        };
        self.kept.push(direction);
        self.at += length;
        Ok(())
    }

    /// A SELECT without anything: one row without columns.
    fn is_empty_list(&self) -> bool {
        match self.source.get(self.at + 1) {
            None => true,
            Some(next) => {
                next.token == Token::RParen
                    || ["UNION", "INTERSECT", "EXCEPT", "WHERE", "HAVING", "LIMIT", "ORDER", "OFFSET"]
                        .iter()
                        .any(|word| is_word(next, word))
            }
        }
    }

    fn empty_list(&mut self) {
        self.keep();
        // sqlparser reads a list without items before FROM only: here, the one row that there is without FROM.
        let name = |name| Token::make_word(name, Some('"'));
        let one_row = [
            Token::make_keyword("FROM"),
            Token::LParen,
            Token::make_keyword("VALUES"),
            Token::LParen,
            Token::Number("1".to_owned(), false),
            Token::RParen,
            Token::RParen,
            name("row#"),
            Token::LParen,
            name("one#"),
            Token::RParen,
        ];
        let span = self.source[self.at.saturating_sub(1)].span;
        self.kept.extend(one_row.map(|token| TokenWithSpan { token, span }));
    }

    /// Collations and operator classes of a key do not change which key it is, and its condition is no other.
    fn conflict(&mut self) {
        for _ in 0..3 {
            self.keep();
        }
        while let Some(token) = self.source.get(self.at).filter(|token| token.token != Token::RParen) {
            let is_name = matches!(token.token, Token::Word(_));
            let follows_name = self.kept.last().is_some_and(|before| matches!(before.token, Token::Word(_)));
            if is_name && follows_name {
                while self.source.get(self.at).is_some_and(|t| !matches!(t.token, Token::Comma | Token::RParen)) {
                    self.at += 1;
                }
                continue;
            }
            self.keep();
        }
        if self.at < self.source.len() {
            self.keep();
        }
        if self.is(0, "WHERE") {
            while self.at < self.source.len() && !self.is(0, "DO") {
                self.at += 1;
            }
        }
    }

    /// `substring(a SIMILAR b ESCAPE c)` has three arguments.
    fn similar(&mut self) {
        let comma = |at: &TokenWithSpan| TokenWithSpan { token: Token::Comma, span: at.span };
        self.kept.push(comma(&self.source[self.at]));
        self.at += 1;
        let depth = self.depth;
        while self.at < self.source.len() && self.depth >= depth {
            if self.is(0, "ESCAPE") && self.depth == depth {
                self.kept.push(comma(&self.source[self.at]));
                self.at += 1;
                return;
            }
            match self.source[self.at].token {
                Token::LParen => self.depth += 1,
                Token::RParen => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.keep();
        }
    }

    /// `t *` is t with its descendants, of which there are none. Outside of parentheses FROM is that of a query.
    fn follows_table(&self) -> bool {
        let is_part = |token: &&TokenWithSpan| {
            token.token == Token::Period || (matches!(token.token, Token::Word(_)) && !is_reserved(token))
        };
        let length = self.kept.iter().rev().take_while(is_part).count();
        let before = self.kept.len().checked_sub(length + 1).and_then(|at| self.kept.get(at));
        let names_table = before.is_some_and(|before| {
            matches!(
                keyword(before),
                Some(Keyword::FROM | Keyword::JOIN | Keyword::INTO | Keyword::USING | Keyword::ONLY | Keyword::TABLE)
            )
        });
        // These two are names too, so that they are among the parts.
        let is_changed = self.kept.len() == length
            && matches!(self.kept.first().and_then(keyword), Some(Keyword::UPDATE | Keyword::TRUNCATE | Keyword::LOCK));
        let is_value = matches!(
            self.source.get(self.at + 1).map(|next| &next.token),
            Some(Token::Number(..) | Token::LParen | Token::SingleQuotedString(_) | Token::Placeholder(_))
        );
        self.depth == 0 && !is_value && ((length > 0 && names_table) || (length > 1 && is_changed))
    }

    fn is(&self, ahead: usize, name: &str) -> bool {
        self.source.get(self.at + ahead).is_some_and(|token| is_word(token, name))
    }

    fn opens(&self, ahead: usize) -> bool {
        self.source.get(self.at + ahead).is_some_and(|token| token.token == Token::LParen)
    }

    /// A word in the place of the current token.
    fn word(&self, value: &str, keyword: Keyword) -> TokenWithSpan {
        let at = self.at.min(self.source.len().saturating_sub(1));
        let token = Token::Word(Word { value: value.to_owned(), quote_style: None, keyword });
        TokenWithSpan { token, span: self.source[at].span }
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn read(sql: &str) -> SqlResult<String> {
        let tokens = spelled(Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap())?;
        let words: Vec<String> = tokens.iter().filter(|t| is_significant(t)).map(|t| t.token.to_string()).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn what_holds_anyway_is_left_out() {
        for (sql, plain) in [
            ("SELECT a FROM s.t * AS x FOR READ ONLY", "SELECT a FROM s . t AS x"),
            ("UPDATE t * SET a = b * c", "UPDATE t SET a = b * c"),
            ("SELECT extract(year FROM a * b), a * b FROM t", "SELECT extract ( year FROM a * b ) , a * b FROM t"),
            ("SELECT a FROM t GROUP BY ALL a", "SELECT a FROM t GROUP BY a"),
            ("SELECT a FROM t GROUP BY DISTINCT a", "SELECT a FROM t GROUP BY a"),
            (
                "SELECT a FROM t GROUP BY DISTINCT ROLLUP (a), a",
                "SELECT a FROM t GROUP BY \"distinct#sets\" ( ) , ROLLUP ( a ) , a",
            ),
            (
                "SELECT a FROM t ORDER BY a USING <, b USING OPERATOR(pg_catalog.>) NULLS LAST",
                "SELECT a FROM t ORDER BY a ASC , b DESC NULLS LAST",
            ),
            ("SELECT", "SELECT FROM ( VALUES ( 1 ) ) \"row#\" ( \"one#\" )"),
            ("SELECT trim(BOTH FROM a), trim(FROM b)", "SELECT trim ( BOTH a ) , trim ( b )"),
            ("SELECT EXISTS (SELECT)", "SELECT EXISTS ( SELECT FROM ( VALUES ( 1 ) ) \"row#\" ( \"one#\" ) )"),
            ("SELECT a FROM t JOIN u USING (a)", "SELECT a FROM t JOIN u USING ( a )"),
            (
                "INSERT INTO t VALUES (1) ON CONFLICT (a COLLATE \"C\" text_ops, b) WHERE a > 0 DO NOTHING",
                "INSERT INTO t VALUES ( 1 ) ON CONFLICT ( a , b ) DO NOTHING",
            ),
            (
                "SELECT substring(a SIMILAR 'x' ESCAPE 'y'), b SIMILAR TO 'x' ESCAPE 'y'",
                "SELECT substring ( a , 'x' , 'y' ) , b SIMILAR TO 'x' ESCAPE 'y'",
            ),
            ("EXPLAIN ANALYSE SELECT 1", "EXPLAIN ANALYZE SELECT 1"),
            ("EXPLAIN (VERBOSE) SELECT 1", "EXPLAIN ( VERBOSE ) SELECT 1"),
            ("EXPLAIN (SELECT 1)", "EXPLAIN ( FORMAT text ) ( SELECT 1 )"),
        ] {
            assert_eq!(read(sql).unwrap(), plain);
        }
    }

    #[test]
    fn what_nothing_stands_for_is_refused() {
        for sql in ["SELECT a FROM t ORDER BY a USING ~=~", "EXPLAIN CREATE TABLE t AS SELECT 1"] {
            assert!(read(sql).is_err(), "{sql}");
        }
    }
}
