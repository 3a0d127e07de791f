//! Predicates are hints: what a scan leaves out for one is never something that it is true of.

use std::collections::BTreeSet;

use tablegate::store::model::{
    EdmDateTime, EdmRef, EdmType, EdmValue, EntityKey, PropertyName, StoredEntity, TableName,
};
use tablegate::store::table::predicate::{CompareOp, Condition, PredicateColumn, StoredValue, fitting_types};
use tablegate::store::table::{ColumnType, Predicate};

use crate::store_contract::harness::{Scan, Store, entity, get, insert_all, int, key, name, new_table, text};
use crate::store_contract::values::samples;

const OPERATORS: [CompareOp; 6] =
    [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq];

fn column(property: &str, column_type: ColumnType) -> PredicateColumn {
    PredicateColumn::Property { name: name(property), column_type }
}

fn compared(property: &str, op: CompareOp, constant: EdmValue) -> Predicate {
    Predicate::compare(column(property, ColumnType::of(constant.edm_type())), op, constant).unwrap()
}

/// Values of every type, some close to each other.
fn values() -> Vec<EdmValue> {
    let ticks = |ticks| EdmValue::DateTime(EdmDateTime::from_unix_ticks(ticks).unwrap());
    let mut values: Vec<EdmValue> = samples().into_iter().filter(|v| !v.as_ref().to_string().contains('\0')).collect();
    values.extend([ticks(16_321_856_431_536_320), ticks(16_321_856_431_536_319), ticks(16_321_856_430_000_000)]);
    values.extend([text("5"), text("plai"), text("plain "), text("plao"), text("\u{ff5e}"), text("o'clock")]);
    values.extend([int(5), EdmValue::Int64(5), EdmValue::Double(5.0), EdmValue::Double(4.5)]);
    values
}

/// One entity for each value, with a number beside it; one without a value.
async fn fill(store: &Store) -> (TableName, Vec<StoredEntity>) {
    let orders = new_table(store).await;
    let values = values();
    let with = |(row, value): (usize, &EdmValue)| {
        let b = int(i32::try_from(row % 7).unwrap());
        entity(if row % 3 == 0 { "p" } else { "q" }, &format!("{row:03}"), [("a", value.clone()), ("b", b)])
    };
    let mut entities: Vec<_> = values.iter().enumerate().map(with).collect();
    entities.push(entity("q", "absent", [("b", int(3))]));
    entities.sort_by(|a, b| a.key.cmp(&b.key));
    let keys: Vec<EntityKey> = entities.iter().map(|entity| entity.key.clone()).collect();
    insert_all(store, &orders, entities).await;
    let mut stored = Vec::new();
    for key in &keys {
        stored.push(get(store, &orders, key).await.unwrap());
    }
    (orders, stored)
}

/// Whether the predicate is true of the entity: not only that it may be.
fn is_true(predicate: &Predicate, stored: &StoredEntity) -> bool {
    let value = |name: &PropertyName| stored.entity.properties.get(name.as_str()).map(EdmValue::as_ref);
    match predicate {
        Predicate::All(parts) => parts.iter().all(|part| is_true(part, stored)),
        Predicate::Any(parts) => parts.iter().any(|part| is_true(part, stored)),
        Predicate::Test(test) => {
            let asks_for_any = matches!(test.condition(), Condition::IsNull | Condition::IsNotNull);
            let fits = match test.column() {
                PredicateColumn::Timestamp => true,
                PredicateColumn::Property { name, column_type } => {
                    asks_for_any || value(name).is_none_or(|value| fits(*column_type, value))
                }
            };
            let mut lookup = |name: &PropertyName| value(name).map_or(StoredValue::Absent, StoredValue::Value);
            fits && predicate.may_hold(stored.timestamp, &mut lookup)
        }
    }
}

fn fits(column_type: ColumnType, value: EdmRef<'_>) -> bool {
    let is_wide = matches!(value, EdmRef::Int64(v) if v.unsigned_abs() > 1 << 53);
    fitting_types(column_type).contains(&value.edm_type()) && !(column_type == ColumnType::Double && is_wide)
}

async fn found(store: &Store, table: &TableName, predicate: &Predicate) -> Vec<EntityKey> {
    Scan::of(table).predicate(predicate.clone()).run(store).await.keys()
}

