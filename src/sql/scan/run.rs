//! A scan while it runs: its groups of key ranges one after the other, as batches of the columns that come out.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use tablegate_store::table::{
    Direction, KeyRange, Predicate, ScanPlan, ScanRequest, ScanStats, StoreError, TableReader,
};
use tablegate_types::error::SqlError;

use super::early_filter::EarlyFilter;
use super::layout::RowLayout;
use super::misfit::ReadRows;
use super::residual::Residual;
use super::sieve::Sieve;
use super::{newest, overlay};
use crate::key_range::{Caps, KeyPlan, in_both};
use crate::newest::TargetNumber;
use crate::reads::Reads;
use crate::relation::Relation;
use crate::tx::OwnWrites;

/// Ranges with what is left to filter in them.
#[derive(Debug, Clone)]
pub(super) struct GroupScan {
    /// Ascending and disjoint.
    pub ranges: Arc<[KeyRange]>,
    /// Over the columns that are read.
    pub residual: Option<Arc<dyn PhysicalExpr>>,
    /// What the store may leave out by it: no row that the residual is true of.
    pub predicate: Option<Predicate>,
}

/// Everything a running scan needs.
pub(super) struct ScanRun {
    pub relation: Arc<Relation>,
    pub reads: Arc<Reads>,
    /// That of the columns that are read, where it was made before.
    pub layout: Option<Arc<RowLayout>>,
    pub read: Arc<[usize]>,
    /// Those of them whose texts come as dictionaries.
    pub dictionaries: Arc<[usize]>,
    pub projection: Arc<[usize]>,
    pub plan: Arc<KeyPlan>,
    pub groups: Arc<[GroupScan]>,
    pub dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// How many keys that these filters name are looked up.
    pub caps: Caps,
    pub direction: Direction,
    pub fetch: Option<usize>,
    pub batch_rows: usize,
    /// Which part of it this is, and of how many.
    pub part: (usize, usize),
    /// Its number among the tables that the statement locks rows of.
    pub target: Option<TargetNumber>,
    pub stats: Arc<ScanStats>,
    pub metrics: BaselineMetrics,
}

