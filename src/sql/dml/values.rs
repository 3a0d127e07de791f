//! The VALUES list of an INSERT: constants are read as their columns' types without a plan, the rest is computed.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef};
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::BoundExpr;
use tablegate_bind::catalogue::CastContext;
use tablegate_bind::expr::{ExprKind, Literal, Written};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::{parse_text, parse_text_as};
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::assigned_values::{as_given, has_no_type};
use super::rows_of_parameters::RowsOfParameters;
use super::widened::{is_widened, widened};
use crate::plan::{MeantChange, PlannedQuery, Planner};

/// Computed cells that one plan evaluates.
const CELLS_PER_PLAN: usize = 100;

/// A VALUES list, planned.
pub(super) struct ValuesList {
    rows: Vec<Vec<Cell>>,
    plans: Vec<ComputedCells>,
    /// The types of parameters.
    parameters: Vec<SqlType>,
    /// What is computed of a row counts with what defaults count with: rows are made one after the other.
    in_turn: bool,
}

/// One value of the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    /// A literal's value.
    Value(SqlType, ScalarValue),
    /// The text of a literal that is read when the list is used, as the type of its column where it has none but text.
    Text(SqlType, Box<str>),
    /// Parameter by index, from 0.
    Parameter(usize),
    /// A parameter, cast to a type that it is widened to.
    Cast(usize, SqlType),
    Default,
    /// Any other expression: its place among the computed ones.
    Computed(usize),
}

impl Cell {
    /// What needs no computing, of a value as it is given; `None` for any other expression.
    fn of(value: &BoundExpr, parameters: &[SqlType]) -> Option<Self> {
        let sql_type = || declared_of_oid(value.ty.oid, value.ty.typmod);
        match &value.kind {
            ExprKind::Default => Some(Cell::Default),
            ExprKind::Constant(Literal::Null) => Some(Cell::Null),
            ExprKind::Constant(Literal::Value(found) | Literal::Read { value: found, .. }) => {
                sql_type().filter(|of| !of.names_objects()).map(|of| Cell::Value(of, found.clone()))
            }
            ExprKind::Constant(Literal::Text(text)) => {
                sql_type().filter(|of| !of.names_objects()).map(|of| Cell::Text(of, text.clone()))
            }
            ExprKind::Parameter(number) => Some(Cell::Parameter(number.checked_sub(1)?)),
            ExprKind::Cast { value: inner, context: CastContext::Assignment, .. } => match &inner.kind {
                ExprKind::Constant(Literal::Text(_)) => Cell::of(inner, parameters),
                _ => None,
            },
            ExprKind::Cast { value: inner, written: Written::Explicitly, .. } => {
                let ExprKind::Parameter(number) = inner.kind else { return None };
                let (index, to) = (number.checked_sub(1)?, sql_type()?);
                is_widened(parameters.get(index)?, &to).then_some(Cell::Cast(index, to))
            }
            _ => None,
        }
    }

    /// The parameter whose value it is.
    fn parameter(&self) -> Option<usize> {
        match self {
            Cell::Parameter(index) | Cell::Cast(index, _) => Some(*index),
            Cell::Null | Cell::Value(..) | Cell::Text(..) | Cell::Default | Cell::Computed(_) => None,
        }
    }

    /// The same of another parameter.
    fn with_parameter(&self, index: usize) -> Self {
        match self {
            Cell::Parameter(_) => Cell::Parameter(index),
            Cell::Cast(_, to) => Cell::Cast(index, to.clone()),
            other => other.clone(),
        }
    }

    /// Whether it is the same in every run of the statement.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Cell::Null | Cell::Value(..) | Cell::Text(..) => true,
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

impl ValuesList {
    /// The one row of `DEFAULT VALUES`.
    pub(super) fn of_defaults() -> Self {
        Self { rows: vec![Vec::new()], plans: Vec::new(), parameters: Vec::new(), in_turn: false }
    }

