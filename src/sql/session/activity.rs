//! What other sessions see of this one in `pg_stat_activity`.

use std::net::SocketAddr;
use std::sync::Arc;

use tablegate_types::error::SqlResult;

use super::{NamedStatement, Session, TransactionStatus};
use crate::activity::{Doing, Stopper, Visitor};

impl Session {
    /// The session is one that others see, and may stop.
    pub fn appear(&mut self, address: Option<SocketAddr>, stopper: Arc<dyn Stopper>) {
        let visitor =
            Visitor { process: self.login.process, user: &self.user, address, settings: &self.settings, stopper };
        self.presence = Some(self.engine.sessions().enter(visitor, self.engine.now().unix_micros()));
    }

    /// The client asked for this.
    pub fn show_running(&self, query: &str) {
        if let Some(presence) = &self.presence {
            let began = self.transaction.began().map(tablegate_store::model::EdmDateTime::unix_micros);
            presence.run(query, began);
        }
    }

    /// It is the client's turn.
    pub fn show_waiting(&self) {
        let Some(presence) = &self.presence else { return };
        let doing = match self.transaction_status() {
            TransactionStatus::Idle => Doing::Idle,
            TransactionStatus::InBlock => Doing::IdleInTransaction,
            TransactionStatus::Failed => Doing::Aborted,
        };
        let began = self.transaction.began().map(tablegate_store::model::EdmDateTime::unix_micros);
        presence.rest(doing, began);
    }

    /// The session is over. Plans that are still about to end hold the handles too.
    pub(super) fn give_up_locks(&self) {
        self.handles.advisory.end_transaction();
        self.handles.advisory.unlock_all();
    }

    /// Keeps a statement that the protocol prepared from this text.
    ///
    /// # Errors
    /// 53200 when those that are kept take all of the memory.
    pub fn keep_statement(&mut self, name: String, statement: NamedStatement, text: &str) -> SqlResult<()> {
        let memory = if name.is_empty() { None } else { Some(self.memory_of_statement(text)?) };
        let now = self.engine.now().unix_micros();
        self.statements.insert(name, statement, now, None, memory);
        Ok(())
    }
}
