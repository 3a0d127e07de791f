//! Whether any of several lists has an item.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Whether one of the lists of a row has an item. It is never NULL.
pub(super) fn has_items(lists: Vec<Expr>) -> Expr {
    let signature = Signature::any(lists.len(), Volatility::Immutable);
    ScalarUDF::new_from_impl(HasItems { signature }).call(lists)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct HasItems {
    signature: Signature,
}

impl ScalarUDFImpl for HasItems {
    fn name(&self) -> &'static str {
        "has_items"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut has = vec![false; args.number_rows];
        for list in ColumnarValue::values_to_arrays(&args.args)? {
            let Some(lists) = list.as_list_opt::<i32>() else { return exec_err!("lists are asked for their items") };
            for (row, has) in has.iter_mut().enumerate() {
                *has |= lists.is_valid(row) && lists.value_length(row) > 0;
            }
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(has)) as ArrayRef))
    }
}
