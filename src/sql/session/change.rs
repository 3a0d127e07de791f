//! Running INSERT, UPDATE and DELETE, and running them again when they meet concurrent changes.
//!
//! In READ COMMITTED a statement that finds a row changed since its snapshot looks again at that row alone (`dml/recheck`).
//! One that commits as it goes learns of it at its first commit. It is then run again, on the same snapshot and with the
//! locks it has got so far, and looks at each row as it locks it. Where locks do not bind everybody, a newer snapshot is all
//! there is: it may meet other changes, but not these.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use tablegate_store::model::Entity;
use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult, Topic};
use tablegate_types::sql_type::SqlType;

use super::copy::{COPY_FROM, with_way_on};
use super::locking::LockingStatement;
use super::prepare::{Plan, plan_meant};
use super::{Position, Session};
use crate::dml::{Changed, PreparedDml, WriteMode, Writes, insert_all};
use crate::place::Place;
use crate::plan::{CurrentIn, Planner, Tables};
use crate::progress::{Report, Writer};
use crate::reads::Reads;
use crate::relation::{Relation, RelationKind};
use crate::settings::Autocommit;
use crate::syntax::{Command, Isolation, TableMode};
use crate::tx::{Claims, EgtCount, EgtWriter, with_known};

/// How often a change is run before the client learns of the conflicts (40001).
const RUNS_MAX: usize = 100;

/// A statement that adds so many rows to a table that nobody else sees writes them at once. Those of smaller ones are
/// collected, since each write waits for the disk.
const WRITTEN_AT_ONCE: usize = 500;

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
    /// It met a concurrent change, and wrote nothing. Its locks are kept for the next run.
    Conflict(Option<Claims>),
}

/// What the runs of a change have in common.
struct Run {
    /// What it reads: one snapshot, unless that is of no use any more.
    reads: Arc<Reads>,
    /// The rows of its locking sub-queries.
    given: Tables,
    /// Rows are locked as they are found: some have changed since the snapshot, or may have.
    locks_early: bool,
}

/// How a change is run.
enum Way<'e> {
    /// These rows are inserted, and that is all.
    Rows(Vec<Entity>),
    Planned(Box<Planner<'e>>),
}

/// Whose transaction a change belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Block,
    /// Its own, committed as one EGT.
    OneEgt,
    /// That of all statements before the Sync.
    Implicit,
    /// Its own, committed as it goes.
    Direct,
    /// That of a block or of several statements, which has made the table: written as it goes, and seen with it.
    Unseen,
}

/// Whether nothing that a change was planned from has changed, which is remembered then.
///
/// # Errors
/// When the catalogue cannot be read.
pub(super) async fn is_current(
    dml: &PreparedDml,
    planner: &Planner<'_>,
    current_in: Option<&CurrentIn>,
) -> SqlResult<bool> {
    for target in dml.targets() {
        if !planner.is_unchanged(target).await? {
            return Ok(false);
        }
    }
    for input in dml.inputs() {
        if !Box::pin(planner.is_current(input)).await? {
            return Ok(false);
        }
    }
    if let Some(current_in) = current_in {
        let read = dml.inputs().into_iter().flat_map(|input| &input.relations);
        current_in.set(planner.reads.catalog.version(), dml.targets().into_iter().chain(read));
    }
    Ok(true)
}

