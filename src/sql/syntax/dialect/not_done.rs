//! Forms inside of statements that PostgreSQL's grammar takes and tablegate does not support. They are refused by name
//! here, because sqlparser does not read them and would call them syntax errors.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::type_names::refuse_constant_of;
use crate::syntax::{is_significant, is_word, keyword};

/// Words that begin a form, the words behind them, what it is called, and the way out.
const FORMS: &[(&str, &str, &str)] = &[
    ("WHERE CURRENT OF", "WHERE CURRENT OF", "Name the row by its key."),
    ("COLLATION FOR (", "COLLATION FOR", "Text is ordered by its bytes."),
    ("TREAT (", "TREAT", "Use CAST."),
    ("XMLATTRIBUTES (", "the type xml", NO_XML),
    ("XMLCONCAT (", "the type xml", NO_XML),
    ("XMLELEMENT (", "the type xml", NO_XML),
    ("XMLEXISTS (", "the type xml", NO_XML),
    ("XMLFOREST (", "the type xml", NO_XML),
    ("XMLPARSE (", "the type xml", NO_XML),
    ("XMLPI (", "the type xml", NO_XML),
    ("XMLROOT (", "the type xml", NO_XML),
    ("XMLSERIALIZE (", "the type xml", NO_XML),
    ("XMLTABLE (", "the type xml", NO_XML),
    ("IS DOCUMENT", "the type xml", NO_XML),
    ("IS NOT DOCUMENT", "the type xml", NO_XML),
];
const NO_XML: &str = "Keep it as text, or use json.";
const ITEMS_ARE_KEPT: &str = "Insert the whole array: ARRAY[...].";

/// # Errors
/// 0A000 for such a form; 42P10 for ON CONFLICT of what no key is of.
pub(crate) fn refuse(tokens: &[TokenWithSpan]) -> SqlResult<()> {
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|token| is_significant(token)).collect();
    let first = words.first().and_then(|token| keyword(token));
    // Each form begins with a word, or is an operator: the numbers and commas of a long list are passed over.
    let may_begin = |at: &usize| matches!(words[*at].token, Token::Word(_) | Token::Mul);
    for at in (0..words.len()).filter(may_begin) {
        let is_name = at > 0 && words[at - 1].token == Token::Period;
        if let Some((_, what, hint)) = FORMS.iter().find(|(form, ..)| !is_name && begins(&words[at..], form)) {
            return Err(SqlError::not_supported(*what).with_hint(*hint));
        }
        refuse_here(&words, at, first)?;
    }
    Ok(())
}

fn refuse_here(words: &[&TokenWithSpan], at: usize, first: Option<Keyword>) -> SqlResult<()> {
    let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at));
    let is = |token: Option<&&TokenWithSpan>, wanted: &Token| token.is_some_and(|token| token.token == *wanted);
    let word = |word: &str| is_word(words[at], word);
    if word("UESCAPE") && matches!(before(1).map(|t| &t.token), Some(Token::UnicodeStringLiteral(_))) {
        return Err(SqlError::not_supported("UESCAPE").with_hint("Escape with a backslash, or use E'\\u0041'."));
    }
    if words[at].token == Token::Mul
        && matches!(words.get(at + 1).map(|t| &t.token), Some(Token::Eq | Token::Neq | Token::Lt | Token::Gt))
    {
        return Err(SqlError::not_supported("comparison of rows by their bytes")
            .with_hint("Use =, <> and the other comparisons."));
    }
    if let (Token::Word(name), Some(Token::SingleQuotedString(_))) =
        (&words[at].token, words.get(at + 1).map(|t| &t.token))
        && name.quote_style.is_none()
    {
        refuse_constant_of(&name.value.to_lowercase())?;
    }
    if word("SUBSTRING") && is(words.get(at + 1), &Token::LParen) && has_for_first(&words[at + 2..]) {
        return Err(SqlError::not_supported("SUBSTRING with FOR before FROM").with_hint("Write FROM first."));
    }
    if word("OVERRIDING") && first == Some(Keyword::MERGE) {
        return Err(SqlError::not_supported("OVERRIDING in MERGE").with_hint("Use INSERT ... ON CONFLICT."));
    }
    if word("AS")
        && is(before(1), &Token::RParen)
        && is(words.get(at + 1), &Token::LParen)
        && is_in_rows_from(&words[..at])
    {
        return Err(SqlError::not_supported("a column definition list inside of ROWS FROM")
            .with_hint("Take the fields out one by one: json ->> 'field', with a cast."));
    }
    if word("INSERT") && (at == 0 || !is(before(1), &Token::Period)) {
        refuse_items_of_list(&words[at..])?;
    }
    if word("CONFLICT") && before(1).is_some_and(|token| is_word(token, "ON")) {
        check_target(&words[at + 1..])?;
    }
    Ok(())
}

/// Whether the parentheses that these words are in are those of ROWS FROM.
fn is_in_rows_from(words: &[&TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    let open = words.iter().rposition(|token| match token.token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen if depth > 0 => {
            depth -= 1;
            false
        }
        Token::LParen => true,
        _ => false,
    });
    let before = open.map_or(&[][..], |open| &words[..open]);
    matches!(before, [.., rows, from] if is_word(rows, "ROWS") && is_word(from, "FROM"))
}

