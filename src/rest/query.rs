//! Query Entities: one page of what a filter finds, in key order, and where the next one begins.
//!
//! A page ends at the entity that is one too many, when it is as long as the service lets it be, or when it has taken as
//! long: its token is the key of the entity that comes next. So pages go on from a place in the order of keys,
//! whatever is written between them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use tablegate_store::model::{Cut, EdmRef, Span, TableName};
use tablegate_store::table::{
    Direction, EntityView, EntityWalk, KeyRange, ScanColumns, ScanRequest, ScanStats, StoreError, sift, walk,
};
use tablegate_types::key_set::{KeySet, Slab};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::answer::Answer;
use crate::auth::{Access, Need};
use crate::door::Door;
use crate::edm::{EntityWriter, Metadata, Selection, write_string};
use crate::error::{Refusal, RestResult};
use crate::filter::{Filter, Property, Values, ranges};
use crate::head::Head;
use crate::token;

/// Most entities in a page.
pub(crate) const PAGE_MAX: usize = 1000;
/// How long one takes to be found.
const PAGE_TIME: Duration = Duration::from_secs(5);
/// How long one gets, but for its last entity.
const PAGE_BYTES: usize = 4 << 20;
/// Entities between two looks at the clock.
const LOOK_AT_CLOCK: u64 = 256;
/// Entities that are read where the request is served, if all are of few partitions that it names: handing it to another
/// thread would take longer.
const FEW_ENTITIES: usize = 128;
const FEW_RANGES: usize = 16;

/// `$top`, if it is given.
///
/// # Errors
/// For a number that no page has.
pub(crate) fn top(head: &Head) -> RestResult<Option<usize>> {
    let Some(text) = head.query.get("$top") else { return Ok(None) };
    let top = text.parse().ok().filter(|top| (1..=PAGE_MAX).contains(top));
    top.map(Some).ok_or(Refusal::InvalidInput)
}

pub(crate) async fn query(door: &Door, head: &Head, table: &TableName, access: &Access) -> RestResult<Answer> {
    access.check(Need::Query(table))?;
    door.check_visible(table)?;
    let (filter, ranges) = what(head, access)?;
    let partition = ranges.iter().all(|range| range.partitions.as_point().is_some()).then(|| ranges.first()).flatten();
    let partition = partition.and_then(|range| range.partitions.as_point()).map(|partition| &**partition);
    door.throttle(table, partition, 1)?;
    let is_short = ranges.len() <= FEW_RANGES && ranges.iter().all(|range| range.partitions.as_point().is_some());
    let stats = Arc::<ScanStats>::default();
    let request = ScanRequest {
        table: table.clone(),
        ranges: ranges.clone().into(),
        columns: Arc::new(ScanColumns::new(Vec::new())),
        predicate: filter.as_ref().and_then(Filter::hint),
        direction: Direction::Forward,
        limit: None,
        batch_rows: PAGE_MAX,
        stats: Arc::clone(&stats),
    };
    let page = Page::new(head, table, filter)?;
    let walk = match is_short || !door.keeps_columns(table) {
        true => walk(&door.reader(), request)?,
        false => sift(&door.reader(), request).await?,
    };
    let page = fill(walk, page, is_short).await?;
    let scanned = stats.entities_scanned();
    // What was read is counted behind it: how much it would be is not known before.
    let _ = door.throttle(table, partition, scanned.saturating_sub(1));
    Ok(Answer { scanned, ..page.into_answer() })
}

/// What the query asks of entities, and where they can be.
fn what(head: &Head, access: &Access) -> RestResult<(Option<Filter>, Vec<KeyRange>)> {
    head.query.check_options()?;
    let filter = Filter::parse(head.query.get("$filter").unwrap_or_default())?;
    let keys = filter.as_ref().map_or(KeySet::All, Filter::keys).intersect(&access.keys());
    let keys = match (head.query.get("NextPartitionKey"), head.query.get("NextRowKey")) {
        (Some(partition), row) => {
            let row = row.filter(|row| !row.is_empty()).map(token::decode).transpose()?;
            keys.intersect(&from(&token::decode(partition)?, row.as_deref().unwrap_or_default()))
        }
        (None, Some(_)) => return Err(Refusal::InvalidInput),
        (None, None) => keys,
    };
    Ok((filter, ranges(&keys)))
}

/// The keys from this one on.
fn from(partition: &str, row: &str) -> KeySet {
    let rows = KeySet::on_axis(0, vec![Span { from: Cut::Before(row.into()), to: Cut::Max }]);
    let behind = Span { from: Cut::After(partition.into()), to: Cut::Max };
    KeySet::from_slabs([Slab { span: Span::point(partition), rest: rows }, Slab { span: behind, rest: KeySet::All }])
}

