//! Running statements: queries and changes.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::change::Change;
use super::lock::held_with;
use super::locking::LockingStatement;
use super::prepare::{Known, Plan, Prepared, plan};
use super::repeated::RepeatedTexts;
use super::{Position, Session, observe};
use crate::dml::{Changed, PreparedDml};
use crate::outcome::{CommandTag, Outcome, RowStream, Rows, RowsTag, SingleRow};
use crate::plan::{Meaning, PlannedQuery};
use crate::syntax::{Command, Discarded, WrittenColumns, statement_name};

impl Session {
    pub(super) async fn run(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        // Nothing here is waited for where it seldom has anything to do: what a future holds is moved with it.
        if !self.may_read_everything()
            && let Err(denied) = Box::pin(self.check_privileges(&prepared.statement.command)).await
        {
            // PostgreSQL asks for the transaction's mode before it asks who writes.
            self.check_mode_of(prepared)?;
            return Err(self.told_of_rows_that_follow(&prepared.statement.command, denied));
        }
        let ran = if self.is_planned_for_now(prepared) {
            self.run_planned(prepared, parameters, position).await
        } else {
            match Box::pin(self.renewed(prepared)).await? {
                None => Box::pin(self.run_planned(prepared, parameters, position)).await,
                Some(renewed) => Box::pin(self.run_planned(&renewed, parameters, position)).await,
            }
        };
        match ran {
            Err(error) if error.shown.is_some() => {
                Err(Box::pin(self.concealed(error, || WrittenColumns::by(&prepared.statement.command))).await)
            }
            ran => ran.map_err(|error| self.told_of_rows_that_follow(&prepared.statement.command, error)),
        }
    }

    /// The statement as it was planned last, where its own plan is out of date and that one is not.
    pub(super) fn newest(&self, prepared: &Prepared) -> Option<Arc<Prepared>> {
        if self.is_planned_for_now(prepared) {
            return None;
        }
        let version = self.catalog_version();
        prepared.renewed(self.settings.style()).filter(|renewed| renewed.is_known_current(version))
    }

    /// Whether its plan is of the session's style (what literals and time zones mean is in a plan), and of the catalogue as it is.
    fn is_planned_for_now(&self, prepared: &Prepared) -> bool {
        prepared.is_of_style(self.settings.style()) && prepared.is_known_current(self.catalog_version())
    }

    /// The statement as it was planned last, where its own plan is not of this style or not of the catalogue as it is: planned anew if
    /// that is not either, and kept. `None` where its own plan serves, or tells best what is wrong by now.
    async fn renewed(&self, prepared: &Prepared) -> SqlResult<Option<Arc<Prepared>>> {
        let style = self.settings.style();
        let planner = self.planner();
        let is_own_style = prepared.is_of_style(style);
        if is_own_style && prepared.is_current(&planner).await? {
            return Ok(None);
        }
        if let Some(renewed) = prepared.renewed(style)
            && (renewed.is_known_current(self.catalog_version()) || renewed.is_current(&planner).await?)
        {
            return Ok(Some(renewed));
        }
        let statement = match prepared.text_with_rows() {
            Some(text) => self.parse(text)?.pop(),
            None => Some(prepared.statement.clone()),
        };
        let Some(statement) = statement else { return Ok(None) };
        let known = Known { settings: &self.settings, cursors: &self.cursors, statements: &self.statements };
        let fresh = Prepared::prepare(&planner, statement, &prepared.declared, &known);
        match Box::pin(fresh).await {
            Ok(fresh) if fresh.plan.has_shape_of(&prepared.plan) => {
                let fresh = Arc::new(fresh);
                prepared.keep_renewed(fresh.clone());
                Ok(Some(fresh))
            }
            _ if is_own_style => Ok(None),
            Ok(_) => Err(plan_changed()),
            Err(error) => Err(error),
        }
    }

    /// # Errors
    /// 25006 for what writes, or locks rows, in a transaction that is read-only.
    fn check_mode_of(&self, prepared: &Prepared) -> SqlResult<()> {
        match (&prepared.plan, &prepared.statement.command) {
            (Plan::Dml(_), command) => self.check_writable(command_name(command)),
            (Plan::Locking(query), _) => self.check_writable(query.command()),
            (_, Command::Truncate(_)) => self.check_writable("TRUNCATE"),
            (_, Command::CreateTable(_)) => self.check_writable("CREATE TABLE"),
            (_, Command::CreateTableAs(_)) => self.check_writable("CREATE TABLE AS"),
            (_, Command::AlterTable(_)) => self.check_writable("ALTER TABLE"),
            (_, Command::DropTable(_)) => self.check_writable("DROP TABLE"),
            (_, Command::CreateView(_)) => self.check_writable("CREATE VIEW"),
            (_, Command::DropView(_)) => self.check_writable("DROP VIEW"),
            (_, Command::CreateSequence(_)) => self.check_writable("CREATE SEQUENCE"),
            (_, Command::AlterSequence(_)) => self.check_writable("ALTER SEQUENCE"),
            (_, Command::DropSequence(_)) => self.check_writable("DROP SEQUENCE"),
            (_, Command::CreateIndex(_)) => self.check_writable("CREATE INDEX"),
            (_, Command::DropIndex(_)) => self.check_writable("DROP INDEX"),
            (_, Command::RenameIndex(_)) => self.check_writable("ALTER INDEX"),
            (_, Command::Comment(_)) => self.check_writable("COMMENT"),
            // COPY asks who writes first.
            _ => Ok(()),
        }
    }

