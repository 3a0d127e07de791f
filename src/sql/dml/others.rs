//! What a change reads besides its target: the tables of UPDATE ... FROM and DELETE ... USING, and what RETURNING shows of
//! them.

use arrow::datatypes::FieldRef;
use datafusion::common::DFSchema;
use tablegate_bind::expr::ExprKind;
use tablegate_bind::query::bound::{JoinTree, RangeEntry};
use tablegate_bind::query::changes::BoundChange;
use tablegate_bind::{BoundExpr, BoundQuery};
use tablegate_types::error::SqlResult;

use crate::plan::MeantChange;

/// What finds the rows of a change: the table that is changed, and what is read besides.
pub(super) fn from_of(change: &BoundChange) -> Vec<JoinTree> {
    std::iter::once(JoinTree::Entry(change.target)).chain(change.from.iter().cloned()).collect()
}

/// The entries of what is joined, those that have columns of their own.
pub(super) fn entries_of(from: &[JoinTree], range: &[RangeEntry]) -> Vec<usize> {
    let mut entries = Vec::new();
    let mut trees: Vec<&JoinTree> = from.iter().rev().collect();
    while let Some(tree) = trees.pop() {
        match tree {
            JoinTree::Entry(entry) => entries.push(*entry),
            JoinTree::Join { entry, .. } if range[*entry].has_alias => entries.push(*entry),
            JoinTree::Join { left, right, .. } => trees.extend([&**right, &**left]),
        }
    }
    entries
}

/// Columns of what is read besides the target that RETURNING shows or names, as they come behind those of the target.
#[derive(Default)]
pub(super) struct OtherColumns {
    /// The entries, and the numbers of their columns.
    places: Vec<(usize, usize)>,
    /// Their types, once the query that reads them is planned.
    fields: Vec<FieldRef>,
}

impl OtherColumns {
    pub(super) fn of(meant: &MeantChange) -> Self {
        let change = &meant.change;
        let mut places = Vec::new();
        let mut see = |entry: usize, column: Column| match column {
            _ if entry == change.target => {}
            Column::One(column) => add(&mut places, (entry, column)),
            Column::All => columns_of_row(&change.range[entry]).for_each(|column| add(&mut places, (entry, column))),
        };
        for target in &change.returning {
            see_columns(&target.expr, 0, &change.sub_queries, &mut see);
        }
        Self { places, fields: Vec::new() }
    }

    pub(super) fn places(&self) -> &[(usize, usize)] {
        &self.places
    }

    pub(super) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The columns, for the query that reads them.
    ///
    /// # Errors
    /// XX000 for a column of nothing.
    pub(super) fn columns(&self, meant: &MeantChange) -> SqlResult<Vec<BoundExpr>> {
        self.places.iter().map(|(entry, column)| meant.column(*entry, *column)).collect()
    }

    /// With the types that the columns have in a query's result, in which they are the last.
    #[must_use]
    pub(super) fn typed(mut self, schema: &DFSchema) -> Self {
        let fields = schema.fields();
        self.fields = fields.iter().skip(fields.len().saturating_sub(self.places.len())).cloned().collect();
        self
    }
}

/// A column of an entry, or all that its row as a value has.
#[derive(Clone, Copy)]
pub(super) enum Column {
    One(usize),
    All,
}

fn add(places: &mut Vec<(usize, usize)>, place: (usize, usize)) {
    if !places.contains(&place) {
        places.push(place);
    }
}

/// The columns of an entry that its row has as a value.
fn columns_of_row(entry: &RangeEntry) -> impl Iterator<Item = usize> {
    (0..entry.columns.len()).filter(|column| !entry.is_hidden(*column))
}

/// Calls `see` with the columns that an expression names of the entries so many queries outside of it; also in its
/// sub-queries, which are among these.
pub(super) fn see_columns(
    expr: &BoundExpr,
    depth: usize,
    sub_queries: &[BoundQuery],
    see: &mut dyn FnMut(usize, Column),
) {
    expr.any(&mut |part| {
        match part.kind {
            ExprKind::Column { level, entry, column } if level == depth => see(entry, Column::One(column)),
            ExprKind::WholeRow { level, entry } if level == depth => see(entry, Column::All),
            ExprKind::SubQuery { query, .. } => {
                if let Some(query) = sub_queries.get(query) {
                    see_columns_of_query(query, depth + 1, see);
                }
            }
            _ => {}
        }
        false
    });
}

fn see_columns_of_query(query: &BoundQuery, depth: usize, see: &mut dyn FnMut(usize, Column)) {
    query.for_each_expr(&mut |expr| see_columns(expr, depth, &query.sub_queries, see));
    query.for_each_read_query(&mut |inner| see_columns_of_query(inner, depth + 1, see));
}
