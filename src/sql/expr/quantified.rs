//! `value operator ANY (array)` and `value operator ALL (array)`: a value beside each item of an array.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBuilder, DynComparator, ListArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::utils::normalize_float_zero;
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, in_list, lit,
};
use tablegate_types::error::SqlResult;
use tablegate_types::interrupt;

use super::array_constructor;
use crate::calls::{constant, made, name_of_call};

/// With fewer items of one array all of them are compared with each value; more are sorted first.
const SORTED_FROM: usize = 16;
/// So many comparisons pass between two looks at whether anybody waits for them.
const COMPARISONS: usize = 1 << 14;

/// Whether a comparison holds with any of the items, or with all of them. NULL where that depends on a NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Quantified {
    operator: Operator,
    is_all: bool,
    signature: Signature,
}

impl Quantified {
    /// The condition. The value is of the type of the array's items, which the operator compares.
    pub(super) fn call(operator: Operator, is_all: bool, value: Expr, array: Expr) -> Expr {
        let signature = Signature::any(2, Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { operator, is_all, signature }).call(vec![value, array])
    }

    /// As PostgreSQL's EXPLAIN writes it.
    pub(super) fn printed(&self, value: &str, array: &str) -> String {
        format!("({value} {} {} ({array}))", self.operator, self.name().to_uppercase())
    }

    /// Whether it is IN, or NOT IN: equal to one of the items, or to none.
    fn is_membership(&self) -> bool {
        matches!((self.operator, self.is_all), (Operator::Eq, false) | (Operator::NotEq, true))
    }

    fn holds(&self, order: Ordering) -> bool {
        match self.operator {
            Operator::Eq => order.is_eq(),
            Operator::NotEq => order.is_ne(),
            Operator::Lt => order.is_lt(),
            Operator::LtEq => order.is_le(),
            Operator::Gt => order.is_gt(),
            _ => order.is_ge(),
        }
    }

    fn compared(&self, value: &ColumnarValue, array: &ColumnarValue, rows: usize) -> SqlResult<ArrayRef> {
        let arrays = column(array)?;
        let arrays = arrays.as_list::<i32>();
        let values = normalize_float_zero(&column(value)?);
        let items = normalize_float_zero(arrays.values());
        let order = make_comparator(&values, &items, SortOptions::default())?;
        let beside = Beside { values, items, order };
        let row_of = |given: &ColumnarValue, row: usize| if is_constant(given) { 0 } else { row };
        let one = (is_constant(array) && arrays.is_valid(0)).then(|| range_of(arrays, 0));
        let asked = match one {
            Some(items) if !self.is_membership() => Asked::Deciding(beside.deciding(items)?),
            Some(items) if items.len() >= SORTED_FROM && rows > 1 => Asked::Sorted(beside.sorted(items)?),
            _ => Asked::Own,
        };
        let mut answers = BooleanBuilder::with_capacity(rows);
        let mut comparisons = 0;
        for row in 0..rows {
            let (value, array) = (row_of(value, row), row_of(array, row));
            if arrays.is_null(array) {
                answers.append_null();
                continue;
            }
            let (answer, compared) = match &asked {
                Asked::Deciding(items) => (self.answer(&beside, value, items.iter().copied()), items.len()),
                Asked::Sorted(items) => (self.found(&beside, value, items), items.known.len().max(1).ilog2() as usize),
                Asked::Own => (self.answer(&beside, value, range_of(arrays, array)), range_of(arrays, array).len()),
            };
            answers.append_option(answer);
            comparisons += 1 + compared;
            if comparisons >= COMPARISONS {
                interrupt::check_now()?;
                comparisons = 0;
            }
        }
        Ok(Arc::new(answers.finish()))
    }

    /// Whether one value is among these items, or is not.
    fn found(&self, beside: &Beside, value: usize, items: &SortedItems) -> Option<bool> {
        if beside.values.is_null(value) {
            return None;
        }
        let is_there = items.known.binary_search_by(|item| (beside.order)(value, *item).reverse()).is_ok();
        match is_there {
            true => Some(!self.is_all),
            false => (!items.has_null).then_some(self.is_all),
        }
    }

