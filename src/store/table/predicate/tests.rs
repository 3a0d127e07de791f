//! Predicates against brute force: over single values, and over the bounds of many.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn column(column_type: ColumnType) -> PredicateColumn {
    PredicateColumn::Property { name: PropertyName::parse("a").unwrap(), column_type }
}

fn holds(predicate: &Predicate, value: Option<EdmRef<'_>>) -> bool {
    let value = value.map_or(StoredValue::Absent, StoredValue::Value);
    predicate.may_hold(EdmDateTime::MIN, &mut |_| value)
}

fn compared(op: CompareOp, constant: EdmValue) -> Predicate {
    Predicate::compare(column(ColumnType::of(constant.edm_type())), op, constant).unwrap()
}

#[test]
fn values_are_compared_as_their_column_shows_them() {
    let double = |op, constant, stored| holds(&compared(op, EdmValue::Double(constant)), Some(stored));
    assert!(double(CompareOp::Eq, 0.0, EdmRef::Double(-0.0)));
    assert!(double(CompareOp::Gt, f64::INFINITY, EdmRef::Double(f64::NAN)));
    assert!(!double(CompareOp::Lt, 5.0, EdmRef::Double(-f64::NAN)));
    assert!(double(CompareOp::Lt, 5.5, EdmRef::Int32(5)) && !double(CompareOp::Lt, 5.5, EdmRef::Int64(6)));

    let long = |op, stored| holds(&compared(op, EdmValue::Int64(5)), Some(stored));
    assert!(long(CompareOp::Eq, EdmRef::Int32(5)) && !long(CompareOp::NotEq, EdmRef::Int64(5)));

    let micros = |ticks| EdmDateTime::from_unix_ticks(ticks).unwrap();
    let at = |op, ticks| holds(&compared(op, EdmValue::DateTime(micros(100))), Some(EdmRef::DateTime(micros(ticks))));
    assert!(at(CompareOp::Eq, 109) && !at(CompareOp::Gt, 109) && at(CompareOp::Gt, 110) && at(CompareOp::Lt, 99));

    let text = |op, constant: &str, stored| holds(&compared(op, EdmValue::string(constant)), Some(stored));
    assert!(text(CompareOp::Eq, "5", EdmRef::Int32(5)) && text(CompareOp::Lt, "\u{10000}", EdmRef::String("\u{ffff}")));
}

#[test]
fn absent_values_pass_is_null_alone() {
    for op in [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::GtEq] {
        assert!(!holds(&compared(op, EdmValue::Int32(1)), None));
    }
    assert!(holds(&Predicate::is_null(column(ColumnType::Int32)), None));
    assert!(!holds(&Predicate::is_not_null(column(ColumnType::Int32)), None));
}

#[test]
fn what_does_not_fit_its_column_is_kept() {
    let list = Predicate::one_of(column(ColumnType::Int32), vec![EdmValue::Int32(1), EdmValue::Int32(7)]).unwrap();
    for predicate in [compared(CompareOp::Eq, EdmValue::Int32(1)), list] {
        assert!(holds(&predicate, Some(EdmRef::String("x"))));
        assert!(!holds(&predicate, Some(EdmRef::Int32(3))));
        assert!(predicate.may_hold(EdmDateTime::MIN, &mut |_| StoredValue::Unknown));
    }
    assert_eq!(Predicate::compare(column(ColumnType::Int32), CompareOp::Eq, EdmValue::Int64(1)), None);
    assert_eq!(Predicate::starts_with(column(ColumnType::Int32), "1"), None);
}

#[test]
fn its_text_is_sql() {
    let number = |op, value| compared(op, EdmValue::Int32(value));
    let list = Predicate::one_of(column(ColumnType::Text), ["o'b", "a", "a"].map(EdmValue::string).to_vec()).unwrap();
    let either = Predicate::any([number(CompareOp::Lt, 1), number(CompareOp::GtEq, 5), list]).unwrap();
    let all = Predicate::all([either, Predicate::starts_with(column(ColumnType::Text), "x").unwrap()]).unwrap();
    assert_eq!(all.to_string(), "(a < 1 OR a >= 5 OR a IN ('a', 'o''b')) AND a LIKE 'x%'");
    let guid = compared(CompareOp::Eq, EdmValue::Guid(Uuid::from_u128(0xab)));
    assert_eq!(guid.to_string(), "a = '00000000-0000-0000-0000-0000000000ab'");
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        (-3..3).prop_map(EdmValue::Int32),
        (-3..3_i64).prop_map(EdmValue::Int64),
        prop::sample::select(vec![-0.0, 0.0, 1.5, f64::NAN, f64::INFINITY, -2.0]).prop_map(EdmValue::Double),
        any::<bool>().prop_map(EdmValue::Boolean),
        "[ab\u{ffff}😀]{0,3}".prop_map(EdmValue::string),
        (95..115_i64).prop_map(|ticks| EdmValue::DateTime(EdmDateTime::from_unix_ticks(ticks).unwrap())),
        (0..4_u128).prop_map(|n| EdmValue::Guid(Uuid::from_u128(n))),
        prop::collection::vec(0..3_u8, 0..3).prop_map(|bytes| EdmValue::Binary(bytes.into())),
    ]
}

