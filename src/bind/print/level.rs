//! The names of what a query's expressions refer to, in this query and those around it: PostgreSQL's `get_variable`.

use std::cell::RefCell;

use tablegate_types::quoting::quote_ident;

use super::Names;
use super::columns::{EntryColumns, columns_of};
use super::query::{QueryPrinter, QueryPrinting, Shown};
use super::tables::Tables;
use crate::expr::ExprKind;
use crate::query::bound::{BoundQuery, JoinTree, RangeSource};

/// The names of the rows that a rule is about: a view's query has them in its range table.
const OF_RULES: &[&str] = &["old", "new"];

/// A query that is being printed.
pub(super) struct Level<'l> {
    pub query: &'l BoundQuery,
    pub settings: &'l QueryPrinting<'l>,
    pub outer: Option<&'l Level<'l>>,
    pub tables: Tables,
    pub columns: Vec<EntryColumns>,
    /// Of each entry the joins with an alias that it is in, the outermost first. Outside of these it goes by their names.
    hidden_by: Vec<Vec<usize>>,
    /// Such joins whose inside is being printed.
    opened: RefCell<Vec<usize>>,
}

/// A column's name, and that of its table if it needs one.
pub(super) struct Variable {
    pub table: Option<String>,
    pub column: String,
}

impl<'l> Level<'l> {
    pub(super) fn new(query: &'l BoundQuery, settings: &'l QueryPrinting<'l>, outer: Option<&'l Level<'l>>) -> Self {
        let known = if outer.is_none() { OF_RULES } else { &[] };
        let is_taken = |name: &str| outer.is_some_and(|outer| outer.levels().any(|level| level.tables.has(name)));
        Self {
            query,
            settings,
            outer,
            tables: Tables::of(query, settings.relations, known, &is_taken),
            columns: columns_of(query, settings.relations),
            hidden_by: hidden_by(query),
            opened: RefCell::default(),
        }
    }

    /// This query and those around it.
    pub(super) fn levels<'s>(&'s self) -> impl Iterator<Item = &'s Level<'l>> {
        std::iter::successors(Some(self), |level| level.outer)
    }

    /// Calls `print` while the inside of a join is printed.
    pub(super) fn within(&self, join: usize, print: impl FnOnce()) {
        self.opened.borrow_mut().push(join);
        print();
        self.opened.borrow_mut().pop();
    }

    pub(super) fn table(&self, entry: usize) -> String {
        self.tables.names.get(entry).cloned().flatten().unwrap_or_default()
    }

    pub(super) fn variable(&self, level: usize, entry: usize, column: usize) -> Option<Variable> {
        let of = self.levels().nth(level)?;
        let (entry, column) = of.as_shown(entry, column);
        let range = of.query.range.get(entry)?;
        if let RangeSource::Join { columns } = &range.source
            && !range.has_alias
        {
            return match columns.get(column)?.expr().kind {
                ExprKind::Column { level: further, entry, column } => self.variable(level + further, entry, column),
                _ => Some(Variable { table: None, column: of.columns.get(entry)?.name(column).to_owned() }),
            };
        }
        Some(Variable { table: Some(of.table(entry)), column: of.columns.get(entry)?.name(column).to_owned() })
    }

    /// The column by which one is named outside of a join with an alias.
    fn as_shown(&self, entry: usize, column: usize) -> (usize, usize) {
        let opened = self.opened.borrow();
        let joins = self.hidden_by.get(entry).map_or(&[][..], Vec::as_slice);
        let Some(join) = joins.iter().find(|join| !opened.contains(join)) else { return (entry, column) };
        let Some(RangeSource::Join { columns }) = self.query.range.get(*join).map(|range| &range.source) else {
            return (entry, column);
        };
        let is_this = |kind: &ExprKind| match kind {
            ExprKind::Column { level: 0, entry: of, column: number } => (*of, *number) == (entry, column),
            _ => false,
        };
        let found = columns.iter().position(|known| is_this(&known.expr().kind));
        found.map_or((entry, column), |number| (*join, number))
    }
}

fn hidden_by(query: &BoundQuery) -> Vec<Vec<usize>> {
    let mut hidden = vec![Vec::new(); query.range.len()];
    let mut waiting: Vec<(&JoinTree, Vec<usize>)> = query.from.iter().map(|tree| (tree, Vec::new())).collect();
    while let Some((tree, mut joins)) = waiting.pop() {
        if let Some(hidden) = hidden.get_mut(tree.entry()) {
            hidden.clone_from(&joins);
        }
        if let JoinTree::Join { entry, left, right, .. } = tree {
            if query.range.get(*entry).is_some_and(|range| range.has_alias) {
                joins.push(*entry);
            }
            waiting.push((left, joins.clone()));
            waiting.push((right, joins));
        }
    }
    hidden
}

impl Names for Level<'_> {
    fn column(&self, level: usize, entry: usize, column: usize) -> String {
        let Some(variable) = self.variable(level, entry, column) else { return String::new() };
        let column = quote_ident(&variable.column);
        variable.table.map_or_else(|| column.clone(), |table| format!("{}.{column}", quote_ident(&table)))
    }

    fn row(&self, level: usize, entry: usize) -> String {
        let of = self.levels().nth(level);
        of.map_or_else(String::new, |of| format!("{}.*", quote_ident(&of.table(entry))))
    }

    fn row_type(&self, level: usize, entry: usize) -> Option<String> {
        match &self.levels().nth(level)?.query.range.get(entry)?.source {
            RangeSource::Table { relation, .. } => Some(self.settings.relations.relation(relation, false)),
            _ => None,
        }
    }

    fn query(&self, number: usize, indent: isize) -> String {
        let Some(query) = self.query.sub_queries.get(number) else { return String::new() };
        QueryPrinter::text(self, query, Shown::default(), indent)
    }

    fn window(&self, number: usize, indent: isize) -> Option<String> {
        let window = self.query.windows.get(number)?;
        let mut printer = QueryPrinter::new(self, indent);
        match &window.name {
            Some(name) => printer.out.push(&quote_ident(name)),
            None => printer.window(window),
        }
        Some(printer.out.text)
    }
}
