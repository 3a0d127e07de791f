//! What is known about tables, in memory and on disk.
//!
//! ```text
//! h                     commit number, last Timestamp
//! n                     the number the next table gets
//! t  folded name        table number, name as it was spelled
//! o  number, ordinal    one property of the observed schema: name and types
//! s  number, shape      one shape
//! d  number             a table that was dropped and whose rows are still being removed
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::OwnedWriteBatch;
use tablegate_store::model::{EdmDateTime, EdmType, Properties, PropertyName, TableName};
use tablegate_store::table::{ObservedProperty, ObservedSchema, StoreError, TableSize, TypeSet};

use super::bytes::{Bytes, put_text};
use super::engine::Engine;
use super::key_bytes::{COUNT_MAX, NumberKind};
use super::row::{Row, RowError, Shape, Shapes, encode, put_signature};
use super::samples::Samples;
use super::segment::{TableSegments, manifest};
use super::size::{self, Size, forget_size, put_size};

/// All tables under their names.
pub(super) type Tables = BTreeMap<TableName, Arc<TableMeta>>;

/// One table, without its rows.
#[derive(Debug, Clone)]
pub(super) struct TableMeta {
    /// Never given to another table, so that what is left of a dropped one cannot show up in its successor.
    pub(super) number: u32,
    pub(super) name: TableName,
    pub(super) observed: Arc<ObservedSchema>,
    /// Under which ordinal each observed property is stored: ascending, with gaps.
    ordinals: Vec<u32>,
    shapes: Arc<Shapes>,
    /// That of the last row that was encoded.
    last_shape: Option<u32>,
    pub(super) size: Arc<Size>,
    /// The last commit that may have written rows of it, shared by all its states.
    changed: Arc<AtomicU64>,
    /// What of its rows is kept as columns too.
    pub(super) segments: Arc<TableSegments>,
    /// Keys of some rows.
    pub(super) samples: Arc<Samples>,
}

/// Everything the commit thread knows, as of the last batch it wrote.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) tables: Arc<Tables>,
    pub(super) next_number: u32,
    pub(super) commit: u64,
    pub(super) last: EdmDateTime,
    /// Numbers of dropped tables that still have rows.
    pub(super) dropped: Vec<u32>,
    /// There are segments, or were since the store was opened: commits say that they know of them.
    pub(super) has_segments: bool,
}

impl Live {
    /// The state after one more commit that changes nothing else.
    pub(super) fn next(&self) -> Self {
        Self {
            tables: Arc::clone(&self.tables),
            next_number: self.next_number,
            commit: self.commit + 1,
            last: self.last,
            dropped: self.dropped.clone(),
            has_segments: self.has_segments,
        }
    }

    /// The number of a further table, of this name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when there is none left.
    pub(super) fn take_number(&mut self, name: &TableName, engine: &Engine) -> Result<u32, StoreError> {
        Ok(engine.number_of(name, self.take_count()?))
    }

    /// The same of a table whose rows are written ahead.
    ///
    /// # Errors
    /// As [`Live::take_number`].
    pub(super) fn take_loaded_number(&mut self, engine: &Engine) -> Result<u32, StoreError> {
        Ok(engine.loaded_number(self.take_count()?))
    }

    fn take_count(&mut self) -> Result<u32, StoreError> {
        let count = self.next_number;
        if count >= COUNT_MAX {
            return Err(StoreError::Unavailable("the store is out of table numbers".to_owned()));
        }
        self.next_number = count + 1;
        Ok(count)
    }

    /// What every commit writes.
    pub(super) fn put_head(&self, engine: &Engine, batch: &mut OwnedWriteBatch) {
        let mut value = self.commit.to_le_bytes().to_vec();
        value.extend_from_slice(&self.last.unix_ticks().to_le_bytes());
        batch.insert(&engine.meta, b"h".as_slice(), value);
        if self.has_segments {
            manifest::put_head(self.commit, engine, batch);
        }
    }
}

