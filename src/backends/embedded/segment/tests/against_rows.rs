//! Whatever is written, built and asked for: what segments show is what rows hold.

use proptest::prelude::*;

use super::*;

const TEXTS: [&str; 7] = ["", "a", "a ", "ab", "b", "é", "\u{1f600}"];

#[derive(Debug, Clone)]
enum Change {
    Put(EntityKey, Vec<(&'static str, EdmValue)>),
    Delete(EntityKey),
    Build,
    Reopen,
}

fn text() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&TEXTS[..])
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        4 => any::<i32>().prop_map(EdmValue::Int32),
        2 => any::<i64>().prop_map(EdmValue::Int64),
        2 => (-1000_i64..1000).prop_map(EdmValue::Int64),
        2 => "[a-c]{0,3}".prop_map(EdmValue::string),
        1 => any::<f64>().prop_map(EdmValue::Double),
        1 => any::<bool>().prop_map(EdmValue::Boolean),
        1 => (0..i64::from(i32::MAX)).prop_map(|t| EdmValue::DateTime(EdmDateTime::from_unix_ticks(t).unwrap())),
        1 => any::<u128>().prop_map(|bits| EdmValue::Guid(uuid::Uuid::from_u128(bits))),
        1 => prop::collection::vec(any::<u8>(), 0..4).prop_map(|bytes| EdmValue::Binary(bytes.into())),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let key = || (text(), text()).prop_map(|(partition, row)| EntityKey::parse(partition, row).unwrap());
    // Of "x" mostly one type, of "y" all.
    let x = prop_oneof![6 => any::<i32>().prop_map(EdmValue::Int32), 1 => value()];
    let values = (prop::option::of(x), prop::option::of(value()))
        .prop_map(|(x, y)| x.into_iter().map(|v| ("x", v)).chain(y.into_iter().map(|v| ("y", v))).collect());
    prop_oneof![
        12 => (key(), values).prop_map(|(key, values)| Change::Put(key, values)),
        4 => key().prop_map(Change::Delete),
        3 => Just(Change::Build),
        1 => Just(Change::Reopen),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    let cut = || {
        (0..5, text()).prop_map(|(kind, text)| match kind {
            0 => Cut::Min,
            1 => Cut::Max,
            2 => Cut::Before(text.into()),
            3 => Cut::After(text.into()),
            _ => Cut::AfterPrefix(text.into()),
        })
    };
    prop_oneof![2 => (cut(), cut()).prop_map(|(a, b)| Span { from: a.clone().min(b.clone()), to: a.max(b) }), 1 => Just(Span::ALL)]
}

fn asked() -> impl Strategy<Value = Vec<ScanColumn>> {
    let types = [
        ColumnType::Text,
        ColumnType::Int32,
        ColumnType::Int64,
        ColumnType::Double,
        ColumnType::Boolean,
        ColumnType::DateTime,
        ColumnType::Guid,
        ColumnType::Binary,
    ];
    let of = move || prop::sample::select(types.to_vec());
    let column = prop_oneof![
        1 => Just(ScanColumn::PartitionKey),
        1 => Just(ScanColumn::RowKey),
        1 => Just(ScanColumn::Timestamp),
        1 => Just(ScanColumn::ETag),
        4 => of().prop_map(|t| column("x", t)),
        2 => of().prop_map(|t| column("y", t)),
        1 => of().prop_map(|t| column("never", t)),
        1 => Just(ScanColumn::EdmTypeOf(PropertyName::parse("x").unwrap())),
    ];
    prop::collection::vec(column, 0..5)
}

/// The same scan forwards and backwards, from segments and the delta, and of rows.
async fn compare(store: &EmbeddedStore, ranges: &[KeyRange], columns: &[ScanColumn], batch_rows: usize) {
    let reader = store.reader();
    let rows = rows_alone(store, ranges, columns.to_vec()).await;
    for direction in [Direction::Forward, Direction::Reverse] {
        match (scan(&*reader, ranges, columns.to_vec(), direction, batch_rows).await, &rows) {
            (Ok(mut found), Ok(rows)) => {
                if direction == Direction::Reverse {
                    found.reverse();
                }
                assert_eq!(found, *rows, "{direction:?} {ranges:?} {columns:?}");
            }
            // Each names the first value that it meets.
            (Err(_), Err(_)) => {}
            (found, rows) => panic!("{found:?} {direction:?}, {rows:?} of rows: {ranges:?} {columns:?}"),
        }
    }
}

/// All rows, once in one scan and once in parts.
async fn compare_parts(store: &EmbeddedStore, parts: usize) {
    let (reader, columns) = (store.reader(), [ScanColumn::PartitionKey, ScanColumn::RowKey]);
    let keys = reader.split(&table(), &[KeyRange::all()], parts);
    assert!(keys.len() < parts);
    let mut rows = Vec::new();
    for part in 0..=keys.len() {
        let ranges = KeyRange::between(part.checked_sub(1).map(|before| &keys[before]), keys.get(part));
        rows.extend(scan(&*reader, &ranges, columns.to_vec(), Direction::Forward, 7).await.unwrap());
    }
    assert_eq!(rows, scan(&*reader, &[KeyRange::all()], columns.to_vec(), Direction::Forward, 7).await.unwrap());
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let operators = [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];
    let of = |name: &str, value: &EdmValue| PredicateColumn::Property {
        name: PropertyName::parse(name).unwrap(),
        column_type: ColumnType::of(value.edm_type()),
    };
    let column = || prop::sample::select(vec!["x", "x", "x", "y", "never"]);
    let value = || prop_oneof![2 => value(), 1 => (-9..9).prop_map(EdmValue::Int32)];
    let test = prop_oneof![
        6 => (column(), value(), prop::sample::select(operators.to_vec()))
            .prop_map(move |(name, value, op)| Predicate::compare(of(name, &value), op, value)),
        1 => (column(), value()).prop_map(move |(name, value)| Some(Predicate::is_null(of(name, &value)))),
        1 => (column(), value()).prop_map(move |(name, value)| Some(Predicate::is_not_null(of(name, &value)))),
        1 => (column(), "[a-c]{0,2}").prop_map(move |(name, text)| {
            Predicate::starts_with(of(name, &EdmValue::string("")), &text)
        }),
    ];
    let test = test.prop_map(|test| test.expect("the constant is of the column's type"));
    (prop::collection::vec(test, 1..4), any::<bool>())
        .prop_map(|(tests, all)| if all { Predicate::all(tests) } else { Predicate::any(tests) })
        .prop_map(|predicate| predicate.expect("there is a test"))
}

/// What a scan leaves out for a predicate is nothing that it may be true of, and the rest stays in order.
async fn compare_with(store: &EmbeddedStore, predicate: &Predicate) {
    let (reader, all) = (store.reader(), [KeyRange::all()]);
    let columns = vec![ScanColumn::PartitionKey, ScanColumn::RowKey];
    let every = scan(&*reader, &all, columns.clone(), Direction::Forward, 7).await.unwrap();
    let found = scan_for(&*reader, &all, columns, Direction::Forward, 7, Some(predicate.clone())).await.unwrap();
    let mut rest = found.iter().peekable();
    for row in &every {
        if rest.next_if_eq(&row).is_some() {
            continue;
        }
        let (partition, row_key) = row.split_once('|').unwrap();
        let key = EntityKey::parse(partition, row_key).unwrap();
        let stored = reader.get(&table(), &key).await.unwrap().unwrap();
        let value = |name: &PropertyName| stored.entity.properties.get(name.as_str()).map(EdmValue::as_ref);
        let mut lookup = |name: &PropertyName| value(name).map_or(StoredValue::Absent, StoredValue::Value);
        assert!(!predicate.may_hold(stored.timestamp, &mut lookup), "{predicate} leaves out {stored:?}");
    }
    assert_eq!(rest.next(), None, "in order, and nothing else");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn segments_show_what_rows_hold(
        changes in prop::collection::vec(change(), 1..120),
        scans in prop::collection::vec((span(), span(), asked(), 1..9_usize, predicate()), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let small = SegmentOptions { batch_rows: 3, segment_rows: 10, ..SegmentOptions::eager() };
            let mut store = open_with(folder.path(), small.clone());
            store.create_table(&table()).await.unwrap();
            for (index, change) in changes.into_iter().enumerate() {
                match change {
                    Change::Put(key, values) => {
                        let named = |(name, value)| (PropertyName::parse(name).unwrap(), value);
                        let new = Entity::new(key, values.into_iter().map(named).collect());
                        write(&store, Operation::InsertOrReplace(new)).await;
                    }
                    Change::Delete(key) => {
                        let delete = Operation::Delete(key, IfMatch::Any);
                        // It may not be there.
                        let _ = store.commit(Batch::single(table(), delete).unwrap()).await;
                    }
                    Change::Build => store.build_segments(),
                    Change::Reopen => {
                        store.close().unwrap();
                        store = open_with(folder.path(), small.clone());
                    }
                }
                let (partitions, rows, columns, batch_rows, predicate) = &scans[index % scans.len()];
                let range = KeyRange { partitions: partitions.clone(), rows: Arc::new([rows.clone()]) };
                compare(&store, &[range], columns, *batch_rows).await;
                let all = KeyRange { partitions: partitions.clone(), rows: Arc::new([Span::ALL]) };
                compare(&store, &[all], columns, *batch_rows).await;
                compare_with(&store, predicate).await;
                compare_parts(&store, *batch_rows).await;
            }
            compare(&store, &[KeyRange::all()], &all_columns()[..4], 1000).await;
        });
    }
}
