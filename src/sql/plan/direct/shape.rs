//! Which optimized plans are a scan, and expressions over its rows.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr, TableScan};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;

use super::DirectRead;
use super::looked::Looked;
use crate::engine::Engine;
use crate::expr::unaliased;
use crate::key_range::{PointPredicate, RangePredicate};
use crate::plan::assigned::{Given, Receiver};
use crate::plan::checked::Checked;
use crate::plan::cut::Cut;
use crate::plan::lasting::Lasting;
use crate::plan::outputs::{Outputs, has_parameters, is_lasting, is_of_run};
use crate::scan::{DirectScan, RelationProvider};

/// Whether the optimizer may make one scan of the plan, and the same one at each run.
pub(in crate::plan) fn is_candidate(plan: &LogicalPlan) -> Result<bool> {
    let mut is_candidate = true;
    let mut scans = 0;
    plan.apply(|node| {
        is_candidate = match node {
            // A condition may come to stand where it is asked for keys, which are found without the moment.
            LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => has_only(node, is_lasting)?,
            LogicalPlan::Projection(_) => has_only(node, is_of_run)?,
            LogicalPlan::Sort(_) => has_only(node, |expr| Ok(is_lasting(expr)? && !has_parameters(expr)?))?,
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

fn has_only(node: &LogicalPlan, is_such: impl Fn(&Expr) -> Result<bool>) -> Result<bool> {
    let mut has_only = true;
    node.apply_expressions(|expr| {
        has_only &= is_such(expr)?;
        Ok(if has_only { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(has_only)
}

/// The parts of an optimized plan that is one scan.
pub(super) struct Shape<'p> {
    plan: &'p LogicalPlan,
    exprs: Option<&'p [Expr]>,
    sort: &'p [SortExpr],
    /// Whether the sort names what comes out, rather than what is read.
    sorts_outputs: bool,
    cut: Cut,
    /// What the scan's columns are called above it.
    read: &'p DFSchemaRef,
    scan: &'p TableScan,
}

impl<'p> Shape<'p> {
    /// From the top: a limit, a sort and a projection, each at most once, and the scan. A limit below a sort would say
    /// which rows are sorted.
    pub(super) fn of(plan: &'p LogicalPlan) -> Option<Self> {
        let (mut exprs, mut sort, mut sorts_outputs): (Option<&[Expr]>, &[SortExpr], _) = (None, &[], false);
        let mut cut = Cut::default();
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
                    cut = cut.below(limit)?;
                    &limit.input
                }
                LogicalPlan::Sort(node) if sort.is_empty() => {
                    (sort, sorts_outputs) = (&node.expr, exprs.is_none());
                    cut.needs_at_most(node.fetch);
                    &node.input
                }
                LogicalPlan::Projection(projection) if exprs.is_none() => {
                    exprs = Some(&projection.expr);
                    &projection.input
                }
                LogicalPlan::TableScan(scan) if sort.is_empty() || scan.fetch.is_none() => {
                    cut.needs_at_most(scan.fetch);
                    // Without a projection what comes out is what is read.
                    let sorts_outputs = sorts_outputs && exprs.is_some();
                    let read = read.unwrap_or(&scan.projected_schema);
                    return Some(Self { plan, exprs, sort, sorts_outputs, cut, read, scan });
                }
                _ => return None,
            };
        }
    }

    pub(super) fn read(
        &self,
        receivers: &[Receiver],
        lasting: &Lasting,
        engine: &Engine,
    ) -> Result<Option<DirectRead>> {
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
        let mut given = Vec::new();
        let outputs = match self.exprs {
            None => None,
            Some(exprs) => {
                let exprs = exprs.iter().map(|expr| lasting.asked.put_back(expr)).collect::<Result<Vec<_>>>()?;
                // Whether a column takes a value that is said to have a type is found out before any row is read.
                let Some(all) = Given::all(&exprs, receivers) else { return Ok(None) };
                given = all;
                Some(Outputs::of(&exprs, self.read, self.plan.schema().inner(), engine)?)
            }
        };
        let name = self.scan.table_name.clone();
        let filtered = Arc::new(DFSchema::try_from_qualified_schema(name, &relation.arrow_schema)?);
        let has_filters = !self.scan.filters.is_empty();
        let checked = if has_filters { Checked::of(provider, &columns, self.scan, engine)? } else { None };
        let looked = checked.as_ref().zip(places.as_deref());
        let looked = looked.and_then(|(checked, places)| Looked::of(&checked.scan, &self.scan.filters, places));
        Ok(Some(DirectRead {
            point: PointPredicate::of(&relation, &self.scan.filters),
            range: RangePredicate::of(&relation, &self.scan.filters),
            scan: DirectScan::new(relation, columns, Arc::clone(self.read.inner()), provider.reversible())
                .locked_as(provider.target()),
            filters: self.scan.filters.clone(),
            filtered,
            outputs,
            given,
            places,
            order,
            cut: self.cut.clone(),
            checked,
            looked,
            batch_rows: engine.state().config().batch_size(),
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
