//! FROM: PostgreSQL's `get_from_clause`.

use tablegate_types::quoting::quote_ident;
use tablegate_types::stack::deeper;

use super::columns::EntryColumns;
use super::query::{NEXT, QueryPrinter, Shown};
use crate::catalogue::RelationRef;
use crate::expr::{BoundExpr, ExprKind};
use crate::query::bound::{JoinKind, JoinTree, RangeColumn, RangeEntry, RangeFunction, RangeSource, Sample};

impl<'l> QueryPrinter<'l> {
    pub(super) fn from(&mut self) {
        for (at, item) in self.level.query.from.iter().enumerate() {
            if at == 0 {
                self.clause(" FROM ", 2);
                self.item(item);
                continue;
            }
            self.out.push(", ");
            let before = std::mem::take(&mut self.out.text);
            self.item(item);
            let text = std::mem::replace(&mut self.out.text, before);
            self.next_line();
            self.out.push(&text);
        }
    }

    fn item(&mut self, item: &'l JoinTree) {
        match item {
            JoinTree::Entry(entry) => self.entry(*entry),
            JoinTree::Join { entry, .. } => {
                let has_alias = self.level.query.range.get(*entry).is_some_and(|range| range.has_alias);
                let level = self.level;
                if has_alias {
                    level.within(*entry, || deeper(|| self.join(item, true)));
                } else {
                    deeper(|| self.join(item, false));
                }
            }
        }
    }

    fn join(&mut self, item: &'l JoinTree, has_alias: bool) {
        let JoinTree::Join { entry, kind, left, right, condition, .. } = item else { return };
        let columns = self.level.columns.get(*entry).cloned().unwrap_or_default();
        let in_parentheses = !self.is_pretty() || has_alias;
        self.out.push(if in_parentheses { "(" } else { "" });
        self.item(left);
        let words = match kind {
            JoinKind::Inner if condition.is_none() => " CROSS JOIN ",
            JoinKind::Inner => " JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            JoinKind::Full => " FULL JOIN ",
        };
        self.clause(words, NEXT);
        let is_bare = self.is_pretty() && self.is_bare_join(right);
        self.out.push(if is_bare { "(" } else { "" });
        self.item(right);
        self.out.push(if is_bare { ")" } else { "" });
        self.condition(*kind, condition.as_deref(), &columns);
        self.out.push(if in_parentheses { ")" } else { "" });
        if has_alias {
            let alias = quote_ident(&self.level.table(*entry));
            self.out.push(&format!(" {alias}{}", listed(&columns)));
        }
    }

    fn is_bare_join(&self, item: &JoinTree) -> bool {
        match item {
            JoinTree::Entry(_) => false,
            JoinTree::Join { entry, .. } => self.level.query.range.get(*entry).is_some_and(|range| !range.has_alias),
        }
    }

    fn condition(&mut self, kind: JoinKind, condition: Option<&BoundExpr>, columns: &EntryColumns) {
        match condition {
            _ if !columns.using.is_empty() => {
                let names: Vec<String> = columns.using.iter().map(|name| quote_ident(name)).collect();
                self.out.push(&format!(" USING ({})", names.join(", ")));
            }
            Some(condition) => {
                let in_full = !self.is_pretty();
                self.out.push(if in_full { " ON (" } else { " ON " });
                self.out.expr(condition, false);
                self.out.push(if in_full { ")" } else { "" });
            }
            None if kind != JoinKind::Inner => self.out.push(" ON TRUE"),
            None => {}
        }
    }

