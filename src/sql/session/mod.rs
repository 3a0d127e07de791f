//! One client's session: its settings, its transaction, its statements.

mod activity;
mod alter;
mod change;
mod comments;
mod commit;
mod control;
mod copy;
mod create_as;
mod cursors;
mod define;
mod explain;
mod grants;
mod indexes;
mod kept_rows;
mod like;
mod lock;
mod locking;
mod many_rows;
mod measure;
mod moved;
mod notify;
mod observe;
mod owners;
mod portals;
mod prepare;
mod privileges;
mod references;
mod repeated;
mod rewrite;
mod roles;
mod run;
mod sequences;
mod set;
mod set_config;
mod show;
mod statements;
mod temporary;
mod unseen;
mod utility;
mod views;

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::ScalarValue;
use futures::future::BoxFuture;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult, Topic};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use self::copy::CopyInProgress;
pub use self::copy::{CopiedRows, InputRoom};
use self::measure::Extent;
use self::observe::Repeats;
use self::prepare::Known;
pub use self::prepare::Prepared;
use self::repeated::RepeatedTexts;
pub use self::repeated::{NewText, Repeated};
pub use self::roles::is_reserved_role;
pub use self::statements::{NamedStatement, NamedStatements};
use super::activity::Presence;
use super::aside::aside;
use super::catalog::SessionCatalog;
use super::cursor::Cursors;
use super::database::Database;
use super::engine::Engine;
use super::handles::{Handles, Notices};
use super::login::Login;
pub use super::login::{Account, AccountChange, Accounts, AccountsError, Encryption, Role, Secret};
use super::notify::Listener;
use super::outcome::{CommandTag, Outcome, RowsTag, Single};
use super::pg_catalog::SystemCatalog;
use super::plan::Planner;
use super::privileges::Rights;
use super::progress::Unfinished;
use super::reads::Reads;
use super::sequence::SessionSequences;
use super::settings::{Settings, Source};
use super::statistics::{Measure, Meter};
use super::tx::{AdvisoryLocks, Snapshot, Transaction, TransactionState};
pub use crate::syntax::Statement;
use crate::syntax::{WrittenColumns, parse, parse_held, weight};

/// What the client said at start-up.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub user: String,
    /// The name it wants to see the database under; empty for the server's own.
    pub database: String,
    /// Settings from the startup packet, `options=-c name=value` among them, in order.
    pub settings: Vec<(String, String)>,
    /// What the user may do.
    pub role: Role,
    /// `None` for a connection that is not encrypted.
    pub encryption: Option<Arc<Encryption>>,
    /// The address of ours that the client came to.
    pub server: Option<SocketAddr>,
}

/// The status byte of ReadyForQuery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InBlock,
    Failed,
}

/// Where a statement stands in its implicit transaction (outside BEGIN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The last one before the client waits: what is pending commits inside `execute`.
    Last,
    /// More statements follow before the next Sync (or in the same simple query).
    MoreFollow,
}

/// A session.
pub struct Session {
    engine: Arc<Engine>,
    user: String,
    database: Database,
    settings: Settings,
    handles: Handles,
    presence: Option<Presence>,
    meter: Arc<Meter>,
    measure: Option<Measure>,
    /// What is committed is counted, for EXPLAIN ANALYZE.
    extent: Option<Extent>,
    /// Something was done that the end of its transaction counts.
    is_transacting: bool,
    transaction: Transaction,
    /// The statement that runs reads what there is, and not the snapshot of its transaction.
    reads_past_snapshot: bool,
    /// Its temporary tables.
    own: SessionCatalog,
    login: Arc<Login>,
    rights: Rights,
    /// Was seen among the users: who is not one of them any more has lost its role.
    is_user: bool,
    notices: Vec<Notice>,
    copy: Option<CopyInProgress>,
    told_about_timestamp: bool,
    /// A prepared change that observe mode is to record by another text than it was planned from.
    repeats: Option<Repeats>,
    /// What its statement has committed, while that is shown.
    unfinished: Arc<Unfinished>,
    told: HashSet<Topic>,
    sequences: Arc<SessionSequences>,
    cursors: Cursors,
    statements: NamedStatements,
    repeated: RepeatedTexts,
}

