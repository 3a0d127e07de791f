//! The writes a transaction has collected: for each entity, what it was and what it shall be.
//!
//! Several writes to one entity fold into one, so what commits is the net effect: an entity that was inserted and then
//! deleted costs nothing, one that was updated three times costs one operation. The set may be large, so nothing here
//! ever copies it: readers and savepoints share its past ([`Layers`]), and values without room in memory are in a file
//! ([`WriteSpace`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tablegate_store::model::{
    ETag, EdmDateTime, Entity, EntityKey, EntityKeys, PartitionKey, Properties, StoredEntity,
};
use tablegate_store::table::{EntityWindow, KnownChange, NewEntities, Operation, TableStore, payload};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::OwnWrites;
use super::column_writes::{ColumnWindow, ColumnWrites};
use super::held_back_space::HeldBackSpace;
use super::net_write::{NetWrite, operation};
use super::own_rows::{OwnRows, Replacement};
use super::serial::WrittenKeys;
use super::spill::{Keeper, Kept, Values, WriteSpace};
use super::table_writes::{Columns, TableMark, TableWrites};
use super::totals::{Rules, Totals};
use crate::observe::Footprint;
use crate::place::{Place, StoredTable};
use crate::relation::{Relation, RelationKind};

#[cfg(test)]
mod tests;

/// The collected writes, by table and key.
#[derive(Debug)]
pub(crate) struct WriteSet {
    tables: Tables,
    totals: Totals,
    keeper: Keeper,
    /// Stored tables that the transaction made, each with the number of its last savepoint then.
    unseen: BTreeMap<StoredTable, u64>,
    /// Whether one of the writes may be a row in the place of another.
    may_replace: bool,
}

type Tables = BTreeMap<StoredTable, TableWrites>;

/// What a ROLLBACK TO goes back to.
#[derive(Debug)]
pub(crate) struct Mark {
    tables: BTreeMap<StoredTable, TableMark>,
    totals: Totals,
}

impl WriteSet {
    pub(crate) fn new(space: Arc<WriteSpace>) -> Self {
        let (tables, totals, unseen) = (BTreeMap::new(), Totals::default(), BTreeMap::new());
        Self { tables, totals, keeper: Keeper::new(space), unseen, may_replace: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.totals.operations + self.totals.free_operations + self.totals.unseen_operations == 0
    }

    /// The transaction has made this stored table, after so many savepoints: nobody else sees it before the commit.
    pub(crate) fn set_unseen(&mut self, table: StoredTable, savepoints: u64) {
        self.unseen.insert(table, savepoints);
    }

    /// How many savepoints there were when the transaction made the stored table; `None` when others made it.
    pub(crate) fn unseen_since(&self, table: &StoredTable) -> Option<u64> {
        self.unseen.get(table).copied()
    }

    /// The stored tables that the transaction has made.
    pub(crate) fn made_tables(&self) -> impl Iterator<Item = &StoredTable> {
        self.unseen.keys()
    }

    /// How many operations are collected on tables that nobody else sees.
    pub(crate) fn unseen_operations(&self) -> usize {
        self.totals.unseen_operations
    }

    /// The tables that nobody else sees, as far as something is collected for them.
    pub(crate) fn unseen_tables(&self) -> Vec<StoredTable> {
        let is_written = |table: &&StoredTable| self.tables.contains_key(*table);
        self.unseen.keys().filter(is_written).cloned().collect()
    }

    fn rules(&self, table: &StoredTable) -> Rules {
        match table.place.has_rules() {
            false => Rules::None,
            // Nearly always there is none.
            true if !self.unseen.is_empty() && self.unseen.contains_key(table) => Rules::Unseen,
            true => Rules::Egt,
        }
    }

    /// Whether nothing was ever collected.
    pub(crate) fn is_untouched(&self) -> bool {
        self.tables.is_empty()
    }

    /// Operations that the commit would have of tables with rules.
    pub(crate) fn operations(&self) -> usize {
        self.totals.operations
    }

    /// Bytes these operations take in the `$batch` body, without its envelope.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.totals.payload_bytes
    }

    /// Whether there are such operations on several tables.
    pub(crate) fn has_several_tables(&self) -> bool {
        self.totals.other_tables > 0
    }

    /// Whether there are such operations with several PartitionKeys.
    pub(crate) fn has_several_partitions(&self) -> bool {
        self.totals.other_partitions > 0
    }

