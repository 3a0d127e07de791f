//! Rules of the optimizer that are kept from plans which they would give another meaning.
//!
//! The engine moves equalities of a join's condition among its keys, also where the keys that are there take NULL for equal to NULL:
//! `LEFT JOIN LATERAL (SELECT max(b.v) .. WHERE b.s = a.s) q ON true WHERE q.max = a.f` would find rows without either value. And
//! it asks of the rows what HAVING asks of their only group, `SELECT count(*) FROM t HAVING (SELECT true)`, and of one reader's rows
//! what several readers have in common. It takes a key of groups for one of what is joined with them, and of the rows that their
//! lists become: groups and sorts then lose columns, joins rows, and DISTINCT is left out. And it puts the conditions of a query
//! beside those of a query in its FROM, and computes both for all rows, also where one fails for rows that the other leaves out.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, FunctionalDependencies, NullEquality, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, Filter, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::expr::{may_fail, relations_of};

type Rule = dyn OptimizerRule + Send + Sync;

/// Rules that ask which columns are keys.
const ASK_FOR_KEYS: &[&str] = &["eliminate_duplicated_expr", "eliminate_join", "optimize_projections"];

/// These rules, with guards.
pub(super) fn guarded(rules: Vec<Arc<Rule>>) -> Vec<Arc<Rule>> {
    let guarded = |rule: Arc<Rule>| -> Vec<Arc<Rule>> {
        match rule.name() {
            "extract_equijoin_predicate" => vec![Arc::new(Guarded { rule, guard: equal_nulls_stay })],
            "push_down_filter" => {
                vec![Arc::new(KEEP_CONDITIONS), Arc::new(Guarded { rule, guard: conditions_in_turn })]
            }
            "replace_distinct_aggregate" => vec![Arc::new(GROUP_DISTINCT), rule],
            name if ASK_FOR_KEYS.contains(&name) => vec![Arc::new(FORGET_KEYS), rule],
            _ => vec![rule],
        }
    };
    rules.into_iter().flat_map(guarded).collect()
}

#[derive(Debug)]
struct Guarded {
    rule: Arc<Rule>,
    guard: fn(LogicalPlan) -> Result<Guard>,
}

/// What is to become of a node.
enum Guard {
    /// That is for the rule to say.
    Rule(LogicalPlan),
    /// It stays as it is: the rule would be mistaken.
    Stays(LogicalPlan),
    /// Another one, whose inputs the rule looks at next.
    Becomes(LogicalPlan),
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match (self.guard)(plan)? {
            Guard::Rule(plan) => self.rule.rewrite(plan, config),
            Guard::Stays(plan) => Ok(Transformed::no(plan)),
            Guard::Becomes(plan) => Ok(Transformed::yes(plan)),
        }
    }
}

fn equal_nulls_stay(plan: LogicalPlan) -> Result<Guard> {
    let has_equal_nulls = matches!(&plan, LogicalPlan::Join(join)
        if join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty());
    Ok(if has_equal_nulls { Guard::Stays(plan) } else { Guard::Rule(plan) })
}

