//! What the nodes of a plan are called: PostgreSQL's words for them.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use serde_json::{Value, json};

use super::estimate::{Estimate, Work};
use super::node::Node;
use super::origin::{Called, join_filter, shown};
use crate::apart::ApartExec;
use crate::false_order::UnseenExec;
use crate::passing::PassingExec;
use crate::range_join::RangeJoinExec;
use crate::scan::EntityScanExec;

/// What a reader of a plan sees of one of its nodes.
pub(super) enum Kind {
    /// It hands rows on: nothing a reader of the plan can act on.
    HandsOn,
    /// The rows of the node below that meet a condition.
    Filter(String),
    /// A limit above a sort.
    FirstSorted(Named),
    /// Its first input is hashed, and the rows of the second one are looked up in that.
    HashJoin(Named),
    Node(Named),
}

pub(super) struct Named {
    title: String,
    /// What programs know it by, where that is not the title.
    kind: Option<(&'static str, Vec<(&'static str, Value)>)>,
    pub work: Work,
    properties: Vec<(&'static str, Value)>,
}

impl Named {
    pub(super) fn new(title: impl Into<String>, work: Work) -> Self {
        Self { title: title.into(), kind: None, work, properties: Vec::new() }
    }

    pub(super) fn of_scan(scan: &EntityScanExec, properties: Vec<(&'static str, Value)>) -> Self {
        let name = &scan.relation().name;
        let said = vec![("Relation Name", json!(name)), ("Alias", json!(name))];
        let title = format!("Entity Scan on {name}");
        Self { title, kind: Some(("Entity Scan", said)), work: Work::Reads, properties }
    }

    pub(super) fn node(self, estimate: Estimate, children: Vec<Node>) -> Node {
        let Self { title, kind, properties, .. } = self;
        Node { title, kind, estimate: Some(estimate), actual: None, properties, children }
    }

    /// A kind of node that says something of itself in its title.
    fn known_as(self, kind: &'static str, name: &'static str, value: &str) -> Self {
        Self { kind: Some((kind, vec![(name, json!(value))])), ..self }
    }

    fn with(mut self, name: &'static str, value: Option<String>) -> Self {
        self.properties.extend(value.map(|value| (name, json!(value))));
        self
    }
}

pub(super) fn kind_of(plan: &Arc<dyn ExecutionPlan>) -> Kind {
    if plan.is::<PassingExec>() || plan.is::<ApartExec>() || plan.is::<UnseenExec>() {
        return Kind::HandsOn;
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Kind::Filter(shown(filter.predicate(), filter.input(), Called::Alone));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let (inner, outer) = (join.left(), join.right());
        let on = join
            .on()
            .iter()
            .map(|(left, right)| equal(shown(right, outer, Called::OfTable), shown(left, inner, Called::OfTable)));
        let named = joined("Hash", *join.join_type(), Work::JoinsHashed)
            .with("Hash Cond", Some(condition(on)))
            .with("Join Filter", join.filter().map(|filter| join_filter(filter, inner, outer)));
        return Kind::HashJoin(named);
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let on = join.on().iter().map(|(left, right)| {
            equal(shown(left, join.left(), Called::OfTable), shown(right, join.right(), Called::OfTable))
        });
        let named = joined("Merge", join.join_type(), Work::Passes).with("Merge Cond", Some(condition(on)));
        let filter = join.filter().as_ref().map(|filter| join_filter(filter, join.left(), join.right()));
        return Kind::Node(named.with("Join Filter", filter));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let named = joined("Nested Loop", *join.join_type(), Work::JoinsEach);
        let filter = join.filter().as_ref().map(|filter| join_filter(filter, join.left(), join.right()));
        return Kind::Node(named.with("Join Filter", filter));
    }
    if let Some(join) = plan.downcast_ref::<RangeJoinExec>() {
        let [left, right] = join.sides();
        let on = join.on().iter().map(|(of_left, of_right)| {
            equal(shown(of_left, left, Called::OfTable), shown(of_right, right, Called::OfTable))
        });
        let (sorted, other) = join.sorted_and_other();
        let ranges = join.ranges().map(|(column, op, value)| {
            format!("({} {op} {})", shown(&column, sorted, Called::OfTable), shown(value, other, Called::OfTable))
        });
        let named =
            joined("Merge", join.join_type(), Work::Passes).with("Merge Cond", Some(condition(on.chain(ranges))));
        return Kind::Node(named.with("Join Filter", join.residual().map(|filter| join_filter(filter, left, right))));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregated(aggregate);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let named = Named::new("Sort", Work::Sorts).with("Sort Key", Some(sort_key(sort)));
        return if sort.fetch().is_some() { Kind::FirstSorted(named) } else { Kind::Node(named) };
    }
    let title = match plan.name() {
        "CoalesceBatchesExec"
        | "CoalescePartitionsExec"
        | "RepartitionExec"
        | "SortPreservingMergeExec"
        | "ProjectionExec"
        | "CooperativeExec"
        | "BufferExec"
        | "AsyncFuncExec"
        | "InTurnExec"
        | "DictionaryAggregateExec" => {
            return Kind::HandsOn;
        }
        "CrossJoinExec" => return Kind::Node(joined("Nested Loop", JoinType::Inner, Work::JoinsEach)),
        "GlobalLimitExec" | "LocalLimitExec" => "Limit",
        "UnionExec" | "InterleaveExec" => "Append",
        "SortedUnionExec" => "Merge Append",
        "WindowAggExec" | "BoundedWindowAggExec" => "WindowAgg",
        "UnnestExec" => "ProjectSet",
        "RecursionExec" => "Recursive Union",
        "WorkTableExec" => "WorkTable Scan",
        "PlaceholderRowExec" | "EmptyExec" => "Result",
        "PartialSortExec" => "Incremental Sort",
        "DataSourceExec" => "Values Scan",
        "LazyMemoryExec" => "Function Scan",
        "ScalarSubqueryExec" => "InitPlan",
        other => return Kind::Node(Named::new(in_words(other), Work::Passes)),
    };
    Kind::Node(Named::new(title, Work::Passes))
}

/// The half that joins the other one's groups, or the whole: the other half is left out.
fn aggregated(aggregate: &AggregateExec) -> Kind {
    if matches!(aggregate.mode(), AggregateMode::Partial) {
        return Kind::HandsOn;
    }
    let groups = keys_below(aggregate);
    let (title, strategy) = match (groups.is_empty(), aggregate.group_expr().has_grouping_set()) {
        (true, _) => ("Aggregate", "Plain"),
        (false, true) => ("MixedAggregate", "Mixed"),
        (false, false) if matches!(aggregate.input_order_mode(), InputOrderMode::Sorted) => {
            ("GroupAggregate", "Sorted")
        }
        (false, false) => ("HashAggregate", "Hashed"),
    };
    let work = if groups.is_empty() { Work::MakesOne } else { Work::MakesGroups };
    let keys = (!groups.is_empty()).then(|| groups.join(", "));
    Kind::Node(Named::new(title, work).known_as("Aggregate", "Strategy", strategy).with("Group Key", keys))
}

/// What is grouped by: of two halves the first one says it.
fn keys_below(aggregate: &AggregateExec) -> Vec<String> {
    let mut below = aggregate.input();
    loop {
        if let Some(partial) = below.downcast_ref::<AggregateExec>()
            && matches!(partial.mode(), AggregateMode::Partial)
        {
            return keys_of(partial);
        }
        match (kind_of(below), below.children().as_slice()) {
            (Kind::HandsOn, [only]) => below = only,
            _ => return keys_of(aggregate),
        }
    }
}

fn keys_of(aggregate: &AggregateExec) -> Vec<String> {
    aggregate.group_expr().expr().iter().map(|(expr, _)| shown(expr, aggregate.input(), Called::Alone)).collect()
}

/// Joins hash, and loop over, the side that is named first; PostgreSQL the second one.
fn joined(way: &'static str, join_type: JoinType, work: Work) -> Named {
    let is_hashed_first = way == "Hash";
    let sided = |side: &'static str, other: &'static str| if is_hashed_first { other } else { side };
    let kind = match join_type {
        JoinType::Inner => "Inner",
        JoinType::Left => sided("Left", "Right"),
        JoinType::Right => sided("Right", "Left"),
        JoinType::Full => "Full",
        JoinType::LeftSemi | JoinType::LeftMark => sided("Semi", "Right Semi"),
        JoinType::RightSemi | JoinType::RightMark => sided("Right Semi", "Semi"),
        JoinType::LeftAnti => sided("Anti", "Right Anti"),
        JoinType::RightAnti => sided("Right Anti", "Anti"),
    };
    let title = match (way, kind) {
        ("Nested Loop", "Inner") => way.to_owned(),
        (_, "Inner") => format!("{way} Join"),
        _ => format!("{way} {kind} Join"),
    };
    let node_type = match way {
        "Hash" => "Hash Join",
        "Merge" => "Merge Join",
        _ => "Nested Loop",
    };
    Named::new(title, work).known_as(node_type, "Join Type", kind)
}

fn equal(left: String, right: String) -> String {
    format!("({left} = {right})")
}

fn condition(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    match parts.as_slice() {
        [one] => one.clone(),
        several => format!("({})", several.join(" AND ")),
    }
}

fn sort_key(sort: &SortExec) -> String {
    let key = |key: &PhysicalSortExpr| {
        let expr = shown(&key.expr, sort.input(), Called::Alone);
        match (key.options.descending, key.options.nulls_first) {
            (false, false) => expr,
            (false, true) => format!("{expr} NULLS FIRST"),
            (true, true) => format!("{expr} DESC"),
            (true, false) => format!("{expr} DESC NULLS LAST"),
        }
    };
    sort.expr().iter().map(key).collect::<Vec<_>>().join(", ")
}

/// `FooBarExec` as `Foo Bar`.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for c in name.trim_end_matches("Exec").chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c);
    }
    words
}
