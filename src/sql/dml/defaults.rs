//! DEFAULT: the values of columns that a statement does not give.
//!
//! A default is planned once per statement and evaluated for as many rows as need it: `now()` gives one value in all of
//! them, `gen_random_uuid()` another in each.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::Schema;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Value};

use super::checks::batch_of;
use super::row_expressions::{BoundExpressions, RowExpressions};
use super::target::TargetColumn;
use super::update::is_untyped;
use crate::sql::edm;
use crate::sql::error::SqlResult;
use crate::sql::plan::Planner;
use crate::sql::relation::{Relation, RelationColumn};
use crate::sql::statement::parse_expression;
use crate::sql::types::SqlType;

/// The defaults that a statement needs.
#[derive(Debug, Clone)]
pub(crate) struct Defaults {
    columns: Vec<DefaultColumn>,
    expressions: Option<RowExpressions>,
}

#[derive(Debug, Clone)]
struct DefaultColumn {
    /// Index in the relation's columns.
    index: usize,
    name: String,
    sql_type: SqlType,
    /// The expression is a bare literal: its text is read as the column's type.
    untyped: bool,
}

impl Defaults {
    /// The defaults of these columns, as far as they have any.
    ///
    /// # Errors
    /// What is wrong with a default's expression: it was right when it was declared.
    pub fn prepare(planner: &Planner<'_>, relation: &Relation, wanted: impl Iterator<Item = usize>) -> SqlResult<Self> {
        let mut columns = Vec::new();
        let mut parsed = Vec::new();
        for index in wanted {
            let column = &relation.columns[index];
            let Some(expression) = default_of(column)? else { continue };
            let untyped = is_untyped(&expression);
            parsed.push(expression);
            columns.push(DefaultColumn {
                index,
                name: column.name.clone(),
                sql_type: column.sql_type.clone(),
                untyped,
            });
        }
        let expressions = if parsed.is_empty() {
            None
        } else {
            Some(RowExpressions::plan(planner, &relation.name, &Arc::new(Schema::empty()), parsed)?)
        };
        Ok(Self { columns, expressions })
    }

    /// The columns that have one.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.index)
    }

    /// Makes them ready for one statement.
    ///
    /// # Errors
    /// What constant parts of the expressions meet when they are evaluated.
    pub fn bind(&self, moment: &ExecutionProps) -> SqlResult<BoundDefaults> {
        let expressions = self.expressions.as_ref().map(|e| e.bind(moment)).transpose()?;
        let types = self.expressions.as_ref().map_or_else(Vec::new, |e| e.types().to_vec());
        Ok(BoundDefaults { columns: self.columns.clone(), types, expressions })
    }
}

/// Defaults as one statement evaluates them.
#[derive(Debug, Clone)]
pub(crate) struct BoundDefaults {
    columns: Vec<DefaultColumn>,
    types: Vec<SqlType>,
    expressions: Option<BoundExpressions>,
}

impl BoundDefaults {
    /// The default of a column for some rows, as the column's type; NULL where it has none.
    ///
    /// # Errors
    /// What the expression meets, and what assigning its value to the column refuses.
    pub fn values(&self, index: usize, column: &RelationColumn, rows: usize) -> SqlResult<ArrayRef> {
        let position = self.columns.iter().position(|c| c.index == index);
        let (Some(position), Some(expressions)) = (position, &self.expressions) else {
            return Ok(new_null_array(&column.sql_type.arrow(), rows));
        };
        let described = &self.columns[position];
        let no_columns = batch_of(Arc::new(Schema::empty()), Vec::new(), rows)?;
        let values = expressions.evaluate(position, &no_columns)?;
        edm::assign(&values, &self.types[position], &described.sql_type, described.untyped)
            .map_err(|e| e.for_column(&described.name))
    }
}

/// The expression of a column's default; `None` when that is NULL.
///
/// # Errors
/// None in practice: it parsed when it was declared.
pub(crate) fn default_of(column: &RelationColumn) -> SqlResult<Option<Expr>> {
    column.default.as_deref().map(parse_expression).transpose()
}

/// What `DEFAULT` stands for in an assignment to a column.
///
/// # Errors
/// As [`default_of`].
pub(crate) fn default_expression(relation: &Relation, target: &TargetColumn) -> SqlResult<Expr> {
    let default = target.column(relation).map(default_of).transpose()?.flatten();
    Ok(default.unwrap_or_else(|| Expr::Value(Value::Null.into())))
}

/// Whether an expression is the word `DEFAULT`.
pub(crate) fn is_default(expr: &Expr) -> bool {
    let is_word = |ident: &Ident| ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default");
    matches!(expr, Expr::Identifier(ident) if is_word(ident))
}
