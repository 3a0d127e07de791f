//! One page of one request: asked for, and read entity by entity.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tablegate_store::model::{EntityKey, Span, TableName};
use tablegate_store::table::{KeyRange, ScanStats, StoreError, payload};
use tokio::task::{JoinError, JoinHandle};

use super::Core;
use super::client::Request;
use super::entity::RawEntity;
use super::filter::Step;
use super::json::Json;
use super::reply::{Refusal, Reply, damaged};

/// What the requests of one scan have in common.
#[derive(Debug)]
pub(super) struct Shape {
    pub table: TableName,
    pub select: Option<String>,
    /// Most entities in a page.
    pub top: usize,
    pub stats: Option<Arc<ScanStats>>,
}

/// A request for one page.
#[derive(Debug, Clone)]
pub(super) struct Query {
    point: Option<EntityKey>,
    /// By keys alone.
    keys: Option<String>,
    /// With what is asked of other values, if anything is.
    filter: Option<String>,
    range: Arc<KeyRange>,
    token: Option<Token>,
}

/// Where a page goes on, as the service says it.
#[derive(Debug, Clone)]
struct Token {
    partition: String,
    row: Option<String>,
}

impl Query {
    pub(super) fn of(step: Step) -> Self {
        match step {
            Step::Point(key) => {
                let span = |text: &Arc<str>| Span::point(text.clone());
                let rows = Arc::new([span(key.row.shared())]);
                let range = Arc::new(KeyRange { partitions: span(key.partition.shared()), rows });
                Self { point: Some(key), keys: None, filter: None, range, token: None }
            }
            Step::Query(query) => {
                let filter = query.filter();
                Self { point: None, keys: query.keys, filter, range: Arc::new(query.range), token: None }
            }
        }
    }

    fn request(&self, shape: &Shape) -> Request {
        let mut request = match &self.point {
            Some(key) => Request::get(address(&shape.table, key)),
            None => Request::get(format!("/{}()", shape.table)),
        };
        if let Some(partition) = self.range.partitions.as_point() {
            request.partition = Some((shape.table.clone(), partition.to_string()));
        }
        if let Some(select) = &shape.select {
            request.add_parameter("$select", select);
        }
        if self.point.is_some() {
            return request;
        }
        if let Some(filter) = &self.filter {
            request.add_parameter("$filter", filter);
        }
        request.add_parameter("$top", &shape.top.to_string());
        if let Some(token) = &self.token {
            request.add_parameter("NextPartitionKey", &token.partition);
            if let Some(row) = &token.row {
                request.add_parameter("NextRowKey", row);
            }
        }
        request
    }
}

/// The path of an entity.
pub(super) fn address(table: &TableName, key: &EntityKey) -> String {
    let mut path = format!("/{table}");
    // Writing into a String cannot fail.
    let _ = payload::write_address(&mut path, key);
    path
}

/// An answer, and how far it is read.
#[derive(Debug)]
pub(super) struct Page {
    pub body: Bytes,
    at: usize,
    is_point: bool,
    /// What is asked for: the service's own filter can be wider.
    pub range: Arc<KeyRange>,
    pub is_last: bool,
    pub next: Option<Query>,
}

impl Page {
    /// Whether it is of one entity that was asked for by its key.
    pub(super) fn is_point(&self) -> bool {
        self.is_point
    }

    /// A reader of the page, which is `body`, where it is.
    ///
    /// # Errors
    /// When it is not text.
    pub(super) fn json<'a>(&self, body: &'a Bytes) -> Result<Json<'a>, StoreError> {
        let text = std::str::from_utf8(body).map_err(|error| damaged(&error))?;
        Ok(Json::new(text, self.at))
    }

    /// Reads the next entity, and says where it stands; `None` behind the last one.
    ///
    /// # Errors
    /// When the page is not what the protocol says.
    pub(super) fn next_entity<'a>(
        &mut self,
        json: &mut Json<'a>,
        entity: &mut RawEntity<'a>,
    ) -> Result<Option<Range<usize>>, StoreError> {
        let is_behind = match json.peek() {
            None if self.is_point => true,
            Some(b']') if !self.is_point => true,
            _ => false,
        };
        if is_behind {
            return Ok(None);
        }
        let start = json.at();
        entity.read(json)?;
        let end = json.at();
        if !self.is_point {
            json.take(b',');
        }
        self.at = json.at();
        Ok(Some(start..end))
    }
}

/// A page that is being asked for. Dropped, it is not asked for any more.
#[derive(Debug)]
pub(super) struct PageTask(JoinHandle<Result<Page, StoreError>>);

impl PageTask {
    pub(super) fn start(core: &Arc<Core>, shape: &Arc<Shape>, query: Query) -> Self {
        let (core, shape) = (Arc::clone(core), Arc::clone(shape));
        Self(tokio::spawn(async move { fetch(&core, &shape, query).await }))
    }
}

impl Future for PageTask {
    type Output = Result<Result<Page, StoreError>, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl Drop for PageTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks for a page.
///
/// # Errors
/// [`StoreError::TableMissing`]; when the service cannot be reached or its answer cannot be read.
pub(super) async fn fetch(core: &Core, shape: &Shape, mut query: Query) -> Result<Page, StoreError> {
    let mut reply = core.client.read(&query.request(shape), shape.stats.as_deref()).await?;
    // What is asked of values only saves reading: where the service does not take it, it goes without.
    if reply.status == 400 && query.filter != query.keys {
        query.filter = query.keys.clone();
        reply = core.client.read(&query.request(shape), shape.stats.as_deref()).await?;
    }
    if !reply.is_success() {
        let refusal = Refusal::of(&reply);
        let is_missing = query.point.is_some() && refusal.status == 404 && !refusal.is_table_missing();
        if !is_missing {
            return Err(refusal.into_error(&shape.table));
        }
        let range = query.range;
        return Ok(Page { body: Bytes::new(), at: 0, is_point: true, range, is_last: true, next: None });
    }
    if let Some(stats) = &shape.stats {
        stats.add_page();
    }
    let is_point = query.point.is_some();
    let at = if is_point { 0 } else { start_of_list(&reply)? };
    let token = token(&reply);
    let range = Arc::clone(&query.range);
    let next = token.map(|token| Query { token: Some(token), ..query });
    Ok(Page { body: reply.body, at, is_point, range, is_last: next.is_none(), next })
}

fn start_of_list(reply: &Reply) -> Result<usize, StoreError> {
    let mut json = Json::new(reply.text()?, 0);
    json.enter_list("value").map_err(|error| damaged(&error))?;
    Ok(json.at())
}

/// There is more as long as the service names a partition; the row may be missing.
fn token(reply: &Reply) -> Option<Token> {
    let partition = reply.header("x-ms-continuation-NextPartitionKey")?.to_owned();
    let row = reply.header("x-ms-continuation-NextRowKey").map(str::to_owned).filter(|row| !row.is_empty());
    Some(Token { partition, row })
}
