//! Rows of two nodes beside each other. What the rows of one hold is looked for among those of the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{JoinType, Result};
use tablegate_types::error::SqlResult;

use super::few::{SHORT_BYTES, bytes_of};
use super::node::{Node, Rows, Running};
use super::wanted::Wanted;
use crate::aside::aside_unless;
use crate::plan::outputs::{Condition, Outputs, SHORT_ROWS};

/// A join of two sides, the left one first.
#[derive(Debug)]
pub(super) struct Join {
    pub sides: [Side; 2],
    pub nulls_are_equal: bool,
    /// Rows of the left side come out whose key is `NOT IN` those of the right one.
    pub is_not_in: bool,
    /// What is asked of two rows besides.
    pub condition: Option<Condition>,
    /// Of two rows beside each other.
    pub both: SchemaRef,
    pub join_type: JoinType,
    pub schema: SchemaRef,
    /// The side that was read first when the join was last run.
    pub first: AtomicUsize,
}

#[derive(Debug)]
pub(super) struct Side {
    pub node: Node,
    pub width: usize,
    /// What has to be equal to the keys of the other side.
    pub keys: Outputs,
    /// Of each key the column that it is, if it is one.
    pub sources: Vec<Option<usize>>,
}

/// Which rows of the two sides stand beside each other, by their numbers.
#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl Join {
    pub(super) async fn rows(&self, wanted: &[Wanted], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        let begun = self.first.load(Ordering::Relaxed);
        for first in [begun, 1 - begun] {
            let of_first = self.wanted_of(first, wanted);
            let Some(read) = self.sides[first].node.rows(&of_first, running).await? else { continue };
            let second = 1 - first;
            let mut of_second = self.wanted_of(second, wanted);
            let keys = self.sides[first].keys_of(&read, running)?;
            if self.leaves_out_unmatched(second) && !self.nulls_are_equal {
                for (source, key) in self.sides[second].sources.iter().zip(keys.columns()) {
                    let Some(column) = source else { continue };
                    of_second.extend(Wanted::of(*column, key)?);
                }
            }
            let Some(other) = self.sides[second].node.rows(&of_second, running).await? else { continue };
            self.first.store(first, Ordering::Relaxed);
            let other_keys = self.sides[second].keys_of(&other, running)?;
            return match first {
                0 => self.joined([&read, &other], [&keys, &other_keys], running),
                _ => self.joined([&other, &read], [&other_keys, &keys], running),
            };
        }
        Ok(None)
    }

    /// What is wanted of the columns of a side, if its rows come out as they are.
    fn wanted_of(&self, side: usize, wanted: &[Wanted]) -> Vec<Wanted> {
        use JoinType as J;
        match (self.join_type, side) {
            (J::Inner | J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark, 0) => {
                let width = self.sides[0].width;
                Wanted::below(wanted, |column| (column < width).then_some(column))
            }
            (J::Inner | J::Right, 1) => {
                let before = self.sides[0].width;
                Wanted::below(wanted, |column| column.checked_sub(before))
            }
            (J::RightSemi | J::RightAnti, 1) => wanted.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether rows of this side come out only where there are such of the other.
    fn leaves_out_unmatched(&self, side: usize) -> bool {
        use JoinType as J;
        match side {
            // NOT IN asks whether there is any row of it, and whether one is NULL.
            1 if self.is_not_in => false,
            0 => matches!(self.join_type, J::Inner | J::Right | J::RightSemi | J::RightAnti | J::LeftSemi),
            _ => matches!(self.join_type, J::Inner | J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark | J::RightSemi),
        }
    }

    /// The rows that come out of those of the two sides; `None` where they are many.
    fn joined(&self, rows: [&Rows; 2], keys: [&RecordBatch; 2], running: &Running<'_>) -> SqlResult<Option<Rows>> {
        use JoinType as J;
        let Some(pairs) = pairs(rows, keys, self.nulls_are_equal)? else { return Ok(None) };
        let is_of_both = matches!(self.join_type, J::Inner | J::Left | J::Right | J::Full);
        if (is_of_both || self.condition.is_some()) && !pairs.are_short(rows) {
            return Ok(None);
        }
        let pairs = self.asked_of(pairs, rows, running)?;
        let [left, right] = rows;
        let of_left = || matched(&pairs.left, left.num_rows());
        let of_right = || matched(&pairs.right, right.num_rows());
        let left_alone = |chosen| beside(&self.schema, [Some((left, &chosen)), None]);
        let right_alone = |chosen| beside(&self.schema, [None, Some((right, &chosen))]);
        let joined = match self.join_type {
            J::Inner | J::Left | J::Right | J::Full => {
                let all_left = matches!(self.join_type, J::Left | J::Full).then_some(left.num_rows());
                let all_right = matches!(self.join_type, J::Right | J::Full).then_some(right.num_rows());
                let [of_left, of_right] = pairs.with_unmatched(all_left, all_right);
                beside(&self.schema, [Some((left, &of_left)), Some((right, &of_right))])?
            }
            J::LeftSemi => left_alone(chosen(&of_left(), true))?,
            J::LeftAnti if self.is_not_in => left_alone(not_in(&of_left(), keys))?,
            J::LeftAnti => left_alone(chosen(&of_left(), false))?,
            J::RightSemi => right_alone(chosen(&of_right(), true))?,
            J::RightAnti => right_alone(chosen(&of_right(), false))?,
            J::LeftMark => {
                let marks: ArrayRef = Arc::new(BooleanArray::from(of_left()));
                let columns = left.columns().iter().cloned().chain([marks]).collect();
                RecordBatch::try_new(Arc::clone(&self.schema), columns)?
            }
            J::RightMark => return Ok(None),
        };
        Ok(Some(joined))
    }

    /// The pairs of which the condition is true.
    fn asked_of(&self, pairs: Pairs, rows: [&Rows; 2], running: &Running<'_>) -> SqlResult<Pairs> {
        let Some(condition) = &self.condition else { return Ok(pairs) };
        let (left, right) = (UInt32Array::from(pairs.left.clone()), UInt32Array::from(pairs.right.clone()));
        let both = beside(&self.both, [Some((rows[0], &left)), Some((rows[1], &right))])?;
        let run = condition.in_run(running.run)?;
        Ok(pairs.left_of(&aside_unless(condition.is_quick(), || run.is_true_of(&both))?))
    }
}

impl Side {
    fn keys_of(&self, rows: &Rows, running: &Running<'_>) -> SqlResult<RecordBatch> {
        let keys = self.keys.in_run(running.run)?;
        Ok(aside_unless(self.keys.is_quick(), || keys.of(rows))?)
    }
}

impl Pairs {
    /// Whether the rows beside each other are a few: none of them stands so often that they would be long.
    fn are_short(&self, rows: [&Rows; 2]) -> bool {
        let bytes = |side: &[u32], rows: &Rows| bytes_of(rows).saturating_mul(most_often(side, rows.num_rows()));
        self.left.len() <= SHORT_ROWS && bytes(&self.left, rows[0]) + bytes(&self.right, rows[1]) <= 4 * SHORT_BYTES
    }

    /// Those of them that are chosen.
    fn left_of(&self, is_chosen: &BooleanArray) -> Self {
        let of = |side: &[u32]| {
            let chosen = side.iter().zip(is_chosen).filter(|(_, is_chosen)| *is_chosen == Some(true));
            chosen.map(|(row, _)| *row).collect()
        };
        Self { left: of(&self.left), right: of(&self.right) }
    }

    /// The rows of both sides, and behind them those of each side that stand beside none, where these are asked for.
    fn with_unmatched(&self, left: Option<usize>, right: Option<usize>) -> [UInt32Array; 2] {
        let unmatched = |side: &[u32], rows: Option<usize>| {
            rows.map_or_else(Vec::new, |rows| chosen(&matched(side, rows), false).values().to_vec())
        };
        let (of_left, of_right) = (unmatched(&self.left, left), unmatched(&self.right, right));
        let some = |rows: &[u32]| rows.iter().copied().map(Some).collect::<Vec<_>>();
        let none = |rows: &[u32]| vec![None; rows.len()];
        [
            UInt32Array::from([some(&self.left), some(&of_left), none(&of_right)].concat()),
            UInt32Array::from([some(&self.right), none(&of_left), some(&of_right)].concat()),
        ]
    }
}

/// The rows whose keys are equal; `None` where they are many.
fn pairs(rows: [&Rows; 2], keys: [&RecordBatch; 2], nulls_are_equal: bool) -> Result<Option<Pairs>> {
    let mut pairs = Pairs::default();
    let number = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
    if keys[0].num_columns() == 0 {
        if rows[0].num_rows().saturating_mul(rows[1].num_rows()) > SHORT_ROWS {
            return Ok(None);
        }
        for left in 0..rows[0].num_rows() {
            for right in 0..rows[1].num_rows() {
                pairs.left.push(number(left));
                pairs.right.push(number(right));
            }
        }
        return Ok(Some(pairs));
    }
    let fields = keys[0].columns().iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let encoder = RowConverter::new(fields)?;
    let (left, right) = (encoder.convert_columns(keys[0].columns())?, encoder.convert_columns(keys[1].columns())?);
    let may_match =
        |keys: &RecordBatch, row: usize| nulls_are_equal || keys.columns().iter().all(|column| column.is_valid(row));
    let mut by_key: HashMap<_, Vec<u32>> = HashMap::with_capacity(right.num_rows());
    for row in (0..right.num_rows()).filter(|row| may_match(keys[1], *row)) {
        by_key.entry(right.row(row)).or_default().push(number(row));
    }
    for row in (0..left.num_rows()).filter(|row| may_match(keys[0], *row)) {
        for partner in by_key.get(&left.row(row)).into_iter().flatten() {
            pairs.left.push(number(row));
            pairs.right.push(*partner);
        }
        if pairs.left.len() > SHORT_ROWS {
            return Ok(None);
        }
    }
    Ok(Some(pairs))
}

/// Which of so many rows are among these.
fn matched(among: &[u32], rows: usize) -> Vec<bool> {
    let mut matched = vec![false; rows];
    for row in among {
        if let Some(is_matched) = matched.get_mut(*row as usize) {
            *is_matched = true;
        }
    }
    matched
}

/// The numbers of rows of which this was found out.
fn chosen(found: &[bool], wanted: bool) -> UInt32Array {
    (0_u32..).zip(found).filter(|(_, found)| **found == wanted).map(|(row, _)| row).collect::<Vec<_>>().into()
}

/// The rows of the left side whose key is none of the right one. Nothing is known of NULL, on either side, unless there is nothing
/// to compare it with.
fn not_in(is_matched: &[bool], [left, right]: [&RecordBatch; 2]) -> UInt32Array {
    let (left, right) = (left.column(0), right.column(0));
    let is_none_of = |(row, is_matched): (usize, &bool)| {
        right.is_empty() || (right.null_count() == 0 && left.is_valid(row) && !is_matched)
    };
    chosen(&is_matched.iter().enumerate().map(is_none_of).collect::<Vec<_>>(), true)
}

/// How often the row among so many occurs that occurs most often.
fn most_often(among: &[u32], rows: usize) -> usize {
    let mut often = vec![0; rows];
    for row in among {
        if let Some(times) = often.get_mut(*row as usize) {
            *times += 1;
        }
    }
    often.into_iter().max().unwrap_or(0)
}

/// These rows of the sides beside each other.
fn beside(schema: &SchemaRef, sides: [Option<(&Rows, &UInt32Array)>; 2]) -> Result<RecordBatch> {
    let mut columns = Vec::with_capacity(schema.fields().len());
    let mut count = 0;
    for (rows, numbers) in sides.into_iter().flatten() {
        for column in rows.columns() {
            columns.push(take(column, numbers, None)?);
        }
        count = numbers.len();
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
