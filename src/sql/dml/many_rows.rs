//! Rows that are written many at a time, as columns: handed on to the store where a statement commits as it goes, collected in a
//! block.
//!
//! A block locks them at once and makes sure that they are as it expects them; so does who looks for rows before it is known what
//! becomes of them ([`super::looked_for`]). Where that cannot be said of all of them at a glance, they are written one by one.

use std::sync::Arc;

use tablegate_bind::query::LockStrength;
use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_store::model::{ETag, EdmDateTime, EntityKeys};
use tablegate_store::table::{EntityWindow, KnownChange, KnownEntities, NewEntities};
use tablegate_types::error::SqlResult;

use super::rows::RowsToWrite;
use super::writes::{WriteMode, Writes};
use crate::aside::aside_unless;
use crate::relation::Relation;
use crate::tx::{ColumnWindow, HeldBackSpace, Transaction};

/// Fewer rows than this are locked one by one.
const HELD_TOGETHER: usize = 16;
/// A block keeps so much of the values of its rows in memory, and puts the others into a file: less where many share the memory.
const HELD_BYTES_MAX: usize = 48 << 20;
/// Fewer rows than this are made something else sooner than another thread takes over what waits meanwhile.
pub(crate) const FEW_ROWS: usize = 256;

/// Columns of a block, whose values are in a file where memory has no room for them.
pub(super) fn held(
    transaction: &mut Transaction,
    relation: &Relation,
    space: &Arc<HeldBackSpace>,
    entities: EntityWindow,
    written: EdmDateTime,
) -> SqlResult<ColumnWindow> {
    let store = Arc::clone(transaction.claims().store_of(relation)?);
    let in_memory = entities.key_memory() + ColumnWindow::OPERATION_BYTES * entities.len();
    let mut taken = space.begin();
    let is_much = transaction.writes().held_bytes() + entities.values_bytes() > HELD_BYTES_MAX;
    let entities = match !is_much && taken.add(entities.values_bytes()) {
        true => entities,
        false => {
            taken = space.begin();
            transaction.writes_mut().put_away(entities)?
        }
    };
    taken.need(in_memory)?;
    Ok(ColumnWindow::new(entities, written, store, taken))
}

/// Some of the rows that are known by their keys, in their versions.
pub(super) fn some_known(rows: &[usize], keys: &EntityKeys, versions: &[ETag]) -> Option<(EntityKeys, Vec<ETag>)> {
    Some((keys.some(rows.iter().copied())?, rows.iter().map(|row| versions[*row].clone()).collect()))
}

fn entities_of(rows: &RowsToWrite, relation: &Relation) -> Option<NewEntities> {
    aside_unless(rows.len() < FEW_ROWS, || rows.new_entities(relation))
}

