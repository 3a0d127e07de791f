//! The functions of the operators `@>`, `<@` and `&&` on arrays: an item that is NULL equals none.

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::SortOptions;

use crate::error::SqlResult;
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bool, CompatibleArray};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("arraycontains", &[CompatibleArray, CompatibleArray], Bool, |call| contains(call, 0, 1)),
    Overload::new("arraycontained", &[CompatibleArray, CompatibleArray], Bool, |call| contains(call, 1, 0)),
    Overload::new("arrayoverlap", &[CompatibleArray, CompatibleArray], Bool, |call| {
        let found = Found::of(call, 0, 1)?;
        call.booleans(|row| Ok(found.inner.range(row).any(|item| found.has(row, item))))
    }),
];

fn contains(call: &Call, outer: usize, inner: usize) -> SqlResult<ArrayRef> {
    let found = Found::of(call, outer, inner)?;
    call.booleans(|row| Ok(found.inner.range(row).all(|item| found.has(row, item))))
}

/// Looks for items of one array in another one.
struct Found<'a> {
    outer: crate::functions::call::Values<'a, arrow::array::ListArray>,
    inner: crate::functions::call::Values<'a, arrow::array::ListArray>,
    compare: arrow::array::DynComparator,
}

impl<'a> Found<'a> {
    fn of(call: &'a Call, outer: usize, inner: usize) -> SqlResult<Self> {
        let (outer, inner) = (call.lists(outer)?, call.lists(inner)?);
        let compare = make_comparator(outer.items(), inner.items(), SortOptions::default())?;
        Ok(Self { outer, inner, compare })
    }

    fn has(&self, row: usize, item: usize) -> bool {
        self.inner.items().is_valid(item) && self.outer.range(row).any(|other| (self.compare)(other, item).is_eq())
    }
}
