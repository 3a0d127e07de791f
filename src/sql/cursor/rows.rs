//! The rows of a cursor, and where it stands among them.

use arrow::array::UInt64Array;
use arrow::compute::take_record_batch;
use arrow::record_batch::RecordBatch;
use futures::{StreamExt, stream};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::OwnedMutexGuard;

use super::kept::KeptBatches;
use crate::outcome::RowStream;
use crate::syntax::Direction;

/// How many bytes of passed rows a cursor keeps if DECLARE said neither SCROLL nor NO SCROLL: enough to go back a
/// little.
const UNASKED_SCROLL_BYTES: usize = 1 << 20;

/// The rows of a query, numbered from 1, read from it as they are asked for.
pub(crate) struct CursorRows {
    /// `None` once it is read to its end.
    source: Option<RowStream>,
    /// Rows that may be asked for again, and those that were read ahead.
    kept: KeptBatches,
    /// Rows that were read from the source.
    read: u64,
    /// The row it stands on; 0 before the first one, one more than there are behind the last one.
    position: u64,
    /// SCROLL or NO SCROLL, where one was given.
    scroll: Option<bool>,
}

impl CursorRows {
    /// In front of the first row.
    pub(crate) fn new(source: RowStream, scroll: Option<bool>, kept: KeptBatches) -> Self {
        Self { source: Some(source), kept, read: 0, position: 0, scroll }
    }

    /// Reads everything that is left, so that the query behind it may end.
    ///
    /// # Errors
    /// The errors of the query; 53200 when queries may not hold so much.
    pub(crate) async fn hold(&mut self) -> SqlResult<()> {
        while self.read_on().await? {}
        Ok(())
    }

    /// Goes forward over at most so many rows, at least one, and gives them; `None` behind the last one.
    async fn next(&mut self, most: u64) -> SqlResult<Option<RecordBatch>> {
        let wanted = self.position + 1;
        loop {
            if let Some((first, kept)) = self.kept.get(wanted)? {
                let count = most.min(first + kept.num_rows() as u64 - wanted);
                let rows = kept.slice(index(wanted - first), index(count));
                self.position += count;
                self.forget();
                return Ok(Some(rows));
            }
            if !self.read_on().await? {
                self.position = self.read + 1;
                return Ok(None);
            }
        }
    }

    /// Goes backward over at most so many rows and gives them, last one first; `None` in front of the first one.
    fn previous(&mut self, most: u64) -> SqlResult<Option<RecordBatch>> {
        let last = self.position.saturating_sub(1);
        self.check_backward(last)?;
        let Some((first, kept)) = self.kept.get(last)? else {
            self.position = 0;
            return Ok(None);
        };
        let count = most.min(last - first + 1);
        let indices: UInt64Array = (0..count).map(|back| last - first - back).collect();
        let rows = take_record_batch(&kept, &indices)?;
        self.position = last + 1 - count;
        Ok(Some(rows))
    }

    /// Goes to a row, or behind the last one, and gives it, if it is there.
    async fn seek(&mut self, row: u64) -> SqlResult<Option<RecordBatch>> {
        if row <= self.position {
            self.check_backward(row)?;
            self.position = row;
        }
        while self.position < row && self.next(row - self.position).await?.is_some() {}
        let here = self.kept.get(self.position)?;
        Ok(here.map(|(first, kept)| kept.slice(index(self.position - first), 1)))
    }

    /// Goes behind the last row.
    async fn seek_end(&mut self) -> SqlResult<()> {
        while self.next(u64::MAX).await?.is_some() {}
        Ok(())
    }

    async fn absolute(&mut self, row: i64) -> SqlResult<Option<RecordBatch>> {
        if row >= 0 {
            return self.seek(row.unsigned_abs()).await;
        }
        self.seek_end().await?;
        self.seek((self.read + 1).saturating_sub(row.unsigned_abs())).await
    }

    async fn relative(&mut self, rows: i64) -> SqlResult<Option<RecordBatch>> {
        let stands_on_row = (1..=self.read).contains(&self.position);
        if rows == 0 && !stands_on_row {
            return Ok(None);
        }
        self.seek(self.position.saturating_add_signed(rows)).await
    }

    /// Whether the cursor may go back to a row, or in front of the first one.
    fn check_backward(&self, row: u64) -> SqlResult<()> {
        let is_there = self.read == 0 || row > self.read || self.kept.has(row.max(1));
        if self.scroll != Some(false) && is_there {
            return Ok(());
        }
        Err(SqlError::new(ErrorKind::ObjectNotInState, "cursor can only scan forward")
            .with_hint("Declare it with SCROLL option to enable backward scan."))
    }

    /// Reads more rows; false at the end of the query.
    async fn read_on(&mut self) -> SqlResult<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        let Some(rows) = source.next().await.transpose()? else {
            self.source = None;
            return Ok(false);
        };
        if rows.num_rows() > 0 {
            self.kept.push(self.read + 1, &rows)?;
            self.read += rows.num_rows() as u64;
        }
        Ok(true)
    }

    /// Forgets rows behind the cursor, the oldest first, that need not be kept. Those read last always are: the cursor
    /// may stand on one of them.
    fn forget(&mut self) {
        let budget = match self.scroll {
            Some(true) => return,
            Some(false) => 0,
            None => UNASKED_SCROLL_BYTES,
        };
        self.kept.forget_before(self.position, budget);
    }
}

