//! What predicates become, and that the service, as far as its rules are known, leaves out nothing that SQL wants.

use tablegate_store::model::EdmRef;
use uuid::Uuid;

use super::*;

fn column(column_type: ColumnType) -> PredicateColumn {
    PredicateColumn::Property { name: PropertyName::parse("a").unwrap(), column_type }
}

fn compared(op: CompareOp, constant: EdmValue) -> Predicate {
    Predicate::compare(column(ColumnType::of(constant.edm_type())), op, constant).unwrap()
}

fn filter(predicate: &Predicate, dialect: Dialect) -> String {
    PropertyFilter::new(predicate, dialect, &|_| TypeSet::default()).beside(0).unwrap_or_default()
}

fn at(text: &str) -> EdmValue {
    EdmValue::DateTime(EdmDateTime::parse(text).unwrap())
}

#[test]
fn literals_have_the_form_of_their_type() {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let cases = [
        (compared(Eq, EdmValue::string("o'b")), "a eq 'o''b'"),
        (compared(NotEq, EdmValue::string("é")), "a ne 'é'"),
        (compared(Gt, EdmValue::string("x")), "a gt 'x'"),
        (compared(LtEq, EdmValue::string("x😀")), "a lt 'y'"),
        (Predicate::starts_with(column(ColumnType::Text), "ab").unwrap(), "a ge 'ab' and a lt 'ac'"),
        (compared(GtEq, EdmValue::Int32(-5)), "a ge -5"),
        (compared(Eq, EdmValue::Int64(5)), "(a eq 5 or a eq 5L)"),
        (compared(Eq, EdmValue::Int64(1 << 40)), "a eq 1099511627776L"),
        (compared(Lt, EdmValue::Int64(1 << 40)), "(a le 2147483647 or a lt 1099511627776L)"),
        (compared(Gt, EdmValue::Int64(-(1 << 40))), "(a ge -2147483648 or a gt -1099511627776L)"),
        (compared(Eq, EdmValue::Double(-0.0)), "(a eq 0.0 or a eq 0)"),
        (compared(Lt, EdmValue::Double(5.5)), "(a lt 5.5 or a le 5)"),
        (compared(Lt, EdmValue::Double(5.0)), "(a lt 5.0 or a le 4)"),
        (compared(GtEq, EdmValue::Double(5.5)), "(not (a lt 5.5) or a ge 6)"),
        (compared(Gt, EdmValue::Double(1e20)), ""),
        (compared(Eq, EdmValue::Double(0.0001)), "a eq 0.0001"),
        (compared(Eq, EdmValue::Double(0.00005)), ""),
        (compared(NotEq, EdmValue::Boolean(true)), "a eq false"),
        (compared(Lt, EdmValue::Boolean(true)), ""),
        (
            compared(Eq, at("2021-01-02T03:04:05Z")),
            "a ge datetime'2021-01-02T03:04:05Z' and a le datetime'2021-01-02T03:04:05.0000009Z'",
        ),
        (compared(Gt, at("2021-01-02T03:04:05.1234567Z")), "a ge datetime'2021-01-02T03:04:05.123457Z'"),
        (compared(Lt, at("2021-01-02T00:00:00Z")), "a le datetime'2021-01-01T23:59:59.9999999Z'"),
        (compared(Eq, EdmValue::Guid(Uuid::from_u128(0xab))), "a eq guid'00000000-0000-0000-0000-0000000000ab'"),
        (compared(Eq, EdmValue::Binary([10, 27].into())), "a eq X'0a1b'"),
        (Predicate::is_null(column(ColumnType::Int32)), ""),
    ];
    for (predicate, expected) in cases {
        assert_eq!(filter(&predicate, Dialect::Service), expected, "{predicate}");
    }
}

