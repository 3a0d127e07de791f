//! Random predicates over a small universe of keys: what DataFusion says of each row is the truth.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Date32Array, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Operator, binary_expr, cast, col, lit};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use tablegate_store::model::EntityKey;
use tablegate_types::sql_type::SqlType;

use super::super::*;
use super::{raw, relational};

static SESSION: LazyLock<SessionContext> = LazyLock::new(SessionContext::new);

/// A predicate, and what must be said about it.
#[derive(Debug, Clone)]
struct Predicate {
    expr: Expr,
    /// Speaks of key columns only, in forms that are decided by the key alone.
    by_key: bool,
}

/// The column names and literals that predicates are made of.
#[derive(Clone)]
struct Vocabulary {
    keys: Vec<(&'static str, Vec<ScalarValue>)>,
    patterns: Vec<&'static str>,
}

fn operator() -> impl Strategy<Value = Operator> {
    prop::sample::select(vec![
        Operator::Eq,
        Operator::Eq,
        Operator::NotEq,
        Operator::Lt,
        Operator::LtEq,
        Operator::Gt,
        Operator::GtEq,
    ])
}

fn column_named(name: &str) -> Expr {
    Expr::Column(datafusion::common::Column::from_name(name))
}

fn atom(words: &Vocabulary) -> impl Strategy<Value = Predicate> + use<> {
    let by_key = |expr| Predicate { expr, by_key: true };
    let key = prop::sample::select(words.keys.clone()).prop_flat_map(|(name, values)| {
        let value = prop::sample::select(values);
        (Just(name), prop::collection::vec(value, 1..4), prop::bool::weighted(0.15))
    });
    let comparison = (key.clone(), operator(), any::<bool>()).prop_map(move |((name, values, null), op, flip)| {
        let value = if null { ScalarValue::Utf8(None) } else { values[0].clone() };
        let sides = (column_named(name), lit(value));
        let (left, right) = if flip { (sides.1, sides.0) } else { sides };
        by_key(binary_expr(left, op, right))
    });
    let list = (key.clone(), any::<bool>()).prop_map(move |((name, values, null), negated)| {
        let mut items: Vec<Expr> = values.into_iter().map(lit).collect();
        if null {
            items.push(lit(ScalarValue::Null));
        }
        by_key(column_named(name).in_list(items, negated))
    });
    let between = (key.clone(), any::<bool>()).prop_map(move |((name, values, _), negated)| {
        let (low, high) = (lit(values[0].clone()), lit(values[values.len() - 1].clone()));
        let tested = column_named(name);
        by_key(if negated { tested.not_between(low, high) } else { tested.between(low, high) })
    });
    let distinct = (key.clone(), any::<bool>()).prop_map(move |((name, values, null), same)| {
        let value = if null { ScalarValue::Utf8(None) } else { values[0].clone() };
        let op = if same { Operator::IsNotDistinctFrom } else { Operator::IsDistinctFrom };
        by_key(binary_expr(column_named(name), op, lit(value)))
    });
    let null_test = (key, any::<bool>()).prop_map(move |((name, _, _), negated)| {
        let tested = column_named(name);
        by_key(if negated { tested.is_not_null() } else { tested.is_null() })
    });
    let first = words.keys[0].0;
    let pattern = (prop::sample::select(words.patterns.clone()), any::<bool>(), any::<bool>());
    let like = pattern.prop_map(move |(pattern, negated, function)| {
        let tested = column_named(first);
        if function {
            let prefix = pattern.trim_end_matches('%');
            return by_key(datafusion::functions::string::expr_fn::starts_with(tested, lit(prefix)));
        }
        let expr = if negated { tested.not_like(lit(pattern)) } else { tested.like(lit(pattern)) };
        Predicate { expr, by_key: !pattern.contains('_') && !pattern.trim_end_matches('%').contains('%') }
    });
    let (one, other) = (words.keys[0].clone(), words.keys[1].clone());
    let values = (prop::sample::select(one.1), prop::sample::select(other.1));
    let rows = (values, operator()).prop_map(move |((a, b), op)| {
        let row = |items| datafusion::functions::core::expr_fn::r#struct(items);
        by_key(binary_expr(row(vec![column_named(one.0), column_named(other.0)]), op, row(vec![lit(a), lit(b)])))
    });
    let constant = prop::sample::select(vec![Some(true), Some(false), None])
        .prop_map(move |value| by_key(lit(ScalarValue::Boolean(value))));
    let other = prop::sample::select(vec![
        col("x").gt(lit(1)),
        col("x").eq(lit(2_i64)),
        col("x").is_null(),
        col("x").is_not_null(),
        col("x").in_list(vec![lit(1), lit(ScalarValue::Int32(None))], false),
    ])
    .prop_map(|expr| Predicate { expr, by_key: false });
    prop_oneof![
        5 => comparison,
        2 => list,
        1 => between,
        1 => distinct,
        1 => null_test,
        2 => like,
        2 => rows,
        1 => constant,
        3 => other,
    ]
}

fn predicate(words: &Vocabulary) -> impl Strategy<Value = Predicate> + use<> {
    atom(words).prop_recursive(4, 12, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        let join = |a: &Predicate, b: &Predicate, op| Predicate {
            expr: binary_expr(a.expr.clone(), op, b.expr.clone()),
            by_key: a.by_key && b.by_key,
        };
        prop_oneof![
            4 => pair.clone().prop_map(move |(a, b)| join(&a, &b, Operator::And)),
            4 => pair.prop_map(move |(a, b)| join(&a, &b, Operator::Or)),
            2 => inner.clone().prop_map(|a| Predicate { expr: Expr::Not(Box::new(a.expr)), ..a }),
            1 => inner.clone().prop_map(|a| Predicate { expr: a.expr.is_not_true(), ..a }),
            1 => inner.prop_map(|a| Predicate { expr: a.expr.is_unknown(), ..a }),
        ]
    })
}