    fn entry(&mut self, entry: usize) {
        let level = self.level;
        let (Some(range), Some(columns)) = (level.query.range.get(entry), level.columns.get(entry)) else { return };
        if range.is_lateral {
            self.out.push("LATERAL ");
        }
        match &range.source {
            RangeSource::Table { relation, only, .. } => {
                let name = self.relation(relation);
                self.out.push(if *only { "ONLY " } else { "" });
                self.out.push(&name);
            }
            RangeSource::SubQuery(query) => {
                self.out.push("(");
                self.inner(query, Shown::OWN);
                self.out.push(")");
            }
            RangeSource::Functions { functions, with_ordinality } => self.functions(functions, *with_ordinality),
            RangeSource::Values(rows) => {
                self.out.push("(");
                self.values(rows);
                self.out.push(")");
            }
            RangeSource::With { level, number, .. } => {
                let name = self.part_of_with_named(*level, *number);
                self.out.push(&quote_ident(&name));
            }
            RangeSource::Join { .. } | RangeSource::Excluded => {}
        }
        let alias = level.table(entry);
        if columns.are_listed || range.has_alias || !self.is_called(range, &alias) {
            self.out.push(&format!(" {}", quote_ident(&alias)));
        }
        match only_defined(range) {
            Some(function) => self.definitions(&function.columns, Some(columns)),
            None => self.out.push(&listed(columns)),
        }
        if let RangeSource::Table { sample: Some(sample), .. } = &range.source {
            self.sample(sample);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.out.push(&format!(" TABLESAMPLE {} (", sample.method.name()));
        self.out.expr(&sample.percent, false);
        self.out.push(")");
        if let Some(seed) = &sample.seed {
            self.out.push(" REPEATABLE (");
            self.out.expr(seed, false);
            self.out.push(")");
        }
    }

    /// The name of a table, with its schema where a part of WITH has the same one.
    fn relation(&self, relation: &RelationRef) -> String {
        let relations = self.level.settings.relations;
        let name = relations.table(relation);
        let is_hidden = self.level.levels().any(|level| level.query.with.iter().any(|part| part.name == name));
        relations.relation(relation, is_hidden)
    }

    fn part_of_with_named(&self, level: usize, number: usize) -> String {
        let of = self.level.levels().nth(level);
        of.and_then(|of| of.query.with.get(number)).map(|part| part.name.clone()).unwrap_or_default()
    }

    /// Whether something that is read from goes by this name without an alias.
    fn is_called(&self, range: &RangeEntry, name: &str) -> bool {
        match &range.source {
            RangeSource::Table { relation, .. } => self.level.settings.relations.table(relation) == name,
            RangeSource::With { level, number, .. } => self.part_of_with_named(*level, *number) == name,
            _ => false,
        }
    }

    fn functions(&mut self, functions: &[RangeFunction], with_ordinality: bool) {
        let arguments: Option<Vec<&BoundExpr>> = functions.iter().map(unnested).collect();
        match (functions, arguments) {
            ([only], _) if !(only.is_defined && with_ordinality) => self.call(&only.call),
            (_, Some(arguments)) => {
                self.out.push("UNNEST(");
                self.listed(arguments, &mut |printer, argument| printer.out.expr(argument, true));
                self.out.push(")");
            }
            _ => {
                self.out.push("ROWS FROM(");
                self.listed(functions, &mut |printer, function| {
                    printer.call(&function.call);
                    if function.is_defined {
                        printer.out.push(" AS ");
                        printer.definitions(&function.columns, None);
                    }
                });
                self.out.push(")");
            }
        }
        if with_ordinality {
            self.out.push(" WITH ORDINALITY");
        }
    }

    /// What is no call is put into one that does nothing.
    fn call(&mut self, call: &BoundExpr) {
        let is_call = matches!(
            call.kind,
            ExprKind::Call { .. }
                | ExprKind::Coalesce(_)
                | ExprKind::Greatest(_)
                | ExprKind::Least(_)
                | ExprKind::NullIf { .. }
                | ExprKind::Word(_)
        );
        self.out.push(if is_call { "" } else { "CAST(" });
        self.out.expr(call, is_call);
        if !is_call {
            let label = self.level.settings.lookup.type_with_modifier(call.ty.oid, call.ty.typmod);
            self.out.push(&format!(" AS {label})"));
        }
    }

    /// The columns of a function's rows with their types.
    fn definitions(&mut self, columns: &[RangeColumn], names: Option<&EntryColumns>) {
        let lookup = self.level.settings.lookup;
        let definition = |(at, column): (usize, &RangeColumn)| {
            let name = names.map_or(&*column.name, |names| names.name(at));
            format!("{} {}", quote_ident(name), lookup.type_with_modifier(column.ty.oid, column.ty.typmod))
        };
        let all: Vec<String> = columns.iter().enumerate().map(definition).collect();
        self.out.push(&format!("({})", all.join(", ")));
    }
}

/// The only function that is read from, if the statement defines its columns and they stand behind the alias.
fn only_defined(range: &RangeEntry) -> Option<&RangeFunction> {
    match &range.source {
        RangeSource::Functions { functions, with_ordinality: false } => match functions.as_slice() {
            [only] if only.is_defined => Some(only),
            _ => None,
        },
        _ => None,
    }
}

/// The array of a call of `unnest`.
fn unnested(function: &RangeFunction) -> Option<&BoundExpr> {
    match &function.call.kind {
        ExprKind::Call { function, arguments, .. } if function.name == "unnest" => match arguments.as_slice() {
            [array] => Some(array),
            _ => None,
        },
        _ => None,
    }
}

/// The names of the columns, if they are listed.
fn listed(columns: &EntryColumns) -> String {
    if !columns.are_listed {
        return String::new();
    }
    let names: Vec<String> = columns.listed_names().map(quote_ident).collect();
    format!("({})", names.join(", "))
}
