//! Columns whose values nobody may say, and columns that are set twice: what PostgreSQL refuses when it rewrites a
//! statement, after all of it was found to have a meaning.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::{Given, Relation};
use crate::expr::BoundExpr;
use crate::query::bound::BoundWith;
use crate::query::changes::{
    Assigned, BoundChange, BoundStatement, ChangeKind, InsertColumn, InsertSource, MergeAction, Overriding,
};

/// # Errors
/// 428C9 for values that are computed, 42601 for columns that are set twice.
pub(super) fn check(statement: &BoundStatement) -> SqlResult<()> {
    match statement {
        BoundStatement::Query(query) => check_with(&query.with),
        BoundStatement::Change(change) => {
            check_with(&change.with)?;
            check_change(change)
        }
    }
}

fn check_with(with: &[BoundWith]) -> SqlResult<()> {
    with.iter().try_for_each(|part| check(&part.statement))
}

fn check_change(change: &BoundChange) -> SqlResult<()> {
    let relation = &change.relation;
    match &change.kind {
        ChangeKind::Delete => Ok(()),
        ChangeKind::Update(assigned) => check_updated(relation, assigned),
        ChangeKind::Insert { source, columns, overriding, conflict, .. } => {
            let all_default = |at: usize| match source {
                InsertSource::Defaults => true,
                InsertSource::Rows(rows) => rows.iter().all(|row| row.get(at).is_none_or(BoundExpr::is_default)),
                InsertSource::Query { .. } => false,
            };
            check_inserted(relation, columns, &all_default, *overriding)?;
            match conflict.as_ref().and_then(|conflict| conflict.update.as_ref()) {
                Some(update) => check_updated(relation, &update.assigned),
                None => Ok(()),
            }
        }
        ChangeKind::Merge(clauses) => clauses.iter().try_for_each(|clause| match &clause.action {
            MergeAction::Delete | MergeAction::Nothing => Ok(()),
            MergeAction::Update(assigned) => check_updated(relation, assigned),
            MergeAction::Insert { columns, values } => {
                let values = values.as_deref().unwrap_or_default();
                let all_default = |at: usize| values.get(at).is_none_or(BoundExpr::is_default);
                check_inserted(relation, columns, &all_default, Overriding::Nothing)
            }
        }),
    }
}

/// Columns that are set, each once.
fn check_updated(relation: &Relation, set: &[Assigned]) -> SqlResult<()> {
    for (at, one) in set.iter().enumerate() {
        let column = &relation.columns[one.column];
        if set[..at].iter().any(|other| other.column == one.column) {
            let message = format!("multiple assignments to same column \"{}\"", column.name);
            return Err(SqlError::new(ErrorKind::Syntax, message));
        }
    }
    let mut in_order: Vec<&Assigned> = set.iter().collect();
    in_order.sort_by_key(|one| one.column);
    for one in in_order {
        let column = &relation.columns[one.column];
        let is_default = one.value.expr().is_default();
        let why = match column.given {
            Given::Computed => "a generated column",
            Given::IdentityAlways => "an identity column defined as GENERATED ALWAYS",
            Given::ByStatements | Given::IdentityByDefault => continue,
        };
        if !is_default {
            let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
            return Err(SqlError::new(ErrorKind::GeneratedAlways, message)
                .with_detail(format!("Column \"{}\" is {why}.", column.name)));
        }
    }
    Ok(())
}

/// Columns of rows that are put in: whether all rows say DEFAULT, by the number of the column.
fn check_inserted(
    relation: &Relation,
    columns: &[InsertColumn],
    all_default: &dyn Fn(usize) -> bool,
    overriding: Overriding,
) -> SqlResult<()> {
    let mut in_order: Vec<(usize, usize)> = columns.iter().map(|column| column.column).zip(0..).collect();
    in_order.sort_unstable();
    for (number, at) in in_order {
        let column = &relation.columns[number];
        let why = match column.given {
            Given::Computed => "a generated column",
            Given::IdentityAlways if overriding == Overriding::Nothing => {
                "an identity column defined as GENERATED ALWAYS"
            }
            _ => continue,
        };
        if all_default(at) {
            continue;
        }
        let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        let error = SqlError::new(ErrorKind::GeneratedAlways, message)
            .with_detail(format!("Column \"{}\" is {why}.", column.name));
        return Err(if column.given == Given::IdentityAlways {
            error.with_hint("Use OVERRIDING SYSTEM VALUE to override.")
        } else {
            error
        });
    }
    Ok(())
}
