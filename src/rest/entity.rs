//! Get Entity, and the writes of one entity: each becomes one operation of a batch.

use std::time::Duration;

use hyper::StatusCode;
use tablegate_store::model::{ETag, Entity, EntityKey, StoredEntity, TableName};
use tablegate_store::table::{Batch, EntityView, IfMatch, Operation, Written};

use crate::address::{Address, Resource};
use crate::answer::Answer;
use crate::auth::{Access, EntityAction, Need};
use crate::counters;
use crate::door::Door;
use crate::edm::{EntityWriter, Keys, Metadata, Received, Selection, read_entity};
use crate::error::{Refusal, RestResult};
use crate::head::{Head, Verb, metadata};
use crate::prefer::Prefer;

/// What a write does, which its head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Replace,
    Merge,
    InsertOrReplace,
    InsertOrMerge,
    Delete,
}

impl Kind {
    /// # Errors
    /// For what is no write.
    pub(crate) fn of(verb: Verb, resource: &Resource, has_condition: bool) -> RestResult<Self> {
        match (verb, resource, has_condition) {
            (Verb::Post, Resource::Table(_), _) => Ok(Kind::Insert),
            (Verb::Put, Resource::Entity { .. }, true) => Ok(Kind::Replace),
            (Verb::Put, Resource::Entity { .. }, false) => Ok(Kind::InsertOrReplace),
            (Verb::Merge, Resource::Entity { .. }, true) => Ok(Kind::Merge),
            (Verb::Merge, Resource::Entity { .. }, false) => Ok(Kind::InsertOrMerge),
            (Verb::Delete, Resource::Entity { .. }, _) => Ok(Kind::Delete),
            _ => Err(Refusal::WrongVerb),
        }
    }

    pub(crate) fn action(self) -> EntityAction {
        match self {
            Kind::Insert => EntityAction::Add,
            Kind::Replace | Kind::Merge => EntityAction::Update,
            Kind::InsertOrReplace | Kind::InsertOrMerge => EntityAction::Upsert,
            Kind::Delete => EntityAction::Delete,
        }
    }

    /// What it is counted as.
    pub(crate) fn counted(self) -> counters::Operation {
        match self {
            Kind::Insert => counters::Operation::InsertEntity,
            Kind::Replace => counters::Operation::UpdateEntity,
            Kind::Merge => counters::Operation::MergeEntity,
            Kind::InsertOrReplace => counters::Operation::InsertOrReplaceEntity,
            Kind::InsertOrMerge => counters::Operation::InsertOrMergeEntity,
            Kind::Delete => counters::Operation::DeleteEntity,
        }
    }
}

/// A write, as a request or a part of a batch asks for it.
#[derive(Debug)]
pub(crate) struct Write {
    pub kind: Kind,
    pub table: TableName,
    pub operation: Operation,
    /// For the answer: what was inserted comes back, unless the client says otherwise.
    inserted: Option<(Entity, Prefer, Metadata)>,
}

/// What a write is read from.
pub(crate) struct Asked<'a> {
    pub verb: Verb,
    pub resource: Resource,
    pub if_match: Option<&'a str>,
    pub if_none_match: Option<&'a str>,
    pub prefer: Option<&'a str>,
    pub accept: Option<&'a str>,
    pub content_type: Option<&'a str>,
    pub body: &'a [u8],
}

impl<'a> Asked<'a> {
    pub(crate) fn of(head: &'a Head, verb: Verb, resource: Resource, body: &'a [u8]) -> Self {
        Self {
            verb,
            resource,
            if_match: head.header("if-match"),
            if_none_match: head.header("if-none-match"),
            prefer: head.header("prefer"),
            accept: head.query.get("$format").or_else(|| head.header("accept")),
            content_type: head.header("content-type"),
            body,
        }
    }
}

pub(crate) async fn get(door: &Door, head: &Head, table: &TableName, partition: &str, row: &str) -> RestResult<Answer> {
    let metadata = head.metadata()?;
    door.check_visible(table)?;
    door.throttle(table, Some(partition), 1)?;
    let selection = Selection::parse(head.query.get("$select"));
    // What cannot be a key is not there.
    let Ok(key) = EntityKey::parse(partition, row) else {
        door.check_there(table).await?;
        return Err(Refusal::Missing);
    };
    let stored = door.reader().get(table, &key).await?.ok_or(Refusal::Missing)?;
    let body = body(head, table, &stored, metadata, &selection)?;
    let etag = stored.etag.text();
    Ok(Answer { scanned: 1, ..Answer::json(StatusCode::OK, metadata, body).with_etag(&etag).with_entities(1) })
}

/// One entity alone.
fn body(
    head: &Head,
    table: &TableName,
    stored: &StoredEntity,
    metadata: Metadata,
    selection: &Selection,
) -> RestResult<Vec<u8>> {
    let mut body = Vec::with_capacity(512);
    let context = format!("{}/$metadata#{table}/@Element{}", head.base, selection.suffix());
    let writer = EntityWriter { metadata, base: &head.base, account: &head.account, table, selection };
    writer.write(&mut body, &EntityView::from(stored), Some(&context))?;
    Ok(body)
}

