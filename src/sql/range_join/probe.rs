//! The rows of the side that is not sorted: each searches its partners, and what the join gives comes of them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter, take, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{JoinSide, JoinType, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::{Stream, StreamExt, stream};
use tokio::task::yield_now;

use super::gather::Gathered;
use super::join::RangeJoin;
use super::sorted::Sorted;

/// Most bytes of the pairs that come at a time, by the mean length of a row of each side.
const PAIRS_BYTES_MAX: usize = 8 << 20;

/// Rows that come of their own: those with a partner, or those without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    Matched,
    Unmatched,
}

/// What a join gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gives {
    pub pairs: bool,
    pub of_left: Option<Alone>,
    pub of_right: Option<Alone>,
}

impl Gives {
    /// `None` for a join that adds a mark.
    pub(super) fn of(join_type: JoinType) -> Option<Self> {
        use Alone::{Matched, Unmatched};
        let (pairs, of_left, of_right) = match join_type {
            JoinType::Inner => (true, None, None),
            JoinType::Left => (true, Some(Unmatched), None),
            JoinType::Right => (true, None, Some(Unmatched)),
            JoinType::Full => (true, Some(Unmatched), Some(Unmatched)),
            JoinType::LeftSemi => (false, Some(Matched), None),
            JoinType::RightSemi => (false, None, Some(Matched)),
            JoinType::LeftAnti => (false, Some(Unmatched), None),
            JoinType::RightAnti => (false, None, Some(Unmatched)),
            JoinType::LeftMark | JoinType::RightMark => return None,
        };
        Some(Self { pairs, of_left, of_right })
    }

    pub(super) fn of_side(self, side: JoinSide) -> Option<Alone> {
        if side == JoinSide::Left { self.of_left } else { self.of_right }
    }
}

/// What the join gives of a partition of the other side.
pub(super) fn probed(
    join: Arc<RangeJoin>,
    gathered: Arc<Gathered>,
    input: SendableRecordBatchStream,
    output: SchemaRef,
    batch_rows: usize,
    metrics: BaselineMetrics,
) -> impl Stream<Item = Result<RecordBatch>> {
    let sorted = &gathered.sorted;
    let bytes = row_bytes(&sorted.rows);
    let met = join.gives.of_side(join.terms.sorted).map(|_| Met::new(sorted));
    let probe = Probe {
        join,
        gathered,
        input: Some(input),
        output,
        batch_rows,
        bytes,
        met,
        rest: UInt32Array::new_null(0),
        current: None,
        metrics,
    };
    stream::try_unfold(probe, |mut probe| async move { Ok(probe.next().await?.map(|batch| (batch, probe))) })
}

struct Probe {
    join: Arc<RangeJoin>,
    gathered: Arc<Gathered>,
    /// `None` once it has ended.
    input: Option<SendableRecordBatchStream>,
    output: SchemaRef,
    batch_rows: usize,
    /// Of a row of the sorted side, in the mean.
    bytes: usize,
    /// Which rows of the sorted side had a partner, where it is asked.
    met: Option<Met>,
    /// Rows of the sorted side that come once the other one has ended.
    rest: UInt32Array,
    current: Option<Current>,
    metrics: BaselineMetrics,
}

/// A batch whose partners are being given.
struct Current {
    rows: RecordBatch,
    /// The length of one of them, in the mean.
    bytes: usize,
    /// The entries that are partners of each row, but for what is asked of pairs besides.
    spans: Vec<Range<usize>>,
    /// The row whose partners come next.
    at: usize,
    matched: Vec<bool>,
}

/// Some pairs: rows of both sides.
struct Pairs {
    probing: UInt32Array,
    sorted: UInt32Array,
}

