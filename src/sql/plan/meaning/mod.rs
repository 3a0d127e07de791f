//! What statements mean, as the binder finds it: the tables they name are its catalogue.

mod catalogue;
mod printed;
mod statement;

pub(super) use self::catalogue::KnownTables;
pub(crate) use self::printed::Renamed;
pub(crate) use self::statement::{Meaning, MeantQuery};
