//! Gives every identifier of a query its stored spelling.
//!
//! Unquoted identifiers fold to lower case, as in PostgreSQL; property names are usually CamelCase. So an unquoted
//! column without an exact match means the one column that equals it ignoring case; two candidates are an error. The
//! walk keeps a stack of scopes, because a sub-query sees its own tables first and then those around it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use super::labels::{label_of, label_projection};
use super::tables::{Tables, dotted_name};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::functions;
use crate::sql::statement::fold;

/// Rewrites the query in place: canonical table keys with an alias, stored spelling of columns, PostgreSQL's labels,
/// and `*` spelled out when hidden columns are in play.
///
/// # Errors
/// 42P01 for an unknown table or alias, 42702 for a column name that fits several columns.
pub(super) fn resolve(query: &mut Query, tables: &Tables, expand_wildcards: bool) -> SqlResult<()> {
    let mut resolver = Resolver { tables, expand_wildcards, scopes: Vec::new(), ctes: Vec::new() };
    match query.visit(&mut resolver) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The stored spelling of the column an identifier means.
///
/// # Errors
/// 42702 when several columns differ only in case and none is exact.
pub(crate) fn resolve_column<'a>(
    columns: impl Iterator<Item = &'a String> + Clone,
    ident: &Ident,
) -> SqlResult<Option<&'a str>> {
    let folded = fold(ident);
    if let Some(exact) = columns.clone().find(|c| **c == folded) {
        return Ok(Some(exact));
    }
    if ident.quote_style.is_some() {
        return Ok(None);
    }
    let mut candidates: Vec<&str> = columns.filter(|c| c.to_lowercase() == folded).map(String::as_str).collect();
    candidates.sort_unstable();
    candidates.dedup();
    match candidates.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let error =
                SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{folded}\" is ambiguous"));
            Err(error.with_hint(format!("Quote the name to say which one is meant: \"{}\".", several.join("\", \""))))
        }
    }
}

/// The labels of a query's columns as written; empty where they cannot be told without planning.
pub(super) fn output_labels(query: &Query) -> Vec<String> {
    match leftmost_select(&query.body) {
        Some(select) => select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) => Some(label_of(expr).unwrap_or_else(|| "?column?".to_owned())),
                SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                _ => None,
            })
            .collect(),
        None => Vec::new(),
    }
}

fn leftmost_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => leftmost_select(&query.body),
        SetExpr::SetOperation { left, .. } => leftmost_select(left),
        _ => None,
    }
}

/// One table of a FROM clause.
#[derive(Clone)]
struct Source {
    alias: String,
    /// What `*` shows.
    visible: Vec<String>,
    hidden: Vec<String>,
    /// A function or the like: its columns are not known before it is planned.
    is_open: bool,
    /// A function: with one column, its name means that column.
    is_function: bool,
}

impl Source {
    fn columns(&self) -> impl Iterator<Item = &String> + Clone {
        self.visible.iter().chain(&self.hidden)
    }

    /// Whether a sub-query shows two columns of a name, so that the name alone means neither.
    fn has_twice(&self, column: &str) -> bool {
        self.visible.iter().filter(|visible| *visible == column).nth(1).is_some()
    }
}

type Scope = Vec<Source>;

struct Resolver<'a> {
    tables: &'a Tables,
    expand_wildcards: bool,
    scopes: Vec<Scope>,
    /// Common table expressions in sight, with their columns, one frame per query.
    ctes: Vec<Vec<(String, Vec<String>)>>,
}

