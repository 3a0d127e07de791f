//! Calls whose meaning waits for the types of their arguments.
//!
//! While the planner builds a plan, literals have the engine's types, and it would refuse what PostgreSQL takes. So
//! operators, and functions of any arguments, are planned as a [`Pending`] call, which refuses nothing; the pass over the
//! finished plan puts in its place what the call means.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use tablegate_types::conversion::common_type;
use tablegate_types::functions::known as known_function;
use tablegate_types::sql_type::{SqlType, TYPE_KEY};

use super::operand::Operand;
use super::operation::{likely_prefix_type, likely_type};
use super::record::{self, RowLayout};
use super::typed::{Shape, ValueType};
use super::{function, literal};
use crate::calls::name_as_function;
use crate::stoppable;

/// What a call will become.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    /// An operator between two operands.
    Binary(String),
    /// An operator before its operand.
    Prefix(String),
    /// `value operator ANY (array)`
    Any(String),
    /// `value operator ALL (array)`
    All(String),
    Coalesce,
    NullIf,
    Greatest,
    Least,
    /// `ARRAY[...]`
    Array,
    /// A row: whether it is there, then its fields.
    Row(RowLayout),
    /// The field of this name of a row.
    Field(String),
    /// The average, of a sum and a count.
    Average,
    /// `pg_typeof`
    TypeOf,
    /// An expression of a VALUES list.
    Value,
    /// CAST and `::`
    CastTo(SqlType),
    /// An aggregate of sorted values, of the array of them.
    OfSorted(SortedSet),
    /// One of the functions of this name.
    Function(&'static str),
    /// A type called as a function: `date(x)` is `x::date`.
    Cast(&'static str, SqlType),
    /// A condition of this clause.
    Truth(String),
    /// There is no function of this name. That is said when the call's arguments are known to be right.
    Missing(String),
}

/// What there is WITHIN GROUP for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SortedSet {
    Mode,
    PercentileDisc,
    PercentileCont(Collected),
}

/// In which order the values of such an aggregate are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Collected {
    Sorted,
    /// They are sorted when all are there: collecting them takes a fraction of the memory. Numbers and intervals can be, whose
    /// order needs nothing else to be known.
    AsTheyCame,
}

impl SortedSet {
    const ALL: [Self; 4] = [
        Self::Mode,
        Self::PercentileDisc,
        Self::PercentileCont(Collected::Sorted),
        Self::PercentileCont(Collected::AsTheyCame),
    ];

    /// PostgreSQL's aggregate.
    pub(super) fn name(self) -> &'static str {
        match self {
            SortedSet::Mode => "mode",
            SortedSet::PercentileDisc => "percentile_disc",
            SortedSet::PercentileCont(_) => "percentile_cont",
        }
    }

    /// The aggregate of this name, of values that are sorted while they are collected.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// The function of the array of values.
    pub(super) fn function(self) -> &'static str {
        match self {
            SortedSet::Mode => "mode of",
            SortedSet::PercentileDisc => "percentile_disc of",
            SortedSet::PercentileCont(Collected::Sorted) => "percentile_cont of",
            SortedSet::PercentileCont(Collected::AsTheyCame) => "percentile_cont of any",
        }
    }

    /// What such a function is of.
    fn of_function(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.function() == name)
    }
}

/// Types that are called as functions. Others that PostgreSQL has are words of its syntax: `interval(x)` is none.
const CASTS: &[(&str, SqlType)] = &[
    ("bool", SqlType::Bool),
    ("int2", SqlType::Int2),
    ("int4", SqlType::Int4),
    ("int8", SqlType::Int8),
    ("float4", SqlType::Float4),
    ("float8", SqlType::Float8),
    ("text", SqlType::Text),
    ("name", SqlType::Name),
    ("bytea", SqlType::Bytea),
    ("uuid", SqlType::Uuid),
    ("json", SqlType::Json),
    ("jsonb", SqlType::Jsonb),
    ("date", SqlType::Date),
    ("timestamptz", SqlType::Timestamptz),
];

