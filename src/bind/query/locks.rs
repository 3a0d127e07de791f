//! FOR UPDATE and the like: which entries' rows are locked.

use sqlparser::ast::{LockClause, LockType, NonBlock};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;

use super::bound::{BoundQuery, Distinct, LockStrength, LockWait, RangeSource, RowMark};
use super::from::name_parts;
use super::level::Level;
use crate::expr::{BoundExpr, ExprKind};
use crate::place::AtPlace;

/// The clause as it is spelled.
pub(super) fn spelled(lock: &LockClause) -> &'static str {
    match lock.lock_type {
        LockType::Share => "FOR SHARE",
        LockType::Update => "FOR UPDATE",
    }
}

impl Level<'_> {
    /// PostgreSQL's `transformLockingClause`.
    ///
    /// # Errors
    /// 0A000 where rows of the result are no rows of tables, 42P01 for a table that is not read from.
    pub(super) fn locks(&mut self, locks: &[LockClause]) -> SqlResult<()> {
        self.query.has_aggregates = self.namespace.has_aggregates.get();
        for lock in locks {
            let clause = spelled(lock);
            refuse(&self.query, clause)?;
            let strength = match lock.lock_type {
                LockType::Share => LockStrength::Share,
                LockType::Update => LockStrength::Update,
            };
            let wait = match lock.nonblock {
                None => LockWait::Wait,
                Some(NonBlock::SkipLocked) => LockWait::Skip,
                Some(NonBlock::Nowait) => LockWait::Refuse,
            };
            match &lock.of {
                None => lock_all(&mut self.query, (strength, wait), clause)?,
                Some(name) => {
                    let entry = self.locked_entry(name, clause)?;
                    lock_entry(&mut self.query, entry, (strength, wait), clause)?;
                }
            }
        }
        Ok(())
    }

    fn locked_entry(&self, name: &sqlparser::ast::ObjectName, clause: &str) -> SqlResult<usize> {
        let (schema, table, place) = name_parts(name)?;
        if schema.is_some() {
            let message = format!("{clause} must specify unqualified relation names");
            return Err(SqlError::new(ErrorKind::Syntax, message).at_place(place));
        }
        let exact = self.query.range.iter().position(|entry| entry.name == table.text);
        let found = exact.or_else(|| self.query.range.iter().position(|entry| table.is(&entry.name)));
        let Some(entry) = found else {
            let message = format!("relation \"{}\" in {clause} clause not found in FROM clause", table.text);
            return Err(SqlError::new(ErrorKind::UndefinedTable, message).at_place(place));
        };
        let what = match &self.query.range[entry].source {
            RangeSource::Table { .. } | RangeSource::SubQuery(_) => return Ok(entry),
            RangeSource::Join { .. } => "a join",
            RangeSource::Functions { .. } => "a function",
            RangeSource::Values(_) => "VALUES",
            RangeSource::With { .. } => "a WITH query",
            RangeSource::Excluded => "this row",
        };
        let message = format!("{clause} cannot be applied to {what}");
        Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place))
    }
}

fn lock_all(query: &mut BoundQuery, how: (LockStrength, LockWait), clause: &str) -> SqlResult<()> {
    (0..query.range.len()).try_for_each(|entry| lock_entry(query, entry, how, clause))
}

/// Rows of a query are those of what it reads from.
fn lock_entry(
    query: &mut BoundQuery,
    entry: usize,
    (strength, wait): (LockStrength, LockWait),
    clause: &str,
) -> SqlResult<()> {
    match &mut query.range[entry].source {
        RangeSource::Table { .. } => {}
        RangeSource::SubQuery(inner) => {
            refuse(inner, clause)?;
            deeper(|| lock_all(inner, (strength, wait), clause))?;
        }
        _ => return Ok(()),
    }
    match query.row_marks.iter_mut().find(|mark| mark.entry == entry) {
        Some(mark) => (mark.strength, mark.wait) = (mark.strength.max(strength), mark.wait.max(wait)),
        None => query.row_marks.push(RowMark { entry, strength, wait }),
    }
    Ok(())
}

/// PostgreSQL's `CheckSelectLocking`.
fn refuse(query: &BoundQuery, clause: &str) -> SqlResult<()> {
    let is_window = |expr: &BoundExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::WindowCall { .. }));
    let with = match () {
        () if query.set.is_some() => "with UNION/INTERSECT/EXCEPT",
        () if !matches!(query.distinct, Distinct::No) => "with DISTINCT clause",
        () if !query.grouping.is_empty() => "with GROUP BY clause",
        () if query.having.is_some() => "with HAVING clause",
        () if query.has_aggregates => "with aggregate functions",
        () if query.targets.iter().any(|target| is_window(&target.expr)) => "with window functions",
        () if query.results().any(|target| target.expr.gives_rows()) => {
            "with set-returning functions in the target list"
        }
        () => return Ok(()),
    };
    Err(SqlError::new(ErrorKind::FeatureNotSupported, format!("{clause} is not allowed {with}")))
}
