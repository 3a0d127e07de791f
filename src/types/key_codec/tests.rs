//! Keys read back as they were written, and sort as their values do.

use std::cmp::Ordering;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::i256;
use datafusion_common::ScalarValue;
use proptest::prelude::*;
use tablegate_store::model::Cut;

use super::*;
use crate::error::{ErrorKind, SqlError};

fn column(sql_type: SqlType, descending: bool) -> KeyColumn {
    KeyColumn { name: "k".to_owned(), sql_type, descending }
}

fn single(sql_type: SqlType) -> KeyCodec {
    KeyCodec::relational(vec![column(sql_type, false)], PartitionScheme::Columns(1), false).unwrap()
}

fn encode_row(codec: &KeyCodec, row: &[ScalarValue]) -> Result<EntityKey, KeyCodecError> {
    let arrays: Vec<ArrayRef> = row.iter().map(|v| v.to_array().unwrap()).collect();
    Ok(codec.encode_batch(&arrays)?.remove(0))
}

fn partition_of(codec: &KeyCodec, value: ScalarValue) -> String {
    encode_row(codec, &[value]).unwrap().partition.as_str().to_owned()
}

fn utf8(text: &str) -> ScalarValue {
    ScalarValue::Utf8(Some(text.to_owned()))
}

fn kind_of(error: KeyCodecError) -> ErrorKind {
    Box::<SqlError>::from(error).kind
}

#[test]
fn common_values_are_readable() {
    assert_eq!(partition_of(&single(SqlType::Int4), ScalarValue::Int32(Some(42))), "0000000042");
    assert_eq!(partition_of(&single(SqlType::Int2), ScalarValue::Int16(Some(-1))), "-99998");
    assert_eq!(partition_of(&single(SqlType::Text), utf8("Big Mike! 100%")), "Big Mike! 100%");
    assert_eq!(partition_of(&single(SqlType::Date), ScalarValue::Date32(Some(16_304))), "2014-08-22");
    assert_eq!(
        partition_of(&single(SqlType::Timestamp), ScalarValue::TimestampMicrosecond(Some(1_408_668_632_000_000), None)),
        "2014-08-22T00:50:32.0000000Z"
    );
    let numeric = single(SqlType::Numeric(Some((5, 2))));
    assert_eq!(partition_of(&numeric, ScalarValue::Decimal128(Some(-150), 5, 2)), "-99849");
    assert_eq!(partition_of(&single(SqlType::Char(5)), utf8("ab   ")), "ab");
    let descending =
        KeyCodec::relational(vec![column(SqlType::Int2, true)], PartitionScheme::Columns(1), false).unwrap();
    assert_eq!(partition_of(&descending, ScalarValue::Int16(Some(1))), "99998");
    assert_eq!(partition_of(&descending, ScalarValue::Int16(Some(-1))), "~00001");
}

#[test]
fn partition_schemes_place_the_columns() {
    let columns = vec![column(SqlType::Text, false), column(SqlType::Int2, false), column(SqlType::Text, false)];
    let row = [utf8("a b"), ScalarValue::Int16(Some(7)), utf8("c d")];
    let key = |scheme| encode_row(&KeyCodec::relational(columns.clone(), scheme, false).unwrap(), &row).unwrap();
    assert_eq!(key(PartitionScheme::Columns(1)).as_pair(), ("a b", "00007c d"));
    assert_eq!(key(PartitionScheme::Columns(2)).as_pair(), ("a!Vb 00007", "c d"));
    assert_eq!(key(PartitionScheme::Columns(3)).as_pair(), ("a!Vb 00007c d", ""));
    assert_eq!(key(PartitionScheme::Constant("all".to_owned())).as_pair(), ("all", "a!Vb 00007c d"));
    let bucketed = key(PartitionScheme::Bucket(16));
    assert_eq!(bucketed.partition.as_str(), format!("{:02}", xxh64(b"a!Vb 00007c d", 0) % 16));
}