    /// What the comparisons of one value with these items say together.
    fn answer(&self, beside: &Beside, value: usize, items: impl Iterator<Item = usize>) -> Option<bool> {
        let mut has_null = false;
        for item in items {
            if beside.values.is_null(value) || beside.items.is_null(item) {
                has_null = true;
            } else if self.holds((beside.order)(value, item)) != self.is_all {
                return Some(!self.is_all);
            }
        }
        (!has_null).then_some(self.is_all)
    }
}

/// Which items a value is compared with.
enum Asked {
    /// Those of the array beside it.
    Own,
    /// Of the only array the least and the greatest: they decide how all of them compare.
    Deciding(Vec<usize>),
    /// Those of the only array, where an equal one is looked for.
    Sorted(SortedItems),
}

/// Items in their order.
struct SortedItems {
    known: Vec<usize>,
    has_null: bool,
}

/// Values, items, and how one of the former compares with one of the latter.
struct Beside {
    values: ArrayRef,
    items: ArrayRef,
    order: DynComparator,
}

impl Beside {
    /// These items, of which there are some.
    fn sorted(&self, items: Range<usize>) -> SqlResult<SortedItems> {
        let order = make_comparator(&self.items, &self.items, SortOptions::default())?;
        let (mut known, unknown): (Vec<usize>, Vec<usize>) = items.partition(|item| self.items.is_valid(*item));
        known.sort_unstable_by(|left, right| order(*left, *right));
        Ok(SortedItems { known, has_null: !unknown.is_empty() })
    }

    /// The least and the greatest of these items, and one that is NULL.
    fn deciding(&self, items: Range<usize>) -> SqlResult<Vec<usize>> {
        let order = make_comparator(&self.items, &self.items, SortOptions::default())?;
        let known = || items.clone().filter(|item| self.items.is_valid(*item));
        let least = known().min_by(|left, right| order(*left, *right));
        let greatest = known().max_by(|left, right| order(*left, *right));
        let null = items.clone().find(|item| self.items.is_null(*item));
        Ok(least.into_iter().chain(greatest).chain(null).collect())
    }
}

fn is_constant(given: &ColumnarValue) -> bool {
    matches!(given, ColumnarValue::Scalar(_))
}

/// The values; of a constant, the only one.
fn column(given: &ColumnarValue) -> SqlResult<ArrayRef> {
    match given {
        ColumnarValue::Array(values) => Ok(Arc::clone(values)),
        ColumnarValue::Scalar(value) => Ok(value.to_array()?),
    }
}

/// Where the items of an array are.
fn range_of(arrays: &ListArray, row: usize) -> Range<usize> {
    let offset = |at: usize| arrays.value_offsets()[at].unsigned_abs() as usize;
    offset(row)..offset(row + 1)
}

