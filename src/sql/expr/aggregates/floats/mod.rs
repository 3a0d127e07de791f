//! Aggregates of double precision values, with PostgreSQL's arithmetic: sums, averages, deviations and regressions.
//!
//! What is kept of the rows is in [`sums`], how they are gone through in [`accumulators`].

mod accumulators;
mod sums;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};

use self::accumulators::{Distinct, Finish, Frame, Group, Groups, Output, distinct_state};
use self::sums::{Average, Moments, RealTotal, Regression, Sums, Total};
use super::SUM_OF;

/// What an aggregate keeps of the rows, and what it makes of that.
enum Kind {
    Sum(Finish<Total>),
    RealSum(Finish<RealTotal>),
    Average(Finish<Average>),
    OfOne(Finish<Moments>),
    OfTwo(Finish<Regression>),
}

/// Every aggregate here. [`SUM_OF`] gives the average at once.
const KINDS: &[(&str, Kind)] = &[
    ("sum", Kind::Sum(|s| (s.count > 0.0).then_some(s.sum))),
    (REAL_SUM, Kind::RealSum(|s| (s.0.count > 0.0).then_some(s.0.sum))),
    (SUM_OF, Kind::Average(Average::average)),
    ("var_pop", Kind::OfOne(variance_pop)),
    ("var_samp", Kind::OfOne(variance)),
    ("variance", Kind::OfOne(variance)),
    ("stddev_pop", Kind::OfOne(|s| variance_pop(s).map(f64::sqrt))),
    ("stddev_samp", Kind::OfOne(|s| variance(s).map(f64::sqrt))),
    ("stddev", Kind::OfOne(|s| variance(s).map(f64::sqrt))),
    ("regr_avgx", Kind::OfTwo(|s| some(s).map(|s| s.sum_x / s.count))),
    ("regr_avgy", Kind::OfTwo(|s| some(s).map(|s| s.sum_y / s.count))),
    ("regr_sxx", Kind::OfTwo(|s| some(s).map(|s| s.squares_x))),
    ("regr_syy", Kind::OfTwo(|s| some(s).map(|s| s.squares_y))),
    ("regr_sxy", Kind::OfTwo(|s| some(s).map(|s| s.products))),
    ("covar_pop", Kind::OfTwo(|s| some(s).map(|s| s.products / s.count))),
    ("covar_samp", Kind::OfTwo(|s| (s.count > 1.0).then(|| s.products / (s.count - 1.0)))),
    ("corr", Kind::OfTwo(correlation)),
    ("regr_r2", Kind::OfTwo(determination)),
    ("regr_slope", Kind::OfTwo(|s| sloped(s).map(|s| s.products / s.squares_x))),
    ("regr_intercept", Kind::OfTwo(|s| sloped(s).map(|s| (s.sum_y - s.sum_x * s.products / s.squares_x) / s.count))),
];

/// The sum of `real` values, which is one of them.
const REAL_SUM: &str = "sum of reals";

fn variance_pop(sums: &Moments) -> Option<f64> {
    (sums.count > 0.0).then(|| sums.squares / sums.count)
}

fn variance(sums: &Moments) -> Option<f64> {
    (sums.count > 1.0).then(|| sums.squares / (sums.count - 1.0))
}

fn some(sums: &Regression) -> Option<&Regression> {
    (sums.count > 0.0).then_some(sums)
}

/// Through values of one X goes no line that has a slope.
fn sloped(sums: &Regression) -> Option<&Regression> {
    some(sums).filter(|sums| sums.squares_x != 0.0)
}

fn correlation(sums: &Regression) -> Option<f64> {
    let sums = sloped(sums).filter(|sums| sums.squares_y != 0.0)?;
    Some(sums.products / (sums.squares_x * sums.squares_y).sqrt())
}

fn determination(sums: &Regression) -> Option<f64> {
    let sums = sloped(sums)?;
    // A horizontal line goes through all of them.
    if sums.squares_y == 0.0 {
        return Some(1.0);
    }
    Some(sums.products * sums.products / (sums.squares_x * sums.squares_y))
}

/// The aggregate of this name for double precision arguments; `None` when there is none.
pub(in crate::expr) fn of_floats(name: &str) -> Option<Arc<AggregateUDF>> {
    let (name, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    let signature = Signature::exact(vec![DataType::Float64; kind.arguments()], Volatility::Immutable);
    Some(Arc::new(AggregateUDF::new_from_impl(OfFloats { name, kind, signature })))
}

/// The sum of `real` values, which are given in double precision.
pub(in crate::expr) fn sum_of_reals() -> Option<Arc<AggregateUDF>> {
    of_floats(REAL_SUM)
}

/// A way to go through the rows.
#[derive(Clone, Copy)]
enum Way {
    Group,
    Frame,
    Distinct,
}

impl Kind {
    fn arguments(&self) -> usize {
        if matches!(self, Kind::OfTwo(_)) { Regression::ARGUMENTS } else { 1 }
    }

    fn width(&self) -> usize {
        match self {
            Kind::Sum(_) | Kind::RealSum(_) => Total::WIDTH,
            Kind::Average(_) => Average::WIDTH,
            Kind::OfOne(_) => Moments::WIDTH,
            Kind::OfTwo(_) => Regression::WIDTH,
        }
    }

    fn result(&self) -> DataType {
        if matches!(self, Kind::RealSum(_)) { DataType::Float32 } else { DataType::Float64 }
    }

    fn accumulator(&self, way: Way) -> Box<dyn Accumulator> {
        match self {
            Kind::Sum(finish) => accumulator(*finish, false, way),
            Kind::RealSum(finish) => accumulator(*finish, true, way),
            Kind::Average(finish) => accumulator(*finish, false, way),
            Kind::OfOne(finish) => accumulator(*finish, false, way),
            Kind::OfTwo(finish) => accumulator(*finish, false, way),
        }
    }
}

fn accumulator<S: Sums>(finish: Finish<S>, real: bool, way: Way) -> Box<dyn Accumulator> {
    let output = Output { finish, real };
    match way {
        Way::Group => Box::new(Group::new(output)),
        Way::Frame => Box::new(Frame::new(output)),
        Way::Distinct => Box::new(Distinct::new(output)),
    }
}

/// One aggregate.
struct OfFloats {
    name: &'static str,
    kind: &'static Kind,
    signature: Signature,
}

impl fmt::Debug for OfFloats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfFloats").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for OfFloats {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OfFloats {}

impl Hash for OfFloats {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl AggregateUDFImpl for OfFloats {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.kind.result())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.kind.accumulator(if args.is_distinct { Way::Distinct } else { Way::Group }))
    }

    fn create_sliding_accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.kind.accumulator(Way::Frame))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match self.kind {
            Kind::Sum(finish) => Box::new(Groups::new(Output { finish: *finish, real: false })),
            Kind::RealSum(finish) => Box::new(Groups::new(Output { finish: *finish, real: true })),
            Kind::Average(finish) => Box::new(Groups::new(Output { finish: *finish, real: false })),
            Kind::OfOne(finish) => Box::new(Groups::new(Output { finish: *finish, real: false })),
            Kind::OfTwo(finish) => Box::new(Groups::new(Output { finish: *finish, real: false })),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |state: String, data_type| Arc::new(Field::new(format!("{}[{state}]", args.name), data_type, true));
        if args.is_distinct {
            return Ok(vec![field("distinct".to_owned(), distinct_state())]);
        }
        Ok((0..self.kind.width()).map(|part| field(part.to_string(), DataType::Float64)).collect())
    }
}
