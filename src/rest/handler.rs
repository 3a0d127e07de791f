//! One request, from its head to its answer: who it is of, what it is of, who does it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{EXPECT, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use tablegate_store::model::TableName;

use crate::address::Resource;
use crate::answer::Answer;
use crate::auth::{Access, Circumstances, EntityAction, Need, authorize};
use crate::body::Body;
use crate::coordinator::{Call, Client, Ended};
use crate::counters::Operation;
use crate::door::{Door, patience};
use crate::entity::{self, Asked, Kind, Write};
use crate::error::{Refusal, RestResult};
use crate::head::{Head, Verb};
use crate::{acl, batch, cors, query, service, tables};

/// What is said where the client names no version.
const DEFAULT_VERSION: &str = "2019-02-02";

/// Where a request comes from.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub peer: SocketAddr,
    pub is_encrypted: bool,
    /// Where somebody watches.
    pub client: Option<&'a dyn Client>,
}

/// What is found out of a request on its way, for those who count and watch.
#[derive(Default)]
struct Known {
    operation: Option<Operation>,
    shape: String,
    /// Bytes of its body.
    received: usize,
}

/// Answers a request. Nothing that it says makes this fail.
pub(crate) async fn answer(door: &Door, way: Way<'_>, parts: Parts, body: Incoming) -> Response<Full<Bytes>> {
    let (began, id) = (Instant::now(), door.requests.next());
    let Parts { method, uri, headers, .. } = parts;
    let mut body = Body::new(body, headers.contains_key(EXPECT));
    let client_request = headers.get("x-ms-client-request-id").cloned();
    let is_account = |name: &str| door.accounts.keys(name).is_ok_and(|keys| keys.is_some());
    let head = Head::new(method, &uri, headers, way.is_encrypted, is_account);
    let mut known = Known::default();
    let (answer, version) = match &head {
        Err(refusal) => (Answer::refusal(refusal, id, false), DEFAULT_VERSION.to_owned()),
        Ok(head) => {
            let version = head.version().ok().flatten().unwrap_or(DEFAULT_VERSION).to_owned();
            let answered = carry_out(door, head, way, &mut body, &mut known).await;
            let mut answer = answered.unwrap_or_else(|refusal| {
                // About the service itself it speaks XML.
                let in_xml = head.query.get("comp").is_some();
                Answer::refusal(&refusal, id, in_xml)
            });
            tell_scripts(door, head, &mut answer).await;
            (answer, version)
        }
    };
    body.discard();
    let operation = known.operation.unwrap_or(Operation::Unknown);
    let status = answer.status.as_u16();
    door.counters.add(operation, status, began.elapsed());
    door.counters.add_entities(answer.entities, answer.scanned);
    door.counters.add_bytes(known.received, answer.body.len());
    tracing::debug!(
        peer = %way.peer, request = %id, operation = operation.name(), shape = known.shape, status,
        entities = answer.entities, scanned = answer.scanned, took = ?began.elapsed(), "answered"
    );
    answer.into_response(id, client_request.as_ref(), &version)
}

/// Finds out what a request is, whether it may be, and does it.
async fn carry_out(door: &Door, head: &Head, way: Way<'_>, body: &mut Body, known: &mut Known) -> RestResult<Answer> {
    let verb = head.verb()?;
    if verb == Verb::Options {
        known.operation = Some(Operation::Preflight);
        return cors::preflight(&service::cors_rules(&door.own).await?, head);
    }
    let keys = door.accounts.keys(&head.account)?;
    let circumstances = Circumstances {
        now: door.clock.now(),
        peer: way.peer,
        is_encrypted: way.is_encrypted,
        keys: keys.as_deref(),
        policies: &door.own,
        tokens: door.tokens.as_ref(),
    };
    let access = authorize(head, &circumstances).await?;
    head.version()?;
    let task = Task::of(head, verb)?;
    (known.operation, known.shape) = (Some(task.operation()), task.shape());
    if head.is_secondary && !task.is_read() {
        return Err(Refusal::SecondaryIsReadOnly);
    }
    task.check(&access)?;
    let patience = patience(head)?;
    // Only now: who may not send one is answered without.
    let body = match task.is_read() {
        true => None,
        false => Some(body.read(&door.room, patience).await?),
    };
    let body = body.as_ref().map_or(&[][..], |body| &body.bytes[..]);
    known.received = body.len();
    let request = Request { door, head, access: &access, body, patience };
    let call = Call {
        account: &head.account,
        user_agent: head.header(USER_AGENT.as_str()).unwrap_or_default(),
        shape: &known.shape,
        is_write: !task.is_read(),
    };
    let began = Instant::now();
    if let Some(client) = way.client {
        client.begin(call);
    }
    let done = request.run(task, call).await;
    if let Some(client) = way.client {
        let (failed, entities, scanned) = match &done {
            Ok(answer) => (false, answer.entities, answer.scanned),
            Err(_) => (true, 0, 0),
        };
        client.end(call, Ended { time: began.elapsed(), failed, entities, scanned });
    }
    done
}

