//! Reads that need no optimizer: columns of one table, where the key alone says which rows.
//!
//! What the optimizer would make of such a query is the same at every run: one scan, perhaps with expressions over its
//! columns. So it is asked once. A run puts the parameters into the filters, finds the keys they leave, and asks the store.
//! Where the keys turn out not to say it all, the rows of a few keys are [`checked`]. Else (a filter on another column, a value
//! that must be computed) the run goes the long way, which gives the same rows: [`DirectRead::rows`] then gives `None`.
//!
//! ```text
//!     shape     which plans are such reads
//!     asked     what they ask of the moment in which they run
//!     checked   rows that are looked at once they are read
//!     cut       LIMIT and OFFSET
//! ```

mod asked;
mod checked;
mod cut;
mod shape;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalSortExpr;
use futures::StreamExt;
use futures::stream::BoxStream;
use tablegate_store::table::Direction;
use tablegate_types::error::SqlResult;
use tablegate_types::single_row::SingleRow;
use tablegate_types::style::Style;

use self::asked::Asked;
use self::checked::Checked;
use self::cut::Cut;
use self::shape::{Shape, is_candidate};
use super::assigned::{Receiver, check_constants};
use super::outputs::{Outputs, Run, RunOutputs, SHORT_ROWS, in_run};
use crate::engine::Engine;
use crate::expr::{folded, is_foldable};
use crate::key_range::{KeyPlan, PointPredicate, RangePredicate};
use crate::outcome::RowStream;
use crate::reads::Reads;
use crate::scan::DirectScan;

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
    /// All columns of the relation, as the filters name them.
    filtered: DFSchemaRef,
    /// The key that the filters name, where they name one.
    point: Option<PointPredicate>,
    /// The rows of a partition that they name, where they name such.
    range: Option<RangePredicate>,
    /// What comes out, over the scan's columns; `None` for these columns as they are.
    outputs: Option<Outputs>,
    /// Which of the scan's columns come out, where these are all that does.
    places: Option<Box<[usize]>>,
    /// How the rows of a few keys are looked at, where there is something to look at.
    checked: Option<Checked>,
    order: Vec<PhysicalSortExpr>,
    cut: Cut,
    batch_rows: usize,
}

impl DirectRead {
    /// The read that a planned query is, if it is one.
    ///
    /// # Errors
    /// The optimizer's, which it would give for the same query on the long way too.
    pub(super) fn of(
        (plan, style): (&LogicalPlan, Style),
        receivers: &[Receiver],
        engine: &Engine,
    ) -> SqlResult<Option<Self>> {
        let state = engine.state();
        if !is_candidate(plan)? {
            return Ok(None);
        }
        let (mut plan, asked) = Asked::taken_out(plan.clone())?;
        if is_foldable(&plan)? {
            if style != Style::PLAIN {
                return Ok(None);
            }
            // What is wrong with a constant is told by the long way, in each run.
            let Ok(folded) = folded(plan, engine.timeless()) else { return Ok(None) };
            if check_constants(&folded, receivers, style).is_err() {
                return Ok(None);
            }
            plan = folded;
        }
        let optimized = state.optimize(&plan)?;
        Ok(Shape::of(&optimized).map(|shape| shape.read(receivers, &asked, state)).transpose()?.flatten())
    }

    /// The rows with these parameters, and whether they may be many; `None` when their keys do not say all about which ones.
    ///
    /// # Errors
    /// None are expected from the call itself. The stream ends with an error when the store or an expression fails.
    pub(super) fn rows(&self, run: &Run<'_>, reads: &Arc<Reads>) -> SqlResult<Option<(RowStream, Length)>> {
        let outputs = self.outputs.as_ref().map(|outputs| outputs.in_run(run)).transpose()?;
        if let Some(row) = self.row(run.parameters, reads)? {
            return Ok(Some((with_outputs(row, outputs), Length::Short)));
        }
        let plan = self.keys(run)?;
        let Some(cut) = self.cut.in_run(run)? else { return Ok(None) };
        if !plan.is_exact() {
            let Some(checked) = self.checked.as_ref().filter(|_| checked::has_few_keys(&plan)) else { return Ok(None) };
            let Some(direction) = self.direction(&checked.scan, &plan)? else { return Ok(None) };
            let rows = cut.of(checked.rows(plan, direction, run, reads, self.batch_rows)?);
            return Ok(Some((with_outputs(rows, outputs), Length::Short)));
        }
        let Some(direction) = self.direction(&self.scan, &plan)? else { return Ok(None) };
        let length = self.length(&plan, cut.needed(), reads);
        let rows = self.scan.rows(plan, direction, cut.needed(), Arc::clone(reads), self.batch_rows);
        Ok(Some((with_outputs(cut.of(rows), outputs), length)))
    }

    /// The direction in which a scan's rows come in the order that is wanted; `None` when neither gives it.
    fn direction(&self, scan: &DirectScan, plan: &KeyPlan) -> Result<Option<Direction>> {
        match self.order.as_slice() {
            [] => Ok(Some(Direction::Forward)),
            order => scan.direction(plan, order),
        }
    }

    /// A partition is taken to be short: it is what is read for a page or a list.
    fn length(&self, plan: &KeyPlan, needed: Option<usize>, reads: &Reads) -> Length {
        let is_cut = needed.is_some_and(|needed| needed <= SHORT_ROWS);
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
        self.point.is_some() && self.places.is_some() && self.cut.leaves_one() && self.scan.shows_values()
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

    /// The keys of the rows, and whether they say all about which ones.
    fn keys(&self, run: &Run<'_>) -> SqlResult<KeyPlan> {
        let relation = &self.scan.relation;
        if let Some(plan) = self.range.as_ref().and_then(|range| range.plan(relation, run.parameters)) {
            return Ok(plan);
        }
        let filters = self.filters.iter().map(|filter| in_run(filter, &self.filtered, run));
        Ok(KeyPlan::from_filters(relation, &filters.collect::<SqlResult<Vec<_>>>()?))
    }

    /// The row of the one key that the filters name; `None` when they do not, or more has to be looked at.
    fn row(
        &self,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> Result<Option<BoxStream<'static, Result<RecordBatch>>>> {
        let Some(point) = self.point.as_ref().filter(|_| self.cut.leaves_one()) else { return Ok(None) };
        match point.key(&self.scan.relation, parameters) {
            Some(key) => self.scan.row(&key, reads),
            None => Ok(None),
        }
    }
}

/// The rows, or expressions over them.
fn with_outputs(rows: BoxStream<'static, Result<RecordBatch>>, outputs: Option<RunOutputs>) -> RowStream {
    match outputs {
        None => Box::pin(rows.map(|batch| Ok(batch?))),
        Some(outputs) => Box::pin(rows.map(move |batch| Ok(outputs.of(&batch?)?))),
    }
}
