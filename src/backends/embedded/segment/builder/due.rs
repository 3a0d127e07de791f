//! What is due: segments that are outdated or lack something, and rows that are worth one.

use std::sync::Arc;

use tablegate_store::model::TableName;
use tablegate_store::table::StoreError;

use super::super::super::meta::TableMeta;
use super::super::Segment;
use super::super::derived::Kept;
use super::super::write::columns_of;
use super::Worker;

/// A segment that is being written to is not rebuilt for so many rounds: its writers need the machine more.
const PATIENCE: u32 = 30;
/// The same for a growing number of rows without a segment, and for a segment that was given up: both are read
/// correctly, only more slowly. So long is also waited while other tables are loaded: a restore writes some of its tables anew
/// later, and what loads needs the machine more.
const LONG_PATIENCE: u32 = 120;
/// Loads are taken to go on for so many looks behind the last one: a restore loads one table after the other.
pub(super) const LOAD_LOOKS: u32 = 3;
/// Growth of what was written into a segment's span between two looks, in percent, that counts as being written to.
const GROWING_PERCENT: u64 = 5;
/// The same, of rows without a segment.
const GROWING_ROWS_PERCENT: u64 = 1;
/// A segment is given up when this part of its rows was written since, and more is coming.
const GIVEN_UP_PART: u64 = 8;
/// Rows behind the last segment get a segment of their own when they are this part of all rows, so their number stays
/// small. Once no more are added, fewer are enough: a table that was just loaded is likely to be queried next, and
/// these rows would all be read as rows.
pub(super) const TAIL_PART: u64 = 64;
const RESTING_TAIL_PART: u64 = 1024;
/// So is this part of the rows that are worth a first segment.
const RESTING_ROWS_PART: u64 = 8;

/// What was seen of a number of rows that wait for a segment.
#[derive(Debug, Default)]
pub(super) struct Seen {
    rows: u64,
    looks: u32,
}

impl Seen {
    /// One more look: whether more is coming, which is worth waiting for, though not for ever.
    fn is_growing(&mut self, rows: u64, percent: u64, patience: u32) -> bool {
        let grew = rows.saturating_sub(self.rows);
        self.rows = rows;
        self.looks += 1;
        grew.saturating_mul(100) > rows.saturating_mul(percent) && self.looks < patience
    }
}

/// What is to be done about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// So much was written into its span since, or its file is damaged, or it lacks something.
    Renewal,
    /// So much is being written into its span that it would be outdated again at once.
    GivingUp,
}

impl Worker {
    pub(super) fn due(&mut self, table: &TableName, segment: &Segment) -> Result<Due, StoreError> {
        let is_given_up = segment.is_given_up();
        if segment.is_damaged() || (!is_given_up && self.lacks_derived(table, segment)) {
            return Ok(Due::Renewal);
        }
        let (rows, dirty) = (segment.meta.rows, segment.dirty());
        let most = rows.saturating_mul(self.workshop.options.dirty_percent) / 100;
        if dirty <= most {
            return Ok(Due::Nothing);
        }
        let seen = self.written.entry(segment.meta.file.clone()).or_default();
        let outdated_at_once = seen.looks > 0 && dirty.saturating_sub(seen.rows) > most;
        let is_growing = seen.is_growing(dirty, GROWING_PERCENT, PATIENCE)
            || (is_given_up && outdated_at_once && seen.looks < LONG_PATIENCE);
        if self.rests && is_growing {
            let much = rows / GIVEN_UP_PART;
            let gives_up = !is_given_up && outdated_at_once && dirty > much && self.count_dirty(segment)? > much;
            return Ok(if gives_up { Due::GivingUp } else { Due::Nothing });
        }
        self.written.remove(&segment.meta.file);
        let is_outdated = is_given_up || self.count_dirty(segment)? > most;
        Ok(if is_outdated { Due::Renewal } else { Due::Nothing })
    }

    /// Whether the segment lacks derived columns that could be made from what it has: they were not asked for when it
    /// was made.
    fn lacks_derived(&self, table: &TableName, segment: &Segment) -> bool {
        let (meta, derived) = (&segment.meta, self.workshop.derivations.of(table));
        let is_kept = |kept: &Kept| meta.kept.fields().find(kept.id()).is_some();
        !Kept::of(&meta.columns, &derived).iter().all(is_kept)
    }

    /// Whether so many rows were added to tables since the last look that they are being loaded.
    pub(super) fn sees_load(&self, tables: &[Arc<TableMeta>]) -> bool {
        let seen = |table: &TableMeta| self.seen.get(&table.number).map_or(0, |seen| seen.rows);
        let added = tables.iter().map(|table| rows_of(table).1.saturating_sub(seen(table))).sum::<u64>();
        added >= self.workshop.options.min_rows.max(1)
    }

    /// Whether there are rows behind the last segment that are worth one.
    pub(super) fn has_tail(&mut self, table: &TableMeta) -> bool {
        let (covered, rows) = rows_of(table);
        let seen = self.seen.entry(table.number).or_default();
        let options = &self.workshop.options;
        let least = match rows > seen.rows {
            false => (options.min_rows / RESTING_ROWS_PART).max(covered / RESTING_TAIL_PART),
            true => options.min_rows.max(covered / TAIL_PART),
        };
        let is_growing = seen.is_growing(rows, GROWING_ROWS_PERCENT, LONG_PATIENCE)
            || (self.loads > 0 && seen.looks < LONG_PATIENCE);
        if rows < least.max(1) {
            seen.looks = 0;
            return false;
        }
        if self.rests && is_growing {
            return false;
        }
        seen.looks = 0;
        columns_of(table).is_some()
    }
}

/// How many rows segments have, and about how many are behind the last one.
pub(super) fn rows_of(table: &TableMeta) -> (u64, u64) {
    let covered = table.segments.rows();
    (covered, table.size.get().map_or(0, |size| size.entities.saturating_sub(covered)))
}

#[cfg(test)]
mod tests {
    use super::{GROWING_PERCENT, PATIENCE, Seen};

    #[test]
    fn growth_is_waited_for_and_not_for_ever() {
        let look = |seen: &mut Seen, rows| seen.is_growing(rows, GROWING_PERCENT, PATIENCE);
        let mut seen = Seen::default();
        assert!(look(&mut seen, 1000));
        assert!(look(&mut seen, 1060));
        // Few more, or none.
        assert!(!look(&mut seen, 1070));
        assert!(!look(&mut seen, 1070));
        let mut seen = Seen::default();
        let mut looks = 1_u64..;
        let ended = looks.find(|n| !look(&mut seen, n * 1000));
        assert_eq!(ended, Some(u64::from(PATIENCE.min(20))));
        let mut seen = Seen::default();
        let ended = (1..).find(|n| !look(&mut seen, 1_u64 << n));
        assert_eq!(ended, Some(PATIENCE));
    }
}
