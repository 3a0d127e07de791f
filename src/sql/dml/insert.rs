//! INSERT: rows from VALUES or a query become entities; ON CONFLICT decides about keys that are there.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, OnInsert, Query, SelectItem, SetExpr, SqliteOnConflict, TableObject, UnaryOperator, Value,
};
use futures::StreamExt;

use super::Changed;
use super::conflict::OnConflict;
use super::returning::{Returning, inserted_rows};
use super::rows::RowsToWrite;
use super::target::{TargetColumn, find_target, target_column};
use super::update::{declare_parameter, is_untyped};
use super::writes::Writes;
use crate::sql::edm;
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::input::parse_text;
use crate::sql::outcome::ResultColumn;
use crate::sql::plan::{PlannedQuery, Planner};
use crate::sql::relation::{ColumnSource, Relation};
use crate::sql::statement::fold;
use crate::sql::types::SqlType;

/// Rows of a VALUES list that are written between two looks at the store.
const ROWS_PER_BATCH: usize = 1024;

/// An INSERT, planned.
pub(crate) struct PreparedInsert {
    relation: Arc<Relation>,
    targets: Vec<TargetColumn>,
    source: Source,
    conflict: OnConflict,
    returning: Option<Returning>,
    parameters: Vec<SqlType>,
}

/// Where the rows come from.
enum Source {
    /// VALUES with nothing but constants and parameters: read without a plan.
    Constants(Vec<Vec<Cell>>),
    /// Any query, and which of its columns have no type of their own.
    Query { input: Box<PlannedQuery>, untyped: Vec<bool> },
}

/// One constant of a VALUES list.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    /// The content of a string literal: it has the type of its column.
    Text(String),
    /// A number as written.
    Number(String),
    Boolean(bool),
    /// Parameter by index, from 0.
    Parameter(usize),
}

impl PreparedInsert {
    /// # Errors
    /// Whatever is wrong with the statement; 0A000 for clauses PostgreSQL does not have.
    pub async fn prepare(planner: &Planner<'_>, insert: &ast::Insert, declared: &[SqlType]) -> SqlResult<Self> {
        refuse_other_dialects(insert)?;
        let TableObject::TableName(name) = &insert.table else {
            return Err(SqlError::not_supported(format!("INSERT INTO {}", insert.table)));
        };
        let relation = find_target(planner, name).await?;
        let targets = targets(&relation, insert)?;
        let mut declared = declared.to_vec();
        let source = source(planner, &relation, &targets, insert, &mut declared).await?;
        let alias = insert
            .table_alias
            .as_ref()
            .map_or_else(|| Ident::with_quote('"', relation.name.clone()), |a| a.alias.clone());
        let replace = matches!(insert.or, Some(SqliteOnConflict::Replace));
        let on = match &insert.on {
            Some(OnInsert::OnConflict(on)) => Some(on),
            None => None,
            Some(other) => return Err(SqlError::not_supported(other.to_string())),
        };
        let conflict = OnConflict::prepare(planner, &relation, &targets, &alias, on, replace, &mut declared)?;
        let returning = Returning::prepare(planner, &relation, &alias, insert.returning.as_deref(), &declared)?;
        let parameters = match &source {
            Source::Query { input, .. } if input.parameters.len() > declared.len() => input.parameters.clone(),
            _ => declared.into_iter().map(|t| if t == SqlType::Unknown { SqlType::Text } else { t }).collect(),
        };
        Ok(Self { relation, targets, source, conflict, returning, parameters })
    }

