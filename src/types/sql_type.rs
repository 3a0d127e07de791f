//! The SQL types: their PostgreSQL names, their Arrow form, and how a column carries its declared type.
//!
//! Arrow says less than SQL (`varchar(10)` and `jsonb` are both Utf8), so a field whose SQL type is not the obvious one
//! of its Arrow type carries the SQL name in its metadata under [`TYPE_KEY`]. The metadata is believed only when it
//! agrees with the Arrow type, because DataFusion may carry it through a cast.

mod catalog_type;
mod row;
mod time_limits;

use std::borrow::Cow;
use std::fmt;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};

pub use self::catalog_type::CatalogType;
pub use self::row::{RowType, TableRow, row_field};
pub use self::time_limits::{IntervalFields, TimeLimits, TimeType};

/// Metadata key of a field's declared SQL type, as [`SqlType::tag`] writes it.
pub const TYPE_KEY: &str = "pg_type";

/// Precision of `numeric` without precision, in decimal digits: the most Arrow's Decimal256 holds.
pub const BARE_NUMERIC_PRECISION: u8 = 76;
/// Scale at which `numeric` without scale is computed.
pub const BARE_NUMERIC_SCALE: i8 = 20;
/// What a field's metadata says of a quotient.
const QUOTIENT_TAG: &str = "numeric of a division";
/// Most digits of a `numeric(p, s)` held as Arrow Decimal128.
const DECIMAL128_MAX_PRECISION: u8 = 38;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SqlType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// Precision and scale; `None` for bare `numeric`.
    Numeric(Option<(u8, i8)>),
    /// A bare `numeric` that is a quotient, and is shown with a quotient's digits. As of the limits of a time type, expressions know
    /// nothing of it: what is computed from a quotient is none.
    Quotient,
    Text,
    /// Length in characters.
    Varchar(Option<u32>),
    /// Length in characters; blank-padded in PostgreSQL.
    Char(u32),
    Name,
    Json,
    Jsonb,
    Bytea,
    Uuid,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    /// A time type that keeps fewer digits or fields, as a column or a cast declares it: `timestamp(3)`.
    Limited(TimeLimits),
    Oid,
    /// The catalogue's one-byte `"char"`.
    InternalChar,
    /// A reference to a relation, printed by name.
    Regclass,
    /// A reference to a type, printed by name.
    Regtype,
    /// A reference to a function, printed by name.
    Regproc,
    /// The catalogue's `int2vector`.
    Int2Vector,
    /// The catalogue's `oidvector`.
    OidVector,
    /// A type that tables cannot have.
    Catalog(CatalogType),
    /// One-dimensional array.
    Array(Box<SqlType>),
    /// A row.
    Record(RowType),
    Void,
    /// A literal or parameter whose type is not known yet; text on the wire.
    Unknown,
}

impl SqlType {
    /// The Arrow type values of this type have in a record batch.
    pub fn arrow(&self) -> DataType {
        match self {
            SqlType::Bool => DataType::Boolean,
            SqlType::Int2 => DataType::Int16,
            SqlType::Int4 => DataType::Int32,
            SqlType::Int8 => DataType::Int64,
            SqlType::Float4 => DataType::Float32,
            SqlType::Float8 => DataType::Float64,
            SqlType::Numeric(Some((p, s))) if *p <= DECIMAL128_MAX_PRECISION => DataType::Decimal128(*p, *s),
            SqlType::Numeric(Some((p, s))) => DataType::Decimal256(*p, *s),
            SqlType::Numeric(None) | SqlType::Quotient => {
                DataType::Decimal256(BARE_NUMERIC_PRECISION, BARE_NUMERIC_SCALE)
            }
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Name
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::InternalChar
            | SqlType::Regclass
            | SqlType::Regtype
            | SqlType::Unknown => DataType::Utf8,
            SqlType::Bytea => DataType::Binary,
            SqlType::Uuid => DataType::FixedSizeBinary(16),
            SqlType::Date => DataType::Date32,
            SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
            SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            SqlType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            SqlType::Limited(limits) => limits.of().bare().arrow(),
            SqlType::Oid | SqlType::Regproc => DataType::UInt32,
            SqlType::Catalog(catalog) => catalog.arrow(),
            SqlType::Int2Vector => SqlType::Array(Box::new(SqlType::Int2)).arrow(),
            SqlType::OidVector => SqlType::Array(Box::new(SqlType::Oid)).arrow(),
            SqlType::Array(item) => DataType::List(Field::new_list_field(item.arrow(), true).into()),
            SqlType::Record(row) => row.arrow(),
            // One value, which is written as nothing.
            SqlType::Void => DataType::Utf8,
        }
    }