impl TableMeta {
    pub(super) fn new(number: u32, name: TableName) -> Self {
        let size = Arc::new(Size::new(Some(TableSize::default())));
        let (observed, shapes, segments) = (Arc::default(), Arc::default(), Arc::default());
        let (ordinals, changed, samples) = (Vec::new(), Arc::default(), Arc::default());
        Self { number, name, observed, ordinals, shapes, last_shape: None, size, changed, segments, samples }
    }

    /// The last commit that may have written rows of it.
    pub(super) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// This commit writes rows of it.
    pub(super) fn note_change(&self, commit: u64) {
        self.changed.store(commit, Ordering::Relaxed);
    }

    /// # Errors
    /// [`RowError`] when the bytes are no row of this table.
    pub(super) fn parse_row<'a>(&'a self, bytes: &'a [u8]) -> Result<Row<'a>, RowError> {
        Row::parse(bytes, &self.shapes)
    }

    /// Writes the bytes of a row, whose shape becomes known if there is room for it.
    pub(super) fn encode_row(&mut self, properties: &Properties, timestamp: EdmDateTime, out: &mut Vec<u8>) {
        let number = self.shape_of(properties);
        encode(properties, timestamp, number, out);
    }

    fn shape_of(&mut self, properties: &Properties) -> Option<u32> {
        // Most rows have the shape of the one before.
        if let Some(number) = self.last_shape
            && self.shapes.get(number).is_some_and(|shape| shape.is_of(properties))
        {
            return Some(number);
        }
        let mut signature = Vec::with_capacity(16 * properties.len());
        put_signature(&mut signature, properties);
        let mut number = self.shapes.number_of(&signature);
        if number.is_none() && !self.shapes.is_full() {
            number = Some(Arc::make_mut(&mut self.shapes).add(&signature, Shape::of(properties)));
        }
        self.last_shape = number;
        number
    }

    /// The number of the shape of these properties, which becomes known if there is room for it.
    pub(super) fn shape_of_columns(&mut self, properties: &[(PropertyName, EdmType)], signature: &[u8]) -> Option<u32> {
        let known = self.shapes.number_of(signature);
        if known.is_some() || self.shapes.is_full() {
            return known;
        }
        Some(Arc::make_mut(&mut self.shapes).add(signature, Shape::new(properties.iter().cloned())))
    }

    pub(super) fn observe(&mut self, properties: &Properties) {
        if self.observed.covers(properties) {
            return;
        }
        Arc::make_mut(&mut self.observed).observe(properties);
        self.number_observed();
    }

    /// A property was seen with these types.
    pub(super) fn observe_types(&mut self, name: &PropertyName, types: TypeSet) {
        if self.observed.get(name.as_str()).is_some_and(|known| known.types.contains_all(types)) {
            return;
        }
        Arc::make_mut(&mut self.observed).add(name, types);
        self.number_observed();
    }

    fn number_observed(&mut self) {
        while self.ordinals.len() < self.observed.properties().len() {
            self.ordinals.push(self.ordinals.last().map_or(0, |last| last + 1));
        }
    }

    /// Keeps of the observed schema what `found` has too.
    pub(super) fn narrow(&mut self, found: &ObservedSchema) {
        let kept = |(property, _): &(&ObservedProperty, &u32)| found.get(property.name.as_str()).is_some();
        let pairs = self.observed.properties().iter().zip(&self.ordinals);
        self.ordinals = pairs.filter(kept).map(|(_, ordinal)| *ordinal).collect();
        self.observed = Arc::new(self.observed.narrowed_to(found));
    }

    /// One of many rows has this key.
    pub(super) fn sample(&mut self, key: &[u8]) {
        if self.samples.wants_next() {
            Arc::make_mut(&mut self.samples).push(key);
        }
    }

    pub(super) fn differs(&self, before: &TableMeta) -> bool {
        !Arc::ptr_eq(&self.observed, &before.observed)
            || !Arc::ptr_eq(&self.shapes, &before.shapes)
            || !Arc::ptr_eq(&self.samples, &before.samples)
    }

