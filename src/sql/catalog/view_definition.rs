//! The query of a view as PostgreSQL prints it, with the names of relations apart: whether they are shown with their schemas
//! depends on who looks.

use serde::{Deserialize, Serialize};
use tablegate_types::quoting::quote_ident;

/// In a text that is being printed, what stands around the parts of a relation's name: no text and no name has it.
const MARK: char = '\0';

/// A view's query as `pg_get_viewdef` prints it: in full, and pretty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    full: Vec<Piece>,
    pretty: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Relation {
        schema: String,
        name: String,
        /// A part of WITH has the name, so that the schema has to be said.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_hidden: bool,
    },
}

/// A relation in a text that is being printed.
pub(crate) fn marked(schema: &str, name: &str, is_hidden: bool) -> String {
    let hidden = if is_hidden { "hidden" } else { "" };
    format!("{MARK}{schema}{MARK}{name}{MARK}{hidden}{MARK}")
}

impl Definition {
    /// What was printed with [`marked`] relations.
    pub(crate) fn of_printed(full: &str, pretty: &str) -> Self {
        Self { full: pieces(full), pretty: pieces(pretty) }
    }

    /// The query, each relation with its schema.
    pub(crate) fn query(&self) -> String {
        let text = text(&self.full, &|_| false);
        text.trim_end_matches(';').to_owned()
    }

    /// What is shown to somebody who sees the relations of some schemas without their names.
    pub(crate) fn shown(&self, pretty: bool, is_seen: &dyn Fn(&str) -> bool) -> String {
        text(if pretty { &self.pretty } else { &self.full }, is_seen)
    }

    /// The same where a schema has another name.
    pub(super) fn in_schema(&self, from: &str, to: &str) -> Self {
        let moved = |pieces: &[Piece]| {
            let piece = |piece: &Piece| match piece {
                Piece::Relation { schema, name, is_hidden } if schema == from => {
                    Piece::Relation { schema: to.to_owned(), name: name.clone(), is_hidden: *is_hidden }
                }
                other => other.clone(),
            };
            pieces.iter().map(piece).collect()
        };
        Self { full: moved(&self.full), pretty: moved(&self.pretty) }
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut parts = text.split(MARK);
    while let Some(plain) = parts.next() {
        pieces.push(Piece::Text(plain.to_owned()));
        if let (Some(schema), Some(name), Some(hidden)) = (parts.next(), parts.next(), parts.next()) {
            let (schema, name) = (schema.to_owned(), name.to_owned());
            pieces.push(Piece::Relation { schema, name, is_hidden: !hidden.is_empty() });
        }
    }
    pieces
}

fn text(pieces: &[Piece], is_seen: &dyn Fn(&str) -> bool) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Relation { schema, name, is_hidden } if *is_hidden || !is_seen(schema) => {
            format!("{}.{}", quote_ident(schema), quote_ident(name))
        }
        Piece::Relation { name, .. } => quote_ident(name),
    };
    pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_shown_as_they_are_seen() {
        let printed = format!("SELECT 1 FROM {} JOIN {};", marked("public", "T", false), marked("public", "w", true));
        let definition = Definition::of_printed(&printed, "pretty;");
        assert_eq!(definition.query(), "SELECT 1 FROM public.\"T\" JOIN public.w");
        let seen = definition.shown(false, &|schema| schema == "public");
        assert_eq!(seen, "SELECT 1 FROM \"T\" JOIN public.w;");
        assert_eq!(definition.shown(true, &|_| true), "pretty;");
        assert_eq!(definition.in_schema("public", "m").query(), "SELECT 1 FROM m.\"T\" JOIN m.w");
    }
}
