//! Writing all rows of a table anew, into another stored table.
//!
//! Rows are read as the transaction sees them, its own writes among them, and pass through in batches. No other session
//! sees the new stored table before COMMIT, and without COMMIT it is dropped again.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use futures::{StreamExt, TryStreamExt};
use tablegate_store::model::{Entity, EntityKey, EntityKeys, Properties, PropertyName};
use tablegate_store::table::{ColumnType, KeyRange, NewEntities};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Session;
use super::kept_rows::{KeptRows, PropertyColumns};
use crate::batches::all_keys_of_batch;
use crate::catalog::Declaration;
use crate::ddl::{Computed, Origin, Rewrite};
use crate::dml::{contains_nulls, generated_keys, keys_and};
use crate::plan::Planner;
use crate::reads::Reads;
use crate::relation::{ColumnSource, Relation, RelationKind};
use crate::tx::{LoadError, TableLoader};
use crate::workers::Workers;

/// Columns the query begins with: PartitionKey and RowKey.
const KEY_COLUMNS: usize = 2;

impl Session {
    /// Moves a table to a new stored table, its rows changed on the way. The declaration gets the new stored name.
    ///
    /// # Errors
    /// 23505 when two rows get one key, 23502 for a NULL in a key, and what the new values meet.
    pub(super) async fn rewrite(
        &mut self,
        before: &Arc<Relation>,
        declaration: &mut Declaration,
        rewrite: &Rewrite,
    ) -> SqlResult<()> {
        let (engine, planner) = (&self.engine, self.planner());
        let takes_columns = engine.stores().at(before.stored.place)?.parallelism().windows;
        let mut walk = if takes_columns { WalkedRows::of(&planner.reads, before, rewrite)? } else { None };
        let fresh = loop {
            let fresh = engine.catalog().make_next(declaration).await?;
            let after = declaration.relation()?;
            let report = self.report(before, "ALTER TABLE");
            let mut loader = TableLoader::new(engine.stores(), &after.stored, engine.held_back(), report)?;
            let copy = Copy::new(&planner.reads, (before, &after), rewrite, takes_columns);
            let is_whole = match walk.take() {
                Some(rows) => copy.walk(rows, engine.workers(), &mut loader).await?,
                None => copy.scan(&planner, &mut loader).await?,
            };
            if is_whole {
                loader.finish().await.map_err(|error| copy.told(error))?;
                break fresh;
            }
        };
        drop(planner);
        self.transaction.writes_mut().forget(&before.stored);
        self.transaction.keep(fresh);
        let staged = self.transaction.catalog_mut();
        if before.kind == RelationKind::Found {
            staged.give_up(before.stored.clone());
        }
        Ok(())
    }
}

/// Rows that are read without a plan, where all that is computed of them is columns as they were.
struct WalkedRows<'a> {
    walk: KeptRows,
    computed: PlainColumns<'a>,
}

impl<'a> WalkedRows<'a> {
    /// `None` where more is computed, and where the store alone does not show all rows.
    fn of(reads: &Reads, before: &'a Relation, rewrite: &Rewrite) -> SqlResult<Option<Self>> {
        let Some(computed) = PlainColumns::of(before, rewrite) else { return Ok(None) };
        let all: Arc<[KeyRange]> = vec![KeyRange::all()].into();
        let walk = kept_rows(reads, before, Arc::clone(&all), None)?;
        if walk.is_some() {
            reads.note_scan(&before.stored, None, &all);
        }
        Ok(walk.map(|walk| Self { walk, computed }))
    }
}

/// Columns as they were: the property of each, what that is read as, and the column's type.
struct PlainColumns<'a>(Vec<(&'a PropertyName, ColumnType, &'a SqlType)>);

impl<'a> PlainColumns<'a> {
    /// `None` where more is computed than that.
    fn of(before: &'a Relation, rewrite: &Rewrite) -> Option<Self> {
        let property = |computed: &Computed| {
            let (_, column) = before.column(&computed.value.expr.as_name()?.folded())?;
            match &column.source {
                ColumnSource::Property { name, column_type } => Some((name, *column_type, &column.sql_type)),
                _ => None,
            }
        };
        rewrite.computed.iter().map(property).collect::<Option<_>>().map(Self)
    }

    fn contains(&self, property: &PropertyName) -> bool {
        self.0.iter().any(|(name, ..)| *name == property)
    }

    /// The columns of some rows out of their properties, as a plan gives them; `None` where a value is of another type than its
    /// column.
    fn of_rows(&self, properties: &PropertyColumns, rows: usize) -> SqlResult<Option<Vec<(ArrayRef, SqlType)>>> {
        let mut columns = Vec::with_capacity(self.0.len());
        for (name, column_type, sql_type) in &self.0 {
            let values = match properties.iter().find(|(known, _)| known == *name) {
                None => new_null_array(&sql_type.arrow(), rows),
                Some((_, values)) if values.edm_type() == column_type.edm_type() => {
                    edm::to_sql(&values.as_scanned(), sql_type)?
                }
                Some(_) => return Ok(None),
            };
            columns.push((values, (*sql_type).clone()));
        }
        Ok(Some(columns))
    }
}

