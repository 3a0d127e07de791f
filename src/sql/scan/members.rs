//! A set of integers that lie close together, a bit for each: what joins say of the keys of their build side.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int32Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{Column, InListExpr, Literal};

/// Most numbers from the least to the greatest, as bits: 1 MiB of them.
const SPAN_MAX: u64 = 1 << 23;

pub(super) struct Members {
    least: i64,
    /// From the least number on.
    bits: Vec<u64>,
    span: u64,
}

impl Members {
    /// The index of the column that an IN-list is about, and the list; `None` where it is of something else than integers,
    /// or they lie too far apart.
    pub(super) fn of(list: &InListExpr) -> Option<(usize, Self)> {
        let column = list.expr().downcast_ref::<Column>()?;
        if list.negated() {
            return None;
        }
        let number = |scalar: &ScalarValue| match scalar {
            ScalarValue::Int32(number) => number.map(i64::from),
            ScalarValue::Int64(number) => *number,
            _ => None,
        };
        let numbers = list.list().iter().map(|item| number(item.downcast_ref::<Literal>()?.value()));
        let numbers = numbers.collect::<Option<Vec<i64>>>()?;
        Some((column.index(), Self::new(&numbers)?))
    }

    fn new(numbers: &[i64]) -> Option<Self> {
        let (least, greatest) = (*numbers.iter().min()?, *numbers.iter().max()?);
        let span = greatest.abs_diff(least).checked_add(1).filter(|span| *span <= SPAN_MAX)?;
        let mut bits = vec![0_u64; usize::try_from(span.div_ceil(64)).ok()?];
        for number in numbers {
            let place = number.abs_diff(least);
            *bits.get_mut(usize::try_from(place / 64).ok()?)? |= 1 << (place % 64);
        }
        Some(Self { least, bits, span })
    }

    fn contains(&self, number: i64) -> bool {
        // What is less wraps around to more than any span.
        let place = number.wrapping_sub(self.least).cast_unsigned();
        place < self.span && usize::try_from(place / 64).is_ok_and(|word| self.bits[word] >> (place % 64) & 1 == 1)
    }

    /// The rows whose value is one of them, or NULL; `None` where the values are no integers.
    pub(super) fn kept(&self, values: &ArrayRef) -> Option<BooleanArray> {
        match values.data_type() {
            DataType::Int32 => Some(self.kept_of(values.as_primitive::<Int32Type>())),
            DataType::Int64 => Some(self.kept_of(values.as_primitive::<Int64Type>())),
            _ => None,
        }
    }

    fn kept_of<T: ArrowPrimitiveType<Native: Into<i64>>>(&self, values: &PrimitiveArray<T>) -> BooleanArray {
        let numbers = values.values();
        let members = BooleanBuffer::collect_bool(numbers.len(), |row| self.contains(numbers[row].into()));
        let kept = match values.nulls() {
            Some(nulls) => &members | &!nulls.inner(),
            None => members,
        };
        BooleanArray::new(kept, None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, Int64Array, StringArray};

    use super::*;

    fn kept(members: &Members, values: impl Array + 'static) -> Vec<bool> {
        let kept = members.kept(&(Arc::new(values) as ArrayRef)).unwrap();
        kept.iter().map(|kept| kept.unwrap()).collect()
    }

    #[test]
    fn members_and_nulls_are_kept() {
        let members = Members::new(&[-3, 70, 5, 5]).unwrap();
        let values = vec![Some(-4), Some(-3), None, Some(5), Some(6), Some(70), Some(71), Some(i32::MIN)];
        let expected = [false, true, true, true, false, true, false, false];
        assert_eq!(kept(&members, Int32Array::from(values)), expected);
        assert_eq!(kept(&members, Int64Array::from(vec![i64::MIN, i64::MAX, 70])), [false, false, true]);
        assert!(members.kept(&(Arc::new(StringArray::from(vec!["5"])) as ArrayRef)).is_none());
    }

    #[test]
    fn numbers_far_apart_are_no_bits() {
        assert!(Members::new(&[]).is_none());
        assert!(Members::new(&[i64::MIN, i64::MAX]).is_none());
        assert!(Members::new(&[0, i64::try_from(SPAN_MAX).unwrap()]).is_none());
        let widest = Members::new(&[i64::MAX, i64::MAX - i64::try_from(SPAN_MAX).unwrap() + 1]).unwrap();
        assert_eq!(kept(&widest, Int64Array::from(vec![i64::MAX, i64::MIN, i64::MAX - 1])), [true, false, false]);
    }
}
