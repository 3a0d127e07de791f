//! Columns of VALUES whose expressions are of several kinds: the planner would look for a type they have in common by its own
//! rules, and fail where PostgreSQL does not.

use sqlparser::ast::{Expr, SetExpr, Value, ValueWithSpan};

use crate::expr::pending;
use crate::syntax::{call, take};

/// What can be told of an expression's type without planning it.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Null,
    Integer,
    Text,
    Boolean,
    Other,
}

/// Hides the types of expressions that are not all plainly of one.
pub(super) fn keep_types(body: &mut SetExpr) {
    match body {
        SetExpr::Values(values) => {
            let width = values.rows.first().map_or(0, |row| row.content.len());
            for column in 0..width {
                let kinds = values.rows.iter().filter_map(|row| row.content.get(column)).map(kind_of);
                let mut known = kinds.filter(|kind| *kind != Kind::Null);
                let first = known.next();
                let plain = first != Some(Kind::Other) && known.all(|kind| Some(kind) == first);
                if plain || values.rows.len() == 1 {
                    continue;
                }
                for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
                    *cell = call(pending::VALUE, vec![take(cell)]);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            keep_types(left);
            keep_types(right);
        }
        _ => {}
    }
}

fn kind_of(expr: &Expr) -> Kind {
    match expr {
        Expr::Value(ValueWithSpan { value, .. }) => match value {
            Value::Null => Kind::Null,
            Value::Number(text, _) if text.parse::<i64>().is_ok() => Kind::Integer,
            Value::SingleQuotedString(_) => Kind::Text,
            Value::Boolean(_) => Kind::Boolean,
            _ => Kind::Other,
        },
        Expr::Nested(inner) => kind_of(inner),
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    #[test]
    fn mixed_columns_wait_for_their_types() {
        let sql = "VALUES (1, 'a', 1, NULL), (2, NULL, 2.5, now())";
        let mut query = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_query().unwrap();
        keep_types(&mut query.body);
        assert_eq!(
            query.to_string(),
            "VALUES (1, 'a', \"value of\"(1), \"value of\"(NULL)), (2, NULL, \"value of\"(2.5), \"value of\"(now()))"
        );
    }
}
