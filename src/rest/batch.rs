//! `$batch`: a change set, which becomes one entity group transaction, or one query alone.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use tablegate_store::model::limits::EGT_MAX_OPERATIONS;
use tablegate_store::table::{Batch, BatchError};
use uuid::Uuid;

use crate::address::Resource;
use crate::answer::{Answer, error_body};
use crate::auth::{Access, Need};
use crate::coordinator::{Broken, Rule};
use crate::door::Door;
use crate::entity::{self, Asked, Reply, Write};
use crate::error::{Refusal, RestResult};
use crate::head::{Head, Verb};
use crate::multipart::{self, InnerRequest, Part, boundary, parts, parts_up_to};
use crate::query;

/// What the operations of a change set came to: all of them, or the one that it failed for.
pub(crate) type Outcome = Result<Vec<Answer>, (usize, Refusal)>;

/// An answer, and what those who watch are told.
pub(crate) struct Sent {
    pub answer: Answer,
    /// The change set breaks a rule.
    pub broken: Option<Broken>,
}

pub(crate) async fn run(
    door: &Door,
    head: &Head,
    body: &[u8],
    access: &Access,
    patience: Duration,
) -> RestResult<Sent> {
    let outer = boundary(head.header(CONTENT_TYPE.as_str()).unwrap_or_default())?;
    let sent = parts(body, outer, 1)?;
    let [part] = sent.as_slice() else { return Err(Refusal::InvalidInput) };
    let content_type = part.headers.get("content-type").unwrap_or_default();
    if content_type.to_ascii_lowercase().starts_with("multipart/") {
        let mut broken = None;
        let outcome = match change_set(part, content_type) {
            Ok(writes) => commit(door, head, writes, access, patience, &mut broken).await,
            Err(failed) => Err(failed),
        };
        // Clients try again what the whole answer says it of.
        if let Err((_, refusal @ Refusal::Busy)) = outcome {
            return Err(refusal);
        }
        let answer = Answer { entities: entities(&outcome), ..in_change_set(outcome) };
        let broken = broken.map(|broken| Broken { bytes: body.len(), ..broken });
        return Ok(Sent { answer, broken });
    }
    let answer = single_get(door, head, part, access).await?;
    Ok(Sent { answer, broken: None })
}

fn entities(outcome: &Outcome) -> u64 {
    outcome.as_ref().map_or(0, |answers| answers.len() as u64)
}

/// Reads the writes of a change set, up to one more than there may be: who makes a transaction of them says that.
fn change_set(part: &Part<'_>, content_type: &str) -> Result<Vec<Write>, (usize, Refusal)> {
    let whole = |refusal| (0, refusal);
    let inner = boundary(content_type).map_err(whole)?;
    let parts = parts_up_to(part.body, inner, EGT_MAX_OPERATIONS + 1).map_err(whole)?;
    if parts.is_empty() {
        return Err((0, Refusal::InvalidInput));
    }
    let read = |(index, part): (usize, &Part<'_>)| write_of(part).map_err(|refusal| (index, refusal));
    parts.iter().enumerate().map(read).collect()
}

fn write_of(part: &Part<'_>) -> RestResult<Write> {
    let InnerRequest { method, url, headers, body } = multipart::request(part.body)?;
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| Refusal::InvalidInput)?;
    let verb = Verb::of(&method, headers.get("x-http-method"))?;
    let asked = Asked {
        verb,
        resource: resource(url)?,
        if_match: headers.get("if-match"),
        if_none_match: headers.get("if-none-match"),
        prefer: headers.get("prefer"),
        accept: headers.get("accept"),
        content_type: headers.get("content-type"),
        body,
    };
    match Write::read(asked) {
        // Queries do not belong among writes.
        Err(Refusal::WrongVerb) => Err(Refusal::InvalidInput),
        other => other,
    }
}

/// What the last part of a URL's path is of: before it stand a host and an account, or neither.
fn resource(url: &str) -> RestResult<Resource> {
    let path = url.split('?').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    Resource::parse(&crate::address::decode(last, false)?)
}

async fn commit(
    door: &Door,
    head: &Head,
    writes: Vec<Write>,
    access: &Access,
    patience: Duration,
    broken: &mut Option<Broken>,
) -> Outcome {
    let count = writes.len();
    let Some(table) = writes.first().map(|write| write.table.clone()) else { return Err((0, Refusal::InvalidInput)) };
    let mut builder = Batch::builder(table.clone());
    let mut replies: Vec<Reply> = Vec::with_capacity(writes.len());
    let breaks = |rule, partitions| Broken { rule, table: table.clone(), partitions, operations: count, bytes: 0 };
    for (index, write) in writes.into_iter().enumerate() {
        write.check(access).map_err(|refusal| (index, refusal))?;
        if write.table != table {
            *broken = Some(breaks(Rule::SecondTable, vec![write.operation.key().partition.clone()]));
            return Err((index, Refusal::OtherPartition));
        }
        let partition = write.operation.key().partition.clone();
        let (operation, reply) = write.split();
        if let Err((_, error)) = builder.push(operation) {
            *broken = match &error {
                BatchError::OtherPartition { held, asked } => {
                    Some(breaks(Rule::SecondPartition, vec![held.clone(), asked.clone()]))
                }
                BatchError::TooManyOperations => Some(breaks(Rule::TooManyOperations, vec![partition])),
                BatchError::TooLarge { .. } => Some(breaks(Rule::TooLarge, vec![partition])),
                BatchError::DuplicateEntity(_) | BatchError::Entity { .. } | BatchError::Empty => None,
            };
            // The service names the last one that it would take.
            let place = if error == BatchError::TooManyOperations { EGT_MAX_OPERATIONS - 1 } else { index };
            return Err((place, error.into()));
        }
        replies.push(reply);
    }
    let batch = builder.build().map_err(|error| (0, error.into()))?;
    door.throttle(&table, Some(batch.partition().as_str()), count as u64).map_err(|refusal| (0, refusal))?;
    let written = door.commit(batch, patience).await?;
    let answers = replies.into_iter().zip(written).map(|(reply, written)| reply.answer(head, written));
    answers.collect::<RestResult<_>>().map_err(|refusal| (0, refusal))
}