#[test]
fn what_cannot_be_a_key_is_refused_in_its_kind() {
    let text = single(SqlType::Text);
    let error = Box::<SqlError>::from(encode_row(&text, &[utf8("a/b")]).unwrap_err());
    assert_eq!(error.kind, ErrorKind::InvalidParameterValue);
    assert!(error.hint.unwrap().contains("WITH (key_escape = true)"));
    assert_eq!(kind_of(encode_row(&text, &[utf8(&"x".repeat(1025))]).unwrap_err()), ErrorKind::InvalidParameterValue);
    assert_eq!(kind_of(encode_row(&text, &[ScalarValue::Utf8(None)]).unwrap_err()), ErrorKind::NotNullViolation);
    let infinity = ScalarValue::TimestampMicrosecond(Some(i64::MAX), None);
    let error = encode_row(&single(SqlType::Timestamp), &[infinity]).unwrap_err();
    assert_eq!(kind_of(error), ErrorKind::DatetimeOverflow);
    let two = vec![column(SqlType::Text, false), column(SqlType::Text, false)];
    let two = KeyCodec::relational(two, PartitionScheme::Columns(2), false).unwrap();
    assert_eq!(kind_of(encode_row(&two, &[utf8("tab\t"), utf8("")]).unwrap_err()), ErrorKind::InvalidParameterValue);
}

#[test]
fn types_without_a_fixed_order_are_refused() {
    for sql_type in [
        SqlType::Numeric(None),
        SqlType::Json,
        SqlType::Jsonb,
        SqlType::Interval,
        SqlType::Array(Box::new(SqlType::Int4)),
    ] {
        let error =
            KeyCodec::relational(vec![column(sql_type, false)], PartitionScheme::Columns(1), false).unwrap_err();
        assert_eq!(kind_of(error), ErrorKind::FeatureNotSupported);
    }
    for sql_type in [SqlType::Text, SqlType::Bytea, SqlType::Char(3)] {
        let error = KeyCodec::relational(vec![column(sql_type, true)], PartitionScheme::Columns(1), false).unwrap_err();
        assert_eq!(kind_of(error), ErrorKind::FeatureNotSupported);
    }
}

#[test]
fn stored_keys_that_were_not_written_so_are_named() {
    let columns = vec![column(SqlType::Text, false), column(SqlType::Int4, false), column(SqlType::Date, true)];
    let codec = KeyCodec::relational(columns, PartitionScheme::Columns(1), false).unwrap();
    let strange = [
        ("p", ""),
        ("p", "42"),
        ("p", "00000000427985-91-7"),
        ("p", "00000000427985-91-77x"),
        ("p", "99999999997985-91-77"),
        ("p", "00000000427985-99-77"),
        ("p", "-99999999997985-91-77"),
        ("p", "é"),
    ];
    for (partition, row) in strange {
        let result = codec.decode(&StringArray::from(vec![partition]), &StringArray::from(vec![row]), &[0]);
        let error = Box::<SqlError>::from(result.unwrap_err());
        assert_eq!(error.kind, ErrorKind::InvalidTextRepresentation);
        assert!(error.message.contains(&format!("{row:?}")), "{}", error.message);
    }
    let written = StringArray::from(vec!["00000000427985-91-77"]);
    assert!(codec.decode(&StringArray::from(vec!["p"]), &written, &[2, 0]).is_ok());
}

#[test]
fn values_a_column_cannot_have_lie_between_its_parts() {
    let int = single(SqlType::Int4);
    let after = |text: &str| Some(Located::Gap(Cut::After(text.into())));
    let decimal = ScalarValue::Decimal128(Some(15), 3, 1);
    assert_eq!(int.locate(0, &decimal), after("0000000001"));
    assert_eq!(int.locate(0, &ScalarValue::Float64(Some(-0.5))), after("-9999999998"));
    assert_eq!(int.locate(0, &ScalarValue::Float64(Some(2.0))), Some(Located::At("0000000002".into())));
    assert_eq!(int.locate(0, &ScalarValue::Int64(Some(5_000_000_000))), Some(Located::Gap(Cut::Max)));
    assert_eq!(int.locate(0, &ScalarValue::Int64(Some(-5_000_000_000))), Some(Located::Gap(Cut::Min)));
    assert_eq!(int.locate(0, &ScalarValue::Int32(None)), None);
    assert_eq!(int.locate(0, &utf8("1")), None);
    let down = KeyCodec::relational(vec![column(SqlType::Int4, true)], PartitionScheme::Columns(1), false).unwrap();
    assert_eq!(down.locate(0, &decimal), Some(Located::Gap(Cut::Before("9999999998".into()))));
    assert_eq!(down.locate(0, &ScalarValue::Int64(Some(5_000_000_000))), Some(Located::Gap(Cut::Min)));
    let text = single(SqlType::Text);
    assert_eq!(text.locate(0, &utf8("a/b")), Some(Located::Gap(Cut::Before("a/b".into()))));
    let date = single(SqlType::Date);
    let noon = ScalarValue::TimestampSecond(Some(43_200), None);
    assert_eq!(date.locate(0, &noon), after("1970-01-01"));
    assert_eq!(date.locate(0, &ScalarValue::Date32(Some(i32::MAX))), Some(Located::Gap(Cut::Max)));
}

