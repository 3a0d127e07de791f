//! FROM: tables, sub-queries, functions and joins, each with the columns that may be named.

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, Spanned, TableAlias, TableAliasColumnDef,
    TableFactor, TableWithJoins,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::expr::Clause;
use super::query::name_columns;
use super::scope::{Item, Place, Scope, ScopeColumn, Source};
use super::whole_row::WholeRow;
use super::{Columns, Output, Resolver, quoted, records};
use crate::plan::numbered::own_name;
use crate::plan::tables::{TableEntry, ViewQuery, dotted_name};
use crate::syntax::{AtSpan, fold, unique_names};
use crate::{functions, syntax};

impl Resolver<'_> {
    /// Resolves a FROM list; gives what it brings into sight.
    pub(super) fn from(&mut self, from: &mut [TableWithJoins]) -> SqlResult<Scope> {
        let mut scope = Scope::default();
        for table in from {
            let item = self.table_with_joins(table, &scope.items)?;
            scope.items.push(item);
            check_aliases(&scope)?;
        }
        Ok(scope)
    }

    /// A table and what is joined to it; `before` is what stands before it in the list.
    fn table_with_joins(&mut self, table: &mut TableWithJoins, before: &[Item]) -> SqlResult<Item> {
        let mut item = self.table_factor(&mut table.relation, before)?;
        for join in &mut table.joins {
            let mut in_sight = before.to_vec();
            in_sight.push(item.clone());
            let right = self.table_factor(&mut join.relation, &in_sight)?;
            item = self.join(item, right, &mut join.join_operator, before)?;
        }
        Ok(item)
    }

    fn table_factor(&mut self, factor: &mut TableFactor, before: &[Item]) -> SqlResult<Item> {
        self.count_relation()?;
        match factor {
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                Err(SqlError::not_supported("TABLESAMPLE"))
            }
            TableFactor::Table { name, args: None, .. } if self.view(name).is_some() => self.view_in_from(factor),
            TableFactor::Table { name, alias, args: None, .. } => {
                let (source, renamed) = self.table(name, alias)?;
                Ok(Item::of(if renamed { rename_columns(factor, source) } else { source }))
            }
            TableFactor::Function { .. } | TableFactor::UNNEST { .. } => match records::defined(factor)? {
                Some(mut derived) => {
                    let item = self.table_factor(&mut derived, before);
                    *factor = derived;
                    item
                }
                None => self.function(factor, before),
            },
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let scope = match *lateral {
                    true => Scope { items: before.to_vec(), ..Scope::default() },
                    false => unreachable(before),
                };
                let (_, columns) = self.within(scope, |r| r.query(subquery))?;
                let Some(alias) = alias else {
                    return Err(SqlError::new(ErrorKind::Syntax, "subquery in FROM must have an alias")
                        .with_hint("For example, FROM (SELECT ...) [AS] foo."));
                };
                aliased(alias, columns).map(Item::of)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let item = self.table_with_joins(table_with_joins, before)?;
                match alias.take() {
                    None => Ok(item),
                    Some(alias) => joined_as(factor, alias, &item).map(Item::of),
                }
            }
            other => Err(SqlError::not_supported(format!("{other} in FROM"))),
        }
    }

    fn function(&mut self, factor: &mut TableFactor, before: &[Item]) -> SqlResult<Item> {
        let columns = functions::column_names(factor).unwrap_or_default();
        match factor {
            TableFactor::Function { name, args, alias, .. } => {
                self.arguments(args.iter_mut().filter_map(argument), before)?;
                function_source(alias, &last_part(name), columns).map(Item::of)
            }
            TableFactor::UNNEST { array_exprs, alias, .. } => {
                self.arguments(array_exprs.iter_mut(), before)?;
                function_source(alias, "unnest", columns).map(Item::of)
            }
            other => Err(SqlError::not_supported(format!("{other} in FROM"))),
        }
    }

    fn arguments<'e>(&mut self, exprs: impl Iterator<Item = &'e mut Expr>, before: &[Item]) -> SqlResult<()> {
        for expr in exprs {
            let scope = Scope { items: before.to_vec(), ..Scope::default() };
            self.within(scope, |r| r.expr(expr, Clause::From))?;
        }
        Ok(())
    }

    /// A table or a common table expression; also whether its alias renames columns of a table.
    fn table(&mut self, name: &mut ObjectName, alias: &mut Option<TableAlias>) -> SqlResult<(Source, bool)> {
        let own_name = own_name(name);
        let alias = alias.get_or_insert_with(|| syntax::table_alias(&own_name));
        alias.name = quoted(&fold(&alias.name));
        let hides_name = alias.name.value != own_name;
        if let Some(columns) = self.cte(name) {
            let within = self.within_ctes.get(&own_name).copied().unwrap_or_default();
            self.count_relations(within)?;
            *name = ObjectName(vec![ObjectNamePart::Identifier(quoted(&own_name))]);
            let source = aliased(alias, columns)?;
            return Ok((Source { table: hides_name.then_some(own_name), ..source }, false));
        }
        let Some(entry) = self.tables.get(name) else {
            let message = format!("relation \"{}\" does not exist", dotted_name(name));
            return Err(SqlError::new(ErrorKind::UndefinedTable, message).at_span(name.span()));
        };
        *name = ObjectName(vec![ObjectNamePart::Identifier(quoted(&entry.key))]);
        let mut source = table_source(&alias.name.value, entry);
        let given: Vec<String> = alias.columns.drain(..).map(|c| fold(&c.name)).collect();
        if given.len() > entry.visible.len() {
            let message = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                alias.name.value,
                entry.visible.len(),
                given.len()
            );
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
        }
        let renamed = !given.is_empty();
        for (column, name) in source.columns.iter_mut().zip(given) {
            column.name = name;
        }
        source.table = hides_name.then_some(own_name);
        Ok((source, renamed))
    }

    fn view(&self, name: &ObjectName) -> Option<ViewQuery> {
        if self.cte(name).is_some() { None } else { self.tables.get(name)?.view.clone() }
    }

    /// A view: its query as a sub-query that sees nothing of the query around it.
    fn view_in_from(&mut self, factor: &mut TableFactor) -> SqlResult<Item> {
        let TableFactor::Table { name, alias, .. } = factor else { return Ok(Item::default()) };
        let Some(ViewQuery { view, query }) = self.view(name) else { return Ok(Item::default()) };
        let own_name = last_part(name);
        let mut alias = alias.take().unwrap_or_else(|| syntax::table_alias(&own_name));
        let given = alias.columns.len();
        let own = view.columns.iter().skip(given);
        alias.columns.extend(own.map(|c| TableAliasColumnDef { name: quoted(&c.name), data_type: None }));
        let mut subquery = query.as_ref().clone();
        let (scopes, ctes) = (std::mem::take(&mut self.scopes), std::mem::take(&mut self.ctes));
        let resolved = self.query(&mut subquery);
        (self.scopes, self.ctes) = (scopes, ctes);
        let source = aliased(&mut alias, resolved?)?;
        let hides_name = alias.name.value != own_name;
        *factor =
            TableFactor::Derived { lateral: false, subquery: Box::new(subquery), alias: Some(alias), sample: None };
        Ok(Item::of(Source { table: hides_name.then_some(own_name), ..source }))
    }

    fn cte(&self, name: &ObjectName) -> Option<Columns> {
        let [part] = name.0.as_slice() else { return None };
        let name = fold(part.as_ident()?);
        self.ctes
            .iter()
            .rev()
            .flat_map(|frame| frame.iter().rev())
            .find(|(cte, _)| *cte == name)
            .map(|(_, c)| c.clone())
    }
}