impl Write {
    /// # Errors
    /// For what is no write, and no entity that the service takes.
    pub(crate) fn read(asked: Asked<'_>) -> RestResult<Self> {
        if asked.if_none_match.is_some() {
            return Err(Refusal::InvalidInput);
        }
        let kind = Kind::of(asked.verb, &asked.resource, asked.if_match.is_some())?;
        match asked.resource {
            Resource::Entity { table, partition, row } => {
                let key = EntityKey::parse(&partition, &row)?;
                let condition = asked.if_match.map(condition).transpose()?;
                if kind == Kind::Delete {
                    let operation = Operation::Delete(key, condition.ok_or(Refusal::MissingHeader)?);
                    return Ok(Self { kind, table, operation, inserted: None });
                }
                let entity = Entity::new(key, received(asked.content_type, asked.body, Keys::InAddress)?.properties);
                let operation = match (asked.verb, condition) {
                    (Verb::Put, Some(condition)) => Operation::Replace(entity, condition),
                    (Verb::Put, None) => Operation::InsertOrReplace(entity),
                    (_, Some(condition)) => Operation::Merge(entity, condition),
                    (_, None) => Operation::InsertOrMerge(entity),
                };
                Ok(Self { kind, table, operation, inserted: None })
            }
            Resource::Table(table) => {
                let metadata = metadata(asked.accept)?;
                let Received { partition, row, properties } = received(asked.content_type, asked.body, Keys::InBody)?;
                let (Some(partition), Some(row)) = (partition, row) else { return Err(Refusal::PropertiesNeedValue) };
                let entity = Entity::new(EntityKey::parse(&partition, &row)?, properties);
                let prefer = Prefer::of(asked.prefer);
                let echo = if prefer == Prefer::NoContent {
                    Entity::new(entity.key.clone(), Default::default())
                } else {
                    entity.clone()
                };
                Ok(Self { kind, table, operation: Operation::Insert(entity), inserted: Some((echo, prefer, metadata)) })
            }
            _ => Err(Refusal::WrongVerb),
        }
    }

    /// # Errors
    /// When the client may not.
    pub(crate) fn check(&self, access: &Access) -> RestResult<()> {
        let key = self.operation.key();
        let (partition, row) = (key.partition.as_str(), key.row.as_str());
        access.check(Need::Entity { table: &self.table, partition, row, action: self.kind.action() })
    }

    /// Takes the operation out, and leaves what the answer needs.
    pub(crate) fn split(self) -> (Operation, Reply) {
        (self.operation, Reply { table: self.table, inserted: self.inserted })
    }
}

/// The answer to a write, which waits for what the store says.
#[derive(Debug)]
pub(crate) struct Reply {
    table: TableName,
    inserted: Option<(Entity, Prefer, Metadata)>,
}

impl Reply {
    /// # Errors
    /// None are expected: what is told was just written.
    pub(crate) fn answer(self, head: &Head, written: Written) -> RestResult<Answer> {
        let (etag, timestamp) = match written {
            Written::Deleted => return Ok(Answer::new(StatusCode::NO_CONTENT).with_entities(1)),
            Written::Entity { etag, timestamp } => (etag, timestamp),
        };
        let Some((entity, prefer, metadata)) = self.inserted else {
            return Ok(Answer::new(StatusCode::NO_CONTENT).with_etag(&etag.text()).with_entities(1));
        };
        let address = Address { partition: entity.key.partition.as_str(), row: entity.key.row.as_str() };
        let location = format!("{}/{}{address}", head.base, self.table);
        let text = etag.text().into_owned();
        let answer = if prefer == Prefer::NoContent {
            Answer::new(StatusCode::NO_CONTENT)
        } else {
            let stored = StoredEntity { entity, timestamp, etag };
            let body = body(head, &self.table, &stored, metadata, &Selection::default())?;
            Answer::json(StatusCode::CREATED, metadata, body)
        };
        Ok(prefer.applied(answer.with_etag(&text).with_location(&location)).with_entities(1))
    }
}

/// Writes one entity.
pub(crate) async fn write(
    door: &Door,
    head: &Head,
    write: Write,
    access: &Access,
    patience: Duration,
) -> RestResult<Answer> {
    write.check(access)?;
    let table = write.table.clone();
    door.throttle(&table, Some(write.operation.key().partition.as_str()), 1)?;
    let (operation, reply) = write.split();
    let batch = Batch::single(table, operation)?;
    let mut written = door.commit(batch, patience).await.map_err(|(_, refusal)| refusal)?;
    reply.answer(head, written.pop().ok_or(Refusal::Internal)?)
}

fn condition(text: &str) -> RestResult<IfMatch> {
    if text == "*" { Ok(IfMatch::Any) } else { ETag::parse(text).map(IfMatch::ETag).map_err(|_| Refusal::InvalidInput) }
}

fn received(content_type: Option<&str>, body: &[u8], keys: Keys) -> RestResult<Received> {
    check_json(content_type)?;
    read_entity(body, keys)
}

/// # Errors
/// For bodies in other formats than JSON.
pub(crate) fn check_json(content_type: Option<&str>) -> RestResult<()> {
    let kind = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default().trim();
    match &*kind.to_ascii_lowercase() {
        "application/json" => Ok(()),
        "application/atom+xml" | "application/xml" => Err(Refusal::AtomNotSupported),
        _ => Err(Refusal::MediaNotSupported),
    }
}
