//! Locking clauses: PostgreSQL's have four strengths and lists of tables, sqlparser's two and one table.
//!
//! So a clause it cannot read is rewritten before it is parsed: as FOR UPDATE OF one dotted name, whose first part is
//! the strength and whose others are the tables. A LIMIT may stand behind the clauses too, where sqlparser wants none.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::query::{LOCK_MARK, LockStrength};

/// Rewrites the locking clauses that sqlparser cannot read, and puts a LIMIT that stands behind one before it. Any other
/// clauses, and whatever is no such clause, stay.
pub(crate) fn readable_locks(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, Keyword::FOR)) {
        return tokens;
    }
    let significant: Vec<TokenWithSpan> =
        tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let mut readable = Vec::with_capacity(significant.len());
    let mut rest = significant.as_slice();
    while let Some(token) = rest.first() {
        let (clauses, behind) = readable_clauses(rest);
        if clauses.is_empty() {
            readable.push(token.clone());
            rest = &rest[1..];
            continue;
        }
        let (bounds, behind) = behind.split_at(length_of_bounds(behind));
        readable.extend_from_slice(bounds);
        readable.extend(clauses);
        rest = behind;
    }
    readable
}

/// The locking clauses that the tokens begin with, readable, and what follows them.
fn readable_clauses(tokens: &[TokenWithSpan]) -> (Vec<TokenWithSpan>, &[TokenWithSpan]) {
    let mut readable = Vec::new();
    let mut rest = tokens;
    while let Some(WrittenClause { strength, tables, length }) = written_clause(rest) {
        if length > 2 {
            let put = |token: Token| TokenWithSpan { token, span: rest[0].span };
            readable.push(put(Token::make_keyword("FOR")));
            readable.push(put(Token::make_keyword("UPDATE")));
            readable.push(put(Token::make_keyword("OF")));
            readable.push(put(Token::make_word(&format!("{LOCK_MARK}{}", strength.words()), Some('"'))));
            for table in tables {
                readable.push(put(Token::Period));
                readable.push(table.clone());
            }
        } else {
            readable.extend_from_slice(&rest[..length]);
        }
        let busy = match &rest[length..] {
            [nowait, ..] if is_word(nowait, Keyword::NOWAIT) => 1,
            [skip, locked, ..] if is_word(skip, Keyword::SKIP) && is_word(locked, Keyword::LOCKED) => 2,
            _ => 0,
        };
        readable.extend_from_slice(&rest[length..length + busy]);
        rest = &rest[length + busy..];
    }
    (readable, rest)
}

/// How many of the tokens are the LIMIT, OFFSET and FETCH that they begin with.
fn length_of_bounds(tokens: &[TokenWithSpan]) -> usize {
    let begin = [Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH];
    if !tokens.first().is_some_and(|first| begin.iter().any(|word| is_word(first, *word))) {
        return 0;
    }
    let end = [Keyword::FOR, Keyword::ON, Keyword::RETURNING];
    let mut depth = 0_usize;
    let is_end = |token: &TokenWithSpan| match token.token {
        Token::LParen => {
            depth += 1;
            false
        }
        Token::RParen if depth > 0 => {
            depth -= 1;
            false
        }
        Token::RParen | Token::EOF => true,
        _ => depth == 0 && end.iter().any(|word| is_word(token, *word)),
    };
    tokens.iter().position(is_end).unwrap_or(tokens.len())
}

/// `FOR` with its strength, and the tables behind `OF`.
struct WrittenClause<'t> {
    strength: LockStrength,
    tables: Vec<&'t TokenWithSpan>,
    /// In tokens.
    length: usize,
}