/// A rule of our own, which is there for the one behind it.
#[derive(Debug)]
struct Before {
    name: &'static str,
    /// Whether the rule has something to do at this node.
    concerns: fn(&LogicalPlan) -> Result<bool>,
    /// Makes it the whole plan.
    change: fn(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
}

impl OptimizerRule for Before {
    fn name(&self) -> &str {
        self.name
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut is_concerned = false;
        plan.apply_with_subqueries(|node| {
            is_concerned |= (self.concerns)(node)?;
            Ok(if is_concerned { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if is_concerned { (self.change)(plan) } else { Ok(Transformed::no(plan)) }
    }
}

/// Conditions that ask for no columns stand apart from others, where they are to stay: see [`asks_no_columns`].
const KEEP_CONDITIONS: Before = Before {
    name: "keep_conditions",
    concerns: |node| Ok(matches!(node, LogicalPlan::Filter(filter) if has_to_stay(filter)?)),
    change: |plan| plan.transform_down_with_subqueries(parted),
};

/// A filter of which some conditions have to stay, as two: the others are below.
fn parted(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = plan else { return Ok(Transformed::no(plan)) };
    if !has_to_stay(&filter)? {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let conditions = split_conjunction_owned(filter.predicate.clone());
    let (apart, others): (Vec<_>, Vec<_>) = conditions.into_iter().partition(asks_for_none);
    let (Some(apart), Some(others)) = (conjunction(apart), conjunction(others)) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let below = LogicalPlan::Filter(Filter::try_new(others, filter.input)?);
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(apart, Arc::new(below))?)))
}

/// A condition that asks for no columns leaves all rows or none. Below groups it would leave the one group that there is of no rows,
/// and below a node of ours take rows from its other readers. A condition above it would take it along.
fn asks_no_columns(plan: &LogicalPlan) -> Result<bool> {
    let mut plan = plan;
    loop {
        plan = match plan {
            LogicalPlan::Filter(filter) if has_to_stay(filter)? => return Ok(true),
            LogicalPlan::Filter(filter) => &filter.input,
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Sort(sort) => &sort.input,
            _ => return Ok(false),
        }
    }
}

fn has_to_stay(filter: &Filter) -> Result<bool> {
    let has_apart = split_conjunction(&filter.predicate).into_iter().any(asks_for_none);
    Ok(has_apart
        && filter.input.exists(|node| {
            Ok(match node {
                LogicalPlan::Aggregate(groups) => matches!(groups.group_expr.as_slice(), [] | [Expr::GroupingSet(_)]),
                LogicalPlan::Extension(_) => true,
                _ => false,
            })
        })?)
}

fn asks_for_none(condition: &Expr) -> bool {
    condition.column_refs().is_empty()
}

/// Conditions are pushed down, but for those that ask for no columns, and for those that may fail and meet others: these say first
/// which rows they are asked of.
fn conditions_in_turn(plan: LogicalPlan) -> Result<Guard> {
    let LogicalPlan::Filter(above) = &plan else { return Ok(Guard::Rule(plan)) };
    if asks_no_columns(&plan)? {
        return Ok(Guard::Stays(plan));
    }
    let LogicalPlan::Filter(below) = above.input.as_ref() else { return Ok(Guard::Rule(plan)) };
    if !may_fail(&above.predicate) && !may_fail(&below.predicate) {
        return Ok(Guard::Rule(plan));
    }
    let first = split_conjunction_owned(below.predicate.clone());
    let (waiting, others) = waiting_and_others(split_conjunction_owned(above.predicate.clone()), &first);
    if others.is_empty() {
        return Ok(Guard::Stays(plan));
    }
    let (held, first) = waiting_and_others(first, &others);
    if waiting.is_empty() && held.is_empty() {
        return Ok(Guard::Rule(plan));
    }
    let in_turn = [first.into_iter().chain(others).collect(), held, waiting];
    let filtered = in_turn.into_iter().filter_map(conjunction).try_fold(Arc::clone(&below.input), |rows, part| {
        Filter::try_new(part, rows).map(|filter| Arc::new(LogicalPlan::Filter(filter)))
    });
    Ok(Guard::Becomes(Arc::unwrap_or_clone(filtered?)))
}

/// The conditions that may fail, where some of others are about the same relations, and the rest. What is about other relations is
/// going to stand elsewhere.
fn waiting_and_others(conditions: Vec<Expr>, others: &[Expr]) -> (Vec<Expr>, Vec<Expr>) {
    let waits = |condition: &Expr| {
        let relations = relations_of(condition);
        may_fail(condition) && others.iter().any(|other| relations_of(other).is_subset(&relations))
    };
    conditions.into_iter().partition(waits)
}

/// Keys of groups, and numbers of rows, are forgotten: the engine carries them on to rows that have them several times.
const FORGET_KEYS: Before = Before {
    name: "forget_keys",
    concerns: |node| Ok(makes_keys(node) && has_keys(node.schema())),
    // No other rule has anything to do because of it.
    change: |plan| Ok(Transformed::no(without_keys(plan)?.data)),
};

/// Whether a node makes keys, or carries them on to other rows.
fn makes_keys(node: &LogicalPlan) -> bool {
    use LogicalPlan::{Aggregate, Join, Unnest, Window};
    matches!(node, Aggregate(_) | Window(_) | Join(_) | Unnest(_))
}

fn has_keys(schema: &DFSchema) -> bool {
    !schema.functional_dependencies().is_empty()
}

fn without_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = plan.map_subqueries(without_keys)?.data.map_children(without_keys)?;
    let mut plan = if plan.transformed { plan.map_data(LogicalPlan::recompute_schema)? } else { plan };
    let schema = match &mut plan.data {
        LogicalPlan::Aggregate(groups) => &mut groups.schema,
        LogicalPlan::Window(window) => &mut window.schema,
        LogicalPlan::Join(join) => &mut join.schema,
        LogicalPlan::Unnest(unnest) => &mut unnest.schema,
        _ => return Ok(plan),
    };
    if has_keys(schema) {
        let keyless = schema.as_ref().clone().with_functional_dependencies(FunctionalDependencies::empty())?;
        *schema = Arc::new(keyless);
        plan.transformed = true;
    }
    Ok(plan)
}

/// DISTINCT is grouping by all columns, and never needless for the keys of what is below.
const GROUP_DISTINCT: Before = Before {
    name: "group_distinct",
    concerns: |node| Ok(matches!(node, LogicalPlan::Distinct(Distinct::All(_)))),
    change: |plan| plan.transform_up_with_subqueries(grouped),
};

fn grouped(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Distinct(Distinct::All(rows)) if !rows.schema().fields().is_empty() => {
            let columns = rows.schema().columns().into_iter().map(Expr::Column).collect();
            Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(rows, columns, Vec::new())?)))
        }
        other => Ok(Transformed::no(other)),
    }
}
