//! What a change of rows means, and the queries that it is made of: those that find its rows, and compute what it writes and
//! returns.

use std::slice;
use std::sync::{Arc, OnceLock};

use datafusion::common::ScalarValue;
use futures::stream;
use tablegate_bind::catalogue::RelationKind;
use tablegate_bind::query::bound::{JoinTree, RangeSource, Target, column_of};
use tablegate_bind::query::changes::{BoundChange, ChangeKind};
use tablegate_bind::{BoundExpr, BoundQuery, ExprKind, Oid};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::named::{Named, Part};
use crate::newest::TargetNumber;
use crate::outcome::RowStream;
use crate::plan::held_rows::HeldRows;
use crate::plan::planned_query::PlannedQuery;
use crate::plan::planner::Planner;
use crate::plan::tables::{TableEntry, own_number};
use crate::relation::{ColumnSource, Relation};
use crate::sequence;

/// What a change of rows means.
pub(crate) struct MeantChange {
    pub change: BoundChange,
    named: Arc<Named>,
    /// What stands around it, if it is a part of a statement.
    part: Option<Part>,
    relation: Arc<Relation>,
    /// What the table is known by as the queries read it that find its rows, and the table so: most INSERTs have no such query.
    number: Oid,
    target: OnceLock<TableEntry>,
}

impl MeantChange {
    /// A change over these tables.
    ///
    /// # Errors
    /// 55000 for a view, 42809 for a sequence, 42501 for a table of the system.
    pub(super) fn new(mut change: BoundChange, named: &Arc<Named>, part: Option<Part>) -> SqlResult<Arc<Self>> {
        let (relation, number) = (changed_by(&change, named)?, own_number());
        if let RangeSource::Table { relation, .. } = &mut change.range[change.target].source {
            Arc::make_mut(relation).oid = number;
        }
        Ok(Arc::new(Self { change, named: named.clone(), part, relation, number, target: OnceLock::new() }))
    }

    /// The table whose rows it changes, as the queries read it that find them.
    fn target(&self, planner: &Planner<'_>) -> SqlResult<&TableEntry> {
        if let Some(known) = self.target.get() {
            return Ok(known);
        }
        let number = Some(TargetNumber::OF_CHANGE);
        let entry = planner.relation_entry(&self.relation, &self.named.mentions, number)?;
        Ok(self.target.get_or_init(|| TableEntry { number: self.number, ..entry }))
    }

