//! Running INSERT, UPDATE and DELETE, and running them again when they meet concurrent changes.
//!
//! In READ COMMITTED a statement that finds a row changed since its snapshot waits for the transaction that changes it,
//! and then goes on with the row as it is now. Here it is run again, on a newer snapshot and with the locks it has got
//! so far: the rows it met cannot change under it a second time.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use tablegate_store::model::Entity;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult, Topic};
use tablegate_types::sql_type::SqlType;

use super::locking::LockingStatement;
use super::prepare::{Plan, plan};
use super::{Position, Session};
use crate::dml::{Changed, PreparedDml, WriteMode, Writes, insert_all};
use crate::place::Place;
use crate::plan::{CurrentIn, Planner, Tables};
use crate::progress::{Report, Writer};
use crate::relation::{Relation, RelationKind};
use crate::settings::Autocommit;
use crate::syntax::{Command, Isolation};
use crate::tx::{Claims, EgtCount, EgtWriter, TableMode};

/// How often a change is run before the client learns of the conflicts (40001). Where rows are locked, each run has
/// all that the one before it met: more than a few are not to be expected.
pub(super) const RUNS_MAX: usize = 100;

/// A change, and what it was planned from.
pub(super) struct Change<'a> {
    pub dml: &'a PreparedDml,
    pub command: &'a Command,
    pub declared: &'a [SqlType],
    /// Its locking sub-queries, if it has some.
    pub around: Option<&'a LockingStatement>,
    /// Where its plan was found to be current, if that is remembered.
    pub current_in: Option<&'a CurrentIn>,
}

/// What came of running a change once.
enum Pass {
    Done(Changed),
    /// It met a concurrent change, and wrote nothing. The locks of a statement on its own are kept for its next run.
    Conflict(Option<Claims>),
}

/// How a change is run.
enum Way<'e> {
    /// These rows are inserted, and that is all.
    Rows(Vec<Entity>),
    Planned(Box<Planner<'e>>),
}

/// Whose transaction a change belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Block,
    /// Its own, committed as one EGT.
    OneEgt,
    /// That of all statements before the Sync.
    Implicit,
    /// Its own, committed as it goes.
    Direct,
}

impl Session {
    /// Runs a change to its end.
    pub(super) async fn change(
        &mut self,
        change: &Change<'_>,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Changed> {
        let mut claims = None;
        for _ in 0..RUNS_MAX {
            let unit = self.unit(change.dml, position);
            self.lock_target(change.dml, unit, &mut claims).await?;
            let given = match change.around {
                Some(statement) => Box::pin(self.lock_sub_queries(statement, parameters, claims.as_mut())).await?,
                None => Some(Tables::default()),
            };
            let Some(given) = given else {
                tokio::task::yield_now().await;
                continue;
            };
            if change.dml.targets().iter().any(|relation| relation.kind == RelationKind::Found) {
                Box::pin(self.engine.catalog().follow()).await?;
            }
            let fresh = Box::pin(self.refreshed(change, given.clone())).await?;
            let dml = fresh.as_ref().unwrap_or(change.dml);
            self.check_target(dml).await?;
            match self.change_once(dml, given, parameters, unit, claims.take()).await? {
                Pass::Conflict(kept) => claims = kept,
                Pass::Done(changed) => {
                    if changed.rows > 0
                        && let Some(notice) = dml.evolution()
                    {
                        self.notice(notice);
                    }
                    if unit != Unit::Direct && position == Position::Last {
                        self.finish_implicit().await?;
                    }
                    return Ok(changed);
                }
            }
            tokio::task::yield_now().await;
        }
        Err(too_many_conflicts())
    }

    fn unit(&self, dml: &PreparedDml, position: Position) -> Unit {
        // A row that moves is deleted and inserted: where observe mode allows that, it must not come apart.
        let moves = self.transaction.observed_statement().is_some() && dml.moves_rows();
        // What is to be serializable is checked at its commit.
        // Of temporary tables all of a statement is committed, or nothing: no rule divides it.
        let is_temporary = dml.targets().iter().any(|relation| !relation.place().has_rules());
        let together = moves || is_temporary || dml.has_several_changes();
        let collects = together || self.modes().isolation == Isolation::Serializable;
        if self.transaction.in_block() {
            Unit::Block
        } else if self.settings.autocommit() == Autocommit::Strict {
            Unit::OneEgt
        } else if position == Position::Last && !self.transaction.has_implicit_writes() && !collects {
            Unit::Direct
        } else {
            Unit::Implicit
        }
    }

    /// Locks the tables that are written, before a snapshot of them is taken.
    async fn lock_target(&mut self, dml: &PreparedDml, unit: Unit, claims: &mut Option<Claims>) -> SqlResult<()> {
        let claims = match unit {
            Unit::Direct => claims.get_or_insert_with(|| self.transaction.take_claims()),
            Unit::Block | Unit::OneEgt | Unit::Implicit => self.transaction.claims_mut(),
        };
        for relation in dml.targets() {
            self.engine.stores().check_writable(relation.place())?;
            claims.lock_table(relation, TableMode::RowExclusive).await?;
        }
        Ok(())
    }

