//! Which system relations the columns of a select can come from.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, Expr, Query, Select, TableFactor, TableWithJoins, Visitor};

use super::forms::{column_name, number};
use crate::pg_catalog::layout::Layout;
use crate::syntax::{fold, walk};

/// The tables of one FROM clause, as far as they are system relations.
pub(super) struct Scope {
    tables: Vec<(String, &'static Layout)>,
    /// Whether every table is a system relation, so that it is known which columns there are.
    is_complete: bool,
}

/// What the columns of an expression belong to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Origins {
    pub inside: bool,
    pub outside: bool,
}

impl Scope {
    pub(super) fn of(select: &Select) -> Self {
        let mut scope = Self { tables: Vec::new(), is_complete: true };
        select.from.iter().for_each(|from| scope.add(from));
        scope
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete && !self.tables.is_empty()
    }

    pub(super) fn has_several(&self) -> bool {
        self.tables.len() > 1
    }

    fn add(&mut self, from: &TableWithJoins) {
        for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|j| &j.relation)) {
            match factor {
                TableFactor::Table { name, alias, args: None, .. } if let Some(layout) = super::layout_of(name) => {
                    let alias = alias.as_ref().map_or_else(|| layout.name.to_owned(), |a| fold(&a.name));
                    self.tables.push((alias, layout));
                }
                _ => self.is_complete = false,
            }
        }
    }

    /// Where the columns of an expression come from: this scope or those around it.
    pub(super) fn origins(&self, expr: &Expr) -> Origins {
        struct Sees<'s> {
            scope: &'s Scope,
            found: Origins,
        }
        impl Visitor for Sees<'_> {
            type Break = ();
            fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
                // A sub-query may name both.
                self.found = Origins { inside: true, outside: true };
                ControlFlow::Break(())
            }
            fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
                let inside = match expr {
                    Expr::Identifier(ident) => self.scope.has_column(&fold(ident)),
                    Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                        [.., table, _] => self.scope.table(&fold(table)).is_some(),
                        _ => return ControlFlow::Continue(()),
                    },
                    _ => return ControlFlow::Continue(()),
                };
                self.found.inside |= inside;
                self.found.outside |= !inside;
                ControlFlow::Continue(())
            }
        }
        let mut sees = Sees { scope: self, found: Origins::default() };
        let _ = walk(expr, &mut sees);
        sees.found
    }

    fn table(&self, alias: &str) -> Option<&'static Layout> {
        self.tables.iter().find(|(name, _)| name == alias).map(|(_, layout)| *layout)
    }

    fn has_column(&self, name: &str) -> bool {
        self.tables.iter().any(|(_, layout)| layout.position(name).is_some())
    }
}

pub(super) fn is_table_oid(expr: &Expr) -> bool {
    column_name(expr).as_deref() == Some("tableoid")
}

/// `t.tableoid` is the OID of the relation itself.
pub(super) fn table_oid(expr: &mut Expr, scopes: &[Scope]) {
    if !is_table_oid(expr) {
        return;
    }
    let found = match &*expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, _] => scopes.iter().rev().find_map(|scope| scope.table(&fold(table))),
            _ => None,
        },
        _ => scopes.last().and_then(|scope| scope.tables.first()).map(|(_, layout)| *layout),
    };
    if let Some(layout) = found {
        let data_type = DataType::IntUnsigned(None);
        let oid = Box::new(number(layout.oid));
        *expr = Expr::Cast { kind: CastKind::Cast, expr: oid, data_type, array: false, format: None };
    }
}
