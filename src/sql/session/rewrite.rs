//! Writing all rows of a table anew, into another stored table.
//!
//! Rows are read as the transaction sees them, its own writes among them, and pass through in batches. No other session
//! sees the new stored table before COMMIT, and without COMMIT it is dropped again.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::record_batch::RecordBatch;
use futures::{StreamExt, TryStreamExt};
use tablegate_store::model::{Entity, EntityKey, EntityKeys, Properties, PropertyName};
use tablegate_store::table::NewEntities;
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::Session;
use super::kept_columns::KeptColumns;
use crate::batches::keys_of_batch;
use crate::catalog::Declaration;
use crate::ddl::{Computed, Origin, Rewrite};
use crate::dml::{contains_nulls, generated_keys, keys_and};
use crate::reads::Reads;
use crate::relation::{ColumnSource, Relation, RelationKind};
use crate::tx::{LoadError, TableLoader};

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
        let fresh = self.engine.catalog().make_next(declaration).await?;
        let after = declaration.relation()?;
        let (engine, report) = (&self.engine, self.report(before, "ALTER TABLE"));
        let mut loader = TableLoader::new(engine.stores(), &after.stored, engine.held_back(), report)?;
        let planner = self.planner();
        let query = keys_and(before, rewrite.computed.iter().map(|c| c.value.expr.clone()));
        let planned = planner.plan(&query, &[]).await?;
        let takes_columns = self.engine.stores().at(after.stored.place)?.parallelism().windows;
        let copy = Copy { reads: &planner.reads, before, after: &after, rewrite, takes_columns };
        let mut batches = planner.run(&planned, &[]).await?;
        while let Some(batch) = batches.next().await {
            copy.batch(&batch?, &mut loader).await?;
        }
        loader.finish().await.map_err(|error| copy.told(error))?;
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

/// A copy under way.
struct Copy<'a> {
    reads: &'a Reads,
    before: &'a Relation,
    after: &'a Relation,
    rewrite: &'a Rewrite,
    /// The store takes many new entities as columns.
    takes_columns: bool,
}

impl Copy<'_> {
    async fn batch(&self, batch: &RecordBatch, loader: &mut TableLoader) -> SqlResult<()> {
        let values = self.values(batch)?;
        if self.takes_columns
            && let Some(entities) = self.as_columns(batch, &values).await?
            && loader.push_new(Some(entities)).await.map_err(|error| self.told(error))?
        {
            return Ok(());
        }
        let old_keys = keys_of_batch(batch)?;
        let new_keys = self.new_keys(&values, batch.num_rows())?;
        let mut stored = self.reads.get_each(&self.before.stored, &old_keys);
        for (row, old_key) in old_keys.iter().enumerate() {
            let Some(stored) = stored.try_next().await?.flatten() else { continue };
            let properties = self.properties(stored.entity.properties, &values, row)?;
            let key = new_keys.as_ref().map_or_else(|| old_key.clone(), |keys| keys[row].clone());
            loader.push(Entity::new(key, properties)).await.map_err(|error| self.told(error))?;
        }
        Ok(())
    }

    /// The rows as new entities, if all that is stored of them is in the store, and can be columns.
    async fn as_columns(&self, batch: &RecordBatch, values: &[ArrayRef]) -> SqlResult<Option<NewEntities>> {
        let stored = &self.before.stored;
        if self.reads.own_writes(stored).is_some() {
            return Ok(None);
        }
        let text = |index: usize| batch.column(index).as_string_opt::<i32>();
        let (Some(partitions), Some(rows)) = (text(0), text(1)) else { return Ok(None) };
        let computed: Vec<_> = self.rewrite.computed.iter().zip(values).filter_map(|c| self.stored_as(c)).collect();
        let left_out = |name: &str| {
            self.rewrite.removed.iter().any(|removed| removed.as_str() == name)
                || computed.iter().any(|(computed, ..)| computed.as_str() == name)
        };
        let reader = self.reads.readers.of(stored)?;
        let Some(mut columns) = KeptColumns::read(reader, stored, (partitions, rows), &left_out).await? else {
            return Ok(None);
        };
        for (name, sql_type, values) in &computed {
            let Some(column) = edm::to_edm_column(values, sql_type) else { return Ok(None) };
            columns.push(((*name).clone(), column));
        }
        let keys = self.new_entity_keys(values, (partitions, rows))?;
        Ok(NewEntities::new(&self.after.stored, keys, columns))
    }

    /// The property that keeps a computed column, its type and its values.
    fn stored_as<'v>(
        &self,
        (computed, values): (&Computed, &'v ArrayRef),
    ) -> Option<(&PropertyName, &SqlType, &'v ArrayRef)> {
        let column = &self.after.columns[computed.column];
        match &column.source {
            ColumnSource::Property { name, .. } => Some((name, &column.sql_type, values)),
            _ => None,
        }
    }

    /// The computed columns, each as its column's type.
    fn values(&self, batch: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
        let schema = batch.schema();
        let assign = |(i, computed): (usize, &Computed)| {
            let index = KEY_COLUMNS + i;
            let column = &self.after.columns[computed.column];
            let from = SqlType::of_field(schema.field(index));
            edm::assign_as(
                batch.column(index),
                &from,
                &column.sql_type,
                computed.value.untyped,
                self.reads.moments.reading(),
            )
            .map_err(|error| told_of_cast(error, computed, &column.name, &column.sql_type))
        };
        self.rewrite.computed.iter().enumerate().map(assign).collect()
    }

    /// The keys the rows get; `None` when they keep theirs.
    fn new_keys(&self, values: &[ArrayRef], rows: usize) -> SqlResult<Option<Vec<EntityKey>>> {
        if self.rewrite.keeps_keys {
            return Ok(None);
        }
        if let Some(partition) = &self.after.generated_partition {
            let keys = generated_keys(partition, rows)?;
            return Ok(Some((0..rows).map(|row| keys.key(row)).collect()));
        }
        self.after.codec.encode_batch(&self.key_parts(values)?).map(Some).map_err(Into::into)
    }

    /// The same of rows that have these now, without an object for each.
    fn new_entity_keys(
        &self,
        values: &[ArrayRef],
        (partitions, rows): (&StringArray, &StringArray),
    ) -> SqlResult<EntityKeys> {
        if !self.rewrite.keeps_keys {
            return match &self.after.generated_partition {
                Some(partition) => generated_keys(partition, rows.len()),
                None => Ok(self.after.codec.encode_keys(&self.key_parts(values)?)?),
            };
        }
        let mut keys = EntityKeys::with_capacity(rows.len());
        for row in 0..rows.len() {
            keys.push(partitions.value(row), rows.value(row))?;
        }
        Ok(keys)
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
                let detail = format!("{} is duplicated.", self.after.key_text(&key));
                let mut error = self.after.error(ErrorKind::UniqueViolation, message).with_detail(detail);
                error.constraint = Some(constraint);
                error
            }
        }
    }
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