    /// A transaction that reads one snapshot can only write to tables that are still what they were then.
    async fn check_target(&self, dml: &PreparedDml) -> SqlResult<()> {
        if self.transaction.snapshot().is_none() {
            return Ok(());
        }
        let (readers, catalog) = self.engine.catalog().view(self.transaction.catalog(), &self.own);
        for relation in dml.targets() {
            let current = catalog.relation(&readers, &relation.placed_name()).await?;
            if current.is_none_or(|current| current.stored != relation.stored) {
                let message = "could not serialize access due to concurrent update";
                return Err(SqlError::new(ErrorKind::SerializationFailure, message)
                    .with_detail(format!("Table \"{}\" was truncated, changed or dropped.", relation.name))
                    .with_hint("Run the transaction again."));
            }
        }
        Ok(())
    }

    /// The statement planned anew when one of its tables or views changed since it was prepared, or to read what its
    /// sub-queries locked.
    async fn refreshed(&self, change: &Change<'_>, given: Tables) -> SqlResult<Option<PreparedDml>> {
        let Change { dml, command, declared, around, current_in } = change;
        if around.is_none() && current_in.is_some_and(|current_in| current_in.is(self.catalog_version())) {
            return Ok(None);
        }
        let planner = self.planner().with(given);
        let mut is_current = around.is_none();
        for target in dml.targets() {
            is_current = is_current && planner.is_unchanged(target).await?;
        }
        for input in dml.inputs() {
            is_current = is_current && Box::pin(planner.is_current(input)).await?;
        }
        if is_current {
            if let Some(current_in) = current_in {
                let read = dml.inputs().into_iter().flat_map(|input| &input.relations);
                current_in.set(planner.reads.catalog.version(), dml.targets().into_iter().chain(read));
            }
            return Ok(None);
        }
        match plan(&planner, command, declared).await? {
            Plan::Dml(fresh) if fresh.columns() == dml.columns() && fresh.parameters() == dml.parameters() => {
                Ok(Some(*fresh))
            }
            _ => Err(super::run::plan_changed()),
        }
    }

    async fn change_once(
        &mut self,
        dml: &PreparedDml,
        given: Tables,
        parameters: &[ScalarValue],
        unit: Unit,
        claims: Option<Claims>,
    ) -> SqlResult<Pass> {
        let reads = self.reads();
        let engine = self.engine.clone();
        let plain = match self.settings.direct_reads() {
            true => dml.plain_rows(parameters, reads.moments.reading()),
            false => None,
        };
        let way = match plain {
            Some(rows) => Way::Rows(rows),
            // RETURNING, ON CONFLICT and the parts of WITH are planned again over their rows.
            None => Way::Planned(Box::new(self.planner_of(&engine, reads.clone()).with(given))),
        };
        let before = self.transaction.statement_mark();
        let mode = match unit {
            Unit::Block => WriteMode::Block(&mut self.transaction),
            Unit::OneEgt => WriteMode::OneEgt(&mut self.transaction),
            Unit::Implicit => WriteMode::Implicit(&mut self.transaction),
            Unit::Direct => {
                let claims = claims.unwrap_or_else(|| self.transaction.take_claims());
                let writer = self.direct_writer(dml.relation(), dml.verb())?;
                WriteMode::Direct(Box::new(writer.with_claims(claims)))
            }
        };
        let mut writes = Writes::new(&engine, dml.relation().clone(), reads, mode);
        let run = match way {
            Way::Rows(rows) => insert_all(rows, &mut writes).await,
            Way::Planned(planner) => dml.run(&planner, parameters, &mut writes).await,
        };
        let result = match run {
            Ok(changed) => Ok(changed),
            Err(error) => Err(writes.give_up(error).await),
        };
        let (stale, committed, footprint) = (writes.is_stale(), writes.committed(), writes.take_footprint());
        let claims = writes.into_claims();
        self.transaction.end_statement();
        self.record_direct(footprint.as_ref(), committed, result.is_err());
        self.tell_about_split(committed);
        if stale && !result.as_ref().is_err_and(|error| ends_wait(error.kind)) {
            self.transaction.undo_statement(&before);
            return Ok(Pass::Conflict(None));
        }
        let can_repeat =
            unit == Unit::Direct && committed == EgtCount::default() && !self.modes().isolation.keeps_snapshot();
        match result {
            Err(error) if error.kind == ErrorKind::SerializationFailure && can_repeat => Ok(Pass::Conflict(claims)),
            result => Ok(Pass::Done(result?)),
        }
    }

    /// Commits what a statement outside a block writes, as it comes.
    ///
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub(super) fn direct_writer(&self, relation: &Arc<Relation>, command: &'static str) -> SqlResult<EgtWriter> {
        let store = self.engine.stores().at(relation.place())?.clone();
        let mut writer = EgtWriter::new(store, relation.clone()).with_report(self.report(relation, command));
        if self.transaction.observed_statement().is_some() && relation.place() == Place::Public {
            writer.keep_footprint();
        }
        Ok(writer)
    }

    /// Where a statement that writes much shows how far it is.
    pub(super) fn report(&self, relation: &Relation, command: &'static str) -> Report {
        let writer = Writer { process: self.login.process, relation: relation.oid, command };
        Report { to: self.engine.long_writes().clone(), writer }
    }

    pub(super) fn tell_about_split(&mut self, committed: EgtCount) {
        if committed.egts > 1 {
            let message =
                format!("the statement ran as {} entity group transactions, each atomic on its own", committed.egts);
            self.notice(Notice::info(message).once(Topic::SplitStatement));
        }
    }
}

/// Errors of a wait for a lock: running the statement again would only wait again.
fn ends_wait(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::LockNotAvailable | ErrorKind::DeadlockDetected)
}

pub(super) fn too_many_conflicts() -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent update")
        .with_detail(format!("The statement was run {RUNS_MAX} times, and met other changes each time."))
        .with_hint("Run the transaction again.")
}
