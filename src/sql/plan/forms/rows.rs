//! Rows as values, `(a, b)`: comparisons of rows are comparisons of their parts.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query,
    TableAliasColumnDef, TableFactor, Value,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{
    all, any, binary, boolean, column, derived, from, is_row_call, item, nested, not, number, query_of, quoted, select,
    table_alias, value,
};

/// Takes a comparison of rows apart; other expressions stay as they are. Its names are resolved already.
///
/// # Errors
/// 42601 for rows of different widths.
pub(in crate::plan) fn expand(expr: &mut Expr, next_alias: &mut dyn FnMut() -> Ident) -> SqlResult<()> {
    let expanded = match expr {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => match (row_of(left), row_of(right)) {
            (Some(left), Some(right)) => Some(compared(op, left, right)?),
            (Some(row), None) => take_subquery(right).map(|query| compared_with_query(op, row, query, next_alias)),
            (None, Some(row)) => take_subquery(left).map(|query| {
                let op = flipped(op);
                compared_with_query(&op, row, query, next_alias)
            }),
            (None, None) => None,
        },
        Expr::IsDistinctFrom(left, right) => distinct(left, right)?,
        Expr::IsNotDistinctFrom(left, right) => distinct(left, right)?.map(not),
        Expr::IsNull(inner) => row_of(inner).map(|row| all(row.into_iter().map(|e| Expr::IsNull(Box::new(e))))),
        Expr::IsNotNull(inner) => row_of(inner).map(|row| all(row.into_iter().map(|e| Expr::IsNotNull(Box::new(e))))),
        Expr::InList { expr: operand, list, negated } => in_list(operand, list, *negated)?,
        Expr::InSubquery { expr: operand, subquery, negated } => row_of(operand).map(|row| {
            let is_in = quantified(&BinaryOperator::Eq, row, std::mem::replace(subquery, empty()), true, next_alias);
            if *negated { not(is_in) } else { is_in }
        }),
        Expr::AnyOp { left, compare_op, right, .. } if let Some(row) = row_of(left) => {
            take_subquery(right).map(|query| quantified(compare_op, row, Box::new(query), true, next_alias))
        }
        Expr::AllOp { left, compare_op, right } if let Some(row) = row_of(left) => {
            take_subquery(right).map(|query| quantified(compare_op, row, Box::new(query), false, next_alias))
        }
        Expr::Between { expr: operand, negated, low, high } => match (row_of(operand), row_of(low), row_of(high)) {
            (Some(row), Some(low), Some(high)) => {
                let least = compared(&BinaryOperator::GtEq, row.clone(), low)?;
                let between = all([least, compared(&BinaryOperator::LtEq, row, high)?]);
                Some(if *negated { not(between) } else { between })
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(expanded) = expanded {
        *expr = nested(expanded);
    }
    Ok(())
}

/// The parts of a row.
pub(in crate::plan) fn row_of(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(parts) => Some(parts.clone()),
        Expr::Nested(inner) => row_of(inner),
        Expr::Function(function @ Function { args: FunctionArguments::List(list), .. }) if is_row_call(function) => {
            let part = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            list.args.iter().map(part).collect()
        }
        _ => None,
    }
}

/// Whether it is written as a row, be it one that [`row_of`] cannot take apart before its names are resolved.
pub(in crate::plan) fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(_) => true,
        Expr::Nested(inner) => is_row(inner),
        Expr::Function(function) => is_row_call(function),
        _ => false,
    }
}

fn take_subquery(expr: &mut Expr) -> Option<Query> {
    match expr {
        Expr::Subquery(query) => Some(*std::mem::replace(query, empty())),
        Expr::Nested(inner) => take_subquery(inner),
        _ => None,
    }
}

/// What stays behind where a query was taken; it is dropped with the expression it stands in.
fn empty() -> Box<Query> {
    Box::new(query_of(select(Vec::new(), Vec::new(), None)))
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn flipped(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    }
}

/// The comparison as PostgreSQL makes it: from the left, up to the first parts that are not equal.
fn compared(op: &BinaryOperator, left: Vec<Expr>, right: Vec<Expr>) -> SqlResult<Expr> {
    if left.len() != right.len() {
        return Err(SqlError::new(ErrorKind::Syntax, "unequal number of entries in row expressions"));
    }
    if left.is_empty() {
        return Err(SqlError::not_supported("a comparison of rows of zero length"));
    }
    let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
    Ok(match op {
        BinaryOperator::Eq => all(pairs.into_iter().map(|(l, r)| binary(l, BinaryOperator::Eq, r))),
        BinaryOperator::NotEq => any(pairs.into_iter().map(|(l, r)| binary(l, BinaryOperator::NotEq, r))),
        BinaryOperator::Lt | BinaryOperator::LtEq => ordered(&BinaryOperator::Lt, op, pairs),
        _ => ordered(&BinaryOperator::Gt, op, pairs),
    })
}

