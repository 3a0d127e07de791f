//! Running SELECT ... FOR UPDATE, alone and inside of other statements.

use datafusion::common::ScalarValue;
use futures::stream;
use sqlparser::ast::Query;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::change::{RUNS_MAX, too_many_conflicts};
use super::prepare::{Plan, Prepared, plan};
use super::run::plan_changed;
use super::{Position, Session};
use crate::locking::{LockedRows, LockingQuery, LockingSubQueries};
use crate::outcome::{Outcome, Rows, RowsTag};
use crate::plan::{Planner, Tables};
use crate::syntax::Command;
use crate::tx::{Claims, TableMode};

/// A statement with locking sub-queries, which run before it.
pub(super) struct LockingStatement {
    pub sub_queries: LockingSubQueries,
    /// The statement that reads their rows instead.
    pub command: Command,
    /// Its plan, made without any rows.
    pub plan: Plan,
    pub declared: Vec<SqlType>,
}

impl LockingStatement {
    /// `None` when there are no such sub-queries.
    ///
    /// # Errors
    /// The errors of planning the statement or its sub-queries.
    pub async fn prepare(planner: &Planner<'_>, command: &Command, declared: &[SqlType]) -> SqlResult<Option<Self>> {
        let mut declared = declared.to_vec();
        let taken = LockingSubQueries::prepare(planner, command, &mut declared).await?;
        let Some((sub_queries, command)) = taken else { return Ok(None) };
        let around = planner.clone().with(sub_queries.empty_tables()?);
        let plan = Box::pin(plan(&around, &command, &declared)).await?;
        Ok(Some(Self { sub_queries, command, plan, declared }))
    }
}

impl Session {
    /// A query with a locking clause of its own.
    pub(super) async fn run_locking(
        &mut self,
        command: &Command,
        declared: &[SqlType],
        query: &LockingQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<Outcome> {
        let Command::Query(text) = command else { return Err(not_a_query()) };
        self.lock_rows(query, text, declared, parameters, Tables::default()).await
    }

    /// A statement with locking sub-queries.
    pub(super) async fn run_locking_statement(
        &mut self,
        prepared: &Prepared,
        statement: &LockingStatement,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &statement.plan {
            Plan::Dml(dml) => self.run_dml(prepared, dml, Some(statement), parameters, position).await,
            Plan::Query(described) => {
                let given = self.lock_sub_queries_until_done(statement, parameters).await?;
                let planner = self.planner().with(given);
                let Plan::Query(fresh) = plan(&planner, &statement.command, &statement.declared).await? else {
                    return Err(not_a_query());
                };
                super::run::check_same_shape(described, &fresh)?;
                let stream = planner.run(&fresh, parameters).await?;
                Ok(Outcome::Rows(Rows { columns: described.columns.clone(), stream, tag: RowsTag::Select }))
            }
            Plan::Locking(query) => {
                let given = self.lock_sub_queries_until_done(statement, parameters).await?;
                let Command::Query(text) = &statement.command else { return Err(not_a_query()) };
                self.lock_rows(query, text, &statement.declared, parameters, given).await
            }
            Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => Err(not_a_query()),
        }
    }

    /// Locks the rows of a query, and gives them as they are then.
    async fn lock_rows(
        &mut self,
        described: &LockingQuery,
        text: &Query,
        declared: &[SqlType],
        parameters: &[ScalarValue],
        given: Tables,
    ) -> SqlResult<Outcome> {
        self.check_writable(described.command())?;
        for _ in 0..RUNS_MAX {
            for relation in described.relations() {
                let mode = if described.locks(relation) { TableMode::RowShare } else { TableMode::AccessShare };
                self.lock_table(relation, mode).await?;
            }
            let engine = self.engine.clone();
            let planner = self.planner_of(&engine, self.reads()).with(given.clone());
            let fresh = if planner.is_current(described.input()).await? {
                None
            } else {
                let fresh = LockingQuery::prepare(&planner, text, declared).await?;
                if fresh.columns != described.columns {
                    return Err(plan_changed());
                }
                Some(fresh)
            };
            let query = fresh.as_ref().unwrap_or(described);
            if let LockedRows::Rows(rows) = query.lock(&planner, parameters, self.transaction.claims_mut()).await? {
                let stream = Box::pin(stream::iter(rows.into_iter().map(Ok)));
                return Ok(Outcome::Rows(Rows { columns: described.columns.clone(), stream, tag: RowsTag::Select }));
            }
            tokio::task::yield_now().await;
        }
        Err(too_many_conflicts())
    }

    async fn lock_sub_queries_until_done(
        &mut self,
        statement: &LockingStatement,
        parameters: &[ScalarValue],
    ) -> SqlResult<Tables> {
        for _ in 0..RUNS_MAX {
            if let Some(tables) = self.lock_sub_queries(statement, parameters, None).await? {
                return Ok(tables);
            }
            tokio::task::yield_now().await;
        }
        Err(too_many_conflicts())
    }

    /// Locks the rows of a statement's sub-queries, for the transaction or for a statement on its own. `None` when one
    /// met a change and all are to be run again.
    pub(super) async fn lock_sub_queries(
        &mut self,
        statement: &LockingStatement,
        parameters: &[ScalarValue],
        own: Option<&mut Claims>,
    ) -> SqlResult<Option<Tables>> {
        for query in statement.sub_queries.queries() {
            self.check_writable(query.command())?;
        }
        let engine = self.engine.clone();
        let planner = self.planner_of(&engine, self.reads());
        let claims = own.unwrap_or_else(|| self.transaction.claims_mut());
        let mut rows = Vec::new();
        for query in statement.sub_queries.queries() {
            for relation in query.relations() {
                claims.lock_table(relation, TableMode::RowShare).await?;
                if !planner.is_unchanged(relation).await? {
                    return Err(plan_changed());
                }
            }
            match query.lock(&planner, parameters, claims).await? {
                LockedRows::Rows(locked) => rows.push(locked),
                LockedRows::Conflict => return Ok(None),
            }
        }
        statement.sub_queries.tables(rows).map(Some)
    }
}

fn not_a_query() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "a locking statement was planned as something else")
}
