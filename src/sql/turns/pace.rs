//! Work that is done a row at a time and waits for nothing, such as collecting the rows of a block, on a thread that serves others.

use std::time::Instant;

use tokio::task::yield_now;

use super::stream::TURN;

/// How long it has gone on.
pub(crate) struct Pace {
    began: Instant,
}

impl Pace {
    /// A turn begins.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now() }
    }

    /// To be called before each row: others have their turn when this one is over.
    pub(crate) async fn give_way(&mut self) {
        if self.began.elapsed() >= TURN {
            yield_now().await;
            self.began = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use futures::FutureExt;
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_turn_that_is_over_is_given_up_once() {
        let mut pace = Pace::begin();
        sleep(TURN);
        {
            let mut way = Box::pin(pace.give_way());
            assert!(poll!(&mut way).is_pending());
            way.await;
        }
        // The next one begins when it comes back.
        pace.began = Instant::now() + TURN;
        assert!(pace.give_way().now_or_never().is_some());
    }
}
