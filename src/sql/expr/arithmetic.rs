//! Which computation an arithmetic operator is, and the type of its result.

use datafusion::logical_expr::Expr;
use tablegate_types::conversion::without_parameters;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::kernels::{self, Computation, Kernel};
use super::operand::Operand;
use super::operators::{Operator, missing};
use super::parameters::Parameters;
use super::typed::{Shape, ValueType};

/// What an operator does with its operands.
pub(super) struct Plan {
    kernel: &'static Kernel,
    /// What each operand must be.
    operands: Vec<SqlType>,
    /// The kernel takes the second operand first.
    swapped: bool,
    pub result: ValueType,
}

impl Plan {
    fn new(kernel: &'static Kernel, operator: &Operator) -> Self {
        let operands = operator.left.iter().chain(std::iter::once(&operator.right)).cloned().collect();
        Self { kernel, operands, swapped: false, result: ValueType::of(operator.result.clone()) }
    }

    /// With operands of the result's type, whatever each of them was.
    fn uniform(mut self) -> Self {
        self.operands.fill(without_parameters(&self.result.sql_type));
        self
    }

    fn swapped(mut self) -> Self {
        self.swapped = true;
        self
    }

    fn with_shape(mut self, shape: Shape) -> Self {
        self.result = shape.value_type();
        self
    }

    fn of_quotient(mut self, shape: Shape) -> Self {
        self.result = shape.quotient_type();
        self
    }

    /// The operator as an expression.
    ///
    /// # Errors
    /// What is wrong with a literal that had no type.
    pub(super) fn build(
        self,
        name: &'static str,
        operands: Vec<Operand>,
        parameters: &Parameters<'_>,
    ) -> SqlResult<Expr> {
        let coerced = operands.into_iter().zip(&self.operands).map(|(operand, to)| operand.coerced(to, parameters));
        let mut coerced: Vec<Expr> = coerced.collect::<SqlResult<_>>()?;
        let mut symbol = Some(name);
        if self.swapped {
            coerced.reverse();
            symbol = None;
        }
        Ok(Computation::call(self.kernel, symbol, self.result, coerced))
    }
}

/// A binary operator that computes, and does not compare. `shapes` are those of the operands where they are exact numbers.
///
/// # Errors
/// 42883 for an operator that is not one of these.
pub(super) fn binary(name: &str, operator: &Operator, shapes: [Option<Shape>; 2]) -> SqlResult<Plan> {
    use SqlType::{Date, Float4, Float8, Int2, Int4, Int8, Interval, Numeric, Text, Time, Timestamp, Timestamptz};
    let plan = |kernel| Plan::new(kernel, operator);
    let left = operator.left.as_ref().unwrap_or(&operator.right);
    Ok(match (name, left, &operator.right) {
        ("+", Date, Int4) => plan(&kernels::DATE_ADD_DAYS),
        ("+", Int4, Date) => plan(&kernels::DATE_ADD_DAYS).swapped(),
        ("+", Date, Time) => plan(&kernels::DATE_ADD_TIME),
        ("+", Time, Date) => plan(&kernels::DATE_ADD_TIME).swapped(),
        ("+", Date, Interval) => plan(&kernels::DATE_ADD_INTERVAL),
        ("+", Interval, Date) => plan(&kernels::DATE_ADD_INTERVAL).swapped(),
        ("+", Timestamp | Timestamptz, Interval) => plan(&kernels::TIMESTAMP_ADD_INTERVAL),
        ("+", Interval, Timestamp | Timestamptz) => plan(&kernels::TIMESTAMP_ADD_INTERVAL).swapped(),
        ("+", Time, Interval) => plan(&kernels::TIME_ADD_INTERVAL),
        ("+", Interval, Time) => plan(&kernels::TIME_ADD_INTERVAL).swapped(),
        ("+", Interval, Interval) => plan(&kernels::INTERVAL_ADD),
        ("-", Date, Int4) => plan(&kernels::DATE_SUBTRACT_DAYS),
        ("-", Date, Date) => plan(&kernels::DATE_SUBTRACT),
        ("-", Date, Interval) => plan(&kernels::DATE_SUBTRACT_INTERVAL),
        ("-", Timestamp | Timestamptz, Interval) => plan(&kernels::TIMESTAMP_SUBTRACT_INTERVAL),
        ("-", Timestamp | Timestamptz, Timestamp | Timestamptz) => plan(&kernels::TIMESTAMP_SUBTRACT),
        ("-", Time, Time) => plan(&kernels::TIME_SUBTRACT),
        ("-", Time, Interval) => plan(&kernels::TIME_SUBTRACT_INTERVAL),
        ("-", Interval, Interval) => plan(&kernels::INTERVAL_SUBTRACT),
        ("*", Interval, Float8) => plan(&kernels::INTERVAL_MULTIPLY),
        ("*", Float8, Interval) => plan(&kernels::INTERVAL_MULTIPLY).swapped(),
        ("/", Interval, Float8) => plan(&kernels::INTERVAL_DIVIDE),
        ("^", Float8, Float8) => plan(&kernels::POWER),
        ("^@", Text, Text) => plan(&kernels::STARTS_WITH),
        (_, Int2 | Int4 | Int8, Int2 | Int4 | Int8) => return integers(name, operator),
        (_, Float4 | Float8, Float4 | Float8) => match float_kernel(name) {
            Some(kernel) => plan(kernel).uniform(),
            None => return Err(missing(name, Some(left), &operator.right)),
        },
        (_, Numeric(_), Numeric(_)) => return numerics(name, operator, shapes),
        _ => return Err(missing(name, Some(left), &operator.right)),
    })
}

