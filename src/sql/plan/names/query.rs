//! Queries: WITH, set operations and what orders and limits them.

use std::sync::Arc;

use sqlparser::ast::{
    CastKind, Cte, DataType, Expr, LimitClause, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, SetOperator,
    SetQuantifier, TableAlias, TableAliasColumnDef, Value, ValueWithSpan, With,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::expr::Clause;
use super::order::{OrderItem, order_item};
use super::{Columns, Output, Resolver, quoted};
use crate::plan::forms::limits::{self, Wanted};
use crate::syntax;
use crate::syntax::{fold, label_of};

impl Resolver<'_> {
    /// Resolves a query; gives its columns.
    pub(super) fn query(&mut self, query: &mut Query) -> SqlResult<Columns> {
        self.ctes.push(Vec::new());
        let columns = self.query_in_frame(query);
        self.ctes.pop();
        columns
    }

    /// Does something with the query's common table expressions in sight.
    pub(super) fn in_frame<T>(
        &mut self,
        query: &mut Query,
        act: impl FnOnce(&mut Self, &mut Query) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.ctes.push(Vec::new());
        let with = query.with.as_mut().map_or(Ok(()), |with| self.with(with));
        let done = with.and_then(|()| act(self, query));
        self.ctes.pop();
        done
    }

    fn query_in_frame(&mut self, query: &mut Query) -> SqlResult<Columns> {
        if let Some(with) = &mut query.with {
            self.with(with)?;
        }
        refuse_other_dialects(query)?;
        let wanted = limits::normalize(query)?;
        self.limits(query)?;
        let mut order = match query.order_by.as_mut().map(|o| &mut o.kind) {
            Some(OrderByKind::Expressions(items)) => std::mem::take(items),
            _ => Vec::new(),
        };
        let columns = match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, &mut order)?,
            body => {
                let is_union = matches!(body, SetExpr::SetOperation { .. });
                let columns = self.set_expr(body)?;
                for item in &mut order {
                    order_by_output(&mut item.expr, &columns, is_union)?;
                }
                columns
            }
        };
        match (wanted, &columns) {
            (None, _) => {
                if let Some(OrderByKind::Expressions(items)) = query.order_by.as_mut().map(|o| &mut o.kind) {
                    *items = order;
                }
            }
            (Some(wanted), Some(outputs)) => {
                let order = as_expressions(order, &query.body);
                let wanted = self.wanted(wanted)?;
                let labels: Vec<String> = outputs.iter().map(|o| o.name.clone()).collect();
                limits::keep(query, wanted, &labels, order)?;
            }
            (Some(_), None) => return Err(SqlError::not_supported("FETCH WITH TIES of this query")),
        }
        Ok(columns)
    }

    /// LIMIT and OFFSET see no columns but those around the query.
    fn limits(&mut self, query: &mut Query) -> SqlResult<()> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            self.limit(limit.as_mut(), "LIMIT")?;
            self.limit(offset.as_mut().map(|o| &mut o.value), "OFFSET")?;
        }
        Ok(())
    }

    fn wanted(&mut self, mut wanted: Wanted) -> SqlResult<Wanted> {
        self.limit(wanted.limit.as_mut(), "LIMIT")?;
        self.limit(wanted.offset.as_mut(), "OFFSET")?;
        Ok(wanted)
    }

    fn limit(&mut self, expr: Option<&mut Expr>, what: &str) -> SqlResult<()> {
        let Some(expr) = expr else { return Ok(()) };
        match self.expr(expr, Clause::Limit) {
            Err(error) if error.kind == ErrorKind::UndefinedColumn => {
                let message = format!("argument of {what} must not contain variables");
                Err(SqlError::new(ErrorKind::InvalidColumnReference, message))
            }
            other => other.map(|_| ()),
        }
    }

    fn with(&mut self, with: &mut With) -> SqlResult<()> {
        for cte in &mut with.cte_tables {
            self.count_relation()?;
            let name = fold(&cte.alias.name);
            if self.ctes.last().is_some_and(|frame| frame.iter().any(|(known, _)| *known == name)) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(SqlError::new(ErrorKind::DuplicateAlias, message));
            }
            let before = self.relations;
            let columns = match with.recursive {
                true => self.recursive_cte(cte, &name)?,
                false => self.query(&mut cte.query)?,
            };
            // They count where it is named.
            let own = std::mem::replace(&mut self.relations, before) - before;
            let within = self.within_ctes.entry(name.clone()).or_default();
            *within = own.max(*within);
            let columns = name_columns(&mut cte.alias, columns, &format!("WITH query \"{name}\""))?;
            cte.alias.name = quoted(&name);
            self.add_cte(name, columns);
        }
        Ok(())
    }

    fn add_cte(&mut self, name: String, columns: Columns) {
        if let Some(frame) = self.ctes.last_mut() {
            frame.push((name, columns));
        }
    }

    /// The second part of a recursive query sees the columns of its first.
    fn recursive_cte(&mut self, cte: &mut Cte, name: &str) -> SqlResult<Columns> {
        let is_union = matches!(&*cte.query.body, SetExpr::SetOperation { op: SetOperator::Union, .. });
        let (Cte { alias, query, .. }, true) = (&mut *cte, is_union) else { return self.query(&mut cte.query) };
        if query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() {
            return self.query(query);
        }
        let SetExpr::SetOperation { left, right, .. } = query.body.as_mut() else { return self.query(query) };
        nulls_as_texts(left);
        let columns = self.set_expr(left)?;
        let seen = name_columns(&mut alias.clone(), columns.clone(), &format!("WITH query \"{name}\""))?;
        self.ctes.push(vec![(name.to_owned(), seen)]);
        let right = self.set_expr(right);
        self.ctes.pop();
        check_width("UNION", &columns, &right?)?;
        Ok(columns)
    }

    pub(super) fn set_expr(&mut self, body: &mut SetExpr) -> SqlResult<Columns> {
        match body {
            SetExpr::Select(select) => self.select(select, &mut Vec::new()),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, op, set_quantifier } => {
                if !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None) {
                    return Err(SqlError::new(
                        ErrorKind::Syntax,
                        format!("syntax error at or near \"{set_quantifier}\""),
                    ));
                }
                let name = match op {
                    SetOperator::Union => "UNION",
                    SetOperator::Intersect => "INTERSECT",
                    _ => "EXCEPT",
                };
                let columns = self.set_expr(left)?;
                let others = self.set_expr(right)?;
                check_width(name, &columns, &others)?;
                Ok(columns)
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.len());
                for row in &mut values.rows {
                    if row.len() != width {
                        return Err(SqlError::new(ErrorKind::Syntax, "VALUES lists must all be the same length"));
                    }
                    for expr in row.iter_mut() {
                        self.expr(expr, Clause::Values)?;
                    }
                }
                let output = |i: usize| Output { label: format!("column{}", i + 1), name: format!("column{}", i + 1) };
                Ok(Some((0..width).map(output).collect()))
            }
            other => Err(SqlError::not_supported(format!("{} here", first_word(other)))),
        }
    }
}

