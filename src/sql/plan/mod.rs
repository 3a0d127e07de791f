//! From a parsed query to a plan: names, then DataFusion's planner.
//!
//! [`tables`] finds what the FROM clauses mean, [`names`] rewrites the query so that every identifier has its stored
//! spelling and every column its PostgreSQL label, [`forms`] replaces what DataFusion does not take, [`edm_types`] finds the
//! columns of stored types, [`planner`] hands the result to DataFusion and has its expressions typed, [`unnest`] makes
//! joins of the sub-queries.

mod edm_types;
mod forms;
mod frames;
mod labels;
mod multisets;
mod names;
mod planner;
mod tables;
mod unnest;

pub(super) use edm_types::column_name as edm_type_column;
pub(super) use labels::{label_of, shown_labels};
pub(super) use names::resolve_column;
pub(super) use planner::{PlannedQuery, Planner};
pub(super) use tables::{TableEntry, Tables, schema_and_table};
