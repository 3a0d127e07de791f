//! Changing one row: the one way in which UPDATE, ON CONFLICT DO UPDATE and MERGE write.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::filter;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use tablegate_store::model::{ETag, EntityKey, EntityKeys, StoredEntity};
use tablegate_store::table::KnownEntities;
use tablegate_types::error::SqlResult;

use super::changed_rows::{ChangedRows, NullRefused};
use super::checks::not_null;
use super::looked_for::LookedFor;
use super::read_ahead::ROWS_AHEAD;
use super::set_clause::SetClause;
use super::target::TargetColumn;
use super::update::etag_at;
use super::writes::{Change, Writes};
use crate::plan::Planner;
use crate::relation::Relation;
use crate::scan::relation_rows;

/// What a statement assigns, and how a row gets it.
pub(super) struct RowUpdate {
    relation: Arc<Relation>,
    pub set: SetClause,
    pub changes: Box<ChangedRows>,
}

impl RowUpdate {
    /// # Errors
    /// The errors of planning the table's generated columns or checks.
    pub(super) fn prepare(planner: &Planner<'_>, relation: &Arc<Relation>, set: SetClause) -> SqlResult<Self> {
        let changes = Box::new(ChangedRows::prepare(planner, relation, set.targets().cloned().collect())?);
        Ok(Self { relation: relation.clone(), set, changes })
    }

    /// The same, where values of undeclared properties keep their own types, which a plan's schema tells; the values
    /// begin at `first`. Also the table as it shows then.
    ///
    /// # Errors
    /// As [`RowUpdate::prepare`].
    pub(super) fn keep_own_types(
        mut self,
        planner: &Planner<'_>,
        schema: &Schema,
        first: usize,
    ) -> SqlResult<(Self, Arc<Relation>)> {
        let shown = self.set.keep_own_types(schema, first);
        if !Arc::ptr_eq(&shown, &self.relation) {
            *self.changes = ChangedRows::prepare(planner, &shown, self.set.targets().cloned().collect())?;
        }
        Ok((self, shown))
    }

    pub(super) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// Whether the rows are needed as they were, and not only what is assigned.
    pub(super) fn need_whole_rows(&self) -> bool {
        self.changes.need_whole_rows()
    }

    pub(super) fn assigns_key(&self) -> bool {
        self.set.assigns_key()
    }

    /// Writes rows one by one: those under these keys, of a batch with their versions. `values` are those of its changed columns.
    ///
    /// # Errors
    /// As [`RowUpdate::write`].
    pub(super) async fn write_each(
        &self,
        writes: &mut Writes<'_>,
        keys: &[EntityKey],
        batch: &RecordBatch,
        values: &[ArrayRef],
    ) -> SqlResult<()> {
        // Where it is committed as it comes, a row of which no property goes is changed without a look at it.
        let is_blind = writes.is_direct() && !self.assigns_key();
        let whole = writes.reads_ahead().then(|| self.changes.rows_with_all_values(values, keys.len()));
        for (row, key) in keys.iter().enumerate() {
            if row % ROWS_AHEAD == 0
                && let Some(whole) = &whole
            {
                let next = (row..keys.len().min(row + ROWS_AHEAD)).filter(|row| !is_blind || !whole.value(*row));
                writes.read_ahead(next.map(|row| keys[row].clone())).await?;
            }
            self.write(writes, key, &etag_at(batch, row)?, values, row).await?;
        }
        Ok(())
    }

    /// Writes one row: the values of its changed columns stand in `values`, at `row`.
    ///
    /// # Errors
    /// What the values' checks and the rules of transactions refuse.
    pub(super) async fn write(
        &self,
        writes: &mut Writes<'_>,
        key: &EntityKey,
        etag: &ETag,
        values: &[ArrayRef],
        row: usize,
    ) -> SqlResult<()> {
        let change = match self.changes.change(values, row)? {
            Ok(change) => change,
            Err(NullRefused) => {
                // Only now are the row's other values of interest: for the error's DETAIL.
                let stored = writes.newest(key).await?;
                let before = relation_rows(&self.relation, &stored.iter().collect::<Vec<_>>())?;
                return Err(self.changes.null_error(&before, values, row, writes.reads.moments.style())?);
            }
        };
        match self.new_key(key, values, row)? {
            Some(new_key) if new_key != *key => self.move_row(writes, key, etag, new_key, change).await,
            _ => writes.update(key, etag, change).await,
        }
    }

