//! Which columns of the outer query a sub-query refers to.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator, binary_expr};

use super::not_supported;
use super::pieces::{Names, alias, distinct, project};
use crate::plan::once::is_once;

/// The values that one sub-query takes from one plan around it.
pub(super) struct Correlation<'a> {
    outer: &'a LogicalPlan,
    pub parameters: Vec<Parameter>,
}

/// One of them: a column of the outer plan, or a cast of one.
pub(super) struct Parameter {
    /// As it stands in the sub-query.
    reference: Expr,
    /// The same over the columns of the outer plan.
    pub value: Expr,
    /// How often the sub-query names it.
    uses: usize,
    nullable: bool,
}

/// A column of a sub-query's plan that has a parameter's value.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub column: Column,
    /// NULL in it stands for the parameter's NULL, and not for no value at all.
    pub null_is_value: bool,
    /// Another key decides for which rows a row is: this one has a value that goes along.
    pub goes_along: bool,
}

impl Key {
    pub(super) fn new(column: Column, null_is_value: bool) -> Self {
        Self { column, null_is_value, goes_along: false }
    }

    /// Whether the key has this value.
    pub(super) fn is(&self, value: Expr) -> Expr {
        let operator = if self.null_is_value { Operator::IsNotDistinctFrom } else { Operator::Eq };
        binary_expr(value, operator, Expr::Column(self.column.clone()))
    }
}

/// The keys that decide for which rows a row is.
pub(super) fn deciding(keys: &[Key]) -> impl Iterator<Item = Expr> + '_ {
    keys.iter().filter(|key| !key.goes_along).map(|key| Expr::Column(key.column.clone()))
}

