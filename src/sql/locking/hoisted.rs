//! Locking sub-queries: they run before the statement around them, which reads the rows they have locked.
//!
//! PostgreSQL locks rows while the statement runs. If a sub-query does not depend on the query around it, running it
//! first has the same effect. `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ... LIMIT 1 FOR UPDATE SKIP LOCKED)`
//! is the one that matters.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use sqlparser::ast::{Expr, ObjectNamePart, Query, SetExpr, TableFactor, TableWithJoins, Value, Visitor, VisitorMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::query::LockingQuery;
use crate::expr::parameter_number;
use crate::plan::{Planner, TableEntry, Tables, rows_as};
use crate::syntax::{Command, parse, parse_expression, walk, walk_mut};

/// The locking sub-queries of a statement.
pub(crate) struct LockingSubQueries {
    queries: Vec<LockingQuery>,
    /// What each of them is known as to the statement around them.
    names: Vec<String>,
}

impl LockingSubQueries {
    /// Takes them out of a statement; `None` when it has none. Gives the statement that reads their rows instead, and
    /// adds the types of the parameters in them to `declared`.
    ///
    /// # Errors
    /// As [`LockingQuery::prepare`]; 0A000 for one that depends on the query around it.
    pub(crate) async fn prepare(
        planner: &Planner<'_>,
        command: &Command,
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<Option<(Self, Command)>> {
        let Some((command, taken)) = take(command)? else { return Ok(None) };
        let mut sub_queries = Self { queries: Vec::new(), names: Vec::new() };
        for (index, query) in taken.iter().enumerate() {
            let prepared = LockingQuery::prepare(planner, query, declared).await.map_err(depends)?;
            declare(query, prepared.parameters(), declared);
            sub_queries.queries.push(prepared);
            sub_queries.names.push(name_of(index));
        }
        Ok(Some((sub_queries, command)))
    }

    pub(crate) fn queries(&self) -> &[LockingQuery] {
        &self.queries
    }

    /// The sub-queries as tables without rows, to plan with.
    ///
    /// # Errors
    /// None are expected: the rows have the columns of their sub-query.
    pub(crate) fn empty_tables(&self) -> SqlResult<Tables> {
        self.tables(self.queries.iter().map(|_| Vec::new()).collect())
    }

    /// The statement with the value of each sub-query that stands where one is wanted, and gave no more than one, in its
    /// place: a key that is compared with it can be looked up then, as in the next job of a queue.
    ///
    /// # Errors
    /// None are expected: what takes the places is written here.
    pub(crate) fn with_values(&self, command: &Command, rows: &[Vec<RecordBatch>]) -> SqlResult<Command> {
        let mut values = Vec::with_capacity(rows.len());
        for (query, rows) in self.queries.iter().zip(rows) {
            values.push(value_of(query, rows)?);
        }
        if values.iter().all(Option::is_none) {
            return Ok(command.clone());
        }
        let mut command = command.clone();
        let mut placed = Values { names: &self.names, values };
        let _ = match &mut command {
            Command::Query(query) => walk_mut(query, &mut placed),
            Command::Insert(insert) => walk_mut(&mut insert.insert, &mut placed),
            Command::Update(update) => walk_mut(update, &mut placed),
            Command::Delete(delete) => walk_mut(delete, &mut placed),
            Command::Merge(merge) => walk_mut(merge, &mut placed),
            _ => ControlFlow::Continue(()),
        };
        Ok(command)
    }

    /// The rows of each sub-query, in order, as tables for the statement around them.
    ///
    /// # Errors
    /// None are expected: the rows have the columns of their sub-query.
    pub(crate) fn tables(&self, rows: Vec<Vec<RecordBatch>>) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        for ((query, name), rows) in self.queries.iter().zip(&self.names).zip(rows) {
            let provider = rows_as(query.schema(), rows)?;
            tables.insert(name, TableEntry::of_provider(&format!("locked.{name}"), provider));
        }
        Ok(tables)
    }
}

impl LockingQuery {
    /// Its columns under the names that the query around it knows them by.
    fn schema(&self) -> SchemaRef {
        let planned = self.input().plan.schema();
        let named = planned.fields().iter().zip(self.columns.iter());
        let fields: Vec<_> =
            named.map(|(field, column)| field.as_ref().clone().with_name(&column.name).with_nullable(true)).collect();
        Arc::new(Schema::new(fields))
    }
}

/// A name that no client's identifier has.
fn name_of(index: usize) -> String {
    format!("\u{2}locked {index}")
}

