//! What a statement means, as far as it is known before it is planned: what is wrong with it, and the types of its parameters.
//!
//! The binder goes through a statement in PostgreSQL's order; planning goes another way. What the binder refuses is refused,
//! with its words and at its place.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use tablegate_bind::{
    BoundExpr, BoundQuery, BoundStatement, ExprKind, Oid, Parameters, ParsedQuery, Source, StatementBinder,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid::{of_oid, oid};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::catalogue::KnownTables;
use super::locking::check_marks;
use super::meant::{MeantQuery, MeantStatement};
use crate::aside::aside_unless;
use crate::expr::argument_by_name;
use crate::plan::planner::Planner;
use crate::plan::tables::Mentions;
use crate::syntax::{Command, Statement};

/// What the binder finds of a statement.
pub(crate) enum Meaning {
    /// It is right.
    Found {
        /// The types of its parameters.
        parameters: Vec<SqlType>,
        /// `None` once it is taken.
        meant: Option<Meant>,
    },
    /// It is wrong.
    Refused(Box<SqlError>),
    /// The binder does not know such statements yet.
    Unknown,
}

/// What a statement means that is right.
#[derive(Clone)]
pub(crate) enum Meant {
    Query(Box<MeantQuery>),
    Change(Box<MeantStatement>),
}

impl MeantQuery {
    /// What a query means that reads these tables, and the types of its parameters.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::plan) fn of(
        query: &ParsedQuery,
        known: &KnownTables<'_>,
        reading: Reading,
        declared: &[SqlType],
    ) -> SqlResult<(Self, Vec<SqlType>)> {
        let mut parameters = of_types(declared);
        let bound = StatementBinder::new(known).with_reading(reading).bind(query.syntax(), &mut parameters)?;
        let types = types_of(&parameters, declared);
        match bound {
            BoundStatement::Query(query) => Ok((Self::new(*query, known), types)),
            BoundStatement::Change(_) => Err(SqlError::new(ErrorKind::Internal, "a query that changes rows")),
        }
    }
}

impl Meant {
    /// Whether a query inside of it has a locking clause.
    pub(crate) fn locks_inside(&self) -> bool {
        match self {
            Meant::Query(meant) => meant.bound.locks_inside(),
            Meant::Change(change) => change.bound.locks_inside(),
        }
    }

    /// Puts others in the places of the queries inside of it that have a locking clause: each gets what it means, alone.
    ///
    /// # Errors
    /// Those of `other`; 0A000 for a locking clause over what is no table.
    pub(crate) fn replace_locking(
        &mut self,
        other: &mut dyn FnMut(MeantQuery) -> SqlResult<BoundQuery>,
    ) -> SqlResult<()> {
        match self {
            Meant::Query(meant) => {
                check_marks(&meant.bound)?;
                let around = meant.of_the_same(());
                meant.bound.replace_locking(&mut |query| other(around.of_the_same(query)))
            }
            Meant::Change(change) => {
                let around = change.of_the_same(());
                change.bound.replace_locking(&mut |query| other(around.of_the_same(query)))
            }
        }
    }
}

/// Whether a query, or a view in it, asks the catalogue: by one of these functions, or for what a value names.
pub(in crate::plan) fn asks(
    query: &BoundQuery,
    views: &HashMap<Oid, BoundQuery>,
    is_of_catalogue: &dyn Fn(&str) -> bool,
) -> bool {
    let names = |part: &BoundExpr| match &part.kind {
        ExprKind::Constant(_) | ExprKind::Cast { .. } | ExprKind::Parameter(_) => names_objects(part.ty.oid),
        _ => false,
    };
    // Of what is named, as many parts as functions look for themselves are no question to the catalogue.
    let asked = Cell::new(0);
    let named_in = |part: &BoundExpr| {
        let mut named = 0;
        part.any(&mut |part| {
            named += i64::from(names(part));
            false
        });
        named
    };
    let asks = |part: &BoundExpr| {
        let looked_up = argument_by_name(part).map_or(0, named_in);
        asked.set(asked.get() + i64::from(names(part)) - looked_up);
        matches!(&part.kind, ExprKind::Call { function, .. } if is_of_catalogue(&function.name))
    };
    std::iter::once(query).chain(views.values()).any(|query| query.has_part(&asks)) || asked.get() > 0
}

fn names_objects(oid: Oid) -> bool {
    match of_oid(oid) {
        Some(SqlType::Array(item)) => item.names_objects(),
        Some(known) => known.names_objects(),
        None => false,
    }
}

