//! SELECT: its clauses in the order in which PostgreSQL looks at them.

use std::sync::Arc;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    NamedWindowExpr, OrderByExpr, Select, SelectItem,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::expr::Clause;
use super::order::{SelectList, apart, check_distinct_order};
use super::scope::{Scope, ScopeColumn};
use super::{Columns, Output, Resolver, grouping, whole_row, windows};
use crate::syntax;
use crate::syntax::{fold, label_of, unique_names};

/// An item of a select list.
enum Listed {
    Expr {
        expr: Expr,
        label: String,
    },
    /// Of a wildcard that is spelled out: there is nothing left to look up.
    Column {
        expr: Expr,
        label: String,
    },
    /// A wildcard over a table whose columns only planning can tell.
    Wildcard(Box<SelectItem>),
}

impl Resolver<'_> {
    /// Resolves a select and the ORDER BY that belongs to it.
    pub(super) fn select(&mut self, select: &mut Select, order: &mut Vec<OrderByExpr>) -> SqlResult<Columns> {
        refuse_other_dialects(select)?;
        let scope = self.from(&mut select.from)?;
        let (scope, columns) = self.within(scope, |r| r.select_within(select, order))?;
        whole_row::mark_rows(&mut select.from, &scope);
        Ok(columns)
    }

    fn select_within(&mut self, select: &mut Select, order: &mut Vec<OrderByExpr>) -> SqlResult<Columns> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.windows = windows::defined(&mut select.named_window)?;
        }
        if let Some(condition) = &mut select.selection {
            self.expr(condition, Clause::Where)?;
        }
        let mut items = self.expanded(std::mem::take(&mut select.projection))?;
        let mut aggregates = false;
        for item in &mut items {
            if let Listed::Expr { expr, .. } = item {
                aggregates |= self.expr(expr, Clause::SelectList)?.aggregate;
            }
        }
        let outputs = outputs(&items);
        let exprs: Vec<Expr> = items
            .iter()
            .filter_map(|item| match item {
                Listed::Expr { expr, .. } | Listed::Column { expr, .. } => Some(expr.clone()),
                Listed::Wildcard(_) => None,
            })
            .collect();
        let is_known = exprs.len() == items.len();
        let list = SelectList { exprs: &exprs, outputs: &outputs, is_known };
        let groups = self.group_by(&mut select.group_by, &list)?;
        if let Some(having) = &mut select.having {
            aggregates |= self.expr(having, Clause::Having)?.aggregate;
        }
        self.windows(select)?;
        match &mut select.distinct {
            Some(Distinct::On(on)) => self.distinct_on(on, order, &list)?,
            distinct => {
                aggregates |= self.order_by(order, &list)?;
                if matches!(distinct, Some(Distinct::Distinct)) && is_known {
                    check_distinct_order(order)?;
                }
            }
        }
        let is_grouped = !groups.is_empty() || aggregates || select.having.is_some() || groups_all(&select.group_by);
        if is_grouped && is_known {
            let ordered = order.iter().map(|item| &item.expr);
            let refused = self.check_grouping(select, exprs.iter().chain(ordered), &groups);
            if groups.is_empty() && refused.is_none() {
                one_group(select, aggregates);
            }
            self.refused = self.refused.take().or(refused);
        }
        let outputs = if is_known { apart(&list, order) } else { outputs };
        if let Some(scope) = self.scopes.last() {
            select.projection = named(items, &outputs, is_known, scope);
        }
        Ok(is_known.then_some(outputs))
    }

    fn check_grouping<'e>(
        &self,
        select: &mut Select,
        exprs: impl Iterator<Item = &'e Expr>,
        groups: &[Expr],
    ) -> Option<Box<SqlError>> {
        let scope = self.scopes.last()?;
        let mut check = grouping::Check::new(self, scope, groups);
        for expr in exprs {
            check.expr(expr);
        }
        if let Some(having) = &select.having {
            check.expr(having);
        }
        let (also, refused) = check.finish();
        if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
            by.extend(also);
        }
        refused
    }

    /// The select list with its wildcards spelled out, each column with its label.
    fn expanded(&self, items: Vec<SelectItem>) -> SqlResult<Vec<Listed>> {
        let mut listed = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let label = match self.stored_name(&expr)? {
                        Some(stored) => stored,
                        None => label_of(&expr).unwrap_or_else(|| "?column?".to_owned()),
                    };
                    listed.push(Listed::Expr { expr, label });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    listed.push(Listed::Expr { expr, label: fold(&alias) });
                }
                SelectItem::Wildcard(options) => {
                    check_plain_wildcard(&options.to_string())?;
                    self.all_columns(SelectItem::Wildcard(options), &mut listed)?;
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    check_plain_wildcard(&options.to_string())?;
                    self.columns_of(SelectItem::QualifiedWildcard(kind, options), &mut listed)?;
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(SqlError::new(ErrorKind::Syntax, "syntax error in the select list"));
                }
            }
        }
        Ok(listed)
    }

    /// The stored spelling of a plain column, which is its label.
    fn stored_name(&self, expr: &Expr) -> SqlResult<Option<String>> {
        let Some(scope) = self.scopes.last() else { return Ok(None) };
        let found = match expr {
            Expr::Identifier(ident) => scope.find(ident)?,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., table, column] => match scope.source(&fold(table)) {
                    Some(source) => super::scope::find(source.columns.iter(), column)?,
                    None => None,
                },
                _ => None,
            },
            Expr::Nested(inner) => return self.stored_name(inner),
            _ => None,
        };
        Ok(found.map(|column| column.name.clone()))
    }

    fn all_columns(&self, wildcard: SelectItem, listed: &mut Vec<Listed>) -> SqlResult<()> {
        let Some(scope) = self.scopes.last() else { return Ok(()) };
        if scope.items.is_empty() {
            return Err(SqlError::new(ErrorKind::Syntax, "SELECT * with no tables specified is not valid"));
        }
        if !scope.is_complete() {
            listed.push(Listed::Wildcard(Box::new(wildcard)));
            return Ok(());
        }
        listed.extend(scope.items.iter().flat_map(|item| &item.columns).filter(|c| !c.hidden).map(listed_column));
        Ok(())
    }

    fn columns_of(&self, wildcard: SelectItem, listed: &mut Vec<Listed>) -> SqlResult<()> {
        let Some(alias) = whole_row::wildcard_table(&wildcard) else {
            return Err(
                SqlError::not_supported("the fields of an expression as .*").with_hint("Name each: (row).field.")
            );
        };
        let source = self.scopes.iter().rev().find_map(|scope| scope.source(&alias));
        match source {
            None => Err(self.missing_table(&alias)),
            Some(source) if !source.is_complete => {
                listed.push(Listed::Wildcard(Box::new(wildcard)));
                Ok(())
            }
            Some(source) => {
                listed.extend(source.columns.iter().filter(|c| !c.hidden).map(listed_column));
                Ok(())
            }
        }
    }

    /// Resolves the names in the definitions of WINDOW.
    fn windows(&mut self, select: &mut Select) -> SqlResult<()> {
        for window in &mut select.named_window {
            let NamedWindowExpr::WindowSpec(spec) = &mut window.1 else { continue };
            let order = spec.order_by.iter_mut().map(|item| &mut item.expr);
            for expr in spec.partition_by.iter_mut().chain(order) {
                self.expr(expr, Clause::Window)?;
            }
        }
        Ok(())
    }
}

