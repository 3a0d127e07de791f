//! Commits operations as the entity group transactions they fit into.
//!
//! Used outside blocks: what fits one EGT is atomic, what does not becomes several, each atomic, many of them under way
//! at once while the statement goes on ([`InFlight`]). How many were committed is counted for the NOTICE and, when the
//! statement fails, for the error's DETAIL. With [`Claims`], the rows are locked just before they are committed, at once or
//! in key order, and free again when they are.

mod many;

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_bind::query::LockStrength;
use tablegate_store::model::{ETag, EntityKey};
use tablegate_store::table::{
    Batch, CommitError, IfMatch, NewEntities, Operation, Rejection, TableStore, Written, payload,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::all_rows::AllRows;
use super::claims::{Claims, changed_since_snapshot};
use super::commit_errors::{commit_error, with_committed};
use super::held_back::HeldBack;
use super::held_back_space::HeldBackSpace;
use super::in_flight::{Egt, Failure, Handed, InFlight};
use super::locks::Mark;
use super::only_ahead::OnlyAhead;
use super::window::Window;
use crate::observe::Footprint;
use crate::progress::{Report, Shown};
use crate::relation::Relation;

/// So many rows are locked at once, fewer one by one.
const LOCKED_TOGETHER: usize = 16;

/// What was committed so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EgtCount {
    pub egts: u64,
    pub rows: u64,
    /// How often some of them were committed, all or nothing: as many as they are where each was on its own.
    pub commits: u64,
}

/// Collects operations on one table and commits them.
pub(crate) struct EgtWriter {
    relation: Arc<Relation>,
    window: Window,
    in_flight: InFlight,
    /// Where in the statement's input the next operation is.
    position: u64,
    /// Where the row was that the error is about.
    failed_at: Option<u64>,
    /// An error was given out that says what is committed.
    has_told: bool,
    /// What the statement writes, kept only for observe mode.
    footprint: Option<Footprint>,
    report: Option<Report>,
    shown: Option<Shown>,
    /// The locks of a statement on its own.
    claims: Option<Claims>,
    /// Those it began with: they stay to its end.
    outset: Mark,
    /// What was collected from the beginning on, while all of it may still be committed together.
    held_back: Option<HeldBack>,
    /// The same once it is too much to be kept, and only written ahead.
    only_ahead: Option<OnlyAhead>,
}

impl EgtWriter {
    pub(crate) fn new(store: Arc<dyn TableStore>, relation: Arc<Relation>) -> Self {
        Self {
            relation,
            window: Window::default(),
            in_flight: InFlight::new(store),
            position: 0,
            failed_at: None,
            has_told: false,
            footprint: None,
            report: None,
            shown: None,
            claims: None,
            outset: Mark::default(),
            held_back: None,
            only_ahead: None,
        }
    }

    /// Where the store commits many together, all or nothing, the statement's beginning is held back: if it fails before
    /// that is too long, nothing is committed.
    #[must_use]
    pub(crate) fn holding_back(mut self, space: &Arc<HeldBackSpace>) -> Self {
        let (store, table) = (self.in_flight.store().clone(), self.relation.stored.name.clone());
        self.held_back = self.in_flight.takes_groups().then(|| HeldBack::new(store, table, space));
        self
    }

    /// Locks the rows it writes.
    #[must_use]
    pub(crate) fn with_claims(mut self, mut claims: Claims) -> Self {
        self.outset = claims.mark();
        self.claims = Some(claims);
        self
    }

    /// For a table that nobody else sees yet: what is written goes with it, unless it is committed.
    #[must_use]
    pub(crate) fn unseen(mut self, space: &Arc<HeldBackSpace>) -> Self {
        self.in_flight.set_unseen(self.relation.stored.name.clone(), space);
        self
    }

    /// Shows how far it is, once it is more than one EGT.
    #[must_use]
    pub(crate) fn with_report(mut self, report: Report) -> Self {
        self.report = Some(report);
        self
    }

    pub(crate) fn claims(&self) -> Option<&Claims> {
        self.claims.as_ref()
    }

