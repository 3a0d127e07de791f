//! Clauses of CREATE that concern PostgreSQL's storage only: removed from the tokens, or respelled so that sqlparser
//! reads them.
//!
//! UNLOGGED promises less than every table here keeps; an index ON ONLY a table is one on the table, which has no
//! partitions. Access methods, tablespaces, and parameters of the indexes behind constraints have no counterpart here.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{is_significant, keyword};

/// The one access method of tables.
const HEAP: &str = "heap";

/// The tokens of one statement without it.
///
/// # Errors
/// 42704 for an access method of tables that does not exist.
pub(crate) fn without_storage(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    let words: Vec<Option<Keyword>> = tokens.iter().filter(|t| is_significant(t)).take(6).map(keyword).collect();
    if let [Some(Keyword::DROP), Some(Keyword::INDEX), Some(Keyword::CONCURRENTLY), _, ..] = words.as_slice() {
        let mut tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
        tokens.remove(2);
        return Ok(tokens);
    }
    if words.first() != Some(&Some(Keyword::CREATE)) {
        return Ok(tokens);
    }
    let is_of = |kind: Keyword| words.iter().skip(1).any(|word| *word == Some(kind));
    let kinds = [Keyword::TABLE, Keyword::INDEX, Keyword::SEQUENCE, Keyword::VIEW];
    if !kinds.into_iter().any(is_of) {
        return Ok(tokens);
    }
    let is_index = is_of(Keyword::INDEX) && !is_of(Keyword::TABLE);
    let source: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut create = Create { source, at: 0, kept: Vec::new() };
    create.read(is_index)?;
    Ok(create.kept)
}

struct Create {
    source: Vec<TokenWithSpan>,
    at: usize,
    kept: Vec<TokenWithSpan>,
}

impl Create {
    fn read(&mut self, is_index: bool) -> SqlResult<()> {
        let mut depth = 0_usize;
        while let Some(token) = self.source.get(self.at) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            // What follows is a query.
            if !is_index && depth == 0 && keyword(token) == Some(Keyword::AS) {
                break;
            }
            if !self.taken(depth, is_index)? {
                self.kept.push(token_at(&self.source, self.at));
                self.at += 1;
            }
        }
        self.kept.extend(self.source.drain(self.at.min(self.source.len())..));
        Ok(())
    }

    /// Takes what stands here off, if it is about storage.
    fn taken(&mut self, depth: usize, is_index: bool) -> SqlResult<bool> {
        let is = |ahead: usize, word: &str| self.is_word(self.at + ahead, word);
        let opens = |ahead: usize| self.source.get(self.at + ahead).is_some_and(|t| t.token == Token::LParen);
        let is_of_sequence = || self.kept.iter().any(|t| keyword(t) == Some(Keyword::SEQUENCE));
        let skipped = if (self.at == 1 && is(0, "UNLOGGED")) || (self.at > 2 && is(0, "LOGGED") && is_of_sequence()) {
            1
        } else if is(0, "TABLESPACE") && !opens(1) && !self.names_column() {
            2
        } else if is_index && opens(0) && depth == 2 && self.follows_class() {
            self.length_in_parentheses(self.at)
        } else if is_index {
            usize::from(is(0, "ONLY") && self.kept.last().and_then(keyword) == Some(Keyword::ON))
        } else if depth == 0 && is(0, "USING") {
            let method = self.source.get(self.at + 1).map(|t| t.token.to_string()).unwrap_or_default();
            if !method.trim_matches('"').eq_ignore_ascii_case(HEAP) {
                let message = format!("access method \"{method}\" does not exist");
                return Err(SqlError::new(ErrorKind::UndefinedObject, message));
            }
            2
        } else if (is(0, "NULLS") && is(1, "DISTINCT")) || (depth == 0 && is(0, "WITHOUT") && is(1, "OIDS")) {
            2
        } else if depth > 0 && is(0, "USING") && is(1, "INDEX") && is(2, "TABLESPACE") {
            4
        } else if depth > 0 && ((is(0, "NO") && is(1, "INHERIT")) || (is(0, "NOT") && is(1, "VALID"))) {
            2
        } else if depth > 0 && is(0, "INCLUDE") && opens(1) && !self.names_column() {
            self.length_in_parentheses(self.at + 1) + 1
        } else if depth > 0 && is(0, "COMPRESSION") && !self.names_column() {
            2
        } else if depth > 0 && is(0, "WITH") && opens(1) {
            self.length_in_parentheses(self.at + 1) + 1
        } else if depth == 0 && is(0, "WITH") && opens(1) {
            self.parameters();
            return Ok(true);
        } else {
            0
        };
        if depth == 1 && !is_index {
            self.refuse_in_column()?;
        }
        self.at += skipped;
        Ok(skipped > 0)
    }

    /// What a column's definition says and nothing here stands for.
    fn refuse_in_column(&self) -> SqlResult<()> {
        let is = |ahead: usize, word: &str| self.is_word(self.at + ahead, word);
        let opens = |ahead: usize| self.source.get(self.at + ahead).is_some_and(|t| t.token == Token::LParen);
        let (what, hint) = if is(0, "UNIQUE") && is(1, "NULLS") && is(2, "NOT") && !opens(4) {
            ("UNIQUE NULLS NOT DISTINCT of a column", "Write it as a constraint of the table.")
        } else if is(0, "SET") && (is(1, "NULL") || is(1, "DEFAULT")) && opens(2) {
            ("a list of columns behind SET NULL and SET DEFAULT", "Leave the list out.")
        } else if is(0, "OPTIONS") && opens(1) && !self.names_column() {
            ("OPTIONS of a column", "They belong to foreign tables: leave them out.")
        } else if is(0, "SETOF") && !self.names_column() {
            let message = "a column cannot be declared SETOF";
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        } else {
            return Ok(());
        };
        Err(SqlError::not_supported(what).with_hint(hint))
    }

    /// Whether an operator class was named, whose parameters follow.
    fn follows_class(&self) -> bool {
        let is_class =
            |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.value.ends_with("_ops"));
        self.kept.last().is_some_and(is_class)
    }

    /// `WITH (...)` of a table: each parameter with a value, and its name in one piece.
    fn parameters(&mut self) {
        let end = self.at + 1 + self.length_in_parentheses(self.at + 1);
        let mut before = Token::Comma;
        while self.at < end {
            let token = token_at(&self.source, self.at);
            let next = self.source.get(self.at + 1).map(|t| t.token.clone());
            let starts = matches!(before, Token::Comma | Token::LParen) && matches!(token.token, Token::Word(_));
            before = token.token.clone();
            match (next, self.source.get(self.at + 2)) {
                (Some(Token::Period), Some(name)) if starts => {
                    let name = format!("{}.{}", token.token, name.token).to_lowercase();
                    self.kept.push(TokenWithSpan { token: Token::make_word(&name, Some('"')), span: token.span });
                    self.at += 2;
                    self.give_value(&token);
                }
                _ => {
                    self.kept.push(token.clone());
                    if starts {
                        self.give_value(&token);
                    }
                }
            }
            self.at += 1;
        }
    }

    /// A parameter without a value is true.
    fn give_value(&mut self, at: &TokenWithSpan) {
        if matches!(self.source.get(self.at + 1).map(|t| &t.token), Some(Token::Comma | Token::RParen)) {
            let value = Word { value: "true".to_owned(), quote_style: None, keyword: Keyword::TRUE };
            self.kept.extend([Token::Eq, Token::Word(value)].map(|token| TokenWithSpan { token, span: at.span }));
        }
    }

    /// How many tokens there are from an opening parenthesis to the one that closes it.
    fn length_in_parentheses(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (count, token) in self.source[open..].iter().enumerate() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return count + 1;
            }
        }
        self.source.len() - open
    }

    fn is_word(&self, at: usize, wanted: &str) -> bool {
        let word = self.source.get(at).map(|token| &token.token);
        matches!(word, Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    }

    /// Whether the word here is where a column's name is.
    fn names_column(&self) -> bool {
        matches!(self.kept.last().map(|token| &token.token), Some(Token::LParen | Token::Comma | Token::Period))
            || matches!(
                self.kept.last().and_then(keyword),
                Some(
                    Keyword::TABLE
                        | Keyword::ON
                        | Keyword::EXISTS
                        | Keyword::CONSTRAINT
                        | Keyword::INDEX
                        | Keyword::VIEW
                )
            )
    }
}

