//! One query while it is being bound: what is known of it so far, and how its expressions are bound over that.

use std::cell::RefCell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use sqlparser::ast::{Query, WindowSpec, WindowType};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::style::Reading;

use super::bound::{BoundQuery, RangeColumn, RangeEntry, RangeSource};
use super::changes::{BoundChange, Overriding};
use super::select::{Parts, bind_query};
use super::with::Withs;
use crate::binder::{Binder, BoundSubQuery, Reach, SubQueries};
use crate::catalogue::Lookup;
use crate::name::folded;
use crate::namespace::{Namespace, Shown};
use crate::parameters::Parameters;
use crate::place::{AtPlace, Place, Source};
use crate::scope::{Entry, Scope, ScopeColumn};

use crate::typing::Noted;
use crate::usage::Usage;

/// What all queries of a statement are bound by.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub lookup: Lookup<'c>,
    pub source: Option<&'c Source<'c>>,
    pub reading: Reading,
    /// What INSERT says about identity columns.
    pub overriding: Overriding,
    /// What was found in queries that are bound already.
    pub noted: &'c RefCell<Noted>,
    /// Binds parts of WITH that change rows.
    pub bind_change: BindChange,
}

/// Binds a statement that changes rows and stands where a query may.
pub(crate) type BindChange =
    fn(Context<'_>, &Parts<'_>, Option<&Scope<'_>>, Option<&Withs<'_>>, &mut Parameters) -> SqlResult<BoundChange>;

impl Context<'_> {
    /// Where the nearest of these words before a place is; the place itself where there is none.
    pub(crate) fn before(&self, place: Place, words: &[&str]) -> Place {
        self.source.and_then(|source| source.before(place, words)).unwrap_or(place)
    }
}

/// A window as it is written: by a name, or at a call.
pub(crate) struct NotedWindow {
    pub name: Option<String>,
    pub spec: WindowSpec,
    pub place: Place,
}

/// A query while it is being bound.
pub(crate) struct Level<'q> {
    pub context: Context<'q>,
    pub outer: Option<&'q Scope<'q>>,
    pub withs: &'q Withs<'q>,
    pub entries: Vec<Entry>,
    pub namespace: Namespace,
    pub windows: Vec<NotedWindow>,
    /// Of the queries inside of its expressions, which are alike where these are.
    pub hashes: Vec<u64>,
    pub query: BoundQuery,
    pub parameters: Parameters,
}

impl<'q> Level<'q> {
    pub(crate) fn new(context: Context<'q>, outer: Option<&'q Scope<'q>>, withs: &'q Withs<'q>) -> Self {
        Self {
            context,
            outer,
            withs,
            entries: Vec::new(),
            namespace: Namespace::default(),
            windows: Vec::new(),
            hashes: Vec::new(),
            query: BoundQuery::default(),
            parameters: Parameters::default(),
        }
    }

