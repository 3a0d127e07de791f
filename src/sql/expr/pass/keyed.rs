//! Groups and distinct rows of values that are equal though they are written in several ways: they are found by the keys of
//! the values, and one value of each is shown.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, GroupingSet};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, AggregateUDF, Case, Distinct, DistinctOn, Expr, LogicalPlan, Projection};
use tablegate_types::conversion::without_parameters;
use tablegate_types::sql_type::SqlType;

use super::Pass;
use super::identity::distinguishable_columns;
use super::outputs::{computed_once, is_number_of_set};
use crate::expr::aggregates::Shown;
use crate::expr::operand::relabelled;
use crate::expr::sort_key::{self, Purpose};
use crate::expr::typed::ValueType;

/// An expression that is grouped by, and its key.
struct Keyed {
    /// Its place among the columns of the groups.
    place: usize,
    value: Expr,
    key: Expr,
}

impl Keyed {
    /// The aggregate that shows one value of each group. No statement can give it such a name.
    fn shown(&self) -> String {
        format!("shown#{}", self.place)
    }
}

impl Pass<'_> {
    /// Groups by keys where there are any, and shows one value of each group.
    pub(super) fn grouped(&self, aggregate: Aggregate, schema: &DFSchema) -> Result<LogicalPlan> {
        let keyed = self.group_keys(&aggregate.group_expr, schema)?;
        let lists = self.lists(&aggregate.aggr_expr, schema)?;
        if keyed.is_empty() && lists.iter().all(Option::is_none) {
            return computed_once(aggregate);
        }
        let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
        let in_sets = matches!(group_expr.as_slice(), [Expr::GroupingSet(_)]);
        // For the names of its columns.
        let named = Aggregate::try_new(input.clone(), group_expr.clone(), aggr_expr.clone())?.schema;
        let groups = named.fields().len() - aggr_expr.len();
        let aggregates = aggr_expr.into_iter().map(|expr| grouping_of_keys(expr, &keyed));
        let one_value = AggregateUDF::new_from_impl(Shown::new());
        let shown = keyed.iter().map(|keyed| one_value.call(vec![keyed.value.clone()]).alias(keyed.shown()));
        let aggregates = aggregates.chain(shown).collect();
        let by = group_expr.into_iter().map(|expr| by_keys(expr, &keyed)).collect();
        let computed = computed_once(Aggregate::try_new(input, by, aggregates)?)?;
        let mut columns = Vec::with_capacity(named.fields().len());
        for (place, (qualifier, field)) in named.iter().enumerate() {
            if is_number_of_set(field.name()) {
                continue;
            }
            let list = place.checked_sub(groups).and_then(|place| lists.get(place)).and_then(Option::as_ref);
            let column = match (keyed.iter().find(|keyed| keyed.place == place), list) {
                (Some(keyed), _) => {
                    let value = Expr::Column(Column::from_name(keyed.shown()));
                    let key = Expr::Column(Column::from(computed.schema().qualified_field(place)));
                    // Of the groups of other sets no value is shown.
                    if in_sets { unless_null(key, value, &ValueType::of_field(field)) } else { value }
                }
                (None, Some(list)) => {
                    let column = Expr::Column(Column::from((qualifier, field)));
                    relabelled(column, &ValueType::of(list.clone()))
                }
                (None, None) => {
                    columns.push(Expr::Column(Column::from((qualifier, field))));
                    continue;
                }
            };
            columns.push(column.alias_qualified(qualifier.cloned(), field.name()));
        }
        Projection::try_new(columns, Arc::new(computed)).map(LogicalPlan::Projection)
    }

    /// What a query groups by that has keys.
    fn group_keys(&self, group_expr: &[Expr], schema: &DFSchema) -> Result<Vec<Keyed>> {
        let mut keyed = Vec::new();
        for (place, expr) in grouping_set_to_exprlist(group_expr)?.into_iter().enumerate() {
            let value = expr.clone().unalias();
            let sql_type = self.operand(value.clone(), schema)?.value_type.sql_type;
            if let Some(key) = sort_key::key(&value, &sql_type, Purpose::Equality) {
                keyed.push(Keyed { place, value, key });
            }
        }
        Ok(keyed)
    }

    /// The types of arrays that the engine gives another.
    fn lists(&self, aggr_expr: &[Expr], schema: &DFSchema) -> Result<Vec<Option<SqlType>>> {
        let list = |expr: &Expr| -> Result<Option<SqlType>> {
            let Expr::AggregateFunction(function) = expr.clone().unalias() else { return Ok(None) };
            let [value] = function.params.args.as_slice() else { return Ok(None) };
            if function.func.name() != "array_agg" {
                return Ok(None);
            }
            let operand = self.operand(value.clone(), schema)?;
            if operand.is_unknown() {
                return Ok(None);
            }
            let item = operand.value_type;
            let is_spoken_for = item.is_obvious() || item.data_type != DataType::Utf8;
            Ok((!is_spoken_for).then(|| SqlType::Array(Box::new(without_parameters(&item.sql_type)))))
        };
        aggr_expr.iter().map(list).collect()
    }

    /// Each row once.
    pub(super) fn distinct(&self, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        distinguishable_columns(&input)?;
        let schema = input.schema().clone();
        let types: Vec<SqlType> = schema.fields().iter().map(|field| SqlType::of_field(field)).collect();
        let column = |place: usize| Expr::Column(Column::from(schema.qualified_field(place)));
        let has_keys = types
            .iter()
            .enumerate()
            .any(|(place, sql_type)| sort_key::key(&column(place), sql_type, Purpose::Equality).is_some());
        if has_keys {
            let columns = (0..types.len()).map(column).collect();
            let once = self.grouped(Aggregate::try_new(input, columns, Vec::new())?, &schema)?;
            // Set operations look for this.
            return Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(once))));
        }
        Ok(LogicalPlan::Distinct(Distinct::All(input)))
    }

    /// The first row of those that are equal in some expressions. Their keys are those they are sorted by, too.
    pub(super) fn distinct_on(&self, distinct: DistinctOn) -> Result<LogicalPlan> {
        let mut distinct = with_answers_below(distinct)?;
        let schema = &Arc::clone(distinct.input.schema());
        for expr in &mut distinct.on_expr {
            self.distinguishable(expr, schema)?;
            let operand = self.operand(expr.clone(), schema)?;
            *expr = sort_key::keyed(operand.expr, &operand.value_type.sql_type, Purpose::Order);
        }
        if let Some(order) = &mut distinct.sort_expr {
            self.ordered(order, schema)?;
        }
        LogicalPlan::Distinct(Distinct::On(distinct)).recompute_schema()
    }
}

