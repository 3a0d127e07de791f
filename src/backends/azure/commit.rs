//! Commits: one operation as itself, several as a `$batch`; repeated only where that cannot apply them twice.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use reqwest::Method;
use tablegate_store::model::{Clock, ETag, EdmDateTime, Entity, StoredEntity, SystemClock};
use tablegate_store::table::{Batch, CommitError, IfMatch, Operation, Rejection, StoreError, Written, payload};
use uuid::Uuid;

use super::account::ServiceKind;
use super::client::{Request, Sent, Unanswered};
use super::multipart::{self, Part};
use super::outcome::{Sign, is_refused_when_applied, sign, together};
use super::page::address;
use super::reply::{Refusal, Reply, damaged};
use super::{Caller, Core};

/// Reads at one time to learn what became of a batch.
const READ_BACK: usize = 8;

/// What the service says to a batch.
enum Answer {
    Written(Vec<Written>),
    Refused { index: usize, refusal: Refusal },
}

/// Commits a batch. Once nobody waits for it, it is not tried again: who was told that it was cancelled may have sent it anew.
///
/// # Errors
/// [`StoreError::OutcomeUnknown`] when an answer was lost and reading back does not tell.
pub(super) async fn commit(core: &Core, batch: &Batch, caller: &Caller) -> Result<Vec<Written>, CommitError> {
    let request = request(core, batch);
    let mut backoff = core.client.backoff();
    // Why it is not known whether an earlier try was applied.
    let mut doubt: Option<String> = None;
    loop {
        let answer = match core.client.send(&request, None, &mut backoff).await {
            Sent::Answer(reply) => read_answer(batch, &reply)?,
            other => Err(other),
        };
        let (goes_on, error) = match answer {
            Ok(Answer::Written(written)) => {
                note_written(core, batch);
                return Ok(written);
            }
            Ok(Answer::Refused { index, refusal }) => {
                // It may be its own earlier try that it met.
                return match doubt {
                    Some(doubt) if refusal.rejection().is_some() => settle(core, batch, index, refusal, doubt).await,
                    _ => Err(rejected(core, batch, index, refusal).await),
                };
            }
            Err(Sent::Throttled { after, reason }) => (backoff.wait(after).await, StoreError::Throttled(reason)),
            Err(Sent::NoConnection(reason)) => (backoff.wait_to_connect().await, StoreError::Unavailable(reason)),
            Err(Sent::NoToken(reason)) => (false, StoreError::Unavailable(reason)),
            Err(Sent::Unknown(why, reason)) => {
                match look_until_whole(core, batch, Extent::Telling).await {
                    Ok(Found::Applied(written)) => {
                        note_written(core, batch);
                        return Ok(written);
                    }
                    Ok(Found::NotApplied) => {}
                    found => return Err(in_doubt(batch, reason, &found)),
                }
                doubt = Some(reason.clone());
                (backoff.wait_unanswered(why).await, StoreError::OutcomeUnknown(reason))
            }
            Err(Sent::Answer(_)) => return Err(damaged(&"an answer without a decision").into()),
        };
        if !goes_on || caller.is_gone() {
            // A try that was sent and never answered can still be carried out.
            let error = doubt.map_or(error, StoreError::OutcomeUnknown);
            return Err(error.into());
        }
    }
}

fn note_written(core: &Core, batch: &Batch) {
    let entities = batch.operations().iter().filter_map(Operation::entity);
    core.observed.note_written(batch.table(), entities.map(|entity| &entity.properties));
}

fn request(core: &Core, batch: &Batch) -> Request {
    let mut request = match batch.operations() {
        [operation] => single(batch, operation, core.client.account().kind()),
        _ => {
            let id = Uuid::new_v4();
            let mut body = String::with_capacity(batch.payload_bytes());
            // Writing into a String cannot fail.
            let _ = payload::write_body(&mut body, core.client.account().endpoint(), id, batch);
            let mut request = Request::new(Method::POST, "/$batch".to_owned());
            request.content_type = Some(format!("multipart/mixed; boundary=batch_{id}"));
            request.body = Bytes::from(body);
            request
        }
    };
    request.partition = Some((batch.table().clone(), batch.partition().as_str().to_owned()));
    request
}

