//! What is printed reads back as what it was, for every type.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::IntervalMonthDayNano;
use proptest::prelude::*;

use super::*;
use crate::output::{Style, TextColumn};

fn print(array: &ArrayRef, sql_type: &SqlType) -> String {
    let mut out = ::bytes::BytesMut::new();
    TextColumn::new(array, sql_type, &Style::PLAIN).write(0, &mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

/// Checks that a value's text is read as that value, alone and as a cell of a column.
fn reads_back(value: ScalarValue, sql_type: &SqlType) -> Result<(), TestCaseError> {
    let array = value.to_array().unwrap();
    let text = print(&array, sql_type);
    let read = parse_text(sql_type, &text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
    prop_assert_eq!(read.data_type(), sql_type.arrow());
    prop_assert_eq!(print(&read.to_array().unwrap(), sql_type), text.clone());
    prop_assert_eq!(&read, &value, "{}", text);
    let mut column = ColumnParser::new(sql_type);
    column.push(None).unwrap();
    column.push(Some(&text)).unwrap();
    prop_assert_eq!(column.len(), 2);
    let cells = column.finish();
    prop_assert!(cells.is_null(0));
    prop_assert_eq!(cells.data_type(), &sql_type.arrow());
    prop_assert_eq!(ScalarValue::try_from_array(&cells, 1).unwrap(), value);
    Ok(())
}

const FIRST_MICROS: i64 = -210_866_803_200_000_000;
const LAST_MICROS: i64 = i64::MAX;

proptest! {
    #[test]
    fn integers_and_floats(a: i16, b: i32, c: i64, d: u32, e: f32, f: f64, g: bool) {
        reads_back(ScalarValue::Int16(Some(a)), &SqlType::Int2)?;
        reads_back(ScalarValue::Int32(Some(b)), &SqlType::Int4)?;
        reads_back(ScalarValue::Int64(Some(c)), &SqlType::Int8)?;
        reads_back(ScalarValue::UInt32(Some(d)), &SqlType::Oid)?;
        reads_back(ScalarValue::Float32(Some(e)), &SqlType::Float4)?;
        reads_back(ScalarValue::Float64(Some(f)), &SqlType::Float8)?;
        reads_back(ScalarValue::Boolean(Some(g)), &SqlType::Bool)?;
    }

    #[test]
    fn floats_with_large_integer_values(mantissa in 0_u64..1 << 53, shift in 0_i32..80) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        reads_back(ScalarValue::Float64(Some(mantissa as f64 * 2_f64.powi(shift))), &SqlType::Float8)?;
    }

    #[test]
    fn decimals(small in -99_999_999_i128..=99_999_999, wide: i128) {
        for scale in [0, 2, 8] {
            reads_back(ScalarValue::Decimal128(Some(small), 8, scale), &SqlType::Numeric(Some((8, scale))))?;
        }
        let wide = arrow::datatypes::i256::from_i128(wide);
        reads_back(ScalarValue::Decimal256(Some(wide), 50, 4), &SqlType::Numeric(Some((50, 4))))?;
        reads_back(ScalarValue::Decimal256(Some(wide), 76, 20), &SqlType::Numeric(None))?;
    }

    #[test]
    fn texts(text in "[^\0]{0,12}", bytes: Vec<u8>, id: u128) {
        reads_back(ScalarValue::Utf8(Some(text.clone())), &SqlType::Text)?;
        reads_back(ScalarValue::Utf8(Some(text.clone())), &SqlType::Varchar(Some(12)))?;
        reads_back(ScalarValue::Utf8(Some(text.trim_end_matches(' ').to_owned())), &SqlType::Char(12))?;
        reads_back(ScalarValue::Binary(Some(bytes)), &SqlType::Bytea)?;
        reads_back(ScalarValue::FixedSizeBinary(16, Some(id.to_be_bytes().to_vec())), &SqlType::Uuid)?;
    }

    #[test]
    fn times(days in -2_440_588_i32..=2_145_042_540, micros in 0_i64..=86_400_000_000, at in FIRST_MICROS..=LAST_MICROS) {
        reads_back(ScalarValue::Date32(Some(days)), &SqlType::Date)?;
        reads_back(ScalarValue::Time64Microsecond(Some(micros)), &SqlType::Time)?;
        reads_back(ScalarValue::TimestampMicrosecond(Some(at), None), &SqlType::Timestamp)?;
        reads_back(ScalarValue::TimestampMicrosecond(Some(at), Some("UTC".into())), &SqlType::Timestamptz)?;
    }

    #[test]
    fn intervals(months: i32, days: i32, micros in -9_000_000_000_000_000_i64..9_000_000_000_000_000) {
        let value = IntervalMonthDayNano::new(months, days, micros * 1000);
        reads_back(ScalarValue::IntervalMonthDayNano(Some(value)), &SqlType::Interval)?;
    }

    #[test]
    fn arrays(items in prop::collection::vec(prop::option::of("[^\0]{0,6}"), 0..5), numbers: Vec<i16>) {
        let items: Vec<ScalarValue> = items.into_iter().map(ScalarValue::Utf8).collect();
        let list = ScalarValue::List(ScalarValue::new_list_nullable(&items, &DataType::Utf8));
        reads_back(list, &SqlType::Array(Box::new(SqlType::Text)))?;
        let numbers: Vec<ScalarValue> = numbers.into_iter().map(|n| ScalarValue::Int16(Some(n))).collect();
        let list = ScalarValue::List(ScalarValue::new_list_nullable(&numbers, &DataType::Int16));
        reads_back(list.clone(), &SqlType::Int2Vector)?;
        reads_back(list, &SqlType::Array(Box::new(SqlType::Int2)))?;
    }

    #[test]
    fn no_text_makes_a_parser_fail_badly(text in "[-+0-9a-zA-Z:./{}\",\\\\ é]{0,16}") {
        for sql_type in [
            SqlType::Bool, SqlType::Int4, SqlType::Oid, SqlType::Float8, SqlType::Numeric(Some((5, 2))), SqlType::Numeric(None),
            SqlType::Bytea, SqlType::Uuid, SqlType::Date, SqlType::Time, SqlType::Timestamptz, SqlType::Interval,
            SqlType::Jsonb, SqlType::Array(Box::new(SqlType::Text)), SqlType::Int2Vector, SqlType::Char(3),
        ] {
            let _ = parse_text(&sql_type, &text);
        }
    }
}