    pub fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    pub fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        self.returning.as_ref().map(Returning::columns)
    }

    pub fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// The query the rows come from; `None` for constants.
    pub fn input(&self) -> Option<&PlannedQuery> {
        match &self.source {
            Source::Query { input, .. } => Some(input),
            Source::Constants(_) => None,
        }
    }

    /// What the statement sets that the service sets itself.
    pub fn notice(&self) -> Option<Notice> {
        let sets_timestamp =
            self.targets.iter().any(|t| t.column(&self.relation).is_some_and(|c| c.source == ColumnSource::Timestamp));
        sets_timestamp.then(|| Notice::info("\"Timestamp\" is set by the store: the given value is ignored"))
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
        let mut changed = 0;
        let mut new_rows = Vec::new();
        match &self.source {
            Source::Constants(cells) => {
                for chunk in cells.chunks(ROWS_PER_BATCH) {
                    let batch = self.constants(chunk, parameters)?;
                    changed += self.write(planner, parameters, &batch, writes, &mut new_rows).await?;
                }
            }
            Source::Query { input, untyped } => {
                let mut batches = planner.run(input, parameters).await?;
                while let Some(batch) = batches.next().await {
                    let batch = self.assigned(&batch?, untyped)?;
                    changed += self.write(planner, parameters, &batch, writes, &mut new_rows).await?;
                }
            }
        }
        let versions = writes.finish().await?;
        let returned = Returning::rows(self.returning.as_ref(), planner, parameters, new_rows, &versions).await?;
        Ok(Changed { rows: changed, returned })
    }

    /// Writes one batch of rows; gives the number of rows inserted or updated.
    async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        batch: &RecordBatch,
        writes: &mut Writes<'_>,
        new_rows: &mut Vec<RecordBatch>,
    ) -> SqlResult<u64> {
        let rows = RowsToWrite::new(&self.relation, &self.targets, batch)?;
        let keys: Vec<_> = (0..rows.len()).map(|row| rows.key(row).clone()).collect();
        let given = |index: usize| self.given(index, batch);
        let incoming = || inserted_rows(&self.relation, &keys, &given);
        let written = self.conflict.write(planner, parameters, &rows, &incoming, writes).await?;
        let changed = written.changed();
        if self.returning.is_some() {
            new_rows.extend(written.rows_after(&incoming)?);
        }
        Ok(changed)
    }

    fn given(&self, column: usize, batch: &RecordBatch) -> Option<ArrayRef> {
        let position = self.targets.iter().position(|t| *t == TargetColumn::Known(column))?;
        Some(batch.column(position).clone())
    }

    /// A VALUES list as columns of the targets' types.
    fn constants(&self, cells: &[Vec<Cell>], parameters: &[ScalarValue]) -> SqlResult<RecordBatch> {
        let mut fields = Vec::with_capacity(self.targets.len());
        let mut columns = Vec::with_capacity(self.targets.len());
        for (index, target) in self.targets.iter().enumerate() {
            let sql_type = match target.column(&self.relation) {
                Some(column) => column.sql_type.clone(),
                None => self.new_property_type(cells, index),
            };
            let name = target.name(&self.relation);
            let values = cells
                .iter()
                .map(|row| cell_value(&row[index], &sql_type, parameters, &self.parameters))
                .collect::<SqlResult<Vec<_>>>()
                .map_err(|e| e.for_column(name))?;
            columns.push(ScalarValue::iter_to_array(values)?);
            fields.push(sql_type.field(name, true));
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }

    /// A property nobody declared is typed by the expression: a parameter's type, else text.
    fn new_property_type(&self, cells: &[Vec<Cell>], index: usize) -> SqlType {
        match cells.first().map(|row| &row[index]) {
            Some(Cell::Parameter(n)) => self.parameters[*n].clone(),
            Some(Cell::Number(text)) => match number_type(text) {
                SqlType::Numeric(_) => SqlType::Float8,
                integer => integer,
            },
            Some(Cell::Boolean(_)) => SqlType::Bool,
            _ => SqlType::Text,
        }
    }

    /// A query's batch with each column as its target's type.
    fn assigned(&self, batch: &RecordBatch, untyped: &[bool]) -> SqlResult<RecordBatch> {
        let mut fields = Vec::with_capacity(self.targets.len());
        let mut columns = Vec::with_capacity(self.targets.len());
        for (index, target) in self.targets.iter().enumerate() {
            let name = target.name(&self.relation);
            let from = SqlType::of_field(batch.schema().field(index));
            let (values, sql_type) = match target.column(&self.relation) {
                Some(column) => {
                    let values = edm::assign(batch.column(index), &from, &column.sql_type, untyped[index])
                        .map_err(|e| e.for_column(name))?;
                    (values, column.sql_type.clone())
                }
                None => (batch.column(index).clone(), from),
            };
            fields.push(sql_type.field(name, true).with_data_type(values.data_type().clone()));
            columns.push(values);
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}

fn refuse_other_dialects(insert: &ast::Insert) -> SqlResult<()> {
    if insert.overwrite
        || insert.ignore
        || insert.replace_into
        || insert.partitioned.is_some()
        || !insert.assignments.is_empty()
    {
        return Err(SqlError::not_supported("this form of INSERT"));
    }
    match insert.or {
        None | Some(SqliteOnConflict::Replace) => Ok(()),
        Some(_) => Err(SqlError::not_supported("this form of INSERT OR")),
    }
}

/// The columns the statement names; all visible ones when it names none.
fn targets(relation: &Relation, insert: &ast::Insert) -> SqlResult<Vec<TargetColumn>> {
    if insert.columns.is_empty() {
        let visible = relation.columns.iter().enumerate().filter(|(_, c)| !c.hidden);
        return Ok(visible.map(|(index, _)| TargetColumn::Known(index)).collect());
    }
    let mut targets: Vec<TargetColumn> = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let ident = name.0.last().and_then(|p| p.as_ident());
        let ident = ident.ok_or_else(|| SqlError::not_supported(format!("column {name}")))?;
        let target = target_column(relation, ident)?;
        if targets.contains(&target) {
            let message = format!("column \"{}\" specified more than once", target.name(relation));
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        targets.push(target);
    }
    Ok(targets)
}

async fn source(
    planner: &Planner<'_>,
    relation: &Relation,
    targets: &[TargetColumn],
    insert: &ast::Insert,
    declared: &mut Vec<SqlType>,
) -> SqlResult<Source> {
    let Some(query) = &insert.source else {
        // DEFAULT VALUES: no column has a default.
        return Ok(Source::Constants(vec![vec![Cell::Null; targets.len()]]));
    };
    if let Some(values) = values_list(query) {
        for row in values {
            check_width(row.len(), targets, insert.columns.is_empty())?;
            for (target, expr) in targets.iter().zip(row.iter()) {
                declare_parameter(expr, target.column(relation).map(|c| &c.sql_type), declared);
            }
        }
        if let Some(cells) = constants(values, targets.len()) {
            return Ok(Source::Constants(cells));
        }
    }
    let query = without_default(query);
    let input = planner.plan(&query, declared).await?;
    check_width(input.columns.len(), targets, insert.columns.is_empty())?;
    let untyped = untyped_columns(&query, targets.len());
    Ok(Source::Query { input: Box::new(input), untyped })
}

/// Fewer values than columns are allowed when no columns were named: the rest is NULL.
fn check_width(width: usize, targets: &[TargetColumn], unnamed: bool) -> SqlResult<()> {
    if width > targets.len() {
        return Err(SqlError::new(ErrorKind::Syntax, "INSERT has more expressions than target columns"));
    }
    if width < targets.len() && !unnamed {
        return Err(SqlError::new(ErrorKind::Syntax, "INSERT has more target columns than expressions"));
    }
    if width < targets.len() {
        return Err(SqlError::new(ErrorKind::Syntax, "INSERT has fewer expressions than the table has columns")
            .with_hint("Name the columns: INSERT INTO t (a, b) ..."));
    }
    Ok(())
}

fn values_list(query: &Query) -> Option<&Vec<ast::Parens<Vec<Expr>>>> {
    match &*query.body {
        SetExpr::Values(values) if query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() => {
            Some(&values.rows)
        }
        _ => None,
    }
}

fn constants(rows: &[ast::Parens<Vec<Expr>>], width: usize) -> Option<Vec<Vec<Cell>>> {
    rows.iter()
        .map(|row| {
            let cells: Option<Vec<Cell>> = row.iter().map(cell).collect();
            cells.filter(|c| c.len() == width)
        })
        .collect()
}

fn cell(expr: &Expr) -> Option<Cell> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(Cell::Null),
            Value::Boolean(b) => Some(Cell::Boolean(*b)),
            Value::Number(text, _) => Some(Cell::Number(text.clone())),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(Cell::Text(text.clone())),
            Value::DollarQuotedString(text) => Some(Cell::Text(text.value.clone())),
            Value::Placeholder(name) => {
                let index: usize = name.strip_prefix('$')?.parse().ok()?;
                Some(Cell::Parameter(index.checked_sub(1)?))
            }
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => Some(Cell::Number(format!("-{text}"))),
                _ => None,
            },
            _ => None,
        },
        Expr::Identifier(ident) if ident.quote_style.is_none() && fold(ident) == "default" => Some(Cell::Null),
        _ => None,
    }
}

