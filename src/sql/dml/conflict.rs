//! What INSERT does about keys that are there: an error, nothing, an update, or a replacement.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::ExprKind;
use tablegate_bind::query::bound::{RangeColumn, RangeEntry, RangeSource};
use tablegate_bind::query::changes::{Assigned, BoundConflict, ConflictUpdate};
use tablegate_bind::{BoundExpr, BoundQuery, ExprType, Place};
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_types::constraint::Unenforced;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::looked_for::LookedFor;
use super::read_ahead::ROWS_AHEAD;
use super::returning::Returning;
use super::row_update::RowUpdate;
use super::rows::RowsToWrite;
use super::set_clause::SetClause;
use super::target::TargetColumn;
use super::writes::Writes;
use crate::plan::{HeldRows, MeantChange, PlannedQuery, Planner};
use crate::relation::{ColumnSource, Relation, RelationColumn};
use crate::scan::relation_rows;

/// The policy of one INSERT.
pub(super) enum OnConflict {
    /// 23505.
    Refuse,
    /// The row is left out.
    DoNothing,
    /// INSERT OR REPLACE: the entity becomes exactly the row.
    Replace,
    /// Every inserted column is set from EXCLUDED: the store can do it without reading.
    Merge,
    DoUpdate(Box<UpdateExisting>),
}

/// SET and WHERE of `ON CONFLICT DO UPDATE`.
pub(super) struct UpdateExisting {
    meant: Arc<MeantChange>,
    rows: RowUpdate,
    met: MetRows,
    /// Where each new value is just that of a column of the incoming row, and all rows are changed: which columns. Then nothing
    /// is computed.
    excluded: Option<Vec<usize>>,
    /// RETURNING shows the rows.
    shows: bool,
    query: BoundQuery,
    /// The query over no rows.
    planned: PlannedQuery,
}

/// What became of a batch of rows.
pub(super) struct Outcome {
    /// Rows of the batch that were inserted as they are.
    inserted: Vec<usize>,
    /// Rows as they are after an update.
    updated: Vec<RecordBatch>,
    /// The row of the batch that met each of these.
    met: Vec<usize>,
}

impl Outcome {
    pub(super) fn changed(&self) -> u64 {
        (self.inserted.len() + self.met.len()) as u64
    }

    /// All changed rows, in the relation's columns, for RETURNING: in the order in which they were given, as PostgreSQL returns
    /// them.
    pub(super) fn rows_after(
        self,
        incoming: &(dyn Fn() -> SqlResult<RecordBatch> + Sync),
    ) -> SqlResult<Vec<RecordBatch>> {
        let mut rows = self.updated;
        let inserted = pick(&incoming()?, &self.inserted)?;
        let schema = inserted.schema();
        rows.push(inserted);
        let given = [self.met, self.inserted].concat();
        if given.is_sorted() {
            return Ok(rows);
        }
        let mut order: Vec<usize> = (0..given.len()).collect();
        order.sort_unstable_by_key(|place| given[*place]);
        Ok(vec![pick(&concat_batches(&schema, &rows)?, &order)?])
    }
}

