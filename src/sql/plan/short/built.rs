//! Which optimized plans are short queries, node by node.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, JoinType, NullEquality, Result};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{self as logical, Expr, ExprSchemable, LogicalPlan, Volatility};
use datafusion::physical_expr::aggregate::LoweredAggregateBuilder;

use super::groups::{Aggregate, Groups};
use super::join::{Join, Side};
use super::node::{Filter, Limit, List, Node, Sort, Union};
use super::table::TableRows;
use crate::engine::Engine;
use crate::expr::unaliased;
use crate::plan::cut::Cut;
use crate::plan::lasting::Lasting;
use crate::plan::outputs::{Condition, Outputs, has_parameters, is_harmless};

/// Of more tables the engine is asked at once.
const TABLES_MAX: usize = 12;

/// Whether the optimizer may make nodes of a plan, and the same ones at each run: it has such parts only, and in them no functions
/// that give something else each time. What asks the moment may stand in lists.
pub(in crate::plan) fn is_candidate(plan: &LogicalPlan) -> Result<bool> {
    let mut tables = 0;
    Ok(is_made_of_known_parts(plan, true, &mut tables)? && (1..=TABLES_MAX).contains(&tables))
}

fn is_made_of_known_parts(plan: &LogicalPlan, is_outermost: bool, tables: &mut usize) -> Result<bool> {
    let mut is_known = true;
    plan.apply(|node| {
        is_known = match node {
            LogicalPlan::TableScan(_) => {
                *tables += 1;
                true
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Distinct(logical::Distinct::All(_))
            | LogicalPlan::Union(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::EmptyRelation(_) => true,
            _ => false,
        };
        let may_ask = is_outermost && matches!(node, LogicalPlan::Projection(_));
        node.apply_expressions(|expr| {
            is_known = is_known && is_known_expression(expr, may_ask, tables)?;
            Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })?;
        Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_known)
}

fn is_known_expression(expr: &Expr, may_ask: bool, tables: &mut usize) -> Result<bool> {
    let mut is_known = true;
    expr.apply(|part| {
        is_known = match part {
            Expr::ScalarFunction(call) => match call.func.signature().volatility {
                Volatility::Immutable => true,
                Volatility::Stable => may_ask,
                Volatility::Volatile => is_harmless(&call.func),
            },
            Expr::ScalarSubquery(value) => {
                value.outer_ref_columns.is_empty() && is_made_of_known_parts(&value.subquery, false, tables)?
            }
            Expr::AggregateFunction(call) => call.params.order_by.is_empty(),
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) | Expr::OuterReferenceColumn(..) => false,
            Expr::WindowFunction(_) | Expr::GroupingSet(_) | Expr::Unnest(_) | Expr::ScalarVariable(..) => false,
            _ => true,
        };
        Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_known)
}

/// The nodes of a plan.
pub(super) struct Built {
    pub values: Vec<Node>,
    pub root: Node,
}

impl Built {
    /// The nodes of a plan that has so many parameters; `None` where it has a part that is none.
    ///
    /// # Errors
    /// The engine's, for an expression that it cannot compute.
    pub(super) fn of(lasting: &Lasting, parameters: usize, engine: &Engine) -> Result<Option<Self>> {
        let mut builder = Builder { lasting, engine, parameters, values: Vec::new() };
        let plan = builder.without_values(lasting.plan.clone())?;
        let Some(plan) = plan else { return Ok(None) };
        let root = builder.node(&plan)?;
        Ok(root.map(|root| Self { values: builder.values, root }))
    }
}

struct Builder<'b> {
    lasting: &'b Lasting,
    engine: &'b Engine,
    /// How many parameters the statement has.
    parameters: usize,
    /// Sub-queries whose values stand behind these.
    values: Vec<Node>,
}

impl Builder<'_> {
    /// The plan with parameters in the places of sub-queries that give a value.
    fn without_values(&mut self, plan: LogicalPlan) -> Result<Option<LogicalPlan>> {
        let mut is_known = true;
        let plan = plan.transform_up(|node| {
            let node = node.map_expressions(|expr| {
                let names = logical::expr_rewriter::NamePreserver::new_for_projection();
                let name = names.save(&expr);
                let expr = expr.transform_up(|part| {
                    let Expr::ScalarSubquery(value) = &part else { return Ok(Transformed::no(part)) };
                    let node = match self.without_values(value.subquery.as_ref().clone())? {
                        Some(plan) => self.node(&plan)?,
                        None => None,
                    };
                    let Some(node) = node else {
                        is_known = false;
                        return Ok(Transformed::no(part));
                    };
                    let field = Arc::clone(value.subquery.schema().field(0)).as_ref().clone().with_nullable(true);
                    self.values.push(node);
                    let number = self.parameters + self.values.len();
                    let placeholder = Placeholder::new_with_field(format!("${number}"), Some(Arc::new(field)));
                    Ok(Transformed::yes(Expr::Placeholder(placeholder)))
                })?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            Ok(if node.transformed { Transformed::yes(asked_of_table(node.data)) } else { node })
        })?;
        Ok(is_known.then_some(plan.data))
    }

    fn node(&mut self, plan: &LogicalPlan) -> Result<Option<Node>> {
        Ok(match plan {
            LogicalPlan::TableScan(scan) => TableRows::of(scan, self.engine)?.map(|table| Node::Table(Box::new(table))),
            LogicalPlan::SubqueryAlias(alias) => self.node(&alias.input)?,
            LogicalPlan::EmptyRelation(none) => {
                let options = RecordBatchOptions::new().with_row_count(Some(usize::from(none.produce_one_row)));
                let schema = Arc::clone(none.schema.inner());
                match schema.fields().is_empty() {
                    true => Some(Node::Given(RecordBatch::try_new_with_options(schema, Vec::new(), &options)?)),
                    false if none.produce_one_row => None,
                    false => Some(Node::Given(RecordBatch::new_empty(schema))),
                }
            }
            LogicalPlan::Projection(list) => {
                let Some(input) = self.node(&list.input)? else { return Ok(None) };
                let read = list.input.schema();
                let exprs =
                    list.expr.iter().map(|expr| self.lasting.asked.put_back(expr)).collect::<Result<Vec<_>>>()?;
                let outputs = Outputs::of(&exprs, read, list.schema.inner(), self.engine)?;
                Some(Node::List(Box::new(List { input, outputs, sources: sources(&exprs, read) })))
            }
            LogicalPlan::Filter(filter) => {
                let Some(input) = self.node(&filter.input)? else { return Ok(None) };
                let condition = Condition::of(&filter.predicate, filter.input.schema(), self.engine)?;
                Some(Node::Filter(Box::new(Filter { input, condition })))
            }
            LogicalPlan::Sort(sort) => {
                let Some(input) = self.node(&sort.input)? else { return Ok(None) };
                let read = sort.input.schema();
                let exprs: Vec<Expr> = sort.expr.iter().map(|by| by.expr.clone()).collect();
                let options = sort
                    .expr
                    .iter()
                    .map(|by| arrow::compute::SortOptions { descending: !by.asc, nulls_first: by.nulls_first });
                let keys = Outputs::of(&exprs, read, &schema_of(&exprs, read)?, self.engine)?;
                Some(Node::Sort(Box::new(Sort { input, keys, options: options.collect(), fetch: sort.fetch })))
            }
            LogicalPlan::Limit(limit) => {
                let Some(input) = self.node(&limit.input)? else { return Ok(None) };
                Cut::default().below(limit).map(|cut| Node::Limit(Box::new(Limit { input, cut })))
            }
            LogicalPlan::Aggregate(aggregate) => self.groups(aggregate)?.map(|groups| Node::Groups(Box::new(groups))),
            LogicalPlan::Join(join) => self.join(join)?.map(|join| Node::Join(Box::new(join))),
            LogicalPlan::Union(union) => {
                let nodes = union.inputs.iter().map(|input| self.node(input)).collect::<Result<Option<Vec<_>>>>()?;
                let schema = Arc::clone(union.schema.inner());
                nodes.map(|nodes| Node::Union(Box::new(Union { nodes, schema })))
            }
            _ => None,
        })
    }

    fn groups(&mut self, aggregate: &logical::Aggregate) -> Result<Option<Groups>> {
        let read = aggregate.input.schema();
        let keys = schema_of(&aggregate.group_expr, read)?;
        let is_set = aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)));
        if is_set || !are_equal_as_bytes(&keys) {
            return Ok(None);
        }
        for expr in &aggregate.aggr_expr {
            if has_parameters(expr)? {
                return Ok(None);
            }
        }
        let Some(input) = self.node(&aggregate.input)? else { return Ok(None) };
        let lowered = |expr: &Expr| -> Result<Option<Aggregate>> {
            let planning = PhysicalPlanningContext::default();
            let props = self.engine.timeless();
            let lowered = LoweredAggregateBuilder::new(expr, read, read.as_arrow(), props, &planning).build()?;
            let (function, filter) = (lowered.aggregate, lowered.filter);
            Ok(lowered.order_bys.is_empty().then_some(Aggregate { function, filter }))
        };
        let aggregates = aggregate.aggr_expr.iter().map(lowered).collect::<Result<Option<Vec<_>>>>()?;
        let Some(aggregates) = aggregates else { return Ok(None) };
        let by = Outputs::of(&aggregate.group_expr, read, &keys, self.engine)?;
        let sources = sources(&aggregate.group_expr, read);
        Ok(Some(Groups { input, by, sources, aggregates, schema: Arc::clone(aggregate.schema.inner()) }))
    }

    fn join(&mut self, join: &logical::Join) -> Result<Option<Join>> {
        let is_not_in = join.null_aware;
        let is_simple = join.join_type == JoinType::LeftAnti && join.on.len() == 1 && join.filter.is_none();
        if join.join_type == JoinType::RightMark || (is_not_in && !is_simple) {
            return Ok(None);
        }
        let (left, right): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
        let (Some(left), Some(right)) = (self.side(&join.left, &left)?, self.side(&join.right, &right)?) else {
            return Ok(None);
        };
        let both = Arc::new(join.left.schema().join(join.right.schema())?);
        let condition = join.filter.as_ref().map(|filter| Condition::of(filter, &both, self.engine)).transpose()?;
        let first = AtomicUsize::new(usize::from(!left.node.is_filtered() && right.node.is_filtered()));
        Ok(Some(Join {
            sides: [left, right],
            nulls_are_equal: join.null_equality == NullEquality::NullEqualsNull,
            is_not_in,
            condition,
            both: Arc::clone(both.inner()),
            join_type: join.join_type,
            schema: Arc::clone(join.schema.inner()),
            first,
        }))
    }

    fn side(&mut self, plan: &LogicalPlan, keys: &[Expr]) -> Result<Option<Side>> {
        let read = plan.schema();
        let schema = schema_of(keys, read)?;
        if !are_equal_as_bytes(&schema) {
            return Ok(None);
        }
        let Some(node) = self.node(plan)? else { return Ok(None) };
        let width = read.fields().len();
        let sources = sources(keys, read);
        Ok(Some(Side { node, width, keys: Outputs::of(keys, read, &schema, self.engine)?, sources }))
    }
}

