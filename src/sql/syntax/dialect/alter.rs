//! Actions of ALTER TABLE that the SQL parser does not read.
//!
//! What only PostgreSQL's storage has a use for is taken out and told of in a NOTICE: pg_dump writes such actions behind
//! the tables it describes. What would change the meaning of the table is read here, or refused by name.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use tablegate_bind::{Identifier, QualifiedName};
use tablegate_types::error::{SqlError, SqlResult};

use super::column_values::ValueChange;
use crate::syntax::is_significant;

/// An action that stands for no action: the parser wants one.
const NOTHING: &str = "OWNER TO CURRENT_USER";

/// What became of one action.
enum Reading {
    /// The parser reads it.
    Parsed,
    /// It has no meaning here; with a name to tell of, where that is news.
    Ignored(Option<&'static str>),
    /// SET SCHEMA.
    ToSchema(String),
    /// A column gets its values in another way.
    Values(String, ValueChange),
}

/// What was taken out of an ALTER TABLE.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TakenActions {
    /// Names of actions without a meaning here, where that is news.
    pub ignored: Vec<&'static str>,
    /// Columns that get another type, with the collations that they get.
    pub collations: Vec<(String, QualifiedName)>,
    /// Columns that get their values in another way.
    pub values: Vec<(String, ValueChange)>,
    /// Where the table is to be.
    pub schema: Option<String>,
}

/// An ALTER TABLE without the actions that the parser does not read, and what those were. `told` says what is wrong with one.
///
/// # Errors
/// 0A000 for actions that are not done here, 42601 for options that are none.
pub(crate) fn without_unread_actions(
    tokens: Vec<TokenWithSpan>,
    told: &dyn Fn(ParserError) -> Box<SqlError>,
) -> SqlResult<(Vec<TokenWithSpan>, TakenActions)> {
    let mut taken = TakenActions::default();
    let Some(start) = start_of_actions(&tokens) else { return Ok((tokens, taken)) };
    let mut kept: Vec<Vec<TokenWithSpan>> = Vec::new();
    for action in split_at_commas(&tokens[start..]) {
        match read(action, told)? {
            Reading::Parsed => {
                let mut action = without_storage_words(action)?;
                taken.collations.extend(take_collation(&mut action));
                kept.push(action);
            }
            Reading::Ignored(name) => taken.ignored.extend(name),
            Reading::ToSchema(name) => taken.schema = Some(name),
            Reading::Values(column, change) => taken.values.push((column, change)),
        }
    }
    let head = tokens[..start].iter().cloned();
    let actions: Vec<TokenWithSpan> = if kept.is_empty() {
        nothing()
    } else {
        let comma = [TokenWithSpan::wrap(Token::Comma)];
        kept.join(comma.as_slice())
    };
    Ok((head.chain(actions).collect(), taken))
}

/// Takes COLLATE out of `ALTER [COLUMN] name [SET DATA] TYPE type COLLATE collation`, with the column's name.
fn take_collation(action: &mut Vec<TokenWithSpan>) -> Option<(String, QualifiedName)> {
    let significant: Vec<usize> = (0..action.len()).filter(|at| is_significant(&action[*at])).collect();
    let names: Vec<String> = significant.iter().map(|at| keyword(&action[*at])).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let column = match names.as_slice() {
        ["ALTER", "COLUMN", _, "TYPE", ..] | ["ALTER", "COLUMN", _, "SET", "DATA", "TYPE", ..] => 2,
        ["ALTER", _, "TYPE", ..] | ["ALTER", _, "SET", "DATA", "TYPE", ..] => 1,
        _ => return None,
    };
    // Behind USING it is a part of the expression.
    let start = names.iter().take_while(|name| **name != "USING").position(|name| *name == "COLLATE")?;
    let length = if names.get(start + 2) == Some(&".") { 4 } else { 2 };
    let end = significant.get(start + length).copied().unwrap_or(action.len());
    let parts = significant.get(start + 1..start + length)?.iter().step_by(2);
    let parts = parts.map(|at| Identifier::quoted(&name_in(&action[*at]))).collect();
    let column = name_in(&action[significant[column]]);
    action.drain(significant[start]..end);
    Some((column, QualifiedName::new(parts)))
}

