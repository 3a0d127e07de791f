//! Rows that a transaction has written as columns, and changes or removes many at a time: they become other columns.
//!
//! The columns that were there are left as they are: readers and savepoints may share them.

use std::collections::BTreeMap;

use tablegate_store::model::{EdmDateTime, EntityKeys};
use tablegate_store::table::{EntityWindow, KnownChange};

use super::column_writes::ColumnWrites;

/// Rows that stay as they are go into new columns too, so many for each that is changed at most.
const OTHERS_COPIED: usize = 16;

/// Which of some rows are new ones of a transaction's columns.
#[derive(Debug, Default)]
pub(crate) struct OwnRows {
    /// By window: the place of each row in it, and in the keys that were asked for, ascending.
    in_windows: BTreeMap<usize, Vec<(usize, usize)>>,
    /// The places of the others in these keys, ascending.
    pub others: Vec<usize>,
}

/// What takes the place of a window.
pub(crate) struct Replacement {
    pub window: usize,
    /// With the time that its rows were written at. `None` where no row is left.
    pub other: Option<(EntityWindow, EdmDateTime)>,
}

impl OwnRows {
    /// Those of these keys. `None` where columns have one of them that is not new, or windows have keys between those of others.
    pub(super) fn find(columns: &ColumnWrites, keys: &EntityKeys) -> Option<Self> {
        let (windows, spans) = (columns.windows(), columns.spans()?);
        let (mut found, mut near) = (Self::default(), 0);
        for row in 0..keys.len() {
            let key = keys.pair(row);
            let is_near = spans.get(near).is_some_and(|(first, last, _)| *first <= key && key <= *last);
            if !is_near {
                near = spans.partition_point(|(_, last, _)| *last < key);
            }
            let place = spans.get(near).and_then(|(.., number)| Some((*number, windows[*number].place_of(key)?)));
            let Some((number, place)) = place else {
                found.others.push(row);
                continue;
            };
            windows[number].entities().as_new()?;
            found.in_windows.entry(number).or_default().push((place, row));
        }
        found.in_windows.values_mut().for_each(|places| places.sort_unstable());
        Some(found)
    }

    /// None of so many rows.
    pub(super) fn none_of(rows: usize) -> Self {
        Self { in_windows: BTreeMap::new(), others: (0..rows).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_windows.is_empty()
    }

    /// The windows as they are after a change of the rows, made at a time. `None` where they cannot be told as columns.
    pub(super) fn changed(
        &self,
        columns: &ColumnWrites,
        change: &KnownChange,
        now: EdmDateTime,
    ) -> Option<Vec<Replacement>> {
        let windows = columns.windows();
        let rows: usize = self.in_windows.values().map(Vec::len).sum();
        let in_windows: usize = self.in_windows.keys().map(|window| windows[*window].entities().len()).sum();
        if in_windows > OTHERS_COPIED * rows {
            return None;
        }
        let replaced = |(window, changed): (&usize, &Vec<(usize, usize)>)| {
            let before = &windows[*window];
            let new = before.entities().as_new()?;
            let other = match change {
                KnownChange::Merge(values) => Some((new.changed(changed, values)?.into(), now)),
                KnownChange::Delete if changed.len() == new.len() => None,
                KnownChange::Delete => {
                    let mut is_left = vec![true; new.len()];
                    changed.iter().for_each(|(place, _)| is_left[*place] = false);
                    let left: Vec<usize> = (0..new.len()).filter(|place| is_left[*place]).collect();
                    Some((before.entities().some(&left)?, before.written()))
                }
            };
            Some(Replacement { window: *window, other })
        };
        self.in_windows.iter().map(replaced).collect()
    }
}