/// The statement without its locking sub-queries, and those.
fn take(command: &Command) -> SqlResult<Option<(Command, Vec<Query>)>> {
    let mut finder = Finder { depth: usize::from(!matches!(command, Command::Query(_))) };
    let found = match command {
        Command::Query(query) => walk(query, &mut finder),
        Command::Insert(insert) => walk(&insert.insert, &mut finder),
        Command::Update(update) => walk(update, &mut finder),
        Command::Delete(delete) => walk(delete, &mut finder),
        Command::Merge(merge) => walk(merge, &mut finder),
        _ => ControlFlow::Continue(()),
    };
    if found.is_continue() {
        return Ok(None);
    }
    let mut command = command.clone();
    let mut taker = Taker { depth: usize::from(!matches!(command, Command::Query(_))), taken: Vec::new() };
    let taken = match &mut command {
        Command::Query(query) => walk_mut(query, &mut taker),
        Command::Insert(insert) => walk_mut(&mut insert.insert, &mut taker),
        Command::Update(update) => walk_mut(update, &mut taker),
        Command::Delete(delete) => walk_mut(delete, &mut taker),
        Command::Merge(merge) => walk_mut(merge, &mut taker),
        _ => ControlFlow::Continue(()),
    };
    match taken {
        ControlFlow::Continue(()) => Ok(Some((command, taker.taken))),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Looks for a locking clause below the statement's own.
struct Finder {
    /// Queries around the current one; a statement that is no query counts as one.
    depth: usize,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth > 0 && !query.locks.is_empty() {
            return ControlFlow::Break(());
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// Puts a table's name in the place of each locking sub-query.
struct Taker {
    depth: usize,
    taken: Vec<Query>,
}

impl VisitorMut for Taker {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if self.depth > 0 && !query.locks.is_empty() {
            let name = name_of(self.taken.len());
            match parse(&format!("SELECT * FROM \"{name}\"")).map(|mut parsed| parsed.pop().map(|s| s.command)) {
                Ok(Some(Command::Query(reading))) => self.taken.push(std::mem::replace(query, *reading)),
                Ok(_) => return ControlFlow::Break(SqlError::new(ErrorKind::Internal, "a table's name did not parse")),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// What a sub-query of one column gave, if that was at most one row, and of a type that keys mostly have.
fn value_of(query: &LockingQuery, rows: &[RecordBatch]) -> SqlResult<Option<Expr>> {
    let [column] = &*query.columns else { return Ok(None) };
    let mut found = rows.iter().filter(|batch| batch.num_rows() > 0);
    let (first, others) = (found.next(), found.next());
    let text = match (first, others) {
        (None, _) => None,
        (Some(batch), None) if batch.num_rows() == 1 => match ScalarValue::try_from_array(batch.column(0), 0)? {
            value if value.is_null() => None,
            ScalarValue::Utf8(Some(text)) => Some(text),
            value @ (ScalarValue::Int16(_) | ScalarValue::Int32(_) | ScalarValue::Int64(_)) => Some(value.to_string()),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if !matches!(column.sql_type, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Text) {
        return Ok(None);
    }
    let literal = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{}'", text.replace('\'', "''")));
    parse_expression(&format!("CAST({literal} AS {})", column.sql_type)).map(Some)
}

/// Puts values in the places of sub-queries that something is compared with. Elsewhere one may be what a column is named
/// after.
struct Values<'v> {
    names: &'v [String],
    values: Vec<Option<Expr>>,
}

impl Values<'_> {
    fn place(&self, expr: &mut Expr) {
        if let Expr::Subquery(query) = &*expr
            && let SetExpr::Select(select) = &*query.body
            && let [TableWithJoins { relation: TableFactor::Table { name, .. }, .. }] = select.from.as_slice()
            && let [ObjectNamePart::Identifier(name)] = name.0.as_slice()
            && let Some(at) = self.names.iter().position(|known| *known == name.value)
            && let Some(Some(value)) = self.values.get(at)
        {
            *expr = Expr::Nested(Box::new(value.clone()));
        }
    }
}

impl VisitorMut for Values<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { left, right, .. } = expr {
            self.place(left);
            self.place(right);
        }
        ControlFlow::Continue(())
    }
}

/// Adds the types of the parameters that a sub-query names.
fn declare(query: &Query, found: &[SqlType], declared: &mut Vec<SqlType>) {
    let mut named = Placeholders(Vec::new());
    let _ = walk(query, &mut named);
    for index in named.0 {
        if declared.len() <= index {
            declared.resize(index + 1, SqlType::Unknown);
        }
        if let Some(sql_type) = found.get(index)
            && declared[index] == SqlType::Unknown
        {
            declared[index] = sql_type.clone();
        }
    }
}

/// The parameters that are named, by their index from 0.
struct Placeholders(Vec<usize>);

impl Visitor for Placeholders {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Some(number) = parameter_number(name)
        {
            self.0.extend(number.checked_sub(1));
        }
        ControlFlow::Continue(())
    }
}

/// What a sub-query on its own does not know is most likely a name of the query around it.
fn depends(error: Box<SqlError>) -> Box<SqlError> {
    match error.kind {
        ErrorKind::UndefinedColumn | ErrorKind::UndefinedTable => {
            SqlError::not_supported("a locking clause in a sub-query that depends on the query around it")
                .with_detail(format!("On its own: {}.", error.message))
                .with_hint("Lock the rows in a statement of their own, or in a sub-query that stands for itself.")
        }
        _ => error,
    }
}
