//! Where a statement's operations go: into the open transaction, or straight into EGTs.
//!
//! Here, and nowhere else, the rows that statements write are locked, in stores that this gateway alone writes to. A
//! statement that finds rows locks them before it writes them, and is told what they have become meanwhile; one that
//! commits as it goes locks a window of them at its commit, which fails if one has changed, and locks early when it is
//! run again.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_bind::query::LockStrength;
use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_store::model::{
    ETag, EdmDateTime, Entity, EntityKey, PartitionKey, Properties, PropertyName, StoredEntity,
};
use tablegate_store::table::{IfMatch, Operation, Written};
use tablegate_types::error::{SqlError, SqlResult};

use super::changed_keys::ChangedKeys;
use super::read_ahead::ReadAhead;
use crate::engine::Engine;
use crate::observe::Footprint;
use crate::reads::Reads;
use crate::relation::Relation;
use crate::turns::Pace;
use crate::tx::{
    AllRows, Claims, EgtCount, EgtWriter, Found, HeldBackSpace, Transaction, changed_since_snapshot, moved_row,
};

/// How a statement's writes are treated.
pub(crate) enum WriteMode<'a> {
    /// A block: collected, and still one EGT after each row.
    Block(&'a mut Transaction),
    /// A statement that must be one EGT (`egt.autocommit = strict`): collected, committed by the session.
    OneEgt(&'a mut Transaction),
    /// One of several statements before a Sync: collected, committed at the Sync as several EGTs.
    Implicit(&'a mut Transaction),
    /// A statement on its own: committed here, as several EGTs where needed.
    Direct(Box<EgtWriter>),
}

/// The writes of one statement, to one table after the other.
pub(crate) struct Writes<'a> {
    pub relation: Arc<Relation>,
    pub reads: Arc<Reads>,
    pub now: EdmDateTime,
    pub(super) mode: WriteMode<'a>,
    changed: ChangedKeys,
    has_several_changes: bool,
    /// A row was found that the transaction has written before.
    pub(super) has_met_own: bool,
    /// New rows were found that the transaction has written as columns.
    pub(super) has_met_own_columns: bool,
    /// Rows of the statement were collected as columns already: few that come behind them are columns, too.
    pub(super) has_columns: bool,
    locks_early: bool,
    pub(super) ahead: ReadAhead,
    pub(super) pace: Pace,
    pub(super) held_back: Arc<HeldBackSpace>,
}

/// What happens to a stored entity: properties that get a value, properties that go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub set: Properties,
    pub removed: Vec<PropertyName>,
}

impl<'a> Writes<'a> {
    pub(crate) fn new(engine: &Engine, relation: Arc<Relation>, reads: Arc<Reads>, mode: WriteMode<'a>) -> Self {
        let changed = ChangedKeys::new(engine.memory("keys of changed rows"));
        let (now, pace, held_back) = (engine.now(), Pace::begin(), Arc::clone(engine.held_back()));
        let (has_several_changes, has_columns, locks_early) = (false, false, false);
        let (has_met_own, has_met_own_columns) = (false, false);
        Self {
            relation,
            reads,
            now,
            mode,
            changed,
            has_several_changes,
            has_met_own,
            has_met_own_columns,
            has_columns,
            locks_early,
            ahead: ReadAhead::default(),
            pace,
            held_back,
        }
    }

    /// Goes on with a statement that has written rows before.
    #[must_use]
    pub(crate) fn behind_columns(self, has_columns: bool) -> Self {
        Self { has_columns, ..self }
    }

    /// Whether rows of the statement were collected as columns.
    pub(crate) fn has_columns(&self) -> bool {
        self.has_columns
    }

    /// Rows are locked as they are found, also where they are committed as they come.
    #[must_use]
    pub(crate) fn locking_early(self, locks_early: bool) -> Self {
        Self { locks_early, ..self }
    }

    /// Whether rows are locked as they are found: where locks bind everybody.
    pub(crate) fn locks_early(&self) -> bool {
        (self.locks_early || !self.is_direct()) && self.claims().is_some()
    }

