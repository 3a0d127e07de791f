//! A locking query, planned: what it selects, and beside it the keys and versions of the rows it locks, and what tells the
//! rows of its other tables apart.

use std::sync::Arc;

use tablegate_bind::Place;
use tablegate_bind::catalogue::oids;
use tablegate_bind::expr::{BoundExpr, ExprKind, ExprType, Literal, Written};
use tablegate_bind::query::bound::{BoundQuery, Target, column_of};
use tablegate_bind::query::{Busy, LockStrength};
use tablegate_types::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use crate::newest::TargetNumber;
use crate::outcome::ResultColumn;
use crate::plan::{MeantLocking, MeantQuery, PlannedQuery, Planner};
use crate::relation::{ColumnSource, Relation};
use crate::syntax::Command;

/// A query with locking clauses.
pub(crate) struct LockingQuery {
    /// What clients see; the input has these first.
    pub columns: Arc<[ResultColumn]>,
    pub(super) form: Form,
    pub(super) targets: Vec<LockedTable>,
    /// The columns of the input by which a row is known again when it is looked at again.
    pub(super) identity: Vec<usize>,
    /// The query whose rows are counted as they are locked, for a run in which one has changed, where the form leaves LIMIT
    /// to the plan.
    counted: Option<Counted>,
}

/// One of the ways to run a locking query.
pub(super) struct Form {
    pub input: PlannedQuery,
    /// LIMIT and OFFSET, where they count only rows that were locked: as a query of one row.
    pub bounds: Option<PlannedQuery>,
}

/// A query without its LIMIT and OFFSET, and those.
struct Counted {
    meant: MeantLocking,
    input: BoundQuery,
    bounds: BoundQuery,
}

/// A table whose rows are locked.
pub(super) struct LockedTable {
    pub relation: Arc<Relation>,
    pub strength: LockStrength,
    pub busy: Busy,
    /// Where the PartitionKey of its row is in the input; the RowKey and the version follow.
    pub key_at: usize,
}

impl LockingQuery {
    /// A query with a locking clause in a statement, or all of it; `found` is what it means, where that is known.
    ///
    /// # Errors
    /// The errors of planning the query; 0A000 where PostgreSQL allows no locking clause, and for tables that others
    /// write to past this server.
    pub(crate) async fn prepare(
        planner: &Planner<'_>,
        command: &Command,
        found: Option<MeantQuery>,
        declared: &[SqlType],
    ) -> SqlResult<Self> {
        let meant = MeantLocking::of(planner, command, found, declared).await?;
        let alone = |place| planner.engine.stores().has_sole_writer(place);
        if let Some(locked) = meant.locked.iter().find(|locked| !alone(locked.relation.place())) {
            return Err(SqlError::not_supported(locked.mark.strength.words())
                .with_hint("Leave it out: a row that changes before COMMIT is refused then (40001)."));
        }
        let shown = meant.query.results().count();
        let mut query = meant.query.clone();
        let targets = add_keys(&mut query, &meant, shown)?;
        add_others(&mut query, &meant.others())?;
        let width = query.results().count();
        let skips = targets.iter().any(|target| target.busy == Busy::Skip);
        let has_offset = query.offset.is_some();
        if query.with_ties && has_offset {
            return Err(SqlError::not_supported("OFFSET with WITH TIES and a locking clause")
                .with_hint("Leave one of them out."));
        }
        let input = meant.plan(planner, &query).await?;
        // Rows that sort as the last one does are counted by the plan alone.
        let counted = bounds_of(&query).filter(|_| !query.with_ties).map(|bounds| {
            let input = BoundQuery { limit: None, offset: None, ..query };
            Counted { meant, input, bounds }
        });
        let columns = input.columns.get(..shown).unwrap_or_default().into();
        let (form, counted) = match counted {
            // The plan would count rows that are skipped; and PostgreSQL locks those before OFFSET too.
            Some(counted) if skips || has_offset => (counted.planned(planner).await?, None),
            counted => (Form { input, bounds: None }, counted),
        };
        let versions: Vec<usize> = targets.iter().map(|target| target.key_at + 2).collect();
        let identity = (shown..width).filter(|at| !versions.contains(at)).collect();
        Ok(Self { columns, form, targets, identity, counted })
    }

