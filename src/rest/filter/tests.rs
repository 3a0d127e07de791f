//! Filters: their grammar, and ten thousand random ones against an evaluation that looks at nothing but the words.

use std::convert::Infallible;

use proptest::prelude::*;
use tablegate_store::model::{EdmDateTime, EdmRef, EdmValue, EntityKey, PropertyName};
use tablegate_store::table::predicate::StoredValue;

use super::*;
use crate::error::Refusal;

/// An entity as names and values.
#[derive(Debug, Clone)]
struct Row {
    partition: String,
    row: String,
    properties: Vec<(&'static str, EdmValue)>,
}

impl Row {
    fn get(&self, name: &str) -> Option<EdmRef<'_>> {
        match name {
            "PartitionKey" => Some(EdmRef::String(&self.partition)),
            "RowKey" => Some(EdmRef::String(&self.row)),
            name => self.properties.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref()),
        }
    }
}

impl Values<Infallible> for Row {
    fn value(&self, property: &Property) -> Result<Option<EdmRef<'_>>, Infallible> {
        Ok(match property {
            Property::PartitionKey => self.get("PartitionKey"),
            Property::RowKey => self.get("RowKey"),
            Property::Timestamp => None,
            Property::Custom(name) => self.get(name),
        })
    }
}

/// A filter as it is said, apart from how it is read.
#[derive(Debug, Clone)]
enum Said {
    Compare { name: &'static str, op: &'static str, constant: EdmValue, turned: bool },
    And(Box<Said>, Box<Said>),
    Or(Box<Said>, Box<Said>),
    Not(Box<Said>),
}

const OPS: [(&str, &str); 6] = [("eq", "eq"), ("ne", "ne"), ("lt", "gt"), ("gt", "lt"), ("le", "ge"), ("ge", "le")];

