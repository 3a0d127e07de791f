//! `SET a[1] = x`: the parser takes names before `=` alone. So the item becomes an argument of what is assigned:
//! `SET a = "item"(a[1], x)`, where the function's name is one that no client writes.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::statement::ITEM;

use crate::syntax::{is_significant, keyword};

/// Rewrites assignments to items; whatever is none stays.
pub(crate) fn readable(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |wanted: &dyn Fn(&TokenWithSpan) -> bool| tokens.iter().any(wanted);
    if !has(&|token| token.token == Token::LBracket) || !has(&|token| keyword(token) == Some(Keyword::SET)) {
        return tokens;
    }
    let significant: Vec<TokenWithSpan> = tokens.into_iter().filter(is_significant).collect();
    let mut readable = Vec::with_capacity(significant.len());
    let mut rest = significant.as_slice();
    // Whether assignments stand here, between SET and what ends it, outside of parentheses of their own.
    let (mut depth, mut set_at) = (0_usize, None);
    while let Some(token) = rest.first() {
        let begins = set_at == Some(depth) && starts_assignment(readable.last());
        if let Some(item) = Some(rest).filter(|_| begins).and_then(item_of) {
            rest = item.write(&mut readable);
            continue;
        }
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ if keyword(token) == Some(Keyword::SET) => set_at = Some(depth),
            _ => {}
        }
        readable.push(token.clone());
        rest = &rest[1..];
    }
    readable
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

fn item_of(tokens: &[TokenWithSpan]) -> Option<Item<'_>> {
    let is_of_name = |token: &&TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Period);
    let (column, rest) = tokens.split_at(tokens.iter().take_while(is_of_name).count());
    let mut length = 0;
    while rest.get(length).is_some_and(|token| token.token == Token::LBracket) {
        length += length_of_subscript(&rest[length..])?;
    }
    let (subscripts, rest) = rest.split_at(length);
    let (equals, rest) = rest.split_first()?;
    if column.is_empty() || length == 0 || equals.token != Token::Eq {
        return None;
    }
    let (value, behind) = rest.split_at(length_of_value(rest));
    Some(Item { column, subscripts, value, behind })
}

fn length_of_subscript(tokens: &[TokenWithSpan]) -> Option<usize> {
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
                Some(Keyword::WHEN) if cases == 0 => return at,
                Some(Keyword::WHERE | Keyword::RETURNING) => return at,
                Some(Keyword::FROM) if at == 0 || keyword(&tokens[at - 1]) != Some(Keyword::DISTINCT) => return at,
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
            if let Command::Update(update) = parsed
                && !read.is_empty()
            {
                assert_eq!(update.to_string().replace("\"\u{2}item\"", "item"), read);
            }
        }
        assert!(parse("UPDATE t SET a[1 = 2").is_err());
        assert!(parse("UPDATE t SET a[1] =").is_err());
    }
}
