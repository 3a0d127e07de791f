//! What properties tables have, as far as it is known: from samples, from what is read, from what is written.
//!
//! The service keeps no such record. A table is sampled when its columns are first asked for, and again after a while;
//! whatever a scan meets or a commit writes is added at once. So, unlike in the other stores, a property can exist that
//! this process has not seen yet; it becomes a column as soon as it is seen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tablegate_store::model::{Clock, Properties, PropertyName, SystemClock, TableName};
use tablegate_store::table::{Counted, ObservedProperty, ObservedSchema, Sighting, SightingSource, Sightings, TypeSet};

use super::sample::Tally;

/// What is known of all tables.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<HashMap<TableName, Known>>);

#[derive(Debug, Default)]
struct Known {
    schema: Arc<ObservedSchema>,
    sightings: Arc<Sightings>,
    sampled: Option<Instant>,
    /// Held by who takes a sample: one at a time.
    sampling: Arc<tokio::sync::Mutex<()>>,
}

/// What is known of one table, and whether that will do.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    Fresh(Arc<ObservedSchema>),
    /// It still serves, and is to be renewed before it no longer does.
    Due(Arc<ObservedSchema>),
    Old,
}

impl Known {
    fn standing(&self, age: Option<Duration>, now: Instant) -> Standing {
        let Some(sampled) = self.sampled else { return Standing::Old };
        let since = now.saturating_duration_since(sampled);
        match age {
            Some(age) if since >= age => Standing::Old,
            Some(age) if since >= age / 2 => Standing::Due(Arc::clone(&self.schema)),
            Some(_) | None => Standing::Fresh(Arc::clone(&self.schema)),
        }
    }

    /// Adds what of this is new.
    fn add(&mut self, met: &[ObservedProperty], source: SightingSource) {
        for property in met {
            let known = self.schema.get(property.name.as_str()).map(|known| known.types).unwrap_or_default();
            if known.contains_all(property.types) {
                continue;
            }
            Arc::make_mut(&mut self.schema).add(&property.name, property.types);
            let sightings = Arc::make_mut(&mut self.sightings);
            let first_seen = SystemClock.now();
            sightings.each.extend(property.types.iter().filter(|edm_type| !known.contains(*edm_type)).map(
                |edm_type| Sighting { property: property.name.clone(), edm_type, source, first_seen, entities: 0 },
            ));
        }
    }

    /// What was counted replaces what was counted before.
    fn count(&mut self, tally: &Tally) {
        let sightings = Arc::make_mut(&mut self.sightings);
        for seen in &mut sightings.each {
            seen.entities = tally.entities_with(seen.property.as_str(), seen.edm_type);
        }
        sightings.counted = Some(Counted { entities: tally.entities(), at: SystemClock.now() });
        self.sampled = Some(Instant::now());
    }
}

impl Observed {
    /// Adds what a scan met in a table.
    pub(super) fn note(&self, table: &TableName, met: &ObservedSchema) {
        self.tables().entry(table.clone()).or_default().add(met.properties(), SightingSource::Scan);
    }

