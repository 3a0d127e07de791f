//! Cursors: a query that is read a piece at a time, forward and, where it may be scrolled, backward.
//!
//! A cursor reads what its DECLARE saw, whatever is written meanwhile. It ends with its transaction, unless it was
//! declared WITH HOLD: then COMMIT reads what is left of it into memory.

mod open;
mod rows;

pub(crate) use open::{Cursor, Cursors, Origin, ShownCursor};
pub(crate) use rows::{CursorRows, fetch};
