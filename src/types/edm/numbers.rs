//! Casts between numbers, with PostgreSQL's rounding and its errors.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, UInt32Type, i256,
};

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::input::Digits;
use crate::output::{ShownDigits, StackText, write_decimal};
use crate::sql_type::SqlType;

const DECIMAL_TEXT: usize = 242;
/// Significant digits of a float8 that PostgreSQL takes over into a numeric, less the first.
const FLOAT8_DIGITS: usize = 14;
const FLOAT4_DIGITS: usize = 5;

/// Whether PostgreSQL casts between these types on assignment, as numbers.
pub(super) fn has_cast(from: &SqlType, to: &SqlType) -> bool {
    let number = |t: &SqlType| {
        matches!(
            t,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_)
        )
    };
    let integer = |t: &SqlType| matches!(t, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid);
    (number(from) && number(to)) || (integer(from) && integer(to))
}

/// # Errors
/// 22003 for a value the target type does not hold.
pub(super) fn convert(values: &ArrayRef, to: &SqlType) -> SqlResult<ArrayRef> {
    let source = Source::of(values)?;
    match to {
        SqlType::Int2 => integers::<Int16Type>(values, &source, "smallint out of range"),
        SqlType::Int4 => integers::<Int32Type>(values, &source, "integer out of range"),
        SqlType::Int8 => integers::<Int64Type>(values, &source, "bigint out of range"),
        SqlType::Oid => integers::<UInt32Type>(values, &source, "OID out of range"),
        SqlType::Float4 => collect::<Float32Type>(values, |row| narrow(source.float(row)?)),
        SqlType::Float8 => collect::<Float64Type>(values, |row| source.float(row)),
        SqlType::Numeric(declared) => decimals(values, &source, Digits::of(*declared), to),
        _ => Err(SqlError::new(ErrorKind::Internal, "a cast between numbers was asked for another type")),
    }
}

/// The numbers to convert, in their widest form.
enum Source {
    Integers(Int64Array),
    /// And how many digits PostgreSQL takes over into a numeric, less the first.
    Floats(Float64Array, usize),
    Decimals(Decimal128Array, i8),
    LongDecimals(Decimal256Array, i8),
}

impl Source {
    fn of(values: &ArrayRef) -> SqlResult<Self> {
        Ok(match values.data_type() {
            DataType::Decimal128(_, scale) => Source::Decimals(values.as_primitive::<Decimal128Type>().clone(), *scale),
            DataType::Decimal256(_, scale) => {
                Source::LongDecimals(values.as_primitive::<Decimal256Type>().clone(), *scale)
            }
            DataType::Float64 => Source::Floats(values.as_primitive::<Float64Type>().clone(), FLOAT8_DIGITS),
            DataType::Float32 => {
                Source::Floats(cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone(), FLOAT4_DIGITS)
            }
            _ => Source::Integers(cast(values, &DataType::Int64)?.as_primitive::<Int64Type>().clone()),
        })
    }

    /// The nearest integer: floats round half to even, decimals half away from zero. `None` beyond 128 bits.
    fn integer(&self, row: usize) -> Option<i128> {
        const WHOLE: Option<(u8, i8)> = Some((76, 0));
        match self {
            Source::Integers(values) => Some(values.value(row).into()),
            Source::Floats(values, _) => {
                const LIMIT: f64 = 1e20;
                let rounded = values.value(row).round_ties_even();
                #[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^127")]
                (rounded.abs() < LIMIT).then_some(rounded as i128)
            }
            Source::Decimals(values, scale) => {
                Digits::of(WHOLE).rescale(i256::from_i128(values.value(row)), *scale).ok()?.to_i128()
            }
            Source::LongDecimals(values, scale) => Digits::of(WHOLE).rescale(values.value(row), *scale).ok()?.to_i128(),
        }
    }

    fn float(&self, row: usize) -> SqlResult<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the nearest float8 is what the cast means")]
            Source::Integers(values) => Ok(values.value(row) as f64),
            Source::Floats(values, _) => Ok(values.value(row)),
            Source::Decimals(values, scale) => float_of_decimal(i256::from_i128(values.value(row)), *scale),
            Source::LongDecimals(values, scale) => float_of_decimal(values.value(row), *scale),
        }
    }

    fn decimal(&self, row: usize, digits: Digits) -> SqlResult<i256> {
        match self {
            Source::Integers(values) => digits.rescale(i256::from_i128(values.value(row).into()), 0),
            Source::Floats(values, precision) => {
                let value = values.value(row);
                let mut text = StackText::<40>::default();
                // It is long enough for the digits asked for.
                let _ = write!(text, "{value:.precision$e}");
                digits.parse(text.as_str())
            }
            Source::Decimals(values, scale) => digits.rescale(i256::from_i128(values.value(row)), *scale),
            Source::LongDecimals(values, scale) => digits.rescale(values.value(row), *scale),
        }
    }
}

/// By way of its digits, so that it is rounded once.
fn float_of_decimal(value: i256, scale: i8) -> SqlResult<f64> {
    let mut text = StackText::<DECIMAL_TEXT>::default();
    // It is long enough for any decimal.
    let _ = write_decimal(&mut text, value, scale, ShownDigits::All);
    text.as_str().parse().map_err(|_| SqlError::new(ErrorKind::Internal, "a decimal did not read as a float"))
}

fn narrow(value: f64) -> SqlResult<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what the cast means")]
    let narrowed = value as f32;
    if narrowed.is_infinite() && value.is_finite() {
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: overflow"));
    }
    if narrowed == 0.0 && value != 0.0 {
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: underflow"));
    }
    Ok(narrowed)
}

fn integers<T>(values: &ArrayRef, source: &Source, out_of_range: &str) -> SqlResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    collect::<T>(values, |row| {
        let value = source.integer(row).and_then(|v| T::Native::try_from(v).ok());
        value.ok_or_else(|| SqlError::new(ErrorKind::NumericOutOfRange, out_of_range))
    })
}

fn decimals(values: &ArrayRef, source: &Source, digits: Digits, to: &SqlType) -> SqlResult<ArrayRef> {
    let converted = match to.arrow() {
        arrow @ DataType::Decimal128(..) => {
            cast_free(collect::<Decimal128Type>(values, |row| Ok(source.decimal(row, digits)?.as_i128()))?, arrow)
        }
        arrow => cast_free(collect::<Decimal256Type>(values, |row| source.decimal(row, digits))?, arrow),
    };
    Ok(converted)
}

/// The same decimals, said to have the type's precision and scale.
fn cast_free(values: ArrayRef, arrow: DataType) -> ArrayRef {
    match &arrow {
        DataType::Decimal128(..) => Arc::new(values.as_primitive::<Decimal128Type>().clone().with_data_type(arrow)),
        _ => Arc::new(values.as_primitive::<Decimal256Type>().clone().with_data_type(arrow)),
    }
}

/// Each row by a conversion that may refuse it; NULLs stay.
fn collect<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    convert: impl Fn(usize) -> SqlResult<T::Native>,
) -> SqlResult<ArrayRef> {
    let converted = (0..values.len()).map(|row| if values.is_null(row) { Ok(None) } else { convert(row).map(Some) });
    Ok(Arc::new(converted.collect::<SqlResult<PrimitiveArray<T>>>()?))
}