impl VisitorMut for Resolver<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.ctes.push(Vec::new());
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = self.query_columns(&cte.query);
            let columns = aliased_columns(columns, Some(&cte.alias));
            if let Some(frame) = self.ctes.last_mut() {
                frame.push((fold(&cte.alias.name), columns));
            }
        }
        let scope = leftmost_select(&query.body).map(|select| self.scope_of(&select.from)).unwrap_or_default();
        keep_order_by_labels(query);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        self.ctes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let scope = self.scope_of(&select.from);
        if self.expand_wildcards {
            expand_wildcards(&mut select.projection, &scope);
        }
        label_projection(&mut select.projection);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return ControlFlow::Continue(()) };
        if self.cte(name).is_some() {
            return ControlFlow::Continue(());
        }
        let Some(entry) = self.tables.get(name) else {
            let shown = dotted_name(name);
            return ControlFlow::Break(SqlError::new(
                ErrorKind::UndefinedTable,
                format!("relation \"{shown}\" does not exist"),
            ));
        };
        if alias.is_none() {
            let last = name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
            let ident = Ident::with_quote('"', last);
            *alias = Some(TableAlias { explicit: true, name: ident, columns: Vec::new(), at: None });
        }
        *name = ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', entry.key.clone()))]);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let resolved = match expr {
            Expr::Identifier(ident) => self.resolve_bare(ident),
            Expr::CompoundIdentifier(parts) => self.resolve_qualified(parts),
            _ => Ok(()),
        };
        match resolved {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Resolver<'_> {
    fn cte(&self, name: &ObjectName) -> Option<&Vec<String>> {
        let [part] = name.0.as_slice() else { return None };
        let name = fold(part.as_ident()?);
        self.ctes.iter().rev().flatten().find(|(cte, _)| *cte == name).map(|(_, columns)| columns)
    }

    fn scope_of(&self, from: &[TableWithJoins]) -> Scope {
        let factors = from.iter().flat_map(|t| std::iter::once(&t.relation).chain(t.joins.iter().map(|j| &j.relation)));
        let mut scope = Scope::new();
        factors.for_each(|factor| self.add_sources(factor, &mut scope));
        scope
    }

    fn add_sources(&self, factor: &TableFactor, scope: &mut Scope) {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let own_name = name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
                let (visible, hidden) = match (self.cte(name), self.tables.get(name)) {
                    (Some(columns), _) => (columns.clone(), Vec::new()),
                    (None, Some(entry)) => (entry.visible.clone(), entry.hidden.clone()),
                    (None, None) => return,
                };
                let visible = aliased_columns(visible, alias.as_ref());
                let alias = alias.as_ref().map_or(own_name, |a| fold(&a.name));
                scope.push(Source { alias, visible, hidden, is_open: false, is_function: false });
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let visible = aliased_columns(self.query_columns(subquery), alias.as_ref());
                let alias = alias.as_ref().map(|a| fold(&a.name)).unwrap_or_default();
                scope.push(Source { alias, visible, hidden: Vec::new(), is_open: false, is_function: false });
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                scope.extend(self.scope_of(std::slice::from_ref(table_with_joins)));
            }
            TableFactor::Function { name, alias, .. } => {
                let own_name = name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default();
                scope.push(function_source(factor, alias.as_ref(), own_name));
            }
            TableFactor::UNNEST { alias, .. } => {
                scope.push(function_source(factor, alias.as_ref(), "unnest".to_owned()));
            }
            _ => scope.push(Source {
                alias: String::new(),
                visible: Vec::new(),
                hidden: Vec::new(),
                is_open: true,
                is_function: false,
            }),
        }
    }

    /// The columns a sub-query shows, wildcards spelled out as far as its tables are known.
    fn query_columns(&self, query: &Query) -> Vec<String> {
        let Some(select) = leftmost_select(&query.body) else { return Vec::new() };
        let scope = self.scope_of(&select.from);
        let mut columns = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => columns.push(self.stored_label(expr, &scope)),
                SelectItem::ExprWithAlias { alias, .. } => columns.push(fold(alias)),
                SelectItem::Wildcard(_) => columns.extend(scope.iter().flat_map(|s| s.visible.clone())),
                SelectItem::QualifiedWildcard(kind, _) => columns.extend(wildcard_columns(kind, &scope)),
                SelectItem::ExprWithAliases { .. } => {}
            }
        }
        columns
    }

    fn stored_label(&self, expr: &Expr, scope: &Scope) -> String {
        let ident = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        let columns = scope.iter().flat_map(Source::columns);
        match ident.map(|ident| resolve_column(columns, ident)) {
            Some(Ok(Some(stored))) => stored.to_owned(),
            _ => label_of(expr).unwrap_or_else(|| "?column?".to_owned()),
        }
    }

    fn resolve_bare(&self, ident: &mut Ident) -> SqlResult<()> {
        if ident.quote_style.is_some() {
            return Ok(());
        }
        for scope in self.scopes.iter().rev() {
            if let Some(stored) = resolve_column(scope.iter().flat_map(Source::columns), ident)? {
                if scope.iter().any(|source| source.has_twice(stored)) {
                    return Err(ambiguous(stored));
                }
                *ident = spelled(ident, stored);
                return Ok(());
            }
            if let Some(source) = scope.iter().find(|source| !source.is_open && source.alias == fold(ident)) {
                if let ([column], true) = (source.visible.as_slice(), source.is_function) {
                    *ident = spelled(ident, column);
                    return Ok(());
                }
                return Err(SqlError::not_supported(format!("the whole row of \"{}\" as a value", fold(ident)))
                    .with_hint("Name its columns, or select them with *."));
            }
        }
        Ok(())
    }

    fn resolve_qualified(&self, parts: &mut Vec<Ident>) -> SqlResult<()> {
        // `schema.table.column`: tables are known by their last part.
        while parts.len() > 2 {
            parts.remove(0);
        }
        let [table, column] = parts.as_mut_slice() else { return Ok(()) };
        let alias = fold(table);
        for scope in self.scopes.iter().rev() {
            let Some(source) = scope.iter().find(|s| s.alias == alias) else { continue };
            if let Some(stored) = resolve_column(source.columns(), column)? {
                if source.has_twice(stored) {
                    return Err(ambiguous(stored));
                }
                *column = spelled(column, stored);
            }
            return Ok(());
        }
        if self.scopes.iter().flatten().any(|source| source.is_open) {
            return Ok(());
        }
        let message = format!("missing FROM-clause entry for table \"{alias}\"");
        Err(SqlError::new(ErrorKind::UndefinedTable, message))
    }
}

