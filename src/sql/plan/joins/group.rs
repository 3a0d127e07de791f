//! Tables that are joined with each other, taken apart and put together again in another order.

use std::sync::Arc;

use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::utils::{split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator};

use super::facts::{self, Facts};
use super::order::{Graph, SET_MAX, Set, Tree};
use crate::expr::{conjunction, disjunction};
use crate::key_range::flatten;
use crate::plan::unnest::pieces::{column_exprs, filter, join, project};
use crate::scan::selectivity;

/// A semi-join is made before others when it is expected to leave less than this part of its table's rows.
const FEW_MEMBERS: f64 = 0.5;

/// Inner joins of tables, with all conditions.
pub(super) struct Group {
    /// What comes out, in the order in which it is expected.
    columns: Vec<Column>,
    tables: Vec<LogicalPlan>,
    conditions: Vec<Expr>,
    /// Semi- and anti-joins with the rows; of each, its left side is taken away.
    members: Vec<Join>,
}

/// Two columns of different tables that must be equal.
#[derive(Debug, Clone, Copy)]
struct Equality {
    condition: usize,
    /// Tables, and places in them.
    sides: [(usize, usize); 2],
}

/// Whether the plan is inner joins, with filters and tests for members over them.
pub(super) fn is_group(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => is_group(&filter.input),
        LogicalPlan::Join(join) => is_plain(join) || (is_member_test(join) && is_group(&join.left)),
        _ => false,
    }
}

fn is_plain(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing && !join.null_aware
}

fn is_member_test(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
}

/// Whether the order in which its conditions are evaluated cannot be observed, and there is room for its tables.
pub(super) fn may_be_moved(plan: &LogicalPlan) -> Result<bool> {
    let (mut tables, mut is_movable) = (0, true);
    let mut open = vec![plan];
    while let Some(plan) = open.pop() {
        match plan {
            LogicalPlan::Filter(filter) if is_group(&filter.input) => {
                is_movable &= !filter.predicate.is_volatile();
                open.push(&filter.input);
            }
            LogicalPlan::Join(join) if is_plain(join) || (is_member_test(join) && is_group(&join.left)) => {
                let on = join.on.iter().flat_map(|(left, right)| [left, right]);
                is_movable &= !on.chain(&join.filter).any(Expr::is_volatile);
                open.push(&join.left);
                if is_plain(join) {
                    open.push(&join.right);
                }
            }
            _ => tables += 1,
        }
    }
    Ok(is_movable && tables <= SET_MAX)
}

impl Group {
    pub(super) fn of(plan: LogicalPlan) -> Result<Self> {
        let columns = plan.schema().columns();
        let mut group = Self { columns, tables: Vec::new(), conditions: Vec::new(), members: Vec::new() };
        group.take(plan)?;
        Ok(group)
    }

