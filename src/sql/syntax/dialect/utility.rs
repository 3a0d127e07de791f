//! Commands that maintain or extend a PostgreSQL server: read word by word, because sqlparser knows few of them.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::{Identifier, QualifiedName};

use super::refused;
use super::words::{Read, Unexpected, Words};

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UtilityCommand {
    Vacuum(Maintained),
    Analyze(Maintained),
    Reindex {
        kind: ReindexKind,
        name: Option<QualifiedName>,
    },
    Cluster(Option<QualifiedName>),
    Checkpoint,
    CreateExtension {
        name: String,
        if_not_exists: bool,
    },
    DropExtension {
        names: Vec<String>,
        if_exists: bool,
    },
    CreateSchema {
        name: String,
        if_not_exists: bool,
    },
    DropSchema {
        names: Vec<String>,
        if_exists: bool,
    },
    /// DROP ... IF EXISTS of kinds of which there are none: its tag, and what does not exist.
    DropAbsent {
        tag: &'static str,
        absent: Vec<String>,
    },
    /// SET CONSTRAINTS of these, or of all: none is there whose check could wait.
    SetConstraints {
        names: Vec<QualifiedName>,
        deferred: bool,
    },
    /// A command of PostgreSQL that is not done here, and what to do instead.
    Refused {
        name: String,
        hint: &'static str,
    },
}

/// What VACUUM and ANALYZE are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Maintained {
    /// Their options, folded.
    pub options: Vec<String>,
    /// The tables, each with the columns it names; none for all tables.
    pub tables: Vec<(QualifiedName, Vec<Identifier>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReindexKind {
    Index,
    Table,
    /// SCHEMA, DATABASE or SYSTEM: all tables.
    Everything(&'static str),
}

/// Words that begin a VACUUM's or ANALYZE's options where these have no parentheses.
const VACUUM_WORDS: &[&str] = &["FULL", "FREEZE", "VERBOSE", "ANALYZE", "ANALYSE"];

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'t>(tokens: &[&'t TokenWithSpan]) -> Option<Read<'t, UtilityCommand>> {
    let mut words = Words::new(tokens);
    let words = &mut words;
    if words.eat("VACUUM") {
        return Some(maintained(words, VACUUM_WORDS).map(UtilityCommand::Vacuum));
    }
    if words.eat("ANALYZE") || words.eat("ANALYSE") {
        return Some(maintained(words, &["VERBOSE"]).map(UtilityCommand::Analyze));
    }
    if words.eat("REINDEX") {
        return Some(reindex(words));
    }
    if words.eat("CLUSTER") {
        return Some(cluster(words));
    }
    if words.eat("CHECKPOINT") {
        return Some(words.end().map(|()| UtilityCommand::Checkpoint));
    }
    if let Some(name) = ["DO", "CALL"].into_iter().find(|name| words.eat(name)) {
        return Some(Ok(refused::refused(name, refused::NO_PROCEDURES)));
    }
    if let Some(refused) = refused::read(words) {
        return Some(Ok(refused));
    }
    if words.eat("SET") {
        return words.eat("CONSTRAINTS").then(|| set_constraints(words));
    }
    if words.eat("CREATE") {
        return create(words);
    }
    words.eat("DROP").then(|| drop_of(words)).flatten()
}

fn create<'t>(words: &mut Words<'_, 't>) -> Option<Read<'t, UtilityCommand>> {
    if words.eat("EXTENSION") {
        return Some(extension(words));
    }
    if words.eat("SCHEMA") {
        return Some(schema(words));
    }
    None
}

fn drop_of<'t>(words: &mut Words<'_, 't>) -> Option<Read<'t, UtilityCommand>> {
    if words.eat("EXTENSION") {
        return Some(names(words).map(|(names, if_exists)| UtilityCommand::DropExtension { names, if_exists }));
    }
    words.eat("SCHEMA").then(|| names(words).map(|(names, if_exists)| UtilityCommand::DropSchema { names, if_exists }))
}

fn if_exists<'t>(words: &mut Words<'_, 't>, negated: bool) -> Read<'t, bool> {
    if !words.eat("IF") {
        return Ok(false);
    }
    if negated {
        words.expect("NOT")?;
    }
    words.expect("EXISTS").map(|()| true)
}

fn extension<'t>(words: &mut Words<'_, 't>) -> Read<'t, UtilityCommand> {
    let if_not_exists = if_exists(words, true)?;
    let name = words.name()?;
    words.eat("WITH");
    loop {
        if words.eat("SCHEMA") || words.eat("VERSION") {
            words.text().or_else(|_| words.name())?;
        } else if !words.eat("CASCADE") {
            break;
        }
    }
    words.end()?;
    Ok(UtilityCommand::CreateExtension { name, if_not_exists })
}

