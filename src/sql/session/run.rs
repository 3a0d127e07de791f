//! Running statements: queries and changes.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::DiscardObject;

use super::prepare::{Plan, Prepared, plan};
use super::{Position, Session};
use crate::sql::dml::{Changed, PreparedDml, WriteMode, Writes, statement_name};
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome, Rows, RowsTag};
use crate::sql::plan::{PlannedQuery, Planner};
use crate::sql::relation::Relation;
use crate::sql::settings::Autocommit;
use crate::sql::statement::Command;
use crate::sql::tx::{EgtCount, EgtWriter};

/// How often a change that met a concurrent one is run again before the client learns of it (40001).
const CONFLICT_RETRIES: usize = 20;

impl Session {
    pub(super) async fn run(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &prepared.plan {
            Plan::Query(query) => self.run_query(prepared, query, parameters).await,
            Plan::Dml(dml) => self.run_dml(prepared, dml, parameters, position).await,
            Plan::Utility => self.run_utility(prepared, parameters, position).await,
        }
    }

    async fn run_utility(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &prepared.statement.command {
            Command::CreateTable(create) => self.create_table(create, position).await,
            Command::AlterTable(alter) => self.alter_table(alter, position).await,
            Command::DropTable(drop) => self.drop_tables(drop, position).await,
            Command::CreateSequence(create) => self.create_sequence(create, position).await,
            Command::AlterSequence(alter) => self.alter_sequence(alter, position).await,
            Command::DropSequence(drop) => self.drop_sequences(drop, position).await,
            Command::CreateIndex(create) => self.create_index(create, position).await,
            Command::DropIndex(drop) => self.drop_indexes(drop, position).await,
            Command::Truncate(truncate) => self.truncate(truncate, position).await,
            Command::Analyze(name) => self.analyze(name.as_ref()).await,
            Command::Copy(copy) => {
                if !copy.to_stdout {
                    self.start_statement(|| prepared.seen()).await?;
                }
                self.start_copy(copy).await
            }
            Command::Explain(explain) => self.run_explain(explain, parameters, &prepared.declared, position).await,
            Command::Transaction(command) => self.run_transaction(command).await,
            Command::Show(name) => self.run_show(name),
            Command::Set(set) => self.run_set(set),
            Command::Reset(name) => {
                self.settings.reset(name.as_deref())?;
                Ok(Outcome::Done(CommandTag::Plain("RESET")))
            }
            Command::Discard(what) => self.discard(*what),
            Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_) => {
                Err(SqlError::new(ErrorKind::Internal, "a statement with a plan was run without it"))
            }
        }
    }

    fn discard(&mut self, what: DiscardObject) -> SqlResult<Outcome> {
        if what == DiscardObject::ALL {
            self.settings.reset(None)?;
        }
        if matches!(what, DiscardObject::ALL | DiscardObject::SEQUENCES) {
            self.sequences.forget();
        }
        Ok(Outcome::Done(CommandTag::Plain(match what {
            DiscardObject::ALL => "DISCARD ALL",
            DiscardObject::PLANS => "DISCARD PLANS",
            DiscardObject::SEQUENCES => "DISCARD SEQUENCES",
            DiscardObject::TEMP => "DISCARD TEMP",
        })))
    }

    async fn run_query(
        &self,
        prepared: &Prepared,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<Outcome> {
        let planner = self.planner();
        let stream = if planner.is_current(query).await? {
            planner.run(query, parameters).await?
        } else {
            let Plan::Query(fresh) = plan(&planner, &prepared.statement.command, &prepared.declared).await? else {
                return Err(SqlError::new(ErrorKind::Internal, "a query was planned as something else"));
            };
            check_same_shape(query, &fresh)?;
            planner.run(&fresh, parameters).await?
        };
        Ok(Outcome::Rows(Rows { columns: query.columns.clone(), stream, tag: RowsTag::Select }))
    }

    async fn run_dml(
        &mut self,
        prepared: &Prepared,
        dml: &PreparedDml,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        self.check_writable(command_name(&prepared.statement.command))?;
        self.start_statement(|| prepared.seen()).await?;
        let mut tries = 0;
        let changed = loop {
            let fresh = self.refreshed(prepared, dml).await?;
            let dml = fresh.as_ref().unwrap_or(dml);
            let (result, retry) = self.change(dml, parameters, position).await;
            match result {
                Err(error) if retry && error.kind == ErrorKind::SerializationFailure && tries < CONFLICT_RETRIES => {
                    tries += 1;
                    tokio::task::yield_now().await;
                }
                other => break other?,
            }
        };
        self.tell_about_timestamp(dml);
        Ok(dml_outcome(dml, changed))
    }

    /// The statement planned anew when one of its tables changed since it was prepared.
    async fn refreshed(&self, prepared: &Prepared, dml: &PreparedDml) -> SqlResult<Option<PreparedDml>> {
        let planner = self.planner();
        let mut is_current = true;
        for relation in dml.relations() {
            is_current &= planner.is_unchanged(relation).await?;
        }
        if is_current {
            return Ok(None);
        }
        match plan(&planner, &prepared.statement.command, &prepared.declared).await? {
            Plan::Dml(fresh) if fresh.columns() == dml.columns() && fresh.parameters() == dml.parameters() => {
                Ok(Some(*fresh))
            }
            _ => Err(plan_changed()),
        }
    }

    /// Runs a change once; also whether a conflict may be tried again.
    pub(super) async fn change(
        &mut self,
        dml: &PreparedDml,
        parameters: &[ScalarValue],
        position: Position,
    ) -> (SqlResult<Changed>, bool) {
        let reads = self.reads();
        let (engine, now) = (self.engine.clone(), self.engine.now());
        let planner = Planner::new(&engine, reads.clone(), self.system_catalog());
        // A row that moves is deleted and inserted: where observe mode allows that, it must not come apart.
        let moves = self.transaction.observed_statement().is_some() && dml.moves_rows();
        let together = moves || dml.has_several_changes();
        let alone = position == Position::Last && !self.transaction.has_implicit_writes() && !together;
        let mode = if self.transaction.in_block() {
            WriteMode::Block(&mut self.transaction)
        } else if self.settings.autocommit() == Autocommit::Strict {
            WriteMode::OneEgt(&mut self.transaction)
        } else if alone {
            WriteMode::Direct(Box::new(self.direct_writer(dml.relation())))
        } else {
            WriteMode::Implicit(&mut self.transaction)
        };
        let mut writes = Writes::new(dml.relation().clone(), reads, now, mode);
        let result = dml.run(&planner, parameters, &mut writes).await;
        let direct = writes.is_direct();
        let committed = writes.committed();
        let retry = direct && committed == EgtCount::default();
        let footprint = writes.take_footprint();
        drop(writes);
        if direct {
            self.record_direct(footprint.as_ref(), committed, result.is_err());
            self.tell_about_split(committed);
        } else if result.is_ok()
            && position == Position::Last
            && let Err(error) = self.finish_implicit().await
        {
            return (Err(error), false);
        }
        (result, retry)
    }

    /// Commits what a statement outside a block writes, as it comes.
    pub(super) fn direct_writer(&self, relation: &Arc<Relation>) -> EgtWriter {
        let mut writer = EgtWriter::new(self.engine.store().clone(), relation.clone());
        if self.transaction.observed_statement().is_some() {
            writer.keep_footprint();
        }
        writer
    }

    pub(super) fn tell_about_split(&mut self, committed: EgtCount) {
        if committed.egts > 1 {
            self.notice(Notice::info(format!(
                "the statement ran as {} entity group transactions, each atomic on its own",
                committed.egts
            )));
        }
    }

    fn tell_about_timestamp(&mut self, dml: &PreparedDml) {
        if !self.told_about_timestamp
            && let Some(notice) = dml.notice()
        {
            self.told_about_timestamp = true;
            self.notice(notice);
        }
    }

    /// Whether the open transaction, or one that a statement would begin, may not write.
    pub(super) fn is_read_only(&self) -> bool {
        if self.transaction.in_block() { self.transaction.is_read_only() } else { self.settings.default_read_only() }
    }

    pub(super) fn check_writable(&self, what: &'static str) -> SqlResult<()> {
        if self.is_read_only() {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(SqlError::new(ErrorKind::ReadOnlyTransaction, message));
        }
        Ok(())
    }
}

pub(super) fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Insert(_) => "INSERT",
        Command::Update(_) => "UPDATE",
        Command::Delete(_) => "DELETE",
        Command::Merge(_) => "MERGE",
        Command::Query(query) => statement_name(query),
        _ => "this statement",
    }
}

fn dml_outcome(dml: &PreparedDml, changed: Changed) -> Outcome {
    let tag = dml.tag();
    match changed.returned {
        Some((columns, stream)) => Outcome::Rows(Rows { columns, stream, tag }),
        None => Outcome::Done(tag.complete(changed.rows)),
    }
}

fn check_same_shape(described: &PlannedQuery, fresh: &PlannedQuery) -> SqlResult<()> {
    if described.columns == fresh.columns && described.parameters == fresh.parameters {
        Ok(())
    } else {
        Err(plan_changed())
    }
}

/// A prepared statement whose table changed under it.
fn plan_changed() -> Box<SqlError> {
    SqlError::new(ErrorKind::PlanChanged, "cached plan must not change result type")
        .with_hint("Prepare the statement again.")
}
