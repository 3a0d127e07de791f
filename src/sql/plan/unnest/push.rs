//! A sub-query's plan without references to outside: the values it takes become key columns of its rows.
//!
//! Where a condition says that a value equals an expression of the plan's own, that expression is the key, and the
//! plan holds answers for more keys than are asked for. Otherwise the plan is joined with all the values there are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ExprSchema, Result, ScalarValue, TableReference};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, ExprSchemable, Filter, GroupingSet, Join, JoinType, LogicalPlan,
    LogicalPlanBuilder, Operator, Projection, Sort, Union, Unnest, Window, lit,
};

use super::correlation::{Correlation, Key, deciding};
use super::not_supported;
use super::numbered::Numbered;
use super::pieces::{self, Names, case, column_exprs, columns_of, filter, join, project};
use super::recursion::Carried;
use crate::expr::{conjunction, known_as};
use crate::recursion::Recursion;

/// A plan that refers to nothing outside, or only to plans farther out.
pub(super) struct Free {
    /// Has the columns of the plan it was made of, and the keys.
    pub plan: LogicalPlan,
    /// One a parameter.
    pub keys: Vec<Key>,
    /// What the columns are for a key that has no row: the values of aggregates over nothing. They may be written with
    /// parameters. `None` when no row then means no row.
    pub on_empty: Option<HashMap<Column, Expr>>,
}

/// Takes the parameters of one sub-query down its plan.
pub(super) struct Pusher<'a> {
    pub correlation: &'a Correlation<'a>,
    pub names: &'a mut Names,
    /// Recursions around what is being turned.
    pub carried: Vec<Carried>,
    /// The values by their numbers, where rows carry those.
    pub numbered: Option<Numbered>,
}

impl<'a> Pusher<'a> {
    pub(super) fn new(correlation: &'a Correlation<'a>, names: &'a mut Names) -> Self {
        Self { correlation, names, carried: Vec::new(), numbered: None }
    }
}

