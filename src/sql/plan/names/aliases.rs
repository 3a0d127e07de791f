//! An alias that is also the name of a column gets another name where sub-queries could take one for the other.
//!
//! `SELECT (SELECT n.id FROM t LIMIT 1) FROM t AS n`, where `t` has a column `n`: in the sub-query the planner reads `n.id` as a
//! field of that column, before it looks at the tables around.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, TableAlias, TableFactor, Visitor, VisitorMut};

use crate::plan::tables::Tables;
use crate::syntax::{next_free, walk, walk_mut};

/// Renames such aliases, in a query in which columns are spelled `"alias"."column"`.
pub(super) fn tell_apart(query: &mut Query, tables: &Tables) {
    let mut names = Names { columns: tables.columns().map(str::to_owned).collect(), ..Names::default() };
    let _ = walk(query, &mut names);
    let Names { queries, aliases, mut columns } = names;
    if queries < 2 {
        return;
    }
    let clashing: Vec<String> = aliases.into_iter().filter(|alias| columns.contains(alias)).collect();
    for alias in clashing {
        let other = next_free(&alias, &mut columns);
        let _ = walk_mut(query, &mut Rename { alias, other });
    }
}

fn alias_of(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

fn alias_of_mut(factor: &mut TableFactor) -> Option<&mut TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_mut(),
        _ => None,
    }
}

/// What is named in a query.
#[derive(Default)]
struct Names {
    queries: usize,
    aliases: HashSet<String>,
    columns: HashSet<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.queries += 1;
        if let SetExpr::Select(select) = &*query.body {
            for item in &select.projection {
                if let SelectItem::ExprWithAlias { alias, .. } = item {
                    self.columns.insert(alias.value.clone());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let Some(alias) = alias_of(factor) {
            self.aliases.insert(alias.name.value.clone());
            self.columns.extend(alias.columns.iter().map(|column| column.name.value.clone()));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [_, column] = parts.as_slice()
        {
            self.columns.insert(column.value.clone());
        }
        ControlFlow::Continue(())
    }
}

struct Rename {
    alias: String,
    other: String,
}

impl Rename {
    fn ident(&self, ident: &mut Ident) {
        if ident.value == self.alias {
            ident.value.clone_from(&self.other);
        }
    }
}

impl VisitorMut for Rename {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(alias) = alias_of_mut(factor) {
            self.ident(&mut alias.name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, _] = parts.as_mut_slice()
        {
            self.ident(table);
        }
        ControlFlow::Continue(())
    }
}
