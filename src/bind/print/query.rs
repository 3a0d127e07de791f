//! Queries as a whole: PostgreSQL's `get_query_def`, as `pg_get_viewdef` calls it.

use tablegate_types::quoting::quote_ident;
use tablegate_types::stack::deeper;

use super::Printing;
use super::level::Level;
use super::lines::Printer;
use crate::catalogue::{Lookup, Relation};
use crate::expr::{BoundExpr, ExprKind};
use crate::query::bound::{BoundQuery, Busy, Distinct, JoinTree, RangeSource, RowMark, Target};

/// Columns by which the clauses of a query are moved to the right, and what follows the first of a list.
pub(super) const INDENT: isize = 8;
pub(super) const NEXT: usize = 4;

/// What columns without a name are called.
const UNNAMED: &str = "?column?";

/// The names of relations, as they are when a query is printed.
pub trait RelationNames {
    /// As it stands in FROM, quoted: with its schema where it would not be found without one, or if that is asked for.
    fn relation(&self, relation: &Relation, with_schema: bool) -> String;

    /// Its own name alone, not quoted.
    fn table(&self, relation: &Relation) -> String {
        relation.name.clone()
    }

    /// The name of a column, not quoted.
    fn column(&self, relation: &Relation, column: usize) -> String {
        relation.columns.get(column).map(|column| column.name.clone()).unwrap_or_default()
    }
}

/// The names that relations had when the query was bound; those of one schema are found without it.
pub struct StoredNames<'s> {
    pub schema: &'s str,
}

impl RelationNames for StoredNames<'_> {
    fn relation(&self, relation: &Relation, with_schema: bool) -> String {
        let name = quote_ident(&relation.name);
        if with_schema || relation.schema != self.schema {
            format!("{}.{name}", quote_ident(&relation.schema))
        } else {
            name
        }
    }
}

/// How a query is printed.
#[derive(Clone, Copy)]
pub struct QueryPrinting<'p> {
    pub lookup: Lookup<'p>,
    /// Without the parentheses that are not needed, as `pg_get_viewdef(view, true)` prints it.
    pub pretty: bool,
    /// The names of the view's columns, if they are others than those of the query's.
    pub column_names: Option<&'p [String]>,
    pub relations: &'p dyn RelationNames,
}

/// The text of a query, as `pg_get_viewdef` gives it of a view: with a semicolon at its end.
pub fn query_text(query: &BoundQuery, settings: &QueryPrinting<'_>) -> String {
    let own: Vec<String> = query.results().map(|target| target.name.clone()).collect();
    let level = Level::new(query, settings, None);
    let mut printer = QueryPrinter::new(&level, 0);
    let names = settings.column_names.unwrap_or(&own);
    printer.query(Shown { names: Some(names), are_visible: true });
    printer.out.text + ";"
}

/// What the results are called, and whether anybody sees that.
#[derive(Clone, Copy, Default)]
pub(super) struct Shown<'s> {
    pub names: Option<&'s [String]>,
    pub are_visible: bool,
}

impl Shown<'_> {
    pub(super) const OWN: Shown<'static> = Shown { names: None, are_visible: true };
}

/// Prints one query.
pub(super) struct QueryPrinter<'l> {
    pub level: &'l Level<'l>,
    pub out: Printer<'l>,
}

impl<'l> QueryPrinter<'l> {
    pub(super) fn new(level: &'l Level<'l>, indent: isize) -> Self {
        let QueryPrinting { lookup, pretty, .. } = *level.settings;
        let settings = Printing { lookup, names: level, pretty, shows_casts: false };
        Self { level, out: Printer::new(settings, indent) }
    }

    /// The text of a query inside of another one.
    pub(super) fn text(outer: &Level<'_>, query: &BoundQuery, shown: Shown<'_>, indent: isize) -> String {
        deeper(|| {
            let level = Level::new(query, outer.settings, Some(outer));
            let mut printer = QueryPrinter::new(&level, indent);
            printer.query(shown);
            printer.out.text
        })
    }

    /// Prints a query that is inside of this one.
    pub(super) fn inner(&mut self, query: &BoundQuery, shown: Shown<'_>) {
        let text = Self::text(self.level, query, shown, self.out.indent);
        self.out.push(&text);
    }

    pub(super) fn is_pretty(&self) -> bool {
        self.level.settings.pretty
    }

    /// A clause of the query's: a new line, further to the left than what is inside of the clause.
    pub(super) fn clause(&mut self, words: &str, further: usize) {
        self.out.indent -= INDENT;
        self.out.line_at(words, further);
        self.out.indent = (self.out.indent + INDENT).max(0);
    }

