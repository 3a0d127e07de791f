//! The numbers of SQL types, in the catalogue and on the wire: OIDs, sizes and modifiers, as in PostgreSQL 15.

use std::mem::discriminant;

use crate::sql_type::{BARE_NUMERIC_PRECISION, CatalogType, SqlType, TimeLimits, TimeType};

/// A type without its parameters.
struct Entry {
    sql_type: SqlType,
    oid: u32,
    array_oid: u32,
    size: i16,
}

const fn entry(sql_type: SqlType, oid: u32, array_oid: u32, size: i16) -> Entry {
    Entry { sql_type, oid, array_oid, size }
}

/// The size of types whose values differ in length.
const VARIABLE: i16 = -1;

const TYPES: &[Entry] = &[
    entry(SqlType::Bool, 16, 1000, 1),
    entry(SqlType::Bytea, 17, 1001, VARIABLE),
    entry(SqlType::InternalChar, 18, 1002, 1),
    entry(SqlType::Name, 19, 1003, 64),
    entry(SqlType::Int8, 20, 1016, 8),
    entry(SqlType::Int2, 21, 1005, 2),
    entry(SqlType::Int2Vector, 22, 1006, VARIABLE),
    entry(SqlType::Int4, 23, 1007, 4),
    entry(SqlType::Regproc, 24, 1008, 4),
    entry(SqlType::Text, 25, 1009, VARIABLE),
    entry(SqlType::Oid, 26, 1028, 4),
    entry(SqlType::Catalog(CatalogType::Xid), 28, 1011, 4),
    entry(SqlType::OidVector, 30, 1013, VARIABLE),
    entry(SqlType::Json, 114, 199, VARIABLE),
    entry(SqlType::Catalog(CatalogType::NodeTree), 194, 0, VARIABLE),
    entry(SqlType::Float4, 700, 1021, 4),
    entry(SqlType::Float8, 701, 1022, 8),
    entry(SqlType::Catalog(CatalogType::Inet), 869, 1041, VARIABLE),
    entry(SqlType::Catalog(CatalogType::AclItem), 1033, 1034, 12),
    entry(SqlType::Varchar(None), 1043, 1015, VARIABLE),
    entry(SqlType::Date, 1082, 1182, 4),
    entry(SqlType::Time, 1083, 1183, 8),
    entry(SqlType::Timestamp, 1114, 1115, 8),
    entry(SqlType::Timestamptz, 1184, 1185, 8),
    entry(SqlType::Interval, 1186, 1187, 16),
    entry(SqlType::Catalog(CatalogType::Bit), 1560, 1561, VARIABLE),
    entry(SqlType::Numeric(None), 1700, 1231, VARIABLE),
    entry(SqlType::Regclass, 2205, 2210, 4),
    entry(SqlType::Regtype, 2206, 2211, 4),
    entry(SqlType::Catalog(CatalogType::AnyArray), 2277, 0, VARIABLE),
    entry(SqlType::Void, 2278, 0, 4),
    entry(SqlType::Uuid, 2950, 2951, 16),
    entry(SqlType::Catalog(CatalogType::Lsn), 3220, 3221, 8),
    entry(SqlType::Catalog(CatalogType::NDistinct), 3361, 0, VARIABLE),
    entry(SqlType::Catalog(CatalogType::Dependencies), 3402, 0, VARIABLE),
    entry(SqlType::Jsonb, 3802, 3807, VARIABLE),
    entry(SqlType::Catalog(CatalogType::McvList), 5017, 0, VARIABLE),
    entry(SqlType::Catalog(CatalogType::Statistic), PG_STATISTIC, 10_028, VARIABLE),
    entry(SqlType::Catalog(CatalogType::Regprocedure), 2202, 2207, 4),
    entry(SqlType::Catalog(CatalogType::Regoper), 2203, 2208, 4),
    entry(SqlType::Catalog(CatalogType::Regoperator), 2204, 2209, 4),
    entry(SqlType::Catalog(CatalogType::Regnamespace), 4089, 4090, 4),
    entry(SqlType::Catalog(CatalogType::Regrole), 4096, 4097, 4),
    entry(SqlType::Catalog(CatalogType::Regcollation), 4191, 4192, 4),
    entry(SqlType::Catalog(CatalogType::Regconfig), 3734, 3735, 4),
    entry(SqlType::Catalog(CatalogType::Regdictionary), 3769, 3770, 4),
];

