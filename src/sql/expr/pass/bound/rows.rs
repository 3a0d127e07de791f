//! Rows as values, their comparisons, and functions that give rows.

use arrow::datatypes::DataType;
use datafusion::logical_expr::expr::Unnest;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::prelude::lit;
use tablegate_bind::expr::BoundExpr;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::call::not_there;
use super::{EntryRow, Surroundings};
use crate::expr::meaning::Meaning;
use crate::expr::operand::Operand;
use crate::expr::pass::{Pass, chains};
use crate::expr::record::RowLayout;
use crate::expr::set_functions::{SetColumn, columns_of};
use crate::limits::MAX_ROWS_WITHIN;

/// How many rows a value is, one within the other.
fn rows_within(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => 1 + fields.iter().map(|field| rows_within(field.data_type())).max().unwrap_or(0),
        DataType::List(item) => rows_within(item.data_type()),
        _ => 0,
    }
}

impl Pass<'_> {
    /// `ROW(a, b)`
    pub(super) fn row_of_values(&self, values: &[BoundExpr], around: &dyn Surroundings) -> SqlResult<Expr> {
        let layout = RowLayout::of_values(values.len());
        self.row_with(layout, lit(true), self.bound_operands(values, around)?, around)
    }

    /// The row of a table.
    pub(super) fn entry_row(&self, row: EntryRow, around: &dyn Surroundings) -> SqlResult<Expr> {
        let (names, columns): (Vec<String>, Vec<Expr>) = row.columns.into_iter().unzip();
        let columns = columns.into_iter().map(|column| Ok(self.operand(column, around.schema())?));
        let columns = columns.collect::<SqlResult<_>>()?;
        self.row_with(RowLayout { table: row.table, names }, row.is_there.unwrap_or_else(|| lit(true)), columns, around)
    }

    fn row_with(
        &self,
        layout: RowLayout,
        is_there: Expr,
        values: Vec<Operand>,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        if values.iter().any(|value| rows_within(&value.value_type.data_type) >= MAX_ROWS_WITHIN) {
            return Err(SqlError::new(ErrorKind::TooComplex, "the statement is nested too deeply").with_detail(
                format!(
                    "At most {MAX_ROWS_WITHIN} rows are within each other: each doubles the quotes of those inside."
                ),
            ));
        }
        let is_there = self.operand(is_there, around.schema())?;
        let operands = std::iter::once(is_there).chain(values).collect();
        Ok(self.call(Meaning::Row(layout), operands, around.schema())?)
    }

    /// Rows are compared from the left, up to the first parts that are not equal.
    pub(super) fn compared_rows(
        &self,
        operators: &[&str],
        left: &[BoundExpr],
        right: &[BoundExpr],
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let schema = around.schema();
        let mut comparison: Option<Expr> = None;
        let pairs = operators.iter().zip(left).zip(right).rev();
        for ((operator, left), right) in pairs {
            let (left, right) = (self.bound_operand(left, around)?, self.bound_operand(right, around)?);
            let compared = |operator: &str| {
                self.call(Meaning::Binary(operator.to_owned()), vec![left.clone(), right.clone()], schema)
            };
            comparison = Some(match comparison {
                None => compared(operator)?,
                Some(rest) => {
                    self.repeat(&left.expr)?;
                    self.repeat(&right.expr)?;
                    let same = chains::joined(vec![compared("=")?, rest], Operator::And);
                    let parts = std::iter::once(compared(operator.trim_end_matches('='))?).chain(same).collect();
                    chains::joined(parts, Operator::Or).ok_or_else(nothing_to_compare)?
                }
            });
        }
        comparison.ok_or_else(nothing_to_compare)
    }

    /// The rows of a function in a list: the items of a list, or those of several as rows.
    pub(super) fn items_of(&self, name: &str, arguments: Vec<Operand>, around: &dyn Surroundings) -> SqlResult<Expr> {
        let columns = columns_of(name).ok_or_else(|| not_there(name))?;
        let mut items = Vec::with_capacity(columns.len());
        for column in columns {
            let list = self.bound_call(column.list, arguments.clone(), around)?;
            let item = self.operand(Expr::Unnest(Unnest::new(list)), around.schema())?;
            items.push(match column.typed {
                Some(typed) => self.operand(self.bound_call(typed, vec![item], around)?, around.schema())?,
                None => item,
            });
        }
        if items.len() == 1 {
            return items.pop().map(|item| item.expr).ok_or_else(|| not_there(name));
        }
        let named = |column: &SetColumn| column.name.unwrap_or(column.list).to_owned();
        let layout = RowLayout { table: None, names: columns.iter().map(named).collect() };
        self.row_with(layout, lit(true), items, around)
    }
}

fn nothing_to_compare() -> Box<SqlError> {
    SqlError::not_supported("a comparison of rows of zero length")
}