impl<'a> Correlation<'a> {
    /// What `subquery` takes from `outer`; what it takes from farther out is another plan's.
    pub(super) fn of(subquery: &LogicalPlan, outer: &'a LogicalPlan) -> Result<Self> {
        let mut correlation = Self { outer, parameters: Vec::new() };
        visit_references(subquery, &mut |expr, column| {
            if outer.schema().has_column(column) {
                correlation.add(expr)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(correlation)
    }

    fn add(&mut self, reference: &Expr) -> Result<()> {
        if let Some(known) = self.parameters.iter_mut().find(|p| is_same(&p.reference, reference)) {
            known.uses += 1;
            return Ok(());
        }
        let value = as_outer_column(reference)?;
        let nullable = value.nullable(self.outer.schema())?;
        self.parameters.push(Parameter { reference: reference.clone(), value, uses: 1, nullable });
        Ok(())
    }

    /// Whether any of the parameters stands in the expression.
    pub(super) fn is_in(&self, expr: &Expr) -> bool {
        expr.exists(|e| Ok(self.parameters.iter().any(|p| is_same(&p.reference, e)))).unwrap_or(false)
    }

    /// Whether any of the parameters stands in the plan.
    pub(super) fn is_in_plan(&self, plan: &LogicalPlan) -> Result<bool> {
        refers_to(plan, self.outer.schema())
    }

    /// The expression with each parameter replaced.
    pub(super) fn replace(&self, expr: Expr, by: &dyn Fn(usize) -> Expr) -> Result<Expr> {
        let replaced = expr.transform_down(|e| {
            Ok(match self.parameters.iter().position(|p| is_same(&p.reference, &e)) {
                Some(index) => Transformed::new(by(index), true, TreeNodeRecursion::Jump),
                None => Transformed::no(e),
            })
        })?;
        Ok(replaced.data)
    }

    /// The expression as the outer plan can evaluate it.
    pub(super) fn outward(&self, expr: Expr) -> Result<Expr> {
        self.replace(expr, &|index| self.parameters[index].value.clone())
    }

    /// The conditions under which a row of answers is for a row of the outer plan.
    pub(super) fn conditions(&self, keys: &[Key]) -> Vec<Expr> {
        self.parameters.iter().zip(keys).map(|(p, key)| key.is(p.value.clone())).collect()
    }

    /// Whether equality with an expression of the sub-query's own says all there is about a parameter: then that
    /// expression can stand for it.
    pub(super) fn may_become(&self, index: usize, expr: &Expr, schema: &DFSchema) -> Result<bool> {
        let parameter = &self.parameters[index];
        let is_only_use = parameter.uses == 1;
        Ok(is_only_use || parameter.value.get_type(self.outer.schema())? == expr.get_type(schema)?)
    }

    /// The parameters that a plan takes, and how often the sub-query names them besides.
    pub(super) fn taken(&self, plan: &LogicalPlan) -> Result<Vec<(usize, usize)>> {
        let mut taken: Vec<usize> = vec![0; self.parameters.len()];
        visit_references(plan, &mut |expr, _| {
            if let Some(index) = self.position(expr) {
                taken[index] += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let taken = taken.into_iter().enumerate().filter(|(_, times)| *times > 0);
        Ok(taken.map(|(index, times)| (index, self.parameters[index].uses - times)).collect())
    }

    /// Whether the values of a parameter may be large: lists, texts, what has several parts.
    pub(super) fn may_be_large(&self, index: usize) -> Result<bool> {
        let data_type = self.parameters[index].value.get_type(self.outer.schema())?;
        Ok(!data_type.is_primitive() && !matches!(data_type, DataType::Boolean | DataType::Null))
    }

    /// The parameter that an expression is.
    pub(super) fn position(&self, expr: &Expr) -> Option<usize> {
        self.parameters.iter().position(|p| is_same(&p.reference, expr))
    }

    /// All values that the parameters have together, and the columns they are in. `names` is told when the outer plan may give others
    /// when it is run once more.
    ///
    /// # Errors
    /// XX000 if the new plan is not valid, which would be a defect here.
    pub(super) fn domain(&self, names: &mut Names) -> Result<(LogicalPlan, Vec<Key>)> {
        let mut keys = Vec::with_capacity(self.parameters.len());
        let mut exprs = Vec::with_capacity(self.parameters.len());
        let table = names.next("values");
        for parameter in &self.parameters {
            let name = names.next("key");
            exprs.push(parameter.value.clone().alias(name.clone()));
            let column = Column::new(Some(table.clone()), name);
            keys.push(Key::new(column, parameter.nullable));
        }
        names.has_read_undecided |= is_undecided(self.outer)?;
        let values = distinct(project(self.outer.clone(), exprs)?);
        Ok((alias(values, &table)?, keys))
    }
}

/// Whether a plan may give other rows when it is run once more: which ones a LIMIT leaves where several are equal, how floats are
/// added up, in which order values come into an array.
fn is_undecided(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        if is_once(node) {
            return Ok(TreeNodeRecursion::Jump);
        }
        found |= match node {
            LogicalPlan::Limit(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(Distinct::On(_)) => true,
            LogicalPlan::Sort(sort) => sort.fetch.is_some(),
            LogicalPlan::Aggregate(aggregate) => {
                let schema = aggregate.input.schema();
                aggregate.aggr_expr.iter().any(|call| depends_on_order(call, schema))
            }
            _ => false,
        } || is_volatile(node)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether the value of an aggregate may depend on the order in which its rows come.
fn depends_on_order(aggregate: &Expr, input: &DFSchema) -> bool {
    let Expr::AggregateFunction(call) = aggregate.clone().unalias() else { return true };
    match call.func.name() {
        "count" | "min" | "max" | "bool_and" | "bool_or" => false,
        "sum" => aggregate.get_type(input).map_or(true, |sum| sum.is_floating()),
        _ => true,
    }
}

/// # Errors
/// 0A000 for a plan whose rows are others each time it is run.
pub(super) fn refuse_volatile(plan: &LogicalPlan) -> Result<()> {
    match plan.exists(is_volatile)? {
        true => Err(not_supported("a sub-query beside rows with random values")),
        false => Ok(()),
    }
}

fn is_volatile(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.is_volatile();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether the plan refers to a column of the schema from within.
pub(super) fn refers_to(plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let mut found = false;
    visit_references(plan, &mut |_, column| {
        found |= schema.has_column(column);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether the plan refers to anything outside.
pub(super) fn refers_out(plan: &LogicalPlan) -> Result<bool> {
    Ok(first_reference(plan)?.is_some())
}

pub(super) fn first_reference(plan: &LogicalPlan) -> Result<Option<Column>> {
    let mut first = None;
    visit_references(plan, &mut |_, column| {
        first = Some(column.clone());
        Ok(TreeNodeRecursion::Stop)
    })?;
    Ok(first)
}

/// Each outer column of a plan, with the casts around it.
fn visit_references(
    plan: &LogicalPlan,
    visit: &mut dyn FnMut(&Expr, &Column) -> Result<TreeNodeRecursion>,
) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| match outer_column(expr) {
                None => Ok(TreeNodeRecursion::Continue),
                Some(column) => Ok(match visit(expr, column)? {
                    TreeNodeRecursion::Stop => TreeNodeRecursion::Stop,
                    _ => TreeNodeRecursion::Jump,
                }),
            })
        })
    })?;
    Ok(())
}

fn outer_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::OuterReferenceColumn(_, column) => Some(column),
        Expr::Cast(cast) => outer_column(&cast.expr),
        _ => None,
    }
}

fn as_outer_column(expr: &Expr) -> Result<Expr> {
    let inner = expr.clone().transform(|e| {
        Ok(match e {
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            other => Transformed::no(other),
        })
    })?;
    Ok(inner.data)
}

/// Whether two references are to the same value. The fields in them may differ in what does not matter here.
fn is_same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::OuterReferenceColumn(_, one), Expr::OuterReferenceColumn(_, other)) => one == other,
        (Expr::Cast(one), Expr::Cast(other)) => one.field == other.field && is_same(&one.expr, &other.expr),
        _ => false,
    }
}
