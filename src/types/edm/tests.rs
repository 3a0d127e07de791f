//! Round trips through the store's types, and assignments against PostgreSQL's own answers.

use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{DataType, Int32Type, TimestampMicrosecondType, i256};
use datafusion_common::ScalarValue;
use tablegate_store::model::{EdmDateTime, EdmRef, EdmValue};

use super::*;
use crate::error::{ErrorKind, SqlResult};
use crate::input::parse_text;
use crate::output::TextColumn;

fn value(sql_type: &SqlType, text: &str) -> ArrayRef {
    parse_text(sql_type, text).unwrap().to_array().unwrap()
}

fn shown(array: &ArrayRef, sql_type: &SqlType) -> String {
    let mut out = String::new();
    TextColumn::plain(array, sql_type).write_to(0, &mut out).unwrap();
    out
}

fn array_of(item: SqlType) -> SqlType {
    SqlType::Array(Box::new(item))
}

/// What a store hands out for a value: a column of the type's column type.
fn stored_column(stored: &EdmValue) -> ArrayRef {
    match stored {
        EdmValue::String(v) => Arc::new(StringArray::from(vec![&**v])),
        EdmValue::Int32(v) => Arc::new(Int32Array::from(vec![*v])),
        EdmValue::Int64(v) => Arc::new(Int64Array::from(vec![*v])),
        EdmValue::Double(v) => Arc::new(Float64Array::from(vec![*v])),
        EdmValue::Boolean(v) => Arc::new(BooleanArray::from(vec![*v])),
        EdmValue::DateTime(v) => Arc::new(TimestampMicrosecondArray::from(vec![v.unix_micros()]).with_timezone("UTC")),
        EdmValue::Guid(v) => Arc::new(FixedSizeBinaryArray::try_from_iter([*v.as_bytes()].iter()).unwrap()),
        EdmValue::Binary(v) => Arc::new(BinaryArray::from(vec![&**v])),
    }
}