    /// The form for a run in which a row has changed, if it is another one.
    ///
    /// # Errors
    /// The errors of planning it.
    pub(super) async fn counted(&self, planner: &Planner<'_>) -> SqlResult<Option<Form>> {
        match &self.counted {
            Some(counted) => counted.planned(planner).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether a run ends when it meets a row that has changed: [`LockingQuery::counted`] is the form for the next one.
    pub(super) fn ends_at_changes(&self) -> bool {
        self.counted.is_some()
    }

    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.form.input.parameters
    }

    /// Every table it reads.
    pub(crate) fn relations(&self) -> &[Arc<Relation>] {
        &self.form.input.relations
    }

    /// The tables whose rows are locked.
    pub(crate) fn locked(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.targets.iter().map(|target| &target.relation)
    }

    /// Whether rows of the table are locked.
    pub(crate) fn locks(&self, relation: &Relation) -> bool {
        self.locked().any(|locked| locked.oid == relation.oid)
    }

    /// The tables of which rows are skipped that others have locked.
    pub(super) fn skipped(&self) -> impl Iterator<Item = TargetNumber> {
        let targets = self.targets.iter().enumerate();
        targets.filter(|(_, target)| target.busy == Busy::Skip).map(|(number, _)| TargetNumber(number))
    }

    /// What PostgreSQL calls it.
    pub(crate) fn command(&self) -> &'static str {
        match self.targets.iter().map(|target| target.strength).max() {
            Some(LockStrength::KeyShare) => "SELECT FOR KEY SHARE",
            Some(LockStrength::Share) => "SELECT FOR SHARE",
            Some(LockStrength::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
            Some(LockStrength::Update) | None => "SELECT FOR UPDATE",
        }
    }

    pub(crate) fn input(&self) -> &PlannedQuery {
        &self.form.input
    }
}

impl Counted {
    async fn planned(&self, planner: &Planner<'_>) -> SqlResult<Form> {
        let bounds = Some(self.meant.plan(planner, &self.bounds).await?);
        Ok(Form { input: self.meant.plan(planner, &self.input).await?, bounds })
    }
}

/// Selects the key and the version of each locked table's row.
fn add_keys(query: &mut BoundQuery, meant: &MeantLocking, shown: usize) -> SqlResult<Vec<LockedTable>> {
    const IDENTITY: [ColumnSource; 3] = [ColumnSource::PartitionKey, ColumnSource::RowKey, ColumnSource::ETag];
    let mut targets = Vec::with_capacity(meant.locked.len());
    for (number, locked) in meant.locked.iter().enumerate() {
        for wanted in &IDENTITY {
            let found = locked.relation.columns.iter().position(|column| column.source == *wanted);
            let column = found.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a table whose rows have no keys"))?;
            select(query, locked.mark.entry, column)?;
        }
        targets.push(LockedTable {
            relation: locked.relation.clone(),
            strength: locked.mark.strength,
            busy: locked.mark.busy,
            key_at: shown + number * IDENTITY.len(),
        });
    }
    Ok(targets)
}

/// Selects what tells the rows of tables from each other that are not locked: all that `*` shows of them.
fn add_others(query: &mut BoundQuery, others: &[usize]) -> SqlResult<()> {
    for entry in others {
        let of_entry = &query.range[*entry];
        let shown: Vec<usize> = (0..of_entry.columns.len()).filter(|column| !of_entry.is_hidden(*column)).collect();
        shown.into_iter().try_for_each(|column| select(query, *entry, column))?;
    }
    Ok(())
}

fn select(query: &mut BoundQuery, entry: usize, column: usize) -> SqlResult<()> {
    let expr = column_of(&query.range, entry, column);
    let expr = expr.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a column of nothing that is read"))?;
    query.targets.push(target(expr));
    Ok(())
}

fn target(expr: BoundExpr) -> Target {
    Target { expr, name: String::new(), is_hidden: false, origin: None }
}

/// A query for the values of LIMIT and OFFSET; `None` for a query without them.
fn bounds_of(query: &BoundQuery) -> Option<BoundQuery> {
    if query.limit.is_none() && query.offset.is_none() {
        return None;
    }
    let constant = |literal| BoundExpr::new(ExprKind::Constant(literal), ExprType::plain(oids::INT8), Place::NOWHERE);
    let limit = query.limit.clone().map_or_else(|| constant(Literal::Null), counted);
    let offset = query.offset.clone().map_or_else(|| constant(Literal::Value(ScalarValue::Int64(Some(0)))), counted);
    Some(BoundQuery {
        with: query.with.clone(),
        targets: vec![target(limit), target(offset)],
        sub_queries: query.sub_queries.clone(),
        ..BoundQuery::default()
    })
}

/// A count as the `bigint` that it becomes where it is used.
fn counted(mut count: BoundExpr) -> BoundExpr {
    if let ExprKind::Cast { written, .. } = &mut count.kind {
        *written = Written::Explicitly;
    }
    count
}
