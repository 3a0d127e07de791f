//! MERGE: each row of a join of the source with the target goes the way of the first WHEN clause that fits it.
//!
//! One query finds the rows, says which clause each of them takes, and computes what the clauses write. Its rows then
//! go through the same writers as those of INSERT, UPDATE and DELETE.

mod clauses;

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::query::bound::{JoinKind, JoinTree, RangeEntry, RangeSource};
use tablegate_bind::query::changes::BoundMergeClause;
use tablegate_store::model::EntityKey;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use self::clauses::{Action, Clause};
use super::Changed;
use super::changed_rows::BoundChanges;
use super::met::MetChanges;
use super::new_rows::BoundRows;
use super::recheck::Recheck;
use super::rows::RowsToWrite;
use super::update::{IDENTITY_COLUMNS, etag_at};
use super::writes::Writes;
use crate::batches::keys_of_batch;
use crate::plan::{MeantChange, PlannedQuery, Planner};
use crate::relation::Relation;

/// Where the input query says which clause a row takes; NULL for none.
const CLAUSE: usize = IDENTITY_COLUMNS;
/// Columns before those of the clauses' values.
const LEADING_COLUMNS: usize = CLAUSE + 1;

/// A MERGE, planned.
pub(crate) struct PreparedMerge {
    relation: Arc<Relation>,
    input: PlannedQuery,
    recheck: Recheck,
    clauses: Vec<Clause>,
    /// Where the target's columns begin, if they are needed.
    target: usize,
    parameters: Vec<SqlType>,
}

impl PreparedMerge {
    /// # Errors
    /// The errors of planning the statement.
    pub(crate) async fn prepare(
        planner: &Planner<'_>,
        meant: &Arc<MeantChange>,
        merged: &[BoundMergeClause],
    ) -> SqlResult<Self> {
        let relation = meant.relation().clone();
        let mut targets = meant.identity()?;
        let clauses::Read { clauses, which, values } = clauses::read(planner, meant, merged)?;
        targets.push(which);
        let first = targets.len();
        targets.extend(values);
        let target = targets.len();
        if clauses.iter().any(Clause::needs_whole_rows) {
            targets.extend(meant.all_columns()?);
        }
        // Without a clause for rows that are not there, only rows that are there are of interest.
        let outer = !clauses.iter().all(Clause::is_matched);
        let mut query = meant.query(Vec::new(), None, targets);
        query.from = vec![joined(meant, &mut query.range, outer)?];
        let receivers: Vec<_> = clauses.iter().flat_map(|clause| clause.receivers(first)).collect();
        let input = meant.plan(planner, &query).await?.assigned_to(receivers.clone())?;
        let recheck = Recheck::beside(meant, query, receivers, outer)?;
        Ok(Self { relation, input, recheck, clauses, target, parameters: meant.parameters().to_vec() })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    pub(crate) fn input(&self) -> &PlannedQuery {
        &self.input
    }

    /// Whether it may change the keys of rows.
    pub(crate) fn assigns_key(&self) -> bool {
        self.clauses.iter().any(Clause::assigns_key)
    }

    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        let mut bound = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            bound.push(match &clause.action {
                Action::Nothing => Bound::Nothing,
                Action::Delete => Bound::Delete,
                Action::Update(rows) => Bound::Update(rows.changes.bind(planner)?),
                Action::Insert { rows, .. } => Bound::Insert(Box::new(rows.bind(planner)?)),
            });
        }
        let mut rows = 0;
        let mut batches = planner.run(&self.input, parameters).await?;
        while let Some(batch) = batches.next().await {
            let mut met = MetChanges::default();
            rows += self.write_all(&bound, &batch?, &mut met, writes).await?;
            if met.is_empty() {
                continue;
            }
            let mut again = Box::pin(self.recheck.rows(&self.input, planner, parameters, met)).await?;
            while let Some(batch) = again.next().await {
                rows += self.write_all(&bound, &batch?, &mut MetChanges::default(), writes).await?;
            }
        }
        writes.finish().await?;
        Ok(Changed { rows, returned: None })
    }

    /// Writes the rows of a batch of the input, but for those that had changed before they were locked; how many they are.
    async fn write_all(
        &self,
        bound: &[Bound<'_>],
        batch: &RecordBatch,
        met: &mut MetChanges,
        writes: &mut Writes<'_>,
    ) -> SqlResult<u64> {
        let mut rows = 0;
        for (index, (clause, bound)) in self.clauses.iter().zip(bound).enumerate() {
            let mut taken = taken_by(batch, index)?;
            if let Some(strength) = clause.action.locks() {
                let (as_found, changed) = writes.lock_found(taken, strength).await?;
                met.absorb(changed);
                taken = as_found;
            }
            if taken.num_rows() > 0 {
                rows += self.write(clause, bound, &taken, writes).await?;
            }
        }
        Ok(rows)
    }

    /// Writes the rows that a clause takes; how many they are.
    async fn write(
        &self,
        clause: &Clause,
        bound: &Bound<'_>,
        batch: &RecordBatch,
        writes: &mut Writes<'_>,
    ) -> SqlResult<u64> {
        match (&clause.action, bound) {
            (Action::Delete, _) => {
                for (row, key) in changed_once(batch, writes)?.into_iter().enumerate() {
                    writes.delete(key, &etag_at(batch, row)?).await?;
                }
            }
            (Action::Update(rows), Bound::Update(changes)) => {
                let keys = changed_once(batch, writes)?;
                let mut values = rows.set.values(batch, LEADING_COLUMNS + clause.first)?;
                if rows.need_whole_rows() {
                    let before = batch.columns()[self.target..self.target + self.relation.columns.len()].to_vec();
                    changes.apply(before, batch.num_rows(), &mut values)?;
                }
                rows.write_each(writes, &keys, batch, &values).await?;
            }
            (Action::Insert { given, .. }, Bound::Insert(rows)) => {
                let first = LEADING_COLUMNS + clause.first;
                let columns: Vec<usize> = (first..first + given.width()).collect();
                let complete = rows.complete(&given.rows(&batch.project(&columns)?)?).await?;
                let rows = RowsToWrite::new(&self.relation, rows.targets(), &complete)?;
                for row in 0..rows.len() {
                    writes.insert(rows.entity(row)?).await?;
                }
            }
            (Action::Nothing | Action::Update(_) | Action::Insert { .. }, _) => return Ok(0),
        }
        Ok(batch.num_rows() as u64)
    }
}

