//! Statements: queries, and what changes the rows of tables.
//!
//! ```text
//!     insert    INSERT; conflict: its ON CONFLICT
//!     change    UPDATE and DELETE
//!     assign    what columns are set to; item: parts of them; given: which of them nobody may set
//!     merge     MERGE
//! ```

mod assign;
mod change;
mod conflict;
mod given;
mod insert;
mod item;
mod merge;

use std::cell::RefCell;

use sqlparser::ast::{Delete, Insert, Merge, Query, SetExpr, Statement, Update};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;
use tablegate_types::style::Reading;

pub use self::item::{ITEM, item_parts};
pub use self::merge::{DEFAULT_VALUES, DO_NOTHING};
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
    pub fn bind(&self, syntax: Syntax<'_>, parameters: &mut Parameters) -> SqlResult<BoundStatement> {
        let noted = RefCell::default();
        let context = Context {
            lookup: Lookup::new(self.catalogue),
            source: self.source,
            reading: self.reading,
            overriding: self.overriding,
            noted: &noted,
            bind_change,
        };
        let bound = analysed(context, syntax, parameters)?;
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
    let Some(syntax) = Syntax::of(&statement) else { return Err(SqlError::not_supported("this statement")) };
    StatementBinder::new(catalogue).with_source(&source).bind(syntax, parameters)
}

fn analysed(context: Context<'_>, syntax: Syntax<'_>, parameters: &mut Parameters) -> SqlResult<BoundStatement> {
    let change = |bound: BoundChange| Ok(BoundStatement::Change(Box::new(bound)));
    let Syntax::Query(query) = syntax else {
        return change(bind_kind(context, syntax, None, (None, None), parameters)?);
    };
    let parts = Parts::of(query)?;
    if kind_of(parts.body).is_some() {
        return change(bind_change(context, &parts, None, None, parameters)?);
    }
    let purpose = Purpose { is_outermost: true, ..Purpose::default() };
    let bound = bind_parts(context, &parts, None, None, parameters, purpose)?;
    Ok(BoundStatement::Query(Box::new(bound)))
}

/// The syntax of a statement that is bound.
#[derive(Clone, Copy)]
pub enum Syntax<'a> {
    Query(&'a Query),
    Insert(&'a Insert),
    Update(&'a Update),
    Delete(&'a Delete),
    Merge(&'a Merge),
}

impl<'a> Syntax<'a> {
    /// That of a statement; `None` where it is no query and changes no rows.
    pub fn of(statement: &'a Statement) -> Option<Self> {
        match statement {
            Statement::Query(query) => Some(Syntax::Query(query)),
            Statement::Insert(insert) => Some(Syntax::Insert(insert)),
            Statement::Update(update) => Some(Syntax::Update(update)),
            Statement::Delete(delete) => Some(Syntax::Delete(delete)),
            Statement::Merge(merge) => Some(Syntax::Merge(merge)),
            _ => None,
        }
    }
}

/// A change of rows that stands where a query may.
fn kind_of(body: &SetExpr) -> Option<Syntax<'_>> {
    match body {
        SetExpr::Insert(statement)
        | SetExpr::Update(statement)
        | SetExpr::Delete(statement)
        | SetExpr::Merge(statement) => Syntax::of(statement),
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
    syntax: Syntax<'_>,
    with: Option<&sqlparser::ast::With>,
    (outer, withs): (Option<&Scope<'_>>, Option<&Withs<'_>>),
    parameters: &mut Parameters,
) -> SqlResult<BoundChange> {
    if matches!(syntax, Syntax::Merge(_)) && with.is_some_and(|with| with.recursive) {
        let message = "WITH RECURSIVE is not supported for MERGE statement";
        return Err(SqlError::new(ErrorKind::Syntax, message));
    }
    let bound_with = bind_with(context, with, (outer, withs), parameters, outer.is_none())?;
    let own = bound_with.seen(withs);
    let mut level = Level::new(context, outer, &own);
    level.parameters = std::mem::take(parameters);
    let done = match syntax {
        Syntax::Query(_) => Err(SqlError::new(ErrorKind::Internal, "a query is taken for a change")),
        Syntax::Insert(insert) => level.insert(insert),
        Syntax::Update(update) => level.update(update),
        Syntax::Delete(delete) => level.delete(delete),
        Syntax::Merge(merge) => level.merge_statement(merge),
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