async fn check(store: &Store, table: &TableName, stored: &[StoredEntity], predicate: &Predicate) {
    let found = found(store, table, predicate).await;
    assert!(found.is_sorted(), "{predicate}");
    let found: BTreeSet<&EntityKey> = found.iter().collect();
    for entity in stored.iter().filter(|entity| is_true(predicate, entity)) {
        assert!(found.contains(&entity.entity.key), "{predicate} is true of {entity:?}");
    }
}

pub(super) async fn no_comparison_loses_what_it_is_true_of(store: &Store) {
    let (orders, stored) = fill(store).await;
    assert_eq!(Scan::of(&orders).run(store).await.keys().len(), stored.len());
    for constant in values() {
        for op in OPERATORS {
            check(store, &orders, &stored, &compared("a", op, constant.clone())).await;
        }
    }
}

pub(super) async fn no_list_loses_what_it_is_true_of(store: &Store) {
    let (orders, stored) = fill(store).await;
    for edm_type in EdmType::ALL {
        let column = || column("a", ColumnType::of(edm_type));
        let mut constants: Vec<EdmValue> = values().into_iter().filter(|v| v.edm_type() == edm_type).collect();
        while !constants.is_empty() {
            check(store, &orders, &stored, &Predicate::one_of(column(), constants.clone()).unwrap()).await;
            constants.truncate(constants.len() / 2);
        }
        check(store, &orders, &stored, &Predicate::is_null(column())).await;
        check(store, &orders, &stored, &Predicate::is_not_null(column())).await;
    }
    for prefix in ["", "p", "plain", "plain ", "\u{ff5e}", "\u{10ffff}", "5", "o'"] {
        let predicate = Predicate::starts_with(column("a", ColumnType::Text), prefix).unwrap();
        check(store, &orders, &stored, &predicate).await;
    }
}

pub(super) async fn no_combination_loses_what_it_is_true_of(store: &Store) {
    let (orders, stored) = fill(store).await;
    let b = |op, n| compared("b", op, int(n));
    for constant in values().into_iter().step_by(3) {
        let a = |op| compared("a", op, constant.clone());
        let both = Predicate::all([a(CompareOp::LtEq), b(CompareOp::GtEq, 2)]).unwrap();
        let one = Predicate::any([a(CompareOp::Eq), b(CompareOp::Eq, 3), both.clone()]).unwrap();
        let absent = Predicate::is_null(column("a", ColumnType::of(constant.edm_type())));
        let of_absent = Predicate::all([Predicate::any([absent, a(CompareOp::NotEq)]).unwrap(), b(CompareOp::Lt, 5)]);
        for predicate in [both, one, of_absent.unwrap()] {
            check(store, &orders, &stored, &predicate).await;
        }
    }
    // More than a request has room for.
    let many = Predicate::all((0..40).map(|n| b(CompareOp::NotEq, n - 20))).unwrap();
    check(store, &orders, &stored, &many).await;
    check(store, &orders, &stored, &Predicate::any((0..40).map(|n| b(CompareOp::Eq, n - 36))).unwrap()).await;
}

pub(super) async fn times_of_writing_are_compared(store: &Store) {
    let (orders, stored) = fill(store).await;
    let middle = EdmValue::DateTime(stored[stored.len() / 2].timestamp);
    for op in OPERATORS {
        let predicate = Predicate::compare(PredicateColumn::Timestamp, op, middle.clone()).unwrap();
        check(store, &orders, &stored, &predicate).await;
    }
}

/// The oracle leaves out all that it may.
pub(super) async fn what_is_not_true_is_left_out(store: &Store) {
    let (orders, stored) = fill(store).await;
    let predicate = Predicate::all([compared("b", CompareOp::Gt, int(2)), compared("b", CompareOp::NotEq, int(5))]);
    let predicate = predicate.unwrap();
    let expected = stored.iter().filter(|entity| is_true(&predicate, entity)).map(|entity| entity.entity.key.clone());
    assert_eq!(found(store, &orders, &predicate).await, expected.collect::<Vec<_>>());
    let limited = Scan::of(&orders).predicate(predicate.clone()).limit(2).run(store).await.keys();
    assert_eq!(limited, found(store, &orders, &predicate).await[..2]);
    assert_ne!(found(store, &orders, &compared("b", CompareOp::Eq, int(3))).await, [key("q", "absent")]);
}
