//! Prepared statements by name: PREPARE, EXECUTE and DEALLOCATE, and those of the extended protocol.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use tablegate_bind::ParsedExpression;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::prepare::{Known, Prepared};
use super::{Position, Session};
use crate::handles::{ShownStatement, ShownStatements};
use crate::outcome::{CommandTag, Outcome};
use crate::syntax::dialect::prepare::PrepareCommand;
use crate::syntax::{ExecuteCommand, MadeRows, kept_weight, made_query};

/// So many statements of a session are kept in any case, if they are short: they count, and are not refused.
const ALWAYS_KEPT: usize = 16;
/// What such a one counts at most: its plan, and some fifty words.
const ALWAYS_KEPT_BYTES: usize = 64 << 10;

/// A statement with a name.
pub struct NamedStatement {
    /// `None` for an empty query text, which only the protocol prepares.
    pub prepared: Option<Arc<Prepared>>,
    /// The OIDs that a client gave for its parameters, 0 where it left one open.
    pub declared_oids: Vec<u32>,
}

/// The prepared statements of a session.
#[derive(Default)]
pub struct NamedStatements {
    by_name: HashMap<String, Kept>,
    shown: ShownStatements,
}

struct Kept {
    statement: Arc<NamedStatement>,
    /// What it takes of the memory of queries. That without a name is not counted: each session has one.
    _memory: Option<MemoryReservation>,
}

impl NamedStatements {
    /// # Errors
    /// 26000 when there is none.
    pub fn get(&self, name: &str) -> SqlResult<Arc<NamedStatement>> {
        self.by_name.get(name).map(|kept| kept.statement.clone()).ok_or_else(|| unknown(name))
    }

    /// # Errors
    /// 42P05 when there is one of this name.
    pub fn check_free(&self, name: &str) -> SqlResult<()> {
        if self.by_name.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(ErrorKind::DuplicateStatement, message));
        }
        Ok(())
    }

    /// Keeps a statement; `now` are microseconds since 1970-01-01, `text` the command if it was PREPARE.
    pub(super) fn insert(
        &mut self,
        name: String,
        statement: NamedStatement,
        now: i64,
        text: Option<&str>,
        memory: Option<MemoryReservation>,
    ) {
        // That without a name is not shown.
        if let Some(prepared) = statement.prepared.as_ref().filter(|_| !name.is_empty()) {
            let shown = ShownStatement {
                text: text.unwrap_or(&prepared.statement().text).to_owned(),
                prepared_at: now,
                parameters: prepared.parameters.clone(),
                from_sql: text.is_some(),
            };
            self.shown.change(|statements| statements.insert(name.clone(), shown));
        }
        self.by_name.insert(name, Kept { statement: Arc::new(statement), _memory: memory });
    }

    /// As the catalogue shows them.
    pub(super) fn shown(&self) -> &ShownStatements {
        &self.shown
    }

    /// Forgets a statement; false when there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.shown.change(|statements| statements.remove(name));
        self.by_name.remove(name).is_some()
    }

    pub fn clear(&mut self) {
        self.shown.change(std::collections::BTreeMap::clear);
        self.by_name.clear();
    }

    /// A statement that EXECUTE can run, and its plan.
    pub(super) fn planned(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        self.get(name)?.prepared.clone().ok_or_else(|| {
            SqlError::new(ErrorKind::UndefinedStatement, format!("prepared statement \"{name}\" is empty"))
        })
    }
}

impl Session {
    pub(super) async fn run_prepare(&mut self, command: &PrepareCommand, text: &str) -> SqlResult<Outcome> {
        self.statements.check_free(&command.name)?;
        let memory = self.memory_of_statement(text)?;
        let known = Known { settings: &self.settings, cursors: &self.cursors, statements: &self.statements };
        let planner = self.planner();
        let planned = Prepared::prepare(&planner, command.statement.clone(), &command.types, &known);
        let prepared = Some(Arc::new(Box::pin(planned).await?));
        let now = self.engine.now().unix_micros();
        let statement = NamedStatement { prepared, declared_oids: Vec::new() };
        self.statements.insert(command.name.clone(), statement, now, Some(text), Some(memory));
        Ok(Outcome::Done(CommandTag::Plain("PREPARE")))
    }

