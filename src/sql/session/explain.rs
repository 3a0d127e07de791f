//! EXPLAIN: the plan of a statement, or with ANALYZE what running it cost.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::ScalarValue;
use datafusion::execution::SessionState;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::change::Change;
use super::measure::Extent;
use super::prepare::{Plan, plan};
use super::show::{text_column, text_rows};
use super::{Position, Session};
use crate::catalog::duplicate_table;
use crate::dml::{Outline, PreparedDml};
use crate::explain::{Doing, ExplainFormat, ExplainOptions, Shown, Times, render, render_nothing};
use crate::locking::LockingQuery;
use crate::observe::SeenStatement;
use crate::outcome::{Outcome, ResultColumn, RowsTag};
use crate::plan::PlannedQuery;
use crate::reads::Reads;
use crate::settings::parse_bool;
use crate::syntax::dialect::create_as::CreateAsCommand;
use crate::syntax::dialect::cursor::CursorCommand;
use crate::syntax::dialect::explain::ExplainOption;
use crate::syntax::{Command, ExecuteCommand, ExplainCommand, Statement};

/// EXPLAIN's one column.
///
/// # Errors
/// 42601 for an unknown option.
pub(super) fn columns(explain: &ExplainCommand) -> SqlResult<Arc<[ResultColumn]>> {
    let sql_type = match options(explain)?.format {
        ExplainFormat::Json => SqlType::Json,
        // There is no type of XML here: it is the same text.
        ExplainFormat::Text | ExplainFormat::Xml | ExplainFormat::Yaml => SqlType::Text,
    };
    Ok(Arc::new([ResultColumn { sql_type, ..text_column("QUERY PLAN") }]))
}

/// A statement with its plan, as it is explained.
#[derive(Clone, Copy)]
struct Explained<'e> {
    /// When planning began.
    began: Instant,
    plan: &'e Plan,
    statement: &'e Statement,
    declared: &'e [SqlType],
    parameters: &'e [ScalarValue],
}

impl Session {
    pub(super) async fn run_explain(
        &mut self,
        explain: &ExplainCommand,
        parameters: &[ScalarValue],
        declared: &[SqlType],
        position: Position,
    ) -> SqlResult<Outcome> {
        let options = options(explain)?;
        let inner = &explain.inner;
        let lines = match &inner.command {
            Command::Execute(execute) => self.explain_execute(execute, position, &options).await?,
            Command::CreateTableAs(create) => {
                self.explain_create_as(create, (declared, parameters), position, &options).await?
            }
            Command::Cursor(CursorCommand::Declare(declare)) => {
                self.check_privileges(&declare.query.command).await?;
                let began = Instant::now();
                let (plan, _) = plan(&self.planner(), &declare.query, declared).await?;
                let explained = Explained { began, plan: &plan, statement: &declare.query, declared, parameters };
                self.explain_plan(&explained, position, &options).await?
            }
            _ => {
                let began = Instant::now();
                let (plan, _) = plan(&self.planner(), inner, declared).await?;
                let explained = Explained { began, plan: &plan, statement: inner, declared, parameters };
                self.explain_plan(&explained, position, &options).await?
            }
        };
        let rows = lines.into_iter().map(|line| vec![line]).collect();
        text_rows(columns(explain)?, rows, RowsTag::Explain)
    }

    async fn explain_plan(
        &mut self,
        explained: &Explained<'_>,
        position: Position,
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let Explained { began, plan, parameters, .. } = *explained;
        match plan {
            Plan::Query(query) => self.explain_query(began, query, parameters, options).await,
            Plan::Dml(dml) => self.explain_dml(dml, explained, position, options).await,
            Plan::Locking(query) => self.explain_locking(query, explained, options).await,
            Plan::LockingStatement(_) => {
                Err(SqlError::not_supported("EXPLAIN of a statement with a locking sub-query")
                    .with_hint("Leave the locking clause out to see the plan."))
            }
            Plan::Declare(_) | Plan::Utility => Err(SqlError::not_supported("EXPLAIN of this statement")
                .with_hint("EXPLAIN takes SELECT, INSERT, UPDATE, DELETE and MERGE.")),
        }
    }

    /// The plan of a prepared statement, with these arguments.
    async fn explain_execute(
        &mut self,
        execute: &ExecuteCommand,
        position: Position,
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let (prepared, values) = self.executed(execute).await?;
        let statement = prepared.statement();
        self.check_privileges(&statement.command).await?;
        let declared = &prepared.parameters;
        let began = Instant::now();
        let (plan, _) = Box::pin(plan(&self.planner(), statement, declared)).await?;
        let explained = Explained { began, plan: &plan, statement, declared, parameters: &values };
        self.explain_plan(&explained, position, options).await
    }

    /// What a new table is filled from; with ANALYZE it is made, as in PostgreSQL.
    async fn explain_create_as(
        &mut self,
        create: &CreateAsCommand,
        (declared, parameters): (&[SqlType], &[ScalarValue]),
        position: Position,
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let name = self.name_to_make(&create.table.name, create.table.temporary)?;
        if self.is_taken(&name).await? {
            if !create.table.if_not_exists {
                return Err(duplicate_table(&name.name));
            }
            self.notice(
                Notice::info(format!("relation \"{}\" already exists, skipping", name.name))
                    .of_kind(ErrorKind::DuplicateTable),
            );
            return Ok(render_nothing("CREATE TABLE AS", options));
        }
        let began = Instant::now();
        let planner = self.planner();
        let query = planner.plan(&create.query, declared).await?;
        let (state, physical) = planner.physical(&query, parameters).await?;
        let mut times = Times { planning: began.elapsed(), execution: None };
        if options.analyze {
            let started = Instant::now();
            Box::pin(self.create_table_as(create, (declared, parameters), position)).await?;
            times.execution = Some(started.elapsed());
        }
        Ok(render(Shown::of(physical, reads(&state), false), times, &not_counted(options)))
    }

