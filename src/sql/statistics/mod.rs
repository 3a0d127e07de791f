//! What statements cost: each by its text without constants, for the view `statement_statistics`, and all together, for a
//! monitoring system.

mod counted_store;
mod counter;
mod counters;
mod figures;
mod kind;
mod measure;
mod normal;
mod table;

pub(crate) use self::counted_store::{Changes, Commits, CountedStore};
pub use self::counter::{Counter, TimeCounter, Times};
pub use self::counters::StatementFigures;
pub(crate) use self::counters::{Counters, OpenCursor};
pub use self::figures::{Figures, LockFigures, Memory};
pub(crate) use self::kind::Kind;
pub(crate) use self::measure::{Measure, Meter};
pub(crate) use self::normal::normalized;
pub use self::table::Statistics;
pub(crate) use self::table::{Cost, Entry};