fn cell_value(
    cell: &Cell,
    sql_type: &SqlType,
    parameters: &[ScalarValue],
    declared: &[SqlType],
) -> SqlResult<ScalarValue> {
    match cell {
        Cell::Null => Ok(ScalarValue::try_from(sql_type.arrow())?),
        Cell::Text(text) => parse_text(sql_type, text),
        Cell::Number(text) => match sql_type {
            SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) => parse_text(sql_type, text),
            _ => {
                let literal = number_type(text);
                assigned(&parse_text(&literal, text)?, &literal, sql_type)
            }
        },
        Cell::Boolean(value) => assigned(&ScalarValue::from(*value), &SqlType::Bool, sql_type),
        Cell::Parameter(index) => {
            let value = parameters.get(*index).cloned().unwrap_or(ScalarValue::Null);
            let from = declared.get(*index).cloned().unwrap_or(SqlType::Text);
            assigned(&value, &from, sql_type)
        }
    }
}

/// The type a number has as a literal: the narrowest integer that holds it, else numeric.
fn number_type(text: &str) -> SqlType {
    if text.parse::<i32>().is_ok() {
        SqlType::Int4
    } else if text.parse::<i64>().is_ok() {
        SqlType::Int8
    } else {
        SqlType::Numeric(None)
    }
}