impl ScalarUDFImpl for Quantified {
    fn name(&self) -> &str {
        if self.is_all { "all" } else { "any" }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_of_call(args, || {
            let names: Vec<String> = args.iter().map(|argument| argument.schema_name().to_string()).collect();
            Ok(format!("{} {} {}", self.operator, self.name(), names.join(", ")))
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    /// `= ANY` and `<> ALL` of an array that is known are IN and NOT IN, out of which key ranges are read.
    fn simplify(&self, args: Vec<Expr>, _info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if matches!(args.get(1), Some(Expr::Literal(array, _)) if array.is_null()) {
            return Ok(ExprSimplifyResult::Simplified(lit(ScalarValue::Boolean(None))));
        }
        let items = args.get(1).filter(|_| self.is_membership()).map(items_of).transpose()?.flatten();
        match (args.first(), items) {
            (Some(value), Some(items)) => {
                Ok(ExprSimplifyResult::Simplified(in_list(value.clone(), items, self.is_all)))
            }
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, array] = args.args.as_slice() else { return exec_err!("{} takes two operands", self.name()) };
        let is_constant = args.args.iter().all(is_constant);
        let rows = if is_constant { 1 } else { args.number_rows };
        let compare = |(): &()| self.compared(value, array, rows);
        made(&args.config_options, &args.args, || Ok(()), compare, |()| Vec::new())
            .and_then(|answers| if is_constant { constant(answers, rows) } else { Ok(ColumnarValue::Array(answers)) })
            .map_err(|error| DataFusionError::External(error))
    }
}

/// The items of an array that is known before the query runs, none of them NULL; `None` of others.
fn items_of(array: &Expr) -> Result<Option<Vec<Expr>>> {
    let (is_known, items) = match array {
        Expr::Literal(ScalarValue::List(array), _) if array.is_valid(0) && array.values().null_count() == 0 => {
            let items = array.value(0);
            let items = (0..items.len()).map(|at| ScalarValue::try_from_array(&items, at).map(lit));
            (true, items.collect::<Result<Vec<_>>>()?)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if array_constructor::is_it(func) => {
            let is_known = |item: &Expr| matches!(item, Expr::Literal(value, _) if !value.is_null());
            (args.iter().all(is_known), args.clone())
        }
        _ => (false, Vec::new()),
    };
    Ok(is_known.then_some(items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array};
    use arrow::datatypes::{Float64Type, Int32Type};

    /// The answers of one condition about values and arrays beside them.
    fn answers(operator: Operator, is_all: bool, values: &ArrayRef, arrays: ColumnarValue) -> Vec<Option<bool>> {
        let condition = Quantified { operator, is_all, signature: Signature::any(2, Volatility::Immutable) };
        let values = ColumnarValue::Array(Arc::clone(values));
        let rows = match &values {
            ColumnarValue::Array(values) => values.len(),
            ColumnarValue::Scalar(_) => 1,
        };
        let answers = condition.compared(&values, &arrays, rows).unwrap();
        answers.as_boolean().iter().collect()
    }

    #[test]
    fn null_counts_where_it_decides() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(3), None, None, Some(1)]));
        let arrays = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
            Some(vec![Some(2), None]),
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1)]),
            Some(vec![]),
            None,
        ]);
        let of = |operator, is_all| answers(operator, is_all, &values, ColumnarValue::Array(Arc::new(arrays.clone())));
        assert_eq!(of(Operator::Eq, false), [Some(true), None, Some(false), None, Some(false), None]);
        assert_eq!(of(Operator::GtEq, true), [None, Some(false), Some(true), None, Some(true), None]);
        assert_eq!(of(Operator::NotEq, true), [Some(false), None, Some(true), None, Some(true), None]);
    }

    #[test]
    fn one_array_is_decided_by_its_least_and_greatest_item() {
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..6));
        let array = [Some(vec![Some(4), Some(2), Some(3), Some(2)])];
        let array = ListArray::from_iter_primitive::<Int32Type, _, _>(array);
        let constant = ScalarValue::List(Arc::new(array.clone()));
        let repeated = ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..6).map(|_| Some(vec![Some(4), Some(2), Some(3), Some(2)])),
        );
        for operator in [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq] {
            for is_all in [false, true] {
                assert_eq!(
                    answers(operator, is_all, &values, ColumnarValue::Scalar(constant.clone())),
                    answers(operator, is_all, &values, ColumnarValue::Array(Arc::new(repeated.clone()))),
                    "{operator} {is_all}"
                );
            }
        }
    }

    #[test]
    fn items_that_are_sorted_give_what_each_of_them_gives() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), Some(4), None, Some(-1), Some(99)]));
        let some = (0..40).rev().filter(|n| n % 3 == 0).map(Some).collect::<Vec<_>>();
        let with_null = some.iter().copied().chain([None]).collect::<Vec<_>>();
        for items in [some, with_null, vec![None; 20]] {
            let one = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(items.clone())]);
            let repeated = ListArray::from_iter_primitive::<Int32Type, _, _>((0..5).map(|_| Some(items.clone())));
            for (operator, is_all) in [(Operator::Eq, false), (Operator::NotEq, true)] {
                let constant = ColumnarValue::Scalar(ScalarValue::List(Arc::new(one.clone())));
                let found = answers(operator, is_all, &values, constant);
                let each = answers(operator, is_all, &values, ColumnarValue::Array(Arc::new(repeated.clone())));
                assert_eq!(found, each, "{operator} {is_all}");
            }
        }
    }

    #[test]
    fn zeros_are_equal_and_nan_is_the_greatest() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, f64::NAN]));
        let array = ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(0.0), Some(f64::NAN)])]);
        let array = ColumnarValue::Scalar(ScalarValue::List(Arc::new(array)));
        assert_eq!(answers(Operator::Eq, false, &values, array.clone()), [Some(true), Some(true)]);
        assert_eq!(answers(Operator::GtEq, true, &values, array), [Some(false), Some(true)]);
    }
}