    /// Counts anew where the operations lie: where all of the first partition's were taken back, the others may share
    /// another one.
    pub(crate) fn recount(&mut self) {
        if self.totals.at_home == 0 {
            self.count_anew();
        }
    }

    fn count_anew(&mut self) {
        let mut totals = Totals::default();
        for (name, table) in &self.tables {
            let (rules, (windows, rows)) = (self.rules(name), table.parts());
            windows.iter().for_each(|window| totals.add_columns(rules, name, window));
            rows.for_each(|(key, write)| totals.add(rules, name, &key.partition, write.bytes));
        }
        self.totals = totals;
    }

    /// The tables with rules that are written, by their stored names.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Relation>> {
        let is_bound = |table: &&TableWrites| self.rules(&table.relation.stored) == Rules::Egt && table.is_written();
        self.tables.values().filter(is_bound).map(|table| &table.relation)
    }

    /// The keys that are written where others can read them.
    pub(crate) fn keys(&self) -> WrittenKeys {
        let keys = |table: &TableWrites| table.entries().map(|(key, _)| key).collect();
        let shared = self.tables.iter().filter(|(name, _)| !name.place.is_temporary());
        shared.map(|(name, table)| (name.clone(), keys(table))).collect()
    }

    /// Stored rows in whose places other rows are inserted, with the versions they had.
    pub(crate) fn replaced(&self) -> Vec<(StoredTable, EntityKey, ETag)> {
        if !self.may_replace {
            return Vec::new();
        }
        let in_table = |(name, table): (&StoredTable, &TableWrites)| {
            table.replaced().map(|(key, version)| (name.clone(), key, version)).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(in_table).collect()
    }

    /// The found tables that are written.
    pub(crate) fn found_tables(&self) -> Vec<StoredTable> {
        let found = self.tables.values().map(|table| &table.relation).filter(|r| r.kind == RelationKind::Found);
        found.map(|relation| relation.stored.clone()).collect()
    }

    /// The places of tables with rules that are written.
    pub(crate) fn places(&self) -> BTreeSet<Place> {
        match &self.totals.home {
            // Nearly always: one table.
            Some((table, _)) if self.totals.other_tables == 0 => BTreeSet::from([table.place]),
            Some(_) => self.tables().map(|table| table.place()).collect(),
            None => BTreeSet::new(),
        }
    }

    /// The partitions written in a table, in order.
    pub(crate) fn partitions(&self, relation: &Relation) -> impl Iterator<Item = PartitionKey> {
        let entries = self.tables.get(&relation.stored).map(TableWrites::entries);
        let mut partitions: Vec<PartitionKey> = entries.into_iter().flatten().map(|(key, _)| key.partition).collect();
        partitions.dedup();
        partitions.into_iter()
    }

    /// The extent of what would be committed of tables with rules.
    pub(crate) fn footprint(&self) -> Footprint {
        let mut footprint = Footprint::new();
        for (_, table) in self.tables.iter().filter(|(name, _)| self.rules(name) == Rules::Egt) {
            let (windows, rows) = table.parts();
            for window in windows {
                footprint.add_rows(&table.relation, window.entities().keys(), window.operations_bytes());
            }
            rows.for_each(|(key, write)| footprint.add(&table.relation, key.partition.as_str(), 1, write.bytes));
        }
        footprint
    }

    /// A statement is complete. What it wrote is shared with readers and savepoints from now on, not copied for each.
    pub(crate) fn settle(&mut self) {
        self.tables.values_mut().for_each(TableWrites::settle);
    }

    /// The state to come back to.
    pub(crate) fn mark(&self) -> Mark {
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), table.mark())).collect();
        Mark { tables, totals: self.totals.clone() }
    }

    /// Forgets what was collected since the mark was made.
    pub(crate) fn restore(&mut self, mark: &Mark) {
        self.tables = mark.tables.iter().map(|(name, table)| (name.clone(), TableWrites::at(table))).collect();
        self.totals = mark.totals.clone();
    }

    /// Adds an entity that the caller knows is not there.
    ///
    /// # Errors
    /// 54000 when the set is as large as it may be; 53100 or 58030 when there is no room left to collect it.
    pub(crate) fn insert(&mut self, relation: &Arc<Relation>, entity: Entity, now: EdmDateTime) -> SqlResult<()> {
        let base = self.get(&relation.stored, &entity.key).and_then(|before| before.base.clone());
        let values = Values { after: entity.properties, patch: None };
        let replaces = base.is_some();
        self.may_replace |= replaces;
        self.put(relation, entity.key, base, Some(values), replaces, now)
    }

    /// What all that is to be committed takes, but for what is written ahead.
    pub(crate) fn bytes(&self) -> usize {
        let seen = self.tables.iter().filter(|(name, _)| self.rules(name) != Rules::Unseen);
        seen.map(|(_, table)| table.bytes()).sum()
    }

    /// What the values of rows that are columns take of the memory that others share.
    pub(crate) fn held_bytes(&self) -> usize {
        self.tables.values().map(TableWrites::held_bytes).sum()
    }

    /// Many rows with their values in a file, where memory has no room for them.
    ///
    /// # Errors
    /// 53100 or 58030 when there is no room on the disk.
    pub(crate) fn put_away(&mut self, entities: EntityWindow) -> SqlResult<EntityWindow> {
        self.keeper.put_away(entities)
    }

    /// Writes many rows as columns, which the caller has locked, and found to be as these expect them, and not written by the
    /// transaction.
    ///
    /// # Errors
    /// 54000 when the set is as large as it may be.
    pub(crate) fn write_columns(&mut self, relation: &Arc<Relation>, window: ColumnWindow) -> SqlResult<()> {
        let (name, rules) = (&relation.stored, self.rules(&relation.stored));
        self.check_room(rules, window.bytes())?;
        self.totals.add_columns(rules, name, &window);
        table_of(&mut self.tables, relation).push(window);
        Ok(())
    }

    /// Which rows of these keys are new ones that the transaction has written as columns, and has not written since. `None` where that cannot be
    /// told of all.
    pub(crate) fn own_rows(&self, table: &StoredTable, keys: &EntityKeys) -> Option<OwnRows> {
        match self.tables.get(table) {
            Some(table) => table.own_rows(keys),
            None => Some(OwnRows::none_of(keys.len())),
        }
    }

    /// Columns that were written in no order of keys, where so many of their rows are to be changed that they are worth being put in one.
    pub(crate) fn out_of_order(&self, table: &StoredTable, changed: usize) -> Option<ColumnWrites> {
        self.tables.get(table)?.out_of_order(changed).cloned()
    }

    /// What becomes of columns where such rows are changed. `None` where they have to be changed one by one.
    pub(crate) fn changed_columns(
        &self,
        table: &StoredTable,
        rows: &OwnRows,
        change: &KnownChange,
        now: EdmDateTime,
    ) -> Option<Vec<Replacement>> {
        self.tables.get(table)?.changed(rows, change, now)
    }

    /// Puts other columns in the places of some.
    ///
    /// # Errors
    /// 54000 when the set is as large as it may be.
    pub(crate) fn replace_columns(
        &mut self,
        table: &StoredTable,
        replaced: Vec<(usize, Vec<ColumnWindow>)>,
    ) -> SqlResult<()> {
        let rules = self.rules(table);
        let Some(written) = self.tables.get(table) else { return Ok(()) };
        let (mut before, mut after) = (0, 0);
        for (number, others) in &replaced {
            before += written.window(*number).bytes();
            after += others.iter().map(ColumnWindow::bytes).sum::<usize>();
        }
        self.check_room(rules, after.saturating_sub(before))?;
        // Rows that were taken back one by one are not counted any more, but still in their windows.
        replaced.iter().flat_map(|(_, others)| others).for_each(|window| self.totals.add_columns(rules, table, window));
        replaced.iter().for_each(|(number, _)| self.totals.remove_columns(rules, table, written.window(*number)));
        if let Some(written) = self.tables.get_mut(table) {
            written.replace(replaced);
        }
        self.recount();
        Ok(())
    }

    /// Puts others, which have the same rows, in the place of all columns.
    ///
    /// # Errors
    /// As [`WriteSet::replace_columns`].
    pub(crate) fn replace_all_columns(&mut self, table: &StoredTable, windows: Vec<ColumnWindow>) -> SqlResult<()> {
        let before = self.tables.get(table).map_or(0, TableWrites::windows);
        let others = (1..before).map(|number| (number, Vec::new()));
        self.replace_columns(table, [(0, windows)].into_iter().chain(others).collect())
    }

    /// The last columns of a table were new rows: they are written ahead of the commit, where that can be.
    pub(crate) async fn write_ahead(&mut self, table: &StoredTable, store: &Arc<dyn TableStore>) {
        if let Some(table) = self.tables.get_mut(table) {
            table.write_ahead(store).await;
        }
    }

    /// A statement has removed all rows that a table had at this commit of the store, which were so many.
    pub(crate) fn note_emptied(&mut self, table: &StoredTable, unchanged_since: u64, rows: usize) {
        if let Some(table) = self.tables.get_mut(table) {
            table.note_emptied(unchanged_since, rows);
        }
    }

    /// The commit of the store since which nothing is left of a table but what the transaction writes to it.
    pub(crate) fn empties_since(&self, table: &StoredTable) -> Option<u64> {
        self.tables.get(table)?.empties_since()
    }

    /// Whether new rows may come as columns to a table that is emptied: that the transaction has written none of them since. The
    /// caller knows that nobody else has.
    pub(crate) fn refill(&mut self, table: &StoredTable, new: &NewEntities, space: &Arc<HeldBackSpace>) -> bool {
        let may = self.tables.get_mut(table).is_some_and(|table| table.refill(new, space));
        self.may_replace |= may;
        may
    }

    /// Gives an entity read with `base` its new properties. `patch` are those that changed, when none was removed.
    ///
    /// # Errors
    /// As [`WriteSet::insert`].
    pub(crate) fn update(
        &mut self,
        relation: &Arc<Relation>,
        base: &StoredEntity,
        after: Properties,
        patch: Option<Properties>,
        now: EdmDateTime,
    ) -> SqlResult<()> {
        let key = base.entity.key.clone();
        let (base, patch, replaces) = match self.get(&relation.stored, &key) {
            None => (Some(base.etag.clone()), patch, false),
            Some(before) => {
                let earlier = before.kept.as_ref().map(Kept::values).transpose()?.and_then(|values| values.patch);
                let both = earlier.zip(patch).map(|(mut both, patch)| {
                    both.merge(patch);
                    both
                });
                (before.base.clone(), both, before.replaces)
            }
        };
        self.put(relation, key, base, Some(Values { after, patch }), replaces, now)
    }

    /// Removes an entity read with this version.
    ///
    /// # Errors
    /// As [`WriteSet::insert`].
    pub(crate) fn delete(
        &mut self,
        relation: &Arc<Relation>,
        key: EntityKey,
        base: &ETag,
        now: EdmDateTime,
    ) -> SqlResult<()> {
        let base = match self.get(&relation.stored, &key) {
            Some(before) => before.base.clone(),
            None => Some(base.clone()),
        };
        self.put(relation, key, base, None, false, now)
    }

    /// Drops the writes to a table that the transaction drops or empties.
    pub(crate) fn forget(&mut self, table: &StoredTable) {
        self.remove_table(table);
    }

    /// Takes out what is collected for a table: the operations that write it, in key order.
    pub(crate) fn take(
        &mut self,
        table: &StoredTable,
    ) -> Option<(Arc<Relation>, impl Iterator<Item = SqlResult<Operation>> + use<>)> {
        self.remove_table(table).map(|table| (Arc::clone(&table.relation), table.into_operations()))
    }

    fn remove_table(&mut self, table: &StoredTable) -> Option<TableWrites> {
        let removed = self.tables.remove(table)?;
        if removed.is_refilled() {
            // What is removed and has come again may be counted twice.
            self.count_anew();
            return Some(removed);
        }
        let (rules, (windows, rows)) = (self.rules(table), removed.parts());
        windows.iter().for_each(|window| self.totals.remove_columns(rules, table, window));
        for (key, write) in rows {
            self.totals.remove(rules, table, &key.partition, write.bytes);
        }
        self.recount();
        Some(removed)
    }

    /// The entity as the transaction left it: `None` when it did not touch it, `Some(None)` when it deleted it.
    ///
    /// # Errors
    /// When what was collected cannot be read back.
    pub(crate) fn image(&self, table: &StoredTable, key: &EntityKey) -> SqlResult<Option<Option<StoredEntity>>> {
        self.get(table, key).map(|write| write.image(key)).transpose()
    }

    /// Whether the transaction inserts the entity, which it takes to be absent from the store.
    pub(crate) fn is_insertion(&self, table: &StoredTable, key: &EntityKey) -> bool {
        self.get(table, key).is_some_and(|write| write.base.is_none() && write.kept.is_some())
    }

    /// Whether rows go, and nothing else is done.
    pub(crate) fn only_deletes(&self) -> bool {
        let mut writes = self.tables.values().flat_map(TableWrites::entries);
        writes.all(|(_, write)| write.kept.is_none())
    }

    /// What readers inside the transaction see of it, as it is now.
    pub(crate) fn own_writes(&self) -> BTreeMap<StoredTable, OwnWrites> {
        self.tables.iter().map(|(name, table)| (name.clone(), table.own_writes())).collect()
    }

    /// Takes out what is written to tables without rules, to be committed on its own.
    pub(crate) fn take_free(&mut self) -> Self {
        let is_free = |table: &StoredTable| !table.place.has_rules();
        let (free, bound) = std::mem::take(&mut self.tables).into_iter().partition(|(table, _)| is_free(table));
        self.tables = bound;
        Self { tables: free, may_replace: self.may_replace, ..Self::new(Arc::clone(self.keeper.space())) }
    }

    /// The operations that commit it, by table, in key order.
    pub(crate) fn into_operations(
        self,
    ) -> impl Iterator<Item = (Arc<Relation>, impl Iterator<Item = SqlResult<Operation>>)> {
        self.tables.into_values().map(|table| (Arc::clone(&table.relation), table.into_operations()))
    }

    /// As [`WriteSet::into_operations`], but for what was written as columns, which comes besides.
    pub(super) fn into_tables(
        self,
    ) -> impl Iterator<Item = (Arc<Relation>, Columns, impl Iterator<Item = SqlResult<Operation>>)> {
        self.tables.into_values().map(|table| {
            let relation = Arc::clone(&table.relation);
            let (columns, operations) = table.into_parts();
            (relation, columns, operations)
        })
    }

    fn get(&self, table: &StoredTable, key: &EntityKey) -> Option<Arc<NetWrite>> {
        self.tables.get(table)?.get(key)
    }

    /// More than so much is not committed at once.
    pub(super) fn most_bytes(&self) -> usize {
        self.keeper.space().transaction_max()
    }

    /// # Errors
    /// 54000 when there is no room for so many bytes more.
    fn check_room(&self, rules: Rules, bytes: usize) -> SqlResult<()> {
        if rules == Rules::Unseen {
            return Ok(());
        }
        let most = self.most_bytes();
        if self.bytes() + bytes > most { Err(too_large(most)) } else { Ok(()) }
    }

    fn put(
        &mut self,
        relation: &Arc<Relation>,
        key: EntityKey,
        base: Option<ETag>,
        values: Option<Values>,
        replaces: bool,
        now: EdmDateTime,
    ) -> SqlResult<()> {
        let name = &relation.stored;
        let (key, base, values, bytes) = match (base, values) {
            (None, None) => (key, None, None, 0),
            // Most writes are this one: it is measured without a copy of the entity.
            (None, Some(Values { after, patch: None })) => {
                let insertion = Operation::Insert(Entity::new(key, after));
                let bytes = payload::operation_bytes(name, &insertion);
                let (key, after) = insertion.into_parts();
                (key, None, Some(Values { after, patch: None }), bytes)
            }
            (base, values) => {
                let bytes = payload::operation_bytes(name, &operation(key.clone(), base.clone(), values.clone()));
                (key, base, values, bytes)
            }
        };
        let rules = self.rules(name);
        self.check_room(rules, bytes)?;
        let table = table_of(&mut self.tables, relation);
        if let Some(values) = values.as_ref().filter(|values| relation.open && !table.observed.covers(&values.after)) {
            Arc::make_mut(&mut table.observed).observe(&values.after);
        }
        let kept = values.map(|values| self.keeper.keep(values)).transpose()?;
        let _memory = self.keeper.row(&key)?;
        let write = NetWrite { base, kept, written: now, bytes, replaces, _memory };
        if let Some(before) = table.get(&key) {
            self.totals.remove(rules, name, &key.partition, before.bytes);
        }
        if !write.is_nothing() {
            self.totals.add(rules, name, &key.partition, bytes);
        }
        table.put(key, write);
        Ok(())
    }
}

/// What is collected for a table, be it nothing yet.
fn table_of<'t>(tables: &'t mut Tables, relation: &Arc<Relation>) -> &'t mut TableWrites {
    tables.entry(relation.stored.clone()).or_insert_with(|| TableWrites::new(relation))
}

pub(super) fn too_large(most: usize) -> Box<SqlError> {
    let (most, hint) = match most >> 30 {
        0 => (format!("{} MiB", most >> 20), "Commit after fewer rows, or raise --query-memory, up to 1 GiB."),
        gibibytes => (format!("{gibibytes} GiB"), "Commit after fewer rows."),
    };
    SqlError::new(ErrorKind::LimitExceeded, format!("a transaction cannot write more than {most}"))
        .with_detail("It is committed in one piece, which has to fit into memory.")
        .with_hint(hint)
}