/// What stands before in the list, where it must not be named.
pub(super) fn unreachable(before: &[Item]) -> Scope {
    let unreachable = before.iter().flat_map(|item| &item.sources).map(|source| source.alias.clone()).collect();
    Scope { unreachable, ..Scope::default() }
}

fn last_part(name: &ObjectName) -> String {
    name.0.last().and_then(|p| p.as_ident()).map(fold).unwrap_or_default()
}

fn argument(argument: &mut FunctionArg) -> Option<&mut Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } => Some(expr),
        _ => None,
    }
}

fn table_source(alias: &str, entry: &TableEntry) -> Source {
    let column = |name: &String, hidden| ScopeColumn {
        name: name.clone(),
        hidden,
        place: Place::Column { table: alias.to_owned(), column: name.clone() },
    };
    let visible = entry.visible.iter().map(|name| column(name, false));
    let hidden = entry.hidden.iter().map(|name| column(name, true));
    let key = entry.relation.iter().flat_map(|r| r.key_columns().into_iter().map(|i| r.columns[i].name.clone()));
    Source {
        alias: alias.to_owned(),
        table: None,
        columns: visible.chain(hidden).collect(),
        is_complete: true,
        is_function: false,
        key: key.collect(),
        oid: entry.relation.as_ref().and(entry.oid),
        row: WholeRow::of_table(entry.row_type.as_ref()),
    }
}