    /// The cells of the list, with a plan of what must be computed. `defaults_count` says that columns get defaults that count.
    ///
    /// # Errors
    /// What is wrong with the expressions.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        meant: &MeantChange,
        rows: &[Vec<BoundExpr>],
        defaults_count: bool,
    ) -> SqlResult<Self> {
        let mut computed: Vec<(usize, &BoundExpr)> = Vec::new();
        let mut cells = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let mut cell = |value| {
                let value = as_given(value);
                Cell::of(value, meant.parameters()).unwrap_or_else(|| {
                    computed.push((place, value));
                    Cell::Computed(computed.len() - 1)
                })
            };
            cells.push(row.iter().map(&mut cell).collect());
        }
        let in_turn = defaults_count && computed.iter().any(|(_, value)| meant.counts(value));
        let mut plans: Vec<ComputedCells> = Vec::new();
        let of_one_plan = |(row, _): &(usize, &BoundExpr), (next, _): &(usize, &BoundExpr)| !in_turn || row == next;
        let parts = computed.chunk_by(of_one_plan).flat_map(|part| part.chunks(CELLS_PER_PLAN));
        let mut first = 0;
        for part in parts {
            plans.push(ComputedCells::prepare(planner, meant, first, part).await?);
            first += part.len();
        }
        Ok(Self { rows: cells, plans, parameters: meant.parameters().to_vec(), in_turn })
    }

    /// As many rows of parameters as there are types for, written like the one row of each of these lists, of which each
    /// knows some of the types. `None` where that is not all of a row, or something of it has to be computed.
    pub(super) fn of_rows_like(lists: &[&Self], rows: &RowsOfParameters<'_>) -> Option<Self> {
        let templates = lists.iter().map(|list| list.only_row()).collect::<Option<Vec<_>>>()?;
        let first = *templates.first()?;
        let mut parameters = Vec::with_capacity(rows.len() * rows.width());
        for (index, variant) in rows.variants() {
            parameters.push(lists.get(variant)?.parameters.get(index % rows.width())?.clone());
        }
        let row = |row: usize| {
            let cell = |(position, like): (usize, &Cell)| {
                let Some(place) = like.parameter() else { return Some(like.clone()) };
                let like = templates.get(rows.variant(row, place))?.get(position)?;
                (like.parameter() == Some(place)).then(|| like.with_parameter(row * rows.width() + place))
            };
            first.iter().enumerate().map(cell).collect::<Option<Vec<_>>>()
        };
        let rows = (0..rows.len()).map(row).collect::<Option<_>>()?;
        Some(Self { rows, plans: Vec::new(), parameters, in_turn: false })
    }

    fn only_row(&self) -> Option<&[Cell]> {
        match &*self.rows {
            [row] if self.plans.is_empty() => Some(row),
            _ => None,
        }
    }

    /// Whether each row must be complete before anything of the next one is computed.
    pub(super) fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// The types of parameters.
    pub(super) fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The query behind the computed cells, where one does it.
    pub(super) fn input(&self) -> Option<&PlannedQuery> {
        self.plans.first().map(|plan| &plan.input)
    }

    /// The type of the first value in a column that has one of its own: literals without a type have none.
    pub(super) fn own_type(&self, column: usize) -> Option<SqlType> {
        self.rows.iter().find_map(|row| match row.get(column)? {
            Cell::Null | Cell::Default | Cell::Text(SqlType::Unknown, _) => None,
            Cell::Text(SqlType::Numeric(_), _) => Some(SqlType::Float8),
            Cell::Parameter(index) => self.parameters.get(*index).filter(|of| **of != SqlType::Unknown).cloned(),
            Cell::Value(sql_type, _) | Cell::Text(sql_type, _) | Cell::Cast(_, sql_type) => Some(sql_type.clone()),
            Cell::Computed(index) => {
                let plan = self.plans.iter().rfind(|plan| plan.first <= *index)?;
                let nth = index - plan.first;
                (!plan.untyped[nth]).then(|| plan.input.columns[nth].sql_type.clone())
            }
        })
    }

    /// Whether DEFAULT stands in a column.
    pub(super) fn asks_default(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.get(column) == Some(&Cell::Default))
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
        meant: &MeantChange,
        first: usize,
        values: &[(usize, &BoundExpr)],
    ) -> SqlResult<Self> {
        let row = values.first().map_or(0, |(row, _)| *row);
        let untyped = values.iter().map(|(_, value)| has_no_type(value)).collect();
        let query = meant.query(Vec::new(), None, values.iter().map(|(_, value)| (*value).clone()).collect());
        Ok(Self { row, first, input: meant.plan(planner, &query).await?, untyped })
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
            Cell::Value(from, value) => assigned(value, from, sql_type, self.reading),
            Cell::Text(from, text) => self.text(from, text, sql_type),
            Cell::Parameter(index) => self.parameter(*index, sql_type).map(Cow::into_owned),
            Cell::Cast(index, to) => self.cast(*index, to, sql_type).map(Cow::into_owned),
            Cell::Computed(index) => {
                let computed = self.computed(*index)?;
                let (from, untyped) = (&computed.sql_type, computed.untyped);
                let value = edm::assign_as(&computed.value, from, sql_type, untyped, self.reading)?;
                Ok(ScalarValue::try_from_array(&value, 0)?)
            }
        }
    }

    /// The value that a literal's text is.
    fn text(&self, from: &SqlType, text: &str, sql_type: &SqlType) -> SqlResult<ScalarValue> {
        use SqlType as T;
        match (from, sql_type) {
            (T::Unknown | T::Text | T::Varchar(_) | T::Char(_), _) => parse_text_as(sql_type, text, self.reading),
            (T::Numeric(_), T::Float4 | T::Float8 | T::Numeric(_)) => parse_text(sql_type, text),
            _ => assigned(&parse_text_as(from, text, self.reading)?, from, sql_type, self.reading),
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