/// The rows a predicate is tried on.
struct Universe {
    batch: RecordBatch,
    keys: Vec<EntityKey>,
    schema: DFSchema,
}

impl Universe {
    /// `keys` are all but the last column of the relation; the last is x.
    fn new(relation: &Relation, columns: Vec<ArrayRef>) -> Self {
        let batch = RecordBatch::try_new(relation.arrow_schema.clone(), columns).unwrap();
        let key_columns = &batch.columns()[..batch.num_columns() - 1];
        let keys = relation.codec.encode_batch(key_columns).unwrap();
        let schema = DFSchema::try_from(relation.arrow_schema.as_ref().clone()).unwrap();
        Self { batch, keys, schema }
    }

    fn physical(&self, expr: &Expr) -> Arc<dyn PhysicalExpr> {
        SESSION.create_physical_expr(expr.clone(), &self.schema).unwrap()
    }

    /// Where the predicate is true.
    fn truth(&self, expr: &Expr) -> Vec<bool> {
        let value = self.physical(expr).evaluate(&self.batch).unwrap();
        let array = value.into_array(self.batch.num_rows()).unwrap();
        let array = arrow::compute::cast(&array, &arrow::datatypes::DataType::Boolean).unwrap();
        let array: &BooleanArray = array.as_boolean();
        array.iter().map(|value| value == Some(true)).collect()
    }

    /// As the optimizer hands it to a scan.
    fn simplified(&self, expr: &Expr) -> Expr {
        let context = SimplifyContext::builder().with_schema(Arc::new(self.schema.clone())).build();
        let simplifier = ExprSimplifier::new(context);
        let coerced = simplifier.coerce(expr.clone(), &self.schema).unwrap();
        simplifier.simplify(coerced).unwrap()
    }
}

fn holds(range: &KeyRange, key: &EntityKey) -> bool {
    range.partitions.contains(key.partition.as_str()) && range.rows.iter().any(|span| span.contains(key.row.as_str()))
}

fn check_form(ranges: &[KeyRange]) {
    for pair in ranges.windows(2) {
        assert!(pair[0].partitions.to <= pair[1].partitions.from, "{ranges:?}");
    }
    for range in ranges {
        assert!(!range.partitions.is_empty() && !range.rows.is_empty());
        assert!(range.rows.iter().all(|span| !span.is_empty()));
        assert!(range.rows.windows(2).all(|pair| pair[0].to <= pair[1].from), "{range:?}");
    }
}

