//! `generate_series` and `generate_subscripts`, as lists whose items become rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray, BooleanBufferBuilder, ListArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Decimal256Type, Int32Type, Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType, i256,
};

use super::dimensions::lengths;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::datetime::Parts;
use crate::functions::signature::Type::{
    self, Any, Array as AnyArray, Bool, Int4, Int8, Interval, Numeric, Timestamp, Timestamptz,
};
use crate::functions::signature::{Arguments, Overload};
use crate::grown::Grown;
use crate::input::Digits;
use crate::sql_type::SqlType;

/// Most rows of a series that is made in memory.
const ROWS_MAX: usize = 10_000_000;

const INT4S: Type = Type::ArrayOf(&Int4);
const INT8S: Type = Type::ArrayOf(&Int8);
const NUMERICS: Type = Type::ArrayOf(&Numeric);
const TIMESTAMPS: Type = Type::ArrayOf(&Timestamp);
const TIMESTAMPTZS: Type = Type::ArrayOf(&Timestamptz);

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("generate_series", &[Int4, Int4], INT4S, integers::<Int32Type>),
    Overload::new("generate_series", &[Int4, Int4, Int4], INT4S, integers::<Int32Type>),
    Overload::new("generate_series", &[Int8, Int8], INT8S, integers::<Int64Type>),
    Overload::new("generate_series", &[Int8, Int8, Int8], INT8S, integers::<Int64Type>),
    Overload::new("generate_series", &[Numeric, Numeric], NUMERICS, decimals).sized(decimals_size),
    Overload::new("generate_series", &[Numeric, Numeric, Numeric], NUMERICS, decimals).sized(decimals_size),
    Overload::new("generate_series", &[Timestamp, Timestamp, Interval], TIMESTAMPS, |call| {
        timestamps(call, |step, from| step.added_to(from))
    }),
    Overload::new("generate_series", &[Timestamptz, Timestamptz, Interval], TIMESTAMPTZS, |call| {
        let zone = call.style().zone;
        timestamps(call, |step, from| step.added_in(zone, from))
    })
    .stable(),
    // What numbers the rows of WITH ORDINALITY.
    Overload::new("row_numbers", &[Any], INT8S, row_numbers).variadic().of_nulls(),
    Overload::new("generate_subscripts", &[AnyArray, Int4], INT4S, subscripts),
    Overload::new("generate_subscripts", &[AnyArray, Int4, Bool], INT4S, subscripts),
];

/// The lists of a column of series.
struct Series<T: ArrowPrimitiveType> {
    values: Grown<T::Native>,
    lengths: Vec<usize>,
    valid: BooleanBufferBuilder,
}

impl<T: ArrowPrimitiveType> Series<T> {
    fn new(rows: usize) -> Self {
        let (lengths, valid) = (Vec::with_capacity(rows), BooleanBufferBuilder::new(rows));
        Self { values: Grown::new(), lengths, valid }
    }

    fn push_null(&mut self) {
        self.lengths.push(0);
        self.valid.append(false);
    }

    /// From one value to the next, until there is none.
    fn push(
        &mut self,
        first: Option<T::Native>,
        next: impl Fn(T::Native) -> SqlResult<Option<T::Native>>,
    ) -> SqlResult<()> {
        let before = self.values.len();
        let mut value = first;
        while let Some(current) = value {
            if self.values.len() >= ROWS_MAX {
                return Err(SqlError::new(ErrorKind::LimitExceeded, format!("a series of more than {ROWS_MAX} rows"))
                    .with_hint("In FROM, a series of integers between constants may be as long as it wants."));
            }
            self.values.push(current)?;
            value = next(current)?;
        }
        self.lengths.push(self.values.len() - before);
        self.valid.append(true);
        Ok(())
    }

    fn finish(mut self, sql_type: &SqlType) -> SqlResult<ArrayRef> {
        let DataType::List(item) = sql_type.arrow() else {
            return Err(SqlError::new(ErrorKind::Internal, "a series was planned as something else"));
        };
        let values =
            PrimitiveArray::<T>::new(self.values.into_vec().into(), None).with_data_type(item.data_type().clone());
        let nulls = NullBuffer::new(self.valid.finish());
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(item, offsets, Arc::new(values), Some(nulls))?))
    }
}

fn zero_step() -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, "step size cannot equal zero")
}

fn integers<T>(call: &Call) -> SqlResult<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64> + TryFrom<i64>,
{
    let (firsts, lasts) = (call.primitive::<T>(0)?, call.primitive::<T>(1)?);
    let steps = call.maybe_values::<PrimitiveArray<T>>(2)?;
    let mut series = Series::<T>::new(call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            series.push_null();
            continue;
        }
        let (first, last): (i64, i64) = (firsts.at(row).into(), lasts.at(row).into());
        let step: i64 = steps.map_or(1, |steps| steps.at(row).into());
        if step == 0 {
            return Err(zero_step());
        }
        let within = move |value: i64| if step > 0 { value <= last } else { value >= last };
        let native = move |value: i64| Some(value).filter(|v| within(*v)).and_then(|v| T::Native::try_from(v).ok());
        series.push(native(first), |value| Ok(value.into().checked_add(step).and_then(native)))?;
    }
    series.finish(&call.returns)
}