/// How the names of calls begin that only [`super::syntax`] writes.
const PREFIX: &str = "prefix ";
const ANY: &str = "any ";
const ALL: &str = "all ";
const CAST: &str = "cast to ";
const TRUTH: &str = "condition of ";
const ROW: &str = "row of ";
const FIELD: &str = "field ";

impl Meaning {
    /// The function under a name, ours or PostgreSQL's.
    fn of_function(name: &str) -> Option<Self> {
        Some(match name {
            "coalesce" => Meaning::Coalesce,
            "nullif" => Meaning::NullIf,
            "greatest" => Meaning::Greatest,
            "least" => Meaning::Least,
            "pg_typeof" => Meaning::TypeOf,
            AVERAGE => Meaning::Average,
            _ if name.starts_with(VALUE) => Meaning::Value,
            ARRAY => Meaning::Array,
            IS_DISTINCT | IS_NOT_DISTINCT => Meaning::Binary(name.to_owned()),
            _ => match name.strip_prefix(CAST) {
                Some(sql_type) => Meaning::CastTo(SqlType::parse(sql_type)?),
                None => match SortedSet::of_function(name) {
                    Some(set) => Meaning::OfSorted(set),
                    None => Self::of_operator(name).or_else(|| Self::of_known(name))?,
                },
            },
        })
    }

    fn of_known(name: &str) -> Option<Self> {
        let cast = CASTS.iter().find(|(known, _)| *known == name);
        cast.map(|(name, to)| Meaning::Cast(name, to.clone())).or_else(|| known_function(name).map(Meaning::Function))
    }

    fn of_operator(name: &str) -> Option<Self> {
        let operator = |prefix| name.strip_prefix(prefix).map(str::to_owned);
        operator(PREFIX)
            .map(Meaning::Prefix)
            .or_else(|| operator(ANY).map(Meaning::Any))
            .or_else(|| operator(ALL).map(Meaning::All))
            .or_else(|| operator(TRUTH).map(Meaning::Truth))
            .or_else(|| operator(FIELD).map(Meaning::Field))
            .or_else(|| name.strip_prefix(ROW).and_then(|layout| serde_json::from_str(layout).ok()).map(Meaning::Row))
    }

    /// As messages and plans name it.
    pub(super) fn name(&self) -> &str {
        match self {
            Meaning::Binary(operator) | Meaning::Prefix(operator) => operator,
            Meaning::Any(_) => "ANY",
            Meaning::All(_) => "ALL",
            Meaning::Coalesce => "COALESCE",
            Meaning::NullIf => "NULLIF",
            Meaning::Greatest => "GREATEST",
            Meaning::Least => "LEAST",
            Meaning::Array => "ARRAY",
            Meaning::Row(_) => "ROW",
            Meaning::Field(name) => name,
            Meaning::Average => "avg",
            Meaning::TypeOf => "pg_typeof",
            Meaning::Value => "VALUES",
            Meaning::CastTo(_) => "CAST",
            Meaning::OfSorted(set) => set.name(),
            Meaning::Function(name) | Meaning::Cast(name, _) => name,
            Meaning::Truth(clause) => clause,
            Meaning::Missing(name) => name,
        }
    }
}

/// Names that a statement cannot give a function without quotes.
pub(super) const AVERAGE: &str = "average of";
pub(super) const VALUE: &str = "value of";
pub(super) const ARRAY: &str = "array of";
pub(super) const IS_DISTINCT: &str = "IS DISTINCT FROM";
pub(super) const IS_NOT_DISTINCT: &str = "IS NOT DISTINCT FROM";

pub(super) fn prefix_function(operator: &str) -> String {
    format!("{PREFIX}{operator}")
}

pub(super) fn any_function(operator: &str) -> String {
    format!("{ANY}{operator}")
}

pub(super) fn all_function(operator: &str) -> String {
    format!("{ALL}{operator}")
}

/// The function of a value that is cast to a type.
pub(crate) fn cast_function(sql_type: &SqlType) -> String {
    format!("{CAST}{sql_type}")
}

