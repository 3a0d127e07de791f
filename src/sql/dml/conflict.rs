//! What INSERT does about keys that are there: an error, nothing, an update, or a replacement.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array};
use arrow::compute::{concat_batches, take};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use futures::StreamExt;
use sqlparser::ast::{self, Assignment, ConflictTarget, DoUpdate, Expr, Ident, OnConflictAction, Query};
use tablegate_store::model::{EntityKey, StoredEntity};
use tablegate_types::constraint::{Unenforced, UnenforcedKind};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::returning::{Returning, object_name, table_as, with_column};
use super::row_update::RowUpdate;
use super::rows::RowsToWrite;
use super::set_clause::SetClause;
use super::target::{TargetColumn, and, equal, labelled, select, target_column};
use super::writes::Writes;
use crate::plan::{PlannedQuery, Planner, TableEntry, Tables};
use crate::relation::{ColumnSource, Relation};
use crate::scan::relation_rows;

/// The policy of one INSERT.
pub(super) enum OnConflict {
    /// 23505.
    Refuse,
    /// The row is left out.
    DoNothing,
    /// INSERT OR REPLACE: the entity becomes exactly the row.
    Replace,
    /// Every inserted column is set from EXCLUDED: the store can do it without reading.
    Merge,
    DoUpdate(Box<UpdateExisting>),
}

/// SET and WHERE of `ON CONFLICT DO UPDATE`.
pub(super) struct UpdateExisting {
    rows: RowUpdate,
    query: Query,
    /// The query over no rows.
    planned: PlannedQuery,
}

/// What became of a batch of rows.
pub(super) struct Outcome {
    /// Rows of the batch that were inserted as they are.
    inserted: Vec<usize>,
    /// Rows as they are after an update.
    updated: Vec<RecordBatch>,
}

impl Outcome {
    pub(super) fn changed(&self) -> u64 {
        (self.inserted.len() + self.updated.iter().map(RecordBatch::num_rows).sum::<usize>()) as u64
    }

    /// All changed rows, in the relation's columns, for RETURNING.
    pub(super) fn rows_after(
        self,
        incoming: &(dyn Fn() -> SqlResult<RecordBatch> + Sync),
    ) -> SqlResult<Vec<RecordBatch>> {
        let mut rows = self.updated;
        rows.push(pick(&incoming()?, &self.inserted)?);
        Ok(rows)
    }
}

/// The name of the stored rows in the query of an update: the target's own name still means the table.
const EXISTING: &str = "\u{2}existing";
/// The name of the special table of `ON CONFLICT DO UPDATE`.
const EXCLUDED: &str = "excluded";
/// Joins a stored row to the incoming row with its key.
const ORDINAL: &str = "\u{2}row";

impl OnConflict {
    /// # Errors
    /// 42703 for an unknown column of the target, and what is wrong with SET and WHERE.
    pub(super) async fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        columns: &[TargetColumn],
        alias: &Ident,
        on: Option<&ast::OnConflict>,
        replace: bool,
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<Self> {
        let Some(on) = on else { return Ok(if replace { OnConflict::Replace } else { OnConflict::Refuse }) };
        target_columns(relation, on.conflict_target.as_ref())?;
        match &on.action {
            OnConflictAction::DoNothing => Ok(OnConflict::DoNothing),
            OnConflictAction::DoUpdate(_) if on.conflict_target.is_none() => Err(SqlError::new(
                ErrorKind::Syntax,
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            )),
            OnConflictAction::DoUpdate(update) => {
                let existing = UpdateExisting::prepare(planner, relation, alias, update, declared).await?;
                if update.selection.is_none() && existing.is_merge(columns, update) {
                    return Ok(OnConflict::Merge);
                }
                Ok(OnConflict::DoUpdate(Box::new(existing)))
            }
        }
    }

    /// Whether it may change the keys of rows.
    pub(super) fn assigns_key(&self) -> bool {
        matches!(self, OnConflict::DoUpdate(update) if update.rows.assigns_key())
    }

