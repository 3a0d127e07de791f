//! The Table service's data model: names, keys, values and entities, and their order.
//!
//! Facts without I/O: nothing here reads a clock, a socket or a disk. Every type is checked once, by its constructor,
//! so holding a [`TableName`] or a [`RowKey`] is the proof that it is legal. Bytes from a client, the disk or a remote
//! service pass through the same constructors.

mod clock;
mod cut;
mod datetime;
mod entity;
mod etag;
mod key;
pub mod limits;
mod name;
pub mod own_tables;
mod quoted;
mod value;

pub use clock::{Clock, SystemClock};
pub use cut::{Cut, Span};
pub use datetime::EdmDateTime;
pub use entity::{Entity, Properties, PropertyError, StoredEntity};
pub use etag::{ETag, ETagError};
pub use key::{EntityKey, EntityKeys, KeyError, KeyPart, PartitionKey, RowKey, exceeds_safe_length, is_legal_in_keys};
pub use name::{NameError, PropertyName, TableName};
pub use value::{EdmRef, EdmType, EdmValue, ValueError};
