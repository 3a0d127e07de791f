//! The VALUES list of an INSERT: constants are read as their columns' types without a plan, the rest is computed.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef};
use datafusion::common::ScalarValue;
use futures::StreamExt;
use sqlparser::ast::{self, Expr, Query, SetExpr, UnaryOperator, Value};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::{parse_text, parse_text_as};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::cast_cells::{cast_cell, widened};
use super::defaults::is_default;
use super::row_functions::gives_rows;
use super::target::{labelled, select};
use super::untyped::is_untyped;
use crate::expr::parameter_number;
use crate::plan::{PlannedQuery, Planner};
use crate::sequence::waits;

/// Computed cells that one plan evaluates.
const CELLS_PER_PLAN: usize = 100;

/// A VALUES list, planned.
pub(super) struct ValuesList {
    rows: Vec<Vec<Cell>>,
    plans: Vec<ComputedCells>,
    /// What is computed of a row counts with what defaults count with: rows are made one after the other.
    in_turn: bool,
}

/// One value of the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    /// The content of a string literal: it has the type of its column.
    Text(String),
    /// A number as written.
    Number(String),
    Boolean(bool),
    /// Parameter by index, from 0.
    Parameter(usize),
    /// A parameter, cast to a type that it has or is widened to.
    Cast(usize, SqlType),
    /// The content of a string literal that is cast to a type.
    Typed(SqlType, String),
    Default,
    /// Any other expression: its place among the computed ones.
    Computed(usize),
}

impl Cell {
    /// Whether it is the same in every run of the statement.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Cell::Null | Cell::Text(_) | Cell::Number(_) | Cell::Boolean(_) | Cell::Typed(..) => true,
            Cell::Parameter(_) | Cell::Cast(..) | Cell::Default | Cell::Computed(_) => false,
        }
    }
}

/// Some expressions of the list as one row.
struct ComputedCells {
    /// The row of the list that the first of them is in.
    row: usize,
    /// Which of all computed cells the first is.
    first: usize,
    input: PlannedQuery,
    untyped: Vec<bool>,
}

/// The value of a computed cell.
pub(super) struct Computed {
    value: ArrayRef,
    sql_type: SqlType,
    untyped: bool,
}

/// The rows of a query that is a VALUES list and nothing else.
pub(super) fn values_list(query: &Query) -> Option<&[ast::Parens<Vec<Expr>>]> {
    match &*query.body {
        SetExpr::Values(values) if query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() => {
            Some(&values.rows)
        }
        _ => None,
    }
}

impl ValuesList {
    /// The one row of `DEFAULT VALUES`.
    pub(super) fn of_defaults() -> Self {
        Self { rows: vec![Vec::new()], plans: Vec::new(), in_turn: false }
    }

