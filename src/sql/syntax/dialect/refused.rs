//! Commands of PostgreSQL that are not done here: told by their first words, so that what sqlparser does not read of them is no syntax error.

use sqlparser::tokenizer::Token;

use super::absent;
use super::utility::UtilityCommand;
use super::words::Words;

pub(super) const NO_PROCEDURES: &str = "There is no procedural language here: send the statements from the client.";
const NO_FUNCTIONS: &str = "Compute it in the query or in the client; a view can keep the query.";
const NO_TRIGGERS: &str = "Use a DEFAULT, a generated column or a CHECK, or do it in the client.";
const NO_TYPES: &str = "Use a built-in type, with a CHECK where values are limited.";
const NO_SERVER_OBJECTS: &str = "It belongs to a PostgreSQL server; leave it out.";
const NO_STORED_VIEWS: &str = "Use CREATE VIEW, or keep the rows in a table: CREATE TABLE ... AS, and to renew them TRUNCATE and \
                               INSERT ... SELECT in one transaction.";
const NO_PARTITIONS: &str = "Keep all rows in one table: the first column of its primary key is its PartitionKey, so a query \
                             reads the partitions that it asks for.";

/// Kinds of objects that do not exist, with their first words after CREATE, ALTER and DROP.
const KINDS: &[(&str, &str)] = &[
    ("FUNCTION", NO_FUNCTIONS),
    ("PROCEDURE", NO_PROCEDURES),
    ("ROUTINE", NO_FUNCTIONS),
    ("AGGREGATE", NO_FUNCTIONS),
    ("OPERATOR CLASS", NO_SERVER_OBJECTS),
    ("OPERATOR FAMILY", NO_SERVER_OBJECTS),
    ("OPERATOR", NO_FUNCTIONS),
    ("CAST", NO_FUNCTIONS),
    ("TRANSFORM", NO_FUNCTIONS),
    ("EVENT TRIGGER", NO_TRIGGERS),
    ("TRIGGER", NO_TRIGGERS),
    ("RULE", NO_TRIGGERS),
    ("TYPE", NO_TYPES),
    ("DOMAIN", NO_TYPES),
    ("COLLATION", "Text is ordered by its bytes, as with COLLATE \"C\"."),
    ("PROCEDURAL LANGUAGE", NO_PROCEDURES),
    ("LANGUAGE", NO_PROCEDURES),
    ("POLICY", "Give users read-only or read-write access instead."),
    ("PUBLICATION", NO_SERVER_OBJECTS),
    ("SUBSCRIPTION", NO_SERVER_OBJECTS),
    ("SERVER", NO_SERVER_OBJECTS),
    ("FOREIGN DATA WRAPPER", NO_SERVER_OBJECTS),
    ("FOREIGN TABLE", NO_SERVER_OBJECTS),
    ("USER MAPPING", NO_SERVER_OBJECTS),
    ("STATISTICS", NO_SERVER_OBJECTS),
    ("TABLESPACE", NO_SERVER_OBJECTS),
    ("CONVERSION", NO_SERVER_OBJECTS),
    ("TEXT SEARCH CONFIGURATION", NO_SERVER_OBJECTS),
    ("TEXT SEARCH DICTIONARY", NO_SERVER_OBJECTS),
    ("TEXT SEARCH PARSER", NO_SERVER_OBJECTS),
    ("TEXT SEARCH TEMPLATE", NO_SERVER_OBJECTS),
    ("ACCESS METHOD", NO_SERVER_OBJECTS),
    ("LARGE OBJECT", "Keep bytes in a column of type bytea."),
    ("DATABASE", "A gateway serves one database: start another one over another store."),
    ("MATERIALIZED VIEW", NO_STORED_VIEWS),
];

/// Words that may stand between CREATE and a kind.
const BEFORE_KINDS: &[&str] = &["OR", "REPLACE", "CONSTRAINT", "TRUSTED", "DEFAULT", "UNLOGGED"];

/// Other commands, by their first words.
const COMMANDS: &[(&str, &str)] = &[
    ("ALTER EXTENSION", NO_SERVER_OBJECTS),
    ("ALTER DATABASE", "Set it for the session with SET, or for the server by its options."),
    ("ALTER SYSTEM", "Set it for the session with SET, or for the server by its options."),
    ("ALTER TABLE ALL IN TABLESPACE", NO_SERVER_OBJECTS),
    ("ALTER INDEX ALL IN TABLESPACE", NO_SERVER_OBJECTS),
    ("REFRESH MATERIALIZED VIEW", NO_STORED_VIEWS),
    ("DROP OWNED", "Drop what the role owns by name, and REVOKE what it was granted."),
    ("REASSIGN OWNED", "Use ALTER TABLE ... OWNER TO for each table."),
    ("IMPORT FOREIGN SCHEMA", "Mount another account as a schema: tablegate --mount."),
    ("SECURITY LABEL", NO_SERVER_OBJECTS),
    ("SET XML OPTION", "There is no type xml: keep it as text."),
    ("SET LOCAL XML OPTION", "There is no type xml: keep it as text."),
    ("SET SESSION XML OPTION", "There is no type xml: keep it as text."),
];

