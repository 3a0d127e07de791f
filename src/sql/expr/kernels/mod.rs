//! The computations that operators and casts become: functions on whole columns, named as PostgreSQL names theirs.
//!
//! A [`Computation`] is made for values of certain types and gives values of one type. It is strict (NULL for any NULL)
//! and immutable, so that the optimizer can compute it where its operands are constants; but what a text means as a date
//! may depend on the time of the statement, and how long a day is on the session's time zone.

mod bits;
mod cast;
mod clock;
mod decimal;
mod decimal_division;
mod float;
mod integer;
mod interval;
mod operands;
mod record;
mod sort_key;
mod sorted_set;
mod text;
mod wildcards;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use tablegate_types::conversion::name;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

pub(super) use self::bits::{BIT_AND, BIT_NOT, BIT_OR, BIT_XOR, SHIFT_LEFT, SHIFT_RIGHT};
pub(super) use self::cast::{CAST, LIMIT, RELABEL, convert};
pub(super) use self::clock::{
    DATE_ADD_DAYS, DATE_ADD_INTERVAL, DATE_ADD_TIME, DATE_SUBTRACT, DATE_SUBTRACT_DAYS, DATE_SUBTRACT_INTERVAL,
    TIME_ADD_INTERVAL, TIME_SUBTRACT, TIME_SUBTRACT_INTERVAL, TIMESTAMP_ADD_INTERVAL, TIMESTAMP_SUBTRACT,
    TIMESTAMP_SUBTRACT_INTERVAL,
};
pub(super) use self::decimal::{
    DECIMAL_ABSOLUTE, DECIMAL_ADD, DECIMAL_MULTIPLY, DECIMAL_NEGATE, DECIMAL_REMAINDER, DECIMAL_SUBTRACT, overflow,
};
pub(super) use self::decimal_division::{DECIMAL_DIVIDE, Number};
pub(super) use self::float::{
    CUBE_ROOT, FLOAT_ABSOLUTE, FLOAT_ADD, FLOAT_DIVIDE, FLOAT_MULTIPLY, FLOAT_NEGATE, FLOAT_SUBTRACT, POWER,
    SQUARE_ROOT,
};
pub(super) use self::integer::{
    INTEGER_ABSOLUTE, INTEGER_ADD, INTEGER_DIVIDE, INTEGER_MULTIPLY, INTEGER_NEGATE, INTEGER_REMAINDER,
    INTEGER_SUBTRACT,
};
pub(super) use self::interval::{
    INTERVAL_ADD, INTERVAL_DIVIDE, INTERVAL_MULTIPLY, INTERVAL_NEGATE, INTERVAL_SPAN, INTERVAL_SUBTRACT, SPAN_DIGITS,
};
pub(super) use self::operands::Operands;
pub(super) use self::record::{RECORD_FIELD, RECORD_KEY};
pub(super) use self::sort_key::{ARRAY_KEY, ITEM_KEYS, JSONB_KEY};
pub(crate) use self::sorted_set::{Choice, Found, choice_of};
pub(super) use self::sorted_set::{
    MODE, PERCENTILE_CONT, PERCENTILE_CONT_UNSORTED, PERCENTILE_DISC, PERCENTILES_CONT, PERCENTILES_CONT_UNSORTED,
    PERCENTILES_DISC,
};
pub(super) use self::text::{ILIKE_UNENDED, LIKE_UNENDED, STARTS_WITH};
pub(super) use self::wildcards::{LIKE_EACH, NOT_LIKE_EACH};
use super::fold::is_immutable_cast;
use super::printed::{bare, called};
use super::typed::ValueType;
use crate::calls::{constant, made, name_of_call};
use crate::stoppable;

/// Computes the values of one batch; their Arrow type is the one given.
pub(super) type Evaluate = fn(&Operands<'_>, &DataType) -> SqlResult<ArrayRef>;

/// A kind of computation.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Names it among all kernels, and in a plan.
    pub name: &'static str,
    pub evaluate: Evaluate,
}

/// A kernel with the type of its results, as a function of the planner.
pub(super) struct Computation {
    kernel: &'static Kernel,
    /// How a plan shows it between or before its operands; its name and parentheses otherwise.
    symbol: Option<&'static str>,
    result: ValueType,
    /// Its type is one that the statement declares, with its precision.
    is_declared: bool,
    /// It is a cast that has a value for each value.
    is_total: bool,
    signature: Signature,
}