fn literal(value: &EdmValue) -> String {
    match value {
        EdmValue::String(text) => format!("'{}'", text.replace('\'', "''")),
        EdmValue::Int32(v) => v.to_string(),
        EdmValue::Int64(v) => format!("{v}L"),
        EdmValue::Double(v) => format!("{v:?}"),
        EdmValue::Boolean(v) => v.to_string(),
        EdmValue::DateTime(v) => format!("datetime'{v}'"),
        EdmValue::Guid(v) => format!("guid'{v}'"),
        EdmValue::Binary(v) => format!("X'{}'", v.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

impl Said {
    fn text(&self) -> String {
        match self {
            Said::Compare { name, op, constant, turned: false } => format!("{name} {op} {}", literal(constant)),
            Said::Compare { name, op, constant, turned: true } => {
                let (_, turned) = OPS.iter().find(|(known, _)| known == op).unwrap();
                format!("{} {turned} {name}", literal(constant))
            }
            Said::And(a, b) => format!("({}) and ({})", a.text(), b.text()),
            Said::Or(a, b) => format!("({}) or ({})", a.text(), b.text()),
            Said::Not(inner) => format!("not ({})", inner.text()),
        }
    }

    fn comparisons(&self) -> usize {
        match self {
            Said::Compare { .. } => 1,
            Said::And(a, b) | Said::Or(a, b) => a.comparisons() + b.comparisons(),
            Said::Not(inner) => inner.comparisons(),
        }
    }

    /// As the service's documentation has it, value by value.
    fn holds(&self, row: &Row) -> bool {
        match self {
            Said::And(a, b) => a.holds(row) & b.holds(row),
            Said::Or(a, b) => a.holds(row) | b.holds(row),
            Said::Not(inner) => !inner.holds(row),
            Said::Compare { name, op, constant, .. } => {
                let Some(value) = row.get(name) else { return false };
                let as_number = |value: EdmRef<'_>| match value {
                    EdmRef::Int32(v) => Some((0, f64::from(v))),
                    EdmRef::Int64(v) => Some((1, v as f64)),
                    EdmRef::Double(v) => Some((2, v)),
                    _ => None,
                };
                let order = match (as_number(value), as_number(constant.as_ref())) {
                    // Widened to the property's type, never narrowed.
                    (Some((property, value)), Some((literal, constant))) if property >= literal => {
                        value.partial_cmp(&constant)
                    }
                    (None, None) if value.edm_type() == constant.edm_type() => {
                        Some(sort_key(value).cmp(&sort_key(constant.as_ref())))
                    }
                    _ => None,
                };
                match (order, *op) {
                    (None, op) => op == "ne",
                    (Some(order), "eq") => order.is_eq(),
                    (Some(order), "ne") => order.is_ne(),
                    (Some(order), "lt") => order.is_lt(),
                    (Some(order), "gt") => order.is_gt(),
                    (Some(order), "le") => order.is_le(),
                    (Some(order), _) => order.is_ge(),
                }
            }
        }
    }
}

/// Bytes that compare as values of one type do.
fn sort_key(value: EdmRef<'_>) -> Vec<u8> {
    match value {
        EdmRef::DateTime(v) => (i128::from(v.unix_ticks()) + (1 << 64)).to_be_bytes().to_vec(),
        EdmRef::Guid(v) => v.to_string().into_bytes(),
        EdmRef::Binary(v) => v.to_vec(),
        other => other.to_string().into_bytes(),
    }
}

fn value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        "[ab'é]{0,2}".prop_map(EdmValue::string),
        (-2..3i32).prop_map(EdmValue::Int32),
        (-2..3i64).prop_map(EdmValue::Int64),
        prop_oneof![Just(-1.0), Just(0.0), Just(1.0), Just(1.5), Just(f64::NAN)].prop_map(EdmValue::Double),
        any::<bool>().prop_map(EdmValue::Boolean),
        (0..3i64).prop_map(|ticks| EdmValue::DateTime(EdmDateTime::from_unix_ticks(ticks).unwrap())),
        (0..3u128).prop_map(|bits| EdmValue::Guid(uuid::Uuid::from_u128(bits))),
        prop::collection::vec(0..2u8, 0..3).prop_map(|bytes| EdmValue::Binary(bytes.into())),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let name = prop::sample::select(vec!["PartitionKey", "RowKey", "a", "b", "PartitionKey", "RowKey"]);
    let key = "[ab]{0,2}".prop_map(EdmValue::string);
    let constant = prop_oneof![key, value()];
    let compare = (name, prop::sample::select(OPS.to_vec()), constant, any::<bool>())
        .prop_map(|(name, (op, _), constant, turned)| Said::Compare { name, op, constant, turned });
    compare.prop_recursive(4, 16, 2, |inner| {
        let pair = || (inner.clone(), inner.clone());
        prop_oneof![
            pair().prop_map(|(a, b)| Said::And(a.into(), b.into())),
            pair().prop_map(|(a, b)| Said::Or(a.into(), b.into())),
            inner.clone().prop_map(|inner| Said::Not(inner.into())),
        ]
    })
}

fn row() -> impl Strategy<Value = Row> {
    let property = || prop::option::of(value());
    ("[ab]{0,2}", "[ab]{0,2}", property(), property()).prop_map(|(partition, row, a, b)| {
        let properties = [("a", a), ("b", b)].into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Row { partition, row, properties }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn random_filters_hold_as_they_are_said_to(said in said(), rows in prop::collection::vec(row(), 1..8)) {
        prop_assume!(said.comparisons() <= 15);
        let text = said.text();
        let filter = Filter::parse(&text).unwrap().unwrap();
        let ranges = keys::ranges(&filter.keys());
        for pair in ranges.windows(2) {
            prop_assert!(pair[0].partitions.to <= pair[1].partitions.from, "{ranges:?}");
        }
        for row in rows {
            let Ok(holds) = filter.holds(&row);
            prop_assert_eq!(holds, said.holds(&row), "{} of {:?}", text, row);
            let mut value = |name: &PropertyName| {
                row.get(name.as_str()).map_or(StoredValue::Absent, StoredValue::Value)
            };
            let may_hold = filter.hint().is_none_or(|hint| hint.may_hold(EdmDateTime::MIN, &mut value));
            prop_assert!(!holds || may_hold, "{} hides {:?}", text, row);
            let key = EntityKey::parse(row.partition.as_str(), row.row.as_str()).unwrap();
            prop_assert!(!holds || ranges.iter().any(|range| range.contains(&key)), "{} misses {:?}", text, row);
        }
    }

    #[test]
    fn no_text_makes_it_fail(text in ".{0,60}") {
        let _ = Filter::parse(&text);
    }

    #[test]
    fn no_words_make_it_fail(words in prop::collection::vec("(and|or|not|eq|a|\\(|\\)|'|''|1|-|L|datetime'|X'0|1e|guid)", 0..12)) {
        let _ = Filter::parse(&words.join(" "));
        let _ = Filter::parse(&words.concat());
    }
}

#[test]
fn constants_of_all_types_are_read() {
    let constants = [
        ("'it''s'", EdmValue::string("it's")),
        ("-5", EdmValue::Int32(-5)),
        ("5L", EdmValue::Int64(5)),
        ("1.5", EdmValue::Double(1.5)),
        ("-1e10", EdmValue::Double(-1e10)),
        ("2d", EdmValue::Double(2.0)),
        ("-INF", EdmValue::Double(f64::NEG_INFINITY)),
        ("true", EdmValue::Boolean(true)),
        ("X'0aFF'", EdmValue::Binary([10, 255].into())),
        ("binary'00'", EdmValue::Binary([0].into())),
        (
            "datetime'2021-01-02T03:04:05.1234567Z'",
            EdmValue::DateTime(EdmDateTime::parse("2021-01-02T03:04:05.1234567Z").unwrap()),
        ),
        ("guid'00000000-0000-0000-0000-0000000000ab'", EdmValue::Guid(uuid::Uuid::from_u128(0xab))),
    ];
    for (text, constant) in constants {
        let compare = |op, constant| Filter::Compare(Comparison { property: Property::of("p"), op, constant });
        assert_eq!(
            Filter::parse(&format!("p gt {text}")),
            Ok(Some(compare(CompareOp::Gt, constant.clone()))),
            "{text}"
        );
        assert_eq!(Filter::parse(&format!("{text} gt p")), Ok(Some(compare(CompareOp::Lt, constant))), "{text}");
    }
}

#[test]
fn an_empty_filter_is_none() {
    assert_eq!((Filter::parse(""), Filter::parse("  ")), (Ok(None), Ok(None)));
}

#[test]
fn a_syntax_error_says_where() {
    let syntax = |position, text: &str| Err(Refusal::Syntax { position, text: text.to_owned() });
    for (text, position) in
        [("aaa bbb ccc", 7), ("a eq", 4), ("a eq 1 )", 8), ("(a eq 1", 7), ("a == 1", 3), ("é eq 'x", 7)]
    {
        assert_eq!(Filter::parse(text), syntax(position, text), "{text}");
    }
}

#[test]
fn what_the_service_does_not_take_is_refused() {
    for text in ["a eq b", "1 eq 1", "a eq 2147483648", "a eq datetime'x'", "a eq guid'1'", "a eq X'1'", "a eq null"] {
        let refusal = Filter::parse(text).unwrap_err();
        assert_eq!(refusal.code().1, "InvalidInput", "{text}: {refusal}");
    }
    let many = |count: usize| vec!["a eq 1"; count].join(" or ");
    assert!(Filter::parse(&many(15)).is_ok());
    assert_eq!(Filter::parse(&many(16)), Err(Refusal::TooManyComparisons(16)));
    assert!(Filter::parse(&format!("{}a eq 1{}", "(".repeat(100), ")".repeat(100))).is_err());
    assert!(Filter::parse(&"not ".repeat(100_000)).is_err());
}

#[test]
fn a_store_is_told_what_it_may_leave_out() {
    let hint = |text| Filter::parse(text).unwrap().unwrap().hint().map(|hint| hint.to_string());
    let told = [
        ("a gt 5 and PartitionKey eq 'p' and not (b eq 1)", Some("a > 5")),
        ("a gt 5 and b lt 'x'", Some("a > 5 AND b < 'x'")),
        ("a eq 5L or b eq true", Some("a = 5 OR b = true")),
        ("a eq 5 or b ne true", None),
        ("Timestamp gt datetime'2024-01-01T00:00:00.0000001Z'", Some("Timestamp >= '2024-01-01T00:00:00.0000001Z'")),
        ("a eq 9223372036854775807L", None),
    ];
    for (text, expected) in told {
        assert_eq!(hint(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn keys_become_points_and_spans() {
    let point = |text: &str| keys::ranges(&Filter::parse(text).unwrap().unwrap().keys());
    let ranges = point("PartitionKey eq 'p' and RowKey eq 'r' and x gt 5");
    assert_eq!(ranges.len(), 1);
    assert!(ranges[0].as_point().is_some());
    assert_eq!(point("PartitionKey eq 'p' and PartitionKey eq 'q'"), []);
    let ranges = point("not (PartitionKey lt 'b' or RowKey eq 'x')");
    let contains = |partition, row| ranges.iter().any(|range| range.contains_pair(partition, row));
    assert!(contains("b", "y") && !contains("a", "y") && !contains("c", "x"));
}