impl Session {
    /// # Errors
    /// 42704 or 22023 for a start-up setting that is not one, 42501 for a user who may not connect to the database.
    pub fn new(engine: Arc<Engine>, options: SessionOptions) -> SqlResult<Self> {
        let settings = Settings::new(&options.user);
        settings.follow_role(options.role);
        settings.set_at_startup("egt.mode", engine.config().egt_mode.name(), Source::Server)?;
        settings.show_connections(engine.config().max_connections);
        if let Some(patience) = engine.config().slow_statement {
            settings.log_slower_than(patience);
        }
        for (name, value) in &options.settings {
            settings.set_at_startup(name, value, Source::Client)?;
        }
        let rights = Rights::new(&options.user, options.role);
        let SessionOptions { role, encryption, server, .. } = options;
        let login = Login { process: 0, role, encryption, server };
        let database = Database::new(&options.database, &engine.config().database);
        privileges::check_may_connect(&engine, &database, &rights)?;
        let statements = NamedStatements::default();
        let handles = Handles {
            settings: settings.clone(),
            listener: Listener::new(engine.hub().clone()),
            advisory: AdvisoryLocks::new(engine.locks().clone(), login.process),
            notices: Notices::default(),
            statements: statements.shown().clone(),
            sessions: engine.sessions().clone(),
            locks: engine.locks().clone(),
            statistics: engine.statistics().clone(),
            counters: engine.counters().clone(),
            commits: engine.commits().clone(),
            long_writes: engine.long_writes().clone(),
        };
        let transaction = Transaction::new(engine.new_claims(login.process), engine.write_space().clone());
        Ok(Self {
            sequences: Arc::new(SessionSequences::new(engine.sequences().clone())),
            own: SessionCatalog::new(engine.catalog()),
            engine,
            user: options.user,
            database,
            settings,
            handles,
            presence: None,
            meter: Arc::default(),
            extent: None,
            measure: None,
            is_transacting: false,
            transaction,
            reads_past_snapshot: false,
            login: Arc::new(login),
            rights,
            is_user: false,
            notices: Vec::new(),
            copy: None,
            told_about_timestamp: false,
            repeats: None,
            unfinished: Arc::default(),
            told: HashSet::new(),
            cursors: Cursors::default(),
            statements,
            repeated: RepeatedTexts::default(),
        })
    }

    /// Gives the session the number that clients know it by: errors about other sessions name them so.
    pub fn set_process(&mut self, process: i32) {
        self.login = Arc::new(Login { process, ..Login::clone(&self.login) });
        self.transaction = Transaction::new(self.engine.new_claims(process), self.engine.write_space().clone());
        self.handles.advisory = AdvisoryLocks::new(self.engine.locks().clone(), process);
    }

    /// Splits a query text into its statements; none for an empty text.
    ///
    /// # Errors
    /// 42601 with the position, or the refusal of a statement that is not done here; 53200 for a text that takes more of the
    /// memory of queries than is left.
    pub fn parse(&self, sql: &str) -> SqlResult<Vec<Statement>> {
        let weight = weight(sql, self.engine.config().query_memory);
        if weight == 0 {
            return parse(sql);
        }
        let memory = self.engine.memory("the text of a statement");
        memory.try_grow(weight).map_err(|_exhausted| too_long(weight))?;
        aside(|| parse_held(sql, Arc::new(memory)))
    }

