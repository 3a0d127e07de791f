//! Tables: created, listed, dropped.

use tablegate::store::table::{Operation, StoreError};

use crate::store_contract::harness::{
    Scan, Store, assert_missing, batch, entity, get, insert_all, int, key, new_table, rejection, table, write,
};

pub(super) async fn a_table_is_created_once_whatever_its_case(store: &Store) {
    store.create_table(&table("Orders")).await.unwrap();
    for again in ["Orders", "ORDERS"] {
        let result = store.create_table(&table(again)).await;
        assert!(matches!(result, Err(StoreError::TableExists(name)) if name == table("orders")), "{again}");
    }
    assert_eq!(store.reader().list_tables().await.unwrap().len(), 1);
}

pub(super) async fn tables_are_listed_by_name_ignoring_case(store: &Store) {
    for name in ["beta", "Alpha", "alpha2", "ALPHA10", "Beta1"] {
        store.create_table(&table(name)).await.unwrap();
    }
    let listed = store.reader().list_tables().await.unwrap();
    let spellings: Vec<&str> = listed.iter().map(|name| name.as_str()).collect();
    assert_eq!(spellings, ["Alpha", "ALPHA10", "alpha2", "beta", "Beta1"]);
}

pub(super) async fn names_reach_a_table_in_any_case(store: &Store) {
    new_table(store).await;
    write(store, &table("ORDERS"), Operation::Insert(entity("p", "r", []))).await;
    assert!(get(store, &table("orders"), &key("p", "r")).await.is_some());
    assert_eq!(Scan::of(&table("oRDERS")).run(store).await.keys(), [key("p", "r")]);
    store.analyze(&table("orders")).await.unwrap();
    store.drop_table(&table("orders")).await.unwrap();
    assert!(store.reader().list_tables().await.unwrap().is_empty());
}

pub(super) async fn what_is_not_there_is_missing(store: &Store) {
    let (there, gone) = (new_table(store).await, table("Gone"));
    let reader = store.reader();
    assert_missing(reader.get(&gone, &key("p", "r")).await, &gone);
    assert_missing(reader.observed_schema(&gone).await, &gone);
    assert_missing(Scan::of(&gone).try_run(&reader).await, &gone);
    assert_missing(store.drop_table(&gone).await, &gone);
    assert_eq!(reader.get(&there, &key("p", "r")).await.unwrap(), None);
}

pub(super) async fn a_dropped_table_takes_its_data_with_it(store: &Store) {
    let orders = new_table(store).await;
    let neighbour = table("Orders2");
    store.create_table(&neighbour).await.unwrap();
    insert_all(store, &neighbour, [entity("p", "r", [("kept", int(1))])]).await;
    insert_all(store, &orders, (0..250).map(|i| entity("p", &i.to_string(), [("old", int(i))]))).await;

    store.drop_table(&orders).await.unwrap();
    assert_missing(store.reader().get(&orders, &key("p", "1")).await, &orders);
    store.create_table(&orders).await.unwrap();
    assert!(Scan::of(&orders).run(store).await.keys().is_empty());
    assert!(store.reader().observed_schema(&orders).await.unwrap().properties().is_empty());

    insert_all(store, &orders, [entity("p", "1", [("new", int(1))])]).await;
    assert_eq!(Scan::of(&orders).run(store).await.keys(), [key("p", "1")]);
    assert_eq!(Scan::of(&neighbour).run(store).await.keys(), [key("p", "r")]);
    assert_eq!(rejection(store, &orders, vec![Operation::Insert(entity("p", "1", []))]).await.0, 0);
}

pub(super) async fn a_recreated_table_has_its_new_spelling(store: &Store) {
    new_table(store).await;
    store.drop_table(&table("Orders")).await.unwrap();
    store.create_table(&table("orderS")).await.unwrap();
    assert_eq!(store.reader().list_tables().await.unwrap()[0].as_str(), "orderS");
}

pub(super) async fn a_reader_keeps_a_table_that_is_dropped(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, (0..150).map(|i| entity("p", &format!("{i:03}"), [("old", int(i))]))).await;
    let before = store.reader();
    store.drop_table(&orders).await.unwrap();
    store.create_table(&orders).await.unwrap();
    store.commit(batch(&orders, vec![Operation::Insert(entity("q", "new", []))])).await.unwrap();

    assert_eq!(Scan::of(&orders).try_run(&before).await.unwrap().keys().len(), 150);
    assert_eq!(before.get(&orders, &key("q", "new")).await.unwrap(), None);
    assert!(before.observed_schema(&orders).await.unwrap().get("old").is_some());
    assert_eq!(Scan::of(&orders).run(store).await.keys(), [key("q", "new")]);
}
