//! Statements: queries, and what changes the rows of tables.
//!
//! ```text
//!     insert    INSERT; conflict: its ON CONFLICT
//!     change    UPDATE and DELETE
//!     assign    what columns are set to; given: which of them nobody may set
//!     merge     MERGE
//! ```

mod assign;
mod change;
mod conflict;
mod given;
mod insert;
mod merge;

use std::cell::RefCell;

use sqlparser::ast::{SetExpr, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;
use tablegate_types::style::Reading;

use crate::catalogue::{Catalogue, Lookup};
use crate::parameters::Parameters;
use crate::place::Source;
pub use crate::query::changes::{
    Assigned, BoundChange, BoundConflict, BoundMergeClause, BoundStatement, ChangeKind, InsertSource, MergeAction,
    Overriding,
};
use crate::query::{Context, Level, Parts, Purpose, Withs, bind_parts, bind_with};
use crate::scope::Scope;

/// How many things may be inside each other in a text.
const MOST_NESTING: usize = 150;

/// Binds statements against a catalogue.
pub struct StatementBinder<'c> {
    catalogue: &'c dyn Catalogue,
    source: Option<&'c Source<'c>>,
    reading: Reading,
    overriding: Overriding,
}

impl<'c> StatementBinder<'c> {
    pub fn new(catalogue: &'c dyn Catalogue) -> Self {
        Self { catalogue, source: None, reading: Reading::default(), overriding: Overriding::Nothing }
    }

    /// With the text that the syntax comes from, for the places in it.
    #[must_use]
    pub fn with_source(self, source: &'c Source<'c>) -> Self {
        Self { source: Some(source), ..self }
    }

    #[must_use]
    pub fn with_reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// What INSERT says about identity columns, which the syntax has no place for.
    #[must_use]
    pub fn with_overriding(self, overriding: Overriding) -> Self {
        Self { overriding, ..self }
    }

    /// What a statement means; the types of parameters are found on the way.
    ///
    /// # Errors
    /// PostgreSQL's, with their places.
    pub fn bind(&self, statement: &Statement, parameters: &mut Parameters) -> SqlResult<BoundStatement> {
        let chosen = RefCell::default();
        let context = Context {
            lookup: Lookup::new(self.catalogue),
            source: self.source,
            reading: self.reading,
            overriding: self.overriding,
            chosen: &chosen,
            bind_change,
        };
        let bound = analysed(context, statement, parameters)?;
        parameters.found()?;
        given::check(&bound)?;
        Ok(bound)
    }
}

/// What a statement's text means.
///
/// # Errors
/// PostgreSQL's, with their places; 42601 for what the parser does not read.
pub fn bind_statement(text: &str, catalogue: &dyn Catalogue, parameters: &mut Parameters) -> SqlResult<BoundStatement> {
    let statement = parse(text)?;
    let source = Source::new(text);
    StatementBinder::new(catalogue).with_source(&source).bind(&statement, parameters)
}

fn analysed(context: Context<'_>, statement: &Statement, parameters: &mut Parameters) -> SqlResult<BoundStatement> {
    let change = |bound: BoundChange| Ok(BoundStatement::Change(Box::new(bound)));
    let mut with_nothing = |kind: Kind<'_>| bind_kind(context, kind, None, (None, None), parameters);
    match statement {
        Statement::Query(query) => {
            let parts = Parts::of(query)?;
            if kind_of(parts.body).is_some() {
                return change(bind_change(context, &parts, None, None, parameters)?);
            }
            let purpose = Purpose { is_outermost: true, ..Purpose::default() };
            let bound = bind_parts(context, &parts, None, None, parameters, purpose)?;
            Ok(BoundStatement::Query(Box::new(bound)))
        }
        other => match kind_of_statement(other) {
            Some(kind) => change(with_nothing(kind)?),
            None => Err(SqlError::not_supported("this statement")),
        },
    }
}

/// A statement that changes rows.
#[derive(Clone, Copy)]
enum Kind<'a> {
    Insert(&'a sqlparser::ast::Insert),
    Update(&'a sqlparser::ast::Update),
    Delete(&'a sqlparser::ast::Delete),
    Merge(&'a sqlparser::ast::Merge),
}

fn kind_of_statement(statement: &Statement) -> Option<Kind<'_>> {
    match statement {
        Statement::Insert(insert) => Some(Kind::Insert(insert)),
        Statement::Update(update) => Some(Kind::Update(update)),
        Statement::Delete(delete) => Some(Kind::Delete(delete)),
        Statement::Merge(merge) => Some(Kind::Merge(merge)),
        _ => None,
    }
}

fn kind_of(body: &SetExpr) -> Option<Kind<'_>> {
    match body {
        SetExpr::Insert(statement)
        | SetExpr::Update(statement)
        | SetExpr::Delete(statement)
        | SetExpr::Merge(statement) => kind_of_statement(statement),
        _ => None,
    }
}

/// A change that stands where a query may: behind WITH, or in a part of it.
pub(crate) fn bind_change(
    context: Context<'_>,
    parts: &Parts<'_>,
    outer: Option<&Scope<'_>>,
    withs: Option<&Withs<'_>>,
    parameters: &mut Parameters,
) -> SqlResult<BoundChange> {
    match kind_of(parts.body) {
        Some(kind) => bind_kind(context, kind, parts.with, (outer, withs), parameters),
        None => Err(SqlError::new(ErrorKind::Internal, "a query is taken for a change")),
    }
}

fn bind_kind(
    context: Context<'_>,
    kind: Kind<'_>,
    with: Option<&sqlparser::ast::With>,
    (outer, withs): (Option<&Scope<'_>>, Option<&Withs<'_>>),
    parameters: &mut Parameters,
) -> SqlResult<BoundChange> {
    if matches!(kind, Kind::Merge(_)) && with.is_some_and(|with| with.recursive) {
        let message = "WITH RECURSIVE is not supported for MERGE statement";
        return Err(SqlError::new(ErrorKind::Syntax, message));
    }
    let bound_with = bind_with(context, with, (outer, withs), parameters, outer.is_none())?;
    let own = bound_with.seen(withs);
    let mut level = Level::new(context, outer, &own);
    level.parameters = std::mem::take(parameters);
    let done = match kind {
        Kind::Insert(insert) => level.insert(insert),
        Kind::Update(update) => level.update(update),
        Kind::Delete(delete) => level.delete(delete),
        Kind::Merge(merge) => level.merge_statement(merge),
    };
    *parameters = std::mem::take(&mut level.parameters);
    let bound = done?;
    Ok(BoundChange { with: bound_with.bound(), ..bound })
}

fn parse(text: &str) -> SqlResult<Statement> {
    let syntax = |message: String| SqlError::new(ErrorKind::Syntax, message);
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize_with_location()
        .map_err(|error| syntax(error.to_string()))?;
    let mut parser =
        Parser::new(&PostgreSqlDialect {}).with_recursion_limit(MOST_NESTING).with_tokens_with_locations(tokens);
    let mut statements = deeper(|| parser.parse_statements()).map_err(|error| match error {
        ParserError::RecursionLimitExceeded => SqlError::new(ErrorKind::TooComplex, "stack depth limit exceeded"),
        other => syntax(other.to_string()),
    })?;
    match (statements.pop(), statements.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(syntax("one statement is asked for".to_owned())),
    }
}

#[cfg(test)]
mod tests;