impl Session {
    /// Runs a change to its end.
    pub(super) async fn change(
        &mut self,
        change: &Change<'_>,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Changed> {
        let unit = self.unit(change.dml, position);
        if self.modes().isolation.keeps_snapshot() && !self.locks_bind_everybody(change.dml) {
            self.notice(no_snapshots());
        }
        if self.transaction.writes().unseen_operations() > 0 {
            Box::pin(self.make_room(change.dml, unit)).await?;
        }
        let mut claims = None;
        self.lock_target(change.dml, unit, &mut claims).await?;
        if let Some(statement) = change.around {
            self.lock_tables_of_sub_queries(statement, claims.as_mut()).await?;
        }
        let reads = self.newest_reads(change.dml).await?;
        let mut run = Run { reads, given: Tables::default(), locks_early: change.around.is_some() };
        if let Some(statement) = change.around {
            let locked = self.lock_sub_queries(statement, parameters, &run.reads, claims.as_mut());
            run.given = Box::pin(locked).await?;
        }
        for _ in 0..RUNS_MAX {
            let fresh = match self.is_known_current(change) {
                true => None,
                false => Box::pin(self.refreshed(change, &run)).await?,
            };
            let dml = fresh.as_ref().unwrap_or(change.dml);
            self.check_targets(&dml.targets()).await?;
            match self.change_once(dml, &run, parameters, unit, claims.take()).await? {
                Pass::Conflict(kept) => {
                    claims = kept;
                    // With all rows locked there are no conflicts but those that need a newer snapshot.
                    if run.locks_early || !self.locks_bind_everybody(change.dml) {
                        run.reads = self.newest_reads(change.dml).await?;
                    }
                    run.locks_early = true;
                }
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

    /// What a change of these tables reads that begins now.
    async fn newest_reads(&self, dml: &PreparedDml) -> SqlResult<Arc<Reads>> {
        if dml.targets().iter().any(|relation| relation.kind == RelationKind::Found) {
            Box::pin(self.engine.catalog().follow()).await?;
        }
        Ok(self.reads())
    }

    fn locks_bind_everybody(&self, dml: &PreparedDml) -> bool {
        dml.targets().iter().all(|relation| self.engine.stores().has_sole_writer(relation.place()))
    }

    fn unit(&self, dml: &PreparedDml, position: Position) -> Unit {
        // A row that moves is deleted and inserted: where observe mode allows that, it must not come apart.
        let moves = self.transaction.observed_statement().is_some() && dml.moves_rows();
        // What is to be serializable is checked at its commit.
        // Of temporary tables all of a statement is committed, or nothing: no rule divides it.
        let is_temporary = dml.targets().iter().any(|relation| !relation.place().has_rules());
        let together = moves || is_temporary || dml.has_several_changes();
        let collects = together || self.modes().isolation == Isolation::Serializable;
        if dml.rows_only_added().is_some_and(|rows| rows >= WRITTEN_AT_ONCE) && self.may_write_at_once(dml.relation()) {
            return Unit::Unseen;
        }
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
            Unit::Block | Unit::OneEgt | Unit::Implicit | Unit::Unseen => self.transaction.claims_mut(),
        };
        for relation in dml.targets() {
            self.engine.stores().check_writable(relation.place())?;
            claims.lock_table(relation, TableMode::RowExclusive).await?;
        }
        Ok(())
    }

    /// A transaction that reads one snapshot can only write to tables that are still what they were then: what is written must be
    /// right by what is declared now.
    ///
    /// # Errors
    /// 40001 for a table that another transaction has changed since.
    pub(super) async fn check_targets(&self, relations: &[&Arc<Relation>]) -> SqlResult<()> {
        if self.transaction.snapshot().is_none() {
            return Ok(());
        }
        let (readers, catalog) = self.engine.catalog().view(self.transaction.catalog(), &self.own);
        for relation in relations {
            let current = catalog.relation(&readers, &relation.placed_name()).await?;
            let is_same = current.is_some_and(|current| match relation.kind {
                RelationKind::Found => current.stored == relation.stored,
                _ => current.still_serves(relation),
            });
            if !is_same {
                let message = "could not serialize access due to concurrent update";
                return Err(SqlError::new(ErrorKind::SerializationFailure, message)
                    .with_detail(format!("Table \"{}\" was truncated, changed or dropped.", relation.name))
                    .with_hint("Run the transaction again."));
            }
        }
        Ok(())
    }

    /// Whether nothing that the statement was planned from has changed since that was last looked at.
    fn is_known_current(&self, change: &Change<'_>) -> bool {
        change.around.is_none() && change.current_in.is_some_and(|current_in| current_in.is(self.catalog_version()))
    }

    /// The statement planned anew when one of its tables or views changed since it was prepared, or to read what its
    /// sub-queries locked.
    async fn refreshed(&self, change: &Change<'_>, run: &Run) -> SqlResult<Option<PreparedDml>> {
        let Change { dml, command, declared, around, current_in } = change;
        let planner = self.planner_on(run.reads.clone()).with(run.given.clone());
        if around.is_none() && is_current(dml, &planner, *current_in).await? {
            return Ok(None);
        }
        let meant = around.map(|statement| statement.meant.clone());
        match plan_meant(&planner, command, declared, meant).await? {
            Plan::Dml(fresh) => {
                let fresh = fresh.given_as(dml);
                let is_alike =
                    |fresh: &PreparedDml| fresh.columns() == dml.columns() && fresh.parameters() == dml.parameters();
                fresh.filter(is_alike).map(Some).ok_or_else(super::run::plan_changed)
            }
            _ => Err(super::run::plan_changed()),
        }
    }

    async fn change_once(
        &mut self,
        dml: &PreparedDml,
        run: &Run,
        parameters: &[ScalarValue],
        unit: Unit,
        claims: Option<Claims>,
    ) -> SqlResult<Pass> {
        let reads = run.reads.clone();
        let engine = self.engine.clone();
        // Many rows are written as columns.
        let are_columns = dml.rows_only_added().is_some_and(|rows| rows > EGT_MAX_OPERATIONS)
            && match unit {
                Unit::Block | Unit::Implicit => self.transaction.collects_columns(dml.relation()),
                Unit::Direct | Unit::Unseen => true,
                Unit::OneEgt => false,
            };
        let plain = match self.settings.direct_reads() && !are_columns {
            true => dml.plain_rows(parameters, reads.moments.reading()),
            false => None,
        };
        let way = match plain {
            Some(rows) => Way::Rows(rows),
            // RETURNING, ON CONFLICT and the parts of WITH are planned again over their rows.
            None => Way::Planned(Box::new(self.planner_of(&engine, reads.clone()).with(run.given.clone()))),
        };
        let mode = match unit {
            Unit::Block => WriteMode::Block(&mut self.transaction),
            Unit::OneEgt => WriteMode::OneEgt(&mut self.transaction),
            Unit::Implicit => WriteMode::Implicit(&mut self.transaction),
            Unit::Direct => {
                let claims = claims.unwrap_or_else(|| self.transaction.take_claims());
                let writer = self.direct_writer(dml.relation(), dml.verb())?;
                WriteMode::Direct(Box::new(writer.with_claims(claims)))
            }
            Unit::Unseen => WriteMode::Direct(Box::new(self.unseen_writer(dml.relation(), dml.verb())?)),
        };
        let writes = Writes::new(&engine, dml.relation().clone(), reads, mode);
        let mut writes = writes.locking_early(run.locks_early);
        let done = match way {
            Way::Rows(rows) => insert_all(rows, &mut writes).await,
            // Not what most changes are: its future must not make theirs larger, which are moved.
            Way::Planned(planner) => Box::pin(dml.run(&planner, parameters, &mut writes)).await,
        };
        let result = match done {
            Ok(changed) => Ok(changed),
            Err(error) => Err(writes.give_up(error).await),
        };
        let (committed, footprint) = (writes.committed(), writes.take_footprint());
        let claims = writes.into_claims();
        self.transaction.end_statement();
        self.note_extent(committed, footprint.as_ref());
        self.record_direct(footprint.as_ref(), committed, result.is_err());
        if unit == Unit::Direct {
            self.tell_about_split(committed);
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
        let store = self.engine.catalog().fenced(store, relation);
        let mut writer = EgtWriter::new(store, relation.clone()).with_report(self.report(relation, command));
        let is_observed = self.transaction.observed_statement().is_some() && relation.place() == Place::Public;
        if is_observed || self.extent.is_some() {
            writer.keep_footprint();
        }
        Ok(writer)
    }

    /// Where a statement that writes much shows how far it is.
    pub(super) fn report(&self, relation: &Relation, command: &'static str) -> Report {
        let writer = Writer { process: self.login.process, relation: relation.oid, command };
        Report { to: self.engine.long_writes().clone(), writer, unfinished: Some(self.unfinished.clone()) }
    }

    /// The error of a statement that was stopped from outside, with what it has written.
    #[must_use]
    pub fn with_written(&self, error: Box<SqlError>) -> Box<SqlError> {
        match self.unfinished.get() {
            Some((writer, tally)) if error.detail.is_none() => {
                let told = with_known(error, &tally);
                if writer.command == COPY_FROM && told.detail.is_some() { with_way_on(told) } else { told }
            }
            _ => error,
        }
    }

    pub(super) fn tell_about_split(&mut self, committed: EgtCount) {
        if committed.egts > 1 {
            let how = match committed.commits {
                1 => "committed together: all of them, or none",
                _ => "each atomic on its own",
            };
            let message = format!("the statement ran as {} entity group transactions, {how}", committed.egts);
            self.notice(Notice::info(message).once(Topic::SplitStatement));
        }
    }
}

/// What a transaction that asks for one snapshot is told where the store has none.
fn no_snapshots() -> Notice {
    Notice::warning("the store has no snapshots: each statement of the transaction reads what is there")
        .with_detail("A change commits only on the versions of rows that its own statement has read.")
        .with_hint("To change a row only as it was read before, say so in the condition: AND balance = 100, or AND etag = '...'.")
        .once(Topic::NoSnapshots)
}

fn too_many_conflicts() -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent update")
        .with_detail(format!("The statement was run {RUNS_MAX} times, and met other changes each time."))
        .with_hint("Run the transaction again.")
}
