//! GROUP BY of a text column of a scanned table: the scan gives the texts as dictionaries, and each of them is looked up once,
//! however many rows have it.
//!
//! ```text
//!     rule       AggregateExec over a scan -> DictionaryAggregateExec
//!     exec       the plan node: the first half of an aggregation, whose results another one joins
//!     texts      the groups' texts, and the group of each row
//! ```

mod exec;
mod rule;
mod texts;

pub(super) use rule::GroupByDictionary;
