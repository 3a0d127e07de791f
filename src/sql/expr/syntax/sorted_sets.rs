//! Aggregates WITHIN GROUP: functions of the array of the sorted values.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Value,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::{is_number, object_name};
use crate::expr::aggregates::{NUMBERS_OF, SORTED_OF};
use crate::expr::pending::{Collected, SortedSet, VALUE};
use crate::syntax::{call, fold, take, value as value_of};

/// A number in the order of an aggregate is a constant: the planner would take it for the place of a column.
pub(super) fn order_by_constants(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    let clauses = list.clauses.iter_mut().filter_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some(order),
        _ => None,
    });
    let orders = clauses.flatten().chain(&mut function.within_group);
    for item in orders.filter(|item| is_number(&item.expr)) {
        item.expr = call(VALUE, vec![take(&mut item.expr)]);
    }
}

/// Takes such an aggregate apart; `None` for every other function.
///
/// # Errors
/// 42809 and 42601 for what is not said as PostgreSQL wants it said, 0A000 for OVER.
pub(super) fn apart(function: &mut Function) -> SqlResult<Option<Expr>> {
    let [part] = function.name.0.as_slice() else { return Ok(None) };
    let Some(set) = part.as_ident().and_then(|ident| SortedSet::named(&fold(ident))) else { return Ok(None) };
    let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
    if function.over.is_some() {
        let message = format!("OVER is not supported for ordered-set aggregate {}", set.name());
        return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
    }
    if function.within_group.is_empty() && !list.args.is_empty() {
        let message = format!("WITHIN GROUP is required for ordered-set aggregate {}", set.name());
        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
    }
    if list.duplicate_treatment.is_some() {
        return Err(SqlError::new(ErrorKind::Syntax, "cannot use DISTINCT with WITHIN GROUP"));
    }
    let direct = usize::from(set != SortedSet::Mode);
    let order = std::mem::take(&mut function.within_group);
    let ([sorted], true) = (order.as_slice(), list.args.len() == direct) else {
        let message = format!("function {}() does not exist", set.name());
        return Err(SqlError::new(ErrorKind::UndefinedFunction, message));
    };
    let value = sorted.expr.clone();
    let is_there = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(value.clone()))));
    let fractions = std::mem::replace(&mut list.args, vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value))]);
    // NULLs are left out, so there is one order upwards. That values of any type have an order is found where they are
    // ordered; numbers and intervals have one.
    let is_upwards = sorted.options.asc != Some(false);
    let (set, collecting) = match set {
        SortedSet::PercentileCont(_) if is_upwards => (SortedSet::PercentileCont(Collected::AsTheyCame), NUMBERS_OF),
        SortedSet::PercentileCont(_) => (set, NUMBERS_OF),
        SortedSet::Mode | SortedSet::PercentileDisc => (set, SORTED_OF),
    };
    list.clauses = match set {
        SortedSet::PercentileCont(Collected::AsTheyCame) => Vec::new(),
        _ => vec![FunctionArgumentClause::OrderBy(order)],
    };
    function.name = object_name(collecting);
    function.filter = Some(Box::new(match function.filter.take() {
        None => is_there,
        // The value is computed where the filter holds.
        Some(filter) => Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen { condition: *filter, result: is_there }],
            else_result: Some(Box::new(value_of(Value::Boolean(false)))),
        },
    }));
    order_by_constants(function);
    let mut arguments = vec![Expr::Function(function.clone())];
    for fraction in fractions {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction)) = fraction {
            arguments.push(fraction);
        }
    }
    Ok(Some(call(set.function(), arguments)))
}
