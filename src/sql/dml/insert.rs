//! INSERT: rows from VALUES or a query become entities; ON CONFLICT decides about keys that are there.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::query::changes::ChangeKind;
use tablegate_store::model::Entity;
use tablegate_store::table::SnapshotScope;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;
use tokio::task::yield_now;

use super::Changed;
use super::conflict::{OnConflict, check_target};
use super::constant_columns::constant_columns;
use super::given_rows::{given_rows, targets_of};
use super::insert_source::{Source, leave_out_own, source};
use super::kept_rows::KeptRows;
use super::listed_columns::{ListedColumns, ROWS_PER_BATCH};
use super::many_rows::FEW_ROWS;
use super::new_rows::{BoundRows, NewRows};
use super::others::OtherColumns;
use super::own_types::{self, evolved};
use super::plain_rows::PlainRows;
use super::returning::{Returning, inserted_rows};
use super::rows::RowsToWrite;
use super::rows_of_parameters::RowsOfParameters;
use super::target::TargetColumn;
use super::values::{Cell, CellValues, Computed, ValuesList};
use super::writes::Writes;
use crate::aside::aside_unless;
use crate::plan::{MeantChange, PlannedQuery, Planner};
use crate::relation::{ColumnSource, Relation};
use crate::syntax::ConstantRows;

/// An INSERT, planned.
pub(crate) struct PreparedInsert {
    relation: Arc<Relation>,
    /// The columns the source gives.
    targets: Vec<TargetColumn>,
    source: Source,
    /// What a VALUES list gives.
    listed: Option<ListedColumns>,
    /// The same without columns, where rows are inserted and that is all.
    plain: Option<PlainRows>,
    /// The types that given values keep, where these are not their columns'.
    own_types: Vec<Option<SqlType>>,
    /// The table as RETURNING shows it: as it is with these values.
    shown: Arc<Relation>,
    rows: Arc<NewRows>,
    conflict: Arc<OnConflict>,
    returning: Option<Arc<Returning>>,
    parameters: Vec<SqlType>,
}

impl PreparedInsert {
    /// # Errors
    /// The errors of planning the statement.
    pub(crate) async fn prepare(planner: &Planner<'_>, meant: &Arc<MeantChange>) -> SqlResult<Self> {
        let ChangeKind::Insert { source, columns, overriding, replaces, conflict } = &meant.change.kind else {
            return Err(SqlError::new(ErrorKind::Internal, "another change is planned as INSERT"));
        };
        let relation = meant.relation().clone();
        let mut targets = targets_of(&relation, &meant.change.relation, columns)?;
        let mut source = self::source(planner, meant, source, &mut targets).await?;
        leave_out_own(&relation, &mut targets, &mut source, *overriding);
        source = source.assigned_to(&relation, &targets)?;
        let rows = Arc::new(NewRows::prepare(planner, &relation, &targets, &source.asked_defaults(&targets))?);
        let conflict = conflict.as_deref();
        let updates = conflict.is_some_and(|conflict| conflict.update.is_some());
        let own_types = source.own_types(&relation, &targets, updates);
        let listed = match &source {
            Source::Values(values) => Some(ListedColumns::prepare(&relation, &targets, &own_types, values)),
            Source::Query { .. } | Source::Columns(_) => None,
        };
        let on_conflict = OnConflict::prepare(planner, meant, rows.targets(), (conflict, *replaces)).await?;
        let stored = targets.iter().zip(&own_types).filter_map(|(target, own)| Some((target, own.clone()?)));
        let shown = evolved(&relation, stored);
        let returning = Returning::prepare(planner, meant, &shown, OtherColumns::default()).await?;
        let plain = match (&source, &listed, &on_conflict, &returning) {
            (Source::Values(values), Some(listed), OnConflict::Refuse, None) => {
                PlainRows::prepare(planner, &relation, &targets, listed, values, &rows)
            }
            _ => None,
        };
        if let Some(conflict) = conflict {
            check_target(meant, conflict)?;
        }
        let (conflict, returning) = (Arc::new(on_conflict), returning.map(Arc::new));
        let parameters = meant.parameters().to_vec();
        Ok(Self { relation, targets, source, listed, plain, own_types, shown, rows, conflict, returning, parameters })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.parameters
    }

    /// The same for these rows, where its own list is one row of parameters; `None` where that is not so, and where
    /// [`constant_columns`] gives none.
    pub(crate) fn with_constants(&self, rows: &ConstantRows<'_>, reading: Reading) -> Option<Self> {
        let (places, given) = self.given()?;
        let batches = constant_columns(rows, &places, given, reading)?;
        Some(self.with_columns(batches.into()))
    }

