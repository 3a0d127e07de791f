//! Which error of a query is reported where several could be: the one that PostgreSQL meets first.
//!
//! It reads a query clause by clause: FROM, the select list from left to right, WHERE, HAVING and the rest, and of a
//! set operation the left side before the right one. Here names are found before types, and WHERE is planned before the
//! select list. So when a query is refused, its prefixes are planned in PostgreSQL's order, and the error of the
//! shortest prefix that is refused is reported.

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, Value, Values};
use tablegate_types::error::SqlError;

/// The error of the shortest beginning of a query that is refused; `None` when only the whole query is.
pub(super) fn error(query: &Query, refused: impl Fn(&Query) -> Option<Box<SqlError>>) -> Option<Box<SqlError>> {
    let (mut accepted, mut whole) = (0, steps(&query.body));
    let mut earliest = None;
    // Whatever a beginning is refused for, every longer one is refused too.
    while accepted < whole {
        let middle = accepted.midpoint(whole);
        match refused(&beginning(query, middle)) {
            Some(error) => {
                earliest = Some(error);
                whole = middle;
            }
            None => accepted = middle + 1,
        }
    }
    earliest
}

/// In how many steps a query is read, ORDER BY and what follows being one more.
fn steps(body: &SetExpr) -> usize {
    match body {
        SetExpr::Select(select) => {
            let conditions = [&select.selection, &select.having].into_iter().flatten().count();
            select.projection.len() + conditions + usize::from(select.distinct.is_some())
        }
        SetExpr::SetOperation { left, right, .. } => steps(left) + steps(right),
        SetExpr::Query(query) => steps(&query.body),
        _ => 0,
    }
}

/// The query as far as it is read in so many steps, which are fewer than all.
fn beginning(query: &Query, steps: usize) -> Query {
    let mut left = steps;
    let mut body = query.body.clone();
    cut(&mut body, &mut left);
    Query { body, order_by: None, limit_clause: None, fetch: None, locks: Vec::new(), ..query.clone() }
}

fn cut(body: &mut SetExpr, left: &mut usize) {
    match body {
        SetExpr::Select(select) => cut_select(select, left),
        SetExpr::SetOperation { left: first, right, .. } => {
            cut(first, left);
            if *left == 0 {
                let nothing = SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() });
                let first = std::mem::replace(first.as_mut(), nothing);
                *body = first;
            } else {
                cut(right, left);
            }
        }
        SetExpr::Query(query) => {
            cut(&mut query.body, left);
            if *left == 0 {
                query.order_by = None;
                query.limit_clause = None;
                query.fetch = None;
            }
        }
        _ => {}
    }
}

fn cut_select(select: &mut Select, left: &mut usize) {
    let mut is_read = || {
        let read = *left > 0;
        *left = left.saturating_sub(1);
        read
    };
    for item in &mut select.projection {
        if !is_read()
            && let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
        {
            *expr = Expr::Value(Value::Null.into());
        }
    }
    for condition in [&mut select.selection, &mut select.having] {
        if condition.is_some() && !is_read() {
            *condition = None;
        }
    }
    if select.distinct.is_some() && !is_read() {
        select.distinct = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;
    use tablegate_types::error::ErrorKind;

    fn parsed(sql: &str) -> Query {
        *Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_query().unwrap()
    }

    #[test]
    fn beginnings_are_as_they_are_read() {
        let query = parsed("SELECT a, b AS c FROM t WHERE d GROUP BY a HAVING e ORDER BY f LIMIT 1");
        let shown = |steps| beginning(&query, steps).to_string();
        assert_eq!(steps(&query.body), 4);
        assert_eq!(shown(0), "SELECT NULL, NULL AS c FROM t GROUP BY a");
        assert_eq!(shown(1), "SELECT a, NULL AS c FROM t GROUP BY a");
        assert_eq!(shown(3), "SELECT a, b AS c FROM t WHERE d GROUP BY a");
        let union = parsed("SELECT a FROM t UNION SELECT b FROM u WHERE c ORDER BY 1");
        assert_eq!(beginning(&union, 1).to_string(), "SELECT a FROM t");
        assert_eq!(beginning(&union, 2).to_string(), "SELECT a FROM t UNION SELECT b FROM u");
    }

    #[test]
    fn the_first_part_that_is_refused_says_why() {
        let refused = |query: &Query| {
            let text = query.to_string();
            let found = ["second", "condition"].into_iter().rfind(|word| text.contains(word));
            found.map(|word| SqlError::new(ErrorKind::UndefinedColumn, word))
        };
        let query = parsed("SELECT first, second, third FROM t WHERE condition");
        assert_eq!(refused(&query).map(|error| error.message), Some("condition".to_owned()));
        assert_eq!(error(&query, refused).map(|error| error.message), Some("second".to_owned()));
        assert!(error(&parsed("SELECT first FROM t WHERE condition"), refused).is_none());
    }
}
