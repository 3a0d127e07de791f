//! WITH: its parts in the order in which they need each other. PostgreSQL's `transformWithClause`.

use std::cell::{Cell, OnceCell};

use sqlparser::ast::{Cte, CteAsMaterialized, Query, SetExpr, With};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{BoundWith, Origin, RangeColumn, RangeSource, Target};
use super::changes::BoundStatement;
use super::level::{Context, Level};
use super::recursion::{self, order_of};
use super::select::{Parts, Purpose, bind_parts};
use super::trace::{self, Trace};
use crate::catalogue::{Lookup, oids};
use crate::name::{Name, folded};
use crate::namespace::Namespace;
use crate::parameters::Parameters;
use crate::place::{AtPlace, Place};
use crate::scope::Scope;

/// A part of WITH as the queries beside and inside of it see it.
pub(crate) struct WithEntry {
    pub name: String,
    place: Place,
    is_recursive: bool,
    /// Known when it is bound, or its first part is.
    columns: OnceCell<Vec<RangeColumn>>,
    origins: OnceCell<Vec<Option<Origin>>>,
    /// The names that it gives its columns itself.
    given: Vec<String>,
    /// How many columns SEARCH and CYCLE make, and how many it has for them itself.
    traced: (usize, usize),
    uses: Cell<usize>,
    gives_nothing: Cell<bool>,
    /// It reads its own rows now.
    is_open: Cell<bool>,
}

/// The parts of WITH that a query sees, and those of the queries around it.
#[derive(Clone, Copy)]
pub(crate) struct Withs<'w> {
    own: &'w [WithEntry],
    /// How many of its own can be named here.
    seen: usize,
    outer: Option<&'w Withs<'w>>,
}

/// A part that is named.
pub(crate) struct WithFound<'w> {
    pub level: usize,
    pub number: usize,
    pub entry: &'w WithEntry,
}

/// A WITH clause, bound.
#[derive(Default)]
pub(crate) struct BoundWiths {
    entries: Vec<WithEntry>,
    statements: Vec<Option<(BoundStatement, Option<bool>)>>,
}

impl WithEntry {
    fn of(cte: &Cte, is_recursive: bool, trace: &Trace) -> Self {
        Self {
            name: folded(&cte.alias.name),
            place: Place::start(cte.alias.name.span),
            is_recursive,
            columns: OnceCell::new(),
            origins: OnceCell::new(),
            given: cte.alias.columns.iter().map(|column| folded(&column.name)).collect(),
            traced: (trace.columns().len(), trace.own_columns().len()),
            uses: Cell::new(0),
            gives_nothing: Cell::new(false),
            is_open: Cell::new(false),
        }
    }

    pub(crate) fn columns(&self) -> Vec<RangeColumn> {
        self.columns.get().cloned().unwrap_or_default()
    }

    /// How many of the columns `*` shows: where a query reads its own rows, none of those that trace them.
    pub(crate) fn shown(&self) -> usize {
        let (made, own) = self.traced;
        let written = self.columns.get().map_or(0, Vec::len).saturating_sub(own);
        if self.is_open.get() { written } else { written + made }
    }

    pub(crate) fn count_use(&self) {
        if !self.is_open.get() {
            self.uses.set(self.uses.get() + 1);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    pub(crate) fn gives_nothing(&self) -> bool {
        self.gives_nothing.get()
    }

    /// What the first part of a recursive query gives is what its own rows are.
    ///
    /// # Errors
    /// 42P10 for more names than columns.
    pub(crate) fn begin_recursion(&self, lookup: Lookup<'_>, columns: Vec<RangeColumn>) -> SqlResult<()> {
        self.is_open.set(true);
        self.set_columns(lookup, columns)
    }

    fn set_columns(&self, lookup: Lookup<'_>, mut columns: Vec<RangeColumn>) -> SqlResult<()> {
        if self.given.len() > columns.len() {
            let (name, has, given) = (&self.name, columns.len(), self.given.len());
            let message = format!("WITH query \"{name}\" has {has} columns available but {given} columns specified");
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message).at_place(self.place));
        }
        for (column, name) in columns.iter_mut().zip(&self.given) {
            column.name.clone_from(name);
        }
        for column in columns.iter_mut().filter(|column| column.ty.oid == oids::UNKNOWN) {
            column.ty = lookup.of_type(oids::TEXT, -1);
        }
        let _ = self.columns.set(columns);
        Ok(())
    }