fn ambiguous(column: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::AmbiguousColumn, format!("column reference \"{column}\" is ambiguous"))
}

/// A function in FROM.
fn function_source(factor: &TableFactor, alias: Option<&TableAlias>, own_name: String) -> Source {
    Source {
        alias: alias.map_or(own_name, |alias| fold(&alias.name)),
        visible: aliased_columns(functions::column_names(factor).unwrap_or_default(), alias),
        hidden: Vec::new(),
        is_open: false,
        is_function: true,
    }
}

fn spelled(ident: &Ident, stored: &str) -> Ident {
    Ident { value: stored.to_owned(), quote_style: Some('"'), span: ident.span }
}

/// `AS t (a, b)` renames the first columns.
fn aliased_columns(mut columns: Vec<String>, alias: Option<&TableAlias>) -> Vec<String> {
    let renamed: Vec<String> = alias.iter().flat_map(|a| &a.columns).map(|c| fold(&c.name)).collect();
    let shared = renamed.len().min(columns.len());
    columns.splice(..shared, renamed);
    columns
}

/// A bare name in ORDER BY means a label of the select list before it means a column: quoting it keeps it so.
fn keep_order_by_labels(query: &mut Query) {
    let labels = output_labels(query);
    let Some(OrderByKind::Expressions(items)) = query.order_by.as_mut().map(|o| &mut o.kind) else { return };
    for item in items {
        if let Expr::Identifier(ident) = &mut item.expr
            && ident.quote_style.is_none()
            && labels.contains(&fold(ident))
            && !is_plain_column(&query.body, &fold(ident))
        {
            *ident = Ident { value: fold(ident), quote_style: Some('"'), span: ident.span };
        }
    }
}

/// Whether the select list has this name as a plain column: its label will be the stored spelling.
fn is_plain_column(body: &SetExpr, name: &str) -> bool {
    leftmost_select(body).is_some_and(|select| {
        select.projection.iter().any(|item| {
            matches!(item, SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
                if label_of(expr).as_deref() == Some(name))
        })
    })
}

fn wildcard_columns(kind: &SelectItemQualifiedWildcardKind, scope: &Scope) -> Vec<String> {
    qualified_source(kind, scope).map(|s| s.visible.clone()).unwrap_or_default()
}

fn qualified_source<'s>(kind: &SelectItemQualifiedWildcardKind, scope: &'s Scope) -> Option<&'s Source> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else { return None };
    let alias = name.0.last()?.as_ident().map(fold)?;
    scope.iter().find(|s| s.alias == alias)
}

/// Spells out `*` and `t.*`, so that hidden columns stay out of them.
fn expand_wildcards(projection: &mut Vec<SelectItem>, scope: &Scope) {
    let item = |source: &Source, column: &String| {
        let parts = vec![Ident::with_quote('"', source.alias.clone()), Ident::with_quote('"', column.clone())];
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
    };
    let expanded = std::mem::take(projection).into_iter().flat_map(|selected| match &selected {
        SelectItem::Wildcard(_) if scope.iter().all(|s| !s.visible.is_empty()) && !scope.is_empty() => {
            scope.iter().flat_map(|s| s.visible.iter().map(move |c| item(s, c))).collect()
        }
        SelectItem::QualifiedWildcard(kind, _) => match qualified_source(kind, scope) {
            Some(source) => source.visible.iter().map(|c| item(source, c)).collect(),
            None => vec![selected],
        },
        _ => vec![selected],
    });
    *projection = expanded.collect();
}
