//! Scans: pages of several requests at a time, decoded as they are wanted, in key order.
//!
//! The first pages of the next few steps are asked for together, and of the step that is being read one page ahead: so
//! much and no more is under way when the reader stops. A scan with a limit asks for nothing it may not need.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryFutureExt};
use tablegate_store::table::{Direction, EntityColumns, RemotePlan, ScanPlan, ScanRequest, ScanStream, StoreError};

use super::Core;
use super::account::ServiceKind;
use super::entity::{Decoder, RawEntity};
use super::filter::Step;
use super::json::Json;
use super::page::{Page, PageTask, Query, Shape};
use super::property_filter::PropertyFilter;
use super::reorder::Reorder;

/// Most entities in one page.
const PAGE_MAX: usize = 1000;
/// With more names the URL gets long; then everything is asked for.
const SELECT_MAX: usize = 64;
/// Filters that are told of a scan before it runs; the others are counted.
const FILTERS_TOLD: usize = 3;
/// Entities that a scan may hold that cannot be read in the order it is asked for in.
const GATHERED_MAX_BYTES: usize = 256 * 1024 * 1024;

/// The rows. Nothing is asked for before the stream is polled.
pub(super) fn scan(core: Arc<Core>, request: ScanRequest) -> ScanStream {
    let scan = Scan::new(core, request);
    Box::pin(stream::try_unfold(
        scan,
        |mut scan| async move { Ok(scan.next_batch().await?.map(|batch| (batch, scan))) },
    ))
}

struct Scan {
    core: Arc<Core>,
    request: ScanRequest,
    pages: Pages,
    page: Option<Page>,
    /// The last page was one of many entities: a batch ends with it.
    is_paged: bool,
    reorder: Reorder,
    /// Whether everything has to be read before the first row is known.
    gathers: bool,
    /// What was gathered then, in key order.
    gathered: Option<VecDeque<Bytes>>,
    decoder: Decoder,
    rows_left: usize,
}