    /// What all of a recursive query gives has the types of its first part.
    fn check_recursion(&self, lookup: Lookup<'_>, targets: &[&Target]) -> SqlResult<()> {
        for (at, (column, target)) in self.columns().iter().zip(targets).enumerate() {
            let (first, all) = (column.ty, target.expr.ty);
            // The modifier of a row without a name says no more than which row it is.
            let is_row = matches!(first.oid, oids::RECORD | oids::RECORD_ARRAY);
            if first.oid != all.oid || (first.typmod != all.typmod && !is_row) {
                let shown = |ty: crate::expr::ExprType| lookup.type_with_modifier(ty.oid, ty.typmod);
                let message = format!(
                    "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                    self.name,
                    at + 1,
                    shown(first),
                    shown(all)
                );
                return Err(SqlError::new(ErrorKind::DatatypeMismatch, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type.")
                    .at_place(target.expr.place));
            }
        }
        Ok(())
    }
}

impl<'w> Withs<'w> {
    /// The part of a name, of the nearest query that has one.
    pub(crate) fn find(&self, name: &Name) -> Option<WithFound<'w>> {
        let (mut level, mut withs) = (0, *self);
        loop {
            let seen = || withs.own[..withs.seen].iter().enumerate();
            let exact = seen().find(|(_, entry)| entry.name == name.text);
            if let Some((number, entry)) = exact.or_else(|| seen().find(|(_, entry)| name.is(&entry.name))) {
                return Some(WithFound { level, number, entry });
            }
            withs = *withs.outer?;
            level += 1;
        }
    }

    /// Whether a part of the name comes later than what is being bound.
    pub(crate) fn is_to_come(&self, name: &Name) -> bool {
        let later = self.own[self.seen..].iter().any(|entry| entry.name == name.text);
        later || self.outer.is_some_and(|outer| outer.is_to_come(name))
    }

    pub(crate) fn origins(&self, level: usize, number: usize) -> Vec<Option<Origin>> {
        self.entry(level, number).and_then(|entry| entry.origins.get()).cloned().unwrap_or_default()
    }

    fn entry(&self, level: usize, number: usize) -> Option<&'w WithEntry> {
        let mut withs = *self;
        for _ in 0..level {
            withs = *withs.outer?;
        }
        withs.own.get(number)
    }
}

impl BoundWiths {
    /// What the query of the clause sees.
    pub(crate) fn seen<'w>(&'w self, outer: Option<&'w Withs<'w>>) -> Withs<'w> {
        Withs { own: &self.entries, seen: self.entries.len(), outer }
    }

    pub(crate) fn bound(self) -> Vec<BoundWith> {
        let statements = self.statements.into_iter().flatten();
        let pairs = self.entries.into_iter().zip(statements);
        let bound = pairs.map(|(entry, (statement, materialized))| BoundWith {
            columns: entry.columns(),
            named_columns: entry.given.len(),
            name: entry.name,
            statement,
            materialized,
            is_recursive: entry.is_recursive,
            is_traced: entry.traced.1 > 0,
            uses: entry.uses.get(),
            place: entry.place,
        });
        bound.collect()
    }
}

/// # Errors
/// 42712 for two of one name, 42P19 and 0A000 for recursion that cannot be, and what is wrong with a part.
pub(crate) fn bind_with(
    context: Context<'_>,
    with: Option<&With>,
    (outer, withs): (Option<&Scope<'_>>, Option<&Withs<'_>>),
    parameters: &mut Parameters,
    is_outermost: bool,
) -> SqlResult<BoundWiths> {
    let Some(With { recursive, cte_tables: parts, .. }) = with else { return Ok(BoundWiths::default()) };
    let (split, traces) = match trace::has_clauses(parts) {
        true => trace::parts_of(parts)?,
        false => (Vec::new(), parts.iter().map(|_| Trace::default()).collect()),
    };
    let parts = if split.is_empty() { parts } else { &split };
    for (at, part) in parts.iter().enumerate() {
        let name = folded(&part.alias.name);
        if parts[..at].iter().any(|other| folded(&other.alias.name) == name) {
            let message = format!("WITH query name \"{name}\" specified more than once");
            let place = Place::start(part.alias.name.span);
            return Err(SqlError::new(ErrorKind::DuplicateAlias, message).at_place(place));
        }
        if matches!(*part.query.body, SetExpr::Merge(_)) {
            let place = Place::start(part.alias.name.span);
            return Err(
                SqlError::new(ErrorKind::FeatureNotSupported, "MERGE not supported in WITH query").at_place(place)
            );
        }
    }
    let (order, recursive_ones) =
        if *recursive { order_of(parts)? } else { ((0..parts.len()).collect(), vec![false; parts.len()]) };
    let entries: Vec<WithEntry> = parts
        .iter()
        .zip(&recursive_ones)
        .zip(&traces)
        .map(|((part, is_recursive), trace)| WithEntry::of(part, *is_recursive, trace))
        .collect();
    for (part, _) in parts.iter().zip(&recursive_ones).filter(|(_, is_recursive)| **is_recursive) {
        recursion::check(context, part)?;
    }
    let namespace = Namespace::default();
    let scope = Scope { entries: &[], outer, namespace: Some(&namespace) };
    let mut statements: Vec<Option<(BoundStatement, Option<bool>)>> = parts.iter().map(|_| None).collect();
    for at in order {
        let (part, entry) = (&parts[at], &entries[at]);
        let seen = if *recursive { entries.len() } else { at };
        let own = Withs { own: &entries, seen, outer: withs };
        let traced = match traces[at].is_none() {
            true => None,
            false => Some(traced(context, part, entry, &traces[at], (&scope, &own), parameters)?),
        };
        let part = traced.as_ref().unwrap_or(part);
        let statement = bind_part(context, part, entry, (&scope, &own), parameters, is_outermost)?;
        let materialized = part.materialized.as_ref().map(|word| matches!(word, CteAsMaterialized::Materialized));
        statements[at] = Some((statement, materialized));
    }
    Ok(BoundWiths { entries, statements })
}

