//! Whole rows of tables as values: `SELECT e FROM employees e`, `row_to_json(e)`, `(e).name`.
//!
//! The name of a table where no column has that name is a row of its visible columns. On the side of an outer join that may
//! be without a partner the row is NULL as a whole, which its columns do not tell from a row of NULLs: there the table gets
//! a column more, [`MARKER`], which is true in all of its rows.

use std::cell::Cell;
use std::rc::Rc;

use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins,
};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::TableRow;

use super::Resolver;
use super::scope::{Found, Place, Scope, ScopeColumn, Source};
use crate::expr::{RowLayout, field_function, row_function};
use crate::syntax::{self, boolean, call, column, fold, item, query_of, select};

/// No column of a client's has such a name.
pub(super) const MARKER: &str = "\u{2}there";

/// A table's row as a value.
#[derive(Debug, Clone, Default)]
pub(super) struct WholeRow {
    /// `None` where rows have no type of their own.
    table: Option<TableRow>,
    /// An outer join may give NULLs in its place.
    pub may_be_missing: bool,
    /// Whether it is used where it may be missing, wherever in the query: copies of the source share it.
    is_marked: Rc<Cell<bool>>,
}

impl WholeRow {
    pub(super) fn of_table(table: Option<&TableRow>) -> Self {
        Self { table: table.cloned(), ..Self::default() }
    }
}

impl Source {
    fn visible(&self) -> impl Iterator<Item = &ScopeColumn> {
        self.columns.iter().filter(|column| !column.hidden)
    }

    fn whole_row(&self) -> Expr {
        let is_there = match self.row.may_be_missing {
            true => {
                self.row.is_marked.set(true);
                column(&self.alias, MARKER)
            }
            false => boolean(true),
        };
        let names = self.visible().map(|column| column.name.clone()).collect();
        let layout = RowLayout { table: self.row.table.clone(), names };
        call(&row_function(&layout), std::iter::once(is_there).chain(self.visible().map(ScopeColumn::expr)).collect())
    }
}

impl Resolver<'_> {
    /// The row of a table by its alias; `None` when there is no such table.
    ///
    /// # Errors
    /// 0A000 for a table whose columns only planning can tell.
    pub(super) fn whole_row(&self, alias: &str) -> SqlResult<Option<Found>> {
        for (levels_out, scope) in self.scopes.iter().rev().enumerate() {
            let Some(source) = scope.source(alias) else { continue };
            check_known(source)?;
            return Ok(Some(Found { levels_out, expr: source.whole_row() }));
        }
        Ok(None)
    }

    /// `(table).column` is `table.column`.
    pub(super) fn plain_column(&self, expr: &mut Expr) {
        let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
        let Expr::Nested(inner) = root.as_ref() else { return };
        let Expr::Identifier(table) = inner.as_ref() else { return };
        let Some(AccessExpr::Dot(Expr::Identifier(_))) = access_chain.first() else { return };
        let is_column = self.scopes.iter().any(|scope| !matches!(scope.find(table), Ok(None)));
        if is_column || !self.scopes.iter().any(|scope| scope.source(&fold(table)).is_some()) {
            return;
        }
        let table = table.clone();
        if let AccessExpr::Dot(Expr::Identifier(field)) = access_chain.remove(0) {
            let plain = Expr::CompoundIdentifier(vec![table, field]);
            match access_chain.is_empty() {
                true => *expr = plain,
                false => **root = plain,
            }
        }
    }

    /// Puts the columns of the tables in the place of `ROW(t.*)` and `ROW(*)`.
    pub(super) fn spell_out(&self, row: &mut Function) -> SqlResult<()> {
        let FunctionArguments::List(list) = &mut row.args else { return Ok(()) };
        let mut spelled_out = Vec::with_capacity(list.args.len());
        for argument in std::mem::take(&mut list.args) {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                    let alias = table_of(&name);
                    let source = self.scopes.iter().rev().find_map(|scope| scope.source(&alias));
                    let source = source.ok_or_else(|| self.missing_table(&alias))?;
                    check_known(source)?;
                    spelled_out.extend(source.visible().map(ScopeColumn::expr).map(unnamed));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {
                    let Some(scope) = self.scopes.last() else { continue };
                    scope.sources().try_for_each(check_known)?;
                    let columns = scope.items.iter().flat_map(|item| &item.columns).filter(|column| !column.hidden);
                    spelled_out.extend(columns.map(ScopeColumn::expr).map(unnamed));
                }
                other => spelled_out.push(other),
            }
        }
        list.args = spelled_out;
        Ok(())
    }
}

