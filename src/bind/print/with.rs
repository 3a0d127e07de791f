//! WITH: PostgreSQL's `get_with_clause`.

use tablegate_types::quoting::quote_ident;
use tablegate_types::stack::deeper;

use super::query::{INDENT, QueryPrinter, Shown};
use crate::query::bound::{BoundQuery, BoundWith, RangeSource};
use crate::query::changes::BoundStatement;

impl QueryPrinter<'_> {
    pub(super) fn with(&mut self) {
        let query = self.level.query;
        if query.with.is_empty() {
            return;
        }
        self.out.indent += INDENT;
        self.out.push(if query.is_with_recursive { " WITH RECURSIVE " } else { " WITH " });
        let parts = order_of(query).into_iter().filter_map(|number| query.with.get(number));
        self.listed(parts, &mut |printer, part| printer.part_of_with(part));
        self.out.indent -= INDENT;
        self.out.line("");
    }

    fn part_of_with(&mut self, part: &BoundWith) {
        self.out.push(&quote_ident(&part.name));
        let named: Vec<String> = part.columns.iter().take(part.named_columns).map(|c| quote_ident(&c.name)).collect();
        if !named.is_empty() {
            self.out.push(&format!("({})", named.join(", ")));
        }
        self.out.push(match part.materialized {
            None => " AS (",
            Some(true) => " AS MATERIALIZED (",
            Some(false) => " AS NOT MATERIALIZED (",
        });
        self.out.line("");
        if let BoundStatement::Query(query) = &part.statement {
            self.inner(query, Shown::OWN);
        }
        self.out.line("");
        self.out.push(")");
    }
}

/// The order in which parts are printed: of WITH RECURSIVE the one in which they need each other, as PostgreSQL's
/// `TopologicalSort` finds it.
fn order_of(query: &BoundQuery) -> Vec<usize> {
    let mut order: Vec<usize> = (0..query.with.len()).collect();
    if !query.is_with_recursive {
        return order;
    }
    let needs: Vec<Vec<usize>> = query.with.iter().enumerate().map(|(at, part)| needed_by(at, part)).collect();
    for at in 0..order.len() {
        let (before, left) = order.split_at(at);
        let is_ready = |part: &usize| needs[*part].iter().all(|needed| before.contains(needed));
        let ready = left.iter().position(is_ready).unwrap_or(0);
        order.swap(at, at + ready);
    }
    order
}

/// The other parts of the same clause that one reads from.
fn needed_by(at: usize, part: &BoundWith) -> Vec<usize> {
    let mut needed = Vec::new();
    if let BoundStatement::Query(query) = &part.statement {
        add_needed(query, 1, &mut needed);
    }
    needed.retain(|other| *other != at);
    needed
}

fn add_needed(query: &BoundQuery, depth: usize, needed: &mut Vec<usize>) {
    for entry in &query.range {
        if let RangeSource::With { level, number, .. } = entry.source
            && level == depth
        {
            needed.push(number);
        }
    }
    deeper(|| {
        query.for_each_read_query(&mut |inner| add_needed(inner, depth + 1, needed));
        query.sub_queries.iter().for_each(|inner| add_needed(inner, depth + 1, needed));
    });
}