/// A copy under way.
struct Copy<'a> {
    reads: &'a Reads,
    before: &'a Relation,
    after: &'a Relation,
    rewrite: &'a Rewrite,
    /// What rows do not keep: properties that nothing stores any more, and those that get another value.
    left_out: Vec<PropertyName>,
    /// The store takes many new entities as columns.
    takes_columns: bool,
}

/// Some rows that are copied.
struct Rows {
    keys: Arc<EntityKeys>,
    /// The computed columns, each as its column's type.
    values: Vec<ArrayRef>,
    /// What is stored of the rows, if all of that is in the store, and can be columns.
    kept: Option<PropertyColumns>,
}

impl<'a> Copy<'a> {
    fn new(
        reads: &'a Reads,
        (before, after): (&'a Relation, &'a Relation),
        rewrite: &'a Rewrite,
        takes_columns: bool,
    ) -> Self {
        let stored = rewrite.computed.iter().filter_map(|computed| after.columns[computed.column].property());
        let left_out = rewrite.removed.iter().chain(stored).cloned().collect();
        Self { reads, before, after, rewrite, left_out, takes_columns }
    }

    /// Copies rows as the store shows them; false where columns do not hold what is there: then some of the rows may be copied.
    async fn walk(&self, rows: WalkedRows<'_>, workers: &Workers, loader: &mut TableLoader) -> SqlResult<bool> {
        let WalkedRows { walk, computed } = rows;
        let left_out = self.left_out.iter().filter(|property| !computed.contains(property)).cloned().collect();
        let mut windows = workers.read_ahead(walk.windows(left_out));
        while let Some((keys, kept)) = windows.try_next().await? {
            self.reads.count_entities(keys.len(), keys.len());
            let Some(mut kept) = kept else { return Ok(false) };
            let Some(columns) = computed.of_rows(&kept, keys.len())? else { return Ok(false) };
            kept.retain(|(name, _)| !self.left_out.contains(name));
            let values = self.values(columns)?;
            self.write(Rows { keys: keys.into(), values, kept: Some(kept) }, loader).await?;
        }
        Ok(true)
    }

