//! What is chosen among sorted values: the most frequent one, or the one at a fraction of the way.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DynComparator, Float64Array, IntervalMonthDayNanoArray, ListArray, UInt32Array,
    make_comparator,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, take};
use arrow::datatypes::{DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::interrupt;
use tablegate_types::sql_type::SqlType;

use super::interval::{by_part, scaled};
use super::sort_key::comparable;
use super::{Computation, Kernel, Operands};

/// The first of the most frequent values.
pub(crate) static MODE: Kernel = Kernel { name: "mode", evaluate: |operands, _| mode(operands) };
/// The first value at or behind a fraction of them.
pub(crate) static PERCENTILE_DISC: Kernel =
    Kernel { name: "percentile_disc", evaluate: |operands, _| percentile_disc(operands) };
/// The value at a fraction of the way, between two of them if need be.
pub(crate) static PERCENTILE_CONT: Kernel =
    Kernel { name: "percentile_cont", evaluate: |operands, t| percentile_cont(operands, t, false) };
/// The same of values that are not sorted yet.
pub(crate) static PERCENTILE_CONT_UNSORTED: Kernel =
    Kernel { name: "percentile_cont_unsorted", evaluate: |operands, t| percentile_cont(operands, t, true) };

/// The same of several fractions: arrays.
pub(crate) static PERCENTILES_DISC: Kernel =
    Kernel { name: "percentiles_disc", evaluate: |operands, t| percentiles_disc(operands, t) };
pub(crate) static PERCENTILES_CONT: Kernel =
    Kernel { name: "percentiles_cont", evaluate: |operands, t| percentiles_cont(operands, t, false) };
pub(crate) static PERCENTILES_CONT_UNSORTED: Kernel =
    Kernel { name: "percentiles_cont_unsorted", evaluate: |operands, t| percentiles_cont(operands, t, true) };

/// What a call chooses of a list of sorted values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Choice {
    Mode,
    /// The first value at or behind a fraction of them.
    At(f64),
    /// What is at a fraction of the way, of double precision values, whatever order they come in.
    Between(f64),
}

/// Where in sorted values a choice is found: from the first of two values to the second, so much of the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    pub low: usize,
    pub high: usize,
    pub part: f64,
}

/// The column of lists that a call chooses a value of each from, and which one, where that is known beforehand. Of a list of this
/// value alone it would choose the same.
pub(crate) fn choice_of(call: &ScalarFunctionExpr) -> Option<(usize, Choice)> {
    let kernel = call.fun().inner().downcast_ref::<Computation>()?.kernel;
    let list = call.args().first()?.downcast_ref::<Column>()?.index();
    if std::ptr::eq(kernel, &MODE) {
        return Some((list, Choice::Mode));
    }
    let ScalarValue::Float64(Some(fraction)) = call.args().get(1)?.downcast_ref::<Literal>()?.value() else {
        return None;
    };
    if !(0.0..=1.0).contains(fraction) {
        return None;
    }
    let are_floats = *call.return_type() == DataType::Float64;
    if std::ptr::eq(kernel, &PERCENTILE_DISC) {
        Some((list, Choice::At(*fraction)))
    } else if are_floats && (std::ptr::eq(kernel, &PERCENTILE_CONT) || std::ptr::eq(kernel, &PERCENTILE_CONT_UNSORTED))
    {
        Some((list, Choice::Between(*fraction)))
    } else {
        None
    }
}

impl Choice {
    /// Where it is among so many values; `None` where that depends on the values.
    pub(crate) fn found(self, count: usize) -> Option<Found> {
        match self {
            Self::Mode => None,
            Self::At(fraction) => {
                let place = place(0, count, fraction);
                Some(Found { low: place, high: place, part: 0.0 })
            }
            Self::Between(fraction) => {
                let Way { low, high, part } = Way::of(0, count.max(1), fraction);
                Some(Found { low, high, part })
            }
        }
    }
}

impl Found {
    /// What is there, of the only values of two arrays.
    pub(crate) fn between(self, low: &ArrayRef, high: &ArrayRef) -> ArrayRef {
        match (low.as_primitive_opt::<Float64Type>(), high.as_primitive_opt::<Float64Type>()) {
            (Some(from), Some(to)) if self.low != self.high => {
                let (from, to) = (from.value(0), to.value(0));
                Arc::new(Float64Array::from(vec![from + self.part * (to - from)]))
            }
            _ => Arc::clone(low),
        }
    }
}