    /// Computes what is constant in SET and WHERE, whether or not a key is there.
    ///
    /// # Errors
    /// The errors of evaluating it.
    pub(super) fn check(&self, planner: &Planner<'_>, parameters: &[ScalarValue]) -> SqlResult<()> {
        match self {
            OnConflict::DoUpdate(update) => planner.check(&update.planned, parameters),
            _ => Ok(()),
        }
    }

    /// Writes the rows of one batch.
    pub(super) async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        rows: &RowsToWrite,
        incoming: &(dyn Fn() -> SqlResult<RecordBatch> + Sync),
        writes: &mut Writes<'_>,
    ) -> SqlResult<Outcome> {
        let mut outcome = Outcome { inserted: Vec::new(), updated: Vec::new() };
        let mut existing: Vec<(usize, StoredEntity)> = Vec::new();
        if matches!(self, OnConflict::Refuse) && writes.insert_rows(rows, None).await? {
            outcome.inserted.extend(0..rows.len());
            return Ok(outcome);
        }
        for row in 0..rows.len() {
            match self {
                OnConflict::Refuse => writes.insert(rows.entity(row)?).await?,
                OnConflict::Replace => writes.upsert(rows.entity(row)?, true).await?,
                OnConflict::Merge => {
                    once(writes, &rows.key(row))?;
                    writes.upsert(rows.entity(row)?, false).await?;
                }
                OnConflict::DoNothing if writes.has_changed(&rows.key(row)) => continue,
                OnConflict::DoNothing | OnConflict::DoUpdate(_) => {
                    if writes.has_changed(&rows.key(row)) {
                        return Err(twice());
                    }
                    if let Some(stored) = writes.lock_conflicting(&rows.key(row)).await? {
                        existing.push((row, stored));
                        continue;
                    }
                    once(writes, &rows.key(row))?;
                    writes.insert_absent(rows.entity(row)?).await?;
                }
            }
            outcome.inserted.push(row);
        }
        if let OnConflict::DoUpdate(update) = self
            && !existing.is_empty()
        {
            let incoming = incoming()?;
            // Boxed: what a future holds is moved with it, and most statements have nothing to update.
            outcome.updated = Box::pin(update.write(planner, parameters, &existing, &incoming, writes)).await?;
        }
        Ok(outcome)
    }
}

/// Notes a key that is inserted or updated.
///
/// # Errors
/// 21000 for the second time; 53200 when there is no memory left to remember it.
fn once(writes: &mut Writes<'_>, key: &EntityKey) -> SqlResult<()> {
    if writes.first_change(key)? { Ok(()) } else { Err(twice()) }
}

fn twice() -> Box<SqlError> {
    SqlError::new(ErrorKind::CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .with_hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        )
}

impl UpdateExisting {
    async fn prepare(
        planner: &Planner<'_>,
        relation: &Arc<Relation>,
        alias: &Ident,
        update: &DoUpdate,
        declared: &mut Vec<SqlType>,
    ) -> SqlResult<Self> {
        let excluded = Ident::with_quote('"', EXCLUDED);
        let ordinal = |table: &Ident| Expr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', ORDINAL)]);
        let mut items = vec![labelled(ordinal(alias), 0)];
        let (set, values) = SetClause::read(planner, relation, &update.assignments, declared).await?;
        for value in values {
            items.push(labelled(value, items.len()));
        }
        let joined = equal(ordinal(alias), ordinal(&excluded));
        let condition = match &update.selection {
            None => joined,
            Some(selection) => and(Some(joined), selection.clone()),
        };
        let from = vec![table_as(object_name(EXISTING), alias), table_as(object_name(EXCLUDED), &excluded)];
        let query = select(items, from, Some(condition));
        let empty = RecordBatch::new_empty(Returning::row_schema(relation));
        let planned = planner.plan_with(&query, &conflict_tables(&empty, &empty)?, declared).await?;
        let planned = planned.assigned_to(set.receivers(1))?;
        planned.learn(declared);
        set.check_assigned_once()?;
        Ok(Self { rows: RowUpdate::prepare(planner, relation, set)?, query, planned })
    }

