//! The list of a query's rows, as `ARRAY(query)` gives it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// A list, empty where it is NULL: what `ARRAY(query)` gives for a query without rows.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListOrEmpty {
    signature: Signature,
}

impl ListOrEmpty {
    pub(super) const NAME: &'static str = "catalog_list_or_empty";

    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ListOrEmpty {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        // With what the list's field says of its items.
        Ok(match args.arg_fields.first() {
            Some(list) => Arc::new(list.as_ref().clone().with_name(Self::NAME).with_nullable(true)),
            None => Arc::new(arrow::datatypes::Field::new(Self::NAME, DataType::Null, true)),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(lists) = arrays.first().and_then(|a| a.as_list_opt::<i32>()) else {
            return Ok(args
                .args
                .into_iter()
                .next()
                .unwrap_or(ColumnarValue::Array(arrow::array::new_null_array(&DataType::Null, args.number_rows))));
        };
        Ok(ColumnarValue::Array(without_nulls(lists)?))
    }
}

fn without_nulls(lists: &ListArray) -> Result<ArrayRef> {
    let DataType::List(item) = lists.data_type() else { return Ok(Arc::new(lists.clone())) };
    let mut lengths = Vec::with_capacity(lists.len());
    let mut kept: Vec<u32> = Vec::new();
    for (row, ends) in lists.value_offsets().windows(2).enumerate() {
        let [start, end] = *ends else { continue };
        let range = if lists.is_null(row) { 0..0 } else { start.cast_unsigned()..end.cast_unsigned() };
        lengths.push(range.len());
        kept.extend(range);
    }
    let values = take(lists.values(), &UInt32Array::from(kept), None)?;
    Ok(Arc::new(ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), values, None)?))
}

#[cfg(test)]
mod tests {
    use tablegate_types::sql_type::SqlType;

    use super::*;
    use crate::pg_catalog::cells::{Cell, array_of};

    #[test]
    fn null_lists_become_empty() {
        let lists = array_of(
            &SqlType::Array(Box::new(SqlType::Int4)).arrow(),
            &[Cell::Null, Cell::numbers([7i64]), Cell::Null],
        );
        let filled = without_nulls(lists.as_list()).unwrap();
        assert_eq!(
            [0, 1, 2].map(|row| Cell::at(&filled, row)),
            [Cell::List(vec![]), Cell::numbers([7i64]), Cell::List(vec![])]
        );
    }
}
