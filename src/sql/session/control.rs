//! BEGIN, COMMIT, ROLLBACK, savepoints and SET TRANSACTION.

use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::Session;
use crate::login::Role;
use crate::outcome::{CommandTag, Outcome};
use crate::settings::may_only_read;
use crate::syntax::{Isolation, NamedModes, TransactionCommand, TransactionModes};
use crate::tx::{Collected, Snapshot, TransactionState};

impl Session {
    pub(super) async fn run_transaction(&mut self, command: &TransactionCommand) -> SqlResult<Outcome> {
        let tag = match command {
            TransactionCommand::Begin(modes) => self.begin(*modes, "BEGIN")?,
            TransactionCommand::Start(modes) => self.begin(*modes, "START TRANSACTION")?,
            TransactionCommand::SetModes(modes) => self.set_modes(*modes)?,
            TransactionCommand::SetSessionModes(modes) => self.set_session_modes(*modes)?,
            TransactionCommand::SetSnapshot => {
                return Err(SqlError::not_supported("SET TRANSACTION SNAPSHOT").with_hint(
                    "Read what is to be of one moment in one session, after BEGIN ISOLATION LEVEL REPEATABLE READ; pg_dump \
                     without --jobs does.",
                ));
            }
            TransactionCommand::Commit { chain } => self.commit(*chain).await?,
            TransactionCommand::Rollback { chain } => self.rollback(*chain)?,
            TransactionCommand::Savepoint(name) => {
                self.transaction.savepoint(name.clone())?;
                self.settings.savepoint();
                self.handles.listener.savepoint();
                self.handles.advisory.savepoint();
                "SAVEPOINT"
            }
            TransactionCommand::Release(name) => {
                self.transaction.release(name)?;
                self.cursors.release_to(self.transaction.savepoints());
                self.settings.release_to(self.transaction.savepoints());
                self.handles.listener.release_to(self.transaction.savepoints());
                self.handles.advisory.release_to(self.transaction.savepoints());
                "RELEASE"
            }
            TransactionCommand::RollbackTo(name) => {
                self.transaction.rollback_to(name)?;
                self.cursors.rollback_to(self.transaction.savepoints());
                self.settings.rollback_to(self.transaction.savepoints());
                self.handles.listener.rollback_to(self.transaction.savepoints());
                self.handles.advisory.rollback_to(self.transaction.savepoints());
                "ROLLBACK"
            }
            TransactionCommand::Prepare => self.prepare_transaction()?,
            TransactionCommand::EndPrepared(name) => {
                let message = format!("prepared transaction with identifier \"{name}\" does not exist");
                return Err(SqlError::new(ErrorKind::UndefinedObject, message));
            }
        };
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    /// A statement that reads or writes tables begins: takes the snapshot of the transaction, where it has one and it
    /// is the first.
    pub(super) async fn begin_query(&mut self) {
        self.transaction.set_begun();
        let isolation = self.modes().isolation;
        if !isolation.keeps_snapshot() || self.transaction.snapshot().is_some() {
            return;
        }
        let take = || self.engine.catalog().moment();
        let snapshot = if isolation == Isolation::Serializable {
            let (serial, moment) = self.engine.serial().begin(take).await;
            Snapshot { moment, serial: Some(serial) }
        } else {
            Snapshot { moment: take(), serial: None }
        };
        self.transaction.set_snapshot(snapshot);
    }

    /// The modes of the open block, or those of the statements outside one.
    pub(super) fn modes(&self) -> TransactionModes {
        let modes = self.transaction.modes().unwrap_or_else(|| self.settings.default_modes());
        TransactionModes { read_only: modes.read_only || self.login.role == Role::ReadOnly, ..modes }
    }

    /// Commits what a block or an implicit transaction has collected, and ends it.
    pub(super) async fn commit_and_finish(&mut self, collected: Collected, is_block: bool) -> SqlResult<()> {
        let replaced = collected.writes.replaced();
        let committed = self.commit_collected(collected, is_block).await;
        if committed.is_ok() {
            self.transaction.claims().note_replaced(replaced);
        }
        self.finish_transaction(committed.is_ok());
        committed
    }

    /// What was to be committed is, or is forgotten: ends the transaction.
    pub(super) fn finish_transaction(&mut self, committed: bool) {
        self.transaction.finish();
        self.settings.end_transaction(committed);
        self.end_parts(committed);
        self.cursors.end_transaction();
    }

    /// What belongs to the session besides its tables ends with the transaction: notifications are sent or forgotten,
    /// locks on numbers given back.
    pub(super) fn end_parts(&mut self, committed: bool) {
        self.end_transacting(committed);
        self.handles.listener.end_transaction(committed, self.login.process);
        self.handles.advisory.end_transaction();
    }

    /// Looks whether the tables that were written to are still what they were, where other gateways may change them.
    async fn check_tables(&self, collected: &Collected) -> SqlResult<()> {
        let catalog = self.engine.catalog();
        if !catalog.is_shared() {
            return Ok(());
        }
        catalog.check_found(&collected.writes.found_tables()).await?;
        let written: Vec<_> = collected.writes.tables().cloned().collect();
        catalog.check_declared(&written, &collected.catalog).await
    }

    async fn commit_collected(&mut self, mut collected: Collected, is_block: bool) -> SqlResult<()> {
        self.handles.listener.check_commit()?;
        // Rarely has anything to do: its future must not make those of all commits larger.
        Box::pin(self.end_temporary(&mut collected)).await?;
        if let Err(error) = Box::pin(self.check_tables(&collected)).await {
            self.record_rollback(&collected);
            return Err(error);
        }
        let turn = match self.transaction.commit_turn(&collected.writes).await {
            Ok(turn) => turn,
            Err(error) => {
                self.record_rollback(&collected);
                return Err(error);
            }
        };
        let committed =
            if is_block { self.commit_block(collected).await } else { self.commit_implicit(collected).await };
        drop(turn);
        committed
    }

    /// Gives the open block modes.
    ///
    /// # Errors
    /// 25001 for what cannot change any more, 42501 for writes of a user who may only read.
    pub(super) fn set_block_modes(&mut self, modes: NamedModes) -> SqlResult<()> {
        self.check_role(modes)?;
        self.transaction.set_modes(modes)
    }

    fn check_role(&self, modes: NamedModes) -> SqlResult<()> {
        if self.login.role == Role::ReadOnly && modes.read_only == Some(false) {
            return Err(may_only_read("transaction_read_only"));
        }
        Ok(())
    }

    fn begin(&mut self, modes: NamedModes, tag: &'static str) -> SqlResult<&'static str> {
        self.check_role(modes)?;
        if self.transaction.in_block() {
            self.notice(
                Notice::warning("there is already a transaction in progress").of_kind(ErrorKind::ActiveTransaction),
            );
        } else {
            self.transaction.begin(self.settings.default_modes(), self.engine.now())?;
        }
        self.transaction.set_modes(modes)?;
        Ok(tag)
    }

    fn set_modes(&mut self, modes: NamedModes) -> SqlResult<&'static str> {
        if !self.transaction.in_block() {
            self.notice(
                Notice::warning("SET TRANSACTION can only be used in transaction blocks")
                    .of_kind(ErrorKind::NoActiveTransaction),
            );
        }
        self.set_block_modes(modes)?;
        Ok("SET")
    }

    fn set_session_modes(&mut self, modes: NamedModes) -> SqlResult<&'static str> {
        let on = |is_on| if is_on { "on" } else { "off" };
        if let Some(isolation) = modes.isolation {
            self.settings.set("default_transaction_isolation", Some(isolation.name()))?;
        }
        if let Some(read_only) = modes.read_only {
            self.settings.set("default_transaction_read_only", Some(on(read_only)))?;
        }
        if let Some(deferrable) = modes.deferrable {
            self.settings.set("default_transaction_deferrable", Some(on(deferrable)))?;
        }
        Ok("SET")
    }

