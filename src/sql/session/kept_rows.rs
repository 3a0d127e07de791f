//! Rows that are written anew, with what they keep, as columns: their properties are shown where they lie, and go on without an
//! object for each row.
//!
//! A walk shows all properties of an entity, those that no column of the table names among them, and each as exactly what is
//! stored. What columns cannot hold, as a property with values of several types, is for another way.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder, Int64Builder,
    StringBuilder,
};
use futures::stream::{self, BoxStream};
use tablegate_store::model::{EdmRef, EntityKeys, KeyError, PropertyName};
use tablegate_store::table::{
    Direction, EdmColumn, EntityProperties, EntityView, EntityWalk, KeyRange, ScanColumns, ScanRequest, ScanStats,
    StoreError, TableReader,
};
use tablegate_types::error::SqlResult;

use crate::place::StoredTable;
use crate::short_batches::BATCH_BYTES;

/// So many entities are shown before other tasks of the thread may go on.
const AT_ONCE: usize = 1_024;

/// So many are in a window, if they are not long.
const WINDOW_ROWS: usize = 8_192;

/// The values of properties, by name.
pub(super) type PropertyColumns = Vec<(PropertyName, EdmColumn)>;

/// The keys of some entities, and their properties: `None` where columns do not hold them.
pub(super) type KeptWindow = (EntityKeys, Option<PropertyColumns>);

/// The entities of a table, one window after the other.
pub(super) struct KeptRows {
    walk: Box<dyn EntityWalk>,
    is_over: bool,
}

impl KeptRows {
    /// Those from a key on, so many at most. `None` where the store does not show entities where they lie.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) fn of(
        reader: &dyn TableReader,
        table: &StoredTable,
        ranges: Arc<[KeyRange]>,
        limit: Option<usize>,
    ) -> SqlResult<Option<Self>> {
        let request = ScanRequest {
            table: table.name.clone(),
            ranges,
            columns: Arc::new(ScanColumns::new(Vec::new())),
            predicate: None,
            direction: Direction::Forward,
            limit,
            batch_rows: AT_ONCE,
            stats: Arc::<ScanStats>::default(),
        };
        Ok(reader.walk(&request)?.map(|walk| Self { walk, is_over: false }))
    }

    /// All of them, some at a time.
    pub(super) fn windows(self, left_out: Vec<PropertyName>) -> BoxStream<'static, SqlResult<KeptWindow>> {
        Box::pin(stream::try_unfold((self, left_out), move |(mut kept, left_out)| async move {
            let window = kept.next(WINDOW_ROWS, BATCH_BYTES, &left_out).await?;
            Ok((!window.0.is_empty()).then_some((window, (kept, left_out))))
        }))
    }

    /// The next ones, so many at most, and no more when their values take so many bytes, without the properties of these names.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn next(&mut self, rows: usize, bytes: usize, left_out: &[PropertyName]) -> SqlResult<KeptWindow> {
        let mut keys = EntityKeys::with_capacity(rows);
        let mut kept = KeptColumns::default();
        while keys.len() < rows && kept.bytes < bytes && !self.is_over {
            let next = AT_ONCE.min(rows - keys.len());
            let mut visit = |entity: &EntityView<'_>| {
                keys.push(entity.partition, entity.row).map_err(|error| damaged(entity, &error))?;
                kept.take(entity.properties, left_out)?;
                Ok(if kept.bytes < bytes { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            };
            self.is_over = !self.walk.advance(next, &mut visit).await?;
            tokio::task::yield_now().await;
        }
        let kept = kept.finish(keys.len());
        Ok((keys, kept))
    }
}

fn damaged(entity: &EntityView<'_>, error: &KeyError) -> StoreError {
    StoreError::Damaged { place: format!("entity ({}, {})", entity.partition, entity.row), detail: error.to_string() }
}

/// The properties of consecutive entities, but for those of some names.
#[derive(Default)]
struct KeptColumns {
    columns: Vec<(PropertyName, Values)>,
    /// Entities whose properties are in the columns.
    rows: usize,
    /// What the values take.
    bytes: usize,
    /// Something is there that columns do not hold.
    is_mixed: bool,
}

impl KeptColumns {
    /// Takes the properties of the next entity.
    fn take(&mut self, properties: &dyn EntityProperties, left_out: &[PropertyName]) -> Result<(), StoreError> {
        if self.is_mixed {
            return Ok(());
        }
        // Entities of a table have about the same properties, in the same order.
        let (row, mut next) = (self.rows, 0);
        properties.each(&mut |name, value| {
            if left_out.iter().any(|left_out| left_out.as_str() == name) {
                return;
            }
            self.bytes += match value {
                EdmRef::String(text) => text.len(),
                EdmRef::Binary(bytes) => bytes.len(),
                _ => size_of::<i64>(),
            };
            let is_it = |(known, _): &(PropertyName, Values)| known.as_str() == name;
            let place = match self.columns.get(next).is_some_and(is_it) {
                true => Some(next),
                false => self.columns.iter().position(is_it),
            };
            next = place.unwrap_or(next) + 1;
            let taken = match place {
                Some(place) => self.columns[place].1.push(row, value),
                None => self.push_first(row, name, value),
            };
            self.is_mixed |= !taken;
        })?;
        self.rows += 1;
        Ok(())
    }

