//! UPDATE: read keys, versions and new values, then write conditionally.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{self, AssignmentTarget, Expr, Value};
use futures::StreamExt;

use super::Changed;
use super::changed_rows::{ChangedRows, NullRefused};
use super::checks::not_null;
use super::defaults::{default_expression, is_default};
use super::generated::check_not_given;
use super::returning::{Returning, all_columns};
use super::rows::keys_of_batch;
use super::target::{TargetColumn, find_target, item, labelled, select, target_column, target_of};
use super::writes::{Change, Writes};
use crate::model::{ETag, EntityKey};
use crate::sql::edm;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::outcome::ResultColumn;
use crate::sql::plan::{PlannedQuery, Planner};
use crate::sql::relation::Relation;
use crate::sql::scan::relation_rows;
use crate::sql::types::SqlType;

/// Columns the input query begins with: PartitionKey, RowKey, etag.
pub(super) const IDENTITY_COLUMNS: usize = 3;

/// An UPDATE, planned.
pub(crate) struct PreparedUpdate {
    relation: Arc<Relation>,
    input: PlannedQuery,
    assignments: Vec<SetClause>,
    changes: Box<ChangedRows>,
    returning: Option<Returning>,
}

/// One `column = expression`.
struct SetClause {
    target: TargetColumn,
    /// The expression is a bare string literal or parameter: its text is read as the column's type.
    untyped: bool,
}

impl PreparedUpdate {
    /// # Errors
    /// Whatever is wrong with the statement; 0A000 for clauses PostgreSQL does not have.
    pub async fn prepare(planner: &Planner<'_>, update: &ast::Update, declared: &[SqlType]) -> SqlResult<Self> {
        if update.or.is_some() || !update.order_by.is_empty() || update.limit.is_some() || update.output.is_some() {
            return Err(SqlError::not_supported("this clause of UPDATE"));
        }
        if update.from.is_some() {
            return Err(SqlError::not_supported("UPDATE ... FROM").with_hint("Use a sub-query in SET and WHERE."));
        }
        let (name, alias) = target_of(&update.table)?;
        let relation = find_target(planner, name).await?;
        let mut declared = declared.to_vec();
        let mut assignments = Vec::new();
        let mut items = vec![item(&alias, "PartitionKey", 0), item(&alias, "RowKey", 1), item(&alias, "etag", 2)];
        for assignment in &update.assignments {
            let target = set_target(&relation, assignment)?;
            let Some(value) = assigned_value(&relation, &target, &assignment.value)? else { continue };
            declare_parameter(&value, target.column(&relation).map(|c| &c.sql_type), &mut declared);
            assignments.push(SetClause { target, untyped: is_untyped(&value) });
            items.push(labelled(value, items.len()));
        }
        check_assigned_once(&relation, &assignments)?;
        let returning = Returning::prepare(planner, &relation, &alias, update.returning.as_deref(), &declared)?;
        let targets = assignments.iter().map(|clause| clause.target.clone()).collect();
        let changes = Box::new(ChangedRows::prepare(planner, &relation, targets)?);
        if returning.is_some() || changes.need_whole_rows() {
            items.extend(all_columns(&relation, &alias, 1000));
        }
        let query = select(items, vec![update.table.clone()], update.selection.clone())?;
        let input = planner.plan(&query, &declared).await?;
        Ok(Self { relation, input, assignments, changes, returning })
    }

    pub fn parameters(&self) -> &[SqlType] {
        &self.input.parameters
    }