/// What a property test does with a column.
#[derive(Debug, Clone)]
struct Sample {
    column: KeyColumn,
    one: ScalarValue,
    other: ScalarValue,
}

fn sample(escape: bool) -> impl Strategy<Value = Sample> {
    fn of<S: Strategy<Value = ScalarValue> + Clone + 'static>(sql_type: SqlType, values: S) -> BoxedStrategy<Sample> {
        let fixed = part::PartLayout::of(&column(sql_type.clone(), true), KeyPart::RowKey, true, false).is_ok();
        (values.clone(), values, any::<bool>())
            .prop_map(move |(one, other, down)| Sample { column: column(sql_type.clone(), down && fixed), one, other })
            .boxed()
    }
    fn near<T: Arbitrary + Clone + 'static>(few: std::ops::Range<i8>, map: fn(i8) -> T) -> BoxedStrategy<T>
    where
        T::Strategy: 'static,
    {
        prop_oneof![few.prop_map(map), any::<T>()].boxed()
    }
    let text = if escape {
        "[\u{1}\u{1f} !\"#./>?\\[\\\\~\u{7f}\u{9f}\u{a0}aA0é\u{10ffff}]{0,4}"
    } else {
        "[ !\"$.0>@\\[\\]~\u{a0}aAé\u{10ffff}]{0,4}"
    };
    let texts = text.prop_map(|t: String| ScalarValue::Utf8(Some(t))).boxed();
    let wide = i256::from_string("1").unwrap();
    prop_oneof![
        of(SqlType::Bool, any::<bool>().prop_map(|b| ScalarValue::Boolean(Some(b))).boxed()),
        of(SqlType::Int2, near(-3..3, i16::from).prop_map(|v| ScalarValue::Int16(Some(v))).boxed()),
        of(SqlType::Int4, near(-3..3, i32::from).prop_map(|v| ScalarValue::Int32(Some(v))).boxed()),
        of(SqlType::Int8, near(-3..3, i64::from).prop_map(|v| ScalarValue::Int64(Some(v))).boxed()),
        of(SqlType::Oid, any::<u32>().prop_map(|v| ScalarValue::UInt32(Some(v))).boxed()),
        of(
            SqlType::Numeric(Some((4, 2))),
            (-9999_i128..=9999).prop_map(|v| ScalarValue::Decimal128(Some(v), 4, 2)).boxed()
        ),
        of(
            SqlType::Numeric(Some((40, 3))),
            any::<i128>()
                .prop_map(move |v| {
                    let v = i256::from_i128(v).wrapping_mul(wide);
                    ScalarValue::Decimal256(Some(v), 40, 3)
                })
                .boxed()
        ),
        of(
            SqlType::Float8,
            prop_oneof![any::<f64>(), (-2_i8..2).prop_map(f64::from), Just(-0.0), Just(f64::NAN), Just(f64::INFINITY)]
                .prop_map(|v| ScalarValue::Float64(Some(v)))
                .boxed()
        ),
        of(SqlType::Float4, any::<f32>().prop_map(|v| ScalarValue::Float32(Some(v))).boxed()),
        of(
            SqlType::Date,
            prop_oneof![-700_000_i32..2_900_000, -2..2].prop_map(|v| ScalarValue::Date32(Some(v))).boxed()
        ),
        of(SqlType::Time, (0_i64..=86_400_000_000).prop_map(|v| ScalarValue::Time64Microsecond(Some(v))).boxed()),
        of(
            SqlType::Timestamp,
            (-60_000_000_000_000_000_i64..250_000_000_000_000_000)
                .prop_map(|v| ScalarValue::TimestampMicrosecond(Some(v), None))
                .boxed()
        ),
        of(
            SqlType::Timestamptz,
            (-3_i64..3).prop_map(|v| ScalarValue::TimestampMicrosecond(Some(v), Some("UTC".into()))).boxed()
        ),
        of(SqlType::Uuid, any::<[u8; 16]>().prop_map(|v| ScalarValue::FixedSizeBinary(16, Some(v.to_vec()))).boxed()),
        of(
            SqlType::Bytea,
            prop::collection::vec(prop_oneof![Just(0), Just(255), any::<u8>()], 0..4)
                .prop_map(|v| ScalarValue::Binary(Some(v)))
                .boxed()
        ),
        of(SqlType::Text, texts.clone()),
        of(SqlType::Varchar(Some(9)), texts.clone()),
        of(SqlType::Name, texts),
        of(SqlType::Char(4), text.prop_map(|t: String| utf8(t.trim_end_matches(' '))).boxed()),
    ]
}