/// The first part of a recursive query says the types of its columns: one that is NULL in it is text.
fn nulls_as_texts(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                match item {
                    SelectItem::UnnamedExpr(expr) if is_null(expr) => {
                        *item = syntax::item(null_text(), label_of(expr).as_deref().unwrap_or("?column?"));
                    }
                    SelectItem::ExprWithAlias { expr, .. } if is_null(expr) => *expr = null_text(),
                    _ => {}
                }
            }
        }
        SetExpr::Values(values) => {
            for column in 0..values.rows.first().map_or(0, |row| row.len()) {
                if values.rows.iter().all(|row| row.get(column).is_some_and(is_null)) {
                    values.rows.iter_mut().filter_map(|row| row.get_mut(column)).for_each(|expr| *expr = null_text());
                }
            }
        }
        _ => {}
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_null(inner),
        Expr::Value(ValueWithSpan { value: Value::Null, .. }) => true,
        _ => false,
    }
}

fn null_text() -> Expr {
    let expr = Box::new(syntax::value(Value::Null));
    Expr::Cast { kind: CastKind::Cast, expr, data_type: DataType::Text, array: false, format: None }
}

fn first_word(body: &SetExpr) -> String {
    body.to_string().split_whitespace().next().unwrap_or_default().to_owned()
}

