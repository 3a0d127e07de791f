//! TABLESAMPLE: whether a row is among those that chance takes.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use tablegate_bind::query::bound::SampleMethod;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use uuid::Uuid;
use xxhash_rust::xxh64::xxh64;

use crate::calls::name_of_call;

/// With which the values of a row are scattered: the same ones in each run of the server.
const SCATTERED_BY: u64 = 0;

/// Its arguments are the rows of a hundred, a seed where there is one, and then the columns that tell a row from others.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sampled {
    method: SampleMethod,
    has_seed: bool,
    signature: Signature,
}

/// Whether a row is among so many of a hundred. With a seed it depends on the row's values in `columns`, without one on
/// nothing but chance.
pub(crate) fn is_in_sample(method: SampleMethod, percent: Expr, seed: Option<Expr>, columns: Vec<Expr>) -> Expr {
    let has_seed = seed.is_some();
    let volatility = if has_seed { Volatility::Immutable } else { Volatility::Volatile };
    let mut arguments = vec![percent];
    if let Some(seed) = seed {
        arguments.push(seed);
        arguments.extend(columns);
    }
    let signature = Signature::any(arguments.len(), volatility);
    ScalarUDF::new_from_impl(Sampled { method, has_seed, signature }).call(arguments)
}

impl Sampled {
    /// As a statement has it.
    pub(super) fn printed(&self, arguments: &[String]) -> String {
        let method = self.method.name();
        match arguments {
            [percent, seed, ..] if self.has_seed => format!("TABLESAMPLE {method} ({percent}) REPEATABLE ({seed})"),
            [percent, ..] => format!("TABLESAMPLE {method} ({percent})"),
            [] => format!("TABLESAMPLE {method}"),
        }
    }

    fn evaluate(&self, arguments: &[ColumnarValue], rows: usize) -> SqlResult<BooleanArray> {
        let (values, columns) = arguments.split_at(if self.has_seed { 2 } else { 1 });
        let values = values.iter().map(|value| value.to_array(1)).collect::<Result<Vec<_>>>()?;
        let share = share(&values[0])?;
        let seed = match values.get(1) {
            Some(seed) => seed_of(seed)?,
            None => Uuid::new_v4().as_u64_pair().0,
        };
        let mut of_rows: Vec<u64> = (0..rows as u64).collect();
        if !columns.is_empty() {
            let columns = columns.iter().map(|column| column.to_array(rows)).collect::<Result<Vec<_>>>()?;
            create_hashes(&columns, &RandomState::with_seed(SCATTERED_BY), &mut of_rows)?;
        }
        Ok(of_rows.into_iter().map(|row| Some(is_below(xxh64(&row.to_le_bytes(), seed), share))).collect())
    }
}

/// Whether a number that is evenly scattered is among the first of all numbers, of which there are so many in one.
fn is_below(scattered: u64, share: f64) -> bool {
    (scattered as f64) < share * (u64::MAX as f64 + 1.0) || share >= 1.0
}

/// What part of all rows a number of a hundred is.
fn share(percent: &ArrayRef) -> SqlResult<f64> {
    let Some(percent) = number(percent)? else {
        return Err(SqlError::new(ErrorKind::InvalidSampleSize, "TABLESAMPLE parameter cannot be null"));
    };
    if !(0.0..=100.0).contains(&percent) {
        return Err(SqlError::new(ErrorKind::InvalidSampleSize, "sample percentage must be between 0 and 100"));
    }
    Ok(percent / 100.0)
}

fn seed_of(seed: &ArrayRef) -> SqlResult<u64> {
    let Some(seed) = number(seed)? else {
        return Err(SqlError::new(ErrorKind::InvalidSampleSeed, "TABLESAMPLE REPEATABLE parameter cannot be null"));
    };
    // Both zeros are one seed.
    Ok((seed + 0.0).to_bits())
}

/// The only value; `None` for NULL.
fn number(value: &ArrayRef) -> SqlResult<Option<f64>> {
    let value = cast(value, &DataType::Float64)?;
    Ok(value.as_primitive::<Float64Type>().iter().next().flatten())
}

impl ScalarUDFImpl for Sampled {
    fn name(&self) -> &str {
        "tablesample"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_of_call(args, || {
            let arguments: Vec<String> = args.iter().map(|argument| argument.schema_name().to_string()).collect();
            Ok(self.printed(&arguments))
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let taken = self.evaluate(&args.args, args.number_rows);
        taken.map(|taken| ColumnarValue::Array(Arc::new(taken))).map_err(|error| DataFusionError::External(error))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, UInt32Array};

    use super::*;

    fn taken(percent: f32, seed: f64, rows: u32) -> Vec<bool> {
        let numbers: ArrayRef = Arc::new((0..rows).collect::<UInt32Array>());
        let arguments =
            [ColumnarValue::Scalar(percent.into()), ColumnarValue::Scalar(seed.into()), ColumnarValue::Array(numbers)];
        let function = Sampled {
            method: SampleMethod::Bernoulli,
            has_seed: true,
            signature: Signature::any(arguments.len(), Volatility::Immutable),
        };
        function.evaluate(&arguments, rows as usize).unwrap().iter().flatten().collect()
    }

    #[test]
    fn a_sample_has_its_share_of_the_rows() {
        let of = |percent, seed| taken(percent, seed, 100_000).into_iter().filter(|taken| *taken).count();
        assert_eq!(of(0.0, 1.0), 0);
        assert_eq!(of(100.0, 1.0), 100_000);
        // Six times the deviation of a share of a tenth.
        assert!(of(10.0, 1.0).abs_diff(10_000) < 570, "{}", of(10.0, 1.0));
    }

    #[test]
    fn a_seed_takes_its_own_rows() {
        assert_eq!(taken(50.0, 7.0, 1_000), taken(50.0, 7.0, 1_000));
        assert_eq!(taken(50.0, 0.0, 1_000), taken(50.0, -0.0, 1_000));
        assert_ne!(taken(50.0, 7.0, 1_000), taken(50.0, 8.0, 1_000));
        // What a smaller share takes, a larger one takes too.
        let (few, many) = (taken(10.0, 7.0, 1_000), taken(20.0, 7.0, 1_000));
        assert!(few.iter().zip(&many).all(|(few, many)| !few || *many));
    }

    #[test]
    fn shares_that_are_none_are_refused() {
        let share_of = |value: Option<f32>| share(&(Arc::new(Float32Array::from(vec![value])) as ArrayRef));
        for wrong in [None, Some(-1.0), Some(100.5), Some(f32::NAN)] {
            assert_eq!(share_of(wrong).unwrap_err().kind, ErrorKind::InvalidSampleSize, "{wrong:?}");
        }
    }
}
