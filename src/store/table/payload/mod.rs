//! The `$batch` body of an entity group transaction, and what single requests have in common with it.
//!
//! The service limits the *body* of a transaction, so only code that can write that body can say whether a batch is
//! legal. It is written here, once, into any [`std::fmt::Write`]: a string that is sent, or a counter. What a store
//! promises to accept and what goes over the wire can therefore not drift apart.
//!
//! A body's length must follow from its operations alone, or moving a table to another account would make legal
//! transactions illegal. Everything else in it has a fixed width: boundaries are UUIDs, a Content-ID has two digits (a
//! transaction has at most 100 operations), and lengths are counted with [`WIDEST_ENDPOINT`]. With the endpoint of any
//! account in the public cloud a body is as long or shorter; a store behind a longer one has to count for itself.

mod body;
mod json;
mod length;
#[cfg(test)]
mod tests;

pub use body::{ENVELOPE_BYTES, WIDEST_ENDPOINT, operation_bytes, operation_bytes_at_most, write_address, write_body};
pub(super) use body::{insertions_bytes, known_bytes, operation_bytes_at_most_of, operation_bytes_at_most_with};
pub use json::write_entity;