    /// A field of this type, carrying the declared type when Arrow alone does not say it. Of a numeric it does not say
    /// whether its precision is declared, or that of a computation.
    pub fn field(&self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.arrow(), nullable);
        if SqlType::of_arrow(field.data_type()) == *self && (!self.is_of_numerics() || *self == SqlType::Numeric(None))
        {
            field
        } else {
            field.with_metadata([(TYPE_KEY.to_owned(), self.tag())].into())
        }
    }

    /// What a field's metadata says of this type: its name, and of a table's row type what `pg_type` has about it.
    pub fn tag(&self) -> String {
        match self {
            SqlType::Record(RowType { table: Some(table), .. }) => RowType::tag(table).unwrap_or_default(),
            SqlType::Array(item) => format!("{}[]", item.tag()),
            SqlType::Quotient => QUOTIENT_TAG.to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether its values are references to objects of the catalogue, printed by name.
    pub fn names_objects(&self) -> bool {
        match self {
            SqlType::Regclass | SqlType::Regtype | SqlType::Regproc => true,
            SqlType::Catalog(catalog) => catalog.names_objects(),
            _ => false,
        }
    }

    /// Whether its values are such references, or lists of them: their binary form is the OID.
    pub fn is_of_references(&self) -> bool {
        match self {
            SqlType::Array(item) => item.is_of_references(),
            other => other.names_objects(),
        }
    }

    /// The type of the values: a time type without its limits, and a numeric of which it does not matter what it was made by.
    pub fn bare(&self) -> Cow<'_, Self> {
        match self {
            SqlType::Limited(limits) => Cow::Borrowed(limits.of().bare()),
            SqlType::Quotient => Cow::Owned(SqlType::Numeric(None)),
            SqlType::Array(item) => match item.bare() {
                Cow::Borrowed(bare) if *bare == **item => Cow::Borrowed(self),
                bare => Cow::Owned(SqlType::Array(Box::new(bare.into_owned()))),
            },
            other => Cow::Borrowed(other),
        }
    }

    /// The SQL type of a field's values: its declared type, else the obvious one of its Arrow type. Limits of time types
    /// are left out.
    pub fn of_field(field: &Field) -> Self {
        SqlType::declared_in(field).bare().into_owned()
    }

    /// As [`SqlType::of_field`], with the limits of a time type.
    pub fn declared_in(field: &Field) -> Self {
        let declared = field.metadata().get(TYPE_KEY).and_then(|text| SqlType::parse(text));
        match declared {
            Some(declared) => declared.laid_out(field.data_type()),
            None => SqlType::of_arrow(field.data_type()),
        }
    }

    /// This type as the metadata of a field declares it, if it can be believed.
    fn laid_out(self, data_type: &DataType) -> Self {
        match (self, data_type) {
            (SqlType::Record(row), DataType::Struct(fields)) => {
                SqlType::Record(RowType { fields: fields.clone(), ..row })
            }
            (SqlType::Array(item), DataType::List(field)) if matches!(field.data_type(), DataType::Struct(_)) => {
                SqlType::Array(Box::new(item.laid_out(field.data_type())))
            }
            (declared, data_type) if arrow_agrees(&declared.arrow(), data_type) => declared,
            (_, data_type) => SqlType::of_arrow(data_type),
        }
    }

    /// Whether the length or precision in the type of a field was declared.
    pub fn is_declared(field: &Field) -> bool {
        !SqlType::of_field(field).is_of_numerics() || field.metadata().contains_key(TYPE_KEY)
    }

    fn is_of_numerics(&self) -> bool {
        match self {
            SqlType::Numeric(_) | SqlType::Quotient => true,
            SqlType::Array(item) => item.is_of_numerics(),
            _ => false,
        }
    }

    /// The SQL type that an Arrow type shows as when nothing was declared.
    pub fn of_arrow(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => SqlType::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => SqlType::Int2,
            DataType::UInt16 | DataType::Int32 => SqlType::Int4,
            DataType::UInt32 => SqlType::Oid,
            DataType::Int64 => SqlType::Int8,
            DataType::UInt64 => SqlType::Int8,
            DataType::Float16 | DataType::Float32 => SqlType::Float4,
            DataType::Float64 => SqlType::Float8,
            DataType::Decimal256(BARE_NUMERIC_PRECISION, BARE_NUMERIC_SCALE) => SqlType::Numeric(None),
            DataType::Decimal32(p, s)
            | DataType::Decimal64(p, s)
            | DataType::Decimal128(p, s)
            | DataType::Decimal256(p, s) => SqlType::Numeric(Some((*p, *s))),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => SqlType::Bytea,
            DataType::FixedSizeBinary(16) => SqlType::Uuid,
            DataType::FixedSizeBinary(_) => SqlType::Bytea,
            DataType::Date32 | DataType::Date64 => SqlType::Date,
            DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
            DataType::Timestamp(_, None) => SqlType::Timestamp,
            DataType::Timestamp(_, Some(_)) => SqlType::Timestamptz,
            DataType::Interval(_) | DataType::Duration(_) => SqlType::Interval,
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _) => SqlType::Array(Box::new(SqlType::of_field(item))),
            DataType::Dictionary(_, values) => SqlType::of_arrow(values),
            DataType::RunEndEncoded(_, values) => SqlType::of_field(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => SqlType::Text,
            DataType::Struct(fields) => SqlType::Record(RowType::of_fields(fields)),
            DataType::Union(..) | DataType::Map(..) => SqlType::Text,
        }
    }

    /// The type of a name in pg_type, where arrays begin with `_`; `None` for one that is not known here.
    pub fn of_typname(name: &str) -> Option<Self> {
        if let Some(item) = name.strip_prefix('_') {
            return Some(SqlType::Array(Box::new(SqlType::of_typname(item)?)));
        }
        Some(match name {
            "bool" => SqlType::Bool,
            "int2" => SqlType::Int2,
            "int4" => SqlType::Int4,
            "int8" => SqlType::Int8,
            "float4" => SqlType::Float4,
            "float8" => SqlType::Float8,
            "numeric" => SqlType::Numeric(None),
            "text" => SqlType::Text,
            "varchar" => SqlType::Varchar(None),
            "bpchar" => SqlType::Char(1),
            "name" => SqlType::Name,
            "json" => SqlType::Json,
            "jsonb" => SqlType::Jsonb,
            "bytea" => SqlType::Bytea,
            "uuid" => SqlType::Uuid,
            "date" => SqlType::Date,
            "time" => SqlType::Time,
            "timestamp" => SqlType::Timestamp,
            "timestamptz" => SqlType::Timestamptz,
            "interval" => SqlType::Interval,
            "oid" => SqlType::Oid,
            "char" => SqlType::InternalChar,
            "regproc" => SqlType::Regproc,
            "regclass" => SqlType::Regclass,
            "regtype" => SqlType::Regtype,
            "int2vector" => SqlType::Int2Vector,
            "oidvector" => SqlType::OidVector,
            other => SqlType::Catalog(CatalogType::of_name(other)?),
        })
    }

    /// Reads what [`SqlType::tag`] writes, of rows without their fields. `None` for anything else: user input goes through
    /// the SQL parser instead.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(item) = text.strip_suffix("[]") {
            return Some(SqlType::Array(Box::new(SqlType::parse(item)?)));
        }
        if text == QUOTIENT_TAG {
            return Some(SqlType::Quotient);
        }
        if let Some(row) = RowType::of_tag(text) {
            return Some(SqlType::Record(row));
        }
        if let Some((name, arguments)) = text.strip_suffix(')').and_then(|t| t.split_once('(')) {
            return match name {
                "character varying" => Some(SqlType::Varchar(Some(arguments.parse().ok()?))),
                "character" => Some(SqlType::Char(arguments.parse().ok()?)),
                "numeric" => {
                    let (p, s) = arguments.split_once(',')?;
                    Some(SqlType::Numeric(Some((p.parse().ok()?, s.parse().ok()?))))
                }
                _ => TimeLimits::parse(text).map(SqlType::Limited),
            };
        }
        if let Some(limits) = TimeLimits::parse(text) {
            return Some(SqlType::Limited(limits));
        }
        let catalog = || CatalogType::of_name(text).map(SqlType::Catalog);
        UNPARAMETERISED.iter().find(|t| t.to_string() == text).cloned().or_else(catalog)
    }
}

