//! Looking again at rows that had changed before they were locked, each in its newest version.
//!
//! A row is looked at beside those rows of other tables that it was found with in the statement's snapshot, and beside no
//! others. So it is found out which those were: by the same query, over the rows as the snapshot has them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use arrow::row::{OwnedRow, RowConverter, Rows, SortField};
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;
use tablegate_bind::BoundQuery;
use tablegate_bind::query::bound::Target;
use tablegate_types::error::SqlResult;

use super::met::MetChanges;
use super::others::entries_of;
use crate::newest::{NewestRows, TargetNumber};
use crate::outcome::RowStream;
use crate::plan::{MeantChange, PlannedQuery, Planner, Receiver};
use crate::relation::Relation;

/// How the input of a change is asked for rows that have changed meanwhile.
pub(super) struct Recheck {
    relation: Arc<Relation>,
    beside_others: Option<BesideOthers>,
}

/// The input, and behind its columns all of other tables'.
struct BesideOthers {
    meant: Arc<MeantChange>,
    query: BoundQuery,
    receivers: Vec<Receiver>,
    /// Of the input without those columns.
    width: usize,
    /// Whether rows of other tables come without a row of the target too.
    outer: bool,
}

impl Recheck {
    /// Of an input that reads nothing but the target.
    pub(super) fn alone(relation: &Arc<Relation>) -> Self {
        Self { relation: relation.clone(), beside_others: None }
    }

    /// Of an input that joins the target to others. With `outer`, it also has rows of those that no row of the target goes
    /// with.
    ///
    /// # Errors
    /// XX000 for a column of nothing.
    pub(super) fn beside(
        meant: &Arc<MeantChange>,
        mut query: BoundQuery,
        receivers: Vec<Receiver>,
        outer: bool,
    ) -> SqlResult<Self> {
        let (change, width) = (&meant.change, query.targets.len());
        for entry in entries_of(&query.from, &query.range) {
            // Rows are told apart by all that `*` shows of them.
            let columns = (0..query.range[entry].columns.len()).filter(|column| !query.range[entry].is_hidden(*column));
            for column in columns.filter(|_| entry != change.target) {
                let name = query.targets.len().to_string();
                query.targets.push(Target { expr: meant.column(entry, column)?, name, is_hidden: false, origin: None });
            }
        }
        let beside_others = Some(BesideOthers { meant: meant.clone(), query, receivers, width, outer });
        Ok(Self { relation: meant.relation().clone(), beside_others })
    }

    /// What the input, which is planned, has of the rows now.
    ///
    /// # Errors
    /// Those of running it; 53200 when there is no memory left to remember which rows go together.
    pub(super) async fn rows(
        &self,
        input: &PlannedQuery,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        met: MetChanges,
    ) -> SqlResult<RowStream> {
        let Some(beside) = &self.beside_others else {
            let newest = NewestRows::of_table(TargetNumber::OF_CHANGE, met.newest);
            return planner.looking_again(newest).run(input, parameters).await;
        };
        let input = beside.meant.plan(planner, &beside.query).await?.assigned_to(beside.receivers.clone())?;
        let mut before = Vec::new();
        for key in met.keys() {
            before.extend(planner.reads.get(&self.relation.stored, key).await?);
        }
        let before = planner.looking_again(NewestRows::of_table(TargetNumber::OF_CHANGE, before));
        let schema = input.plan.schema().as_arrow();
        let mut pairs = Pairs::new(schema, beside, planner.engine.memory("rows that are looked at again"))?;
        let mut found = before.run(&input, parameters).await?;
        while let Some(batch) = found.next().await {
            pairs.note(&batch?)?;
        }
        let now = planner.looking_again(NewestRows::of_table(TargetNumber::OF_CHANGE, met.newest));
        let rows = now.run(&input, parameters).await?;
        Ok(Box::pin(rows.map(move |batch| pairs.among(&batch?))))
    }
}

/// Which rows of the target and of other tables the statement found together.
struct Pairs {
    width: usize,
    outer: bool,
    target: RowsOf,
    others: RowsOf,
    pairs: HashSet<(OwnedRow, OwnedRow)>,
    /// Those of other tables among them.
    found: HashSet<OwnedRow>,
    memory: MemoryReservation,
}

impl Pairs {
    fn new(schema: &Schema, beside: &BesideOthers, memory: MemoryReservation) -> SqlResult<Self> {
        Ok(Self {
            width: beside.width,
            outer: beside.outer,
            target: RowsOf::new(schema, vec![0, 1])?,
            others: RowsOf::new(schema, (beside.width..schema.fields().len()).collect())?,
            pairs: HashSet::new(),
            found: HashSet::new(),
            memory,
        })
    }

    fn note(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let (target, others) = (self.target.of(batch)?, self.others.of(batch)?);
        for row in (0..batch.num_rows()).filter(|row| batch.column(0).is_valid(*row)) {
            let (target, other) = (target.row(row).owned(), others.row(row).owned());
            self.memory.try_grow(target.as_ref().len() + 2 * other.as_ref().len() + size_of::<[OwnedRow; 3]>())?;
            if self.outer {
                self.found.insert(other.clone());
            }
            self.pairs.insert((target, other));
        }
        Ok(())
    }

    /// The rows of a batch that were found together before, or whose row of other tables was found with a row that is
    /// no longer there. Without the columns of other tables.
    fn among(&mut self, batch: &RecordBatch) -> SqlResult<RecordBatch> {
        let (target, others) = (self.target.of(batch)?, self.others.of(batch)?);
        let is_known = |row: usize| match batch.column(0).is_valid(row) {
            true => self.pairs.contains(&(target.row(row).owned(), others.row(row).owned())),
            false => self.found.contains(&others.row(row).owned()),
        };
        let known: BooleanArray = (0..batch.num_rows()).map(|row| Some(is_known(row))).collect();
        let columns: Vec<usize> = (0..self.width).collect();
        Ok(filter_record_batch(&batch.project(&columns)?, &known)?)
    }
}

/// Some columns of a query, as values that are compared row by row.
pub(crate) struct RowsOf {
    columns: Vec<usize>,
    converter: RowConverter,
}

impl RowsOf {
    /// # Errors
    /// None are expected: values of every type can be compared.
    pub(crate) fn new(schema: &Schema, columns: Vec<usize>) -> SqlResult<Self> {
        let fields = columns.iter().map(|column| SortField::new(schema.field(*column).data_type().clone()));
        let converter = RowConverter::new(fields.collect())?;
        Ok(Self { columns, converter })
    }

    /// # Errors
    /// None are expected: the batch has the columns that the schema tells.
    pub(crate) fn of(&mut self, batch: &RecordBatch) -> SqlResult<Rows> {
        Ok(self.converter.convert_columns(batch.project(&self.columns)?.columns())?)
    }
}
