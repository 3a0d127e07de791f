//! Running statements: queries, changes, DDL; and committing what they wrote.

use std::sync::Arc;

use datafusion::common::ScalarValue;

use super::prepare::{Plan, Prepared, plan};
use super::{Position, Session};
use crate::sql::ddl;
use crate::sql::dml::{Changed, PreparedDml, WriteMode, Writes, find_target};
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, Outcome, Rows, RowsTag};
use crate::sql::plan::PlannedQuery;
use crate::sql::relation::Relation;
use crate::sql::settings::Autocommit;
use crate::sql::statement::Command;
use crate::sql::tx::{EgtCount, EgtWriter, WriteSet, commit_error};
use crate::table::{Batch, CommitError};

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
            Command::CreateTable(create) => {
                self.check_ddl("CREATE TABLE")?;
                self.create_table(create).await
            }
            Command::DropTable { names, if_exists } => {
                self.check_ddl("DROP TABLE")?;
                self.drop_tables(names, *if_exists).await
            }
            Command::Truncate(names) => {
                self.check_ddl("TRUNCATE")?;
                for relation in self.targets(names).await? {
                    self.engine.catalog().truncate(&relation).await?;
                }
                Ok(Outcome::Done(CommandTag::Plain("TRUNCATE TABLE")))
            }
            Command::Analyze(name) => self.analyze(name.as_ref()).await,
            Command::Copy(copy) => self.start_copy(copy).await,
            Command::Explain(explain) => self.run_explain(explain, parameters, &prepared.declared, position).await,
            Command::Transaction(command) => self.run_transaction(command).await,
            Command::Show(name) => self.run_show(name),
            Command::Set(set) => self.run_set(set),
            Command::Reset(name) => {
                self.settings.reset(name.as_deref())?;
                Ok(Outcome::Done(CommandTag::Plain("RESET")))
            }
            Command::Discard => {
                self.settings.reset(None)?;
                Ok(Outcome::Done(CommandTag::Plain("DISCARD ALL")))
            }
            Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) => {
                Err(SqlError::new(ErrorKind::Internal, "a statement with a plan was run without it"))
            }
        }
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

    /// The statement planned anew when its table changed since it was prepared.
    async fn refreshed(&self, prepared: &Prepared, dml: &PreparedDml) -> SqlResult<Option<PreparedDml>> {
        let planner = self.planner();
        if planner.is_unchanged(dml.relation()).await? {
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
        let planner =
            crate::sql::plan::Planner { engine: &engine, reads: reads.clone(), system: self.system_catalog() };
        let alone = position == Position::Last && !self.transaction.has_implicit_writes();
        let mode = if self.transaction.in_block() {
            WriteMode::Block(&mut self.transaction)
        } else if self.settings.autocommit() == Autocommit::Strict {
            WriteMode::OneEgt(&mut self.transaction)
        } else if alone {
            WriteMode::Direct(Box::new(EgtWriter::new(engine.store().clone(), dml.relation().clone())))
        } else {
            WriteMode::Implicit(&mut self.transaction)
        };
        let mut writes = Writes::new(dml.relation().clone(), reads, now, mode);
        let result = dml.run(&planner, parameters, &mut writes).await;
        let direct = writes.is_direct();
        let committed = writes.committed();
        let retry = direct && committed == EgtCount::default();
        drop(writes);
        if direct {
            self.tell_about_split(committed);
        } else if result.is_ok()
            && position == Position::Last
            && let Err(error) = self.finish_implicit().await
        {
            return (Err(error), false);
        }
        (result, retry)
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
        if let PreparedDml::Insert(insert) = dml
            && !self.told_about_timestamp
            && let Some(notice) = insert.notice()
        {
            self.told_about_timestamp = true;
            self.notice(notice);
        }
    }

    /// Commits the collected writes of an implicit transaction, as several EGTs where needed.
    pub(super) async fn commit_split(&mut self, writes: WriteSet) -> SqlResult<()> {
        let mut total = EgtCount::default();
        for (table, operations) in writes.into_operations() {
            let relation = self.relation_of(&table).await?;
            let mut writer = EgtWriter::new(self.engine.store().clone(), relation);
            for operation in operations {
                writer.push(operation).await?;
            }
            writer.finish().await?;
            total.egts += writer.committed().egts;
            total.rows += writer.committed().rows;
        }
        self.tell_about_split(total);
        Ok(())
    }

    /// Commits a block: one EGT, as the rules have seen to.
    pub(super) async fn commit_block(&mut self, writes: WriteSet) -> SqlResult<()> {
        for (table, operations) in writes.into_operations() {
            let relation = self.relation_of(&table).await?;
            let mut builder = Batch::builder(table);
            for operation in operations {
                builder.push(operation).map_err(|(_, error)| error)?;
            }
            if builder.is_empty() {
                continue;
            }
            let committed = self.engine.store().commit(builder.build()?).await;
            committed.map_err(|error: CommitError| commit_error(&relation, error))?;
        }
        Ok(())
    }

    /// The relation behind a stored table, for messages.
    async fn relation_of(&self, table: &crate::model::TableName) -> SqlResult<Arc<Relation>> {
        let reader = self.engine.store().reader();
        let relations = self.engine.catalog().relations(&*reader).await?;
        relations
            .into_iter()
            .find(|r| r.stored == *table)
            .ok_or_else(|| SqlError::new(ErrorKind::UndefinedTable, format!("table \"{table}\" was dropped meanwhile")))
    }

    async fn create_table(&mut self, create: &datafusion::sql::sqlparser::ast::CreateTable) -> SqlResult<Outcome> {
        let (declaration, notices) = ddl::declare(create)?;
        let reader = self.engine.store().reader();
        if let Some(existing) = self.engine.catalog().exact(&*reader, &declaration.name).await? {
            let message = format!("relation \"{}\" already exists", existing.name);
            if !create.if_not_exists {
                return Err(SqlError::new(ErrorKind::DuplicateTable, message));
            }
            self.notice(Notice::info(format!("{message}, skipping")));
            return Ok(Outcome::Done(CommandTag::Plain("CREATE TABLE")));
        }
        self.engine.catalog().create(declaration).await?;
        self.notices.extend(notices);
        Ok(Outcome::Done(CommandTag::Plain("CREATE TABLE")))
    }

    async fn drop_tables(
        &mut self,
        names: &[datafusion::sql::sqlparser::ast::ObjectName],
        if_exists: bool,
    ) -> SqlResult<Outcome> {
        let mut relations = Vec::new();
        for name in names {
            match find_target(&self.planner(), name).await {
                Ok(relation) => relations.push(relation),
                Err(error) if error.kind == ErrorKind::UndefinedTable => {
                    let (_, table) = crate::sql::plan::schema_and_table(name)?;
                    if !if_exists {
                        let message = format!("table \"{table}\" does not exist");
                        return Err(SqlError::new(ErrorKind::UndefinedTable, message));
                    }
                    self.notice(Notice::info(format!("table \"{table}\" does not exist, skipping")));
                }
                Err(error) => return Err(error),
            }
        }
        for relation in relations {
            self.engine.catalog().drop(&relation).await?;
        }
        Ok(Outcome::Done(CommandTag::Plain("DROP TABLE")))
    }

    async fn targets(&self, names: &[datafusion::sql::sqlparser::ast::ObjectName]) -> SqlResult<Vec<Arc<Relation>>> {
        let planner = self.planner();
        let mut relations = Vec::with_capacity(names.len());
        for name in names {
            relations.push(find_target(&planner, name).await?);
        }
        Ok(relations)
    }

    async fn analyze(&self, name: Option<&datafusion::sql::sqlparser::ast::ObjectName>) -> SqlResult<Outcome> {
        let relations = match name {
            Some(name) => self.targets(std::slice::from_ref(name)).await?,
            None => self.engine.catalog().relations(&*self.engine.store().reader()).await?,
        };
        for relation in relations {
            self.engine.store().analyze(&relation.stored).await?;
        }
        Ok(Outcome::Done(CommandTag::Plain("ANALYZE")))
    }

    /// DDL takes effect at once, so it cannot be part of a transaction that may be rolled back.
    fn check_ddl(&self, what: &'static str) -> SqlResult<()> {
        self.check_writable(what)?;
        if self.transaction.in_block() {
            return Err(SqlError::not_supported(format!("{what} inside a transaction block"))
                .with_detail("DDL takes effect at once and could not be rolled back.")
                .with_hint("Run it outside BEGIN ... COMMIT."));
        }
        Ok(())
    }

    pub(super) fn check_writable(&self, what: &'static str) -> SqlResult<()> {
        let read_only = if self.transaction.in_block() {
            self.transaction.is_read_only()
        } else {
            self.settings.default_read_only()
        };
        if read_only {
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
        _ => "this statement",
    }
}

fn dml_outcome(dml: &PreparedDml, changed: Changed) -> Outcome {
    let tag = match dml {
        PreparedDml::Insert(_) => RowsTag::Insert,
        PreparedDml::Update(_) => RowsTag::Update,
        PreparedDml::Delete(_) => RowsTag::Delete,
    };
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
