//! Running SELECT ... FOR UPDATE, alone and inside of other statements.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use futures::stream;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::privileges::Privileges;
use tablegate_types::sql_type::SqlType;

use super::prepare::{Plan, Prepared, plan, plan_meant};
use super::run::plan_changed;
use super::{Position, Session};
use crate::locking::{LockedRows, LockingQuery, LockingSubQueries};
use crate::outcome::{Outcome, Rows, RowsTag};
use crate::plan::{Meant, MeantQuery, Planner, Tables};
use crate::reads::Reads;
use crate::syntax::{Command, TableMode};
use crate::tx::Claims;

/// A statement with locking sub-queries, which run before it.
pub(super) struct LockingStatement {
    pub sub_queries: LockingSubQueries,
    /// What the statement means that reads their rows instead.
    pub meant: Meant,
    /// Its plan, made without any rows.
    pub plan: Plan,
    pub declared: Vec<SqlType>,
}

impl LockingStatement {
    /// What the statement means comes back when there are no such sub-queries.
    ///
    /// # Errors
    /// The errors of planning the statement or its sub-queries.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        command: &Command,
        mut meant: Meant,
        declared: &[SqlType],
    ) -> SqlResult<Result<Self, Meant>> {
        let taken = LockingSubQueries::take(planner, command, &mut meant, declared).await?;
        let Some(sub_queries) = taken else { return Ok(Err(meant)) };
        let around = planner.clone().with(sub_queries.empty_tables()?);
        let plan = Box::pin(plan_meant(&around, command, declared, Some(meant.clone()))).await?;
        Ok(Ok(Self { sub_queries, meant, plan, declared: declared.to_vec() }))
    }

    /// Whether its tables and views are those that it was bound with.
    ///
    /// # Errors
    /// 0A000 when they are not.
    pub(super) async fn check_current(&self, planner: &Planner<'_>) -> SqlResult<()> {
        match self.is_current(planner).await? {
            true => Ok(()),
            false => Err(plan_changed()),
        }
    }

    async fn is_current(&self, planner: &Planner<'_>) -> SqlResult<bool> {
        let (targets, around) = match &self.plan {
            Plan::Query(query) => (Vec::new(), vec![&**query]),
            Plan::Locking(query) => (Vec::new(), vec![query.input()]),
            Plan::Dml(dml) => (dml.targets(), dml.inputs()),
            Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => return Err(not_a_query()),
        };
        let queries = self.sub_queries.queries().iter().map(LockingQuery::input).chain(around);
        let mut relations = targets;
        for query in queries {
            relations.extend(&query.relations);
            if !query.views.iter().all(|view| planner.has_view(view)) {
                return Ok(false);
            }
        }
        for relation in relations {
            if !planner.is_same(relation).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Session {
    /// The statement bound and planned anew, where its tables or views have changed.
    async fn fresh_locking_statement(
        &self,
        prepared: &Prepared,
        statement: &LockingStatement,
    ) -> SqlResult<Option<Box<LockingStatement>>> {
        let planner = self.planner();
        if statement.is_current(&planner).await? {
            return Ok(None);
        }
        let (plan, _) = Box::pin(plan(&planner, &prepared.statement, &prepared.declared)).await?;
        match plan {
            Plan::LockingStatement(fresh) if fresh.plan.has_shape_of(&statement.plan) => Ok(Some(fresh)),
            _ => Err(plan_changed()),
        }
    }

    /// A query with a locking clause of its own.
    pub(super) async fn run_locking(
        &mut self,
        command: &Command,
        declared: &[SqlType],
        query: &LockingQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<Outcome> {
        self.check_writable(query.command())?;
        self.check_may_lock(query)?;
        lock_tables(query, self.transaction.claims_mut()).await?;
        let reads = self.reads();
        self.lock_rows(query, (command, None, declared), parameters, reads, Tables::default()).await
    }

    /// A statement with locking sub-queries.
    pub(super) async fn run_locking_statement(
        &mut self,
        prepared: &Prepared,
        statement: &LockingStatement,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        let fresh = Box::pin(self.fresh_locking_statement(prepared, statement)).await?;
        let statement = fresh.as_deref().unwrap_or(statement);
        let command = &prepared.statement.command;
        match &statement.plan {
            Plan::Dml(dml) => self.run_dml(prepared, dml, Some(statement), parameters, position).await,
            Plan::Query(described) => {
                self.lock_tables_of_sub_queries(statement, None).await?;
                let reads = self.reads();
                let given = self.lock_sub_queries(statement, parameters, &reads, None).await?;
                let planner = self.planner_on(reads).with(given);
                let meant = Some(statement.meant.clone());
                let Plan::Query(fresh) = plan_meant(&planner, command, &statement.declared, meant).await? else {
                    return Err(not_a_query());
                };
                super::run::check_same_shape(described, &fresh)?;
                let stream = planner.run(&fresh, parameters).await?;
                Ok(Outcome::Rows(Rows { columns: described.columns.clone(), stream, tag: RowsTag::Select }))
            }
            Plan::Locking(query) => {
                let Meant::Query(meant) = statement.meant.clone() else { return Err(not_a_query()) };
                self.check_writable(query.command())?;
                self.check_may_lock(query)?;
                lock_tables(query, self.transaction.claims_mut()).await?;
                self.lock_tables_of_sub_queries(statement, None).await?;
                let reads = self.reads();
                let given = self.lock_sub_queries(statement, parameters, &reads, None).await?;
                self.lock_rows(query, (command, Some(*meant), &statement.declared), parameters, reads, given).await
            }
            Plan::LockingStatement(_) | Plan::Declare(_) | Plan::Utility => Err(not_a_query()),
        }
    }

    /// Locks the rows of a query whose tables are locked, and gives them as they are then.
    async fn lock_rows(
        &mut self,
        described: &LockingQuery,
        (command, meant, declared): (&Command, Option<MeantQuery>, &[SqlType]),
        parameters: &[ScalarValue],
        reads: Arc<Reads>,
        given: Tables,
    ) -> SqlResult<Outcome> {
        let engine = self.engine.clone();
        let planner = self.planner_of(&engine, reads).with(given);
        let fresh = if planner.is_current(described.input()).await? {
            None
        } else {
            let fresh = LockingQuery::prepare(&planner, command, meant, declared).await?;
            if fresh.columns != described.columns {
                return Err(plan_changed());
            }
            Some(fresh)
        };
        let query = fresh.as_ref().unwrap_or(described);
        let LockedRows { rows, memory } = query.lock(&planner, parameters, self.transaction.claims_mut()).await?;
        let stream = Box::pin(stream::iter(rows.into_iter().map(move |rows| {
            let _held = &memory;
            Ok(rows)
        })));
        Ok(Outcome::Rows(Rows { columns: described.columns.clone(), stream, tag: RowsTag::Select }))
    }

    /// Who locks rows of a table must be allowed to change them, however the statement is written.
    fn check_may_lock(&self, query: &LockingQuery) -> SqlResult<()> {
        query.locked().try_for_each(|relation| self.check_on_table(relation, Privileges::UPDATE))
    }

    /// Locks the tables of a statement's locking sub-queries, for the transaction or for a statement on its own.
    pub(super) async fn lock_tables_of_sub_queries(
        &mut self,
        statement: &LockingStatement,
        own: Option<&mut Claims>,
    ) -> SqlResult<()> {
        for query in statement.sub_queries.queries() {
            self.check_writable(query.command())?;
            self.check_may_lock(query)?;
        }
        let claims = own.unwrap_or_else(|| self.transaction.claims_mut());
        for query in statement.sub_queries.queries() {
            lock_tables(query, claims).await?;
        }
        Ok(())
    }

    /// Locks the rows of a statement's sub-queries, whose tables are locked, for the transaction or for a statement on its
    /// own; gives the rows.
    pub(super) async fn lock_sub_queries(
        &mut self,
        statement: &LockingStatement,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
        own: Option<&mut Claims>,
    ) -> SqlResult<Tables> {
        let engine = self.engine.clone();
        let planner = self.planner_of(&engine, reads.clone());
        // They may have changed until they were locked.
        statement.check_current(&planner).await?;
        let claims = own.unwrap_or_else(|| self.transaction.claims_mut());
        let (mut rows, mut memory) = (Vec::new(), Vec::new());
        for query in statement.sub_queries.queries() {
            let locked = query.lock(&planner, parameters, claims).await?;
            rows.push(locked.rows);
            memory.push(locked.memory);
        }
        statement.sub_queries.tables(rows)
    }
}

/// Locks the tables that a locking query reads, before a snapshot of them is taken.
async fn lock_tables(query: &LockingQuery, claims: &mut Claims) -> SqlResult<()> {
    for relation in query.relations() {
        let mode = if query.locks(relation) { TableMode::RowShare } else { TableMode::AccessShare };
        claims.lock_table(relation, mode).await?;
    }
    Ok(())
}

fn not_a_query() -> Box<SqlError> {
    SqlError::new(ErrorKind::Internal, "a locking statement was planned as something else")
}
