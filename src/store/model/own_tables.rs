//! The tables that the gateway keeps for itself in the stores that it is for. No client sees them, through whichever door
//! it comes, so all of them are listed here.

use super::TableName;

/// What SQL declares.
pub const SCHEMA: &str = "tablegateSchema";
/// What observe mode has seen.
pub const OBSERVED: &str = "tablegateObserved";
/// Policies of tables and properties of the service, of the REST door.
pub const REST: &str = "tablegateRest";

/// Whether it is one of them.
pub fn contains(table: &TableName) -> bool {
    [SCHEMA, OBSERVED, REST].iter().any(|own| table.as_str().eq_ignore_ascii_case(own))
}
