//! Aggregates and window functions: what each takes, and the type of what it gives.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions_aggregate as aggregates;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::COUNT_STAR_EXPANSION;
use datafusion::logical_expr::{AggregateUDF, Case, Cast, Expr};

use super::predicate::{is_number, may_fail};
use super::{Pass, raised};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::expr::aggregates::{Aggregate, ArrayAgg, Deviation, RealSum, SUM_OF, Variance};
use crate::sql::expr::comparison;
use crate::sql::expr::conversion::{is_text, name, without_parameters};
use crate::sql::expr::operand::Operand;
use crate::sql::expr::operation;
use crate::sql::expr::typed::{Shape, ValueType, digits_of};
use crate::sql::types::SqlType;

/// Digits that the sum of many values has more than each of them: enough for ten thousand million.
const SUM_DIGITS: u8 = 10;
const DECIMAL128_PRECISION: u8 = 38;

impl Pass<'_> {
    pub(super) fn aggregate(&self, mut function: AggregateFunction, schema: &DFSchema) -> Result<Expr> {
        let args = std::mem::take(&mut function.params.args);
        if let Some(filter) = function.params.filter.take() {
            function.params.filter = Some(Box::new(self.truth(*filter, "FILTER", schema)?));
        }
        self.ordered(&mut function.params.order_by, schema)?;
        let distinct = function.params.distinct;
        let (func, args) = self.aggregate_call(&function.func, args, distinct, schema)?;
        function.func = func;
        function.params.args = behind_filter(args, function.params.filter.as_deref());
        self.longest(&mut function, schema)?;
        sorted_when_distinct(&mut function);
        Ok(Expr::AggregateFunction(function))
    }

    /// The longest or shortest interval is the first in their order, which the engine's `max` does not know.
    fn longest(&self, function: &mut AggregateFunction, schema: &DFSchema) -> Result<()> {
        let ascending = match function.func.name() {
            "min" => true,
            "max" => false,
            _ => return Ok(()),
        };
        let [argument] = function.params.args.as_slice() else { return Ok(()) };
        if *self.operand(argument.clone(), schema)?.sql_type() == SqlType::Interval {
            function.params.order_by = vec![comparison::span(argument.clone()).sort(ascending, false)];
            function.params.distinct = false;
            function.func = aggregates::first_last::first_value_udaf();
        }
        Ok(())
    }

    pub(super) fn window(&self, mut function: WindowFunction, schema: &DFSchema) -> Result<Expr> {
        let args = std::mem::take(&mut function.params.args);
        if let Some(filter) = function.params.filter.take() {
            function.params.filter = Some(Box::new(self.truth(*filter, "FILTER", schema)?));
        }
        self.ordered(&mut function.params.order_by, schema)?;
        for by in &mut function.params.partition_by {
            let operand = self.operand(by.clone(), schema)?;
            if let Some(key) = comparison::sort_key(operand).map_err(raised)? {
                *by = key;
            }
        }
        let distinct = function.params.distinct;
        match &function.fun {
            WindowFunctionDefinition::AggregateUDF(udaf) => {
                let (func, args) = self.aggregate_call(udaf, args, distinct, schema)?;
                function.fun = WindowFunctionDefinition::AggregateUDF(func);
                function.params.args = behind_filter(args, function.params.filter.as_deref());
            }
            WindowFunctionDefinition::WindowUDF(udwf) => {
                function.params.args = self.window_arguments(udwf.name(), args, schema)?;
            }
        }
        Ok(Expr::WindowFunction(Box::new(function)))
    }

    /// Counts and offsets are bigint to the engine; a default has the type of the value it stands for.
    fn window_arguments(&self, function: &str, args: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
        let takes_value = matches!(function, "lag" | "lead" | "first_value" | "last_value" | "nth_value");
        let mut value: Option<Operand> = None;
        let mut typed = Vec::with_capacity(args.len());
        for (index, argument) in args.into_iter().enumerate() {
            let operand = self.operand(argument, schema)?;
            if index == 0 && takes_value {
                if operand.is_unknown() {
                    let message = "could not determine polymorphic type because input has type unknown";
                    return Err(raised(SqlError::new(ErrorKind::DatatypeMismatch, message)));
                }
                value = Some(operand.clone());
                typed.push(operand.expr);
            } else if let (2, Some(value)) = (index, &value) {
                typed.push(operand.converted_to(&value.value_type, self.parameters()).map_err(raised)?);
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
        let is_row = |operand: &Operand| matches!(operand.sql_type(), SqlType::Record(_));
        if distinct && udaf.name() == "array_agg" && operands.iter().any(is_row) {
            return Err(raised(
                SqlError::not_supported("array_agg(DISTINCT ...) of rows")
                    .with_hint("Aggregate over a sub-query with SELECT DISTINCT."),
            ));
        }
        let Some(aggregate) = udaf.inner().downcast_ref::<Aggregate>() else {
            let udaf = match operands.first().and_then(listed_type).filter(|_| udaf.name() == "array_agg") {
                Some(item) => Arc::new(AggregateUDF::new_from_impl(ArrayAgg::new(item))),
                None => udaf.clone(),
            };
            let arguments = other_arguments(udaf.name(), operands);
            return Ok((udaf, arguments));
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
                if function == "sum" && *operand.sql_type() == SqlType::Float4 && !distinct {
                    return Ok((Arc::new(AggregateUDF::new_from_impl(RealSum::default())), vec![operand.expr]));
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
                    _ => aggregates::bit_and_or_xor::bit_xor_udaf(),
                };
                Ok((udaf, operands.into_iter().map(|operand| operand.expr).collect()))
            }
            "string_agg" => {
                if operands.len() != 2 || !operands.iter().all(|operand| is_text(operand.sql_type())) {
                    return Err(refused);
                }
                Ok((aggregates::string_agg::string_agg_udaf(), all(operands, &SqlType::Text)?))
            }
            "stddev" | "stddev_samp" | "stddev_pop" | "variance" | "var_samp" | "var_pop" => {
                let (Some(operand), true, true) = (operands.pop(), operands.is_empty(), numbers) else {
                    return Err(refused);
                };
                let (variance, of_floats) = deviation(function);
                match operand.shape() {
                    Some(shape) => {
                        if distinct {
                            return Err(SqlError::not_supported(format!(
                                "{function}(DISTINCT {})",
                                name(operand.sql_type())
                            ))
                            .with_hint("Aggregate over a sub-query with SELECT DISTINCT."));
                        }
                        let udaf = AggregateUDF::new_from_impl(Variance::new(function, variance, shape));
                        Ok((Arc::new(udaf), vec![operand.expr]))
                    }
                    None => Ok((of_floats, vec![operand.coerced(&SqlType::Float8, parameters)?])),
                }
            }
            _ => {
                let Some(udaf) = of_two_floats(function) else { return Err(refused) };
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
            SqlType::Float8 | SqlType::Float4 => {
                let expr = count.coerced(&SqlType::Float8, self.parameters()).map_err(raised)?;
                Operand { expr, value_type: ValueType::of(SqlType::Float8) }
            }
            _ => count,
        };
        operation::binary("/", sum, count, self.parameters()).map_err(raised)
    }
}

/// Arguments are computed for the rows that FILTER leaves; the engine computes them for every row.
fn behind_filter(args: Vec<Expr>, filter: Option<&Expr>) -> Vec<Expr> {
    let Some(filter) = filter else { return args };
    let guarded = |arg: Expr| match may_fail(&arg) {
        true => Expr::Case(Case::new(None, vec![(Box::new(filter.clone()), Box::new(arg))], None)),
        false => arg,
    };
    args.into_iter().map(guarded).collect()
}

/// The type of the items of an array of such values, where their layout does not tell it. A list does not pad its items.
fn listed_type(item: &Operand) -> Option<SqlType> {
    let is_told = item.value_type.is_obvious() || matches!(item.sql_type(), SqlType::Unknown | SqlType::Char(_));
    (!is_told).then(|| without_parameters(item.sql_type()))
}

/// PostgreSQL sorts values to find those that are distinct, and lists them so.
fn sorted_when_distinct(function: &mut AggregateFunction) {
    let lists = matches!(function.func.name(), "array_agg" | "string_agg");
    if let (true, true, [value, ..]) = (lists, function.params.distinct, function.params.args.as_slice())
        && function.params.order_by.is_empty()
    {
        function.params.order_by = vec![value.clone().sort(true, false)];
    }
}

/// Arguments of aggregates that are not here: `count(*)` counts the constant that the optimizer knows it by.
fn other_arguments(function: &str, operands: Vec<Operand>) -> Vec<Expr> {
    let argument = |operand: Operand| match (&operand.expr, function) {
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
        SqlType::Float4 => as_decimal(operand, DataType::Float64),
        SqlType::Float8 | SqlType::Interval => Some(operand.expr),
        _ => None,
    }
}

/// What of the values' deviation a function gives, and the engine's function of it for floats.
fn deviation(function: &str) -> (Deviation, Arc<AggregateUDF>) {
    let (root, population) = (function.starts_with("stddev"), function.ends_with("_pop"));
    let udaf = match (root, population) {
        (true, true) => aggregates::stddev::stddev_pop_udaf(),
        (true, false) => aggregates::stddev::stddev_udaf(),
        (false, true) => aggregates::variance::var_pop_udaf(),
        (false, false) => aggregates::variance::var_samp_udaf(),
    };
    (Deviation { root, population }, udaf)
}

fn of_two_floats(function: &str) -> Option<Arc<AggregateUDF>> {
    Some(match function {
        "corr" => aggregates::correlation::corr_udaf(),
        "covar_pop" => aggregates::covariance::covar_pop_udaf(),
        "covar_samp" => aggregates::covariance::covar_samp_udaf(),
        "regr_avgx" => aggregates::regr::regr_avgx_udaf(),
        "regr_avgy" => aggregates::regr::regr_avgy_udaf(),
        "regr_count" => aggregates::regr::regr_count_udaf(),
        "regr_intercept" => aggregates::regr::regr_intercept_udaf(),
        "regr_r2" => aggregates::regr::regr_r2_udaf(),
        "regr_slope" => aggregates::regr::regr_slope_udaf(),
        "regr_sxx" => aggregates::regr::regr_sxx_udaf(),
        "regr_sxy" => aggregates::regr::regr_sxy_udaf(),
        "regr_syy" => aggregates::regr::regr_syy_udaf(),
        _ => return None,
    })
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
