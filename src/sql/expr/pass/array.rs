//! Arrays: ARRAY[...], and comparisons with any or all of their items.

use arrow::array::Array;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions_nested::expr_fn::{array_has, array_max, array_min, array_position, cardinality, make_array};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, lit, when};
use tablegate_types::conversion::item_of;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::conditional::labelled;
use super::{Pass, raised};
use crate::expr::comparison;
use crate::expr::kernels::{RELABEL, kernel_of};
use crate::expr::meaning::array_of;
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::sort_key::{keyed, keyed_items};
use crate::expr::typed::{Shape, ValueType};

impl Pass<'_> {
    /// `ARRAY[...]`
    pub(super) fn array(&self, items: Vec<Operand>) -> Result<Expr> {
        if items.is_empty() {
            // It gets its type from a cast around it.
            return Ok(make_array(Vec::new()));
        }
        let (items, item) = self.unified(items, "ARRAY")?;
        Ok(labelled(make_array(items), &array_of(&item)))
    }

    /// `value operator ANY (list)`
    pub(super) fn any(&self, name: &str, value: Operand, list: Operand, schema: &DFSchema) -> Result<Expr> {
        let (operator, value, list) = self.beside_list(name, "ANY", value, list, schema)?;
        let (least, greatest) = (array_min(list.clone()), array_max(list.clone()));
        let found = match operator {
            Operator::Eq if is_given(&list) => return Ok(array_has(list, value)),
            Operator::Eq => array_has(list.clone(), value.clone()),
            Operator::NotEq => least.not_eq(value.clone()).or(greatest.not_eq(value.clone())),
            Operator::Gt => least.lt(value.clone()),
            Operator::GtEq => least.lt_eq(value.clone()),
            Operator::Lt => greatest.gt(value.clone()),
            _ => greatest.gt_eq(value.clone()),
        };
        let null = lit(ScalarValue::Boolean(None));
        let has_null = has_null(list.clone(), schema)?;
        when(found, lit(true))
            .when(list.clone().is_null(), null.clone())
            .when(cardinality(list).eq(lit(0_u64)), lit(false))
            .when(value.is_null().or(has_null), null)
            .otherwise(lit(false))
    }

    /// `value operator ALL (list)`
    pub(super) fn all(&self, name: &str, value: Operand, list: Operand, schema: &DFSchema) -> Result<Expr> {
        let (operator, value, list) = self.beside_list(name, "ALL", value, list, schema)?;
        let (least, greatest) = (array_min(list.clone()), array_max(list.clone()));
        let violated = match operator {
            Operator::NotEq => array_has(list.clone(), value.clone()),
            Operator::Eq => least.not_eq(value.clone()).or(greatest.not_eq(value.clone())),
            Operator::Gt => greatest.gt_eq(value.clone()),
            Operator::GtEq => greatest.gt(value.clone()),
            Operator::Lt => least.lt_eq(value.clone()),
            _ => least.lt(value.clone()),
        };
        let null = lit(ScalarValue::Boolean(None));
        let has_null = has_null(list.clone(), schema)?;
        when(list.clone().is_null(), null.clone())
            .when(cardinality(list).eq(lit(0_u64)), lit(true))
            .when(value.is_null(), null.clone())
            .when(violated, lit(false))
            .when(has_null, null)
            .otherwise(lit(true))
    }

    /// The value and the list, the items being of a type that the value is compared with.
    fn beside_list(
        &self,
        name: &str,
        quantifier: &str,
        value: Operand,
        list: Operand,
        schema: &DFSchema,
    ) -> Result<(Operator, Expr, Expr)> {
        let operator = comparison_operator(name)
            .ok_or_else(|| raised(SqlError::not_supported(format!("operator {name} {quantifier} (array)"))))?;
        let list = match list.sql_type() {
            // It is a list of what is compared with it.
            SqlType::Unknown => {
                let item = if value.is_unknown() { SqlType::Text } else { value.sql_type().clone() };
                let list_type = ValueType::of(SqlType::Array(Box::new(item)));
                let expr = list.converted_to(&list_type, self.parameters()).map_err(raised)?;
                self.operand(expr, schema)?
            }
            _ => list,
        };
        if matches!(value.sql_type(), SqlType::Record(_)) {
            // Rows of the same fields are compared by their keys.
            let is_item = match &list.value_type.data_type {
                DataType::List(item) => *item.data_type() == value.value_type.data_type,
                _ => false,
            };
            if is_item {
                let sql_type = value.sql_type().clone();
                let key = keyed(value.expr, &sql_type, comparison::purpose(operator));
                return Ok((operator, key, unlabelled(keyed_items(list.expr, &sql_type))));
            }
            return Err(raised(
                SqlError::not_supported(format!("{name} {quantifier} of an array of rows of other fields"))
                    .with_hint("Unnest the array in a sub-query."),
            ));
        }
        let Some(item) = item_of(list.sql_type()) else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(raised(SqlError::new(ErrorKind::WrongObjectType, message)));
        };
        // A stand-in for an item tells which type both are compared in.
        let stand_in = Operand { expr: lit(ScalarValue::Null), value_type: ValueType::of(item) };
        let stand_in_type = stand_in.value_type.clone();
        let given = value.clone();
        let (value, item, common) =
            comparison::converted(operator, value, stand_in, self.parameters()).map_err(raised)?;
        let item = match item {
            Expr::Literal(ScalarValue::Null, None) => stand_in_type,
            converted => self.operand(converted, schema)?.value_type,
        };
        let value = self.operand(value, schema)?;
        let (value, item) = match &item.sql_type {
            SqlType::Numeric(_) => self.beside_numerics(if given.is_unknown() { value } else { given }, item, &list)?,
            _ => (value.expr, ValueType::of(item.sql_type)),
        };
        let list = list.converted_to(&array_of(&item), self.parameters()).map_err(raised)?;
        let (value, list) = match common {
            Some(item) => (keyed(value, &item, comparison::purpose(operator)), keyed_items(list, &item)),
            None => (value, list),
        };
        Ok((operator, value, unlabelled(list)))
    }

    /// A number beside a list of numerics in the layout that holds it and the items, and that layout.
    fn beside_numerics(&self, value: Operand, item: ValueType, list: &Operand) -> Result<(Expr, ValueType)> {
        let items = match (item_of(list.sql_type()), &list.value_type.data_type) {
            (Some(sql_type), DataType::List(field)) => {
                Shape::of(&ValueType { sql_type, data_type: field.data_type().clone() })
            }
            _ => None,
        };
        let item = match (value.shape(), items) {
            (Some(value), Some(items)) => value.union(items).value_type(),
            _ => item,
        };
        Ok((value.converted_to(&item, self.parameters()).map_err(raised)?, item))
    }
}

