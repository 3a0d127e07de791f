//! Which tables and sequences there are: those that were declared, and tables that are simply found in the store.
//!
//! Declarations are kept in the store and cached here; the columns of found tables follow the store's observed schema.
//! A declaration counts only while its stored table exists: CREATE writes the declaration first and DROP removes it
//! last, so whatever a crash leaves half done is undone by [`Catalog::load`]. Likewise a sequence that belongs to a table
//! counts only while that table is declared.

mod constraint;
mod declaration;
mod entry;
mod found;
mod sequence;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use futures::StreamExt;

use crate::model::{Entity, EntityKey, Span, StoredEntity, TableName};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::observe::OBSERVED_TABLE;
use crate::sql::relation::{Relation, RelationKind};
use crate::table::{
    Batch, CommitError, Direction, IfMatch, KeyRange, ObservedSchema, Operation, ScanColumn, ScanColumns, ScanRequest,
    ScanStats, StoreError, TableReader, TableStore,
};

pub use constraint::{Check, Constraints};
pub use declaration::{Declaration, DeclaredColumn, DeclaredKey, DeclaredKeyColumn, DeclaredPartition};
pub use entry::CATALOG_TABLE;
pub use found::derived_table_name;
pub use sequence::Sequence;

/// First OID given to a declared table: PostgreSQL's own first for user objects.
const FIRST_OID: u32 = 16_384;
/// OIDs one table takes: its own, then those of its index, its row type and its other parts.
pub const OIDS_PER_TABLE: u32 = 512;

/// The catalogue of one store.
pub struct Catalog {
    store: Arc<dyn TableStore>,
    declared: RwLock<Arc<Declared>>,
    /// Relations of found and open tables, with the observed schema they were made from.
    observed: RwLock<HashMap<TableName, Observed>>,
    /// One change of the catalogue at a time.
    changes: tokio::sync::Mutex<()>,
}

/// What was seen of a table, and the relation made from it.
type Observed = (Arc<ObservedSchema>, Arc<Relation>);

/// All declarations, by SQL name.
#[derive(Debug, Default, Clone)]
struct Declared {
    tables: BTreeMap<String, Arc<DeclaredTable>>,
    sequences: BTreeMap<String, Arc<Sequence>>,
}

#[derive(Debug)]
struct DeclaredTable {
    declaration: Declaration,
    relation: Arc<Relation>,
}

impl Catalog {
    /// Reads the declarations, and finishes or undoes what a crash interrupted.
    ///
    /// # Errors
    /// When the store cannot be read or an entry is damaged.
    pub async fn load(store: Arc<dyn TableStore>) -> SqlResult<Self> {
        let catalog = Self {
            store,
            declared: RwLock::default(),
            observed: RwLock::default(),
            changes: tokio::sync::Mutex::new(()),
        };
        let table = catalog_table()?;
        let reader = catalog.store.reader();
        let stored: Vec<TableName> = reader.list_tables().await?;
        if !stored.contains(&table) {
            catalog.store.create_table(&table).await?;
            return Ok(catalog);
        }
        let mut declared = Declared::default();
        for entity in catalog.entries(&*reader, &table, declaration::DECLARATIONS).await? {
            let mut declaration = Declaration::of_entity(&entity)?;
            if !stored.contains(&declaration.stored_name()?) {
                catalog.remove_entry(declaration.entity_key()?).await?;
                continue;
            }
            if let Some(doomed) = declaration.doomed.take() {
                catalog.drop_stored(&doomed).await?;
                catalog.write_entry(declaration.to_entity()?).await?;
            }
            declared.add(declaration)?;
        }
        for entity in catalog.entries(&*reader, &table, sequence::SEQUENCES).await? {
            let (sequence, _) = Sequence::of_entity(&entity)?;
            if declared.lacks_owner_of(&sequence) {
                catalog.remove_entry(entity.entity.key).await?;
            } else {
                declared.sequences.insert(sequence.name.clone(), Arc::new(sequence));
            }
        }
        *catalog.declared.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(declared);
        Ok(catalog)
    }