impl Meaning {
    /// What a statement means; `declared` are the parameter types that the client gave.
    pub(crate) async fn of(planner: &Planner<'_>, statement: &Statement, declared: &[SqlType]) -> Self {
        let Some((syntax, overriding)) = statement.command.bound_syntax() else { return Meaning::Unknown };
        let mentions = Mentions::of_statement(syntax);
        let known = KnownTables::of(planner, mentions.tables.clone()).await;
        let is_short = mentions.is_short(known.width()) && known.views().is_empty();
        let source = Source::new(&statement.source);
        let mut parameters = of_types(declared);
        let binder = StatementBinder::new(&known)
            .with_source(&source)
            .with_reading(planner.reading())
            .with_overriding(overriding);
        let bound = aside_unless(is_short, || {
            let bound = binder.bind(syntax, &mut parameters)?;
            parameters.found()?;
            SqlResult::Ok(bound)
        });
        match bound {
            Err(refused) if is_not_of_the_statement(refused.kind) => Meaning::Unknown,
            Err(refused) => Meaning::Refused(refused),
            Ok(bound) => Meaning::Found {
                parameters: types_of(&parameters, declared),
                meant: Some(aside_unless(is_short, || match bound {
                    BoundStatement::Query(query) if !query.changes_rows() => {
                        Meant::Query(Box::new(MeantQuery::new(*query, &known)))
                    }
                    changes => Meant::Change(Box::new(MeantStatement::new(changes, &known))),
                })),
            },
        }
    }

    /// The same of what is planned ahead. What else there is, is looked at when it runs: the tables may not be there yet.
    pub(crate) async fn of_planned(planner: &Planner<'_>, statement: &Statement, declared: &[SqlType]) -> Self {
        let is_bound = matches!(
            statement.command,
            Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_)
        );
        if is_bound { Self::of(planner, statement, declared).await } else { Meaning::Unknown }
    }

    /// The types of the parameters, those that are not found yet unknown.
    pub(crate) fn parameters<'d>(&'d self, declared: &'d [SqlType]) -> &'d [SqlType] {
        match self {
            Meaning::Found { parameters, .. } => parameters,
            Meaning::Refused(_) | Meaning::Unknown => declared,
        }
    }

    /// What it means, for planning.
    pub(crate) fn take(&mut self) -> Option<Meant> {
        match self {
            Meaning::Found { meant, .. } => meant.take(),
            Meaning::Refused(_) | Meaning::Unknown => None,
        }
    }

    /// What planning gives, or running, of a statement that is not refused.
    ///
    /// # Errors
    /// The binder's, unless the other one is not about the statement, or tells a way out of what this product does not do.
    pub(crate) fn judge<T>(self, planned: SqlResult<T>) -> SqlResult<T> {
        let Meaning::Refused(mut found) = self else { return planned };
        let refused = match planned {
            Ok(_) => return Err(found),
            Err(refused) => refused,
        };
        let tells_a_way_out = refused.kind == ErrorKind::FeatureNotSupported && refused.hint.is_some();
        if tells_a_way_out || is_of_circumstances(refused.kind) {
            return Err(refused);
        }
        if found.kind == refused.kind {
            // Of the same both have something that helps.
            let SqlError { detail, hint, schema, table, column, constraint, .. } = *refused;
            found.hint = if detail.is_some() { hint } else { found.hint.or(hint) };
            found.detail = detail.or(found.detail);
            (found.schema, found.table, found.column, found.constraint) = (schema, table, column, constraint);
        }
        Err(found)
    }
}

/// What the views mean. One that cannot be bound is left out.
pub(super) fn views_of(known: &KnownTables<'_>) -> HashMap<Oid, BoundQuery> {
    let bound = |(oid, query): (&Oid, &Arc<ParsedQuery>)| match StatementBinder::new(known)
        .bind(query.syntax(), &mut Parameters::variable(Vec::new()))
    {
        Ok(BoundStatement::Query(bound)) => Some((*oid, *bound)),
        Ok(BoundStatement::Change(_)) | Err(_) => None,
    };
    known.views().iter().filter_map(bound).collect()
}

/// Parameters of which the client gave these types, `Unknown` where it left them open.
pub(super) fn of_types(declared: &[SqlType]) -> Parameters {
    Parameters::variable(declared.iter().map(|given| if *given == SqlType::Unknown { 0 } else { oid(given) }).collect())
}

/// The types that were found, `Unknown` for those that have no form here.
pub(super) fn types_of(parameters: &Parameters, declared: &[SqlType]) -> Vec<SqlType> {
    let types = parameters.types().iter().enumerate().map(|(at, found)| match declared.get(at) {
        Some(given) if *given != SqlType::Unknown => given.clone(),
        _ => of_oid(*found).unwrap_or(SqlType::Unknown),
    });
    types.collect()
}

/// Whether the binder says nothing of the statement: it does not know such ones, or was stopped.
fn is_not_of_the_statement(kind: ErrorKind) -> bool {
    kind == ErrorKind::Internal || is_of_circumstances(kind)
}

/// Whether an error is about what happened, rather than about the statement: whatever else is wrong with that stays unsaid.
fn is_of_circumstances(kind: ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::QueryCanceled
            | K::Shutdown
            | K::OutOfMemory
            | K::DiskFull
            | K::TemporaryFileLimit
            | K::StoreFailure
            | K::DataCorrupted
            | K::OutcomeUnknown
            | K::HalfCommitted
            | K::Throttled
            | K::SerializationFailure
            | K::TableMoved
            | K::StoredTableMissing
            | K::DeadlockDetected
            | K::LockNotAvailable
            | K::InsufficientPrivilege
            | K::ReadOnlyTransaction
            | K::InFailedTransaction
            | K::TooComplex
    )
}