/// What ORDER BY of a select stands for: its positions as the expressions they mean.
fn as_expressions(mut order: Vec<OrderByExpr>, body: &SetExpr) -> Vec<OrderByExpr> {
    let SetExpr::Select(select) = body else { return order };
    for item in &mut order {
        let Expr::Value(ValueWithSpan { value: Value::Number(position, _), .. }) = &item.expr else { continue };
        let listed = position.parse::<usize>().ok().and_then(|p| select.projection.get(p.wrapping_sub(1)));
        if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = listed {
            item.expr = expr.clone();
        }
    }
    order
}

/// Clauses that sqlparser reads and PostgreSQL does not have.
fn refuse_other_dialects(query: &Query) -> SqlResult<()> {
    let near = [
        (query.for_clause.is_some(), "FOR"),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT"),
        (!query.pipe_operators.is_empty(), "|>"),
        (matches!(query.order_by.as_ref().map(|o| &o.kind), Some(OrderByKind::All(_))), "ALL"),
    ];
    match near.iter().find(|(is_there, _)| *is_there) {
        None => Ok(()),
        Some((_, word)) => Err(SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{word}\""))),
    }
}

fn check_width(name: &str, left: &Columns, right: &Columns) -> SqlResult<()> {
    match (left, right) {
        (Some(left), Some(right)) if left.len() != right.len() => {
            let message = format!("each {name} query must have the same number of columns");
            Err(SqlError::new(ErrorKind::Syntax, message))
        }
        _ => Ok(()),
    }
}

/// ORDER BY of a set operation or a VALUES list: its columns by name or position, nothing else.
fn order_by_output(expr: &mut Expr, columns: &Columns, is_union: bool) -> SqlResult<()> {
    let Some(columns) = columns else { return Ok(()) };
    match order_item(expr, columns, None)? {
        OrderItem::Position(position) => *expr = syntax::number(position),
        OrderItem::Name(name) => return Err(super::scope::no_column(&name)),
        OrderItem::Expression if is_union => {
            let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_detail("Only result column names can be used, not expressions or functions.")
                .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."));
        }
        OrderItem::Expression => {}
    }
    Ok(())
}

/// Gives the columns of a table the names of its alias, and the alias a name for each.
///
/// # Errors
/// 42P10 when it has more names than there are columns.
pub(super) fn name_columns(alias: &mut TableAlias, columns: Columns, what: &str) -> SqlResult<Columns> {
    let Some(columns) = columns else {
        // Known by its alias alone, as far as that goes.
        let named: Arc<[Output]> = alias.columns.iter().map(|c| output(&fold(&c.name))).collect();
        return Ok((!named.is_empty()).then_some(named));
    };
    let given = alias.columns.len();
    if given == 0 {
        return Ok(Some(columns));
    }
    if given > columns.len() {
        let message = format!("{what} has {} columns available but {given} columns specified", columns.len());
        return Err(SqlError::new(ErrorKind::InvalidColumnReference, message));
    }
    let names = alias.columns.iter().map(|c| output(&fold(&c.name)));
    let all: Vec<Output> = names.chain(columns.iter().skip(given).cloned()).collect();
    let definition = |o: &Output| TableAliasColumnDef { name: quoted(&o.name), data_type: None };
    alias.columns = all.iter().map(definition).collect();
    Ok(Some(all.into()))
}

fn output(name: &str) -> Output {
    Output { label: name.to_owned(), name: name.to_owned() }
}