impl OnConflict {
    /// What an INSERT of these columns says.
    ///
    /// # Errors
    /// What is wrong with SET.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        meant: &Arc<MeantChange>,
        columns: &[TargetColumn],
        (conflict, replaces): (Option<&BoundConflict>, bool),
    ) -> SqlResult<Self> {
        let Some(conflict) = conflict else {
            return Ok(if replaces { OnConflict::Replace } else { OnConflict::Refuse });
        };
        let Some(update) = &conflict.update else { return Ok(OnConflict::DoNothing) };
        let existing = UpdateExisting::prepare(planner, meant, update).await?;
        if update.filter.is_none() && existing.is_merge(columns, meant, update) {
            return Ok(OnConflict::Merge);
        }
        Ok(OnConflict::DoUpdate(Box::new(existing)))
    }

    /// Whether it may change the keys of rows.
    pub(super) fn assigns_key(&self) -> bool {
        matches!(self, OnConflict::DoUpdate(update) if update.rows.assigns_key())
    }

    /// Computes what is constant in SET and WHERE, whether or not a key is there.
    ///
    /// # Errors
    /// The errors of evaluating it.
    pub(super) fn check(&self, planner: &Planner<'_>, parameters: &[ScalarValue]) -> SqlResult<()> {
        match self {
            OnConflict::DoUpdate(update) => planner.check(&update.planned, parameters),
            _ => Ok(()),
        }
    }

    /// Writes the rows of one batch.
    pub(super) async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: &RowsToWrite,
        incoming: &(dyn Fn() -> SqlResult<RecordBatch> + Sync),
        writes: &mut Writes<'_>,
    ) -> SqlResult<Outcome> {
        let mut outcome = Outcome { inserted: Vec::new(), updated: Vec::new(), met: Vec::new() };
        let mut existing: Vec<(usize, StoredEntity)> = Vec::new();
        if matches!(self, OnConflict::Refuse) && writes.insert_rows(rows, None).await? {
            outcome.inserted.extend(0..rows.len());
            return Ok(outcome);
        }
        if let Some(outcome) = Box::pin(self.write_many(planner, parameters, rows, incoming, writes)).await? {
            return Ok(outcome);
        }
        for row in 0..rows.len() {
            if row % ROWS_AHEAD == 0 && self.looks_at_rows(writes) {
                let next = row..rows.len().min(row + ROWS_AHEAD);
                writes.read_ahead(next.map(|row| rows.key(row))).await?;
            }
            match self {
                OnConflict::Refuse => writes.insert(rows.entity(row)?).await?,
                OnConflict::Replace => writes.upsert(rows.entity(row)?, true).await?,
                OnConflict::Merge => {
                    once(writes, &rows.key(row))?;
                    writes.upsert(rows.entity(row)?, false).await?;
                }
                OnConflict::DoNothing if writes.has_changed(&rows.key(row)) => continue,
                OnConflict::DoNothing | OnConflict::DoUpdate(_) => {
                    if writes.has_changed(&rows.key(row)) {
                        return Err(twice());
                    }
                    if let Some(stored) = writes.lock_conflicting(&rows.key(row)).await? {
                        existing.push((row, stored));
                        continue;
                    }
                    once(writes, &rows.key(row))?;
                    writes.insert_absent(rows.entity(row)?).await?;
                }
            }
            outcome.inserted.push(row);
        }
        if let OnConflict::DoUpdate(update) = self
            && !existing.is_empty()
        {
            let incoming = incoming()?;
            // Boxed: what a future holds is moved with it, and most statements have nothing to update.
            let updated = Box::pin(update.write(planner, parameters, (&existing, None), &incoming, writes)).await?;
            (outcome.updated, outcome.met) = updated;
        }
        Ok(outcome)
    }

    /// Whether it is looked what is there under a key before the row is written.
    fn looks_at_rows(&self, writes: &Writes<'_>) -> bool {
        match self {
            OnConflict::Refuse => false,
            OnConflict::Replace | OnConflict::Merge => !writes.is_direct(),
            OnConflict::DoNothing | OnConflict::DoUpdate(_) => true,
        }
    }

    /// Writes the rows of a batch that are many: all of them are locked and looked for at once. `None` where they have to be
    /// looked at one by one.
    async fn write_many(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: &RowsToWrite,
        incoming: &(dyn Fn() -> SqlResult<RecordBatch> + Sync),
        writes: &mut Writes<'_>,
    ) -> SqlResult<Option<Outcome>> {
        let update = match self {
            OnConflict::DoNothing => None,
            OnConflict::DoUpdate(update) if !update.rows.assigns_key() => Some(update),
            _ => return Ok(None),
        };
        let fresh: Vec<usize> = (0..rows.len()).filter(|row| !writes.has_changed(&rows.key(*row))).collect();
        let of_fresh = match fresh.len() == rows.len() {
            true => None,
            false if update.is_some() => return Err(twice()),
            false => Some(rows.some(&fresh)?),
        };
        let rows = of_fresh.as_ref().unwrap_or(rows);
        let Some((stored, looked_for)) = writes.look_for(rows.keys()).await? else { return Ok(None) };
        let (mut absent, mut existing) = (Vec::new(), Vec::new());
        for (row, stored) in stored.into_iter().enumerate() {
            if let Some(stored) = stored {
                existing.push((fresh[row], stored));
            } else if writes.first_change(&rows.key(row))? {
                absent.push(row);
            } else if update.is_some() {
                return Err(twice());
            }
        }
        if absent.len() == rows.len() {
            writes.insert_looked_for(rows, &looked_for).await?;
        } else if !absent.is_empty() {
            writes.insert_looked_for(&rows.some(&absent)?, &looked_for).await?;
        }
        let inserted = absent.into_iter().map(|row| fresh[row]).collect();
        let mut outcome = Outcome { inserted, updated: Vec::new(), met: Vec::new() };
        if let Some(update) = update
            && !existing.is_empty()
        {
            let found = (existing.as_slice(), Some(&looked_for));
            (outcome.updated, outcome.met) = update.write(planner, parameters, found, &incoming()?, writes).await?;
        }
        Ok(Some(outcome))
    }
}

