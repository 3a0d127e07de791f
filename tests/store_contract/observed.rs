//! The observed schema: never less than what is stored.

use std::sync::Arc;

use tablegate::store::model::{EdmType, EdmValue};
use tablegate::store::table::{IfMatch, ObservedSchema, Operation};

use crate::store_contract::harness::{
    Store, assert_missing, entity, insert_all, int, key, new_table, table, text, write,
};

async fn observed(store: &Store) -> Vec<(String, Vec<EdmType>)> {
    seen(&store.reader().observed_schema(&table("Orders")).await.unwrap())
}

fn seen(schema: &ObservedSchema) -> Vec<(String, Vec<EdmType>)> {
    schema.properties().iter().map(|p| (p.name.as_str().to_owned(), p.types.iter().collect())).collect()
}

fn expect(name: &str, types: &[EdmType]) -> (String, Vec<EdmType>) {
    (name.to_owned(), types.to_vec())
}

pub(super) async fn every_name_and_type_is_recorded_in_order(store: &Store) {
    let orders = new_table(store).await;
    assert_eq!(observed(store).await, []);
    insert_all(store, &orders, [entity("p", "1", [("b", int(1)), ("a", text("x"))])]).await;
    insert_all(store, &orders, [entity("q", "1", [("A", int(1)), ("b", EdmValue::Boolean(true))])]).await;
    let expected = [
        expect("b", &[EdmType::Int32, EdmType::Boolean]),
        expect("a", &[EdmType::String]),
        expect("A", &[EdmType::Int32]),
    ];
    assert_eq!(observed(store).await, expected);
    for (i, value) in crate::store_contract::values::samples().into_iter().enumerate() {
        insert_all(store, &orders, [entity("r", &i.to_string(), [("any", value)])]).await;
    }
    assert_eq!(observed(store).await[3], expect("any", &EdmType::ALL));
}

pub(super) async fn wide_integers_are_recorded(store: &Store) {
    let orders = new_table(store).await;
    let wide = async || {
        let schema = store.reader().observed_schema(&orders).await.unwrap();
        schema.get("a").unwrap().types.has_wide_int64()
    };
    insert_all(store, &orders, [entity("p", "1", [("a", EdmValue::Int64(1 << 53))])]).await;
    assert!(!wide().await);
    insert_all(store, &orders, [entity("p", "2", [("a", EdmValue::Int64(-(1 << 53) - 1))])]).await;
    assert!(wide().await);
    write(store, &orders, Operation::Delete(key("p", "2"), IfMatch::Any)).await;
    store.analyze(&orders).await.unwrap();
    assert!(!wide().await);
}

pub(super) async fn merges_and_replaces_are_recorded(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [("a", int(1))])]).await;
    write(store, &orders, Operation::Merge(entity("p", "1", [("b", int(1))]), IfMatch::Any)).await;
    write(store, &orders, Operation::Replace(entity("p", "1", [("c", text("x"))]), IfMatch::Any)).await;
    write(store, &orders, Operation::InsertOrMerge(entity("p", "1", [("c", int(1))]))).await;
    write(store, &orders, Operation::InsertOrReplace(entity("p", "1", [("d", int(1))]))).await;
    let expected = [
        expect("a", &[EdmType::Int32]),
        expect("b", &[EdmType::Int32]),
        expect("c", &[EdmType::String, EdmType::Int32]),
        expect("d", &[EdmType::Int32]),
    ];
    assert_eq!(observed(store).await, expected);
}

pub(super) async fn analyze_drops_what_is_gone(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [("gone", int(1)), ("b", int(1)), ("a", int(1))])]).await;
    insert_all(store, &orders, [entity("p", "2", [("a", text("x"))])]).await;
    write(store, &orders, Operation::Replace(entity("p", "1", [("b", int(1))]), IfMatch::Any)).await;
    store.analyze(&orders).await.unwrap();
    assert_eq!(observed(store).await, [expect("b", &[EdmType::Int32]), expect("a", &[EdmType::String])]);

    for row in ["1", "2"] {
        write(store, &orders, Operation::Delete(key("p", row), IfMatch::Any)).await;
    }
    store.analyze(&orders).await.unwrap();
    assert_eq!(observed(store).await, []);
    // What comes back is recorded again.
    insert_all(store, &orders, [entity("p", "1", [("gone", text("back"))])]).await;
    assert_eq!(observed(store).await, [expect("gone", &[EdmType::String])]);
}

pub(super) async fn analyze_of_a_missing_table_is_refused(store: &Store) {
    assert_missing(store.analyze(&table("Gone")).await, &table("Gone"));
}

pub(super) async fn a_reader_never_meets_an_unrecorded_property(store: &Store) {
    let orders = new_table(store).await;
    let writer = {
        let (store, orders) = (Arc::clone(store), orders.clone());
        tokio::spawn(async move {
            for i in 0..200 {
                let property = format!("p{i}");
                insert_all(&store, &orders, [entity("p", &property, [(property.as_str(), int(i))])]).await;
                tokio::task::yield_now().await;
            }
        })
    };
    let analyzer = {
        let (store, orders) = (Arc::clone(store), orders.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                store.analyze(&orders).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let mut finished = false;
    while !finished {
        // One round more after the last write.
        finished = writer.is_finished() && analyzer.is_finished();
        let reader = store.reader();
        let schema = reader.observed_schema(&orders).await.unwrap();
        for i in 0..200 {
            let property = format!("p{i}");
            if reader.get(&orders, &key("p", &property)).await.unwrap().is_some() {
                assert!(schema.get(&property).is_some(), "{property} is stored and not recorded");
            }
        }
    }
    writer.await.unwrap();
    analyzer.await.unwrap();
    assert_eq!(observed(store).await.len(), 200);
}
