//! Columns built from entities: types, NULLs and values that do not fit.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use uuid::Uuid;

use super::*;
use crate::model::{EdmValue, Entity, Properties};

fn name(text: &str) -> PropertyName {
    PropertyName::parse(text).unwrap()
}

fn property(text: &str, column_type: ColumnType) -> ScanColumn {
    ScanColumn::Property { name: name(text), column_type }
}

fn stored(row: &str, properties: Vec<(&str, EdmValue)>) -> StoredEntity {
    let properties: Properties = properties.into_iter().map(|(n, v)| (name(n), v)).collect();
    let timestamp = EdmDateTime::parse("2021-09-21T00:54:03.1536329Z").unwrap();
    let entity = Entity::new(EntityKey::parse("p", row).unwrap(), properties);
    StoredEntity { entity, timestamp, etag: ETag::of_timestamp(timestamp) }
}

/// One column "a" of this type, with the values of a row each.
fn show(column_type: ColumnType, values: Vec<EdmValue>) -> Result<ArrayRef, Unfit> {
    let columns = ScanColumns::new(vec![property("a", column_type)]);
    let mut builder = EntityColumns::new(Arc::new(columns));
    for value in values {
        builder.push(&stored("r", vec![("a", value)]))?;
    }
    Ok(builder.take().unwrap().unwrap().column(0).clone())
}

#[test]
fn system_columns_come_from_the_entity() {
    let columns = [ScanColumn::ETag, ScanColumn::RowKey, ScanColumn::Timestamp, ScanColumn::PartitionKey];
    let mut builder = EntityColumns::new(Arc::new(ScanColumns::new(columns.to_vec())));
    let entity = stored("r", vec![]);
    builder.push(&entity).unwrap();
    builder.start("p", "s", entity.timestamp, RowETag::Of(entity.timestamp));
    builder.finish_row();
    let batch = builder.take().unwrap().unwrap();
    let text = |i: usize| -> Vec<_> { batch.column(i).as_string::<i32>().iter().flatten().collect() };
    assert_eq!(text(0), [&*entity.etag.text(); 2]);
    assert_eq!(text(1), ["r", "s"]);
    assert_eq!(text(3), ["p", "p"]);
    // The 100 ns digit is rounded down.
    let micros = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(micros.value(0), 1_632_185_643_153_632);
}

#[test]
fn absent_properties_are_null() {
    let columns: Vec<_> =
        EdmType::ALL.map(|t| property(&format!("p{}", t.code()), ColumnType::of(t))).into_iter().collect();
    let mut builder = EntityColumns::new(Arc::new(ScanColumns::new(columns)));
    builder.push(&stored("r", vec![("other", EdmValue::Int32(1))])).unwrap();
    let batch = builder.take().unwrap().unwrap();
    assert!(batch.columns().iter().all(|column| column.null_count() == 1));
}

#[test]
fn a_scan_without_columns_counts_rows() {
    let mut builder = EntityColumns::new(Arc::new(ScanColumns::new(Vec::new())));
    for _ in 0..3 {
        builder.push(&stored("r", vec![])).unwrap();
    }
    assert_eq!(builder.take().unwrap().unwrap().num_rows(), 3);
    assert!(builder.take().unwrap().is_none());
}

#[test]
fn integers_widen_without_loss() {
    let column = show(ColumnType::Int64, vec![EdmValue::Int32(-1), EdmValue::Int64(i64::MAX)]).unwrap();
    assert_eq!(column.as_primitive::<Int64Type>().values(), &[-1, i64::MAX]);
    let exact = 1_i64 << 53;
    let values = vec![EdmValue::Int32(7), EdmValue::Int64(-exact), EdmValue::Double(0.5)];
    let column = show(ColumnType::Double, values).unwrap();
    assert_eq!(column.as_primitive::<Float64Type>().values(), &[7.0, -9_007_199_254_740_992.0, 0.5]);
}

#[test]
fn everything_shows_as_text() {
    let values = vec![
        EdmValue::string("s"),
        EdmValue::Int64(5),
        EdmValue::Double(2.5),
        EdmValue::Boolean(true),
        EdmValue::Guid(Uuid::nil()),
        EdmValue::Binary([0xab].into()),
    ];
    let column = show(ColumnType::Text, values).unwrap();
    let texts: Vec<_> = column.as_string::<i32>().iter().flatten().collect();
    assert_eq!(texts, ["s", "5", "2.5", "true", "00000000-0000-0000-0000-000000000000", "\\xab"]);
}

