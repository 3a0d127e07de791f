//! Values as they travel: JSON in and out, and the texts of the EDM types.

pub(crate) mod datetime;
mod read;
mod write;

pub(crate) use self::read::{Keys, Received, read_entity};
pub(crate) use self::write::{EntityWriter, Metadata, Selection, write_string};