/// An action without what it says of indexes behind constraints, and of descendants.
///
/// # Errors
/// 0A000 for a constraint with an option of tables.
fn without_storage_words(action: &[TokenWithSpan]) -> SqlResult<Vec<TokenWithSpan>> {
    let words: Vec<&TokenWithSpan> =
        action.iter().filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF)).collect();
    let names: Vec<String> = words.iter().map(|t| keyword(t)).collect();
    if !names.iter().any(|name| matches!(name.as_str(), "INHERIT" | "TABLESPACE" | "WITH" | "INCLUDE")) {
        return Ok(action.to_vec());
    }
    let is = |at: usize, wanted: &[&str]| {
        names.get(at..at + wanted.len()).is_some_and(|found| found.iter().zip(wanted).all(|(name, word)| name == word))
    };
    let closed = |at: usize| names[at..].iter().position(|name| name == ")").map_or(names.len(), |end| at + end + 1);
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        at += if at > 0 && is(at, &["NO", "INHERIT"]) {
            2
        } else if is(at, &["USING", "INDEX", "TABLESPACE"]) {
            4
        } else if at > 0 && names[at - 1] == ")" && is(at, &["INCLUDE", "("]) {
            closed(at) - at
        } else if at > 0 && names[at - 1] == ")" && is(at, &["WITH", "("]) {
            refuse_option_of_table(&names[at..closed(at)])?;
            closed(at) - at
        } else {
            kept.push(words[at].clone());
            1
        };
    }
    Ok(kept)
}

/// The index of a constraint has none of a table's own options.
fn refuse_option_of_table(parameters: &[String]) -> SqlResult<()> {
    match parameters.iter().find(|name| is_own_option(name)) {
        None => Ok(()),
        Some(name) => {
            let name = name.to_lowercase();
            Err(SqlError::not_supported(format!("{name} of a constraint"))
                .with_hint(format!("It is an option of the table: CREATE TABLE ... WITH ({name} = ...).")))
        }
    }
}

fn nothing() -> Vec<TokenWithSpan> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, NOTHING).tokenize().unwrap_or_default();
    tokens.into_iter().map(TokenWithSpan::wrap).collect()
}

/// Where the actions begin: behind `ALTER TABLE [IF EXISTS] [ONLY] name [*]`.
fn start_of_actions(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut significant = tokens.iter().enumerate().filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)));
    let mut next = || significant.next();
    let is_word = |found: Option<(usize, &TokenWithSpan)>, word: &str| found.is_some_and(|(_, t)| keyword(t) == word);
    if !is_word(next(), "ALTER") || !is_word(next(), "TABLE") {
        return None;
    }
    let mut current = next()?;
    if keyword(current.1) == "IF" {
        next()?;
        current = next()?;
    }
    if keyword(current.1) == "ONLY" {
        next()?;
    }
    loop {
        let (index, token) = next()?;
        match token.token {
            Token::Period => {
                next()?;
            }
            Token::Mul => {}
            _ => return Some(index),
        }
    }
}

fn split_at_commas(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &[TokenWithSpan]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.token == Token::Comma
    })
}

fn read(action: &[TokenWithSpan], told: &dyn Fn(ParserError) -> Box<SqlError>) -> SqlResult<Reading> {
    let words: Vec<&TokenWithSpan> =
        action.iter().filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF)).collect();
    let names: Vec<String> = words.iter().map(|t| keyword(t)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["CLUSTER", "ON", ..] => Ok(Reading::Ignored(Some("CLUSTER ON"))),
        ["SET", "WITHOUT", "CLUSTER" | "OIDS"] | ["SET", "LOGGED"] => Ok(Reading::Ignored(None)),
        ["SET", "UNLOGGED"] => Ok(Reading::Ignored(Some("SET UNLOGGED"))),
        ["SET", "TABLESPACE", ..] => Ok(Reading::Ignored(Some("SET TABLESPACE"))),
        ["SET", "ACCESS", "METHOD", ..] => Ok(Reading::Ignored(Some("SET ACCESS METHOD"))),
        ["SET", "(", options @ ..] if options.contains(&".") && !options.iter().any(|name| is_own_option(name)) => {
            Ok(Reading::Ignored(Some("SET of storage parameters")))
        }
        ["RESET", "(", options @ ..] if options.iter().any(|name| is_own_option(name)) => {
            Err(SqlError::not_supported("RESET of what says how a table is stored")
                .with_hint("Say what it is to be: SET (key_escape = false)."))
        }
        ["RESET", ..] => Ok(Reading::Ignored(Some("RESET of storage parameters"))),
        ["SET", "SCHEMA", _] => Ok(Reading::ToSchema(name_in(words[2]))),
        ["ALTER", "COLUMN", _, ..] => of_column(&words[2..], &names[3..], told),
        ["ALTER", _, ..] => of_column(&words[1..], &names[2..], told),
        ["INHERIT", ..] => refused("INHERIT"),
        ["NO", "INHERIT", ..] => refused("NO INHERIT"),
        ["ATTACH", ..] => refused("ATTACH PARTITION"),
        ["DETACH", ..] => refused("DETACH PARTITION"),
        ["OF", ..] | ["NOT", "OF", ..] => refused("OF"),
        _ => Ok(Reading::Parsed),
    }
}

