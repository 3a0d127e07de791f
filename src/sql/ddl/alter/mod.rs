//! ALTER TABLE: from its actions to a new declaration, and to what must be done to the rows.
//!
//! An action changes the declaration alone where stored rows mean the same under it. Where they do not, all rows are
//! written anew into another stored table, as PostgreSQL does: a new key, another type, values for a new column. The
//! actions of one statement are taken in PostgreSQL's order of passes, so `ADD COLUMN a` and `ADD PRIMARY KEY (a)` go
//! together in either order.

mod column_values;
mod columns;
mod constraints;
mod keys;
mod passes;
mod rename;
mod types;

use std::collections::{HashMap, HashSet};

use tablegate_bind::{Identifier, ParsedExpression, QualifiedName};
use tablegate_store::model::PropertyName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use crate::catalog::{CatalogView, Declaration, DeclaredColumn, Sequence};
use crate::ddl::dependents::{Reference, lines_of_references, needed, references_to_columns};
use crate::plan::resolve_column;
use crate::relation::{ColumnSource, Relation};
use crate::settings::EgtMode;
use crate::syntax::mentions;
pub(crate) use passes::alter;
pub(crate) use rename::{Renaming, renaming};

/// A table's definition while one ALTER TABLE changes it.
pub(crate) struct Alteration<'a> {
    catalog: &'a CatalogView,
    /// Whether constraints that cannot be enforced are recorded.
    mode: EgtMode,
    before: Declaration,
    pub after: Declaration,
    /// Properties that stored rows may have: a new column takes another name, so that old values never come back.
    stored: HashSet<String>,
    /// Values that columns get, by column.
    values: HashMap<String, NewValue>,
    must_rewrite: bool,
    /// What all rows must fulfil in the end.
    pub checks: Vec<RowCheck>,
    pub notices: Vec<Notice>,
    /// Columns that are gone.
    pub dropped: Vec<String>,
    /// Columns that had an identity, and count no longer.
    pub uncounted: Vec<String>,
    /// The primary key that is gone, or makes room for another.
    pub dropped_key: Option<String>,
    /// Sequences of columns that count, new or with another type. Those that are new have no OID yet.
    pub sequences: Vec<Sequence>,
    /// Foreign keys of other tables that CASCADE drops.
    pub cascaded: Vec<Reference>,
    /// The primary key that a new column declares with itself.
    column_key: Option<(Option<String>, Identifier)>,
    /// What the actions say of the collations of columns that get another type.
    collations: &'a [(String, QualifiedName)],
}

/// The value a column gets in rows that are there.
#[derive(Debug, Clone)]
pub(crate) struct NewValue {
    /// Over the columns as they were.
    pub expr: ParsedExpression,
    /// The expression is a bare literal: its text is read as the column's type.
    pub untyped: bool,
    pub origin: Origin,
}

/// Where a new value comes from: it says how a failure is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The column as it was.
    Column,
    /// ALTER TYPE ... USING.
    Using,
    /// The default of a new column.
    Default,
    /// The expression of a new generated column.
    Generated,
}

/// What all rows must fulfil.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowCheck {
    NotNull { column: String },
    Condition { constraint: String, expression: Box<ParsedExpression> },
}

/// How rows are written anew.
pub(crate) struct Rewrite {
    /// The columns that are not simply kept.
    pub computed: Vec<Computed>,
    /// Rows keep their keys.
    pub keeps_keys: bool,
    /// Properties that no kept column stores.
    pub removed: Vec<PropertyName>,
}

/// A column that gets its value from an expression.
pub(crate) struct Computed {
    /// Index in the columns of the new relation.
    pub column: usize,
    pub value: NewValue,
}