    /// Adds what is written to a table.
    pub(super) fn note_written<'a>(&self, table: &TableName, written: impl Iterator<Item = &'a Properties>) {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        for properties in written {
            if !known.schema.covers(properties) {
                let mut news = ObservedSchema::default();
                news.observe(properties);
                known.add(news.properties(), SightingSource::Write);
            }
        }
    }

    /// Whether these names are all that the table is known to have.
    pub(super) fn shows_all(&self, table: &TableName, names: &[&str]) -> bool {
        let tables = self.tables();
        let Some(known) = tables.get(table).filter(|known| known.sampled.is_some()) else { return false };
        known.schema.properties().iter().all(|property| names.contains(&property.name.as_str()))
    }

    /// The types a property was seen with, as far as anybody has looked.
    pub(super) fn types(&self, table: &TableName, property: &PropertyName) -> TypeSet {
        let tables = self.tables();
        let known = tables.get(table).and_then(|known| known.schema.get(property.as_str()));
        known.map(|property| property.types).unwrap_or_default()
    }

    /// A new table has no properties.
    pub(super) fn created(&self, table: &TableName) {
        self.tables().insert(table.clone(), Known { sampled: Some(Instant::now()), ..Known::default() });
    }

    pub(super) fn forget(&self, table: &TableName) {
        self.tables().remove(table);
    }

    pub(super) fn standing(&self, table: &TableName, age: Option<Duration>) -> Standing {
        self.tables().get(table).map_or(Standing::Old, |known| known.standing(age, Instant::now()))
    }

    /// Everything known now, however old.
    pub(super) fn known(&self, table: &TableName) -> Arc<ObservedSchema> {
        self.tables().get(table).map(|known| Arc::clone(&known.schema)).unwrap_or_default()
    }

    pub(super) fn sightings(&self, table: &TableName) -> Arc<Sightings> {
        self.tables().get(table).map(|known| Arc::clone(&known.sightings)).unwrap_or_default()
    }

    /// To be held while the table is sampled.
    pub(super) fn sampling(&self, table: &TableName) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.tables().entry(table.clone()).or_default().sampling)
    }

    pub(super) fn sampled(&self, table: &TableName, tally: &Tally) -> Arc<ObservedSchema> {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        known.add(&tally.properties(), SightingSource::Sample);
        known.count(tally);
        Arc::clone(&known.schema)
    }

    /// A whole table was read: what it no longer has is dropped, but for what was met since `before`.
    pub(super) fn analyzed(&self, table: &TableName, before: &ObservedSchema, tally: &Tally) {
        let mut tables = self.tables();
        let known = tables.entry(table.clone()).or_default();
        let found = ObservedSchema::new(tally.properties());
        let is_since = |property: &&ObservedProperty| before.get(property.name.as_str()) != Some(property);
        let since: Vec<ObservedProperty> = known.schema.properties().iter().filter(is_since).cloned().collect();
        known.add(found.properties(), SightingSource::Analysis);
        let mut kept = known.schema.narrowed_to(&found);
        for property in &since {
            kept.add(&property.name, property.types);
        }
        known.schema = Arc::new(kept);
        let schema = Arc::clone(&known.schema);
        let is_kept = |seen: &Sighting| {
            schema.get(seen.property.as_str()).is_some_and(|property| property.types.contains(seen.edm_type))
        };
        Arc::make_mut(&mut known.sightings).each.retain(is_kept);
        known.count(tally);
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<TableName, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{EdmRef, EdmType, PropertyName};
    use tablegate_store::table::TypeSet;

    fn table() -> TableName {
        TableName::parse("Orders").unwrap()
    }

    fn schema(properties: &[(&str, EdmRef<'_>)]) -> ObservedSchema {
        let mut schema = ObservedSchema::default();
        for (name, value) in properties {
            schema.add(&PropertyName::parse(name).unwrap(), TypeSet::of(*value));
        }
        schema
    }

    #[test]
    fn a_sample_is_renewed_before_it_is_too_old_to_serve() {
        let now = Instant::now();
        let known = Known { sampled: Some(now), ..Known::default() };
        let at = |age: Option<u64>, seconds| match known
            .standing(age.map(Duration::from_secs), now + Duration::from_secs(seconds))
        {
            Standing::Fresh(_) => "fresh",
            Standing::Due(_) => "due",
            Standing::Old => "old",
        };
        assert_eq!([0, 29, 30, 59, 60].map(|seconds| at(Some(60), seconds)), ["fresh", "fresh", "due", "due", "old"]);
        assert_eq!(at(None, 1_000_000), "fresh");
        assert!(matches!(Known::default().standing(None, now), Standing::Old));
    }

    #[test]
    fn each_type_has_the_source_that_showed_it_first() {
        let observed = Observed::default();
        let mut tally = Tally::default();
        for value in [EdmRef::Int32(1), EdmRef::Int32(2), EdmRef::String("x")] {
            tally.count_entity();
            tally.count("a", value);
        }
        observed.sampled(&table(), &tally);
        observed.note(&table(), &schema(&[("a", EdmRef::Int32(1)), ("b", EdmRef::Boolean(true))]));
        let seen = observed.sightings(&table());
        let of = |name, edm_type| seen.of(name, edm_type).map(|seen| (seen.source, seen.entities));
        assert_eq!(of("a", EdmType::Int32), Some((SightingSource::Sample, 2)));
        assert_eq!(of("a", EdmType::String), Some((SightingSource::Sample, 1)));
        assert_eq!(of("b", EdmType::Boolean), Some((SightingSource::Scan, 0)));
        assert_eq!(of("b", EdmType::String), None);
        assert_eq!(seen.counted.map(|counted| counted.entities), Some(3));
    }

    #[test]
    fn an_analysis_drops_what_is_gone_and_keeps_what_came_meanwhile() {
        let observed = Observed::default();
        observed.note(&table(), &schema(&[("gone", EdmRef::Int32(1)), ("a", EdmRef::String("x"))]));
        let before = observed.known(&table());
        observed.note(&table(), &schema(&[("late", EdmRef::Int32(1))]));
        let mut tally = Tally::default();
        tally.count_entity();
        tally.count("a", EdmRef::Int32(1));
        observed.analyzed(&table(), &before, &tally);
        let known = observed.known(&table());
        let names: Vec<&str> = known.properties().iter().map(|property| property.name.as_str()).collect();
        assert_eq!(names, ["a", "late"]);
        let seen = observed.sightings(&table());
        assert_eq!(seen.of("a", EdmType::String), None);
        assert_eq!(seen.of("a", EdmType::Int32).map(|seen| seen.source), Some(SightingSource::Analysis));
        assert_eq!(seen.of("late", EdmType::Int32).map(|seen| seen.source), Some(SightingSource::Scan));
    }
}