    /// The same for many rows that are written like the one row of parameters of these plans; `None` where that is not so.
    pub(crate) fn with_parameters(plans: &[&Self], planner: &Planner<'_>, rows: &RowsOfParameters<'_>) -> Option<Self> {
        let lists = plans.iter().map(|plan| match &plan.source {
            Source::Values(values) => Some(values),
            Source::Query { .. } | Source::Columns(_) => None,
        });
        let values = ValuesList::of_rows_like(&lists.collect::<Option<Vec<_>>>()?, rows)?;
        let first = *plans.first()?;
        if plans.iter().any(|plan| plan.own_types != first.own_types || plan.targets != first.targets) {
            return None;
        }
        let listed = ListedColumns::prepare(&first.relation, &first.targets, &first.own_types, &values);
        let is_short = rows.len() <= FEW_ROWS;
        let plain = (first.plain.is_some() && is_short)
            .then(|| PlainRows::prepare(planner, &first.relation, &first.targets, &listed, &values, &first.rows))
            .flatten();
        let parameters = values.parameters().to_vec();
        Some(Self { listed: Some(listed), plain, parameters, ..first.with_source(Source::Values(values)) })
    }

    /// This statement, planned anew, for the rows that another one has; `None` where they are not those of its columns any more.
    pub(super) fn with_rows_of(self, other: &Self) -> Option<Self> {
        let Source::Columns(batches) = &other.source else { return Some(self) };
        let (_, given) = self.given()?;
        let are_same = *given.schema() == batches.first()?.schema();
        are_same.then(|| self.with_columns(batches.clone()))
    }

    /// Which value of its one row of parameters each of the columns takes that are given.
    fn given(&self) -> Option<(Vec<usize>, &ListedColumns)> {
        let (Source::Values(values), Some(listed)) = (&self.source, &self.listed) else { return None };
        let [row] = values.rows() else { return None };
        let place = |((cell, target), sql_type): ((&Cell, &TargetColumn), &SqlType)| {
            let Cell::Parameter(place) = *cell else { return None };
            target.column(&self.relation).filter(|column| column.sql_type == *sql_type).map(|_| place)
        };
        let places = row.iter().zip(&self.targets).zip(listed.types()).map(place).collect::<Option<_>>()?;
        Some((places, listed))
    }

    fn with_columns(&self, batches: Arc<[RecordBatch]>) -> Self {
        self.with_source(Source::Columns(batches))
    }

    /// The same with other rows, which have no parameters and are not listed.
    fn with_source(&self, source: Source) -> Self {
        Self {
            relation: self.relation.clone(),
            targets: self.targets.clone(),
            source,
            listed: None,
            plain: None,
            own_types: self.own_types.clone(),
            shown: self.shown.clone(),
            rows: self.rows.clone(),
            conflict: self.conflict.clone(),
            returning: self.returning.clone(),
            parameters: Vec::new(),
        }
    }

    pub(super) fn returning(&self) -> Option<&Returning> {
        self.returning.as_deref()
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// The query the rows come from; `None` for constants.
    pub(crate) fn input(&self) -> Option<&PlannedQuery> {
        match &self.source {
            Source::Query { input, .. } => Some(input),
            Source::Values(values) => values.input(),
            Source::Columns(_) => None,
        }
    }

    pub(crate) fn is_of_values(&self) -> bool {
        matches!(self.source, Source::Values(_))
    }

    /// How many rows it adds where it does nothing else; `None` where it may change rows that are there, or leave some out.
    /// Those of a query count as very many.
    pub(crate) fn rows_only_added(&self) -> Option<usize> {
        if !matches!(*self.conflict, OnConflict::Refuse) {
            return None;
        }
        Some(match &self.source {
            Source::Query { .. } => usize::MAX,
            Source::Values(values) => values.rows().len(),
            Source::Columns(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        })
    }

    /// Whether ON CONFLICT may change the keys of rows.
    pub(crate) fn assigns_key(&self) -> bool {
        self.conflict.assigns_key()
    }

    /// What the statement sets that the service sets itself.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let sets_timestamp =
            self.targets.iter().any(|t| t.column(&self.relation).is_some_and(|c| c.source == ColumnSource::Timestamp));
        sets_timestamp.then(|| Notice::info("\"Timestamp\" is set by the store: the given value is ignored"))
    }

    /// Which columns will show as text because of it.
    pub(crate) fn evolution(&self) -> Option<Notice> {
        own_types::notice(&self.relation, &self.shown)
    }

    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        if self.returning().is_some_and(Returning::shows_versions) {
            writes.keep_versions();
        }
        let mut run =
            Run { rows: self.rows.bind(planner)?, changed: 0, kept: KeptRows::new(planner, "rows of RETURNING") };
        self.conflict.check(planner, parameters)?;
        match (&self.source, &self.listed) {
            (Source::Values(values), Some(listed)) => {
                if values.is_in_turn() {
                    Box::pin(self.write_in_turn(planner, parameters, values, listed, writes, &mut run)).await?;
                    return self.done(planner, parameters, run, writes).await;
                }
                // What is seldom done is boxed: what a future holds is moved with it.
                let computed = match values.input() {
                    Some(_) => Box::pin(values.compute(planner, parameters)).await?,
                    None => Vec::new(),
                };
                let meaning = self.meaning(parameters, &computed, planner.reading());
                for chunk in values.rows().chunks(ROWS_PER_BATCH) {
                    let batch = listed.batch(chunk, &meaning, &run.rows).await?;
                    self.write(planner, parameters, &batch, writes, &mut run).await?;
                }
            }
            (Source::Values(_), None) => {
                return Err(SqlError::new(ErrorKind::Internal, "a VALUES list was planned without its columns"));
            }
            (Source::Query { input, columns }, _) => {
                Box::pin(self.write_query(planner, parameters, input, columns, writes, &mut run)).await?;
            }
            (Source::Columns(batches), _) => {
                for batch in batches.iter() {
                    self.write(planner, parameters, batch, writes, &mut run).await?;
                }
            }
        }
        self.done(planner, parameters, run, writes).await
    }