impl Scan {
    fn new(core: Arc<Core>, request: ScanRequest) -> Self {
        let rows_left = request.limit.unwrap_or(usize::MAX);
        let gathers = gathers(&core, &request);
        let limit = request.limit.filter(|limit| !gathers || *limit == 0);
        let shape = Arc::new(Shape {
            table: request.table.clone(),
            select: select(&core, &request),
            top: limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX),
            stats: Some(Arc::clone(&request.stats)),
        });
        let pages = Pages::new(Arc::clone(&core), shape, &request, limit);
        let decoder = Decoder::new(Arc::clone(&request.columns));
        let reorder = Reorder::default();
        Self { core, request, pages, page: None, is_paged: false, reorder, gathers, gathered: None, decoder, rows_left }
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        let mut columns = EntityColumns::new(Arc::clone(&self.request.columns));
        let filled =
            if self.gathers { self.fill_from_gathered(&mut columns).await } else { self.fill(&mut columns).await };
        // Also when a value did not fit: the next statement then knows of its type.
        if let Some(news) = self.decoder.take_news() {
            self.core.observed.note(&self.request.table, &news);
        }
        filled?;
        columns.take()
    }

    fn wants_more(&self, columns: &EntityColumns) -> bool {
        self.rows_left > 0 && !columns.is_full(self.request.batch_rows)
    }

    async fn fill(&mut self, columns: &mut EntityColumns) -> Result<(), StoreError> {
        while self.wants_more(columns) {
            if let Some(json) = self.reorder.next() {
                self.push(&json, columns)?;
            } else if self.page.is_some() {
                self.fill_from_page(columns)?;
            } else if self.is_paged && !columns.is_empty() {
                // What is there may be all that is wanted.
                break;
            } else if !self.turn_page().await? {
                break;
            }
        }
        Ok(())
    }

    /// False when there are no more.
    async fn turn_page(&mut self) -> Result<bool, StoreError> {
        self.page = self.pages.next().await?;
        self.is_paged = self.page.as_ref().is_some_and(|page| !page.is_point());
        Ok(self.page.is_some())
    }

    /// Takes entities of the page until it, the batch or the limit is at its end.
    fn fill_from_page(&mut self, columns: &mut EntityColumns) -> Result<(), StoreError> {
        let Some(page) = &mut self.page else { return Ok(()) };
        let body = page.body.clone();
        let mut json = page.json(&body)?;
        let mut entity = RawEntity::default();
        while self.rows_left > 0 && !columns.is_full(self.request.batch_rows) {
            let Some(place) = page.next_entity(&mut json, &mut entity)? else {
                if page.is_last {
                    self.reorder.end_run();
                }
                self.page = None;
                return Ok(());
            };
            if !page.range.contains_pair(&entity.partition, &entity.row) {
                continue;
            }
            if self.reorder.takes(&entity, || body.slice(place))? {
                // What was sorted comes out first.
                return Ok(());
            }
            self.decoder.push(&entity, columns)?;
            self.request.stats.add_entities_scanned(1);
            self.rows_left -= 1;
        }
        Ok(())
    }

    fn push(&mut self, json: &Bytes, columns: &mut EntityColumns) -> Result<(), StoreError> {
        let text = std::str::from_utf8(json).map_err(|error| super::reply::damaged(&error))?;
        let mut entity = RawEntity::default();
        entity.read(&mut Json::new(text, 0))?;
        self.decoder.push(&entity, columns)?;
        self.request.stats.add_entities_scanned(1);
        self.rows_left -= 1;
        Ok(())
    }

    async fn fill_from_gathered(&mut self, columns: &mut EntityColumns) -> Result<(), StoreError> {
        if self.gathered.is_none() {
            self.gathered = Some(self.gather().await?);
        }
        while self.wants_more(columns) {
            let next = match self.request.direction {
                Direction::Forward => VecDeque::pop_front,
                Direction::Reverse => VecDeque::pop_back,
            };
            let Some(json) = self.gathered.as_mut().and_then(next) else { break };
            self.push(&json, columns)?;
        }
        Ok(())
    }

    /// Reads everything. Where that comes in order, only as many of the last entities are kept as the limit allows.
    async fn gather(&mut self) -> Result<VecDeque<Bytes>, StoreError> {
        let is_ordered = self.core.client.account().kind() == ServiceKind::Storage;
        let most = if is_ordered { self.rows_left } else { usize::MAX };
        let (mut kept, mut bytes) = (VecDeque::new(), 0_usize);
        let mut keep = |entity: Bytes| {
            bytes += entity.len();
            kept.push_back(entity);
            if kept.len() > most {
                bytes -= kept.pop_front().map_or(0, |first| first.len());
            }
            if bytes > GATHERED_MAX_BYTES {
                return Err(StoreError::Unsupported("putting so many entities into order"));
            }
            Ok(())
        };
        while let Some(mut page) = self.pages.next().await? {
            let body = page.body.clone();
            let mut json = page.json(&body)?;
            let mut entity = RawEntity::default();
            while let Some(place) = page.next_entity(&mut json, &mut entity)? {
                if !page.range.contains_pair(&entity.partition, &entity.row) {
                    continue;
                }
                let taken = self.reorder.takes(&entity, || body.slice(place.clone()))?;
                std::iter::from_fn(|| self.reorder.next()).try_for_each(&mut keep)?;
                if !taken {
                    keep(body.slice(place))?;
                }
            }
            if page.is_last {
                self.reorder.end_run();
                std::iter::from_fn(|| self.reorder.next()).try_for_each(&mut keep)?;
            }
        }
        if !is_ordered {
            sort(&mut kept)?;
        }
        Ok(kept)
    }
}

/// What will be asked for, told without asking.
pub(super) fn describe(core: &Core, request: &ScanRequest) -> ScanPlan {
    let values = values(core, request);
    let mut plan = ScanPlan::default();
    let mut remote = RemotePlan {
        select: select(core, request),
        at_once: at_once(core, request.limit.filter(|limit| !gathers(core, request) || *limit == 0)),
        at_once_in_partition: core.options.requests_per_partition,
        at_once_in_all: core.options.requests_per_account,
        reads_all_first: gathers(core, request),
        ..RemotePlan::default()
    };
    for step in request.ranges.iter().flat_map(|range| super::filter::steps(range, &values)) {
        let Step::Query(query) = step else {
            plan.look_ups += 1;
            continue;
        };
        plan.range_reads += 1;
        match query.filter() {
            Some(filter) if remote.filters.len() < FILTERS_TOLD => remote.filters.push(filter),
            Some(_) => remote.more_filters += 1,
            None => {}
        }
    }
    plan.remote = Some(remote);
    plan
}