    /// Writes what is different from `before`, an earlier state of the same table.
    pub(super) fn put_changes(&self, before: &TableMeta, engine: &Engine, batch: &mut OwnedWriteBatch) {
        if !Arc::ptr_eq(&self.shapes, &before.shapes) {
            for (number, signature) in self.shapes.behind(before.shapes.len()) {
                batch.insert(&engine.meta, key(b's', self.number, number), signature);
            }
        }
        if Arc::ptr_eq(&self.observed, &before.observed) {
            return;
        }
        let (old, new) = (before.by_ordinal(), self.by_ordinal());
        for (ordinal, property) in &new {
            if old.get(ordinal) != Some(property) {
                let mut value = Vec::new();
                put_text(&mut value, property.name.as_str());
                value.extend_from_slice(&property.types.bits().to_le_bytes());
                batch.insert(&engine.meta, key(b'o', self.number, *ordinal), value);
            }
        }
        for ordinal in old.keys().filter(|ordinal| !new.contains_key(ordinal)) {
            batch.remove(&engine.meta, key(b'o', self.number, *ordinal));
        }
    }

    pub(super) fn put_new(&self, next_number: u32, engine: &Engine, batch: &mut OwnedWriteBatch) {
        let mut value = self.number.to_be_bytes().to_vec();
        put_text(&mut value, self.name.as_str());
        batch.insert(&engine.meta, table_key(&self.name), value);
        put_next_number(next_number, engine, batch);
        put_size(self.number, TableSize::default(), engine, batch);
    }

    /// Another table of this one's name, without its rows.
    pub(super) fn renumbered(&self, number: u32) -> Self {
        let size = Arc::new(Size::new(Some(TableSize::default())));
        let (changed, segments, samples) = (Arc::default(), Arc::default(), Arc::default());
        Self { number, size, changed, segments, samples, ..self.clone() }
    }

    /// It is dropped or replaced. Readers that still use its segments keep their files until they are done.
    pub(super) fn condemn_segments(&self) {
        self.segments.list().iter().for_each(|segment| segment.condemn());
    }

    /// Notes the number of a table that is not there yet: as that of a dropped one.
    pub(super) fn put_staged(&self, next_number: u32, engine: &Engine, batch: &mut OwnedWriteBatch) {
        put_next_number(next_number, engine, batch);
        batch.insert(&engine.meta, prefix(b'd', self.number), b"".as_slice());
    }

    /// Another one of this name takes its place.
    pub(super) fn put_replaced(&self, by: &TableMeta, engine: &Engine, batch: &mut OwnedWriteBatch) {
        let mut value = by.number.to_be_bytes().to_vec();
        put_text(&mut value, by.name.as_str());
        batch.insert(&engine.meta, table_key(&by.name), value);
        by.put_changes(&TableMeta::new(by.number, by.name.clone()), engine, batch);
        batch.remove(&engine.meta, prefix(b'd', by.number));
        batch.insert(&engine.meta, prefix(b'd', self.number), b"".as_slice());
        manifest::put_dropped(self, engine, batch);
    }

    pub(super) fn put_dropped(&self, engine: &Engine, batch: &mut OwnedWriteBatch) {
        batch.remove(&engine.meta, table_key(&self.name));
        batch.insert(&engine.meta, prefix(b'd', self.number), b"".as_slice());
    }

    fn by_ordinal(&self) -> BTreeMap<u32, &ObservedProperty> {
        self.ordinals.iter().copied().zip(self.observed.properties()).collect()
    }
}

pub(super) fn put_next_number(next_number: u32, engine: &Engine, batch: &mut OwnedWriteBatch) {
    batch.insert(&engine.meta, b"n".as_slice(), next_number.to_be_bytes().as_slice());
}

/// Removes everything about a dropped table; its rows are gone already.
pub(super) fn forget(table: u32, engine: &Engine, batch: &mut OwnedWriteBatch) -> Result<(), StoreError> {
    for kind in [b'o', b's'] {
        let keys = engine.guarded(|| engine.meta.prefix(prefix(kind, table)).map(fjall::Guard::key).collect())?;
        let keys: Vec<fjall::Slice> = keys;
        for key in keys {
            batch.remove(&engine.meta, key);
        }
    }
    batch.remove(&engine.meta, prefix(b'd', table));
    forget_size(table, engine, batch);
    Ok(())
}