    /// Plans a statement. `declared` are the parameter types the client gave, `Unknown` where it left them open.
    ///
    /// # Errors
    /// 25P02 in a failed transaction, unless the statement ends it; whatever is wrong with the statement.
    pub fn prepare<'a>(
        &'a mut self,
        statement: Statement,
        declared: &'a [SqlType],
    ) -> BoxFuture<'a, SqlResult<Prepared>> {
        Box::pin(async move {
            self.begin_transacting();
            self.check_not_failed(&statement)?;
            Box::pin(self.follow_role()).await?;
            self.begin_statement(&statement).await;
            let source = statement.source.clone();
            let known = Known { settings: &self.settings, cursors: &self.cursors, statements: &self.statements };
            let catalog = self.engine.catalog();
            let again = catalog.is_shared().then(|| (statement.clone(), catalog.version()));
            let mut prepared = Box::pin(Prepared::prepare(&self.planner(), statement, declared, &known)).await;
            if let (Err(error), Some((statement, version))) = (&prepared, again)
                && matches!(error.kind, ErrorKind::UndefinedTable | ErrorKind::StoredTableMissing)
            {
                Box::pin(catalog.follow()).await?;
                // Another gateway has made it since the catalogue was last read, by this session or behind its back.
                if catalog.version() != version {
                    prepared = Box::pin(Prepared::prepare(&self.planner(), statement, declared, &known)).await;
                }
            }
            match prepared {
                Ok(prepared) => Ok(prepared),
                Err(error) => match parse(&source) {
                    Ok(again) if again.len() == 1 => Err(again[0].source.located(error)),
                    _ => Err(source.located(error)),
                },
            }
        })
    }

    /// Runs a planned statement. Dropping the future or the returned rows cancels it; a commit already handed to the
    /// store runs to its end all the same.
    ///
    /// # Errors
    /// 0A000 when the statement would give other columns than it was described with; whatever its run meets.
    pub fn execute<'a>(
        &'a mut self,
        prepared: &'a Prepared,
        parameters: Vec<ScalarValue>,
        position: Position,
    ) -> BoxFuture<'a, SqlResult<Outcome>> {
        Box::pin(async move {
            self.begin_execution(prepared)?;
            if self.engine.config().accounts.is_some() {
                Box::pin(self.follow_role()).await?;
            }
            if prepared.is_decided_when_it_runs() && prepared.statement().takes_snapshot() {
                // A change of the catalogue must start from its newest state, with the changes of other gateways.
                Box::pin(self.engine.catalog().follow()).await?;
            }
            self.begin_statement(prepared.statement()).await;
            let outcome = match self.engine.catalog().is_shared() {
                true => Box::pin(self.run_among_others(prepared, &parameters, position)).await,
                false => self.run(prepared, &parameters, position).await,
            };
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => return Err(prepared.statement.source.located(error)),
            };
            if !matches!(outcome, Outcome::CopyIn(_)) {
                self.end_execution(position);
            }
            Ok(outcome)
        })
    }

    /// As [`Session::execute`], of a statement that reads one row by its key and computes nothing; `None` for any other one,
    /// which is then to be executed: nothing of it was done.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute_single<'a>(
        &'a mut self,
        prepared: &'a Prepared,
        parameters: &'a [ScalarValue],
        position: Position,
    ) -> BoxFuture<'a, SqlResult<Option<Single>>> {
        Box::pin(async move {
            let newest = self.newest(prepared);
            let prepared = newest.as_deref().unwrap_or(prepared);
            let Some(query) = self.single_read(prepared)? else { return Ok(None) };
            self.begin_execution(prepared)?;
            if self.engine.config().accounts.is_some() {
                Box::pin(self.follow_role()).await?;
                if !self.may_read_everything() {
                    return Ok(None);
                }
            }
            self.begin_statement(prepared.statement()).await;
            let row = match self.run_single(query, parameters, position).await {
                // Where others may have moved the table, the long way looks for it.
                Err(error) if self.engine.catalog().is_shared() && moved::is_of_moved(error.kind) => return Ok(None),
                row => row,
            };
            let Some(row) = row.map_err(|error| prepared.statement.source.located(error))? else { return Ok(None) };
            self.end_execution(position);
            Ok(Some(Single { columns: query.columns.clone(), row, tag: RowsTag::Select }))
        })
    }

    fn begin_execution(&mut self, prepared: &Prepared) -> SqlResult<()> {
        self.begin_transacting();
        self.check_not_failed(prepared.statement())?;
        self.begin_measure(prepared);
        Ok(())
    }

    /// A statement on its own is a transaction: the next one reads anew.
    fn end_execution(&mut self, position: Position) {
        if position == Position::Last && !self.transaction.is_open() {
            self.transaction.finish();
        }
    }

    /// A piece of COPY FROM STDIN input, cut anywhere.
    ///
    /// # Errors
    /// What is wrong with the input, with its line; what the commit meets.
    pub fn copy_data<'a>(&'a mut self, data: &'a [u8]) -> BoxFuture<'a, SqlResult<()>> {
        Box::pin(self.copy_in(data))
    }

    /// Rows of COPY FROM STDIN in binary format, which the front-end has read.
    ///
    /// # Errors
    /// What is wrong with the rows, with the number of the first; what the commit meets.
    pub fn copy_rows(&mut self, rows: CopiedRows, bytes: usize) -> BoxFuture<'_, SqlResult<()>> {
        Box::pin(self.copy_read(rows, bytes))
    }

    /// What is wrong with COPY input that the front-end reads, with what is committed already.
    pub fn copy_error(&mut self, error: Box<SqlError>) -> BoxFuture<'_, Box<SqlError>> {
        Box::pin(self.copy_failed(error))
    }

    /// The input is complete: commits what is left.
    ///
    /// # Errors
    /// As [`Session::copy_data`].
    pub fn copy_done(&mut self, position: Position) -> BoxFuture<'_, SqlResult<CommandTag>> {
        Box::pin(self.copy_finish(position))
    }

    /// The client gave up (CopyFail) or the input was bad: forgets what is not committed.
    pub fn copy_abort(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.give_up_copy())
    }

    /// Sync, or the end of a simple query: commits an implicit transaction that is still open.
    ///
    /// # Errors
    /// What the commit meets.
    pub fn finish_implicit(&mut self) -> BoxFuture<'_, SqlResult<()>> {
        Box::pin(async move {
            if self.transaction.in_block() {
                return Ok(());
            }
            if self.cursors.has_holdable() {
                self.cursors.hold().await?;
            }
            if self.own.is_empty() && self.transaction.has_collected_nothing() {
                let committed = self.handles.listener.check_commit();
                self.finish_transaction(committed.is_ok());
                return committed;
            }
            let collected = self.transaction.take_implicit();
            match Box::pin(self.commit_and_finish(collected, false)).await {
                Ok(()) => Ok(()),
                Err(error) => Err(Box::pin(self.concealed(error, WrittenColumns::none)).await),
            }
        })
    }

    /// An error went to the client: an implicit transaction is dropped, a block becomes failed.
    pub fn fail(&mut self) {
        self.unfinished.forget();
        self.end_measure(None);
        self.forget_copy();
        let forgotten = self.transaction.fail();
        self.record_rollback(&forgotten);
        if self.transaction.in_block() {
            self.settings.fail();
        } else {
            self.settings.end_transaction(false);
            self.end_parts(false);
            self.cursors.end_transaction();
        }
    }

    /// Prepared statements by name: those of PREPARE and of the protocol are the same.
    pub fn statements(&mut self) -> &mut NamedStatements {
        &mut self.statements
    }

    pub fn transaction_status(&self) -> TransactionStatus {
        match self.transaction.state() {
            TransactionState::Idle => TransactionStatus::Idle,
            TransactionState::InBlock => TransactionStatus::InBlock,
            TransactionState::Failed => TransactionStatus::Failed,
        }
    }

    /// NOTICEs and WARNINGs since the last call, in order, already filtered by client_min_messages. Of what is said once
    /// those that were filtered do not count.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let least = self.settings.min_severity();
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.handles.notices.take());
        notices.extend(self.handles.advisory.take_notices());
        notices.retain(|n| least.is_some_and(|least| n.severity >= least));
        notices.retain(|n| n.once.is_none_or(|topic| self.told.insert(topic)));
        notices
    }

    /// Settings to report as ParameterStatus since the last call; all reportable ones at the first call.
    pub fn take_parameter_changes(&mut self) -> Vec<(&'static str, String)> {
        self.settings.take_changes()
    }

    /// The settings that change how values print.
    pub fn output_style(&self) -> Style {
        self.settings.style()
    }

    /// `statement_timeout` in force.
    pub fn statement_timeout(&self) -> Option<Duration> {
        self.settings.statement_timeout()
    }

    /// How long the session may wait for its client in the state it is in.
    pub fn idle_timeout(&self) -> Option<Duration> {
        match self.transaction_status() {
            TransactionStatus::Idle => self.settings.idle_session_timeout(),
            TransactionStatus::InBlock | TransactionStatus::Failed => self.settings.idle_in_transaction_timeout(),
        }
    }

    fn check_not_failed(&self, statement: &Statement) -> SqlResult<()> {
        if self.transaction.state() == TransactionState::Failed && !statement.is_allowed_in_failed_block() {
            return Err(aborted());
        }
        Ok(())
    }

    async fn begin_statement(&mut self, statement: &Statement) {
        let modes = self.modes();
        self.reads_past_snapshot = statement.declares();
        self.own.look_behind_public(self.settings.looks_for_temporary_last());
        self.settings.show_modes(modes);
        self.transaction.claims_mut().begin_statement(self.settings.lock_timeout(), modes.isolation.keeps_snapshot());
        if statement.takes_snapshot() {
            self.begin_query().await;
        }
    }

    /// A planner on the transaction's snapshot or a fresh one, with the transaction's own writes over it.
    fn planner(&self) -> Planner<'_> {
        self.planner_on(self.reads())
    }

    fn planner_on(&self, reads: Arc<Reads>) -> Planner<'_> {
        self.planner_of(&self.engine, reads)
    }

    /// A planner that leaves the session's transaction free to lock rows.
    fn planner_of<'e>(&self, engine: &'e Engine, reads: Arc<Reads>) -> Planner<'e> {
        Planner::new(engine, reads, Arc::new(self.system_catalog()))
    }

    fn reads(&self) -> Arc<Reads> {
        let reads = self.reads_of_rows();
        self.sequences.begin_statement(&reads.catalog, &self.rights, self.is_read_only());
        reads
    }

    /// The same for what calls no functions, which may count with sequences.
    fn reads_of_rows(&self) -> Arc<Reads> {
        let own = self.transaction.writes().own_writes();
        let written = own.iter().map(|(table, own)| (table.clone(), own.observed().clone())).collect();
        let staged = self.transaction.catalog();
        let moments = self.engine.moments(self.transaction.began(), self.settings.style());
        let snapshot = self.transaction.snapshot().filter(|_| !self.reads_past_snapshot);
        let Some(Snapshot { moment, serial }) = snapshot else {
            let (readers, catalog) = self.engine.catalog().view(staged, &self.own);
            let catalog = catalog.with_written(written);
            return self.watched(Reads::new(readers, catalog, own, moments));
        };
        let (mut readers, catalog) = moment.view(staged, &self.own);
        // Tables that the snapshot does not have: the transaction has made them, or declares what others made since.
        let declared = staged.stored_tables().filter(|stored| !moment.has_stored(stored));
        let made: BTreeSet<_> = self.transaction.writes().made_tables().chain(declared).cloned().collect();
        if !made.is_empty() {
            readers = readers.reading_made(made, self.engine.catalog().view(staged, &self.own).0);
        }
        let catalog = catalog.with_written(written);
        let log = serial.as_ref().map(|serial| serial.reads().clone());
        self.watched(Reads::new(readers, catalog, own, moments).noted_in(log))
    }

    /// Counted, and as the settings want it.
    fn watched(&self, reads: Reads) -> Arc<Reads> {
        Arc::new(reads.metered(self.meter.clone()).pushing_filters(self.settings.filter_pushdown()))
    }

    /// What the texts of parameters are read with. A transaction that has not begun does so now.
    pub fn reading(&self) -> Reading {
        self.engine.moments(self.transaction.began(), self.settings.style()).reading()
    }

    /// For the input of one COPY.
    pub fn input_room(&self) -> InputRoom {
        InputRoom::of(self.engine.memory("a line of COPY"))
    }

    fn system_catalog(&self) -> SystemCatalog {
        SystemCatalog::new(self.database.clone(), &self.user, self.handles.clone())
            .with_login(self.login.clone())
            .with_sequences(self.sequences.clone())
            .with_copies(self.engine.copies().clone())
            .with_cursors(self.cursors.shown())
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}

fn too_long(weight: usize) -> Box<SqlError> {
    SqlError::new(ErrorKind::OutOfMemory, "the text is too long for the memory of queries")
        .with_detail(format!("Reading it takes {} MB or more.", weight >> 20))
        .with_hint(
            "Send rows by COPY, and a list as one array parameter (= ANY($1)), or raise the limit with --query-memory.",
        )
}

/// What is said in a block that has failed.
fn aborted() -> Box<SqlError> {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(ErrorKind::InFailedTransaction, message)
}
