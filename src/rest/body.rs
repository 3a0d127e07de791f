//! The body of a request, which is read only when its head has been let in, and when there is room for it.
//!
//! A body is as long as a transaction may be at most. All that are in memory together have a bound of their own: one for
//! which there is no room now waits for the others, as long as its client waits for an answer, and then it is told so.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use tablegate_store::model::limits::EGT_MAX_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Refusal, RestResult};

/// Time that a client has to send a body, as the service gives it.
const BODY_TIME: Duration = Duration::from_secs(30);
/// What is read and thrown away behind an answer that did not need it: a client that is still sending would not see the
/// answer if its connection were closed.
const DISCARDED_MAX: usize = 4 * EGT_MAX_BYTES;

/// Room for the bodies of all connections.
pub(crate) struct Room {
    bytes: Arc<Semaphore>,
    all: usize,
}

/// A body that has come, and its room.
pub(crate) struct Taken {
    pub bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Room for one body at least.
    pub(crate) fn new(bytes: usize) -> Self {
        let all = bytes.max(EGT_MAX_BYTES);
        Self { bytes: Arc::new(Semaphore::new(all)), all }
    }

    async fn take(&self, bytes: usize, patience: Duration) -> RestResult<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes.min(self.all)).map_err(|_| Refusal::BodyTooLarge)?;
        let taken = tokio::time::timeout(patience, Arc::clone(&self.bytes).acquire_many_owned(permits)).await;
        // It is never closed.
        taken.ok().and_then(Result::ok).ok_or(Refusal::Busy)
    }
}

/// A body that was not looked at yet.
pub(crate) struct Body {
    incoming: Option<Incoming>,
    /// Its client sends it when it is asked to.
    waits_to_be_asked: bool,
}

impl Body {
    pub(crate) fn new(incoming: Incoming, waits_to_be_asked: bool) -> Self {
        Self { incoming: Some(incoming).filter(|body| !body.is_end_stream()), waits_to_be_asked }
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is longer than that of a transaction may be, is not sent in time, or finds no room in `patience`.
    pub(crate) async fn read(&mut self, room: &Room, patience: Duration) -> RestResult<Taken> {
        let Some(incoming) = &mut self.incoming else { return Ok(Taken { bytes: Bytes::new(), _room: None }) };
        let hint = incoming.size_hint();
        if hint.lower() > EGT_MAX_BYTES as u64 {
            return Err(Refusal::BodyTooLarge);
        }
        // What does not say how long it is may be as long as any.
        let most = hint.exact().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(EGT_MAX_BYTES);
        let mut room = room.take(most, patience).await?;
        let in_time = tokio::time::timeout(BODY_TIME, collect(incoming)).await;
        let bytes = in_time.map_err(|_elapsed| Refusal::TimedOut)??;
        self.incoming = None;
        drop(room.split(most.saturating_sub(bytes.len())));
        Ok(Taken { bytes, _room: Some(room) })
    }

    /// Reads what nobody looks at and keeps nothing of it, while the answer is on its way. Who waits to be asked for it is
    /// not asked.
    pub(crate) fn discard(self) {
        let Some(incoming) = self.incoming.filter(|_| !self.waits_to_be_asked) else { return };
        tokio::spawn(async move {
            let mut rest = Limited::new(incoming, DISCARDED_MAX);
            let all = async { while let Some(Ok(_)) = rest.frame().await {} };
            let _ = tokio::time::timeout(BODY_TIME, all).await;
        });
    }
}

/// All of a body. Of one that turns out to be too long the rest is left.
async fn collect(incoming: &mut Incoming) -> RestResult<Bytes> {
    let (mut pieces, mut length) = (Vec::new(), 0);
    while let Some(frame) = incoming.frame().await {
        // What is behind a body says nothing here.
        let Ok(piece) = frame.map_err(|_broken| Refusal::InvalidInput)?.into_data() else { continue };
        length += piece.len();
        if length > EGT_MAX_BYTES {
            return Err(Refusal::BodyTooLarge);
        }
        pieces.push(piece);
    }
    match pieces.as_slice() {
        [] => Ok(Bytes::new()),
        [piece] => Ok(piece.clone()),
        pieces => Ok(pieces.concat().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_finds_no_room_waits_for_it_and_is_told() {
        let room = Room::new(0);
        let first = room.take(EGT_MAX_BYTES, Duration::ZERO).await.unwrap();
        assert_eq!(room.take(1, Duration::ZERO).await.err(), Some(Refusal::Busy));
        let (second, ()) = tokio::join!(room.take(1, BODY_TIME), async { drop(first) });
        assert!(second.is_ok());
    }
}