    /// Whether every inserted column but the key is set from EXCLUDED, and nothing else: then Insert Or Merge does it.
    fn is_merge(&self, columns: &[TargetColumn], update: &DoUpdate) -> bool {
        if self.rows.need_whole_rows() {
            return false;
        }
        let relation = self.rows.relation();
        let targets: Vec<&TargetColumn> = self.rows.set.targets().collect();
        let from_excluded = |(assignment, target): (&Assignment, &&TargetColumn)| {
            let Expr::CompoundIdentifier(parts) = &assignment.value else { return false };
            let [table, column] = parts.as_slice() else { return false };
            table.value.eq_ignore_ascii_case(EXCLUDED)
                && target_column(relation, column).is_ok_and(|source| source == **target)
        };
        let is_property = |target: &&TargetColumn| match target.column(relation) {
            Some(column) => matches!(column.source, ColumnSource::Property { .. }),
            None => true,
        };
        // NULL in EXCLUDED must remove the property, which Merge cannot: only NOT NULL columns are sure.
        let never_null = |target: &TargetColumn| target.column(relation).is_some_and(|c| c.not_null);
        targets.len() == update.assignments.len()
            && update.assignments.iter().zip(&targets).all(from_excluded)
            && columns.iter().filter(is_property).all(|c| targets.contains(&c) && never_null(c))
            && targets.len() == columns.iter().filter(is_property).count()
    }

    async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        existing: &[(usize, StoredEntity)],
        incoming: &RecordBatch,
        writes: &mut Writes<'_>,
    ) -> SqlResult<Vec<RecordBatch>> {
        let rows: Vec<usize> = existing.iter().map(|(row, _)| *row).collect();
        let stored: Vec<&StoredEntity> = existing.iter().map(|(_, stored)| stored).collect();
        let before = relation_rows(self.rows.relation(), &stored)?;
        let tables = conflict_tables(&before, &pick(incoming, &rows)?)?;
        let planned = planner.plan_with(&self.query, &tables, &self.planned.parameters).await?;
        let changes = self.rows.changes.bind(planner)?;
        let mut batches = planner.run(&planned, parameters).await?;
        let mut after = Vec::new();
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            let ordinals = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>().clone();
            let found: Vec<usize> =
                ordinals.values().iter().map(|ordinal| usize::try_from(*ordinal).unwrap_or_default()).collect();
            let mut values = self.rows.set.values(&batch, 1)?;
            let before = pick(&before, &found)?;
            let changed = changes.apply(before.columns().to_vec(), before.num_rows(), &mut values)?;
            for (row, ordinal) in found.iter().enumerate() {
                let base = stored[*ordinal];
                once(writes, &base.entity.key)?;
                self.rows.write(writes, &base.entity.key, &base.etag, &values, row).await?;
            }
            after.push(changed);
        }
        Ok(after)
    }
}

/// The conflict target must be the primary key: it is the only unique thing there is. PostgreSQL looks for it once all
/// else is right.
///
/// # Errors
/// 42P10 when it is not.
pub(super) fn check_target(relation: &Relation, target: Option<&ConflictTarget>) -> SqlResult<()> {
    let no_match = || {
        SqlError::new(
            ErrorKind::InvalidColumnReference,
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        )
        .with_hint(format!("The only unique constraint is the primary key \"{}\".", relation.primary_key_name()))
    };
    match target {
        None => check_enforced(relation),
        Some(ConflictTarget::OnConstraint(_)) => target_columns(relation, target).map(|_| ()),
        Some(ConflictTarget::Columns(_)) => {
            let key = relation.key_columns();
            let named = target_columns(relation, target)?;
            let is_key = |column: &TargetColumn| matches!(column, TargetColumn::Known(index) if key.contains(index));
            let same = named.len() == key.len()
                && named.iter().all(is_key)
                && key.iter().all(|index| named.contains(&TargetColumn::Known(*index)));
            if same { Ok(()) } else { Err(no_match()) }
        }
    }
}

