//! Entity group transactions on their way to a store that takes many of them together.
//!
//! A window is handed over in pieces, in the order of its rows: one piece is written while the next one waits behind it, so
//! that the store never waits for this statement, and other statements wait for two pieces at most. The store keeps to the
//! order in which it is given them, so nothing has to be held back here.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{FuturesOrdered, StreamExt};
use smallvec::SmallVec;
use tablegate_store::model::EntityKey;
use tablegate_store::table::{EntityWindow, GroupError, Refusals, TableStore, WindowOutcome};

use super::fill::Windows;
use super::in_flight::{Columns, Egt, Ended, Failure, Handed, Positions, Shared, kept_keys};

/// Most operations of a piece: some milliseconds of the store's time.
const OPERATIONS_MAX: usize = 2_500;
/// A piece that could be as long as this gets no further transaction. Texts count several times: see
/// [`tablegate_store::table::Batch::payload_bytes_at_most`].
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Pieces under way: one that is written, one that waits.
const UNDER_WAY: usize = 2;

/// Hands over pieces.
pub(super) struct Together {
    store: Arc<dyn TableStore>,
    shared: Arc<Shared>,
    keeps_versions: bool,
    waiting: VecDeque<Egt>,
    /// Columns that wait, all of them a piece. Where they do, nothing else does.
    columns: Option<Columns>,
    /// Transactions under way.
    under_way: usize,
    ended: Ended,
}

/// What is handed over together.
enum Piece {
    Egts(Vec<Egt>),
    Columns(Columns),
}

/// A piece that the store has answered.
enum Answered {
    Egts {
        positions: Vec<Positions>,
        /// Of each transaction, kept on request.
        keys: Vec<Vec<EntityKey>>,
        outcome: WindowOutcome,
    },
    Columns {
        /// Of each transaction's rows.
        positions: Vec<Positions>,
        outcome: Outcome,
    },
}

/// What became of columns.
enum Outcome {
    OneByOne(Refusals),
    /// Rows that were known are changed all together, or none of them is: one that is not any more what it was stops the
    /// statement, and the less of it is committed the better.
    Group(Result<(), GroupError>),
}

impl Together {
    pub(super) fn new(store: Arc<dyn TableStore>, shared: Arc<Shared>, keeps_versions: bool) -> Self {
        Self {
            store,
            shared,
            keeps_versions,
            waiting: VecDeque::new(),
            columns: None,
            under_way: 0,
            ended: Ended::default(),
        }
    }

    /// Commits these, and then what comes.
    pub(super) async fn run(mut self, first: Vec<Egt>, mut windows: Windows) -> Ended {
        self.waiting.extend(first);
        let mut pieces = FuturesOrdered::new();
        let mut comes_more = true;
        loop {
            if self.shared.stops() {
                self.waiting.clear();
                self.columns = None;
                comes_more = false;
                windows.close();
            }
            while pieces.len() < UNDER_WAY
                && let Some(piece) = self.next_piece()
            {
                pieces.push_back(hand_over(self.store.clone(), piece, self.keeps_versions));
            }
            self.shared.tally.set_under_way(self.under_way);
            tokio::select! {
                Some(piece) = pieces.next(), if !pieces.is_empty() => self.finish(piece),
                window = windows.next(), if comes_more && self.waiting.is_empty() && self.columns.is_none() => match window {
                    Some(Handed::Egts(egts)) => self.waiting.extend(egts),
                    Some(Handed::Columns(columns)) => self.columns = Some(columns),
                    None => comes_more = false,
                },
                else => return self.ended,
            }
        }
    }

    fn next_piece(&mut self) -> Option<Piece> {
        if let Some(columns) = self.columns.take() {
            self.under_way += columns.window.transactions();
            return Some(Piece::Columns(columns));
        }
        let (mut operations, mut bytes) = (0, 0);
        let fits = |egt: &&Egt| {
            let fits = operations == 0 || (operations < OPERATIONS_MAX && bytes < BYTES_MAX);
            operations += egt.positions.len();
            bytes += egt.batch.payload_bytes_at_most();
            fits
        };
        let egts = self.waiting.iter().take_while(fits).count();
        self.under_way += egts;
        (egts > 0).then(|| Piece::Egts(self.waiting.drain(..egts).collect()))
    }

    fn finish(&mut self, piece: Answered) {
        match piece {
            Answered::Egts { positions, mut keys, outcome } => {
                self.under_way -= positions.len();
                keys.resize_with(positions.len(), Vec::new);
                for ((positions, keys), result) in positions.iter().zip(keys).zip(outcome) {
                    self.ended.add_result(positions, keys, result, &self.shared);
                }
            }
            Answered::Columns { positions, outcome } => {
                self.under_way -= positions.len();
                let (mut egts, mut rows) = (positions.len(), positions.iter().map(SmallVec::len).sum::<usize>());
                let refused = match outcome {
                    Outcome::OneByOne(refused) => refused,
                    Outcome::Group(Ok(())) => return self.shared.tally.add_group(egts, rows),
                    Outcome::Group(Err(error)) => {
                        return self.ended.fail_with(Failure::of_group(error, &positions), &self.shared);
                    }
                };
                for (index, error) in refused {
                    let positions = positions.get(index).map(SmallVec::as_slice).unwrap_or_default();
                    (egts, rows) = (egts - 1, rows - positions.len());
                    self.ended.fail(error, positions, &self.shared);
                }
                self.shared.tally.add_many(egts, rows);
            }
        }
    }
}

async fn hand_over(store: Arc<dyn TableStore>, piece: Piece, keeps_keys: bool) -> Answered {
    match piece {
        Piece::Egts(egts) => hand_over_egts(store, egts, keeps_keys).await,
        Piece::Columns(columns) => {
            let positions = columns.positions().collect();
            let Columns { window, locks, .. } = columns;
            let outcome = match window {
                EntityWindow::New(new) => Outcome::OneByOne(store.insert_window(new).await),
                known @ EntityWindow::Known(_) => Outcome::Group(store.write_group(vec![known].into()).await),
            };
            drop(locks);
            Answered::Columns { positions, outcome }
        }
    }
}

async fn hand_over_egts(store: Arc<dyn TableStore>, mut piece: Vec<Egt>, keeps_keys: bool) -> Answered {
    // Of different partitions the store may take any first: it finds those that lie together faster in their order.
    piece.sort_by(|one, other| one.batch.partition().cmp(other.batch.partition()));
    let mut positions = Vec::with_capacity(piece.len());
    let mut batches = Vec::with_capacity(piece.len());
    let (mut keys, mut locks) = (Vec::new(), Vec::new());
    for egt in piece {
        if keeps_keys {
            keys.push(kept_keys(&egt.batch, true));
        }
        if let Some(held) = egt.locks
            && !locks.last().is_some_and(|last| Arc::ptr_eq(last, &held))
        {
            locks.push(held);
        }
        positions.push(egt.positions);
        batches.push(egt.batch);
    }
    let outcome = store.commit_window(batches).await;
    drop(locks);
    Answered::Egts { positions, keys, outcome }
}
