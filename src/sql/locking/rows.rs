//! A run of a locking query: each row it finds is locked, and then compared with what was found.
//!
//! As in PostgreSQL the rows come in the order that the snapshot gives them, and are locked one after the other. One that
//! has changed in between is looked at again, alone: it comes in its place as it is now, if the query still finds it. LIMIT
//! counts what is left. A plan may count beforehand, which gives the same rows as long as none has changed.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::ScalarValue;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use tablegate_bind::query::Busy;
use tablegate_store::model::{ETag, EntityKey, StoredEntity};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::task::yield_now;

use super::again::ChangedRow;
use super::query::{Form, LockedTable, LockingQuery};
use crate::batches::keys_of_batch;
use crate::dml::etag_at;
use crate::plan::Planner;
use crate::reads::Reads;
use crate::relation::Relation;
use crate::tx::{Claims, Found, changed_since_snapshot};

/// So many rows are locked until others have their turn.
const ROWS_AT_ONCE: usize = 64;

/// What became of one result row.
enum Row {
    Locked,
    /// Others have it, or it is not there any more.
    Without {
        is_gone: bool,
    },
    /// Its rows of the locked tables as they are now.
    Changed(Vec<Arc<StoredEntity>>),
}

/// The rows of a batch that are part of the result, in order.
struct Picked {
    /// The batch, then rows that were looked at again.
    sources: Vec<RecordBatch>,
    places: Vec<Place>,
}

enum Place {
    /// Of a source, a row.
    Of(usize, usize),
    /// A row of the batch that is yet to be looked at again.
    Pending(usize),
}

/// How many rows are still to be skipped (OFFSET), and to be returned (LIMIT).
struct Bounds {
    offset: u64,
    limit: u64,
}

/// One run.
struct Run<'r> {
    query: &'r LockingQuery,
    planner: &'r Planner<'r>,
    parameters: &'r [ScalarValue],
    form: &'r Form,
    /// The plan has counted rows that may turn out to be none.
    ends_at_changes: bool,
    bounds: Bounds,
}

/// Rows that are all locked.
pub(crate) struct LockedRows {
    pub rows: Vec<RecordBatch>,
    /// What they take.
    pub memory: MemoryReservation,
}

impl LockedRows {
    fn none(planner: &Planner<'_>) -> Self {
        Self { rows: Vec::new(), memory: planner.engine.memory("rows that are locked") }
    }

    fn push(&mut self, rows: RecordBatch) -> SqlResult<()> {
        self.memory.try_grow(get_record_batch_memory_size(&rows))?;
        self.rows.push(rows);
        Ok(())
    }
}

impl LockingQuery {
    /// Runs it on the planner's snapshot; gives the rows, all locked.
    ///
    /// # Errors
    /// 55P03 and 40P01 when a row cannot be locked; 40001 for a row that changed since the snapshot of a transaction; 53200 for
    /// more rows than queries may hold.
    pub(crate) async fn lock(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        claims: &mut Claims,
    ) -> SqlResult<LockedRows> {
        let planner = &planner.skipping(self.skipped());
        if let Some(rows) = self.run(planner, parameters, &self.form, self.ends_at_changes(), claims).await? {
            return Ok(rows);
        }
        let counted = self.counted(planner).await?;
        let form = counted.as_ref().unwrap_or(&self.form);
        let rows = self.run(planner, parameters, form, false, claims).await?;
        Ok(rows.unwrap_or_else(|| LockedRows::none(planner)))
    }

    /// `None` when it has met a change at which it ends.
    async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        form: &Form,
        ends_at_changes: bool,
        claims: &mut Claims,
    ) -> SqlResult<Option<LockedRows>> {
        let bounds = bounds(planner, parameters, form).await?;
        let mut run = Run { query: self, planner, parameters, form, ends_at_changes, bounds };
        let mut batches = planner.run(&form.input, parameters).await?;
        let mut locked = LockedRows::none(planner);
        while !run.bounds.is_met()
            && let Some(batch) = batches.next().await
        {
            match run.lock_batch(batch?, claims).await? {
                Some(rows) => locked.push(rows)?,
                None => return Ok(None),
            }
        }
        Ok(Some(locked))
    }
}

impl Run<'_> {
    /// Locks the rows of a batch; gives those that are part of the result.
    async fn lock_batch(&mut self, batch: RecordBatch, claims: &mut Claims) -> SqlResult<Option<RecordBatch>> {
        let targets = &self.query.targets;
        let found = targets.iter().map(|target| versions(&batch, target)).collect::<SqlResult<Vec<_>>>()?;
        let mut picked = Picked { sources: vec![batch], places: Vec::new() };
        let mut changed = Vec::new();
        for row in 0..picked.sources[0].num_rows() {
            if self.bounds.is_met() {
                break;
            }
            if row % ROWS_AT_ONCE == 0 {
                // Where nobody else wants the rows, nothing here waits for anything.
                yield_now().await;
            }
            match lock_row(targets, row, &found, &self.planner.reads, claims).await? {
                Row::Locked if self.bounds.takes() => picked.places.push(Place::Of(0, row)),
                Row::Locked => {}
                Row::Without { is_gone } if is_gone && self.ends_at_changes => return Ok(None),
                Row::Without { .. } => {}
                Row::Changed(_) if self.ends_at_changes => return Ok(None),
                Row::Changed(newest) => {
                    picked.places.push(Place::Pending(row));
                    changed.push((row, newest));
                    // Whether it counts must be known before the next row is locked.
                    if self.form.bounds.is_some() {
                        self.look_again(&mut changed, &mut picked).await?;
                    }
                }
            }
        }
        self.look_again(&mut changed, &mut picked).await?;
        picked.rows(self.query.columns.len()).map(Some)
    }

    /// Puts rows that had changed into their places, or takes them out.
    async fn look_again(&mut self, changed: &mut Vec<ChangedRow>, picked: &mut Picked) -> SqlResult<()> {
        if changed.is_empty() {
            return Ok(());
        }
        let batch = &picked.sources[0];
        let again = self.query.look_again(self.planner, self.parameters, self.form, batch, changed);
        let mut again = Box::pin(again).await?;
        changed.clear();
        let Picked { sources, places } = picked;
        places.retain_mut(|place| {
            let Place::Pending(row) = *place else { return true };
            let Some(now) = again.remove(&row) else { return false };
            *place = Place::Of(sources.len(), 0);
            sources.push(now);
            self.bounds.takes()
        });
        Ok(())
    }
}

