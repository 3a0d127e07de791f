//! Which aggregations are done apart, and what is to be sorted for each of their aggregates.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{Literal, lit};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use crate::expr::{Choice, listed_of};
use crate::passing::Plan;

/// An aggregate as the engine computes it: where its result is among those of all, and of which rows it is.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub place: usize,
    pub function: Arc<AggregateFunctionExpr>,
    pub filter: Option<Arc<dyn PhysicalExpr>>,
}

/// Aggregates of the same rows in the same order.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// What the rows of a group are sorted by.
    pub keys: Vec<(Arc<dyn PhysicalExpr>, SortOptions)>,
    /// Of rows with equal keys only one counts.
    pub is_distinct: bool,
    pub gives: Gives,
}

/// What becomes of the rows of a group.
#[derive(Debug, Clone)]
pub(super) enum Gives {
    /// Functions of the only key.
    Functions(Vec<Function>),
    /// A list of the values.
    List { place: usize, value: Arc<dyn PhysicalExpr>, is_rectangular: bool },
    /// A list of the only value that is made use of; the column of `others` says how many there are.
    Chosen { place: usize, value: Arc<dyn PhysicalExpr>, choice: Choice, count: usize },
    /// One text of those values that are not NULL, with another between them.
    Text { place: usize, value: Arc<dyn PhysicalExpr>, delimiter: String },
}

impl Gives {
    /// What is kept of each row besides its keys.
    pub(super) fn value(&self) -> Option<&Arc<dyn PhysicalExpr>> {
        match self {
            Self::Functions(_) => None,
            Self::List { value, .. } | Self::Chosen { value, .. } | Self::Text { value, .. } => Some(value),
        }
    }
}

/// An aggregation that is done apart.
#[derive(Debug)]
pub(super) struct Shape {
    /// What the rows are grouped by, with the names of the results; nothing where all rows are one group.
    pub group: Vec<(Arc<dyn PhysicalExpr>, String)>,
    pub others: Vec<Function>,
    pub parts: Vec<Part>,
    /// Of the rows.
    pub input: SchemaRef,
    /// Of the results: the groups, and then the aggregates.
    pub schema: SchemaRef,
}

impl Shape {
    /// That of the plan, if its uppermost nodes are such an aggregation. Of the lists in some columns one value each is made use of.
    ///
    /// # Errors
    /// Those of asking for types.
    pub(super) fn of(plan: &Plan, choices: &[(usize, Choice)]) -> Result<Option<Self>> {
        let (Some(last), Some(first)) = (plan.downcast_ref::<AggregateExec>(), first_half(plan)) else {
            return Ok(None);
        };
        if !can_be_done(last) || !can_be_done(first) {
            return Ok(None);
        }
        let input = first.input().schema();
        let group = first.group_expr().expr().to_vec();
        for (expr, _) in &group {
            if !is_plain(&expr.data_type(&input)?) || is_volatile(expr) {
                return Ok(None);
            }
        }
        let (mut others, mut parts) = (Vec::new(), Vec::<Part>::new());
        for (place, (function, filter)) in first.aggr_expr().iter().zip(first.filter_expr()).enumerate() {
            let (place, filter) = (group.len() + place, filter.clone());
            if function.expressions().iter().chain(&filter).any(is_volatile) {
                return Ok(None);
            }
            let is_chosen = choices.iter().any(|(column, _)| *column == place);
            let part = match listed_part(place, function, filter.clone(), &input) {
                Some(part) => Some(part),
                None if is_chosen => numbers_part(place, function, filter.clone(), &input)?,
                None => distinct_part(place, function, filter.clone(), &input)?,
            };
            match part {
                Some(part) => match parts.iter_mut().find_map(|known| known.functions_beside(&part)) {
                    Some((functions, added)) => functions.extend(added),
                    None => parts.push(part),
                },
                // The order of all rows would have to be kept for it.
                None if !function.order_bys().is_empty() => return Ok(None),
                None => others.push(Function { place, function: Arc::clone(function), filter }),
            }
        }
        let mut shape = Self { group, others, parts, input, schema: plan.schema() };
        shape.choose(choices)?;
        Ok((!shape.parts.is_empty()).then_some(shape))
    }
}

impl Shape {
    /// A part that gives all values, of which one is chosen: all of them would be kept.
    ///
    /// # Errors
    /// XX000 if they cannot be counted, which would be a defect here.
    fn choose(&mut self, choices: &[(usize, Choice)]) -> Result<()> {
        for part in 0..self.parts.len() {
            let Gives::List { place, value, .. } = &self.parts[part].gives else { continue };
            let Some((column, choice)) = choices.iter().find(|(column, _)| column == place) else { continue };
            let (count, value) = (self.group.len() + self.others.len(), Arc::clone(value));
            let rows = self.count_of(self.parts[part].filter.clone())?;
            self.others.push(rows);
            self.parts[part].gives = Gives::Chosen { place: *column, value, choice: *choice, count };
        }
        Ok(())
    }

    /// How many rows there are of a group, which is none of the results.
    fn count_of(&self, filter: Option<Arc<dyn PhysicalExpr>>) -> Result<Function> {
        let rows =
            AggregateExprBuilder::new(count_udaf(), vec![lit(1_i64)]).schema(Arc::clone(&self.input)).alias("rows");
        Ok(Function { place: self.schema.fields().len(), function: Arc::new(rows.build()?), filter })
    }