impl ScanRun {
    /// The rows. Nothing is read before the stream is polled: by then a join knows the keys of its build side.
    pub(super) fn into_stream(self) -> BoxStream<'static, Result<RecordBatch>> {
        let fetch = self.fetch;
        let metrics = self.metrics.clone();
        let rows = stream::once(async move { self.start() }).flatten();
        let counted = rows.inspect(move |batch| {
            if let Ok(batch) = batch {
                metrics.record_output(batch.num_rows());
            }
        });
        match fetch {
            None => counted.boxed(),
            Some(fetch) => take_rows(counted.boxed(), fetch),
        }
    }

    fn start(self) -> BoxStream<'static, Result<RecordBatch>> {
        let groups = match self.groups_of_part() {
            Ok(groups) => groups,
            Err(error) => return stream::once(async { Err(error) }).boxed(),
        };
        let run = Arc::new(self);
        let in_order: Vec<GroupScan> = match run.direction {
            Direction::Forward => groups,
            Direction::Reverse => groups.into_iter().rev().collect(),
        };
        stream::iter(in_order)
            .flat_map(move |group| run.group(&group).unwrap_or_else(|error| stream::once(async { Err(error) }).boxed()))
            .boxed()
    }

    /// The groups, cut down to the keys that run-time filters leave.
    fn narrowed_groups(&self) -> Vec<GroupScan> {
        let Some(within) = self.plan.narrowed_by(&self.caps, &self.relation, &self.dynamic, &self.output_names())
        else {
            return self.groups.to_vec();
        };
        let narrowed =
            self.groups.iter().zip(within).map(|(group, ranges)| GroupScan { ranges: ranges.into(), ..group.clone() });
        narrowed.filter(|group| !group.ranges.is_empty()).collect()
    }

    /// The narrowed groups, cut down to the keys of this part.
    fn groups_of_part(&self) -> Result<Vec<GroupScan>> {
        let (narrowed, (part, parts)) = (self.narrowed_groups(), self.part);
        if parts == 1 {
            return Ok(narrowed);
        }
        // By what every part knows alike: run-time filters may have said less when another part began.
        let all: Vec<KeyRange> = self.plan.ranges().cloned().collect();
        let keys = self.reader()?.split(&self.relation.stored.name, &all, parts);
        if part > keys.len() {
            return Ok(Vec::new());
        }
        let own = KeyRange::between(part.checked_sub(1).and_then(|before| keys.get(before)), keys.get(part));
        let cut = |group: GroupScan| GroupScan { ranges: in_both(&group.ranges, &own).into(), ..group };
        Ok(narrowed.into_iter().map(cut).filter(|group| !group.ranges.is_empty()).collect())
    }

    fn output_names(&self) -> Vec<&str> {
        self.projection.iter().map(|&index| self.relation.columns[index].name.as_str()).collect()
    }

    /// What the stores will do for it, as far as that is known before it runs.
    ///
    /// # Errors
    /// 0A000 for a place that this server has no store for.
    pub(super) fn plan(&self) -> Result<ScanPlan> {
        let mut plan = ScanPlan::default();
        for group in self.groups.iter() {
            plan.add(self.reader()?.describe(&self.ask(group).request));
        }
        Ok(plan)
    }

    fn reader(&self) -> Result<&dyn TableReader> {
        self.reads.readers.of(&self.relation.stored).map_err(|error| DataFusionError::External(error))
    }

    fn ask(&self, group: &GroupScan) -> Asked<'_> {
        let own = self.reads.own_writes(&self.relation.stored);
        // Entities the transaction has changed can hide some of those the store returns.
        let hidden = own.map_or(0, |own| own.count_at_most(&group.ranges));
        let own = own.filter(|_| hidden > 0);
        let layout = self.layout.clone().filter(|_| own.is_none());
        let layout = layout.unwrap_or_else(|| {
            let (relation, dictionaries) = (&self.relation, &self.dictionaries);
            Arc::new(RowLayout::with_dictionaries(relation, &self.read, dictionaries, own.is_some()))
        });
        let limit = self.fetch.filter(|_| group.residual.is_none()).map(|fetch| fetch.saturating_add(hidden));
        let request = ScanRequest {
            table: self.relation.stored.name.clone(),
            ranges: Arc::clone(&group.ranges),
            columns: Arc::clone(layout.scan_columns()),
            predicate: group.predicate.clone().filter(|_| self.reads.pushes_filters()),
            direction: self.direction,
            limit,
            batch_rows: limit.map_or(self.batch_rows, |limit| limit.clamp(1, self.batch_rows)),
            stats: Arc::clone(&self.stats),
        };
        Asked { request, layout, own }
    }

    /// The rows in a group's ranges as they are stored, with the transaction's own writes.
    fn stored(&self, group: &GroupScan) -> Result<Stored> {
        if let Some((table, newest)) = self.reads.newest_rows(self.target) {
            let layout = RowLayout::with_dictionaries(&self.relation, &self.read, &self.dictionaries, false);
            let rows = newest.range(table, &group.ranges, self.direction);
            let rows = newest::batches(rows, layout.scan_columns(), self.batch_rows);
            return Ok((Arc::new(layout), rows));
        }
        self.reads.note_scan(&self.relation.stored, self.target, &group.ranges);
        let Asked { request, layout, own } = self.ask(group);
        let scan = self.reader()?.scan(request).map_err(external)?;
        let scan = match own {
            None => scan.map_err(external).boxed(),
            // The store may leave out versions that the transaction has overwritten: its own stand for them.
            Some(own) => {
                overlay::merge(scan, own, &group.ranges, layout.scan_columns(), self.direction, self.batch_rows)
            }
        };
        Ok((layout, scan))
    }

    fn group(self: &Arc<Self>, group: &GroupScan) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let (layout, scan) = self.stored(group)?;
        let residual = group.residual.as_ref().map(|filter| Residual::new(filter, layout.schema())).transpose()?;
        let early = residual.as_ref().map(|residual| EarlyFilter::of(residual, &layout)).transpose()?.flatten();
        let outputs = self.projection.len();
        let reads = self.reads.clone();
        let dynamic = self.dynamic.clone();
        let mut sieve: Option<Sieve> = None;
        let rows = scan.and_then(move |scanned| {
            let finished = finish(&layout, &scanned, (early.as_ref(), residual.as_ref()), outputs)
                .and_then(|rows| sieve.get_or_insert_with(|| Sieve::new(&dynamic, &rows.schema())).sifted(rows));
            if let Ok(rows) = &finished {
                reads.count_entities(scanned.num_rows(), rows.num_rows());
            }
            futures::future::ready(finished)
        });
        let rows = rows.try_filter(|batch| futures::future::ready(batch.num_rows() > 0));
        let (run, group) = (Arc::clone(self), group.clone());
        Ok(rows.or_else(move |error| run.rows_read(&group).told(error).map(Err)).boxed())
    }

    fn rows_read(&self, group: &GroupScan) -> ReadRows {
        ReadRows {
            relation: Arc::clone(&self.relation),
            reads: Arc::clone(&self.reads),
            columns: Arc::clone(&self.read),
            ranges: Arc::clone(&group.ranges),
            predicate: group.predicate.clone().filter(|_| self.reads.pushes_filters()),
            batch_rows: self.batch_rows,
        }
    }
}

/// Columns of a scan, and the relation's columns that are made of them.
type Stored = (Arc<RowLayout>, BoxStream<'static, Result<RecordBatch>>);

/// What one group asks the store for.
struct Asked<'a> {
    request: ScanRequest,
    layout: Arc<RowLayout>,
    /// The transaction's own writes to lay over it.
    own: Option<&'a OwnWrites>,
}

/// The relation's rows, filtered, with only the columns that come out.
fn finish(
    layout: &RowLayout,
    scanned: &RecordBatch,
    (early, residual): (Option<&EarlyFilter>, Option<&Residual>),
    outputs: usize,
) -> Result<RecordBatch> {
    let left = early.map(|early| early.left(scanned, layout)).transpose()?.flatten();
    let rows = layout
        .assemble(left.as_ref().unwrap_or(scanned))
        .map_err(|error: Box<SqlError>| DataFusionError::External(error))?;
    match residual {
        Some(residual) => residual.sifted(rows, outputs),
        None if rows.num_columns() > outputs => Ok(rows.project(&(0..outputs).collect::<Vec<_>>())?),
        None => Ok(rows),
    }
}

pub(super) fn external(error: StoreError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The first `fetch` rows; the scan is dropped as soon as they are there.
fn take_rows(rows: BoxStream<'static, Result<RecordBatch>>, fetch: usize) -> BoxStream<'static, Result<RecordBatch>> {
    let state = (rows, fetch);
    stream::try_unfold(state, |(mut rows, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = rows.next().await.transpose()? else { return Ok(None) };
        let taken = batch.slice(0, batch.num_rows().min(left));
        let left = left - taken.num_rows();
        Ok(Some((taken, (rows, left))))
    })
    .boxed()
}
