//! `SET a[1] = x`: the parser takes names before `=` alone. So the item becomes an argument of what is assigned:
//! `SET a = "item"(a[1], x)`, where the function's name is one that no client writes.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::statement::ITEM;
use tablegate_types::error::{SqlError, SqlResult};

use crate::syntax::{is_significant, keyword};

/// Rewrites assignments to items; whatever is none stays.
///
/// # Errors
/// 0A000 for items in a list of columns that are set from a row, and for fields of items.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    let has = |wanted: &dyn Fn(&TokenWithSpan) -> bool| tokens.iter().any(wanted);
    if !has(&|token| token.token == Token::LBracket) || !has(&|token| keyword(token) == Some(Keyword::SET)) {
        return Ok(tokens);
    }
    let significant: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut readable = Vec::with_capacity(significant.len());
    let mut rest = significant.as_slice();
    let mut place = Place::default();
    while let Some(token) = rest.first() {
        if place.is_in_set() && starts_assignment(readable.last()) {
            refuse_lists(rest)?;
            if let Some(item) = item_of(rest)? {
                rest = item.write(&mut readable);
                continue;
            }
        }
        place.go_past(token, readable.last());
        readable.push(token.clone());
        rest = &rest[1..];
    }
    Ok(readable)
}

/// Where in a statement a token stands.
#[derive(Default)]
struct Place {
    depth: usize,
    cases: usize,
    /// How deep an UPDATE is whose SET is to come.
    update: Option<usize>,
    /// How deep assignments stand: between SET and what ends it.
    set: Option<usize>,
}

impl Place {
    fn is_in_set(&self) -> bool {
        self.set == Some(self.depth)
    }

    fn go_past(&mut self, token: &TokenWithSpan, before: Option<&TokenWithSpan>) {
        let before = before.and_then(keyword);
        match &token.token {
            Token::LParen | Token::LBracket => self.depth += 1,
            Token::RParen | Token::RBracket => {
                self.depth = self.depth.saturating_sub(1);
                let is_there = |at: &usize| *at <= self.depth;
                (self.update, self.set) = (self.update.filter(is_there), self.set.filter(is_there));
            }
            _ => match keyword(token) {
                // Of a locking clause, of what a key says, of a trigger.
                Some(Keyword::UPDATE) if matches!(before, Some(Keyword::FOR | Keyword::KEY | Keyword::ON)) => {}
                Some(Keyword::UPDATE) => self.update = Some(self.depth),
                Some(Keyword::SET) if self.update == Some(self.depth) => (self.set, self.update) = (self.update, None),
                Some(Keyword::CASE) => self.cases += 1,
                Some(Keyword::END) => self.cases = self.cases.saturating_sub(1),
                Some(word) if self.is_in_set() && ends_set(word, before, self.cases) => self.set = None,
                _ => {}
            },
        }
    }
}

/// Whether a word begins what stands behind assignments.
fn ends_set(word: Keyword, before: Option<Keyword>, cases: usize) -> bool {
    match word {
        Keyword::WHERE | Keyword::RETURNING => true,
        Keyword::FROM => before != Some(Keyword::DISTINCT),
        Keyword::WHEN => cases == 0,
        _ => false,
    }
}

/// `SET (a[1], b) = (1, 2)`
fn refuse_lists(tokens: &[TokenWithSpan]) -> SqlResult<()> {
    if tokens.first().is_none_or(|token| token.token != Token::LParen) {
        return Ok(());
    }
    let Some(length) = length_of_brackets(tokens) else { return Ok(()) };
    let has_items = tokens[..length].iter().any(|token| token.token == Token::LBracket);
    match tokens.get(length).map(|token| &token.token) {
        Some(Token::Eq) if has_items => Err(SqlError::not_supported("an item in a list of columns that are set")
            .with_hint("Set it on its own: SET a[1] = .., b = ..")),
        _ => Ok(()),
    }
}

fn starts_assignment(before: Option<&TokenWithSpan>) -> bool {
    before.is_some_and(|before| before.token == Token::Comma || keyword(before) == Some(Keyword::SET))
}

/// An assignment to an item.
struct Item<'t> {
    column: &'t [TokenWithSpan],
    subscripts: &'t [TokenWithSpan],
    value: &'t [TokenWithSpan],
    behind: &'t [TokenWithSpan],
}