#[test]
fn every_type_comes_back_from_the_store() {
    for (sql_type, text) in [
        (SqlType::Bool, "t"),
        (SqlType::Int2, "-32768"),
        (SqlType::Int4, "2147483647"),
        (SqlType::Int8, "-9223372036854775808"),
        (SqlType::Oid, "4294967295"),
        (SqlType::Float4, "0.1"),
        (SqlType::Float8, "1e+300"),
        (SqlType::Numeric(Some((12, 2))), "1234567890.50"),
        (SqlType::Numeric(Some((50, 4))), "-0.0001"),
        (SqlType::Numeric(None), "1.5"),
        (SqlType::Text, "é"),
        (SqlType::Varchar(Some(3)), "abc"),
        (SqlType::Char(3), "a  "),
        (SqlType::Json, "{\"a\":  1}"),
        (SqlType::Jsonb, "{\"a\": 1.10}"),
        (SqlType::Bytea, "\\x00ff"),
        (SqlType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (SqlType::Date, "2014-08-22"),
        (SqlType::Time, "04:05:06.789"),
        (SqlType::Timestamp, "2014-08-22 00:50:32.5"),
        (SqlType::Timestamptz, "1601-01-01 00:00:00+00"),
        (SqlType::Interval, "-1 years -2 mons +3 days -04:05:06"),
        (SqlType::Int2Vector, "1 2"),
        (array_of(SqlType::Text), "{a,\"b c\",NULL,\"x\\\"y\",\"\"}"),
        (array_of(SqlType::Int4), "{1,NULL,-3}"),
        (array_of(SqlType::Float8), "{0.1,NaN,-Infinity,1e+20}"),
        (array_of(SqlType::Bool), "{t,f}"),
        (array_of(SqlType::Numeric(Some((5, 2)))), "{1.50,-0.05}"),
        (array_of(SqlType::Timestamptz), "{\"2014-08-22 00:50:32.5+00\"}"),
        (array_of(SqlType::Text), "{}"),
    ] {
        let array = value(&sql_type, text);
        let stored = to_edm(&array, &sql_type, 0).unwrap().unwrap();
        assert_eq!(ColumnType::of(stored.edm_type()), column_type(&sql_type), "{sql_type}");
        let back = to_sql(&stored_column(&stored), &sql_type).unwrap();
        assert_eq!(*back.data_type(), sql_type.arrow());
        assert_eq!(shown(&back, &sql_type), text, "{sql_type}");
    }
}

#[test]
fn texts_in_the_store_are_canonical() {
    for (sql_type, text, stored) in [
        (SqlType::Numeric(Some((12, 2))), "007.5", "7.50"),
        (SqlType::Numeric(None), "1.500", "1.5"),
        (SqlType::Time, "4:5", "04:05:00"),
        (SqlType::Interval, "P1D", "1 day"),
        (SqlType::Char(5), "a  ", "a"),
        (array_of(SqlType::Text), "{a, \"b\\\"c\", NULL}", "[\"a\",\"b\\\"c\",null]"),
        (array_of(SqlType::Int4), "{1,2}", "[1,2]"),
    ] {
        assert_eq!(to_edm(&value(&sql_type, text), &sql_type, 0).unwrap(), Some(EdmValue::string(stored)));
    }
}

#[test]
fn nulls_are_absent() {
    assert_eq!(to_edm(&new_null_array(&DataType::Int32, 1), &SqlType::Int4, 0).unwrap(), None);
    assert_eq!(to_edm(&new_null_array(&DataType::Null, 1), &SqlType::Text, 0).unwrap(), None);
}

#[test]
fn what_the_store_cannot_hold_is_refused() {
    let early = to_edm(&value(&SqlType::Date, "1600-12-31"), &SqlType::Date, 0).unwrap_err();
    assert_eq!(
        (early.kind, early.message.as_str()),
        (ErrorKind::DatetimeOverflow, "timestamp out of range: \"1600-12-31\"")
    );
    let late = to_edm(&value(&SqlType::Timestamp, "10000-01-01"), &SqlType::Timestamp, 0).unwrap_err();
    assert_eq!(late.kind, ErrorKind::DatetimeOverflow);
    let long = value(&SqlType::Text, &"a".repeat(32_769));
    assert_eq!(to_edm(&long, &SqlType::Text, 0).unwrap_err().kind, ErrorKind::LimitExceeded);
}

#[test]
fn times_beyond_microseconds_keep_their_100_ns() {
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_700]));
    let expected = EdmDateTime::from_unix_ticks(17).unwrap();
    assert_eq!(to_edm(&array, &SqlType::Timestamp, 0).unwrap(), Some(EdmValue::DateTime(expected)));
}

#[test]
fn unfit_stored_values_are_22p02() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    for sql_type in
        [SqlType::Numeric(Some((5, 2))), SqlType::Time, SqlType::Json, SqlType::Interval, array_of(SqlType::Int4)]
    {
        let error = to_sql(&text, &sql_type).unwrap_err();
        assert_eq!(error.kind, ErrorKind::StoredValueUnfit);
        assert_eq!(error.message, format!("stored value \"x\" is not a value of type {sql_type}"));
    }
    let long: ArrayRef = Arc::new(StringArray::from(vec!["abcd"]));
    assert_eq!(to_sql(&long, &SqlType::Varchar(Some(3))).unwrap_err().kind, ErrorKind::StoredValueUnfit);
    let wide: ArrayRef = Arc::new(Int32Array::from(vec![40_000]));
    assert_eq!(to_sql(&wide, &SqlType::Int2).unwrap_err().kind, ErrorKind::StoredValueUnfit);
    let noon: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![43_200_000_000]).with_timezone("UTC"));
    let error = to_sql(&noon, &SqlType::Date).unwrap_err();
    assert_eq!(error.message, "stored value \"1970-01-01T12:00:00Z\" is not a value of type date");
}

#[test]
fn columns_that_need_no_change_are_passed_through() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["abc"]));
    for sql_type in [SqlType::Text, SqlType::Varchar(Some(3)), SqlType::Char(3)] {
        assert!(Arc::ptr_eq(&to_sql(&text, &sql_type).unwrap(), &text));
    }
    let padded: ArrayRef = Arc::new(StringArray::from(vec!["a  "]));
    assert_eq!(to_sql(&padded, &SqlType::Char(3)).unwrap().as_string::<i32>().value(0), "a");
}