/// The order of the values in all lists, by their places.
fn order_of(operands: &Operands<'_>, lists: &Sorted<'_>) -> SqlResult<DynComparator> {
    let keys = match operands.type_of(0) {
        SqlType::Array(item) => comparable(lists.values(), &item)?,
        _ => lists.values().clone(),
    };
    Ok(make_comparator(&keys, &keys, SortOptions::default())?)
}

/// The places of a list's values from the least to the greatest. One list is sorted at a time: all of them would be there twice.
struct Order {
    compare: Option<DynComparator>,
    /// Those of the list that begins at this place.
    first: usize,
    places: Vec<usize>,
}

impl Order {
    /// Of lists that are sorted, or are not.
    fn of(operands: &Operands<'_>, lists: &Sorted<'_>, is_unsorted: bool) -> SqlResult<Self> {
        let compare = if is_unsorted { Some(order_of(operands, lists)?) } else { None };
        Ok(Self { compare, first: 0, places: Vec::new() })
    }

    /// The way to a fraction of the values between two places.
    fn way(&mut self, first: usize, end: usize, fraction: f64) -> Way {
        let way = Way::of(first, end, fraction);
        let Some(compare) = &self.compare else { return way };
        if self.first != first || self.places.len() != end - first {
            self.first = first;
            self.places.clear();
            self.places.extend(first..end);
            self.places.sort_unstable_by(|one, other| compare(*one, *other));
        }
        let sorted = |place: usize| self.places.get(place - first).copied().unwrap_or(place);
        Way { low: sorted(way.low), high: sorted(way.high), part: way.part }
    }
}

fn mode(operands: &Operands<'_>) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let order = order_of(operands, &sorted)?;
    let mut places = Vec::with_capacity(operands.rows());
    for row in 0..operands.rows() {
        let (first, end) = sorted.bounds(lists.place(row));
        let (mut best, mut best_count, mut start) = (None, 0, first);
        for at in first..end {
            if order(start, at).is_ne() {
                start = at;
            }
            if at - start + 1 > best_count {
                (best, best_count) = (Some(start), at - start + 1);
            }
        }
        places.push(best);
    }
    sorted.take(places)
}

fn percentile_disc(operands: &Operands<'_>) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let mut places = Vec::with_capacity(operands.rows());
    for row in 0..operands.rows() {
        let (first, end) = sorted.bounds(lists.place(row));
        places.push(fraction(operands, row)?.filter(|_| first < end).map(|fraction| place(first, end, fraction)));
    }
    sorted.take(places)
}

fn percentile_cont(operands: &Operands<'_>, result: &DataType, is_unsorted: bool) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let mut order = Order::of(operands, &sorted, is_unsorted)?;
    let mut ways = Vec::with_capacity(operands.rows());
    for row in 0..operands.rows() {
        let (first, end) = sorted.bounds(lists.place(row));
        interrupt::check()?;
        ways.push(fraction(operands, row)?.filter(|_| first < end).map(|fraction| order.way(first, end, fraction)));
    }
    between(sorted.values(), ways, result)
}

/// The place of the first value at or behind a fraction of those between two places.
fn place(first: usize, end: usize, fraction: f64) -> usize {
    first + index((fraction * count(end - first)).ceil()).saturating_sub(1)
}

/// The way from one value to the next, and how much of it is gone.
#[derive(Clone, Copy)]
struct Way {
    low: usize,
    high: usize,
    part: f64,
}

impl Way {
    fn of(first: usize, end: usize, fraction: f64) -> Self {
        let way = fraction * count(end - first - 1);
        Self { low: first + index(way.floor()), high: first + index(way.ceil()), part: way - way.floor() }
    }
}

fn between(values: &ArrayRef, ways: Vec<Option<Way>>, result: &DataType) -> SqlResult<ArrayRef> {
    if *result == DataType::Float64 {
        let values = values.as_primitive::<Float64Type>();
        let between = |Way { low, high, part }: Way| {
            // Of one value there is nothing between: infinity stays what it is.
            if low == high {
                return values.value(low);
            }
            let (low, high) = (values.value(low), values.value(high));
            low + part * (high - low)
        };
        let results = ways.into_iter().map(|way| way.map(between));
        return Ok(Arc::new(results.collect::<Float64Array>()));
    }
    let values = values.as_primitive::<IntervalMonthDayNanoType>();
    let between = |Way { low, high, part }: Way| -> SqlResult<IntervalMonthDayNano> {
        let (low, high) = (values.value(low), values.value(high));
        let distance = by_part(high, low, i32::checked_sub, i64::checked_sub)?;
        by_part(scaled(distance, |whole| whole * part)?, low, i32::checked_add, i64::checked_add)
    };
    let results = ways.into_iter().map(|way| way.map(between).transpose());
    Ok(Arc::new(results.collect::<SqlResult<IntervalMonthDayNanoArray>>()?))
}