    /// The members of a list.
    pub(super) fn listed<T>(&mut self, items: impl IntoIterator<Item = T>, print: &mut dyn FnMut(&mut Self, T)) {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.out.push(", ");
            }
            print(self, item);
        }
    }

    fn query(&mut self, shown: Shown<'_>) {
        let query = self.level.query;
        self.with();
        match &query.set {
            Some(tree) => self.set(tree, shown),
            None => self.select(shown),
        }
        if !query.order.is_empty() {
            self.clause(" ORDER BY ", 1);
            self.order(&query.order, query.set.is_some());
        }
        self.limits();
        for mark in self.own_marks() {
            self.mark(mark);
        }
    }

    fn select(&mut self, shown: Shown<'_>) {
        let query = self.level.query;
        self.out.indent += INDENT;
        self.out.push(" ");
        if let Some(rows) = self.plain_values(shown) {
            self.values(rows);
            return;
        }
        self.out.push("SELECT");
        match &query.distinct {
            Distinct::No => {}
            Distinct::All => self.out.push(" DISTINCT"),
            Distinct::On(targets) => {
                self.out.push(" DISTINCT ON (");
                self.sorted_targets(targets);
                self.out.push(")");
            }
        }
        self.targets(shown);
        self.from();
        if let Some(filter) = &query.filter {
            self.clause(" WHERE ", 1);
            self.out.expr(filter, false);
        }
        self.grouping(&query.grouping);
        if let Some(having) = &query.having {
            self.clause(" HAVING ", 0);
            self.out.expr(having, false);
        }
        self.windows(&query.windows);
    }

    /// The results, one a line: PostgreSQL's `get_target_list`.
    fn targets(&mut self, shown: Shown<'_>) {
        for (at, target) in self.level.query.results().enumerate() {
            self.out.push(if at == 0 { " " } else { ", " });
            let name = shown.names.and_then(|names| names.get(at)).unwrap_or(&target.name);
            let text = self.target(target, name, shown.are_visible);
            if text.starts_with('\n') {
                self.out.trim();
            } else if at > 0 {
                self.next_line();
            }
            self.out.push(&text);
        }
    }

    /// A line for what follows the first of a list.
    pub(super) fn next_line(&mut self) {
        self.clause("", NEXT);
    }

    /// A result, with its name where it would have another one.
    fn target(&mut self, target: &Target, name: &str, is_visible: bool) -> String {
        let mut own = if is_visible { None } else { Some(UNNAMED.to_owned()) };
        let text = self.out.apart(|out| out.whole(&target.expr, true));
        match target.expr.kind {
            ExprKind::Column { level, entry, column } => {
                own = self.level.variable(level, entry, column).map(|variable| variable.column);
            }
            ExprKind::WholeRow { .. } => own = None,
            _ => {}
        }
        if own.as_deref() == Some(name) { text } else { format!("{text} AS {}", quote_ident(name)) }
    }

    /// The rows of a query that is nothing but VALUES, if its columns are called as those are.
    fn plain_values(&self, shown: Shown<'_>) -> Option<&'l [Vec<BoundExpr>]> {
        let query = self.level.query;
        let ([entry], [JoinTree::Entry(_)]) = (query.range.as_slice(), query.from.as_slice()) else { return None };
        let RangeSource::Values(rows) = &entry.source else { return None };
        let is_called = |(at, target): (usize, &Target)| {
            let name = shown.names.and_then(|names| names.get(at)).unwrap_or(&target.name);
            !target.is_hidden && entry.columns.get(at).is_some_and(|column| column.name == *name)
        };
        let fits = query.targets.len() == entry.columns.len() && query.targets.iter().enumerate().all(is_called);
        fits.then_some(rows)
    }

    pub(super) fn values(&mut self, rows: &[Vec<BoundExpr>]) {
        self.out.push("VALUES ");
        self.listed(rows, &mut |printer, row| {
            printer.out.push("(");
            printer.out.whole_list(row, ",", false);
            printer.out.push(")");
        });
    }

    /// The row locks that the query asks for itself: those of a query around it lock its rows too.
    fn own_marks(&self) -> Vec<RowMark> {
        let query = self.level.query;
        if query.row_marks.is_empty() {
            return Vec::new();
        }
        let locks = |outer: &BoundQuery| {
            outer.row_marks.iter().any(|mark| match outer.range.get(mark.entry).map(|entry| &entry.source) {
                Some(RangeSource::SubQuery(inner)) => std::ptr::eq(&**inner, query),
                _ => false,
            })
        };
        let is_locked = self.level.outer.is_some_and(|outer| outer.levels().any(|level| locks(level.query)));
        if is_locked { Vec::new() } else { query.row_marks.clone() }
    }

    fn mark(&mut self, mark: RowMark) {
        self.clause(&format!(" {} OF {}", mark.strength.words(), quote_ident(&self.level.table(mark.entry))), 0);
        self.out.push(match mark.busy {
            Busy::Wait => "",
            Busy::Skip => " SKIP LOCKED",
            Busy::Refuse => " NOWAIT",
        });
    }
}