    async fn explain_query(
        &self,
        began: Instant,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let planner = self.planner();
        let is_direct = options.verbose && planner.is_read_directly(query, parameters)?;
        let (state, mut physical) = planner.physical(query, parameters).await?;
        let mut times = Times { planning: began.elapsed(), execution: None };
        if options.analyze {
            let started = Instant::now();
            physical = planner.analyze(&state, &physical).await?;
            times.execution = Some(started.elapsed());
        }
        Ok(render(Shown::of(physical, reads(&state), is_direct), times, options))
    }

    /// What a locking query reads; with ANALYZE its rows are locked, as in PostgreSQL.
    async fn explain_locking(
        &mut self,
        query: &LockingQuery,
        explained: &Explained<'_>,
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let Explained { began, statement, declared, parameters, .. } = *explained;
        let (state, physical) = self.planner().physical(query.input(), parameters).await?;
        let mut times = Times { planning: began.elapsed(), execution: None };
        if options.analyze {
            let started = Instant::now();
            self.run_locking(&statement.command, declared, query, parameters).await?;
            times.execution = Some(started.elapsed());
        }
        let shown = Shown { doing: Some(Doing::Locks), ..Shown::of(physical, reads(&state), false) };
        Ok(render(shown, times, &not_counted(options)))
    }

    /// The rows a change reads. What its own run reads is not counted: the plan is printed as planned.
    async fn explain_dml(
        &mut self,
        dml: &PreparedDml,
        explained: &Explained<'_>,
        position: Position,
        options: &ExplainOptions,
    ) -> SqlResult<Vec<String>> {
        let Explained { began, statement, declared, parameters, .. } = *explained;
        let mut shown = self.shown(dml.outline(), parameters).await?;
        let mut times = Times { planning: began.elapsed(), execution: None };
        if options.analyze {
            let started = Instant::now();
            self.extent = Some(Extent::default());
            let done = self.explain_change(dml, statement, declared, parameters, position).await;
            let extent = self.extent.take().unwrap_or_default();
            done?;
            times.execution = Some(started.elapsed());
            // What a block writes is committed with all of it.
            if !self.transaction.is_open() {
                shown.committed = Some((extent.egts, extent.partitions));
            }
        }
        Ok(render(shown, times, &not_counted(options)))
    }

    /// The physical plans of a statement's queries.
    async fn shown(&self, outline: Outline<'_>, parameters: &[ScalarValue]) -> SqlResult<Shown> {
        let mut shown = match outline.query {
            Some(query) => {
                let (state, physical) = self.planner().physical(query, parameters).await?;
                Shown::of(physical, reads(&state), false)
            }
            None => Shown::default(),
        };
        shown.doing = outline.change.map(|(operation, relation)| Doing::Changes { operation, relation });
        for (name, part) in outline.parts {
            shown.parts.push((format!("CTE {name}"), Box::pin(self.shown(part, parameters)).await?));
        }
        Ok(shown)
    }

    /// EXPLAIN ANALYZE of a change carries it out, as in PostgreSQL.
    async fn explain_change(
        &mut self,
        dml: &PreparedDml,
        statement: &Statement,
        declared: &[SqlType],
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<()> {
        self.check_writable(super::run::command_name(&statement.command))?;
        self.start_statement(|| Arc::new(SeenStatement::new(&statement.text))).await?;
        let change = Change { dml, command: &statement.command, declared, around: None, current_in: None };
        self.change(&change, parameters, position).await.map(|_| ())
    }
}

/// What a query would read from.
fn reads(state: &SessionState) -> Option<Arc<Reads>> {
    state.config().get_extension::<Reads>()
}

/// Where the run that is analyzed is not that of the plan that is printed.
fn not_counted(options: &ExplainOptions) -> ExplainOptions {
    let summary = options.summary.or(Some(options.analyze));
    ExplainOptions { analyze: false, summary, ..options.clone() }
}

/// Reads `ANALYZE`, `VERBOSE` and the options in parentheses.
fn options(explain: &ExplainCommand) -> SqlResult<ExplainOptions> {
    let mut found = ExplainOptions { analyze: explain.analyze, verbose: explain.verbose, ..ExplainOptions::default() };
    for option in &explain.options {
        match option.name.as_str() {
            "analyze" => found.analyze = flag(option)?,
            "verbose" => found.verbose = flag(option)?,
            "timing" => found.timing = flag(option)?,
            "summary" => found.summary = Some(flag(option)?),
            "costs" => found.costs = flag(option)?,
            "buffers" | "wal" | "settings" => {
                flag(option)?;
            }
            "format" => found.format = format(option)?,
            name => {
                return Err(SqlError::new(ErrorKind::Syntax, format!("unrecognized EXPLAIN option \"{name}\"")));
            }
        }
    }
    Ok(found)
}

fn flag(option: &ExplainOption) -> SqlResult<bool> {
    let Some(text) = &option.value else { return Ok(true) };
    parse_bool(text)
        .ok_or_else(|| SqlError::new(ErrorKind::Syntax, format!("{} requires a Boolean value", option.name)))
}

fn format(option: &ExplainOption) -> SqlResult<ExplainFormat> {
    match option.value.as_deref().unwrap_or_default().to_ascii_lowercase().as_str() {
        "text" => Ok(ExplainFormat::Text),
        "json" => Ok(ExplainFormat::Json),
        "xml" => Ok(ExplainFormat::Xml),
        "yaml" => Ok(ExplainFormat::Yaml),
        other => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(SqlError::new(ErrorKind::InvalidParameterValue, message))
        }
    }
}