/// An operator before its only operand.
///
/// # Errors
/// 42883 for an operator that is not one of these.
pub(super) fn prefix(name: &str, operator: &Operator, operand: &Operand) -> SqlResult<Plan> {
    use SqlType::{Float4, Float8, Int2, Int4, Int8, Interval, Numeric};
    let plan = |kernel| Plan::new(kernel, operator);
    Ok(match (name, &operator.right) {
        ("-", Int2 | Int4 | Int8) => plan(&kernels::INTEGER_NEGATE),
        ("-", Float4 | Float8) => plan(&kernels::FLOAT_NEGATE),
        ("-", Interval) => plan(&kernels::INTERVAL_NEGATE),
        ("-", Numeric(_)) => plan(&kernels::DECIMAL_NEGATE).with_shape(operand.shape().unwrap_or_else(Shape::bare)),
        ("@", Int2 | Int4 | Int8) => plan(&kernels::INTEGER_ABSOLUTE),
        ("@", Float4 | Float8) => plan(&kernels::FLOAT_ABSOLUTE),
        ("@", Numeric(_)) => plan(&kernels::DECIMAL_ABSOLUTE).with_shape(operand.shape().unwrap_or_else(Shape::bare)),
        ("~", Int2 | Int4 | Int8) => plan(&kernels::BIT_NOT),
        ("|/", Float8) => plan(&kernels::SQUARE_ROOT),
        ("||/", Float8) => plan(&kernels::CUBE_ROOT),
        _ => return Err(missing(name, None, &operator.right)),
    })
}

fn integers(name: &str, operator: &Operator) -> SqlResult<Plan> {
    let kernel = match name {
        "+" => &kernels::INTEGER_ADD,
        "-" => &kernels::INTEGER_SUBTRACT,
        "*" => &kernels::INTEGER_MULTIPLY,
        "/" => &kernels::INTEGER_DIVIDE,
        "%" => &kernels::INTEGER_REMAINDER,
        "&" => &kernels::BIT_AND,
        "|" => &kernels::BIT_OR,
        "#" => &kernels::BIT_XOR,
        // The count is an integer, whatever is shifted.
        "<<" => return Ok(Plan::new(&kernels::SHIFT_LEFT, operator)),
        ">>" => return Ok(Plan::new(&kernels::SHIFT_RIGHT, operator)),
        _ => return Err(missing(name, operator.left.as_ref(), &operator.right)),
    };
    Ok(Plan::new(kernel, operator).uniform())
}

fn float_kernel(name: &str) -> Option<&'static Kernel> {
    Some(match name {
        "+" => &kernels::FLOAT_ADD,
        "-" => &kernels::FLOAT_SUBTRACT,
        "*" => &kernels::FLOAT_MULTIPLY,
        "/" => &kernels::FLOAT_DIVIDE,
        _ => return None,
    })
}

fn numerics(name: &str, operator: &Operator, shapes: [Option<Shape>; 2]) -> SqlResult<Plan> {
    let [left, right] = shapes.map(|shape| shape.unwrap_or_else(Shape::bare));
    let (kernel, shape) = match name {
        "+" => (&kernels::DECIMAL_ADD, left.sum(right)),
        "-" => (&kernels::DECIMAL_SUBTRACT, left.sum(right)),
        "*" => (&kernels::DECIMAL_MULTIPLY, left.product(right)),
        "/" => return Ok(Plan::new(&kernels::DECIMAL_DIVIDE, operator).of_quotient(left.quotient(right))),
        "%" => (&kernels::DECIMAL_REMAINDER, left.remainder(right)),
        _ => return Err(missing(name, operator.left.as_ref(), &operator.right)),
    };
    Ok(Plan::new(kernel, operator).with_shape(shape))
}