#[test]
fn mixed_types_show_as_the_narrowest_that_holds_all() {
    let of = |values: &[EdmRef<'_>]| {
        sql_type_of(values.iter().fold(TypeSet::default(), |set, v| set.union(TypeSet::of(*v))))
    };
    let (int, long, wide) = (EdmRef::Int32(1), EdmRef::Int64(1), EdmRef::Int64(i64::MAX));
    let double = EdmRef::Double(0.5);
    assert_eq!(of(&[int]), SqlType::Int4);
    assert_eq!(of(&[EdmRef::DateTime(EdmDateTime::MIN)]), SqlType::Timestamptz);
    assert_eq!(of(&[int, wide]), SqlType::Int8);
    assert_eq!(of(&[int, double]), SqlType::Float8);
    assert_eq!(of(&[int, long, double]), SqlType::Float8);
    assert_eq!(of(&[wide, double]), SqlType::Text);
    assert_eq!(of(&[int, EdmRef::String("")]), SqlType::Text);
    assert_eq!(of(&[int, EdmRef::Boolean(true)]), SqlType::Text);
    assert_eq!(of(&[]), SqlType::Text);
}

fn assigned(from: &SqlType, text: &str, to: &SqlType) -> SqlResult<String> {
    assign(&value(from, text), from, to, false).map(|array| {
        assert_eq!(*array.data_type(), to.arrow());
        shown(&array, to)
    })
}

#[test]
fn assignments_cast_as_postgresql_does() {
    let n52 = SqlType::Numeric(Some((5, 2)));
    for (from, text, to, expected) in [
        (SqlType::Int8, "5", SqlType::Int4, "5"),
        (SqlType::Int4, "5", n52.clone(), "5.00"),
        (SqlType::Numeric(None), "2.5", SqlType::Int4, "3"),
        (SqlType::Numeric(None), "3.5", SqlType::Int4, "4"),
        (SqlType::Float8, "2.5", SqlType::Int4, "2"),
        (SqlType::Float8, "3.5", SqlType::Int4, "4"),
        (SqlType::Float8, "1.005", n52.clone(), "1.01"),
        (SqlType::Float4, "0.1", n52.clone(), "0.10"),
        (SqlType::Numeric(Some((7, 3))), "2.345", n52.clone(), "2.35"),
        (n52.clone(), "1.50", SqlType::Float8, "1.5"),
        (SqlType::Int4, "7", SqlType::Oid, "7"),
        (SqlType::Bool, "t", SqlType::Text, "true"),
        (SqlType::Numeric(Some((3, 2))), "1.50", SqlType::Text, "1.50"),
        (SqlType::Float8, "1", SqlType::Varchar(Some(3)), "1"),
        (SqlType::Char(3), "a", SqlType::Text, "a"),
        (SqlType::Text, "abc   ", SqlType::Varchar(Some(3)), "abc"),
        (SqlType::Text, "a", SqlType::Char(3), "a  "),
        (SqlType::Date, "2014-08-22", SqlType::Timestamptz, "2014-08-22 00:00:00+00"),
        (SqlType::Timestamp, "2014-08-22 01:02:03", SqlType::Date, "2014-08-22"),
        (SqlType::Timestamptz, "1969-12-31 23:00:00+00", SqlType::Date, "1969-12-31"),
        (SqlType::Timestamp, "2014-01-01 01:02:03", SqlType::Time, "01:02:03"),
        (SqlType::Timestamp, "2014-01-01 01:02:03", SqlType::Timestamptz, "2014-01-01 01:02:03+00"),
        (SqlType::Interval, "25:00", SqlType::Time, "01:00:00"),
        (SqlType::Time, "01:02", SqlType::Interval, "01:02:00"),
        (SqlType::Json, "{\"b\":1,\"a\":2}", SqlType::Jsonb, "{\"a\": 2, \"b\": 1}"),
        (array_of(SqlType::Int4), "{1,2}", array_of(SqlType::Text), "{1,2}"),
        (array_of(SqlType::Int8), "{1,2}", array_of(SqlType::Int2), "{1,2}"),
        (array_of(SqlType::Int4), "{1,NULL}", SqlType::Text, "{1,NULL}"),
    ] {
        assert_eq!(assigned(&from, text, &to).unwrap(), expected, "{from} to {to}");
    }
}

