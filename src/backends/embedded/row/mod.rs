//! Rows: how an entity's Timestamp and properties lie in bytes.
//!
//! ```text
//! version  1 byte: 1
//! head     varint: shape + 1, or 0 when the shape stands in the row; times 2; plus 1 when end offsets are wide
//! time     8 bytes: 100 ns ticks since 1970
//! shape    only when it stands in the row: a varint count, then name and type of each property
//! fixed    numbers, booleans, instants and GUIDs in the order of the shape
//! ends     for each text and binary: where it ends in what follows, 2 bytes or (wide) 4 bytes
//! texts    texts and binaries, one behind the other
//! ```
//!
//! Numbers are little-endian. A shape is the list of a row's property names and types; the rows of a table share few,
//! so they are kept once per table and a row says which is its own. Where a value lies follows from the shape, so a
//! scan finds out once per shape and then touches nothing but the columns it was asked for.

mod decode;
mod encode;
mod patch;
mod shape;
#[cfg(test)]
mod tests;

pub(super) use decode::{Row, RowError};
pub(super) use encode::{encode, is_wide, put_head, put_values, variable_bytes};
pub(super) use patch::Patch;
pub(super) use shape::{Shape, ShapeProperty, Shapes, put_signature, put_signature_of};

const VERSION: u8 = 1;
