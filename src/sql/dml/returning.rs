//! RETURNING: expressions over the rows as they were written.
//!
//! The rows stand in memory under the target's alias, and the clause is an ordinary SELECT over them, joined to the rows
//! of other tables they were found with. Its sub-queries see the tables as the statement found them. A row's version is
//! known once it is committed; inside a transaction RETURNING shows the version that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, TableAlias, TableFactor, TableWithJoins,
};
use tablegate_store::model::EntityKey;
use tablegate_store::table::Written;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::checks::batch_of;
use super::kept_rows::{KeptRows, held};
use super::others::{Named, OtherColumns};
use super::own_types::shown;
use super::row_functions::gives_rows;
use super::target::{and, equal, item, select};
use super::writes::Writes;
use crate::batches::keys_of_batch;
use crate::outcome::{ResultColumn, RowStream};
use crate::plan::{PlannedQuery, Planner, TableEntry, Tables};
use crate::relation::{ColumnSource, Relation, table_row};
use crate::syntax::fold;

/// The name of the written rows in the query of a clause: the target's own name still means the table.
const WRITTEN: &str = "\u{2}written";
/// Joins a written row to the rows of other tables it was found with.
const ORDINAL: &str = "\u{2}row";

/// A RETURNING clause.
pub(super) struct Returning {
    relation: Arc<Relation>,
    others: OtherColumns,
    query: Query,
    /// The query over no rows.
    planned: PlannedQuery,
    /// Of the rows the clause takes.
    schema: SchemaRef,
    shows_versions: bool,
}