    /// Whether there is more to be known of a group than what is sorted.
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty() || !self.group.is_empty()
    }

    /// How many sorts there are.
    pub(super) fn sorts(&self) -> usize {
        self.parts.len() + usize::from(self.has_others())
    }
}

impl Part {
    /// Functions of the same rows, and those that are to be added to them.
    fn functions_beside<'p>(&'p mut self, other: &Self) -> Option<(&'p mut Vec<Function>, Vec<Function>)> {
        let is_same = self.filter == other.filter && self.keys == other.keys;
        match (&mut self.gives, &other.gives) {
            (Gives::Functions(functions), Gives::Functions(added)) if is_same => Some((functions, added.clone())),
            _ => None,
        }
    }
}

/// The node that is given the rows themselves: the aggregation itself, or the first half of it.
pub(super) fn first_half(plan: &Plan) -> Option<&AggregateExec> {
    let last = plan.downcast_ref::<AggregateExec>()?;
    match last.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => return Some(last),
        AggregateMode::Final | AggregateMode::FinalPartitioned => {}
        AggregateMode::Partial | AggregateMode::PartialReduce => return None,
    }
    let mut below = last.input();
    loop {
        if let Some(first) = below.downcast_ref::<AggregateExec>() {
            return (*first.mode() == AggregateMode::Partial).then_some(first);
        }
        below = match below.children().as_slice() {
            [only]
                if below.is::<RepartitionExec>()
                    || below.is::<CoalescePartitionsExec>()
                    || below.is::<CooperativeExec>() =>
            {
                only
            }
            _ => return None,
        };
    }
}

/// Whether it groups in the plain way, and nobody counts on more than its results.
fn can_be_done(aggregate: &AggregateExec) -> bool {
    aggregate.group_expr().is_single()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty()
}

/// A list in an order of its own.
fn listed_part(
    place: usize,
    function: &AggregateFunctionExpr,
    filter: Option<Arc<dyn PhysicalExpr>>,
    input: &SchemaRef,
) -> Option<Part> {
    let listed = listed_of(function.fun())?;
    let mut arguments = function.expressions().into_iter();
    let value = arguments.next()?;
    let gives = if listed.is_text() {
        let delimiter = arguments.next()?;
        let delimiter =
            delimiter.downcast_ref::<Literal>()?.value().try_as_str().flatten().unwrap_or_default().to_owned();
        Gives::Text { place, value, delimiter }
    } else {
        Gives::List { place, value, is_rectangular: listed.is_of_arrays() }
    };
    let keys: Vec<_> = arguments.zip(listed.sorts().iter().copied()).collect();
    let is_sortable = |(key, _): &(Arc<dyn PhysicalExpr>, _)| {
        key.data_type(input).is_ok_and(|data_type| is_plain(&data_type) || data_type.is_floating())
    };
    if !keys.iter().all(is_sortable) {
        return None;
    }
    Some(Part { filter, keys, is_distinct: listed.is_distinct(), gives })
}

/// A list of numbers one of which is chosen, or what is between two of them: so it is all the same in which order they are.
fn numbers_part(
    place: usize,
    function: &AggregateFunctionExpr,
    filter: Option<Arc<dyn PhysicalExpr>>,
    input: &SchemaRef,
) -> Result<Option<Part>> {
    let [value] = &function.expressions()[..] else { return Ok(None) };
    let is_list = function.fun().name() == "array_agg" && !function.is_distinct() && function.order_bys().is_empty();
    if !is_list || value.data_type(input)? != DataType::Float64 {
        return Ok(None);
    }
    let keys = vec![(Arc::clone(value), SortOptions::default())];
    let gives = Gives::List { place, value: Arc::clone(value), is_rectangular: false };
    Ok(Some(Part { filter, keys, is_distinct: false, gives }))
}

/// A function of each value once.
fn distinct_part(
    place: usize,
    function: &Arc<AggregateFunctionExpr>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    input: &SchemaRef,
) -> Result<Option<Part>> {
    let [value] = &function.expressions()[..] else { return Ok(None) };
    if !function.is_distinct() || !function.order_bys().is_empty() || !is_plain(&value.data_type(input)?) {
        return Ok(None);
    }
    let keys = vec![(Arc::clone(value), SortOptions::default())];
    // It is given each value once.
    let of_all = AggregateExprBuilder::new(Arc::new(function.fun().clone()), function.expressions())
        .schema(Arc::clone(input))
        .alias(function.name())
        .with_ignore_nulls(function.ignore_nulls());
    let function = Function { place, function: Arc::new(of_all.build()?), filter: None };
    Ok(Some(Part { filter, keys, is_distinct: true, gives: Gives::Functions(vec![function]) }))
}

/// Whether values of the type are equal where their bytes are, and only there, and are sorted as they are compared.
fn is_plain(data_type: &DataType) -> bool {
    !data_type.is_floating()
        && !data_type.is_nested()
        && !matches!(data_type, DataType::Dictionary(..) | DataType::Null)
}