fn assigned(value: &ScalarValue, from: &SqlType, to: &SqlType) -> SqlResult<ScalarValue> {
    if from == to && value.data_type() == to.arrow() {
        return Ok(value.clone());
    }
    let array = edm::assign(&value.to_array()?, from, to, false)?;
    Ok(ScalarValue::try_from_array(&array, 0)?)
}

/// `DEFAULT` in a VALUES list: no column has a default, so it is NULL.
fn without_default(query: &Query) -> Query {
    let mut query = query.clone();
    if let SetExpr::Values(values) = &mut *query.body {
        for expr in values.rows.iter_mut().flat_map(|row| row.iter_mut()) {
            if cell(expr) == Some(Cell::Null) {
                *expr = Expr::Value(Value::Null.into());
            }
        }
    }
    query
}

/// Which columns of a query PostgreSQL would call `unknown`: bare string literals and NULLs.
fn untyped_columns(query: &Query, width: usize) -> Vec<bool> {
    match &*query.body {
        SetExpr::Values(values) => {
            (0..width).map(|i| values.rows.iter().all(|row| row.get(i).is_some_and(is_untyped))).collect()
        }
        SetExpr::Select(select) => {
            let untyped = |item: Option<&SelectItem>| match item {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => is_untyped(expr),
                _ => false,
            };
            (0..width).map(|i| untyped(select.projection.get(i))).collect()
        }
        _ => vec![false; width],
    }
}