    /// The types of its parameters.
    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.named.parameters
    }

    /// The table whose rows are changed.
    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    /// A query over what the change reads, and with its sub-queries.
    pub(crate) fn query(&self, from: Vec<JoinTree>, filter: Option<BoundExpr>, targets: Vec<BoundExpr>) -> BoundQuery {
        let change = &self.change;
        BoundQuery {
            with: change.with.clone(),
            range: change.range.clone(),
            from,
            filter,
            targets: targets.into_iter().enumerate().map(numbered).collect(),
            sub_queries: change.sub_queries.clone(),
            ..BoundQuery::default()
        }
    }

    /// A column of what the change reads.
    ///
    /// # Errors
    /// XX000 for one that there is not.
    pub(crate) fn column(&self, entry: usize, column: usize) -> SqlResult<BoundExpr> {
        let found = column_of(&self.change.range, entry, column);
        found.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a column of nothing that is read"))
    }

    /// A column of the table that is changed.
    ///
    /// # Errors
    /// As [`MeantChange::column`].
    pub(crate) fn target_column(&self, column: usize) -> SqlResult<BoundExpr> {
        self.column(self.change.target, column)
    }

    /// The key and the version of a row of the table that is changed.
    ///
    /// # Errors
    /// XX000 for a table without them.
    pub(crate) fn identity(&self) -> SqlResult<Vec<BoundExpr>> {
        let wanted = [ColumnSource::PartitionKey, ColumnSource::RowKey, ColumnSource::ETag];
        wanted.iter().map(|wanted| self.target_column(self.column_from(wanted)?)).collect()
    }

    fn column_from(&self, source: &ColumnSource) -> SqlResult<usize> {
        let found = self.relation.columns.iter().position(|column| column.source == *source);
        found.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a table whose rows have no keys"))
    }

    /// All columns of the table that is changed.
    ///
    /// # Errors
    /// As [`MeantChange::column`].
    pub(crate) fn all_columns(&self) -> SqlResult<Vec<BoundExpr>> {
        self.columns_but(|_| false)
    }

    /// All columns of the table that is changed, with NULLs in the places of those that get other values whatever they were: these
    /// are not read, and may be none of their types.
    ///
    /// # Errors
    /// As [`MeantChange::column`].
    pub(crate) fn columns_but(&self, is_replaced: impl Fn(usize) -> bool) -> SqlResult<Vec<BoundExpr>> {
        let column = |column: usize| {
            let found = self.target_column(column)?;
            Ok(if is_replaced(column) { BoundExpr::null(found.ty) } else { found })
        };
        (0..self.relation.columns.len()).map(column).collect()
    }

    /// Whether a value of it counts with a sequence.
    pub(crate) fn counts(&self, value: &BoundExpr) -> bool {
        let counts = |part: &BoundExpr| match &part.kind {
            ExprKind::Call { function, .. } => sequence::waits(&function.name),
            _ => false,
        };
        value.any(&mut |part| match &part.kind {
            ExprKind::SubQuery { query, .. } => {
                self.change.sub_queries.get(*query).is_some_and(|query| query.has_part(&counts))
            }
            _ => counts(part),
        })
    }

    /// Plans a query that is a part of it.
    ///
    /// # Errors
    /// Those of planning.
    pub(crate) async fn plan(&self, planner: &Planner<'_>, query: &BoundQuery) -> SqlResult<PlannedQuery> {
        let is_read = query.from.iter().any(|tree| reads(tree, self.change.target));
        let target = if is_read { slice::from_ref(self.target(planner)?) } else { &[] };
        self.named.plan(planner, query, self.part.as_ref(), target, None).await
    }

    /// Plans a query that an INSERT takes its rows from as one of its own; `None` where it reads parts of a WITH around it.
    ///
    /// # Errors
    /// Those of planning.
    pub(crate) async fn plan_alone(
        &self,
        planner: &Planner<'_>,
        query: &BoundQuery,
    ) -> SqlResult<Option<PlannedQuery>> {
        if self.part.is_some() || !self.change.with.is_empty() {
            return Ok(None);
        }
        self.named.plan(planner, query, None, &[], None).await.map(Some)
    }

    /// The same of a query over these rows.
    ///
    /// # Errors
    /// Those of planning.
    pub(crate) async fn plan_over(
        &self,
        planner: &Planner<'_>,
        query: &BoundQuery,
        rows: &HeldRows,
    ) -> SqlResult<PlannedQuery> {
        let target = slice::from_ref(self.target(planner)?);
        self.named.plan(planner, query, self.part.as_ref(), target, Some(rows)).await
    }

    /// Runs a query over these rows; `planned` is what it was planned as over none.
    ///
    /// # Errors
    /// Those of planning it and of the optimizer; in the stream, those of running the plan.
    pub(crate) async fn run_over(
        &self,
        planner: &Planner<'_>,
        (query, planned): (&BoundQuery, &PlannedQuery),
        parameters: &[ScalarValue],
        rows: &HeldRows,
    ) -> SqlResult<RowStream> {
        if let Some(computed) = planner.computed_over(planned, parameters, rows) {
            return Ok(Box::pin(stream::iter(computed.into_iter().map(Ok))));
        }
        let planned = self.plan_over(planner, query, rows).await?;
        planner.run(&planned, parameters).await
    }
}

fn reads(tree: &JoinTree, wanted: usize) -> bool {
    match tree {
        JoinTree::Entry(entry) => *entry == wanted,
        JoinTree::Join { left, right, .. } => reads(left, wanted) || reads(right, wanted),
    }
}

/// What a change does, as messages name it.
fn verb_of(kind: &ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Insert { .. } => "insert into",
        ChangeKind::Update(_) => "update",
        ChangeKind::Delete => "delete from",
        ChangeKind::Merge(_) => "merge into",
    }
}

fn numbered((number, expr): (usize, BoundExpr)) -> Target {
    Target { expr, name: number.to_string(), is_hidden: false, origin: None }
}

/// The table whose rows a change changes.
///
/// # Errors
/// As [`MeantChange::new`].
fn changed_by(change: &BoundChange, named: &Named) -> SqlResult<Arc<Relation>> {
    let bound = &change.relation;
    let name = &bound.name;
    let wrong = |message: String| SqlError::new(ErrorKind::WrongObjectType, message);
    match bound.kind {
        RelationKind::View => {
            let verb = verb_of(&change.kind);
            return Err(SqlError::new(ErrorKind::ObjectNotInState, format!("cannot {verb} view \"{name}\""))
                .with_detail("Views are not updatable here.")
                .with_hint("Change the rows of the table that the view reads."));
        }
        RelationKind::Sequence => {
            return Err(wrong(format!("\"{name}\" is not a table"))
                .with_hint("It is a sequence: use nextval, setval, ALTER SEQUENCE and DROP SEQUENCE."));
        }
        RelationKind::Table => {}
    }
    named.relation(bound.oid, name)
}
