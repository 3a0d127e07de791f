//! A locking query, planned: what it selects, and beside it the keys and versions of the rows it locks.

use std::sync::Arc;

use sqlparser::ast::{LimitClause, Query, SetExpr};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::targets::{self, Target};
use crate::dml::{find_target, key_items};
use crate::outcome::ResultColumn;
use crate::plan::{PlannedQuery, Planner};
use crate::relation::Relation;
use crate::syntax::dialect::row_locks::Busy;
use crate::syntax::{Command, RowStrength, parse};

/// A query with locking clauses.
pub(crate) struct LockingQuery {
    /// What clients see; the input has these first.
    pub columns: Arc<[ResultColumn]>,
    pub(super) input: PlannedQuery,
    pub(super) targets: Vec<LockedTable>,
    /// LIMIT and OFFSET, where they count only the rows that could be locked (SKIP LOCKED): as a query of one row.
    pub(super) bounds: Option<PlannedQuery>,
}

/// A table whose rows are locked.
pub(super) struct LockedTable {
    pub relation: Arc<Relation>,
    pub strength: RowStrength,
    pub busy: Busy,
    /// Where the PartitionKey of its row is in the input; the RowKey and the version follow.
    pub key_at: usize,
}

impl LockingQuery {
    /// # Errors
    /// The errors of planning the query; 0A000 where PostgreSQL allows no locking clause, and for tables that others
    /// write to past this server.
    pub async fn prepare(planner: &Planner<'_>, query: &Query, declared: &[SqlType]) -> SqlResult<Self> {
        let clause = query.locks.first().map(ToString::to_string).unwrap_or_default();
        let is_aggregate = |name: &str| planner.engine.state().aggregate_functions().contains_key(name);
        let chosen = targets::targets(query, &is_aggregate)?;
        let mut query = query.clone();
        query.locks.clear();
        let shown = planner.plan(&query, declared).await?;
        let skips = chosen.iter().any(|target| target.busy == Busy::Skip);
        let bounds = match skips.then(|| take_bounds(&mut query)).transpose()?.flatten() {
            Some(bounds) => Some(planner.plan(&bounds, &shown.parameters).await?),
            None => None,
        };
        let targets = add_keys(planner, &mut query, chosen, shown.columns.len()).await?;
        let binds = |target: &LockedTable| planner.engine.stores().has_sole_writer(target.relation.place());
        if !targets.iter().all(binds) {
            return Err(SqlError::not_supported(clause)
                .with_hint("Leave it out: a row that changes before COMMIT is refused then (40001)."));
        }
        let input = planner.plan(&query, &shown.parameters).await?;
        if input.columns.get(..shown.columns.len()) != Some(&*shown.columns) {
            // The columns of `*` that a join has merged come twice when keys are asked for.
            return Err(SqlError::not_supported("a locking clause with * over JOIN ... USING")
                .with_hint("Name the columns instead of *."));
        }
        Ok(Self { columns: shown.columns, input, targets, bounds })
    }

    pub fn parameters(&self) -> &[SqlType] {
        &self.input.parameters
    }

    /// Every table it reads.
    pub fn relations(&self) -> &[Arc<Relation>] {
        &self.input.relations
    }

    /// Whether rows of the table are locked.
    pub fn locks(&self, relation: &Relation) -> bool {
        self.targets.iter().any(|target| target.relation.oid == relation.oid)
    }

    /// What PostgreSQL calls it.
    pub fn command(&self) -> &'static str {
        match self.targets.iter().map(|target| target.strength).max() {
            Some(RowStrength::KeyShare) => "SELECT FOR KEY SHARE",
            Some(RowStrength::Share) => "SELECT FOR SHARE",
            Some(RowStrength::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
            Some(RowStrength::Update) | None => "SELECT FOR UPDATE",
        }
    }

    pub fn input(&self) -> &PlannedQuery {
        &self.input
    }
}

/// Selects the key and the version of each locked table's row.
async fn add_keys(
    planner: &Planner<'_>,
    query: &mut Query,
    chosen: Vec<Target>,
    shown: usize,
) -> SqlResult<Vec<LockedTable>> {
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(SqlError::new(ErrorKind::Internal, "a locking clause was allowed where there is no SELECT"));
    };
    let mut targets = Vec::with_capacity(chosen.len());
    for (index, target) in chosen.into_iter().enumerate() {
        let relation = find_target(planner, &target.table).await?;
        let items = key_items(&target.alias, index);
        let key_at = shown + index * items.len();
        select.projection.extend(items);
        targets.push(LockedTable { relation, strength: target.strength, busy: target.busy, key_at });
    }
    Ok(targets)
}

/// Takes LIMIT and OFFSET off a query, as a query for their values.
fn take_bounds(query: &mut Query) -> SqlResult<Option<Query>> {
    let (mut limit, mut offset) = ("NULL".to_owned(), "0".to_owned());
    match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { limit: given, offset: skipped, .. }) => {
            limit = given.map_or(limit, |given| given.to_string());
            offset = skipped.map_or(offset, |skipped| skipped.value.to_string());
        }
        Some(other) => return Err(SqlError::not_supported(other)),
        None if query.fetch.is_none() => return Ok(None),
        None => {}
    }
    if let Some(fetch) = query.fetch.take() {
        limit = fetch.quantity.map_or("1".to_owned(), |quantity| quantity.to_string());
    }
    let text = format!("SELECT CAST(({limit}) AS bigint), CAST(({offset}) AS bigint)");
    match parse(&text)?.pop().map(|statement| statement.command) {
        Some(Command::Query(bounds)) => Ok(Some(*bounds)),
        _ => Err(SqlError::new(ErrorKind::Internal, "the bounds of a query did not parse")),
    }
}