/// Notes a key that is inserted or updated.
///
/// # Errors
/// 21000 for the second time; 53200 when there is no memory left to remember it.
fn once(writes: &mut Writes<'_>, key: &EntityKey) -> SqlResult<()> {
    if writes.first_change(key)? { Ok(()) } else { Err(twice()) }
}

fn twice() -> Box<SqlError> {
    SqlError::new(ErrorKind::CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .with_hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        )
}

impl UpdateExisting {
    async fn prepare(planner: &Planner<'_>, meant: &Arc<MeantChange>, update: &ConflictUpdate) -> SqlResult<Self> {
        let relation = meant.relation();
        let (set, values) = SetClause::of(relation, &meant.change.relation, &update.assigned, planner.reading())?;
        let rows =
            MetRows { target: meant.change.target, excluded: update.excluded, ordinal: meant.change.range.len() };
        let excluded = only_excluded(relation, update, &set, &values);
        let mut targets = vec![rows.ordinal_column()];
        targets.extend(values);
        let mut query = meant.query(Vec::new(), update.filter.clone(), targets);
        query.range.push(rows.ordinals());
        let none = RecordBatch::new_empty(Returning::row_schema(relation));
        let planned = meant.plan_over(planner, &query, &rows.given(&none, &none)?).await?;
        let planned = planned.assigned_to(set.receivers(1))?;
        let rows_of = RowUpdate::prepare(planner, relation, set)?;
        let shows = !meant.change.returning.is_empty();
        Ok(Self { meant: meant.clone(), rows: rows_of, met: rows, excluded, shows, query, planned })
    }

    /// Whether every inserted column but the key is set from EXCLUDED, and nothing else: then Insert Or Merge does it.
    fn is_merge(&self, columns: &[TargetColumn], meant: &MeantChange, update: &ConflictUpdate) -> bool {
        if self.rows.need_whole_rows() {
            return false;
        }
        let relation = self.rows.relation();
        let targets: Vec<&TargetColumn> = self.rows.set.targets().collect();
        let from_excluded = |(assigned, target): (&Assigned, &&TargetColumn)| {
            let ExprKind::Column { level: 0, entry, column } = assigned.value.expr().kind else { return false };
            entry == update.excluded
                && meant.change.relation.columns.get(column).is_some_and(|column| column.name == target.name(relation))
        };
        let is_property = |target: &&TargetColumn| match target.column(relation) {
            Some(column) => matches!(column.source, ColumnSource::Property { .. }),
            None => true,
        };
        // NULL in EXCLUDED must remove the property, which Merge cannot: only NOT NULL columns are sure.
        let never_null = |target: &TargetColumn| target.column(relation).is_some_and(|c| c.not_null);
        targets.len() == update.assigned.len()
            && update.assigned.iter().zip(&targets).all(from_excluded)
            && columns.iter().filter(is_property).all(|c| targets.contains(&c) && never_null(c))
            && targets.len() == columns.iter().filter(is_property).count()
    }

