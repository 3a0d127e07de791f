//! WITH before a change, and changes inside WITH.
//!
//! Every part of such a statement reads the one snapshot that was there when it began: none sees what another writes.
//! What one part hands to the next are the rows it returned, kept in memory within what queries may hold. A part that
//! changes rows runs exactly once, whether its rows are read or not; a query runs where it is read, and once beforehand
//! if several parts read it.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::MemoryReservation;
use sqlparser::ast::{Cte, Query, Statement, TableAlias};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::kept_rows::KeptRows;
use super::writes::Writes;
use super::{Changed, Outline, PreparedDml};
use crate::outcome::{ResultColumn, RowsTag};
use crate::plan::{Around, Mentions, PlannedQuery, Planner, TableEntry};
use crate::relation::Relation;
use crate::syntax::{change_in, fold};

/// A statement of several parts, planned.
pub(crate) struct PreparedWith {
    recursive: bool,
    parts: Vec<Part>,
    /// The statement behind WITH.
    query: Query,
    main: Step,
    parameters: Vec<SqlType>,
    /// The table that the statement changes; the first one, if that is in its WITH clause.
    relation: Arc<Relation>,
}

/// One query of the WITH clause.
struct Part {
    cte: Cte,
    step: Step,
}

/// What is done about a part.
enum Step {
    /// It is planned into whatever reads it.
    Inline,
    Query(Box<PlannedQuery>),
    Change(Box<PreparedDml>),
}

fn ctes(query: &Query) -> &[Cte] {
    query.with.as_ref().map_or(&[], |with| with.cte_tables.as_slice())
}

impl PreparedWith {
    /// # Errors
    /// The errors of planning one of the parts; 42712 for a name that is there twice, 0A000 for MERGE in WITH and for
    /// rows of a part that returns none.
    pub(crate) async fn prepare(planner: &Planner<'_>, query: &Query, declared: &[SqlType]) -> SqlResult<Self> {
        check_names(query)?;
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        let mut around = Surroundings::new(recursive);
        let mut declared = declared.to_vec();
        let mut parts = Vec::new();
        for (cte, shared) in ctes(query).iter().zip(shared(query)) {
            around.check(&cte.query)?;
            let step = match change_in(&cte.query) {
                Some(Statement::Merge(_)) => return Err(SqlError::not_supported("MERGE in a WITH query")),
                Some(change) => Step::Change(around.plan_change(planner, &cte.query, change, &declared).await?),
                None if shared => {
                    Step::Query(Box::new(planner.within(around.now()).plan(&cte.query, &declared).await?))
                }
                None => Step::Inline,
            };
            step.learn(&mut declared);
            match step.schema() {
                Some(schema) => around.add_rows(&cte.alias, &schema, Vec::new())?,
                None => around.add_without_rows(cte, &step),
            }
            parts.push(Part { cte: cte.clone(), step });
        }
        around.check(query)?;
        let query = Query { with: None, ..query.clone() };
        let main = match change_in(&query) {
            Some(Statement::Merge(_)) if recursive => {
                return Err(SqlError::new(ErrorKind::Syntax, "WITH RECURSIVE is not supported for MERGE statement"));
            }
            Some(change) => Step::Change(around.plan_change(planner, &query, change, &declared).await?),
            None => Step::Query(Box::new(planner.within(around.now()).plan(&query, &declared).await?)),
        };
        main.learn(&mut declared);
        let steps = [&main].into_iter().chain(parts.iter().map(|part| &part.step));
        let relation = steps.filter_map(Step::change).next().map(PreparedDml::relation).cloned();
        let relation = relation.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a query was planned as a change"))?;
        Ok(Self { recursive, parts, query, main, parameters: declared, relation })
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.parameters
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
        let mut outline = self.main.outline().unwrap_or(Outline { title: None, query: None, parts: Vec::new() });
        let parts = self.parts.iter().filter_map(|part| Some((&*part.cte.alias.name.value, part.step.outline()?)));
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
        let mut around = Surroundings::new(self.recursive);
        for part in &self.parts {
            let cte = &part.cte;
            let stream = match &part.step {
                Step::Inline => None,
                Step::Query(query) => {
                    let planner = planner.within(around.now());
                    let planned = planner.plan(&cte.query, &query.parameters).await?;
                    Some(planner.run(&planned, parameters).await?)
                }
                Step::Change(planned) => {
                    let changed = around.change(planner, &cte.query, planned, parameters, writes).await?;
                    changed.returned.map(|(_, stream)| stream)
                }
            };
            match (stream, part.step.schema()) {
                (Some(stream), Some(schema)) => {
                    let (rows, memory) = KeptRows::of(planner, "rows of WITH", stream).await?.into_parts();
                    around.memory.push(memory);
                    around.add_rows(&cte.alias, &schema, rows)?;
                }
                _ => around.add_without_rows(cte, &part.step),
            }
        }
        match &self.main {
            Step::Change(planned) => around.change(planner, &self.query, planned, parameters, writes).await,
            Step::Query(query) => {
                let planner = planner.within(around.now());
                let planned = planner.plan(&self.query, &query.parameters).await?;
                // All of it runs before anything is committed: it may still fail.
                let stream = planner.run(&planned, parameters).await?;
                let rows = KeptRows::of(&planner, "rows of a query behind WITH", stream).await?;
                Ok(Changed { rows: rows.count(), returned: Some((query.columns.clone(), rows.into_stream())) })
            }
            Step::Inline => Err(SqlError::new(ErrorKind::Internal, "a statement was planned as a part of itself")),
        }
    }
}

