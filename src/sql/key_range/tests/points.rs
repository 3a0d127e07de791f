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
    let relations = [
        relational(&keys[..2], PartitionScheme::Columns(1)),
        relational(&[keys[1].clone(), keys[0].clone()], PartitionScheme::Columns(1)),
        relational(&keys, PartitionScheme::Columns(1)),
        relational(&keys, PartitionScheme::Columns(2)),
    ];
    let values = |name: &str| match name {
        "b" => vec![ScalarValue::from(i32::MIN), ScalarValue::from(-1), ScalarValue::from(0), ScalarValue::from(7)],
        _ => ["", "a", "b c", "x/y", "z "].map(ScalarValue::from).to_vec(),
    };
    for relation in relations {
        let names: Vec<&str> = relation.codec.columns().iter().map(|column| column.name.as_str()).collect();
        let (last, before) = names.split_last().unwrap();
        let equal: Vec<Expr> = before.iter().map(|name| col(*name).eq(lit(values(name)[1].clone()))).collect();
        let mut ranges = 0;
        for low in values(last) {
            for high in values(last) {
                let bounds = [
                    vec![col(*last).gt_eq(lit(low.clone())), lit(high.clone()).gt(col(*last))],
                    vec![col(*last).gt(lit(low.clone())), col(*last).lt_eq(lit(high.clone()))],
                    vec![col(*last).gt(lit(low.clone()))],
                    vec![col(*last).lt_eq(lit(high.clone()))],
                ];
                for bounds in bounds {
                    let filters: Vec<Expr> = bounds.into_iter().chain(equal.clone()).collect();
                    let expected = KeyPlan::from_filters(&relation, &filters);
                    let range = RangePredicate::of(&relation, &filters).unwrap();
                    if let Some(plan) = range.plan(&relation, &[]) {
                        assert_eq!((plan.groups, plan.scope), (expected.groups, expected.scope), "{filters:?}");
                        ranges += 1;
                    }
                }
            }
        }
        assert!(ranges > 20, "{ranges} ranges are named");
        let with_parameters = |index: usize| placeholder(format!("${index}"));
        let filters: Vec<Expr> = equal.iter().cloned().chain([col(*last).gt_eq(with_parameters(1))]).collect();
        let range = RangePredicate::of(&relation, &filters).unwrap();
        let with_values: Vec<Expr> =
            equal.iter().cloned().chain([col(*last).gt_eq(lit(values(last)[1].clone()))]).collect();
        let plan = range.plan(&relation, &values(last)[1..2]).unwrap();
        assert_eq!(plan.groups, KeyPlan::from_filters(&relation, &with_values).groups);
        assert!(range.plan(&relation, &[]).is_none() && range.plan(&relation, &[lit_null(last)]).is_none());
    }
}

fn lit_null(name: &str) -> ScalarValue {
    if name == "b" { ScalarValue::Int32(None) } else { ScalarValue::Utf8(None) }
}

#[test]
fn what_is_not_one_range_of_a_partition_is_looked_at() {
    let (a, low) = (|| col("a").eq(lit("x")), || col("b").gt(lit(1)));
    let relations = relations();
    let refused: [Vec<Expr>; 6] = [
        vec![low()],
        vec![a()],
        vec![a(), low(), low()],
        vec![a(), low(), col("x").eq(lit(1))],
        vec![a(), low().or(low())],
        vec![a(), col("b").not_eq(lit(1))],
    ];
    for filters in refused {
        assert!(RangePredicate::of(&relations[0], &filters).is_none(), "{filters:?}");
    }
    // Downwards, where the whole key is the partition's, and where partitions are not the columns.
    for relation in &relations[1..] {
        assert!(RangePredicate::of(relation, &[a(), low()]).is_none(), "{relation:?}");
    }
    let range = RangePredicate::of(&relations[0], &[a(), col("b").gt(lit(1_i64))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_some(), "of another width");
    let range = RangePredicate::of(&relations[0], &[a(), col("b").gt(lit(i64::MAX))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_none(), "beyond the column's type");
    let range = RangePredicate::of(&relations[0], &[a(), low(), col("b").lt(lit(1))]).unwrap();
    assert!(range.plan(&relations[0], &[]).is_none(), "empty");
}
