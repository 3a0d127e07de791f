//! What a query means that locks rows of the tables that it reads.

use std::sync::Arc;

use tablegate_bind::catalogue::RelationKind;
use tablegate_bind::query::bound::{JoinTree, RangeSource, RowMark};
use tablegate_bind::{BoundQuery, BoundStatement};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::meant::MeantQuery;
use super::named::Named;
use crate::newest::TargetNumber;
use crate::plan::planned_query::PlannedQuery;
use crate::plan::planner::Planner;
use crate::plan::tables::TableEntry;
use crate::relation::Relation;
use crate::syntax::Command;

/// A query that locks rows.
pub(crate) struct MeantLocking {
    /// The query without its locking clauses.
    pub query: BoundQuery,
    /// The tables whose rows it locks, in the order of their [`TargetNumber`]s.
    pub locked: Vec<LockedEntry>,
    named: Arc<Named>,
    /// These tables as the query reads them.
    tables: Vec<TableEntry>,
}

/// A table whose rows are locked.
pub(crate) struct LockedEntry {
    pub relation: Arc<Relation>,
    pub mark: RowMark,
}

impl MeantLocking {
    /// What a query in a statement means, or all of it; `found` where that is known already.
    ///
    /// # Errors
    /// What is wrong with it, 0A000 where rows of the result do not stand for rows of a table that is to be locked.
    pub(crate) async fn of(
        planner: &Planner<'_>,
        command: &Command,
        found: Option<MeantQuery>,
        declared: &[SqlType],
    ) -> SqlResult<Self> {
        let syntax = command.bound_syntax();
        let syntax = syntax.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a statement that is not bound"))?;
        let (named, statement) = Named::of(planner, syntax, found.map(Into::into), declared).await?;
        match statement {
            BoundStatement::Query(query) => Self::new(planner, &named, *query),
            BoundStatement::Change(_) => Err(SqlError::new(ErrorKind::Internal, "a locking query that changes rows")),
        }
    }

    fn new(planner: &Planner<'_>, named: &Arc<Named>, mut query: BoundQuery) -> SqlResult<Self> {
        check_marks(&query)?;
        let (mut locked, mut tables) = (Vec::new(), Vec::new());
        for (number, mark) in std::mem::take(&mut query.row_marks).into_iter().enumerate() {
            let relation = locked_relation(&query, &mark, named)?;
            let table = planner.relation_entry(&relation, &named.mentions, Some(TargetNumber(number)))?;
            if let RangeSource::Table { relation, .. } = &mut query.range[mark.entry].source {
                Arc::make_mut(relation).oid = table.number;
            }
            tables.push(table);
            locked.push(LockedEntry { relation, mark });
        }
        Ok(Self { query, locked, named: named.clone(), tables })
    }

    /// Plans a query over what it reads.
    ///
    /// # Errors
    /// Those of planning.
    pub(crate) async fn plan(&self, planner: &Planner<'_>, query: &BoundQuery) -> SqlResult<PlannedQuery> {
        self.named.plan(planner, query, None, &self.tables, None).await
    }

    /// What it reads besides the tables whose rows it locks, by the numbers of the entries.
    pub(crate) fn others(&self) -> Vec<usize> {
        let mut others = Vec::new();
        self.query.from.iter().for_each(|tree| add_entries(&self.query, tree, &mut others));
        others.retain(|entry| self.locked.iter().all(|locked| locked.mark.entry != *entry));
        others
    }
}

/// Looks whether the rows that a query locks can be found by those that it gives.
///
/// # Errors
/// 0A000 where they cannot.
pub(super) fn check_marks(query: &BoundQuery) -> SqlResult<()> {
    let nullable = query.nullable_entries();
    for mark in &query.row_marks {
        let words = mark.strength.words();
        if matches!(query.range[mark.entry].source, RangeSource::SubQuery(_)) {
            return Err(SqlError::not_supported(format!("{words} of a sub-query in FROM"))
                .with_hint("Write the locking clause inside of the sub-query."));
        }
        if nullable.contains(&mark.entry) {
            let message = format!("{words} cannot be applied to the nullable side of an outer join");
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        let mut named = Vec::new();
        query.from.iter().for_each(|tree| add_entries(query, tree, &mut named));
        if !named.contains(&mark.entry) {
            return Err(SqlError::not_supported(format!("{words} of a table inside of a join with an alias"))
                .with_hint("Leave the alias of the join out."));
        }
    }
    Ok(())
}

/// Adds what can be named of what is read from: what is inside of a join with an alias cannot.
fn add_entries(query: &BoundQuery, tree: &JoinTree, entries: &mut Vec<usize>) {
    match tree {
        JoinTree::Entry(entry) => entries.push(*entry),
        JoinTree::Join { entry, .. } if query.range[*entry].has_alias => entries.push(*entry),
        JoinTree::Join { left, right, .. } => {
            add_entries(query, left, entries);
            add_entries(query, right, entries);
        }
    }
}

/// The table whose rows a clause locks.
fn locked_relation(query: &BoundQuery, mark: &RowMark, named: &Named) -> SqlResult<Arc<Relation>> {
    let RangeSource::Table { relation: bound, .. } = &query.range[mark.entry].source else {
        return Err(SqlError::new(ErrorKind::Internal, "a locking clause over what is no table"));
    };
    let (name, words) = (&bound.name, mark.strength.words());
    match bound.kind {
        RelationKind::View => {
            return Err(SqlError::not_supported(format!("{words} of the view \"{name}\""))
                .with_hint("Lock the rows of the tables that it reads."));
        }
        RelationKind::Sequence => {
            return Err(SqlError::new(ErrorKind::WrongObjectType, format!("cannot lock rows in sequence \"{name}\"")));
        }
        RelationKind::Table => {}
    }
    named.relation(bound.oid, name)
}