/// What a request is about to do, as its head says.
enum Task {
    GetProperties,
    SetProperties,
    Stats,
    QueryTables,
    CreateTable,
    GetTable(String),
    DeleteTable(String),
    GetAcl(TableName),
    SetAcl(TableName),
    Query(TableName),
    Get {
        table: TableName,
        partition: String,
        row: String,
    },
    Write {
        kind: Kind,
        table: TableName,
        verb: Verb,
        resource: Resource,
    },
    Batch,
    /// Of what no table has below it: why that is refused where there is the table.
    BelowTable {
        table: TableName,
        refusal: Refusal,
    },
}

struct Request<'a> {
    door: &'a Door,
    head: &'a Head,
    access: &'a Access,
    body: &'a [u8],
    patience: Duration,
}

impl Request<'_> {
    async fn run(&self, task: Task, call: Call<'_>) -> RestResult<Answer> {
        let Self { door, head, access, body, patience } = *self;
        match task {
            Task::GetProperties => service::get(&door.own).await,
            Task::SetProperties => service::set(&door.own, body).await,
            Task::Stats => Ok(service::stats(door.clock.now())),
            Task::QueryTables => tables::query(door, head).await,
            Task::GetTable(name) => tables::get(door, head, &name).await,
            Task::CreateTable => tables::create(door, head, body).await,
            Task::DeleteTable(name) => tables::delete(door, &name, patience).await,
            Task::GetAcl(table) => {
                door.check_there(&table).await?;
                acl::get(&door.own, &table).await
            }
            Task::SetAcl(table) => {
                door.check_there(&table).await?;
                acl::set(&door.own, &table, body).await
            }
            Task::BelowTable { table, refusal } => {
                door.check_there(&table).await?;
                Err(refusal)
            }
            Task::Query(table) => query::query(door, head, &table, access).await,
            Task::Get { table, partition, row } => entity::get(door, head, &table, &partition, &row).await,
            Task::Write { verb, resource, .. } => {
                let write = Write::read(Asked::of(head, verb, resource, body))?;
                entity::write(door, head, write, access, patience).await
            }
            Task::Batch => {
                let sent = batch::run(door, head, body, access, patience).await?;
                if let Some(broken) = &sent.broken {
                    door.coordinator.refused(call, broken);
                }
                Ok(sent.answer)
            }
        }
    }
}

impl Task {
    fn of(head: &Head, verb: Verb) -> RestResult<Self> {
        let parameter = |name| head.query.get(name);
        let resource = head.resource()?;
        match (resource, verb, parameter("comp")) {
            (Resource::Service, verb, Some(comp)) if parameter("restype") == Some("service") => match (verb, comp) {
                (Verb::Get, "properties") => Ok(Task::GetProperties),
                (Verb::Put, "properties") => Ok(Task::SetProperties),
                (Verb::Get, "stats") if head.is_secondary => Ok(Task::Stats),
                (_, "properties") => Err(Refusal::WrongVerb),
                _ => Err(Refusal::InvalidQueryParameter),
            },
            (Resource::Service, _, _) => Err(Refusal::InvalidInput),
            (Resource::BelowTable { table, rest }, verb, _) => {
                let refusal = below_table(&table, &rest, verb);
                Ok(Task::BelowTable { table, refusal })
            }
            (Resource::Tables, Verb::Get, _) => Ok(Task::QueryTables),
            (Resource::Tables, Verb::Post, _) => Ok(Task::CreateTable),
            (Resource::TableEntry(name), Verb::Get, _) => Ok(Task::GetTable(name)),
            (Resource::TableEntry(name), Verb::Delete, _) => Ok(Task::DeleteTable(name)),
            (Resource::Batch, Verb::Post, _) => Ok(Task::Batch),
            (Resource::Table(table), Verb::Get, Some("acl")) => Ok(Task::GetAcl(table)),
            (Resource::Table(table), Verb::Put, Some("acl")) => Ok(Task::SetAcl(table)),
            (Resource::Table(_), _, Some("acl")) => Err(Refusal::WrongVerb),
            (Resource::Table(_), _, Some(_)) => Err(Refusal::InvalidQueryParameter),
            (Resource::Table(table), Verb::Get, _) => Ok(Task::Query(table)),
            (Resource::Entity { table, partition, row }, Verb::Get, _) => Ok(Task::Get { table, partition, row }),
            (resource, verb, _) => {
                let kind = Kind::of(verb, &resource, head.header("if-match").is_some())?;
                let (Resource::Table(table) | Resource::Entity { table, .. }) = &resource else {
                    return Err(Refusal::WrongVerb);
                };
                Ok(Task::Write { kind, table: table.clone(), verb, resource })
            }
        }
    }