fn token_at(tokens: &[TokenWithSpan], at: usize) -> TokenWithSpan {
    tokens[at].clone()
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn left(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let tokens = without_storage(tokens).unwrap();
        let words: Vec<String> = tokens.iter().filter(|t| is_significant(t)).map(|t| t.token.to_string()).collect();
        words.join(" ")
    }

    #[test]
    fn what_only_storage_has_a_use_for_is_taken_off() {
        for (sql, rest) in [
            ("CREATE UNLOGGED TABLE t (a int)", "CREATE TABLE t ( a int )"),
            ("CREATE INDEX i ON ONLY t (a) TABLESPACE x", "CREATE INDEX i ON t ( a )"),
            ("CREATE TABLE t (a int PRIMARY KEY WITH (fillfactor = 5))", "CREATE TABLE t ( a int PRIMARY KEY )"),
            ("CREATE TABLE t (a int CHECK (a > 0) NO INHERIT)", "CREATE TABLE t ( a int CHECK ( a > 0 ) )"),
            (
                "CREATE TABLE t (compression text, tablespace int)",
                "CREATE TABLE t ( compression text , tablespace int )",
            ),
            ("CREATE TABLE t USING heap AS SELECT 1 USING", "CREATE TABLE t AS SELECT 1 USING"),
            ("DROP TABLE unlogged", "DROP TABLE unlogged"),
        ] {
            assert_eq!(left(sql), rest);
        }
    }

    #[test]
    fn parameters_have_names_in_one_piece_and_values() {
        assert_eq!(
            left("CREATE TABLE t (a int) WITH (toast.autovacuum_enabled = off, fillfactor)"),
            "CREATE TABLE t ( a int ) WITH ( \"toast.autovacuum_enabled\" = off , fillfactor = true )"
        );
    }
}
