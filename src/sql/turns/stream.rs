//! Rows that give way to other work of their thread once their turn is over.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};

/// How long rows come without a pause. Long beside what a pause costs, short beside what a client notices.
pub(super) const TURN: Duration = Duration::from_millis(5);

thread_local! {
    /// When the turn began of the rows that are being asked for on this thread.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// How long rows have been asked for on this thread without a pause; `None` when none are.
pub(super) fn under_way() -> Option<Duration> {
    BEGAN.get().map(|began| began.elapsed())
}

/// The same rows, with pauses.
pub(crate) struct Turns<S> {
    rows: S,
    /// When they were first asked for since the last pause.
    began: Option<Instant>,
}

impl<S> Turns<S> {
    pub(crate) fn new(rows: S) -> Self {
        Self { rows, began: None }
    }
}

impl<S: Stream + Unpin> Stream for Turns<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let began = *this.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= TURN {
            this.began = None;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let _asked = Asked::since(began);
        let polled = this.rows.poll_next_unpin(context);
        if polled.is_pending() {
            this.began = None;
        }
        polled
    }
}

/// Rows are being asked for, by whoever asked first.
struct Asked {
    before: Option<Instant>,
}

impl Asked {
    fn since(began: Instant) -> Self {
        let before = BEGAN.get();
        if before.is_none() {
            BEGAN.set(Some(began));
        }
        Self { before }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        BEGAN.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use futures::task::noop_waker;

    use super::*;

    #[test]
    fn rows_that_take_long_are_interrupted_by_pauses() {
        let slow = stream::repeat_with(|| {
            assert!(under_way().is_some());
            std::thread::sleep(TURN);
        });
        let mut turns = Turns::new(slow);
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        for _ in 0..3 {
            assert!(turns.poll_next_unpin(&mut context).is_ready());
            assert!(under_way().is_none());
            assert!(turns.poll_next_unpin(&mut context).is_pending());
        }
    }

    #[test]
    fn the_turn_of_inner_rows_is_that_of_outer_ones() {
        let waker = noop_waker();
        let inner = Turns::new(stream::repeat_with(under_way));
        let mut outer = Turns::new(inner);
        let mut context = Context::from_waker(&waker);
        std::thread::sleep(Duration::from_millis(1));
        let first = outer.began.get_or_insert_with(Instant::now).to_owned();
        std::thread::sleep(Duration::from_millis(1));
        let Poll::Ready(Some(Some(asked))) = outer.poll_next_unpin(&mut context) else { return };
        assert!(asked <= first.elapsed() && asked >= Duration::from_millis(1));
    }
}
