//! `ARRAY[..]`: an array of values that are of one type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::functions::array_lengths;

use crate::calls::{constant, made, name_of_call};

/// The items of a row as an array.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayConstructor {
    signature: Signature,
}

/// The array of these items, which are of one type. Without items it gets its type from a cast around it.
pub(super) fn array_of_items(items: Vec<Expr>) -> Expr {
    let signature = match items.len() {
        0 => Signature::nullary(Volatility::Immutable),
        items => Signature::any(items, Volatility::Immutable),
    };
    ScalarUDF::new_from_impl(ArrayConstructor { signature }).call(items)
}

/// Whether a function is that of `ARRAY[..]`.
pub(super) fn is_it(function: &ScalarUDF) -> bool {
    function.inner().is::<ArrayConstructor>()
}

/// As PostgreSQL's EXPLAIN writes it.
pub(super) fn printed(items: &[String]) -> String {
    format!("ARRAY[{}]", items.join(", "))
}

fn evaluate(items: &[ArrayRef], rows: usize) -> SqlResult<ArrayRef> {
    let columns: Vec<&dyn Array> = items.iter().map(AsRef::as_ref).collect();
    check_lengths(items, rows)?;
    let values = match columns.first() {
        Some(_) => {
            let places = (0..rows).flat_map(|row| (0..columns.len()).map(move |column| (column, row)));
            interleave(&columns, &places.collect::<Vec<_>>())?
        }
        None => new_empty_array(&DataType::Null),
    };
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_repeated_length(columns.len(), rows);
    Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
}

/// Arrays within an array are as long as each other, however many dimensions they have.
///
/// # Errors
/// 2202E where they are not.
fn check_lengths(items: &[ArrayRef], rows: usize) -> SqlResult<()> {
    let Some((first, others)) = items.split_first().filter(|(first, _)| first.as_list_opt::<i32>().is_some()) else {
        return Ok(());
    };
    let is_as_long = |row: usize| {
        let lengths = lengths(first, row);
        others.iter().all(|other| self::lengths(other, row) == lengths)
    };
    match (0..rows).all(is_as_long) {
        true => Ok(()),
        false => {
            let message = "multidimensional arrays must have array expressions with matching dimensions";
            Err(SqlError::new(ErrorKind::SubscriptError, message))
        }
    }
}

/// How long an array of a column is in each of its dimensions.
fn lengths(lists: &ArrayRef, row: usize) -> Vec<usize> {
    let list = lists.as_list_opt::<i32>().filter(|list| list.is_valid(row));
    list.map(|list| array_lengths(&list.value(row))).unwrap_or_default()
}

impl ScalarUDFImpl for ArrayConstructor {
    fn name(&self) -> &str {
        "array"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_of_call(args, || {
            let items: Vec<String> = args.iter().map(|argument| argument.schema_name().to_string()).collect();
            Ok(printed(&items))
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(arg_types.first().cloned().unwrap_or(DataType::Null), true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let items = || {
            let items = args.args.iter().map(|value| value.to_array(rows));
            Ok(items.collect::<Result<Vec<_>>>()?)
        };
        let make = |items: &Vec<ArrayRef>| evaluate(items, rows);
        made(&args.config_options, &args.args, items, make, Vec::clone)
            .and_then(
                |values| {
                    if is_constant { constant(values, args.number_rows) } else { Ok(ColumnarValue::Array(values)) }
                },
            )
            .map_err(|error| DataFusionError::External(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int32Array;
    use arrow::datatypes::Int32Type;

    #[test]
    fn rows_are_arrays_of_their_items() {
        let left: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let right: ArrayRef = Arc::new(Int32Array::from(vec![3, 4]));
        let arrays = evaluate(&[left, right], 2).unwrap();
        let items =
            |row: usize| arrays.as_list::<i32>().value(row).as_primitive::<Int32Type>().iter().collect::<Vec<_>>();
        assert_eq!((items(0), items(1)), (vec![Some(1), Some(3)], vec![None, Some(4)]));
        assert_eq!(evaluate(&[], 1).unwrap().as_list::<i32>().value_length(0), 0);
    }
}
