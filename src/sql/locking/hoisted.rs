//! Locking sub-queries: they run before the statement around them, which reads the rows they have locked.
//!
//! PostgreSQL locks rows while the statement runs. If a sub-query does not depend on the query around it, running it
//! first has the same effect. `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ... LIMIT 1 FOR UPDATE SKIP LOCKED)`
//! is the one that matters.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use tablegate_bind::Oid;
use tablegate_bind::catalogue::{Relation, RelationColumn};
use tablegate_bind::query::bound::{BoundQuery, JoinTree, RangeColumn, RangeEntry, RangeSource, Target, column_of};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::query::LockingQuery;
use crate::plan::{Meant, Planner, TableEntry, Tables, own_number, rows_as};
use crate::syntax::Command;

/// The locking sub-queries of a statement.
pub(crate) struct LockingSubQueries {
    queries: Vec<LockingQuery>,
    /// The number that the rows of each of them are known by to the statement around them.
    numbers: Vec<Oid>,
}

impl LockingSubQueries {
    /// Takes them out of what a statement means, which reads their rows then; `None` when it has none.
    ///
    /// # Errors
    /// As [`LockingQuery::prepare`]; 0A000 for one that depends on the query around it.
    pub(crate) async fn take(
        planner: &Planner<'_>,
        command: &Command,
        meant: &mut Meant,
        declared: &[SqlType],
    ) -> SqlResult<Option<Self>> {
        if !meant.locks_inside() {
            return Ok(None);
        }
        let (mut taken, mut numbers) = (Vec::new(), Vec::new());
        meant.replace_locking(&mut |query| {
            if query.bound.depends_on_others() {
                return Err(depends());
            }
            let number = own_number();
            let reading = reading(&query.bound, number)?;
            taken.push(query);
            numbers.push(number);
            Ok(reading)
        })?;
        let mut queries = Vec::with_capacity(taken.len());
        for query in taken {
            queries.push(LockingQuery::prepare(planner, command, Some(query), declared).await?);
        }
        Ok(Some(Self { queries, numbers }))
    }

    pub(crate) fn queries(&self) -> &[LockingQuery] {
        &self.queries
    }

    /// The sub-queries as tables without rows, to plan with.
    ///
    /// # Errors
    /// None are expected: the rows have the columns of their sub-query.
    pub(crate) fn empty_tables(&self) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        for (query, number) in self.queries.iter().zip(&self.numbers) {
            insert(&mut tables, query.table(*number, Vec::new())?);
        }
        Ok(tables)
    }

    /// The rows of each sub-query, in order, as tables for the statement around them.
    ///
    /// # Errors
    /// None are expected: the rows have the columns of their sub-query.
    pub(crate) fn tables(&self, rows: Vec<Vec<RecordBatch>>) -> SqlResult<Tables> {
        let mut tables = Tables::default();
        for ((query, number), rows) in self.queries.iter().zip(&self.numbers).zip(rows) {
            let only_value = query.only_value(&rows)?;
            insert(&mut tables, TableEntry { only_value, ..query.table(*number, rows)? });
        }
        Ok(tables)
    }
}

fn insert(tables: &mut Tables, table: TableEntry) {
    tables.insert(&table.key.clone(), table);
}

impl LockingQuery {
    /// Rows of it as a table of this number, whose columns have their numbers for names.
    fn table(&self, number: Oid, rows: Vec<RecordBatch>) -> SqlResult<TableEntry> {
        let planned = self.input().plan.schema();
        let fields = planned.fields().iter().take(self.columns.len()).enumerate();
        let fields = fields.map(|(at, field)| field.as_ref().clone().with_name(at.to_string()).with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let table = TableEntry::of_provider(&format!("locked rows {number}"), rows_as(schema, rows)?);
        Ok(TableEntry { number, ..table })
    }

    /// What a query of one column gave, if that was at most one row, and of a type that keys mostly have: a key that is compared
    /// with it can be looked up then, as in the next job of a queue.
    fn only_value(&self, rows: &[RecordBatch]) -> SqlResult<Option<(ScalarValue, SqlType)>> {
        use SqlType as T;
        let [column] = &*self.columns else { return Ok(None) };
        let sql_type = &column.sql_type;
        if !matches!(sql_type, T::Int2 | T::Int4 | T::Int8 | T::Text | T::Varchar(_) | T::Uuid | T::Date) {
            return Ok(None);
        }
        let mut found = rows.iter().filter(|batch| batch.num_rows() > 0);
        let value = match (found.next(), found.next()) {
            (None, _) => {
                let planned = self.input().plan.schema();
                ScalarValue::try_new_null(planned.field(0).data_type())?
            }
            (Some(batch), None) if batch.num_rows() == 1 => ScalarValue::try_from_array(batch.column(0), 0)?,
            _ => return Ok(None),
        };
        Ok(Some((value, sql_type.clone())))
    }
}

/// A query of the rows of a table with the columns of this one.
fn reading(query: &BoundQuery, number: Oid) -> SqlResult<BoundQuery> {
    let results = query.results().enumerate();
    let columns = results.map(|(at, target)| RelationColumn {
        name: at.to_string(),
        oid: target.expr.ty.oid,
        typmod: target.expr.ty.typmod,
        ..RelationColumn::default()
    });
    let relation = Relation { oid: number, columns: columns.collect(), ..Relation::default() };
    let columns = query.results().map(|target| RangeColumn { name: target.name.clone(), ty: target.expr.ty });
    let source = RangeSource::Table { relation: Arc::new(relation), only: false, sample: None };
    let range = vec![RangeEntry::unnamed(String::new(), columns.collect(), source)];
    let mut targets = Vec::new();
    for (at, target) in query.results().enumerate() {
        let expr = column_of(&range, 0, at);
        let expr = expr.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a column of nothing that is read"))?;
        targets.push(Target { expr, name: target.name.clone(), is_hidden: false, origin: None });
    }
    Ok(BoundQuery { range, from: vec![JoinTree::Entry(0)], targets, ..BoundQuery::default() })
}

fn depends() -> Box<SqlError> {
    SqlError::not_supported("a locking clause in a sub-query that depends on the query around it")
        .with_hint("Lock the rows in a statement of their own, or in a sub-query that stands for itself.")
}