/// What the service is asked of the values: it, and the emulator once it has answered. Cosmos compares by rules of its own.
fn values(core: &Core, request: &ScanRequest) -> PropertyFilter {
    let account = core.client.account();
    match (&request.predicate, core.client.dialect()) {
        (Some(predicate), Some(dialect)) if account.kind() == ServiceKind::Storage => {
            PropertyFilter::new(predicate, dialect, &|name| core.observed.types(&request.table, name))
        }
        _ => PropertyFilter::default(),
    }
}

/// The service reads forward only, and Cosmos in no order.
fn gathers(core: &Core, request: &ScanRequest) -> bool {
    request.direction == Direction::Reverse || core.client.account().kind() == ServiceKind::Cosmos
}

/// Requests of one scan under way together: those that a limit may not need are not among them.
fn at_once(core: &Core, limit: Option<usize>) -> usize {
    core.options.requests_per_scan.min(limit.unwrap_or(usize::MAX)).max(1)
}

/// Puts entities into key order.
fn sort(entities: &mut VecDeque<Bytes>) -> Result<(), StoreError> {
    let mut keyed = Vec::with_capacity(entities.len());
    for json in entities.drain(..) {
        let text = std::str::from_utf8(&json).map_err(|error| super::reply::damaged(&error))?;
        let mut entity = RawEntity::default();
        entity.read(&mut Json::new(text, 0))?;
        keyed.push((entity.key()?, json));
    }
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    entities.extend(keyed.into_iter().map(|(_, json)| json));
    Ok(())
}

/// The properties to ask for; `None` for all of them, so that new ones are seen where every known one is wanted anyway.
fn select(core: &Core, request: &ScanRequest) -> Option<String> {
    let mut names: Vec<&str> = vec!["PartitionKey", "RowKey", "Timestamp"];
    for (_, name) in request.columns.properties() {
        if !names.contains(&name.as_str()) {
            names.push(name.as_str());
        }
    }
    if names.len() > SELECT_MAX || core.observed.shows_all(&request.table, &names) {
        return None;
    }
    Some(names.join(","))
}

/// The pages of all steps, in order.
struct Pages {
    core: Arc<Core>,
    shape: Arc<Shape>,
    reads_ahead: bool,
    /// The first page of each step.
    first: BoxStream<'static, Result<Page, StoreError>>,
    more: More,
}

/// The page behind the one that is being read.
enum More {
    None,
    Wanted(Query),
    Asked(PageTask),
}

impl Pages {
    fn new(core: Arc<Core>, shape: Arc<Shape>, request: &ScanRequest, limit: Option<usize>) -> Self {
        let ranges = Arc::clone(&request.ranges);
        let values = values(&core, request);
        let steps = (0..ranges.len()).flat_map(move |index| super::filter::steps(&ranges[index], &values));
        let steps = steps.take(if limit == Some(0) { 0 } else { usize::MAX });
        let at_once = at_once(&core, limit);
        let (asking, of) = (Arc::clone(&core), Arc::clone(&shape));
        let first = stream::iter(steps)
            .map(move |step| PageTask::start(&asking, &of, Query::of(step)).map_err(lost).unwrap_or_else(Err))
            .buffered(at_once)
            .boxed();
        Self { core, shape, reads_ahead: limit.is_none(), first, more: More::None }
    }

    async fn next(&mut self) -> Result<Option<Page>, StoreError> {
        let page = match std::mem::replace(&mut self.more, More::None) {
            More::Asked(task) => task.await.unwrap_or_else(|error| Err(lost(error)))?,
            More::Wanted(query) => super::page::fetch(&self.core, &self.shape, query).await?,
            More::None => match self.first.next().await {
                Some(page) => page?,
                None => return Ok(None),
            },
        };
        self.more = match page.next.clone() {
            None => More::None,
            Some(query) if self.reads_ahead => More::Asked(PageTask::start(&self.core, &self.shape, query)),
            Some(query) => More::Wanted(query),
        };
        Ok(Some(page))
    }
}

/// A task that asks for a page ends early only when the runtime does.
fn lost(_: tokio::task::JoinError) -> StoreError {
    StoreError::ShuttingDown
}
