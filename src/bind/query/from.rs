//! FROM: the range table, and what of it can be named.

use std::collections::HashMap;

use sqlparser::ast::Spanned;
use sqlparser::ast::{
    FunctionArg, ObjectName, ObjectNamePart, Query, SetExpr, TableAlias, TableFactor, TableWithJoins,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{JoinTree, RangeColumn, RangeEntry, RangeSource};
use super::level::Level;
use super::select::bind_query;
use super::with::WithFound;
use crate::binder::{is_value_word, name_of};
use crate::catalogue::oids::Oid;
use crate::catalogue::{Lookup, Relation, RelationKind, RelationRef};
use crate::expr::Collation;
use crate::name::{Name, folded};
use crate::namespace::{Shown, set_lateral};
use crate::place::{AtPlace, Place};
use crate::scope::Scope;
use crate::usage::Usage;

/// A member of FROM that is bound: how it is joined, its entry, and what can be named of it.
pub(super) struct Joined {
    pub tree: JoinTree,
    pub entry: usize,
    pub shown: Vec<Shown>,
}

/// What a table goes by besides its name.
#[derive(Default)]
pub(crate) struct Alias {
    pub name: Option<String>,
    pub columns: Vec<String>,
}

impl Alias {
    pub(crate) fn of(alias: Option<&TableAlias>) -> Self {
        let Some(alias) = alias else { return Self::default() };
        let columns = alias.columns.iter().map(|column| folded(&column.name)).collect();
        Self { name: Some(folded(&alias.name)), columns }
    }
}

/// Names that tables go by; of a table without an alias with its number, for two of one name in different schemas.
#[derive(Default)]
pub(super) struct TakenNames(HashMap<String, Vec<Oid>>);

impl TakenNames {
    /// PostgreSQL's `checkNameSpaceConflicts`.
    pub(super) fn take(&mut self, level: &Level<'_>, shown: &[Shown]) -> SqlResult<()> {
        let named = shown.iter().filter(|shown| shown.by_name);
        let names: Vec<(&str, Oid)> =
            named.map(|shown| (&*level.entries[shown.entry].name, oid_of(level, shown.entry))).collect();
        for (name, oid) in &names {
            let taken = self.0.get(*name).map_or(&[][..], Vec::as_slice);
            if taken.iter().any(|other| *other == 0 || *oid == 0 || other == oid) {
                let message = format!("table name \"{name}\" specified more than once");
                return Err(SqlError::new(ErrorKind::DuplicateAlias, message));
            }
        }
        for (name, oid) in names {
            self.0.entry(name.to_owned()).or_default().push(oid);
        }
        Ok(())
    }
}

fn oid_of(level: &Level<'_>, entry: usize) -> Oid {
    match &level.query.range[entry] {
        RangeEntry { source: RangeSource::Table { relation, .. }, has_alias: false, .. } => relation.oid,
        _ => 0,
    }
}

impl Level<'_> {
    /// # Errors
    /// 42P01, 42712 and whatever is wrong with a part.
    pub(crate) fn bind_from(&mut self, from: &[TableWithJoins]) -> SqlResult<()> {
        let mut taken = TakenNames::default();
        let before: Vec<Shown> = self.namespace.shown.clone();
        taken.take(self, &before)?;
        for item in from {
            let mut joined = self.joined(item)?;
            if from.len() > 1 || !before.is_empty() {
                taken.take(self, &joined.shown)?;
            }
            set_lateral(&mut joined.shown, true, true);
            self.namespace.shown.append(&mut joined.shown);
            self.query.from.push(joined.tree);
        }
        set_lateral(&mut self.namespace.shown, false, true);
        Ok(())
    }

    pub(super) fn joined(&mut self, item: &TableWithJoins) -> SqlResult<Joined> {
        let mut left = self.factor(&item.relation)?;
        for join in &item.joins {
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    pub(super) fn factor(&mut self, factor: &TableFactor) -> SqlResult<Joined> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } if is_value_word(name) => {
                Ok(function_alone(self.value_word_entry(name, alias.as_ref())?))
            }
            TableFactor::Table { name, alias, args: None, sample, .. } => {
                let entry = self.named_table(name, alias.as_ref())?;
                if let Some(wanted) = sample {
                    self.sample(entry, wanted, name)?;
                }
                Ok(alone(entry))
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                self.function_read(name, &args.args, alias.as_ref(), *with_ordinality)
            }
            TableFactor::Function { lateral, name, args, alias, with_ordinality } => {
                let joined = self.function_read(name, args, alias.as_ref(), *with_ordinality)?;
                self.query.range[joined.entry].is_lateral |= *lateral;
                Ok(joined)
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                Ok(function_alone(self.unnest(array_exprs, alias.as_ref(), *with_ordinality)?))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let entry = self.query_read(*lateral, subquery, alias.as_ref())?;
                Ok(alone(entry))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let joined = self.joined(table_with_joins)?;
                match alias {
                    Some(alias) => self.alias_of_join(joined, alias),
                    None => Ok(joined),
                }
            }
            other => Err(SqlError::not_supported(format!("{other} in FROM"))),
        }
    }

    fn function_read(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> SqlResult<Joined> {
        Ok(function_alone(self.function_entry(name, arguments, alias, with_ordinality)?))
    }

    /// A table, or a part of WITH.
    fn named_table(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> SqlResult<usize> {
        let (schema, table, place) = name_parts(self.lookup(), name)?;
        self.table_entry(schema.as_ref(), &table, place, &Alias::of(alias))
    }

    /// The same by the parts of its name.
    pub(crate) fn table_entry(
        &mut self,
        schema: Option<&Name>,
        table: &Name,
        place: Place,
        alias: &Alias,
    ) -> SqlResult<usize> {
        if schema.is_none()
            && let Some(found) = self.withs.find(table)
        {
            return self.with_entry(found, table, place, alias);
        }
        let relation = self.relation(schema, table, place)?;
        self.relation_entry(relation, alias)
    }

    pub(crate) fn relation_entry(&mut self, relation: RelationRef, alias: &Alias) -> SqlResult<usize> {
        let columns = columns_of(self, &relation);
        let name = alias.name.clone().unwrap_or_else(|| relation.name.clone());
        let shown = relation.columns.iter().filter(|column| !column.is_hidden).count();
        check_names(shown, alias.columns.len(), &name)?;
        let columns = renamed(columns, &alias.columns, &name)?;
        let source = RangeSource::Table { relation, only: false, sample: None };
        let (has_alias, named_columns) = (alias.name.is_some(), alias.columns.len());
        Ok(self.add_entry(RangeEntry { name, has_alias, named_columns, columns, source, is_lateral: false }))
    }

    /// # Errors
    /// 42P01.
    pub(crate) fn relation(&self, schema: Option<&Name>, table: &Name, place: Place) -> SqlResult<RelationRef> {
        let found = self.lookup().0.relation(schema, table);
        let Some(relation) = found else {
            let shown = schema.map_or_else(|| table.text.clone(), |schema| format!("{}.{}", schema.text, table.text));
            let message = format!("relation \"{shown}\" does not exist");
            let error = SqlError::new(ErrorKind::UndefinedTable, message).at_place(place);
            return Err(if schema.is_none() && self.withs.is_to_come(table) {
                let name = &table.text;
                error
                    .with_detail(format!(
                        "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
                    ))
                    .with_hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
            } else {
                error
            });
        };
        if relation.kind == RelationKind::Sequence && relation.columns.is_empty() {
            return Err(SqlError::not_supported("reading from a sequence").at_place(place));
        }
        Ok(relation)
    }

    fn with_entry(&mut self, found: WithFound<'_>, table: &Name, place: Place, alias: &Alias) -> SqlResult<usize> {
        if found.entry.gives_nothing() {
            let message = format!("WITH query \"{}\" does not have a RETURNING clause", table.text);
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place));
        }
        found.entry.count_use();
        let columns = found.entry.columns();
        let name = alias.name.clone().unwrap_or_else(|| found.entry.name.clone());
        let columns = renamed(columns, &alias.columns, &name)?;
        let shown = found.entry.shown();
        let source = RangeSource::With { level: found.level, number: found.number, shown };
        let (has_alias, named_columns) = (alias.name.is_some(), alias.columns.len());
        Ok(self.add_entry(RangeEntry { name, has_alias, named_columns, columns, source, is_lateral: false }))
    }

    fn query_read(&mut self, is_lateral: bool, query: &Query, alias: Option<&TableAlias>) -> SqlResult<usize> {
        let alias = match alias {
            Some(_) => Alias::of(alias),
            None => return Err(self.no_alias(query)),
        };
        self.namespace.is_lateral.set(is_lateral);
        let before = self.namespace.usage.replace(Some(Usage::FromQuery));
        let scope = Scope { entries: &self.entries, outer: self.outer, namespace: Some(&self.namespace) };
        let bound = bind_query(self.context, query, Some(&scope), Some(self.withs), &mut self.parameters);
        self.namespace.usage.set(before);
        self.namespace.is_lateral.set(false);
        let bound = bound?;
        let column = |target: &super::bound::Target| RangeColumn { name: target.name.clone(), ty: target.expr.ty };
        let columns = bound.results().map(column).collect();
        let name = alias.name.clone().unwrap_or_default();
        let columns = renamed(columns, &alias.columns, &name)?;
        let source = RangeSource::SubQuery(Box::new(bound));
        let named_columns = alias.columns.len();
        Ok(self.add_entry(RangeEntry { name, has_alias: true, named_columns, columns, source, is_lateral }))
    }

    fn no_alias(&self, query: &Query) -> Box<SqlError> {
        let (message, hint) = match &*query.body {
            SetExpr::Values(_) => ("VALUES in FROM must have an alias", "For example, FROM (VALUES ...) [AS] foo."),
            _ => ("subquery in FROM must have an alias", "For example, FROM (SELECT ...) [AS] foo."),
        };
        let inside = Place::start(query.span());
        let inside = if matches!(&*query.body, SetExpr::Values(_)) { self.before(inside, &["VALUES"]) } else { inside };
        let place = self.before(inside, &["("]);
        SqlError::new(ErrorKind::Syntax, message).with_hint(hint).at_place(place)
    }
}

