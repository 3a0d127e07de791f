//! What a transaction has locked, and what has become of the rows since its statements saw them.
//!
//! A statement reads a snapshot and locks what it finds there. What changed between the two is found out here, right
//! after the lock was taken: from then on no other transaction changes it.

use std::sync::Arc;
use std::time::Duration;

use tablegate_bind::query::LockStrength;
use tablegate_store::model::{ETag, EntityKey, EntityKeys, StoredEntity};
use tablegate_store::table::{AtOnce, ScanColumns, TableReader, TableStore};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::locks::{HeldLocks, LockError, LockWait, Locks, Mark};
use crate::place::{Place, StoredTable, Stores};
use crate::relation::Relation;
use crate::syntax::TableMode;

/// The locks of one transaction.
#[derive(Debug)]
pub(crate) struct Claims {
    held: HeldLocks,
    stores: Stores,
    timeout: Option<Duration>,
    keeps_snapshot: bool,
}

/// Whether a row is what the statement saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Unchanged,
    Changed,
    Gone,
}

impl Claims {
    /// No claims yet, of a session that its clients know by this number.
    pub(crate) fn new(locks: Arc<Locks>, stores: Stores, process: i32) -> Self {
        Self { held: HeldLocks::new(locks, process), stores, timeout: None, keeps_snapshot: false }
    }

    /// No claims yet, of the same session.
    pub(crate) fn of_next_transaction(&self) -> Self {
        let Self { held, stores, timeout, keeps_snapshot } = self;
        let stores = stores.clone();
        Self { held: held.of_next_transaction(), stores, timeout: *timeout, keeps_snapshot: *keeps_snapshot }
    }

    /// Whether rows are locked, not tables alone.
    pub(crate) fn holds_rows(&self) -> bool {
        self.held.holds_rows()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// A statement begins that waits at most so long for each lock (`lock_timeout`), and that reads its transaction's
    /// snapshot or one of its own.
    pub(crate) fn begin_statement(&mut self, timeout: Option<Duration>, keeps_snapshot: bool) {
        self.timeout = timeout;
        self.keeps_snapshot = keeps_snapshot;
    }

    /// Whether a row that changed since the snapshot ends the transaction, instead of being read anew.
    pub(crate) fn keeps_snapshot(&self) -> bool {
        self.keeps_snapshot
    }

    /// Whether this gateway is the only writer of the place's store, so that its locks exclude every other writer.
    /// Where it is not, rows are not locked; their versions are checked at the commit.
    pub(crate) fn bind_everybody(&self, place: Place) -> bool {
        self.stores.has_sole_writer(place)
    }

    /// Whether several entity group transactions in the store of a place can be committed together.
    pub(crate) fn commits_groups(&self, place: Place) -> bool {
        self.stores.at(place).is_ok_and(|store| store.promises().atomic_groups)
    }

    /// Locks a table, waiting for the holder of a conflicting lock.
    ///
    /// # Errors
    /// As [`Claims::lock`].
    pub(crate) async fn lock_table(&mut self, relation: &Relation, mode: TableMode) -> SqlResult<()> {
        let wait = LockWait::AtMost(self.timeout);
        self.held.lock_table(relation.oid, mode, wait).await.map_err(|error| error.for_table(relation))
    }

    /// Locks a table if that can be done at once.
    ///
    /// # Errors
    /// 55P03 when it cannot.
    pub(crate) async fn try_lock_table(&mut self, relation: &Relation, mode: TableMode) -> SqlResult<()> {
        let locked = self.held.lock_table(relation.oid, mode, LockWait::No).await;
        locked.map_err(|error: LockError| error.for_table(relation))
    }

    /// Locks a row, waiting for its holder. True when it was locked before, so that no other transaction can have
    /// changed it since then.
    ///
    /// # Errors
    /// 55P03 when others hold it for too long, 40P01 when they never would give it back, 53200 for too many locks.
    pub(crate) async fn lock(
        &mut self,
        relation: &Relation,
        key: &EntityKey,
        strength: LockStrength,
    ) -> SqlResult<bool> {
        let wait = LockWait::AtMost(self.timeout);
        let locked = self.held.lock_row(&relation.stored, key, strength, wait).await;
        locked.map_err(|error| error.for_row(relation, key))
    }

    /// Locks the rows of a window at once, if nobody has one of them, not even this transaction: otherwise none is locked.
    pub(crate) fn lock_rows<'k>(
        &mut self,
        relation: &Relation,
        keys: impl Iterator<Item = (&'k str, &'k str)>,
        strength: LockStrength,
    ) -> bool {
        self.held.lock_rows(&relation.stored, keys, strength)
    }