fn schema<'t>(words: &mut Words<'_, 't>) -> Read<'t, UtilityCommand> {
    let if_not_exists = if_exists(words, true)?;
    // `CREATE SCHEMA AUTHORIZATION joe` makes one of that name.
    words.eat("AUTHORIZATION");
    let name = words.name()?;
    if words.eat("AUTHORIZATION") {
        words.name()?;
    }
    if words.eat("CREATE") || words.eat("GRANT") {
        return Ok(refused::refused("CREATE SCHEMA with what is in it", "Make each by a command of its own."));
    }
    words.end()?;
    Ok(UtilityCommand::CreateSchema { name, if_not_exists })
}

fn names<'t>(words: &mut Words<'_, 't>) -> Read<'t, (Vec<String>, bool)> {
    let if_exists = if_exists(words, false)?;
    let mut names = vec![words.name()?];
    while words.eat_token(&Token::Comma) {
        names.push(words.name()?);
    }
    if !words.eat("CASCADE") {
        words.eat("RESTRICT");
    }
    words.end()?;
    Ok((names, if_exists))
}

fn maintained<'t>(words: &mut Words<'_, 't>, bare: &[&str]) -> Read<'t, Maintained> {
    let mut found = Maintained::default();
    if words.eat_token(&Token::LParen) {
        loop {
            found.options.push(words.name()?);
            if words.peek().is_some_and(|t| !matches!(t.token, Token::Comma | Token::RParen))
                && words.take_word().is_none()
                && words.integer()?.is_none()
            {
                words.text()?;
            }
            if words.eat_token(&Token::RParen) {
                break;
            }
            if !words.eat_token(&Token::Comma) {
                return Err(Unexpected(words.peek()));
            }
        }
    } else {
        while let Some(word) = bare.iter().find(|word| words.eat(word)) {
            found.options.push(word.to_lowercase());
        }
    }
    if words.peek().is_some() {
        loop {
            let name = object_name(words)?;
            let mut columns = Vec::new();
            if words.eat_token(&Token::LParen) {
                columns.push(ident(words)?);
                while words.eat_token(&Token::Comma) {
                    columns.push(ident(words)?);
                }
                if !words.eat_token(&Token::RParen) {
                    return Err(Unexpected(words.peek()));
                }
            }
            found.tables.push((name, columns));
            if !words.eat_token(&Token::Comma) {
                break;
            }
        }
    }
    words.end()?;
    Ok(found)
}

fn reindex<'t>(words: &mut Words<'_, 't>) -> Read<'t, UtilityCommand> {
    if words.eat_token(&Token::LParen) {
        words.until_closed()?;
    }
    let everything = ["SCHEMA", "DATABASE", "SYSTEM"];
    let kind = if words.eat("INDEX") {
        ReindexKind::Index
    } else if words.eat("TABLE") {
        ReindexKind::Table
    } else if let Some(word) = everything.into_iter().find(|word| words.eat(word)) {
        ReindexKind::Everything(word)
    } else {
        return Err(Unexpected(words.peek()));
    };
    words.eat("CONCURRENTLY");
    let name = if words.peek().is_some() { Some(object_name(words)?) } else { None };
    words.end()?;
    if name.is_none() && !matches!(kind, ReindexKind::Everything(_)) {
        return Err(Unexpected(None));
    }
    Ok(UtilityCommand::Reindex { kind, name })
}

fn cluster<'t>(words: &mut Words<'_, 't>) -> Read<'t, UtilityCommand> {
    words.eat("VERBOSE");
    if words.eat_token(&Token::LParen) {
        words.until_closed()?;
    }
    if words.peek().is_none() {
        return Ok(UtilityCommand::Cluster(None));
    }
    let name = object_name(words)?;
    // Before there was USING, the index came first.
    if words.eat("ON") {
        let table = object_name(words)?;
        words.end()?;
        return Ok(UtilityCommand::Cluster(Some(table)));
    }
    if words.eat("USING") {
        words.name()?;
    }
    words.end()?;
    Ok(UtilityCommand::Cluster(Some(name)))
}

fn set_constraints<'t>(words: &mut Words<'_, 't>) -> Read<'t, UtilityCommand> {
    let mut names = Vec::new();
    if !words.eat("ALL") {
        names.push(object_name(words)?);
        while words.eat_token(&Token::Comma) {
            names.push(object_name(words)?);
        }
    }
    let deferred = words.eat("DEFERRED");
    if !deferred {
        words.expect("IMMEDIATE")?;
    }
    words.end()?;
    Ok(UtilityCommand::SetConstraints { names, deferred })
}

fn ident<'t>(words: &mut Words<'_, 't>) -> Read<'t, Identifier> {
    Ok(Identifier::quoted(&words.name()?))
}

fn object_name<'t>(words: &mut Words<'_, 't>) -> Read<'t, QualifiedName> {
    let mut parts = vec![ident(words)?];
    while words.eat_token(&Token::Period) {
        parts.push(ident(words)?);
    }
    Ok(QualifiedName::new(parts))
}
