//! Where a statement's operations go: into the open transaction, or straight into EGTs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::model::{
    ETag, EdmDateTime, Entity, EntityKey, PartitionKey, Properties, PropertyName, StoredEntity, TableName,
};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::observe::Footprint;
use crate::sql::reads::Reads;
use crate::sql::relation::Relation;
use crate::sql::tx::{EgtCount, EgtWriter, Transaction, moved_row};
use crate::table::{IfMatch, Operation, Written};

/// Operations an implicit transaction may collect before its Sync: it is held in memory.
const IMPLICIT_OPERATIONS_MAX: usize = 100_000;

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
    mode: WriteMode<'a>,
    changed: BTreeMap<TableName, HashSet<EntityKey>>,
}

/// What happens to a stored entity: properties that get a value, properties that go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub set: Properties,
    pub removed: Vec<PropertyName>,
}

impl<'a> Writes<'a> {
    pub fn new(relation: Arc<Relation>, reads: Arc<Reads>, now: EdmDateTime, mode: WriteMode<'a>) -> Self {
        Self { relation, reads, now, mode, changed: BTreeMap::new() }
    }

    /// Goes on with another table of the same statement.
    pub fn aim_at(&mut self, relation: &Arc<Relation>) {
        self.relation = relation.clone();
    }

    /// Notes that the statement changes a row. False when it has done so already: nothing sees its own changes, so the
    /// first one stands.
    pub fn first_change(&mut self, key: &EntityKey) -> bool {
        match self.changed.get_mut(&self.relation.stored) {
            Some(changed) => changed.insert(key.clone()),
            None => {
                self.changed.insert(self.relation.stored.clone(), HashSet::from([key.clone()]));
                true
            }
        }
    }

    /// Whether the statement has changed a row.
    pub fn has_changed(&self, key: &EntityKey) -> bool {
        self.changed.get(&self.relation.stored).is_some_and(|changed| changed.contains(key))
    }

    /// True when operations are committed as they come, so that what they meet in the store is learnt from it.
    pub fn is_direct(&self) -> bool {
        matches!(self.mode, WriteMode::Direct(_))
    }

    /// What was committed already. While that is nothing, a statement that met a conflict can simply be run again.
    pub fn committed(&self) -> EgtCount {
        match &self.mode {
            WriteMode::Direct(writer) => writer.committed(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => EgtCount::default(),
        }
    }

    /// The extent of what was committed already, where observe mode looks on.
    pub fn take_footprint(&mut self) -> Option<Footprint> {
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.take_footprint(),
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => None,
        }
    }

    /// Keeps new versions for RETURNING.
    pub fn keep_versions(&mut self) {
        if let WriteMode::Direct(writer) = &mut self.mode {
            writer.keep_versions();
        }
    }

    /// The entity as this statement's transaction sees it now, rows of this very statement included.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn current(&self, key: &EntityKey) -> SqlResult<Option<StoredEntity>> {
        if let Some(transaction) = self.transaction()
            && let Some(image) = transaction.writes().image(&self.relation.stored, key)?
        {
            return Ok(image);
        }
        self.reads.get(&self.relation.stored, key).await
    }

    /// Adds an entity that must not be there.
    ///
    /// # Errors
    /// 23505 when it is known to be there, 0A000 or 54000 when a block would break a rule of EGTs.
    pub async fn insert(&mut self, entity: Entity) -> SqlResult<()> {
        entity.check()?;
        if !self.is_direct() && self.current(&entity.key).await?.is_some() {
            return Err(self.relation.duplicate_key(&entity.key));
        }
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
    pub async fn upsert(&mut self, entity: Entity, replace: bool) -> SqlResult<()> {
        entity.check()?;
        if let WriteMode::Direct(writer) = &mut self.mode {
            let operation = if replace { Operation::InsertOrReplace(entity) } else { Operation::InsertOrMerge(entity) };
            return writer.push(operation).await;
        }
        let Some(base) = self.current(&entity.key).await? else { return self.insert(entity).await };
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

    /// Changes an entity that was read with this version.
    ///
    /// # Errors
    /// 40001 when it is gone meanwhile, 0A000 or 54000 when a block would break a rule of EGTs.
    pub async fn update(&mut self, key: &EntityKey, etag: &ETag, change: Change) -> SqlResult<()> {
        if let WriteMode::Direct(writer) = &mut self.mode
            && change.removed.is_empty()
        {
            let patch = Entity::new(key.clone(), change.set);
            patch.check()?;
            return writer.push(Operation::Merge(patch, IfMatch::ETag(etag.clone()))).await;
        }
        let Some(base) = self.current(key).await? else { return Err(changed_meanwhile(&self.relation, key)) };
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

    /// Removes an entity that was read with this version.
    ///
    /// # Errors
    /// 0A000 or 54000 when a block would break a rule of EGTs.
    pub async fn delete(&mut self, key: EntityKey, etag: &ETag) -> SqlResult<()> {
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
    pub fn check_move(&mut self, from: &PartitionKey, to: &PartitionKey) -> SqlResult<()> {
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
    pub async fn finish(&mut self) -> SqlResult<BTreeMap<EntityKey, Written>> {
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.finish().await,
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => Ok(BTreeMap::new()),
        }
    }

    fn transaction(&self) -> Option<&Transaction> {
        match &self.mode {
            WriteMode::Block(t) | WriteMode::OneEgt(t) | WriteMode::Implicit(t) => Some(t),
            WriteMode::Direct(_) => None,
        }
    }

    fn check_rules(&mut self) -> SqlResult<()> {
        match &mut self.mode {
            WriteMode::Block(transaction) => transaction.check_block_rules(),
            WriteMode::OneEgt(transaction) => transaction.check_statement_rules(),
            WriteMode::Implicit(transaction) => {
                transaction.note_rules();
                check_implicit(transaction)
            }
            WriteMode::Direct(_) => Ok(()),
        }
    }
}

fn check_implicit(transaction: &Transaction) -> SqlResult<()> {
    if transaction.writes().operations() <= IMPLICIT_OPERATIONS_MAX {
        return Ok(());
    }
    Err(SqlError::new(ErrorKind::LimitExceeded, "too many rows before the next Sync")
        .with_detail(format!("At most {IMPLICIT_OPERATIONS_MAX} are collected."))
        .with_hint("Send Sync, or end the query text, more often."))
}

fn changed_meanwhile(relation: &Relation, key: &EntityKey) -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent delete")
        .with_detail(format!("Entity {key} of table \"{}\" is gone.", relation.name))
}