    /// Takes the first value that a property has.
    fn push_first(&mut self, row: usize, name: &str, value: EdmRef<'_>) -> bool {
        let Ok(name) = PropertyName::parse(name) else { return false };
        let mut values = Values::of(value);
        let taken = values.push(row, value);
        self.columns.push((name, values));
        taken
    }

    fn finish(self, rows: usize) -> Option<PropertyColumns> {
        let columns = self.columns.into_iter().map(|(name, values)| (name, values.finish(rows)));
        (!self.is_mixed).then(|| columns.collect())
    }
}

/// The values of one property, NULL in entities without it.
enum Values {
    String(StringBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Double(Float64Builder),
    Boolean(BooleanBuilder),
    DateTime(Int64Builder),
    Guid(FixedSizeBinaryBuilder),
    Binary(BinaryBuilder),
}

impl Values {
    /// Of the value's type.
    fn of(value: EdmRef<'_>) -> Self {
        match value {
            EdmRef::String(_) => Values::String(StringBuilder::new()),
            EdmRef::Int32(_) => Values::Int32(Int32Builder::new()),
            EdmRef::Int64(_) => Values::Int64(Int64Builder::new()),
            EdmRef::Double(_) => Values::Double(Float64Builder::new()),
            EdmRef::Boolean(_) => Values::Boolean(BooleanBuilder::new()),
            EdmRef::DateTime(_) => Values::DateTime(Int64Builder::new()),
            EdmRef::Guid(_) => Values::Guid(FixedSizeBinaryBuilder::new(16)),
            EdmRef::Binary(_) => Values::Binary(BinaryBuilder::new()),
        }
    }

    /// Sets the value in a row behind all those before; false where it is of another type.
    fn push(&mut self, row: usize, value: EdmRef<'_>) -> bool {
        self.fill(row);
        match (self, value) {
            (Values::String(values), EdmRef::String(value)) => values.append_value(value),
            (Values::Int32(values), EdmRef::Int32(value)) => values.append_value(value),
            (Values::Int64(values), EdmRef::Int64(value)) => values.append_value(value),
            (Values::Double(values), EdmRef::Double(value)) => values.append_value(value),
            (Values::Boolean(values), EdmRef::Boolean(value)) => values.append_value(value),
            (Values::DateTime(values), EdmRef::DateTime(value)) => values.append_value(value.unix_ticks()),
            (Values::Guid(values), EdmRef::Guid(value)) => return values.append_value(value.as_bytes()).is_ok(),
            (Values::Binary(values), EdmRef::Binary(value)) => values.append_value(value),
            _ => return false,
        }
        true
    }

    /// NULLs up to this row.
    fn fill(&mut self, row: usize) {
        let missing = row.saturating_sub(self.builder().len());
        match self {
            Values::String(values) => (0..missing).for_each(|_| values.append_null()),
            Values::Int32(values) => values.append_nulls(missing),
            Values::Int64(values) | Values::DateTime(values) => values.append_nulls(missing),
            Values::Double(values) => values.append_nulls(missing),
            Values::Boolean(values) => values.append_nulls(missing),
            Values::Guid(values) => (0..missing).for_each(|_| values.append_null()),
            Values::Binary(values) => (0..missing).for_each(|_| values.append_null()),
        }
    }

    fn builder(&self) -> &dyn ArrayBuilder {
        match self {
            Values::String(values) => values,
            Values::Int32(values) => values,
            Values::Int64(values) | Values::DateTime(values) => values,
            Values::Double(values) => values,
            Values::Boolean(values) => values,
            Values::Guid(values) => values,
            Values::Binary(values) => values,
        }
    }

    fn finish(mut self, rows: usize) -> EdmColumn {
        self.fill(rows);
        match self {
            Values::String(mut values) => EdmColumn::String(values.finish()),
            Values::Int32(mut values) => EdmColumn::Int32(values.finish()),
            Values::Int64(mut values) => EdmColumn::Int64(values.finish()),
            Values::Double(mut values) => EdmColumn::Double(values.finish()),
            Values::Boolean(mut values) => EdmColumn::Boolean(values.finish()),
            Values::DateTime(mut values) => EdmColumn::DateTime(values.finish()),
            Values::Guid(mut values) => EdmColumn::Guid(values.finish()),
            Values::Binary(mut values) => EdmColumn::Binary(values.finish()),
        }
    }
}