impl Computation {
    /// The computation on the given operands, which have the types that the kernel takes.
    pub(super) fn call(
        kernel: &'static Kernel,
        symbol: Option<&'static str>,
        result: ValueType,
        operands: Vec<Expr>,
    ) -> Expr {
        let volatility = if asks_zone(kernel, &result.sql_type) { Volatility::Stable } else { Volatility::Immutable };
        let signature = Signature::any(operands.len(), volatility);
        Self { kernel, symbol, result, is_declared: false, is_total: false, signature }.on(operands)
    }

    /// CAST of a text, whose value may depend on the time.
    pub(super) fn reading(result: ValueType, text: Expr) -> Expr {
        let is_time = cast::is_time(&result.sql_type);
        let volatility = if is_time { Volatility::Stable } else { Volatility::Immutable };
        let signature = Signature::any(1, volatility);
        Self { kernel: &CAST, symbol: None, result, is_declared: false, is_total: false, signature }.on(vec![text])
    }

    /// CAST of a value that is no text, which may depend on the session's time zone or on how it writes values.
    pub(super) fn cast(from: &SqlType, result: ValueType, operand: Expr) -> Expr {
        let is_immutable = is_immutable_cast(from, &result.sql_type);
        let volatility = if is_immutable { Volatility::Immutable } else { Volatility::Stable };
        let signature = Signature::any(1, volatility);
        let is_total = is_total_cast(from, &result.sql_type);
        Self { kernel: &CAST, symbol: None, result, is_declared: false, is_total, signature }.on(vec![operand])
    }

    /// The operand with what the limits of a declared type keep of it.
    pub(super) fn limited(sql_type: &SqlType, operand: Expr) -> Expr {
        let signature = Signature::any(1, Volatility::Immutable);
        let result = ValueType::of(sql_type.clone());
        Self { kernel: &LIMIT, symbol: None, result, is_declared: true, is_total: false, signature }.on(vec![operand])
    }

    /// The operand, said to be of a declared type whose layout it has.
    pub(super) fn declared(sql_type: &SqlType, operand: Expr) -> Expr {
        let signature = Signature::any(1, Volatility::Immutable);
        let result = ValueType::of(sql_type.clone());
        Self { kernel: &RELABEL, symbol: None, result, is_declared: true, is_total: false, signature }.on(vec![operand])
    }

    fn field(&self, nullable: bool) -> Field {
        match self.is_declared {
            true => self.result.sql_type.field(self.kernel.name, nullable),
            false => self.result.field(self.kernel.name, nullable),
        }
    }

    fn on(self, operands: Vec<Expr>) -> Expr {
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(self)), operands))
    }

    fn evaluate(&self, args: &ScalarFunctionArgs) -> SqlResult<ColumnarValue> {
        let operands = Operands::new(args, &self.result);
        let evaluate = |operands: &Operands<'_>| (self.kernel.evaluate)(operands, &self.result.data_type);
        let values = if is_of_any_length(&self.result.data_type) {
            made(&args.config_options, &args.args, || Ok(operands), evaluate, Operands::arrays)?
        } else {
            evaluate(&operands)?
        };
        if args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_))) {
            return constant(values, args.number_rows);
        }
        Ok(ColumnarValue::Array(values))
    }

    /// As PostgreSQL's EXPLAIN writes it: what only says of a value that it is of a type is that value.
    pub(super) fn printed(&self, operands: Vec<String>) -> String {
        match (self.kernel.name, self.symbol, operands.as_slice()) {
            (kernel, _, [operand]) if kernel == RELABEL.name && !self.is_declared => operand.clone(),
            (_, _, [operand]) if gives_argument(self.kernel) => {
                format!("({})::{}", bare(operand), name(&self.result.sql_type))
            }
            (_, Some(symbol), [operand]) => format!("({symbol} {operand})"),
            (_, Some(symbol), [left, right]) => format!("({left} {symbol} {right})"),
            (kernel, ..) => called(kernel, &operands),
        }
    }

    fn shown(&self, operands: &[String]) -> String {
        match (self.symbol, operands) {
            (Some(symbol), [operand]) => format!("({symbol} {operand})"),
            (Some(symbol), [left, right]) => format!("({left} {symbol} {right})"),
            _ => format!("{}({})", self.kernel.name, operands.join(", ")),
        }
    }
}