/// `a < c OR (a = c AND (b < d OR ...))`
fn ordered(strict: &BinaryOperator, op: &BinaryOperator, pairs: Vec<(Expr, Expr)>) -> Expr {
    let mut pairs = pairs.into_iter().rev();
    let last = pairs.next().map_or_else(|| boolean(true), |(l, r)| binary(l, op.clone(), r));
    pairs.fold(last, |rest, (l, r)| {
        let equal = binary(l.clone(), BinaryOperator::Eq, r.clone());
        any([binary(l, strict.clone(), r), all([equal, rest])])
    })
}

fn distinct(left: &Expr, right: &Expr) -> SqlResult<Option<Expr>> {
    let (Some(left), Some(right)) = (row_of(left), row_of(right)) else { return Ok(None) };
    if left.len() != right.len() {
        return Err(SqlError::new(ErrorKind::Syntax, "unequal number of entries in row expressions"));
    }
    let pairs = left.into_iter().zip(right);
    Ok(Some(any(pairs.map(|(l, r)| Expr::IsDistinctFrom(Box::new(nested(l)), Box::new(nested(r)))))))
}

fn in_list(operand: &Expr, list: &[Expr], negated: bool) -> SqlResult<Option<Expr>> {
    let Some(row) = row_of(operand) else { return Ok(None) };
    let Some(rows) = list.iter().map(row_of).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let equal = |other| compared(&BinaryOperator::Eq, row.clone(), other);
    let is_in = any(rows.into_iter().map(equal).collect::<SqlResult<Vec<_>>>()?);
    Ok(Some(if negated { not(is_in) } else { is_in }))
}

/// `row op (query)`: the comparison with its one row, NULL when it has none.
fn compared_with_query(
    op: &BinaryOperator,
    row: Vec<Expr>,
    query: Query,
    next_alias: &mut dyn FnMut() -> Ident,
) -> Expr {
    let (table, parts) = named(query, row.len(), next_alias());
    match compared(op, row, parts) {
        Ok(comparison) => {
            Expr::Subquery(Box::new(query_of(select(vec![item(comparison, "row")], vec![from(table)], None))))
        }
        Err(_) => value(Value::Null),
    }
}

/// `row op ANY (query)` or `row op ALL (query)`, which may be unknown.
fn quantified(
    op: &BinaryOperator,
    row: Vec<Expr>,
    query: Box<Query>,
    is_any: bool,
    next_alias: &mut dyn FnMut() -> Ident,
) -> Expr {
    let mut exists = |is_it: &dyn Fn(Expr) -> Expr| {
        let (table, parts) = named((*query).clone(), row.len(), next_alias());
        let comparison = compared(op, row.clone(), parts).unwrap_or_else(|_| value(Value::Null));
        let found = select(vec![item(number(1), "row")], vec![from(table)], Some(is_it(comparison)));
        Expr::Exists { subquery: Box::new(query_of(found)), negated: false }
    };
    let decides = exists(&|comparison| if is_any { comparison } else { not(comparison) });
    let is_unknown = exists(&|comparison| Expr::IsNull(Box::new(nested(comparison))));
    let branch = |condition, result| CaseWhen { condition, result };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![branch(decides, boolean(is_any)), branch(is_unknown, value(Value::Null))],
        else_result: Some(Box::new(boolean(!is_any))),
    }
}

/// The query as a table whose columns have names that nothing around has.
fn named(query: Query, width: usize, alias: Ident) -> (TableFactor, Vec<Expr>) {
    let names: Vec<String> = (1..=width).map(|i| format!("part#{i}")).collect();
    let parts = names.iter().map(|name| column(&alias.value, name)).collect();
    let mut factor = derived(query, &alias.value);
    if let TableFactor::Derived { alias: own, .. } = &mut factor {
        let mut named = table_alias(&alias.value);
        named.columns = names.iter().map(|n| TableAliasColumnDef { name: quoted(n), data_type: None }).collect();
        *own = Some(named);
    }
    (factor, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    fn expanded(sql: &str) -> String {
        let mut expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
        expand(&mut expr, &mut || quoted("t")).unwrap();
        expr.to_string()
    }

    #[test]
    fn rows_are_compared_from_the_left() {
        assert_eq!(expanded("(a, b) = (1, 2)"), "(((a) = (1)) AND ((b) = (2)))");
        assert_eq!(expanded("(a, b) <= (1, 2)"), "(((a) < (1)) OR (((a) = (1)) AND ((b) <= (2))))");
        assert_eq!(expanded("ROW(a, b) IS NULL"), "((a IS NULL) AND (b IS NULL))");
        assert_eq!(expanded("(a + b) = 2"), "(a + b) = 2");
    }

    #[test]
    fn unequal_widths_are_refused() {
        let mut expr =
            Parser::new(&PostgreSqlDialect {}).try_with_sql("(1, 2) = (1, 2, 3)").unwrap().parse_expr().unwrap();
        let error = expand(&mut expr, &mut || quoted("t")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Syntax);
    }
}
