//! Reads that need no optimizer: columns of one table, where the key alone says which rows.
//!
//! What the optimizer would make of such a query is the same at every run: one scan, perhaps with expressions over its
//! columns. So it is asked once. A run puts the parameters into the filters, finds the keys they leave, and asks the store.
//! Where the keys turn out not to say it all, the rows of a few keys are [`super::checked`]. Else (a filter on another column, a value
//! that must be computed) the run goes the long way, which gives the same rows: [`DirectRead::rows`] then gives `None`.
//! [`shape`] says which plans are such reads.

mod looked;
mod shape;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchemaRef, Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalSortExpr;
use futures::future::ready;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use tablegate_store::table::{Direction, KeyRange};
use tablegate_types::error::SqlResult;
use tablegate_types::single_row::SingleRow;

use self::looked::Looked;
use self::shape::Shape;
pub(super) use self::shape::is_candidate;
use super::assigned::{Given, Receiver};
use super::checked::Checked;
use super::cut::Cut;
use super::lasting::Lasting;
use super::outputs::{Outputs, Run, RunOutputs, SHORT_ROWS, in_run};
use crate::engine::Engine;
use crate::key_range::{KeyPlan, PointPredicate, RangePredicate};
use crate::outcome::RowStream;
use crate::reads::Reads;
use crate::scan::DirectScan;

/// Of so many keys the rows are read one after the other.
const KEYS_MAX: usize = 64;

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
    /// The parameters among them that a column takes.
    given: Vec<Given>,
    /// Which of the scan's columns come out, where these are all that does.
    places: Option<Box<[usize]>>,
    /// How the rows of a few keys are looked at, where there is something to look at.
    checked: Option<Checked>,
    /// The same where the filters name one key, and a look at the row's values says the rest.
    looked: Option<Looked>,
    order: Vec<PhysicalSortExpr>,
    cut: Cut,
    batch_rows: usize,
}

impl DirectRead {
    /// The read that an optimized query is, if it is one.
    ///
    /// # Errors
    /// The engine's, for an expression that it cannot compute.
    pub(super) fn of(lasting: &Lasting, receivers: &[Receiver], engine: &Engine) -> SqlResult<Option<Self>> {
        Ok(Shape::of(&lasting.plan).map(|shape| shape.read(receivers, lasting, engine)).transpose()?.flatten())
    }

    /// The parameters that columns take.
    pub(super) fn given(&self) -> &[Given] {
        &self.given
    }

    /// The rows with these parameters, and whether they may be many; `None` when their keys do not say all about which ones.
    ///
    /// # Errors
    /// None are expected from the call itself. The stream ends with an error when the store or an expression fails.
    pub(super) fn rows(&self, run: &Run<'_>, reads: &Arc<Reads>) -> SqlResult<Option<(RowStream, Length)>> {
        if let Some(row) = self.row(run.parameters, reads)? {
            let outputs = self.outputs.as_ref().map(|outputs| outputs.in_run_of_row(run)).transpose()?;
            return Ok(Some((with_outputs(row, outputs), Length::Short)));
        }
        let outputs = self.outputs.as_ref().map(|outputs| outputs.in_run(run)).transpose()?;
        let plan = self.keys(run)?;
        let Some(cut) = self.cut.in_run(run)? else { return Ok(None) };
        if !plan.is_exact() {
            let Some(checked) = self.checked.as_ref().filter(|_| has_few_keys(&plan)) else { return Ok(None) };
            let Some(direction) = self.direction(&checked.scan, &plan)? else { return Ok(None) };
            let check = checked.in_run(run)?;
            let rows = checked.scan.rows(plan.of_keys_alone(), direction, None, Arc::clone(reads), self.batch_rows);
            let rows = rows.map(move |batch| check.left_of(&batch?));
            let rows = cut.of(rows.try_filter(|batch| ready(batch.num_rows() > 0)).boxed());
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
        let is_point = self.point.is_some() && self.places.is_some() && self.scan.shows_values();
        (is_point || self.looked.is_some()) && self.cut.leaves_one()
    }

    /// The row of the one key that the filters name with these parameters, if there is one; outer `None` where that takes
    /// another way: [`DirectRead::rows`].
    ///
    /// # Errors
    /// When the table cannot be read.
    #[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
    pub(super) fn single(&self, parameters: &[ScalarValue], reads: &Reads) -> SqlResult<Option<Option<SingleRow>>> {
        if let (Some(looked), Some(checked)) = (&self.looked, &self.checked) {
            return looked_at(looked, &checked.scan, parameters, reads);
        }
        let (Some(point), Some(places)) = (&self.point, &self.places) else { return Ok(None) };
        let Some(key) = point.key(&self.scan.relation, parameters) else { return Ok(None) };
        let found = self.scan.single(&key, places, reads)?;
        if let Some(found) = &found {
            let rows = usize::from(found.is_some());
            reads.count_entities(rows, rows);
        }
        Ok(found)
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

/// As [`DirectRead::single`], of a row that is looked at.
#[expect(clippy::option_option, reason = "as DirectRead::single")]
fn looked_at(
    looked: &Looked,
    scan: &DirectScan,
    parameters: &[ScalarValue],
    reads: &Reads,
) -> SqlResult<Option<Option<SingleRow>>> {
    let Some(key) = looked.point.key(&scan.relation, parameters) else { return Ok(None) };
    let row = match scan.single(&key, &looked.places, reads)? {
        Some(Some(row)) => row,
        other => return Ok(other),
    };
    let Some(is_wanted) = looked.wants(&row, parameters) else { return Ok(None) };
    reads.count_entities(1, usize::from(is_wanted));
    Ok(Some(is_wanted.then(|| looked.shown(row))))
}

/// Whether a plan names a few keys, and no ranges.
fn has_few_keys(plan: &KeyPlan) -> bool {
    let is_key = |range: &KeyRange| range.as_point().is_some();
    plan.ranges().take(KEYS_MAX + 1).count() <= KEYS_MAX && plan.ranges().all(is_key)
}

/// The rows, or expressions over them. What cannot be computed of a batch, as long values of all of its rows together cannot, is
/// computed of one row after the other.
fn with_outputs(rows: BoxStream<'static, Result<RecordBatch>>, outputs: Option<RunOutputs>) -> RowStream {
    let Some(outputs) = outputs else { return Box::pin(rows.map(|batch| Ok(batch?))) };
    let outputs = Arc::new(outputs);
    Box::pin(rows.flat_map(move |batch| {
        let (first, batch) = match batch {
            Ok(batch) => (outputs.of(&batch), batch),
            Err(error) => return stream::once(ready(Err(error.into()))).boxed(),
        };
        if first.is_ok() || batch.num_rows() < 2 {
            return stream::once(ready(first.map_err(Into::into))).boxed();
        }
        let outputs = Arc::clone(&outputs);
        stream::iter((0..batch.num_rows()).map(move |row| Ok(outputs.of(&batch.slice(row, 1))?))).boxed()
    }))
}
