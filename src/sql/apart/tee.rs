//! Rows that several read, each at its own pace, but none far ahead of the others.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use futures::{Stream, StreamExt};

use crate::passing::Batches;

/// Batches that one reader is ahead of another.
const AHEAD_MOST: usize = 2;

/// The rows, as one of the readers reads them.
pub(super) struct Reader {
    tee: Arc<Mutex<Tee>>,
    number: usize,
}

struct Tee {
    /// Not here while one of the readers asks for the next batch, nor when all have come.
    rows: Option<Batches>,
    readers: Vec<State>,
    is_over: bool,
    error: Option<Arc<DataFusionError>>,
}

#[derive(Default)]
struct State {
    /// What others have read and this one has not.
    behind: VecDeque<RecordBatch>,
    waker: Option<Waker>,
    is_gone: bool,
    has_heard_of_error: bool,
}

/// So many readers of the rows. All of them must read, until they have all rows or are gone.
pub(super) fn readers(rows: Batches, count: usize) -> Vec<Reader> {
    let readers = (0..count).map(|_| State::default()).collect();
    let tee = Arc::new(Mutex::new(Tee { rows: Some(rows), readers, is_over: false, error: None }));
    (0..count).map(|number| Reader { tee: Arc::clone(&tee), number }).collect()
}

impl Tee {
    /// The others look again.
    fn wake(&mut self, but: usize) {
        for (number, reader) in self.readers.iter_mut().enumerate() {
            if number != but
                && let Some(waker) = reader.waker.take()
            {
                waker.wake();
            }
        }
    }

    /// Each reader hears of an error once.
    fn error_of(&mut self, reader: usize) -> Option<DataFusionError> {
        let has_heard = std::mem::replace(&mut self.readers[reader].has_heard_of_error, true);
        self.error.as_ref().filter(|_| !has_heard).map(|error| DataFusionError::Shared(Arc::clone(error)))
    }

    fn is_one_far_behind(&self) -> bool {
        self.readers.iter().any(|reader| !reader.is_gone && reader.behind.len() >= AHEAD_MOST)
    }

    fn give_others(&mut self, batch: &RecordBatch, but: usize) {
        for (number, reader) in self.readers.iter_mut().enumerate() {
            if number != but && !reader.is_gone {
                reader.behind.push_back(batch.clone());
            }
        }
    }
}

impl Reader {
    fn tee(&self) -> MutexGuard<'_, Tee> {
        // Never left half changed.
        self.tee.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for Reader {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let number = self.number;
        let mut tee = self.tee();
        if let Some(batch) = tee.readers[number].behind.pop_front() {
            tee.wake(number);
            return Poll::Ready(Some(Ok(batch)));
        }
        if tee.is_over {
            return Poll::Ready(tee.error_of(number).map(Err));
        }
        tee.readers[number].waker = Some(context.waker().clone());
        if tee.is_one_far_behind() {
            return Poll::Pending;
        }
        // Nobody else waits for the lock while the next batch is made.
        let Some(mut rows) = tee.rows.take() else { return Poll::Pending };
        drop(tee);
        let next = rows.poll_next_unpin(context);
        let mut tee = self.tee();
        let next = match next {
            Poll::Pending => {
                tee.rows = Some(rows);
                return Poll::Pending;
            }
            Poll::Ready(next) => next,
        };
        let next = match next {
            Some(Ok(batch)) => {
                tee.rows = Some(rows);
                tee.give_others(&batch, number);
                Some(Ok(batch))
            }
            failed_or_over => {
                tee.is_over = true;
                tee.error = failed_or_over.and_then(Result::err).map(Arc::new);
                tee.error_of(number).map(Err)
            }
        };
        tee.wake(number);
        Poll::Ready(next)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let number = self.number;
        let mut tee = self.tee();
        tee.readers[number] = State { is_gone: true, ..State::default() };
        tee.wake(number);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, RecordBatchOptions};
    use arrow::datatypes::{Int32Type, Schema};
    use futures::future::join_all;
    use futures::{FutureExt, stream};

    use super::*;

    fn batch(number: i32) -> RecordBatch {
        let numbers = Arc::new(Int32Array::from(vec![number]));
        RecordBatch::try_from_iter([("n", numbers as _)]).unwrap()
    }

    fn numbers(batches: &[Result<RecordBatch>]) -> Vec<i32> {
        use arrow::array::AsArray;
        batches.iter().map(|batch| batch.as_ref().unwrap().column(0).as_primitive::<Int32Type>().value(0)).collect()
    }

    #[tokio::test]
    async fn each_reader_has_all_rows() {
        let rows = stream::iter((0..100).map(|number| Ok(batch(number)))).boxed();
        let all = join_all(readers(rows, 3).into_iter().map(StreamExt::collect::<Vec<_>>)).await;
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|batches| numbers(batches) == (0..100).collect::<Vec<_>>()));
    }

    #[tokio::test]
    async fn nobody_is_far_ahead_and_who_is_gone_holds_up_nobody() {
        let rows = stream::iter((0..100).map(|number| Ok(batch(number)))).boxed();
        let [mut fast, slow, gone] = <[Reader; 3]>::try_from(readers(rows, 3)).map_err(|_| "three").unwrap();
        drop(gone);
        for _ in 0..AHEAD_MOST {
            assert!(fast.next().now_or_never().is_some());
        }
        assert!(fast.next().now_or_never().is_none());
        let mut slow = slow.boxed();
        slow.next().await.unwrap().unwrap();
        assert!(fast.next().now_or_never().is_some());
        assert!(fast.next().now_or_never().is_none());
        drop(slow);
        assert_eq!(fast.collect::<Vec<_>>().now_or_never().map(|rest| rest.len()), Some(97));
    }

    #[tokio::test]
    async fn all_readers_hear_of_an_error() {
        let failed = DataFusionError::Execution("no".to_owned());
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
        let rows = stream::iter([Ok(empty), Err(failed)]).boxed();
        let all = join_all(readers(rows, 2).into_iter().map(StreamExt::collect::<Vec<_>>)).await;
        assert!(all.iter().all(|batches| batches.len() >= 2 && batches[0].is_ok() && batches[1].is_err()));
    }
}