/// Whether values of this layout may take more than what they are made of.
fn is_of_any_length(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::Binary) || data_type.is_nested()
}

/// The kernel of a function that is a computation.
pub(super) fn kernel_of(function: &ScalarUDF) -> Option<&'static Kernel> {
    function.inner().downcast_ref::<Computation>().map(|computation| computation.kernel)
}

/// Whether a call gives its argument as a value of another type, or of the same with other limits.
pub(crate) fn is_cast(call: &ScalarFunction) -> bool {
    kernel_of(&call.func).is_some_and(gives_argument)
}

fn gives_argument(kernel: &Kernel) -> bool {
    [CAST.name, RELABEL.name, LIMIT.name].contains(&kernel.name)
}

/// Whether a function is a cast that refuses values.
pub(super) fn is_refusing_cast(function: &ScalarUDF) -> bool {
    let computation = function.inner().downcast_ref::<Computation>();
    computation.is_some_and(|computation| computation.kernel.name == CAST.name && !computation.is_total)
}

/// Whether each value of one type is one of another.
fn is_total_cast(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as T;
    let (from, to) = (&*from.bare(), &*to.bare());
    matches!(to, T::Text | T::Varchar(_) | T::Char(_))
        || match from {
            T::Bool => *to == T::Int4,
            T::Int2 => matches!(to, T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric(None)),
            T::Int4 => matches!(to, T::Bool | T::Int8 | T::Float4 | T::Float8 | T::Numeric(None)),
            T::Int8 => matches!(to, T::Float4 | T::Float8 | T::Numeric(None)),
            T::Float4 => *to == T::Float8,
            T::Date => matches!(to, T::Timestamp | T::Timestamptz),
            T::Timestamp | T::Timestamptz => matches!(to, T::Date | T::Time | T::Timestamp | T::Timestamptz),
            _ => false,
        }
}

/// The type that a function gives that is a computation.
pub(super) fn result_of(function: &ScalarUDF) -> Option<&ValueType> {
    function.inner().downcast_ref::<Computation>().map(|computation| &computation.result)
}

/// What a function gives that is a computation.
pub(super) fn field_of(function: &ScalarUDF) -> Option<Field> {
    function.inner().downcast_ref::<Computation>().map(|computation| computation.field(true))
}

/// Whether days are counted, which are as long as they are in the session's time zone: plans that serve every session must
/// not keep what came out.
fn asks_zone(kernel: &Kernel, result: &SqlType) -> bool {
    let counts_days = [TIMESTAMP_ADD_INTERVAL.name, TIMESTAMP_SUBTRACT_INTERVAL.name].contains(&kernel.name);
    counts_days && *result == SqlType::Timestamptz
}

/// Whether the kernel refuses a second operand of zero.
pub(super) fn divides(kernel: &Kernel) -> bool {
    const DIVISIONS: [&Kernel; 6] =
        [&INTEGER_DIVIDE, &INTEGER_REMAINDER, &DECIMAL_DIVIDE, &DECIMAL_REMAINDER, &FLOAT_DIVIDE, &INTERVAL_DIVIDE];
    DIVISIONS.iter().any(|division| division.name == kernel.name)
}

impl fmt::Debug for Computation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.kernel.name, self.result.sql_type)
    }
}

impl PartialEq for Computation {
    fn eq(&self, other: &Self) -> bool {
        self.kernel.name == other.kernel.name && self.result == other.result && self.is_declared == other.is_declared
    }
}

impl Eq for Computation {}

impl Hash for Computation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kernel.name.hash(state);
        self.result.hash(state);
    }
}

impl ScalarUDFImpl for Computation {
    fn name(&self) -> &str {
        self.kernel.name
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.shown(&args.iter().map(|a| a.human_display().to_string()).collect::<Vec<_>>()))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_of_call(args, || Ok(self.shown(&args.iter().map(|a| a.schema_name().to_string()).collect::<Vec<_>>())))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is a field", self.kernel.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        stoppable::check()?;
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(self.field(nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // No row asks for it: a branch of CASE that is not taken.
        if args.number_rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&self.result.data_type)));
        }
        self.evaluate(&args).map_err(|error| DataFusionError::External(error))
    }
}
