//! A function as DataFusion calls it: the call is resolved, its arguments converted, and the overload evaluated.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::Array;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use super::call::{Argument, Call};
use super::moments::Moments;
use super::resolve::{Given, Resolved, resolve};
use super::signature::{Arguments, Overload, Type};
use super::simplify::simplified;
use crate::sql::edm::assign;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::types::SqlType;

/// All functions of one name; or, pinned, the one of them that a call means.
#[derive(Clone)]
pub(super) struct Function {
    name: &'static str,
    overloads: Vec<&'static Overload>,
    signature: Signature,
    pinned: Option<Arc<Meaning>>,
}

/// What a call means.
#[derive(PartialEq)]
struct Meaning {
    overload: &'static Overload,
    /// The types that the arguments have, and those they are converted to.
    arguments: Vec<(Option<SqlType>, SqlType)>,
    returns: SqlType,
}

impl Function {
    pub fn new(name: &'static str, overloads: Vec<&'static Overload>) -> Self {
        let volatility = overloads.iter().map(|o| o.volatility).max_by_key(rank).unwrap_or(Volatility::Volatile);
        Self { name, overloads, signature: signature(volatility), pinned: None }
    }

    /// # Errors
    /// 42883 when no function takes the arguments, 42725 when several do.
    pub fn resolve(&self, given: &[Given]) -> SqlResult<Resolved> {
        resolve(self.name, &self.overloads, given).or_else(|error| {
            // Integer literals are planned as bigint where PostgreSQL has integer.
            resolve(self.name, &self.overloads, &narrowed(given)).map_err(|_| error)
        })
    }

    /// The function that a call with these arguments means, whatever becomes of the arguments later.
    ///
    /// # Errors
    /// As [`Function::resolve`].
    pub fn pinned(&self, given: &[Given]) -> SqlResult<Self> {
        let meaning = self.meaning(given)?;
        Ok(Self { signature: signature(meaning.overload.volatility), pinned: Some(meaning), ..self.clone() })
    }

    fn meaning(&self, given: &[Given]) -> SqlResult<Arc<Meaning>> {
        if let Some(meaning) = &self.pinned {
            return Ok(meaning.clone());
        }
        let resolved = self.resolve(given)?;
        let returns = result_type(&resolved, given)?;
        let arguments = given.iter().map(|g| g.sql_type.clone()).zip(resolved.arguments).collect();
        Ok(Arc::new(Meaning { overload: resolved.overload, arguments, returns }))
    }

    fn evaluate(&self, args: &ScalarFunctionArgs) -> SqlResult<ColumnarValue> {
        let given = args.args.iter().zip(&args.arg_fields).map(|(value, field)| given(field, scalar(value)));
        let meaning = self.meaning(&given.collect::<Vec<_>>())?;
        let overload = meaning.overload;
        let constant =
            overload.volatility != Volatility::Volatile && args.args.iter().all(|value| scalar(value).is_some());
        let rows = if constant { 1 } else { args.number_rows };
        let arguments = (args.args.iter().zip(&meaning.arguments))
            .map(|(value, (from, to))| converted(value, from.as_ref(), to))
            .collect::<SqlResult<Vec<_>>>()?;
        let nulls = if overload.strict { nulls_of(&arguments, rows) } else { None };
        let moments = Moments::of(&args.config_options);
        let call = Call { arguments, returns: meaning.returns.clone(), rows, nulls, moments };
        let values = (overload.evaluate)(&call)?;
        Ok(if constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)
        } else {
            ColumnarValue::Array(values)
        })
    }
}

fn signature(volatility: Volatility) -> Signature {
    let any_arguments = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
    Signature::new(any_arguments, volatility)
}

fn rank(volatility: &Volatility) -> u8 {
    match volatility {
        Volatility::Immutable => 0,
        Volatility::Stable => 1,
        Volatility::Volatile => 2,
    }
}

fn result_type(resolved: &Resolved, given: &[Given]) -> SqlResult<SqlType> {
    if let Some(result_type) = resolved.overload.result_type {
        let constants: Vec<Option<ScalarValue>> = given.iter().map(|g| g.constant.clone()).collect();
        return result_type(&Arguments { types: &resolved.arguments, constants: &constants });
    }
    let element = || resolved.element.clone().unwrap_or(SqlType::Text);
    Ok(match resolved.overload.returns {
        Type::Element | Type::Compatible => element(),
        Type::Array | Type::CompatibleArray => SqlType::Array(Box::new(element())),
        concrete => concrete.concrete().unwrap_or(SqlType::Text),
    })
}

fn narrowed(given: &[Given]) -> Vec<Given> {
    let narrow = |given: &Given| match given.constant {
        Some(ScalarValue::Int64(Some(value))) if i32::try_from(value).is_ok() => {
            Given { sql_type: Some(SqlType::Int4), constant: given.constant.clone() }
        }
        _ => given.clone(),
    };
    given.iter().map(narrow).collect()
}

fn scalar(value: &ColumnarValue) -> Option<&ScalarValue> {
    match value {
        ColumnarValue::Scalar(scalar) => Some(scalar),
        ColumnarValue::Array(_) => None,
    }
}

/// What is known of an argument: a text constant that nobody gave a type can be of any.
pub(super) fn given(field: &FieldRef, constant: Option<&ScalarValue>) -> Given {
    let sql_type = SqlType::of_field(field);
    let untyped = match sql_type {
        SqlType::Unknown => true,
        SqlType::Text => constant.is_some() || field.data_type() == &DataType::Null,
        _ => false,
    };
    Given { sql_type: (!untyped).then_some(sql_type), constant: constant.cloned() }
}

fn converted(value: &ColumnarValue, from: Option<&SqlType>, to: &SqlType) -> SqlResult<Argument> {
    let (array, constant) = match value {
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        ColumnarValue::Array(array) => (array.clone(), false),
    };
    let is_laid_out = *array.data_type() == to.arrow();
    let array = match from {
        Some(from) if is_laid_out && from == to => array,
        Some(SqlType::Int2Vector | SqlType::OidVector) if is_laid_out => array,
        Some(from) => assign(&array, from, to, false)?,
        None => assign(&array, &SqlType::Unknown, to, true)?,
    };
    Ok(Argument { array, sql_type: to.clone(), constant })
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

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.pinned == other.pinned
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        match &self.pinned {
            Some(meaning) => meaning.overload.strict,
            None => self.overloads.iter().all(|overload| overload.strict),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let given = arg_types.iter().map(|t| Given { sql_type: Some(SqlType::of_arrow(t)), constant: None });
        let meaning = self.meaning(&given.collect::<Vec<_>>()).map_err(|error| DataFusionError::External(error))?;
        Ok(meaning.returns.arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let given = args.arg_fields.iter().zip(args.scalar_arguments).map(|(field, constant)| given(field, *constant));
        let meaning = self.meaning(&given.collect::<Vec<_>>()).map_err(|error| DataFusionError::External(error))?;
        Ok(Arc::new(meaning.returns.field(self.name, true)))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match simplified(self.name, &args, info)? {
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
