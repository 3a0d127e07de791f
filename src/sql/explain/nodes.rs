//! What the nodes of a plan are called: PostgreSQL's words for them.

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use serde_json::{Value, json};

use crate::apart::ApartExec;
use crate::expr::printed_physical;
use crate::false_order::GroupsExec;
use crate::passing::PassingExec;

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
    pub title: String,
    pub properties: Vec<(&'static str, Value)>,
}

impl Named {
    fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), properties: Vec::new() }
    }

    fn with(mut self, name: &'static str, value: Option<String>) -> Self {
        self.properties.extend(value.map(|value| (name, json!(value))));
        self
    }
}

pub(super) fn kind_of(plan: &Arc<dyn ExecutionPlan>) -> Kind {
    if plan.is::<PassingExec>() || plan.is::<ApartExec>() || plan.is::<GroupsExec>() {
        return Kind::HandsOn;
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Kind::Filter(printed_physical(filter.predicate()));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let on = join.on().iter().map(|(left, right)| (printed_physical(right), printed_physical(left)));
        let named = Named::new(join_title("Hash", *join.join_type()))
            .with("Hash Cond", Some(condition(on)))
            .with("Join Filter", join.filter().map(join_filter));
        return Kind::HashJoin(named);
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let on = join.on().iter().map(|(left, right)| (printed_physical(left), printed_physical(right)));
        let named = Named::new(join_title("Merge", join.join_type())).with("Merge Cond", Some(condition(on)));
        return Kind::Node(named.with("Join Filter", join.filter().as_ref().map(join_filter)));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let named = Named::new(join_title("Nested Loop", *join.join_type()));
        return Kind::Node(named.with("Join Filter", join.filter().map(join_filter)));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregated(aggregate);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let named = Named::new("Sort").with("Sort Key", Some(sort_key(sort.expr())));
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
        | "DictionaryAggregateExec" => {
            return Kind::HandsOn;
        }
        "CrossJoinExec" => "Nested Loop",
        "GlobalLimitExec" | "LocalLimitExec" => "Limit",
        "UnionExec" | "InterleaveExec" => "Append",
        "SortedUnionExec" => "Merge Append",
        "WindowAggExec" | "BoundedWindowAggExec" => "WindowAgg",
        "UnnestExec" => "ProjectSet",
        "RecursiveQueryExec" => "Recursive Union",
        "WorkTableExec" => "WorkTable Scan",
        "PlaceholderRowExec" | "EmptyExec" => "Result",
        "PartialSortExec" => "Incremental Sort",
        "DataSourceExec" => "Values Scan",
        "LazyMemoryExec" => "Function Scan",
        "ScalarSubqueryExec" => "InitPlan",
        other => return Kind::Node(Named::new(in_words(other))),
    };
    Kind::Node(Named::new(title))
}

/// The half that joins the other one's groups, or the whole: the other half is left out.
fn aggregated(aggregate: &AggregateExec) -> Kind {
    if matches!(aggregate.mode(), AggregateMode::Partial) {
        return Kind::HandsOn;
    }
    let groups = keys_below(aggregate);
    let title = match (groups.is_empty(), aggregate.group_expr().has_grouping_set()) {
        (true, _) => "Aggregate",
        (false, true) => "MixedAggregate",
        (false, false) if matches!(aggregate.input_order_mode(), InputOrderMode::Sorted) => "GroupAggregate",
        (false, false) => "HashAggregate",
    };
    let keys = (!groups.is_empty()).then(|| groups.join(", "));
    Kind::Node(Named::new(title).with("Group Key", keys))
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
    aggregate.group_expr().expr().iter().map(|(expr, _)| printed_physical(expr)).collect()
}

/// Joins hash, and loop over, the side that is named first; PostgreSQL the second one.
fn join_title(way: &str, join_type: JoinType) -> String {
    let is_hashed_first = way == "Hash";
    let sided = |side: &'static str, other: &'static str| if is_hashed_first { other } else { side };
    let kind = match join_type {
        JoinType::Inner if way == "Nested Loop" => return way.to_owned(),
        JoinType::Inner => "",
        JoinType::Left => sided("Left ", "Right "),
        JoinType::Right => sided("Right ", "Left "),
        JoinType::Full => "Full ",
        JoinType::LeftSemi | JoinType::LeftMark => sided("Semi ", "Right Semi "),
        JoinType::RightSemi | JoinType::RightMark => sided("Right Semi ", "Semi "),
        JoinType::LeftAnti => sided("Anti ", "Right Anti "),
        JoinType::RightAnti => sided("Right Anti ", "Anti "),
    };
    format!("{way} {kind}Join")
}

fn condition(on: impl Iterator<Item = (String, String)>) -> String {
    let equal: Vec<String> = on.map(|(left, right)| format!("({left} = {right})")).collect();
    match equal.as_slice() {
        [one] => one.clone(),
        several => format!("({})", several.join(" AND ")),
    }
}

fn join_filter(filter: &JoinFilter) -> String {
    printed_physical(filter.expression())
}

fn sort_key(order: &LexOrdering) -> String {
    let key = |sort: &datafusion::physical_expr::PhysicalSortExpr| {
        let expr = printed_physical(&sort.expr);
        match (sort.options.descending, sort.options.nulls_first) {
            (false, false) => expr,
            (false, true) => format!("{expr} NULLS FIRST"),
            (true, true) => format!("{expr} DESC"),
            (true, false) => format!("{expr} DESC NULLS LAST"),
        }
    };
    order.iter().map(key).collect::<Vec<_>>().join(", ")
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
