//! `pg_column_size`: the bytes that PostgreSQL takes for a value in memory.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int32Type;

use super::call::Call;
use super::signature::Overload;
use super::signature::Type::{Any, Int4};
use crate::error::{SqlError, SqlResult};
use crate::output::{Style, TextColumn};
use crate::sql_type::{CatalogType, SqlType};

pub(super) const FUNCTIONS: &[Overload] = &[Overload::new("pg_column_size", &[Any], Int4, size)];

/// In front of a value whose length is its own.
const LENGTH: usize = 4;
/// In front of an array's items, and once more for its dimension.
const ARRAY: usize = 16;
const DIMENSION: usize = 8;
/// Sign and weight of a numeric, whose digits are counted by four.
const NUMERIC: usize = 2;
const NAME: usize = 64;

fn size(call: &Call) -> SqlResult<ArrayRef> {
    let Some(argument) = call.arguments.first() else { return call.numbers::<Int32Type>(|_| Ok(0)) };
    call.numbers::<Int32Type>(|row| {
        let bytes = of_value(&argument.array, &argument.sql_type, argument.index(row))?;
        super::strings::int4(bytes)
    })
}

fn of_value(array: &ArrayRef, sql_type: &SqlType, row: usize) -> SqlResult<usize> {
    if let Some(bytes) = fixed(sql_type) {
        return Ok(bytes);
    }
    Ok(match sql_type {
        SqlType::Bytea => LENGTH + array.as_binary_opt::<i32>().map_or(0, |values| values.value(row).len()),
        SqlType::Numeric(_) => LENGTH + NUMERIC + 2 * groups_of_digits(&text(array, sql_type, row)),
        SqlType::Array(item) => of_array(&array.as_list::<i32>().value(row), item)?,
        SqlType::Int2Vector => ARRAY + DIMENSION + 2 * array.as_list::<i32>().value(row).len(),
        SqlType::OidVector => ARRAY + DIMENSION + 4 * array.as_list::<i32>().value(row).len(),
        SqlType::Jsonb | SqlType::Record(_) => {
            return Err(SqlError::not_supported(format!("pg_column_size of type {sql_type}")));
        }
        _ => LENGTH + text(array, sql_type, row).len(),
    })
}

/// The size of all values of a type; `None` where they differ.
fn fixed(sql_type: &SqlType) -> Option<usize> {
    Some(match sql_type {
        SqlType::Bool | SqlType::InternalChar => 1,
        SqlType::Int2 => 2,
        SqlType::Int4 | SqlType::Float4 | SqlType::Date | SqlType::Oid | SqlType::Void => 4,
        SqlType::Int8 | SqlType::Float8 | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz => 8,
        SqlType::Interval | SqlType::Uuid => 16,
        SqlType::Name => NAME,
        SqlType::Limited(limits) => return fixed(limits.of().bare()),
        SqlType::Catalog(CatalogType::Xid) => 4,
        SqlType::Catalog(CatalogType::Lsn) => 8,
        other if other.names_objects() => 4,
        _ => return None,
    })
}

/// Its items stand where their type may, behind a bit for each where one is NULL.
fn of_array(items: &ArrayRef, item: &SqlType) -> SqlResult<usize> {
    if items.is_empty() {
        return Ok(ARRAY);
    }
    let step = match fixed(item) {
        Some(1 | NAME) => 1,
        Some(2) => 2,
        Some(8) => 8,
        _ => 4,
    };
    let header = ARRAY + DIMENSION;
    let mut size = if items.null_count() > 0 { (header + items.len().div_ceil(8)).next_multiple_of(8) } else { header };
    for row in (0..items.len()).filter(|row| items.is_valid(*row)) {
        size = size.next_multiple_of(step) + of_value(items, item, row)?;
    }
    Ok(size.next_multiple_of(step))
}

/// Groups of four digits, counted from the point, without those of zeros at both ends.
fn groups_of_digits(number: &str) -> usize {
    let (whole, fraction) = number.trim_start_matches('-').split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches(['-', '0']);
    let digits = format!("{}{whole}", "0".repeat(whole.len().next_multiple_of(4) - whole.len()));
    let padding = "0".repeat(fraction.len().next_multiple_of(4) - fraction.len());
    let digits: Vec<u8> = digits.bytes().chain(fraction.bytes()).chain(padding.bytes()).collect();
    let is_zero = |group: &&[u8]| group.iter().all(|digit| *digit == b'0');
    let groups: Vec<&[u8]> = digits.chunks(4).skip_while(|group| is_zero(group)).collect();
    groups.len() - groups.iter().rev().take_while(|group| is_zero(group)).count()
}

fn text(array: &ArrayRef, sql_type: &SqlType, row: usize) -> String {
    let mut out = bytes::BytesMut::new();
    TextColumn::new(array, sql_type, &Style::PLAIN).write(row, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_by_four_from_the_point() {
        for (number, groups) in
            [("0", 0), ("12.34", 2), ("123456.789", 3), ("10000", 1), ("-0.00001", 1), ("1.0000", 1), ("99990000", 1)]
        {
            assert_eq!(groups_of_digits(number), groups, "{number}");
        }
    }
}