    /// Copies rows with what a plan computes of them.
    async fn scan(&self, planner: &Planner<'_>, loader: &mut TableLoader) -> SqlResult<bool> {
        let query = keys_and(self.before, self.rewrite.computed.iter().map(|c| c.value.expr.clone()));
        let planned = planner.plan(&query, &[]).await?;
        let mut batches = planner.run(&planned, &[]).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            let keys = all_keys_of_batch(&batch)?;
            let schema = batch.schema();
            let columns = (KEY_COLUMNS..batch.num_columns())
                .map(|i| (batch.column(i).clone(), SqlType::of_field(schema.field(i))));
            let values = self.values(columns)?;
            let kept = if self.takes_columns { self.kept(&keys).await? } else { None };
            self.write(Rows { keys: keys.into(), values, kept }, loader).await?;
        }
        Ok(true)
    }

    /// What is stored of rows that a plan gave, which are ascending, if they have no others between them.
    async fn kept(&self, keys: &EntityKeys) -> SqlResult<Option<PropertyColumns>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let from = KeyRange::between(Some(&keys.key(0)), None).into();
        let Some(mut walk) = kept_rows(self.reads, self.before, from, Some(keys.len()))? else { return Ok(None) };
        let (shown, kept) = walk.next(keys.len(), usize::MAX, &self.left_out).await?;
        Ok(kept.filter(|_| shown == *keys))
    }

    async fn write(&self, rows: Rows, loader: &mut TableLoader) -> SqlResult<()> {
        let Rows { keys, values, kept } = rows;
        let new_keys = self.new_keys(&values, &keys)?;
        if let Some(columns) = kept {
            let entities = self.as_columns(Arc::clone(&new_keys), &values, columns);
            if loader.push_new(entities).await.map_err(|error| self.told(error))? {
                return Ok(());
            }
        }
        let old_keys: Vec<EntityKey> = (0..keys.len()).map(|row| keys.key(row)).collect();
        let mut stored = self.reads.get_each(&self.before.stored, &old_keys);
        for row in 0..old_keys.len() {
            let Some(stored) = stored.try_next().await?.flatten() else { continue };
            let properties = self.properties(stored.entity.properties, &values, row)?;
            let entity = Entity::new(new_keys.key(row), properties);
            loader.push(entity).await.map_err(|error| self.told(error))?;
        }
        Ok(())
    }

    /// The rows as new entities, if they can be columns.
    fn as_columns(
        &self,
        keys: Arc<EntityKeys>,
        values: &[ArrayRef],
        mut columns: PropertyColumns,
    ) -> Option<NewEntities> {
        for (name, sql_type, values) in self.rewrite.computed.iter().zip(values).filter_map(|c| self.stored_as(c)) {
            columns.push((name.clone(), edm::to_edm_column(values, sql_type)?));
        }
        NewEntities::new(&self.after.stored, keys, columns)
    }

    /// The property that keeps a computed column, its type and its values.
    fn stored_as<'v>(
        &self,
        (computed, values): (&Computed, &'v ArrayRef),
    ) -> Option<(&PropertyName, &SqlType, &'v ArrayRef)> {
        let column = &self.after.columns[computed.column];
        column.property().map(|name| (name, &column.sql_type, values))
    }

    /// The computed columns, each as its column's type, from what was computed.
    fn values(&self, columns: impl IntoIterator<Item = (ArrayRef, SqlType)>) -> SqlResult<Vec<ArrayRef>> {
        let assign = |(computed, (values, from)): (&Computed, (ArrayRef, SqlType))| {
            let column = &self.after.columns[computed.column];
            edm::assign_as(&values, &from, &column.sql_type, computed.value.untyped, self.reads.moments.reading())
                .map_err(|error| told_of_cast(error, computed, &column.name, &column.sql_type))
        };
        self.rewrite.computed.iter().zip(columns).map(assign).collect()
    }

    /// The keys that rows get which have these now.
    fn new_keys(&self, values: &[ArrayRef], keys: &Arc<EntityKeys>) -> SqlResult<Arc<EntityKeys>> {
        if self.rewrite.keeps_keys {
            return Ok(Arc::clone(keys));
        }
        Ok(Arc::new(match &self.after.generated_partition {
            Some(partition) => generated_keys(partition, keys.len())?,
            None => self.after.codec.encode_keys(&self.key_parts(values)?)?,
        }))
    }

    /// The columns of the new key.
    fn key_parts(&self, values: &[ArrayRef]) -> SqlResult<Vec<ArrayRef>> {
        let mut parts = Vec::new();
        for index in self.after.key_columns() {
            let position = self.rewrite.computed.iter().position(|c| c.column == index);
            let part = position.map(|i| values[i].clone()).ok_or_else(|| {
                SqlError::new(ErrorKind::Internal, "a key column was not computed for rows that get new keys")
            })?;
            if part.null_count() > 0 {
                return Err(contains_nulls(self.after, &self.after.columns[index].name));
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn properties(&self, mut properties: Properties, values: &[ArrayRef], row: usize) -> SqlResult<Properties> {
        self.rewrite.removed.iter().for_each(|name: &PropertyName| properties.remove(name.as_str()));
        for (name, sql_type, array) in self.rewrite.computed.iter().zip(values).filter_map(|c| self.stored_as(c)) {
            if let Some(value) = edm::to_edm(array, sql_type, row)? {
                properties.set(name.clone(), value);
            }
        }
        Ok(properties)
    }

    fn told(&self, error: LoadError) -> Box<SqlError> {
        match error {
            LoadError::Other(error) => error,
            LoadError::Duplicate(key) => {
                let constraint = self.after.primary_key_name();
                let message = format!("could not create unique index \"{constraint}\"");
                let error = self.after.error(ErrorKind::UniqueViolation, message);
                let mut error = self.after.shown_key(&key).shown_in(error, " is duplicated.");
                error.constraint = Some(constraint);
                error
            }
        }
    }
}

/// The rows of a table, if all of them are in the store, and it shows them where they lie.
fn kept_rows(
    reads: &Reads,
    table: &Relation,
    ranges: Arc<[KeyRange]>,
    limit: Option<usize>,
) -> SqlResult<Option<KeptRows>> {
    if reads.own_writes(&table.stored).is_some() {
        return Ok(None);
    }
    KeptRows::of(reads.readers.of(&table.stored)?, &table.stored, ranges, limit)
}

/// PostgreSQL's words for a value that no cast leads to.
fn told_of_cast(error: Box<SqlError>, computed: &Computed, column: &str, to: &SqlType) -> Box<SqlError> {
    match computed.value.origin {
        Origin::Using if error.kind == ErrorKind::DatatypeMismatch => {
            let message =
                format!("result of USING clause for column \"{column}\" cannot be cast automatically to type {to}");
            SqlError::new(ErrorKind::DatatypeMismatch, message).with_hint("You might need to add an explicit cast.")
        }
        Origin::Column | Origin::Using | Origin::Default | Origin::Generated => error.for_column(column),
    }
}