/// Whether a table here has the option, besides those of PostgreSQL's storage.
fn is_own_option(name: &str) -> bool {
    matches!(name, "TABLE" | "PARTITION_KEY" | "ROW_KEY" | "KEY_ESCAPE" | "OPEN")
}

/// What is said of a column: its name, and what stands behind it.
fn of_column(
    words: &[&TokenWithSpan],
    rest: &[&str],
    told: &dyn Fn(ParserError) -> Box<SqlError>,
) -> SqlResult<Reading> {
    match rest {
        ["SET", "STATISTICS", ..] => Ok(Reading::Ignored(Some("SET STATISTICS"))),
        ["SET", "STORAGE", ..] => Ok(Reading::Ignored(Some("SET STORAGE"))),
        ["SET", "COMPRESSION", ..] => Ok(Reading::Ignored(Some("SET COMPRESSION"))),
        ["SET" | "RESET", "(", ..] => Ok(Reading::Ignored(Some("SET of a column's parameters"))),
        ["OPTIONS", ..] => refused("ALTER COLUMN ... OPTIONS"),
        _ => Ok(match ValueChange::read(&words[1..]).map_err(told)? {
            Some(change) => Reading::Values(name_in(words[0]), change),
            None => Reading::Parsed,
        }),
    }
}

fn name_in(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
        other => other.to_string().to_ascii_lowercase(),
    }
}

fn refused(what: &str) -> SqlResult<Reading> {
    Err(not_done(what))
}

fn not_done(what: &str) -> Box<SqlError> {
    SqlError::not_supported(format!("ALTER TABLE ... {what}"))
}

/// An unquoted word in upper case, a quoted one or another token as it stands.
fn keyword(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::error::ErrorKind;

    fn read_all(sql: &str) -> SqlResult<(String, TakenActions)> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let told = |error: ParserError| SqlError::new(ErrorKind::Syntax, error.to_string());
        let (tokens, taken) = without_unread_actions(tokens, &told)?;
        let text: Vec<String> = tokens.iter().map(|t| t.token.to_string()).collect();
        Ok((text.concat(), taken))
    }

    #[test]
    fn storage_is_taken_out() {
        let only = |sql: &str| read_all(sql).map(|(text, taken)| (text, taken.ignored)).unwrap();
        assert_eq!(
            only("ALTER TABLE ONLY public.t ALTER COLUMN \"a\" SET STATISTICS 5"),
            ("ALTER TABLE ONLY public.t OWNER TO CURRENT_USER".to_owned(), vec!["SET STATISTICS"])
        );
        let (text, ignored) =
            only("ALTER TABLE t CLUSTER ON t_pkey, ADD CHECK (a IN (1, 2)), ALTER a SET STORAGE MAIN");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), "ALTER TABLE t ADD CHECK (a IN (1, 2))");
        assert_eq!(ignored, ["CLUSTER ON", "SET STORAGE"]);
        let plain = "ALTER TABLE IF EXISTS t * ALTER a SET DEFAULT 5, ALTER b SET NOT NULL";
        let (text, ignored) = only(plain);
        assert!(text.contains("SET DEFAULT 5") && text.contains("SET NOT NULL") && ignored.is_empty());
        assert_eq!(only("SELECT 1, 2").0, "SELECT 1, 2");
    }

    #[test]
    fn what_changes_the_table_is_refused() {
        for (sql, kind) in [
            ("ALTER TABLE t INHERIT p", ErrorKind::FeatureNotSupported),
            ("ALTER TABLE t ALTER a SET GENERATED NEVER", ErrorKind::Syntax),
            ("ALTER TABLE t ALTER a RESTART 5 SET NOT NULL", ErrorKind::Syntax),
        ] {
            assert_eq!(read_all(sql).unwrap_err().kind, kind, "{sql}");
        }
        let values = |sql: &str| read_all(sql).unwrap().1.values;
        let dropped = ValueChange::DropIdentity { if_exists: true };
        assert_eq!(values("ALTER TABLE t ALTER a DROP IDENTITY IF EXISTS"), [("a".to_owned(), dropped)]);
        let [(column, ValueChange::Identity { always: Some(true), options })] =
            &values("ALTER TABLE t ALTER COLUMN \"B\" SET GENERATED ALWAYS RESTART SET INCREMENT BY 2")[..]
        else {
            panic!("an identity's options");
        };
        assert_eq!((column.as_str(), options.increment.as_deref(), &options.restart), ("B", Some("2"), &Some(None)));
        assert_eq!(values("ALTER TABLE t ALTER a SET DEFAULT 5, ALTER a DROP NOT NULL"), []);
        let schema = |sql: &str| read_all(sql).unwrap().1.schema;
        assert_eq!(schema("ALTER TABLE t SET SCHEMA Public").as_deref(), Some("public"));
        assert_eq!(schema("ALTER TABLE t SET SCHEMA \"Other\"").as_deref(), Some("Other"));
    }
}
