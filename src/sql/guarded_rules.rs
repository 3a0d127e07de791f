//! Rules of the optimizer that are kept from plans which they would give another meaning.
//!
//! The engine moves equalities of a join's condition among its keys, also where the keys that are there take NULL for equal to NULL:
//! `LEFT JOIN LATERAL (SELECT max(b.v) .. WHERE b.s = a.s) q ON true WHERE q.max = a.f` would find rows without either value. And
//! it leaves out of a sort what groups determine, where it takes a key of what was joined for a key of the groups that were made of
//! the join.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

type Rule = dyn OptimizerRule + Send + Sync;

/// These rules, with guards.
pub(super) fn guarded(rules: Vec<Arc<Rule>>) -> Vec<Arc<Rule>> {
    let guarded = |rule: Arc<Rule>| {
        let mistakes = match rule.name() {
            "extract_equijoin_predicate" => has_equal_nulls,
            "eliminate_duplicated_expr" => sorts_joined_groups,
            _ => return rule,
        };
        Arc::new(Guarded { rule, mistakes }) as _
    };
    rules.into_iter().map(guarded).collect()
}

#[derive(Debug)]
struct Guarded {
    rule: Arc<Rule>,
    /// Whether the rule would be mistaken at this node.
    mistakes: fn(&LogicalPlan) -> Result<bool>,
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if (self.mistakes)(&plan)? { Ok(Transformed::no(plan)) } else { self.rule.rewrite(plan, config) }
    }
}

fn has_equal_nulls(plan: &LogicalPlan) -> Result<bool> {
    let LogicalPlan::Join(join) = plan else { return Ok(false) };
    Ok(join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty())
}

fn sorts_joined_groups(plan: &LogicalPlan) -> Result<bool> {
    let LogicalPlan::Sort(sort) = plan else { return Ok(false) };
    let is_join = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Join(_)));
    sort.input.exists(|node| match node {
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => node.exists(is_join),
        _ => Ok(false),
    })
}
