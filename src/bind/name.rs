//! Names as statements write them.

use std::fmt;

use sqlparser::ast::{Ident, ObjectName};
use tablegate_types::quoting::quote_ident;

use crate::place::Place;

/// A name as it is written: an unquoted one also means what it equals but for case, where nothing is called exactly so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Folded, unless it is quoted.
    pub text: String,
    pub is_quoted: bool,
}

impl Name {
    /// Whether it may mean what is called so.
    pub(crate) fn is(&self, known: &str) -> bool {
        if self.is_quoted { self.text == known } else { self.text.eq_ignore_ascii_case(known) }
    }
}

/// One part of a name in a statement. Those that are spelled alike are equal, wherever they stand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(Ident);

impl Identifier {
    /// One without quotes.
    pub fn bare(name: &str) -> Self {
        Self(Ident::new(name))
    }

    /// One that means exactly this.
    pub fn quoted(name: &str) -> Self {
        Self(Ident::with_quote('"', name))
    }

    /// One that means exactly this, with quotes where it needs them.
    pub fn shown(name: &str) -> Self {
        if quote_ident(name) == name { Self::bare(name) } else { Self::quoted(name) }
    }

    /// As it is written, without its quotes.
    pub fn written(&self) -> &str {
        &self.0.value
    }

    pub fn is_quoted(&self) -> bool {
        self.0.quote_style.is_some()
    }

    /// In lower case, unless it is quoted.
    pub fn folded(&self) -> String {
        folded(&self.0)
    }

    /// Whether it means a column of a declaration, where an unquoted name means what it equals but for case.
    pub fn means(&self, column: &str) -> bool {
        if self.is_quoted() { self.written() == column } else { self.written().eq_ignore_ascii_case(column) }
    }

    pub fn place(&self) -> Place {
        Place::start(self.0.span)
    }

    /// The parser's form of it.
    pub fn tree(&self) -> &Ident {
        &self.0
    }
}

impl From<Ident> for Identifier {
    fn from(ident: Ident) -> Self {
        Self(ident)
    }
}

impl From<&Ident> for Identifier {
    fn from(ident: &Ident) -> Self {
        Self(ident.clone())
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A name with what stands before its points.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QualifiedName(Vec<Identifier>);

impl QualifiedName {
    pub fn new(parts: Vec<Identifier>) -> Self {
        Self(parts)
    }

    /// One whose parts mean exactly these.
    pub fn quoted<'n>(parts: impl IntoIterator<Item = &'n String>) -> Self {
        Self(parts.into_iter().map(|part| Identifier::quoted(part)).collect())
    }

    pub fn parts(&self) -> &[Identifier] {
        &self.0
    }

    pub fn folded(&self) -> Vec<String> {
        self.0.iter().map(Identifier::folded).collect()
    }

    pub fn place(&self) -> Place {
        self.0.iter().fold(Place::NOWHERE, |place, part| place.leftmost(part.place()))
    }

    /// The parser's form of it.
    pub fn tree(&self) -> ObjectName {
        ObjectName::from(self.0.iter().map(|part| part.0.clone()).collect::<Vec<_>>())
    }
}

impl From<&ObjectName> for QualifiedName {
    fn from(name: &ObjectName) -> Self {
        Self(name.0.iter().filter_map(|part| part.as_ident()).map(Identifier::from).collect())
    }
}

impl From<ObjectName> for QualifiedName {
    fn from(name: ObjectName) -> Self {
        Self::from(&name)
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree().fmt(f)
    }
}

/// An identifier as PostgreSQL folds it: lower case unless quoted.
pub fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() }
}