/// A part that is a query: of one entity, or of a table.
async fn single_get(door: &Door, head: &Head, part: &Part<'_>, access: &Access) -> RestResult<Answer> {
    let InnerRequest { method, url, headers, .. } = multipart::request(part.body)?;
    if method != "GET" {
        return Err(Refusal::InvalidInput);
    }
    let mut inner_headers = HeaderMap::new();
    if let Some(accept) = headers.get("accept").and_then(|accept| HeaderValue::from_str(accept).ok()) {
        inner_headers.insert(HeaderName::from_static("accept"), accept);
    }
    let uri: Uri = url.parse().map_err(|_| Refusal::InvalidInput)?;
    let query = crate::head::Query::parse(uri.query().unwrap_or_default())?;
    let (account, base, path) = (head.account.clone(), head.base.clone(), uri.path().to_owned());
    let inner = Head {
        method: Method::GET,
        path,
        query,
        headers: inner_headers,
        account,
        is_secondary: false,
        below: String::new(),
        is_below_a_table: false,
        base,
    };
    let answer = match resource(url)? {
        Resource::Entity { table, partition, row } => {
            let need = Need::Entity {
                table: &table,
                partition: &partition,
                row: &row,
                action: crate::auth::EntityAction::Read,
            };
            access.check(need)?;
            entity::get(door, &inner, &table, &partition, &row).await
        }
        Resource::Table(table) => query::query(door, &inner, &table, access).await,
        _ => Err(Refusal::InvalidInput),
    };
    let (entities, scanned) = answer.as_ref().map_or((0, 0), |answer| (answer.entities, answer.scanned));
    let answer = answer.unwrap_or_else(|refusal| Answer::refusal(&refusal, Uuid::new_v4(), false));
    let id = Uuid::new_v4();
    let mut body = Vec::new();
    write_part(&mut body, &format!("batchresponse_{id}"), &answer);
    body.extend_from_slice(format!("--batchresponse_{id}--\r\n").as_bytes());
    Ok(Answer { entities, scanned, ..whole(id, body) })
}

/// The answer to a change set.
fn in_change_set(outcome: Outcome) -> Answer {
    let id = Uuid::new_v4();
    let changes = format!("changesetresponse_{id}");
    let mut body =
        format!("--batchresponse_{id}\r\nContent-Type: multipart/mixed; boundary={changes}\r\n\r\n").into_bytes();
    match outcome {
        Ok(answers) => answers.iter().for_each(|answer| write_part(&mut body, &changes, answer)),
        Err((index, refusal)) => {
            let (status, code) = refusal.code();
            let message = format!("{index}:{refusal}\nRequestId:{id}\nTime:{}", crate::answer::time());
            let json = Answer::json(status, crate::edm::Metadata::Minimal, error_body(code, &message));
            write_part(&mut body, &changes, &json);
        }
    }
    body.extend_from_slice(format!("--{changes}--\r\n--batchresponse_{id}--\r\n").as_bytes());
    whole(id, body)
}

fn whole(id: Uuid, body: Vec<u8>) -> Answer {
    let answer = Answer { body: Bytes::from(body), ..Answer::new(StatusCode::ACCEPTED) };
    answer.with(CONTENT_TYPE, &format!("multipart/mixed; boundary=batchresponse_{id}"))
}

fn write_part(body: &mut Vec<u8>, boundary: &str, answer: &Answer) {
    let (status, reason) = (answer.status.as_u16(), answer.status.canonical_reason().unwrap_or_default());
    let mut text = format!(
        "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
         HTTP/1.1 {status} {reason}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
         DataServiceVersion: 3.0;\r\n"
    );
    for (name, value) in &answer.headers {
        if let Ok(value) = value.to_str() {
            // Writing into a String cannot fail.
            let _ = write!(text, "{}: {value}\r\n", spelled(name.as_str()));
        }
    }
    text.push_str("\r\n");
    body.extend_from_slice(text.as_bytes());
    body.extend_from_slice(&answer.body);
    body.extend_from_slice(b"\r\n");
}

/// Names as the service spells them: some clients look for `ETag` and nothing else.
fn spelled(name: &str) -> &str {
    match name {
        "etag" => "ETag",
        "location" => "Location",
        "dataserviceid" => "DataServiceId",
        "content-type" => "Content-Type",
        "preference-applied" => "Preference-Applied",
        other => other,
    }
}