    async fn run_planned(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &prepared.plan {
            Plan::Query(query) => self.run_query(prepared, query, parameters, position).await,
            Plan::Dml(dml) => Box::pin(self.run_dml(prepared, dml, None, parameters, position)).await,
            Plan::Locking(query) => {
                Box::pin(self.run_locking(&prepared.statement.command, &prepared.declared, query, parameters)).await
            }
            Plan::LockingStatement(statement) => {
                Box::pin(self.run_locking_statement(prepared, statement, parameters, position)).await
            }
            Plan::Declare(query) => Box::pin(self.run_declare(prepared, query, parameters, position)).await,
            Plan::Utility => match Box::pin(self.run_utility(prepared, parameters, position)).await {
                Err(refused) => {
                    let planner = self.planner();
                    let meaning = Meaning::of(&planner, &prepared.statement, &prepared.declared);
                    Box::pin(meaning).await.judge(Err(refused))
                }
                ran => ran,
            },
        }
    }

    async fn run_utility(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &prepared.statement.command {
            Command::Transaction(command) => self.run_transaction(command).await,
            Command::Deallocate(name) => self.run_deallocate(name.as_deref()),
            Command::SetConfig(call) => self.run_set_config(call),
            Command::Notify(command) => self.run_notify(command),
            Command::Show(name) => self.run_show(name),
            Command::Set(set) => self.run_set(set),
            Command::Reset(name) => self.run_reset(name.as_deref()),
            // Their futures must not make those of the ones above larger, which are many in a second.
            _ => Box::pin(self.run_long_utility(prepared, parameters, position)).await,
        }
    }

    async fn run_long_utility(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        match &prepared.statement.command {
            Command::CreateTable(create) => self.create_table(create, position).await,
            Command::AlterTable(alter) => self.alter_table(alter, position).await,
            Command::CreateTableAs(command) => {
                self.create_table_as(command, (&prepared.declared, parameters), position).await
            }
            Command::CreateView(create) => self.create_view(create, position).await,
            Command::DropView(drop) => self.drop_views(drop, position).await,
            Command::DropTable(drop) => self.drop_tables(drop, position).await,
            Command::CreateSequence(create) => self.create_sequence(create, position).await,
            Command::AlterSequence(alter) => self.alter_sequence(alter, position).await,
            Command::DropSequence(drop) => self.drop_sequences(drop, position).await,
            Command::CreateIndex(create) => self.create_index(create, position).await,
            Command::DropIndex(drop) => self.drop_indexes(drop, position).await,
            Command::RenameIndex(rename) => self.rename_index(rename, position).await,
            Command::Comment(comment) => self.comment(comment, position).await,
            Command::Truncate(truncate) => self.truncate(truncate, position).await,
            Command::Utility(command) => self.run_utility_command(command).await,
            Command::Copy(copy) => {
                if !copy.to_stdout || copy.changes_rows() {
                    self.start_statement(|| prepared.seen()).await?;
                }
                self.start_copy(copy, position).await
            }
            Command::Lock(lock) => self.run_lock(lock).await,
            Command::Explain(explain) => self.run_explain(explain, parameters, &prepared.declared, position).await,
            Command::Cursor(command) => self.run_cursor(command).await,
            Command::Prepare(command) => self.run_prepare(command, prepared.statement.whole_text()).await,
            Command::Execute(command) => self.run_execute(command, position).await,
            Command::Discard(what) => self.discard(*what, position).await,
            Command::Grant(command) => self.run_grant(command, position).await,
            Command::Role(command) => self.run_role(command).await,
            Command::Query(_) | Command::Insert(_) | Command::Update(_) | Command::Delete(_) | Command::Merge(_) => {
                Err(SqlError::new(ErrorKind::Internal, "a statement with a plan was run without it"))
            }
            Command::Transaction(_)
            | Command::Deallocate(_)
            | Command::SetConfig(_)
            | Command::Notify(_)
            | Command::Show(_)
            | Command::Set(_)
            | Command::Reset(_) => Err(SqlError::new(ErrorKind::Internal, "a short statement was run as a long one")),
        }
    }

