//! The function that a call means, as DataFusion runs it: on arguments of the types it asks for.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::Array;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility as PlanVolatility,
};
use tablegate_types::edm::assign;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::functions::{self, Argument, Arguments, Asked, Call, Overload, Resolved, Type, Volatility};
use tablegate_types::sql_type::{SqlType, TYPE_KEY};

use super::held::{self, made};
use super::moments::moments_of;
use super::names::name_as_function;
use super::simplify::simplified;
use crate::stoppable;

/// A call before its arguments are what the function asks for.
pub(crate) struct Choice {
    resolved: Resolved,
}

/// An argument that is what the function asks for.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub sql_type: SqlType,
    /// The layout, which tells how many digits a numeric has.
    pub data_type: DataType,
    pub constant: Option<ScalarValue>,
}

/// The function that a name means for arguments of these types, `Unknown` for a literal without one.
///
/// # Errors
/// 42883 when none takes them, 42725 when several do and none is better than the others.
pub(crate) fn choose(name: &str, given: &[SqlType]) -> SqlResult<Choice> {
    Ok(Choice { resolved: functions::choose(name, given)? })
}

impl Choice {
    /// What the function asks of each argument.
    pub(crate) fn asked(&self) -> &[Asked] {
        &self.resolved.asked
    }

    /// The function that is to be called.
    ///
    /// # Errors
    /// The errors of the function for constant arguments.
    pub(crate) fn function(self, arguments: Vec<Known>) -> SqlResult<ScalarUDF> {
        let returns = self.returns(&arguments)?;
        let overload = self.resolved.overload;
        let volatility = match overload.volatility {
            Volatility::Immutable => PlanVolatility::Immutable,
            Volatility::Stable => PlanVolatility::Stable,
            Volatility::Volatile => PlanVolatility::Volatile,
        };
        let signature = match arguments.len() {
            0 => Signature::nullary(volatility),
            count => Signature::any(count, volatility),
        };
        let shown = shown(&returns, &arguments);
        let arguments = arguments.into_iter().map(|argument| argument.sql_type).collect();
        Ok(ScalarUDF::new_from_impl(Function { overload, arguments, returns, shown, signature }))
    }

    fn returns(&self, arguments: &[Known]) -> SqlResult<SqlType> {
        if let Some(result_type) = self.resolved.overload.result_type {
            let types: Vec<SqlType> = arguments.iter().map(Known::laid_out).collect();
            let constants: Vec<Option<ScalarValue>> = arguments.iter().map(|known| known.constant.clone()).collect();
            return result_type(&Arguments { types: &types, constants: &constants });
        }
        let element = || self.resolved.element.clone().unwrap_or(SqlType::Text);
        Ok(match self.resolved.overload.returns {
            Type::Element | Type::Compatible => element(),
            Type::Array | Type::CompatibleArray => SqlType::Array(Box::new(element())),
            concrete => concrete.concrete().unwrap_or(SqlType::Text),
        })
    }
}

impl Known {
    /// The type, a numeric with the digits of its layout.
    fn laid_out(&self) -> SqlType {
        match &self.sql_type {
            SqlType::Numeric(_) => SqlType::of_arrow(&self.data_type),
            other => other.clone(),
        }
    }

    /// How many digits behind the point there are of which zeros at the end are not shown.
    fn hidden_scale(&self) -> Option<i8> {
        match (&self.sql_type, self.laid_out()) {
            (SqlType::Numeric(None), SqlType::Numeric(Some((_, scale)))) => Some(scale),
            _ => None,
        }
    }
}

/// The type as a result shows it: what has the digits of a numeric whose zeros are not shown does not show them either.
fn shown(returns: &SqlType, arguments: &[Known]) -> SqlType {
    match returns {
        SqlType::Numeric(Some((_, scale)))
            if arguments.iter().any(|argument| argument.hidden_scale() == Some(*scale)) =>
        {
            SqlType::Numeric(None)
        }
        other => other.clone(),
    }
}

/// One function, for arguments of certain types.
#[derive(Debug)]
struct Function {
    overload: &'static Overload,
    arguments: Vec<SqlType>,
    /// The type of the result in its layout.
    returns: SqlType,
    /// The same as it is shown.
    shown: SqlType,
    signature: Signature,
}

