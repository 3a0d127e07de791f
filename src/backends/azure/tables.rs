//! The tables of the account: listed, made and deleted.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Method;
use serde::Deserialize;
use tablegate_store::model::TableName;
use tablegate_store::table::StoreError;

use super::Core;
use super::client::{Request, Sent};
use super::reply::{Refusal, damaged};

/// Every statement about a found table asks which tables there are: an answer serves for so long. What this process
/// itself makes and deletes shows at once.
const LIST_AGE: Duration = Duration::from_secs(1);

/// The last answer to which tables there are.
#[derive(Debug, Default)]
pub(super) struct TableList(Mutex<Option<(Instant, Vec<TableName>)>>);

impl TableList {
    fn fresh(&self) -> Option<Vec<TableName>> {
        let listed = self.listed();
        listed.as_ref().filter(|(at, _)| at.elapsed() < LIST_AGE).map(|(_, tables)| tables.clone())
    }

    fn forget(&self) {
        *self.listed() = None;
    }

    fn listed(&self) -> MutexGuard<'_, Option<(Instant, Vec<TableName>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
struct Listing {
    value: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "TableName")]
    name: String,
}

/// # Errors
/// When the service cannot be reached or refuses.
pub(super) async fn list(core: &Core) -> Result<Vec<TableName>, StoreError> {
    if let Some(tables) = core.tables.fresh() {
        return Ok(tables);
    }
    let asked = Instant::now();
    let mut tables = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let mut request = Request::get("/Tables".to_owned());
        if let Some(next) = &next {
            request.add_parameter("NextTableName", next);
        }
        let reply = core.client.read(&request, None).await?;
        if !reply.is_success() {
            return Err(Refusal::of(&reply).into_general_error());
        }
        let listing: Listing = serde_json::from_slice(&reply.body).map_err(|error| damaged(&error))?;
        // Names that are none of ours, as `$MetricsTransactions`, are the system's.
        tables.extend(listing.value.iter().filter_map(|table| TableName::parse(&table.name).ok()));
        next = reply.header("x-ms-continuation-NextTableName").map(str::to_owned);
        if next.is_none() {
            break;
        }
    }
    tables.sort();
    *core.tables.listed() = Some((asked, tables.clone()));
    Ok(tables)
}

/// # Errors
/// [`StoreError::TableExists`], also while a table of this name is being deleted; [`StoreError::OutcomeUnknown`].
pub(super) async fn create(core: &Core, table: &TableName) -> Result<(), StoreError> {
    let mut request = Request::new(Method::POST, "/Tables".to_owned());
    request.headers.push(("Prefer", "return-no-content".to_owned()));
    request.content_type = Some("application/json".to_owned());
    request.body = Bytes::from(format!("{{\"TableName\":\"{table}\"}}"));
    let created = change(core, &request, |refusal, repeated| match refusal.code.as_str() {
        // Whose table it is cannot be told.
        "TableAlreadyExists" if repeated => Err(StoreError::OutcomeUnknown(refusal.to_string())),
        "TableAlreadyExists" | "TableBeingDeleted" => Err(StoreError::TableExists(table.clone())),
        _ => Err(refusal.into_general_error()),
    });
    let created = created.await;
    core.tables.forget();
    if created.is_ok() {
        core.observed.created(table);
    }
    created
}

/// # Errors
/// [`StoreError::TableMissing`]
pub(super) async fn delete(core: &Core, table: &TableName) -> Result<(), StoreError> {
    let request = Request::new(Method::DELETE, format!("/Tables('{table}')"));
    let deleted = change(core, &request, |refusal, repeated| match refusal.status {
        404 if repeated => Ok(()),
        404 => Err(StoreError::TableMissing(table.clone())),
        _ => Err(refusal.into_error(table)),
    });
    let deleted = deleted.await;
    core.tables.forget();
    core.observed.forget(table);
    deleted
}

/// Sends a change that may be repeated: what a refusal then means, its maker says.
async fn change(
    core: &Core,
    request: &Request,
    refused: impl Fn(Refusal, bool) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut backoff = core.client.backoff();
    let mut repeated = false;
    loop {
        let (goes_on, error) = match core.client.send(request, None, &mut backoff).await {
            Sent::Answer(reply) if reply.is_success() => return Ok(()),
            Sent::Answer(reply) => return refused(Refusal::of(&reply), repeated),
            Sent::Throttled { after, reason } => (backoff.wait(after).await, StoreError::Throttled(reason)),
            Sent::NoConnection(reason) => (backoff.wait_to_connect().await, StoreError::Unavailable(reason)),
            Sent::NoToken(reason) => (false, StoreError::Unavailable(reason)),
            Sent::Unknown(why, reason) => {
                repeated = true;
                (backoff.wait_unanswered(why).await, StoreError::OutcomeUnknown(reason))
            }
        };
        if !goes_on {
            return Err(error);
        }
    }
}