/// Whether FOR stands before FROM in the parentheses.
fn has_for_first(words: &[&TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    let mut saw_for = false;
    for token in words {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            _ if depth == 0 && is_word(token, "FOR") => saw_for = true,
            _ if depth == 0 && is_word(token, "FROM") => return saw_for,
            _ => {}
        }
    }
    false
}

/// The error of a join that sqlparser does not read, said by name; any other as it is.
pub(crate) fn of_join(tokens: &[TokenWithSpan], place: Option<usize>, error: Box<SqlError>) -> Box<SqlError> {
    let Some(stopped) = place.and_then(|place| tokens.get(place)) else { return error };
    let count = |wanted: Keyword| tokens.iter().filter(|token| keyword(token) == Some(wanted)).count();
    let first = tokens.iter().find(|token| is_significant(token));
    match keyword(stopped) {
        Some(Keyword::ON) if count(Keyword::JOIN) >= 2 && count(Keyword::JOIN) >= count(Keyword::ON) => {
            SqlError::not_supported("a join inside of a join without parentheses")
                .with_hint("Put the inner one in parentheses: a JOIN (b JOIN c ON ...) ON ...")
        }
        Some(Keyword::JOIN | Keyword::LEFT | Keyword::RIGHT | Keyword::FULL | Keyword::CROSS | Keyword::NATURAL)
            if first.and_then(keyword) == Some(Keyword::MERGE) =>
        {
            SqlError::not_supported("a join in USING of MERGE")
                .with_hint("Put it in a sub-query: USING (SELECT ...) s.")
        }
        _ => error,
    }
}

/// `INSERT INTO t (a[1])`
fn refuse_items_of_list(words: &[&TokenWithSpan]) -> SqlResult<()> {
    let Some(open) = words.iter().position(|token| !matches!(token.token, Token::Word(_) | Token::Period)) else {
        return Ok(());
    };
    let behind_query = words[..open].iter().any(|t| is_word(t, "VALUES") || is_word(t, "SELECT"));
    if behind_query || words[open].token != Token::LParen {
        return Ok(());
    }
    let list =
        words[open + 1..].iter().take_while(|t| matches!(t.token, Token::Word(_) | Token::Period | Token::Comma));
    let length = list.clone().count();
    let is_item = words.get(open + 1 + length).is_some_and(|t| t.token == Token::LBracket);
    if is_item && length > 0 && !list.clone().any(|t| is_word(t, "SELECT")) {
        return Err(SqlError::not_supported("INSERT into an item of an array").with_hint(ITEMS_ARE_KEPT));
    }
    Ok(())
}

/// An expression in ON CONFLICT (...) is that of an index, and no index is built.
fn check_target(words: &[&TokenWithSpan]) -> SqlResult<()> {
    let [open, rest @ ..] = words else { return Ok(()) };
    let target = rest.iter().take_while(|token| !is_word(token, "DO"));
    if open.token == Token::LParen && target.into_iter().any(|token| token.token == Token::LParen) {
        let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
    }
    Ok(())
}

fn begins(words: &[&TokenWithSpan], form: &str) -> bool {
    let mut words = words.iter();
    form.split(' ').all(|wanted| {
        words.next().is_some_and(|token| match wanted {
            "(" => token.token == Token::LParen,
            word => is_word(token, word),
        })
    })
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn refused(sql: &str) -> Option<ErrorKind> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        refuse(&tokens).err().map(|error| error.kind)
    }

    #[test]
    fn what_is_not_done_is_no_syntax_error() {
        for sql in [
            "DELETE FROM t WHERE CURRENT OF c",
            "SELECT * FROM ROWS FROM (json_to_record('{}') AS (a int, b text)) AS t",
            "SELECT a *= b FROM t",
            "SELECT substring(a FOR 2 FROM 1) FROM t",
            "INSERT INTO t (b, a[1]) VALUES (1, 2)",
            "SELECT b IS NOT DOCUMENT FROM t",
            "SELECT XMLELEMENT(NAME a)",
        ] {
            assert_eq!(refused(sql), Some(ErrorKind::FeatureNotSupported), "{sql}");
        }
        let sql = "INSERT INTO t VALUES (1) ON CONFLICT (lower(a)) DO NOTHING";
        assert_eq!(refused(sql), Some(ErrorKind::InvalidColumnReference));
    }

    #[test]
    fn names_and_other_forms_are_left_alone() {
        for sql in [
            "SELECT variadic, cycle, search FROM t",
            "SELECT substring(a FROM 1 FOR 2), count(*) = 1 FROM t",
            "UPDATE t SET a = b[1], c = ARRAY[1, d[2]]",
            "UPDATE t SET a = 1 WHERE b[1] = 2 AND c[1] = 3",
            "INSERT INTO t (a) SELECT b[1] FROM u",
            "INSERT INTO t (SELECT a[1] FROM u)",
            "INSERT INTO t VALUES (a[1])",
            "WITH x AS (SELECT 1), y (a) AS (VALUES (1)) SELECT * FROM x",
            "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b), v AS (w ORDER BY a)",
            "CREATE VIEW v AS (SELECT 1)",
            "SELECT * FROM json_to_record('{}') AS (a int, b text)",
            "CREATE TABLE t (a int, b boolean GENERATED ALWAYS AS (NOT a = 1) STORED)",
            "CREATE SEQUENCE s INCREMENT (5) CYCLE",
        ] {
            assert_eq!(refused(sql), None, "{sql}");
        }
    }
}
