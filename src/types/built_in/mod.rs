//! What PostgreSQL 15 has built in: the rows of its catalogue that are the same in every database.

mod recorded;
pub mod routines;

pub use self::recorded::RecordedFile;
pub use self::routines::{Routine, printed as printed_function, read_reference as read_function};

/// The words of the grammar, as `pg_get_keywords` gives them.
pub const KEYWORDS: &str = include_str!("data/keywords.txt");
/// The layouts of the system relations; `data/record.py` says how they are written.
pub const RELATIONS: &str = include_str!("data/relations.txt");