pub(super) fn alone(entry: usize) -> Joined {
    Joined { tree: JoinTree::Entry(entry), entry, shown: vec![Shown::all_of(entry)] }
}

/// An entry of functions; whether its row is its only column.
fn function_alone((entry, is_value): (usize, bool)) -> Joined {
    Joined { shown: vec![Shown { is_value, ..Shown::all_of(entry) }], ..alone(entry) }
}

/// The schema, the name, and where it begins.
///
/// # Errors
/// 42601 for a name of too many parts.
pub(crate) fn name_parts(lookup: Lookup<'_>, name: &ObjectName) -> SqlResult<(Option<Name>, Name, Place)> {
    let idents: Vec<_> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    let place = idents.first().map_or(Place::NOWHERE, |first| Place::start(first.span));
    match idents.as_slice() {
        [table] => Ok((None, name_of(table), place)),
        [schema, table] => Ok((Some(name_of(schema)), name_of(table), place)),
        [database, schema, table] if lookup.is_database(&folded(database)) => {
            Ok((Some(name_of(schema)), name_of(table), place))
        }
        [_, _, _] => {
            let message = format!("cross-database references are not implemented: \"{}\"", joined_name(name));
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place))
        }
        _ => {
            let message = format!("improper qualified name (too many dotted names): {}", joined_name(name));
            Err(SqlError::new(ErrorKind::Syntax, message).at_place(place))
        }
    }
}

