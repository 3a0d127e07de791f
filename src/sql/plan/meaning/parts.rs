//! Statements of several parts: changes in WITH, and what is behind it.

use std::sync::Arc;

use tablegate_bind::query::bound::{BoundWith, RangeEntry, RangeSource};
use tablegate_bind::statement::{Overriding, Syntax};
use tablegate_bind::{BoundQuery, BoundStatement};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::change::MeantChange;
use super::meant::MeantStatement;
use super::named::{Named, Part, PartRows};
use crate::plan::planned_query::PlannedQuery;
use crate::plan::planner::Planner;

/// What a statement means that changes rows.
pub(crate) enum MeantChanges {
    /// It is one change.
    One(Arc<MeantChange>),
    /// It has changes in its WITH.
    Several(MeantParts),
}

/// A statement whose WITH changes rows.
pub(crate) struct MeantParts {
    named: Arc<Named>,
    /// The parts of WITH, of a query that has nothing else.
    with: Arc<BoundQuery>,
    /// What is behind it.
    main: BoundStatement,
}

/// A part of a statement, or what is behind its parts.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    With(usize),
    Behind,
}

/// What a part means.
pub(crate) enum MeantPart {
    Change(Arc<MeantChange>),
    Query(Box<BoundQuery>),
}

impl MeantChanges {
    /// What a statement means; `found` where that is known already.
    ///
    /// # Errors
    /// What is wrong with it; 55000 for a change of a view, 42809 for one of a sequence, 42501 for one of a table of the system.
    pub(crate) async fn of(
        planner: &Planner<'_>,
        syntax: (Syntax<'_>, Overriding),
        found: Option<MeantStatement>,
        declared: &[SqlType],
    ) -> SqlResult<Self> {
        let (named, statement) = Named::of(planner, syntax, found, declared).await?;
        let with = match statement {
            BoundStatement::Change(change) if !change.with.iter().any(is_change) => {
                return Ok(Self::One(MeantChange::new(*change, &named, None)?));
            }
            BoundStatement::Change(ref change) => change.with.clone(),
            BoundStatement::Query(ref query) => query.with.clone(),
        };
        let with = Arc::new(BoundQuery { with, ..BoundQuery::default() });
        Ok(Self::Several(MeantParts { named, with, main: statement }))
    }
}

fn is_change(part: &BoundWith) -> bool {
    matches!(part.statement, BoundStatement::Change(_))
}

impl MeantParts {
    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.named.parameters
    }

    /// The parts of WITH.
    pub(crate) fn with(&self) -> &[BoundWith] {
        &self.with.with
    }

    /// What a part means, with the rows that those before it have handed on.
    ///
    /// # Errors
    /// As [`MeantChanges::of`].
    pub(crate) fn part(&self, place: Place, rows: &PartRows) -> SqlResult<MeantPart> {
        let statement = match place {
            Place::Behind => &self.main,
            Place::With(number) => &self.with.with[number].statement,
        };
        match statement {
            BoundStatement::Query(query) => Ok(MeantPart::Query(query.clone())),
            BoundStatement::Change(change) => {
                let part = Some(self.surroundings(place, rows));
                MeantChange::new((**change).clone(), &self.named, part).map(MeantPart::Change)
            }
        }
    }

    /// Plans a part that is a query.
    ///
    /// # Errors
    /// Those of planning.
    pub(crate) async fn plan(
        &self,
        planner: &Planner<'_>,
        query: &BoundQuery,
        place: Place,
        rows: &PartRows,
    ) -> SqlResult<PlannedQuery> {
        self.named.plan(planner, query, Some(&self.surroundings(place, rows)), &[], None).await
    }

    fn surroundings(&self, place: Place, rows: &PartRows) -> Part {
        let around = match place {
            Place::Behind => None,
            Place::With(_) => Some(self.with.clone()),
        };
        Part { around, rows: rows.clone() }
    }

    /// Which of the queries in WITH are read by several of the parts that run on their own.
    pub(crate) fn shared(&self) -> Vec<bool> {
        let parts = self.with();
        let runs_alone = |at: usize| parts.get(at).is_none_or(is_change);
        let reads = |at: usize, wanted: usize| match parts.get(at) {
            Some(part) => statement_reads(&part.statement, 1, wanted),
            None => statement_reads(&self.main, 0, wanted),
        };
        let mut readers = vec![0_usize; parts.len() + 1];
        let mut shared = vec![false; parts.len()];
        // From the last on: a query that is planned into its readers reads as often as it is read.
        for at in (0..parts.len()).rev() {
            let count = |reader: usize| if runs_alone(reader) || shared[reader] { 1 } else { readers[reader] };
            let sum = (at + 1..=parts.len()).filter(|reader| reads(*reader, at)).map(count).sum();
            readers[at] = sum;
            shared[at] = !runs_alone(at) && sum > 1;
        }
        shared
    }
}

/// Whether a statement reads a part of the WITH that is so many outside of it.
fn statement_reads(statement: &BoundStatement, level: usize, part: usize) -> bool {
    match statement {
        BoundStatement::Query(query) => reads((&query.range, &query.with, &query.sub_queries), level, part),
        BoundStatement::Change(change) => reads((&change.range, &change.with, &change.sub_queries), level, part),
    }
}

/// The same of what a query or a change reads from, has in its WITH, and inside of its expressions.
fn reads((range, with, sub_queries): (&[RangeEntry], &[BoundWith], &[BoundQuery]), level: usize, part: usize) -> bool {
    let inside = |query: &BoundQuery| reads((&query.range, &query.with, &query.sub_queries), level + 1, part);
    let of_entry = |entry: &RangeEntry| match &entry.source {
        RangeSource::With { level: at, number, .. } => (*at, *number) == (level, part),
        RangeSource::SubQuery(query) => inside(query),
        _ => false,
    };
    range.iter().any(of_entry)
        || with.iter().any(|with| statement_reads(&with.statement, level + 1, part))
        || sub_queries.iter().any(inside)
}
