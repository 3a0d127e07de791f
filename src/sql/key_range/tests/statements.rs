//! Conditions, and the scans that follow.

use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, DynamicFilterPhysicalExpr, InListExpr, lit as physical_lit,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::prelude::SessionContext;
use tablegate_bind::{Binder, BuiltInOnly, Entry, Lookup, Scope as Names, ScopeColumn, Usage};
use tablegate_types::oid::{modifier, oid};
use tablegate_types::sql_type::SqlType;

use super::super::*;
use super::{column, raw, relational};
use crate::expr::{Parameters, engine_form};
use crate::relation::RelationColumn;
use crate::syntax::parse_expression;

/// Keeps the filters that reach the scan.
#[derive(Debug)]
struct Listener {
    relation: Arc<Relation>,
    heard: Arc<Mutex<Vec<Expr>>>,
}

#[async_trait]
impl TableProvider for Listener {
    fn schema(&self) -> SchemaRef {
        self.relation.arrow_schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        _projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.heard.lock().unwrap().extend_from_slice(filters);
        Ok(Arc::new(EmptyExec::new(self.relation.arrow_schema.clone())))
    }
}

/// A condition over the columns of the relation.
fn condition_over(relation: &Relation, schema: &DFSchema, condition: &str) -> Expr {
    let lookup = Lookup::new(&BuiltInOnly);
    let column = |column: &RelationColumn| {
        let ty = lookup.of_type(oid(&column.sql_type), modifier(&column.sql_type));
        ScopeColumn { name: column.name.clone(), ty, is_hidden: column.hidden }
    };
    let columns = relation.columns.iter().map(column).collect();
    let entries = [Entry { name: "t".to_owned(), schema: None, columns, row_type: 0, table: None }];
    let scope = Names { entries: &entries, outer: None, namespace: None };
    let bound = parse_expression(condition).unwrap().bind(&mut Binder::new(lookup, scope, Usage::Where)).unwrap();
    engine_form(&bound, schema, &Parameters::new(&[])).unwrap()
}

/// The plan of `SELECT * FROM t WHERE ...`. No filter reaches the scan of an empty result.
fn plan(relation: Relation, condition: &str) -> KeyPlan {
    let relation = Arc::new(relation);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let session = SessionContext::new();
        let listener = Listener { relation: relation.clone(), heard: heard.clone() };
        session.register_table("t", Arc::new(listener)).unwrap();
        let table = session.table("t").await.unwrap();
        let condition = condition_over(&relation, table.schema(), condition);
        table.filter(condition).unwrap().create_physical_plan().await.unwrap();
    });
    let filters = heard.lock().unwrap().clone();
    KeyPlan::from_filters(&relation, &filters)
}

/// Scope, keys and residuals on one line.
fn line(plan: &KeyPlan) -> String {
    let residuals: Vec<String> = plan.groups.iter().filter_map(|g| g.residual.as_ref()).map(Expr::to_string).collect();
    let keys = plan.keys().map(|keys| format!(": {keys}")).unwrap_or_default();
    let left = if residuals.is_empty() { String::new() } else { format!(" | {}", residuals.join(" ; ")) };
    format!("{}{keys}{left}", plan.scope)
}