/// Without a target any unique constraint may be in conflict, so each must be one that is looked at.
///
/// # Errors
/// 42P10 for a table with one that is only recorded.
fn check_enforced(relation: &Relation) -> SqlResult<()> {
    let key = relation.key_columns();
    // Rows that differ in their keys differ in more columns too.
    let has_key = |recorded: &Unenforced| {
        let has = |index: &usize| recorded.columns.contains(&relation.columns[*index].name);
        !key.is_empty() && key.iter().all(has)
    };
    let is_arbiter = |recorded: &&Unenforced| recorded.kind.is_unique() && !has_key(recorded);
    match relation.constraints.unenforced.iter().find(is_arbiter) {
        None => Ok(()),
        Some(recorded) => Err(only_recorded(relation, recorded)),
    }
}

fn only_recorded(relation: &Relation, recorded: &Unenforced) -> Box<SqlError> {
    let name = &recorded.name;
    let message = format!("ON CONFLICT cannot look at \"{name}\", which is recorded and not enforced");
    let hint = match relation.key_columns().as_slice() {
        [] => "Only a primary key is looked at, and this table has none.".to_owned(),
        key => {
            let names: Vec<&str> = key.iter().map(|index| relation.columns[*index].name.as_str()).collect();
            format!("Name the primary key: ON CONFLICT ({}).", names.join(", "))
        }
    };
    SqlError::new(ErrorKind::InvalidColumnReference, message).with_hint(hint)
}

/// The columns that a conflict target names; none where it names a constraint.
fn target_columns(relation: &Relation, target: Option<&ConflictTarget>) -> SqlResult<Vec<TargetColumn>> {
    match target {
        None => Ok(Vec::new()),
        Some(ConflictTarget::OnConstraint(name)) => {
            let named = name.0.last().and_then(|p| p.as_ident()).map(crate::syntax::fold);
            if named.as_deref() == Some(&relation.primary_key_name()) {
                return Ok(Vec::new());
            }
            let is_named = |recorded: &&Unenforced| {
                Some(&recorded.name) == named.as_ref() && matches!(recorded.kind, UnenforcedKind::Unique { .. })
            };
            if let Some(recorded) = relation.constraints.unenforced.iter().find(is_named) {
                return Err(only_recorded(relation, recorded));
            }
            let message =
                format!("constraint \"{}\" for table \"{}\" does not exist", named.unwrap_or_default(), relation.name);
            Err(SqlError::new(ErrorKind::UndefinedObject, message))
        }
        Some(ConflictTarget::Columns(columns)) => columns.iter().map(|ident| target_column(relation, ident)).collect(),
    }
}

/// The stored rows and the incoming ones, each with its ordinal.
fn conflict_tables(stored: &RecordBatch, excluded: &RecordBatch) -> SqlResult<Tables> {
    let mut tables = Tables::default();
    for (name, rows) in [(EXISTING, stored), (EXCLUDED, excluded)] {
        let ordinals = Int64Array::from_iter_values((0..rows.num_rows()).map(|i| i64::try_from(i).unwrap_or(i64::MAX)));
        let batch = with_column(rows, SqlType::Int8.field(ORDINAL, false), Arc::new(ordinals))?;
        let provider = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
        tables.insert(name, TableEntry::of_provider(&format!("conflict.{name}"), Arc::new(provider)));
    }
    Ok(tables)
}

/// Some rows of a batch.
fn pick(batch: &RecordBatch, rows: &[usize]) -> SqlResult<RecordBatch> {
    let indices = arrow::array::UInt64Array::from_iter_values(rows.iter().map(|r| *r as u64));
    let columns = batch.columns().iter().map(|c| take(c, &indices, None)).collect::<Result<Vec<_>, _>>()?;
    if columns.is_empty() {
        return Ok(concat_batches(&batch.schema(), std::iter::empty::<&RecordBatch>())?);
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
