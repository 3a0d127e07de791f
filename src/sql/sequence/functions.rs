//! `nextval`, `setval`, `currval` and `lastval` as functions of the engine.
//!
//! `nextval` and `setval` may have to wait for the store, so they are DataFusion's asynchronous functions: a plan
//! evaluates them ahead of the expressions around them, for a whole batch of rows at once. Every call in a statement is
//! a function of its own, different from all others: two calls of `nextval('s')` must not become one.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use async_trait::async_trait;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use tablegate_types::error::{SqlError, SqlResult};

use super::session::SessionSequences;

/// Whether a function may have to wait for the store.
pub(crate) fn waits(name: &str) -> bool {
    Kind::of_name(name).is_some_and(Kind::waits)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Next,
    Set,
    Current,
    Last,
}

impl Kind {
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "nextval" => Some(Kind::Next),
            "setval" => Some(Kind::Set),
            "currval" => Some(Kind::Current),
            "lastval" => Some(Kind::Last),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Next => "nextval",
            Kind::Set => "setval",
            Kind::Current => "currval",
            Kind::Last => "lastval",
        }
    }

    /// Whether it may have to wait for the store.
    fn waits(self) -> bool {
        matches!(self, Kind::Next | Kind::Set)
    }

    fn signature(self) -> Signature {
        let exact = |types: &[DataType]| TypeSignature::Exact(types.to_vec());
        let types = match self {
            Kind::Next | Kind::Current => exact(&[DataType::Utf8]),
            Kind::Set => TypeSignature::OneOf(vec![
                exact(&[DataType::Utf8, DataType::Int64]),
                exact(&[DataType::Utf8, DataType::Int64, DataType::Boolean]),
            ]),
            Kind::Last => TypeSignature::Nullary,
        };
        Signature::new(types, Volatility::Volatile)
    }
}

/// The function of this name, for one call in a statement of the session.
pub(crate) fn find(name: &str, sequences: &Arc<SessionSequences>) -> Option<Arc<ScalarUDF>> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let kind = Kind::of_name(name)?;
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let function = SequenceFunction { kind, call, sequences: sequences.clone(), signature: kind.signature() };
    Some(Arc::new(if kind.waits() {
        AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf()
    } else {
        ScalarUDF::new_from_impl(function)
    }))
}

struct SequenceFunction {
    kind: Kind,
    /// Tells one call from another.
    call: u64,
    sequences: Arc<SessionSequences>,
    signature: Signature,
}

impl std::fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.name())
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sequence = args.args.first().map(|name| texts(name, args.number_rows)).transpose()?;
        let value = |row: usize| match &sequence {
            None => self.sequences.last().map(Some),
            Some(names) if names.is_null(row) => Ok(None),
            Some(names) => self.sequences.current(names.as_string::<i32>().value(row)).map(Some),
        };
        let values: Int64Array = (0..args.number_rows).map(value).collect::<SqlResult<_>>().map_err(external)?;
        Ok(ColumnarValue::Array(Arc::new(values)))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for SequenceFunction {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = match (self.kind, args.args.as_slice()) {
            (Kind::Next, [ColumnarValue::Scalar(name)]) => self.next_of_one(name, args.number_rows).await,
            (Kind::Next, [names]) => self.next_of_each(&texts(names, args.number_rows)?).await,
            (_, arguments) => self.set(arguments, args.number_rows).await?,
        };
        Ok(ColumnarValue::Array(Arc::new(values.map_err(external)?)))
    }
}

impl SequenceFunction {
    async fn next_of_one(&self, name: &ScalarValue, rows: usize) -> SqlResult<Int64Array> {
        match name.try_as_str().flatten() {
            Some(name) => Ok(self.sequences.next(name, rows).await?.into()),
            None => Ok(Int64Array::new_null(rows)),
        }
    }

    async fn next_of_each(&self, names: &ArrayRef) -> SqlResult<Int64Array> {
        let mut values = Vec::with_capacity(names.len());
        for name in names.as_string::<i32>() {
            values.push(match name {
                Some(name) => self.sequences.next(name, 1).await?.pop(),
                None => None,
            });
        }
        Ok(values.into())
    }

    async fn set(&self, arguments: &[ColumnarValue], rows: usize) -> Result<SqlResult<Int64Array>> {
        let arrays = arguments.iter().map(|a| a.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let [names, numbers, flags @ ..] = arrays.as_slice() else { return Ok(Ok(Int64Array::new_null(rows))) };
        let names = cast(names, &DataType::Utf8)?;
        let (names, numbers) = (names.as_string::<i32>(), numbers.as_primitive::<Int64Type>());
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let called = flags.first().map_or(Some(true), |f| f.is_valid(row).then(|| f.as_boolean().value(row)));
            values.push(match called {
                Some(called) if names.is_valid(row) && numbers.is_valid(row) => {
                    match self.sequences.set(names.value(row), numbers.value(row), called).await {
                        Ok(value) => Some(value),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                _ => None,
            });
        }
        Ok(Ok(values.into()))
    }
}

fn texts(names: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    Ok(cast(&names.to_array(rows)?, &DataType::Utf8)?)
}

fn external(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}
