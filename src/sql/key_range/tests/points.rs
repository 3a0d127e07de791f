//! Predicates that name one key: written down at once, the key is that of the analysis.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, col, lit, placeholder};

use super::super::*;
use super::{raw, relational};
use crate::sql::types::SqlType;

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
                if let Some(range) = point.range(&relation, &parameters) {
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
    let of_other_types = [vec![a(), col("b").eq(lit(1_i64))], vec![a(), col("b").eq(lit(ScalarValue::Int32(None)))]];
    for filters in of_other_types {
        assert!(PointPredicate::of(relation, &filters).unwrap().range(relation, &[]).is_none(), "{filters:?}");
    }
    let raw = raw();
    let point = PointPredicate::of(&raw, &[col("\"RowKey\"").eq(lit("r")), col("\"PartitionKey\"").eq(lit("p"))]);
    assert_eq!(point.unwrap().range(&raw, &[]).unwrap().as_point().unwrap().0.as_ref(), "p");
}