fn unnamed(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

fn check_known(source: &Source) -> SqlResult<()> {
    match source.is_complete {
        true => Ok(()),
        false => Err(SqlError::not_supported(format!("the whole row \"{}\" as a value", source.alias))
            .with_hint("Name its columns.")),
    }
}

/// `(row).field` as a call, before what stands behind the point is taken for a column.
pub(super) fn take_fields(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
    if !access_chain.iter().any(|access| matches!(access, AccessExpr::Dot(Expr::Identifier(_)))) {
        return;
    }
    let mut made = syntax::take(root);
    for access in std::mem::take(access_chain) {
        made = match (access, made) {
            (AccessExpr::Dot(Expr::Identifier(field)), row) => call(&field_function(&fold(&field)), vec![row]),
            (access, Expr::CompoundFieldAccess { root, mut access_chain }) => {
                access_chain.push(access);
                Expr::CompoundFieldAccess { root, access_chain }
            }
            (access, root) => Expr::CompoundFieldAccess { root: Box::new(root), access_chain: vec![access] },
        };
    }
    *expr = made;
}

/// The table whose columns `t.*` and `(t).*` show; `None` for those of an expression.
pub(super) fn wildcard_table(item: &SelectItem) -> Option<String> {
    let SelectItem::QualifiedWildcard(kind, _) = item else { return None };
    match kind {
        SelectItemQualifiedWildcardKind::ObjectName(name) => Some(table_of(name)),
        SelectItemQualifiedWildcardKind::Expr(expr) => {
            let mut expr = expr;
            while let Expr::Nested(inner) = expr {
                expr = inner;
            }
            match expr {
                Expr::Identifier(table) => Some(fold(table)),
                _ => None,
            }
        }
    }
}

/// The table that a name before `.*` means.
pub(super) fn table_of(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

/// Gives the tables whose rows may be missing, and are asked for, their [`MARKER`].
pub(super) fn mark_rows(from: &mut [TableWithJoins], scope: &Scope) {
    for source in scope.sources().filter(|source| source.row.is_marked.get()) {
        from.iter_mut().any(|table| mark_in(table, source));
    }
}

fn mark_in(table: &mut TableWithJoins, source: &Source) -> bool {
    let joined = table.joins.iter_mut().map(|join| &mut join.relation);
    std::iter::once(&mut table.relation).chain(joined).any(|factor| mark(factor, source))
}

fn mark(factor: &mut TableFactor, source: &Source) -> bool {
    let (alias, is_lateral) = match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => return mark_in(table_with_joins, source),
        TableFactor::Table { alias, .. } | TableFactor::UNNEST { alias, .. } => (alias, false),
        TableFactor::Derived { alias, lateral, .. } | TableFactor::Function { alias, lateral, .. } => (alias, *lateral),
        _ => return false,
    };
    if alias.as_ref().is_none_or(|alias| alias.name.value != source.alias) {
        return false;
    }
    let columns = source.columns.iter().filter_map(|c| match &c.place {
        Place::Column { table, column: name } => Some(item(column(table, name), name)),
        Place::Merged(_) => None,
    });
    let items = columns.chain([item(boolean(true), MARKER)]).collect();
    let none = syntax::derived(query_of(select(Vec::new(), Vec::new(), None)), "");
    let table = std::mem::replace(factor, none);
    *factor = syntax::derived(query_of(select(items, vec![syntax::from(table)], None)), &source.alias);
    if let TableFactor::Derived { lateral, .. } = factor {
        *lateral = is_lateral;
    }
    true
}
