//! WITH before a change, and changes inside WITH.
//!
//! Every part of such a statement reads the one snapshot that was there when it began: none sees what another writes.
//! What one part hands to the next are the rows it returned, kept in memory within what queries may hold. A part that
//! changes rows runs exactly once, whether its rows are read or not; a query runs where it is read, and once beforehand
//! if several parts read it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::MemoryReservation;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::kept_rows::KeptRows;
use super::writes::Writes;
use super::{Changed, Outline, PreparedDml};
use crate::outcome::{ResultColumn, RowStream, RowsTag};
use crate::plan::{MeantPart, MeantParts, PartPlace, PartRows, PlannedQuery, Planner};
use crate::relation::Relation;

/// A statement of several parts, planned.
pub(crate) struct PreparedWith {
    meant: MeantParts,
    parts: Vec<Part>,
    /// The statement behind WITH.
    main: Step,
    /// The table that the statement changes; the first one, if that is in its WITH clause.
    relation: Arc<Relation>,
}

/// One part of the WITH clause.
struct Part {
    name: String,
    step: Step,
}

/// What is done about a part.
enum Step {
    /// It is planned into whatever reads it.
    Inline,
    Query(Box<PlannedQuery>),
    Change(Box<PreparedDml>),
}

impl PreparedWith {
    /// # Errors
    /// The errors of planning one of the parts.
    pub(crate) async fn prepare(planner: &Planner<'_>, meant: MeantParts) -> SqlResult<Self> {
        let mut rows = PartRows::default();
        let mut parts = Vec::new();
        for (number, (part, shared)) in meant.with().iter().zip(meant.shared()).enumerate() {
            let step = match meant.part(PartPlace::With(number), &rows)? {
                MeantPart::Query(_) if !shared => Step::Inline,
                means => Step::of(planner, &meant, means, PartPlace::With(number), &rows).await?,
            };
            if let Some(schema) = step.schema() {
                rows.add(number, &schema, Vec::new())?;
            }
            parts.push(Part { name: part.name.clone(), step });
        }
        let means = meant.part(PartPlace::Behind, &rows)?;
        let main = Step::of(planner, &meant, means, PartPlace::Behind, &rows).await?;
        let steps = [&main].into_iter().chain(parts.iter().map(|part| &part.step));
        let relation = steps.filter_map(Step::change).next().map(PreparedDml::relation).cloned();
        let relation = relation.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a query was planned as a change"))?;
        Ok(Self { meant, parts, main, relation })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        self.meant.parameters()
    }

