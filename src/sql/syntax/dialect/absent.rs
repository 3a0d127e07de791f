//! DROP ... IF EXISTS of objects of which there are none here. It does what PostgreSQL does where the object is missing, so that a
//! script that begins with such commands runs.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::built_in::routines;
use tablegate_types::sql_type::SqlType;

use super::refused::begins;
use super::utility::UtilityCommand;
use super::words::{Read, Words};

/// Kinds of objects, the tags of their commands, and what one is called.
const KINDS: &[(&str, &str, &str)] = &[
    ("TYPE", "DROP TYPE", "type"),
    ("DOMAIN", "DROP DOMAIN", "type"),
    ("TRIGGER", "DROP TRIGGER", "trigger"),
    ("RULE", "DROP RULE", "rule"),
    ("POLICY", "DROP POLICY", "policy"),
    ("FUNCTION", "DROP FUNCTION", "function"),
    ("PROCEDURE", "DROP PROCEDURE", "procedure"),
    ("ROUTINE", "DROP ROUTINE", "routine"),
    ("AGGREGATE", "DROP AGGREGATE", "aggregate"),
    ("EVENT TRIGGER", "DROP EVENT TRIGGER", "event trigger"),
    ("MATERIALIZED VIEW", "DROP MATERIALIZED VIEW", "materialized view"),
    ("PUBLICATION", "DROP PUBLICATION", "publication"),
    ("SUBSCRIPTION", "DROP SUBSCRIPTION", "subscription"),
    ("SERVER", "DROP SERVER", "server"),
    ("FOREIGN TABLE", "DROP FOREIGN TABLE", "foreign table"),
    ("FOREIGN DATA WRAPPER", "DROP FOREIGN DATA WRAPPER", "foreign-data wrapper"),
    ("STATISTICS", "DROP STATISTICS", "statistics object"),
    ("COLLATION", "DROP COLLATION", "collation"),
    ("CONVERSION", "DROP CONVERSION", "conversion"),
    ("LANGUAGE", "DROP LANGUAGE", "language"),
    ("TABLESPACE", "DROP TABLESPACE", "tablespace"),
    ("TEXT SEARCH CONFIGURATION", "DROP TEXT SEARCH CONFIGURATION", "text search configuration"),
    ("TEXT SEARCH DICTIONARY", "DROP TEXT SEARCH DICTIONARY", "text search dictionary"),
    ("TEXT SEARCH PARSER", "DROP TEXT SEARCH PARSER", "text search parser"),
    ("TEXT SEARCH TEMPLATE", "DROP TEXT SEARCH TEMPLATE", "text search template"),
];

/// Objects of those kinds that are there all the same.
const BUILT_IN: &[(&str, &[&str])] = &[
    ("collation", &["C", "POSIX", "default", "ucs_basic"]),
    ("language", &["c", "internal", "sql", "plpgsql"]),
    ("tablespace", &["pg_default", "pg_global"]),
];

/// The command behind DROP, if it is such a one; what is built in does exist.
pub(super) fn read(words: &Words<'_, '_>) -> Option<UtilityCommand> {
    let (kind, tag, noun) = KINDS.iter().find(|(kind, ..)| begins(words, kind))?;
    let mut words = Words::new(words.rest());
    for word in kind.split(' ').chain(["IF", "EXISTS"]) {
        words.expect(word).ok()?;
    }
    let mut absent = Vec::new();
    loop {
        absent.push(object(&mut words, noun).ok()??);
        if !words.eat_token(&Token::Comma) {
            break;
        }
    }
    let _ = words.eat("CASCADE") || words.eat("RESTRICT");
    words.end().ok()?;
    Some(UtilityCommand::DropAbsent { tag, absent })
}

/// One object as the NOTICE names it; `None` for one that is built in.
fn object<'t>(words: &mut Words<'_, 't>, noun: &str) -> Read<'t, Option<String>> {
    let name = dotted(words)?;
    let last = name.rsplit('.').next().unwrap_or_default();
    Ok(match noun {
        "type" if SqlType::parse(last).is_some() => None,
        _ if BUILT_IN.iter().any(|(kind, names)| *kind == noun && names.contains(&last)) => None,
        "trigger" | "rule" | "policy" => {
            words.expect("ON")?;
            Some(format!("{noun} \"{name}\" for relation \"{}\"", dotted(words)?))
        }
        "function" | "procedure" | "routine" | "aggregate" => {
            let arguments = if words.peek().is_some_and(|next| next.token == Token::LParen) {
                arguments(words)?
            } else {
                String::new()
            };
            routines::named(last).is_empty().then(|| format!("{noun} {name}({arguments})"))
        }
        _ => Some(format!("{noun} \"{name}\"")),
    })
}

fn dotted<'t>(words: &mut Words<'_, 't>) -> Read<'t, String> {
    let mut name = words.name()?;
    while words.eat_token(&Token::Period) {
        name = format!("{name}.{}", words.name()?);
    }
    Ok(name)
}

/// The types of a routine's arguments, as they were written.
fn arguments<'t>(words: &mut Words<'_, 't>) -> Read<'t, String> {
    words.eat_token(&Token::LParen);
    let inside = words.until_closed()?;
    let text = |part: &[&TokenWithSpan]| part.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ");
    Ok(inside.split(|token| token.token == Token::Comma).map(text).collect::<Vec<_>>().join(","))
}