/// The first rows of a query whose sub-queries are answered for all of its rows: in the node itself the engine cannot put
/// anything in their place.
fn with_answers_below(mut distinct: DistinctOn) -> Result<DistinctOn> {
    let mut columns: Vec<Expr> = distinct.input.schema().columns().into_iter().map(Expr::Column).collect();
    let inner = columns.len();
    let mut answers: Vec<(Expr, Expr)> = Vec::new();
    let mut answered = |expr: &mut Expr| -> Result<()> {
        if !has_subquery(expr)? {
            return Ok(());
        }
        let asked = std::mem::take(expr).unalias();
        let known = answers.iter().find(|(known, _)| *known == asked).map(|(_, answer)| answer.clone());
        *expr = known.unwrap_or_else(|| {
            let name = format!("answer#{}", columns.len());
            columns.push(asked.clone().alias(name.clone()));
            let answer = Expr::Column(Column::from_name(name));
            answers.push((asked, answer.clone()));
            answer
        });
        Ok(())
    };
    for expr in &mut distinct.select_expr {
        let name = NamePreserver::new_for_projection().save(expr);
        answered(expr)?;
        *expr = name.restore(std::mem::take(expr));
    }
    distinct.on_expr.iter_mut().try_for_each(&mut answered)?;
    distinct.sort_expr.iter_mut().flatten().try_for_each(|item| answered(&mut item.expr))?;
    if columns.len() > inner {
        distinct.input = Arc::new(LogicalPlan::Projection(Projection::try_new(columns, distinct.input)?));
    }
    Ok(distinct)
}

fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(matches!(part, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)))
    })
}

/// The expressions of groups, or of sets of them, by their keys.
fn by_keys(expr: Expr, keyed: &[Keyed]) -> Expr {
    let by_key = |expr: Expr| {
        let value = expr.clone().unalias();
        keyed.iter().find(|keyed| keyed.value == value).map_or(expr, |keyed| keyed.key.clone())
    };
    let all = |exprs: Vec<Expr>| exprs.into_iter().map(by_key).collect::<Vec<_>>();
    match expr {
        Expr::GroupingSet(set) => Expr::GroupingSet(match set {
            GroupingSet::Rollup(exprs) => GroupingSet::Rollup(all(exprs)),
            GroupingSet::Cube(exprs) => GroupingSet::Cube(all(exprs)),
            GroupingSet::GroupingSets(sets) => GroupingSet::GroupingSets(sets.into_iter().map(all).collect()),
        }),
        other => by_key(other),
    }
}

/// GROUPING of expressions asks for their keys now.
fn grouping_of_keys(expr: Expr, keyed: &[Keyed]) -> Expr {
    changed(expr, |function| {
        if function.func.name() == "grouping" {
            let args = std::mem::take(&mut function.params.args);
            function.params.args = args.into_iter().map(|argument| by_keys(argument, keyed)).collect();
        }
    })
}

/// An aggregate under the name it had.
fn changed(expr: Expr, change: impl FnOnce(&mut AggregateFunction)) -> Expr {
    let name = NamePreserver::new_for_projection().save(&expr);
    match expr.unalias() {
        Expr::AggregateFunction(mut function) => {
            change(&mut function);
            name.restore(Expr::AggregateFunction(function))
        }
        other => name.restore(other),
    }
}

/// The value, where its key is not NULL.
fn unless_null(key: Expr, value: Expr, value_type: &ValueType) -> Expr {
    let branches = vec![(Box::new(Expr::IsNotNull(Box::new(key))), Box::new(value))];
    let shown = Expr::Case(Case::new(None, branches, Some(Box::new(Expr::Literal(ScalarValue::Null, None)))));
    relabelled(shown, value_type)
}
