//! INSERT, UPDATE, DELETE: the statement's own input is planned and run, its rows become operations on the store.
//!
//! DataFusion never plans a write. What it runs is the SELECT inside: the keys, versions and new values. Where the
//! operations go is decided once, in [`Writes`]: into the open transaction or straight into EGTs.

mod changed_rows;
mod checks;
mod conflict;
mod defaults;
mod delete;
mod generated;
mod insert;
mod new_rows;
mod returning;
mod row_expressions;
mod rows;
mod target;
mod update;
mod values;
mod whole_table;
mod writes;

use std::sync::Arc;

use datafusion::common::ScalarValue;

use super::error::SqlResult;
use super::outcome::{ResultColumn, RowStream};
use super::plan::Planner;
use super::relation::Relation;
use super::types::SqlType;

pub(super) use checks::{BadRow, visible_schema};
pub(super) use delete::PreparedDelete;
pub(super) use insert::PreparedInsert;
pub(super) use new_rows::{BoundRows, NewRows};
pub(super) use row_expressions::RowExpressions;
pub(super) use rows::{RowsToWrite, generated_keys, keys_of_batch};
pub(super) use target::{TargetColumn, find_target, key_items, target_column};
pub(super) use update::{PreparedUpdate, etag_at, is_untyped};
pub(super) use whole_table::{contains_nulls, is_there_row, keys_and};
pub(super) use writes::{WriteMode, Writes};

/// A data-changing statement, planned.
pub(super) enum PreparedDml {
    Insert(PreparedInsert),
    Update(PreparedUpdate),
    Delete(PreparedDelete),
}

/// What a data-changing statement did.
pub(super) struct Changed {
    pub rows: u64,
    /// The rows RETURNING asked for.
    pub returned: Option<(Arc<[ResultColumn]>, RowStream)>,
}

impl PreparedDml {
    pub fn parameters(&self) -> &[SqlType] {
        match self {
            PreparedDml::Insert(insert) => insert.parameters(),
            PreparedDml::Update(update) => update.parameters(),
            PreparedDml::Delete(delete) => delete.parameters(),
        }
    }

    /// The columns of RETURNING.
    pub fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        match self {
            PreparedDml::Insert(insert) => insert.columns(),
            PreparedDml::Update(update) => update.columns(),
            PreparedDml::Delete(delete) => delete.columns(),
        }
    }

    pub fn relation(&self) -> &Arc<Relation> {
        match self {
            PreparedDml::Insert(insert) => insert.relation(),
            PreparedDml::Update(update) => update.relation(),
            PreparedDml::Delete(delete) => delete.relation(),
        }
    }

    /// Whether it may delete a row under one key and insert it under another.
    pub fn moves_rows(&self) -> bool {
        matches!(self, PreparedDml::Update(update) if update.assigns_key())
    }

    /// Runs it: everything is handed to `writes`, and committed where that is outside a transaction.
    ///
    /// # Errors
    /// What the statement's expressions, the table's constraints or the commit refuse.
    pub async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        match self {
            PreparedDml::Insert(insert) => insert.run(planner, parameters, writes).await,
            PreparedDml::Update(update) => update.run(planner, parameters, writes).await,
            PreparedDml::Delete(delete) => delete.run(planner, parameters, writes).await,
        }
    }
}
