//! FOR UPDATE and the like: which entries' rows are locked.
//!
//! PostgreSQL's clauses have four strengths and lists of tables, the parser's two and one table. Whoever prepares tokens for
//! it writes what it does not read as FOR UPDATE OF one dotted name, whose first part is [`LOCK_MARK`] with the strength's
//! words, and whose others are the tables.

use sqlparser::ast::{Ident, LockClause, LockType, NonBlock};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::stack::deeper;

use super::bound::{BoundQuery, BoundWith, Busy, Distinct, LockStrength, RangeEntry, RangeSource, RowMark};
use super::changes::{BoundChange, BoundStatement};
use super::level::Level;
use crate::binder::name_of;
use crate::expr::{BoundExpr, ExprKind};
use crate::place::{AtPlace, Place};

/// Begins the first part of such a name; no identifier that a client writes does.
pub const LOCK_MARK: char = '\u{2}';

/// What a clause asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockingClause {
    pub strength: LockStrength,
    /// The tables it names; all of FROM when it names none.
    pub tables: Vec<Ident>,
    pub busy: Busy,
}

impl LockingClause {
    /// # Errors
    /// 42601 for a table name with a schema.
    pub fn of(clause: &LockClause) -> SqlResult<Self> {
        let busy = match clause.nonblock {
            None => Busy::Wait,
            Some(NonBlock::SkipLocked) => Busy::Skip,
            Some(NonBlock::Nowait) => Busy::Refuse,
        };
        let written = match clause.lock_type {
            LockType::Update => LockStrength::Update,
            LockType::Share => LockStrength::Share,
        };
        let parts: Vec<&Ident> = clause.of.iter().flat_map(|name| &name.0).filter_map(|part| part.as_ident()).collect();
        let (strength, tables) = match parts.as_slice() {
            [first, tables @ ..] if first.value.starts_with(LOCK_MARK) => (marked(&first.value), tables),
            [] | [_] => (written, parts.as_slice()),
            [first, ..] => {
                let message = format!("{} must specify unqualified relation names", written.words());
                return Err(SqlError::new(ErrorKind::Syntax, message).at_place(Place::start(first.span)));
            }
        };
        Ok(Self { strength, tables: tables.iter().map(|table| (*table).clone()).collect(), busy })
    }
}

fn marked(words: &str) -> LockStrength {
    let all = [LockStrength::KeyShare, LockStrength::Share, LockStrength::NoKeyUpdate];
    all.into_iter().find(|strength| words.ends_with(strength.words())).unwrap_or(LockStrength::Update)
}

