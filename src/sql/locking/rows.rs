//! A run of a locking query: each row it finds is locked, and then compared with what was found.
//!
//! A row that was changed between the two is what makes the run stale: it is to be repeated on a newer snapshot, with
//! the locks it has got. So the rows that come back are as they are when they are locked.

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_store::model::{ETag, EntityKey};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::query::{LockedTable, LockingQuery};
use crate::batches::keys_of_batch;
use crate::dml::etag_at;
use crate::plan::Planner;
use crate::syntax::dialect::row_locks::Busy;
use crate::tx::{Claims, Found, changed_since_snapshot};

/// What came of a run.
pub(crate) enum LockedRows {
    /// The rows, all locked.
    Rows(Vec<RecordBatch>),
    /// A row had changed before it was locked.
    Conflict,
}

/// What became of one result row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Locked,
    Skipped,
    Stale,
}

/// How many rows are still to be skipped (OFFSET), and to be returned (LIMIT).
struct Bounds {
    offset: u64,
    limit: u64,
}

impl LockingQuery {
    /// Runs it on the planner's snapshot.
    ///
    /// # Errors
    /// 55P03 and 40P01 when a row cannot be locked; 40001 for a row that changed since the snapshot of a transaction.
    pub async fn lock(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        claims: &mut Claims,
    ) -> SqlResult<LockedRows> {
        let outset = claims.mark();
        let mut bounds = self.bounds(planner, parameters).await?;
        let mut batches = planner.run(&self.input, parameters).await?;
        let (mut locked, mut stale) = (Vec::new(), false);
        while !(bounds.is_met() || stale && self.skips())
            && let Some(batch) = batches.next().await
        {
            let batch = batch?;
            let (rows, is_stale) = self.lock_batch(&batch, claims, &mut bounds).await?;
            stale |= is_stale;
            locked.push(rows);
        }
        if !stale {
            return Ok(LockedRows::Rows(locked));
        }
        if self.skips() {
            // With SKIP LOCKED no transaction waits for these rows, but others would skip them as long as they are
            // locked here.
            claims.held().release_to(outset);
        }
        Ok(LockedRows::Conflict)
    }

    /// Whether some rows may be left out.
    fn skips(&self) -> bool {
        self.targets.iter().any(|target| target.busy == Busy::Skip)
    }

    async fn bounds(&self, planner: &Planner<'_>, parameters: &[ScalarValue]) -> SqlResult<Bounds> {
        let mut bounds = Bounds { offset: 0, limit: u64::MAX };
        let Some(query) = &self.bounds else { return Ok(bounds) };
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

    /// Locks the rows of a batch; gives those that are part of the result, and whether the run has become stale.
    async fn lock_batch(
        &self,
        batch: &RecordBatch,
        claims: &mut Claims,
        bounds: &mut Bounds,
    ) -> SqlResult<(RecordBatch, bool)> {
        let found = self.targets.iter().map(|target| versions(batch, target)).collect::<SqlResult<Vec<_>>>()?;
        let (mut keep, mut stale) = (vec![false; batch.num_rows()], false);
        for (row, keep) in keep.iter_mut().enumerate() {
            if bounds.is_met() {
                break;
            }
            match self.lock_row(row, &found, claims).await? {
                Row::Locked => *keep = bounds.takes(),
                Row::Skipped => {}
                Row::Stale => stale = true,
            }
            if stale && self.skips() {
                break;
            }
        }
        let shown = batch.project(&(0..self.columns.len()).collect::<Vec<_>>())?;
        Ok((filter_record_batch(&shown, &BooleanArray::from(keep))?, stale))
    }

    async fn lock_row(&self, row: usize, found: &[Vec<(EntityKey, ETag)>], claims: &mut Claims) -> SqlResult<Row> {
        let mark = claims.mark();
        for (target, found) in self.targets.iter().zip(found) {
            let (key, version) = &found[row];
            let relation = &target.relation;
            let unchanged = match target.busy {
                Busy::Wait => claims.lock(relation, key, target.strength).await?,
                Busy::Refuse => claims.try_lock(relation, key, target.strength).await?,
                Busy::Skip => match claims.lock_unless_busy(relation, key, target.strength).await? {
                    Some(unchanged) => unchanged,
                    None => {
                        claims.held().release_to(mark);
                        return Ok(Row::Skipped);
                    }
                },
            };
            if unchanged {
                continue;
            }
            match claims.compare(relation, key, version).await? {
                Found::Unchanged => {}
                change if claims.keeps_snapshot() => return Err(changed_since_snapshot(relation, key, change)),
                // Where rows are counted as they are locked, another one takes its place.
                Found::Gone if self.bounds.is_some() => {
                    claims.held().release_to(mark);
                    return Ok(Row::Skipped);
                }
                Found::Gone | Found::Changed => return Ok(Row::Stale),
            }
        }
        Ok(Row::Locked)
    }
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