    /// Whether a row that changed since the snapshot ends the transaction.
    pub(crate) fn keeps_snapshot(&self) -> bool {
        self.claims().is_some_and(Claims::keeps_snapshot)
    }

    /// Goes on with another table of the same statement.
    pub(crate) fn aim_at(&mut self, relation: &Arc<Relation>) {
        self.relation = relation.clone();
        self.ahead = ReadAhead::default();
        self.has_met_own_columns = false;
    }

    /// Several parts of the statement change rows, maybe the same ones.
    pub(crate) fn expect_several_changes(&mut self) {
        self.has_several_changes = true;
    }

    /// Whether a row that a part of the statement finds may have been changed by another part.
    pub(crate) fn has_several_changes(&self) -> bool {
        self.has_several_changes
    }

    /// Notes that the statement changes a row. False when it has done so already: nothing sees its own changes, so the
    /// first one stands.
    ///
    /// # Errors
    /// 53200 when there is no memory left to remember it.
    pub(crate) fn first_change(&mut self, key: &EntityKey) -> SqlResult<bool> {
        self.changed.note(&self.relation.stored, key)
    }

    /// Whether the statement has changed a row.
    pub(crate) fn has_changed(&self, key: &EntityKey) -> bool {
        self.changed.contains(&self.relation.stored, key)
    }

    /// The locks of a statement on its own, for its next run.
    pub(crate) fn into_claims(self) -> Option<Claims> {
        match self.mode {
            WriteMode::Direct(writer) => writer.into_claims(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => None,
        }
    }

    /// True when operations are committed as they come, so that what they meet in the store is learnt from it.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.mode, WriteMode::Direct(_))
    }

