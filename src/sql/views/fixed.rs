//! Spells a query out as a view keeps it, and notes what it reads.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, LimitClause, NamedWindowExpr, ObjectName, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, VisitorMut,
};
use tablegate_types::error::{SqlError, SqlResult};

use super::scope::{Found, Scope, qualified};
use crate::catalog::{ViewUse, ident};
use crate::nesting::Nesting;
use crate::plan::Tables;
use crate::syntax::{fold, label_of, walk_mut};

/// A query that can be kept.
pub(crate) struct Fixed {
    pub query: Query,
    pub uses: Vec<ViewUse>,
}

/// A column of a table gets another name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnRenaming<'a> {
    pub relation: u32,
    pub from: &'a str,
    pub to: &'a str,
}

/// Spells a query out over the relations it names. With `renaming`, a query that is spelled out follows the new name of
/// a column; `tables` has the old one.
///
/// # Errors
/// 0A000 for what cannot be kept: a merged column that gets another name, changes of rows.
pub(crate) fn fix(query: &Query, tables: &Tables, renaming: Option<ColumnRenaming<'_>>) -> SqlResult<Fixed> {
    let mut query = query.clone();
    let (scopes, ctes, uses) = Default::default();
    let mut fixer = Fixer { tables, scopes, ctes, uses, renaming };
    fixer.query(&mut query)?;
    let uses = fixer.uses.into_iter().map(|(relation, columns)| ViewUse { relation, columns }).collect();
    Ok(Fixed { query, uses })
}

/// The columns of a query; unknown where only planning can tell.
pub(super) type Names = Option<Vec<String>>;

pub(super) struct Fixer<'a> {
    pub tables: &'a Tables,
    /// Innermost last.
    pub scopes: Vec<Scope>,
    pub ctes: Vec<Vec<(String, Names)>>,
    pub uses: BTreeMap<u32, Vec<String>>,
    pub renaming: Option<ColumnRenaming<'a>>,
}

