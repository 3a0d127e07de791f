//! What statements cost: each by its text without constants, for the view `statement_statistics`, and all together, for a
//! monitoring system.

mod counted_store;
mod counter;
mod counters;
mod figures;
mod kind;
mod lexemes;
mod measure;
mod normal;
mod table;

pub(in crate::sql) use self::counted_store::{Changes, Commits, CountedStore};
pub use self::counter::{Counter, TimeCounter, Times};
pub use self::counters::StatementFigures;
pub(in crate::sql) use self::counters::{Counters, OpenCursor};
pub use self::figures::{Figures, LockFigures, Memory};
pub(in crate::sql) use self::kind::Kind;
pub(in crate::sql) use self::lexemes::{Lexeme, Lexemes};
pub(in crate::sql) use self::measure::{Measure, Meter};
pub(in crate::sql) use self::normal::normalized;
pub use self::table::Statistics;
pub(in crate::sql) use self::table::{Cost, Entry};
