//! Values and keys come back exactly as they were written.

use tablegate::store::model::limits::{BINARY_MAX_BYTES, ENTITY_MAX_BYTES, STRING_MAX_UTF16_UNITS};
use tablegate::store::model::{EdmDateTime, EdmType, EdmValue, Entity, Properties};
use tablegate::store::table::{ColumnType, Operation};
use uuid::Uuid;

use crate::store_contract::harness::{
    Scan, Store, entity, exactly, get, insert_all, int, key, name, new_table, properties, stored, text, write,
};

/// Ordinary and extreme values of every type.
pub(super) fn samples() -> Vec<EdmValue> {
    let ticks = |ticks| EdmValue::DateTime(EdmDateTime::from_unix_ticks(ticks).unwrap());
    let mut samples = vec![
        text(""),
        text("plain"),
        text("nul \u{0}, quote \", backslash \\, line\r\n, é, 漢字, 😀, \u{ffff}, \u{10ffff}"),
        EdmValue::Boolean(false),
        EdmValue::Boolean(true),
        EdmValue::Guid(Uuid::nil()),
        EdmValue::Guid(Uuid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff)),
        EdmValue::Guid(Uuid::max()),
        EdmValue::Binary([].into()),
        EdmValue::Binary((0..=255).collect()),
        EdmValue::DateTime(EdmDateTime::MIN),
        EdmValue::DateTime(EdmDateTime::MAX),
        ticks(-1),
        ticks(0),
        ticks(16_321_856_431_536_329),
    ];
    samples.extend([i32::MIN, -1, 0, 1, i32::MAX].map(EdmValue::Int32));
    samples.extend([i64::MIN, -1, 0, 1, 1 << 53, (1 << 53) + 1, i64::MAX].map(EdmValue::Int64));
    samples.extend(
        [0.0, -0.0, 0.1, f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            .map(EdmValue::Double),
    );
    samples
}

pub(super) async fn every_type_keeps_every_bit(store: &Store) {
    let orders = new_table(store).await;
    for (row, value) in samples().into_iter().enumerate() {
        let (at, property) = (key("p", &format!("{row:03}")), value.edm_type().name().replace("Edm.", ""));
        write(
            store,
            &orders,
            Operation::Insert(Entity::new(at.clone(), properties([(property.as_str(), value.clone())]))),
        )
        .await;
        let found = stored(store, &orders, &at).await;
        assert_eq!(found.get(&property).map(exactly), Some(exactly(&value)));
    }
    for edm_type in EdmType::ALL {
        let property = edm_type.name().replace("Edm.", "");
        let scanned = Scan::of(&orders).property(&property, ColumnType::of(edm_type)).run(store).await;
        let shown: Vec<String> = scanned.column().iter().flatten().map(exactly).collect();
        let of_type = samples().into_iter().filter(|value| value.edm_type() == edm_type);
        assert_eq!(shown, of_type.map(|value| exactly(&as_shown(value))).collect::<Vec<_>>());
    }
}

/// SQL sees microseconds, rounded down.
fn as_shown(value: EdmValue) -> EdmValue {
    match value {
        EdmValue::DateTime(at) => EdmValue::DateTime(EdmDateTime::from_unix_micros(at.unix_micros()).unwrap()),
        other => other,
    }
}

pub(super) async fn the_longest_values_are_kept(store: &Store) {
    let orders = new_table(store).await;
    let longest = [
        ("ascii", text(&"a".repeat(STRING_MAX_UTF16_UNITS))),
        ("three", text(&"漢".repeat(STRING_MAX_UTF16_UNITS))),
        ("pairs", text(&"😀".repeat(STRING_MAX_UTF16_UNITS / 2))),
        ("binary", EdmValue::Binary((0..BINARY_MAX_BYTES).map(|i| (i % 251) as u8).collect())),
    ];
    let written = entity("p", "r", longest);
    write(store, &orders, Operation::Insert(written.clone())).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, written.properties);
    let three = Scan::of(&orders).property("three", ColumnType::Text).run(store).await.column();
    assert_eq!(three[0].as_ref(), written.properties.get("three"));
}