    /// What a statement that is kept takes of the memory. The first few short ones of a session are kept also when others have
    /// taken all of it: reads by key are prepared.
    ///
    /// # Errors
    /// 53200 when there is no more of it.
    pub(super) fn memory_of_statement(&self, text: &str) -> SqlResult<MemoryReservation> {
        let memory = self.engine.memory("prepared statements");
        let weight = kept_weight(text);
        if self.statements.by_name.len() < ALWAYS_KEPT && weight <= ALWAYS_KEPT_BYTES {
            memory.grow(weight);
            return Ok(memory);
        }
        match memory.try_grow(weight) {
            Ok(()) => Ok(memory),
            Err(_exhausted) => Err(SqlError::new(ErrorKind::OutOfMemory, "out of the query memory limit")
                .with_detail("Prepared statements are kept with their plans.")
                .with_hint("DEALLOCATE those that are no longer needed, or raise the limit with --query-memory.")),
        }
    }

    pub(super) async fn run_execute(&mut self, command: &ExecuteCommand, position: Position) -> SqlResult<Outcome> {
        let (prepared, values) = self.executed(command).await?;
        Box::pin(self.run(&prepared, &values, position)).await
    }

    /// What EXECUTE runs, and with which values.
    ///
    /// # Errors
    /// 26000 for an unknown statement, 42601 for a wrong number of arguments, and what is wrong with them.
    pub(super) async fn executed(&self, command: &ExecuteCommand) -> SqlResult<(Arc<Prepared>, Vec<ScalarValue>)> {
        let prepared = self.statements.planned(&command.name)?;
        let (given, wanted) = (command.arguments.len(), prepared.parameters.len());
        if given != wanted {
            let message = format!("wrong number of parameters for prepared statement \"{}\"", command.name);
            return Err(SqlError::new(ErrorKind::Syntax, message)
                .with_detail(format!("Expected {wanted} parameters but got {given}.")));
        }
        let values = self.values_of(&command.arguments, &prepared.parameters).await?;
        Ok((prepared, values))
    }

    pub(super) fn run_deallocate(&mut self, name: Option<&str>) -> SqlResult<Outcome> {
        let Some(name) = name else {
            self.statements.clear();
            return Ok(Outcome::Done(CommandTag::Plain("DEALLOCATE ALL")));
        };
        if !self.statements.remove(name) {
            return Err(unknown(name));
        }
        Ok(Outcome::Done(CommandTag::Plain("DEALLOCATE")))
    }

    /// The arguments of EXECUTE as values of the parameters' types.
    async fn values_of(&self, arguments: &[ParsedExpression], types: &[SqlType]) -> SqlResult<Vec<ScalarValue>> {
        if arguments.is_empty() {
            return Ok(Vec::new());
        }
        let planner = self.planner();
        let query = made_query(arguments.iter().cloned(), MadeRows::default());
        let planned = planner.plan(&query, &[]).await?;
        let mut rows = planner.run(&planned, &[]).await?;
        let row: Option<RecordBatch> = rows.next().await.transpose()?;
        let row = row.ok_or_else(|| SqlError::new(ErrorKind::Internal, "the arguments of EXECUTE gave no row"))?;
        let mut values = Vec::with_capacity(arguments.len());
        for (index, ((argument, column), to)) in arguments.iter().zip(planned.columns.iter()).zip(types).enumerate() {
            let value =
                assigned(row.column(index), &column.sql_type, to, argument.is_untyped(), index + 1, planner.reading())?;
            values.push(ScalarValue::try_from_array(&value, 0)?);
        }
        Ok(values)
    }
}

/// A value of one row, cast as PostgreSQL casts on assignment.
fn assigned(
    value: &ArrayRef,
    from: &SqlType,
    to: &SqlType,
    untyped: bool,
    number: usize,
    reading: Reading,
) -> SqlResult<ArrayRef> {
    edm::assign_as(value, from, to, untyped, reading).map_err(|error| {
        if error.kind != ErrorKind::DatatypeMismatch {
            return error;
        }
        let message = format!("parameter ${number} of type {from} cannot be coerced to the expected type {to}");
        SqlError::new(ErrorKind::DatatypeMismatch, message)
            .with_hint("You will need to rewrite or cast the expression.")
    })
}

fn unknown(name: &str) -> Box<SqlError> {
    let message = if name.is_empty() {
        "unnamed prepared statement does not exist".to_owned()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    SqlError::new(ErrorKind::UndefinedStatement, message)
}
