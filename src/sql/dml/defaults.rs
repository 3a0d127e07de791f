//! DEFAULT: the values of columns that a statement does not give.
//!
//! A default is planned once per statement and evaluated for as many rows as need it: `now()` gives one value in all of
//! them, `gen_random_uuid()` another in each. Values of sequences are taken ahead, for all rows at once, and stand in
//! for the calls of `nextval` as columns. Where several defaults count with one sequence, they are dealt out row by row.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, new_null_array};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::execution_props::ExecutionProps;
use tablegate_bind::{Binder, BoundExpr, BuiltInOnly, Lookup, ParsedExpression, Scope, Usage};
use tablegate_types::edm;
use tablegate_types::error::SqlResult;
use tablegate_types::quoting::split_name;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::checks::batch_of;
use super::row_expressions::{BoundExpressions, RowExpressions};
use super::target::TargetColumn;
use crate::calls::moments_of;
use crate::catalog::{called, next_call};
use crate::place::Place;
use crate::plan::Planner;
use crate::relation::{Relation, RelationColumn};
use crate::sequence::{SessionSequences, waits};
use crate::syntax::{parse_expression, take_next_calls};

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
    /// It is an identity column, for whose sequence no privilege is needed.
    identity: bool,
    /// Its own among the sequences.
    sequences: Range<usize>,
}

impl Defaults {
    /// The defaults of these columns, as far as they have any.
    ///
    /// # Errors
    /// The errors of planning a default's expression, of which none are expected: it was planned when it was declared.
    pub(super) fn prepare(
        planner: &Planner<'_>,
        relation: &Relation,
        wanted: impl Iterator<Item = usize>,
    ) -> SqlResult<Self> {
        let mut columns = Vec::new();
        let mut parsed = Vec::new();
        let mut sequences: Vec<String> = Vec::new();
        for index in wanted {
            let column = &relation.columns[index];
            let Some(mut expression) = default_of(column)? else { continue };
            let first = sequences.len();
            let named = take_next_calls(&mut expression, &waits, &|n| value_name(first + n))?;
            sequences.extend(named.iter().map(|text| meant_by(relation, text)));
            let untyped = expression.is_untyped();
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
    pub(super) fn is_plain(&self) -> bool {
        self.expressions.is_none()
    }

    /// The columns that have one.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.index)
    }

    /// Makes them ready for one statement.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of the expressions.
    pub(super) fn bind(&self, moment: &ExecutionProps, counting: &Arc<SessionSequences>) -> SqlResult<BoundDefaults> {
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
    /// The defaults of columns for some rows, each as its column's type; NULL where it has none.
    ///
    /// # Errors
    /// The errors of evaluating the expressions, of their sequences, and of assigning the values to the columns.
    pub(super) async fn values(
        &self,
        indices: &[usize],
        columns: &[RelationColumn],
        rows: usize,
    ) -> SqlResult<Vec<ArrayRef>> {
        let counted = self.counted(indices, rows).await?;
        let counted = batch_of(self.plan.schema.clone(), counted, rows)?;
        let value = |index: &usize| match self.plan.columns.iter().position(|c| c.index == *index) {
            Some(position) => self.evaluated(position, &counted),
            None => Ok(new_null_array(&columns[*index].sql_type.arrow(), rows)),
        };
        indices.iter().map(value).collect()
    }

    /// The columns of counted values that defaults of these columns look at; NULL in those of others.
    async fn counted(&self, indices: &[usize], rows: usize) -> SqlResult<Vec<ArrayRef>> {
        let mut counted = vec![new_null_array(&DataType::Int64, rows); self.plan.sequences.len()];
        let wanted = indices.iter().filter_map(|index| self.plan.columns.iter().find(|column| column.index == *index));
        let mut uses: Vec<(usize, bool)> =
            wanted.flat_map(|column| column.sequences.clone().map(|n| (n, column.identity))).collect();
        while let Some((first, identity)) = uses.first().copied() {
            let sequence = &self.plan.sequences[first];
            let is_same = |(n, own): &(usize, bool)| self.plan.sequences[*n] == *sequence && *own == identity;
            let (same, others): (Vec<_>, Vec<_>) = uses.into_iter().partition(is_same);
            uses = others;
            let count = rows.saturating_mul(same.len());
            let values = match identity {
                true => self.counting.next_of_column(sequence, count).await?,
                false => self.counting.next(sequence, count).await?,
            };
            for (place, (n, _)) in same.iter().enumerate() {
                let dealt = values.iter().copied().skip(place).step_by(same.len());
                counted[*n] = Arc::new(Int64Array::from_iter_values(dealt));
            }
        }
        Ok(counted)
    }

    fn evaluated(&self, position: usize, counted: &RecordBatch) -> SqlResult<ArrayRef> {
        let described = &self.plan.columns[position];
        let Some(expressions) = &self.expressions else {
            return Ok(new_null_array(&described.sql_type.arrow(), counted.num_rows()));
        };
        let values = expressions.evaluate(position, counted)?;
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

/// Whether a column's default counts.
pub(super) fn counts(column: &RelationColumn) -> bool {
    let calls = |text: &str| text.to_ascii_lowercase().contains("nextval");
    column.identity.is_some() || column.default.as_deref().is_some_and(calls)
}

/// The expression of a column's default; `None` when that is NULL.
///
/// # Errors
/// None are expected: the expression was parsed when it was declared.
pub(crate) fn default_of(column: &RelationColumn) -> SqlResult<Option<ParsedExpression>> {
    if let Some(identity) = &column.identity {
        return parse_expression(&next_call(Place::Public, &identity.sequence)).map(Some);
    }
    column.default.as_deref().map(parse_expression).transpose()
}

/// What `DEFAULT` stands for in an assignment to a column.
///
/// # Errors
/// As [`default_of`].
pub(crate) fn default_expression(relation: &Relation, target: &TargetColumn) -> SqlResult<ParsedExpression> {
    let default = target.column(relation).map(default_of).transpose()?.flatten();
    Ok(default.unwrap_or_else(ParsedExpression::null))
}

/// The same as the binder has it.
///
/// # Errors
/// As [`default_of`].
pub(super) fn bound_default(relation: &Relation, target: &TargetColumn) -> SqlResult<BoundExpr> {
    let default = default_expression(relation, target)?;
    let scope = Scope { entries: &[], outer: None, namespace: None };
    default.bind(&mut Binder::new(Lookup::new(&BuiltInOnly), scope, Usage::Values))
}
