//! What each operation does to what it finds, and what a batch leaves behind.

use tablegate::store::model::{ETag, EdmDateTime, EdmValue, Properties};
use tablegate::store::table::{CommitError, IfMatch, Operation, Rejection, ScanColumn, StoreError, Written};

use crate::store_contract::harness::{
    Backend, Scan, Store, TestClock, batch, entity, get, instant, int, is, key, name, new_table, properties, rejection,
    stale_etag, stored, table, text, write, write_etag,
};

pub(super) async fn insert_of_a_new_key_is_stored(store: &Store) {
    let orders = new_table(store).await;
    let written = entity("p", "r", [("b", int(1)), ("a", text("x"))]);
    let outcome = write(store, &orders, Operation::Insert(written.clone())).await;
    let found = get(store, &orders, &key("p", "r")).await.unwrap();
    assert_eq!(found.entity, written);
    assert_eq!(outcome, Written::Entity { etag: found.etag, timestamp: found.timestamp });
}

pub(super) async fn insert_of_an_existing_key_is_rejected(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "r", [("a", int(1))]))).await;
    let before = get(store, &orders, &key("p", "r")).await;
    let again = vec![Operation::Insert(entity("p", "r", [("a", int(2))]))];
    assert_eq!(rejection(store, &orders, again).await, (0, Rejection::EntityExists));
    assert_eq!(get(store, &orders, &key("p", "r")).await, before);
}

pub(super) async fn operations_on_a_missing_entity_are_rejected(store: &Store) {
    let orders = new_table(store).await;
    for if_match in [IfMatch::Any, is(&stale_etag())] {
        for operation in conditional_operations(if_match) {
            assert_eq!(rejection(store, &orders, vec![operation]).await, (0, Rejection::EntityMissing));
        }
    }
    assert!(Scan::of(&orders).run(store).await.keys().is_empty());
}

pub(super) async fn operations_with_a_stale_etag_are_rejected(store: &Store) {
    let orders = new_table(store).await;
    let first = write_etag(store, &orders, Operation::Insert(entity("p", "r", [("a", int(1))]))).await;
    write(store, &orders, Operation::Merge(entity("p", "r", [("a", int(2))]), IfMatch::Any)).await;
    let before = get(store, &orders, &key("p", "r")).await;
    for stale in [first, stale_etag()] {
        for operation in conditional_operations(is(&stale)) {
            assert_eq!(rejection(store, &orders, vec![operation]).await, (0, Rejection::ETagMismatch));
        }
    }
    assert_eq!(get(store, &orders, &key("p", "r")).await, before);
}

pub(super) async fn operations_with_the_current_etag_are_applied(store: &Store) {
    applied(store, is).await;
}

pub(super) async fn operations_on_any_version_are_applied(store: &Store) {
    applied(store, |_| IfMatch::Any).await;
}

/// Merge, Replace and Delete, each on an entity that is there, with a precondition that holds.
async fn applied(store: &Store, if_match: impl Fn(&ETag) -> IfMatch) {
    let orders = new_table(store).await;
    let results = [Some(properties([("kept", int(0)), ("a", int(1))])), Some(properties([("a", int(1))])), None];
    for (index, expected) in results.into_iter().enumerate() {
        let old = entity("p", "r", [("kept", int(0))]);
        let etag = write_etag(store, &orders, Operation::InsertOrReplace(old)).await;
        let [merge, replace, delete] = conditional_operations(if_match(&etag));
        let operation = [merge, replace, delete].into_iter().nth(index).unwrap();
        write(store, &orders, operation).await;
        let found = get(store, &orders, &key("p", "r")).await;
        assert_eq!(found.map(|found| found.entity.properties), expected);
    }
}

fn conditional_operations(if_match: IfMatch) -> [Operation; 3] {
    let entity = entity("p", "r", [("a", int(1))]);
    [
        Operation::Merge(entity.clone(), if_match.clone()),
        Operation::Replace(entity, if_match.clone()),
        Operation::Delete(key("p", "r"), if_match),
    ]
}

