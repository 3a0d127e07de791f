//! The columns of a table as the names of expressions over its rows: what binds them, and prints them.

use tablegate_bind::{Binder, BoundExpr, BuiltInOnly, Entry, ExprKind, Lookup, Printing, Scope, ScopeColumn, Usage};
use tablegate_types::oid::{modifier, oid};

use super::{Relation, RelationColumn};

/// The columns of a table, for expressions over them.
pub(crate) struct RowScope<'t> {
    table: &'t Relation,
    entries: [Entry; 1],
}

impl<'t> RowScope<'t> {
    pub(crate) fn of(table: &'t Relation) -> Self {
        let lookup = Lookup::new(&BuiltInOnly);
        let column = |column: &RelationColumn| {
            let (oid, typmod) = Self::type_of(column);
            ScopeColumn { name: column.name.clone(), ty: lookup.of_type(oid, typmod), is_hidden: false }
        };
        let columns = table.columns.iter().map(column).collect();
        let entry = Entry { name: table.name.clone(), schema: None, columns, row_type: 0, table: None };
        Self { table, entries: [entry] }
    }

    /// The number of a column's type, with its modifier.
    pub(crate) fn type_of(column: &RelationColumn) -> (u32, i32) {
        (oid(&column.sql_type), modifier(&column.sql_type))
    }

    pub(crate) fn binder(&self, usage: Usage) -> Binder<'_> {
        Binder::new(Lookup::new(&BuiltInOnly), self.scope(), usage)
    }

    /// What is bound, as PostgreSQL prints it.
    pub(crate) fn text(&self, bound: &BoundExpr, pretty: bool) -> String {
        let (lookup, scope) = (Lookup::new(&BuiltInOnly), self.scope());
        Printing { lookup, names: &scope, pretty, shows_casts: false }.text(bound)
    }

    /// The columns that an expression names.
    pub(crate) fn columns_in(&self, bound: &BoundExpr) -> Vec<&'t RelationColumn> {
        let mut named = vec![false; self.table.columns.len()];
        bound.any(&mut |part| {
            match part.kind {
                ExprKind::Column { column, .. } => named[column] = true,
                ExprKind::WholeRow { .. } => named.fill(true),
                _ => {}
            }
            false
        });
        self.table.columns.iter().zip(named).filter(|(_, named)| *named).map(|(column, _)| column).collect()
    }

    fn scope(&self) -> Scope<'_> {
        Scope { entries: &self.entries, outer: None, namespace: None }
    }
}
