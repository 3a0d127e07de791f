//! Which tables a query reads by name, and which parts of it change others.
//!
//! A name that stands for a part of WITH is not a table's. It is one only where the part can be seen: from the parts behind
//! it (those of WITH RECURSIVE see themselves too) and from the query itself. Where in doubt, a name is a table's: that asks
//! for a privilege too many, never for one too few.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    Visit, Visitor,
};
use tablegate_bind::statement::item_parts;

use crate::syntax::{fold, walk};

/// What is found, in the order of the text.
pub(super) trait Found {
    /// A table is read.
    fn reads(&mut self, name: &ObjectName);

    /// A table's rows are locked, too.
    fn locks(&mut self, name: &ObjectName);

    /// A statement inside of WITH changes a table; gives the table's name as it stands there, for it is not read by
    /// being named so.
    fn changes<'s>(&mut self, statement: &'s Statement) -> Option<&'s ObjectName>;
}

/// Looks through a statement or a part of one; `target` is the name of the table it changes.
pub(super) fn look_through<F: Found>(part: &impl Visit, target: Option<&ObjectName>, found: &mut F) {
    let mut looks = Walk { found, scopes: Vec::new(), targets: target.into_iter().map(std::ptr::from_ref).collect() };
    let _ = walk(part, &mut looks);
}

struct Walk<'f, F> {
    found: &'f mut F,
    scopes: Vec<Scope>,
    /// Names of tables that are changed, told from others by their place.
    targets: Vec<*const ObjectName>,
}

/// A query that the walk is inside of.
struct Scope {
    /// The names of its WITH, and how many of them can be seen.
    names: Vec<String>,
    visible: usize,
    recursive: bool,
}

impl<F: Found> Walk<'_, F> {
    fn is_part_of_with(&self, name: &ObjectName) -> bool {
        let [part] = name.0.as_slice() else { return false };
        let Some(name) = part.as_ident().map(fold) else { return false };
        self.scopes.iter().any(|scope| scope.names.iter().take(scope.visible).any(|known| *known == name))
    }
}

impl<F: Found> Visitor for Walk<'_, F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(around) = self.scopes.last_mut()
            && around.recursive
            && around.visible < around.names.len()
        {
            // It is the next part of WITH RECURSIVE, and may name itself.
            around.visible += 1;
        }
        let with = query.with.as_ref();
        let names =
            with.map_or_else(Vec::new, |with| with.cte_tables.iter().map(|cte| fold(&cte.alias.name)).collect());
        if !query.locks.is_empty()
            && let SetExpr::Select(select) = &*query.body
        {
            let named: Vec<&Ident> = query
                .locks
                .iter()
                .flat_map(|lock| &lock.of)
                .flat_map(|of| &of.0)
                .filter_map(|p| p.as_ident())
                .collect();
            for name in locked_tables(select, &named) {
                let is_own = name.0.len() == 1 && names.contains(&name.to_string());
                if !is_own && !self.is_part_of_with(name) {
                    self.found.locks(name);
                }
            }
        }
        self.scopes.push(Scope { names, visible: 0, recursive: with.is_some_and(|with| with.recursive) });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.scopes.pop();
        // Parts of WITH come before everything else of their query.
        if let Some(around) = self.scopes.last_mut()
            && !around.recursive
            && around.visible < around.names.len()
        {
            around.visible += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        self.targets.extend(self.found.changes(statement).map(std::ptr::from_ref));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let is_target = self.targets.iter().any(|target| std::ptr::eq(*target, name));
        if !is_target && !self.is_part_of_with(name) {
            self.found.reads(name);
        }
        ControlFlow::Continue(())
    }
}

/// The tables whose rows a locking clause locks: those it names, or all.
fn locked_tables<'s>(select: &'s Select, named: &[&Ident]) -> Vec<&'s ObjectName> {
    let mut tables = Vec::new();
    select.from.iter().for_each(|from| add_tables(from, &mut tables));
    let is_named = |(name, alias): &(&ObjectName, Option<&Ident>)| {
        let own = name.0.last().and_then(|part| part.as_ident());
        let shown = alias.or(own).map(fold);
        named.iter().any(|ident| Some(fold(ident)) == shown)
    };
    let chosen = tables.iter().filter(|table| is_named(table)).map(|(name, _)| *name).collect::<Vec<_>>();
    if chosen.is_empty() { tables.into_iter().map(|(name, _)| name).collect() } else { chosen }
}

fn add_tables<'s>(from: &'s TableWithJoins, tables: &mut Vec<(&'s ObjectName, Option<&'s Ident>)>) {
    for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
        match factor {
            TableFactor::Table { name, alias, .. } => tables.push((name, alias.as_ref().map(|alias| &alias.name))),
            TableFactor::NestedJoin { table_with_joins, .. } => add_tables(table_with_joins, tables),
            TableFactor::Derived { subquery, .. } => {
                if let SetExpr::Select(select) = &*subquery.body {
                    select.from.iter().for_each(|from| add_tables(from, tables));
                }
            }
            _ => {}
        }
    }
}

/// Whether expressions may name a column of the table that a statement changes. Inside of sub-queries any bare name
/// may: what it means there is not looked up.
pub(super) struct NamesColumns<'a> {
    /// What the table is called in the statement.
    pub table: &'a str,
    /// Other tables are named beside it.
    pub found: bool,
}

impl NamesColumns<'_> {
    pub(super) fn look_at(&mut self, part: &impl Visit) {
        let _ = walk(part, self);
    }

    /// What is assigned; of an item that is assigned to, the subscripts.
    pub(super) fn look_at_assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            match item_parts(&assignment.value) {
                Some((subscripts, value)) => {
                    subscripts.iter().for_each(|subscript| self.look_at(subscript));
                    self.look_at(value);
                }
                None => self.look_at(&assignment.value),
            }
        }
    }

    /// A list of results: a star is all columns.
    pub(super) fn look_at_items(&mut self, items: &[SelectItem]) {
        for item in items {
            self.found |= matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
            self.look_at(item);
        }
    }
}

impl Visitor for NamesColumns<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.found |= match expr {
            // DEFAULT is read as a name.
            Expr::Identifier(ident) => ident.quote_style.is_some() || !ident.value.eq_ignore_ascii_case("default"),
            Expr::CompoundIdentifier(parts) => {
                let qualifier = parts.len().checked_sub(2).and_then(|at| parts.get(at));
                qualifier.is_none_or(|part| fold(part) == self.table)
            }
            Expr::CompoundFieldAccess { .. } => true,
            _ => false,
        };
        ControlFlow::Continue(())
    }
}