impl Step {
    /// Takes over the types of its parameters, where they were not known before.
    fn learn(&self, known: &mut Vec<SqlType>) {
        match self {
            Step::Inline => {}
            Step::Query(query) => query.learn(known),
            Step::Change(change) => {
                for (index, found) in change.known_parameters().iter().enumerate() {
                    if known.len() <= index {
                        known.push(found.clone());
                    } else if known[index] == SqlType::Unknown {
                        known[index] = found.clone();
                    }
                }
            }
        }
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
            Step::Query(query) => Some(Outline { title: None, query: Some(query), parts: Vec::new() }),
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

/// What the parts so far leave for those that follow.
struct Surroundings {
    around: Around,
    /// Changes that return no rows.
    silent: HashSet<String>,
    /// In use until the statement is done.
    memory: Vec<MemoryReservation>,
}

impl Surroundings {
    fn new(recursive: bool) -> Self {
        Self { around: Around::new(recursive), silent: HashSet::new(), memory: Vec::new() }
    }

    fn now(&self) -> Around {
        self.around.clone()
    }

    /// What a change sees that has a WITH clause of its own.
    fn of(&self, query: &Query) -> Around {
        let mut around = self.now();
        ctes(query).iter().for_each(|cte| around.add_query(cte.clone()));
        around
    }

    fn add_without_rows(&mut self, cte: &Cte, step: &Step) {
        match step {
            Step::Inline => self.around.add_query(cte.clone()),
            Step::Query(_) | Step::Change(_) => {
                self.silent.insert(fold(&cte.alias.name));
            }
        }
    }

    /// Rows under a part's name, their columns named as its alias says.
    fn add_rows(&mut self, alias: &TableAlias, schema: &SchemaRef, rows: Vec<RecordBatch>) -> SqlResult<()> {
        let names = alias.columns.iter().map(|column| Some(fold(&column.name))).chain(std::iter::repeat(None));
        let field = |(field, name): (&Arc<Field>, Option<String>)| {
            let name = name.unwrap_or_else(|| field.name().clone());
            field.as_ref().clone().with_name(name).with_nullable(true)
        };
        let schema = Arc::new(Schema::new(schema.fields().iter().zip(names).map(field).collect::<Vec<_>>()));
        let batch = |rows: RecordBatch| Ok(RecordBatch::try_new(schema.clone(), rows.columns().to_vec())?);
        let rows = rows.into_iter().map(batch).collect::<SqlResult<Vec<_>>>()?;
        let provider = Arc::new(MemTable::try_new(schema, vec![rows])?);
        let name = fold(&alias.name);
        self.around.add_rows(&name, TableEntry::of_provider(&format!("with.{name}"), provider));
        Ok(())
    }

    /// Whether a part reads only such parts as have rows.
    fn check(&self, query: &Query) -> SqlResult<()> {
        match self.silent.iter().find(|name| Mentions::of(query).has(name)) {
            None => Ok(()),
            Some(name) => {
                let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
                Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
            }
        }
    }

    async fn plan_change(
        &self,
        planner: &Planner<'_>,
        query: &Query,
        change: &Statement,
        declared: &[SqlType],
    ) -> SqlResult<Box<PreparedDml>> {
        let planner = planner.within(self.of(query));
        Ok(Box::new(Box::pin(PreparedDml::of_statement(&planner, change, declared)).await?))
    }

    /// Runs a change, planned anew over the rows that are there now.
    async fn change(
        &self,
        planner: &Planner<'_>,
        query: &Query,
        planned: &PreparedDml,
        parameters: &[ScalarValue],
        writes: &mut Writes<'_>,
    ) -> SqlResult<Changed> {
        let planner = planner.within(self.of(query));
        writes.aim_at(planned.relation());
        if self.around.rows().is_empty() {
            return Box::pin(planned.run(&planner, parameters, writes)).await;
        }
        let change = change_in(query)
            .ok_or_else(|| SqlError::new(ErrorKind::Internal, "a query was planned as a change of rows"))?;
        let fresh = Box::pin(PreparedDml::of_statement(&planner, change, planned.known_parameters())).await?;
        Box::pin(fresh.run(&planner, parameters, writes)).await
    }
}

/// # Errors
/// 42712 for two queries of one name.
fn check_names(query: &Query) -> SqlResult<()> {
    let mut names = HashSet::new();
    for cte in ctes(query) {
        let name = fold(&cte.alias.name);
        if !names.insert(name.clone()) {
            let message = format!("WITH query name \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateAlias, message));
        }
    }
    Ok(())
}

/// Which of the queries in WITH are read by several of the parts that run on their own.
fn shared(query: &Query) -> Vec<bool> {
    let ctes = ctes(query);
    let runs_alone = |i: usize| i == ctes.len() || change_in(&ctes[i].query).is_some();
    let body = Query { with: None, ..query.clone() };
    let mentions: Vec<Mentions> = ctes.iter().map(|cte| &*cte.query).chain([&body]).map(Mentions::of).collect();
    let mut readers: Vec<usize> = vec![0; ctes.len() + 1];
    let mut shared = vec![false; ctes.len()];
    // From the last on: a query that is planned into its readers reads as often as it is read.
    for (i, cte) in ctes.iter().enumerate().rev() {
        let name = fold(&cte.alias.name);
        let reads = |reader: usize| if runs_alone(reader) || shared[reader] { 1 } else { readers[reader] };
        let count = (i + 1..=ctes.len()).filter(|&reader| mentions[reader].has(&name)).map(reads).sum();
        readers[i] = count;
        shared[i] = !runs_alone(i) && count > 1;
    }
    shared
}
