//! From a parsed query to a plan: names, then DataFusion's planner.
//!
//! [`tables`] finds what the FROM clauses mean, [`names`] rewrites the query so that every identifier has its stored
//! spelling and every column its PostgreSQL label, [`forms`] replaces what DataFusion does not take, [`edm_types`] finds the
//! columns of stored types, [`lower`] makes a plan of what is bound, as far as it has a form for it, [`meaning`] asks the binder what a statement means, and is told what is wrong with it, [`planner`] hands the result to DataFusion and has its expressions typed, [`unnest`] makes
//! joins of the sub-queries. When it runs, [`joins`] puts its tables in order. [`direct`] runs what is a read by key without the optimizer.

mod around;
mod assigned;
mod changes;
mod constant;
mod context;
mod direct;
mod edm_types;
mod forms;
mod frames;
mod guarded_calls;
mod joins;
mod list_order;
mod lower;
mod meaning;
mod multisets;
mod names;
mod numbered;
mod origins;
mod planned_query;
mod planner;
mod row_value;
mod settings_in_turn;
mod size;
mod system;
mod tables;
mod unnest;
mod views;

pub(super) use around::Around;
pub(super) use assigned::Receiver;
pub(super) use meaning::Meaning;
pub(super) use names::{Source, resolve_column};
pub(super) use numbered::numbered;
pub(super) use planned_query::{CurrentIn, PlannedQuery};
pub(super) use planner::Planner;
pub(super) use row_value::row_of_query;
pub(super) use settings_in_turn::SETTING_BY_ROW;
pub(super) use system::SystemRelations;
pub(super) use tables::{Mentions, TableEntry, Tables, placed_name, schema_and_table};
