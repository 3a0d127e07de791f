//! Names as SQL text: quoting them, and reading dotted ones.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A name as SQL must write it.
pub fn quote_ident(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain && !WORDS.contains(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| RESERVED.split_whitespace().collect());

/// Words that cannot stand unquoted as a column's or table's name.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both \
    case cast char character check coalesce collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp current_user dec \
    decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign \
    freeze from full grant greatest group grouping having ilike in initially inner inout int integer intersect \
    interval into is isnull join lateral leading least left like limit localtime localtimestamp national natural \
    nchar none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay \
    placing position precision primary real references returning right row select session_user setof similar \
    smallint some substring symmetric table tablesample then time timestamp to trailing treat trim true union \
    unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement \
    xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

/// The parts of a dotted name, quotes taken off and unquoted parts folded.
pub fn split_name(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quoted, mut was_quoted) = (false, false);
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let Some(part) = parts.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            '.' if !quoted => {
                if !was_quoted {
                    part.truncate(part.trim_end().len());
                }
                was_quoted = false;
                parts.push(String::new());
            }
            _ if quoted => part.push(c),
            // Around a dot there may be blanks.
            _ if c.is_whitespace() && (part.is_empty() || was_quoted) => {}
            _ => part.push(c.to_ascii_lowercase()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_and_quoted() {
        assert_eq!(split_name("Public.\"My \"\"T.t\""), ["public", "My \"T.t"]);
        assert_eq!(split_name(" \"a \" . b . c "), ["a ", "b", "c"]);
        assert_eq!(quote_ident("PartitionKey"), "\"PartitionKey\"");
        assert_eq!((quote_ident("order"), quote_ident("orders")), ("\"order\"".to_owned(), "orders".to_owned()));
    }
}