#[test]
fn raw_tables() {
    let cases = [
        (r#""PartitionKey" = 'a' AND "RowKey" = '1'"#, "point: PartitionKey = 'a', RowKey = '1'"),
        (
            r#""PartitionKey" = 'Marketing' AND "RowKey" >= '05' AND "RowKey" < '10'"#,
            "row range: PartitionKey = 'Marketing', RowKey >= '05' and < '10'",
        ),
        (r#""PartitionKey" = 'a'"#, "partition: PartitionKey = 'a'"),
        (r#""PartitionKey" BETWEEN 'a' AND 'c'"#, "partition range: PartitionKey >= 'a' and <= 'c'"),
        (r#""RowKey" = '1'"#, "partition range: RowKey = '1'"),
        (
            r#""PartitionKey" IN ('a', 'b', 'c', 'd', 'e') AND "RowKey" = '1'"#,
            "5 points: PartitionKey in ('a', 'b', 'c', ... and 2 more), RowKey = '1'",
        ),
        (r#""PartitionKey" = 'a' AND "RowKey" LIKE 'abc%'"#, "row range: PartitionKey = 'a', RowKey like 'abc%'"),
        (
            r#""PartitionKey" = 'a' AND starts_with("RowKey", 'abc')"#,
            "row range: PartitionKey = 'a', RowKey like 'abc%'",
        ),
        (
            r#"("PartitionKey" = 'a' AND "RowKey" = '1') OR ("PartitionKey" = 'b' AND "RowKey" = '2')"#,
            "2 points: PartitionKey = 'a', RowKey = '1'; PartitionKey = 'b', RowKey = '2'",
        ),
        (
            r#"("PartitionKey", "RowKey") > ('a', '5')"#,
            "1 row range, 1 partition range: PartitionKey = 'a', RowKey > '5'; PartitionKey > 'a'",
        ),
        (
            r#"("PartitionKey", "RowKey") IN (('a', '5'), ('b', '6'))"#,
            "2 points: PartitionKey = 'a', RowKey = '5'; PartitionKey = 'b', RowKey = '6'",
        ),
        (
            r#""PartitionKey" = 'a' OR ("PartitionKey" = 'b' AND x > 5)"#,
            "2 partitions: PartitionKey in ('a', 'b') | t.x > Int32(5)",
        ),
        (r#""PartitionKey" NOT IN ('a', 'b')"#, "3 partition ranges: PartitionKey < 'a' or > 'a' and < 'b' or > 'b'"),
        (r#""PartitionKey" = 'a' AND "PartitionKey" = 'b'"#, "none"),
        (r#"x > 5"#, "table | t.x > Int32(5)"),
    ];
    for (condition, expected) in cases {
        assert_eq!(line(&plan(raw(), condition)).replace("t.x", "x"), expected.replace("t.x", "x"), "{condition}");
    }
}

#[test]
fn relational_tables() {
    let keys = [("origin", SqlType::Text, false), ("at", SqlType::Timestamp, false), ("id", SqlType::Int4, false)];
    let cases = [
        (
            "origin = 'EWR' AND at = '2013-07-04 04:00:00' AND id = 7",
            "point: PartitionKey = 'EWR', RowKey = '2013-07-04T04:00:00.0000000Z0000000007'",
        ),
        (
            "origin = 'EWR' AND at >= '2013-07-04' AND at < '2013-07-05'",
            "row range: PartitionKey = 'EWR', RowKey >= '2013-07-04T00:00:00.0000000Z' and < '2013-07-05T00:00:00.0000000Z'",
        ),
        (
            "origin = 'EWR' AND at >= '2013-07-04' AND id = 7",
            "row range: PartitionKey = 'EWR', RowKey >= '2013-07-04T00:00:00.0000000Z' | id = Int32(7)",
        ),
        (
            "origin = 'EWR' AND at = '2013-07-04'",
            "row range: PartitionKey = 'EWR', RowKey like '2013-07-04T00:00:00.0000000Z%'",
        ),
        (
            "origin = 'EWR' AND ROW(at, id) > ROW(timestamp '2013-07-04 00:00:00', 7)",
            "row range: PartitionKey = 'EWR', RowKey > '2013-07-04T00:00:00.0000000Z0000000007'",
        ),
        ("origin LIKE 'E%' AND id > 5000000000", "none"),
    ];
    for (condition, expected) in cases {
        let relation = relational(&keys, PartitionScheme::Columns(1));
        assert_eq!(line(&plan(relation, condition)).replace("t.", ""), expected, "{condition}");
    }
}

#[test]
fn other_types_of_literals() {
    let keys = [("id", SqlType::Int4, false), ("seen", SqlType::Timestamptz, true), ("code", SqlType::Char(4), false)];
    let cases = [
        ("id < 5000000000", "table"),
        (
            "id = 1 AND seen > '2013-07-04T00:00:00Z'",
            "row range: PartitionKey = '0000000001', RowKey < '7986-92-95T99:99:99.9999999Z'",
        ),
        (
            "id = 1 AND seen = '2013-07-04T00:00:00Z' AND code = 'ab  '",
            "point: PartitionKey = '0000000001', RowKey = '7986-92-95T99:99:99.9999999Zab'",
        ),
        ("id IN (1, NULL)", "partition: PartitionKey = '0000000001'"),
        ("id NOT IN (1, NULL)", "none"),
        ("id IS NOT DISTINCT FROM 4", "partition: PartitionKey = '0000000004'"),
    ];
    for (condition, expected) in cases {
        assert_eq!(line(&plan(relational(&keys, PartitionScheme::Columns(1)), condition)), expected, "{condition}");
    }
}

#[test]
fn stored_keys_of_a_relational_table_narrow_its_scan() {
    let relation = relational(&[("id", SqlType::Int4, false)], PartitionScheme::Columns(1));
    let mut columns = relation.columns.clone();
    columns.push(column("PartitionKey", SqlType::Text, ColumnSource::PartitionKey));
    let planned = plan(relation.with_columns(columns), r#"id > 3 AND "PartitionKey" < '0000000009'"#);
    assert_eq!(planned.keys().unwrap(), "PartitionKey > '0000000003' and < '0000000009'");
    assert!(!planned.is_exact());
}

#[test]
fn buckets_and_constants() {
    let keys = [("id", SqlType::Int8, false)];
    let bucketed = |condition| plan(relational(&keys, PartitionScheme::Bucket(4)), condition);
    assert_eq!(bucketed("id = 7").scope, Scope::Point);
    assert_eq!(bucketed("id IN (1, 2, 3)").scope.to_string(), "3 points");
    assert_eq!(bucketed("id > 7").scope.to_string(), "4 row ranges");
    let constant = |condition| plan(relational(&keys, PartitionScheme::Constant("all".to_owned())), condition);
    assert_eq!(line(&constant("id > 7")), "row range: PartitionKey = 'all', RowKey > '0000000000000000007'");
    assert_eq!(line(&constant("true")), "table");
    let single = plan(relational(&keys, PartitionScheme::Columns(1)), "id = 7");
    assert_eq!(line(&single), "point: PartitionKey = '0000000000000000007', RowKey = ''");
}

#[test]
fn long_lists_fall_back_to_hulls_not_to_the_table() {
    let items = |n: usize| (0..n).map(|i| format!("'{i:05}'")).collect::<Vec<_>>().join(", ");
    let both = |partitions, rows| {
        let condition = format!(r#""PartitionKey" IN ({}) AND "RowKey" IN ({})"#, items(partitions), items(rows));
        plan(raw(), &condition)
    };
    assert_eq!(both(20, 20).scope.to_string(), "400 points");
    let wide = both(500, 500);
    assert_eq!(wide.scope.to_string(), "500 row ranges");
    assert!(!wide.is_exact());
    let wider = both(12_000, 2);
    assert_eq!(wider.keys().unwrap(), "PartitionKey >= '00000' and <= '11999', RowKey in ('00000', '00001')");
}

#[test]
fn a_long_chain_of_alternatives_is_read_without_recursion() {
    let relation = raw();
    let alternative = |i: usize| {
        let key = |name: &str| Expr::Column(datafusion::common::Column::from_name(name));
        let text = |n: usize| datafusion::logical_expr::lit(format!("{n:04}"));
        key("PartitionKey").eq(text(i)).and(key("RowKey").eq(text(i % 7)))
    };
    let chain = (1..2000).fold(alternative(0), |chain, i| chain.or(alternative(i)));
    let plan = KeyPlan::from_filters(&relation, std::slice::from_ref(&chain));
    assert_eq!(plan.scope.to_string(), "2000 points");
    assert!(plan.is_exact());
}

/// What a plan over the whole table is narrowed to.
fn narrowed(relation: &Relation, filter: Arc<dyn PhysicalExpr>) -> Option<String> {
    let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
    let groups = KeyPlan::from_filters(relation, &[]).narrowed_by(&Caps::default(), relation, &[filter], &names)?;
    Some(scope::describe(&groups.concat()))
}

#[test]
fn keys_of_a_join_narrow_the_other_side() {
    let relation = raw();
    let column = |index: usize, name: &str| Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>;
    let keys = || vec![column(0, "PartitionKey"), column(1, "RowKey")];
    let text = |values: Vec<&str>| Arc::new(StringArray::from(values)) as ArrayRef;
    let fields = Fields::from(vec![Field::new("c0", DataType::Utf8, true), Field::new("c1", DataType::Utf8, true)]);
    let pairs = StructArray::new(fields.clone(), vec![text(vec!["b", "a"]), text(vec!["1", "2"])], None);
    let row = ScalarFunctionExpr::new(
        "struct",
        datafusion::functions::core::r#struct(),
        keys(),
        Arc::new(Field::new("struct", DataType::Struct(fields), true)),
        Arc::new(ConfigOptions::default()),
    );
    let schema = relation.arrow_schema.clone();
    let listed = InListExpr::try_new_from_array(Arc::new(row), Arc::new(pairs), false, &schema).unwrap();
    let listed: Arc<dyn PhysicalExpr> = Arc::new(listed);
    let two_points = "PartitionKey = 'a', RowKey = '2'; PartitionKey = 'b', RowKey = '1'";
    assert_eq!(narrowed(&relation, listed.clone()).unwrap(), two_points);

    let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(keys(), physical_lit(true)));
    assert_eq!(narrowed(&relation, dynamic.clone()), None);
    dynamic.update(listed).unwrap();
    assert_eq!(narrowed(&relation, dynamic).unwrap(), two_points);

    // One filter for each partition of the join.
    let bounds = |low: &str, high: &str| {
        let side = |op, value: &str| {
            Arc::new(BinaryExpr::new(column(0, "PartitionKey"), op, physical_lit(value))) as Arc<dyn PhysicalExpr>
        };
        Arc::new(BinaryExpr::new(side(Operator::GtEq, low), Operator::And, side(Operator::LtEq, high)))
            as Arc<dyn PhysicalExpr>
    };
    let branches = vec![(column(2, "x"), bounds("a", "c")), (column(2, "x"), bounds("x", "x"))];
    let case = CaseExpr::try_new(None, branches, Some(physical_lit(false))).unwrap();
    assert_eq!(narrowed(&relation, Arc::new(case)).unwrap(), "PartitionKey >= 'a' and <= 'c' or = 'x'");
}

#[test]
fn keys_that_become_known_at_run_time_are_looked_up_where_that_pays() {
    let relation = raw();
    let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
    let row = Arc::new(Column::new("RowKey", 1));
    let one_row: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(row, Operator::Eq, physical_lit("1")));
    let all = KeyPlan::from_filters(&relation, &[]);
    // A row in each of nobody knows how many partitions: all of them are read.
    let narrowed = all.narrowed_by(&Caps::default(), &relation, &[one_row], &names).unwrap();
    assert_eq!(narrowed, [[KeyRange::all()]]);
    for (rows, most) in [(None, 10_000), (Some(0), 100), (Some(512_000), 1_000), (Some(u64::MAX), 10_000)] {
        assert_eq!(Caps::within_rows(rows).max_ranges, most);
    }
}

#[test]
fn so_many_keys_are_named_and_no_more() {
    use datafusion::logical_expr::{col, lit};
    let relation = raw();
    let listed = |count: usize| {
        let keys = (0..count).map(|n| lit(format!("{n:06}"))).collect();
        vec![col("\"PartitionKey\"").eq(lit("p")), col("\"RowKey\"").in_list(keys, false)]
    };
    let spans = |plan: &KeyPlan| plan.ranges().map(|range| range.rows.len()).sum::<usize>();
    for (most, caps) in [(3, Caps { max_ranges: 3, ..Caps::default() }), (10_000, Caps::default())] {
        let plan = KeyPlan::within(&caps, &relation, &listed(most));
        assert_eq!((spans(&plan), plan.is_exact()), (most, true));
        let plan = KeyPlan::within(&caps, &relation, &listed(most + 1));
        assert_eq!((spans(&plan), plan.is_exact()), (1, false), "all between the first and the last");
    }
    let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
    let all = KeyPlan::from_filters(&relation, &[]);
    let found = |count: usize| {
        let keys = (0..count).map(|n| physical_lit(format!("{n}"))).collect();
        let partition = Arc::new(Column::new("PartitionKey", 0));
        let listed = InListExpr::try_new(partition, keys, false, &relation.arrow_schema).unwrap();
        let narrowed =
            all.narrowed_by(&Caps { max_ranges: 3, ..Caps::default() }, &relation, &[Arc::new(listed)], &names);
        narrowed.map(|groups| groups.concat().len())
    };
    assert_eq!((found(3), found(4)), (Some(3), None), "keys that a join finds");
    // What every statement is planned with.
    assert_eq!(spans(&KeyPlan::from_filters(&relation, &listed(10_000))), 10_000);
    assert_eq!(spans(&KeyPlan::from_filters(&relation, &listed(10_001))), 1);
}

#[test]
fn rows_that_a_long_list_leaves_out_are_read_too() {
    use datafusion::logical_expr::{col, lit};
    let relation = raw();
    let ranges = |filters: &[Expr]| {
        let plan = KeyPlan::from_filters(&relation, filters);
        (plan.ranges().map(|range| range.rows.len()).sum::<usize>(), plan.is_exact())
    };
    let without =
        |column: &str, count: usize| col(column).in_list((0..count).map(|n| lit(format!("{n:06}"))).collect(), true);
    let in_one = |count| [col("\"PartitionKey\"").eq(lit("p")), without("\"RowKey\"", count)];
    assert_eq!(ranges(&in_one(15)), (16, true));
    assert_eq!(ranges(&in_one(16)), (1, false));
    assert_eq!(ranges(&[without("\"RowKey\"", 100)]), (1, false));
    // A partition may be long.
    assert_eq!(ranges(&[without("\"PartitionKey\"", 100)]), (101, true));
}

#[test]
fn whole_partitions_are_read_where_they_are_not_named() {
    use datafusion::logical_expr::{col, lit};
    let relation = raw();
    let row = || col("\"RowKey\"").eq(lit("1"));
    let named = |filters: Vec<Expr>| {
        let plan = KeyPlan::of_whole_partitions(&relation, &filters);
        (plan.keys(), plan.looks_in_all_partitions(), plan.is_exact())
    };
    assert!(KeyPlan::from_filters(&relation, &[row()]).looks_in_all_partitions());
    assert_eq!(named(vec![row()]), (None, false, false));
    let behind = "PartitionKey > 'p'".to_owned();
    assert_eq!(named(vec![row(), col("\"PartitionKey\"").gt(lit("p"))]), (Some(behind), false, false));
    let point = "PartitionKey = 'p', RowKey = '1'".to_owned();
    assert_eq!(named(vec![row(), col("\"PartitionKey\"").eq(lit("p"))]), (Some(point), false, true));
}
