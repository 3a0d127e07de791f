//! From a parsed query to a plan.
//!
//! [`tables`] finds what the FROM clauses mean, [`meaning`] asks the binder what a statement means, or what is wrong with it,
//! [`lower`] makes a plan of that, [`unnest`] makes joins of the sub-queries. When it runs ([`running`]), [`joins`] puts its tables
//! in order. Most of what applications ask takes a way without the engine's operators: [`direct`] what is a read by key, [`short`]
//! joins and aggregates of a few rows, [`over_rows`] what is computed of rows that are there.

mod asked;
mod assigned;
mod checked;
mod column_names;
mod constant;
mod cut;
mod direct;
mod held_rows;
mod held_values;
mod in_lists;
mod joins;
mod lasting;
mod list_order;
mod lower;
mod meaning;
mod multisets;
mod of_row;
mod once;
mod outputs;
mod over_rows;
mod parameters;
mod planned_query;
mod planner;
mod running;
mod short;
mod size;
mod system;
mod system_columns;
mod tables;
mod unnest;
mod views;

pub(super) use assigned::Receiver;
pub(super) use column_names::resolve_column;
pub(super) use held_rows::{HeldRows, rows_as};
pub(super) use meaning::{
    Meaning, Meant, MeantChange, MeantChanges, MeantLocking, MeantPart, MeantParts, MeantQuery, MeantStatement,
    PartRows, Place as PartPlace, Renamed,
};
pub(super) use planned_query::{CurrentIn, PlannedQuery, is_declared};
pub(super) use planner::Planner;
pub(super) use system::SystemRelations;
pub(super) use system_columns::RESERVED as RESERVED_COLUMNS;
pub(super) use tables::{TableEntry, Tables, own_number, placed_name, schema_and_table};
