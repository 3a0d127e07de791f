//! Set operations: the columns that meet in UNION, INTERSECT and EXCEPT have one type.

use std::sync::Arc;

use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::{Distinct, Expr, Join, LogicalPlan, Projection, Union};

use super::identity::distinguishable_columns;
use super::{Pass, raised};
use crate::sql::expr::operand::{Operand, is_untyped, relabelled};
use crate::sql::expr::typed::ValueType;
use crate::sql::types::SqlType;

/// Before it is optimized, a plan has joins where NULL equals NULL only for INTERSECT and EXCEPT.
pub(super) fn is_set_operation(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
}

impl Pass<'_> {
    /// INTERSECT or EXCEPT.
    pub(super) fn set_operation(&self, mut join: Join) -> Result<LogicalPlan> {
        let name = if join.join_type == JoinType::LeftAnti { "EXCEPT" } else { "INTERSECT" };
        // Without ALL its left side has each row once.
        let (left, is_distinct) = match Arc::unwrap_or_clone(join.left) {
            LogicalPlan::Distinct(Distinct::All(input)) => (input, true),
            other => (Arc::new(other), false),
        };
        let targets = self.met(&[output_operands(&left)?, output_operands(&join.right)?], name)?;
        let left = self.as_columns(left, &targets)?;
        distinguishable_columns(&left)?;
        join.left = match is_distinct {
            true => Arc::new(LogicalPlan::Distinct(Distinct::All(left))),
            false => left,
        };
        join.right = self.as_columns(join.right, &targets)?;
        let columns = |plan: &LogicalPlan| -> Vec<Expr> {
            plan.schema().iter().map(|field| Expr::Column(Column::from(field))).collect()
        };
        join.on = columns(&join.left).into_iter().zip(columns(&join.right)).collect();
        LogicalPlan::Join(join).recompute_schema()
    }

    /// The types of columns that meet.
    fn met(&self, inputs: &[Vec<Operand>], name: &str) -> Result<Vec<ValueType>> {
        let width = inputs.first().map_or(0, Vec::len);
        let meeting =
            |column: usize| -> Vec<&Operand> { inputs.iter().filter_map(|input| input.get(column)).collect() };
        (0..width).map(|column| self.common(&meeting(column), name).map_err(raised)).collect()
    }

    pub(super) fn union(&self, union: Union) -> Result<LogicalPlan> {
        let operands = union.inputs.iter().map(|input| output_operands(input)).collect::<Result<Vec<_>>>()?;
        let targets = self.met(&operands, "UNION")?;
        let inputs = union.inputs.into_iter().map(|input| self.as_columns(input, &targets)).collect::<Result<_>>()?;
        Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union)
    }

    /// A query with its columns as the given types, under the names they have.
    pub(super) fn as_columns(&self, input: Arc<LogicalPlan>, targets: &[ValueType]) -> Result<Arc<LogicalPlan>> {
        let operands = output_operands(&input)?;
        if operands.iter().zip(targets).all(|(operand, target)| operand.value_type == *target) {
            return Ok(input);
        }
        let named = |(index, (operand, target)): (usize, (Operand, &ValueType))| -> Result<Expr> {
            let (qualifier, field) = input.schema().qualified_field(index);
            let is_literal = operand.is_unknown();
            let expr = operand.converted_to(target, self.parameters()).map_err(raised)?;
            let expr =
                if is_literal || SqlType::of_field(field) == target.sql_type { expr } else { typed_as(expr, target) };
            Ok(expr.alias_qualified(qualifier.cloned(), field.name()))
        };
        let exprs = operands.into_iter().zip(targets).enumerate().map(named).collect::<Result<_>>()?;
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, input)?)))
    }
}

/// The columns of a query; a literal that nobody gave a type is itself, not a column.
pub(super) fn output_operands(input: &LogicalPlan) -> Result<Vec<Operand>> {
    let literals = untyped_literals(input);
    let schema = input.schema();
    let column = |index: usize| match literals.get(index) {
        Some(Some(literal)) => Ok(Operand { expr: literal.clone(), value_type: ValueType::of(SqlType::Unknown) }),
        _ => Operand::of(Expr::Column(Column::from(schema.qualified_field(index))), schema.as_ref()),
    };
    (0..schema.fields().len()).map(column).collect()
}

/// The literals among the columns of a query that nobody gave a type.
fn untyped_literals(input: &LogicalPlan) -> Vec<Option<Expr>> {
    match input {
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().map(|expr| is_untyped_text(expr).then(|| expr.clone().unalias())).collect()
        }
        LogicalPlan::SubqueryAlias(alias) => untyped_literals(&alias.input),
        _ => Vec::new(),
    }
}

/// Whether it is a literal without a type, or the NULL that such a column became.
fn is_untyped_text(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_untyped_text(&alias.expr),
        Expr::Literal(value, Some(_)) => value.is_null() && value.data_type() == arrow::datatypes::DataType::Utf8,
        other => is_untyped(other),
    }
}

/// The expression said to be of a type, where the layout does not say it.
fn typed_as(expr: Expr, target: &ValueType) -> Expr {
    if target.is_obvious() { expr } else { relabelled(expr, target) }
}