#[test]
fn assignments_that_do_not_fit_are_refused_as_postgresql_does() {
    let n52 = SqlType::Numeric(Some((5, 2)));
    for (from, text, to, kind, message) in [
        (SqlType::Int8, "99999999999", SqlType::Int4, ErrorKind::NumericOutOfRange, "integer out of range"),
        (SqlType::Int4, "99999", SqlType::Int2, ErrorKind::NumericOutOfRange, "smallint out of range"),
        (SqlType::Float8, "1e30", SqlType::Int8, ErrorKind::NumericOutOfRange, "bigint out of range"),
        (SqlType::Float8, "NaN", SqlType::Int4, ErrorKind::NumericOutOfRange, "integer out of range"),
        (SqlType::Int4, "12345", n52.clone(), ErrorKind::NumericOutOfRange, "numeric field overflow"),
        (SqlType::Float8, "1e300", SqlType::Float4, ErrorKind::NumericOutOfRange, "value out of range: overflow"),
        (SqlType::Float8, "1e-300", SqlType::Float4, ErrorKind::NumericOutOfRange, "value out of range: underflow"),
        (
            SqlType::Text,
            "abcdef",
            SqlType::Varchar(Some(3)),
            ErrorKind::StringTooLong,
            "value too long for type character varying(3)",
        ),
        (
            SqlType::Text,
            "1",
            SqlType::Int4,
            ErrorKind::DatatypeMismatch,
            "column is of type integer but expression is of type text",
        ),
        (
            SqlType::Int4,
            "1",
            SqlType::Bool,
            ErrorKind::DatatypeMismatch,
            "column is of type boolean but expression is of type integer",
        ),
        (
            SqlType::Text,
            "{}",
            SqlType::Json,
            ErrorKind::DatatypeMismatch,
            "column is of type json but expression is of type text",
        ),
        (
            SqlType::Int4,
            "1",
            SqlType::Timestamp,
            ErrorKind::DatatypeMismatch,
            "column is of type timestamp without time zone but expression is of type integer",
        ),
    ] {
        let error = assigned(&from, text, &to).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
        if kind == ErrorKind::DatatypeMismatch {
            assert_eq!(error.hint.as_deref(), Some("You will need to rewrite or cast the expression."));
        }
    }
}

#[test]
fn untyped_literals_are_read_as_the_target_type() {
    let text: ArrayRef = Arc::new(StringViewArray::from(vec!["42"]));
    let array = assign(&text, &SqlType::Text, &SqlType::Int4, true).unwrap();
    assert_eq!(array.as_primitive::<Int32Type>().value(0), 42);
    let error = assign(&(Arc::new(StringArray::from(vec!["x"])) as ArrayRef), &SqlType::Text, &SqlType::Int4, true)
        .unwrap_err();
    assert_eq!(error.message, "invalid input syntax for type integer: \"x\"");
    let nulls = assign(&new_null_array(&DataType::Null, 2), &SqlType::Text, &SqlType::Date, true).unwrap();
    assert_eq!((nulls.len(), nulls.null_count()), (2, 2));
}

#[test]
fn other_layouts_are_taken_as_the_type_they_show_as() {
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["abc"]));
    assert_eq!(shown(&assign(&view, &SqlType::Text, &SqlType::Text, false).unwrap(), &SqlType::Text), "abc");
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_500_000]));
    let array = assign(&nanos, &SqlType::Timestamp, &SqlType::Timestamptz, false).unwrap();
    assert_eq!(array.as_primitive::<TimestampMicrosecondType>().value(0), 1_500);
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(assign(&wide, &SqlType::Int8, &SqlType::Int4, false).unwrap_err().kind, ErrorKind::NumericOutOfRange);
    let long = ScalarValue::Decimal256(Some(i256::from_i128(150)), 40, 2).to_array().unwrap();
    let narrow = assign(&long, &SqlType::Numeric(Some((40, 2))), &SqlType::Numeric(Some((5, 1))), false).unwrap();
    assert_eq!(shown(&narrow, &SqlType::Numeric(Some((5, 1)))), "1.5");
}
