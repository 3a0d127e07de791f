//! `LIKE table INCLUDING ...` among the columns of CREATE TABLE, which sqlparser reads in one form only.

use std::ops::Range;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::QualifiedName;

use super::words::{Read, Unexpected, Words};
use crate::syntax::{is_significant, keyword};

/// The columns of another table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LikeClause {
    /// How many columns of the statement's own stand before it.
    pub at: usize,
    pub source: QualifiedName,
    pub copied: Copied,
}

/// What is copied besides names, types and NOT NULL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in SQL")]
pub(crate) struct Copied {
    pub comments: bool,
    pub constraints: bool,
    pub defaults: bool,
    pub generated: bool,
    pub identity: bool,
    pub indexes: bool,
}

/// Takes the clauses off a CREATE TABLE.
///
/// # Errors
/// Where a clause stops making sense.
pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<LikeClause>, Option<TokenWithSpan>> {
    let mut clauses = Vec::new();
    let Some(elements) = elements(tokens) else { return Ok(clauses) };
    let mut kept: Vec<Range<usize>> = Vec::new();
    let mut columns = 0;
    for element in &elements {
        let significant: Vec<&TokenWithSpan> = tokens[element.clone()].iter().filter(|t| is_significant(t)).collect();
        match significant.first().and_then(|first| keyword(first)) {
            Some(Keyword::LIKE) => {
                let (source, copied) = read(&significant).map_err(|unexpected| unexpected.0.cloned())?;
                clauses.push(LikeClause { at: columns, source, copied });
                continue;
            }
            Some(Keyword::CONSTRAINT | Keyword::PRIMARY | Keyword::UNIQUE | Keyword::CHECK)
            | Some(Keyword::FOREIGN | Keyword::EXCLUDE) => {}
            _ => columns += 1,
        }
        kept.push(element.clone());
    }
    if let ([first, ..], [.., last]) = (elements.as_slice(), elements.as_slice())
        && !clauses.is_empty()
    {
        let mut left = tokens[..first.start].to_vec();
        for (index, element) in kept.into_iter().enumerate() {
            // With the comma before it, unless nothing is left before it.
            let start = if index == 0 { element.start } else { element.start - 1 };
            left.extend_from_slice(&tokens[start..element.end]);
        }
        left.extend_from_slice(&tokens[last.end..]);
        *tokens = left;
    }
    Ok(clauses)
}

/// Where the elements of a table's definition stand, without the commas between them.
fn elements(tokens: &[TokenWithSpan]) -> Option<Vec<Range<usize>>> {
    let words: Vec<Option<Keyword>> = tokens.iter().filter(|t| is_significant(t)).take(4).map(keyword).collect();
    if words.first() != Some(&Some(Keyword::CREATE)) || !words.contains(&Some(Keyword::TABLE)) {
        return None;
    }
    let open = tokens.iter().position(|t| t.token == Token::LParen)?;
    let mut elements = Vec::new();
    let (mut depth, mut start) = (0_usize, open + 1);
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => {
                elements.push(start..at);
                return Some(elements);
            }
            Token::RParen => depth -= 1,
            Token::Comma if depth == 1 => {
                elements.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn read<'t>(tokens: &[&'t TokenWithSpan]) -> Read<'t, (QualifiedName, Copied)> {
    let mut words = Words::new(tokens);
    words.expect("LIKE")?;
    let mut parts = vec![words.name()?];
    while words.eat_token(&Token::Period) {
        parts.push(words.name()?);
    }
    let mut copied = Copied::default();
    while words.peek().is_some() {
        let is_included = words.eat("INCLUDING");
        if !is_included {
            words.expect("EXCLUDING")?;
        }
        let at = words.peek();
        let option = words.take_word().ok_or(Unexpected(at))?;
        copied.set(&option.value.to_ascii_uppercase(), is_included).ok_or(Unexpected(at))?;
    }
    Ok((QualifiedName::quoted(&parts), copied))
}

impl Copied {
    /// `None` for an option that does not exist.
    fn set(&mut self, option: &str, is: bool) -> Option<()> {
        match option {
            "COMMENTS" => self.comments = is,
            "CONSTRAINTS" => self.constraints = is,
            "DEFAULTS" => self.defaults = is,
            "GENERATED" => self.generated = is,
            "IDENTITY" => self.identity = is,
            "INDEXES" => self.indexes = is,
            // What no table has here.
            "COMPRESSION" | "STATISTICS" | "STORAGE" => {}
            "ALL" => {
                *self = Self { comments: is, constraints: is, defaults: is, generated: is, identity: is, indexes: is };
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn taken(sql: &str) -> (String, Vec<(usize, String, Copied)>) {
        let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let clauses = take(&mut tokens).unwrap();
        let left: String = tokens.iter().map(|t| t.token.to_string()).collect();
        (left, clauses.into_iter().map(|c| (c.at, c.source.to_string(), c.copied)).collect())
    }

    #[test]
    fn clauses_are_taken_where_they_stand() {
        let none = Copied::default();
        let (left, clauses) = taken("CREATE TABLE t (LIKE s)");
        assert_eq!((left.as_str(), clauses), ("CREATE TABLE t ()", vec![(0, "\"s\"".to_owned(), none)]));
        let (left, clauses) = taken("CREATE TABLE t (LIKE a, LIKE b, c int, LIKE d INCLUDING DEFAULTS, CHECK (c > 0))");
        assert_eq!(left.replace(' ', ""), "CREATETABLEt(cint,CHECK(c>0))");
        let names: Vec<_> = clauses.iter().map(|(at, name, _)| (*at, name.as_str())).collect();
        assert_eq!(names, [(0, "\"a\""), (0, "\"b\""), (1, "\"d\"")]);
        assert!(clauses[2].2.defaults && !clauses[2].2.indexes);
    }

    #[test]
    fn options_follow_each_other() {
        let (_, clauses) = taken("CREATE TABLE t (LIKE s.x INCLUDING ALL EXCLUDING INDEXES EXCLUDING STORAGE)");
        let copied = clauses[0].2;
        assert!(copied.defaults && copied.comments && copied.identity && !copied.indexes);
        let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, "CREATE TABLE t (LIKE s INCLUDING THIS)")
            .tokenize_with_location()
            .unwrap();
        assert!(take(&mut tokens).is_err());
    }
}
