//! Grouped queries: aggregates are computed by one node, and all else is computed of its columns.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, NullHandling, Result, UnnestOptions};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_aggregate::grouping::grouping_udaf;
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::{Aggregate, Case, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection};
use datafusion::prelude::lit;
use tablegate_types::error::{SqlError, SqlResult};

use super::level::{Around, Level};
use super::{Lowering, add_parts, columns_of, with_parts};
use crate::expr::{has_constant_part, is_coalesce, is_number_of_set, printed, unaliased};
use crate::syntax::unique_names;

/// Columns that no query can name: by which groups a row of a grouping set is not grouped, and its copies.
const SET: &str = "set#";
const COPY: &str = "copy#";
/// The copy of a key that is another one's too.
const KEY: &str = "key#";

impl Lowering<'_> {
    /// The groups, those that HAVING leaves, and the expressions over their columns.
    ///
    /// # Errors
    /// 0A000 where one of them is computed of something else.
    pub(super) fn grouped(
        &self,
        input: LogicalPlan,
        mut exprs: Vec<Expr>,
        mut having: Option<Expr>,
        level: &Level<'_>,
    ) -> SqlResult<(LogicalPlan, Vec<Expr>)> {
        let grouping = &level.query.grouping;
        let (mut asked, asked_names): (Vec<Expr>, Vec<String>) = level.take_asked().into_iter().unzip();
        let mut names_sets = !grouping.sets.is_empty();
        for expr in exprs.iter().chain(&having).chain(&asked) {
            names_sets = names_sets || expr.exists(|part| Ok(asks_for_set(part)))?;
        }
        let input = match names_sets {
            false => input,
            true => told_apart(input, &mut exprs, having.iter_mut().chain(&mut asked), &grouping.keys)?,
        };
        let mut groups: Vec<Expr> = Vec::with_capacity(grouping.keys.len());
        for key in &grouping.keys {
            if !groups.contains(&exprs[*key]) {
                groups.push(exprs[*key].clone());
            }
        }
        let mut aggregates: Vec<Expr> = Vec::new();
        for expr in exprs.iter().chain(&having).chain(&asked) {
            found(expr, input.schema(), &mut groups, &mut aggregates)?;
        }
        if aggregates.is_empty() && (groups.is_empty() || !grouping.sets.is_empty()) {
            // The one group of all rows is there without any.
            aggregates.push(count(lit(1_i64)));
        }
        // Different expressions may be written alike.
        let written: Vec<String> = groups.iter().chain(&aggregates).map(|expr| written(expr, &groups)).collect();
        let names = unique_names(&written);
        let (of_groups, of_aggregates) = names.split_at(groups.len());
        let by = under_names(&groups, of_groups);
        // GROUPING names the groups as the node has them.
        let group = |part: &Expr| groups.iter().position(|group| group == part).map(|place| by[place].clone());
        let mut computed = under_names(&aggregates, of_aggregates);
        for call in computed.iter_mut().filter(|call| asks_for_set(call)) {
            let name = call.schema_name().to_string();
            *call = with_parts(std::mem::take(call).unalias(), &group)?.alias(name);
        }
        let mut plan = match grouping.sets.is_empty() {
            true => self.aggregated(input, by, computed)?,
            false => {
                let is_key = |group: &Expr| grouping.keys.iter().any(|key| exprs[*key] == *group);
                if !groups.iter().all(is_key) {
                    return Err(SqlError::not_supported("columns that GROUPING SETS determine"));
                }
                let place = |key: &usize| groups.iter().position(|group| *group == exprs[*key]);
                let sets = grouping.expanded().iter().map(|set| set.iter().filter_map(place).collect()).collect();
                self.in_sets(input, &by, computed, sets, level)?
            }
        };
        let known: Vec<(&Expr, &String)> = groups.iter().chain(&aggregates).zip(&names).collect();
        let column = |part: &Expr| {
            let (_, name) = known.iter().find(|(known, _)| *known == part)?;
            Some(Expr::Column(match part {
                Expr::Column(column) => column.clone(),
                _ => Column::new_unqualified(name.as_str()),
            }))
        };
        let having = having.map(|having| with_parts(having, &column)).transpose()?;
        let exprs = exprs.into_iter().map(|expr| with_parts(expr, &column)).collect::<Result<Vec<_>>>()?;
        if !asked.is_empty() {
            let mut columns: Vec<Expr> = shown_columns(&plan).collect();
            for (expr, name) in asked.into_iter().zip(asked_names) {
                columns.push(with_parts(expr, &column)?.alias(name));
            }
            plan = self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))?;
        }
        let is_known = |expr: &Expr| expr.column_refs().into_iter().all(|column| plan.schema().has_column(column));
        if !exprs.iter().chain(&having).all(is_known) {
            return Err(SqlError::not_supported("what is computed of other columns than those of the groups"));
        }
        if let Some(having) = having {
            plan = self.forms.node(LogicalPlan::Filter(Filter::try_new(having, Arc::new(plan))?))?;
        }
        Ok((plan, exprs))
    }

    fn aggregated(&self, input: LogicalPlan, groups: Vec<Expr>, aggregates: Vec<Expr>) -> SqlResult<LogicalPlan> {
        self.forms.node(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), groups, aggregates)?))
    }

    /// GROUPING SETS, ROLLUP and CUBE: each set is grouped by some of the groups, by their places. The engine takes a set once,
    /// and none that is empty alone.
    fn in_sets(
        &self,
        input: LogicalPlan,
        groups: &[Expr],
        mut aggregates: Vec<Expr>,
        sets: Vec<Vec<usize>>,
        level: &Level<'_>,
    ) -> SqlResult<LogicalPlan> {
        let mut counted: Vec<(Vec<usize>, i32)> = Vec::new();
        for mut set in sets {
            set.sort_unstable();
            set.dedup();
            match counted.iter_mut().find(|(known, _)| *known == set) {
                Some((_, count)) => *count += 1,
                None => counted.push((set, 1)),
            }
        }
        if let [(set, count)] = counted.as_slice() {
            let by = set.iter().map(|place| groups[*place].clone()).collect();
            let plan = self.aggregated(input, by, aggregates)?;
            return if *count > 1 { self.repeated(plan, lit(*count), level) } else { Ok(plan) };
        }
        let members = |set: &[usize]| set.iter().map(|place| groups[*place].clone()).collect();
        let by = GroupingSet::GroupingSets(counted.iter().map(|(set, _)| members(set)).collect());
        let is_repeated = counted.iter().any(|(_, count)| *count > 1);
        if is_repeated {
            aggregates.push(grouping_udaf().call(groups.to_vec()).alias(SET));
        }
        let plan = self.aggregated(input, vec![Expr::GroupingSet(by)], aggregates)?;
        if !is_repeated {
            return Ok(plan);
        }
        // A bit for each group that a set does not have, the first one highest.
        let bits =
            |set: &[usize]| (0..groups.len()).fold(0, |bits, place| bits << 1 | i32::from(!set.contains(&place)));
        let is_set = |set: &[usize]| Expr::Column(Column::from_name(SET)).eq(lit(bits(set)));
        let counts = counted.iter().filter(|(_, count)| *count > 1);
        let branches = counts.map(|(set, count)| (Box::new(is_set(set)), Box::new(lit(*count)))).collect();
        let count = Expr::Case(Case::new(None, branches, Some(Box::new(lit(1)))));
        self.repeated(plan, count, level)
    }

    /// Each row so many times.
    fn repeated(&self, plan: LogicalPlan, count: Expr, level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let around = Around::new(self, level, plan.schema().clone());
        let copies = self.forms.call("generate_series", vec![lit(1), count], &around)?.alias(COPY);
        let columns = shown_columns(&plan).chain([copies]).collect();
        let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
        let copies = vec![Column::from_name(COPY)];
        let options = UnnestOptions::new().with_null_handling(NullHandling::Drop);
        self.forms.node(LogicalPlanBuilder::from(plan).unnest_columns_with_options(copies, options)?.build()?)
    }
}