    /// Whether the client may, as far as the head tells: which entities are meant is in the body, for those that are inserted and
    /// for transactions.
    ///
    /// # Errors
    /// When it may not.
    fn check(&self, access: &Access) -> RestResult<()> {
        let entity = |table, partition, row, action| access.check(Need::Entity { table, partition, row, action });
        match self {
            Task::GetProperties | Task::Stats => access.check(Need::ReadService),
            Task::SetProperties => access.check(Need::WriteService),
            Task::QueryTables | Task::GetTable(_) => access.check(Need::ListTables),
            Task::CreateTable => access.check(Need::CreateTable),
            Task::DeleteTable(_) => access.check(Need::DeleteTable),
            Task::GetAcl(_) | Task::SetAcl(_) => access.check(Need::TableAcl),
            Task::Query(table) | Task::BelowTable { table, .. } => access.check(Need::Query(table)),
            Task::Get { table, partition, row } => entity(table, partition, row, EntityAction::Read),
            Task::Write { kind, table, resource, .. } => match resource {
                Resource::Entity { partition, row, .. } => entity(table, partition, row, kind.action()),
                _ => access.check(Need::Insert(table)),
            },
            Task::Batch => Ok(()),
        }
    }

    fn operation(&self) -> Operation {
        match self {
            Task::GetProperties => Operation::GetServiceProperties,
            Task::SetProperties => Operation::SetServiceProperties,
            Task::Stats => Operation::GetServiceStats,
            Task::QueryTables | Task::GetTable(_) => Operation::QueryTables,
            Task::CreateTable => Operation::CreateTable,
            Task::DeleteTable(_) => Operation::DeleteTable,
            Task::GetAcl(_) => Operation::GetTableAcl,
            Task::SetAcl(_) => Operation::SetTableAcl,
            Task::Query(_) => Operation::QueryEntities,
            Task::Get { .. } => Operation::GetEntity,
            Task::Write { kind, .. } => kind.counted(),
            Task::Batch => Operation::EntityGroupTransaction,
            Task::BelowTable { .. } => Operation::Unknown,
        }
    }

    fn is_read(&self) -> bool {
        match self {
            Task::GetProperties
            | Task::Stats
            | Task::QueryTables
            | Task::GetTable(_)
            | Task::GetAcl(_)
            | Task::Query(_)
            | Task::BelowTable { .. }
            | Task::Get { .. } => true,
            Task::SetProperties
            | Task::CreateTable
            | Task::DeleteTable(_)
            | Task::SetAcl(_)
            | Task::Write { .. }
            | Task::Batch => false,
        }
    }

    /// What it comes to without its constants, as statements are shown.
    fn shape(&self) -> String {
        match self {
            Task::GetProperties | Task::Stats => "GET /".to_owned(),
            Task::SetProperties => "PUT /".to_owned(),
            Task::QueryTables => "GET Tables".to_owned(),
            Task::GetTable(_) => "GET Tables(name)".to_owned(),
            Task::CreateTable => "POST Tables".to_owned(),
            Task::DeleteTable(_) => "DELETE Tables".to_owned(),
            Task::GetAcl(table) => format!("GET {table}?comp=acl"),
            Task::SetAcl(table) => format!("PUT {table}?comp=acl"),
            Task::Query(table) => format!("GET {table}(query)"),
            Task::Get { table, .. } => format!("GET {table}(point)"),
            Task::Write { kind, table, .. } => match kind {
                Kind::Insert => format!("POST {table}"),
                Kind::Replace => format!("PUT {table}(point)"),
                Kind::Merge => format!("MERGE {table}(point)"),
                Kind::InsertOrReplace => format!("PUT {table}(upsert)"),
                Kind::InsertOrMerge => format!("MERGE {table}(upsert)"),
                Kind::Delete => format!("DELETE {table}(point)"),
            },
            Task::Batch => "POST $batch".to_owned(),
            Task::BelowTable { table, .. } => format!("{table}/.."),
        }
    }
}

/// What the service says to a client whose address of the account ends in a table's name, as if `rest` were of that table.
fn below_table(table: &TableName, rest: &str, verb: Verb) -> Refusal {
    match verb {
        Verb::Post if rest == "$batch" => Refusal::MediaNotSupported,
        Verb::Post => Refusal::PropertiesNeedValue,
        Verb::Get if !rest.contains('(') => Refusal::NotImplemented,
        _ => Refusal::BadInput(format!(
            "The number of keys specified in the URI does not match number of key properties for the resource '{table}'."
        )),
    }
}

/// Tells browsers whether scripts of other sites may see the answer. Who is no browser names no origin.
async fn tell_scripts(door: &Door, head: &Head, answer: &mut Answer) {
    if head.method == Method::OPTIONS {
        return;
    }
    if let Some(origin) = head.header("origin")
        && let Ok(rules) = service::cors_rules(&door.own).await
    {
        cors::allow(&mut answer.headers, &rules, origin, head.method.as_str());
    }
}