/// The row type of the relation `pg_statistic`, which is no type of the wire protocol's own.
const PG_STATISTIC: u32 = 10_029;
/// `character(n)`, which has no form without a length.
const BPCHAR: (u32, u32) = (1042, 1014);
/// A literal of no type yet.
const UNKNOWN: u32 = 705;
const TEXT: (u32, u32) = (25, 1009);
/// A row of no table.
const RECORD: (u32, u32) = (2249, 2287);
/// Room for the length word in PostgreSQL's type modifiers.
const MODIFIER_OFFSET: i32 = 4;

/// The OID of a type, as in `pg_type`.
pub fn oid(sql_type: &SqlType) -> u32 {
    match sql_type {
        // However many dimensions an array has, it is of one type.
        SqlType::Array(item) if matches!(**item, SqlType::Array(_)) => oid(item),
        SqlType::Array(item) => oids(item).1,
        SqlType::Unknown => UNKNOWN,
        other => oids(other).0,
    }
}

/// `bpchar`, a `character` whose length is not said.
pub const BPCHAR_OID: u32 = BPCHAR.0;

/// The OID that a client is told: what is still unknown is sent as text.
pub fn sent_oid(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Unknown => TEXT.0,
        other => oid(other),
    }
}

/// The type of an OID that a client declared: `Some(Unknown)` where it leaves the type open, `None` for a type that is
/// not known here.
pub fn of_oid(wanted: u32) -> Option<SqlType> {
    match wanted {
        0 | UNKNOWN => Some(SqlType::Unknown),
        _ if wanted == BPCHAR.0 => Some(SqlType::Text),
        _ if wanted == BPCHAR.1 => Some(SqlType::Array(Box::new(SqlType::Text))),
        _ => TYPES.iter().find_map(|entry| match entry {
            entry if entry.oid == wanted => Some(entry.sql_type.clone()),
            entry if entry.array_oid == wanted => Some(SqlType::Array(Box::new(entry.sql_type.clone()))),
            _ => None,
        }),
    }
}

/// The type of an OID with its modifier, as a declaration says it; `None` for one that is not known here.
pub fn declared_of_oid(wanted: u32, modifier: i32) -> Option<SqlType> {
    let known = of_oid(wanted)?;
    if modifier < 0 {
        return Some(known);
    }
    let length = || u32::try_from(modifier - MODIFIER_OFFSET).ok();
    let of_time = |of| TimeLimits::of_modifier(of, modifier.into()).map(SqlType::Limited);
    match known {
        SqlType::Array(item) => {
            let item = if wanted == BPCHAR.1 { BPCHAR.0 } else { oid(&item) };
            Some(SqlType::Array(Box::new(declared_of_oid(item, modifier)?)))
        }
        SqlType::Text if wanted == BPCHAR.0 => length().map(SqlType::Char),
        SqlType::Varchar(_) => length().map(|length| SqlType::Varchar(Some(length))),
        SqlType::Numeric(_) => {
            let packed = modifier - MODIFIER_OFFSET;
            let (precision, scale) = ((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024);
            // More digits than there can be bind nobody.
            let precision = u8::try_from(precision).map_or(BARE_NUMERIC_PRECISION, |p| p.min(BARE_NUMERIC_PRECISION));
            let scale = i8::try_from(scale).ok()?;
            let is_held = (0..=precision.cast_signed()).contains(&scale);
            is_held.then_some(SqlType::Numeric(Some((precision, scale))))
        }
        SqlType::Time => of_time(TimeType::Time),
        SqlType::Timestamp => of_time(TimeType::Timestamp),
        SqlType::Timestamptz => of_time(TimeType::Timestamptz),
        SqlType::Interval => of_time(TimeType::Interval),
        other => Some(other),
    }
}

/// The OID of a type, as [`sent_oid`] gives it, and the fixed size of its values, or -1.
pub fn oid_and_size(sql_type: &SqlType) -> (u32, i16) {
    match sql_type {
        SqlType::Array(_) | SqlType::Char(_) | SqlType::Record(_) => (oid(sql_type), VARIABLE),
        other => find(other).map_or((TEXT.0, VARIABLE), |entry| (entry.oid, entry.size)),
    }
}

/// The type modifier: length, or precision and scale; -1 when there is none.
pub fn modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(length) => {
            i32::try_from(*length).ok().and_then(|length| length.checked_add(MODIFIER_OFFSET)).unwrap_or(-1)
        }
        SqlType::Numeric(Some((precision, scale))) => {
            ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + MODIFIER_OFFSET
        }
        SqlType::Limited(limits) => limits.modifier(),
        SqlType::Array(item) => modifier(item),
        _ => -1,
    }
}

