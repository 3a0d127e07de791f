//! COMMENT ON, read straight from the tokens: sqlparser does not know all that PostgreSQL comments on.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::{Read, Unexpected, Words};

/// COMMENT ON. Without a text the comment is taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommentCommand {
    pub subject: CommentSubject,
    pub text: Option<String>,
}

/// What a comment is on. Names are folded, in the parts they were given in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommentSubject {
    Table(Vec<String>),
    View(Vec<String>),
    Index(Vec<String>),
    Sequence(Vec<String>),
    /// The relation's name, and the column's behind it.
    Column(Vec<String>),
    Constraint {
        name: String,
        table: Vec<String>,
    },
    Schema(String),
    Database(String),
    Role(String),
    /// Something that there is not here, by the words PostgreSQL has for it.
    Other(&'static str),
}

/// What else PostgreSQL comments on.
const OTHERS: &[&str] = &[
    "ACCESS METHOD",
    "AGGREGATE",
    "CAST",
    "COLLATION",
    "CONVERSION",
    "DOMAIN",
    "EVENT TRIGGER",
    "EXTENSION",
    "FOREIGN DATA WRAPPER",
    "FOREIGN TABLE",
    "FUNCTION",
    "LARGE OBJECT",
    "LANGUAGE",
    "MATERIALIZED VIEW",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "OPERATOR",
    "POLICY",
    "PROCEDURAL LANGUAGE",
    "PROCEDURE",
    "PUBLICATION",
    "ROUTINE",
    "RULE",
    "SERVER",
    "STATISTICS",
    "SUBSCRIPTION",
    "TABLESPACE",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
    "TRANSFORM",
    "TRIGGER",
    "TYPE",
];

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'t>(tokens: &[&'t TokenWithSpan]) -> Option<Read<'t, CommentCommand>> {
    let mut words = Words::new(tokens);
    words.eat("COMMENT").then(|| comment(&mut words))
}

fn comment<'t>(words: &mut Words<'_, 't>) -> Read<'t, CommentCommand> {
    words.expect("ON")?;
    let subject = subject(words)?;
    if matches!(subject, CommentSubject::Other(_)) {
        return Ok(CommentCommand { subject, text: None });
    }
    words.expect("IS")?;
    let text = if words.eat("NULL") { None } else { Some(text(words)?) };
    words.end()?;
    // PostgreSQL keeps no empty comment.
    Ok(CommentCommand { subject, text: text.filter(|text| !text.is_empty()) })
}

fn subject<'t>(words: &mut Words<'_, 't>) -> Read<'t, CommentSubject> {
    if let Some(other) = OTHERS.iter().find(|other| begins_with(words, other)) {
        return Ok(CommentSubject::Other(other));
    }
    let at = words.peek();
    let kind = words.take_word().map(|word| word.value.to_ascii_uppercase());
    Ok(match kind.as_deref() {
        Some("TABLE") => CommentSubject::Table(dotted(words)?),
        Some("VIEW") => CommentSubject::View(dotted(words)?),
        Some("INDEX") => CommentSubject::Index(dotted(words)?),
        Some("SEQUENCE") => CommentSubject::Sequence(dotted(words)?),
        Some("COLUMN") => CommentSubject::Column(dotted(words)?),
        Some("CONSTRAINT") => {
            let name = words.name()?;
            words.expect("ON")?;
            if words.eat("DOMAIN") {
                return Ok(CommentSubject::Other("CONSTRAINT ON DOMAIN"));
            }
            CommentSubject::Constraint { name, table: dotted(words)? }
        }
        Some("SCHEMA") => CommentSubject::Schema(words.name()?),
        Some("DATABASE") => CommentSubject::Database(words.name()?),
        Some("ROLE") => CommentSubject::Role(words.name()?),
        _ => return Err(Unexpected(at)),
    })
}

fn begins_with(words: &Words<'_, '_>, kind: &str) -> bool {
    let mut ahead = Words::new(words.rest());
    kind.split(' ').all(|word| ahead.eat(word))
}

fn dotted<'t>(words: &mut Words<'_, 't>) -> Read<'t, Vec<String>> {
    let mut parts = vec![words.name()?];
    while words.eat_token(&Token::Period) {
        parts.push(words.name()?);
    }
    Ok(parts)
}

/// A text in any of PostgreSQL's quotes.
fn text<'t>(words: &mut Words<'_, 't>) -> Read<'t, String> {
    let found = match words.peek().map(|token| &token.token) {
        Some(Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text)) => text.clone(),
        Some(Token::DollarQuotedString(text)) => text.value.clone(),
        _ => return words.text(),
    };
    if let Some(token) = words.peek() {
        words.eat_token(&token.token);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn read_text(sql: &str) -> Option<Result<CommentCommand, String>> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let significant: Vec<_> = tokens.iter().filter(|t| crate::syntax::is_significant(t)).collect();
        let read = read(&significant)?;
        Some(read.map_err(|at| at.0.map_or("the end".to_owned(), |token| token.token.to_string())))
    }

    fn names(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    #[test]
    fn comments_on_what_there_is_are_read() {
        for (sql, subject, text) in [
            ("COMMENT ON TABLE public.T IS 'it''s'", CommentSubject::Table(names(&["public", "t"])), Some("it's")),
            ("comment on column \"T\".c is null", CommentSubject::Column(names(&["T", "c"])), None),
            ("COMMENT ON SCHEMA public IS ''", CommentSubject::Schema("public".to_owned()), None),
            ("COMMENT ON INDEX i IS E'a\\nb'", CommentSubject::Index(names(&["i"])), Some("a\nb")),
            ("COMMENT ON DATABASE d IS $$x$$", CommentSubject::Database("d".to_owned()), Some("x")),
            (
                "COMMENT ON CONSTRAINT c ON s.t IS 'x'",
                CommentSubject::Constraint { name: "c".to_owned(), table: names(&["s", "t"]) },
                Some("x"),
            ),
            ("COMMENT ON TEXT SEARCH PARSER p IS 'x'", CommentSubject::Other("TEXT SEARCH PARSER"), None),
        ] {
            let command = CommentCommand { subject, text: text.map(str::to_owned) };
            assert_eq!(read_text(sql), Some(Ok(command)), "{sql}");
        }
        assert_eq!(read_text("COMMIT"), None);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (sql, at) in [
            ("COMMENT ON TABLE t IS", "the end"),
            ("COMMENT ON TABLE t IS 5", "5"),
            ("COMMENT ON foo t IS 'x'", "foo"),
            ("COMMENT ON TABLE t IS 'a' 'b'", "'b'"),
        ] {
            assert_eq!(read_text(sql), Some(Err(at.to_owned())), "{sql}");
        }
    }
}
