//! How large things are, and sizes for people.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{Definition, FunctionContext, argument, int8, text};
use crate::catalog::DATABASE;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::objects::{TEMPLATE0, TEMPLATE1};
use crate::pg_catalog::references::Reference;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_relation_size", int8, relation_size),
    Definition::new("pg_table_size", int8, relation_size),
    Definition::new("pg_total_relation_size", int8, relation_size),
    Definition::new("pg_indexes_size", int8, indexes_size),
    Definition::new("pg_database_size", int8, database_size),
    Definition::new("pg_tablespace_size", int8, tablespace_size),
    Definition::new("pg_size_pretty", text, size_pretty),
    Definition::new("pg_size_bytes", int8, size_bytes),
];

/// The units of sizes, each 1024 times the one before.
const UNITS: &[&str] = &["bytes", "kB", "MB", "GB", "TB", "PB"];

/// What a table's entities take, before the store compresses them; only tables take anything. NULL for what is no
/// relation.
///
/// # Errors
/// 42P01 for a name that is none, 22023 for a fork that is none.
fn relation_size(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = relation(context, argument(arguments, 0))? else { return Ok(Cell::Null) };
    if context.objects.class_by_oid(oid).is_none() {
        return Ok(Cell::Null);
    }
    let is_main = match arguments.get(1).and_then(Cell::as_text).as_deref() {
        None | Some("main") => true,
        Some("fsm" | "vm" | "init") => false,
        Some(_) => {
            let hint = "Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".";
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, "invalid fork name").with_hint(hint));
        }
    };
    let size = context.sizes.of_table(oid).filter(|_| is_main).unwrap_or_default();
    Ok(Cell::count(size.bytes))
}

/// The key is in the table itself, and there are no other indexes.
fn indexes_size(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = relation(context, argument(arguments, 0))? else { return Ok(Cell::Null) };
    Ok(context.objects.class_by_oid(oid).map(|_| 0).into())
}

/// Of the one database; the templates take nothing. NULL for an OID that is not a database's.
///
/// # Errors
/// 3D000 for a name that is none.
fn database_size(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let given = argument(arguments, 0);
    match (given.as_oid(), given.as_text()) {
        (Some(DATABASE), _) => Ok(Cell::count(context.sizes.database())),
        (Some(TEMPLATE0 | TEMPLATE1), _) => Ok(Cell::count(0)),
        (Some(_), _) | (None, None) => Ok(Cell::Null),
        (None, Some(name)) if context.database.has_name(&name) => Ok(Cell::count(context.sizes.database())),
        (None, Some(name)) if matches!(&*name, "template0" | "template1") => Ok(Cell::count(0)),
        (None, Some(name)) => {
            Err(SqlError::new(ErrorKind::UndefinedDatabase, format!("database \"{name}\" does not exist")))
        }
    }
}

/// Everything is in the default one.
///
/// # Errors
/// 42704 for a name that is none.
fn tablespace_size(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    /// OIDs of `pg_default` and `pg_global`.
    const DEFAULT: u32 = 1663;
    const GLOBAL: u32 = 1664;
    let given = argument(arguments, 0);
    match (given.as_oid(), given.as_text().as_deref()) {
        (Some(DEFAULT), _) | (None, Some("pg_default")) => Ok(Cell::count(context.sizes.database())),
        (Some(GLOBAL), _) | (None, Some("pg_global")) => Ok(Cell::count(0)),
        (Some(_), _) | (None, None) => Ok(Cell::Null),
        (None, Some(name)) => {
            Err(SqlError::new(ErrorKind::UndefinedObject, format!("tablespace \"{name}\" does not exist")))
        }
    }
}

/// The OID of a relation that is given by name or OID.
///
/// # Errors
/// 42P01 for a name that is none.
pub(super) fn relation(context: &FunctionContext, given: &Cell) -> SqlResult<Option<u32>> {
    if let Some(oid) = given.as_oid() {
        return Ok(Some(oid));
    }
    let Some(name) = given.as_text() else { return Ok(None) };
    match Reference::Class.find(context, &name)? {
        Some(oid) => Ok(Some(oid)),
        None => Err(Reference::Class.missing(&name)),
    }
}

fn size_pretty(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    /// A unit is left behind at this many of it.
    const LIMIT: i128 = 10 * 1024;
    let Some(given) = argument(arguments, 0).as_text() else { return Ok(Cell::Null) };
    let (whole, fraction) = given.split_once('.').unwrap_or((&given, ""));
    let Ok(mut size) = whole.parse::<i128>() else { return Ok(Cell::Null) };
    if size.abs() < LIMIT {
        return Ok(format!("{given} bytes").into());
    }
    if fraction.starts_with(['5', '6', '7', '8', '9']) {
        size += size.signum();
    }
    // Halves of a unit, to round by.
    let mut halves = size / 512;
    for (index, unit) in UNITS.iter().enumerate().skip(1) {
        if halves.abs() < 2 * LIMIT - 1 || index + 1 == UNITS.len() {
            return Ok(format!("{} {unit}", (halves + halves.signum()) / 2).into());
        }
        halves /= 1024;
    }
    Ok(Cell::Null)
}

fn size_bytes(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let text = argument(arguments, 0).as_text().unwrap_or_default();
    Ok(bytes_of(&text)?.into())
}

/// # Errors
/// 22023 for what is not a size.
fn bytes_of(text: &str) -> SqlResult<i64> {
    let invalid = || SqlError::new(ErrorKind::InvalidParameterValue, format!("invalid size: \"{text}\""));
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let number: f64 = number.trim().parse().map_err(|_not_one| invalid())?;
    let power = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        unit => UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)).ok_or_else(|| {
            let hint = "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
            invalid().with_detail(format!("Invalid size unit: \"{unit}\".")).with_hint(hint)
        })?,
    };
    let factor = 1024_f64.powi(i32::try_from(power).unwrap_or(i32::MAX));
    let bytes = (number * factor).round();
    let fits = bytes.abs() < 9.2e18;
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    if fits { Ok(bytes as i64) } else { Err(SqlError::new(ErrorKind::NumericOutOfRange, "bigint out of range")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let context = FunctionContext::for_tests(Vec::new());
        for (bytes, shown) in [
            ("0", "0 bytes"),
            ("10239", "10239 bytes"),
            ("10240", "10 kB"),
            ("1073741824", "1024 MB"),
            ("-20000", "-20 kB"),
            ("1234567890123", "1150 GB"),
            ("123456789.5", "118 MB"),
            ("1.50", "1.50 bytes"),
        ] {
            assert_eq!(size_pretty(&context, &[bytes.into()]).unwrap(), shown.into());
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes_of(" 10 kB").unwrap(), 10_240);
        assert_eq!(bytes_of("1.5MB").unwrap(), 1_572_864);
        assert_eq!(bytes_of("-3 TB").unwrap(), -3_298_534_883_328);
        assert!(bytes_of("3 XB").is_err());
    }
}