/// A part with what its SEARCH and CYCLE ask for.
///
/// # Errors
/// 42601 for one that does not read its own rows.
fn traced(
    context: Context<'_>,
    part: &Cte,
    entry: &WithEntry,
    trace: &Trace,
    (scope, withs): (&Scope<'_>, &Withs<'_>),
    parameters: &mut Parameters,
) -> SqlResult<Cte> {
    let not_recursive = || SqlError::new(ErrorKind::Syntax, "WITH query is not recursive").at_place(entry.place);
    let SetExpr::SetOperation { left, .. } = &*part.query.body else { return Err(not_recursive()) };
    if !entry.is_recursive {
        return Err(not_recursive());
    }
    // The columns are known when the first part is.
    let first = Query { body: left.clone(), ..(*part.query).clone() };
    let bound = bind_parts(context, &Parts::of(&first)?, Some(scope), Some(withs), parameters, Purpose::default())?;
    let given = entry.given.iter().cloned().map(Some).chain(std::iter::repeat(None));
    let columns: Vec<String> =
        bound.results().zip(given).map(|(target, given)| given.unwrap_or_else(|| target.name.clone())).collect();
    trace.traced(part, &columns)
}

fn bind_part(
    context: Context<'_>,
    part: &Cte,
    entry: &WithEntry,
    (scope, withs): (&Scope<'_>, &Withs<'_>),
    parameters: &mut Parameters,
    is_outermost: bool,
) -> SqlResult<BoundStatement> {
    let lookup = context.lookup;
    let query = Parts::of(&part.query)?;
    let is_change = !matches!(
        query.body,
        SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) | SetExpr::SetOperation { .. } | SetExpr::Query(_)
    );
    if is_change {
        let bound = (context.bind_change)(context, &query, Some(scope), Some(withs), parameters)?;
        if !is_outermost {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(entry.place));
        }
        let returning = bound.returning();
        entry.gives_nothing.set(returning.is_empty());
        let column = |target: &Target| RangeColumn { name: target.name.clone(), ty: target.expr.ty };
        entry.set_columns(lookup, returning.iter().map(column).collect())?;
        let _ = entry.origins.set(returning.iter().map(|target| target.origin).collect());
        return Ok(BoundStatement::Change(Box::new(bound)));
    }
    let recursion = entry.is_recursive.then_some(entry);
    let purpose = Purpose { recursion, ..Purpose::default() };
    let bound = bind_parts(context, &query, Some(scope), Some(withs), parameters, purpose)?;
    entry.is_open.set(false);
    let results: Vec<&Target> = bound.results().collect();
    if entry.is_recursive {
        entry.check_recursion(lookup, &results)?;
    } else {
        let column = |target: &&Target| RangeColumn { name: target.name.clone(), ty: target.expr.ty };
        entry.set_columns(lookup, results.iter().map(column).collect())?;
        let _ = entry.origins.set(results.iter().map(|target| target.origin).collect());
    }
    Ok(BoundStatement::Query(Box::new(bound)))
}

impl Level<'_> {
    /// Whether it reads from a query that is still being made.
    pub(super) fn reads_itself(&self) -> bool {
        self.query.range.iter().any(|entry| match entry.source {
            RangeSource::With { level, number, .. } => self.withs.entry(level, number).is_some_and(WithEntry::is_open),
            _ => false,
        })
    }
}