    pub(crate) fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        match &self.main {
            Step::Change(change) => change.columns(),
            Step::Query(query) => Some(query.columns.clone()),
            Step::Inline => None,
        }
    }

    pub(crate) fn tag(&self) -> RowsTag {
        match &self.main {
            Step::Change(change) => change.tag(),
            Step::Query(_) | Step::Inline => RowsTag::Select,
        }
    }

    /// The changes in it, in the order in which they run.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &PreparedDml> {
        self.parts.iter().map(|part| &part.step).chain([&self.main]).filter_map(Step::change)
    }

    /// The queries that the parts are, or find their rows with.
    pub(crate) fn inputs(&self) -> Vec<&PlannedQuery> {
        let steps = self.parts.iter().map(|part| &part.step).chain([&self.main]);
        steps.flat_map(Step::inputs).collect()
    }

    /// Whether it is one change with queries before it, which needs no transaction around it.
    pub(crate) fn is_one_change(&self) -> bool {
        matches!(self.main, Step::Change(_)) && self.changes().count() == 1
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// What EXPLAIN shows: the statement behind WITH, over the parts that run before it.
    pub(crate) fn outline(&self) -> Outline<'_> {
        let mut outline = self.main.outline().unwrap_or(Outline { change: None, query: None, parts: Vec::new() });
        let parts = self.parts.iter().filter_map(|part| Some((&*part.name, part.step.outline()?)));
        outline.parts = parts.collect();
        outline
    }

    pub(crate) async fn run(
        &self,
        planner: &Planner<'_>,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        if self.changes().count() > 1 {
            writes.expect_several_changes();
        }
        let mut rows = PartRows::default();
        // In use until the statement is done.
        let mut memory: Vec<MemoryReservation> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let place = PartPlace::With(number);
            let stream: Option<RowStream> = match &part.step {
                Step::Inline => None,
                Step::Query(_) => Some(self.query(planner, place, &rows, parameters).await?),
                Step::Change(planned) => {
                    let changed = self.change(planner, planned, place, &rows, parameters, writes).await?;
                    changed.returned.map(|(_, stream)| stream)
                }
            };
            if let (Some(stream), Some(schema)) = (stream, part.step.schema()) {
                let (batches, kept) = KeptRows::of(planner, "rows of WITH", stream).await?.into_parts();
                memory.push(kept);
                rows.add(number, &schema, batches)?;
            }
        }
        match &self.main {
            Step::Change(planned) => self.change(planner, planned, PartPlace::Behind, &rows, parameters, writes).await,
            Step::Query(query) => {
                let stream = self.query(planner, PartPlace::Behind, &rows, parameters).await?;
                // All of it runs before anything is committed: it may still fail.
                let rows = KeptRows::of(planner, "rows of a query behind WITH", stream).await?;
                Ok(Changed { rows: rows.count(), returned: Some((query.columns.clone(), rows.into_stream())) })
            }
            Step::Inline => Err(SqlError::new(ErrorKind::Internal, "a statement was planned as a part of itself")),
        }
    }

    /// Runs a part that is a query, over the rows that are there now.
    async fn query(
        &self,
        planner: &Planner<'_>,
        place: PartPlace,
        rows: &PartRows,
        parameters: &[ScalarValue],
    ) -> SqlResult<RowStream> {
        let MeantPart::Query(query) = self.meant.part(place, rows)? else {
            return Err(SqlError::new(ErrorKind::Internal, "a change was planned as a query"));
        };
        let planned = self.meant.plan(planner, &query, place, rows).await?;
        planner.run(&planned, parameters).await
    }

    /// Runs a change, planned anew where it reads rows that are there now.
    async fn change(
        &self,
        planner: &Planner<'_>,
        planned: &PreparedDml,
        place: PartPlace,
        rows: &PartRows,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        writes.aim_at(planned.relation());
        if rows.is_empty() {
            return Box::pin(planned.run(planner, parameters, writes)).await;
        }
        let MeantPart::Change(meant) = self.meant.part(place, rows)? else {
            return Err(SqlError::new(ErrorKind::Internal, "a query was planned as a change of rows"));
        };
        let fresh = Box::pin(PreparedDml::of_meant(planner, &meant)).await?;
        Box::pin(fresh.run(planner, parameters, writes)).await
    }
}

impl Step {
    async fn of(
        planner: &Planner<'_>,
        meant: &MeantParts,
        means: MeantPart,
        place: PartPlace,
        rows: &PartRows,
    ) -> SqlResult<Self> {
        Ok(match means {
            MeantPart::Query(query) => Step::Query(Box::new(meant.plan(planner, &query, place, rows).await?)),
            MeantPart::Change(change) => {
                Step::Change(Box::new(Box::pin(PreparedDml::of_meant(planner, &change)).await?))
            }
        })
    }

    fn inputs(&self) -> Vec<&PlannedQuery> {
        match self {
            Step::Inline => Vec::new(),
            Step::Query(query) => vec![query],
            Step::Change(change) => change.inputs(),
        }
    }

    fn change(&self) -> Option<&PreparedDml> {
        match self {
            Step::Change(change) => Some(change),
            Step::Query(_) | Step::Inline => None,
        }
    }

    fn outline(&self) -> Option<Outline<'_>> {
        match self {
            Step::Inline => None,
            Step::Query(query) => Some(Outline { change: None, query: Some(query), parts: Vec::new() }),
            Step::Change(change) => Some(change.outline()),
        }
    }

    /// The columns of the rows it hands on.
    fn schema(&self) -> Option<SchemaRef> {
        match self {
            Step::Inline => None,
            Step::Query(query) => Some(query.plan.schema().inner().clone()),
            Step::Change(change) => change.returned_schema(),
        }
    }
}