pub(super) async fn an_etag_of_a_deleted_entity_is_stale_for_its_successor(store: &Store) {
    let orders = new_table(store).await;
    let first = write_etag(store, &orders, Operation::Insert(entity("p", "r", []))).await;
    assert_eq!(write(store, &orders, Operation::Delete(key("p", "r"), is(&first))).await, Written::Deleted);
    write(store, &orders, Operation::Insert(entity("p", "r", []))).await;
    let delete = Operation::Delete(key("p", "r"), is(&first));
    assert_eq!(rejection(store, &orders, vec![delete]).await, (0, Rejection::ETagMismatch));
}

pub(super) async fn merge_keeps_what_it_does_not_write(store: &Store) {
    let orders = new_table(store).await;
    let old = entity("p", "r", [("a", int(1)), ("b", text("old")), ("c", int(3))]);
    write(store, &orders, Operation::Insert(old)).await;
    write(store, &orders, Operation::Merge(entity("p", "r", [("b", text("new")), ("d", int(4))]), IfMatch::Any)).await;
    let expected = properties([("a", int(1)), ("b", text("new")), ("c", int(3)), ("d", int(4))]);
    assert_eq!(stored(store, &orders, &key("p", "r")).await, expected);
    // A merge of nothing removes nothing and still makes a new version.
    let before = get(store, &orders, &key("p", "r")).await.unwrap();
    write(store, &orders, Operation::Merge(entity("p", "r", []), IfMatch::Any)).await;
    let after = get(store, &orders, &key("p", "r")).await.unwrap();
    assert_eq!(after.entity, before.entity);
    assert_ne!(after.etag, before.etag);
}

pub(super) async fn merge_changes_the_type_of_what_it_writes(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "r", [("a", int(1)), ("b", int(2))]))).await;
    write(store, &orders, Operation::InsertOrMerge(entity("p", "r", [("a", text("one"))]))).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("a", text("one")), ("b", int(2))]));
}

pub(super) async fn merge_keeps_the_100_ns_of_what_it_does_not_write(store: &Store) {
    let orders = new_table(store).await;
    let at = EdmValue::DateTime(instant("2021-09-21T00:54:03.1536329Z"));
    write(store, &orders, Operation::Insert(entity("p", "r", [("at", at.clone())]))).await;
    write(store, &orders, Operation::Merge(entity("p", "r", [("a", int(1))]), IfMatch::Any)).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await.get("at"), Some(&at));
}

pub(super) async fn replace_leaves_exactly_the_given_properties(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "r", [("a", int(1)), ("b", int(2))]))).await;
    write(store, &orders, Operation::Replace(entity("p", "r", [("c", int(3)), ("b", text("x"))]), IfMatch::Any)).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("c", int(3)), ("b", text("x"))]));
    write(store, &orders, Operation::Replace(entity("p", "r", []), IfMatch::Any)).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, Properties::new());
}

pub(super) async fn upserts_create_and_overwrite(store: &Store) {
    let orders = new_table(store).await;
    for (row, operation) in [("m", Operation::InsertOrMerge as fn(_) -> _), ("r", Operation::InsertOrReplace)] {
        write(store, &orders, operation(entity("p", row, [("a", int(1)), ("b", int(1))]))).await;
        write(store, &orders, operation(entity("p", row, [("b", int(2)), ("c", int(2))]))).await;
    }
    let merged = properties([("a", int(1)), ("b", int(2)), ("c", int(2))]);
    assert_eq!(stored(store, &orders, &key("p", "m")).await, merged);
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("b", int(2)), ("c", int(2))]));
}

pub(super) async fn delete_removes_the_entity_only(store: &Store) {
    let orders = new_table(store).await;
    for (partition, row) in [("p", ""), ("p", "r"), ("p", "r1"), ("", "r"), ("q", "r")] {
        write(store, &orders, Operation::Insert(entity(partition, row, []))).await;
    }
    let outcome = write(store, &orders, Operation::Delete(key("p", "r"), IfMatch::Any)).await;
    assert_eq!(outcome, Written::Deleted);
    assert_eq!(get(store, &orders, &key("p", "r")).await, None);
    let left = [key("", "r"), key("p", ""), key("p", "r1"), key("q", "r")];
    assert_eq!(Scan::of(&orders).run(store).await.keys(), left);
    write(store, &orders, Operation::Insert(entity("p", "r", [("new", int(1))]))).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties([("new", int(1))]));
}

