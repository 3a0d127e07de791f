//! The columns of a scan.

use tablegate::store::model::{EdmRef, EdmType, EdmValue};
use tablegate::store::table::{AtOnce, ColumnType, Operation, ScanColumn, ScanColumns, SnapshotScope, StoreError};

use crate::store_contract::harness::{
    Scan, Store, entity, get, insert_all, int, key, name, new_table, property, table, text, write,
};

pub(super) async fn batches_have_the_asked_for_schema(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "r", [("a", int(1))])]).await;
    let mut columns = vec![ScanColumn::EdmTypeOf(name("a")), ScanColumn::ETag, ScanColumn::Timestamp];
    columns.extend(EdmType::ALL.map(|edm_type| property(&format!("p{}", edm_type.code()), ColumnType::of(edm_type))));
    columns.extend([property("a", ColumnType::Int64), ScanColumn::RowKey, ScanColumn::PartitionKey]);
    let expected = ScanColumns::new(columns.clone());
    let scanned = Scan::of(&orders).columns(columns).run(store).await;
    assert_eq!(scanned.batches[0].schema(), *expected.schema());
}

pub(super) async fn system_columns_are_those_of_get(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "r", [])]).await;
    let found = get(store, &orders, &key("p", "r")).await.unwrap();
    let columns = [ScanColumn::Timestamp, ScanColumn::ETag, ScanColumn::RowKey, ScanColumn::PartitionKey];
    let rows = Scan::of(&orders).columns(columns).run(store).await.rows();
    let [Some(EdmValue::DateTime(timestamp)), etag, row, partition] = &rows[0][..] else { panic!("{rows:?}") };
    assert_eq!(timestamp.unix_micros(), found.timestamp.unix_micros());
    assert_eq!(*etag, Some(text(&found.etag.text())));
    assert_eq!((row, partition), (&Some(text("r")), &Some(text("p"))));
}

pub(super) async fn no_columns_still_count_rows(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, (0..250).map(|i| entity("p", &i.to_string(), [("a", int(i))]))).await;
    let scanned = Scan::of(&orders).columns([]).batch_rows(100).run(store).await;
    assert_eq!(scanned.batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 250);
}

pub(super) async fn absent_properties_are_null(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", []), entity("p", "2", [("a", int(2))]), entity("p", "3", [])]).await;
    let columns = [property("a", ColumnType::Int32), property("never", ColumnType::Guid)];
    let rows = Scan::of(&orders).columns(columns).run(store).await.rows();
    assert_eq!(rows, [[None, None], [Some(int(2)), None], [None, None]]);
}

pub(super) async fn one_key_is_read_at_once(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "r", [("a", int(7)), ("other", int(1)), ("t", text("x"))])]).await;
    let wanted =
        [("t", ColumnType::Text), ("never", ColumnType::Guid), ("a", ColumnType::Int32), ("a", ColumnType::Int64)];
    let columns = ScanColumns::new(wanted.map(|(name, column_type)| property(name, column_type)).into());
    let (reader, mut taken) = (store.reader(), Vec::new());
    let mut take = |column: usize, value: EdmRef<'_>| {
        taken.push((column, value.to_owned()));
        true
    };
    let found = reader.get_at_once(&orders, ("p", "r"), &columns, &mut take).unwrap();
    let missing = reader.get_at_once(&orders, ("p", "q"), &columns, &mut take).unwrap();
    let refused = reader.get_at_once(&orders, ("p", "r"), &columns, &mut |column, _| column == 0).unwrap();
    assert_eq!(refused, AtOnce::No);
    // A store that is asked over a network has to wait.
    if store.promises().snapshot == SnapshotScope::Store {
        let whole = get(store, &orders, &key("p", "r")).await.unwrap();
        assert_eq!((found, missing), (AtOnce::Entity(whole.timestamp), AtOnce::Nothing));
        assert_eq!(taken, [(0, text("x")), (2, int(7)), (3, int(7))]);
        let no_table = reader.get_at_once(&table("Nowhere"), ("p", "r"), &columns, &mut |_, _| true);
        assert!(matches!(no_table, Err(StoreError::TableMissing(_))), "{no_table:?}");
    } else {
        assert_eq!((found, missing, taken), (AtOnce::No, AtOnce::No, Vec::new()));
    }
}