/// Whether one of the items is NULL.
fn has_null(list: Expr, schema: &DFSchema) -> Result<Expr> {
    let null = match list.get_type(schema)? {
        DataType::List(item) => ScalarValue::try_from(item.data_type())?,
        _ => ScalarValue::Null,
    };
    Ok(array_position(list, lit(null), lit(1_i64)).is_not_null())
}

/// Whether the list is there before the query runs, without NULL in it: then the optimizer makes IN of it, which scans
/// understand.
fn is_given(list: &Expr) -> bool {
    let is_item = |item: &Expr| match item {
        Expr::Literal(value, _) => !value.is_null(),
        other => matches!(other, Expr::Placeholder(_)),
    };
    match list {
        Expr::Literal(ScalarValue::List(list), _) => list.values().null_count() == 0,
        Expr::Placeholder(_) => true,
        Expr::ScalarFunction(function) => function.func.name() == "make_array" && function.args.iter().all(is_item),
        _ => false,
    }
}

/// The list itself, so that the optimizer sees its items.
fn unlabelled(list: Expr) -> Expr {
    match list {
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if kernel_of(&func).is_some_and(|kernel| kernel.name == RELABEL.name) =>
        {
            args.pop().unwrap_or(lit(ScalarValue::Null))
        }
        other => other,
    }
}