fn single(batch: &Batch, operation: &Operation, kind: ServiceKind) -> Request {
    let table = batch.table();
    let merges = matches!(operation, Operation::Merge(..) | Operation::InsertOrMerge(_));
    let method = match operation {
        Operation::Insert(_) => Method::POST,
        // Cosmos knows no PATCH.
        _ if merges && kind == ServiceKind::Cosmos => Method::POST,
        Operation::Merge(..) | Operation::InsertOrMerge(_) => Method::PATCH,
        Operation::Replace(..) | Operation::InsertOrReplace(_) => Method::PUT,
        Operation::Delete(..) => Method::DELETE,
    };
    let path = match operation {
        Operation::Insert(_) => format!("/{table}"),
        _ => address(table, operation.key()),
    };
    let mut request = Request::new(method, path);
    if merges && request.method == Method::POST {
        request.headers.push(("X-HTTP-Method", "MERGE".to_owned()));
    }
    match operation {
        Operation::Insert(_) => request.headers.push(("Prefer", "return-no-content".to_owned())),
        Operation::Merge(_, if_match) | Operation::Replace(_, if_match) | Operation::Delete(_, if_match) => {
            let version = match if_match {
                IfMatch::Any => "*".to_owned(),
                IfMatch::ETag(etag) => etag.to_string(),
            };
            request.headers.push(("If-Match", version));
        }
        // Without If-Match the service takes both as upserts.
        Operation::InsertOrMerge(_) | Operation::InsertOrReplace(_) => {}
    }
    if let Some(entity) = operation.entity() {
        request.content_type = Some("application/json".to_owned());
        request.body = Bytes::from(json(entity));
    }
    request
}

fn json(entity: &Entity) -> String {
    let mut json = String::new();
    // Writing into a String cannot fail.
    let _ = payload::write_entity(&mut json, entity);
    json
}

/// What a reply says; the inner `Err` is what a part of it says about the whole.
fn read_answer(batch: &Batch, reply: &Reply) -> Result<Result<Answer, Sent>, StoreError> {
    let parts = match batch.operations() {
        [_] => {
            let etag = reply.header("ETag").map(str::to_owned);
            vec![Part { status: reply.status, etag, body: reply.body.to_vec() }]
        }
        _ if !reply.is_success() => return Ok(Ok(Answer::Refused { index: 0, refusal: Refusal::of(reply) })),
        _ => multipart::parts(reply.text()?),
    };
    if let Some(failed) = parts.iter().find(|part| part.status >= 300) {
        let refusal = Refusal::of_body(failed.status, &failed.body);
        return Ok(match failed.status {
            503 | 429 => Err(Sent::Throttled { after: None, reason: refusal.to_string() }),
            408 | 500 | 502 | 504 => Err(Sent::Unknown(Unanswered::Failed, refusal.to_string())),
            _ => Ok(Answer::Refused { index: refusal.index().unwrap_or_default(), refusal }),
        });
    }
    if parts.len() != batch.operations().len() {
        let told = format!("{} of {} parts were answered", parts.len(), batch.operations().len());
        return Ok(Err(Sent::Unknown(Unanswered::Failed, told)));
    }
    let written = batch.operations().iter().zip(&parts).map(|(operation, part)| written(operation, part));
    Ok(Ok(Answer::Written(written.collect::<Result<_, _>>()?)))
}

fn written(operation: &Operation, part: &Part) -> Result<Written, StoreError> {
    if matches!(operation, Operation::Delete(..)) {
        return Ok(Written::Deleted);
    }
    let etag = part.etag.as_deref().ok_or_else(|| damaged(&"a write without an ETag"))?;
    let etag = ETag::parse(etag).map_err(|error| damaged(&error))?;
    let timestamp = timestamp_of(&etag).unwrap_or_else(|| SystemClock.now());
    Ok(Written::Entity { etag, timestamp })
}

/// The service derives its ETags from the Timestamp. Only what clients are shown relies on that.
fn timestamp_of(etag: &ETag) -> Option<EdmDateTime> {
    let text = etag.text();
    let (_, text) = text.split_once("datetime'")?;
    EdmDateTime::parse(&text.split_once('\'')?.0.replace("%3A", ":").replace("%3a", ":"))
}

/// The error for a refusal of one operation.
async fn rejected(core: &Core, batch: &Batch, index: usize, refusal: Refusal) -> CommitError {
    let Some(operation) = batch.operations().get(index) else { return refusal.into_error(batch.table()).into() };
    let key = operation.key().clone();
    if refusal.is_table_missing() {
        return refusal.into_error(batch.table()).into();
    }
    if let Some(reason) = refusal.rejection() {
        return CommitError::Rejected { index, key, reason };
    }
    if refusal.is_beyond_limits()
        && let Some(reason) = beyond_limits(core, batch, operation).await
    {
        return CommitError::Rejected { index, key, reason };
    }
    refusal.into_error(batch.table()).into()
}

