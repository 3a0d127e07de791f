//! LIMIT, OFFSET and FETCH in all their spellings.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Fetch, LimitClause, Offset, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
    UnaryOperator, Value, ValueWithSpan, Visitor,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{all, binary, column, derived, from, item, number, order_by, over, query_of, select, walk};

/// How many rows of a query are wanted, where the planner's LIMIT cannot say it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plan) struct Wanted {
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    with_ties: bool,
}

/// Makes FETCH FIRST a LIMIT, and numbers what they are written as. What the planner cannot do comes back, and is
/// taken off the query.
///
/// # Errors
/// 42601 for LIMIT and FETCH together, WITH TIES without ORDER BY.
pub(in crate::plan) fn normalize(query: &mut Query) -> SqlResult<Option<Wanted>> {
    let (mut limit, mut offset) = match query.limit_clause.take() {
        None => (None, None),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            (limit, offset.map(|o| o.value))
        }
        Some(_) => {
            return Err(SqlError::new(ErrorKind::Syntax, "LIMIT #,# syntax is not supported")
                .with_hint("Use separate LIMIT and OFFSET clauses."));
        }
    };
    let mut with_ties = false;
    if let Some(Fetch { with_ties: ties, percent, quantity }) = query.fetch.take() {
        if percent {
            return Err(SqlError::new(ErrorKind::Syntax, "syntax error at or near \"PERCENT\""));
        }
        if limit.is_some() {
            return Err(SqlError::new(ErrorKind::Syntax, "multiple LIMIT clauses not allowed"));
        }
        if ties && query.order_by.is_none() {
            return Err(SqlError::new(ErrorKind::Syntax, "WITH TIES cannot be specified without ORDER BY clause"));
        }
        with_ties = ties;
        limit = Some(quantity.unwrap_or_else(|| number(1)));
    }
    for expr in [&mut limit, &mut offset].into_iter().flatten() {
        read_number(expr)?;
    }
    if with_ties || limit.as_ref().is_some_and(has_subquery) || offset.as_ref().is_some_and(has_subquery) {
        return Ok(Some(Wanted { limit, offset, with_ties }));
    }
    if limit.is_some() || offset.is_some() {
        let offset = offset.map(|value| Offset { value, rows: sqlparser::ast::OffsetRows::None });
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by: Vec::new() });
    }
    Ok(None)
}

fn has_subquery(expr: &Expr) -> bool {
    struct Finds;
    impl Visitor for Finds {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    walk(expr, &mut Finds).is_break()
}

/// A constant of any type is taken as a bigint.
fn read_number(expr: &mut Expr) -> SqlResult<()> {
    let (text, is_string) = match &*expr {
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => (text.clone(), false),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => (text.trim().to_owned(), true),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => (format!("-{text}"), false),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let read = text.parse::<i64>().ok().or_else(|| if is_string { None } else { rounded(&text) });
    let Some(read) = read else {
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, message));
    };
    let magnitude = number(read.unsigned_abs());
    *expr = match read < 0 {
        true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(magnitude) },
        false => magnitude,
    };
    Ok(())
}

/// A decimal as the nearest integer, halves away from zero.
fn rounded(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let (negative, whole) = whole.strip_prefix('-').map_or((false, whole), |w| (true, w));
    let is_number = fraction.bytes().all(|b| b.is_ascii_digit());
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let up = i64::from(fraction.bytes().next().is_some_and(|digit| digit >= b'5'));
    let magnitude = is_number.then_some(whole.checked_add(up)?)?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Numbers the rows of a resolved query and keeps the wanted ones. `labels` are its columns, `order` what its ORDER BY
/// stands for.
///
/// # Errors
/// 0A000 for a query whose rows cannot be numbered where it orders them.
pub(in crate::plan) fn keep(
    query: &mut Query,
    wanted: Wanted,
    labels: &[String],
    order: Vec<OrderByExpr>,
) -> SqlResult<()> {
    const ROWS: &str = "rows#";
    const NUMBER: &str = "number#";
    const RANK: &str = "rank#";
    let SetExpr::Select(inner) = query.body.as_mut() else {
        return Err(SqlError::not_supported("FETCH WITH TIES, or a sub-query in LIMIT, of a set operation")
            .with_hint("Put the set operation into a sub-query in FROM."));
    };
    if inner.distinct.is_some() {
        return Err(SqlError::not_supported("FETCH WITH TIES, or a sub-query in LIMIT, with DISTINCT")
            .with_hint("Put the SELECT DISTINCT into a sub-query in FROM."));
    }
    inner.projection.push(item(over("row_number", Vec::new(), order.clone()), NUMBER));
    inner.projection.push(item(over("rank", Vec::new(), order), RANK));
    query.order_by = None;
    let Wanted { limit, offset, with_ties } = wanted;
    let mut conditions = Vec::new();
    if let Some(limit) = limit {
        let counted = column(ROWS, if with_ties { RANK } else { NUMBER });
        let last = match &offset {
            None => limit,
            Some(offset) => binary(limit, BinaryOperator::Plus, offset.clone()),
        };
        conditions.push(binary(counted, BinaryOperator::LtEq, last));
    }
    conditions.extend(offset.map(|offset| binary(column(ROWS, NUMBER), BinaryOperator::Gt, offset)));
    let items: Vec<SelectItem> = labels.iter().map(|label| item(column(ROWS, label), label)).collect();
    let with = query.with.take();
    let numbered = std::mem::replace(query, query_of(select(Vec::new(), Vec::new(), None)));
    *query = query_of(select(items, vec![from(derived(numbered, ROWS))], Some(all(conditions))));
    query.with = with;
    query.order_by = Some(sqlparser::ast::OrderBy {
        kind: OrderByKind::Expressions(vec![order_by(column(ROWS, NUMBER))]),
        interpolate: None,
    });
    Ok(())
}