    pub(crate) fn claims_mut(&mut self) -> Option<&mut Claims> {
        self.claims.as_mut()
    }

    pub(crate) fn into_claims(self) -> Option<Claims> {
        self.claims
    }

    /// Keeps the new version of every entity, for RETURNING.
    pub(crate) fn keep_versions(&mut self) {
        self.in_flight.keep_versions();
    }

    /// Keeps the extent of what is written, for observe mode.
    pub(crate) fn keep_footprint(&mut self) {
        self.footprint = Some(Footprint::new());
    }

    /// Says where in the input the next operation is; each one further than the one before. Without it they are counted.
    pub(crate) fn set_position(&mut self, position: u64) {
        self.position = position;
    }

    /// The position of the row that an error of this writer was about.
    pub(crate) fn failed_at(&self) -> Option<u64> {
        self.failed_at
    }

    /// Takes an operation; hands over what was collected when that is enough or the key is in it already.
    ///
    /// # Errors
    /// A commit that failed: of those under way the one whose row came first; DETAIL says how much was committed.
    pub(crate) async fn push(&mut self, operation: Operation) -> SqlResult<()> {
        if self.in_flight.has_stopped() {
            self.drain().await?;
        }
        // A key given twice fails before its first row is committed, so that a statement of one EGT stays atomic.
        let collected = self.window.get(operation.key());
        let is_there = collected.is_some();
        if matches!(operation, Operation::Insert(_)) && collected.is_some_and(|c| !matches!(c, Operation::Delete(..))) {
            self.failed_at = Some(self.position);
            return Err(self.relation.duplicate_key(operation.key()));
        }
        if is_there || self.window.is_full() {
            self.flush().await?;
        }
        self.window.push(self.position, operation);
        self.position += 1;
        Ok(())
    }

    /// Whether [`EgtWriter::push_columns`] may take new rows.
    pub(crate) fn takes_new(&self) -> bool {
        self.in_flight.takes_columns() && !self.claims.as_ref().is_some_and(Claims::holds_rows)
    }

    /// Whether [`EgtWriter::push_columns`] may take rows that were read: then all of a window are changed, or none.
    pub(crate) fn takes_known(&self) -> bool {
        self.takes_new() && self.in_flight.takes_groups()
    }

    /// Whether the statement has become more than one entity group transaction.
    pub(crate) fn has_begun(&self) -> bool {
        let holds_back = self.held_back.as_ref().is_some_and(|held_back| !held_back.is_empty());
        self.in_flight.is_running() || holds_back || self.only_ahead.is_some()
    }

    /// Begins to collect all rows of the table, where [`EgtWriter::clear`] is worth a try.
    pub(crate) fn begin_clear(&self) -> Option<AllRows> {
        self.may_clear().then(|| AllRows::new(self.footprint.is_some()))
    }

    fn may_clear(&self) -> bool {
        let is_first = !self.has_begun() && self.window.is_empty() && self.held_back.is_none();
        is_first && self.takes_known() && self.binds_everybody()
    }