#[test]
fn the_emulator_is_asked_in_forms_that_it_reads() {
    let cases = [
        (compared(CompareOp::Eq, EdmValue::Int64(5)), "a ge 5 and a le 5"),
        (compared(CompareOp::NotEq, EdmValue::Int64(5)), "(a lt 5 or a gt 5)"),
        (compared(CompareOp::Eq, EdmValue::Int64(1 << 40)), ""),
        (compared(CompareOp::Eq, EdmValue::Double(5.0)), "a ge 5.0 and a le 5.0"),
        (compared(CompareOp::Gt, EdmValue::Double(5.5)), "not (a le 5.5)"),
        (compared(CompareOp::Eq, EdmValue::Guid(Uuid::nil())), ""),
        (compared(CompareOp::Eq, EdmValue::Binary([1].into())), ""),
    ];
    for (predicate, expected) in cases {
        assert_eq!(filter(&predicate, Dialect::Emulator), expected, "{predicate}");
    }
}

#[test]
fn a_filter_takes_as_much_as_has_room() {
    let number = |n| compared(CompareOp::NotEq, EdmValue::Int32(n));
    let all = Predicate::all((0..30).map(number)).unwrap();
    let sent = PropertyFilter::new(&all, Dialect::Service, &|_| TypeSet::default());
    assert_eq!(sent.beside(0).unwrap().matches(" ne ").count(), 15);
    assert_eq!(sent.beside(12).unwrap().matches(" ne ").count(), 3);
    assert_eq!(sent.beside(15), None);
    // One of many is all of them or nothing.
    assert_eq!(filter(&Predicate::any((0..16).map(number)).unwrap(), Dialect::Service), "");
    let list = |n| Predicate::one_of(column(ColumnType::Int32), (0..n).map(EdmValue::Int32).collect()).unwrap();
    assert_eq!(filter(&list(3), Dialect::Service), "(a eq 0 or a eq 1 or a eq 2)");
    assert_eq!(filter(&list(30), Dialect::Service), "a ge 0 and a le 29");
    let long = compared(CompareOp::Eq, EdmValue::string("x".repeat(LITERAL_MAX + 1)));
    assert_eq!(filter(&Predicate::all([long, number(1)]).unwrap(), Dialect::Service), "a ne 1");
}

#[test]
fn alternatives_stand_in_parentheses() {
    let number = |op, n| compared(op, EdmValue::Int32(n));
    let range = Predicate::all([number(CompareOp::Gt, 1), number(CompareOp::Lt, 3)]).unwrap();
    let either = Predicate::any([range, number(CompareOp::Eq, 9)]).unwrap();
    let null = Predicate::is_null(column(ColumnType::Int32));
    let all = Predicate::all([either.clone(), number(CompareOp::NotEq, 0), null.clone()]).unwrap();
    assert_eq!(filter(&all, Dialect::Service), "((a gt 1 and a lt 3) or a eq 9) and a ne 0");
    // What cannot be asked makes its alternatives useless, not its companions.
    assert_eq!(filter(&Predicate::any([either, null]).unwrap(), Dialect::Service), "");
}

#[test]
fn names_and_types_that_read_otherwise_are_not_asked_about() {
    let text = compared(CompareOp::Eq, EdmValue::string("5"));
    let mixed = TypeSet::of(EdmRef::String("")).union(TypeSet::of(EdmRef::Int32(5)));
    assert_eq!(PropertyFilter::new(&text, Dialect::Service, &|_| mixed).beside(0), None);
    for name in ["Eq", "true", "größe"] {
        let name = PropertyName::parse(name).unwrap();
        let column = PredicateColumn::Property { name, column_type: ColumnType::Int32 };
        let predicate = Predicate::compare(column, CompareOp::Eq, EdmValue::Int32(1)).unwrap();
        assert_eq!(filter(&predicate, Dialect::Service), "");
    }
    let written = Predicate::compare(PredicateColumn::Timestamp, CompareOp::GtEq, at("2021-01-01T00:00:00Z")).unwrap();
    assert_eq!(filter(&written, Dialect::Service), "Timestamp ge datetime'2021-01-01T00:00:00Z'");
}