impl Returning {
    /// A clause that may also show columns of other tables; types of parameters in it are added to `declared`.
    ///
    /// # Errors
    /// The errors of planning the clause's expressions.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        alias: &Ident,
        items: Option<&[SelectItem]>,
        others: OtherColumns,
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<Option<Self>> {
        let Some(items) = items else { return Ok(None) };
        if items.iter().any(gives_rows) {
            let message = "set-returning functions are not allowed in RETURNING";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        let query = clause_query(items, alias, &others);
        let fields = Self::row_schema(relation).fields().iter().chain(others.fields()).cloned().collect::<Vec<_>>();
        let schema = Arc::new(Schema::new(fields));
        let tables = tables_of(relation, &others, &[RecordBatch::new_empty(schema.clone())])?;
        let planned = planner.plan_with(&query, &tables, declared).await?;
        planned.learn(declared);
        let shows_versions = shows_versions(relation, alias, items);
        let relation = relation.clone();
        Ok(Some(Self { relation, others, query, planned, schema, shows_versions }))
    }

    pub(super) fn columns(&self) -> Arc<[ResultColumn]> {
        self.planned.columns.clone()
    }

    /// The columns as the plan has them: no two of one name.
    pub(super) fn result_schema(&self) -> SchemaRef {
        self.planned.plan.schema().inner().clone()
    }

    /// The schema of rows of the target: all columns of the relation, NULLs allowed.
    pub(super) fn row_schema(relation: &Relation) -> SchemaRef {
        let fields: Vec<_> =
            relation.arrow_schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        Arc::new(Schema::new(fields))
    }

    /// Rows for [`Returning::rows`]: those of the target, with columns of the other tables behind them.
    ///
    /// # Errors
    /// XX000 when these are not the columns that were planned.
    pub(super) fn joined(&self, target: &RecordBatch, others: &[ArrayRef]) -> SqlResult<RecordBatch> {
        let columns: Vec<ArrayRef> = target.columns().iter().chain(others).cloned().collect();
        self.read(&columns)
    }

    /// The same, of columns as they were read: those of the target, then those of the other tables.
    ///
    /// # Errors
    /// As [`Returning::joined`].
    pub(super) fn read(&self, columns: &[ArrayRef]) -> SqlResult<RecordBatch> {
        Ok(RecordBatch::try_new(self.schema.clone(), columns.to_vec())?)
    }

    /// Whether it shows versions, which the store gives the rows when they are committed.
    pub(super) fn shows_versions(&self) -> bool {
        self.shows_versions
    }

    /// The statement is complete: commits what is direct, and evaluates the clause, where there is one, over the written
    /// rows. What the clause may refuse it refuses before the commit, unless it shows what only the commit gives.
    ///
    /// # Errors
    /// What the clause's expressions refuse; what the commit meets.
    pub(super) async fn finish(
        clause: Option<&Self>,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: KeptRows,
        writes: &mut Writes<'_>,
    ) -> SqlResult<Option<(Arc<[ResultColumn]>, RowStream)>> {
        let Some(clause) = clause else {
            writes.finish().await?;
            return Ok(None);
        };
        // Boxed: what a future holds is moved with it, and most changes have no such clause.
        let stream = Box::pin(clause.finish_with(planner, parameters, rows, writes)).await?;
        Ok(Some((clause.columns(), stream)))
    }

    async fn finish_with(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: KeptRows,
        writes: &mut Writes<'_>,
    ) -> SqlResult<RowStream> {
        let (rows, memory) = rows.into_parts();
        let stream = if self.shows_versions {
            planner.check(&self.planned, parameters)?;
            let versions = writes.finish().await?;
            let known = |batch| self.with_versions(batch, &versions);
            self.evaluate(planner, parameters, rows.into_iter().map(known).collect::<SqlResult<_>>()?).await?
        } else {
            let stream = self.evaluate(planner, parameters, rows).await?;
            let returned = KeptRows::of(planner, "rows of RETURNING", stream).await?;
            writes.finish().await?;
            returned.into_stream()
        };
        Ok(held(stream, memory))
    }

    async fn evaluate(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        mut rows: Vec<RecordBatch>,
    ) -> SqlResult<RowStream> {
        if rows.is_empty() {
            rows.push(RecordBatch::new_empty(self.schema.clone()));
        }
        let tables = tables_of(&self.relation, &self.others, &rows)?;
        let planned = planner.plan_with(&self.query, &tables, &self.planned.parameters).await?;
        planner.run(&planned, parameters).await
    }

    /// Puts the committed versions into the Timestamp and etag columns.
    fn with_versions(&self, batch: RecordBatch, versions: &BTreeMap<EntityKey, Written>) -> SqlResult<RecordBatch> {
        if versions.is_empty() {
            return Ok(batch);
        }
        let index = |wanted: &ColumnSource| self.relation.columns.iter().position(|c| c.source == *wanted);
        let (Some(partition), Some(row)) = (index(&ColumnSource::PartitionKey), index(&ColumnSource::RowKey)) else {
            return Ok(batch);
        };
        let keys = keys_of_batch(&batch.project(&[partition, row])?)?;
        let written: Vec<_> = keys
            .iter()
            .map(|key| match versions.get(key) {
                Some(Written::Entity { etag, timestamp }) => Some((etag.text(), timestamp.unix_micros())),
                Some(Written::Deleted) | None => None,
            })
            .collect();
        let mut columns = batch.columns().to_vec();
        if let Some(etag) = index(&ColumnSource::ETag) {
            let etags: StringArray = written.iter().map(|w| w.as_ref().map(|(etag, _)| etag)).collect();
            columns[etag] = keep_unknown(&columns[etag], Arc::new(etags))?;
        }
        if let Some(timestamp) = index(&ColumnSource::Timestamp) {
            let at: TimestampMicrosecondArray = written.iter().map(|w| w.as_ref().map(|(_, at)| *at)).collect();
            columns[timestamp] = keep_unknown(&columns[timestamp], Arc::new(at.with_timezone("UTC")))?;
        }
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

/// The new values, and the old ones where there is no new one.
fn keep_unknown(old: &ArrayRef, new: ArrayRef) -> SqlResult<ArrayRef> {
    let known = arrow::compute::is_not_null(&new)?;
    Ok(arrow::compute::kernels::zip::zip(&known, &new, old)?)
}

/// Whether a clause names, or shows with `*`, one of the columns that the store sets.
fn shows_versions(relation: &Relation, alias: &Ident, items: &[SelectItem]) -> bool {
    let alias = fold(alias);
    let aliases = [alias.as_str()];
    let named = Named::of(items, &aliases);
    let set_by_store =
        relation.columns.iter().filter(|c| matches!(c.source, ColumnSource::Timestamp | ColumnSource::ETag));
    set_by_store.into_iter().any(|column| named.shows(&column.name, column.hidden))
}

/// The clause as a query: a row of the target with its rows of the other tables, for each ordinal.
fn clause_query(items: &[SelectItem], alias: &Ident, others: &OtherColumns) -> Query {
    let ordinal = |table: &Ident| Expr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', ORDINAL)]);
    let mut from = vec![table_as(object_name(WRITTEN), alias)];
    let mut condition: Option<Expr> = None;
    for (i, table) in others.tables().iter().enumerate() {
        let other = Ident::with_quote('"', table.alias.clone());
        from.push(table_as(object_name(&other_name(i)), &other));
        condition = Some(and(condition, equal(ordinal(alias), ordinal(&other))));
    }
    select(items.to_vec(), from, condition)
}

fn other_name(index: usize) -> String {
    format!("\u{2}from{index}")
}

/// The rows in memory: those of the target and those of the other tables, each table with ordinals if there are several.
fn tables_of(relation: &Relation, others: &OtherColumns, rows: &[RecordBatch]) -> SqlResult<Tables> {
    let mut tables = Tables::default();
    let visible = |hidden| relation.columns.iter().filter(move |c| c.hidden == hidden).map(|c| c.name.clone());
    let numbered = !others.tables().is_empty();
    let mut add = |name: &str, from: usize, columns: &[String], visible: Vec<String>, hidden: Vec<String>| {
        let part: Vec<RecordBatch> =
            rows.iter().map(|batch| part_of(batch, from, columns)).collect::<SqlResult<Vec<_>>>()?;
        let mut entry = rows_table(name, part, numbered)?;
        (entry.visible, entry.hidden) = (visible, hidden);
        entry.hidden.extend(numbered.then(|| ORDINAL.to_owned()));
        tables.insert(name, entry);
        SqlResult::Ok(())
    };
    let own: Vec<String> = relation.columns.iter().map(|c| c.name.clone()).collect();
    add(WRITTEN, 0, &own, visible(false).collect(), visible(true).collect())?;
    let mut from = own.len();
    for (i, table) in others.tables().iter().enumerate() {
        let (hidden, visible) = table.columns.iter().cloned().partition(|column| table.hidden.contains(column));
        add(&other_name(i), from, &table.columns, visible, hidden)?;
        from += table.columns.len();
    }
    tables.set_row_type(WRITTEN, table_row(relation));
    Ok(tables)
}

/// The columns of a batch from one on, under these names.
fn part_of(batch: &RecordBatch, from: usize, names: &[String]) -> SqlResult<RecordBatch> {
    let schema = batch.schema();
    let field = |(i, name): (usize, &String)| schema.field(from + i).clone().with_name(name).with_nullable(true);
    let fields: Vec<Field> = names.iter().enumerate().map(field).collect();
    batch_of(Arc::new(Schema::new(fields)), batch.columns()[from..from + names.len()].to_vec(), batch.num_rows())
}

/// Rows in memory as a table; with a column of ordinals, if they are numbered.
fn rows_table(name: &str, mut rows: Vec<RecordBatch>, numbered: bool) -> SqlResult<TableEntry> {
    if numbered {
        let mut next = 0_i64;
        for batch in &mut rows {
            let count = i64::try_from(batch.num_rows()).unwrap_or(i64::MAX);
            let ordinals = Arc::new(Int64Array::from_iter_values(next..next + count));
            next += count;
            *batch = with_column(batch, SqlType::Int8.field(ORDINAL, false), ordinals)?;
        }
    }
    let schema = rows.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    let provider = MemTable::try_new(schema, vec![rows])?;
    Ok(TableEntry::of_provider(name, Arc::new(provider)))
}

/// A batch with one more column.
pub(super) fn with_column(batch: &RecordBatch, field: Field, column: ArrayRef) -> SqlResult<RecordBatch> {
    let mut fields: Vec<FieldRef> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(field));
    let mut columns = batch.columns().to_vec();
    columns.push(column);
    batch_of(Arc::new(Schema::new(fields)), columns, batch.num_rows())
}

/// A name that is taken as it stands.
pub(super) fn object_name(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', name))])
}

/// `name AS alias` as a FROM item.
pub(super) fn table_as(name: ObjectName, alias: &Ident) -> TableWithJoins {
    let alias = TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None };
    let relation = TableFactor::Table {
        name,
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}

/// The rows' columns from what an INSERT gave, NULL elsewhere; keys as they were encoded.
pub(super) fn inserted_rows(
    relation: &Relation,
    keys: &[EntityKey],
    given: &dyn Fn(usize) -> Option<ArrayRef>,
) -> SqlResult<RecordBatch> {
    let schema = Returning::row_schema(relation);
    let mut columns = Vec::with_capacity(relation.columns.len());
    for (index, column) in relation.columns.iter().enumerate() {
        columns.push(match (&column.source, given(index)) {
            (ColumnSource::PartitionKey, _) => {
                Arc::new(StringArray::from_iter_values(keys.iter().map(|k| k.partition.as_str()))) as ArrayRef
            }
            (ColumnSource::RowKey, _) => Arc::new(StringArray::from_iter_values(keys.iter().map(|k| k.row.as_str()))),
            (ColumnSource::Timestamp | ColumnSource::ETag, _) | (_, None) => {
                arrow::array::new_null_array(schema.field(index).data_type(), keys.len())
            }
            (_, Some(values)) => shown(values, column)?,
        });
    }
    RecordBatch::try_new(schema, columns).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))
}

/// All columns of a relation as select items.
pub(super) fn all_columns(relation: &Relation, alias: &Ident, first_label: usize) -> Vec<SelectItem> {
    relation.columns.iter().enumerate().map(|(i, c)| item(alias, &c.name, first_label + i)).collect()
}