    /// Removes all rows of the table at once, which are these, if it is unchanged since this commit. False where they are to be
    /// removed one by one: it has changed, or somebody has locked a row of it.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn clear(&mut self, unchanged_since: u64, all: AllRows) -> SqlResult<bool> {
        let Some(claims) = self.claims.as_ref().filter(|_| self.may_clear()) else { return Ok(false) };
        let mut claims = claims.of_next_transaction();
        if !claims.lock_all_rows(&self.relation, LockStrength::Update) {
            return Ok(false);
        }
        let egts = all.by_one.as_ref().map_or(1, |by_one| by_one.egts);
        let cleared = self.in_flight.clear(&self.relation.stored, unchanged_since, (egts, all.count)).await;
        drop(claims);
        let is_cleared = cleared.map_err(|failure| self.told(failure))?;
        if is_cleared {
            self.footprint = all.by_one.map(|by_one| by_one.footprint);
        }
        Ok(is_cleared)
    }

    /// Holds it back, or lets the store have it.
    async fn hand_over(&mut self, window: Handed) -> SqlResult<()> {
        if let Some(held_back) = &mut self.held_back {
            held_back.push(window).await;
            if !held_back.is_full() {
                return Ok(());
            }
            self.only_ahead = held_back.let_go();
            if self.only_ahead.is_none() {
                return self.commit_held_back().await;
            }
            self.held_back = None;
            return Ok(());
        }
        if let Some(ahead) = &mut self.only_ahead
            && let Some(new) = window.as_new()
        {
            ahead.push(new.clone()).await;
            return Ok(());
        }
        self.in_flight.hand_over(window).await;
        if self.in_flight.has_stopped() { self.drain().await } else { Ok(()) }
    }

    /// Commits what was held back, all or nothing, under locks of its own.
    async fn commit_held_back(&mut self) -> SqlResult<()> {
        let Some(mut held_back) = self.held_back.take().filter(|held_back| !held_back.is_empty()) else {
            return Ok(());
        };
        if let Some((key, position)) = held_back.first_twice() {
            self.failed_at = Some(position);
            return Err(self.relation.duplicate_key(&key));
        }
        let mut locks = None;
        if self.binds_everybody()
            && let Some(claims) = &self.claims
        {
            let mut claims = claims.of_next_transaction();
            let keys = held_back.rows().map(|(pair, _)| pair);
            let are_all_locked =
                held_back.is_written_ahead() && claims.lock_all_rows(&self.relation, LockStrength::Update);
            if !are_all_locked && !claims.lock_rows(&self.relation, keys, LockStrength::Update) {
                let mut keys: Vec<_> = held_back.rows().map(|(pair, _)| pair).collect();
                keys.sort_unstable();
                for (partition, row) in keys {
                    let key = EntityKey::parse(partition, row)?;
                    claims.lock(&self.relation, &key, LockStrength::Update).await?;
                }
            }
            locks = Some(claims);
        }
        let mut committed = Ok(false);
        if let Some(rows) = held_back.written_ahead().await {
            committed = self.in_flight.publish(&*rows, held_back.extent()).await;
        }
        if let Ok(false) = committed {
            let (windows, _taken) = held_back.into_windows();
            committed = self.in_flight.run_together(windows).await.map(|()| true);
        }
        drop(locks);
        committed.map(drop).map_err(|failure| self.told(failure))
    }

    /// Has what was only written ahead in the table. One of the keys that come `next`, from these places in the input, may
    /// be among it.
    async fn commit_only_ahead(&mut self, next: Option<(&NewEntities, &Vec<u64>)>) -> SqlResult<()> {
        let Some(ahead) = self.only_ahead.take() else { return Ok(()) };
        let extent = ahead.extent();
        let committed = async {
            let rows = ahead.finish().await?;
            if let Some((new, positions)) = next
                && let Some(place) = rows.first_known(new).await?
            {
                let (key, reason) = (new.keys().key(place), Rejection::EntityExists);
                let refused = CommitError::Rejected { index: 0, key, reason };
                return Err(Failure::of(refused, &positions[place..=place]));
            }
            // Where others have locked rows there are those of others by now, or will be: each is then looked at.
            let mut locks = self.claims.as_ref().filter(|_| self.binds_everybody()).map(Claims::of_next_transaction);
            if let Some(claims) = &mut locks {
                claims.lock_all_rows(&self.relation, LockStrength::Update);
            }
            match self.in_flight.publish(&*rows, extent).await {
                Ok(false) => self.in_flight.insert(&*rows).await,
                published => published.map(drop),
            }
        };
        committed.await.map_err(|failure| self.told(failure))
    }

    /// Commits what is left.
    ///
    /// # Errors
    /// As [`EgtWriter::push`].
    pub(crate) async fn finish(&mut self) -> SqlResult<BTreeMap<EntityKey, Written>> {
        let mut egts = self.collected()?;
        self.commit_only_ahead(None).await?;
        if let Some(held_back) = &mut self.held_back
            && (egts.len() > 1 || !held_back.is_empty())
        {
            self.show();
            if !egts.is_empty() {
                self.hand_over(Handed::Egts(std::mem::take(&mut egts))).await?;
            }
            self.commit_held_back().await?;
        }
        if egts.len() > 1 {
            self.show();
        }
        if self.binds_everybody() && !egts.is_empty() {
            self.commit_locked(egts).await?;
        } else if self.in_flight.is_running() {
            self.in_flight.send(egts).await;
            self.drain().await?;
        } else {
            self.in_flight.run(egts).await.map_err(|failure| self.told(failure))?;
        }
        if let Some(shown) = &self.shown {
            shown.finish();
        }
        Ok(self.in_flight.take_versions().into_iter().collect())
    }

    /// The statement fails with this error: starts no further commit, and waits for those under way. Gives the error to
    /// tell, with what is committed in its DETAIL: that of a commit, whose row came before, goes first.
    pub(crate) async fn give_up(&mut self, error: Box<SqlError>) -> Box<SqlError> {
        if self.has_told {
            return error;
        }
        let told_of = self.failed_at.take();
        self.in_flight.stop();
        match self.in_flight.drain().await {
            Err(failure) => self.told(failure),
            Ok(()) => {
                self.has_told = true;
                self.failed_at = told_of;
                self.with_committed(error)
            }
        }
    }

    /// What was committed so far.
    pub(crate) fn committed(&self) -> EgtCount {
        self.in_flight.committed()
    }

    /// The extent of what was handed to the store, where it is kept.
    pub(crate) fn take_footprint(&mut self) -> Option<Footprint> {
        self.footprint.take()
    }

    /// Hands over what was collected, and goes on.
    async fn flush(&mut self) -> SqlResult<()> {
        if self.window.is_empty() {
            return Ok(());
        }
        let mut egts = self.collected()?;
        self.show();
        self.commit_only_ahead(None).await?;
        if self.held_back.is_some() {
            return self.hand_over(Handed::Egts(egts)).await;
        }
        if self.binds_everybody() {
            let Some(claims) = self.claims.as_ref().filter(|claims| !claims.holds_rows()) else {
                return self.commit_locked(egts).await;
            };
            // The window has its own set of locks, released with it. So rows that are collected meanwhile never wait
            // for a lock while these are held.
            let mut claims = claims.of_next_transaction();
            let mark = claims.mark();
            if let Err(error) = self.lock(&mut claims, &egts).await {
                // Windows that are under way have their rows until they are written: the statement may wait for itself.
                if error.kind != ErrorKind::DeadlockDetected || !self.in_flight.is_running() {
                    return Err(error);
                }
                claims.held().release_to(mark);
                self.drain().await?;
                self.lock(&mut claims, &egts).await?;
            }
            let claims = Arc::new(claims);
            egts.iter_mut().for_each(|egt| egt.locks = Some(claims.clone()));
        }
        self.in_flight.send(egts).await;
        if self.in_flight.has_stopped() { self.drain().await } else { Ok(()) }
    }

    /// What was collected.
    fn collected(&mut self) -> SqlResult<Vec<Egt>> {
        let egts = self.window.take(&self.relation.stored)?;
        if let Some(footprint) = &mut self.footprint {
            egts.iter().for_each(|egt| add_to_footprint(footprint, &self.relation, &egt.batch));
        }
        Ok(egts)
    }

    fn binds_everybody(&self) -> bool {
        self.claims.as_ref().is_some_and(|claims| claims.bind_everybody(self.relation.place()))
    }

    /// Commits these to their end, under the statement's own locks: for the next run it keeps them if that fails.
    async fn commit_locked(&mut self, egts: Vec<Egt>) -> SqlResult<()> {
        self.drain().await?;
        let Some(mut claims) = self.claims.take() else {
            return self.in_flight.run(egts).await.map_err(|failure| self.told(failure));
        };
        let mark = claims.mark();
        // ON CONFLICT has locked some of the rows already.
        let mut early: Vec<EntityKey> = match mark > self.outset {
            true => egts.iter().flat_map(|egt| egt.batch.operations()).map(Operation::key).cloned().collect(),
            false => Vec::new(),
        };
        early.sort_unstable();
        let mut done = self.lock(&mut claims, &egts).await;
        if done.is_ok() {
            done = self.in_flight.run(egts).await.map_err(|failure| self.told(failure));
        }
        if done.is_ok() {
            claims.held().release_to(mark);
            if !early.is_empty() {
                claims.held().release_rows_since(self.outset, |key| early.binary_search(key).is_ok());
            }
        }
        self.claims = Some(claims);
        done
    }

    /// Waits for all that was handed over.
    async fn drain(&mut self) -> SqlResult<()> {
        self.in_flight.drain().await.map_err(|failure| self.told(failure))
    }

    fn told(&mut self, failure: Failure) -> Box<SqlError> {
        self.has_told = true;
        self.failed_at = failure.position;
        self.with_committed(commit_error(&self.relation, failure.error))
    }

    fn with_committed(&self, error: Box<SqlError>) -> Box<SqlError> {
        // Nobody sees such a table before the transaction commits: no error says what is in it.
        if self.in_flight.is_unseen() { error } else { with_committed(error, self.committed()) }
    }

    fn show(&mut self) {
        if let Some(report) = self.report.take() {
            self.shown = Some(report.begin(self.in_flight.tally()));
        }
    }

    /// Locks the rows of these operations: at once if nobody has one of them, else one after the other in key order.
    ///
    /// # Errors
    /// When one cannot be locked; 40001 when one of several has changed since it was read.
    async fn lock(&self, claims: &mut Claims, egts: &[Egt]) -> SqlResult<()> {
        let mut operations: Vec<&Operation> = egts.iter().flat_map(|egt| egt.batch.operations()).collect();
        let mut unsure = Vec::new();
        if operations.len() >= LOCKED_TOGETHER && self.lock_together(claims, &operations) {
            unsure.extend(operations.into_iter().filter_map(|operation| Some((operation.key(), version(operation)?))));
        } else {
            operations.sort_unstable_by(|one, other| one.key().cmp(other.key()));
            for operation in operations {
                let unchanged = claims.lock(&self.relation, operation.key(), strength(operation)).await?;
                if let Some(version) = version(operation).filter(|_| !unchanged) {
                    unsure.push((operation.key(), version));
                }
            }
        }
        // A single one that has to fail does so before anything is committed. Of several, some would be.
        let checked = unsure.into_iter().filter(|_| egts.len() > 1);
        match claims.first_changed(&self.relation, checked).await? {
            Some((key, found)) => Err(changed_since_snapshot(&self.relation, key, found)),
            None => Ok(()),
        }
    }

    /// Locks all of the rows at once, where no other transaction has one of them.
    fn lock_together(&self, claims: &mut Claims, operations: &[&Operation]) -> bool {
        let Some(strongest) = operations.iter().map(|operation| strength(operation)).max() else { return true };
        // A row that is locked already would be locked a second time under another name.
        !claims.holds_rows()
            && claims.lock_rows(&self.relation, operations.iter().map(|o| o.key().as_pair()), strongest)
    }
}

fn add_to_footprint(footprint: &mut Footprint, relation: &Relation, batch: &Batch) {
    let bytes = batch.payload_bytes() - payload::ENVELOPE_BYTES;
    footprint.add(relation, batch.partition().as_str(), batch.operations().len(), bytes);
}

/// How strongly the row of an operation is locked.
fn strength(operation: &Operation) -> LockStrength {
    match operation {
        Operation::Merge(_, IfMatch::ETag(_)) | Operation::Replace(_, IfMatch::ETag(_)) => LockStrength::NoKeyUpdate,
        _ => LockStrength::Update,
    }
}

/// The version that the row was read in.
fn version(operation: &Operation) -> Option<&ETag> {
    match operation {
        Operation::Merge(_, IfMatch::ETag(version))
        | Operation::Replace(_, IfMatch::ETag(version))
        | Operation::Delete(_, IfMatch::ETag(version)) => Some(version),
        _ => None,
    }
}