fn percentiles_disc(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let asked = Asked::of(operands, &sorted, place)?;
    asked.array(sorted.take(asked.items.clone())?, result)
}

fn percentiles_cont(operands: &Operands<'_>, result: &DataType, is_unsorted: bool) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let mut order = Order::of(operands, &sorted, is_unsorted)?;
    let asked = Asked::of(operands, &sorted, |first, end, fraction| order.way(first, end, fraction))?;
    let item = match result {
        DataType::List(item) => item.data_type(),
        other => other,
    };
    asked.array(between(sorted.values(), asked.items.clone(), item)?, result)
}

/// What arrays of fractions ask for, of the rows one after the other.
struct Asked<T> {
    items: Vec<Option<T>>,
    lengths: Vec<usize>,
    /// Rows whose result is not NULL: those with values, and an array of fractions.
    valid: Vec<bool>,
}

impl<T> Asked<T> {
    fn of(
        operands: &Operands<'_>,
        sorted: &Sorted<'_>,
        mut item: impl FnMut(usize, usize, f64) -> T,
    ) -> SqlResult<Self> {
        let (lists, arrays) = (operands.get(0)?, operands.get(1)?);
        let fractions = Sorted::of(&arrays.array)?;
        let values = fractions.values().as_primitive::<Float64Type>();
        let mut asked = Self { items: Vec::new(), lengths: Vec::new(), valid: Vec::new() };
        for row in 0..operands.rows() {
            let (first, end) = sorted.bounds(lists.place(row));
            let array = arrays.place(row);
            let is_valid = first < end && fractions.lists.is_valid(array);
            let (from, to) = if is_valid { fractions.bounds(array) } else { (0, 0) };
            for at in from..to {
                let fraction = if values.is_null(at) { None } else { Some(checked(values.value(at))?) };
                interrupt::check()?;
                asked.items.push(fraction.map(|fraction| item(first, end, fraction)));
            }
            asked.lengths.push(to - from);
            asked.valid.push(is_valid);
        }
        Ok(asked)
    }

    fn array(&self, items: ArrayRef, result: &DataType) -> SqlResult<ArrayRef> {
        let DataType::List(field) = result else {
            return Err(SqlError::new(ErrorKind::Internal, "percentiles of several fractions are a list"));
        };
        let offsets = OffsetBuffer::from_lengths(self.lengths.iter().copied());
        Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, Some(self.valid.clone().into()))?))
    }
}

/// Lists of sorted values.
struct Sorted<'a> {
    lists: &'a ListArray,
}

impl<'a> Sorted<'a> {
    fn of(array: &'a ArrayRef) -> SqlResult<Self> {
        let lists = array.as_list_opt::<i32>();
        lists.map(|lists| Self { lists }).ok_or_else(|| SqlError::new(ErrorKind::Internal, "sorted values are a list"))
    }

    fn values(&self) -> &ArrayRef {
        self.lists.values()
    }

    /// The first place of a list's values, and the one behind its last; no values for NULL.
    fn bounds(&self, row: usize) -> (usize, usize) {
        let offsets = self.lists.value_offsets();
        let at = |row: usize| usize::try_from(offsets[row]).unwrap_or(0);
        if self.lists.is_null(row) { (0, 0) } else { (at(row), at(row + 1)) }
    }

    fn take(&self, places: Vec<Option<usize>>) -> SqlResult<ArrayRef> {
        let places = places.into_iter().map(|place| place.and_then(|place| u32::try_from(place).ok()));
        Ok(take(self.values(), &places.collect::<UInt32Array>(), None)?)
    }
}

fn fraction(operands: &Operands<'_>, row: usize) -> SqlResult<Option<f64>> {
    let fractions = operands.get(1)?;
    let values = fractions.primitive::<Float64Type>()?;
    let place = fractions.place(row);
    if values.is_null(place) {
        return Ok(None);
    }
    checked(values.value(place)).map(Some)
}

fn checked(fraction: f64) -> SqlResult<f64> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    let message = format!("percentile value {fraction} is not between 0 and 1");
    Err(SqlError::new(ErrorKind::NumericOutOfRange, message))
}

#[expect(clippy::cast_precision_loss, reason = "PostgreSQL computes the place in double precision too")]
fn count(values: usize) -> f64 {
    values as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number between 0 and a count")]
fn index(place: f64) -> usize {
    place as usize
}
