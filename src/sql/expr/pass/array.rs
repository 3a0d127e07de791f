//! Arrays: ARRAY[...], and comparisons with any or all of their items.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Operator, lit};
use tablegate_types::conversion::item_of;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::sql_type::SqlType;

use super::conditional::labelled;
use super::{Pass, raised};
use crate::expr::array_constructor::array_of_items;
use crate::expr::comparison;
use crate::expr::kernels::{RELABEL, kernel_of};
use crate::expr::meaning::array_of;
use crate::expr::operand::Operand;
use crate::expr::operation::comparison_operator;
use crate::expr::quantified::Quantified;
use crate::expr::sort_key::{keyed, keyed_items};
use crate::expr::typed::{Shape, ValueType};

impl Pass<'_> {
    /// `ARRAY[...]`
    pub(super) fn array(&self, items: Vec<Operand>) -> Result<Expr> {
        if items.is_empty() {
            // It gets its type from a cast around it.
            return Ok(array_of_items(Vec::new()));
        }
        let (items, item) = self.unified(items, "ARRAY")?;
        Ok(labelled(array_of_items(items), &array_of(&item)))
    }

    /// `value operator ANY (list)`, or ALL.
    pub(super) fn of_items(
        &self,
        name: &str,
        is_all: bool,
        value: Operand,
        list: Operand,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let quantifier = if is_all { "ALL" } else { "ANY" };
        let (operator, value, list) = self.beside_list(name, quantifier, value, list, schema)?;
        Ok(Quantified::call(operator, is_all, value, list))
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