    async fn discard(&mut self, what: Discarded, position: Position) -> SqlResult<Outcome> {
        if what == Discarded::All {
            self.check_outside_block("DISCARD ALL")?;
            self.settings.reset_all();
            self.handles.listener.unlisten(None)?;
            self.handles.advisory.unlock_all();
            self.cursors.close_all();
            self.statements.clear();
            self.repeated = RepeatedTexts::default();
        }
        if matches!(what, Discarded::All | Discarded::Sequences) {
            self.sequences.forget();
        }
        if matches!(what, Discarded::All | Discarded::Temporary) {
            self.discard_temporary(position).await?;
        }
        Ok(Outcome::Done(CommandTag::Plain(match what {
            Discarded::All => "DISCARD ALL",
            Discarded::Plans => "DISCARD PLANS",
            Discarded::Sequences => "DISCARD SEQUENCES",
            Discarded::Temporary => "DISCARD TEMP",
        })))
    }

    async fn run_query(
        &mut self,
        prepared: &Prepared,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        let locks = self.lock_for_reading(&query.relations, position).await?;
        let tag = RowsTag::Select;
        if let Some(stream) = self.read_directly(query, parameters)? {
            return Ok(Outcome::Rows(Rows { columns: query.columns.clone(), stream: held_with(stream, locks), tag }));
        }
        let stream = Box::pin(self.run_with_planner(prepared, query, parameters)).await?;
        Ok(Outcome::Rows(Rows { columns: query.columns.clone(), stream: held_with(stream, locks), tag }))
    }

    /// The query of a statement that may read one row by its key, and compute nothing: if no privilege has to be
    /// checked first, and the plan was made for the session's style.
    pub(super) fn single_read<'p>(&self, prepared: &'p Prepared) -> SqlResult<Option<&'p PlannedQuery>> {
        let Plan::Query(query) = &prepared.plan else { return Ok(None) };
        let is_plain =
            self.settings.direct_reads() && self.may_read_everything() && prepared.is_of_style(self.settings.style());
        Ok(if is_plain && query.may_be_single(&self.engine)? { Some(query) } else { None })
    }

    /// Its row, if there is one; outer `None` where it takes another way.
    pub(super) async fn run_single(
        &mut self,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Option<Option<SingleRow>>> {
        // Held until the row is read.
        let _locks = self.lock_for_reading(&query.relations, position).await?;
        let reads = self.reads_of_rows();
        if !query.is_known_current(&reads.catalog) {
            return Ok(None);
        }
        query.single(&self.engine, parameters, &reads)
    }

    /// The rows of a query, which is planned anew where it means something else by now.
    async fn run_with_planner(
        &self,
        prepared: &Prepared,
        query: &PlannedQuery,
        parameters: &[ScalarValue],
    ) -> SqlResult<RowStream> {
        let planner = self.planner();
        if planner.is_current(query).await? {
            planner.run(query, parameters).await
        } else {
            let (Plan::Query(fresh), _) = plan(&planner, &prepared.statement, &prepared.declared).await? else {
                return Err(SqlError::new(ErrorKind::Internal, "a query was planned as something else"));
            };
            check_same_shape(query, &fresh)?;
            planner.run(&fresh, parameters).await
        }
    }

    /// The rows of a query that is a read by key, and is known to mean the same as when it was planned.
    fn read_directly(&self, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<Option<RowStream>> {
        let reads = self.reads_of_rows();
        if !query.is_known_current(&reads.catalog) {
            return Ok(None);
        }
        query.read_directly(&self.engine, &self.settings, parameters, &reads)
    }

    pub(super) async fn run_dml(
        &mut self,
        prepared: &Prepared,
        dml: &PreparedDml,
        around: Option<&LockingStatement>,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        // A transaction that may only read writes to temporary tables all the same.
        if dml.targets().iter().any(|relation| !relation.place().is_temporary()) {
            self.check_writable(command_name(&prepared.statement.command))?;
        }
        let repeats = self.repeats.take();
        self.start_statement(|| observe::seen(prepared, repeats)).await?;
        let change = match around {
            None => Change {
                dml,
                command: &prepared.statement.command,
                declared: &prepared.declared,
                around,
                current_in: Some(&prepared.current_in),
            },
            Some(statement) => {
                let command = &prepared.statement.command;
                Change { dml, command, declared: &statement.declared, around, current_in: None }
            }
        };
        let changed = self.change(&change, parameters, position).await?;
        self.tell_about_timestamp(dml);
        Ok(dml_outcome(dml, changed))
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
        self.modes().read_only
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

pub(super) fn check_same_shape(described: &PlannedQuery, fresh: &PlannedQuery) -> SqlResult<()> {
    if described.columns == fresh.columns && described.parameters == fresh.parameters {
        Ok(())
    } else {
        Err(plan_changed())
    }
}

/// A prepared statement whose table changed under it.
pub(super) fn plan_changed() -> Box<SqlError> {
    SqlError::new(ErrorKind::PlanChanged, "cached plan must not change result type")
        .with_hint("Prepare the statement again.")
}