    /// As [`Claims::lock_rows`], of rows that stay locked to the end of the transaction.
    ///
    /// # Errors
    /// 53200 when there is no memory for so many.
    pub(crate) fn hold_rows<'k>(
        &mut self,
        relation: &Relation,
        keys: impl ExactSizeIterator<Item = (&'k str, &'k str)>,
        strength: LockStrength,
    ) -> SqlResult<bool> {
        self.held.hold_rows(&relation.stored, keys, strength).map_err(|error| error.for_table(relation))
    }

    /// As [`Claims::hold_rows`], of those rows that the transaction does not hold already.
    ///
    /// # Errors
    /// As [`Claims::hold_rows`].
    pub(crate) fn hold_other_rows(
        &mut self,
        relation: &Relation,
        keys: &EntityKeys,
        strength: LockStrength,
    ) -> SqlResult<bool> {
        self.held.hold_other_rows(&relation.stored, keys, strength).map_err(|error| error.for_table(relation))
    }

    /// As [`Claims::lock_rows`], all rows that the table has, or could have.
    pub(crate) fn lock_all_rows(&mut self, relation: &Relation, strength: LockStrength) -> bool {
        self.held.lock_all_rows(&relation.stored, strength)
    }

    /// Locks rows of a table for a client that is of no session, and the table as a statement that writes does.
    ///
    /// # Errors
    /// 55P03 when it takes longer than this, 40P01 when it would never end.
    pub(crate) async fn lock_as_guest(
        &mut self,
        table: &StoredTable,
        oid: u32,
        keys: &[&EntityKey],
        strength: LockStrength,
        patience: Duration,
    ) -> SqlResult<()> {
        let wait = LockWait::AtMost(None);
        let held = &mut self.held;
        let all = async {
            held.lock_table(oid, TableMode::RowExclusive, wait).await?;
            for key in keys {
                held.lock_row(table, key, strength, wait).await?;
            }
            Ok(())
        };
        let locked = tokio::time::timeout(patience, all).await.unwrap_or(Err(LockError::Timeout));
        locked.map_err(|error| error.for_guest(table))
    }

    /// Locks a row if no other transaction has it locked; fails instead of waiting (NOWAIT).
    ///
    /// # Errors
    /// 55P03 when others have it.
    pub(crate) async fn try_lock(
        &mut self,
        relation: &Relation,
        key: &EntityKey,
        strength: LockStrength,
    ) -> SqlResult<bool> {
        let locked = self.held.lock_row(&relation.stored, key, strength, LockWait::No).await;
        locked.map_err(|error| error.for_row(relation, key))
    }

    /// Locks a row; `None` when others have it (SKIP LOCKED).
    ///
    /// # Errors
    /// 53200 for too many locks.
    pub(crate) async fn lock_unless_busy(
        &mut self,
        relation: &Relation,
        key: &EntityKey,
        strength: LockStrength,
    ) -> SqlResult<Option<bool>> {
        match self.held.lock_row(&relation.stored, key, strength, LockWait::No).await {
            Ok(unchanged) => Ok(Some(unchanged)),
            Err(LockError::Busy) => Ok(None),
            Err(error) => Err(error.for_row(relation, key)),
        }
    }

    /// What has become of a row that was found in this version.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn compare(&self, relation: &Relation, key: &EntityKey, version: &ETag) -> SqlResult<Found> {
        Ok(match self.now(relation, key).await? {
            None => Found::Gone,
            Some(now) if now.etag == *version => Found::Unchanged,
            Some(_) => Found::Changed,
        })
    }

    /// The place of the first of these keys under which there is a row now.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn first_present(&self, relation: &Relation, keys: &EntityKeys) -> SqlResult<Option<usize>> {
        Ok(self.stores.at(relation.place())?.reader().first_present(&relation.stored, keys).await?)
    }

    /// Whether these rows, which are locked, are all in the versions that they were found in, by a reader that sees this commit.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) fn are_unchanged(
        &self,
        relation: &Relation,
        (keys, versions): (&EntityKeys, &[ETag]),
        seen: Option<u64>,
    ) -> SqlResult<bool> {
        if self.is_unchanged_since(relation, seen)? {
            return Ok(true);
        }
        let reader = self.stores.at(relation.place())?.reader();
        let no_columns = ScanColumns::new(Vec::new());
        for (pair, version) in keys.pairs().zip(versions) {
            if !is_at_once(&*reader, relation, pair, version, &no_columns)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether nobody is known to have written to a table since this commit.
    ///
    /// # Errors
    /// As [`Claims::store_of`].
    pub(crate) fn is_unchanged_since(&self, relation: &Relation, commit: Option<u64>) -> SqlResult<bool> {
        let last = self.store_of(relation)?.reader().last_change(&relation.stored);
        Ok(last.zip(commit).is_some_and(|(last, commit)| last <= commit))
    }

    /// The store of a table.
    ///
    /// # Errors
    /// 0A000 for a table of a place without a store.
    pub(crate) fn store_of(&self, relation: &Relation) -> SqlResult<&Arc<dyn TableStore>> {
        self.stores.at(relation.place())
    }

    /// The first of some rows that is not any more what it was found to be, and what has become of it.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn first_changed<'k>(
        &self,
        relation: &Relation,
        found: impl Iterator<Item = (&'k EntityKey, &'k ETag)>,
    ) -> SqlResult<Option<(&'k EntityKey, Found)>> {
        let reader = self.stores.at(relation.place())?.reader();
        let no_columns = ScanColumns::new(Vec::new());
        for (key, version) in found {
            if is_at_once(&*reader, relation, key.as_pair(), version, &no_columns)? {
                continue;
            }
            let found = self.compare(relation, key, version).await?;
            if found != Found::Unchanged {
                return Ok(Some((key, found)));
            }
        }
        Ok(None)
    }

    /// A locked row that was found in this version, as it is in the store now: `None` when it is gone, be it that another row is
    /// in its place.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn newest_of(
        &self,
        relation: &Relation,
        key: &EntityKey,
        version: &ETag,
    ) -> SqlResult<Option<StoredEntity>> {
        let now = self.now(relation, key).await?;
        Ok(now.filter(|now| now.etag == *version || !self.held.is_replaced(&relation.stored, key, version)))
    }

    /// These rows were committed in the places of others.
    pub(crate) fn note_replaced(&self, rows: Vec<(StoredTable, EntityKey, ETag)>) {
        for (table, key, version) in rows {
            self.held.note_replaced(&table, &key, &version);
        }
    }

    /// The row as it is in the store now.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn now(&self, relation: &Relation, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        Ok(self.stores.at(relation.place())?.reader().get(&relation.stored, key).await?)
    }

    pub(crate) fn held(&mut self) -> &mut HeldLocks {
        &mut self.held
    }

    pub(crate) fn mark(&mut self) -> Mark {
        self.held.mark()
    }
}

/// Whether a row is known, without waiting, to be in this version still.
fn is_at_once(
    reader: &dyn TableReader,
    relation: &Relation,
    pair: (&str, &str),
    version: &ETag,
    no_columns: &ScanColumns,
) -> SqlResult<bool> {
    let found = reader.get_at_once(&relation.stored, pair, no_columns, &mut |_, _| true)?;
    Ok(matches!(found, AtOnce::Entity(timestamp) if ETag::of_timestamp(timestamp) == *version))
}

/// A transaction that reads one snapshot met a row that was changed since (40001).
pub(crate) fn changed_since_snapshot(relation: &Relation, key: &EntityKey, found: Found) -> Box<SqlError> {
    let change = if found == Found::Gone { "delete" } else { "update" };
    let message = format!("could not serialize access due to concurrent {change}");
    relation
        .error(ErrorKind::SerializationFailure, message)
        .showing_row(format!("The row is {key} of table \"{}\".", relation.name))
        .with_hint("Run the transaction again.")
}