/// The rows in a direction. The guard keeps the cursor for this call until the stream ends.
pub(crate) fn fetch(mut rows: OwnedMutexGuard<CursorRows>, direction: Direction) -> RowStream {
    match direction {
        Direction::Forward(count) => {
            let all = (rows, count.unwrap_or(u64::MAX));
            Box::pin(stream::try_unfold(all, |(mut rows, left)| async move {
                let batch = if left == 0 { None } else { rows.next(left).await? };
                Ok(batch.map(|batch| {
                    let left = left - batch.num_rows() as u64;
                    (batch, (rows, left))
                }))
            }))
        }
        Direction::Backward(count) => {
            let all = (rows, count.unwrap_or(u64::MAX));
            Box::pin(stream::try_unfold(all, |(mut rows, left)| async move {
                let batch = if left == 0 { None } else { rows.previous(left)? };
                Ok(batch.map(|batch| {
                    let left = left - batch.num_rows() as u64;
                    (batch, (rows, left))
                }))
            }))
        }
        Direction::Absolute(row) => one(async move { rows.absolute(row).await }),
        Direction::Relative(count) => one(async move { rows.relative(count).await }),
    }
}

fn one(row: impl Future<Output = SqlResult<Option<RecordBatch>>> + Send + 'static) -> RowStream {
    Box::pin(stream::once(row).filter_map(|row| std::future::ready(row.transpose())))
}

/// A row count or offset within one batch.
fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::Int64Type;
    use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
    use proptest::prelude::*;
    use tokio::sync::Mutex;

    use super::*;

    /// A cursor over the numbers 1 to `count`, in batches of three, of which two are kept in memory.
    fn cursor(count: i64, scroll: Option<bool>) -> Arc<Mutex<CursorRows>> {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let numbers: Vec<i64> = (1..=count).collect();
        let batch = |numbers: &[i64]| {
            let array: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
            Ok(RecordBatch::try_from_iter([("n", array)]).unwrap())
        };
        let batches: Vec<_> = numbers.chunks(3).map(batch).collect();
        let memory = MemoryConsumer::new("test").register(&pool);
        let kept = KeptBatches::new(memory, 32 * 2 * 3 * 8, std::env::temp_dir());
        Arc::new(Mutex::new(CursorRows::new(Box::pin(stream::iter(batches)), scroll, kept)))
    }

    async fn numbers(cursor: &Arc<Mutex<CursorRows>>, direction: Direction) -> SqlResult<Vec<i64>> {
        let mut stream = fetch(cursor.clone().try_lock_owned().unwrap(), direction);
        let mut numbers = Vec::new();
        while let Some(batch) = stream.next().await {
            numbers.extend(batch?.column(0).as_primitive::<Int64Type>().values());
        }
        Ok(numbers)
    }

    /// What PostgreSQL says of a cursor over the numbers 1 to `count` at `position`.
    fn expected(count: i64, position: &mut i64, direction: Direction) -> Vec<i64> {
        let on_row = |row: i64| if (1..=count).contains(&row) { vec![row] } else { Vec::new() };
        let many = |n: Option<u64>| n.map_or(i64::MAX / 2, |n| i64::try_from(n).unwrap());
        match direction {
            Direction::Forward(n) => {
                let last = (*position).saturating_add(many(n)).min(count + 1);
                let rows = (*position + 1..=last.min(count)).collect();
                *position = last;
                rows
            }
            Direction::Backward(n) => {
                let last = (*position - many(n)).max(0);
                let rows = (last.max(1)..*position).rev().collect();
                *position = last;
                rows
            }
            Direction::Absolute(row) => {
                let row = if row < 0 { count + 1 + row } else { row };
                *position = row.clamp(0, count + 1);
                on_row(*position)
            }
            Direction::Relative(n) => {
                *position = (*position + n).clamp(0, count + 1);
                on_row(*position)
            }
        }
    }

    fn direction() -> impl Strategy<Value = Direction> {
        let count = || prop_oneof![Just(None), (1u64..9).prop_map(Some)];
        prop_oneof![
            count().prop_map(Direction::Forward),
            count().prop_map(Direction::Backward),
            (-12i64..12).prop_map(Direction::Absolute),
            (-6i64..6).prop_map(Direction::Relative),
        ]
    }

    proptest! {
        #[test]
        fn it_moves_as_postgresql_says(count in 0i64..12, moves in prop::collection::vec(direction(), 0..12)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for scroll in [Some(true), None] {
                let cursor = cursor(count, scroll);
                let mut position = 0;
                for direction in &moves {
                    let rows = runtime.block_on(numbers(&cursor, *direction)).unwrap();
                    prop_assert_eq!(rows, expected(count, &mut position, *direction), "{:?}", direction);
                }
            }
        }
    }

    #[tokio::test]
    async fn without_scroll_nothing_is_kept() {
        let cursor = cursor(10, Some(false));
        assert_eq!(numbers(&cursor, Direction::Forward(Some(7))).await.unwrap(), (1..=7).collect::<Vec<_>>());
        assert!(!cursor.lock().await.kept.has(6) && cursor.lock().await.kept.has(7));
        for direction in [Direction::Backward(Some(1)), Direction::Absolute(7), Direction::Relative(0)] {
            let error = numbers(&cursor, direction).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::ObjectNotInState, "{direction:?}");
        }
        assert_eq!(numbers(&cursor, Direction::Forward(None)).await.unwrap(), [8, 9, 10]);
    }

    #[tokio::test]
    async fn what_is_held_needs_its_query_no_more() {
        let cursor = cursor(10, Some(false));
        assert_eq!(numbers(&cursor, Direction::Forward(Some(1))).await.unwrap(), [1]);
        cursor.lock().await.hold().await.unwrap();
        assert!(cursor.lock().await.source.is_none());
        assert_eq!(numbers(&cursor, Direction::Absolute(9)).await.unwrap(), [9]);
    }
}