pub(super) async fn a_merge_beyond_the_limits_is_rejected(store: &Store) {
    let orders = new_table(store).await;
    let many = |prefix: &str, count: i32| -> Properties {
        (0..count).map(|i| (name(&format!("{prefix}{i}")), int(i))).collect()
    };
    let of = |row: &str, properties| tablegate::store::model::Entity::new(key("p", row), properties);
    write(store, &orders, Operation::Insert(of("many", many("a", 252)))).await;
    let one_more = Operation::Merge(of("many", many("b", 1)), IfMatch::Any);
    assert_eq!(rejection(store, &orders, vec![one_more]).await, (0, Rejection::TooManyProperties { count: 253 }));
    write(store, &orders, Operation::InsertOrMerge(of("many", many("a", 252)))).await;

    let large = |prefix: &str| -> Properties {
        let binary = || EdmValue::Binary(vec![7; 65_536].into());
        (0..10).map(|i| (name(&format!("{prefix}{i}")), binary())).collect()
    };
    write(store, &orders, Operation::Insert(of("large", large("a")))).await;
    let before = get(store, &orders, &key("p", "large")).await;
    let twice =
        vec![Operation::Insert(of("innocent", Properties::new())), Operation::InsertOrMerge(of("large", large("b")))];
    let (index, reason) = rejection(store, &orders, twice).await;
    assert!(index == 1 && matches!(reason, Rejection::EntityTooLarge { bytes } if bytes > 1024 * 1024));
    assert_eq!(get(store, &orders, &key("p", "large")).await, before);
    assert_eq!(get(store, &orders, &key("p", "innocent")).await, None);
}

pub(super) async fn a_batch_is_all_or_nothing(store: &Store) {
    let orders = new_table(store).await;
    for row in ["there", "merged", "deleted"] {
        write(store, &orders, Operation::Insert(entity("p", row, [("a", int(1))]))).await;
    }
    let columns = [ScanColumn::PartitionKey, ScanColumn::RowKey, ScanColumn::ETag];
    let before = Scan::of(&orders).columns(columns.clone()).run(store).await.rows();
    let operations = vec![
        Operation::Insert(entity("p", "new", [])),
        Operation::Merge(entity("p", "merged", [("a", int(2))]), IfMatch::Any),
        Operation::Delete(key("p", "deleted"), IfMatch::Any),
        Operation::Insert(entity("p", "there", [])),
    ];
    assert_eq!(rejection(store, &orders, operations).await, (3, Rejection::EntityExists));
    assert_eq!(Scan::of(&orders).columns(columns).run(store).await.rows(), before);
}

pub(super) async fn the_first_failing_operation_is_named(store: &Store) {
    let orders = new_table(store).await;
    write(store, &orders, Operation::Insert(entity("p", "there", []))).await;
    let operations = vec![
        Operation::InsertOrMerge(entity("p", "fine", [])),
        Operation::Delete(key("p", "there"), is(&stale_etag())),
        Operation::Merge(entity("p", "missing", []), IfMatch::Any),
        Operation::Delete(key("p", "missing too"), IfMatch::Any),
    ];
    assert_eq!(rejection(store, &orders, operations).await, (1, Rejection::ETagMismatch));
}

pub(super) async fn a_batch_mixes_all_operations(store: &Store) {
    let orders = new_table(store).await;
    let mut etags = Vec::new();
    for row in ["1", "2", "3", "4"] {
        etags.push(write_etag(store, &orders, Operation::Insert(entity("p", row, [("a", int(1))]))).await);
    }
    let new = |row: &str| entity("p", row, [("b", int(2))]);
    let operations = vec![
        Operation::Insert(new("5")),
        Operation::Merge(new("1"), is(&etags[0])),
        Operation::Replace(new("2"), IfMatch::Any),
        Operation::Delete(key("p", "3"), is(&etags[2])),
        Operation::InsertOrMerge(new("4")),
        Operation::InsertOrReplace(new("6")),
    ];
    let outcome = store.commit(batch(&orders, operations)).await.unwrap();
    let deleted: Vec<bool> = outcome.iter().map(|written| *written == Written::Deleted).collect();
    assert_eq!(deleted, [false, false, false, true, false, false]);
    let (merged, fresh) = (properties([("a", int(1)), ("b", int(2))]), properties([("b", int(2))]));
    for (row, expected) in [("1", &merged), ("2", &fresh), ("4", &merged), ("5", &fresh), ("6", &fresh)] {
        assert_eq!(stored(store, &orders, &key("p", row)).await, *expected, "{row}");
    }
}