impl Writes<'_> {
    /// Adds many rows that must not be there, at once; false where they have to be added one by one. `lines` says where in the
    /// statement's input each was.
    ///
    /// # Errors
    /// As [`Writes::insert`].
    pub(crate) async fn insert_rows(&mut self, rows: &RowsToWrite, lines: Option<&[u64]>) -> SqlResult<bool> {
        let WriteMode::Direct(writer) = &mut self.mode else { return self.collect_new(rows).await };
        // What one entity group transaction holds is collected first: it may become one.
        let may_be_one = rows.len() <= EGT_MAX_OPERATIONS && !writer.has_begun();
        if may_be_one || !writer.takes_new() {
            return Ok(false);
        }
        match entities_of(rows, &self.relation) {
            Some(entities) => writer.push_columns(entities.into(), lines).await,
            None => Ok(false),
        }
    }

    /// Collects many new rows as columns; false where they have to be collected one by one. That is also where one of them is
    /// there, or written, already: then it is told which one.
    async fn collect_new(&mut self, rows: &RowsToWrite) -> SqlResult<bool> {
        let relation = self.relation.clone();
        let may_be_one = rows.len() <= EGT_MAX_OPERATIONS && !self.has_columns;
        if may_be_one || rows.len() == 0 || !self.collects_columns() {
            return Ok(false);
        }
        self.pace.give_way().await;
        let Some(entities) = entities_of(rows, &relation) else { return Ok(false) };
        if self.refills(&entities)? {
            return self.collect(entities.into());
        }
        let Some(claims) = self.claims_mut() else { return Ok(false) };
        if !claims.hold_rows(&relation, entities.keys().pairs(), LockStrength::Update)?
            || claims.first_present(&relation, entities.keys()).await?.is_some()
        {
            return Ok(false);
        }
        let is_collected = self.collect(entities.into())?;
        self.write_ahead().await?;
        Ok(is_collected)
    }

    /// Writes the rows that were collected last ahead of the commit, where the table is empty.
    async fn write_ahead(&mut self) -> SqlResult<()> {
        let table = &self.relation.stored;
        if let WriteMode::Block(transaction) | WriteMode::Implicit(transaction) = &mut self.mode {
            let store = Arc::clone(transaction.claims().store_of(&self.relation)?);
            transaction.writes_mut().write_ahead(table, &store).await;
        }
        Ok(())
    }

    /// Whether new rows come to a table that the block has emptied, be it under the keys of removed rows, and are locked: nobody
    /// has written to it since, nor the block one of these.
    fn refills(&mut self, entities: &NewEntities) -> SqlResult<bool> {
        let (relation, space) = (&self.relation, &self.held_back);
        let (WriteMode::Block(transaction) | WriteMode::Implicit(transaction)) = &mut self.mode else {
            return Ok(false);
        };
        let Some(since) = transaction.writes().empties_since(&relation.stored) else { return Ok(false) };
        let claims = transaction.claims_mut();
        Ok(claims.hold_other_rows(relation, entities.keys(), LockStrength::Update)?
            && claims.is_unchanged_since(relation, Some(since))?
            && transaction.writes_mut().refill(&relation.stored, entities, space))
    }

    /// Locks the rows of many keys at once, for a block; false where they have to be locked one by one.
    ///
    /// # Errors
    /// 53200 when there is no memory for so many.
    pub(super) fn hold_new(&mut self, keys: &EntityKeys) -> SqlResult<bool> {
        let relation = self.relation.clone();
        let claims = if self.collects_columns() { self.claims_mut() } else { None };
        let Some(claims) = claims else { return Ok(false) };
        claims.hold_rows(&relation, keys.pairs(), LockStrength::Update)
    }

    /// Collects rows as columns, which are locked, and as they are expected to be; false outside of blocks.
    ///
    /// # Errors
    /// 53200 when there is no memory for their keys, 53100 when there is no room for their values on the disk either.
    pub(super) fn collect(&mut self, entities: EntityWindow) -> SqlResult<bool> {
        let (WriteMode::Block(transaction) | WriteMode::Implicit(transaction)) = &mut self.mode else {
            return Ok(false);
        };
        let window = held(transaction, &self.relation, &self.held_back, entities, self.now)?;
        transaction.writes_mut().write_columns(&self.relation, window)?;
        self.has_columns = true;
        self.check_rules()?;
        Ok(true)
    }

    /// Whether a block collects rows as columns.
    fn collects_columns(&self) -> bool {
        let is_collected = match &self.mode {
            WriteMode::Block(transaction) | WriteMode::Implicit(transaction) => {
                transaction.collects_columns(&self.relation)
            }
            WriteMode::OneEgt(_) | WriteMode::Direct(_) => false,
        };
        is_collected && !self.relation.open && self.claims().is_some()
    }

    /// Locks many rows that were found in these versions, at once; false where they have to be locked one by one, to find out
    /// which one somebody has locked, or changed. New rows that the transaction has written as columns it has locked.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn hold_found(
        &mut self,
        keys: &EntityKeys,
        versions: &[ETag],
        strength: LockStrength,
    ) -> SqlResult<bool> {
        if !self.collects_columns() {
            return Ok(false);
        }
        let mut own = None;
        if !self.has_met_own {
            self.put_in_order(keys.len())?;
            own = self.own_columns(keys);
        }
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            let others = some_known(&own.others, keys, versions);
            let is_held = match others {
                Some((keys, _)) if keys.is_empty() => true,
                Some((keys, versions)) => self.hold_others(&keys, &versions, strength)?,
                None => false,
            };
            self.has_met_own_columns |= is_held;
            return Ok(is_held);
        }
        if keys.len() < HELD_TOGETHER { Ok(false) } else { self.hold_others(keys, versions, strength) }
    }

    /// Locks rows at once that the transaction has not written.
    fn hold_others(&mut self, keys: &EntityKeys, versions: &[ETag], strength: LockStrength) -> SqlResult<bool> {
        let relation = self.relation.clone();
        let seen = self.reads.readers.of(&relation.stored)?.commit();
        let Some(claims) = self.claims_mut() else { return Ok(false) };
        let found = (keys, versions);
        Ok(claims.hold_rows(&relation, keys.pairs(), strength)? && claims.are_unchanged(&relation, found, seen)?)
    }

    /// All rows that the statement sees of the table are removed, which were so many.
    ///
    /// # Errors
    /// 42P01 when the table is gone.
    pub(super) fn note_emptied(&mut self, rows: u64) -> SqlResult<()> {
        let Some(seen) = self.reads.readers.of(&self.relation.stored)?.commit() else { return Ok(()) };
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        match &mut self.mode {
            WriteMode::Block(transaction) | WriteMode::Implicit(transaction) => {
                transaction.writes_mut().note_emptied(&self.relation.stored, seen, rows);
            }
            WriteMode::OneEgt(_) | WriteMode::Direct(_) => {}
        }
        Ok(())
    }

    /// A row was found that the transaction has written before.
    pub(super) fn note_own_row(&mut self) {
        self.has_met_own = true;
    }

    /// Whether rows that were read can be written many at a time, where there are many.
    pub(crate) fn takes_known(&self) -> bool {
        match &self.mode {
            WriteMode::Direct(writer) => writer.takes_known(),
            WriteMode::Block(_) | WriteMode::Implicit(_) => !self.has_met_own && self.collects_columns(),
            WriteMode::OneEgt(_) => false,
        }
    }

    /// Whether [`Writes::write_known`] may take so many rows. What one entity group transaction holds is collected first: it
    /// may become one.
    pub(crate) fn takes_known_rows(&self, rows: usize) -> bool {
        let has_begun = matches!(&self.mode, WriteMode::Direct(writer) if writer.has_begun());
        (rows > EGT_MAX_OPERATIONS || has_begun) && self.takes_known()
    }

    /// Changes many rows at once, or removes them, that were read in these versions, and locked in a block; false where they
    /// have to be written one by one.
    ///
    /// # Errors
    /// 40001 when one of them is not any more what it was; then none of them was changed.
    pub(crate) async fn write_known(
        &mut self,
        keys: EntityKeys,
        versions: Vec<ETag>,
        change: KnownChange,
    ) -> SqlResult<bool> {
        if self.has_met_own_columns {
            match self.own_columns(&keys) {
                None => return Ok(false),
                Some(own) if own.is_empty() => {}
                Some(own) => return self.change_with_own(&own, (&keys, &versions, &change)),
            }
        }
        let Some(entities) = KnownEntities::new(&self.relation.stored, keys, versions, change) else {
            return Ok(false);
        };
        match &mut self.mode {
            WriteMode::Direct(writer) => writer.push_columns(entities.into(), None).await,
            WriteMode::Block(_) | WriteMode::OneEgt(_) | WriteMode::Implicit(_) => self.collect(entities.into()),
        }
    }
}