/// What is refused in a CREATE or ALTER TABLE, by words that stand outside of its parentheses.
const OF_TABLES: &[(&str, &str)] = &[
    ("PARTITION BY", NO_PARTITIONS),
    ("PARTITION OF", NO_PARTITIONS),
    ("ATTACH PARTITION", NO_PARTITIONS),
    ("DETACH PARTITION", NO_PARTITIONS),
    ("INHERITS", "Repeat the columns: CREATE TABLE ... (LIKE parent)."),
    ("INHERIT", "Repeat the columns: CREATE TABLE ... (LIKE parent)."),
    ("NO INHERIT", "Repeat the columns: CREATE TABLE ... (LIKE parent)."),
    ("OF", NO_TYPES),
    ("NOT OF", NO_TYPES),
    ("ALTER CONSTRAINT", "Drop the constraint and add it anew."),
    ("OPTIONS", NO_SERVER_OBJECTS),
];

/// The command, if these words begin one that is not done here.
pub(super) fn read(words: &Words<'_, '_>) -> Option<UtilityCommand> {
    if let Some((name, hint)) = COMMANDS.iter().find(|(name, _)| begins(words, name)) {
        return Some(refused(name, hint));
    }
    let verb = ["CREATE", "ALTER", "DROP"].into_iter().find(|verb| begins(words, verb))?;
    let mut rest = Words::new(words.rest());
    rest.eat(verb);
    while verb == "CREATE" && BEFORE_KINDS.iter().any(|word| rest.eat(word)) {}
    if verb == "DROP"
        && let Some(absent) = absent::read(&rest)
    {
        return Some(absent);
    }
    if let Some((kind, hint)) = KINDS.iter().find(|(kind, _)| begins(&rest, kind)) {
        return Some(refused(&format!("{verb} {kind}"), hint));
    }
    match verb {
        "DROP" => None,
        "ALTER" if rest.eat("INDEX") => of_index(&mut rest),
        "ALTER" if rest.eat("VIEW") => of_view(&mut rest),
        _ => of_table(&mut rest, verb),
    }
}

pub(super) fn refused(name: &str, hint: &'static str) -> UtilityCommand {
    UtilityCommand::Refused { name: name.to_owned(), hint }
}

/// An index is recorded and not built: it has a name and nothing to change.
fn of_index(words: &mut Words<'_, '_>) -> Option<UtilityCommand> {
    if words.eat("IF") {
        words.eat("EXISTS");
        return Some(refused("ALTER INDEX IF EXISTS", "Leave IF EXISTS out."));
    }
    words.name().ok()?;
    if words.eat_token(&Token::Period) {
        words.name().ok()?;
    }
    let hint = "Indexes are recorded and not built: drop the index and create it anew.";
    (!begins(words, "RENAME")).then(|| refused("ALTER INDEX ... other than RENAME", hint))
}

/// A view has no options.
fn of_view(words: &mut Words<'_, '_>) -> Option<UtilityCommand> {
    if words.eat("IF") {
        words.eat("EXISTS");
    }
    words.name().ok()?;
    while words.eat_token(&Token::Period) {
        words.name().ok()?;
    }
    let is_of_options = (words.eat("SET") || words.eat("RESET")) && words.eat_token(&Token::LParen);
    is_of_options.then(|| refused("ALTER VIEW ... of options", "Make the view anew, without options."))
}

fn of_table(words: &mut Words<'_, '_>, verb: &str) -> Option<UtilityCommand> {
    const BEFORE: [&str; 6] = ["GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "UNLOGGED", "FOREIGN"];
    while BEFORE.iter().any(|word| words.eat(word)) {}
    if !words.eat("TABLE") {
        return None;
    }
    for word in ["IF", "NOT", "EXISTS", "ONLY"] {
        words.eat(word);
    }
    words.name().ok()?;
    while words.eat_token(&Token::Period) {
        words.name().ok()?;
    }
    if verb == "ALTER" {
        words.eat_token(&Token::Mul);
    } else if words.eat_token(&Token::LParen) {
        words.until_closed().ok()?;
    }
    if verb == "CREATE" && begins(words, "AS") {
        return None;
    }
    let (what, hint) = OF_TABLES.iter().find(|(what, _)| begins(words, what))?;
    Some(refused(&format!("{verb} TABLE ... {what}"), hint))
}

pub(super) fn begins(words: &Words<'_, '_>, phrase: &str) -> bool {
    let mut ahead = Words::new(words.rest());
    phrase.split(' ').all(|word| ahead.eat(word))
}