/// The rows with a column of its own for each key that is written as another one is: a set may have one of them without the
/// other. And for each that is written anew before it runs: the columns of a set are found by what is written.
fn told_apart<'e>(
    input: LogicalPlan,
    exprs: &mut [Expr],
    others: impl Iterator<Item = &'e mut Expr>,
    keys: &[usize],
) -> Result<LogicalPlan> {
    let mut others: Vec<&mut Expr> = others.collect();
    let mut copies = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        if is_written_anew(&exprs[*key])? {
            let (expr, name) = (exprs[*key].clone(), format!("{KEY}{at}"));
            let column = |part: &Expr| (*part == expr).then(|| Expr::Column(Column::from_name(name.clone())));
            for part in exprs.iter_mut().chain(others.iter_mut().map(|other| &mut **other)) {
                *part = with_parts(std::mem::take(part), &column)?;
            }
            copies.push(expr.alias(name));
            continue;
        }
        if keys[..at].iter().any(|before| exprs[*before] == exprs[*key]) {
            let name = format!("{KEY}{at}");
            let expr = std::mem::replace(&mut exprs[*key], Expr::Column(Column::from_name(name.clone())));
            copies.push(expr.alias(name));
        }
    }
    if copies.is_empty() {
        return Ok(input);
    }
    let columns = columns_of(&input).chain(copies).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
}

