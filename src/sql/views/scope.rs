//! What the columns of a view's query can mean: the relations in sight.

use sqlparser::ast::{Expr, Ident};

use crate::catalog::ident;
use crate::plan::resolve_column;
use crate::syntax::fold;

/// One relation of a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub alias: String,
    /// Its columns under the names they are known by; none where only planning can tell.
    pub columns: Option<Vec<SourceColumn>>,
    /// OID of the table or view.
    pub relation: Option<u32>,
}

/// A column of a relation.
#[derive(Debug, Clone)]
pub(super) struct SourceColumn {
    /// The name it is known by here.
    pub name: String,
    /// Its own name in the relation.
    pub own: String,
    /// Not part of `*`.
    pub hidden: bool,
}

/// The relations of one FROM clause.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub sources: Vec<Source>,
    /// Columns that USING or NATURAL has merged: a bare name means both.
    pub merged: Vec<String>,
}

/// A column that a name means.
pub(super) struct Found<'a> {
    pub source: &'a Source,
    pub column: &'a SourceColumn,
}

impl Source {
    /// A sub-query or the like, with columns of its own.
    pub(super) fn of_names(alias: &str, names: Option<Vec<String>>) -> Self {
        let column = |name: String| SourceColumn { own: name.clone(), name, hidden: false };
        Self { alias: alias.to_owned(), columns: names.map(|n| n.into_iter().map(column).collect()), relation: None }
    }

    /// Gives the first columns the names of an alias.
    pub(super) fn rename(&mut self, given: &[String]) {
        match &mut self.columns {
            Some(columns) => columns.iter_mut().zip(given).for_each(|(c, name)| c.name.clone_from(name)),
            None if !given.is_empty() => *self = Self::of_names(&self.alias, Some(given.to_vec())),
            None => {}
        }
    }

    pub(super) fn visible(&self) -> impl Iterator<Item = &SourceColumn> {
        self.columns.iter().flatten().filter(|column| !column.hidden)
    }

    pub(super) fn find(&self, wanted: &Ident) -> Option<&SourceColumn> {
        let columns = self.columns.as_ref()?;
        let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let found = resolve_column(names.iter(), wanted).ok().flatten()?;
        columns.iter().find(|c| c.name == found)
    }
}

impl Scope {
    pub(super) fn source(&self, alias: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.alias == alias)
    }

    /// The relation and column that a bare name means; `None` where it is merged, of an unknown relation, or nothing.
    pub(super) fn find(&self, wanted: &Ident) -> Option<Found<'_>> {
        let folded = fold(wanted);
        if self.merged.iter().any(|name| *name == folded || name.eq_ignore_ascii_case(&folded)) {
            return None;
        }
        self.sources.iter().find_map(|source| Some(Found { source, column: source.find(wanted)? }))
    }

    pub(super) fn is_merged(&self, name: &str) -> bool {
        self.merged.iter().any(|merged| merged == name)
    }
}

/// `alias.column`
pub(super) fn qualified(alias: &str, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![ident(alias), ident(column)])
}
