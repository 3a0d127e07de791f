//! The functions of advisory locks. Those that may wait are DataFusion's asynchronous ones.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use async_trait::async_trait;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::settings::Settings;
use super::tx::{AdvisoryKey, AdvisoryLocks, Level, LockWait, Sharing};

/// What a function does with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lock(Level, Sharing),
    Try(Level, Sharing),
    Unlock(Sharing),
    UnlockAll,
}

const KINDS: [(&str, Kind); 11] = [
    ("pg_advisory_lock", Kind::Lock(Level::Session, Sharing::Exclusive)),
    ("pg_advisory_lock_shared", Kind::Lock(Level::Session, Sharing::Shared)),
    ("pg_advisory_xact_lock", Kind::Lock(Level::Transaction, Sharing::Exclusive)),
    ("pg_advisory_xact_lock_shared", Kind::Lock(Level::Transaction, Sharing::Shared)),
    ("pg_try_advisory_lock", Kind::Try(Level::Session, Sharing::Exclusive)),
    ("pg_try_advisory_lock_shared", Kind::Try(Level::Session, Sharing::Shared)),
    ("pg_try_advisory_xact_lock", Kind::Try(Level::Transaction, Sharing::Exclusive)),
    ("pg_try_advisory_xact_lock_shared", Kind::Try(Level::Transaction, Sharing::Shared)),
    ("pg_advisory_unlock", Kind::Unlock(Sharing::Exclusive)),
    ("pg_advisory_unlock_shared", Kind::Unlock(Sharing::Shared)),
    ("pg_advisory_unlock_all", Kind::UnlockAll),
];

/// The function of this name, for one call in a statement of the session.
pub(super) fn function(name: &str, locks: &AdvisoryLocks, settings: &Settings) -> Option<Arc<ScalarUDF>> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let (name, kind) = KINDS.iter().find(|(known, _)| *known == name).copied()?;
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let keys = |count| TypeSignature::Exact(vec![DataType::Int64; count]);
    let types =
        if kind == Kind::UnlockAll { TypeSignature::Nullary } else { TypeSignature::OneOf(vec![keys(1), keys(2)]) };
    let signature = Signature::new(types, Volatility::Volatile);
    let function = Function { name, kind, call, locks: locks.clone(), settings: settings.clone(), signature };
    Some(Arc::new(match kind {
        Kind::Lock(..) => AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf(),
        Kind::Try(..) | Kind::Unlock(_) | Kind::UnlockAll => ScalarUDF::new_from_impl(function),
    }))
}

struct Function {
    name: &'static str,
    kind: Kind,
    /// Tells one call from another: two of them must not become one.
    call: u64,
    locks: AdvisoryLocks,
    settings: Settings,
    signature: Signature,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.returns().arrow())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.returns().field(self.name, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.now(&args).map(ColumnarValue::Array).map_err(external)
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Function {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.waiting(&args).await.map(ColumnarValue::Array).map_err(external)
    }
}

impl Function {
    fn returns(&self) -> SqlType {
        match self.kind {
            Kind::Lock(..) | Kind::UnlockAll => SqlType::Void,
            Kind::Try(..) | Kind::Unlock(_) => SqlType::Bool,
        }
    }

    /// What needs no waiting.
    fn now(&self, args: &ScalarFunctionArgs) -> SqlResult<ArrayRef> {
        let keys = Keys::of(args)?;
        let done = |key: AdvisoryKey| match self.kind {
            Kind::Try(level, sharing) => self.locks.try_lock(key, level, sharing),
            Kind::Unlock(sharing) => Ok(self.locks.unlock(key, sharing)),
            Kind::Lock(..) | Kind::UnlockAll => Err(SqlError::new(ErrorKind::Internal, "a lock has to be waited for")),
        };
        if self.kind == Kind::UnlockAll {
            self.locks.unlock_all();
            return Ok(Arc::new(StringArray::from(vec![""; args.number_rows])));
        }
        let values = (0..args.number_rows).map(|row| keys.at(row)?.map(done).transpose());
        Ok(Arc::new(values.collect::<SqlResult<BooleanArray>>()?))
    }

    async fn waiting(&self, args: &ScalarFunctionArgs) -> SqlResult<ArrayRef> {
        let Kind::Lock(level, sharing) = self.kind else { return self.now(args) };
        let keys = Keys::of(args)?;
        let wait = LockWait::AtMost(self.settings.lock_timeout());
        let mut values = Vec::with_capacity(args.number_rows);
        for row in 0..args.number_rows {
            let key = keys.at(row)?;
            if let Some(key) = key {
                self.locks.lock(key, level, sharing, wait).await?;
            }
            values.push(key.map(|_| ""));
        }
        Ok(Arc::new(StringArray::from(values)))
    }
}

/// The arguments of a call, by row.
struct Keys(Vec<ArrayRef>);

impl Keys {
    fn of(args: &ScalarFunctionArgs) -> SqlResult<Self> {
        let array = |argument: &ColumnarValue| Ok(cast(&argument.to_array(args.number_rows)?, &DataType::Int64)?);
        Ok(Self(args.args.iter().map(array).collect::<SqlResult<_>>()?))
    }

    /// `None` where an argument is NULL.
    fn at(&self, row: usize) -> SqlResult<Option<AdvisoryKey>> {
        let value = |array: &ArrayRef| array.is_valid(row).then(|| array.as_primitive::<Int64Type>().value(row));
        match self.0.as_slice() {
            [key] => Ok(value(key).map(AdvisoryKey::One)),
            [first, second] => {
                let Some((first, second)) = value(first).zip(value(second)) else { return Ok(None) };
                let narrow = |value: i64| {
                    let out_of_range = |_| SqlError::new(ErrorKind::NumericOutOfRange, "integer out of range");
                    i32::try_from(value).map_err(out_of_range)
                };
                Ok(Some(AdvisoryKey::Pair(narrow(first)?, narrow(second)?)))
            }
            _ => Ok(None),
        }
    }
}

fn external(error: Box<SqlError>) -> DataFusionError {
    DataFusionError::External(error)
}
