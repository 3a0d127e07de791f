//! Whether a store answers. What is mounted may be away, and then keeps nobody waiting who asks for something else.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::watch;

use crate::place::Place;

/// So long a statement that names something in a store waits until that was tried for the first time.
const FIRST_TRY: Duration = Duration::from_secs(5);
/// So long a statement waits for news of a store that it may not need.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a store's answers.
pub(super) struct Contact {
    place: Place,
    first: watch::Sender<First>,
    /// It kept a statement waiting in vain, and has not answered since.
    is_silent: AtomicBool,
}

/// Whether its catalogue was read since the server started.
#[derive(Clone)]
enum First {
    Untried,
    Away(Arc<SqlError>),
    Reached,
}

impl Contact {
    /// What is mounted is to be reached first; the store that the server is for was, or there is no server.
    pub(super) fn new(place: Place) -> Self {
        let first = if place.is_mount() { First::Untried } else { First::Reached };
        Self { place, first: watch::Sender::new(first), is_silent: AtomicBool::new(false) }
    }

    /// # Errors
    /// 58030 while the store was not reached yet.
    pub(super) fn check(&self) -> SqlResult<()> {
        let reason = match &*self.first.borrow() {
            First::Reached => return Ok(()),
            First::Untried => "It has not answered since the server started.".to_owned(),
            First::Away(error) => error.message.clone(),
        };
        let message = format!("schema \"{}\" cannot be used: its store was not reached", self.place.schema());
        Err(SqlError::new(ErrorKind::StoreFailure, message)
            .with_detail(reason)
            .with_hint("It is tried again by itself; the log says when it answers."))
    }

    /// The same, for what needs this store: waits a little while it is tried for the first time.
    ///
    /// # Errors
    /// As of [`Contact::check`].
    pub(super) async fn wait(&self) -> SqlResult<()> {
        let mut first = self.first.subscribe();
        // The sender is in this struct, so nothing but the end of the patience can go wrong.
        let _ = tokio::time::timeout(FIRST_TRY, first.wait_for(|first| !matches!(first, First::Untried))).await;
        self.check()
    }

    pub(super) fn was_reached(&self) {
        self.answered();
        self.first.send_replace(First::Reached);
    }

    pub(super) fn was_away(&self, reason: Box<SqlError>) {
        self.first.send_replace(First::Away(Arc::from(reason)));
    }

    /// It answers, whatever it was before.
    pub(super) fn answered(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
    }

    /// What the store answers, for a statement that can do without: `None` where it is away or too slow. One that was too
    /// slow is not waited for again until it has answered.
    pub(super) async fn news<T>(&self, answer: impl Future<Output = SqlResult<T>>) -> Option<T> {
        if self.is_silent.load(Ordering::Relaxed) {
            return None;
        }
        let schema = self.place.schema();
        let answer = async {
            self.wait().await?;
            answer.await
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::warn!(%schema, %error, "what is mounted cannot be asked; statements go on without");
                None
            }
            Err(_) => {
                self.is_silent.store(true, Ordering::Relaxed);
                tracing::warn!(%schema, "no answer within {PATIENCE:?}; statements go on without");
                None
            }
        }
    }
}
