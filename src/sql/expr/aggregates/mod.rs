//! Aggregates, before and after it is known what they aggregate.
//!
//! An aggregate is found by its name as an [`Aggregate`], which takes anything; what it means for the types of its arguments, the
//! engine's function or one of ours, takes its place.

mod bigints;
mod extreme;
mod float_extreme;
mod floats;
mod listed;
mod lists;
mod shown;
mod variance;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::functions_aggregate::bit_and_or_xor::bit_xor_udaf;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::functions_aggregate::min_max::max_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, TypeSignature, Volatility,
};

pub(super) use self::bigints::sum_of_bigints;
pub(super) use self::extreme::Extreme;
pub(super) use self::float_extreme::FloatExtreme;
pub(super) use self::floats::{of_floats, sum_of_reals};
pub(crate) use self::listed::comparable;
pub(super) use self::listed::{Gives, Listed};
pub(crate) use self::lists::rectangular;
pub(super) use self::lists::{array_agg, string_agg};
pub(super) use self::shown::Shown;
pub(super) use self::variance::{Deviation, Variance};

/// Aggregates whose meaning waits for their arguments' types.
const WAITING: &[&str] = &[
    "array_agg",
    ITEMS_OF,
    SORTED_OF,
    NUMBERS_OF,
    "sum",
    SUM_OF,
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "bit_and",
    "bit_or",
    "bit_xor",
    "string_agg",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "variance",
    "var_samp",
    "var_pop",
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
];

/// Aggregates of the engine that PostgreSQL does not have.
const FOREIGN: &[&str] = &[
    "any_value",
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "avg",
    "covar",
    "first_value",
    "last_value",
    "mean",
    "median",
    "nth_value",
    "percentile_cont_with_weight",
    "quantile_cont",
    "stddev_population",
    "var",
    "var_population",
    "var_sample",
];

/// The sum that an average takes. A statement can give no function such a name.
pub(super) const SUM_OF: &str = "sum of";
/// The array of what a sub-query gives: a column without a type is text there.
pub(crate) const ITEMS_OF: &str = "items of";
/// The array that an aggregate WITHIN GROUP chooses from. A statement can give no function such a name.
pub(super) const SORTED_OF: &str = "sorted values of";
/// The same of what is computed between the values: numbers are double precision then.
pub(super) const NUMBERS_OF: &str = "sorted numbers of";
/// The only one of at most one value. A statement can give no function such a name.
pub(crate) const ONLY_OF: &str = "only value of";
/// The first value in the order asked for.
pub(crate) const FIRST_OF: &str = "first value of";

/// The aggregate that a name means while a statement is planned; `engine` is what the engine has under it.
pub(crate) fn find(name: &str, engine: Option<Arc<AggregateUDF>>) -> Option<Arc<AggregateUDF>> {
    if let Some(known) = WAITING.iter().find(|waiting| **waiting == name) {
        return Some(Arc::new(AggregateUDF::new_from_impl(Aggregate::new(known))));
    }
    match name {
        // The greatest of one value is that value, whatever its type.
        ONLY_OF => Some(Arc::new(AggregateUDF::new_from_impl(Only { engine: max_udaf().as_ref().clone() }))),
        FIRST_OF => Some(first_value_udaf()),
        _ => engine.filter(|_| !FOREIGN.contains(&name)),
    }
}

/// The engine's greatest of at most one value, with the type of that value said.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Only {
    engine: AggregateUDF,
}

impl AggregateUDFImpl for Only {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn signature(&self) -> &Signature {
        self.engine.signature()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.engine.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        match arg_fields.first() {
            Some(value) => Ok(Arc::new(value.as_ref().clone().with_name(self.name()).with_nullable(true))),
            None => internal_err!("the only value of nothing"),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.engine.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.engine.create_groups_accumulator(args)
    }
}

/// The engine's exclusive or of distinct values. By groups it would take all of them, so they are taken one group at a time.
pub(super) fn bit_xor_of_distinct() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(BitXorOfDistinct { engine: bit_xor_udaf().as_ref().clone() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BitXorOfDistinct {
    engine: AggregateUDF,
}

impl AggregateUDFImpl for BitXorOfDistinct {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn signature(&self) -> &Signature {
        self.engine.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.engine.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }
}

/// Whether a list has an order of its own, whatever order its rows come in.
pub(crate) fn sorts_itself(function: &AggregateUDF) -> bool {
    listed_of(function).is_some()
}

/// The list that has an order of its own, if it is one.
pub(crate) fn listed_of(function: &AggregateUDF) -> Option<&Listed> {
    function.inner().downcast_ref::<Listed>()
}

/// An aggregate of arguments whose types are not final.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Aggregate {
    name: &'static str,
    signature: Signature,
}

impl Aggregate {
    fn new(name: &'static str) -> Self {
        let anything = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        Self { name, signature: Signature::new(anything, Volatility::Immutable) }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// What it is likely to be.
    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let argument = arg_types.first().cloned().unwrap_or(DataType::Null);
        Ok(match self.name {
            "sum" | SUM_OF => match argument {
                DataType::Int16 | DataType::Int32 | DataType::Int64 => DataType::Int64,
                DataType::Float32 => DataType::Float64,
                other => other,
            },
            "array_agg" | ITEMS_OF | SORTED_OF | NUMBERS_OF => {
                DataType::List(Arc::new(Field::new_list_field(argument, true)))
            }
            "bool_and" | "bool_or" | "every" => DataType::Boolean,
            "string_agg" => DataType::Utf8,
            "min" | "max" | "bit_and" | "bit_or" | "bit_xor" => argument,
            "regr_count" => DataType::Int64,
            _ => DataType::Float64,
        })
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<DataType> = arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, true)))
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        internal_err!("{} was not given the types of its arguments", self.name)
    }

    fn state_fields(&self, _args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        internal_err!("{} was not given the types of its arguments", self.name)
    }
}