/// A plan must give exactly the predicate's rows, each from one range, in key order.
fn check_plan(universe: &Universe, plan: &KeyPlan, expr: &Expr, exact: bool) {
    let truth = universe.truth(expr);
    let residuals: Vec<_> =
        plan.groups.iter().map(|group| group.residual.as_ref().map(|left| universe.truth(left))).collect();
    plan.groups.iter().for_each(|group| check_form(&group.ranges));
    let mut placed: Vec<(usize, &EntityKey)> = Vec::new();
    for (row, key) in universe.keys.iter().enumerate() {
        let mut found = Vec::new();
        for (index, group) in plan.groups.iter().enumerate() {
            found.extend(group.ranges.iter().filter(|range| holds(range, key)).map(|_| index));
        }
        assert!(found.len() <= 1, "{key} is in several ranges of {plan:?}");
        let comes_out = found.iter().any(|index| residuals[*index].as_ref().is_none_or(|left| left[row]));
        assert_eq!(comes_out, truth[row], "row {row}, {key}, of {expr} by {plan:#?}");
        placed.extend(found.iter().map(|index| (*index, key)));
    }
    if exact {
        assert!(plan.is_exact(), "{expr} left {plan:?}");
    }
    placed.sort_by(|a, b| a.1.cmp(b.1));
    assert!(placed.windows(2).all(|pair| pair[0].0 <= pair[1].0), "groups of {plan:?} interleave");
}

/// A filter known at run time must leave every row it is true for, and no others of a partition that it names.
fn check_narrowing(caps: &Caps, relation: &Relation, universe: &Universe, expr: &Expr, exact: bool) {
    let filter = universe.physical(expr);
    let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
    let whole = KeyPlan::from_filters(relation, &[]);
    let narrowed = whole.narrowed_by(caps, relation, &[filter], &names);
    let ranges = narrowed.unwrap_or_else(|| vec![vec![KeyRange::all()]]).concat();
    check_form(&ranges);
    for ((row, key), holds_there) in universe.keys.iter().enumerate().zip(universe.truth(expr)) {
        let count = ranges.iter().filter(|range| holds(range, key)).count();
        assert!(count <= 1);
        assert!(count == 1 || !holds_there, "row {row}, {key}, of {expr} is not in {ranges:?}");
        let is_named = ranges.iter().any(|range| range.partitions.as_point().is_some() && holds(range, key));
        assert!(!exact || !is_named || holds_there, "{key} is in {ranges:?} for no reason, of {expr}");
    }
}

/// Every combination of the key values, with every value of x.
fn combinations(keys: &[ArrayRef]) -> Vec<ArrayRef> {
    let x: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(1), Some(2)]));
    let axes: Vec<&ArrayRef> = keys.iter().chain([&x]).collect();
    let rows: usize = axes.iter().map(|axis| axis.len()).product();
    let mut repeat = rows;
    axes.iter()
        .map(|axis| {
            repeat /= axis.len();
            let picks = (0..rows).map(|row| u32::try_from(row / repeat % axis.len()).unwrap());
            arrow::compute::take(axis, &arrow::array::UInt32Array::from_iter_values(picks), None).unwrap()
        })
        .collect()
}

fn texts(values: &[&str]) -> Vec<ScalarValue> {
    values.iter().map(|v| ScalarValue::Utf8(Some((*v).to_owned()))).collect()
}

const PATTERNS: [&str; 8] = ["a%", "ab%", "%", "b", "a%b", "_b", "", "a b%"];

static RAW: LazyLock<(Relation, Universe)> = LazyLock::new(|| {
    let relation = raw();
    let partitions: ArrayRef = Arc::new(StringArray::from(vec!["", "a", "a b", "ab", "abc", "b", "é"]));
    let rows: ArrayRef = Arc::new(StringArray::from(vec!["", "0", "a", "ab", "b"]));
    let universe = Universe::new(&relation, combinations(&[partitions, rows]));
    (relation, universe)
});

fn raw_words() -> Vocabulary {
    Vocabulary {
        keys: vec![
            ("PartitionKey", texts(&["", "a", "ab", "abb", "b", "a/b", "zz"])),
            ("RowKey", texts(&["0", "a", "aa", "b"])),
        ],
        patterns: PATTERNS.to_vec(),
    }
}