fn written_clause(tokens: &[TokenWithSpan]) -> Option<WrittenClause<'_>> {
    let strengths: [(LockStrength, &[Keyword]); 4] = [
        (LockStrength::Update, &[Keyword::FOR, Keyword::UPDATE]),
        (LockStrength::NoKeyUpdate, &[Keyword::FOR, Keyword::NO, Keyword::KEY, Keyword::UPDATE]),
        (LockStrength::Share, &[Keyword::FOR, Keyword::SHARE]),
        (LockStrength::KeyShare, &[Keyword::FOR, Keyword::KEY, Keyword::SHARE]),
    ];
    let begins = |words: &[Keyword]| {
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| is_word(token, *word))
    };
    let (strength, words) = strengths.into_iter().find(|(_, words)| begins(words))?;
    let alone = WrittenClause { strength, tables: Vec::new(), length: words.len() };
    if !tokens.get(words.len()).is_some_and(|token| is_word(token, Keyword::OF)) {
        return Some(alone);
    }
    let mut tables = Vec::new();
    let mut length = words.len();
    loop {
        // Behind OF or a comma.
        let Some(table @ TokenWithSpan { token: Token::Word(_), .. }) = tokens.get(length + 1) else {
            return Some(alone);
        };
        tables.push(table);
        length += 2;
        match tokens.get(length).map(|token| &token.token) {
            Some(Token::Comma) => {}
            // A name with a schema: left to be refused.
            Some(Token::Period) => return Some(alone),
            _ => return Some(WrittenClause { strength, tables, length }),
        }
    }
}

fn is_word(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Ident;
    use tablegate_bind::query::{Busy, LockingClause};
    use tablegate_types::error::ErrorKind;

    use super::*;
    use crate::syntax::{Command, parse};

    fn clauses(sql: &str) -> Vec<(LockStrength, String, Busy)> {
        let Command::Query(query) = parse(sql).unwrap().pop().unwrap().command else { panic!("{sql}") };
        let clauses = query.tree().locks.iter().map(|clause| LockingClause::of(clause).unwrap());
        let tables = |tables: &[Ident]| tables.iter().map(Ident::to_string).collect::<Vec<_>>().join(",");
        clauses.map(|clause| (clause.strength, tables(&clause.tables), clause.busy)).collect()
    }

    #[test]
    fn all_clauses_are_read() {
        let none = String::new;
        for (words, strength) in [
            ("FOR UPDATE", LockStrength::Update),
            ("for no key update", LockStrength::NoKeyUpdate),
            ("FOR  SHARE", LockStrength::Share),
            ("FOR KEY /* */ SHARE", LockStrength::KeyShare),
        ] {
            assert_eq!(clauses(&format!("SELECT 1 FROM t {words}")), [(strength, none(), Busy::Wait)]);
            assert_eq!(clauses(&format!("SELECT 1 FROM t {words} NOWAIT")), [(strength, none(), Busy::Refuse)]);
            let sql = format!("SELECT 1 FROM t, u {words} OF t, \"U\" SKIP LOCKED");
            assert_eq!(clauses(&sql), [(strength, "t,\"U\"".to_owned(), Busy::Skip)]);
        }
        assert_eq!(
            clauses("SELECT 1 FROM t LIMIT 1 FOR UPDATE OF t FOR KEY SHARE OF u NOWAIT"),
            [
                (LockStrength::Update, "t".to_owned(), Busy::Wait),
                (LockStrength::KeyShare, "u".to_owned(), Busy::Refuse)
            ]
        );
    }

    #[test]
    fn bounds_may_stand_behind_them() {
        for sql in [
            "SELECT 1 FROM t FOR UPDATE SKIP LOCKED LIMIT 1 OFFSET (1 + 1)",
            "SELECT 1 FROM t FOR UPDATE SKIP LOCKED OFFSET 1 FETCH FIRST ROW ONLY",
        ] {
            assert_eq!(clauses(sql), [(LockStrength::Update, String::new(), Busy::Skip)]);
        }
        let sql =
            "INSERT INTO u SELECT 1 FROM t WHERE n = (SELECT n FROM t FOR KEY SHARE LIMIT 1) FOR SHARE OF t LIMIT 2
            ON CONFLICT DO NOTHING RETURNING n";
        assert!(parse(sql).is_ok());
        assert!(parse("SELECT 1 FROM t LIMIT 1 FOR UPDATE LIMIT 1").is_err());
    }

    #[test]
    fn what_is_no_clause_stays() {
        assert_eq!(clauses("SELECT substring('abc' FROM 1 FOR 2) FROM t"), []);
        assert!(parse("SELECT 1 FROM t FOR UPDATE OF").is_err());
        assert!(parse("SELECT 1 FROM t FOR KEY UPDATE").is_err());
        let Command::Query(query) = parse("SELECT 1 FROM t FOR SHARE OF s.t").unwrap().pop().unwrap().command else {
            panic!("not a query")
        };
        assert_eq!(LockingClause::of(&query.tree().locks[0]).unwrap_err().kind, ErrorKind::Syntax);
    }
}