    async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        (existing, looked_for): (&[(usize, StoredEntity)], Option<&LookedFor>),
        incoming: &RecordBatch,
        writes: &mut Writes<'_>,
    ) -> SqlResult<(Vec<RecordBatch>, Vec<usize>)> {
        let rows: Vec<usize> = existing.iter().map(|(row, _)| *row).collect();
        let stored: Vec<&StoredEntity> = existing.iter().map(|(_, stored)| stored).collect();
        let incoming = pick(incoming, &rows)?;
        let changes = self.rows.changes.bind(planner)?;
        if let Some(excluded) = &self.excluded {
            let mut values: Vec<ArrayRef> = excluded.iter().map(|column| incoming.column(*column).clone()).collect();
            let mut after = Vec::new();
            if self.shows || self.rows.need_whole_rows() {
                let before = relation_rows(self.rows.relation(), &stored)?;
                after.push(changes.apply(before.columns().to_vec(), stored.len(), &mut values)?);
            }
            self.write_rows(writes, &stored, &values, looked_for).await?;
            return Ok((after, rows));
        }
        let before = relation_rows(self.rows.relation(), &stored)?;
        let given = self.met.given(&before, &incoming)?;
        let mut batches = self.meant.run_over(planner, (&self.query, &self.planned), parameters, &given).await?;
        let (mut after, mut met) = (Vec::new(), Vec::new());
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            let ordinals = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>().clone();
            let found: Vec<usize> =
                ordinals.values().iter().map(|ordinal| usize::try_from(*ordinal).unwrap_or_default()).collect();
            let mut values = self.rows.set.values(&batch, 1)?;
            let before = pick(&before, &found)?;
            let changed = changes.apply(before.columns().to_vec(), before.num_rows(), &mut values)?;
            let bases: Vec<&StoredEntity> = found.iter().map(|ordinal| stored[*ordinal]).collect();
            self.write_rows(writes, &bases, &values, looked_for).await?;
            met.extend(found.iter().map(|ordinal| rows[*ordinal]));
            after.push(changed);
        }
        Ok((after, met))
    }

    /// Writes rows with their new values.
    async fn write_rows(
        &self,
        writes: &mut Writes<'_>,
        bases: &[&StoredEntity],
        values: &[ArrayRef],
        looked_for: Option<&LookedFor>,
    ) -> SqlResult<()> {
        if let Some(looked_for) = looked_for {
            bases.iter().try_for_each(|base| once(writes, &base.entity.key))?;
            return self.rows.write_many(writes, bases, values, looked_for).await;
        }
        for (row, base) in bases.iter().enumerate() {
            once(writes, &base.entity.key)?;
            writes.has_read(base);
            self.rows.write(writes, &base.entity.key, &base.etag, values, row).await?;
        }
        Ok(())
    }
}

/// The columns of the incoming row that new values are, where each of them is one of the same type, and no condition leaves rows
/// out.
fn only_excluded(
    relation: &Relation,
    update: &ConflictUpdate,
    set: &SetClause,
    values: &[BoundExpr],
) -> Option<Vec<usize>> {
    let declared = |column: Option<&RelationColumn>| {
        column.filter(|column| column.observed.is_none()).map(|column| column.sql_type.clone())
    };
    let of = |(target, value): (&TargetColumn, &BoundExpr)| match value.kind {
        ExprKind::Column { level: 0, entry, column } if entry == update.excluded => {
            let (to, from) = (declared(target.column(relation))?, declared(relation.columns.get(column))?);
            (to == from).then_some(column)
        }
        _ => None,
    };
    if update.filter.is_some() || set.targets().count() != values.len() {
        return None;
    }
    set.targets().zip(values).map(of).collect()
}

/// The conflict target must be the primary key: it is the only unique thing there is. PostgreSQL looks for it once all
/// else is right.
///
/// # Errors
/// 42P10 when it is not.
pub(super) fn check_target(meant: &MeantChange, conflict: &BoundConflict) -> SqlResult<()> {
    let (relation, bound) = (meant.relation(), &meant.change.relation);
    if let Some(key) = conflict.constraint.and_then(|number| bound.keys.get(number)) {
        let mut recorded = relation.constraints.unenforced.iter();
        return match recorded.find(|recorded| !key.is_primary && recorded.name == key.name) {
            Some(recorded) => Err(only_recorded(relation, recorded)),
            None => Ok(()),
        };
    }
    if conflict.columns.is_empty() {
        return check_enforced(relation);
    }
    let key = relation.key_columns();
    let is_key = conflict.columns.len() == key.len() && key.iter().all(|column| conflict.columns.contains(column));
    if is_key {
        return Ok(());
    }
    let named: Vec<&str> = conflict.columns.iter().map(|column| bound.columns[*column].name.as_str()).collect();
    let is_named = |recorded: &&Unenforced| {
        let columns = &recorded.columns;
        recorded.kind.is_unique()
            && columns.iter().all(|column| named.contains(&column.as_str()))
            && named.iter().all(|name| columns.iter().any(|column| column == name))
    };
    if let Some(recorded) = relation.constraints.unenforced.iter().find(is_named) {
        return Err(only_recorded(relation, recorded));
    }
    let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
    Err(SqlError::new(ErrorKind::InvalidColumnReference, message)
        .with_hint(format!("The only unique constraint is the primary key \"{}\".", relation.primary_key_name())))
}

