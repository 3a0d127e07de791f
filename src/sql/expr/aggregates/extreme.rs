//! `min` and `max` of values that are compared by their keys.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

/// The value with the least or greatest key, the last of those that are equal. It is called with values and their keys.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Extreme {
    is_greatest: bool,
    signature: Signature,
}

impl Extreme {
    pub(crate) fn new(is_greatest: bool) -> Self {
        Self { is_greatest, signature: Signature::any(2, Volatility::Immutable) }
    }

    /// Which of two keys is wanted comes first.
    fn wanted(&self) -> Ordering {
        if self.is_greatest { Ordering::Greater } else { Ordering::Less }
    }

    /// NULLs of the types of a value and a key.
    fn nothing(fields: &[FieldRef]) -> Result<(ScalarValue, ScalarValue)> {
        match fields {
            [value, key] => Ok((value.data_type().try_into()?, key.data_type().try_into()?)),
            _ => internal_err!("a value is given without its key"),
        }
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        if self.is_greatest { "max" } else { "min" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        match arg_fields.first() {
            Some(value) => Ok(Arc::new(value.as_ref().clone().with_name(self.name()).with_nullable(true))),
            None => internal_err!("{} of nothing", self.name()),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let named = |(field, part): (&FieldRef, &str)| {
            Arc::new(field.as_ref().clone().with_name(format_state_name(args.name, part)).with_nullable(true))
        };
        Ok(args.input_fields.iter().zip(["value", "key"]).map(named).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (value, key) = Self::nothing(args.expr_fields)?;
        Ok(Box::new(Best { wanted: self.wanted(), value, key }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (nothing, _) = Self::nothing(args.expr_fields)?;
        Ok(Box::new(BestOfFrame { wanted: self.wanted(), nothing, candidates: VecDeque::new(), added: 0, left: 0 }))
    }
}

/// The best value so far, and its key.
#[derive(Debug)]
struct Best {
    wanted: Ordering,
    value: ScalarValue,
    key: ScalarValue,
}

impl Accumulator for Best {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (values, keys) = pair(values)?;
        let order = make_comparator(keys, keys, SortOptions::default())?;
        let best = (0..keys.len())
            .filter(|row| keys.is_valid(*row))
            .reduce(|best, row| if order(best, row) == self.wanted { best } else { row });
        if let Some(row) = best {
            let key = ScalarValue::try_from_array(keys, row)?;
            if self.key.is_null() || self.key.partial_cmp(&key) != Some(self.wanted) {
                self.key = key;
                // A part of a batch would keep all of it.
                self.value = ScalarValue::try_from_array(values, row)?.compacted();
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), self.key.clone()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size() + self.key.size()
    }
}

/// Of the rows in a frame those that are the best one until they leave it, or will be when those before them have left.
#[derive(Debug)]
struct BestOfFrame {
    wanted: Ordering,
    nothing: ScalarValue,
    candidates: VecDeque<Candidate>,
    /// Rows that came into the frame so far, and that left it.
    added: usize,
    left: usize,
}

#[derive(Debug)]
struct Candidate {
    row: usize,
    value: ScalarValue,
    key: ScalarValue,
}

impl Accumulator for BestOfFrame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (values, keys) = pair(values)?;
        for row in 0..keys.len() {
            if keys.is_valid(row) {
                let key = ScalarValue::try_from_array(keys, row)?;
                while self.candidates.back().is_some_and(|last| last.key.partial_cmp(&key) != Some(self.wanted)) {
                    self.candidates.pop_back();
                }
                let value = ScalarValue::try_from_array(values, row)?;
                self.candidates.push_back(Candidate { row: self.added, value, key });
            }
            self.added += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.left += pair(values)?.1.len();
        while self.candidates.front().is_some_and(|first| first.row < self.left) {
            self.candidates.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("the values of a frame are not merged")
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the values of a frame are not merged")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.candidates.front().map_or_else(|| self.nothing.clone(), |best| best.value.clone()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.candidates.iter().map(|best| best.value.size() + best.key.size()).sum::<usize>()
    }
}

fn pair(arguments: &[ArrayRef]) -> Result<(&ArrayRef, &ArrayRef)> {
    match arguments {
        [values, keys] => Ok((values, keys)),
        _ => internal_err!("a value is given without its key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, StringArray};

    fn batch(rows: &[(&str, Option<i32>)]) -> Vec<ArrayRef> {
        let values: StringArray = rows.iter().map(|(value, _)| Some(*value)).collect();
        let keys: Int32Array = rows.iter().map(|(_, key)| *key).collect();
        vec![Arc::new(values), Arc::new(keys)]
    }

    #[test]
    fn the_last_of_the_greatest_is_kept() {
        let nothing = (ScalarValue::Utf8(None), ScalarValue::Int32(None));
        let mut best = Best { wanted: Ordering::Greater, value: nothing.0, key: nothing.1 };
        best.update_batch(&batch(&[("null", None), ("a", Some(1))])).unwrap();
        assert_eq!(best.evaluate().unwrap(), ScalarValue::from("a"));
        best.update_batch(&batch(&[("b", Some(2)), ("also b", Some(2)), ("a", Some(1))])).unwrap();
        best.update_batch(&batch(&[("late b", Some(2))])).unwrap();
        assert_eq!(best.evaluate().unwrap(), ScalarValue::from("late b"));
        best.update_batch(&batch(&[("a", Some(1))])).unwrap();
        assert_eq!(best.evaluate().unwrap(), ScalarValue::from("late b"));
    }

    #[test]
    fn a_frame_forgets_what_has_left_it() {
        let nothing = ScalarValue::Utf8(None);
        let candidates = VecDeque::new();
        let mut best = BestOfFrame { wanted: Ordering::Less, nothing: nothing.clone(), candidates, added: 0, left: 0 };
        let rows = [("a", Some(1)), ("null", None), ("c", Some(3)), ("b", Some(2))];
        best.update_batch(&batch(&rows)).unwrap();
        assert_eq!(best.evaluate().unwrap(), ScalarValue::from("a"));
        best.retract_batch(&batch(&rows[..1])).unwrap();
        assert_eq!(best.evaluate().unwrap(), ScalarValue::from("b"));
        best.retract_batch(&batch(&rows[1..])).unwrap();
        assert_eq!(best.evaluate().unwrap(), nothing);
    }
}