    async fn commit(&mut self, chain: bool) -> SqlResult<&'static str> {
        match self.transaction.state() {
            TransactionState::Failed => {
                self.rollback(chain)?;
                return Ok("ROLLBACK");
            }
            TransactionState::Idle if chain => return Err(no_block("COMMIT AND CHAIN")),
            TransactionState::Idle => {
                self.notice(no_transaction());
                self.finish_implicit().await?;
            }
            TransactionState::InBlock => {
                if let Err(error) = self.cursors.hold().await {
                    self.rollback(false)?;
                    return Err(error);
                }
                let modes = self.modes();
                let collected = self.transaction.end();
                Box::pin(self.commit_and_finish(collected, true)).await?;
                if chain {
                    self.transaction.begin(modes, self.engine.now())?;
                }
            }
        }
        Ok("COMMIT")
    }

    fn rollback(&mut self, chain: bool) -> SqlResult<&'static str> {
        if !self.transaction.in_block() {
            if chain {
                return Err(no_block("ROLLBACK AND CHAIN"));
            }
            self.notice(no_transaction());
        }
        let modes = self.modes();
        for forgotten in [self.transaction.end(), self.transaction.take_implicit()] {
            self.record_rollback(&forgotten);
        }
        self.transaction.finish();
        self.settings.end_transaction(false);
        self.end_parts(false);
        self.cursors.end_transaction();
        if chain {
            self.transaction.begin(modes, self.engine.now())?;
        }
        Ok("ROLLBACK")
    }

    /// PREPARE TRANSACTION ends the block; nothing can be prepared, so it is rolled back.
    fn prepare_transaction(&mut self) -> SqlResult<&'static str> {
        let state = self.transaction.state();
        self.rollback(false)?;
        match state {
            TransactionState::InBlock => {
                Err(SqlError::new(ErrorKind::ObjectNotInState, "prepared transactions are disabled")
                    .with_hint("Use COMMIT: stores do not take part in two-phase commits."))
            }
            TransactionState::Failed | TransactionState::Idle => Ok("ROLLBACK"),
        }
    }
}

fn no_transaction() -> Notice {
    Notice::warning("there is no transaction in progress").of_kind(ErrorKind::NoActiveTransaction)
}

fn no_block(command: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::NoActiveTransaction, format!("{command} can only be used in transaction blocks"))
}