    /// The table of this SQL name: exactly, else the one that differs only in case, else a table found in the store.
    ///
    /// # Errors
    /// 42702 when several differ only in case.
    pub async fn relation(&self, reader: &dyn TableReader, name: &str) -> SqlResult<Option<Arc<Relation>>> {
        if let Some(table) = self.snapshot().find(name)? {
            return if table.relation.open {
                self.observed_relation(reader, &table.relation.stored, Some(&table)).await.map(Some)
            } else {
                Ok(Some(table.relation.clone()))
            };
        }
        let Ok(stored) = TableName::parse(name) else { return Ok(None) };
        if is_hidden(&stored) || self.snapshot().owner_of(&stored).is_some() {
            return Ok(None);
        }
        // The store keeps the spelling the table was created with; the name asked for may differ in case.
        let Some(stored) = reader.list_tables().await?.into_iter().find(|t| *t == stored) else { return Ok(None) };
        self.observed_relation(reader, &stored, None).await.map(Some)
    }

    /// The table of exactly this SQL name, or found in the store under it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn exact(&self, reader: &dyn TableReader, name: &str) -> SqlResult<Option<Arc<Relation>>> {
        if let Some(table) = self.snapshot().tables.get(name) {
            return Ok(Some(table.relation.clone()));
        }
        let found = self.relation(reader, name).await?;
        Ok(found.filter(|r| r.kind == RelationKind::Found))
    }

    /// Every table, declared and found, by SQL name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn relations(&self, reader: &dyn TableReader) -> SqlResult<Vec<Arc<Relation>>> {
        let declared = self.snapshot();
        let mut relations = Vec::new();
        for table in declared.tables.values() {
            relations.push(match table.relation.open {
                true => self.observed_relation(reader, &table.relation.stored, Some(table)).await?,
                false => table.relation.clone(),
            });
        }
        for stored in reader.list_tables().await? {
            if !is_hidden(&stored) && declared.owner_of(&stored).is_none() {
                relations.push(self.observed_relation(reader, &stored, None).await?);
            }
        }
        relations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(relations)
    }

    /// The sequence of exactly this SQL name.
    pub fn sequence(&self, name: &str) -> Option<Arc<Sequence>> {
        self.snapshot().sequences.get(name).cloned()
    }

    /// Every sequence, by SQL name.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.snapshot().sequences.values().cloned().collect()
    }

    /// Declares a table with the sequences of its columns, and creates it in the store.
    ///
    /// # Errors
    /// 42P07 when the SQL name or the stored name is taken.
    pub async fn create(&self, mut declaration: Declaration, sequences: Vec<Sequence>) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let stored = declaration.stored_name()?;
        let mut declared = Declared::clone(&self.snapshot());
        declared.check_name_is_free(&declaration.name)?;
        if is_hidden(&stored) || self.store.reader().list_tables().await?.contains(&stored) {
            return Err(duplicate_stored(&declaration.name, &stored));
        }
        declaration.oid = declared.next_oid();
        declared.add(declaration.clone())?;
        let mut written = Vec::with_capacity(sequences.len());
        for mut sequence in sequences {
            sequence.owner.iter_mut().for_each(|owner| owner.table = declaration.oid);
            written.push(declared.add_sequence(sequence)?);
        }
        for sequence in &written {
            self.write_entry(sequence.to_entity(sequence.initial())?).await?;
        }
        self.write_entry(declaration.to_entity()?).await?;
        if let Err(error) = self.store.create_table(&stored).await {
            self.remove_entry(declaration.entity_key()?).await?;
            for sequence in &written {
                self.remove_entry(sequence.entity_key()?).await?;
            }
            return Err(error.into());
        }
        self.publish(declared);
        Ok(())
    }

    /// Creates a sequence.
    ///
    /// # Errors
    /// 42P07 when the name is taken.
    pub async fn create_sequence(&self, sequence: Sequence) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let mut declared = Declared::clone(&self.snapshot());
        let sequence = declared.add_sequence(sequence)?;
        self.write_entry(sequence.to_entity(sequence.initial())?).await?;
        self.publish(declared);
        Ok(())
    }

    /// Drops a sequence.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drop_sequence(&self, sequence: &Sequence) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let mut declared = Declared::clone(&self.snapshot());
        if declared.sequences.remove(&sequence.name).is_some() {
            self.remove_entry(sequence.entity_key()?).await?;
            self.publish(declared);
        }
        Ok(())
    }

    /// Drops a table with its declaration, if it has one, and the sequences that belong to it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drop(&self, relation: &Relation) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        self.drop_stored(relation.stored.as_str()).await?;
        let mut declared = Declared::clone(&self.snapshot());
        if let Some(table) = declared.tables.remove(&relation.name) {
            self.remove_entry(table.declaration.entity_key()?).await?;
            for sequence in declared.take_orphans() {
                self.remove_entry(sequence.entity_key()?).await?;
            }
            self.publish(declared);
        }
        Ok(())
    }

    /// Empties a table. A declared table moves to a new stored table, so that a crash leaves it either full or empty.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn truncate(&self, relation: &Relation) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let mut declared = Declared::clone(&self.snapshot());
        let Some(table) = declared.tables.get(&relation.name) else {
            self.store.drop_table(&relation.stored).await?;
            return Ok(self.store.create_table(&relation.stored).await?);
        };
        let mut declaration = table.declaration.clone();
        let stored = self.next_generation(&mut declaration).await?;
        self.store.create_table(&stored).await?;
        let doomed = std::mem::replace(&mut declaration.stored, stored.as_str().to_owned());
        declaration.doomed = Some(doomed.clone());
        self.write_entry(declaration.to_entity()?).await?;
        declaration.doomed = None;
        declared.add(declaration.clone())?;
        self.publish(declared);
        self.drop_stored(&doomed).await?;
        self.write_entry(declaration.to_entity()?).await
    }

    /// A stored name that no table has: the first generation's, then with `G2`, `G3`, ...
    async fn next_generation(&self, declaration: &mut Declaration) -> SqlResult<TableName> {
        let taken = self.store.reader().list_tables().await?;
        let base = declaration.stored.clone();
        let old_suffix = format!("G{}", declaration.generation);
        let base = base.strip_suffix(&old_suffix).unwrap_or(&base).to_owned();
        loop {
            declaration.generation += 1;
            let suffix = format!("G{}", declaration.generation);
            let room = crate::model::limits::TABLE_NAME_MAX_CHARS - suffix.len();
            let head: String = base.chars().take(room).collect();
            let name = TableName::parse(&format!("{head}{suffix}"))?;
            if !taken.contains(&name) {
                return Ok(name);
            }
        }
    }

    fn snapshot(&self) -> Arc<Declared> {
        self.declared.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, declared: Declared) {
        *self.declared.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(declared);
    }

    /// The relation of a found or open table, made again only when its observed schema changed.
    async fn observed_relation(
        &self,
        reader: &dyn TableReader,
        stored: &TableName,
        declared: Option<&DeclaredTable>,
    ) -> SqlResult<Arc<Relation>> {
        let schema = reader.observed_schema(stored).await?;
        if let Some((of, relation)) = self.observed.read().unwrap_or_else(PoisonError::into_inner).get(stored)
            && (Arc::ptr_eq(of, &schema) || *of == schema)
            && declared.is_none_or(|d| d.relation.oid == relation.oid)
        {
            return Ok(relation.clone());
        }
        let relation = Arc::new(match declared {
            Some(table) => found::open_relation(&table.relation, &schema),
            None => found::found_relation(stored, &schema),
        });
        let entry = (schema, relation.clone());
        self.observed.write().unwrap_or_else(PoisonError::into_inner).insert(stored.clone(), entry);
        Ok(relation)
    }

    async fn entries(
        &self,
        reader: &dyn TableReader,
        table: &TableName,
        partition: &str,
    ) -> SqlResult<Vec<StoredEntity>> {
        let request = ScanRequest {
            table: table.clone(),
            ranges: Arc::new([KeyRange { partitions: Span::point(partition), rows: Arc::new([Span::ALL]) }]),
            columns: Arc::new(ScanColumns::new(vec![ScanColumn::PartitionKey, ScanColumn::RowKey])),
            direction: Direction::Forward,
            limit: None,
            batch_rows: 1024,
            stats: Arc::new(ScanStats::default()),
        };
        let mut keys = Vec::new();
        let mut batches = reader.scan(request)?;
        while let Some(batch) = batches.next().await {
            keys.extend(crate::sql::dml::keys_of_batch(&batch?)?);
        }
        let mut entries = Vec::with_capacity(keys.len());
        for key in keys {
            entries.extend(reader.get(table, &key).await?);
        }
        Ok(entries)
    }

    async fn write_entry(&self, entity: Entity) -> SqlResult<()> {
        self.commit(Operation::InsertOrReplace(entity)).await
    }

    async fn remove_entry(&self, key: EntityKey) -> SqlResult<()> {
        self.commit(Operation::Delete(key, IfMatch::Any)).await
    }

    async fn commit(&self, operation: Operation) -> SqlResult<()> {
        let batch = Batch::single(catalog_table()?, operation).map_err(|e| {
            SqlError::new(ErrorKind::LimitExceeded, "the table's declaration is too large").with_detail(e.to_string())
        })?;
        match self.store.commit(batch).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(rejected @ CommitError::Rejected { .. }) => Err(SqlError::new(
                ErrorKind::SerializationFailure,
                format!("the catalogue changed meanwhile: {rejected}"),
            )),
        }
    }

    async fn drop_stored(&self, stored: &str) -> SqlResult<()> {
        let Ok(stored) = TableName::parse(stored) else { return Ok(()) };
        match self.store.drop_table(&stored).await {
            Ok(()) | Err(StoreError::TableMissing(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Declared {
    fn add(&mut self, declaration: Declaration) -> SqlResult<()> {
        let relation = Arc::new(declaration.relation()?);
        self.tables.insert(declaration.name.clone(), Arc::new(DeclaredTable { declaration, relation }));
        Ok(())
    }

    /// Gives a new sequence its OID.
    fn add_sequence(&mut self, mut sequence: Sequence) -> SqlResult<Arc<Sequence>> {
        self.check_name_is_free(&sequence.name)?;
        sequence.oid = self.next_oid();
        let sequence = Arc::new(sequence);
        self.sequences.insert(sequence.name.clone(), sequence.clone());
        Ok(sequence)
    }

    /// Tables and sequences share their names.
    fn check_name_is_free(&self, name: &str) -> SqlResult<()> {
        if self.tables.contains_key(name) || self.sequences.contains_key(name) {
            return Err(duplicate_table(name));
        }
        Ok(())
    }

    fn lacks_owner_of(&self, sequence: &Sequence) -> bool {
        let exists = |oid: u32| self.tables.values().any(|t| t.declaration.oid == oid);
        sequence.owner.as_ref().is_some_and(|owner| !exists(owner.table))
    }

    /// Removes the sequences whose table is gone.
    fn take_orphans(&mut self) -> Vec<Arc<Sequence>> {
        let orphans: Vec<_> = self.sequences.values().filter(|s| self.lacks_owner_of(s)).cloned().collect();
        for orphan in &orphans {
            self.sequences.remove(&orphan.name);
        }
        orphans
    }

    fn find(&self, name: &str) -> SqlResult<Option<Arc<DeclaredTable>>> {
        if let Some(exact) = self.tables.get(name) {
            return Ok(Some(exact.clone()));
        }
        let mut same = self.tables.values().filter(|t| t.declaration.name.eq_ignore_ascii_case(name));
        match (same.next(), same.next()) {
            (Some(_), Some(_)) => Err(SqlError::new(
                ErrorKind::AmbiguousColumn,
                format!("table name \"{name}\" is ambiguous: several tables differ only in case"),
            )
            .with_hint("Quote the name to say which one is meant.")),
            (only, _) => Ok(only.cloned()),
        }
    }

    fn owner_of(&self, stored: &TableName) -> Option<&Arc<DeclaredTable>> {
        self.tables.values().find(|t| t.relation.stored == *stored)
    }

    fn next_oid(&self) -> u32 {
        let tables = self.tables.values().map(|t| t.declaration.oid);
        let last = tables.chain(self.sequences.values().map(|s| s.oid)).max();
        last.map_or(FIRST_OID, |oid| oid + OIDS_PER_TABLE)
    }
}

fn catalog_table() -> SqlResult<TableName> {
    Ok(TableName::parse(CATALOG_TABLE)?)
}

/// Whether it is one of the gateway's own tables.
fn is_hidden(stored: &TableName) -> bool {
    [CATALOG_TABLE, OBSERVED_TABLE].iter().any(|own| stored.as_str().eq_ignore_ascii_case(own))
}

fn duplicate_table(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::DuplicateTable, format!("relation \"{name}\" already exists"))
}

fn duplicate_stored(name: &str, stored: &TableName) -> Box<SqlError> {
    if name.eq_ignore_ascii_case(stored.as_str()) {
        return duplicate_table(name);
    }
    SqlError::new(ErrorKind::DuplicateTable, format!("the stored name \"{stored}\" for table \"{name}\" is taken"))
        .with_hint("Choose another with WITH (table = 'Name').")
}