fn item_of(tokens: &[TokenWithSpan]) -> SqlResult<Option<Item<'_>>> {
    let is_of_name = |token: &&TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Period);
    let (column, rest) = tokens.split_at(tokens.iter().take_while(is_of_name).count());
    let mut length = 0;
    while rest.get(length).is_some_and(|token| token.token == Token::LBracket) {
        match length_of_brackets(&rest[length..]) {
            Some(more) => length += more,
            None => return Ok(None),
        }
    }
    let (subscripts, rest) = rest.split_at(length);
    if column.is_empty() || length == 0 {
        return Ok(None);
    }
    match rest.split_first() {
        Some((equals, rest)) if equals.token == Token::Eq => {
            let (value, behind) = rest.split_at(length_of_value(rest));
            Ok(Some(Item { column, subscripts, value, behind }))
        }
        Some((period, _)) if period.token == Token::Period => {
            Err(SqlError::not_supported("assignment to a field of an item").with_hint("Assign the whole item."))
        }
        _ => Ok(None),
    }
}

/// How many tokens a bracket or a parenthesis takes, with what is in it.
fn length_of_brackets(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LBracket | Token::LParen => depth += 1,
            Token::RBracket | Token::RParen => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Up to the next assignment, or the clause behind the last one.
fn length_of_value(tokens: &[TokenWithSpan]) -> usize {
    let (mut depth, mut cases) = (0_usize, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma | Token::SemiColon if depth == 0 => return at,
            _ if depth > 0 => {}
            _ => match keyword(token) {
                Some(Keyword::CASE) => cases += 1,
                Some(Keyword::END) => cases = cases.saturating_sub(1),
                Some(word) if ends_set(word, at.checked_sub(1).and_then(|at| keyword(&tokens[at])), cases) => {
                    return at;
                }
                _ => {}
            },
        }
    }
    tokens.len()
}

impl<'t> Item<'t> {
    /// Writes what the parser reads in its place; gives what is behind it.
    fn write(self, readable: &mut Vec<TokenWithSpan>) -> &'t [TokenWithSpan] {
        let span = self.column[0].span;
        let made = |token: Token| TokenWithSpan { token, span };
        readable.extend_from_slice(self.column);
        readable.extend([made(Token::Eq), made(Token::make_word(ITEM, Some('"'))), made(Token::LParen)]);
        readable.extend_from_slice(self.column);
        readable.extend_from_slice(self.subscripts);
        readable.push(made(Token::Comma));
        readable.extend_from_slice(self.value);
        readable.push(made(Token::RParen));
        self.behind
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;
    use tablegate_types::error::ErrorKind;

    use super::*;
    use crate::syntax::{Command, parse};

    #[test]
    fn items_become_arguments() {
        for (sql, read) in [
            ("UPDATE t SET a[1] = 2", "UPDATE t SET a = item(a[1], 2)"),
            ("UPDATE t SET b = a[1], a[i + 1][x[2]] = CASE WHEN a THEN b END, c = 1 FROM u", ""),
            ("UPDATE t SET a[1:] = f(1, 2) WHERE x", "UPDATE t SET a = item(a[1:], f(1, 2)) WHERE x"),
            ("UPDATE t SET a['k'] = b IS DISTINCT FROM c RETURNING a", ""),
            ("WITH w AS (UPDATE t SET a[1] = 2) SELECT 1", ""),
            ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b[1] = excluded.b[1], c = 2", ""),
            ("MERGE INTO t USING u ON true WHEN MATCHED THEN UPDATE SET a[1] = 1 WHEN NOT MATCHED THEN DO NOTHING", ""),
        ] {
            let parsed = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop().unwrap().command;
            if let Command::Update(update) = &parsed
                && !read.is_empty()
            {
                assert_eq!(update.0.to_string().replace("\"\u{2}item\"", "item"), read);
            }
        }
        assert!(parse("UPDATE t SET a[1 = 2").is_err());
        assert!(parse("UPDATE t SET a[1] =").is_err());
    }

    #[test]
    fn comparisons_stay_what_they_are() {
        for sql in [
            "UPDATE t SET n = 1 RETURNING id, a[1] = 5",
            "UPDATE t SET n = a IS DISTINCT FROM b WHERE x IN (SELECT 1, a[1] = 5)",
            "UPDATE t SET n = (SELECT 1, a[1] = 5)",
            "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1 RETURNING id, a[1] = 5",
            "WITH u AS (UPDATE t SET n = 1 RETURNING id), x AS (SELECT id, a[1] = 5 FROM t) SELECT id, a[1] = 5 FROM x",
            "SELECT s.set, a[1] = 2 FROM s FOR UPDATE",
        ] {
            let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
            let words = |tokens: Vec<TokenWithSpan>| tokens.into_iter().filter(is_significant).map(|t| t.token);
            assert!(words(tokens.clone()).eq(words(readable(tokens).unwrap())), "{sql}");
        }
        for sql in ["UPDATE t SET (a[1], b) = (1, 2)", "UPDATE t SET b = 1, a[1].f = 2"] {
            assert_eq!(parse(sql).unwrap_err().kind, ErrorKind::FeatureNotSupported, "{sql}");
        }
    }
}
