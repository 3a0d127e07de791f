//! What a function looks like from outside: name, argument types, result type.
//!
//! One [`Overload`] is one row of PostgreSQL's `pg_proc`. Functions of one name differ in their arguments only.

use arrow::array::ArrayRef;
use datafusion_common::ScalarValue;

use super::call::Call;
use crate::error::SqlResult;
use crate::sql_type::{CatalogType, SqlType};

/// A type as signatures name it: without parameters, and with the placeholders that stand for any type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    /// `character`, of any length.
    Char,
    Bytea,
    Uuid,
    Json,
    Jsonb,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    Oid,
    Xid,
    /// `int2vector` and `oidvector`: arrays that count from 0.
    Int2Vector,
    OidVector,
    ArrayOf(&'static Type),
    /// `record`: a row of any fields.
    Record,
    /// `"any"`: each argument of a type of its own.
    Any,
    /// `anyelement`: one type wherever it stands, and the items of `anyarray`.
    Element,
    /// `anyarray`
    Array,
    /// `anycompatible`: as `anyelement`, of types that have a common one.
    Compatible,
    /// `anycompatiblearray`
    CompatibleArray,
}

impl Type {
    /// The type itself; `None` for a placeholder.
    pub fn concrete(self) -> Option<SqlType> {
        Some(match self {
            Type::Bool => SqlType::Bool,
            Type::Int2 => SqlType::Int2,
            Type::Int4 => SqlType::Int4,
            Type::Int8 => SqlType::Int8,
            Type::Float4 => SqlType::Float4,
            Type::Float8 => SqlType::Float8,
            Type::Numeric => SqlType::Numeric(None),
            Type::Text => SqlType::Text,
            // Each has a length of its own: see `resolved`.
            Type::Char => SqlType::Char(1),
            Type::Bytea => SqlType::Bytea,
            Type::Uuid => SqlType::Uuid,
            Type::Json => SqlType::Json,
            Type::Jsonb => SqlType::Jsonb,
            Type::Date => SqlType::Date,
            Type::Time => SqlType::Time,
            Type::Timestamp => SqlType::Timestamp,
            Type::Timestamptz => SqlType::Timestamptz,
            Type::Interval => SqlType::Interval,
            Type::Oid => SqlType::Oid,
            Type::Xid => SqlType::Catalog(CatalogType::Xid),
            Type::Int2Vector => SqlType::Int2Vector,
            Type::OidVector => SqlType::OidVector,
            Type::ArrayOf(item) => SqlType::Array(Box::new(item.concrete()?)),
            Type::Record | Type::Any | Type::Element | Type::Array | Type::Compatible | Type::CompatibleArray => {
                return None;
            }
        })
    }
}

/// Computes the results of one batch of rows.
pub(super) type Evaluate = fn(&Call) -> SqlResult<ArrayRef>;

/// Says the result type from the arguments, where the signature does not: how many digits a `numeric` has.
pub(super) type ResultType = fn(&Arguments<'_>) -> SqlResult<SqlType>;

/// The arguments of a call, as far as they are known when it is planned.
pub struct Arguments<'a> {
    /// After their conversion to what the signature asks for.
    pub types: &'a [SqlType],
    /// The values of those that are constants.
    pub constants: &'a [Option<ScalarValue>],
}

impl Arguments<'_> {
    /// An argument that is a constant and not NULL.
    pub fn constant(&self, index: usize) -> Option<&ScalarValue> {
        self.constants.get(index)?.as_ref().filter(|value| !value.is_null())
    }

    /// An argument that is a constant integer.
    pub fn constant_int(&self, index: usize) -> Option<i64> {
        match self.constant(index)? {
            ScalarValue::Int16(value) => value.map(i64::from),
            ScalarValue::Int32(value) => value.map(i64::from),
            ScalarValue::Int64(value) => *value,
            _ => None,
        }
    }

    /// An argument that is a constant text.
    pub fn constant_text(&self, index: usize) -> Option<&str> {
        self.constant(index)?.try_as_str().flatten()
    }

    /// Precision and scale of an argument that is a `numeric` with a declared size.
    pub fn digits(&self, index: usize) -> Option<(u8, i8)> {
        match self.types.get(index)? {
            SqlType::Numeric(digits) => *digits,
            _ => None,
        }
    }
}

/// When two calls of a function with the same arguments give the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    Immutable,
    /// Within a statement.
    Stable,
    Volatile,
}

/// One function.
#[derive(Debug)]
pub struct Overload {
    pub name: &'static str,
    pub arguments: &'static [Type],
    /// The last argument may be given once or more.
    pub variadic: bool,
    pub returns: Type,
    pub result_type: Option<ResultType>,
    /// NULL for any NULL argument, without being asked.
    pub strict: bool,
    pub volatility: Volatility,
    pub evaluate: Evaluate,
}

impl Overload {
    /// A strict and immutable function.
    pub const fn new(name: &'static str, arguments: &'static [Type], returns: Type, evaluate: Evaluate) -> Self {
        Self {
            name,
            arguments,
            variadic: false,
            returns,
            result_type: None,
            strict: true,
            volatility: Volatility::Immutable,
            evaluate,
        }
    }

    /// With a result type that depends on more than the signature.
    pub const fn sized(mut self, result_type: ResultType) -> Self {
        self.result_type = Some(result_type);
        self
    }

    /// Whose last argument may be repeated.
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// Called for NULL arguments too.
    pub const fn of_nulls(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The same within a statement only.
    pub const fn stable(mut self) -> Self {
        self.volatility = Volatility::Stable;
        self
    }

    /// Different at every call.
    pub const fn volatile(mut self) -> Self {
        self.volatility = Volatility::Volatile;
        self
    }

    /// Whether it can be called with so many arguments.
    pub fn takes(&self, count: usize) -> bool {
        if self.variadic { count >= self.arguments.len() } else { count == self.arguments.len() }
    }

    /// The type of an argument by position; the last one repeats.
    pub fn argument(&self, index: usize) -> Type {
        let last = self.arguments.len().saturating_sub(1);
        self.arguments.get(index.min(last)).copied().unwrap_or(Type::Any)
    }
}

impl PartialEq for Overload {
    /// Every overload is a row of a table, and there once.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