/// Fills the page: the first entities where it is asked for if the walk is a short one, the rest on a thread that may be
/// blocked.
async fn fill(mut walk: Box<dyn EntityWalk>, mut page: Page, is_short: bool) -> RestResult<Page> {
    if is_short {
        let goes_on = page.take(&mut *walk, FEW_ENTITIES).await?;
        if !goes_on || page.is_full() {
            return Ok(page);
        }
    }
    let handle = Handle::current();
    let filled = spawn_blocking(move || {
        handle.block_on(async move {
            while !page.is_full() && page.take(&mut *walk, usize::MAX).await? {}
            Ok::<_, StoreError>(page)
        })
    });
    match filled.await {
        Ok(page) => Ok(page?),
        Err(error) if error.is_cancelled() => Err(Refusal::Busy),
        Err(error) => {
            tracing::error!(%error, "a query failed");
            Err(Refusal::Internal)
        }
    }
}

/// A page that is being written.
struct Page {
    filter: Option<Filter>,
    top: usize,
    metadata: Metadata,
    base: String,
    account: String,
    table: TableName,
    selection: Selection,
    body: Vec<u8>,
    entities: usize,
    looked_at: u64,
    until: Instant,
    /// The entity that the next page begins with.
    next: Option<(String, String)>,
}

impl Page {
    fn new(head: &Head, table: &TableName, filter: Option<Filter>) -> RestResult<Self> {
        let selection = Selection::parse(head.query.get("$select"));
        let metadata = head.metadata()?;
        let mut body = b"{".to_vec();
        if metadata != Metadata::None {
            body.extend_from_slice(b"\"odata.metadata\":");
            write_string(&mut body, &format!("{}/$metadata#{table}{}", head.base, selection.suffix()));
            body.push(b',');
        }
        body.extend_from_slice(b"\"value\":[");
        Ok(Self {
            filter,
            top: top(head)?.unwrap_or(PAGE_MAX),
            metadata,
            base: head.base.clone(),
            account: head.account.clone(),
            table: table.clone(),
            selection,
            body,
            entities: 0,
            looked_at: 0,
            until: Instant::now() + PAGE_TIME,
            next: None,
        })
    }

    fn is_full(&self) -> bool {
        self.next.is_some()
    }

    /// Takes the next entities of the walk; true when there may be more.
    async fn take(&mut self, walk: &mut dyn EntityWalk, entities: usize) -> Result<bool, StoreError> {
        walk.advance(entities, &mut |entity| self.see(entity)).await
    }

    fn see(&mut self, entity: &EntityView<'_>) -> Result<ControlFlow<()>, StoreError> {
        self.looked_at += 1;
        let is_late = self.looked_at.is_multiple_of(LOOK_AT_CLOCK) && Instant::now() >= self.until;
        if !is_late && !self.filter.as_ref().map_or(Ok(true), |filter| filter.holds(&Seen(entity)))? {
            return Ok(ControlFlow::Continue(()));
        }
        if is_late || self.entities == self.top || self.body.len() >= PAGE_BYTES {
            self.next = Some((entity.partition.to_owned(), entity.row.to_owned()));
            return Ok(ControlFlow::Break(()));
        }
        if self.entities > 0 {
            self.body.push(b',');
        }
        let Self { metadata, base, account, table, selection, body, .. } = self;
        EntityWriter { metadata: *metadata, base, account, table, selection }.write(body, entity, None)?;
        self.entities += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn into_answer(mut self) -> Answer {
        self.body.extend_from_slice(b"]}");
        let answer = Answer::json(StatusCode::OK, self.metadata, self.body).with_entities(self.entities as u64);
        match self.next {
            Some((partition, row)) => answer
                .with_name("x-ms-continuation-nextpartitionkey", &token::encode(&partition))
                .with_name("x-ms-continuation-nextrowkey", &token::encode(&row)),
            None => answer,
        }
    }
}

/// An entity as filters see it.
struct Seen<'a>(&'a EntityView<'a>);

impl Values<StoreError> for Seen<'_> {
    fn value(&self, property: &Property) -> Result<Option<EdmRef<'_>>, StoreError> {
        Ok(match property {
            Property::PartitionKey => Some(EdmRef::String(self.0.partition)),
            Property::RowKey => Some(EdmRef::String(self.0.row)),
            Property::Timestamp => Some(EdmRef::DateTime(self.0.timestamp)),
            Property::Custom(name) => self.0.properties.get(name)?,
        })
    }
}
