//! What statements mean, as the binder finds it: the tables they name are its catalogue.

mod catalogue;
mod change;
mod locking;
mod meant;
mod named;
mod parts;
mod printed;
mod statement;

pub(super) use self::catalogue::KnownTables;
pub(crate) use self::change::MeantChange;
pub(crate) use self::locking::MeantLocking;
pub(crate) use self::meant::{MeantQuery, MeantStatement};
pub(crate) use self::named::PartRows;
pub(crate) use self::parts::{MeantChanges, MeantPart, MeantParts, Place};
pub(crate) use self::printed::Renamed;
pub(super) use self::statement::asks;
pub(crate) use self::statement::{Meaning, Meant};
