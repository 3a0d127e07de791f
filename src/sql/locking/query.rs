//! A locking query, planned: what it selects, and beside it the keys and versions of the rows it locks, and what tells the
//! rows of its other tables apart.

use std::sync::Arc;

use sqlparser::ast::{Ident, LimitClause, Query, SelectItem, SetExpr};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::targets::{self, Target};
use crate::dml::{find_target, item};
use crate::newest::TargetNumber;
use crate::outcome::ResultColumn;
use crate::plan::{PlannedQuery, Planner, Source};
use crate::relation::Relation;
use crate::syntax::dialect::row_locks::Busy;
use crate::syntax::{Command, LockStrength, fold, parse};

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
    input: Query,
    bounds: Query,
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
    /// # Errors
    /// The errors of planning the query; 0A000 where PostgreSQL allows no locking clause, and for tables that others
    /// write to past this server.
    pub(crate) async fn prepare(planner: &Planner<'_>, query: &Query, declared: &[SqlType]) -> SqlResult<Self> {
        let clause = query.locks.first().map(ToString::to_string).unwrap_or_default();
        let chosen = targets::targets(query)?;
        let mut query = query.clone();
        query.locks.clear();
        let shown = planner.plan(&query, declared).await?;
        let skips = chosen.iter().any(|target| target.busy == Busy::Skip);
        let targets = add_keys(planner, &mut query, chosen, shown.columns.len()).await?;
        let binds = |target: &LockedTable| planner.engine.stores().has_sole_writer(target.relation.place());
        if !targets.iter().all(binds) {
            return Err(SqlError::not_supported(clause)
                .with_hint("Leave it out: a row that changes before COMMIT is refused then (40001)."));
        }
        let counted = Counted::of(&query)?;
        let (form, counted) = match counted {
            // The plan would count rows that are skipped; and PostgreSQL locks those before OFFSET too.
            Some(counted) if skips || has_offset(&query) => (counted.planned(planner, &shown.parameters).await?, None),
            counted => (Form { input: planner.plan(&query, &shown.parameters).await?, bounds: None }, counted),
        };
        if form.input.columns.get(..shown.columns.len()) != Some(&*shown.columns) {
            // The columns of `*` that a join has merged come twice when keys are asked for.
            return Err(SqlError::not_supported("a locking clause with * over JOIN ... USING")
                .with_hint("Name the columns instead of *."));
        }
        let versions: Vec<usize> = targets.iter().map(|target| target.key_at + 2).collect();
        let identity = (shown.columns.len()..form.input.columns.len()).filter(|at| !versions.contains(at)).collect();
        Ok(Self { columns: shown.columns, form, targets, identity, counted })
    }

    /// The form for a run in which a row has changed, if it is another one.
    ///
    /// # Errors
    /// The errors of planning it.
    pub(super) async fn counted(&self, planner: &Planner<'_>) -> SqlResult<Option<Form>> {
        match &self.counted {
            Some(counted) => counted.planned(planner, self.parameters()).await.map(Some),
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

    /// Whether rows of the table are locked.
    pub(crate) fn locks(&self, relation: &Relation) -> bool {
        self.targets.iter().any(|target| target.relation.oid == relation.oid)
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
    /// `None` for a query without LIMIT and OFFSET.
    fn of(query: &Query) -> SqlResult<Option<Self>> {
        let mut input = query.clone();
        Ok(take_bounds(&mut input)?.map(|bounds| Self { input, bounds }))
    }

    async fn planned(&self, planner: &Planner<'_>, parameters: &[SqlType]) -> SqlResult<Form> {
        let bounds = Some(planner.plan(&self.bounds, parameters).await?);
        Ok(Form { input: planner.plan(&self.input, parameters).await?, bounds })
    }
}

/// Selects the key and the version of each locked table's row, and what tells the rows of other tables apart. The tables
/// that are locked get numbers.
async fn add_keys(
    planner: &Planner<'_>,
    query: &mut Query,
    chosen: Vec<Target>,
    shown: usize,
) -> SqlResult<Vec<LockedTable>> {
    let others = others(planner, query, &chosen).await?;
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(SqlError::new(ErrorKind::Internal, "a locking clause was allowed where there is no SELECT"));
    };
    let mut targets = Vec::with_capacity(chosen.len());
    for (index, target) in chosen.into_iter().enumerate() {
        let relation = find_target(planner, &target.table).await?;
        let items = key_items(&target.alias, index);
        let key_at = shown + index * items.len();
        select.projection.extend(items);
        targets::number(&mut select.from, &target.alias, TargetNumber(index));
        targets.push(LockedTable { relation, strength: target.strength, busy: target.busy, key_at });
    }
    select.projection.extend(identity_of(&others, OTHER_ROW_LABELS));
    Ok(targets)
}

/// Where the labels of other tables' columns begin: above those of keys.
const OTHER_ROW_LABELS: usize = 200_000;

/// The tables of FROM that are not locked.
async fn others(planner: &Planner<'_>, query: &Query, locked: &[Target]) -> SqlResult<Vec<Source>> {
    let SetExpr::Select(select) = &*query.body else { return Ok(Vec::new()) };
    if let ([from], [_]) = (select.from.as_slice(), locked)
        && from.joins.is_empty()
    {
        return Ok(Vec::new());
    }
    let mut sources = planner.sources(query).await?;
    sources.retain(|source| !locked.iter().any(|target| fold(&target.alias) == source.alias));
    Ok(sources)
}

fn has_offset(query: &Query) -> bool {
    matches!(&query.limit_clause, Some(LimitClause::LimitOffset { offset: Some(_), .. }))
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

/// Columns by which the rows of tables are told from each other: all that `*` shows, but for those of one name.
fn identity_of(sources: &[Source], first_label: usize) -> Vec<SelectItem> {
    let columns = sources.iter().flat_map(|source| {
        let is_once = |name: &&String| source.visible.iter().filter(|other| other == name).count() == 1;
        source.visible.iter().filter(is_once).map(|name| (Ident::with_quote('"', source.alias.clone()), name))
    });
    columns.enumerate().map(|(index, (alias, name))| item(&alias, name, first_label + index)).collect()
}

/// The key and the version of a table's row, with labels that no column can have.
fn key_items(alias: &Ident, table: usize) -> [SelectItem; 3] {
    let columns = ["PartitionKey", "RowKey", "etag"];
    std::array::from_fn(|index| item(alias, columns[index], KEY_LABELS + table * columns.len() + index))
}

/// Where the labels of [`key_items`] begin: above those of other items.
const KEY_LABELS: usize = 100_000;