/// Which limit a merge breaks: the service does not say by how much.
async fn beyond_limits(core: &Core, batch: &Batch, operation: &Operation) -> Option<Rejection> {
    let stored = super::get(core, batch.table(), operation.key()).await.ok()??;
    operation.clone().into_result(Some(stored.entity.properties)).err()
}

/// How much of a batch is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// No more than it takes to repeat it safely: where many connections are lost at once, most of what was sent did not
    /// get there, and one read tells.
    Telling,
    Whole,
}

enum Found {
    Applied(Vec<Written>),
    NotApplied,
    Partly,
    Unclear,
}

/// An earlier try was sent without an answer, and now one is refused: for what the earlier one wrote, or for what others did.
async fn settle(
    core: &Core,
    batch: &Batch,
    index: usize,
    refusal: Refusal,
    doubt: String,
) -> Result<Vec<Written>, CommitError> {
    match look_until_whole(core, batch, Extent::Whole).await {
        Ok(Found::Applied(written)) => {
            note_written(core, batch);
            Ok(written)
        }
        // The earlier one would be refused for the same.
        Ok(Found::NotApplied) => Err(rejected(core, batch, index, refusal).await),
        found => Err(in_doubt(batch, doubt, &found)),
    }
}

/// The error when reading back did not tell; the log says what was found.
fn in_doubt(batch: &Batch, reason: String, found: &Result<Found, StoreError>) -> CommitError {
    let found = match found {
        Ok(Found::Applied(_)) => "all of it".to_owned(),
        Ok(Found::NotApplied) => "nothing of it".to_owned(),
        Ok(Found::Partly) => "a part of it".to_owned(),
        Ok(Found::Unclear) => "nothing that tells".to_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(table = %batch.table(), found, %reason, "it is not known whether a batch was applied");
    StoreError::OutcomeUnknown(reason).into()
}

/// Reads back what a batch was to write, until all of it is there or nothing: a part shows that the service, or an emulator
/// that lets others look on, is still at it.
async fn look_until_whole(core: &Core, batch: &Batch, extent: Extent) -> Result<Found, StoreError> {
    if extent == Extent::Telling
        && let [first, _, ..] = batch.operations()
        && is_refused_when_applied(first)
        && sign(first, super::get(core, batch.table(), first.key()).await?.as_ref()) == Sign::NotApplied
    {
        return Ok(Found::NotApplied);
    }
    let mut backoff = core.client.backoff();
    loop {
        let found = look(core, batch).await?;
        if !matches!(found, Found::Partly) || !backoff.wait(None).await {
            return Ok(found);
        }
    }
}

/// Reads back what a batch was to write.
async fn look(core: &Core, batch: &Batch) -> Result<Found, StoreError> {
    let keys = batch.operations().iter().map(Operation::key);
    let reads: Vec<_> = keys.map(|key| super::get(core, batch.table(), key)).collect();
    let stored: Vec<Option<StoredEntity>> = stream::iter(reads).buffered(READ_BACK).try_collect().await?;
    let signs = batch.operations().iter().zip(&stored).map(|(operation, stored)| sign(operation, stored.as_ref()));
    Ok(match together(signs) {
        Sign::Applied => Found::Applied(stored.into_iter().map(as_written).collect()),
        Sign::NotApplied => Found::NotApplied,
        Sign::Partly => Found::Partly,
        Sign::Unclear => Found::Unclear,
    })
}

fn as_written(stored: Option<StoredEntity>) -> Written {
    match stored {
        Some(stored) => Written::Entity { etag: stored.etag, timestamp: stored.timestamp },
        None => Written::Deleted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{EntityKey, Properties, TableName};

    #[test]
    fn cosmos_is_asked_to_merge_by_a_header() {
        let entity = || Entity::new(EntityKey::parse("p", "r").unwrap(), Properties::new());
        let table = TableName::parse("Orders").unwrap();
        for operation in [Operation::Merge(entity(), IfMatch::Any), Operation::InsertOrMerge(entity())] {
            let batch = Batch::single(table.clone(), operation).unwrap();
            let request = |kind| single(&batch, &batch.operations()[0], kind);
            let asks =
                |request: &Request| request.headers.iter().any(|header| *header == ("X-HTTP-Method", "MERGE".into()));
            let (storage, cosmos) = (request(ServiceKind::Storage), request(ServiceKind::Cosmos));
            assert_eq!((&storage.method, asks(&storage)), (&Method::PATCH, false));
            assert_eq!((&cosmos.method, asks(&cosmos), &cosmos.path), (&Method::POST, true, &storage.path));
        }
        let insert = Batch::single(table, Operation::Insert(entity())).unwrap();
        assert_eq!(single(&insert, &insert.operations()[0], ServiceKind::Cosmos).headers.len(), 1);
    }
}
