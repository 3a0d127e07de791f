//! Finding out what properties a table's entities have, while others go on writing.
//!
//! A snapshot is read on a thread of its own. What is written meanwhile is recorded by the commit thread, and what the
//! two together saw is all that can be stored when the commit thread narrows the observed schema.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tablegate_store::model::{EdmType, EntityKey, Properties, PropertyName, Span};
use tablegate_store::table::{ObservedProperty, ObservedSchema, StoreError, TableSize, TypeSet};

use super::apply::damaged;
use super::key_bytes;
use super::meta::TableMeta;
use super::reader::View;
use super::row::{Row, RowError};
use super::size::Growth;

type Seen = Mutex<ObservedSchema>;

/// The analyses under way, which want to know what is written into their tables. One that has ended is removed.
#[derive(Default)]
pub(super) struct Recorders(Vec<(u32, Weak<Seen>)>);

/// What was written into a table since the recording began.
pub(super) struct Recording {
    pub(super) table: Arc<TableMeta>,
    seen: Arc<Seen>,
}

impl Recorders {
    pub(super) fn start(&mut self, table: Arc<TableMeta>) -> Recording {
        self.0.retain(|(_, seen)| seen.strong_count() > 0);
        let seen = Arc::default();
        self.0.push((table.number, Arc::downgrade(&seen)));
        Recording { table, seen }
    }

    /// Whether somebody wants to know what is written into the table.
    pub(super) fn want(&self, table: u32) -> bool {
        self.0.iter().any(|(number, seen)| *number == table && seen.strong_count() > 0)
    }

    pub(super) fn record(&self, table: u32, properties: &Properties) {
        let interested = self.0.iter().filter(|(number, _)| *number == table);
        for seen in interested.filter_map(|(_, seen)| seen.upgrade()) {
            seen.lock().unwrap_or_else(PoisonError::into_inner).observe(properties);
        }
    }
}

impl Recording {
    /// What was recorded so far, and what was found besides.
    pub(super) fn with(&self, found: &Found) -> ObservedSchema {
        let recorded = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = found.clone();
        for property in recorded.properties() {
            all.add(&property.name, property.types);
        }
        ObservedSchema::new(all.properties)
    }
}

/// What a table was found to hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The properties that were met, with their types.
    properties: Vec<ObservedProperty>,
    size: TableSize,
    /// The count there was when the reading began.
    counted: Option<TableSize>,
}

impl Found {
    /// What the table holds now, by the count there is now: what was found, and what was written since.
    pub(super) fn size_now(&self, now: Option<TableSize>) -> TableSize {
        let since = self.counted.zip(now).map(|(before, now)| Growth::between(before, now));
        since.unwrap_or_default().of(self.size)
    }

    fn add(&mut self, name: &PropertyName, types: TypeSet) {
        match self.properties.iter_mut().find(|known| known.name == *name) {
            Some(known) => known.types = known.types.union(types),
            None => self.properties.push(ObservedProperty { name: name.clone(), types }),
        }
    }

    /// Names and types follow from the shape; only of integers the values matter.
    fn add_row(&mut self, row: &Row<'_>, is_new_shape: bool) -> Result<(), RowError> {
        for (index, property) in row.shape().properties().iter().enumerate() {
            if is_new_shape || property.edm_type == EdmType::Int64 {
                self.add(&property.name, TypeSet::of(row.value(index)?));
            }
        }
        Ok(())
    }
}

/// Reads the whole table as the view has it.
///
/// # Errors
/// [`StoreError::Damaged`], or [`StoreError::ShuttingDown`] once `is_stopped` says so.
pub(super) fn find_types(view: &View, table: &TableMeta, is_stopped: impl Fn() -> bool) -> Result<Found, StoreError> {
    let span = key_bytes::of_partitions(table.number, &Span::ALL);
    let mut rows = view.range(&*view.engine()?, &span)?;
    let (mut found, mut shapes) = (Found { counted: table.size.get(), ..Found::default() }, HashSet::new());
    while let Some((key, value)) = view.engine()?.guarded(|| rows.next().map(fjall::Guard::into_inner).transpose())? {
        if is_stopped() {
            return Err(StoreError::ShuttingDown);
        }
        found.size.entities += 1;
        found.size.bytes += (key.len() + value.len()) as u64;
        let damaged = |error| damaged_row(table, &key, error);
        let row = table.parse_row(&value).map_err(damaged)?;
        let is_new_shape = row.shape_number().is_none_or(|number| shapes.insert(number));
        found.add_row(&row, is_new_shape).map_err(damaged)?;
    }
    Ok(found)
}

/// The error for a row under these bytes.
pub(super) fn damaged_row(table: &TableMeta, key: &[u8], error: RowError) -> StoreError {
    let entity = key_bytes::parse(key).and_then(|(partition, row)| EntityKey::parse(partition, row).ok());
    match entity {
        Some(entity) => damaged(table, &entity, error),
        None => damaged_key(table, key),
    }
}

/// The error for bytes that are no row's key.
pub(super) fn damaged_key(table: &TableMeta, key: &[u8]) -> StoreError {
    let place = format!("the key \"{}\" of table \"{}\"", key.escape_ascii(), table.name);
    StoreError::Damaged { place, detail: "it is not the key of an entity".to_owned() }
}