pub(super) async fn a_property_can_be_asked_for_twice(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "r", [("a", int(7))])]).await;
    let columns = [property("a", ColumnType::Text), property("a", ColumnType::Int32), ScanColumn::EdmTypeOf(name("a"))];
    let rows = Scan::of(&orders).columns(columns).run(store).await.rows();
    assert_eq!(rows, [[Some(text("7")), Some(int(7)), Some(text("Edm.Int32"))]]);
}

pub(super) async fn values_widen_without_loss(store: &Store) {
    let orders = new_table(store).await;
    let values = [int(-3), EdmValue::Int64(1 << 53), EdmValue::Double(0.5)];
    insert_all(store, &orders, values.into_iter().zip(["1", "2", "3"]).map(|(v, row)| entity("p", row, [("a", v)])))
        .await;
    let doubles = Scan::of(&orders).property("a", ColumnType::Double).run(store).await.column();
    assert_eq!(doubles, [-3.0, 9_007_199_254_740_992.0, 0.5].map(|v| Some(EdmValue::Double(v))));
    let longs = Scan::of(&orders).property("a", ColumnType::Int64).limit(2).run(store).await.column();
    assert_eq!(longs, [-3, 1 << 53].map(|v| Some(EdmValue::Int64(v))));
}

pub(super) async fn mixed_types_show_as_text(store: &Store) {
    let orders = new_table(store).await;
    let values = crate::store_contract::values::samples();
    let row = |(i, v): (usize, &EdmValue)| entity("p", &format!("{i:03}"), [("a", v.clone())]);
    insert_all(store, &orders, values.iter().enumerate().map(row)).await;
    let columns = [property("a", ColumnType::Text), ScanColumn::EdmTypeOf(name("a"))];
    let rows = Scan::of(&orders).columns(columns).run(store).await.rows();
    let shown = |value: &EdmValue| vec![Some(text(&value.as_ref().to_string())), Some(text(value.edm_type().name()))];
    assert_eq!(rows, values.iter().map(shown).collect::<Vec<_>>());
}

pub(super) async fn edm_type_of_names_the_stored_type(store: &Store) {
    let orders = new_table(store).await;
    let entities = [entity("p", "1", [("a", int(1))]), entity("p", "2", []), entity("p", "3", [("a", text("1"))])];
    insert_all(store, &orders, entities).await;
    let types = Scan::of(&orders).columns([ScanColumn::EdmTypeOf(name("a"))]).run(store).await.column();
    assert_eq!(types, [Some(text("Edm.Int32")), None, Some(text("Edm.String"))]);
}

pub(super) async fn a_value_that_does_not_fit_ends_the_scan_with_its_key(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [("a", int(1))]), entity("p", "2", [("a", text("two"))])]).await;
    let error = Scan::of(&orders).property("a", ColumnType::Int32).try_run(&store.reader()).await.err().unwrap();
    let StoreError::Unfit(unfit) = error else { panic!("{error}") };
    assert_eq!(*unfit.key, key("p", "2"));
    assert_eq!((unfit.property, unfit.stored, unfit.expected), (name("a"), EdmType::String, ColumnType::Int32));
    assert_eq!(unfit.value, "two");

    let wide = EdmValue::Int64((1 << 53) + 1);
    write(store, &orders, Operation::InsertOrReplace(entity("p", "2", [("a", wide)]))).await;
    let as_double = Scan::of(&orders).property("a", ColumnType::Double).try_run(&store.reader()).await;
    assert!(matches!(as_double, Err(StoreError::Unfit(unfit)) if unfit.value == "9007199254740993"));
}

pub(super) async fn a_value_that_does_not_fit_matters_only_when_read(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [("a", int(1))]), entity("p", "2", [("a", text("two"))])]).await;
    let limited = Scan::of(&orders).property("a", ColumnType::Int32).limit(1).run(store).await;
    assert_eq!(limited.column(), [Some(int(1))]);
    assert_eq!(Scan::of(&orders).run(store).await.keys().len(), 2);
}
