//! One request, from its head to its answer: who it is of, what it is of, who does it.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::USER_AGENT;
use hyper::{HeaderMap, Method, Response, Uri};
use tablegate_store::model::TableName;

use crate::address::Resource;
use crate::answer::Answer;
use crate::auth::{Access, Circumstances, EntityAction, Need, authorize};
use crate::coordinator::{Call, Client, Ended};
use crate::counters::Operation;
use crate::door::{Door, patience};
use crate::entity::{self, Asked, Write};
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

/// A request as it came in.
pub(crate) struct Received {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// Or why it was not read.
    pub body: RestResult<Bytes>,
}

/// What is found out of a request on its way, for those who count and watch.
#[derive(Default)]
struct Known {
    operation: Option<Operation>,
    shape: String,
}

/// Answers a request. Nothing that it says makes this fail.
pub(crate) async fn answer(door: &Door, way: Way<'_>, received: Received) -> Response<Full<Bytes>> {
    let (began, id) = (Instant::now(), door.requests.next());
    let Received { method, uri, headers, body } = received;
    let bytes_received = body.as_ref().map_or(0, Bytes::len);
    let client_request = headers.get("x-ms-client-request-id").cloned();
    let is_account = |name: &str| door.accounts.keys(name).is_ok_and(|keys| keys.is_some());
    let head = Head::new(method, &uri, headers, way.is_encrypted, is_account);
    let mut known = Known::default();
    let (answer, version) = match &head {
        Err(refusal) => (Answer::refusal(refusal, id, false), DEFAULT_VERSION.to_owned()),
        Ok(head) => {
            let version = head.version().ok().flatten().unwrap_or(DEFAULT_VERSION).to_owned();
            let answered = carry_out(door, head, way, body, &mut known).await;
            let mut answer = answered.unwrap_or_else(|refusal| {
                // About the service itself it speaks XML.
                let in_xml = head.query.get("comp").is_some();
                Answer::refusal(&refusal, id, in_xml)
            });
            tell_scripts(door, head, &mut answer).await;
            (answer, version)
        }
    };
    let operation = known.operation.unwrap_or(Operation::Unknown);
    let status = answer.status.as_u16();
    door.counters.add(operation, status, began.elapsed());
    door.counters.add_entities(answer.entities, answer.scanned);
    door.counters.add_bytes(bytes_received, answer.body.len());
    tracing::debug!(
        peer = %way.peer, request = %id, operation = operation.name(), shape = known.shape, status,
        entities = answer.entities, scanned = answer.scanned, took = ?began.elapsed(), "answered"
    );
    answer.into_response(id, client_request.as_ref(), &version)
}

/// Finds out what a request is, whether it may be, and does it.
async fn carry_out(
    door: &Door,
    head: &Head,
    way: Way<'_>,
    body: RestResult<Bytes>,
    known: &mut Known,
) -> RestResult<Answer> {
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
    };
    let access = authorize(head, &circumstances).await?;
    head.version()?;
    let body = body?;
    let request = Request { door, head, access: &access, body: &body, verb };
    let task = request.task()?;
    (known.operation, known.shape) = (Some(task.operation()), task.shape());
    if head.is_secondary && !task.is_read() {
        return Err(Refusal::ReadOnly);
    }
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

/// What a request is about to do.
enum Task {
    GetProperties,
    SetProperties,
    Stats,
    QueryTables,
    CreateTable,
    DeleteTable(String),
    GetAcl(TableName),
    SetAcl(TableName),
    Query(TableName),
    Get { table: TableName, partition: String, row: String },
    Write(Box<Write>),
    Batch,
}

struct Request<'a> {
    door: &'a Door,
    head: &'a Head,
    access: &'a Access,
    body: &'a [u8],
    verb: Verb,
}

