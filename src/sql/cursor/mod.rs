//! Cursors: a query that is read a piece at a time, forward and, where it may be scrolled, backward.
//!
//! A cursor reads what its DECLARE saw, whatever is written meanwhile. It ends with its transaction, unless it was
//! declared WITH HOLD: then COMMIT reads what is left of it and keeps that. Until then it holds its query and the moment
//! that this reads, and no rows but those that it goes back to.

mod kept;
mod open;
mod rows;

pub(crate) use kept::KeptBatches;
pub(crate) use open::{Cursor, Cursors, Origin, ShownCursor};
pub(crate) use rows::{CursorRows, fetch};
