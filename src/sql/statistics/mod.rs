//! What statements cost: counted by their text without constants, for the view `statement_statistics`.

mod measure;
mod normal;
mod table;

pub(in crate::sql) use self::measure::{Measure, Meter};
pub(in crate::sql) use self::normal::normalized;
pub use self::table::Statistics;
pub(in crate::sql) use self::table::{Cost, Entry};