/// The source, joined to the target.
fn joined(meant: &MeantChange, range: &mut Vec<RangeEntry>, outer: bool) -> SqlResult<JoinTree> {
    let change = &meant.change;
    let [source] = change.from.as_slice() else {
        return Err(SqlError::new(ErrorKind::Internal, "MERGE has one source"));
    };
    range.push(RangeEntry::unnamed(String::new(), Vec::new(), RangeSource::Join { columns: Vec::new() }));
    Ok(JoinTree::Join {
        entry: range.len() - 1,
        kind: if outer { JoinKind::Left } else { JoinKind::Inner },
        left: Box::new(source.clone()),
        right: Box::new(JoinTree::Entry(change.target)),
        condition: change.filter.clone().map(Box::new),
        using: Vec::new(),
    })
}

/// A clause's action, ready for one run.
enum Bound<'c> {
    Nothing,
    Delete,
    Update(BoundChanges<'c>),
    Insert(Box<BoundRows>),
}

/// The rows of a batch that take the clause at an index.
fn taken_by(batch: &RecordBatch, index: usize) -> SqlResult<RecordBatch> {
    let wanted = i32::try_from(index).ok();
    let clauses = batch.column(CLAUSE).as_primitive_opt::<Int32Type>();
    let clauses = clauses.ok_or_else(|| SqlError::new(ErrorKind::Internal, "the clause of a row is not a number"))?;
    let taken: BooleanArray = clauses.iter().map(|clause| Some(clause.is_some() && clause == wanted)).collect();
    Ok(filter_record_batch(batch, &taken)?)
}

/// The keys of rows that are updated or deleted.
///
/// # Errors
/// 21000 for a row that the statement has changed already.
fn changed_once(batch: &RecordBatch, writes: &mut Writes<'_>) -> SqlResult<Vec<EntityKey>> {
    let keys = keys_of_batch(batch)?;
    for key in &keys {
        if !writes.first_change(key)? {
            return Err(SqlError::new(
                ErrorKind::CardinalityViolation,
                "MERGE command cannot affect row a second time",
            )
            .with_hint("Ensure that not more than one source row matches any one target row."));
        }
    }
    Ok(keys)
}