    /// Reads the list and plans what must be computed; types of parameters in it are added to `declared`. `defaults_count`
    /// says that columns get defaults that count.
    ///
    /// # Errors
    /// 42601 for rows of different lengths, and what is wrong with the expressions.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        rows: &[ast::Parens<Vec<Expr>>],
        declared: &mut Vec<SqlType>,
        defaults_count: bool,
    ) -> SqlResult<Self> {
        let width = rows.first().map_or(0, |row| row.len());
        if rows.iter().any(|row| row.len() != width) {
            return Err(SqlError::new(ErrorKind::Syntax, "VALUES lists must all be the same length"));
        }
        let mut computed = Vec::new();
        let mut cells = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let mut cell = |expr: &Expr| {
                constant(expr).or_else(|| cast_cell(expr, declared, planner.reading())).unwrap_or_else(|| {
                    computed.push((place, expr.clone()));
                    Cell::Computed(computed.len() - 1)
                })
            };
            cells.push(row.iter().map(&mut cell).collect());
        }
        if computed.iter().any(|(_, expr)| gives_rows(expr)) {
            let message = "set-returning functions are not allowed in VALUES";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        let in_turn = defaults_count && computed.iter().any(|(_, expr)| waits(expr));
        let mut plans: Vec<ComputedCells> = Vec::new();
        let of_one_plan = |(row, _): &(usize, Expr), (next, _): &(usize, Expr)| !in_turn || row == next;
        let parts = computed.chunk_by(of_one_plan).flat_map(|part| part.chunks(CELLS_PER_PLAN));
        let mut first = 0;
        for part in parts {
            plans.push(ComputedCells::prepare(planner, first, part, declared).await?);
            first += part.len();
        }
        Ok(Self { rows: cells, plans, in_turn })
    }

    /// Whether each row must be complete before anything of the next one is computed.
    pub(super) fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The query behind the computed cells, where one does it.
    pub(super) fn input(&self) -> Option<&PlannedQuery> {
        self.plans.first().map(|plan| &plan.input)
    }

    /// The type of the first value in a column that has one of its own: literal strings and parameters have none.
    pub(super) fn own_type(&self, column: usize) -> Option<SqlType> {
        self.rows.iter().find_map(|row| match row.get(column)? {
            Cell::Null | Cell::Text(_) | Cell::Default | Cell::Parameter(_) => None,
            Cell::Number(text) => Some(match number_type(text) {
                SqlType::Numeric(_) => SqlType::Float8,
                integer => integer,
            }),
            Cell::Boolean(_) => Some(SqlType::Bool),
            Cell::Cast(_, sql_type) | Cell::Typed(sql_type, _) => Some(sql_type.clone()),
            Cell::Computed(index) => {
                let plan = self.plans.iter().rfind(|plan| plan.first <= *index)?;
                let nth = index - plan.first;
                (!plan.untyped[nth]).then(|| plan.input.columns[nth].sql_type.clone())
            }
        })
    }

    /// The first parameter in a column.
    pub(super) fn parameter(&self, column: usize) -> Option<usize> {
        self.rows.iter().find_map(|row| match row.get(column)? {
            Cell::Parameter(index) => Some(*index),
            _ => None,
        })
    }

    /// Whether DEFAULT stands in a column.
    pub(super) fn asks_default(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.get(column) == Some(&Cell::Default))
    }

    /// Whether nothing but DEFAULT stands in a column.
    pub(super) fn is_all_default(&self, column: usize) -> bool {
        self.rows.iter().all(|row| row.get(column) == Some(&Cell::Default))
    }

    /// Takes a column out of the list.
    pub(super) fn remove_column(&mut self, column: usize) {
        for row in &mut self.rows {
            row.remove(column);
        }
    }

    /// Computes what must be computed.
    ///
    /// # Errors
    /// The errors of evaluating the expressions.
    pub(super) async fn compute(&self, planner: &Planner<'_>, parameters: &[ScalarValue]) -> SqlResult<Vec<Computed>> {
        let mut computed = Vec::new();
        for plan in &self.plans {
            plan.compute(planner, parameters, &mut computed).await?;
        }
        Ok(computed)
    }

    /// Computes what must be computed of one row, behind what was of those before it.
    ///
    /// # Errors
    /// As [`ValuesList::compute`].
    pub(super) async fn compute_row(
        &self,
        row: usize,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        computed: &mut Vec<Computed>,
    ) -> SqlResult<()> {
        for plan in self.plans.iter().filter(|plan| plan.row == row) {
            plan.compute(planner, parameters, computed).await?;
        }
        Ok(())
    }
}

impl ComputedCells {
    async fn prepare(
        planner: &Planner<'_>,
        first: usize,
        expressions: &[(usize, Expr)],
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<Self> {
        let row = expressions.first().map_or(0, |(row, _)| *row);
        let untyped = expressions.iter().map(|(_, expr)| is_untyped(expr)).collect();
        let items = expressions.iter().enumerate().map(|(i, (_, expr))| labelled(expr.clone(), i)).collect();
        let query = select(items, Vec::new(), None);
        let input = planner.plan(&query, declared).await?;
        input.learn(declared);
        Ok(Self { row, first, input, untyped })
    }

    async fn compute(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        computed: &mut Vec<Computed>,
    ) -> SqlResult<()> {
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            for ((value, field), untyped) in batch.columns().iter().zip(batch.schema().fields()).zip(&self.untyped) {
                let sql_type = SqlType::of_field(field);
                computed.push(Computed { value: value.clone(), sql_type, untyped: *untyped });
            }
        }
        Ok(())
    }
}

/// A value that needs no computing; `None` for any other expression.
fn constant(expr: &Expr) -> Option<Cell> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(Cell::Null),
            Value::Boolean(b) => Some(Cell::Boolean(*b)),
            Value::Number(text, _) => Some(Cell::Number(text.clone())),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(Cell::Text(text.clone())),
            Value::DollarQuotedString(text) => Some(Cell::Text(text.value.clone())),
            Value::Placeholder(name) => Some(Cell::Parameter(parameter_number(name)?.checked_sub(1)?)),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => Some(Cell::Number(format!("-{text}"))),
                _ => None,
            },
            _ => None,
        },
        _ if is_default(expr) => Some(Cell::Default),
        _ => None,
    }
}