/// The function of a condition of a clause.
pub(super) fn truth_function(clause: &str) -> String {
    format!("{TRUTH}{clause}")
}

/// What stands for a function that does not exist.
pub(crate) fn missing(name: &str) -> Arc<ScalarUDF> {
    Pending::function(Meaning::Missing(name.to_owned()))
}

/// The function of whether a row is there and of its fields.
pub(crate) fn row_function(layout: &RowLayout) -> String {
    format!("{ROW}{}", serde_json::to_string(layout).unwrap_or_default())
}

/// The function of a row that gives one of its fields.
pub(crate) fn field_function(name: &str) -> String {
    format!("{FIELD}{name}")
}

/// The function under a name, if its meaning waits for the types of its arguments.
pub(crate) fn find(name: &str) -> Option<Arc<ScalarUDF>> {
    Meaning::of_function(name).map(Pending::function)
}

/// A call whose meaning waits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    meaning: Meaning,
    name: String,
    signature: Signature,
}

impl Pending {
    fn function(meaning: Meaning) -> Arc<ScalarUDF> {
        let name = match &meaning {
            Meaning::Coalesce | Meaning::NullIf | Meaning::Greatest | Meaning::Least => meaning.name().to_lowercase(),
            Meaning::Average => AVERAGE.to_owned(),
            // The planner gives a function that it finds under another name an alias, and asks the type of that twice.
            Meaning::Array => ARRAY.to_owned(),
            Meaning::Value => VALUE.to_owned(),
            Meaning::Prefix(operator) => prefix_function(operator),
            Meaning::Any(operator) => any_function(operator),
            Meaning::All(operator) => all_function(operator),
            Meaning::CastTo(sql_type) => cast_function(sql_type),
            Meaning::OfSorted(set) => set.function().to_owned(),
            Meaning::Truth(clause) => truth_function(clause),
            Meaning::Row(layout) => row_function(layout),
            Meaning::Field(name) => field_function(name),
            Meaning::Missing(_) | Meaning::Binary(_) | Meaning::TypeOf | Meaning::Function(_) | Meaning::Cast(..) => {
                meaning.name().to_owned()
            }
        };
        let anything = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        let signature = Signature::new(anything, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Self { meaning, name, signature }))
    }

    pub(super) fn call(meaning: Meaning, operands: Vec<Expr>) -> Expr {
        Self::function(meaning).call(operands)
    }

    pub(super) fn meaning(&self) -> &Meaning {
        &self.meaning
    }

    /// What it gives, as far as that can be told by now.
    fn likely_type(&self, operands: &[Operand]) -> Option<ValueType> {
        match (&self.meaning, operands) {
            (Meaning::Binary(name), [left, right]) => likely_type(name, left, right),
            (Meaning::Prefix(name), [operand]) => likely_prefix_type(name, operand),
            (Meaning::Any(_) | Meaning::All(_) | Meaning::Truth(_), _) => Some(ValueType::boolean()),
            (Meaning::TypeOf, _) => Some(ValueType::of(SqlType::Regtype)),
            (Meaning::CastTo(sql_type), _) => Some(ValueType::of(sql_type.clone())),
            (Meaning::OfSorted(set), [values, fractions]) if matches!(fractions.sql_type(), SqlType::Array(_)) => {
                sorted_set_type(*set, values).map(|item| array_of(&item))
            }
            (Meaning::OfSorted(set), [values, ..]) => sorted_set_type(*set, values),
            (Meaning::NullIf, [left, _]) => Some(left.value_type.clone()),
            (Meaning::Coalesce | Meaning::Greatest | Meaning::Least, operands) => likely_common(operands),
            (Meaning::Array, operands) => {
                likely_common(operands).map(|item| ValueType::of(SqlType::Array(Box::new(item.sql_type))))
            }
            (Meaning::Average, [sum, _]) => Some(match sum.sql_type() {
                SqlType::Float8 | SqlType::Interval => sum.value_type.clone(),
                _ => Shape::bare().value_type(),
            }),
            (Meaning::Value, [value]) if matches!(value.sql_type(), SqlType::Array(_)) => {
                Some(value.value_type.clone())
            }
            (Meaning::Row(layout), operands) => Some(record::likely_type(layout, operands)),
            (Meaning::Field(name), [row]) => record::likely_field_type(name, row),
            (Meaning::Function(name), operands) => function::likely_type(name, operands),
            (Meaning::Cast(_, to), _) => Some(ValueType::of(to.clone())),
            _ => None,
        }
    }
}

