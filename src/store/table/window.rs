//! Windows of entity group transactions where a store has nothing better than committing them one by one.

use std::collections::HashMap;
use std::collections::VecDeque;

use futures::stream::{FuturesUnordered, StreamExt};

use super::{Batch, CommitError, TableStore, Written};
use crate::model::{PartitionKey, TableName};

/// What became of each entity group transaction of a window, in the order they were given.
pub type WindowOutcome = Vec<Result<Vec<Written>, CommitError>>;

/// What became of a window of columns: transactions by their indexes, ascending, that were not committed. All others were.
pub type Refusals = Vec<(usize, CommitError)>;

/// What a window of all the transactions came to, as the outcome of columns.
pub(super) fn refused_of(outcome: WindowOutcome) -> Refusals {
    let refused = |(index, result): (usize, Result<_, CommitError>)| Some((index, result.err()?));
    outcome.into_iter().enumerate().filter_map(refused).collect()
}

/// Commits each on its own, as many partitions side by side as the store advises. Those of one partition follow each other,
/// and after an outcome that is not known none of that partition is begun: the later must not be there without the earlier.
pub(super) async fn commit_side_by_side<S: TableStore + ?Sized>(store: &S, batches: Vec<Batch>) -> WindowOutcome {
    let mut outcome: Vec<Option<Result<Vec<Written>, CommitError>>> = batches.iter().map(|_| None).collect();
    let mut waiting = in_lines(batches).into_iter();
    let side_by_side = store.parallelism().commits.max(1);
    let mut under_way = FuturesUnordered::new();
    loop {
        while under_way.len() < side_by_side
            && let Some(line) = waiting.next()
        {
            under_way.push(commit_in_turn(store, line));
        }
        let Some(done) = under_way.next().await else { break };
        for (index, result) in done {
            outcome[index] = Some(result);
        }
    }
    outcome.into_iter().map(|result| result.expect("each one is in a line")).collect()
}

/// Those of one partition, each with its place in the window.
type Line = VecDeque<(usize, Batch)>;

fn in_lines(batches: Vec<Batch>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut places: HashMap<(TableName, PartitionKey), usize> = HashMap::new();
    for (index, batch) in batches.into_iter().enumerate() {
        let place = *places.entry((batch.table().clone(), batch.partition().clone())).or_insert(lines.len());
        if place == lines.len() {
            lines.push(Line::new());
        }
        lines[place].push_back((index, batch));
    }
    lines
}

async fn commit_in_turn<S: TableStore + ?Sized>(
    store: &S,
    mut line: Line,
) -> Vec<(usize, Result<Vec<Written>, CommitError>)> {
    let mut done = Vec::with_capacity(line.len());
    while let Some((index, batch)) = line.pop_front() {
        let result = store.commit(batch).await;
        let stops = match &result {
            Err(CommitError::Store(error)) => Some(error.of_what_follows()),
            Ok(_) | Err(CommitError::Rejected { .. }) => None,
        };
        done.push((index, result));
        if let Some(error) = stops {
            done.extend(line.drain(..).map(|(index, _)| (index, Err(error.clone().into()))));
        }
    }
    done
}
