//! What a query depends on: the relations that it reads, and which of their columns.

use std::collections::{BTreeMap, BTreeSet};

use tablegate_types::stack::deeper;

use super::bound::{BoundQuery, RangeSource};
use crate::catalogue::Oid;
use crate::expr::{BoundExpr, ExprKind};

/// The columns, by their numbers from 0, of each relation that is read.
pub type ReadColumns = BTreeMap<Oid, BTreeSet<usize>>;

/// A query and those around it.
struct Level<'l> {
    query: &'l BoundQuery,
    outer: Option<&'l Level<'l>>,
}

impl BoundQuery {
    /// The relations that it and all queries inside of it read, with the columns that they name. Of one of which nothing is
    /// named there are no columns; a row as a whole is all of them.
    pub fn read_columns(&self) -> ReadColumns {
        let mut read = ReadColumns::new();
        Level { query: self, outer: None }.add_all(&mut read);
        read
    }

    /// The relations without whose primary key it, or a query inside of it, would name columns that it does not group by.
    pub fn needed_keys(&self) -> BTreeSet<Oid> {
        let mut needed = BTreeSet::new();
        self.add_needed_keys(&mut needed);
        needed
    }

    fn add_needed_keys(&self, needed: &mut BTreeSet<Oid>) {
        for entry in &self.grouping.determined {
            if let Some(RangeSource::Table { relation, .. }) = self.range.get(*entry).map(|entry| &entry.source) {
                needed.insert(relation.oid);
            }
        }
        let mut inside = |query: &BoundQuery| deeper(|| query.add_needed_keys(needed));
        self.for_each_read_query(&mut |query| inside(query));
        self.sub_queries.iter().for_each(inside);
    }
}

impl Level<'_> {
    fn add_all(&self, read: &mut ReadColumns) {
        for entry in &self.query.range {
            if let RangeSource::Table { relation, .. } = &entry.source {
                read.entry(relation.oid).or_default();
            }
        }
        self.query.for_each_expr(&mut |expr| self.add_expr(expr, read));
        let mut inside = |query: &BoundQuery| deeper(|| Level { query, outer: Some(self) }.add_all(read));
        self.query.for_each_read_query(&mut |query| inside(query));
        self.query.sub_queries.iter().for_each(inside);
    }

    fn add_expr(&self, expr: &BoundExpr, read: &mut ReadColumns) {
        expr.any(&mut |part| {
            match part.kind {
                ExprKind::Column { level, entry, column } => self.add_columns((level, entry), Some(column), read),
                ExprKind::WholeRow { level, entry } => self.add_columns((level, entry), None, read),
                _ => {}
            }
            false
        });
    }

    /// Adds one of an entry's columns, or all of them.
    fn add_columns(&self, (level, entry): (usize, usize), column: Option<usize>, read: &mut ReadColumns) {
        let Some(of) = std::iter::successors(Some(self), |of| of.outer).nth(level) else { return };
        let Some(entry) = of.query.range.get(entry) else { return };
        let is_named = |number: &usize| column.is_none_or(|column| column == *number);
        match &entry.source {
            RangeSource::Table { relation, .. } => {
                read.entry(relation.oid).or_default().extend((0..relation.columns.len()).filter(is_named));
            }
            RangeSource::Join { columns } => {
                for (_, column) in columns.iter().enumerate().filter(|(number, _)| is_named(number)) {
                    of.add_expr(column.expr(), read);
                }
            }
            _ => {}
        }
    }
}