/// As many digits behind the point as the argument that has most.
#[expect(clippy::unnecessary_wraps, reason = "the shape that Overload::sized asks for")]
fn decimals_size(arguments: &Arguments<'_>) -> SqlResult<SqlType> {
    let digits: Option<Vec<(u8, i8)>> = (0..arguments.types.len()).map(|index| arguments.digits(index)).collect();
    // Held in 256 bits, whatever the arguments are: the sums may have more digits.
    let scale = digits.and_then(|digits| digits.into_iter().map(|(_, scale)| scale.max(0)).max());
    Ok(SqlType::Array(Box::new(SqlType::Numeric(scale.map(|scale| (76, scale))))))
}

fn decimals(call: &Call) -> SqlResult<ArrayRef> {
    let SqlType::Array(item) = &call.returns else { return Err(zero_step()) };
    let SqlType::Numeric(declared) = **item else { return Err(zero_step()) };
    let digits = Digits::of(declared);
    let (firsts, lasts) = (call.decimals(0)?, call.decimals(1)?);
    let steps = if call.arguments.len() > 2 { Some(call.decimals(2)?) } else { None };
    let mut series = Series::<Decimal256Type>::new(call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            series.push_null();
            continue;
        }
        let first = digits.rescale(firsts.at(row), firsts.scale)?;
        let last = digits.rescale(lasts.at(row), lasts.scale)?;
        let step = match &steps {
            Some(steps) => digits.rescale(steps.at(row), steps.scale)?,
            None => digits.rescale(i256::ONE, 0)?,
        };
        if step == i256::ZERO {
            return Err(zero_step());
        }
        let within = |value: &i256| if step > i256::ZERO { *value <= last } else { *value >= last };
        series.push(Some(first).filter(within), |value| Ok(value.checked_add(step).filter(within)))?;
    }
    series.finish(&call.returns)
}

fn timestamps(call: &Call, added: impl Fn(Parts, i64) -> SqlResult<i64>) -> SqlResult<ArrayRef> {
    let firsts = call.primitive::<TimestampMicrosecondType>(0)?;
    let lasts = call.primitive::<TimestampMicrosecondType>(1)?;
    let steps = call.primitive::<IntervalMonthDayNanoType>(2)?;
    let mut series = Series::<TimestampMicrosecondType>::new(call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            series.push_null();
            continue;
        }
        let (last, step) = (lasts.at(row), Parts::of(steps.at(row)));
        let ascending = match step.estimate() {
            0 => return Err(zero_step()),
            estimate => estimate > 0,
        };
        let within = move |value: &i64| if ascending { *value <= last } else { *value >= last };
        series.push(Some(firsts.at(row)).filter(within), |value| Ok(Some(added(step, value)?).filter(within)))?;
    }
    series.finish(&call.returns)
}

fn subscripts(call: &Call) -> SqlResult<ArrayRef> {
    let (lists, dimensions) = (call.lists(0)?, call.primitive::<Int32Type>(1)?);
    let reversed = call.maybe_values::<BooleanArray>(2)?;
    let mut series = Series::<Int32Type>::new(call.rows);
    for row in call.each_row() {
        let row = row?;
        if call.is_null(row) {
            series.push_null();
            continue;
        }
        let dimension = usize::try_from(dimensions.at(row)).ok().and_then(|dimension| dimension.checked_sub(1));
        let lengths = lengths(&lists.at(row));
        let length = dimension.and_then(|dimension| lengths.get(dimension)).copied().unwrap_or(0);
        let last = i32::try_from(length).unwrap_or(i32::MAX);
        if reversed.is_some_and(|reversed| reversed.at(row)) {
            series.push(Some(last).filter(|last| *last > 0), |value| Ok(Some(value - 1).filter(|v| *v > 0)))?;
        } else {
            series.push(Some(1).filter(|first| *first <= last), |value| Ok(Some(value + 1).filter(|v| *v <= last)))?;
        }
    }
    series.finish(&call.returns)
}

/// From 1 to the length of the longest list.
fn row_numbers(call: &Call) -> SqlResult<ArrayRef> {
    let lists = (0..call.arguments.len()).map(|index| call.lists(index)).collect::<SqlResult<Vec<_>>>()?;
    let mut series = Series::<Int64Type>::new(call.rows);
    for row in call.each_row() {
        let row = row?;
        let longest = lists.iter().map(|list| list.range(row).len()).max().unwrap_or(0);
        let last = i64::try_from(longest).unwrap_or(i64::MAX);
        series.push(Some(1).filter(|first| *first <= last), |value| Ok(Some(value + 1).filter(|v| *v <= last)))?;
    }
    series.finish(&call.returns)
}