/// The type of what is chosen among the values of an array.
pub(super) fn sorted_set_type(set: SortedSet, values: &Operand) -> Option<ValueType> {
    let (SqlType::Array(item), DataType::List(field)) = (values.sql_type(), &values.value_type.data_type) else {
        return None;
    };
    Some(match (set, item.as_ref()) {
        (SortedSet::PercentileCont(_), SqlType::Interval) => ValueType::of(SqlType::Interval),
        (SortedSet::PercentileCont(_), _) => ValueType::of(SqlType::Float8),
        (_, item) => ValueType { sql_type: item.clone(), data_type: field.data_type().clone() },
    })
}

/// An array of values laid out like this.
pub(super) fn array_of(item: &ValueType) -> ValueType {
    let field = Field::new_list_field(item.data_type.clone(), true);
    ValueType { sql_type: SqlType::Array(Box::new(item.sql_type.clone())), data_type: DataType::List(Arc::new(field)) }
}

fn likely_common(operands: &[Operand]) -> Option<ValueType> {
    let common = common_type(operands.iter().map(Operand::sql_type), "").ok()?;
    let same = operands.iter().find(|operand| *operand.sql_type() == common).map(|operand| operand.value_type.clone());
    Some(same.unwrap_or_else(|| ValueType::of(common)))
}

/// An argument as far as it is known: of literals the value, of all others the type.
fn likely_operand(field: &FieldRef, constant: Option<&ScalarValue>) -> Operand {
    let typed = field.metadata().contains_key(TYPE_KEY);
    let (value, value_type) = match constant {
        Some(ScalarValue::Int64(Some(value))) => {
            let value = literal::integer(*value);
            let field = Field::new("", value.data_type(), false);
            (value, ValueType::of_field(&field))
        }
        Some(ScalarValue::Utf8(_)) if !typed => (ScalarValue::Null, ValueType::of(SqlType::Unknown)),
        Some(value) => (value.clone(), ValueType::of_field(field)),
        None => (ScalarValue::Null, ValueType::of_field(field)),
    };
    match constant {
        Some(_) => Operand { expr: Expr::Literal(value, None), value_type },
        None => Operand { expr: Expr::Column(datafusion::common::Column::from_name(field.name())), value_type },
    }
}

impl ScalarUDFImpl for Pending {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        name_as_function(&self.name, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} is a field", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        stoppable::check()?;
        let constants = args.scalar_arguments.iter().copied();
        let operands: Vec<Operand> =
            args.arg_fields.iter().zip(constants).map(|(field, constant)| likely_operand(field, constant)).collect();
        // Planned as rows of nothing it would be refused in the engine's words.
        if let (Meaning::Function("unnest_items"), [operand]) = (&self.meaning, operands.as_slice())
            && !matches!(
                operand.sql_type(),
                SqlType::Array(_) | SqlType::Unknown | SqlType::Int2Vector | SqlType::OidVector
            )
        {
            return Err(DataFusionError::External(function::missing("unnest_items", &operands)));
        }
        Ok(Arc::new(match self.likely_type(&operands) {
            Some(value_type) => value_type.field(&self.name, true),
            // Rows of something, until it is known what: of nothing there are none to the engine.
            None if self.meaning == Meaning::Function("unnest_items") => {
                ValueType::of(SqlType::Array(Box::new(SqlType::Text))).field(&self.name, true)
            }
            None => Field::new(&self.name, DataType::Null, true),
        }))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} was not given the types of its arguments", self.name)
    }
}