pub(super) async fn an_entity_of_a_mebibyte_is_kept(store: &Store) {
    let orders = new_table(store).await;
    let binary = |length| EdmValue::Binary(vec![0xa5; length].into());
    let mut properties: Properties = (0..15).map(|i| (name(&format!("p{i}")), binary(BINARY_MAX_BYTES))).collect();
    properties.set(name("last"), binary(0));
    let room = ENTITY_MAX_BYTES - Entity::new(key("p", "r"), properties.clone()).stored_size();
    properties.set(name("last"), binary(room));
    let written = Entity::new(key("p", "r"), properties);
    assert_eq!(written.stored_size(), ENTITY_MAX_BYTES);
    write(store, &orders, Operation::Insert(written.clone())).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, written.properties);
}

pub(super) async fn the_most_properties_are_kept_in_order(store: &Store) {
    let orders = new_table(store).await;
    let properties: Properties = (0..252).rev().map(|i| (name(&format!("p{i}")), int(i))).collect();
    write(store, &orders, Operation::Insert(Entity::new(key("p", "r"), properties.clone()))).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, properties);
    let p17 = Scan::of(&orders).property("p17", ColumnType::Int32).run(store).await.column();
    assert_eq!(p17, [Some(int(17))]);
}

pub(super) async fn property_names_differ_by_case(store: &Store) {
    let orders = new_table(store).await;
    let (upper, umlaut) = ("Age", "Größe");
    let long = "p".repeat(255);
    let written = entity("p", "r", [(upper, int(1)), ("age", int(2)), (umlaut, int(3)), (long.as_str(), int(4))]);
    write(store, &orders, Operation::Insert(written.clone())).await;
    assert_eq!(stored(store, &orders, &key("p", "r")).await, written.properties);
    let age = Scan::of(&orders).property("age", ColumnType::Int32).run(store).await.column();
    assert_eq!(age, [Some(int(2))]);
}

pub(super) async fn the_longest_keys_are_kept(store: &Store) {
    let orders = new_table(store).await;
    let long = ["a".repeat(1024), "漢".repeat(1024), "😀".repeat(1024)];
    for partition in &long {
        insert_all(store, &orders, long.iter().map(|row| entity(partition, row, [("a", int(1))]))).await;
    }
    let expected: Vec<_> = long.iter().flat_map(|partition| long.iter().map(|row| key(partition, row))).collect();
    assert_eq!(Scan::of(&orders).run(store).await.keys(), expected);
    assert!(get(store, &orders, &expected[8]).await.is_some());
    let one_shorter = key(&"a".repeat(1023), &"a".repeat(1024));
    assert!(get(store, &orders, &one_shorter).await.is_none());
}

pub(super) async fn entities_of_many_shapes_live_together(store: &Store) {
    let orders = new_table(store).await;
    // Three hundred entities, no two with the same set of properties and types.
    let shape = |i: i32| {
        let bits = (0..9).filter(move |bit| i & (1 << bit) != 0);
        let pairs = bits.map(move |bit| (name(&format!("p{bit}")), if i % 7 == 0 { text("x") } else { int(bit) }));
        Entity::new(key("p", &format!("{i:03}")), pairs.collect())
    };
    insert_all(store, &orders, (0..300).map(shape)).await;
    for i in [0, 1, 7, 128, 299] {
        assert_eq!(stored(store, &orders, &key("p", &format!("{i:03}"))).await, shape(i).properties);
    }
    let shown = Scan::of(&orders).property("p3", ColumnType::Text).run(store).await.column();
    let expected = (0..300).map(|i| shape(i).properties.get("p3").map(|value| text(&value.as_ref().to_string())));
    assert_eq!(shown, expected.collect::<Vec<_>>());
}