impl Alteration<'_> {
    /// The columns that get another type.
    pub(crate) fn retyped(&self) -> Vec<&str> {
        let is_retyped = |old: &&DeclaredColumn| {
            self.after.columns.iter().any(|new| new.name == old.name && new.sql_type != old.sql_type)
        };
        self.before.columns.iter().filter(is_retyped).map(|column| column.name.as_str()).collect()
    }

    /// How rows are to be written anew, if they are: from one relation to the other.
    pub(crate) fn rewrite(&self, before: &Relation, after: &Relation) -> Option<Rewrite> {
        if !self.must_rewrite {
            return None;
        }
        let gives_keys = after.key_columns().into_iter().any(|key| self.values.contains_key(&after.columns[key].name));
        let keeps_keys =
            before.codec == after.codec && before.generated_partition == after.generated_partition && !gives_keys;
        let mut computed = Vec::new();
        let mut kept = HashSet::new();
        for (index, column) in after.columns.iter().enumerate().filter(|(_, c)| !c.hidden) {
            if let Some(value) = self.values.get(&column.name) {
                computed.push(Computed { column: index, value: value.clone() });
                continue;
            }
            let source = before.column(&column.name).map(|(_, old)| &old.source);
            match (source, &column.source) {
                (Some(ColumnSource::Property { name: old, .. }), ColumnSource::Property { name, .. })
                    if old == name =>
                {
                    kept.insert(name.as_str());
                }
                // Nothing is stored of a column that is new.
                (None, ColumnSource::Property { .. }) => {}
                (Some(_), ColumnSource::Property { .. }) => {
                    computed.push(Computed { column: index, value: NewValue::of_column(&column.name) });
                }
                (None, ColumnSource::KeyPart(_)) => computed.push(Computed { column: index, value: NewValue::null() }),
                (Some(_), ColumnSource::KeyPart(_)) if !keeps_keys => {
                    computed.push(Computed { column: index, value: NewValue::of_column(&column.name) });
                }
                _ => {}
            }
        }
        let removed = before.columns.iter().filter_map(|c| match &c.source {
            ColumnSource::Property { name, .. } if !kept.contains(name.as_str()) => Some(name.clone()),
            _ => None,
        });
        let dropped = self.before.dropped_properties.iter().filter_map(|name| PropertyName::parse(name).ok());
        Some(Rewrite { removed: removed.chain(dropped).collect(), computed, keeps_keys })
    }

    /// The declared column an identifier means.
    fn position(&self, ident: &Identifier) -> SqlResult<usize> {
        self.find(ident)?.ok_or_else(|| undefined_column(&ident.folded(), &self.after.name))
    }

    fn find(&self, ident: &Identifier) -> SqlResult<Option<usize>> {
        let name = resolve_column(self.after.columns.iter().map(|c| &c.name), ident)?;
        Ok(name.and_then(|name| self.after.columns.iter().position(|c| c.name == name)))
    }

    /// The column, which must not be one of the system's own.
    fn own_column(&mut self, ident: &Identifier) -> SqlResult<&mut DeclaredColumn> {
        let index = self.position(ident)?;
        let column = &mut self.after.columns[index];
        if self.after.key.is_system_column(&column.name) {
            let message = format!("cannot alter system column \"{}\"", column.name);
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        Ok(column)
    }

    /// Lets foreign keys go that need what is dropped: with CASCADE, else 2BP01. `needs` looks at the columns they refer
    /// to; `what` is what is dropped, `part` what of it they depend on.
    fn let_go(&mut self, cascade: bool, needs: impl Fn(&[String]) -> bool, what: &str, part: &str) -> SqlResult<()> {
        let references = self.references_left(needs);
        if !references.is_empty() && !cascade {
            return Err(needed(what, &lines_of_references(&references, part)));
        }
        for reference in references {
            if reference.table == self.before.placed_name() {
                self.after.constraints.remove(&reference.constraint);
            } else {
                self.cascaded.push(reference);
            }
        }
        Ok(())
    }

    /// The foreign keys to columns of the table that the condition is about, but for its own ones that are dropped.
    fn references_left(&self, condition: impl Fn(&[String]) -> bool) -> Vec<Reference> {
        let mut references = references_to_columns(self.catalog, &self.before.placed_name(), condition);
        let is_own = |of: &Reference| of.table == self.before.placed_name();
        references.retain(|of| !is_own(of) || self.after.constraints.names().any(|known| *known == of.constraint));
        references
    }

    /// The generated columns that are computed from this one.
    fn computed_from<'s>(&'s self, column: &'s str) -> impl Iterator<Item = &'s DeclaredColumn> {
        let mentions = |c: &&DeclaredColumn| c.generated.as_deref().is_some_and(|text| mentions(text, column));
        self.after.columns.iter().filter(mentions)
    }
}

impl NewValue {
    fn of_column(name: &str) -> Self {
        Self { expr: ParsedExpression::column(name), untyped: false, origin: Origin::Column }
    }

    fn null() -> Self {
        Self { expr: ParsedExpression::null(), untyped: true, origin: Origin::Default }
    }
}

fn undefined_column(column: &str, table: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedColumn, format!("column \"{column}\" of relation \"{table}\" does not exist"))
}

/// What ALTER TABLE IF EXISTS and its like tell.
fn skipped(what: String) -> Notice {
    Notice::info(format!("{what}, skipping"))
}