impl Picked {
    /// The first columns of the rows.
    fn rows(self, columns: usize) -> SqlResult<RecordBatch> {
        let columns: Vec<usize> = (0..columns).collect();
        let sources = self.sources.iter().map(|source| source.project(&columns)).collect::<Result<Vec<_>, _>>()?;
        let places: Vec<(usize, usize)> = self.places.iter().filter_map(Place::known).collect();
        if columns.is_empty() {
            let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
            return Ok(RecordBatch::try_new_with_options(sources[0].schema(), Vec::new(), &options)?);
        }
        Ok(interleave_record_batch(&sources.iter().collect::<Vec<_>>(), &places)?)
    }
}

impl Place {
    fn known(&self) -> Option<(usize, usize)> {
        match self {
            Place::Of(source, row) => Some((*source, *row)),
            Place::Pending(_) => None,
        }
    }
}

/// Locks one result row: its row of each table.
async fn lock_row(
    targets: &[LockedTable],
    row: usize,
    found: &[Vec<(EntityKey, ETag)>],
    reads: &Reads,
    claims: &mut Claims,
) -> SqlResult<Row> {
    let mark = claims.mark();
    let (mut newest, mut has_changed) = (Vec::with_capacity(targets.len()), false);
    for (target, found) in targets.iter().zip(found) {
        let (key, version) = &found[row];
        let relation = &target.relation;
        match target.busy {
            Busy::Wait => claims.lock(relation, key, target.strength).await.map(|_| ())?,
            Busy::Refuse => claims.try_lock(relation, key, target.strength).await.map(|_| ())?,
            Busy::Skip => {
                if claims.lock_unless_busy(relation, key, target.strength).await?.is_none() {
                    claims.held().release_to(mark);
                    return Ok(Row::Without { is_gone: false });
                }
                reads.note_key(&relation.stored, key);
            }
        }
        let (now, is_own) = newest_of(relation, key, version, reads, claims).await?;
        let change = match &now {
            None => Found::Gone,
            Some(now) if !is_own && now.etag != *version => Found::Changed,
            Some(_) => Found::Unchanged,
        };
        if change != Found::Unchanged && claims.keeps_snapshot() {
            return Err(changed_since_snapshot(relation, key, change));
        }
        has_changed |= change == Found::Changed;
        let Some(now) = now else {
            claims.held().release_to(mark);
            return Ok(Row::Without { is_gone: true });
        };
        newest.push(Arc::new(now));
    }
    Ok(if has_changed { Row::Changed(newest) } else { Row::Locked })
}

/// A locked row as it is now, and whether that is what the transaction itself has made of it.
async fn newest_of(
    relation: &Relation,
    key: &EntityKey,
    version: &ETag,
    reads: &Reads,
    claims: &Claims,
) -> SqlResult<(Option<StoredEntity>, bool)> {
    let own = reads.own_writes(&relation.stored).map(|own| own.get(key)).transpose()?.flatten();
    match own {
        Some(image) => Ok((image, true)),
        None => Ok((claims.newest_of(relation, key, version).await?, false)),
    }
}

async fn bounds(planner: &Planner<'_>, parameters: &[ScalarValue], form: &Form) -> SqlResult<Bounds> {
    let mut bounds = Bounds { offset: 0, limit: u64::MAX };
    let Some(query) = &form.bounds else { return Ok(bounds) };
    let mut batches = planner.run(query, parameters).await?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let value = |column: usize| {
            let values = batch.column(column).as_primitive_opt::<Int64Type>().filter(|values| values.is_valid(0));
            values.map(|values| values.value(0))
        };
        let negative = |kind, word| SqlError::new(kind, format!("{word} must not be negative"));
        if let Some(limit) = value(0) {
            bounds.limit = u64::try_from(limit).map_err(|_error| negative(ErrorKind::InvalidLimit, "LIMIT"))?;
        }
        if let Some(offset) = value(1) {
            bounds.offset = u64::try_from(offset).map_err(|_error| negative(ErrorKind::InvalidOffset, "OFFSET"))?;
        }
    }
    Ok(bounds)
}

impl Bounds {
    fn is_met(&self) -> bool {
        self.limit == 0
    }

    /// Counts a row; whether it is part of the result.
    fn takes(&mut self) -> bool {
        if self.offset > 0 {
            self.offset -= 1;
            return false;
        }
        if self.limit < u64::MAX {
            self.limit -= 1;
        }
        true
    }
}

/// The keys and versions of a table's rows.
fn versions(batch: &RecordBatch, target: &LockedTable) -> SqlResult<Vec<(EntityKey, ETag)>> {
    let keys = batch.project(&[target.key_at, target.key_at + 1, target.key_at + 2])?;
    let rows = keys_of_batch(&keys)?.into_iter().enumerate();
    rows.map(|(row, key)| Ok((key, etag_at(&keys, row)?))).collect()
}
