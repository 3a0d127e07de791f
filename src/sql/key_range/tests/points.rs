//! Predicates that name one key or one range: written down at once, the keys are those of the analysis.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, cast, col, lit, placeholder};
use tablegate_types::sql_type::SqlType;

use super::super::*;
use super::{raw, relational};

fn relations() -> Vec<Relation> {
    let keys = |descending| [("a", SqlType::Text, false), ("b", SqlType::Int4, descending)];
    vec![
        relational(&keys(false), PartitionScheme::Columns(1)),
        relational(&keys(true), PartitionScheme::Columns(1)),
        relational(&keys(false), PartitionScheme::Columns(2)),
        relational(&keys(false), PartitionScheme::Constant("all".to_owned())),
        relational(&keys(false), PartitionScheme::Bucket(3)),
    ]
}

fn values() -> Vec<(ScalarValue, ScalarValue)> {
    let texts = ["", "a", "b c", "ü", "x/y", "z ", &"l".repeat(600)].map(ScalarValue::from);
    let numbers = [i32::MIN, -1, 0, 7, i32::MAX].map(ScalarValue::from);
    texts.iter().flat_map(|text| numbers.iter().map(|number| (text.clone(), number.clone()))).collect()
}

#[test]
fn the_key_is_that_of_the_analysis() {
    for relation in relations() {
        let mut points = 0;
        for (a, b) in values() {
            let filters = [lit(b.clone()).eq(col("b")), col("a").eq(lit(a.clone()))];
            let plan = KeyPlan::from_filters(&relation, &filters);
            let with_parameters = [col("a").eq(placeholder("$2")).and(col("b").eq(placeholder("$1")))];
            for (filters, parameters) in [(&filters[..], vec![]), (&with_parameters[..], vec![b.clone(), a.clone()])] {
                let point = PointPredicate::of(&relation, filters).unwrap();
                if let Some(key) = point.key(&relation, &parameters) {
                    let range = PointPredicate::range(&key);
                    assert_eq!((plan.ranges().collect::<Vec<_>>(), plan.is_exact()), (vec![&range], true));
                    points += 1;
                }
            }
        }
        assert!(points > 20, "{points} keys are named");
    }
}

#[test]
fn what_is_not_one_value_for_each_column_is_looked_at() {
    let relation = &relations()[0];
    let (a, b) = (|| col("a").eq(lit("x")), || col("b").eq(lit(1)));
    let refused: [Vec<Expr>; 6] = [
        vec![a()],
        vec![a(), a(), b()],
        vec![a().or(b())],
        vec![a(), b(), col("x").eq(lit(1))],
        vec![a(), col("b").gt(lit(1))],
        vec![],
    ];
    for filters in refused {
        assert!(PointPredicate::of(relation, &filters).is_none(), "{filters:?}");
    }
    let beyond = i64::from(i32::MAX) + 1;
    let of_no_key = [lit(beyond), lit(1.0), lit("1"), lit(ScalarValue::Int32(None))];
    for filters in of_no_key.map(|value| vec![a(), col("b").eq(value)]) {
        assert!(PointPredicate::of(relation, &filters).unwrap().key(relation, &[]).is_none(), "{filters:?}");
    }
    let raw = raw();
    let point = PointPredicate::of(&raw, &[col("\"RowKey\"").eq(lit("r")), col("\"PartitionKey\"").eq(lit("p"))]);
    assert_eq!(point.unwrap().key(&raw, &[]).unwrap().partition.as_str(), "p");
}

#[test]
fn integers_of_any_width_name_the_same_key() {
    let typed = |id: &str, sql_type: SqlType| {
        Expr::Placeholder(Placeholder::new_with_field(id.to_owned(), Some(Arc::new(sql_type.field("", true)))))
    };
    for relation in relations() {
        let named = |b: Expr, parameters: &[ScalarValue]| {
            PointPredicate::of(&relation, &[col("a").eq(lit("x")), b])
                .and_then(|point| point.key(&relation, parameters))
        };
        let expected = named(col("b").eq(lit(7)), &[]);
        assert!(expected.is_some());
        assert_eq!(named(col("b").eq(lit(7_i64)), &[]), expected);
        assert_eq!(named(cast(col("b"), DataType::Int64).eq(lit(7_i64)), &[]), expected);
        let narrow = cast(typed("$1", SqlType::Int2), DataType::Int32);
        assert_eq!(named(col("b").eq(narrow), &[ScalarValue::Int16(Some(7))]), expected);
        // What is made narrower may fail, and a text may be no number.
        let narrower = cast(typed("$1", SqlType::Int8), DataType::Int32);
        assert_eq!(named(col("b").eq(narrower), &[ScalarValue::Int64(Some(7))]), None);
        let read = cast(typed("$1", SqlType::Text), DataType::Int32);
        assert_eq!(named(col("b").eq(read), &[ScalarValue::from("7")]), None);
    }
}

