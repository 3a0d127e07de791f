//! Reads that need no optimizer: columns of one table, where the key alone says which rows.
//!
//! What the optimizer would make of such a query is the same at every run: one scan, perhaps with expressions over its
//! columns. So it is asked once. A run puts the parameters into the filters, finds the keys they leave, and asks the store.
//! Where the keys turn out not to say it all (a filter on another column, a value that must be computed), the run goes
//! the long way, which gives the same rows: [`DirectRead::rows`] then gives `None`.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::execution::SessionState;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, FetchType, LogicalPlan, SkipType, SortExpr, TableScan, Volatility};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, create_physical_expr};
use futures::StreamExt;
use futures::stream::BoxStream;
use tablegate_store::table::Direction;
use tablegate_types::error::SqlResult;
use tablegate_types::single_row::SingleRow;

use super::assigned::Receiver;
use crate::expr::{has_constant_part, is_foldable, parameter_number, unaliased};
use crate::key_range::{KeyPlan, PointPredicate, RangePredicate};
use crate::outcome::RowStream;
use crate::reads::Reads;
use crate::scan::{DirectScan, RelationProvider};

/// Handing so many rows, and fewer, to other threads would take longer than it keeps one from others.
const SHORT_ROWS: usize = 2_000;

/// How many rows a read may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Long,
}

/// A query that is one scan, and expressions over its rows.
#[derive(Debug)]
pub(super) struct DirectRead {
    scan: DirectScan,
    filters: Vec<Expr>,
    /// The key that the filters name, where they name one.
    point: Option<PointPredicate>,
    /// The rows of a partition that they name, where they name such.
    range: Option<RangePredicate>,
    /// What comes out, over the scan's columns; `None` for these columns as they are.
    outputs: Option<Outputs>,
    /// Which of the scan's columns come out, where these are all that does.
    places: Option<Box<[usize]>>,
    order: Vec<PhysicalSortExpr>,
    fetch: Option<usize>,
    batch_rows: usize,
}

#[derive(Debug)]
struct Outputs {
    exprs: OutputExprs,
    schema: SchemaRef,
}

type Exprs = Arc<[Arc<dyn PhysicalExpr>]>;

#[derive(Debug)]
enum OutputExprs {
    /// The same at each run.
    Ready(Exprs),
    /// With parameters in them, over these columns.
    WithParameters(Vec<Expr>, DFSchemaRef),
}

impl DirectRead {
    /// The read that a planned query is, if it is one.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query on the long way too.
    pub(super) fn of(plan: &LogicalPlan, receivers: &[Receiver], state: &SessionState) -> SqlResult<Option<Self>> {
        if !is_candidate(plan)? || is_foldable(plan)? {
            return Ok(None);
        }
        let optimized = state.optimize(plan)?;
        Ok(Shape::of(&optimized).map(|shape| shape.read(receivers, state)).transpose()?.flatten())
    }