impl Probe {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let given = match self.current.take() {
                Some(current) => self.give(current)?,
                None => match &mut self.input {
                    None => self.rest()?,
                    Some(input) => match input.next().await.transpose()? {
                        Some(rows) => {
                            let began = self.metrics.elapsed_compute().clone();
                            let _time = began.timer();
                            self.current = Some(self.partners(rows)?);
                            None
                        }
                        None => {
                            self.input = None;
                            self.rest = self.unmet();
                            None
                        }
                    },
                },
            };
            if let Some(batch) = given.filter(|batch| batch.num_rows() > 0) {
                self.metrics.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            if self.input.is_none() && self.current.is_none() && self.rest.is_empty() {
                return Ok(None);
            }
            yield_now().await;
        }
    }

    /// The next pairs of these rows, or what comes behind all of them.
    fn give(&mut self, mut current: Current) -> Result<Option<RecordBatch>> {
        let compute = self.metrics.elapsed_compute().clone();
        let _time = compute.timer();
        if let Some(pairs) = self.pairs(&mut current)? {
            let batch = self.join.gives.pairs.then(|| self.of_pairs(&current.rows, &pairs)).transpose();
            self.current = Some(current);
            return batch;
        }
        let side = self.join.probing();
        let Some(alone) = self.join.gives.of_side(side) else { return Ok(None) };
        let wanted = rows_where(&current.matched, alone);
        self.alone(&current.rows, side, &wanted).map(Some)
    }

    /// The entries that each row asks for.
    fn partners(&mut self, rows: RecordBatch) -> Result<Current> {
        let join = Arc::clone(&self.join);
        let mut spans = self.gathered.sorted.of_keys(&join.on_of(join.probing()), &rows)?;
        // Bounds are computed of rows only that have rows to be compared with: for others they may fail.
        let asking: UInt32Array = (0_u32..).zip(&spans).filter(|(_, span)| has_rows(span)).map(|(at, _)| at).collect();
        let all_ask = asking.len() == rows.num_rows();
        let compared = if all_ask { rows.clone() } else { take_record_batch(&rows, &asking)? };
        for bound in join.terms.bounds.iter().filter(|_| !asking.is_empty()) {
            let values = bound.value.evaluate(&compared)?.into_array(compared.num_rows())?;
            let encoded = self.gathered.sorted.encode(&values)?;
            for (place, &at) in asking.values().iter().enumerate() {
                let span = &mut spans[at as usize];
                *span = match values.is_null(place) {
                    true => 0..0,
                    false => self.gathered.sorted.within(span.clone(), bound.op, encoded.row(place)),
                };
            }
        }
        if let Some(first) = &join.first {
            spans.iter_mut().for_each(|span| span.end = span.end.min(span.start.saturating_add(first.rows)));
        }
        let mut matched = vec![false; rows.num_rows()];
        let mut at = 0;
        if join.terms.residual.is_none() {
            matched = spans.iter().map(has_rows).collect();
            if let Some(met) = &mut self.met {
                spans.iter().for_each(|span| met.add_span(span));
            }
            if !join.gives.pairs {
                at = rows.num_rows();
            }
        }
        let bytes = row_bytes(&rows);
        Ok(Current { rows, bytes, spans, at, matched })
    }

    /// The next pairs; `None` where there are no more.
    fn pairs(&mut self, current: &mut Current) -> Result<Option<Pairs>> {
        let most = (PAIRS_BYTES_MAX / (self.bytes + current.bytes).max(1)).clamp(1, self.batch_rows);
        // One partner is enough for a row that comes once.
        let is_known =
            |current: &Current, at: usize| !self.join.gives.pairs && self.met.is_none() && current.matched[at];
        let (mut probing, mut sorted) = (Vec::with_capacity(most), Vec::with_capacity(most));
        while current.at < current.spans.len() && probing.len() < most {
            let at = current.at;
            let known = is_known(current, at);
            let span = &mut current.spans[at];
            let count = if known { 0 } else { span.len().min(most - probing.len()) };
            probing.extend(std::iter::repeat_n(u32::try_from(at).unwrap_or(u32::MAX), count));
            sorted.extend((span.start..span.start + count).map(|entry| self.gathered.sorted.row(entry)));
            span.start += count;
            if known || !has_rows(span) {
                current.at += 1;
            }
        }
        if probing.is_empty() {
            return Ok(None);
        }
        let pairs = Pairs { probing: probing.into(), sorted: sorted.into() };
        let Some(residual) = &self.join.terms.residual else { return Ok(Some(pairs)) };
        let pairs = self.filtered(&current.rows, residual, &pairs)?;
        pairs.probing.values().iter().for_each(|&at| current.matched[at as usize] = true);
        if let Some(met) = &mut self.met {
            pairs.sorted.values().iter().for_each(|&row| met.rows.set_bit(row as usize, true));
        }
        Ok(Some(pairs))
    }

    fn filtered(&self, rows: &RecordBatch, residual: &JoinFilter, pairs: &Pairs) -> Result<Pairs> {
        let columns = residual.column_indices().iter().map(|column| self.column(rows, column, pairs));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(pairs.probing.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(residual.schema()), columns, &options)?;
        let wanted = residual.expression().evaluate(&batch)?.into_array(batch.num_rows())?;
        let of = |numbers: &UInt32Array| {
            let kept = filter(numbers, wanted.as_boolean())?;
            Result::<UInt32Array>::Ok(kept.as_primitive().clone())
        };
        Ok(Pairs { probing: of(&pairs.probing)?, sorted: of(&pairs.sorted)? })
    }

    fn column(&self, rows: &RecordBatch, column: &ColumnIndex, pairs: &Pairs) -> Result<ArrayRef> {
        let (from, numbers) = match column.side == self.join.terms.sorted {
            true => (&self.gathered.sorted.rows, &pairs.sorted),
            false => (rows, &pairs.probing),
        };
        Ok(take(from.column(column.index), numbers, None)?)
    }

    fn of_pairs(&self, rows: &RecordBatch, pairs: &Pairs) -> Result<RecordBatch> {
        let columns = self.join.columns.iter().map(|column| self.column(rows, column, pairs));
        self.batch(columns.collect::<Result<_>>()?, pairs.probing.len())
    }

    /// Rows of one side; the columns of the other are NULL.
    fn alone(&self, rows: &RecordBatch, side: JoinSide, wanted: &UInt32Array) -> Result<RecordBatch> {
        let column = |(place, column): (usize, &ColumnIndex)| match column.side == side {
            true => Ok(take(rows.column(column.index), wanted, None)?),
            false => {
                let data_type = self.output.field(place).data_type();
                Ok(arrow::array::new_null_array(data_type, wanted.len()))
            }
        };
        let columns = self.join.columns.iter().enumerate().map(column);
        self.batch(columns.collect::<Result<_>>()?, wanted.len())
    }

    /// The rows of the sorted side that come behind all of the other one.
    fn unmet(&self) -> UInt32Array {
        match (&self.met, self.join.gives.of_side(self.join.terms.sorted)) {
            (Some(met), Some(alone)) => rows_where(&met.all(&self.gathered.sorted), alone),
            _ => UInt32Array::new_null(0),
        }
    }

    /// The next of them.
    fn rest(&mut self) -> Result<Option<RecordBatch>> {
        let rows = self.rest.len().min(self.batch_rows);
        let next = self.rest.slice(0, rows);
        self.rest = self.rest.slice(rows, self.rest.len() - rows);
        self.alone(&self.gathered.sorted.rows, self.join.terms.sorted, &next).map(Some)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.output), columns, &options)?)
    }
}