/// What a function of PostgreSQL's gives; `None` for another function.
pub(crate) fn field_of(function: &ScalarUDF) -> Option<Field> {
    function.inner().downcast_ref::<Function>().map(Function::field)
}

impl Function {
    fn field(&self) -> Field {
        let field = Field::new(self.overload.name, self.returns.arrow(), true);
        if SqlType::of_arrow(field.data_type()) == self.shown {
            return field;
        }
        field.with_metadata([(TYPE_KEY.to_owned(), self.shown.tag())].into())
    }

    /// The type of an argument: for what writes a value out, a quotient is one.
    fn printed<'t>(&self, known: &'t SqlType, field: &Field) -> Cow<'t, SqlType> {
        let writes = matches!(self.overload.returns, Type::Text | Type::Json | Type::Jsonb);
        match SqlType::declared_in(field) {
            SqlType::Quotient if writes && *known == SqlType::Numeric(None) => Cow::Owned(SqlType::Quotient),
            _ => Cow::Borrowed(known),
        }
    }

    fn evaluate(&self, args: &ScalarFunctionArgs) -> SqlResult<ColumnarValue> {
        let overload = self.overload;
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let constant = overload.volatility != Volatility::Volatile && args.args.iter().all(is_constant);
        let rows = if constant { 1 } else { args.number_rows };
        let call = || {
            let types = self.arguments.iter().zip(&args.arg_fields).map(|(known, field)| self.printed(known, field));
            let arguments = args.args.iter().zip(types).map(|(value, sql_type)| argument(value, &sql_type));
            let arguments = arguments.collect::<SqlResult<Vec<_>>>()?;
            let nulls = if overload.strict { nulls_of(&arguments, rows) } else { None };
            let moments = moments_of(&args.config_options);
            Ok(Call { arguments, returns: self.returns.clone(), rows, nulls, moments })
        };
        let arrays = |call: &Call| call.arguments.iter().map(|argument| argument.array.clone()).collect();
        let values = made(&args.config_options, &args.args, call, overload.evaluate, arrays)?;
        if constant { held::constant(values, args.number_rows) } else { Ok(ColumnarValue::Array(values)) }
    }
}

/// An argument in the layout of its type: the planner may have put another in its place.
fn argument(value: &ColumnarValue, sql_type: &SqlType) -> SqlResult<Argument> {
    let (array, constant) = match value {
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        ColumnarValue::Array(array) => (array.clone(), false),
    };
    let is_laid_out = *array.data_type() == sql_type.arrow()
        || matches!(sql_type, SqlType::Numeric(_) | SqlType::Quotient | SqlType::Record(_));
    let array = if is_laid_out { array } else { assign(&array, sql_type, sql_type, false)? };
    Ok(Argument { array, sql_type: sql_type.clone(), constant })
}

/// Rows in which an argument is NULL.
fn nulls_of(arguments: &[Argument], rows: usize) -> Option<NullBuffer> {
    let mut nulls: Option<NullBuffer> = None;
    for argument in arguments {
        let own = match (argument.constant, argument.array.logical_nulls()) {
            (true, Some(own)) if own.is_null(0) => Some(NullBuffer::new_null(rows)),
            (true, _) => None,
            (false, own) => own,
        };
        nulls = NullBuffer::union(nulls.as_ref(), own.as_ref());
    }
    nulls
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.overload == other.overload && self.arguments == other.arguments && self.returns == other.returns
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.overload.name.hash(state);
        self.arguments.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.overload.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        self.overload.strict
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is a field", self.overload.name)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_as_function(self.overload.name, args)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        stoppable::check()?;
        Ok(Arc::new(self.field()))
    }

    fn simplify(&self, args: Vec<Expr>, _info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match simplified(self.overload.name, &args) {
            Some(expr) => ExprSimplifyResult::Simplified(expr),
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let returned = self.evaluate(&args).and_then(|value| matches_plan(value, args.return_type()));
        returned.map_err(|error| DataFusionError::External(error))
    }
}

/// A function gives what it was planned to give.
fn matches_plan(value: ColumnarValue, planned: &DataType) -> SqlResult<ColumnarValue> {
    if value.data_type() == *planned {
        return Ok(value);
    }
    let message = format!("a function gives {} where {planned} was planned", value.data_type());
    Err(SqlError::new(ErrorKind::Internal, message))
}
