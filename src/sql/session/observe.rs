//! Reports to observe mode which statement writes and how the session's transactions end.

use std::ptr;
use std::sync::Arc;

use tablegate_types::error::{Notice, SqlError, SqlResult};

use super::Session;
use super::prepare::Prepared;
use crate::observe::{Client, Footprint, Observed, Outcome, SeenStatement};
use crate::settings::EgtMode;
use crate::tx::{Collected, EgtCount};

/// A prepared statement, with another text that it stands for.
pub(super) type Repeats = (Arc<Prepared>, Arc<SeenStatement>);

/// A prepared statement as it is recorded: by the text that it stands for now, where that is not the one it was planned from.
pub(super) fn seen(prepared: &Prepared, repeats: Option<Repeats>) -> Arc<SeenStatement> {
    match repeats {
        Some((of, seen)) if ptr::eq(&raw const *of, prepared) => seen,
        _ => prepared.seen(),
    }
}

impl Session {
    /// A statement that writes begins. Observe mode looks on where the store can carry out what the mode allows.
    ///
    /// # Errors
    /// When the records of observe mode cannot be read or made.
    pub(super) async fn start_statement(&mut self, statement: impl FnOnce() -> Arc<SeenStatement>) -> SqlResult<()> {
        let observes =
            self.settings.egt_mode() == EgtMode::Observe && self.engine.stores().public().promises().atomic_groups;
        if observes {
            self.engine.recorder().get_ready().await?;
        }
        self.transaction.start_statement(observes.then(statement));
        Ok(())
    }

    /// Who is recorded as the one who ran a transaction.
    pub(super) fn client(&self) -> Client {
        Client::new(&self.settings.application_name(), &self.user)
    }

    /// A transaction ended; nothing is recorded of one that observe mode did not see write.
    pub(super) fn record(&self, observed: &Observed, footprint: &Footprint, outcome: Outcome) {
        if !observed.statements().is_empty() {
            self.engine.counters().add_breaches(observed);
            self.engine.recorder().ended(&self.client(), observed, footprint, outcome, self.engine.now());
        }
    }

    /// A client was told that its statement failed.
    pub fn record_failure(&self, sqlstate: &str, error: &SqlError) {
        if self.settings.egt_mode() == EgtMode::Observe
            && let Some(presence) = &self.presence
        {
            self.engine.recorder().failed(&self.client(), sqlstate, error, &presence.query(), self.engine.now());
        }
    }

    /// What was collected is forgotten.
    pub(super) fn record_rollback(&self, collected: &Collected) {
        if !collected.observed.statements().is_empty() {
            self.record(&collected.observed, &collected.footprint(), Outcome::RolledBack);
        }
    }

    /// A statement outside a block ended, whose rows were committed as they came.
    pub(super) fn record_direct(&self, footprint: Option<&Footprint>, committed: EgtCount, failed: bool) {
        self.meter.add_egts(committed.egts);
        let (Some(statement), Some(footprint)) = (self.transaction.observed_statement(), footprint) else { return };
        let outcome = match committed.egts {
            0 => return,
            _ if failed => Outcome::Torn,
            1 => Outcome::Committed,
            _ => Outcome::Split,
        };
        let mut observed = Observed::default();
        observed.see(statement);
        if outcome != Outcome::Committed {
            footprint.broken_rules().for_each(|rule| observed.broke(rule, statement));
        }
        self.record(&observed, footprint, outcome);
    }

    /// One WARNING for each transaction that strict mode would have refused.
    pub(super) fn tell_about_breaches(&mut self, observed: &Observed) {
        let breaches = observed.breaches();
        if breaches.is_empty() {
            return;
        }
        let rules: Vec<&str> = breaches.iter().map(|breach| breach.rule.name()).collect();
        let statements: Vec<String> =
            breaches.iter().map(|breach| format!("{}: {}", breach.rule.name(), breach.statement.text())).collect();
        let message = format!("the transaction is not one entity group transaction: {}", rules.join(", "));
        let warning = Notice::warning(message)
            .with_detail(statements.join("\n"))
            .with_hint("The view egt_violations keeps this; egt.mode = strict would refuse these statements.");
        self.notice(warning);
    }
}

/// Who leaves in the middle of a transaction rolls it back.
impl Drop for Session {
    fn drop(&mut self) {
        self.give_up_locks();
        self.end_transacting(false);
        for collected in [self.transaction.end(), self.transaction.take_implicit()] {
            self.record_rollback(&collected);
        }
    }
}
