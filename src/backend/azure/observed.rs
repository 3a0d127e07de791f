//! What properties tables have, as far as it is known: from samples, from what is read, from what is written.
//!
//! The service keeps no such record. A table is sampled when its columns are first asked for, and again after a while;
//! whatever a scan meets or a commit writes is added at once. So unlike elsewhere a property can exist that nobody here
//! has seen yet; it becomes a column as soon as somebody does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::Core;
use super::entity::{Decoder, RawEntity};
use super::filter::{Query as Filter, Step};
use super::page::{Page, Query, Shape, fetch};
use super::property_filter::PropertyFilter;
use super::scan::no_columns;
use crate::model::{Cut, Properties, PropertyName, Span, TableName};
use crate::table::{EntityColumns, KeyRange, ObservedSchema, StoreError, TypeSet};

/// Entities of the first page of a sample, and of each other place.
const FIRST_PAGE: usize = 1000;
const OTHER_PAGES: usize = 100;
/// Where keys are likely to begin: a page from behind each of these, if there is one.
const PLACES: [&str; 8] = ["2", "5", "8", "D", "M", "a", "h", "q"];

/// What is known of all tables.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<HashMap<TableName, Known>>);

#[derive(Debug, Default)]
struct Known {
    schema: Arc<ObservedSchema>,
    sampled: Option<Instant>,
}

impl Observed {
    /// Adds what was met in a table.
    pub fn note(&self, table: &TableName, met: &ObservedSchema) {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        if let Some(both) = known.schema.with(met) {
            known.schema = Arc::new(both);
        }
    }

    /// Adds what is written to a table.
    pub fn note_written<'a>(&self, table: &TableName, written: impl Iterator<Item = &'a Properties>) {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        for properties in written {
            if !known.schema.covers(properties) {
                Arc::make_mut(&mut known.schema).observe(properties);
            }
        }
    }

    /// Whether these names are all that the table is known to have.
    pub fn shows_all(&self, table: &TableName, names: &[&str]) -> bool {
        let tables = self.tables();
        let Some(known) = tables.get(table).filter(|known| known.sampled.is_some()) else { return false };
        known.schema.properties().iter().all(|property| names.contains(&property.name.as_str()))
    }

    /// The types a property was seen with, as far as anybody has looked.
    pub fn types(&self, table: &TableName, property: &PropertyName) -> TypeSet {
        let tables = self.tables();
        let known = tables.get(table).and_then(|known| known.schema.get(property.as_str()));
        known.map(|property| property.types).unwrap_or_default()
    }

    /// A new table has no properties.
    pub fn created(&self, table: &TableName) {
        self.tables().insert(table.clone(), Known { schema: Arc::default(), sampled: Some(Instant::now()) });
    }

    pub fn forget(&self, table: &TableName) {
        self.tables().remove(table);
    }

    fn fresh(&self, table: &TableName, age: Duration) -> Option<Arc<ObservedSchema>> {
        let tables = self.tables();
        let known = tables.get(table)?;
        known.sampled.filter(|sampled| sampled.elapsed() < age).map(|_| Arc::clone(&known.schema))
    }

    fn sampled(&self, table: &TableName, found: &ObservedSchema) -> Arc<ObservedSchema> {
        self.note(table, found);
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        known.sampled = Some(Instant::now());
        Arc::clone(&known.schema)
    }

    /// A whole table was read: what it no longer has is dropped, but for what was met since `before`.
    fn analyzed(&self, table: &TableName, before: &ObservedSchema, found: &ObservedSchema) {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        let mut kept = known.schema.narrowed_to(found);
        let since =
            known.schema.properties().iter().filter(|property| before.get(property.name.as_str()) != Some(property));
        for property in since.chain(found.properties()) {
            kept.add(&property.name, property.types);
        }
        *known = Known { schema: Arc::new(kept), sampled: Some(Instant::now()) };
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<TableName, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a table, sampled anew when that is long ago.
///
/// # Errors
/// [`StoreError::TableMissing`].
pub(super) async fn schema(core: &Core, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
    if let Some(known) = core.observed.fresh(table, core.options.sample_age) {
        return Ok(known);
    }
    match sample(core, table).await {
        Ok(found) => Ok(core.observed.sampled(table, &found)),
        Err(error) => {
            if matches!(error, StoreError::TableMissing(_)) {
                core.observed.forget(table);
            }
            Err(error)
        }
    }
}

async fn sample(core: &Core, table: &TableName) -> Result<ObservedSchema, StoreError> {
    let mut found = ObservedSchema::default();
    let shape = |top| Shape { table: table.clone(), select: None, top, stats: None };
    let first = fetch(core, &shape(FIRST_PAGE), from(Cut::Min)).await?;
    let is_all = first.is_last;
    add(&mut found, first)?;
    if is_all {
        return Ok(found);
    }
    let other = shape(OTHER_PAGES);
    let pages: Vec<_> = PLACES.iter().map(|place| fetch(core, &other, from(Cut::Before((*place).into())))).collect();
    let pages: Vec<Page> = stream::iter(pages).buffered(PLACES.len()).try_collect().await?;
    pages.into_iter().try_for_each(|page| add(&mut found, page))?;
    Ok(found)
}

/// Reads a whole table to say what it has now.
///
/// # Errors
/// [`StoreError::TableMissing`].
pub(super) async fn analyze(core: &Core, table: &TableName) -> Result<(), StoreError> {
    let known = core.observed.fresh(table, Duration::MAX).unwrap_or_default();
    let mut found = ObservedSchema::default();
    let shape = Shape { table: table.clone(), select: None, top: FIRST_PAGE, stats: None };
    let mut next = Some(from(Cut::Min));
    while let Some(query) = next {
        let mut page = fetch(core, &shape, query).await?;
        next = page.next.take();
        add(&mut found, page)?;
    }
    core.observed.analyzed(table, &known, &found);
    Ok(())
}

fn from(cut: Cut) -> Query {
    let partitions = Span { from: cut, to: Cut::Max };
    let range = KeyRange { partitions, rows: Arc::new([Span::ALL]) };
    let steps = super::filter::steps(&range, &PropertyFilter::default());
    let whole = || Step::Query(Filter { keys: None, values: None, range: KeyRange::all() });
    Query::of(steps.into_iter().next().unwrap_or_else(whole))
}

/// Adds what the entities of a page have.
fn add(found: &mut ObservedSchema, mut page: Page) -> Result<(), StoreError> {
    let body = page.body.clone();
    let mut json = page.json(&body)?;
    let (mut decoder, mut columns) = (Decoder::new(no_columns()), EntityColumns::new(no_columns()));
    let mut entity = RawEntity::default();
    while page.next_entity(&mut json, &mut entity)?.is_some() {
        decoder.push(&entity, &mut columns)?;
    }
    if let Some(both) = decoder.take_news().and_then(|news| found.with(&news)) {
        *found = both;
    }
    Ok(())
}
