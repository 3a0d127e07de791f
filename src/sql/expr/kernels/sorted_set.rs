//! What is chosen among sorted values: the most frequent one, or the one at a fraction of the way.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, IntervalMonthDayNanoArray, ListArray, UInt32Array, make_comparator,
};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::{DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};

use super::interval::{by_part, scaled};
use super::sort_key::comparable;
use super::{Kernel, Operands};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::types::SqlType;

/// The first of the most frequent values.
pub static MODE: Kernel = Kernel { name: "mode", evaluate: |operands, _| mode(operands) };
/// The first value at or behind a fraction of them.
pub static PERCENTILE_DISC: Kernel =
    Kernel { name: "percentile_disc", evaluate: |operands, _| percentile_disc(operands) };
/// The value at a fraction of the way, between two of them if need be.
pub static PERCENTILE_CONT: Kernel =
    Kernel { name: "percentile_cont", evaluate: |operands, t| percentile_cont(operands, t) };

fn mode(operands: &Operands<'_>) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let keys = match operands.type_of(0) {
        SqlType::Array(item) => comparable(sorted.values(), &item)?,
        _ => sorted.values().clone(),
    };
    let order = make_comparator(&keys, &keys, SortOptions::default())?;
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
        let place = fraction(operands, row)?.filter(|_| first < end).map(|fraction| {
            let behind = (fraction * count(end - first)).ceil();
            first + index(behind).saturating_sub(1)
        });
        places.push(place);
    }
    sorted.take(places)
}

fn percentile_cont(operands: &Operands<'_>, result: &DataType) -> SqlResult<ArrayRef> {
    let lists = operands.get(0)?;
    let sorted = Sorted::of(&lists.array)?;
    let mut ways = Vec::with_capacity(operands.rows());
    for row in 0..operands.rows() {
        let (first, end) = sorted.bounds(lists.place(row));
        let way = fraction(operands, row)?.filter(|_| first < end);
        ways.push(way.map(|fraction| {
            let way = fraction * count(end - first - 1);
            (first + index(way.floor()), first + index(way.ceil()), way - way.floor())
        }));
    }
    let values = sorted.values();
    if *result == DataType::Float64 {
        let values = values.as_primitive::<Float64Type>();
        let between = |(low, high, part): (usize, usize, f64)| {
            let (low, high) = (values.value(low), values.value(high));
            low + part * (high - low)
        };
        let results = ways.into_iter().map(|way| way.map(between));
        return Ok(Arc::new(results.collect::<Float64Array>()));
    }
    let values = values.as_primitive::<IntervalMonthDayNanoType>();
    let between = |(low, high, part): (usize, usize, f64)| -> SqlResult<IntervalMonthDayNano> {
        let (low, high) = (values.value(low), values.value(high));
        let distance = by_part(high, low, i32::checked_sub, i64::checked_sub)?;
        by_part(scaled(distance, |whole| whole * part)?, low, i32::checked_add, i64::checked_add)
    };
    let results = ways.into_iter().map(|way| way.map(between).transpose());
    Ok(Arc::new(results.collect::<SqlResult<IntervalMonthDayNanoArray>>()?))
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
    let fraction = values.value(place);
    if !(0.0..=1.0).contains(&fraction) {
        let message = format!("percentile value {fraction} is not between 0 and 1");
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, message));
    }
    Ok(Some(fraction))
}

#[expect(clippy::cast_precision_loss, reason = "PostgreSQL computes the place in double precision too")]
fn count(values: usize) -> f64 {
    values as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number between 0 and a count")]
fn index(place: f64) -> usize {
    place as usize
}