    pub fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        self.returning.as_ref().map(Returning::columns)
    }

    pub fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    pub fn input(&self) -> &PlannedQuery {
        &self.input
    }

    /// Whether it may change the keys of rows.
    pub fn assigns_key(&self) -> bool {
        let key_columns = self.relation.key_columns();
        self.assignments.iter().any(|clause| key_columns.iter().any(|c| clause.target == TargetColumn::Known(*c)))
    }

    pub async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        if self.returning.is_some() {
            writes.keep_versions();
        }
        let changes = self.changes.bind(&planner.engine.moment())?;
        let mut rows = 0;
        let mut new_rows = Vec::new();
        let mut seen = HashSet::new();
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            let mut values = self.assigned(&batch)?;
            if self.returning.is_some() || self.changes.need_whole_rows() {
                let before = batch.columns().iter().skip(IDENTITY_COLUMNS + self.assignments.len()).cloned().collect();
                let after = changes.apply(before, batch.num_rows(), &mut values)?;
                if self.returning.is_some() {
                    new_rows.push(after);
                }
            }
            for (row, key) in keys_of_batch(&batch)?.into_iter().enumerate() {
                // A row found twice is changed once, as in PostgreSQL.
                if !seen.insert(key.clone()) {
                    continue;
                }
                let etag = etag_at(&batch, row)?;
                self.write_row(writes, &key, &etag, &values, row).await?;
                rows += 1;
            }
        }
        let versions = writes.finish().await?;
        let returned = Returning::rows(self.returning.as_ref(), planner, parameters, new_rows, &versions).await?;
        Ok(Changed { rows, returned })
    }

    /// The new values, each as its column's type.
    fn assigned(&self, batch: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
        let schema = batch.schema();
        let mut values = Vec::with_capacity(self.assignments.len());
        for (i, clause) in self.assignments.iter().enumerate() {
            let index = IDENTITY_COLUMNS + i;
            let from = SqlType::of_field(schema.field(index));
            values.push(match clause.target.column(&self.relation) {
                Some(column) => edm::assign(batch.column(index), &from, &column.sql_type, clause.untyped)
                    .map_err(|e| e.for_column(&column.name))?,
                None => batch.column(index).clone(),
            });
        }
        Ok(values)
    }

    async fn write_row(
        &self,
        writes: &mut Writes<'_>,
        key: &EntityKey,
        etag: &ETag,
        values: &[ArrayRef],
        row: usize,
    ) -> SqlResult<()> {
        let change = match self.changes.change(values, row)? {
            Ok(change) => change,
            Err(NullRefused) => {
                // Only now are the row's other values of interest: for the error's DETAIL.
                let stored = writes.current(key).await?;
                let before = relation_rows(&self.relation, &stored.iter().collect::<Vec<_>>())?;
                return Err(self.changes.null_error(&before, values, row)?);
            }
        };
        match self.new_key(key, values, row)? {
            Some(new_key) if new_key != *key => self.move_row(writes, key, etag, new_key, change).await,
            _ => writes.update(key, etag, change).await,
        }
    }

    /// The key the row gets when a key column is assigned; `None` when none is.
    fn new_key(&self, key: &EntityKey, values: &[ArrayRef], row: usize) -> SqlResult<Option<EntityKey>> {
        let key_columns = self.relation.key_columns();
        let assigned = |column: usize| {
            self.assignments
                .iter()
                .position(|c| c.target == TargetColumn::Known(column))
                .map(|i| values[i].slice(row, 1))
        };
        if !key_columns.iter().any(|c| assigned(*c).is_some()) {
            return Ok(None);
        }
        let all: Vec<usize> = (0..key_columns.len()).collect();
        let partition = arrow::array::StringArray::from(vec![key.partition.as_str()]);
        let row_key = arrow::array::StringArray::from(vec![key.row.as_str()]);
        let old = self.relation.codec.decode(&partition, &row_key, &all)?;
        let mut parts = Vec::with_capacity(old.len());
        for (column, old) in key_columns.iter().zip(old) {
            let part = assigned(*column).unwrap_or(old);
            if part.is_null(0) {
                return Err(not_null(&self.relation, &self.relation.columns[*column].name));
            }
            parts.push(part);
        }
        Ok(self.relation.codec.encode_batch(&parts)?.pop())
    }

    /// A changed key is a delete and an insert, in one EGT: so both must be in one partition, unless observe mode looks
    /// on.
    async fn move_row(
        &self,
        writes: &mut Writes<'_>,
        key: &EntityKey,
        etag: &ETag,
        new_key: EntityKey,
        change: Change,
    ) -> SqlResult<()> {
        if key.partition != new_key.partition {
            writes.check_move(&key.partition, &new_key.partition)?;
        }
        let Some(base) = writes.current(key).await? else { return Ok(()) };
        let mut properties = base.entity.properties;
        change.removed.iter().for_each(|name| properties.remove(name.as_str()));
        properties.merge(change.set);
        writes.delete(key.clone(), etag).await?;
        writes.insert(crate::model::Entity::new(new_key, properties)).await
    }
}

pub(crate) fn etag_at(batch: &RecordBatch, row: usize) -> SqlResult<ETag> {
    let etags = batch.column(IDENTITY_COLUMNS - 1).as_string_opt::<i32>();
    let text = etags.map(|e| e.value(row)).unwrap_or_default();
    ETag::parse(text).map_err(|e| SqlError::new(ErrorKind::DataCorrupted, e.to_string()))
}

fn set_target(relation: &Relation, assignment: &ast::Assignment) -> SqlResult<TargetColumn> {
    let AssignmentTarget::ColumnName(name) = &assignment.target else {
        return Err(SqlError::not_supported("SET (a, b) = (...)").with_hint("Assign each column on its own."));
    };
    let ident =
        name.0.last().and_then(|p| p.as_ident()).ok_or_else(|| SqlError::not_supported(format!("SET {name}")))?;
    target_column(relation, ident)
}

/// What SET gives a column, DEFAULT spelled out; `None` for DEFAULT of a generated column, which is computed anyway.
pub(super) fn assigned_value(relation: &Relation, target: &TargetColumn, value: &Expr) -> SqlResult<Option<Expr>> {
    if !is_default(value) {
        check_not_given(relation, target, true)?;
        return Ok(Some(value.clone()));
    }
    if target.column(relation).is_some_and(|column| column.generated.is_some()) {
        return Ok(None);
    }
    default_expression(relation, target).map(Some)
}

/// Whether PostgreSQL would give the expression the type `unknown`.
pub(crate) fn is_untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(
            value.value,
            Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::DollarQuotedString(_)
                | Value::Null
                | Value::Placeholder(_)
        ),
        Expr::Nested(inner) => is_untyped(inner),
        _ => false,
    }
}

/// A bare parameter has the type of the column it is assigned to, unless the client said otherwise.
pub(super) fn declare_parameter(expr: &Expr, sql_type: Option<&SqlType>, declared: &mut Vec<SqlType>) {
    let Expr::Value(value) = expr else { return };
    let Value::Placeholder(name) = &value.value else { return };
    let Some(index) = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()).filter(|n| *n > 0) else { return };
    if declared.len() < index {
        declared.resize(index, SqlType::Unknown);
    }
    if declared[index - 1] == SqlType::Unknown {
        declared[index - 1] = sql_type.cloned().unwrap_or(SqlType::Text);
    }
}

fn check_assigned_once(relation: &Relation, assignments: &[SetClause]) -> SqlResult<()> {
    let mut names = HashSet::new();
    for clause in assignments {
        let name = clause.target.name(relation);
        if !names.insert(name) {
            return Err(SqlError::new(ErrorKind::Syntax, format!("multiple assignments to same column \"{name}\"")));
        }
    }
    Ok(())
}
