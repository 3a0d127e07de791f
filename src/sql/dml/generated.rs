//! Stored generated columns: computed from the other columns of a row whenever the row is written.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::execution_props::ExecutionProps;
use tablegate_types::edm;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::checks::visible_schema;
use super::row_expressions::{BoundExpressions, RowExpressions};
use super::target::TargetColumn;
use crate::plan::Planner;
use crate::relation::Relation;
use crate::syntax::parse_expression;

/// The generated columns of a table.
#[derive(Debug, Clone)]
pub(crate) struct Generated {
    relation: Arc<Relation>,
    /// Indexes in the relation's columns, and whether the expression is a bare literal.
    columns: Vec<(usize, bool)>,
    expressions: Option<RowExpressions>,
}

impl Generated {
    /// # Errors
    /// The errors of planning an expression, of which none are expected: it was planned when it was declared.
    pub(super) fn prepare(planner: &Planner<'_>, relation: &Arc<Relation>) -> SqlResult<Self> {
        let mut columns = Vec::new();
        let mut parsed = Vec::new();
        for (index, column) in relation.columns.iter().enumerate() {
            if let Some(text) = &column.generated {
                let expression = parse_expression(text)?;
                columns.push((index, expression.is_untyped()));
                parsed.push(expression);
            }
        }
        let expressions = if parsed.is_empty() {
            None
        } else {
            Some(RowExpressions::plan(planner, &relation.name, &visible_schema(relation), parsed)?)
        };
        Ok(Self { relation: relation.clone(), columns, expressions })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns a statement gets in addition to those it sets.
    pub(super) fn targets(&self) -> impl Iterator<Item = TargetColumn> {
        self.columns.iter().map(|(index, _)| TargetColumn::Known(*index))
    }

    /// Makes them ready for one statement.
    ///
    /// # Errors
    /// The errors of evaluating constant parts of the expressions.
    pub(super) fn bind(&self, moment: &ExecutionProps) -> SqlResult<BoundGenerated> {
        let expressions = self.expressions.as_ref().map(|e| e.bind(moment)).transpose()?;
        let types = self.expressions.as_ref().map_or_else(Vec::new, |e| e.types().to_vec());
        Ok(BoundGenerated { relation: self.relation.clone(), columns: self.columns.clone(), types, expressions })
    }
}

/// Generated columns as one statement computes them.
#[derive(Debug, Clone)]
pub(crate) struct BoundGenerated {
    relation: Arc<Relation>,
    columns: Vec<(usize, bool)>,
    types: Vec<SqlType>,
    expressions: Option<BoundExpressions>,
}

impl BoundGenerated {
    /// The values for rows of the visible columns, in the order of [`Generated::targets`].
    ///
    /// # Errors
    /// The errors of evaluating the expressions and of assigning their values to the columns.
    pub(super) fn values(&self, rows: &RecordBatch) -> SqlResult<Vec<ArrayRef>> {
        let Some(expressions) = &self.expressions else { return Ok(Vec::new()) };
        let value = |(position, (index, untyped)): (usize, &(usize, bool))| {
            let column = &self.relation.columns[*index];
            let computed = expressions.evaluate(position, rows)?;
            edm::assign(&computed, &self.types[position], &column.sql_type, *untyped)
                .map_err(|e| e.for_column(&column.name))
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}
