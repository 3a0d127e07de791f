//! Cells of every layout, against PostgreSQL's own text.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::*;

use super::*;

fn texts(array: ArrayRef, sql_type: &SqlType) -> Vec<Option<String>> {
    let column = TextColumn::new(&array, sql_type, &Style::PLAIN);
    (0..array.len())
        .map(|row| {
            let mut out = BytesMut::new();
            (!column.is_null(row)).then(|| {
                column.write(row, &mut out);
                String::from_utf8(out.to_vec()).unwrap()
            })
        })
        .collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|t| Some((*t).to_owned())).collect()
}

fn text_list(items: Vec<Option<&str>>) -> ArrayRef {
    let lengths = [items.len()];
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), Arc::new(StringArray::from(items)), None))
}

#[test]
fn booleans_and_nulls() {
    let array = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
    assert_eq!(texts(array, &SqlType::Bool), [Some("t".to_owned()), None, Some("f".to_owned())]);
    assert_eq!(texts(Arc::new(NullArray::new(2)), &SqlType::Text), [None, None]);
}

#[test]
fn integers_of_every_width() {
    assert_eq!(texts(Arc::new(Int8Array::from(vec![-128])), &SqlType::Int2), some(&["-128"]));
    assert_eq!(texts(Arc::new(Int16Array::from(vec![-32768])), &SqlType::Int2), some(&["-32768"]));
    assert_eq!(texts(Arc::new(Int32Array::from(vec![7])), &SqlType::Int4), some(&["7"]));
    assert_eq!(texts(Arc::new(UInt64Array::from(vec![u64::MAX])), &SqlType::Int8), some(&["18446744073709551615"]));
    assert_eq!(texts(Arc::new(UInt32Array::from(vec![u32::MAX])), &SqlType::Oid), some(&["4294967295"]));
}

#[test]
fn decimals_of_every_width() {
    let d128 = Decimal128Array::from(vec![1250]).with_precision_and_scale(12, 2).unwrap();
    assert_eq!(texts(Arc::new(d128), &SqlType::Numeric(Some((12, 2)))), some(&["12.50"]));
    let bare = Decimal256Array::from(vec![i256::from_i128(150_000_000_000_000_000_000)])
        .with_precision_and_scale(76, 20)
        .unwrap();
    assert_eq!(texts(Arc::new(bare), &SqlType::Numeric(None)), some(&["1.5"]));
    let d32 = Decimal32Array::from(vec![-5]).with_precision_and_scale(4, 2).unwrap();
    assert_eq!(texts(Arc::new(d32), &SqlType::Numeric(Some((4, 2)))), some(&["-0.05"]));
}

#[test]
fn texts_of_every_layout() {
    let expected = some(&["a", "bé", ""]);
    let items = vec!["a", "bé", ""];
    assert_eq!(texts(Arc::new(StringArray::from(items.clone())), &SqlType::Text), expected);
    assert_eq!(texts(Arc::new(LargeStringArray::from(items.clone())), &SqlType::Json), expected);
    assert_eq!(texts(Arc::new(StringViewArray::from(items.clone())), &SqlType::Text), expected);
    let dictionary: DictionaryArray<Int8Type> = items.into_iter().collect();
    assert_eq!(texts(Arc::new(dictionary), &SqlType::Text), expected);
    let with_null: DictionaryArray<Int32Type> = vec![Some("x"), None].into_iter().collect();
    assert_eq!(texts(Arc::new(with_null), &SqlType::Text), [Some("x".to_owned()), None]);
    let runs: RunArray<Int32Type> = vec!["x", "x", "y"].into_iter().collect();
    assert_eq!(texts(Arc::new(runs), &SqlType::Text), some(&["x", "x", "y"]));
}

#[test]
fn chars_are_padded_by_characters() {
    assert_eq!(texts(Arc::new(StringArray::from(vec!["é", "abc"])), &SqlType::Char(3)), some(&["é  ", "abc"]));
}

#[test]
fn binaries_and_uuids() {
    let bytes: Vec<&[u8]> = vec![&[0, 255], &[]];
    assert_eq!(texts(Arc::new(BinaryArray::from(bytes.clone())), &SqlType::Bytea), some(&["\\x00ff", "\\x"]));
    assert_eq!(texts(Arc::new(BinaryViewArray::from(bytes)), &SqlType::Bytea), some(&["\\x00ff", "\\x"]));
    let long = vec![0xab_u8; 200];
    assert_eq!(
        texts(Arc::new(BinaryArray::from(vec![&*long])), &SqlType::Bytea)[0],
        Some(format!("\\x{}", "ab".repeat(200)))
    );
    let id = uuid::Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);
    let ids = FixedSizeBinaryArray::try_from_iter([*id.as_bytes()].iter()).unwrap();
    assert_eq!(texts(Arc::new(ids), &SqlType::Uuid), some(&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]));
}