#[test]
fn a_value_that_would_lose_something_is_unfit() {
    let cases = [
        (ColumnType::Double, EdmValue::Int64((1 << 53) + 1), "9007199254740993"),
        (ColumnType::Int32, EdmValue::Int64(1), "1"),
        (ColumnType::Int64, EdmValue::Double(1.0), "1"),
        (ColumnType::Boolean, EdmValue::string("true"), "true"),
        (ColumnType::DateTime, EdmValue::string("2020-01-01T00:00:00Z"), "2020-01-01T00:00:00Z"),
        (ColumnType::Guid, EdmValue::Binary([0; 16].into()), "\\x00000000000000000000000000000000"),
        (ColumnType::Binary, EdmValue::Guid(Uuid::nil()), "00000000-0000-0000-0000-000000000000"),
    ];
    for (expected, value, text) in cases {
        let unfit = show(expected, vec![value.clone()]).unwrap_err();
        let key = Box::new(EntityKey::parse("p", "r").unwrap());
        let stored = value.edm_type();
        assert_eq!(unfit, Unfit { key, property: name("a"), stored, value: text.to_owned(), expected });
    }
}

#[test]
fn an_error_quotes_only_the_beginning_of_a_long_value() {
    let unfit = show(ColumnType::Int32, vec![EdmValue::string("é".repeat(30_000))]).unwrap_err();
    assert_eq!(unfit.value, "é".repeat(64));
}

#[test]
fn edm_type_of_names_the_stored_type() {
    let columns = ScanColumns::new(vec![ScanColumn::EdmTypeOf(name("a")), property("a", ColumnType::Text)]);
    let mut builder = EntityColumns::new(Arc::new(columns));
    for value in [Some(EdmValue::Int32(1)), None, Some(EdmValue::string("x"))] {
        builder.push(&stored("r", value.map(|v| ("a", v)).into_iter().collect())).unwrap();
    }
    let batch = builder.take().unwrap().unwrap();
    let types: Vec<_> = batch.column(0).as_string::<i32>().iter().collect();
    assert_eq!(types, [Some("Edm.Int32"), None, Some("Edm.String")]);
}

#[test]
fn taking_starts_anew() {
    let mut builder = EntityColumns::new(Arc::new(ScanColumns::new(vec![property("a", ColumnType::Int32)])));
    for value in [1, 2] {
        builder.push(&stored("r", vec![("a", EdmValue::Int32(value))])).unwrap();
        assert_eq!(builder.take().unwrap().unwrap().column(0).as_primitive::<Int32Type>().values(), &[value]);
        assert!(builder.is_empty());
    }
}

#[test]
fn long_values_fill_a_batch_early() {
    let mut builder = EntityColumns::new(Arc::new(ScanColumns::new(vec![property("a", ColumnType::Binary)])));
    let long = stored("r", vec![("a", EdmValue::Binary(vec![0; 65_536].into()))]);
    while !builder.is_full(1_000_000) {
        builder.push(&long).unwrap();
    }
    assert_eq!(builder.rows(), BATCH_VARIABLE_BYTES / 65_536);
    builder.take().unwrap();
    assert!(!builder.is_full(1));
}

#[test]
fn derived_columns_are_made_of_stored_ones() {
    let sum = |inputs: &[ArrayRef]| {
        let (a, b) = (inputs[0].as_primitive::<Int32Type>(), inputs[1].as_primitive::<Int32Type>());
        let sum: arrow::array::Int32Array =
            arrow::compute::binary(a, b, |a: i32, b: i32| a + b).map_err(|e| Arc::new(e) as DeriveError)?;
        if sum.iter().flatten().any(|sum| sum > 100) {
            return Err(Arc::new(arrow::error::ArrowError::ComputeError("too much".to_owned())) as DeriveError);
        }
        Ok(Arc::new(sum) as ArrayRef)
    };
    let inputs = vec![property("a", ColumnType::Int32), property("b", ColumnType::Int32)];
    let derived = ScanColumn::Derived(Arc::new(DerivedColumn::new("a + b".to_owned(), inputs, DataType::Int32, sum)));
    // One of the inputs is asked for too, and shares its place; the other is read and not handed out.
    let columns = Arc::new(ScanColumns::new(vec![derived, property("b", ColumnType::Int32), ScanColumn::RowKey]));
    let mut builder = EntityColumns::new(Arc::clone(&columns));
    let row = |a, b| stored("r", vec![("a", EdmValue::Int32(a)), ("b", EdmValue::Int32(b))]);
    builder.push(&row(1, 2)).unwrap();
    builder.push(&stored("s", vec![("b", EdmValue::Int32(5))])).unwrap();
    let batch = builder.take().unwrap().unwrap();
    assert_eq!(batch.schema(), *columns.schema());
    let numbers = |i: usize| -> Vec<_> { batch.column(i).as_primitive::<Int32Type>().iter().collect() };
    assert_eq!((numbers(0), numbers(1)), (vec![Some(3), None], vec![Some(2), Some(5)]));
    assert_eq!(batch.column(2).as_string::<i32>().value(1), "s");
    builder.push(&row(100, 1)).unwrap();
    assert_eq!(builder.take().unwrap_err().to_string(), "Compute error: too much");
    // The builder starts anew all the same.
    assert!(builder.take().unwrap().is_none());
}