fn listed_column(column: &ScopeColumn) -> Listed {
    Listed::Column { expr: column.expr(), label: column.name.clone() }
}

fn outputs(items: &[Listed]) -> Arc<[Output]> {
    let labels: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            Listed::Expr { label, .. } | Listed::Column { label, .. } => Some(label.clone()),
            Listed::Wildcard(_) => None,
        })
        .collect();
    let names = unique_names(&labels);
    labels.into_iter().zip(names).map(|(label, name)| Output { label, name }).collect()
}

/// The select list for the planner: each column has a name that no other has.
fn named(items: Vec<Listed>, outputs: &[Output], is_known: bool, scope: &Scope) -> Vec<SelectItem> {
    let mut outputs = outputs.iter();
    let item = |item| match item {
        Listed::Wildcard(wildcard) => *wildcard,
        Listed::Expr { expr, .. } | Listed::Column { expr, .. } => {
            let name = outputs.next().map(|o| o.name.as_str()).unwrap_or_default();
            match &expr {
                // Beside a wildcard that is not spelled out any column may be there twice; one of a query around has
                // another name here.
                Expr::CompoundIdentifier(parts) if let [table, column] = parts.as_slice() => {
                    let is_own = is_known && column.value == name && scope.source(&table.value).is_some();
                    if is_own { SelectItem::UnnamedExpr(expr) } else { syntax::item(expr, name) }
                }
                _ => syntax::item(expr, name),
            }
        }
    };
    items.into_iter().map(item).collect()
}

/// `GROUP BY ()`
fn groups_all(group_by: &GroupByExpr) -> bool {
    matches!(group_by, GroupByExpr::Expressions(by, _) if by.iter().any(|e| matches!(e, Expr::Tuple(t) if t.is_empty())))
}

/// One group of all rows. Where nothing is computed over it, the planner wants an aggregate to see that.
fn one_group(select: &mut Select, aggregates: bool) {
    if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
        by.clear();
    }
    if aggregates {
        return;
    }
    let mut rows = syntax::call("count", Vec::new());
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut rows {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
    }
    let any = syntax::binary(rows, BinaryOperator::GtEq, syntax::number(0));
    select.having = Some(syntax::all(select.having.take().into_iter().chain([any])));
}

fn check_plain_wildcard(options: &str) -> SqlResult<()> {
    match options.split_whitespace().next() {
        None => Ok(()),
        Some(word) => Err(SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{word}\""))),
    }
}

/// Clauses that sqlparser reads and PostgreSQL does not have.
fn refuse_other_dialects(select: &Select) -> SqlResult<()> {
    if select.into.is_some() {
        return Err(SqlError::not_supported("SELECT INTO").with_hint("Create the table, then use INSERT ... SELECT."));
    }
    let near = [
        (select.top.is_some(), "TOP"),
        (select.exclude.is_some(), "EXCLUDE"),
        (!select.lateral_views.is_empty(), "VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT"),
        (!select.cluster_by.is_empty(), "CLUSTER"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE"),
        (!select.sort_by.is_empty(), "SORT"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.value_table_mode.is_some(), "AS"),
        (matches!(select.group_by, GroupByExpr::All(_)), "ALL"),
        (matches!(&select.group_by, GroupByExpr::Expressions(_, with) if !with.is_empty()), "WITH"),
    ];
    match near.iter().find(|(is_there, _)| *is_there) {
        None => Ok(()),
        Some((_, word)) => Err(SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{word}\""))),
    }
}
