//! New rows of several windows that reach into each other, put in the order of their keys.
//!
//! The engine takes rows in that order several times faster than in any other: what is written next lies beside what was
//! written last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tablegate_store::table::StoreError;

use super::apply::Commit;
use super::encoded::{EncodedEntities, Finish};

impl Commit<'_> {
    /// Puts all rows of windows of one table, which are known not to be there.
    ///
    /// # Errors
    /// [`StoreError::TableMissing`].
    pub(super) fn put_merged(&mut self, windows: &[EncodedEntities]) -> Result<(), StoreError> {
        let Some(first) = windows.first() else { return Ok(()) };
        let mut put = self.new_rows(first.entities.table())?;
        let mut rows: Vec<WindowRows<'_>> = windows.iter().map(WindowRows::new).collect();
        let mut heads: BinaryHeap<_> = rows.iter().enumerate().filter_map(|(window, rows)| rows.head(window)).collect();
        while let Some(Reverse((_, window))) = heads.pop() {
            let from = &mut rows[window];
            let Some(row) = from.next() else { continue };
            put.row(from.new, &mut from.finish, row);
            heads.extend(from.head(window));
        }
        Ok(())
    }
}

/// The rows of a window, in the order of their keys.
struct WindowRows<'w> {
    new: &'w EncodedEntities,
    finish: Finish<'w>,
    /// The rows in order, where they are not encoded so.
    order: Option<Vec<usize>>,
    at: usize,
}

impl<'w> WindowRows<'w> {
    fn new(new: &'w EncodedEntities) -> Self {
        let keys = &new.rows.keys;
        let order = (!keys.ascend()).then(|| {
            let mut order: Vec<usize> = (0..keys.len()).collect();
            order.sort_unstable_by_key(|row| keys.get(*row));
            order
        });
        Self { new, finish: Finish::new(&new.rows), order, at: 0 }
    }

    fn row(&self) -> Option<usize> {
        match &self.order {
            Some(order) => order.get(self.at).copied(),
            None => (self.at < self.new.rows.keys.len()).then_some(self.at),
        }
    }

    /// The key of the next row of this window, which has this number: the least of them comes first.
    fn head(&self, number: usize) -> Option<Reverse<(&'w [u8], usize)>> {
        self.row().map(|row| Reverse((self.new.rows.keys.get(row), number)))
    }

    fn next(&mut self) -> Option<usize> {
        let row = self.row()?;
        self.at += 1;
        Some(row)
    }
}