#[test]
fn times_of_every_unit() {
    let expected = some(&["2014-08-22 00:50:32"]);
    let at = 1_408_668_632;
    assert_eq!(texts(Arc::new(TimestampSecondArray::from(vec![at])), &SqlType::Timestamp), expected);
    assert_eq!(texts(Arc::new(TimestampMillisecondArray::from(vec![at * 1_000])), &SqlType::Timestamp), expected);
    assert_eq!(
        texts(Arc::new(TimestampNanosecondArray::from(vec![at * 1_000_000_000 + 999])), &SqlType::Timestamp),
        expected
    );
    let zoned = TimestampNanosecondArray::from(vec![at * 1_000_000_000]).with_timezone("+00:00");
    assert_eq!(texts(Arc::new(zoned), &SqlType::Timestamptz), some(&["2014-08-22 00:50:32+00"]));
    assert_eq!(texts(Arc::new(Date32Array::from(vec![-1])), &SqlType::Date), some(&["1969-12-31"]));
    assert_eq!(texts(Arc::new(Date64Array::from(vec![86_400_000])), &SqlType::Date), some(&["1970-01-02"]));
    assert_eq!(texts(Arc::new(Time32SecondArray::from(vec![3661])), &SqlType::Time), some(&["01:01:01"]));
    assert_eq!(
        texts(Arc::new(Time64NanosecondArray::from(vec![1_500_000_000])), &SqlType::Time),
        some(&["00:00:01.5"])
    );
    assert_eq!(texts(Arc::new(IntervalYearMonthArray::from(vec![14])), &SqlType::Interval), some(&["1 year 2 mons"]));
    let day_time = IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, -500)]);
    assert_eq!(texts(Arc::new(day_time), &SqlType::Interval), some(&["1 day -00:00:00.5"]));
    assert_eq!(texts(Arc::new(DurationSecondArray::from(vec![90])), &SqlType::Interval), some(&["00:01:30"]));
}

#[test]
fn arrays_quote_what_needs_it() {
    let items = vec![
        Some("a"),
        Some("b c"),
        None,
        Some("NULL"),
        Some(""),
        Some("a\"b"),
        Some("a\\b"),
        Some("{x}"),
        Some("a,b"),
        Some("nul"),
    ];
    let text = r#"{a,"b c",NULL,"NULL","","a\"b","a\\b","{x}","a,b",nul}"#;
    assert_eq!(texts(text_list(items), &SqlType::Array(Box::new(SqlType::Text))), some(&[text]));
    assert_eq!(texts(text_list(vec![]), &SqlType::Array(Box::new(SqlType::Text))), some(&["{}"]));
}

#[test]
fn arrays_of_other_items() {
    let dates = ListArray::from_iter_primitive::<TimestampMicrosecondType, _, _>([Some([Some(0), None])]);
    assert_eq!(
        texts(Arc::new(dates), &SqlType::Array(Box::new(SqlType::Timestamp))),
        some(&["{\"1970-01-01 00:00:00\",NULL}"])
    );
    let numbers = || FixedSizeListArray::from_iter_primitive::<Int16Type, _, _>([Some([Some(1), Some(2)])], 2);
    assert_eq!(texts(Arc::new(numbers()), &SqlType::Array(Box::new(SqlType::Int2))), some(&["{1,2}"]));
    assert_eq!(texts(Arc::new(numbers()), &SqlType::Int2Vector), some(&["1 2"]));
    let mut nested = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    nested.values().append_value([Some(1), Some(2)]);
    nested.values().append_value([Some(3), None]);
    nested.append(true);
    let sql_type = SqlType::Array(Box::new(SqlType::Array(Box::new(SqlType::Int4))));
    assert_eq!(texts(Arc::new(nested.finish()), &sql_type), some(&["{{1,2},{3,NULL}}"]));
}

#[test]
fn rows_quote_what_they_must() {
    let fields = Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", DataType::Boolean, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4), None])),
        Arc::new(StringArray::from(vec![Some("abc"), Some(""), Some("x \"y\" (\\)"), None, None])),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, None])),
    ];
    let nulls = arrow::buffer::NullBuffer::from(vec![true, true, true, true, false]);
    let rows: ArrayRef = Arc::new(StructArray::new(fields.clone(), columns, Some(nulls)));
    let sql_type = SqlType::of_arrow(&DataType::Struct(fields));
    let expected = ["(1,abc,t)", "(,\"\",)", "(3,\"x \"\"y\"\" (\\\\)\",f)", "(4,,)"];
    let mut wanted = some(&expected);
    wanted.push(None);
    assert_eq!(texts(rows, &sql_type), wanted);
}