fn relational_words() -> Vocabulary {
    let numbers = [-5, -1, 0, 6, 7].map(|v| ScalarValue::Int32(Some(v)));
    let others =
        [ScalarValue::Int64(Some(5_000_000_000)), ScalarValue::Int64(Some(0)), ScalarValue::Float64(Some(6.5))];
    let dates = [10, 15, 20].map(|v| ScalarValue::Date32(Some(v)));
    let times = [ScalarValue::TimestampSecond(Some(10 * 86_400 + 1), None)];
    Vocabulary {
        keys: vec![
            ("k1", texts(&["", "a", "a b", "b", "c/"])),
            ("k2", numbers.into_iter().chain(others).collect()),
            ("k3", dates.into_iter().chain(times).collect()),
        ],
        patterns: PATTERNS.to_vec(),
    }
}

static RELATIONAL: LazyLock<Vec<(Relation, Universe)>> = LazyLock::new(|| {
    let keys = [("k1", SqlType::Text, false), ("k2", SqlType::Int4, false), ("k3", SqlType::Date, true)];
    let schemes = [
        PartitionScheme::Columns(1),
        PartitionScheme::Columns(2),
        PartitionScheme::Columns(3),
        PartitionScheme::Constant("all".to_owned()),
        PartitionScheme::Bucket(3),
    ];
    let universe = |scheme| {
        let relation = relational(&keys, scheme);
        let names: ArrayRef = Arc::new(StringArray::from(vec!["", "a", "a b", "b"]));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![-1, 0, 6, 7]));
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![10, 15, 20]));
        let universe = Universe::new(&relation, combinations(&[names, numbers, dates]));
        (relation, universe)
    };
    schemes.into_iter().map(universe).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn raw_keys(
        predicate in predicate(&raw_words()),
        simplify in any::<bool>(),
        tight in prop::bool::weighted(0.2),
        filled in prop::bool::weighted(0.2),
        whole_partitions in prop::bool::weighted(0.2),
    ) {
        let (relation, universe) = &*RAW;
        let expr = if simplify { universe.simplified(&predicate.expr) } else { predicate.expr };
        let max_with_holes = if filled { 2 } else { usize::MAX };
        let caps = Caps { max_ranges: if tight { 2 } else { 10_000 }, max_with_holes, whole_partitions };
        let plan = KeyPlan::within(&caps, relation, std::slice::from_ref(&expr));
        check_plan(universe, &plan, &expr, predicate.by_key && !tight && !filled && !whole_partitions);
        let caps = Caps { max_with_holes, ..Caps::default() };
        check_narrowing(&caps, relation, universe, &expr, predicate.by_key && !filled);
    }

    #[test]
    fn relational_keys(
        predicate in predicate(&relational_words()),
        simplify in any::<bool>(),
        tight in prop::bool::weighted(0.2),
        filled in prop::bool::weighted(0.2),
        whole_partitions in prop::bool::weighted(0.2),
        scheme in 0_usize..5,
    ) {
        let (relation, universe) = &RELATIONAL[scheme];
        let expr = if simplify { universe.simplified(&predicate.expr) } else { predicate.expr };
        let max_with_holes = if filled { 2 } else { usize::MAX };
        let caps = Caps { max_ranges: if tight { 3 } else { 10_000 }, max_with_holes, whole_partitions };
        let plan = KeyPlan::within(&caps, relation, std::slice::from_ref(&expr));
        check_plan(universe, &plan, &expr, false);
        check_narrowing(&Caps { max_with_holes, ..Caps::default() }, relation, universe, &expr, false);
    }
}

#[test]
fn casts_that_keep_the_order_are_seen_through() {
    let (relation, _) = &RELATIONAL[0];
    let to_bigint = |name| cast(col(name), arrow::datatypes::DataType::Int64);
    let filters = [col("k1").eq(lit("a")), to_bigint("k2").eq(lit(6_i64))];
    let plan = KeyPlan::from_filters(relation, &filters);
    assert_eq!(plan.keys().unwrap(), "PartitionKey = 'a', RowKey like '0000000006%'");
    assert!(plan.is_exact());
    let to_text = cast(col("k2"), arrow::datatypes::DataType::Utf8);
    let plan = KeyPlan::from_filters(relation, &[to_text.eq(lit("6"))]);
    assert_eq!(plan.scope, Scope::Table);
    assert!(!plan.is_exact());
}
