//! Samples of undeclared tables: pages from several places of the key space, and which properties their entities have.
//!
//! The first page shows where the table begins. Behind it the places are those where keys often begin, and those behind
//! each beginning of the last key that was seen: past `2024-01-31|ann` lie other names, other days, other months, other
//! years. So few pages reach far, whatever the keys are made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use tablegate_store::model::{Cut, EdmRef, EdmType, PropertyName, Span, TableName};
use tablegate_store::table::{KeyRange, ObservedProperty, ObservedSchema, StoreError, TypeSet};

use super::Core;
use super::entity::RawEntity;
use super::filter::{Query as Filter, Step};
use super::observed::Standing;
use super::page::{Page, PageTask, Query, Shape, fetch};
use super::property_filter::PropertyFilter;

/// Entities of the first page of a sample, and of each other place.
const FIRST_PAGE: usize = 1000;
const OTHER_PAGES: usize = 100;
/// Where keys are likely to begin: a page from behind each of these, if there is one.
const BEGINNINGS: [&str; 8] = ["2", "5", "8", "D", "M", "a", "h", "q"];
/// How many beginnings of a key are skipped past.
const SKIPS: usize = 6;

/// What the entities that were looked at have.
#[derive(Debug, Default)]
pub(super) struct Tally {
    entities: u64,
    /// In order of first sight.
    properties: Vec<Property>,
    places: HashMap<String, usize>,
}

#[derive(Debug)]
struct Property {
    name: String,
    types: TypeSet,
    /// By the code of the type.
    entities: [u64; EdmType::ALL.len()],
}

impl Tally {
    pub(super) fn entities(&self) -> u64 {
        self.entities
    }

    pub(super) fn entities_with(&self, name: &str, edm_type: EdmType) -> u64 {
        let property = self.places.get(name).and_then(|place| self.properties.get(*place));
        property.and_then(|property| property.entities.get(usize::from(edm_type.code()))).copied().unwrap_or_default()
    }

    /// A name that SQL could not use is not a column either.
    pub(super) fn properties(&self) -> Vec<ObservedProperty> {
        let named = |property: &Property| Some((PropertyName::parse(&property.name).ok()?, property.types));
        self.properties.iter().filter_map(named).map(|(name, types)| ObservedProperty { name, types }).collect()
    }

    pub(super) fn count_entity(&mut self) {
        self.entities += 1;
    }

    /// Counts a property of the entity.
    pub(super) fn count(&mut self, name: &str, value: EdmRef<'_>) {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            self.places.insert(name.to_owned(), self.properties.len());
            let entities = [0; EdmType::ALL.len()];
            self.properties.push(Property { name: name.to_owned(), types: TypeSet::default(), entities });
            self.properties.len() - 1
        });
        let property = &mut self.properties[place];
        property.types = property.types.union(TypeSet::of(value));
        property.entities[usize::from(value.edm_type().code())] += 1;
    }

    fn add(&mut self, entity: &RawEntity<'_>) -> Result<(), StoreError> {
        self.count_entity();
        entity.each_value(|name, value| self.count(name, value))
    }
}

/// A tally of entities that are not met twice.
#[derive(Debug, Default)]
struct Sample {
    tally: Tally,
    keys: HashSet<(String, String)>,
    last: Option<(String, String)>,
}

impl Sample {
    fn add(&mut self, page: Page) -> Result<(), StoreError> {
        each_entity(page, |entity| {
            let key = (entity.partition.to_string(), entity.row.to_string());
            self.last = Some(key.clone());
            if self.keys.insert(key) { self.tally.add(entity) } else { Ok(()) }
        })
    }

    /// Whether all that was seen is in one partition.
    fn is_one_partition(&self) -> bool {
        let mut partitions = self.keys.iter().map(|(partition, _)| partition);
        let first = partitions.next();
        partitions.all(|partition| Some(partition) == first)
    }
}

/// What is known of a table. It is sampled first if nothing is known or the last sample has expired; a sample that will
/// expire soon is used and renewed in the background.
///
/// # Errors
/// [`StoreError::TableMissing`].
pub(super) async fn schema(core: &Arc<Core>, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
    let standing = || core.observed.standing(table, core.options.sample_age);
    match standing() {
        Standing::Fresh(known) => return Ok(known),
        Standing::Due(known) => {
            renew(core, table);
            return Ok(known);
        }
        Standing::Old => {}
    }
    let sampling = core.observed.sampling(table);
    let _one = sampling.lock().await;
    match standing() {
        // Somebody else has just done it.
        Standing::Fresh(known) | Standing::Due(known) => Ok(known),
        Standing::Old => sample_anew(core, table).await,
    }
}

/// Takes a sample behind the back of who asks, unless one is being taken.
fn renew(core: &Arc<Core>, table: &TableName) {
    let Ok(one) = core.observed.sampling(table).try_lock_owned() else { return };
    let (core, table) = (Arc::clone(core), table.clone());
    tokio::spawn(async move {
        let _one = one;
        if let Err(error) = sample_anew(&core, &table).await {
            // The error itself is returned to the next caller that asks after the old sample has expired.
            tracing::debug!(%table, %error, "the table could not be sampled");
        }
    });
}