fn test() -> impl Strategy<Value = Predicate> {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    prop_oneof![
        (prop::sample::select(vec![Eq, NotEq, Lt, LtEq, Gt, GtEq]), value()).prop_map(|(op, v)| compared(op, v)),
        prop::collection::vec(value(), 1..6).prop_map(|values| {
            let of_one_type = values.iter().filter(|v| v.edm_type() == values[0].edm_type()).cloned().collect();
            Predicate::one_of(column(ColumnType::of(values[0].edm_type())), of_one_type).unwrap()
        }),
        "[ab\u{ffff}😀]{0,2}".prop_map(|prefix| Predicate::starts_with(column(ColumnType::Text), &prefix).unwrap()),
        value().prop_map(|v| Predicate::is_null(column(ColumnType::of(v.edm_type())))),
        value().prop_map(|v| Predicate::is_not_null(column(ColumnType::of(v.edm_type())))),
    ]
}

fn column_type_of(predicate: &Predicate) -> ColumnType {
    let mut column_type = ColumnType::Text;
    predicate.for_each_test(&mut |test| column_type = test.column().column_type());
    column_type
}

proptest! {
    /// A list is each of its members; bounds rule out no entity that a predicate is true of.
    #[test]
    fn bounds_never_rule_out_what_may_hold(
        predicate in test(),
        values in prop::collection::vec(prop::option::of(value()), 1..6),
    ) {
        let column_type = column_type_of(&predicate);
        let fits = |v: &EdmValue| fitting_types(column_type).contains(&v.edm_type());
        let values: Vec<_> = values.into_iter().filter(|v| v.as_ref().is_none_or(fits)).collect();
        let mut present: Vec<String> = Vec::new();
        let shown = |v: &EdmValue| match column_type {
            ColumnType::Text => EdmValue::string(v.as_ref().to_string()),
            ColumnType::Double => EdmValue::Double(double(v.as_ref()).unwrap()),
            _ => v.clone(),
        };
        let mut ordered: Vec<EdmValue> = values.iter().flatten().map(shown).collect();
        let order = |a: &EdmValue, b: &EdmValue| match (a, b) {
            (EdmValue::Int32(_) | EdmValue::Int64(_), EdmValue::Int32(b)) if column_type == ColumnType::Int64 => {
                compare(column_type, a.as_ref(), EdmRef::Int64((*b).into())).unwrap()
            }
            _ => compare(column_type, a.as_ref(), b.as_ref()).unwrap(),
        };
        ordered.sort_by(order);
        present.extend(ordered.iter().map(|v| format!("{v:?}")));
        let bounds = match (ordered.first(), ordered.last()) {
            (Some(least), Some(greatest)) => {
                Bounds::between(least.as_ref(), greatest.as_ref(), values.iter().any(Option::is_none))
            }
            _ => Bounds::ABSENT,
        };
        let some = values.iter().any(|v| holds(&predicate, v.as_ref().map(EdmValue::as_ref)));
        if some {
            prop_assert!(predicate.may_hold_within(&mut |_| bounds), "{predicate} over {present:?}");
            prop_assert!(predicate.may_hold_within(&mut |_| Bounds::UNKNOWN));
        }
    }

    #[test]
    fn a_list_is_any_of_its_members(values in prop::collection::vec(value(), 1..8), stored in value()) {
        let of_one_type: Vec<_> = values.iter().filter(|v| v.edm_type() == values[0].edm_type()).cloned().collect();
        let column = column(ColumnType::of(values[0].edm_type()));
        let list = Predicate::one_of(column, of_one_type.clone()).unwrap();
        let each = of_one_type.into_iter().any(|v| holds(&compared(CompareOp::Eq, v), Some(stored.as_ref())));
        prop_assert_eq!(holds(&list, Some(stored.as_ref())), each);
    }
}