/// Every type whose name stands alone, for reading names back.
const UNPARAMETERISED: &[SqlType] = &[
    SqlType::Bool,
    SqlType::Int2,
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Float4,
    SqlType::Float8,
    SqlType::Numeric(None),
    SqlType::Text,
    SqlType::Varchar(None),
    SqlType::Name,
    SqlType::Json,
    SqlType::Jsonb,
    SqlType::Bytea,
    SqlType::Uuid,
    SqlType::Date,
    SqlType::Time,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Interval,
    SqlType::Oid,
    SqlType::InternalChar,
    SqlType::Regclass,
    SqlType::Regtype,
    SqlType::Regproc,
    SqlType::Int2Vector,
    SqlType::OidVector,
    SqlType::Void,
    SqlType::Unknown,
];

/// Whether metadata that declares `declared` can be believed on a field of type `actual`: string and binary layouts are
/// interchangeable, everything else must be equal.
fn arrow_agrees(declared: &DataType, actual: &DataType) -> bool {
    match (declared, actual) {
        (DataType::Utf8, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => true,
        (DataType::Utf8, DataType::Dictionary(_, values)) => arrow_agrees(declared, values),
        (DataType::Binary, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => true,
        (DataType::List(a), DataType::List(b)) => arrow_agrees(a.data_type(), b.data_type()),
        // A numeric without precision is computed with as many digits as the computation needs.
        (
            DataType::Decimal256(BARE_NUMERIC_PRECISION, BARE_NUMERIC_SCALE),
            DataType::Decimal128(..) | DataType::Decimal256(..),
        ) => true,
        _ => declared == actual,
    }
}

impl fmt::Display for SqlType {
    /// The name PostgreSQL's `format_type` prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Bool => f.write_str("boolean"),
            SqlType::Int2 => f.write_str("smallint"),
            SqlType::Int4 => f.write_str("integer"),
            SqlType::Int8 => f.write_str("bigint"),
            SqlType::Float4 => f.write_str("real"),
            SqlType::Float8 => f.write_str("double precision"),
            SqlType::Numeric(None) | SqlType::Quotient => f.write_str("numeric"),
            SqlType::Numeric(Some((p, s))) => write!(f, "numeric({p},{s})"),
            SqlType::Text => f.write_str("text"),
            SqlType::Varchar(None) => f.write_str("character varying"),
            SqlType::Varchar(Some(n)) => write!(f, "character varying({n})"),
            SqlType::Char(n) => write!(f, "character({n})"),
            SqlType::Name => f.write_str("name"),
            SqlType::Json => f.write_str("json"),
            SqlType::Jsonb => f.write_str("jsonb"),
            SqlType::Bytea => f.write_str("bytea"),
            SqlType::Uuid => f.write_str("uuid"),
            SqlType::Date => f.write_str("date"),
            SqlType::Time => f.write_str("time without time zone"),
            SqlType::Timestamp => f.write_str("timestamp without time zone"),
            SqlType::Timestamptz => f.write_str("timestamp with time zone"),
            SqlType::Interval => f.write_str("interval"),
            SqlType::Limited(limits) => write!(f, "{limits}"),
            SqlType::Oid => f.write_str("oid"),
            SqlType::InternalChar => f.write_str("\"char\""),
            SqlType::Regclass => f.write_str("regclass"),
            SqlType::Regtype => f.write_str("regtype"),
            SqlType::Regproc => f.write_str("regproc"),
            SqlType::Int2Vector => f.write_str("int2vector"),
            SqlType::OidVector => f.write_str("oidvector"),
            SqlType::Catalog(catalog) => f.write_str(catalog.name()),
            SqlType::Array(item) => write!(f, "{item}[]"),
            SqlType::Record(RowType { table: Some(table), .. }) => f.write_str(&table.name),
            SqlType::Record(_) => f.write_str("record"),
            SqlType::Void => f.write_str("void"),
            SqlType::Unknown => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_keeps_its_declared_type() {
        let parameterised = [
            SqlType::Varchar(Some(10)),
            SqlType::Char(3),
            SqlType::Numeric(Some((12, 2))),
            SqlType::Numeric(Some((50, 4))),
        ];
        let arrays = [SqlType::Array(Box::new(SqlType::Text)), SqlType::Array(Box::new(SqlType::Varchar(Some(3))))];
        let catalog: Vec<SqlType> = CatalogType::ALL.iter().copied().map(SqlType::Catalog).collect();
        for sql_type in UNPARAMETERISED.iter().chain(&parameterised).chain(&arrays).chain(&catalog) {
            assert_eq!(SqlType::of_field(&sql_type.field("c", true)), *sql_type);
        }
    }

    #[test]
    fn values_have_no_limits() {
        let limited = SqlType::Limited(TimeLimits::digits(TimeType::Timestamp, 3));
        for (declared, bare) in [
            (limited.clone(), SqlType::Timestamp),
            (SqlType::Array(Box::new(limited)), SqlType::Array(Box::new(SqlType::Timestamp))),
            (SqlType::Quotient, SqlType::Numeric(None)),
        ] {
            let field = declared.field("c", true);
            assert_eq!(SqlType::declared_in(&field), declared);
            assert_eq!(SqlType::of_field(&field), bare);
        }
    }

    #[test]
    fn metadata_is_not_believed_after_a_cast() {
        let field = SqlType::Varchar(Some(10)).field("c", true).with_data_type(DataType::Int32);
        assert_eq!(SqlType::of_field(&field), SqlType::Int4);
    }
}