fn joined_name(name: &ObjectName) -> String {
    name.0.iter().filter_map(ObjectNamePart::as_ident).map(folded).collect::<Vec<_>>().join(".")
}

pub(crate) fn columns_of(level: &Level<'_>, relation: &Relation) -> Vec<RangeColumn> {
    let lookup = level.lookup();
    let column = |column: &crate::catalogue::RelationColumn| {
        let mut ty = lookup.of_type(column.oid, column.typmod);
        ty.collation = column.collation.map_or(ty.collation, Collation::Implicit);
        RangeColumn { name: column.name.clone(), ty }
    };
    relation.columns.iter().map(column).collect()
}

fn check_names(has: usize, given: usize, table: &str) -> SqlResult<()> {
    if given <= has {
        return Ok(());
    }
    let message = format!("table \"{table}\" has {has} columns available but {given} columns specified");
    Err(SqlError::new(ErrorKind::InvalidColumnReference, message))
}

/// The columns under the names that an alias gives the first of them.
///
/// # Errors
/// 42P10 for more names than columns.
pub(super) fn renamed(mut columns: Vec<RangeColumn>, names: &[String], table: &str) -> SqlResult<Vec<RangeColumn>> {
    check_names(columns.len(), names.len(), table)?;
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    Ok(columns)
}
