//! Rows that a transaction has written as columns, in ranges of keys and in the order of a scan.
//!
//! Each window knows the order of its keys; here the windows are merged. Where one has many rows before the next row of
//! all others, as where rows came in the order of their keys, these are taken without a look at the others.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use tablegate_store::table::{Direction, KeyRange};

use super::column_writes::ColumnWindow;
use super::stretch::{Stretch, partition_point};

/// Rows of several windows. Of those under one key only that of the newest window is seen.
#[derive(Debug)]
pub(super) struct ColumnEntries {
    windows: Arc<Vec<Arc<ColumnWindow>>>,
    direction: Direction,
    /// Those to come, the next one last.
    stretches: Vec<Stretch>,
    /// The stretch that is read now.
    stretch: Option<Stretch>,
    /// Rows that come before all that is left in the other windows.
    run: Left,
    /// The first of them was looked at, and is in the stretch.
    is_found: bool,
    /// What else is left of the stretch: the window whose next row comes first is last.
    left: Vec<Left>,
}

/// Rows that are left of one window, by their places in the order of its keys.
#[derive(Debug, Default)]
struct Left {
    window: usize,
    rows: Range<usize>,
}

impl Left {
    fn next(&self, direction: Direction) -> usize {
        match direction {
            Direction::Forward => self.rows.start,
            Direction::Reverse => self.rows.end - 1,
        }
    }

    fn advance(&mut self, direction: Direction) {
        match direction {
            Direction::Forward => self.rows.start += 1,
            Direction::Reverse => self.rows.end -= 1,
        }
    }
}

impl ColumnEntries {
    /// Of ranges that are ascending and disjoint by partition.
    pub(super) fn new(windows: Arc<Vec<Arc<ColumnWindow>>>, ranges: &[KeyRange], direction: Direction) -> Self {
        let stretches = if windows.is_empty() { Vec::new() } else { Stretch::to_come(ranges, direction) };
        Self { windows, direction, stretches, stretch: None, run: Left::default(), is_found: false, left: Vec::new() }
    }

    /// The next row: its window, and its place there.
    pub(super) fn peek(&mut self) -> Option<(&Arc<ColumnWindow>, usize)> {
        while !self.is_at_row()? {
            self.advance();
        }
        self.is_found = true;
        let window = &self.windows[self.run.window];
        Some((window, window.place_in_order(self.run.next(self.direction))))
    }

    /// The key of the next row.
    pub(super) fn peek_key(&mut self) -> Option<(&str, &str)> {
        self.peek().map(|(window, place)| window.entities().keys().pair(place))
    }

    /// Goes on behind the row that [`ColumnEntries::peek`] gave.
    pub(super) fn advance(&mut self) {
        self.run.advance(self.direction);
        self.is_found = false;
    }

    /// The window of the row that [`ColumnEntries::peek`] gave: its number among all.
    pub(super) fn window(&self) -> usize {
        self.run.window
    }

    /// Whether the next key is in the ranges; `None` at the end.
    fn is_at_row(&mut self) -> Option<bool> {
        if self.is_found {
            return Some(true);
        }
        if self.run.rows.is_empty() {
            self.begin_run()?;
        }
        let stretch = self.stretch.as_ref()?;
        Some(stretch.holds(self.next_pair(&self.run).1))
    }

    fn begin_run(&mut self) -> Option<()> {
        while self.left.is_empty() {
            let stretch = self.stretches.pop()?;
            for window in 0..self.windows.len() {
                let keys = &self.windows[window];
                let rows = stretch.bounds(keys.entities().len(), |at| keys.pair_in_order(at));
                self.put_back(Left { window, rows });
            }
            self.stretch = Some(stretch);
        }
        let mut first = self.left.pop()?;
        while self.left.last().is_some_and(|older| self.next_pair(older) == self.next_pair(&first)) {
            let mut older = self.left.pop()?;
            older.advance(self.direction);
            self.put_back(older);
        }
        let (run, rest) = self.rows_before_others(&first);
        self.run = Left { rows: run, ..first };
        first.rows = rest;
        self.put_back(first);
        Some(())
    }

    /// The rows of a window that come before all others, of which the first does; and what is left then.
    fn rows_before_others(&self, first: &Left) -> (Range<usize>, Range<usize>) {
        let Range { start, end } = first.rows;
        let Some(next) = self.left.last() else { return (start..end, end..end) };
        let (next, window) = (self.next_pair(next), &self.windows[first.window]);
        let pair = |at: usize| window.pair_in_order(at);
        match self.direction {
            // Mostly it is all of them, or one.
            Direction::Forward if pair(end - 1) < next => (start..end, end..end),
            Direction::Forward if pair(start + 1) >= next => (start..start + 1, start + 1..end),
            Direction::Forward => {
                let to = partition_point(start..end, |at| pair(at) < next);
                (start..to, to..end)
            }
            Direction::Reverse if pair(start) > next => (start..end, start..start),
            Direction::Reverse if pair(end - 2) <= next => (end - 1..end, start..end - 1),
            Direction::Reverse => {
                let from = partition_point(start..end, |at| pair(at) <= next);
                (from..end, start..from)
            }
        }
    }

    fn put_back(&mut self, left: Left) {
        if !left.rows.is_empty() {
            let place = self.left.partition_point(|other| self.which_first(other, &left) == Ordering::Greater);
            self.left.insert(place, left);
        }
    }

    /// Less for the one whose next row comes first. Of rows with one key it is that of the newer window.
    fn which_first(&self, one: &Left, other: &Left) -> Ordering {
        let by_key = self.next_pair(one).cmp(&self.next_pair(other));
        let by_key = match self.direction {
            Direction::Forward => by_key,
            Direction::Reverse => by_key.reverse(),
        };
        by_key.then_with(|| other.window.cmp(&one.window))
    }

    fn next_pair(&self, left: &Left) -> (&str, &str) {
        self.windows[left.window].pair_in_order(left.next(self.direction))
    }
}

/// Of each row the number of its window, and its place there.
impl Iterator for ColumnEntries {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let (_, place) = self.peek()?;
        let window = self.run.window;
        self.advance();
        Some((window, place))
    }
}