/// The OIDs of a type and of its array.
fn oids(sql_type: &SqlType) -> (u32, u32) {
    match sql_type {
        SqlType::Char(_) => BPCHAR,
        SqlType::Record(row) => row.table.as_ref().map_or(RECORD, |table| (table.oid, table.array_oid)),
        other => find(other).map_or(TEXT, |entry| (entry.oid, entry.array_oid)),
    }
}

fn find(sql_type: &SqlType) -> Option<&'static Entry> {
    let bare = match sql_type {
        SqlType::Varchar(_) => &SqlType::Varchar(None),
        SqlType::Numeric(_) | SqlType::Quotient => &SqlType::Numeric(None),
        SqlType::Limited(limits) => limits.of().bare(),
        other => other,
    };
    let kind = discriminant(bare);
    TYPES.iter().find(|entry| discriminant(&entry.sql_type) == kind && entry.sql_type == *bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_oid_is_read_back() {
        for entry in TYPES {
            assert_eq!(of_oid(oid(&entry.sql_type)).as_ref(), Some(&entry.sql_type));
            if entry.array_oid != 0 {
                let array = SqlType::Array(Box::new(entry.sql_type.clone()));
                assert_eq!(of_oid(oid(&array)), Some(array));
            }
        }
        assert_eq!(of_oid(0), Some(SqlType::Unknown));
        assert_eq!(of_oid(600), None);
    }

    #[test]
    fn the_oids_are_those_postgres_types_knows() {
        use postgres_types::Type;
        for entry in TYPES.iter().filter(|entry| entry.oid != PG_STATISTIC) {
            let known = Type::from_oid(entry.oid).unwrap();
            let name = match &entry.sql_type {
                SqlType::InternalChar => "char",
                SqlType::Bool => "bool",
                SqlType::Int2 => "int2",
                SqlType::Int4 => "int4",
                SqlType::Int8 => "int8",
                SqlType::Float4 => "float4",
                SqlType::Float8 => "float8",
                SqlType::Varchar(None) => "varchar",
                SqlType::Time => "time",
                SqlType::Timestamp => "timestamp",
                SqlType::Timestamptz => "timestamptz",
                other => &other.to_string(),
            };
            assert_eq!(known.name(), name);
            if entry.array_oid != 0 {
                assert_eq!(Type::from_oid(entry.array_oid).unwrap().name(), format!("_{name}"));
            }
        }
    }

    #[test]
    fn modifiers_are_those_of_postgres() {
        assert_eq!(modifier(&SqlType::Varchar(Some(10))), 14);
        assert_eq!(modifier(&SqlType::Numeric(Some((12, 2)))), (12 << 16 | 2) + 4);
        assert_eq!(modifier(&SqlType::Array(Box::new(SqlType::Char(3)))), 7);
        assert_eq!(modifier(&SqlType::Int4), -1);
        let limited = SqlType::Limited(TimeLimits::digits(TimeType::Timestamptz, 3));
        assert_eq!((oid_and_size(&limited), modifier(&limited)), ((1184, 8), 3));
        let array = |item| SqlType::Array(Box::new(item));
        for declared in [
            SqlType::Varchar(Some(10)),
            SqlType::Char(3),
            SqlType::Numeric(Some((12, 2))),
            SqlType::Limited(TimeLimits::digits(TimeType::Time, 2)),
            SqlType::Limited(TimeLimits::digits(TimeType::Interval, 0)),
            array(SqlType::Varchar(Some(5))),
            array(SqlType::Char(2)),
            SqlType::Int4,
        ] {
            let again = declared_of_oid(oid(&declared), modifier(&declared));
            assert_eq!(again, Some(declared));
        }
        let of_each = [SqlType::Char(3), SqlType::Int4, SqlType::Text, SqlType::Array(Box::new(SqlType::Int4))];
        let expected = [(1042, -1), (23, 4), (25, -1), (1007, -1)];
        assert_eq!(of_each.each_ref().map(oid_and_size), expected);
        assert_eq!((oid(&SqlType::Unknown), sent_oid(&SqlType::Unknown)), (705, 25));
    }
}
