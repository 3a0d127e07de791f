//! DEFAULT: the values of columns that a statement does not give.
//!
//! A default is planned once per statement and evaluated for as many rows as need it: `now()` gives one value in all of
//! them, `gen_random_uuid()` another in each. Values of sequences are taken ahead, for all rows at once, and stand in
//! for the calls of `nextval` as columns.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, new_null_array};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::logical_expr::execution_props::ExecutionProps;
use sqlparser::ast::{Expr, Ident, Value};
use tablegate_types::edm;
use tablegate_types::error::SqlResult;
use tablegate_types::quoting::split_name;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::checks::batch_of;
use super::row_expressions::{BoundExpressions, RowExpressions};
use super::target::TargetColumn;
use super::untyped::is_untyped;
use crate::calls::moments_of;
use crate::catalog::{called, next_call};
use crate::place::Place;
use crate::plan::Planner;
use crate::relation::{Relation, RelationColumn};
use crate::sequence::{SessionSequences, take_next_calls};
use crate::syntax::parse_expression;

/// The defaults that a statement needs.
#[derive(Debug, Clone)]
pub(crate) struct Defaults {
    columns: Vec<DefaultColumn>,
    /// The sequences that are counted with, each a column of `schema`.
    sequences: Vec<String>,
    schema: SchemaRef,
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
    /// It counts by itself: nobody needs a privilege for its sequence.
    identity: bool,
    /// Its own among the sequences.
    sequences: Range<usize>,
}

impl Defaults {
    /// The defaults of these columns, as far as they have any.
    ///
    /// # Errors
    /// What is wrong with a default's expression: it was right when it was declared.
    pub fn prepare(planner: &Planner<'_>, relation: &Relation, wanted: impl Iterator<Item = usize>) -> SqlResult<Self> {
        let mut columns = Vec::new();
        let mut parsed = Vec::new();
        let mut sequences: Vec<String> = Vec::new();
        for index in wanted {
            let column = &relation.columns[index];
            let Some(mut expression) = default_of(column)? else { continue };
            let first = sequences.len();
            let named = take_next_calls(&mut expression, |n| Ident::with_quote('"', value_name(first + n)))?;
            sequences.extend(named.iter().map(|text| meant_by(relation, text)));
            let untyped = is_untyped(&expression);
            parsed.push(expression);
            columns.push(DefaultColumn {
                index,
                name: column.name.clone(),
                sql_type: column.sql_type.clone(),
                untyped,
                identity: column.identity.is_some(),
                sequences: first..sequences.len(),
            });
        }
        let field = |n| SqlType::Int8.field(&value_name(n), true);
        let schema: SchemaRef = Arc::new(Schema::new((0..sequences.len()).map(field).collect::<Vec<_>>()));
        let expressions = if parsed.is_empty() {
            None
        } else {
            Some(RowExpressions::plan(planner, &relation.name, &schema, parsed)?)
        };
        Ok(Self { columns, sequences, schema, expressions })
    }

    /// Whether there is nothing to evaluate.
    pub fn is_plain(&self) -> bool {
        self.expressions.is_none()
    }

    /// The columns that have one.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.index)
    }

    /// Makes them ready for one statement.
    ///
    /// # Errors
    /// What constant parts of the expressions meet when they are evaluated.
    pub fn bind(&self, moment: &ExecutionProps, counting: &Arc<SessionSequences>) -> SqlResult<BoundDefaults> {
        let expressions = self.expressions.as_ref().map(|e| e.bind(moment)).transpose()?;
        let types = self.expressions.as_ref().map_or_else(Vec::new, |e| e.types().to_vec());
        let reading = moment.config_options.as_ref().map(|options| moments_of(options).reading()).unwrap_or_default();
        Ok(BoundDefaults { plan: self.clone(), types, expressions, counting: counting.clone(), reading })
    }
}

/// Defaults as one statement evaluates them.
pub(crate) struct BoundDefaults {
    plan: Defaults,
    types: Vec<SqlType>,
    expressions: Option<BoundExpressions>,
    counting: Arc<SessionSequences>,
    reading: Reading,
}

impl BoundDefaults {
    /// The default of a column for some rows, as the column's type; NULL where it has none.
    ///
    /// # Errors
    /// What the expression and its sequences meet, and what assigning its value to the column refuses.
    pub async fn values(&self, index: usize, column: &RelationColumn, rows: usize) -> SqlResult<ArrayRef> {
        let position = self.plan.columns.iter().position(|c| c.index == index);
        let (Some(position), Some(expressions)) = (position, &self.expressions) else {
            return Ok(new_null_array(&column.sql_type.arrow(), rows));
        };
        let described = &self.plan.columns[position];
        let mut counted: Vec<ArrayRef> = Vec::with_capacity(self.plan.sequences.len());
        for (n, sequence) in self.plan.sequences.iter().enumerate() {
            // Values of the other columns' sequences are not looked at, so none are taken.
            counted.push(if !described.sequences.contains(&n) {
                new_null_array(&DataType::Int64, rows)
            } else if described.identity {
                Arc::new(Int64Array::from(self.counting.next_of_column(sequence, rows).await?))
            } else {
                Arc::new(Int64Array::from(self.counting.next(sequence, rows).await?))
            });
        }
        let values = expressions.evaluate(position, &batch_of(self.plan.schema.clone(), counted, rows)?)?;
        // A literal of the declaration means the same to every session.
        let reading = if described.untyped { Reading::at(self.reading.now) } else { self.reading };
        edm::assign_as(&values, &self.types[position], &described.sql_type, described.untyped, reading)
            .map_err(|e| e.for_column(&described.name))
    }
}

/// The name of a default's sequence as its table means it: a temporary one does not take its place.
fn meant_by(relation: &Relation, text: &str) -> String {
    match (relation.place(), split_name(text).as_slice()) {
        (Place::Public, [_]) => format!("public.{text}"),
        (place, [name]) => called(place, name),
        _ => text.to_owned(),
    }
}

/// The column that stands for the n-th call of `nextval`; no name in an expression can mean it.
fn value_name(n: usize) -> String {
    format!("\u{2}next{n}")
}

/// The expression of a column's default; `None` when that is NULL.
///
/// # Errors
/// None in practice: it parsed when it was declared.
pub(crate) fn default_of(column: &RelationColumn) -> SqlResult<Option<Expr>> {
    if let Some(identity) = &column.identity {
        return parse_expression(&next_call(Place::Public, &identity.sequence)).map(Some);
    }
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