    fn take(&mut self, plan: LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Filter(filter) if is_group(&filter.input) => {
                self.take(Arc::unwrap_or_clone(filter.input))?;
                self.conditions.extend(split_conjunction_owned(filter.predicate));
            }
            LogicalPlan::Join(join) if is_plain(&join) => {
                self.take(Arc::unwrap_or_clone(join.left))?;
                self.take(Arc::unwrap_or_clone(join.right))?;
                self.conditions.extend(join.on.into_iter().map(|(left, right)| left.eq(right)));
                self.conditions.extend(join.filter.into_iter().flat_map(split_conjunction_owned));
            }
            LogicalPlan::Join(mut join) if is_member_test(&join) && is_group(&join.left) => {
                self.take(Arc::unwrap_or_clone(std::mem::take(&mut join.left)))?;
                join.right = Arc::new(super::arranged(Arc::unwrap_or_clone(join.right))?);
                self.members.push(join);
            }
            other => self.tables.push(super::arranged(other)?),
        }
        Ok(())
    }

    /// The same rows by the cheapest tree of joins.
    pub(super) fn arranged(mut self) -> Result<LogicalPlan> {
        self.conditions = std::mem::take(&mut self.conditions).into_iter().flat_map(factored).collect();
        let sets: Vec<Set> = self.conditions.iter().map(|condition| self.set_of(condition.column_refs())).collect();
        let equalities = self.equalities(&sets);
        let mut facts = self.facts(&sets)?;
        let values = values_of(&equalities, &facts);
        self.tell_values(&equalities, &values)?;
        self.test_members_early(&mut facts)?;
        let tree = self.graph(&sets, &equalities, &values, &facts).cheapest();
        let (columns, members) = (std::mem::take(&mut self.columns), std::mem::take(&mut self.members));
        // What is about one table goes on top: the engine takes it down, and to the columns that must be equal.
        let own = self.conditions.iter().zip(&sets).filter(|(_, set)| set.count_ones() <= 1);
        let own = own.map(|(condition, _)| condition.clone()).collect();
        let mut plan = filter(self.joined(&tree, &sets, &equalities)?, own)?;
        for member in members {
            plan = with_left(member, plan)?;
        }
        if plan.schema().columns() == columns { Ok(plan) } else { project(plan, column_exprs(columns)) }
    }

    /// The tables that columns are of.
    fn set_of<'c>(&self, columns: impl IntoIterator<Item = &'c Column>) -> Set {
        columns.into_iter().filter_map(|column| self.find(column)).fold(0, |set, (table, _)| set | 1 << table)
    }

    /// The table of a column, and its place there.
    fn find(&self, column: &Column) -> Option<(usize, usize)> {
        let tables = self.tables.iter().enumerate();
        tables.filter_map(|(table, plan)| Some((table, plan.schema().maybe_index_of_column(column)?))).next()
    }

    /// The conditions that make hash keys. An expression stands for the one column that is in it.
    fn equalities(&self, sets: &[Set]) -> Vec<Equality> {
        let equality = |(condition, expr): (usize, &Expr)| {
            let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return None };
            let sides = [self.find(column_in(left)?)?, self.find(column_in(right)?)?];
            (sets[condition].count_ones() == 2 && sides[0].0 != sides[1].0).then_some(Equality { condition, sides })
        };
        self.conditions.iter().enumerate().filter_map(equality).collect()
    }

    /// What is guessed of each table, of which only the rows that satisfy the conditions about it alone count.
    fn facts(&self, sets: &[Set]) -> Result<Vec<Facts>> {
        let of_table = |(table, plan): (usize, &LogicalPlan)| {
            let own = self.conditions.iter().zip(sets).filter(|(_, set)| **set == 1 << table);
            let all = facts::of(plan)?;
            Ok(own.fold(all, |facts, (condition, _)| {
                let part = facts::part(plan, &facts, condition);
                facts.times(part)
            }))
        };
        self.tables.iter().enumerate().map(of_table).collect()
    }

    /// Tests for members that are about one table and leave few of its rows come before the joins.
    fn test_members_early(&mut self, facts: &mut [Facts]) -> Result<()> {
        let mut late = Vec::new();
        for member in std::mem::take(&mut self.members) {
            let on = member.on.iter().flat_map(|(left, _)| left.column_refs());
            let in_filter = member.filter.iter().flat_map(Expr::column_refs);
            let of_left = on.chain(in_filter).filter(|column| !member.right.schema().has_column(column));
            let set = self.set_of(of_left);
            let table = set.trailing_zeros() as usize;
            let rows = facts::of(&member.right)?.rows;
            let is_early = set.is_power_of_two()
                && member.join_type == JoinType::LeftSemi
                && rows < facts[table].rows * FEW_MEMBERS;
            if is_early {
                let plan = &mut self.tables[table];
                *plan = with_left(member, std::mem::take(plan))?;
                facts[table].rows = facts[table].rows.min(rows);
            } else {
                late.push(member);
            }
        }
        self.members = late;
        Ok(())
    }

    fn tell_values(&mut self, equalities: &[Equality], values: &[Option<f64>]) -> Result<()> {
        for (equality, values) in equalities.iter().zip(values) {
            let Some(values) = values else { continue };
            for (table, column) in equality.sides {
                let plan = &mut self.tables[table];
                *plan = facts::told(std::mem::take(plan), column, *values)?;
            }
        }
        Ok(())
    }

    fn graph(&self, sets: &[Set], equalities: &[Equality], values: &[Option<f64>], facts: &[Facts]) -> Graph {
        let mut conditions: Vec<(Set, f64)> = Vec::new();
        let is_pair = |equality: &Equality, a: usize, b: usize| {
            let [(left, _), (right, _)] = equality.sides;
            (left, right) == (a, b) || (left, right) == (b, a)
        };
        for a in 0..facts.len() {
            for b in a + 1..facts.len() {
                let between = || equalities.iter().zip(values).filter(|(equality, _)| is_pair(equality, a, b));
                if between().next().is_none() {
                    continue;
                }
                let least = facts[a].base.max(facts[b].base);
                // Without a key this is a guess: some rows on each side share a value.
                let unknown = (facts[a].base.min(facts[b].base) / 4.0).max(1.0);
                let one_by_one: f64 = between().map(|(_, values)| 1.0 / values.unwrap_or(unknown)).product();
                let columns_of = |table: usize| -> Vec<usize> {
                    between()
                        .flat_map(|(e, _)| e.sides)
                        .filter(|(of, _)| *of == table)
                        .map(|(_, place)| place)
                        .collect()
                };
                let keyed = [a, b].into_iter().filter(|table| facts[*table].has_key_among(&columns_of(*table)));
                let keyed = keyed.map(|table| 1.0 / facts[table].base).reduce(f64::min);
                conditions.push((1 << a | 1 << b, keyed.unwrap_or(one_by_one.max(1.0 / least))));
            }
        }
        let is_equality = |condition: usize| equalities.iter().any(|equality| equality.condition == condition);
        for (condition, set) in sets.iter().enumerate() {
            if set.count_ones() > 1 && !is_equality(condition) {
                conditions.push((*set, selectivity(&self.conditions[condition], &|_| None)));
            }
        }
        Graph { rows: facts.iter().map(|facts| facts.rows).collect(), conditions }
    }

    /// The joins of a tree, each with the conditions that its sides have between them.
    fn joined(&mut self, tree: &Tree, sets: &[Set], equalities: &[Equality]) -> Result<LogicalPlan> {
        let (left, right) = match tree {
            Tree::Table(table) => return Ok(std::mem::take(&mut self.tables[*table])),
            Tree::Join(left, right) => (left, right),
        };
        let all = tree.set();
        let is_here = |set: Set| set & all == set && set & left.set() != set && set & right.set() != set;
        let here = sets.iter().enumerate().filter(|(_, set)| is_here(**set)).map(|(condition, _)| condition);
        let (on, others): (Vec<usize>, Vec<usize>) =
            here.partition(|condition| equalities.iter().any(|equality| equality.condition == *condition));
        let exprs = |list: Vec<usize>| list.into_iter().map(|condition| self.conditions[condition].clone()).collect();
        let (on, others): (Vec<Expr>, Vec<Expr>) = (exprs(on), exprs(others));
        let (left, right) = (self.joined(left, sets, equalities)?, self.joined(right, sets, equalities)?);
        filter(join(left, right, JoinType::Inner, on)?, others)
    }
}