/// Whether the optimizer may write an expression in another way: one that has parameters, sub-queries, conditions, or constants that
/// are computed.
fn is_written_anew(expr: &Expr) -> Result<bool> {
    let is_kept = |part: &Expr| match part {
        Expr::Column(_) | Expr::Literal(..) | Expr::Alias(_) | Expr::Cast(_) => true,
        Expr::ScalarFunction(call) => !is_coalesce(call),
        Expr::BinaryExpr(binary) => binary.op.is_numerical_operators(),
        _ => false,
    };
    Ok(expr.exists(|part| Ok(!is_kept(part)))? || has_constant_part(expr)?)
}

/// The columns of groups and aggregates, without the engine's own.
fn shown_columns(plan: &LogicalPlan) -> impl Iterator<Item = Expr> + '_ {
    let is_own = |column: &Expr| matches!(column, Expr::Column(column) if is_number_of_set(&column.name));
    columns_of(plan).filter(move |column| !is_own(column))
}

/// Whether it asks by what a row is grouped.
fn asks_for_set(aggregate: &Expr) -> bool {
    matches!(unaliased(aggregate), Expr::AggregateFunction(call) if call.func.name() == "grouping")
}

/// Adds the aggregates in an expression; and columns beside them, which the groups determine: the binder has seen to that.
fn found(expr: &Expr, input: &DFSchema, groups: &mut Vec<Expr>, aggregates: &mut Vec<Expr>) -> Result<()> {
    let mut parts = Vec::new();
    let is_wanted = |part: &Expr| matches!(part, Expr::AggregateFunction(_) | Expr::Column(_)) || groups.contains(part);
    add_parts(expr, &is_wanted, &mut parts)?;
    // What queries inside name of these rows.
    let mut inside = Vec::new();
    expr.apply(|part| {
        let query = match part {
            Expr::AggregateFunction(_) => return Ok(TreeNodeRecursion::Jump),
            known if groups.contains(known) => return Ok(TreeNodeRecursion::Jump),
            Expr::ScalarSubquery(query) => query,
            Expr::Exists(exists) => &exists.subquery,
            Expr::InSubquery(within) => &within.subquery,
            Expr::SetComparison(set) => &set.subquery,
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        inside.extend(query.outer_ref_columns.iter().filter_map(|outer| match outer {
            Expr::OuterReferenceColumn(_, column) if input.has_column(column) => Some(Expr::Column(column.clone())),
            _ => None,
        }));
        Ok(TreeNodeRecursion::Continue)
    })?;
    for part in parts.into_iter().chain(inside) {
        match part {
            known if groups.contains(&known) || aggregates.contains(&known) => {}
            aggregate @ Expr::AggregateFunction(_) => aggregates.push(aggregate),
            column => groups.push(column),
        }
    }
    Ok(())
}

/// What a column of the groups is called: as it is written, but not as a column of theirs without its table.
fn written(expr: &Expr, groups: &[Expr]) -> String {
    let written = match expr {
        Expr::AggregateFunction(_) => printed(expr),
        _ => expr.schema_name().to_string(),
    };
    let is_column = |group: &Expr| match group {
        Expr::Column(column) => column.name == written || column.flat_name() == written,
        _ => false,
    };
    match expr {
        Expr::Column(_) => written,
        _ if groups.iter().any(is_column) => format!("{written}#"),
        _ => written,
    }
}

/// The groups and aggregates under the names of the columns of their node, but for those that are written so.
fn under_names(exprs: &[Expr], names: &[String]) -> Vec<Expr> {
    let called = |(expr, name): (&Expr, &String)| match expr.schema_name().to_string() == *name {
        true => expr.clone(),
        false => expr.clone().alias(name),
    };
    exprs.iter().zip(names).map(called).collect()
}
