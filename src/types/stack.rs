//! More stack for functions that call themselves as deeply as something of a client's is nested.

/// With less than this left, a function goes on on a new piece of stack.
const RED_ZONE: usize = 128 << 10;
/// Bytes of such a piece.
const PIECE: usize = 2 << 20;

/// Does the work where there is stack enough for it, and for what it calls besides itself.
pub fn deeper<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, PIECE, work)
}