fn compare(column: &KeyColumn, one: &ScalarValue, other: &ScalarValue) -> Ordering {
    let float = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (false, false) => a.partial_cmp(&b).unwrap(),
        (a, b) => a.cmp(&b),
    };
    let order = match (one, other) {
        (ScalarValue::Float64(Some(a)), ScalarValue::Float64(Some(b))) => float(*a, *b),
        (ScalarValue::Float32(Some(a)), ScalarValue::Float32(Some(b))) => float((*a).into(), (*b).into()),
        _ => one.partial_cmp(other).unwrap(),
    };
    if column.descending { order.reverse() } else { order }
}

fn scheme(columns: usize) -> impl Strategy<Value = PartitionScheme> {
    prop_oneof![
        3 => (1..=columns).prop_map(PartitionScheme::Columns),
        1 => Just(PartitionScheme::Constant("all".to_owned())),
        1 => Just(PartitionScheme::Bucket(12)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn keys_read_back_and_sort_as_their_values(
        (samples, scheme, escape) in any::<bool>().prop_flat_map(|escape| {
            prop::collection::vec(sample(escape), 1..4).prop_flat_map(move |samples| {
                let columns = samples.len();
                (Just(samples), scheme(columns), Just(escape))
            })
        })
    ) {
        let columns: Vec<_> = samples.iter().map(|s| s.column.clone()).collect();
        let codec = KeyCodec::relational(columns, scheme.clone(), escape).unwrap();
        let rows = [
            samples.iter().map(|s| s.one.clone()).collect::<Vec<_>>(),
            samples.iter().map(|s| s.other.clone()).collect::<Vec<_>>(),
        ];
        let keys: Vec<_> = rows.iter().map(|row| encode_row(&codec, row).unwrap()).collect();
        for (row, key) in rows.iter().zip(&keys) {
            let found = codec.key_of(|index| row.get(index));
            prop_assert_eq!(&found.expect("every value of a column has its part"), key);
        }
        let expected = samples
            .iter()
            .map(|s| compare(&s.column, &s.one, &s.other))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal);
        let order = match scheme {
            PartitionScheme::Bucket(_) => keys[0].row.cmp(&keys[1].row),
            _ => keys[0].cmp(&keys[1]),
        };
        prop_assert_eq!(order, expected, "{:?}", &keys);

        let partitions = StringArray::from_iter_values(keys.iter().map(|k| k.partition.as_str()));
        let row_keys = StringArray::from_iter_values(keys.iter().map(|k| k.row.as_str()));
        let wanted: Vec<usize> = (0..samples.len()).rev().collect();
        let decoded = codec.decode(&partitions, &row_keys, &wanted).unwrap();
        for (array, index) in decoded.iter().zip(&wanted) {
            let column = &samples[*index].column;
            prop_assert_eq!(array.data_type(), &column.sql_type.arrow());
            for (row, values) in rows.iter().enumerate() {
                let back = ScalarValue::try_from_array(array, row).unwrap();
                prop_assert_eq!(compare(column, &back, &values[*index]), Ordering::Equal);
            }
        }
        for (index, sample) in samples.iter().enumerate() {
            if let (Some(Located::At(a)), Some(Located::At(b))) =
                (codec.locate(index, &sample.one), codec.locate(index, &sample.other))
            {
                prop_assert_eq!(a.cmp(&b), compare(&sample.column, &sample.one, &sample.other));
            } else {
                prop_assert!(false, "every value of a column has its part");
            }
        }
    }

    #[test]
    fn any_stored_key_decodes_or_is_refused(partition in ".{0,12}", row in "[-~0-9a-fTZ: .!]{0,30}") {
        let columns = vec![column(SqlType::Text, false), column(SqlType::Int2, true), column(SqlType::Bytea, false)];
        let codec = KeyCodec::relational(columns, PartitionScheme::Columns(1), true).unwrap();
        if let Ok(values) =
            codec.decode(&StringArray::from(vec![&*partition]), &StringArray::from(vec![&*row]), &[0, 1, 2])
        {
            let key = codec.encode_batch(&values).unwrap().remove(0);
            prop_assert_eq!(key.as_pair(), (&*partition, &*row));
        }
    }
}