/// A sub-query or common table expression behind its alias.
fn aliased(alias: &mut TableAlias, columns: Columns) -> SqlResult<Source> {
    let name = fold(&alias.name);
    let columns = name_columns(alias, columns, &format!("table \"{name}\""))?;
    alias.name = quoted(&name);
    Ok(Source::of_columns(&name, &columns))
}

/// A function in FROM, whose alias may rename its columns.
fn function_source(alias: &mut Option<TableAlias>, function: &str, columns: Vec<String>) -> SqlResult<Source> {
    let alias = alias.get_or_insert_with(|| syntax::table_alias(function));
    let table = fold(&alias.name);
    alias.name = quoted(&table);
    if alias.columns.len() > columns.len() {
        let (has, given) = (columns.len(), alias.columns.len());
        let message = format!("table \"{table}\" has {has} columns available but {given} columns specified");
        return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
    }
    let given = alias.columns.iter().map(|column| fold(&column.name));
    let labels: Vec<String> = given.chain(columns.into_iter().skip(alias.columns.len())).collect();
    let names = unique_names(&labels);
    alias.columns = names.iter().map(|name| TableAliasColumnDef { name: quoted(name), data_type: None }).collect();
    let columns: Arc<[Output]> = labels.into_iter().zip(names).map(|(label, name)| Output { label, name }).collect();
    Ok(Source { is_function: true, ..Source::of_columns(&table, &Some(columns)) })
}

/// `table AS alias (a, b)`: a sub-query that gives the columns their new names; the planner wants all or none.
fn rename_columns(factor: &mut TableFactor, mut source: Source) -> Source {
    let items = source.columns.iter().map(|c| syntax::item(c.expr(), &c.name)).collect();
    let table = std::mem::replace(factor, syntax::derived(syntax::query_of(syntax::select(vec![], vec![], None)), ""));
    let select = syntax::select(items, vec![syntax::from(table)], None);
    *factor = syntax::derived(syntax::query_of(select), &source.alias);
    for column in &mut source.columns {
        column.place = Place::Column { table: source.alias.clone(), column: column.name.clone() };
    }
    source
}

/// `(a JOIN b ON ...) AS alias`: one table, with the columns of both.
fn joined_as(factor: &mut TableFactor, mut alias: TableAlias, item: &Item) -> SqlResult<Source> {
    let shown: Vec<&ScopeColumn> = item.columns.iter().filter(|c| !c.hidden).collect();
    let labels: Vec<String> = shown.iter().map(|c| c.name.clone()).collect();
    let names = unique_names(&labels);
    let items = shown.iter().zip(&names).map(|(c, name)| syntax::item(c.expr(), name)).collect();
    let outputs = labels.into_iter().zip(names).map(|(label, name)| Output { label, name }).collect();
    let source = aliased(&mut alias, Some(outputs))?;
    let joined = std::mem::replace(factor, syntax::derived(syntax::query_of(syntax::select(vec![], vec![], None)), ""));
    let select = syntax::select(items, vec![syntax::from(joined)], None);
    *factor = syntax::derived(syntax::query_of(select), &source.alias);
    if let TableFactor::Derived { alias: own, .. } = factor {
        *own = Some(alias);
    }
    Ok(source)
}

fn check_aliases(scope: &Scope) -> SqlResult<()> {
    let mut known = HashSet::new();
    match scope.aliases().find(|alias| !known.insert(*alias)) {
        None => Ok(()),
        Some(alias) => {
            let message = format!("table name \"{alias}\" specified more than once");
            Err(SqlError::new(ErrorKind::DuplicateAlias, message))
        }
    }
}