pub(super) async fn a_batch_of_a_hundred_reports_in_order(store: &Store) {
    let orders = new_table(store).await;
    let rows: Vec<String> = (0..100).rev().map(|row| row.to_string()).collect();
    let operations = rows.iter().map(|row| Operation::Insert(entity("p", row, []))).collect();
    let outcome = store.commit(batch(&orders, operations)).await.unwrap();
    assert_eq!(outcome.len(), 100);
    for (row, written) in rows.iter().zip(outcome) {
        let found = get(store, &orders, &key("p", row)).await.unwrap();
        assert_eq!(written, Written::Entity { etag: found.etag, timestamp: found.timestamp });
    }
}

/// Of so many that a store may look for all of them at once.
pub(super) async fn a_batch_of_new_keys_meets_the_one_that_is_there(store: &Store) {
    let orders = new_table(store).await;
    let name = |row: usize| format!("{row:02}");
    let inserts = || (10..30).rev().map(|row| Operation::Insert(entity("p", &name(row), []))).collect::<Vec<_>>();
    // Around them, which is no obstacle.
    for row in [9, 30] {
        write(store, &orders, Operation::Insert(entity("p", &name(row), []))).await;
    }
    for there in [10, 17, 29] {
        write(store, &orders, Operation::Insert(entity("p", &name(there), []))).await;
        assert_eq!(rejection(store, &orders, inserts()).await, (29 - there, Rejection::EntityExists));
        write(store, &orders, Operation::Delete(key("p", &name(there)), IfMatch::Any)).await;
    }
    let deletes = (10..30).map(|row| Operation::Delete(key("p", &name(row)), IfMatch::Any)).collect();
    assert_eq!(rejection(store, &orders, deletes).await, (0, Rejection::EntityMissing));
    store.commit(batch(&orders, inserts())).await.unwrap();
    assert_eq!(rejection(store, &orders, inserts()).await, (0, Rejection::EntityExists));
    assert_eq!(Scan::of(&orders).columns([ScanColumn::RowKey]).run(store).await.rows().len(), 22);
}

pub(super) async fn every_write_changes_etag_and_timestamp(store: &Store) {
    let orders = new_table(store).await;
    let mut last: Option<(ETag, EdmDateTime)> = None;
    for _ in 0..50 {
        let same = entity("p", "r", [("a", int(1))]);
        write(store, &orders, Operation::InsertOrReplace(same)).await;
        let found = get(store, &orders, &key("p", "r")).await.unwrap();
        assert_eq!(found.etag, ETag::of_timestamp(found.timestamp));
        if let Some((etag, timestamp)) = last {
            assert_ne!(found.etag, etag);
            assert!(found.timestamp > timestamp);
        }
        last = Some((found.etag, found.timestamp));
    }
}

pub(super) async fn a_commit_into_a_missing_table_is_refused(store: &Store) {
    let gone = table("Gone");
    let result = store.commit(batch(&gone, vec![Operation::Insert(entity("p", "r", []))])).await;
    assert!(matches!(result, Err(CommitError::Store(StoreError::TableMissing(name))) if name == gone));
}

pub(super) async fn timestamps_rise_when_the_clock_does_not<B: Backend>() {
    let clock = TestClock::at("2020-01-01T00:00:00Z");
    let backend = B::create(clock.clone()).await;
    let orders = new_table(backend.store()).await;
    let mut last = EdmDateTime::MIN;
    for now in ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "2019-01-01T00:00:00Z", "2021-01-01T00:00:00Z"] {
        clock.set(now);
        for row in ["a", "b"] {
            write(backend.store(), &orders, Operation::InsertOrMerge(entity("p", row, []))).await;
            let at = get(backend.store(), &orders, &key("p", row)).await.unwrap().timestamp;
            assert!(at > last, "{at} after {last}");
            last = at;
        }
    }
    let expected = instant("2021-01-01T00:00:00Z");
    assert!(last >= expected && last.unix_ticks() < expected.unix_ticks() + 10, "the clock is used: {last}");
}
