//! Walking through queries: their own expressions, and the queries that they read from.

use std::collections::HashSet;

use super::bound::{BoundQuery, FrameBound, JoinColumn, JoinKind, JoinTree, RangeEntry, RangeSource};
use super::changes::BoundStatement;
use crate::binder::Reach;
use crate::expr::{BoundExpr, ExprKind};

/// What is yet to be seen of joins.
enum Step<'e> {
    Tree(&'e JoinTree),
    Condition(&'e BoundExpr),
}

impl BoundQuery {
    /// Calls `see` with each expression of this query itself, in the order in which PostgreSQL goes through them.
    pub fn for_each_expr<'e>(&'e self, see: &mut dyn FnMut(&'e BoundExpr)) {
        self.targets.iter().for_each(|target| see(&target.expr));
        // Not by calls of itself: joins may be many.
        let mut joins: Vec<Step<'_>> = self.from.iter().rev().map(Step::Tree).collect();
        while let Some(next) = joins.pop() {
            match next {
                Step::Condition(condition) => see(condition),
                Step::Tree(JoinTree::Entry(_)) => {}
                Step::Tree(JoinTree::Join { left, right, condition, .. }) => {
                    joins.extend(condition.as_deref().map(Step::Condition));
                    joins.extend([Step::Tree(right), Step::Tree(left)]);
                }
            }
        }
        self.filter.iter().chain(&self.having).chain(&self.offset).chain(&self.limit).for_each(&mut *see);
        for frame in self.windows.iter().filter_map(|window| window.frame.as_ref()) {
            for bound in [&frame.start, &frame.end] {
                if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                    see(offset);
                }
            }
        }
        for entry in &self.range {
            match &entry.source {
                RangeSource::Table { sample: Some(sample), .. } => {
                    see(&sample.percent);
                    sample.seed.iter().for_each(&mut *see);
                }
                RangeSource::Functions { functions, .. } => functions.iter().for_each(|function| see(&function.call)),
                RangeSource::Values(rows) => rows.iter().flatten().for_each(&mut *see),
                RangeSource::Join { columns } => {
                    for column in columns {
                        if let JoinColumn::Merged { value, .. } = column {
                            see(value);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Calls `see` with each query that this one reads from, or has in its WITH.
    pub fn for_each_read_query<'e>(&'e self, see: &mut dyn FnMut(&'e BoundQuery)) {
        for entry in &self.range {
            if let RangeSource::SubQuery(query) = &entry.source {
                see(query);
            }
        }
        for with in &self.with {
            if let BoundStatement::Query(query) = &with.statement {
                see(query);
            }
        }
    }

    /// Whether an expression of this query, or of one inside of it, has a part like this.
    pub fn has_part(&self, is_it: &dyn Fn(&BoundExpr) -> bool) -> bool {
        let mut found = false;
        self.for_each_expr(&mut |expr| found |= expr.any(&mut |part| is_it(part)));
        self.for_each_read_query(&mut |inner| found |= inner.has_part(is_it));
        found || self.sub_queries.iter().any(|inner| inner.has_part(is_it))
    }

    /// Whether it means nothing without the queries around it: it names something that they read, or a part of their WITH.
    pub fn depends_on_others(&self) -> bool {
        !self.reach.columns.is_empty() || !self.reach.aggregates.is_empty() || self.reads_parts_outside(0)
    }

    /// Whether it reads from a part of WITH of a query more than so many outside of it.
    fn reads_parts_outside(&self, depth: usize) -> bool {
        let is_outside = |entry: &RangeEntry| matches!(entry.source, RangeSource::With { level, .. } if level > depth);
        let mut found = self.range.iter().any(is_outside);
        self.for_each_read_query(&mut |inner| found |= inner.reads_parts_outside(depth + 1));
        found || self.sub_queries.iter().any(|inner| inner.reads_parts_outside(depth + 1))
    }

    /// Entries that may be without a row where there is one of the query: those on such a side of an outer join.
    pub fn nullable_entries(&self) -> HashSet<usize> {
        let mut entries = HashSet::new();
        self.from.iter().for_each(|tree| add_nullable(tree, false, &mut entries));
        entries
    }

    /// What it names of the queries around it, as the nearest of them counts levels.
    pub(super) fn found_reach(&self) -> Reach {
        let mut reach = Reach::default();
        let queries = &self.sub_queries;
        self.for_each_expr(&mut |expr| add_reach(&mut reach, expr, queries));
        self.for_each_read_query(&mut |query| reach.add(&query.reach));
        reach.seen_from_outside()
    }
}

fn add_nullable(tree: &JoinTree, is_nullable: bool, entries: &mut HashSet<usize>) {
    match tree {
        JoinTree::Entry(entry) => {
            entries.extend(is_nullable.then_some(*entry));
        }
        JoinTree::Join { kind, left, right, .. } => {
            let (of_left, of_right) = match kind {
                JoinKind::Inner => (false, false),
                JoinKind::Left => (false, true),
                JoinKind::Right => (true, false),
                JoinKind::Full => (true, true),
            };
            add_nullable(left, is_nullable || of_left, entries);
            add_nullable(right, is_nullable || of_right, entries);
        }
    }
}

/// Adds the queries that an expression names something of.
pub(super) fn add_reach(reach: &mut Reach, expr: &BoundExpr, queries: &[BoundQuery]) {
    expr.any(&mut |part| {
        match &part.kind {
            ExprKind::SubQuery { query, .. } => {
                queries.get(*query).into_iter().for_each(|query| reach.add(&query.reach))
            }
            _ => reach.note(part),
        }
        false
    });
}