impl Fixer<'_> {
    pub(super) fn query(&mut self, query: &mut Query) -> SqlResult<Names> {
        self.ctes.push(Vec::new());
        let names = self.query_in_frame(query);
        self.ctes.pop();
        names
    }

    fn query_in_frame(&mut self, query: &mut Query) -> SqlResult<Names> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let name = fold(&cte.alias.name);
            let given: Vec<String> = cte.alias.columns.iter().map(|c| fold(&c.name)).collect();
            // One that reads itself knows its columns by its alias, as far as that names them.
            let known = (!given.is_empty()).then(|| given.clone());
            self.add_cte(&name, known);
            let columns = self.query(&mut cte.query)?;
            if let Some(frame) = self.ctes.last_mut() {
                frame.pop();
            }
            self.add_cte(&name, renamed(columns, &given));
        }
        let order = match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(items)) => items.as_mut_slice(),
            _ => &mut [],
        };
        let names = match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, order)?,
            body => self.set_expr(body)?,
        };
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            for expr in limit.iter_mut().chain(offset.iter_mut().map(|offset| &mut offset.value)) {
                self.expr(expr)?;
            }
        }
        Ok(names)
    }

    fn add_cte(&mut self, name: &str, columns: Names) {
        if let Some(frame) = self.ctes.last_mut() {
            frame.push((name.to_owned(), columns));
        }
    }

    fn set_expr(&mut self, body: &mut SetExpr) -> SqlResult<Names> {
        match body {
            SetExpr::Select(select) => self.select(select, &mut []),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                let names = self.set_expr(left)?;
                self.set_expr(right)?;
                Ok(names)
            }
            SetExpr::Values(values) => {
                for expr in values.rows.iter_mut().flat_map(|row| row.iter_mut()) {
                    self.expr(expr)?;
                }
                let width = values.rows.first().map_or(0, |row| row.len());
                Ok(Some((1..=width).map(|n| format!("column{n}")).collect()))
            }
            _ => Err(SqlError::not_supported("a change of rows in a view")),
        }
    }

    fn select(&mut self, select: &mut Select, order: &mut [OrderByExpr]) -> SqlResult<Names> {
        self.scopes.push(Scope::default());
        let names = self.select_in_scope(select, order);
        self.scopes.pop();
        names
    }

    fn select_in_scope(&mut self, select: &mut Select, order: &mut [OrderByExpr]) -> SqlResult<Names> {
        let mut shown = Some(Vec::new());
        for table in &mut select.from {
            let of_item = self.table_with_joins(table)?;
            shown = shown.zip(of_item).map(|(mut all, more)| {
                all.extend(more);
                all
            });
        }
        if let Some(condition) = &mut select.selection {
            self.expr(condition)?;
        }
        let names = self.projection(select, shown)?;
        let labels: Vec<String> = names.clone().unwrap_or_default();
        if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
            for expr in by {
                self.unless_label(expr, &labels, false)?;
            }
        }
        if let Some(having) = &mut select.having {
            self.expr(having)?;
        }
        for window in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                let order = spec.order_by.iter_mut().map(|item| &mut item.expr);
                for expr in spec.partition_by.iter_mut().chain(order) {
                    self.expr(expr)?;
                }
            }
        }
        if let Some(Distinct::On(on)) = &mut select.distinct {
            for expr in on {
                self.unless_label(expr, &labels, true)?;
            }
        }
        for item in order {
            self.unless_label(&mut item.expr, &labels, true)?;
        }
        Ok(names)
    }

    /// An expression of ORDER BY or GROUP BY: a bare name may be that of an output. ORDER BY looks there first, GROUP BY
    /// where no column has the name.
    fn unless_label(&mut self, expr: &mut Expr, labels: &[String], label_first: bool) -> SqlResult<()> {
        if let Expr::Identifier(name) = expr {
            let is_label = labels.contains(&fold(name));
            let is_column = self.scopes.last().is_some_and(|scope| scope.find(name).is_some());
            if is_label && (label_first || !is_column) {
                return Ok(());
            }
        }
        self.expr(expr)
    }

    /// The select list, with `*` spelled out and a label for what is computed. `shown` is what `*` means.
    fn projection(&mut self, select: &mut Select, shown: Option<Vec<Expr>>) -> SqlResult<Names> {
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => match &shown {
                    Some(columns) => items.extend(columns.iter().cloned().map(SelectItem::UnnamedExpr)),
                    None => items.push(SelectItem::Wildcard(options)),
                },
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    match self.columns_of(&name) {
                        Some(columns) => items.extend(columns.into_iter().map(SelectItem::UnnamedExpr)),
                        None => {
                            let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                            items.push(SelectItem::QualifiedWildcard(kind, options));
                        }
                    }
                }
                other => items.push(other),
            }
        }
        let mut names = Some(Vec::with_capacity(items.len()));
        for item in &mut items {
            let name = self.item(item)?;
            names = names.zip(name).map(|(mut names, name)| {
                names.push(name);
                names
            });
        }
        select.projection = items;
        Ok(names)
    }

    /// Gives an item its label where it would not keep it; `None` for a wildcard.
    fn item(&mut self, item: &mut SelectItem) -> SqlResult<Option<String>> {
        let (mut expr, label) = match item {
            SelectItem::UnnamedExpr(expr) => {
                let stored = self.stored_name(expr);
                let label = stored.or_else(|| label_of(expr)).unwrap_or_else(|| "?column?".to_owned());
                (expr.clone(), label)
            }
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), fold(alias)),
            _ => return Ok(None),
        };
        self.expr(&mut expr)?;
        let keeps_it = match &expr {
            Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|part| fold(part) == label),
            Expr::Identifier(name) => fold(name) == label,
            _ => false,
        };
        *item = match keeps_it {
            true => SelectItem::UnnamedExpr(expr),
            false => SelectItem::ExprWithAlias { expr, alias: ident(&label) },
        };
        Ok(Some(label))
    }

    /// The name that a plain column has where it is stored.
    fn stored_name(&self, expr: &Expr) -> Option<String> {
        let found = match expr {
            Expr::Identifier(name) => self.scopes.iter().rev().find_map(|scope| scope.find(name)),
            Expr::CompoundIdentifier(parts) => self.named(parts),
            Expr::Nested(inner) => return self.stored_name(inner),
            _ => None,
        };
        found.map(|found| found.column.name.clone())
    }

    fn named(&self, parts: &[Ident]) -> Option<Found<'_>> {
        let [.., table, column] = parts else { return None };
        let alias = fold(table);
        let source = self.scopes.iter().rev().find_map(|scope| scope.source(&alias))?;
        Some(Found { source, column: source.find(column)? })
    }

    fn columns_of(&self, name: &ObjectName) -> Option<Vec<Expr>> {
        let alias = fold(name.0.last()?.as_ident()?);
        let source = self.scopes.iter().rev().find_map(|scope| scope.source(&alias))?;
        source.columns.as_ref()?;
        Some(source.visible().map(|column| qualified(&source.alias, &column.name)).collect())
    }

    pub(super) fn expr(&mut self, expr: &mut Expr) -> SqlResult<()> {
        match walk_mut(expr, &mut Columns { fixer: self, nesting: Nesting::default() }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// The name of a column with its relation, and the new one where it gets one.
    fn column(&mut self, parts: &[Ident]) -> Option<Expr> {
        let found = match parts {
            [name] => {
                let scopes = self.scopes.iter().rev();
                // A merged column stays as it is, and hides those of the queries around.
                let scope = scopes.into_iter().find(|s| s.find(name).is_some() || s.is_merged(&fold(name)))?;
                scope.find(name)
            }
            parts => self.named(parts),
        }?;
        let (alias, mut column) = (found.source.alias.clone(), found.column.name.clone());
        let (own, relation) = (found.column.own.clone(), found.source.relation);
        let is_own_name = own == column;
        if let Some(relation) = relation {
            let used = self.uses.entry(relation).or_default();
            let renamed = self.renaming.filter(|r| r.relation == relation && r.from == own);
            let own = renamed.map_or(own, |renaming| renaming.to.to_owned());
            if renamed.is_some() && is_own_name {
                column.clone_from(&own);
            }
            if !used.contains(&own) {
                used.push(own);
            }
        }
        Some(qualified(&alias, &column))
    }
}

/// Names in one expression; sub-queries have their own scopes.
struct Columns<'f, 'a> {
    fixer: &'f mut Fixer<'a>,
    nesting: Nesting,
}

impl VisitorMut for Columns<'_, '_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.nesting.enter(|| self.fixer.query(query).map(|_names| ()))
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.nesting.leave()
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if self.nesting.is_inside() {
            return ControlFlow::Continue(());
        }
        let named = match expr {
            Expr::Identifier(name) => self.fixer.column(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => self.fixer.column(parts),
            _ => None,
        };
        if let Some(column) = named {
            *expr = column;
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn renamed(names: Names, given: &[String]) -> Names {
    match names {
        Some(names) => Some(given.iter().cloned().chain(names.into_iter().skip(given.len())).collect()),
        None => (!given.is_empty()).then(|| given.to_vec()),
    }
}
