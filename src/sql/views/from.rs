//! FROM of a view's query: relations get their schemas, and bring their columns into sight.

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor,
    TableWithJoins,
};
use tablegate_types::error::{SqlError, SqlResult};

use super::fixed::{ColumnRenaming, Fixer, Names, renamed};
use super::scope::{Source, SourceColumn, qualified};
use crate::catalog::ident;
use crate::plan::TableEntry;
use crate::syntax::{fold, name_of_column};

impl Fixer<'_> {
    /// Puts the relations of a FROM item in sight; gives the columns that `*` shows of it.
    pub(super) fn table_with_joins(&mut self, table: &mut TableWithJoins) -> SqlResult<Option<Vec<Expr>>> {
        let mut shown = self.table_factor(&mut table.relation)?;
        for join in &mut table.joins {
            let right = self.table_factor(&mut join.relation)?;
            shown = self.join(shown, right, &mut join.join_operator)?;
        }
        Ok(shown)
    }

    fn join(
        &mut self,
        left: Option<Vec<Expr>>,
        right: Option<Vec<Expr>>,
        operator: &mut JoinOperator,
    ) -> SqlResult<Option<Vec<Expr>>> {
        let both = left.zip(right);
        let merged: Vec<String> = match constraint_of(operator) {
            Some(JoinConstraint::On(condition)) => {
                self.expr(condition)?;
                Vec::new()
            }
            Some(JoinConstraint::Using(names)) => {
                names.iter().filter_map(|name| name.0.last()?.as_ident().map(fold)).collect()
            }
            Some(constraint @ JoinConstraint::Natural) => {
                // Columns that the tables get later must not be joined by.
                let Some((left, right)) = &both else {
                    return Err(SqlError::not_supported("this NATURAL JOIN in a view"));
                };
                let common: Vec<String> = left
                    .iter()
                    .filter_map(name_of_column)
                    .filter(|name| right.iter().any(|r| name_of_column(r) == Some(*name)))
                    .map(str::to_owned)
                    .collect();
                let names = common.iter().map(|name| ObjectName::from(vec![ident(name)])).collect();
                *constraint = if common.is_empty() {
                    JoinConstraint::On(Expr::Value(sqlparser::ast::Value::Boolean(true).into()))
                } else {
                    JoinConstraint::Using(names)
                };
                common
            }
            Some(JoinConstraint::None) | None => Vec::new(),
        };
        if let (Some(renaming), false) = (self.renaming, merged.is_empty()) {
            self.check_not_merged(&merged, renaming)?;
        }
        let Some((left, right)) = both else { return Ok(None) };
        let is_merged =
            |expr: &Expr| name_of_column(expr).is_some_and(|name| merged.iter().any(|m| m.eq_ignore_ascii_case(name)));
        let mut shown: Vec<Expr> = merged.iter().map(|name| Expr::Identifier(ident(name))).collect();
        shown.extend(left.into_iter().chain(right).filter(|expr| !is_merged(expr)));
        if let Some(scope) = self.scopes.last_mut() {
            scope.merged.extend(merged);
        }
        Ok(Some(shown))
    }

    fn check_not_merged(&self, merged: &[String], renaming: ColumnRenaming<'_>) -> SqlResult<()> {
        let is_read =
            self.scopes.last().is_some_and(|s| s.sources.iter().any(|s| s.relation == Some(renaming.relation)));
        if is_read && merged.iter().any(|name| name == renaming.from) {
            return Err(SqlError::not_supported(format!(
                "renaming column \"{}\", by which a view joins with USING or NATURAL,",
                renaming.from
            ))
            .with_hint("Drop the view, rename the column, and create the view again."));
        }
        Ok(())
    }

    fn table_factor(&mut self, factor: &mut TableFactor) -> SqlResult<Option<Vec<Expr>>> {
        let source = match factor {
            TableFactor::Table { name, alias, args: None, .. } => self.table(name, alias.as_ref()),
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let hidden = if *lateral { None } else { self.scopes.last_mut().map(std::mem::take) };
                let names = self.query(subquery);
                if let (Some(hidden), Some(scope)) = (hidden, self.scopes.last_mut()) {
                    *scope = hidden;
                }
                let (name, given) = alias_of(alias.as_ref(), "");
                Source::of_names(&name, renamed(names?, &given))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let shown = self.table_with_joins(table_with_joins)?;
                return match alias {
                    None => Ok(shown),
                    Some(_) => Err(SqlError::not_supported("an alias of a join in a view")),
                };
            }
            other => {
                let (name, given) = self.function(other)?;
                let mut source = Source::of_names(&name, None);
                source.rename(&given);
                source
            }
        };
        let shown = source
            .columns
            .is_some()
            .then(|| source.visible().map(|column| qualified(&source.alias, &column.name)).collect());
        if let Some(scope) = self.scopes.last_mut() {
            scope.sources.push(source);
        }
        Ok(shown)
    }

    /// A function in FROM: its alias and the names that gives its columns.
    fn function(&mut self, factor: &mut TableFactor) -> SqlResult<(String, Vec<String>)> {
        let (alias, own, exprs): (_, String, Vec<&mut Expr>) = match factor {
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                (alias, last_part(name), args.args.iter_mut().filter_map(argument).collect())
            }
            TableFactor::Function { name, args, alias, .. } => {
                (alias, last_part(name), args.iter_mut().filter_map(argument).collect())
            }
            TableFactor::UNNEST { array_exprs, alias, .. } => {
                (alias, "unnest".to_owned(), array_exprs.iter_mut().collect())
            }
            other => return Err(SqlError::not_supported(format!("{other} in a view"))),
        };
        let named = alias_of(alias.as_ref(), &own);
        for expr in exprs {
            self.expr(expr)?;
        }
        Ok(named)
    }

    fn table(&mut self, name: &mut ObjectName, alias: Option<&TableAlias>) -> Source {
        let own = last_part(name);
        let (alias, given) = alias_of(alias, &own);
        if let Some(columns) = self.cte(name) {
            return Source::of_names(&alias, renamed(columns, &given));
        }
        let Some(entry) = self.tables.get(name) else { return Source::of_names(&alias, None) };
        if let Some((schema, table)) = entry.key.split_once('.') {
            *name = ObjectName::from(vec![ident(schema), ident(table)]);
        }
        let relation = entry.oid;
        if let Some(oid) = relation {
            self.uses.entry(oid).or_default();
        }
        let mut source = Source { alias, columns: Some(columns_of(entry)), relation };
        source.rename(&given);
        source
    }

    fn cte(&self, name: &ObjectName) -> Option<Names> {
        let [part] = name.0.as_slice() else { return None };
        let name = fold(part.as_ident()?);
        let mut known = self.ctes.iter().rev().flat_map(|frame| frame.iter().rev());
        known.find(|(cte, _)| *cte == name).map(|(_, columns)| columns.clone())
    }
}

fn columns_of(entry: &TableEntry) -> Vec<SourceColumn> {
    let column = |name: &String, hidden| SourceColumn { name: name.clone(), own: name.clone(), hidden };
    let visible = entry.visible.iter().map(|name| column(name, false));
    visible.chain(entry.hidden.iter().map(|name| column(name, true))).collect()
}

fn alias_of(alias: Option<&TableAlias>, own: &str) -> (String, Vec<String>) {
    let name = alias.map_or_else(|| own.to_owned(), |alias| fold(&alias.name));
    (name, alias.iter().flat_map(|alias| &alias.columns).map(|column| fold(&column.name)).collect())
}

fn last_part(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

fn argument(argument: &mut FunctionArg) -> Option<&mut Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } => Some(expr),
        _ => None,
    }
}

fn constraint_of(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::CrossJoin(c) => Some(c),
        _ => None,
    }
}