/// What the cells of a list stand for when it runs.
pub(super) struct CellValues<'a> {
    pub parameters: &'a [ScalarValue],
    pub declared: &'a [SqlType],
    pub computed: &'a [Computed],
    pub reading: Reading,
}

impl<'a> CellValues<'a> {
    /// Of constants alone. One that means the time is an error: it is another one in each run.
    pub(super) fn of_constants(reading: Reading) -> Self {
        Self { parameters: &[], declared: &[], computed: &[], reading: Reading { now: None, ..reading } }
    }

    /// The value of a cell as its column's type. A DEFAULT is not known here: it is NULL.
    ///
    /// # Errors
    /// The errors of assigning it to the column.
    pub(super) fn value(&self, cell: &Cell, sql_type: &SqlType) -> SqlResult<ScalarValue> {
        match cell {
            Cell::Null | Cell::Default => Ok(ScalarValue::try_from(sql_type.arrow())?),
            Cell::Text(text) => parse_text_as(sql_type, text, self.reading),
            Cell::Number(text) => match sql_type {
                SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_) => parse_text(sql_type, text),
                _ => {
                    let literal = number_type(text);
                    assigned(&parse_text(&literal, text)?, &literal, sql_type, self.reading)
                }
            },
            Cell::Boolean(value) => assigned(&ScalarValue::from(*value), &SqlType::Bool, sql_type, self.reading),
            Cell::Parameter(index) => self.parameter(*index, sql_type).map(Cow::into_owned),
            Cell::Cast(index, to) => self.cast(*index, to, sql_type).map(Cow::into_owned),
            Cell::Typed(from, text) => {
                assigned(&parse_text_as(from, text, self.reading)?, from, sql_type, self.reading)
            }
            Cell::Computed(index) => {
                let computed = self.computed(*index)?;
                let (from, untyped) = (&computed.sql_type, computed.untyped);
                let value = edm::assign_as(&computed.value, from, sql_type, untyped, self.reading)?;
                Ok(ScalarValue::try_from_array(&value, 0)?)
            }
        }
    }

    /// The value of a parameter as its column's type.
    ///
    /// # Errors
    /// As [`CellValues::value`].
    pub(super) fn parameter(&self, index: usize, sql_type: &SqlType) -> SqlResult<Cow<'a, ScalarValue>> {
        const MISSING: (&ScalarValue, &SqlType) = (&ScalarValue::Null, &SqlType::Text);
        let value = self.parameters.get(index).unwrap_or(MISSING.0);
        let from = self.declared.get(index).unwrap_or(MISSING.1);
        if has_type(value, from, sql_type) {
            return Ok(Cow::Borrowed(value));
        }
        assigned(value, from, sql_type, self.reading).map(Cow::Owned)
    }

    /// The value of a parameter that is cast to a type, as its column's type.
    ///
    /// # Errors
    /// As [`CellValues::value`].
    pub(super) fn cast(&self, index: usize, to: &SqlType, sql_type: &SqlType) -> SqlResult<Cow<'a, ScalarValue>> {
        let missing = || SqlError::new(ErrorKind::Internal, "a parameter is not a value of its type");
        let value = self.parameters.get(index).unwrap_or(&ScalarValue::Null);
        let value = widened(value, to).ok_or_else(missing)?;
        if has_type(&value, to, sql_type) {
            return Ok(value);
        }
        assigned(&value, to, sql_type, self.reading).map(Cow::Owned)
    }

    fn computed(&self, index: usize) -> SqlResult<&Computed> {
        let found = self.computed.get(index).filter(|computed| computed.value.len() == 1);
        found.ok_or_else(|| SqlError::new(ErrorKind::Internal, "an expression of a VALUES list was not computed"))
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

fn has_type(value: &ScalarValue, from: &SqlType, to: &SqlType) -> bool {
    let is_text = |sql_type: &SqlType| matches!(sql_type, SqlType::Text | SqlType::Varchar(None));
    (from == to || (is_text(from) && is_text(to))) && value.data_type() == to.arrow()
}

fn assigned(value: &ScalarValue, from: &SqlType, to: &SqlType, reading: Reading) -> SqlResult<ScalarValue> {
    if has_type(value, from, to) {
        return Ok(value.clone());
    }
    let array = edm::assign_as(&value.to_array()?, from, to, false, reading)?;
    Ok(ScalarValue::try_from_array(&array, 0)?)
}