    /// The rows with these parameters, and whether they may be many; `None` when their keys do not say all about which ones.
    ///
    /// # Errors
    /// None are expected from the call itself. The stream ends with an error when the store or an expression fails.
    pub(super) fn rows(
        &self,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> SqlResult<Option<(RowStream, Length)>> {
        let outputs = match &self.outputs {
            None => None,
            Some(outputs) => match outputs.ready(parameters)? {
                Some(exprs) => Some((exprs, Arc::clone(&outputs.schema))),
                None => return Ok(None),
            },
        };
        if let Some(row) = self.row(parameters, reads)? {
            return Ok(Some((with_outputs(row, outputs), Length::Short)));
        }
        let Some(plan) = self.keys(parameters)? else { return Ok(None) };
        let direction = if self.order.is_empty() {
            Direction::Forward
        } else {
            let Some(direction) = self.scan.direction(&plan, &self.order)? else { return Ok(None) };
            direction
        };
        let length = self.length(&plan, reads);
        let rows = self.scan.rows(plan, direction, self.fetch, Arc::clone(reads), self.batch_rows);
        Ok(Some((with_outputs(rows, outputs), length)))
    }

    /// A partition is taken to be short: it is what is read for a page or a list.
    fn length(&self, plan: &KeyPlan, reads: &Reads) -> Length {
        let is_cut = self.fetch.is_some_and(|fetch| fetch <= SHORT_ROWS);
        if is_cut || plan.ranges().all(|range| range.partitions.as_point().is_some()) {
            return Length::Short;
        }
        match reads.readers.size_of(&self.scan.relation.stored) {
            Some(size) if size.entities <= SHORT_ROWS as u64 => Length::Short,
            Some(_) | None => Length::Long,
        }
    }

    /// Whether [`DirectRead::single`] may give a row.
    pub(super) fn may_be_single(&self) -> bool {
        self.point.is_some() && self.places.is_some() && self.fetch != Some(0) && self.scan.shows_values()
    }

    /// The row of the one key that the filters name with these parameters, if there is one; outer `None` where that takes
    /// another way: [`DirectRead::rows`].
    ///
    /// # Errors
    /// When the table cannot be read.
    #[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
    pub(super) fn single(&self, parameters: &[ScalarValue], reads: &Reads) -> SqlResult<Option<Option<SingleRow>>> {
        let (Some(point), Some(places)) = (&self.point, &self.places) else { return Ok(None) };
        match point.key(&self.scan.relation, parameters) {
            Some(key) => Ok(self.scan.single(&key, places, reads)?),
            None => Ok(None),
        }
    }

    /// The keys of the rows; `None` when they do not say all about which ones.
    fn keys(&self, parameters: &[ScalarValue]) -> Result<Option<KeyPlan>> {
        let relation = &self.scan.relation;
        if let Some(plan) = self.range.as_ref().and_then(|range| range.plan(relation, parameters)) {
            return Ok(Some(plan));
        }
        let filters = self.filters.iter().map(|filter| bound(filter, parameters)).collect::<Result<Vec<_>>>()?;
        Ok(Some(KeyPlan::from_filters(relation, &filters)).filter(KeyPlan::is_exact))
    }

    /// The row of the one key that the filters name; `None` when they do not, or more has to be looked at.
    fn row(
        &self,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> Result<Option<BoxStream<'static, Result<RecordBatch>>>> {
        let Some(point) = self.point.as_ref().filter(|_| self.fetch != Some(0)) else { return Ok(None) };
        match point.key(&self.scan.relation, parameters) {
            Some(key) => self.scan.row(&key, reads),
            None => Ok(None),
        }
    }
}

impl Outputs {
    /// The expressions with these parameters; `None` where they leave something that is computed before any row is read.
    fn ready(&self, parameters: &[ScalarValue]) -> Result<Option<Exprs>> {
        let (exprs, read) = match &self.exprs {
            OutputExprs::Ready(exprs) => return Ok(Some(Arc::clone(exprs))),
            OutputExprs::WithParameters(exprs, read) => (exprs, read),
        };
        let mut ready = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let expr = bound(expr, parameters)?;
            if has_constant_part(&expr)? {
                return Ok(None);
            }
            let (props, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
            ready.push(create_physical_expr(&expr, read, &props, &planning)?);
        }
        Ok(Some(ready.into()))
    }
}

/// The rows, or expressions over them.
fn with_outputs(rows: BoxStream<'static, Result<RecordBatch>>, outputs: Option<(Exprs, SchemaRef)>) -> RowStream {
    let Some((exprs, schema)) = outputs else { return Box::pin(rows.map(|batch| Ok(batch?))) };
    Box::pin(rows.map(move |batch| Ok(evaluated(&exprs, &schema, &batch?)?)))
}

fn evaluated(exprs: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef, rows: &RecordBatch) -> Result<RecordBatch> {
    let columns = exprs.iter().map(|expr| expr.evaluate(rows)?.into_array(rows.num_rows()));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// A filter with values in the places of its parameters.
fn bound(filter: &Expr, parameters: &[ScalarValue]) -> Result<Expr> {
    if parameters.is_empty() {
        return Ok(filter.clone());
    }
    let filter = filter.clone().transform(|expr| {
        let value = match &expr {
            Expr::Placeholder(placeholder) => {
                parameter_number(&placeholder.id).and_then(|number| parameters.get(number.checked_sub(1)?))
            }
            _ => None,
        };
        Ok(match value {
            Some(value) => Transformed::yes(Expr::Literal(value.clone(), None)),
            None => Transformed::no(expr),
        })
    })?;
    Ok(filter.data)
}

/// Whether the optimizer may make one scan of the plan, and the same one at each run.
fn is_candidate(plan: &LogicalPlan) -> Result<bool> {
    let mut is_candidate = true;
    let mut scans = 0;
    plan.apply(|node| {
        is_candidate = match node {
            LogicalPlan::Filter(_) | LogicalPlan::Projection(_) => has_lasting_expressions(node, true)?,
            LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => has_lasting_expressions(node, false)?,
            LogicalPlan::SubqueryAlias(_) => true,
            LogicalPlan::TableScan(_) => {
                scans += 1;
                true
            }
            _ => false,
        };
        Ok(if is_candidate { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_candidate && scans == 1)
}

/// Whether a node's expressions mean the same at each run, but for parameters where they may stand.
fn has_lasting_expressions(node: &LogicalPlan, with_parameters: bool) -> Result<bool> {
    let mut lasts = true;
    node.apply_expressions(|expr| {
        expr.apply(|part| {
            lasts &= match part {
                Expr::Placeholder(_) => with_parameters,
                Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
                Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => false,
                Expr::OuterReferenceColumn(..) | Expr::ScalarVariable(..) => false,
                _ => true,
            };
            Ok(if lasts { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })
    })?;
    Ok(lasts)
}

/// The parts of an optimized plan that is one scan.
struct Shape<'p> {
    plan: &'p LogicalPlan,
    exprs: Option<&'p [Expr]>,
    sort: &'p [SortExpr],
    /// Whether the sort names what comes out, rather than what is read.
    sorts_outputs: bool,
    fetch: Option<usize>,
    /// What the scan's columns are called above it.
    read: &'p DFSchemaRef,
    scan: &'p TableScan,
}

impl<'p> Shape<'p> {
    /// From the top: a limit, a sort and a projection, each at most once, and the scan. A limit below a sort would say
    /// which rows are sorted.
    fn of(plan: &'p LogicalPlan) -> Option<Self> {
        let (mut exprs, mut sort, mut sorts_outputs, mut fetch): (Option<&[Expr]>, &[SortExpr], _, _) =
            (None, &[], false, None);
        let (mut node, mut read) = (plan, None);
        loop {
            node = match node {
                LogicalPlan::SubqueryAlias(alias) => {
                    read = read.or(Some(&alias.schema));
                    &alias.input
                }
                // An alias of anything but the scan names other columns.
                other if read.is_some() && !matches!(other, LogicalPlan::TableScan(_)) => return None,
                LogicalPlan::Limit(limit) if sort.is_empty() => {
                    let SkipType::Literal(0) = limit.get_skip_type().ok()? else { return None };
                    let FetchType::Literal(most) = limit.get_fetch_type().ok()? else { return None };
                    fetch = least(fetch, most);
                    &limit.input
                }
                LogicalPlan::Sort(node) if sort.is_empty() => {
                    (sort, sorts_outputs, fetch) = (&node.expr, exprs.is_none(), least(fetch, node.fetch));
                    &node.input
                }
                LogicalPlan::Projection(projection) if exprs.is_none() => {
                    exprs = Some(&projection.expr);
                    &projection.input
                }
                LogicalPlan::TableScan(scan) if sort.is_empty() || scan.fetch.is_none() => {
                    let fetch = least(fetch, scan.fetch);
                    // Without a projection what comes out is what is read.
                    let sorts_outputs = sorts_outputs && exprs.is_some();
                    let read = read.unwrap_or(&scan.projected_schema);
                    return Some(Self { plan, exprs, sort, sorts_outputs, fetch, read, scan });
                }
                _ => return None,
            };
        }
    }

    fn read(&self, receivers: &[Receiver], state: &SessionState) -> Result<Option<DirectRead>> {
        let provider = source_as_provider(&self.scan.source)?;
        let Some(provider) = provider.downcast_ref::<RelationProvider>() else { return Ok(None) };
        let relation = Arc::clone(provider.relation());
        let columns: Arc<[usize]> = match &self.scan.projection {
            Some(projection) => projection.as_slice().into(),
            None => (0..relation.columns.len()).collect(),
        };
        let Some(order) = self.sort.iter().map(|sort| self.sort_expr(sort)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let places = self.places(columns.len());
        let outputs = match self.exprs {
            None => None,
            Some(exprs) => {
                let is_parameter = |expr: &Expr| matches!(unaliased(expr), Expr::Placeholder(_));
                // Whether a column takes a value that is said to have a type is found out before any row is read.
                if receivers.iter().any(|r| !r.untyped && exprs.get(r.place).is_none_or(is_parameter)) {
                    return Ok(None);
                }
                let has_parameters = |expr: &Expr| expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_))));
                let exprs = if exprs.iter().any(|expr| has_parameters(expr).unwrap_or(true)) {
                    OutputExprs::WithParameters(exprs.to_vec(), Arc::clone(self.read))
                } else {
                    let (props, planning) = (state.execution_props(), PhysicalPlanningContext::default());
                    let exprs = exprs.iter().map(|expr| create_physical_expr(expr, self.read, props, &planning));
                    OutputExprs::Ready(exprs.collect::<Result<_>>()?)
                };
                Some(Outputs { exprs, schema: Arc::clone(self.plan.schema().inner()) })
            }
        };
        Ok(Some(DirectRead {
            point: PointPredicate::of(&relation, &self.scan.filters),
            range: RangePredicate::of(&relation, &self.scan.filters),
            scan: DirectScan::new(relation, columns, Arc::clone(self.read.inner()), provider.reversible())
                .locked_as(provider.target()),
            filters: self.scan.filters.clone(),
            outputs,
            places,
            order,
            fetch: self.fetch,
            batch_rows: state.config().batch_size(),
        }))
    }

    /// Which of so many columns that are read come out, where these are all that does.
    fn places(&self, columns: usize) -> Option<Box<[usize]>> {
        let Some(exprs) = self.exprs else { return Some((0..columns).collect()) };
        let place = |expr: &Expr| match unaliased(expr) {
            Expr::Column(column) => self.read.maybe_index_of_column(column),
            _ => None,
        };
        exprs.iter().map(place).collect()
    }

    /// A sort by a column that is read.
    fn sort_expr(&self, sort: &SortExpr) -> Option<PhysicalSortExpr> {
        let Expr::Column(mut column) = sort.expr.clone() else { return None };
        if self.sorts_outputs {
            let place = self.plan.schema().maybe_index_of_column(&column)?;
            let Expr::Column(read) = unaliased(self.exprs?.get(place)?) else { return None };
            column = read.clone();
        }
        let place = self.read.maybe_index_of_column(&column)?;
        let options = arrow::compute::SortOptions { descending: !sort.asc, nulls_first: sort.nulls_first };
        Some(PhysicalSortExpr::new(Arc::new(Column::new(&column.name, place)), options))
    }
}

/// The smaller of two limits, of which there may be none.
fn least(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}