#[test]
fn a_range_is_that_of_the_analysis() {
    let keys = [("a", SqlType::Text, false), ("b", SqlType::Int4, false), ("c", SqlType::Text, false)];
    let down = [keys[0].clone(), keys[1].clone(), ("d", SqlType::Int8, true)];
    let relations = [
        relational(&keys[..1], PartitionScheme::Columns(1)),
        relational(&keys[1..2], PartitionScheme::Columns(1)),
        relational(&keys[..2], PartitionScheme::Columns(1)),
        relational(&keys[..2], PartitionScheme::Columns(2)),
        relational(&[keys[1].clone(), keys[0].clone()], PartitionScheme::Columns(1)),
        relational(&keys, PartitionScheme::Columns(1)),
        relational(&keys, PartitionScheme::Columns(2)),
        relational(&keys, PartitionScheme::Columns(3)),
        relational(&down, PartitionScheme::Columns(2)),
        relational(&keys, PartitionScheme::Constant("all".to_owned())),
        raw(),
    ];
    for relation in relations {
        let columns = relation.codec.columns().len();
        let ranges: usize = (0..columns).map(|known| ranges_behind(&relation, known)).sum();
        assert!(ranges > 20, "{ranges} ranges are named");
    }
}

fn values_of(name: &str) -> Vec<ScalarValue> {
    match name {
        "b" => vec![ScalarValue::from(i32::MIN), ScalarValue::from(-1), ScalarValue::from(0), ScalarValue::from(7)],
        "d" => vec![ScalarValue::from(-5_i64), ScalarValue::from(3_i64)],
        _ => ["", "a", "b c", "x/y", "z "].map(ScalarValue::from).to_vec(),
    }
}

/// Compares the ranges of the column behind so many known ones with the analysis; gives how many were named.
fn ranges_behind(relation: &Relation, known: usize) -> usize {
    let name = |column: usize| relation.codec.columns()[column].name.as_str();
    let named =
        |column: usize| if relation.codec.is_raw() { col(format!("\"{}\"", name(column))) } else { col(name(column)) };
    let equal: Vec<Expr> = (0..known).map(|column| named(column).eq(lit(values_of(name(column))[1].clone()))).collect();
    let mut ranges = 0;
    let mut compare = |bounds: Vec<Expr>| {
        let filters: Vec<Expr> = bounds.into_iter().chain(equal.clone()).collect();
        let Some(range) = RangePredicate::of(relation, &filters) else { return };
        if let Some(plan) = range.plan(relation, &[]) {
            let expected = KeyPlan::from_filters(relation, &filters);
            assert_eq!((plan.groups, plan.scope), (expected.groups, expected.scope), "{filters:?}");
            ranges += 1;
        }
    };
    compare(Vec::new());
    let (next, values) = (|| named(known), values_of(name(known)));
    for low in &values {
        compare(vec![next().gt(lit(low.clone()))]);
        compare(vec![next().lt_eq(lit(low.clone()))]);
        for high in &values {
            let (low, high) = (|| lit(low.clone()), || lit(high.clone()));
            compare(vec![next().gt_eq(low()), high().gt(next())]);
            compare(vec![next().gt(low()), next().lt_eq(high())]);
            compare(vec![next().gt_eq(low()), next().lt_eq(high())]);
        }
    }
    let with = |value: Expr| -> Vec<Expr> { equal.iter().cloned().chain([next().gt_eq(value)]).collect() };
    if let Some(range) = RangePredicate::of(relation, &with(placeholder("$1"))) {
        let plan = range.plan(relation, &values[1..2]).unwrap();
        assert_eq!(plan.groups, KeyPlan::from_filters(relation, &with(lit(values[1].clone()))).groups);
        assert!(range.plan(relation, &[]).is_none() && range.plan(relation, &[lit_null(name(known))]).is_none());
    }
    ranges
}

fn lit_null(name: &str) -> ScalarValue {
    match name {
        "b" => ScalarValue::Int32(None),
        "d" => ScalarValue::Int64(None),
        _ => ScalarValue::Utf8(None),
    }
}

#[test]
fn what_is_not_one_range_is_looked_at() {
    let (a, low) = (|| col("a").eq(lit("x")), || col("b").gt(lit(1)));
    let relations = relations();
    let refused: [Vec<Expr>; 6] = [
        vec![low()],
        vec![],
        vec![a(), low(), low()],
        vec![a(), low(), col("x").eq(lit(1))],
        vec![a(), low().or(low())],
        vec![a(), col("b").not_eq(lit(1))],
    ];
    for filters in refused {
        assert!(RangePredicate::of(&relations[0], &filters).is_none(), "{filters:?}");
    }
    // Downwards, and where the keys of a range are in no one place.
    assert!(RangePredicate::of(&relations[1], &[a(), low()]).is_none());
    let range = RangePredicate::of(&relations[4], &[a(), low()]);
    assert!(range.is_none_or(|range| range.plan(&relations[4], &[]).is_none()));
    let range = RangePredicate::of(&relations[0], &[a(), col("b").gt(lit(1_i64))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_some(), "of another width");
    let range = RangePredicate::of(&relations[0], &[a(), col("b").gt(lit(i64::MAX))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_none(), "beyond the column's type");
    let range = RangePredicate::of(&relations[0], &[a(), low(), col("b").lt(lit(1))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_none(), "empty");
}
