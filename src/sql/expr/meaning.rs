//! What a call means: an operator, a function, or a form of PostgreSQL's that is neither. Which of the operators and functions of
//! a name it is hangs on the types of its operands.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use tablegate_types::functions::known as known_function;
use tablegate_types::sql_type::SqlType;

use super::operand::Operand;
use super::record::RowLayout;
use super::typed::ValueType;

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
    /// `pg_typeof`
    TypeOf,
    /// An aggregate of sorted values, of the array of them.
    OfSorted(SortedSet),
    /// One of the functions of this name.
    Function(&'static str),
    /// A type called as a function: `date(x)` is `x::date`.
    Cast(&'static str, SqlType),
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

pub(super) const IS_DISTINCT: &str = "IS DISTINCT FROM";
impl Meaning {
    /// The function of this name, ours or PostgreSQL's; `None` for one that answers from the catalogue or the session.
    pub(super) fn named(name: &str) -> Option<Self> {
        if name == "pg_typeof" {
            return Some(Meaning::TypeOf);
        }
        let cast = CASTS.iter().find(|(known, _)| *known == name);
        cast.map(|(name, to)| Meaning::Cast(name, to.clone())).or_else(|| known_function(name).map(Meaning::Function))
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
            Meaning::TypeOf => "pg_typeof",
            Meaning::OfSorted(set) => set.name(),
            Meaning::Function(name) | Meaning::Cast(name, _) => name,
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
