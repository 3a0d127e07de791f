//! Aggregates and window functions: what each takes, and the type of what it gives.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::core::expr_fn::r#struct;
use datafusion::functions_aggregate as aggregates;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::COUNT_STAR_EXPANSION;
use datafusion::logical_expr::{AggregateUDF, Case, Cast, Expr, ExprSchemable};
use tablegate_types::conversion::{is_text, name};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::frames::{self, BeyondFrame};
use super::listed::values_in;
use super::predicate::{computes, is_number};
use super::{Pass, raised};
use crate::expr::aggregates::{
    Aggregate, Deviation, Extreme, FloatExtreme, ITEMS_OF, NUMBERS_OF, SORTED_OF, SUM_OF, Variance, array_agg,
    bit_xor_of_distinct, of_floats, string_agg, sum_of_bigints, sum_of_reals,
};
use crate::expr::operand::{Operand, relabelled};
use crate::expr::operation;
use crate::expr::sort_key::{Purpose, key, keyed};
use crate::expr::typed::{Shape, ValueType, digits_of};

/// Digits that the sum of many values has more than each of them: enough for ten thousand million.
const SUM_DIGITS: u8 = 10;
const DECIMAL128_PRECISION: u8 = 38;

impl Pass<'_> {
    pub(super) fn aggregate(&self, mut function: AggregateFunction, schema: &DFSchema) -> Result<Expr> {
        let args = std::mem::take(&mut function.params.args);
        if let Some(filter) = function.params.filter.take() {
            function.params.filter = Some(Box::new(self.truth(*filter, "FILTER", schema)?));
        }
        let distinct = function.params.distinct;
        let values: Vec<Expr> = args.iter().flat_map(values_in).cloned().collect();
        let is_sorted_set = matches!(function.func.name(), SORTED_OF | NUMBERS_OF);
        let (func, mut args) = self.aggregate_call(&function.func, args, distinct, schema)?;
        function.func = func;
        let order = self.order_of(&mut function.params, &values, schema)?;
        let filter = function.params.filter.as_deref();
        match function.func.name() {
            "array_agg" | "string_agg" if distinct || !order.is_empty() => {
                (function.func, args) = self.listed(&function.func, args, order, (distinct, is_sorted_set), schema)?;
                function.params.distinct = false;
            }
            "first_value" => function.params.order_by = order,
            // To all others it makes no difference in which order their values come.
            _ => {}
        }
        function.params.args = args.into_iter().map(|arg| self.behind(filter, arg, schema)).collect::<Result<_>>()?;
        for by in &mut function.params.order_by {
            by.expr = self.behind(filter, std::mem::take(&mut by.expr), schema)?;
        }
        function.params.distinct &= !is_extreme(&function.func);
        Ok(Expr::AggregateFunction(function))
    }

    /// What is computed for an aggregate is computed for the rows that FILTER leaves; the engine computes it for every row.
    fn behind(&self, filter: Option<&Expr>, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        let Some(filter) = filter.filter(|_| computes(&expr)) else { return Ok(expr) };
        let operand = self.operand(expr, schema)?;
        let branches = vec![(Box::new(filter.clone()), Box::new(operand.expr))];
        let guarded = Expr::Case(Case::new(None, branches, None));
        Ok(if operand.value_type.is_obvious() { guarded } else { relabelled(guarded, &operand.value_type) })
    }

    /// A window function over its frame; `beyond` is what the engine's frames do not say.
    pub(super) fn window(&self, mut function: WindowFunction, beyond: BeyondFrame, schema: &DFSchema) -> Result<Expr> {
        let args = std::mem::take(&mut function.params.args);
        if let Some(filter) = function.params.filter.take() {
            function.params.filter = Some(Box::new(self.truth(*filter, "FILTER", schema)?));
        }
        self.ordered(&mut function.params.order_by, schema)?;
        for by in &mut function.params.partition_by {
            let operand = self.operand(by.clone(), schema)?;
            self.distinguishable(by, schema)?;
            *by = keyed(operand.expr, &operand.value_type.sql_type, Purpose::Equality);
        }
        let distinct = function.params.distinct;
        match &function.fun {
            WindowFunctionDefinition::AggregateUDF(udaf) => {
                let (func, args) = self.aggregate_call(udaf, args, distinct, schema)?;
                function.fun = WindowFunctionDefinition::AggregateUDF(func);
                let filter = function.params.filter.as_deref();
                function.params.args =
                    args.into_iter().map(|arg| self.behind(filter, arg, schema)).collect::<Result<_>>()?;
            }
            WindowFunctionDefinition::WindowUDF(udwf) => {
                function.params.args = self.window_arguments(udwf.name(), args, schema)?;
            }
        }
        frames::in_groups(&mut function, schema)?;
        beyond.computed_by(&mut function);
        Ok(Expr::WindowFunction(Box::new(function)))
    }

    /// Counts and offsets are bigint to the engine; a default has the type of the value it stands for.
    fn window_arguments(&self, function: &str, args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
        let takes_value = matches!(function, "lag" | "lead" | "first_value" | "last_value" | "nth_value");
        let mut value: Option<Operand> = None;
        let operands = args.into_iter().map(|arg| self.operand(arg, schema)).collect::<Result<Vec<_>>>()?;
        let refused = unfit(function, &operands);
        let mut typed = Vec::with_capacity(operands.len());
        for (index, operand) in operands.into_iter().enumerate() {
            if index == 0 && takes_value {
                if operand.is_unknown() {
                    return Err(raised(undetermined()));
                }
                value = Some(operand.clone());
                // The limits of a time type are not those of the result.
                let field = operand.expr.to_field(schema)?.1;
                let is_limited = matches!(SqlType::declared_in(&field), SqlType::Limited(_));
                typed.push(if is_limited { relabelled(operand.expr, &operand.value_type) } else { operand.expr });
            } else if let (2, Some(value)) = (index, &value) {
                let default = operand.converted_to(&value.value_type, self.parameters());
                typed.push(default.map_err(|error| match error.kind {
                    ErrorKind::DatatypeMismatch => raised(refused.clone()),
                    _ => raised(error),
                })?);
            } else {
                typed.push(match operand.coerced(&SqlType::Int8, self.parameters()).map_err(raised)? {
                    Expr::Literal(value, _) => Expr::Literal(value, None),
                    other => other,
                });
            }
        }
        Ok(typed)
    }

    /// The engine's function for an aggregate, and its arguments as it takes them.
    fn aggregate_call(
        &self,
        udaf: &Arc<AggregateUDF>,
        args: Vec<Expr>,
        distinct: bool,
        schema: &DFSchema,
    ) -> Result<(Arc<AggregateUDF>, Vec<Expr>)> {
        let mut operands = Vec::with_capacity(args.len());
        for argument in args {
            operands.push(self.operand(argument, schema)?);
        }
        let Some(aggregate) = udaf.inner().downcast_ref::<Aggregate>() else {
            return Ok((udaf.clone(), other_arguments(udaf.name(), operands, distinct)));
        };
        self.known_aggregate(aggregate.name(), operands, distinct).map_err(raised)
    }

    fn known_aggregate(
        &self,
        function: &'static str,
        mut operands: Vec<Operand>,
        distinct: bool,
    ) -> SqlResult<(Arc<AggregateUDF>, Vec<Expr>)> {
        let refused = unfit(if function == SUM_OF { "avg" } else { function }, &operands);
        let parameters = self.parameters();
        let all = |operands: Vec<Operand>, to: &SqlType| -> SqlResult<Vec<Expr>> {
            operands.into_iter().map(|operand| operand.coerced(to, parameters)).collect()
        };
        let numbers = operands.iter().all(|operand| is_number(operand.sql_type()) || operand.is_unknown());
        match function {
            "sum" | SUM_OF => {
                let (Some(operand), true) = (operands.pop(), operands.is_empty()) else { return Err(refused) };
                let of_floats = match operand.sql_type() {
                    SqlType::Float4 if function == "sum" => sum_of_reals(),
                    SqlType::Float4 | SqlType::Float8 => of_floats(function),
                    // PostgreSQL adds up times as intervals.
                    SqlType::Time => {
                        return Ok((
                            aggregates::sum::sum_udaf(),
                            vec![operand.coerced(&SqlType::Interval, parameters)?],
                        ));
                    }
                    _ => None,
                };
                if let Some(udaf) = of_floats {
                    return Ok((udaf, vec![operand.coerced(&SqlType::Float8, parameters)?]));
                }
                if *operand.sql_type() == SqlType::Int8 && !distinct {
                    return Ok((sum_of_bigints(), vec![operand.expr]));
                }
                if distinct && *operand.sql_type() == SqlType::Interval {
                    let called = if function == SUM_OF { "avg" } else { function };
                    return Err(SqlError::not_supported(format!("{called}(DISTINCT {})", name(operand.sql_type())))
                        .with_hint("Aggregate over a sub-query with SELECT DISTINCT."));
                }
                Ok((aggregates::sum::sum_udaf(), vec![summand(operand).ok_or(refused)?]))
            }
            "min" | "max" => {
                let (Some(operand), true) = (operands.pop(), operands.is_empty()) else { return Err(refused) };
                let is_unordered = matches!(
                    operand.sql_type(),
                    SqlType::Bool
                        | SqlType::Uuid
                        | SqlType::Json
                        | SqlType::Jsonb
                        | SqlType::Bytea
                        | SqlType::Record(_)
                );
                if is_unordered {
                    return Err(refused);
                }
                if let Some(key) = key(&operand.expr, operand.sql_type(), Purpose::Order) {
                    let extreme = AggregateUDF::new_from_impl(Extreme::new(function == "max"));
                    return Ok((Arc::new(extreme), vec![operand.expr, key]));
                }
                if matches!(operand.sql_type(), SqlType::Float4 | SqlType::Float8) {
                    let extreme = AggregateUDF::new_from_impl(FloatExtreme::new(function == "max"));
                    return Ok((Arc::new(extreme), vec![operand.expr]));
                }
                let operand =
                    if operand.is_unknown() { operand.coerced(&SqlType::Text, parameters)? } else { operand.expr };
                let udaf = match function {
                    "min" => aggregates::min_max::min_udaf(),
                    _ => aggregates::min_max::max_udaf(),
                };
                Ok((udaf, vec![operand]))
            }
            "bool_and" | "every" | "bool_or" => {
                let is_truth = |operand: &Operand| matches!(operand.sql_type(), SqlType::Bool | SqlType::Unknown);
                if operands.len() != 1 || !operands.iter().all(is_truth) {
                    return Err(refused);
                }
                let udaf = match function {
                    "bool_or" => aggregates::bool_and_or::bool_or_udaf(),
                    _ => aggregates::bool_and_or::bool_and_udaf(),
                };
                Ok((udaf, all(operands, &SqlType::Bool)?))
            }
            "bit_and" | "bit_or" | "bit_xor" => {
                let is_integer =
                    |operand: &Operand| matches!(operand.sql_type(), SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
                if operands.len() != 1 || !operands.iter().all(is_integer) {
                    return Err(refused);
                }
                let udaf = match function {
                    "bit_and" => aggregates::bit_and_or_xor::bit_and_udaf(),
                    "bit_or" => aggregates::bit_and_or_xor::bit_or_udaf(),
                    _ if distinct => bit_xor_of_distinct(),
                    _ => aggregates::bit_and_or_xor::bit_xor_udaf(),
                };
                Ok((udaf, operands.into_iter().map(|operand| operand.expr).collect()))
            }
            "string_agg" => {
                if operands.len() != 2 || !operands.iter().all(|operand| is_text(operand.sql_type())) {
                    return Err(refused);
                }
                Ok((string_agg(), all(operands, &SqlType::Text)?))
            }
            "stddev" | "stddev_samp" | "stddev_pop" | "variance" | "var_samp" | "var_pop" => {
                let (Some(operand), true, true) = (operands.pop(), operands.is_empty(), numbers) else {
                    return Err(refused);
                };
                let Some(shape) = operand.shape() else {
                    let udaf = of_floats(function).ok_or(refused)?;
                    return Ok((udaf, vec![operand.coerced(&SqlType::Float8, parameters)?]));
                };
                let udaf = AggregateUDF::new_from_impl(Variance::new(function, deviation(function), shape));
                Ok((Arc::new(udaf), vec![operand.expr]))
            }
            "array_agg" | ITEMS_OF | SORTED_OF | NUMBERS_OF => {
                let (Some(operand), true) = (operands.pop(), operands.is_empty()) else { return Err(refused) };
                if function == NUMBERS_OF && (operand.is_unknown() || is_number(operand.sql_type())) {
                    return Ok((
                        array_agg(&ValueType::of(SqlType::Float8)),
                        vec![operand.coerced(&SqlType::Float8, parameters)?],
                    ));
                }
                if operand.is_unknown() {
                    return match function {
                        ITEMS_OF => {
                            let text = operand.coerced(&SqlType::Text, parameters)?;
                            Ok((array_agg(&ValueType::of(SqlType::Text)), vec![text]))
                        }
                        SORTED_OF => Err(undetermined()),
                        _ => Err(refused),
                    };
                }
                Ok((array_agg(&operand.value_type), vec![operand.expr]))
            }
            "regr_count" => {
                if operands.len() != 2 || !numbers {
                    return Err(refused);
                }
                let operands = all(operands, &SqlType::Float8)?;
                if !distinct {
                    return Ok((aggregates::regr::regr_count_udaf(), operands));
                }
                // The engine counts every pair.
                let are_there = operands.iter().map(|operand| operand.clone().is_not_null()).reduce(Expr::and);
                let pair = are_there.map(|are_there| (Box::new(are_there), Box::new(r#struct(operands))));
                let pair = Expr::Case(Case::new(None, pair.into_iter().collect(), None));
                Ok((aggregates::count::count_udaf(), vec![pair]))
            }
            _ => {
                let Some(udaf) = of_floats(function) else { return Err(refused) };
                if operands.len() != 2 || !numbers {
                    return Err(refused);
                }
                Ok((udaf, all(operands, &SqlType::Float8)?))
            }
        }
    }

    /// The average is the sum divided by the count.
    pub(super) fn average(&self, sum: Operand, count: Operand) -> Result<Expr> {
        let count = match sum.sql_type() {
            // A sum of integers is an integer, their average is not.
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
                let shape = Shape::of(&sum.value_type).unwrap_or_else(Shape::bare).value_type();
                let sum = Expr::Cast(Cast::new(Box::new(sum.expr), shape.data_type.clone()));
                return operation::binary("/", Operand { expr: sum, value_type: shape }, count, self.parameters())
                    .map_err(raised);
            }
            // Of floats the average is what was asked for.
            SqlType::Float8 => return Ok(sum.expr),
            _ => count,
        };
        operation::binary("/", sum, count, self.parameters()).map_err(raised)
    }
}

/// One of ours, to which it is all the same how often a value is there.
fn is_extreme(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<Extreme>().is_some()
}

/// Arguments of aggregates that are not here: `count(*)` counts the constant that the optimizer knows it by, and
/// `count(DISTINCT x)` the keys of what is distinct.
fn other_arguments(function: &str, operands: Vec<Operand>, distinct: bool) -> Vec<Expr> {
    let argument = |operand: Operand| match (&operand.expr, function) {
        (_, "count") if distinct => keyed(operand.expr, &operand.value_type.sql_type, Purpose::Equality),
        (Expr::Literal(value, None), "count") if *value == ScalarValue::Int32(Some(1)) => {
            Expr::Literal(COUNT_STAR_EXPANSION, None)
        }
        (Expr::Literal(ScalarValue::Utf8(Some(text)), None), _) => {
            Expr::Literal(ScalarValue::from(text.as_str()), None)
        }
        _ => operand.expr,
    };
    operands.into_iter().map(argument).collect()
}

/// The argument of `sum` as the engine adds it: wide enough for the sum of very many. `None` for what cannot be added.
fn summand(operand: Operand) -> Option<Expr> {
    let as_decimal = |operand: Operand, data_type| Some(Expr::Cast(Cast::new(Box::new(operand.expr), data_type)));
    match operand.sql_type() {
        SqlType::Int2 | SqlType::Int4 => as_decimal(operand, DataType::Int64),
        SqlType::Int8 => as_decimal(operand, DataType::Decimal128(19, 0)),
        SqlType::Numeric(_) => {
            let (precision, scale) = digits_of(&operand.value_type.data_type)?;
            let is_long = matches!(operand.value_type.data_type, DataType::Decimal256(..));
            if is_long || precision + SUM_DIGITS <= DECIMAL128_PRECISION {
                return Some(operand.expr);
            }
            as_decimal(operand, DataType::Decimal256(precision, scale))
        }
        SqlType::Interval => Some(operand.expr),
        _ => None,
    }
}

/// What of the values' deviation a function gives.
fn deviation(function: &str) -> Deviation {
    Deviation { root: function.starts_with("stddev"), population: function.ends_with("_pop") }
}

/// A polymorphic function of a literal without a type (42804).
fn undetermined() -> Box<SqlError> {
    let message = "could not determine polymorphic type because input has type unknown";
    SqlError::new(ErrorKind::DatatypeMismatch, message)
}

/// No aggregate of this name takes such arguments (42883), or several do (42725).
fn unfit(function: &str, operands: &[Operand]) -> Box<SqlError> {
    let types: Vec<String> = operands.iter().map(|operand| name(operand.sql_type())).collect();
    if !operands.is_empty() && operands.iter().all(Operand::is_unknown) {
        let message = format!("function {function}({}) is not unique", types.join(", "));
        return SqlError::new(ErrorKind::AmbiguousFunction, message)
            .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    let message = format!("function {function}({}) does not exist", types.join(", "));
    SqlError::new(ErrorKind::UndefinedFunction, message)
        .with_hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