/// # Errors
/// [`StoreError::Damaged`] when something stored is not what was written.
pub(super) fn load(engine: &Engine) -> Result<Live, StoreError> {
    let pairs: Vec<fjall::KvPair> = engine.guarded(|| engine.meta.iter().map(fjall::Guard::into_inner).collect())?;
    let mut loading = Loading { sizes: size::load(engine)?, ..Loading::default() };
    for (key, value) in &pairs {
        loading.add(key, value).ok_or_else(|| StoreError::Damaged {
            place: engine.folder.engine().display().to_string(),
            detail: format!("the record under \"{}\" cannot be read", key.escape_ascii()),
        })?;
    }
    Ok(loading.finish())
}

#[derive(Default)]
struct Loading {
    head: Option<(u64, EdmDateTime)>,
    next_number: u32,
    dropped: Vec<u32>,
    observed: HashMap<u32, Vec<(u32, ObservedProperty)>>,
    shapes: HashMap<u32, Shapes>,
    sizes: HashMap<u32, TableSize>,
    tables: Tables,
}

impl Loading {
    /// Records come in the order of their keys, so a table comes behind all that belongs to it. `None` when a record
    /// is not one.
    fn add(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let (mut key, mut value) = (Bytes::new(key), Bytes::new(value));
        match key.byte()? {
            b'h' => {
                let commit = u64::from_le_bytes(value.array()?);
                self.head = Some((commit, EdmDateTime::from_unix_ticks(i64::from_le_bytes(value.array()?))?));
            }
            b'n' => self.next_number = u32::from_be_bytes(value.array()?),
            b'd' => self.dropped.push(u32::from_be_bytes(key.array()?)),
            b'o' => {
                let (table, ordinal) = (u32::from_be_bytes(key.array()?), u32::from_be_bytes(key.array()?));
                let name = PropertyName::parse(value.text()?).ok()?;
                let types = TypeSet::from_bits(u16::from_le_bytes(value.array()?))?;
                self.observed.entry(table).or_default().push((ordinal, ObservedProperty { name, types }));
            }
            b's' => {
                let (table, number) = (u32::from_be_bytes(key.array()?), u32::from_be_bytes(key.array()?));
                let signature = value.rest();
                let shape = Shape::take(&mut value)?;
                let given = self.shapes.entry(table).or_default().add(signature, shape);
                (given == number).then_some(())?;
            }
            b't' => {
                let table = u32::from_be_bytes(value.array()?);
                let name = TableName::parse(value.text()?).ok()?;
                let count = NumberKind::count_of(table);
                (key.rest() == name.folded().as_bytes() && count < self.next_number).then_some(())?;
                let (ordinals, observed) = self.observed.remove(&table).unwrap_or_default().into_iter().unzip();
                let observed = Arc::new(ObservedSchema::new(observed));
                let shapes = Arc::new(self.shapes.remove(&table).unwrap_or_default());
                let size = Arc::new(Size::new(self.sizes.remove(&table)));
                let segments = Arc::default();
                let mut meta = TableMeta::new(table, name.clone());
                (meta.observed, meta.ordinals, meta.shapes) = (observed, ordinals, shapes);
                (meta.size, meta.segments) = (size, segments);
                self.tables.insert(name, Arc::new(meta));
                key = Bytes::new(&[]);
            }
            _ => return None,
        }
        (key.is_empty() && value.is_empty()).then_some(())
    }

    fn finish(self) -> Live {
        let (commit, last) = self.head.unwrap_or((0, EdmDateTime::MIN));
        let Self { next_number, dropped, tables, .. } = self;
        // Which of the commits before wrote to which table is not known.
        tables.values().for_each(|table| table.note_change(commit));
        Live { tables: Arc::new(tables), next_number, commit, last, dropped, has_segments: false }
    }
}

fn table_key(name: &TableName) -> Vec<u8> {
    [b"t".as_slice(), name.folded().as_bytes()].concat()
}

fn prefix(kind: u8, table: u32) -> Vec<u8> {
    let [a, b, c, d] = table.to_be_bytes();
    vec![kind, a, b, c, d]
}

fn key(kind: u8, table: u32, number: u32) -> Vec<u8> {
    let mut bytes = prefix(kind, table);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}