/// Rows of the sorted side that had a partner.
struct Met {
    rows: BooleanBufferBuilder,
    /// How many spans begin at an entry, less those that end before it.
    spans: Vec<i64>,
}

impl Met {
    fn new(sorted: &Sorted) -> Self {
        let mut rows = BooleanBufferBuilder::new(sorted.rows.num_rows());
        rows.append_n(sorted.rows.num_rows(), false);
        Self { rows, spans: vec![0; sorted.len() + 1] }
    }

    fn add_span(&mut self, span: &Range<usize>) {
        if has_rows(span) {
            self.spans[span.start] += 1;
            self.spans[span.end] -= 1;
        }
    }

    fn all(&self, sorted: &Sorted) -> Vec<bool> {
        let mut met: Vec<bool> = (0..sorted.rows.num_rows()).map(|row| self.rows.get_bit(row)).collect();
        let mut around = 0;
        for (entry, change) in self.spans.iter().enumerate().take(sorted.len()) {
            around += change;
            if around > 0 {
                met[sorted.row(entry) as usize] = true;
            }
        }
        met
    }
}

/// The length of a row in the mean, without what else is in the buffers that its values are in.
fn row_bytes(rows: &RecordBatch) -> usize {
    let of_column = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or_default();
    rows.columns().iter().map(of_column).sum::<usize>() / rows.num_rows().max(1)
}

/// Whether a row has partners of these entries.
fn has_rows(span: &Range<usize>) -> bool {
    span.start < span.end
}

fn rows_where(matched: &[bool], alone: Alone) -> UInt32Array {
    let wanted = alone == Alone::Matched;
    (0_u32..).zip(matched).filter(|&(_, &matched)| matched == wanted).map(|(row, _)| row).collect()
}