/// Without a target any unique constraint may be in conflict, so each must be one that is looked at.
///
/// # Errors
/// 42P10 for a table with one that is only recorded.
fn check_enforced(relation: &Relation) -> SqlResult<()> {
    let key = relation.key_columns();
    // Rows that differ in their keys differ in more columns too.
    let has_key = |recorded: &Unenforced| {
        let has = |index: &usize| recorded.columns.contains(&relation.columns[*index].name);
        !key.is_empty() && key.iter().all(has)
    };
    let is_arbiter = |recorded: &&Unenforced| recorded.kind.is_unique() && !has_key(recorded);
    match relation.constraints.unenforced.iter().find(is_arbiter) {
        None => Ok(()),
        Some(recorded) => Err(only_recorded(relation, recorded)),
    }
}

fn only_recorded(relation: &Relation, recorded: &Unenforced) -> Box<SqlError> {
    let name = &recorded.name;
    let message = format!("ON CONFLICT cannot look at \"{name}\", which is recorded and not enforced");
    let listed = |names: &[&str]| names.iter().map(|name| quote_ident(name)).collect::<Vec<_>>().join(", ");
    let unique = listed(&recorded.columns.iter().map(String::as_str).collect::<Vec<_>>());
    let key: Vec<&RelationColumn> = relation.key_columns().iter().map(|index| &relation.columns[*index]).collect();
    let hint = match key.iter().any(|column| !column.hidden) {
        true => {
            let key = listed(&key.iter().map(|column| column.name.as_str()).collect::<Vec<_>>());
            format!(
                "Only the primary key ({key}) keeps rows apart. If ({unique}) is to do so, make it the primary key: \
                 ON CONFLICT ({key}) lets rows with equal ({unique}) in."
            )
        }
        false => format!(
            "Only a primary key keeps rows apart, and this table has none: ALTER TABLE {} ADD PRIMARY KEY ({unique}).",
            quote_ident(&relation.name)
        ),
    };
    SqlError::new(ErrorKind::InvalidColumnReference, message).with_hint(hint)
}

/// The rows that an update is computed of: each stored row with the incoming one of its key.
struct MetRows {
    /// The entries of the stored row, of the incoming one, and of the number of both.
    target: usize,
    excluded: usize,
    ordinal: usize,
}

impl MetRows {
    fn ordinal_column(&self) -> BoundExpr {
        let kind = ExprKind::Column { level: 0, entry: self.ordinal, column: 0 };
        BoundExpr::new(kind, ExprType::plain(oids::INT8), Place::NOWHERE)
    }

    fn ordinals(&self) -> RangeEntry {
        let column = RangeColumn { name: "ordinal".to_owned(), ty: ExprType::plain(oids::INT8) };
        RangeEntry::unnamed(String::new(), vec![column], RangeSource::Excluded)
    }

    /// Rows of the relation's columns, as many of both.
    fn given(&self, stored: &RecordBatch, incoming: &RecordBatch) -> SqlResult<HeldRows> {
        let ordinals = Int64Array::from_iter_values((0_i64..).take(stored.num_rows()));
        let mut fields: Vec<FieldRef> = vec![Arc::new(SqlType::Int8.field("ordinal", false))];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(ordinals)];
        let mut places = vec![(self.ordinal, 0)];
        for (entry, rows) in [(self.target, stored), (self.excluded, incoming)] {
            fields.extend(rows.schema().fields().iter().cloned());
            columns.extend_from_slice(rows.columns());
            places.extend((0..rows.num_columns()).map(|column| (entry, column)));
        }
        let schema = Arc::new(Schema::new(fields));
        let rows = RecordBatch::try_new(schema.clone(), columns)?;
        Ok(HeldRows::new(&schema, places, vec![rows]))
    }
}

/// Some rows of a batch.
fn pick(batch: &RecordBatch, rows: &[usize]) -> SqlResult<RecordBatch> {
    let indices = arrow::array::UInt64Array::from_iter_values(rows.iter().map(|r| *r as u64));
    let columns = batch.columns().iter().map(|c| take(c, &indices, None)).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        return Ok(concat_batches(&batch.schema(), std::iter::empty::<&RecordBatch>())?);
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
