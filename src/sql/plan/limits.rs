//! LIMIT, OFFSET and FETCH FIRST in the one form that DataFusion's planner takes.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Query, UnaryOperator, Value, VisitMut, VisitorMut};

use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// Rewrites FETCH FIRST to LIMIT and reads string literals as numbers, in the query and all below it.
///
/// # Errors
/// 0A000 for WITH TIES, 2201W and 2201X for negative counts, 22P02 for a text that is not a number.
pub(super) fn normalize(query: &mut Query) -> SqlResult<()> {
    match query.visit(&mut Limits) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Limits;

impl VisitorMut for Limits {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        match take_fetch(query).and_then(|()| check_counts(query)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// `FETCH FIRST n ROWS ONLY` is LIMIT n, and without a number LIMIT 1.
fn take_fetch(query: &mut Query) -> SqlResult<()> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    if fetch.with_ties || fetch.percent {
        return Err(SqlError::not_supported("FETCH FIRST ... WITH TIES")
            .with_hint("Use rank() OVER (ORDER BY ...) in a sub-query, and compare it with the count."));
    }
    let count = fetch.quantity.unwrap_or_else(|| Expr::Value(Value::Number("1".to_owned(), false).into()));
    match &mut query.limit_clause {
        None => {
            let limit = Some(count);
            query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(count),
        Some(_) => return Err(SqlError::new(ErrorKind::Syntax, "multiple LIMIT clauses not allowed")),
    }
    Ok(())
}

fn check_counts(query: &mut Query) -> SqlResult<()> {
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else { return Ok(()) };
    if let Some(limit) = limit {
        read_count(limit)?;
        if is_negative(limit) {
            return Err(SqlError::new(ErrorKind::InvalidLimit, "LIMIT must not be negative"));
        }
    }
    if let Some(offset) = offset {
        read_count(&mut offset.value)?;
        if is_negative(&offset.value) {
            return Err(SqlError::new(ErrorKind::InvalidOffset, "OFFSET must not be negative"));
        }
    }
    Ok(())
}

/// A string literal has the type that is wanted here, bigint.
fn read_count(count: &mut Expr) -> SqlResult<()> {
    let Expr::Value(value) = &mut *count else { return Ok(()) };
    let Value::SingleQuotedString(text) = &value.value else { return Ok(()) };
    let number: i64 = text.trim().parse().map_err(|_error| {
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        SqlError::new(ErrorKind::InvalidTextRepresentation, message)
    })?;
    let digits = Expr::Value(Value::Number(number.unsigned_abs().to_string(), false).into());
    *count = match number {
        0.. => digits,
        _ => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(digits) },
    };
    Ok(())
}

/// Whether a count is negative as it stands there; what is computed is checked when it is known.
fn is_negative(count: &Expr) -> bool {
    let Expr::UnaryOp { op: UnaryOperator::Minus, expr } = count else { return false };
    matches!(&**expr, Expr::Value(value)
        if matches!(&value.value, Value::Number(text, _) if text.parse::<f64>().is_ok_and(|number| number > 0.0)))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn normalized(sql: &str) -> Result<String, ErrorKind> {
        let Some(Statement::Query(mut query)) = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop() else {
            panic!("it is a query")
        };
        normalize(&mut query).map_err(|error| error.kind)?;
        Ok(query.to_string())
    }

    #[test]
    fn fetch_first_is_a_limit() {
        assert_eq!(normalized("SELECT 1 FETCH FIRST 2 ROWS ONLY").unwrap(), "SELECT 1 LIMIT 2");
        assert_eq!(normalized("SELECT 1 OFFSET 3 ROWS FETCH NEXT ROW ONLY").unwrap(), "SELECT 1 LIMIT 1 OFFSET 3 ROWS");
        assert_eq!(normalized("SELECT (SELECT 1 FETCH FIRST 1 ROW ONLY)").unwrap(), "SELECT (SELECT 1 LIMIT 1)");
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        assert_eq!(normalized("SELECT 1 LIMIT '2'").unwrap(), "SELECT 1 LIMIT 2");
        assert_eq!(normalized("SELECT 1 LIMIT 'x'"), Err(ErrorKind::InvalidTextRepresentation));
        assert_eq!(normalized("SELECT 1 LIMIT -1"), Err(ErrorKind::InvalidLimit));
        assert_eq!(normalized("SELECT 1 LIMIT -0").unwrap(), "SELECT 1 LIMIT -0");
        assert_eq!(normalized("SELECT 1 OFFSET '-1'"), Err(ErrorKind::InvalidOffset));
    }
}