impl Level<'_> {
    /// PostgreSQL's `transformLockingClause`.
    ///
    /// # Errors
    /// 0A000 where rows of the result are no rows of tables, 42P01 for a table that is not read from.
    pub(super) fn locks(&mut self, locks: &[LockClause]) -> SqlResult<()> {
        self.query.has_aggregates = self.namespace.has_aggregates.get();
        for lock in locks {
            let LockingClause { strength, tables, busy } = LockingClause::of(lock)?;
            let clause = strength.words();
            refuse(&self.query, clause)?;
            if busy == Busy::Skip && self.query.with_ties {
                let message = "SKIP LOCKED and WITH TIES options cannot be used together";
                return Err(SqlError::new(ErrorKind::Syntax, message));
            }
            if tables.is_empty() {
                lock_all(&mut self.query, (strength, busy), clause)?;
            }
            for table in &tables {
                let entry = self.locked_entry(table, clause)?;
                lock_entry(&mut self.query, entry, (strength, busy), clause)?;
            }
        }
        Ok(())
    }

    fn locked_entry(&self, table: &Ident, clause: &str) -> SqlResult<usize> {
        let (table, place) = (name_of(table), Place::start(table.span));
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

fn lock_all(query: &mut BoundQuery, how: (LockStrength, Busy), clause: &str) -> SqlResult<()> {
    (0..query.range.len()).try_for_each(|entry| lock_entry(query, entry, how, clause))
}

/// Rows of a query are those of what it reads from.
fn lock_entry(
    query: &mut BoundQuery,
    entry: usize,
    (strength, busy): (LockStrength, Busy),
    clause: &str,
) -> SqlResult<()> {
    match &mut query.range[entry].source {
        RangeSource::Table { .. } => {}
        RangeSource::SubQuery(inner) => {
            refuse(inner, clause)?;
            deeper(|| lock_all(inner, (strength, busy), clause))?;
        }
        _ => return Ok(()),
    }
    match query.row_marks.iter_mut().find(|mark| mark.entry == entry) {
        Some(mark) => (mark.strength, mark.busy) = (mark.strength.max(strength), mark.busy.max(busy)),
        None => query.row_marks.push(RowMark { entry, strength, busy }),
    }
    Ok(())
}

impl BoundStatement {
    /// Whether a query inside of it has a locking clause.
    pub fn locks_inside(&self) -> bool {
        match self {
            BoundStatement::Query(query) => query.locks_inside(),
            BoundStatement::Change(change) => locks_inside(&change.range, &change.with, &change.sub_queries),
        }
    }

    /// Puts others in the places of the queries inside of it that have a locking clause.
    ///
    /// # Errors
    /// Those of `other`.
    pub fn replace_locking(&mut self, other: &mut Replacement<'_>) -> SqlResult<()> {
        match self {
            BoundStatement::Query(query) => query.replace_locking(other),
            BoundStatement::Change(change) => {
                let BoundChange { range, with, sub_queries, .. } = &mut **change;
                replace_locking(range, with, sub_queries, other)
            }
        }
    }
}

/// Gives what stands in the place of a query.
pub type Replacement<'r> = dyn FnMut(BoundQuery) -> SqlResult<BoundQuery> + 'r;

impl BoundQuery {
    fn locks(&self) -> bool {
        !self.row_marks.is_empty() || self.locks_inside()
    }

    /// Whether a query inside of it has a locking clause.
    pub fn locks_inside(&self) -> bool {
        deeper(|| locks_inside(&self.range, &self.with, &self.sub_queries))
    }

    /// As [`BoundStatement::replace_locking`].
    ///
    /// # Errors
    /// Those of `other`.
    pub fn replace_locking(&mut self, other: &mut Replacement<'_>) -> SqlResult<()> {
        deeper(|| replace_locking(&mut self.range, &mut self.with, &mut self.sub_queries, other))
    }

    fn replace_if_locking(&mut self, other: &mut Replacement<'_>) -> SqlResult<()> {
        if self.row_marks.is_empty() {
            return self.replace_locking(other);
        }
        *self = other(std::mem::take(self))?;
        Ok(())
    }
}

fn locks_inside(range: &[RangeEntry], with: &[BoundWith], sub_queries: &[BoundQuery]) -> bool {
    let entry_locks = |entry: &RangeEntry| matches!(&entry.source, RangeSource::SubQuery(query) if query.locks());
    let part_locks = |part: &BoundWith| match &part.statement {
        BoundStatement::Query(query) => query.locks(),
        change @ BoundStatement::Change(_) => change.locks_inside(),
    };
    range.iter().any(entry_locks) || with.iter().any(part_locks) || sub_queries.iter().any(BoundQuery::locks)
}

fn replace_locking(
    range: &mut [RangeEntry],
    with: &mut [BoundWith],
    sub_queries: &mut [BoundQuery],
    other: &mut Replacement<'_>,
) -> SqlResult<()> {
    for part in with {
        match &mut part.statement {
            BoundStatement::Query(query) => query.replace_if_locking(other)?,
            change @ BoundStatement::Change(_) => change.replace_locking(other)?,
        }
    }
    for entry in range {
        if let RangeSource::SubQuery(query) = &mut entry.source {
            query.replace_if_locking(other)?;
        }
    }
    sub_queries.iter_mut().try_for_each(|query| query.replace_if_locking(other))
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