async fn sample_anew(core: &Core, table: &TableName) -> Result<Arc<ObservedSchema>, StoreError> {
    match sample(core, table).await {
        Ok(sample) => Ok(core.observed.sampled(table, &sample.tally)),
        Err(error) => {
            if matches!(error, StoreError::TableMissing(_)) {
                core.observed.forget(table);
            }
            Err(error)
        }
    }
}

async fn sample(core: &Core, table: &TableName) -> Result<Sample, StoreError> {
    let mut sample = Sample::default();
    let first = fetch(core, &shape(table, FIRST_PAGE), beginning()).await?;
    let is_all = first.is_last;
    sample.add(first)?;
    if is_all {
        return Ok(sample);
    }
    let (partition, row) = sample.last.clone().unwrap_or_default();
    let mut places: Vec<Query> = places(&partition).into_iter().filter_map(|cut| from(None, cut)).collect();
    if sample.is_one_partition() && !sample.keys.is_empty() {
        places.extend(self::places(&row).into_iter().filter_map(|cut| from(Some(&partition), cut)));
    }
    let other = shape(table, OTHER_PAGES);
    let pages: Vec<_> = places.into_iter().map(|query| fetch(core, &other, query)).collect();
    let pages: Vec<Page> = stream::iter(pages).buffered(core.options.requests_per_scan.max(1)).try_collect().await?;
    pages.into_iter().try_for_each(|page| sample.add(page))?;
    Ok(sample)
}

/// Where to look for keys behind this one, in order.
fn places(last: &str) -> Vec<Cut> {
    let ends: Vec<usize> = last.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    // Spread over the whole key where it is long, with all of it as the last.
    let count = SKIPS.min(ends.len());
    let chosen = (1..=count).map(|i| ends[i * ends.len() / count - 1]);
    let skips = chosen.map(|end| Cut::AfterPrefix(last[..end].into()));
    let beginnings = BEGINNINGS.iter().filter(|beginning| **beginning > last).map(|at| Cut::Before((*at).into()));
    let mut places: Vec<Cut> = skips.chain(beginnings).collect();
    places.sort();
    places.dedup();
    places
}

/// Reads a whole table to say what it has now.
///
/// # Errors
/// [`StoreError::TableMissing`].
pub(super) async fn analyze(core: &Arc<Core>, table: &TableName) -> Result<(), StoreError> {
    let before = core.observed.known(table);
    let mut tally = Tally::default();
    let shape = Arc::new(shape(table, FIRST_PAGE));
    let mut next = Some(PageTask::start(core, &shape, beginning()));
    while let Some(task) = next {
        let mut page = task.await.map_err(|_| StoreError::ShuttingDown)??;
        // The next page comes while this one is read.
        next = page.next.take().map(|query| PageTask::start(core, &shape, query));
        each_entity(page, |entity| tally.add(entity))?;
    }
    core.observed.analyzed(table, &before, &tally);
    Ok(())
}

fn shape(table: &TableName, top: usize) -> Shape {
    Shape { table: table.clone(), select: None, top, stats: None }
}

fn beginning() -> Query {
    Query::of(Step::Query(Filter { keys: None, values: None, range: KeyRange::all() }))
}

/// The entities behind a cut of the partitions, or of the rows of one partition.
fn from(partition: Option<&str>, cut: Cut) -> Option<Query> {
    let behind = Span { from: cut, to: Cut::Max };
    let range = match partition {
        None => KeyRange { partitions: behind, rows: Arc::new([Span::ALL]) },
        Some(partition) => KeyRange { partitions: Span::point(partition), rows: Arc::new([behind]) },
    };
    super::filter::steps(&range, &PropertyFilter::default()).into_iter().next().map(Query::of)
}

fn each_entity(
    mut page: Page,
    mut show: impl FnMut(&RawEntity<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let body = page.body.clone();
    let mut json = page.json(&body)?;
    let mut entity = RawEntity::default();
    while page.next_entity(&mut json, &mut entity)?.is_some() {
        show(&entity)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_behind_the_key_and_reach_far() {
        let found = places("2024-01-31|ann");
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(found.iter().all(|cut| !cut.is_before("2024-01-31|ann")), "{found:?}");
        assert!(found.len() <= SKIPS + BEGINNINGS.len());
        for other in ["2025", "5", "zebra"] {
            assert!(found.iter().any(|cut| cut.is_before(other)), "{other}");
        }
        // Another day of the same month is found by a skip alone.
        assert!(found.iter().any(|cut| cut.is_before("2024-02-01") && !cut.is_before("2024-01-32")), "{found:?}");
        assert_eq!(places("").len(), BEGINNINGS.len());
        assert!(places("é").contains(&Cut::AfterPrefix("é".into())));
    }
}
