//! INSERT, UPDATE, DELETE, MERGE: the rows of queries become operations on the store.
//!
//! DataFusion never plans a write. What it runs are queries over the bound statement: the keys, versions and new values of the
//! rows that it changes, and what RETURNING shows of them. Where the operations go is decided once, in [`Writes`]: into the open
//! transaction or straight into EGTs.

mod assigned_values;
mod changed_keys;
mod changed_rows;
mod checks;
mod conflict;
mod constant_columns;
mod defaults;
mod delete;
mod found_rows;
mod generated;
mod generated_keys;
mod given_rows;
mod insert;
mod insert_source;
mod kept_rows;
mod listed_columns;
mod looked_for;
mod many_rows;
mod merge;
mod met;
mod new_rows;
mod others;
mod own_columns;
mod own_types;
mod plain_rows;
mod read_ahead;
mod recheck;
mod returning;
mod row_expressions;
mod row_update;
mod rows;
mod rows_of_parameters;
mod set_clause;
mod target;
mod update;
mod values;
mod whole_table;
mod widened;
mod with;
mod writes;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use tablegate_bind::query::changes::ChangeKind;
use tablegate_store::model::Entity;
use tablegate_types::error::{Notice, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use self::delete::PreparedDelete;
use self::insert::PreparedInsert;
use self::merge::PreparedMerge;
use self::returning::Returning;
use self::update::PreparedUpdate;
use self::with::PreparedWith;
use super::engine::Engine;
use super::outcome::{ResultColumn, RowStream, RowsTag};
use super::plan::{MeantChange, MeantChanges, MeantStatement, PlannedQuery, Planner};
use super::relation::{Relation, RelationColumn, RelationKind};
use crate::syntax::{Command, ConstantRows};
pub(super) use checks::{BadRow, visible_schema};
pub(super) use generated_keys::generated_keys;
pub(super) use many_rows::FEW_ROWS;
pub(super) use new_rows::{BoundRows, NewRows};
pub(super) use plain_rows::insert_all;
pub(super) use recheck::RowsOf;
pub(super) use row_expressions::{BoundExpressions, RowExpressions};
pub(super) use rows::RowsToWrite;
pub(super) use rows_of_parameters::RowsOfParameters;
pub(super) use target::{TargetColumn, find_target, target_column};
pub(super) use update::etag_at;
pub(super) use whole_table::{contains_nulls, is_there_row, keys_and};
pub(super) use writes::{WriteMode, Writes};

/// A data-changing statement, planned.
pub(super) enum PreparedDml {
    Insert(PreparedInsert),
    Update(PreparedUpdate),
    Delete(PreparedDelete),
    Merge(PreparedMerge),
    With(PreparedWith),
}

/// What a data-changing statement did.
pub(super) struct Changed {
    pub rows: u64,
    /// The rows RETURNING asked for.
    pub returned: Option<(Arc<[ResultColumn]>, RowStream)>,
}

/// What EXPLAIN shows of a statement.
pub(super) struct Outline<'p> {
    /// What happens to the rows, in a word, and to which table; nothing, when they are only read.
    pub change: Option<(&'static str, String)>,
    /// The query the rows come from, if there is one.
    pub query: Option<&'p PlannedQuery>,
    /// The parts that run before, with their names.
    pub parts: Vec<(&'p str, Outline<'p>)>,
}

impl PreparedDml {
    /// Plans a data-changing command; `None` for any other.
    ///
    /// # Errors
    /// The errors of planning the statement.
    pub(crate) async fn prepare(
        planner: &Planner<'_>,
        command: &Command,
        found: Option<MeantStatement>,
        declared: &[SqlType],
    ) -> SqlResult<Option<Self>> {
        let Some(syntax) = command.change_syntax() else { return Ok(None) };
        Ok(Some(match MeantChanges::of(planner, syntax, found, declared).await? {
            MeantChanges::One(meant) => Self::of_meant(planner, &meant).await?,
            MeantChanges::Several(meant) => Self::With(PreparedWith::prepare(planner, meant).await?),
        }))
    }

    /// Plans one change.
    async fn of_meant(planner: &Planner<'_>, meant: &Arc<MeantChange>) -> SqlResult<Self> {
        Ok(match &meant.change.kind {
            ChangeKind::Insert { .. } => Self::Insert(PreparedInsert::prepare(planner, meant).await?),
            ChangeKind::Update(assigned) => Self::Update(PreparedUpdate::prepare(planner, meant, assigned).await?),
            ChangeKind::Delete => Self::Delete(PreparedDelete::prepare(planner, meant).await?),
            ChangeKind::Merge(clauses) => Self::Merge(PreparedMerge::prepare(planner, meant, clauses).await?),
        })
    }

    /// The rows that it inserts with these parameters, where that is all it does, and nothing of that has to be computed:
    /// [`insert_all`] is then what [`PreparedDml::run`] would do.
    pub(crate) fn plain_rows(&self, parameters: &[ScalarValue], reading: Reading) -> Option<Vec<Entity>> {
        match self {
            PreparedDml::Insert(insert) => insert.plain_rows(parameters, reading),
            PreparedDml::Update(_) | PreparedDml::Delete(_) | PreparedDml::Merge(_) | PreparedDml::With(_) => None,
        }
    }

    /// An INSERT whose list is one row of parameters, for these rows instead: see [`PreparedInsert::with_constants`].
    pub(crate) fn with_constants(&self, rows: &ConstantRows<'_>, reading: Reading) -> Option<Self> {
        match self {
            PreparedDml::Insert(insert) => insert.with_constants(rows, reading).map(PreparedDml::Insert),
            PreparedDml::Update(_) | PreparedDml::Delete(_) | PreparedDml::Merge(_) | PreparedDml::With(_) => None,
        }
    }

    /// INSERTs whose list is one row of parameters, for these rows instead: see [`PreparedInsert::with_parameters`].
    pub(crate) fn with_parameters(plans: &[&Self], planner: &Planner<'_>, rows: &RowsOfParameters<'_>) -> Option<Self> {
        let inserts = plans.iter().map(|plan| match *plan {
            PreparedDml::Insert(insert) => Some(insert),
            PreparedDml::Update(_) | PreparedDml::Delete(_) | PreparedDml::Merge(_) | PreparedDml::With(_) => None,
        });
        let plans = inserts.collect::<Option<Vec<_>>>()?;
        PreparedInsert::with_parameters(&plans, planner, rows).map(PreparedDml::Insert)
    }

    /// This statement, planned anew, for what another one was given beside its parameters; `None` where it cannot take that.
    pub(crate) fn given_as(self, other: &Self) -> Option<Self> {
        match (self, other) {
            (PreparedDml::Insert(insert), PreparedDml::Insert(other)) => {
                insert.with_rows_of(other).map(PreparedDml::Insert)
            }
            (other, _) => Some(other),
        }
    }

    /// The types of the statement's parameters, `$1` first; text for one that could be of any.
    pub(crate) fn parameters(&self) -> Vec<SqlType> {
        let known = self.known_parameters().iter();
        known.map(|known| if *known == SqlType::Unknown { SqlType::Text } else { known.clone() }).collect()
    }

    /// The same; `Unknown` for one that the statement does not name, but perhaps a statement that it is a part of.
    fn known_parameters(&self) -> &[SqlType] {
        match self {
            PreparedDml::Insert(insert) => insert.parameters(),
            PreparedDml::Update(update) => update.parameters(),
            PreparedDml::Delete(delete) => delete.parameters(),
            PreparedDml::Merge(merge) => merge.parameters(),
            PreparedDml::With(with) => with.parameters(),
        }
    }

    /// The columns of RETURNING, or of the query behind WITH.
    pub(crate) fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        match self {
            PreparedDml::With(with) => with.columns(),
            _ => self.returning().map(Returning::columns),
        }
    }

    /// The columns of RETURNING, as they are handed on to other parts of the statement.
    fn returned_schema(&self) -> Option<SchemaRef> {
        self.returning().map(Returning::result_schema)
    }

    fn returning(&self) -> Option<&Returning> {
        match self {
            PreparedDml::Insert(insert) => insert.returning(),
            PreparedDml::Update(update) => update.returning(),
            PreparedDml::Delete(delete) => delete.returning(),
            PreparedDml::Merge(_) | PreparedDml::With(_) => None,
        }
    }

    /// The table that is changed; the first one where there are several.
    pub(crate) fn relation(&self) -> &Arc<Relation> {
        match self {
            PreparedDml::Insert(insert) => insert.relation(),
            PreparedDml::Update(update) => update.relation(),
            PreparedDml::Delete(delete) => delete.relation(),
            PreparedDml::Merge(merge) => merge.relation(),
            PreparedDml::With(with) => with.relation(),
        }
    }

    /// Every table that is changed.
    pub(crate) fn targets(&self) -> Vec<&Arc<Relation>> {
        match self {
            PreparedDml::With(with) => with.changes().map(PreparedDml::relation).collect(),
            _ => vec![self.relation()],
        }
    }

    /// The queries that find its rows, as they were planned ahead.
    pub(crate) fn inputs(&self) -> Vec<&PlannedQuery> {
        let input = match self {
            PreparedDml::Insert(insert) => insert.input(),
            PreparedDml::Update(update) => Some(update.input()),
            PreparedDml::Delete(delete) => Some(delete.input()),
            PreparedDml::Merge(merge) => Some(merge.input()),
            PreparedDml::With(with) => return with.inputs(),
        };
        input.into_iter().collect()
    }

    /// The command tag.
    pub(crate) fn tag(&self) -> RowsTag {
        match self {
            PreparedDml::Insert(_) => RowsTag::Insert,
            PreparedDml::Update(_) => RowsTag::Update,
            PreparedDml::Delete(_) => RowsTag::Delete,
            PreparedDml::Merge(_) => RowsTag::Merge,
            PreparedDml::With(with) => with.tag(),
        }
    }

    /// What it does, in SQL's word.
    pub(crate) fn verb(&self) -> &'static str {
        match self.tag() {
            RowsTag::Insert => "INSERT",
            RowsTag::Update => "UPDATE",
            RowsTag::Delete => "DELETE",
            RowsTag::Merge => "MERGE",
            // WITH a change whose rows a query reads.
            RowsTag::Select | RowsTag::Fetch | RowsTag::Explain | RowsTag::Show => "SELECT",
        }
    }

    /// How many rows it adds to one table, where it does nothing else: see [`PreparedInsert::rows_only_added`].
    pub(crate) fn rows_only_added(&self) -> Option<usize> {
        match self {
            PreparedDml::Insert(insert) => insert.rows_only_added(),
            PreparedDml::Update(_) | PreparedDml::Delete(_) | PreparedDml::Merge(_) | PreparedDml::With(_) => None,
        }
    }

    /// Whether it may delete a row under one key and insert it under another.
    pub(crate) fn moves_rows(&self) -> bool {
        match self {
            PreparedDml::Update(update) => update.assigns_key(),
            PreparedDml::Insert(insert) => insert.assigns_key(),
            PreparedDml::Merge(merge) => merge.assigns_key(),
            PreparedDml::Delete(_) => false,
            PreparedDml::With(with) => with.changes().any(PreparedDml::moves_rows),
        }
    }

    /// Whether it changes several tables, or one of them in several ways: then all of it is committed together.
    pub(crate) fn has_several_changes(&self) -> bool {
        matches!(self, PreparedDml::With(with) if !with.is_one_change())
    }

    /// What the service sets itself although the statement gives it.
    pub(crate) fn notice(&self) -> Option<Notice> {
        match self {
            PreparedDml::Insert(insert) => insert.notice(),
            PreparedDml::With(with) => with.changes().find_map(PreparedDml::notice),
            _ => None,
        }
    }

    /// Which columns will show as text because of it.
    pub(crate) fn evolution(&self) -> Option<Notice> {
        match self {
            PreparedDml::Insert(insert) => insert.evolution(),
            PreparedDml::Update(update) => update.evolution(),
            PreparedDml::With(with) => with.changes().find_map(PreparedDml::evolution),
            PreparedDml::Delete(_) | PreparedDml::Merge(_) => None,
        }
    }

    /// Whether it means the same with constants as with parameters in their places, and is soon done: rows that are
    /// inserted, or changed by their keys, in a table whose columns are all declared.
    ///
    /// # Errors
    /// None are expected: looking through the plan returns a `Result`, but nothing in it fails.
    pub(crate) fn can_be_repeated(&self, engine: &Engine) -> SqlResult<bool> {
        let relation = self.relation();
        // What a number without a unit means is in the limits of a type, which parameters do not have.
        let is_limited = |column: &RelationColumn| matches!(column.sql_type, SqlType::Limited(_));
        if relation.kind == RelationKind::Found || relation.open || relation.columns.iter().any(is_limited) {
            return Ok(false);
        }
        match self {
            PreparedDml::Insert(insert) => Ok(insert.is_of_values()),
            PreparedDml::Update(update) => update.input().may_read_directly(engine),
            PreparedDml::Delete(delete) => delete.input().may_read_directly(engine),
            PreparedDml::Merge(_) | PreparedDml::With(_) => Ok(false),
        }
    }

    /// What EXPLAIN shows.
    pub(crate) fn outline(&self) -> Outline<'_> {
        let (verb, query) = match self {
            PreparedDml::Insert(insert) => ("Insert", insert.input()),
            PreparedDml::Update(update) => ("Update", Some(update.input())),
            PreparedDml::Delete(delete) => ("Delete", Some(delete.input())),
            PreparedDml::Merge(merge) => ("Merge", Some(merge.input())),
            PreparedDml::With(with) => return with.outline(),
        };
        Outline { change: Some((verb, self.relation().name.clone())), query, parts: Vec::new() }
    }

    /// Runs it: everything is handed to `writes`, and committed where that is outside a transaction.
    ///
    /// # Errors
    /// What the statement's expressions, the table's constraints or the commit refuse.
    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        match self {
            PreparedDml::Insert(insert) => insert.run(planner, parameters, writes).await,
            PreparedDml::Update(update) => Box::pin(update.run(planner, parameters, writes)).await,
            PreparedDml::Delete(delete) => Box::pin(delete.run(planner, parameters, writes)).await,
            PreparedDml::Merge(merge) => Box::pin(merge.run(planner, parameters, writes)).await,
            PreparedDml::With(with) => Box::pin(with.run(planner, parameters, writes)).await,
        }
    }
}
