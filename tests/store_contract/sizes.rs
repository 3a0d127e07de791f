//! How much a table holds, as a store that counts tells it. One that does not count says so, and is asked nothing more.

use tablegate::store::model::TableName;
use tablegate::store::table::{CommitError, IfMatch, Operation, TableSize};

use crate::store_contract::harness::{
    Scan, Store, assert_missing, batch, entity, insert_all, int, key, new_table, rejection, table, text, write,
};

fn size(store: &Store, table: &TableName) -> Option<TableSize> {
    store.reader().estimate(table).unwrap()
}

pub(super) async fn an_estimate_is_what_a_scan_finds(store: &Store) {
    let orders = new_table(store).await;
    let Some(empty) = size(store, &orders) else { return };
    assert_eq!(empty, TableSize::default());
    insert_all(store, &orders, (0..250).map(|i| entity("p", &format!("{i:03}"), [("n", int(i))]))).await;
    for operation in [
        Operation::Delete(key("p", "000"), IfMatch::Any),
        Operation::Merge(entity("p", "001", [("m", int(1))]), IfMatch::Any),
        Operation::Replace(entity("p", "002", []), IfMatch::Any),
        Operation::InsertOrReplace(entity("p", "003", [("n", int(1))])),
        Operation::InsertOrReplace(entity("q", "new", [])),
        Operation::InsertOrMerge(entity("p", "004", [("n", int(1))])),
        Operation::InsertOrMerge(entity("q", "newer", [])),
    ] {
        write(store, &orders, operation).await;
    }
    let found = Scan::of(&orders).run(store).await.keys().len();
    assert_eq!((size(store, &orders).unwrap().entities, found), (251, 251));
}

pub(super) async fn what_is_rejected_is_not_counted(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [])]).await;
    let before = size(store, &orders);
    let insert = |row| Operation::Insert(entity("p", row, []));
    rejection(store, &orders, vec![insert("0"), insert("1"), insert("2")]).await;
    let missing = store.commit(batch(&table("Gone"), vec![insert("1")])).await;
    assert!(matches!(missing, Err(CommitError::Store(_))));
    assert_eq!(size(store, &orders), before);
}

pub(super) async fn bytes_follow_what_is_stored(store: &Store) {
    let orders = new_table(store).await;
    if size(store, &orders).is_none() {
        return;
    }
    let bytes = || size(store, &orders).unwrap().bytes;
    insert_all(store, &orders, [entity("p", "1", [("t", text(&"x".repeat(1000)))])]).await;
    let one = bytes();
    assert!((1000..4000).contains(&one), "{one}");
    insert_all(store, &orders, [entity("p", "2", [("t", text(&"x".repeat(1000)))])]).await;
    assert_eq!(bytes(), 2 * one);
    write(store, &orders, Operation::Replace(entity("p", "1", [("t", text("x"))]), IfMatch::Any)).await;
    assert!(bytes() < 2 * one - 900);
    for row in ["1", "2"] {
        write(store, &orders, Operation::Delete(key("p", row), IfMatch::Any)).await;
    }
    assert_eq!(size(store, &orders), Some(TableSize::default()));
}

pub(super) async fn a_group_counts_in_each_of_its_tables(store: &Store) {
    let (orders, others) = (new_table(store).await, table("Others"));
    store.create_table(&others).await.unwrap();
    if !store.promises().atomic_groups || size(store, &orders).is_none() {
        return;
    }
    let insert = |partition: &str| Operation::Insert(entity(partition, "r", []));
    let group = [(&orders, "a"), (&orders, "b"), (&others, "a")];
    store.commit_group(group.map(|(table, p)| batch(table, vec![insert(p)])).to_vec()).await.unwrap();
    let entities = [&orders, &others].map(|table| size(store, table).unwrap().entities);
    assert_eq!(entities, [2, 1]);
}

pub(super) async fn a_recreated_table_begins_with_nothing(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, [entity("p", "1", [])]).await;
    store.drop_table(&orders).await.unwrap();
    assert_missing(store.reader().estimate(&orders), &orders);
    store.create_table(&orders).await.unwrap();
    assert_eq!(size(store, &orders).unwrap_or_default(), TableSize::default());
}

pub(super) async fn analyze_counts_the_same(store: &Store) {
    let orders = new_table(store).await;
    insert_all(store, &orders, (0..120).map(|i| entity("p", &i.to_string(), [("n", int(i))]))).await;
    let before = size(store, &orders);
    store.analyze(&orders).await.unwrap();
    assert_eq!(size(store, &orders), before);
}