impl Request<'_> {
    fn task(&self) -> RestResult<Task> {
        let parameter = |name| self.head.query.get(name);
        let resource = self.head.resource()?;
        match (resource, self.verb, parameter("comp")) {
            (Resource::Service, verb, Some(comp)) if parameter("restype") == Some("service") => match (verb, comp) {
                (Verb::Get, "properties") => Ok(Task::GetProperties),
                (Verb::Put, "properties") => Ok(Task::SetProperties),
                (Verb::Get, "stats") if self.head.is_secondary => Ok(Task::Stats),
                (_, "properties" | "stats") => Err(Refusal::WrongVerb),
                _ => Err(Refusal::InvalidQueryParameter),
            },
            (Resource::Service, _, _) => Err(Refusal::InvalidInput),
            (Resource::Tables, Verb::Get, _) => Ok(Task::QueryTables),
            (Resource::Tables, Verb::Post, _) => Ok(Task::CreateTable),
            (Resource::TableEntry(name), Verb::Delete, _) => Ok(Task::DeleteTable(name)),
            (Resource::Batch, Verb::Post, _) => Ok(Task::Batch),
            (Resource::Table(table), Verb::Get, Some("acl")) => Ok(Task::GetAcl(table)),
            (Resource::Table(table), Verb::Put, Some("acl")) => Ok(Task::SetAcl(table)),
            (Resource::Table(table), Verb::Get, _) => Ok(Task::Query(table)),
            (Resource::Entity { table, partition, row }, Verb::Get, _) => Ok(Task::Get { table, partition, row }),
            (resource @ (Resource::Table(_) | Resource::Entity { .. }), verb, _) => {
                Write::read(Asked::of(self.head, verb, resource, self.body)).map(|write| Task::Write(Box::new(write)))
            }
            _ => Err(Refusal::WrongVerb),
        }
    }

    async fn run(&self, task: Task, call: Call<'_>) -> RestResult<Answer> {
        let Self { door, head, access, body, .. } = *self;
        let patience = patience(head)?;
        let check = |need: Need<'_>| access.check(need);
        match task {
            Task::GetProperties => {
                check(Need::ReadService)?;
                service::get(&door.own).await
            }
            Task::SetProperties => {
                check(Need::WriteService)?;
                service::set(&door.own, body).await
            }
            Task::Stats => check(Need::ReadService).map(|()| service::stats(door.clock.now())),
            Task::QueryTables => {
                check(Need::ListTables)?;
                tables::query(door, head).await
            }
            Task::CreateTable => {
                check(Need::CreateTable)?;
                tables::create(door, head, body).await
            }
            Task::DeleteTable(name) => {
                check(Need::DeleteTable)?;
                tables::delete(door, &name, patience).await
            }
            Task::GetAcl(table) => {
                check(Need::TableAcl)?;
                door.check_there(&table).await?;
                acl::get(&door.own, &table).await
            }
            Task::SetAcl(table) => {
                check(Need::TableAcl)?;
                door.check_there(&table).await?;
                acl::set(&door.own, &table, body).await
            }
            Task::Query(table) => query::query(door, head, &table, access).await,
            Task::Get { table, partition, row } => {
                let action = EntityAction::Read;
                check(Need::Entity { table: &table, partition: &partition, row: &row, action })?;
                entity::get(door, head, &table, &partition, &row).await
            }
            Task::Write(write) => entity::write(door, head, *write, access, patience).await,
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
    fn operation(&self) -> Operation {
        match self {
            Task::GetProperties => Operation::GetServiceProperties,
            Task::SetProperties => Operation::SetServiceProperties,
            Task::Stats => Operation::GetServiceStats,
            Task::QueryTables => Operation::QueryTables,
            Task::CreateTable => Operation::CreateTable,
            Task::DeleteTable(_) => Operation::DeleteTable,
            Task::GetAcl(_) => Operation::GetTableAcl,
            Task::SetAcl(_) => Operation::SetTableAcl,
            Task::Query(_) => Operation::QueryEntities,
            Task::Get { .. } => Operation::GetEntity,
            Task::Write(write) => write.counted(),
            Task::Batch => Operation::EntityGroupTransaction,
        }
    }

    fn is_read(&self) -> bool {
        match self {
            Task::GetProperties
            | Task::Stats
            | Task::QueryTables
            | Task::GetAcl(_)
            | Task::Query(_)
            | Task::Get { .. } => true,
            Task::SetProperties
            | Task::CreateTable
            | Task::DeleteTable(_)
            | Task::SetAcl(_)
            | Task::Write(_)
            | Task::Batch => false,
        }
    }

    /// What it comes to without its constants, as statements are shown.
    fn shape(&self) -> String {
        match self {
            Task::GetProperties | Task::Stats => "GET /".to_owned(),
            Task::SetProperties => "PUT /".to_owned(),
            Task::QueryTables => "GET Tables".to_owned(),
            Task::CreateTable => "POST Tables".to_owned(),
            Task::DeleteTable(_) => "DELETE Tables".to_owned(),
            Task::GetAcl(table) => format!("GET {table}?comp=acl"),
            Task::SetAcl(table) => format!("PUT {table}?comp=acl"),
            Task::Query(table) => format!("GET {table}(query)"),
            Task::Get { table, .. } => format!("GET {table}(point)"),
            Task::Write(write) => {
                let table = &write.table;
                match write.counted() {
                    Operation::InsertEntity => format!("POST {table}"),
                    Operation::UpdateEntity => format!("PUT {table}(point)"),
                    Operation::MergeEntity => format!("MERGE {table}(point)"),
                    Operation::InsertOrReplaceEntity => format!("PUT {table}(upsert)"),
                    Operation::InsertOrMergeEntity => format!("MERGE {table}(upsert)"),
                    _ => format!("DELETE {table}(point)"),
                }
            }
            Task::Batch => "POST $batch".to_owned(),
        }
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
