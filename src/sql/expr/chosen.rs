//! GREATEST and LEAST of values that are compared by their keys, and COALESCE of values that are others each time they are computed.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::{SortOptions, concat, interleave};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Of several values the one with the greatest or least key, the first of those that are equal. NULLs do not count.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Chosen {
    is_greatest: bool,
    signature: Signature,
}

impl Chosen {
    /// The call; each value has its key.
    pub(super) fn call(is_greatest: bool, values: Vec<Expr>, keys: Vec<Expr>) -> Expr {
        let signature = Signature::any(values.len() + keys.len(), Volatility::Immutable);
        let arguments = values.into_iter().chain(keys).collect();
        ScalarUDF::new_from_impl(Self { is_greatest, signature }).call(arguments)
    }
}

impl ScalarUDFImpl for Chosen {
    fn name(&self) -> &str {
        if self.is_greatest { "greatest" } else { "least" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is a field", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(value) => Ok(Arc::new(value.as_ref().clone().with_name(self.name()).with_nullable(true))),
            None => internal_err!("{} of nothing", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        let (values, keys) = arguments.split_at(arguments.len() / 2);
        let wanted = if self.is_greatest { Ordering::Greater } else { Ordering::Less };
        chosen(values, keys, wanted).map(ColumnarValue::Array)
    }
}

fn chosen(values: &[ArrayRef], keys: &[ArrayRef], wanted: Ordering) -> Result<ArrayRef> {
    let rows = keys.first().map_or(0, |keys| keys.len());
    let all: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
    let all = concat(&all)?;
    let order = make_comparator(&all, &all, SortOptions::default())?;
    let best = |row: usize| {
        let candidates = (0..keys.len()).filter(|place| all.is_valid(place * rows + row));
        let best = candidates.reduce(|best, place| match order(place * rows + row, best * rows + row) {
            order if order == wanted => place,
            _ => best,
        });
        // Where all are NULL the first one is as good as any.
        (best.unwrap_or(0), row)
    };
    let places: Vec<(usize, usize)> = (0..rows).map(best).collect();
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    Ok(interleave(&values, &places)?)
}

/// The first value that is not NULL. All are computed, each once: the engine's own COALESCE computes one to see whether it is NULL,
/// and once more to give it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FirstKnown {
    signature: Signature,
}

impl FirstKnown {
    pub(super) fn call(values: Vec<Expr>) -> Expr {
        let signature = Signature::any(values.len(), Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { signature }).call(values)
    }
}

impl ScalarUDFImpl for FirstKnown {
    fn name(&self) -> &'static str {
        "coalesce"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is a field", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().all(|field| field.is_nullable());
        match args.arg_fields.first() {
            Some(value) => Ok(Arc::new(value.as_ref().clone().with_name(self.name()).with_nullable(nullable))),
            None => internal_err!("{} of nothing", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?;
        let first = |row: usize| values.iter().position(|values| values.is_valid(row)).unwrap_or(0);
        let rows = values.first().map_or(0, |values| values.len());
        let places: Vec<(usize, usize)> = (0..rows).map(|row| (first(row), row)).collect();
        let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&values, &places)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int32Array, StringArray};

    #[test]
    fn the_first_of_the_best_is_chosen() {
        let values: [ArrayRef; 3] = [
            Arc::new(StringArray::from(vec![Some("a"), Some("b"), None])),
            Arc::new(StringArray::from(vec![Some("c"), None, None])),
            Arc::new(StringArray::from(vec![Some("d"), Some("e"), None])),
        ];
        let keys: [ArrayRef; 3] = [
            Arc::new(Int32Array::from(vec![Some(1), Some(1), None])),
            Arc::new(Int32Array::from(vec![Some(2), None, None])),
            Arc::new(Int32Array::from(vec![Some(2), Some(0), None])),
        ];
        let texts = |wanted| {
            let chosen = chosen(&values, &keys, wanted).unwrap();
            chosen.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(texts(Ordering::Greater), [Some("c".to_owned()), Some("b".to_owned()), None]);
        assert_eq!(texts(Ordering::Less), [Some("a".to_owned()), Some("e".to_owned()), None]);
    }
}
