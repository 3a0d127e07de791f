//! The results of all sorts beside each other: each gives the groups in the same order.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::Row;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use futures::future::try_join_all;
use futures::{Stream, stream};

use super::collector::Collector;
use super::sorted::Sorted;

/// Most groups whose results are given at a time.
const GROUPS_MOST: usize = 8192;
/// With so many bytes they are given, however few they are.
const BYTES_MOST: usize = 1 << 20;
/// How often what is collected is there while it is put together.
const COPIES: usize = 2;
/// In what steps memory is asked for.
const STEP_BYTES: usize = 1 << 18;

/// The sorts of an aggregation.
pub(super) struct Sorts {
    /// The groups and the results of what needs no sort; only absent where all rows are one group.
    pub others: Option<Sorted>,
    /// Where each column of `others` is among the results.
    pub places: Vec<usize>,
    pub parts: Vec<(Sorted, Collector)>,
    pub schema: SchemaRef,
    pub memory: MemoryReservation,
    /// What the sorts have as their own.
    pub shares: MemoryReservation,
}

/// What becomes of them.
pub(super) fn results(sorts: Sorts) -> impl Stream<Item = Result<RecordBatch>> + Send {
    stream::try_unfold((sorts, State::Begins), |(mut sorts, state)| async move {
        match state {
            State::Begins => sorts.begin().await?,
            State::Goes => {}
            State::IsOver => return Ok(None),
        }
        let next = match sorts.others {
            Some(_) => sorts.next_groups().await?,
            None => Some(sorts.only_group().await?),
        };
        let state = if sorts.others.is_some() { State::Goes } else { State::IsOver };
        Ok(next.map(|next| (next, (sorts, state))))
    })
}

enum State {
    Begins,
    Goes,
    IsOver,
}

impl Sorts {
    /// All of them read the same rows, and give none before they have read the last: so they do it together.
    async fn begin(&mut self) -> Result<()> {
        let sorts = self.others.iter_mut().chain(self.parts.iter_mut().map(|(sorted, _)| sorted));
        try_join_all(sorts.map(Sorted::has_more)).await.map(|_| ())
    }

    /// The results of the next groups.
    async fn next_groups(&mut self) -> Result<Option<RecordBatch>> {
        let Self { others, parts, memory, .. } = self;
        let Some(others) = others else { return Ok(None) };
        if !others.has_more().await? {
            for (sorted, _) in parts {
                if sorted.has_more().await? {
                    return internal_err!("a sort has a group that is nowhere else");
                }
            }
            return Ok(None);
        }
        let (first, here) = (others.at(), others.here().min(GROUPS_MOST));
        let mut groups = 0;
        while groups < here {
            let group = others.group();
            let mut bytes = 0;
            for (sorted, collector) in &mut *parts {
                collector.begin_group(Some(others))?;
                take(sorted, collector, group.as_ref(), groups, |more| hold(memory, bytes + more)).await?;
                bytes += collector.bytes();
            }
            others.skip();
            groups += 1;
            if bytes >= BYTES_MOST {
                break;
            }
        }
        let columns = others.columns(&(first..first + groups));
        if others.is_of_one_group() {
            // All sorts have given all that they had.
            self.shares.free();
        }
        let results = self.put_together(columns, groups)?;
        self.memory.free();
        Ok(Some(results))
    }

    /// The results of all rows.
    async fn only_group(&mut self) -> Result<RecordBatch> {
        let Self { parts, memory, .. } = self;
        let mut bytes = 0;
        for (sorted, collector) in parts {
            collector.begin_group(None)?;
            take(sorted, collector, None, 0, |more| hold(memory, bytes + more)).await?;
            bytes += collector.bytes();
        }
        // All sorts have given all that they had.
        self.shares.free();
        let results = self.put_together(Vec::new(), 1)?;
        self.memory.free();
        Ok(results)
    }

    fn put_together(&mut self, columns: Vec<ArrayRef>, groups: usize) -> Result<RecordBatch> {
        let mut placed: Vec<(usize, ArrayRef)> = self.places.iter().copied().zip(columns).collect();
        // What others are asked for besides is no result.
        placed.retain(|(place, _)| *place < self.schema.fields().len());
        for (_, collector) in &mut self.parts {
            placed.extend(collector.finish(groups)?);
        }
        placed.sort_by_key(|(place, _)| *place);
        let columns = placed.into_iter().map(|(_, column)| column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(groups));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Takes all rows of a group from a sort; what is kept of them is held.
async fn take(
    sorted: &mut Sorted,
    collector: &mut Collector,
    group: Option<&Row<'_>>,
    number: usize,
    hold: impl Fn(usize) -> Result<()>,
) -> Result<()> {
    while sorted.has_more().await? {
        let rows = sorted.take_group(group);
        if rows.is_empty() {
            break;
        }
        collector.add(&sorted.values(&rows), number)?;
        hold(collector.bytes())?;
    }
    collector.end_group(number);
    Ok(())
}

/// Holds memory for so many bytes that are kept, and for putting them together.
fn hold(memory: &MemoryReservation, bytes: usize) -> Result<()> {
    match COPIES * bytes {
        needed if needed > memory.size() => memory.try_resize(needed.next_multiple_of(STEP_BYTES)),
        _ => Ok(()),
    }
}