    /// Writes many rows at once, none of which moves: those of which each property gets a value as columns, the others one by one.
    ///
    /// # Errors
    /// As [`RowUpdate::write`].
    pub(super) async fn write_many(
        &self,
        writes: &mut Writes<'_>,
        bases: &[&StoredEntity],
        values: &[ArrayRef],
        looked_for: &LookedFor,
    ) -> SqlResult<()> {
        let whole = self.changes.rows_with_all_values(values, bases.len());
        let (merged, others): (Vec<usize>, Vec<usize>) = (0..bases.len()).partition(|row| whole.value(*row));
        let known = match others.is_empty() {
            true => self.changes.merge_of(values),
            false => {
                let rows = values.iter().map(|array| Ok(filter(array, &whole)?)).collect::<SqlResult<Vec<_>>>()?;
                self.changes.merge_of(&rows)
            }
        };
        let known = known.filter(|_| !merged.is_empty()).and_then(|change| {
            let mut keys = EntityKeys::with_capacity(merged.len());
            for (partition, row) in merged.iter().map(|row| bases[*row].entity.key.as_pair()) {
                keys.push(partition, row).ok()?;
            }
            let versions = merged.iter().map(|row| bases[*row].etag.clone()).collect();
            KnownEntities::new(&self.relation.stored, keys, versions, change)
        });
        let one_by_one = if known.is_some() { others } else { (0..bases.len()).collect() };
        let mut changes = Vec::with_capacity(one_by_one.len());
        for row in one_by_one {
            match self.changes.change(values, row)? {
                Ok(change) => changes.push((bases[row], change)),
                Err(NullRefused) => {
                    let before = relation_rows(&self.relation, &bases[row..=row])?;
                    return Err(self.changes.null_error(&before, values, row, writes.reads.moments.style())?);
                }
            }
        }
        writes.change_looked_for(known, changes, looked_for).await
    }

    /// The key the row gets when a key column is assigned; `None` when none is.
    fn new_key(&self, key: &EntityKey, values: &[ArrayRef], row: usize) -> SqlResult<Option<EntityKey>> {
        if !self.assigns_key() {
            return Ok(None);
        }
        let key_columns = self.relation.key_columns();
        let assigned = |column: usize| {
            self.set.targets().position(|t| *t == TargetColumn::Known(column)).map(|i| values[i].slice(row, 1))
        };
        let all: Vec<usize> = (0..key_columns.len()).collect();
        let partition = arrow::array::StringArray::from(vec![key.partition.as_str()]);
        let row_key = arrow::array::StringArray::from(vec![key.row.as_str()]);
        let old = self.relation.codec.decode(&partition, &row_key, &all)?;
        let mut parts = Vec::with_capacity(old.len());
        for (column, old) in key_columns.iter().zip(old) {
            let part = assigned(*column).unwrap_or(old);
            if part.is_null(0) {
                return Err(not_null(&self.relation, &self.relation.columns[*column].name));
            }
            parts.push(part);
        }
        Ok(self.relation.codec.encode_batch(&parts)?.pop())
    }

    /// A changed key is a delete and an insert, in one EGT: so both must be in one partition, unless observe mode looks
    /// on.
    async fn move_row(
        &self,
        writes: &mut Writes<'_>,
        key: &EntityKey,
        etag: &ETag,
        new_key: EntityKey,
        change: Change,
    ) -> SqlResult<()> {
        if key.partition != new_key.partition {
            writes.check_move(&key.partition, &new_key.partition)?;
        }
        let Some(base) = writes.newest(key).await? else { return Ok(()) };
        let mut properties = base.entity.properties;
        change.removed.iter().for_each(|name| properties.remove(name.as_str()));
        properties.merge(change.set);
        writes.delete(key.clone(), etag).await?;
        let entity = tablegate_store::model::Entity::new(new_key, properties);
        entity.check()?;
        writes.insert(entity).await
    }
}