    /// What was committed already. While that is nothing, a statement that met a conflict can simply be run again.
    pub(crate) fn committed(&self) -> EgtCount {
        match &self.mode {
            WriteMode::Direct(writer) => writer.committed(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => EgtCount::default(),
        }
    }

    /// The extent of what was committed already, where observe mode looks on.
    pub(crate) fn take_footprint(&mut self) -> Option<Footprint> {
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.take_footprint(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => None,
        }
    }

    /// Says where in the statement's input the next row is: its line, say.
    pub(crate) fn set_position(&mut self, position: u64) {
        if let WriteMode::Direct(writer) = &mut self.mode {
            writer.set_position(position);
        }
    }

    /// Where the row was that the last error was about, as far as that is known of rows committed as they come.
    pub(crate) fn failed_at(&self) -> Option<u64> {
        match &self.mode {
            WriteMode::Direct(writer) => writer.failed_at(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => None,
        }
    }

    /// The statement fails with this error: what is committed as it comes goes no further. Gives the error to tell, which
    /// says what is committed already.
    pub(crate) async fn give_up(&mut self, error: Box<SqlError>) -> Box<SqlError> {
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.give_up(error).await,
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => error,
        }
    }

    /// Keeps new versions for RETURNING.
    pub(crate) fn keep_versions(&mut self) {
        if let WriteMode::Direct(writer) = &mut self.mode {
            writer.keep_versions();
        }
    }

    /// The entity as this statement's transaction sees it now, rows of this very statement included.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn current(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        match self.own_image(key)? {
            Some(image) => Ok(image),
            None => self.as_stored(key).await,
        }
    }

    /// The entity in the store, as the statement reads it.
    async fn as_stored(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        match self.ahead.get(key) {
            Some(stored) => Ok(stored),
            None => self.reads.get(&self.relation.stored, key).await,
        }
    }

    /// The entity as it is now, locked. It may be newer than what the statement reads, as for INSERT in PostgreSQL.
    ///
    /// # Errors
    /// 55P03, 40P01 when it cannot be locked; when the store fails.
    pub(crate) async fn lock_current(&mut self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        self.pace.give_way().await;
        let relation = self.relation.clone();
        let Some(claims) = self.claims_mut() else { return self.current(key).await };
        claims.lock(&relation, key, LockStrength::Update).await?;
        self.newest(key).await
    }

    /// The entity that is in the way of an insertion, locked so that it can be changed.
    ///
    /// # Errors
    /// As [`Writes::lock_current`]; 40001 when a transaction that reads one snapshot does not see what is there.
    pub(crate) async fn lock_conflicting(&mut self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        let current = self.lock_current(key).await?;
        // One that is gone by now is in nobody's way.
        if let Some(current) = &current
            && self.claims().is_some_and(Claims::keeps_snapshot)
            && self.current(key).await?.is_none_or(|seen| seen.etag != current.etag)
        {
            return Err(changed_since_snapshot(&self.relation, key, Found::Changed));
        }
        Ok(current)
    }

    /// Adds an entity that must not be there. The caller has checked its limits ([`Entity::check`]).
    ///
    /// # Errors
    /// 23505 when it is known to be there, 0A000 or 54000 when a block would break a rule of EGTs.
    pub(crate) async fn insert(&mut self, entity: Entity) -> SqlResult<()> {
        let is_there = match self.learns_of_keys_at_commit() {
            true => self.own_image(&entity.key)?.flatten().is_some(),
            false => self.lock_current(&entity.key).await?.is_some(),
        };
        if is_there {
            return Err(self.relation.duplicate_key(&entity.key));
        }
        self.put_insertion(entity).await
    }

    /// Begins to collect all rows of the table, where they may be deleted at once: see [`Writes::clear`].
    pub(crate) fn begin_clear(&self) -> Option<AllRows> {
        match &self.mode {
            WriteMode::Direct(writer) => writer.begin_clear(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => None,
        }
    }

    /// Deletes all rows that the statement sees of the table, which are these; false where they have to be deleted one by one. Then the table has changed since, somebody has locked a row of it, or they may be one entity group transaction.
    ///
    /// # Errors
    /// What the store met.
    pub(crate) async fn clear(&mut self, all: AllRows) -> SqlResult<bool> {
        let seen = self.reads.readers.of(&self.relation.stored)?.commit();
        let (WriteMode::Direct(writer), Some(seen)) = (&mut self.mode, seen) else { return Ok(false) };
        if all.count() <= EGT_MAX_OPERATIONS { Ok(false) } else { writer.clear(seen, all).await }
    }

    /// Adds an entity that was looked for and not found. The caller has checked its limits.
    ///
    /// # Errors
    /// As [`Writes::insert`].
    pub(crate) async fn insert_absent(&mut self, entity: Entity) -> SqlResult<()> {
        self.put_insertion(entity).await
    }

    async fn put_insertion(&mut self, entity: Entity) -> SqlResult<()> {
        self.pace.give_way().await;
        let (relation, now) = (self.relation.clone(), self.now);
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.push(Operation::Insert(entity)).await,
            WriteMode::Block(transaction) | WriteMode::OneEgt(transaction) | WriteMode::Implicit(transaction) => {
                transaction.writes_mut().insert(&relation, entity, now)?;
                self.check_rules()
            }
        }
    }

    /// Writes an entity whatever is there: exactly this one (`replace`), or merged into what is there.
    ///
    /// # Errors
    /// As [`Writes::insert`], but for 23505.
    pub(crate) async fn upsert(&mut self, entity: Entity, replace: bool) -> SqlResult<()> {
        self.pace.give_way().await;
        entity.check()?;
        if let WriteMode::Direct(writer) = &mut self.mode {
            let operation = if replace { Operation::InsertOrReplace(entity) } else { Operation::InsertOrMerge(entity) };
            return writer.push(operation).await;
        }
        let Some(base) = self.lock_conflicting(&entity.key).await? else { return self.insert_absent(entity).await };
        let removed = if replace {
            base.entity
                .properties
                .iter()
                .map(|(n, _)| n.clone())
                .filter(|n| entity.properties.get(n.as_str()).is_none())
                .collect()
        } else {
            Vec::new()
        };
        self.update(&entity.key, &base.etag, Change { set: entity.properties, removed }).await
    }

    /// Changes an entity that was read with this version, and is locked where locks bind everybody.
    ///
    /// # Errors
    /// 40001 when it is gone or changed meanwhile, 0A000 or 54000 when a block would break a rule of EGTs.
    pub(crate) async fn update(&mut self, key: &EntityKey, etag: &ETag, change: Change) -> SqlResult<()> {
        self.pace.give_way().await;
        if let WriteMode::Direct(writer) = &mut self.mode
            && change.removed.is_empty()
        {
            let patch = Entity::new(key.clone(), change.set);
            patch.check()?;
            return writer.push(Operation::Merge(patch, IfMatch::ETag(etag.clone()))).await;
        }
        let base = match self.own_image(key)? {
            Some(image) => image,
            None => self.stored_as_read(key, etag).await?,
        };
        let Some(base) = base else { return Err(changed_since_snapshot(&self.relation, key, Found::Gone)) };
        let mut after = base.entity.properties.clone();
        change.removed.iter().for_each(|name| after.remove(name.as_str()));
        let patch = change.removed.is_empty().then(|| change.set.clone());
        after.merge(change.set);
        let entity = Entity::new(key.clone(), after);
        entity.check()?;
        let (relation, now) = (self.relation.clone(), self.now);
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.push(Operation::Replace(entity, IfMatch::ETag(etag.clone()))).await,
            WriteMode::Block(transaction) | WriteMode::OneEgt(transaction) | WriteMode::Implicit(transaction) => {
                transaction.writes_mut().update(&relation, &base, entity.properties, patch, now)?;
                self.check_rules()
            }
        }
    }

    /// Removes an entity that was read with this version, and is locked where locks bind everybody.
    ///
    /// # Errors
    /// 0A000 or 54000 when a block would break a rule of EGTs.
    pub(crate) async fn delete(&mut self, key: EntityKey, etag: &ETag) -> SqlResult<()> {
        self.pace.give_way().await;
        self.check_insertion_before_it_goes(&key).await?;
        let (relation, now) = (self.relation.clone(), self.now);
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.push(Operation::Delete(key, IfMatch::ETag(etag.clone()))).await,
            WriteMode::Block(transaction) | WriteMode::OneEgt(transaction) | WriteMode::Implicit(transaction) => {
                transaction.writes_mut().delete(&relation, key, etag, now)?;
                self.check_rules()
            }
        }
    }

    /// A row is about to be deleted from one partition and inserted into another.
    ///
    /// # Errors
    /// 0A000, unless observe mode carries it out.
    pub(crate) fn check_move(&mut self, from: &PartitionKey, to: &PartitionKey) -> SqlResult<()> {
        if !self.relation.place().has_rules() {
            return Ok(());
        }
        match &mut self.mode {
            WriteMode::Block(transaction) | WriteMode::Implicit(transaction) => {
                transaction.check_move(&self.relation, from, to)
            }
            WriteMode::OneEgt(_) | WriteMode::Direct(_) => Err(moved_row(&self.relation, from, to)),
        }
    }

    /// The statement is complete: commits what is direct. Returns the new versions that were kept.
    ///
    /// # Errors
    /// The first commit that failed.
    pub(crate) async fn finish(&mut self) -> SqlResult<BTreeMap<EntityKey, Written>> {
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.finish().await,
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => Ok(BTreeMap::new()),
        }
    }

    /// Locks a row that was found in this version, and gives what it is then: outer `None` for one that the transaction has written, and so locked before
    /// it was read, or where locks do not bind everybody.
    ///
    /// # Errors
    /// 55P03, 40P01 when it cannot be locked; when the store fails.
    pub(crate) async fn lock_and_see(
        &mut self,
        key: &EntityKey,
        version: &ETag,
        strength: LockStrength,
    ) -> SqlResult<Option<Option<StoredEntity>>> {
        let relation = self.relation.clone();
        self.pace.give_way().await;
        let Some(claims) = self.claims_mut() else { return Ok(None) };
        claims.lock(&relation, key, strength).await?;
        if self.own_image(key)?.is_some() {
            return Ok(None);
        }
        match self.claims() {
            Some(claims) => claims.newest_of(&relation, key, version).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether it is left to the commit to find that the key of an insertion is there: the batch carries that condition, and in a
    /// store that others write to, asking before would be a request for each row and prove nothing. Within a savepoint it is
    /// asked all the same: who would go on from there has to be told now.
    fn learns_of_keys_at_commit(&self) -> bool {
        self.is_direct()
            || (self.claims().is_none() && self.transaction().is_none_or(|transaction| transaction.savepoints() == 0))
    }

    /// An entity that the transaction inserted is deleted by it: nothing of it commits, so nothing would tell that its key was
    /// there all the time.
    async fn check_insertion_before_it_goes(&self, key: &EntityKey) -> SqlResult<()> {
        let Some(transaction) = self.transaction().filter(|_| self.claims().is_none()) else { return Ok(()) };
        if !transaction.writes().is_insertion(&self.relation.stored, key)
            || transaction.claims().now(&self.relation, key).await?.is_none()
        {
            return Ok(());
        }
        Err(self.relation.duplicate_key(key))
    }

    /// The entity as the transaction left it, or else as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn newest(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        match self.own_image(key)? {
            Some(image) => Ok(image),
            None => self.newest_stored(key).await,
        }
    }

    /// The same of an entity that the transaction has not written.
    async fn newest_stored(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        match self.claims() {
            Some(claims) => claims.now(&self.relation, key).await,
            None => self.as_stored(key).await,
        }
    }

    /// The whole of an entity that was read in this version, and that the transaction has not written.
    ///
    /// # Errors
    /// 40001 when it has another one by now: what the change was computed from is outdated. Where locks bind everybody it was looked at
    /// when it was locked. When the store fails.
    async fn stored_as_read(&self, key: &EntityKey, etag: &ETag) -> SqlResult<Option<StoredEntity>> {
        let found = self.newest_stored(key).await?;
        let is_outdated = self.claims().is_none() && found.as_ref().is_some_and(|found| found.etag != *etag);
        if is_outdated { Err(changed_since_snapshot(&self.relation, key, Found::Changed)) } else { Ok(found) }
    }

    /// What the transaction has made of the entity, if it wrote it.
    fn own_image(&self, key: &EntityKey) -> SqlResult<Option<Option<StoredEntity>>> {
        match self.transaction() {
            Some(transaction) => transaction.writes().image(&self.relation.stored, key),
            None => Ok(None),
        }
    }

    /// The locks to take, if this gateway is the only writer of the store.
    pub(super) fn claims(&self) -> Option<&Claims> {
        let claims = match &self.mode {
            WriteMode::Block(t) | WriteMode::OneEgt(t) | WriteMode::Implicit(t) => Some(t.claims()),
            WriteMode::Direct(writer) => writer.claims(),
        };
        claims.filter(|claims| claims.bind_everybody(self.relation.place()))
    }

    pub(super) fn claims_mut(&mut self) -> Option<&mut Claims> {
        let place = self.relation.place();
        let claims = match &mut self.mode {
            WriteMode::Block(t) | WriteMode::OneEgt(t) | WriteMode::Implicit(t) => Some(t.claims_mut()),
            WriteMode::Direct(writer) => writer.claims_mut(),
        };
        claims.filter(|claims| claims.bind_everybody(place))
    }

    fn transaction(&self) -> Option<&Transaction> {
        match &self.mode {
            WriteMode::Block(t) | WriteMode::OneEgt(t) | WriteMode::Implicit(t) => Some(t),
            WriteMode::Direct(_) => None,
        }
    }

    pub(super) fn check_rules(&mut self) -> SqlResult<()> {
        match &mut self.mode {
            WriteMode::Block(transaction) => transaction.check_block_rules(),
            WriteMode::OneEgt(transaction) => transaction.check_statement_rules(),
            WriteMode::Implicit(transaction) => {
                transaction.note_rules();
                Ok(())
            }
            WriteMode::Direct(_) => Ok(()),
        }
    }
}