/// For each equality, how many values its columns have at most: those of a key that they are equal to, maybe by way of
/// others.
fn values_of(equalities: &[Equality], facts: &[Facts]) -> Vec<Option<f64>> {
    let mut known: Vec<Option<f64>> = equalities
        .iter()
        .map(|equality| {
            equality.sides.iter().filter_map(|(table, place)| facts[*table].values(*place)).reduce(f64::min)
        })
        .collect();
    let share = |a: &Equality, b: &Equality| a.sides.iter().any(|side| b.sides.contains(side));
    // Each round tells the neighbours; there are no more rounds than equalities.
    for _ in 0..equalities.len() {
        for (index, equality) in equalities.iter().enumerate() {
            let others = equalities.iter().zip(&known).filter(|(other, _)| share(equality, other));
            known[index] = others.filter_map(|(_, values)| *values).reduce(f64::min);
        }
    }
    known
}

fn with_left(join: Join, left: LogicalPlan) -> Result<LogicalPlan> {
    let Join { right, on, filter, join_type, join_constraint, null_equality, null_aware, .. } = join;
    Join::try_new(Arc::new(left), right, on, filter, join_type, join_constraint, null_equality, null_aware)
        .map(LogicalPlan::Join)
}

/// The one column that an expression is about.
fn column_in(expr: &Expr) -> Option<&Column> {
    let mut columns = expr.column_refs().into_iter();
    let only = columns.next()?;
    columns.next().is_none().then_some(only)
}

/// `(a AND b) OR (a AND c)` as `a` and `b OR c`; other conditions as they are.
fn factored(condition: Expr) -> Vec<Expr> {
    if !matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. })) {
        return vec![condition];
    }
    let parts: Vec<Vec<&Expr>> = flatten(&condition, Operator::Or).into_iter().map(split_conjunction).collect();
    let is_common = |expr: &Expr| parts.iter().all(|part| part.contains(&expr));
    let mut common: Vec<Expr> = Vec::new();
    for expr in parts.first().into_iter().flatten().filter(|expr| is_common(expr)) {
        if !common.contains(expr) {
            common.push((*expr).clone());
        }
    }
    if common.is_empty() {
        return vec![condition];
    }
    // Where nothing is left of a part, the others add nothing to it.
    let others =
        parts.iter().map(|part| conjunction(part.iter().filter(|e| !common.contains(e)).map(|e| (*e).clone())));
    let others = others.collect::<Option<Vec<_>>>().and_then(disjunction);
    common.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::col;

    use super::*;

    #[test]
    fn what_all_alternatives_say_stands_alone() {
        let [a, b, c] = [col("a"), col("b"), col("c")];
        let both = a.clone().and(b.clone()).or(a.clone().and(c.clone()));
        assert_eq!(factored(both), [a.clone(), b.clone().or(c.clone())]);
        assert_eq!(factored(a.clone().or(b.clone().and(a.clone()))), std::slice::from_ref(&a));
        let none = a.clone().or(b.clone());
        assert_eq!(factored(none.clone()), std::slice::from_ref(&none));
        assert_eq!(factored(a.clone()), [a]);
    }
}