    async fn done(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        run: Run,
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        let returned = Returning::finish(self.returning(), planner, parameters, run.kept, writes).await?;
        Ok(Changed { rows: run.changed, returned })
    }

    /// Writes the rows of a VALUES list of which each is complete before the next is begun.
    async fn write_in_turn(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        values: &ValuesList,
        listed: &ListedColumns,
        writes: &mut Writes<'_>,
        run: &mut Run,
    ) -> SqlResult<()> {
        let mut computed = Vec::new();
        for (place, row) in values.rows().iter().enumerate() {
            values.compute_row(place, planner, parameters, &mut computed).await?;
            let meaning = self.meaning(parameters, &computed, planner.reading());
            let batch = listed.batch(std::slice::from_ref(row), &meaning, &run.rows).await?;
            self.write(planner, parameters, &batch, writes, run).await?;
        }
        Ok(())
    }

    fn meaning<'m>(
        &'m self,
        parameters: &'m [ScalarValue],
        computed: &'m [Computed],
        reading: Reading,
    ) -> CellValues<'m> {
        CellValues { parameters, declared: &self.parameters, computed, reading }
    }

    /// The entities that a run with these parameters inserts, where that is all it does; `None` where it takes
    /// [`PreparedInsert::run`].
    pub(crate) fn plain_rows(&self, parameters: &[ScalarValue], reading: Reading) -> Option<Vec<Entity>> {
        self.plain.as_ref()?.entities(&self.relation, &self.meaning(parameters, &[], reading))
    }

    /// Writes the rows of a query, from these of its columns.
    async fn write_query(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        input: &PlannedQuery,
        columns: &[(usize, bool)],
        writes: &mut Writes<'_>,
        run: &mut Run,
    ) -> SqlResult<()> {
        let mut batches = planner.run(input, parameters).await?;
        if self.could_meet_its_rows(planner, input) {
            batches = KeptRows::of(planner, "rows of INSERT", batches).await?.into_stream();
        }
        while let Some(batch) = batches.next().await {
            let (targets, own_types) = (&self.targets, &self.own_types);
            let batch = given_rows(&self.relation, targets, columns, own_types, &batch?, planner.reading())?;
            self.write(planner, parameters, &batch, writes, run).await?;
            // In a block nothing here waits, and the rows come as fast as they are taken: others have their turn.
            yield_now().await;
        }
        Ok(())
    }

    /// Whether the query reads the table that is written to, in a store that does not promise to show it as it was.
    fn could_meet_its_rows(&self, planner: &Planner<'_>, input: &PlannedQuery) -> bool {
        let store = planner.engine.stores().at(self.relation.place());
        let is_one_moment = store.is_ok_and(|store| store.promises().snapshot == SnapshotScope::Store);
        !is_one_moment && input.relations.iter().any(|read| read.stored == self.relation.stored)
    }

    /// Writes one batch of rows.
    async fn write(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        given: &RecordBatch,
        writes: &mut Writes<'_>,
        run: &mut Run,
    ) -> SqlResult<()> {
        let batch = run.rows.complete(given).await?;
        let targets = self.rows.targets();
        let make = || RowsToWrite::new(&self.relation, targets, &batch);
        let rows = aside_unless(batch.num_rows() < FEW_ROWS, make)?;
        let values = |index: usize| {
            let position = targets.iter().position(|t| *t == TargetColumn::Known(index))?;
            Some(batch.column(position).clone())
        };
        let incoming = || {
            let keys: Vec<_> = (0..rows.len()).map(|row| rows.key(row)).collect();
            inserted_rows(&self.shown, &keys, &values)
        };
        let written = self.conflict.write(planner, parameters, &rows, &incoming, writes).await?;
        run.changed += written.changed();
        if self.returning.is_some() {
            written.rows_after(&incoming)?.into_iter().try_for_each(|rows| run.kept.push(&rows))?;
        }
        Ok(())
    }
}

/// One run of the statement.
struct Run {
    rows: BoundRows,
    /// Rows inserted or updated.
    changed: u64,
    /// For RETURNING.
    kept: KeptRows,
}
