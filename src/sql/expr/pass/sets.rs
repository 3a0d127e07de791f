//! Set operations: the columns that meet in UNION, INTERSECT and EXCEPT have one type.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, TableReference};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, Join, LogicalPlan, Projection, Union};
use tablegate_types::sql_type::SqlType;

use super::identity::distinguishable_columns;
use super::{Pass, raised};
use crate::expr::operand::{Operand, relabelled};
use crate::expr::sort_key::{Purpose, keyed};
use crate::expr::typed::ValueType;

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
        let targets = self.met(&[&left, &join.right], name)?;
        let left = self.as_columns(left, &targets)?;
        distinguishable_columns(&left)?;
        join.left = match is_distinct {
            true => Arc::new(LogicalPlan::Distinct(Distinct::All(left))),
            false => left,
        };
        join.right = self.as_columns(join.right, &targets)?;
        let columns = |plan: &LogicalPlan| -> Vec<Expr> {
            let column = |(qualifier, field): (Option<&TableReference>, &FieldRef)| {
                let sql_type = SqlType::of_field(field);
                keyed(Expr::Column(Column::from((qualifier, field))), &sql_type, Purpose::Equality)
            };
            plan.schema().iter().map(column).collect()
        };
        join.on = columns(&join.left).into_iter().zip(columns(&join.right)).collect();
        LogicalPlan::Join(join).recompute_schema()
    }

    /// The types of columns that meet.
    fn met(&self, inputs: &[&LogicalPlan], name: &str) -> Result<Vec<Met>> {
        let columns = inputs.iter().map(|input| output_operands(input)).collect::<Result<Vec<_>>>()?;
        let width = columns.first().map_or(0, Vec::len);
        let mut met = Vec::with_capacity(width);
        for place in 0..width {
            let meeting: Vec<&Operand> = columns.iter().filter_map(|columns| columns.get(place)).collect();
            let value_type = self.common(&meeting, name).map_err(raised)?;
            let declared = inputs.first().and_then(|input| precision(input.schema().field(place)));
            let is_declared = declared.is_some()
                && inputs.iter().zip(&meeting).all(|(input, operand)| {
                    operand.value_type == value_type && precision(input.schema().field(place)) == declared
                });
            met.push(Met { value_type, is_declared });
        }
        Ok(met)
    }

    pub(super) fn union(&self, union: Union) -> Result<LogicalPlan> {
        let targets = self.met(&union.inputs.iter().map(AsRef::as_ref).collect::<Vec<_>>(), "UNION")?;
        let inputs = union.inputs.into_iter().map(|input| named_as(self.as_columns(input, &targets)?, &union.schema));
        let inputs = inputs.collect::<Result<_>>()?;
        Union::try_new_with_loose_types(inputs).map(LogicalPlan::Union)
    }

    /// A query with its columns as the given types, under the names they have.
    pub(super) fn as_columns(&self, input: Arc<LogicalPlan>, targets: &[Met]) -> Result<Arc<LogicalPlan>> {
        let operands = output_operands(&input)?;
        let is_one = |operand: &Operand, field: &Field, target: &Met| {
            operand.value_type == target.value_type && (target.is_declared || precision(field).is_none())
        };
        let fields = input.schema().fields();
        if operands.iter().zip(fields).zip(targets).all(|((operand, field), target)| is_one(operand, field, target)) {
            return Ok(input);
        }
        let named = |(index, (operand, target)): (usize, (Operand, &Met))| -> Result<Expr> {
            let (qualifier, field) = input.schema().qualified_field(index);
            let expr = operand.converted_to(&target.value_type, self.parameters()).map_err(raised)?;
            let converted = expr.to_field(input.schema().as_ref())?.1;
            let is_said = is_one(&Operand::of(expr.clone(), input.schema().as_ref())?, &converted, target);
            let expr = if is_said { expr } else { relabelled(expr, &target.value_type) };
            Ok(expr.alias_qualified(qualifier.cloned(), field.name()))
        };
        let exprs = operands.into_iter().zip(targets).enumerate().map(named).collect::<Result<_>>()?;
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs, input)?)))
    }
}

/// The type of columns that meet.
pub(super) struct Met {
    pub value_type: ValueType,
    /// All of them have the precision that it has.
    pub is_declared: bool,
}

impl Met {
    pub(super) fn undeclared(value_type: ValueType) -> Self {
        Self { value_type, is_declared: false }
    }
}

/// A query that is no list of results, with the columns of a UNION: where the engine leaves out inputs without rows, it finds those
/// of the last one that is left by the names that the UNION has.
fn named_as(input: Arc<LogicalPlan>, union: &DFSchema) -> Result<Arc<LogicalPlan>> {
    let is_named = |((_, own), (_, field)): ((_, &FieldRef), (_, &FieldRef))| own.name() == field.name();
    if matches!(&*input, LogicalPlan::Projection(_)) || input.schema().iter().zip(union.iter()).all(is_named) {
        return Ok(input);
    }
    let columns = input.schema().columns().into_iter().zip(union.iter());
    let named = columns
        .map(|(column, (qualifier, field))| Expr::Column(column).alias_qualified(qualifier.cloned(), field.name()));
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(named.collect::<Vec<_>>(), input)?)))
}

/// The type of a field that has a declared precision, of numerics or of times and intervals; or that of quotients.
pub(super) fn precision(field: &Field) -> Option<SqlType> {
    let declared = SqlType::declared_in(field);
    match declared {
        SqlType::Numeric(Some(_)) => SqlType::is_declared(field).then_some(declared),
        SqlType::Limited(_) | SqlType::Quotient => Some(declared),
        _ => None,
    }
}

/// The columns of a query. Literals in it have a type by now.
pub(super) fn output_operands(input: &LogicalPlan) -> Result<Vec<Operand>> {
    let schema = input.schema();
    let column = |index| Operand::of(Expr::Column(Column::from(schema.qualified_field(index))), schema.as_ref());
    (0..schema.fields().len()).map(column).collect()
}