    pub(crate) fn lookup(&self) -> Lookup<'q> {
        self.context.lookup
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope { entries: &self.entries, outer: self.outer, namespace: Some(&self.namespace) }
    }

    /// Binds something over the names that are there.
    ///
    /// # Errors
    /// What the work fails with.
    pub(crate) fn binding<T>(
        &mut self,
        usage: Usage,
        work: impl FnOnce(&mut Binder<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let scope = Scope { entries: &self.entries, outer: self.outer, namespace: Some(&self.namespace) };
        let before = self.namespace.usage.replace(Some(usage));
        let mut inner = Inner {
            context: self.context,
            withs: self.withs,
            windows: &mut self.windows,
            hashes: &mut self.hashes,
            found: &mut self.query.sub_queries,
        };
        let mut binder = Binder::new(self.context.lookup, scope, usage)
            .with_reading(self.context.reading)
            .with_parameters(std::mem::take(&mut self.parameters))
            .with_queries(&mut inner);
        if let Some(source) = self.context.source {
            binder = binder.with_source(source);
        }
        binder.typing.noted = self.context.noted.take();
        let done = work(&mut binder);
        self.context.noted.replace(std::mem::take(&mut binder.typing.noted));
        self.parameters = std::mem::take(&mut binder.typing.parameters);
        self.namespace.usage.set(before);
        done
    }

    /// Adds an entry to the range table, which nothing shows yet.
    pub(crate) fn add_entry(&mut self, entry: RangeEntry) -> usize {
        let (schema, table, row_type) = match &entry.source {
            RangeSource::Table { relation, .. } if entry.has_alias => {
                (None, Some(relation.name.clone()), relation.row_type)
            }
            RangeSource::Table { relation, .. } => (Some(relation.schema.clone()), None, relation.row_type),
            RangeSource::Functions { functions, with_ordinality: false } => match functions.as_slice() {
                [only] if self.lookup().is_composite(only.call.ty.oid) => (None, None, only.call.ty.oid),
                _ => (None, None, 0),
            },
            _ => (None, None, 0),
        };
        let column = |(number, column): (usize, &RangeColumn)| ScopeColumn {
            name: column.name.clone(),
            ty: column.ty,
            is_hidden: entry.is_hidden(number),
        };
        let columns = entry.columns.iter().enumerate().map(column).collect();
        self.entries.push(Entry { name: entry.name.clone(), schema, columns, row_type, table });
        self.namespace.origins.push(self.origins(&entry.source));
        self.query.range.push(entry);
        self.entries.len() - 1
    }

    /// Whether `*` leaves a column out.
    pub(crate) fn is_hidden(&self, entry: usize, column: usize) -> bool {
        self.entries[entry].columns[column].is_hidden
    }

    /// The only thing that can be named.
    pub(crate) fn show_only(&mut self, entry: usize) {
        self.namespace.shown = vec![Shown::all_of(entry)];
    }

    /// Where an error about a clause of several words stands, found before what it begins with.
    pub(crate) fn before(&self, place: Place, words: &[&str]) -> Place {
        self.context.before(place, words)
    }
}

/// What an expression's binder needs of its query.
struct Inner<'i> {
    context: Context<'i>,
    withs: &'i Withs<'i>,
    windows: &'i mut Vec<NotedWindow>,
    hashes: &'i mut Vec<u64>,
    found: &'i mut Vec<BoundQuery>,
}

impl SubQueries for Inner<'_> {
    fn bind(&mut self, query: &Query, scope: Scope<'_>, parameters: &mut Parameters) -> SqlResult<BoundSubQuery> {
        let bound = bind_query(self.context, query, Some(&scope), Some(self.withs), parameters)?;
        let columns = bound.result_types();
        let number = self.found.len();
        self.hashes.push(BuildHasherDefault::<DefaultHasher>::default().hash_one(query));
        self.found.push(bound);
        Ok(BoundSubQuery { number, columns })
    }

    fn reach(&self, number: usize) -> Option<&Reach> {
        self.found.get(number).map(|query| &query.reach)
    }

    fn window(&mut self, over: &WindowType) -> SqlResult<Option<usize>> {
        let spec = match over {
            WindowType::NamedWindow(ident) => {
                let name = folded(ident);
                let found = self.windows.iter().position(|window| window.name.as_ref() == Some(&name));
                return match found {
                    Some(number) => Ok(Some(number)),
                    None => Err(no_window(&name, Place::start(ident.span))),
                };
            }
            WindowType::WindowSpec(spec) => spec,
        };
        let number = match self.windows.iter().position(|window| window.spec == *spec) {
            Some(number) => number,
            None => {
                self.windows.push(NotedWindow { name: None, spec: spec.clone(), place: Place::NOWHERE });
                self.windows.len() - 1
            }
        };
        Ok(Some(number))
    }
}

pub(super) fn no_window(name: &str, place: Place) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedObject, format!("window \"{name}\" does not exist")).at_place(place)
}