impl Pusher<'_> {
    pub(super) fn push(&mut self, plan: LogicalPlan) -> Result<Free> {
        if self.correlation.parameters.is_empty() {
            return Ok(Free { plan, keys: Vec::new(), on_empty: None });
        }
        if !self.is_in_plan(&plan)? {
            return self.for_all_values(plan);
        }
        if let Some(recursion) = Recursion::of(&plan) {
            return self.push_recursion(recursion.clone());
        }
        match plan {
            LogicalPlan::Filter(filter) => self.push_filter(filter),
            LogicalPlan::Projection(projection) => self.push_projection(projection),
            LogicalPlan::Aggregate(aggregate) => self.push_aggregate(aggregate),
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.push(Arc::unwrap_or_clone(alias.input))?;
                let qualified = |column: &Column| Column::new(Some(alias.alias.clone()), column.name.clone());
                let keys = input.keys.iter().map(|k| Key { column: qualified(&k.column), ..k.clone() }).collect();
                let on_empty = input.on_empty.map(|m| m.into_iter().map(|(c, e)| (qualified(&c), e)).collect());
                Ok(Free { plan: pieces::alias(input.plan, alias.alias.table())?, keys, on_empty })
            }
            LogicalPlan::Window(window) => self.push_window(window),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.push_sort(sort),
            LogicalPlan::Limit(limit) => self.push_limit(limit),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.push_rows(Arc::unwrap_or_clone(input))?;
                self.distinct(input)
            }
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.push_distinct_on(distinct),
            LogicalPlan::Union(union) => self.push_union(union),
            LogicalPlan::Join(join) => self.push_join(join),
            LogicalPlan::Unnest(unnest) => self.push_unnest(unnest),
            LogicalPlan::TableScan(scan) if let Some(rows) = self.rows_so_far(&scan)? => Ok(rows),
            LogicalPlan::Values(values) => {
                let (domain, keys) = self.domain()?;
                let mut rows = values.clone();
                for expr in rows.values.iter_mut().flatten() {
                    *expr = self.inward(std::mem::take(expr), &keys)?;
                }
                Ok(Free { plan: pieces::values_as_union(&rows, &domain)?, keys, on_empty: None })
            }
            _ => Err(not_supported("a sub-query about a row, of this form")),
        }
    }

    /// As [`Pusher::push`], with a row for every key that has one by an aggregate over nothing.
    pub(super) fn push_rows(&mut self, plan: LogicalPlan) -> Result<Free> {
        let free = self.push(plan)?;
        let Some(on_empty) = &free.on_empty else { return Ok(free) };
        let (domain, keys) = self.domain()?;
        let marker = Column::from_name(self.names.next("row"));
        let mut marked = columns_of(&free.plan);
        let is_key = |c: &Column| free.keys.iter().any(|k| k.column == *c);
        let columns: Vec<Column> = free.plan.schema().columns().into_iter().filter(|c| !is_key(c)).collect();
        marked.push(lit(true).alias(marker.name.clone()));
        let value_of = |index: usize| Expr::Column(keys[index].column.clone());
        let deciding = free.keys.iter().enumerate().filter(|(_, key)| !key.goes_along);
        let conditions = deciding.map(|(i, key)| key.is(value_of(i))).collect();
        let joined = join(domain, project(free.plan.clone(), marked)?, JoinType::Left, conditions)?;
        let mut exprs = Vec::with_capacity(columns.len() + keys.len());
        for column in columns {
            let value = Expr::Column(column.clone());
            exprs.push(match on_empty.get(&column) {
                Some(default) if !is_null(default) => {
                    let default = self.correlation.replace(default.clone(), &value_of)?;
                    let absent = Expr::Column(marker.clone()).is_null();
                    let field = free.plan.schema().field_from_column(&column)?;
                    let value = known_as(case(vec![(absent, default)], value), field);
                    value.alias_qualified(column.relation, column.name)
                }
                _ => value,
            });
        }
        exprs.extend(keys.iter().map(|k| Expr::Column(k.column.clone())));
        Ok(Free { plan: project(joined, exprs)?, keys, on_empty: None })
    }

    /// The plan beside each value there is.
    fn for_all_values(&mut self, plan: LogicalPlan) -> Result<Free> {
        let (domain, keys) = self.domain()?;
        let is_one_row = matches!(&plan, LogicalPlan::EmptyRelation(empty) if empty.produce_one_row);
        let plan = if is_one_row { domain } else { join(plan, domain, JoinType::Inner, Vec::new())? };
        Ok(Free { plan, keys, on_empty: None })
    }

    /// An expression with the parameters taken from the keys.
    pub(super) fn inward(&self, expr: Expr, keys: &[Key]) -> Result<Expr> {
        self.correlation.replace(expr, &|index| Expr::Column(keys[index].column.clone()))
    }

    fn inward_all(&self, exprs: impl IntoIterator<Item = Expr>, keys: &[Key]) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.inward(expr, keys)).collect()
    }

    fn push_filter(&mut self, plan: Filter) -> Result<Free> {
        let input = Arc::unwrap_or_clone(plan.input);
        let conditions = split_conjunction_owned(plan.predicate);
        if self.is_in_plan(&input)? {
            let input = self.push_rows(input)?;
            let conditions = self.inward_all(conditions, &input.keys)?;
            return Ok(Free { plan: filter(input.plan, conditions)?, ..input });
        }
        let (correlated, own): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|c| self.correlation.is_in(c));
        let input = filter(input, own)?;
        match self.equal_expressions(&correlated, &input)? {
            Some(equal) => self.filter_by_expressions(input, correlated, equal),
            None => {
                let (domain, keys) = self.domain()?;
                let conditions = self.inward_all(correlated, &keys)?;
                Ok(Free { plan: join(input, domain, JoinType::Inner, conditions)?, keys, on_empty: None })
            }
        }
    }

    /// For every parameter an expression of the plan's own that the conditions say is equal to it, and the position of
    /// that condition.
    fn equal_expressions(&self, conditions: &[Expr], input: &LogicalPlan) -> Result<Option<Vec<(usize, Expr)>>> {
        if self.numbered.is_some() {
            return Ok(None);
        }
        let mut found: Vec<Option<(usize, Expr)>> = vec![None; self.correlation.parameters.len()];
        for (position, condition) in conditions.iter().enumerate() {
            let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { continue };
            for (side, other) in [(left, right), (right, left)] {
                let is_own = !self.correlation.is_in(other) && !other.contains_outer() && !other.is_volatile();
                if let Some(index) = self.correlation.position(side)
                    && is_own
                    && found[index].is_none()
                    && other.any_column_refs()
                    && self.correlation.may_become(index, other, input.schema())?
                {
                    found[index] = Some((position, other.as_ref().clone()));
                    break;
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    fn filter_by_expressions(
        &mut self,
        input: LogicalPlan,
        conditions: Vec<Expr>,
        equal: Vec<(usize, Expr)>,
    ) -> Result<Free> {
        let is_key = |position: usize| equal.iter().any(|(p, _)| *p == position);
        let rest = conditions.into_iter().enumerate().filter(|(position, _)| !is_key(*position)).map(|(_, c)| c);
        let rest = rest.map(|c| self.correlation.replace(c, &|i| equal[i].1.clone())).collect::<Result<_>>()?;
        let mut exprs = columns_of(&input);
        let mut keys = Vec::with_capacity(equal.len());
        for (_, expr) in equal {
            let name = self.names.next("key");
            exprs.push(expr.alias(name.clone()));
            keys.push(Key::new(Column::from_name(name), false));
        }
        Ok(Free { plan: project(filter(input, rest)?, exprs)?, keys, on_empty: None })
    }

    fn push_projection(&mut self, plan: Projection) -> Result<Free> {
        let input = self.push(Arc::unwrap_or_clone(plan.input))?;
        let names = NamePreserver::new_for_projection();
        let mut exprs = Vec::with_capacity(plan.expr.len() + input.keys.len());
        let mut on_empty = input.on_empty.as_ref().map(|_| HashMap::new());
        for (expr, column) in plan.expr.into_iter().zip(plan.schema.columns()) {
            if let (Some(defaults), Some(of_input)) = (&mut on_empty, &input.on_empty) {
                defaults.insert(column, over_nothing(expr.clone().unalias(), of_input)?);
            }
            let name = names.save(&expr);
            exprs.push(name.restore(self.inward(expr, &input.keys)?));
        }
        exprs.extend(input.keys.iter().map(|k| Expr::Column(k.column.clone())));
        Ok(Free { plan: project(input.plan, exprs)?, keys: input.keys, on_empty })
    }

    fn push_aggregate(&mut self, plan: Aggregate) -> Result<Free> {
        let input = self.push_rows(Arc::unwrap_or_clone(plan.input))?;
        let keys: Vec<Expr> = deciding(&input.keys).collect();
        let names = NamePreserver::new_for_projection();
        let replaced = |expr: Expr| {
            let name = names.save(&expr);
            Ok(name.restore(self.inward(expr, &input.keys)?))
        };
        let aggregates = plan.aggr_expr.into_iter().map(replaced).collect::<Result<Vec<_>>>()?;
        let groups = plan.schema.iter().take(plan.schema.fields().len() - aggregates.len());
        let groups: Vec<(Column, Expr)> = groups.map(no_group).collect::<Result<_>>()?;
        let defaults = || {
            let aggregates = aggregates.iter().map(|expr| default_of(expr, &input.plan));
            aggregates.chain(groups.into_iter().map(Ok)).collect::<Result<_>>()
        };
        let (by, on_empty) = match plan.group_expr.as_slice() {
            [] => (keys, Some(defaults()?)),
            [Expr::GroupingSet(set)] => {
                let sets = sets_of(set)?;
                // A set without groups has one row, of all rows, and has it where there are none.
                let on_empty = if sets.iter().any(Vec::is_empty) { Some(defaults()?) } else { None };
                let keyed = sets.into_iter().map(|set| set.into_iter().chain(keys.iter().cloned()).collect());
                (vec![Expr::GroupingSet(GroupingSet::GroupingSets(keyed.collect()))], on_empty)
            }
            _ => {
                let own = plan.group_expr.into_iter().map(replaced).collect::<Result<Vec<_>>>()?;
                (own.into_iter().chain(keys).collect(), None)
            }
        };
        let (plan, keys) = self.grouped(input.plan, by, aggregates, input.keys)?;
        Ok(Free { plan, keys, on_empty })
    }

    fn push_window(&mut self, plan: Window) -> Result<Free> {
        let input = self.push_rows(Arc::unwrap_or_clone(plan.input))?;
        let names = NamePreserver::new_for_projection();
        let mut exprs = Vec::with_capacity(plan.window_expr.len());
        for expr in plan.window_expr {
            let name = names.save(&expr);
            let expr = self.inward(expr, &input.keys)?.transform(|e| {
                Ok(match e {
                    Expr::WindowFunction(mut function) => {
                        function.params.partition_by.extend(deciding(&input.keys));
                        Transformed::yes(Expr::WindowFunction(function))
                    }
                    other => Transformed::no(other),
                })
            })?;
            exprs.push(name.restore(expr.data));
        }
        let plan = LogicalPlan::Window(Window::try_new(exprs, Arc::new(input.plan))?);
        Ok(Free { plan, keys: input.keys, on_empty: None })
    }

    fn push_sort(&mut self, plan: Sort) -> Result<Free> {
        // The order of rows that are joined is lost; with LIMIT it is needed before, and taken care of there.
        self.push(Arc::unwrap_or_clone(plan.input))
    }

    fn push_union(&mut self, plan: Union) -> Result<Free> {
        let columns = plan.schema.columns();
        let branches = plan.inputs.into_iter().map(|input| {
            let own = input.schema().columns();
            Ok((own, self.push_rows(Arc::unwrap_or_clone(input))?))
        });
        let branches = branches.collect::<Result<Vec<_>>>()?;
        let null_is_value = |index: usize| branches.iter().any(|(_, b)| b.keys[index].null_is_value);
        let keys: Vec<Key> = (0..branches[0].1.keys.len())
            .map(|i| {
                let column = Column::from_name(self.names.next("key"));
                Key { column, null_is_value: null_is_value(i), ..branches[0].1.keys[i].clone() }
            })
            .collect();
        let mut plans = Vec::with_capacity(branches.len());
        for (own, branch) in branches {
            let is_meant = is_meant(&branch.keys, &keys);
            let mut exprs: Vec<Expr> = own
                .into_iter()
                .zip(&columns)
                .map(|(from, to)| Expr::Column(from).alias_qualified(to.relation.clone(), to.name.clone()))
                .collect();
            let named = branch.keys.iter().zip(&keys);
            exprs.extend(named.map(|(b, k)| Expr::Column(b.column.clone()).alias(k.column.name.clone())));
            plans.push(project(filter(branch.plan, is_meant)?, exprs)?);
        }
        Ok(Free { plan: pieces::union(plans)?, keys, on_empty: None })
    }

    fn push_join(&mut self, plan: Join) -> Result<Free> {
        use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right};
        let columns = plan.schema.columns();
        let (in_left, in_right) = (self.is_in_plan(&plan.left)?, self.is_in_plan(&plan.right)?);
        if plan.join_type == Inner && !in_left && !in_right {
            let condition = plan.filter.clone().unwrap_or_else(|| lit(true));
            let input = Arc::new(LogicalPlan::Join(Join { filter: None, ..plan }));
            return self.push_filter(Filter::try_new(condition, input)?);
        }
        // A side whose rows are kept without a partner must have the keys, and so must one that is asked outside.
        let (keyed_left, keyed_right) = match plan.join_type {
            Inner => (in_left, in_right),
            Left | LeftSemi | LeftAnti | LeftMark => (true, in_right),
            Right => (in_left, true),
            Full => (true, true),
            other => return Err(not_supported(format!("a sub-query with a correlated {other} join"))),
        };
        let mut side = |plan: Arc<LogicalPlan>, keyed: bool| {
            let plan = Arc::unwrap_or_clone(plan);
            match keyed {
                true => self.push_rows(plan).map(|free| (free.plan, Some(free.keys))),
                false => Ok((plan, None)),
            }
        };
        let (mut left, left_keys) = side(plan.left, keyed_left)?;
        let (mut right, right_keys) = side(plan.right, keyed_right)?;
        let keys = match (plan.join_type, &left_keys, &right_keys) {
            (Right, _, Some(keys)) | (_, Some(keys), _) | (_, None, Some(keys)) => keys.clone(),
            (_, None, None) => return Err(not_supported("a sub-query with a correlated join")),
        };
        let mut conditions = match plan.filter {
            Some(condition) => vec![self.inward(condition, &keys)?],
            None => Vec::new(),
        };
        if let (Full, Some(of_left), Some(of_right)) = (plan.join_type, &left_keys, &right_keys) {
            left = filter(left, is_meant(of_left, of_right))?;
            right = filter(right, is_meant(of_right, of_left))?;
        }
        if let (Some(left), Some(right)) = (&left_keys, &right_keys) {
            conditions.extend(left.iter().zip(right).filter(|(l, _)| !l.goes_along).map(|(l, r)| {
                let value = Expr::Column(l.column.clone());
                Key { null_is_value: l.null_is_value && r.null_is_value, ..r.clone() }.is(value)
            }));
        }
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            plan.on,
            conjunction(conditions),
            plan.join_type,
            plan.join_constraint,
            plan.null_equality,
            plan.null_aware,
        )?;
        let mut exprs = column_exprs(columns);
        let keys = match (plan.join_type, left_keys, right_keys) {
            (Full, Some(left), Some(right)) => {
                let of_either = left.into_iter().zip(right).map(|(left, right)| {
                    let name = self.names.next("key");
                    let values = [&left, &right].map(|key| Expr::Column(key.column.clone()));
                    exprs.push(coalesce(values.to_vec()).alias(name.clone()));
                    let null_is_value = left.null_is_value || right.null_is_value;
                    Key { column: Column::from_name(name), null_is_value, ..left }
                });
                of_either.collect()
            }
            _ => {
                exprs.extend(keys.iter().map(|key| Expr::Column(key.column.clone())));
                keys
            }
        };
        Ok(Free { plan: project(LogicalPlan::Join(joined), exprs)?, keys, on_empty: None })
    }

    fn push_unnest(&mut self, plan: Unnest) -> Result<Free> {
        let of_values = Arc::clone(&plan.input);
        let input = self.push_rows(Arc::unwrap_or_clone(plan.input))?;
        let input = self.without_last_taken(&of_values, input)?;
        let plan = LogicalPlanBuilder::from(input.plan)
            .unnest_columns_with_options(plan.exec_columns, plan.options)?
            .build()?;
        Ok(Free { plan, keys: input.keys, on_empty: None })
    }
}

/// The expression for a key without rows.
fn over_nothing(expr: Expr, defaults: &HashMap<Column, Expr>) -> Result<Expr> {
    let replaced = expr.transform(|e| {
        Ok(match &e {
            Expr::Column(column) => match defaults.get(column) {
                Some(default) => Transformed::yes(default.clone()),
                None => Transformed::no(e),
            },
            _ => Transformed::no(e),
        })
    })?;
    Ok(replaced.data)
}

/// An aggregate's column, and its value over no rows.
fn default_of(aggregate: &Expr, input: &LogicalPlan) -> Result<(Column, Expr)> {
    let (relation, name) = aggregate.qualified_name();
    let default = aggregate.clone().unalias().transform(|e| {
        Ok(match &e {
            Expr::AggregateFunction(function) => {
                let (_, field) = e.to_field(input.schema())?;
                let value = match function.func.name() {
                    // A bit for each group that the row is not grouped by: for all.
                    "grouping" => ScalarValue::Int32(Some(every_bit(function.params.args.len()))),
                    _ => function.func.default_value(field.data_type())?,
                };
                Transformed::yes(Expr::Literal(value, metadata_of(&field)))
            }
            _ => Transformed::no(e),
        })
    })?;
    Ok((Column::new(relation, name), default.data))
}

/// A number of so many bits, all set. PostgreSQL takes 31 at most.
fn every_bit(bits: usize) -> i32 {
    i32::try_from((1_i64 << bits.min(31)) - 1).unwrap_or(i32::MAX)
}

/// A group's column, and its value in the row of all rows.
fn no_group((relation, field): (Option<&TableReference>, &FieldRef)) -> Result<(Column, Expr)> {
    let column = Column::new(relation.cloned(), field.name());
    Ok((column, Expr::Literal(ScalarValue::try_from(field.data_type())?, metadata_of(field))))
}

/// What a field says of its type besides Arrow's.
fn metadata_of(field: &FieldRef) -> Option<FieldMetadata> {
    (!field.metadata().is_empty()).then(|| FieldMetadata::from(field.metadata()))
}

/// Whether it is what an outer join leaves.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null() || *value == ScalarValue::Null)
}

/// What holds for the rows of one branch that may match outer rows: where NULL is a value of the key in the other branches but
/// not in this one, no row whose key is NULL.
fn is_meant(own: &[Key], other: &[Key]) -> Vec<Expr> {
    let meaningless = own.iter().zip(other).filter(|(own, other)| other.null_is_value && !own.null_is_value);
    meaningless.map(|(own, _)| Expr::Column(own.column.clone()).is_not_null()).collect()
}

/// The groups of each grouping set.
fn sets_of(set: &GroupingSet) -> Result<Vec<Vec<Expr>>> {
    Ok(match set {
        GroupingSet::GroupingSets(sets) => sets.clone(),
        GroupingSet::Rollup(exprs) => (0..=exprs.len()).rev().map(|n| exprs[..n].to_vec()).collect(),
        GroupingSet::Cube(exprs) if exprs.len() < 12 => {
            let subset = |bits: usize| {
                let chosen = exprs.iter().enumerate().filter(|(i, _)| bits & (1 << i) == 0);
                chosen.map(|(_, expr)| expr.clone()).collect()
            };
            (0..1_usize << exprs.len()).map(subset).collect()
        }
        GroupingSet::Cube(_) => return Err(not_supported("CUBE of so many columns")),
    })
}