/// A filter whose sub-queries are parameters by now may name keys.
fn asked_of_table(plan: LogicalPlan) -> LogicalPlan {
    match &plan {
        LogicalPlan::Filter(filter) => match &*filter.input {
            LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
                let mut scan = scan.clone();
                scan.filters.push(filter.predicate.clone());
                LogicalPlan::TableScan(scan)
            }
            _ => plan,
        },
        _ => plan,
    }
}

/// Of each expression the column that it is, if it is one.
fn sources(exprs: &[Expr], read: &DFSchemaRef) -> Vec<Option<usize>> {
    let source = |expr: &Expr| match unaliased(expr) {
        Expr::Column(column) => read.maybe_index_of_column(column),
        _ => None,
    };
    exprs.iter().map(source).collect()
}

/// What expressions over these columns give.
fn schema_of(exprs: &[Expr], read: &DFSchemaRef) -> Result<SchemaRef> {
    let field = |(place, expr): (usize, &Expr)| {
        let field = expr.to_field(read)?.1;
        Ok(Field::new(place.to_string(), field.data_type().clone(), true))
    };
    Ok(Arc::new(Schema::new(exprs.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?)))
}

/// Whether values of these types are equal where they are written down alike: numbers with a floating point are not.
fn are_equal_as_bytes(keys: &SchemaRef) -> bool {
    let is_plain = |field: &Arc<Field>| {
        let data_type = field.data_type();
        data_type.is_integer()
            || data_type.is_temporal()
            || matches!(data_type, DataType::Boolean | DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_))
    };
    keys.fields().iter().all(is_plain)
}
