//! Hypothetical-set aggregates: `rank(3) WITHIN GROUP (ORDER BY x)`, the rank that a row would have among the others.
//!
//! Each is a count of the rows that come before it, which the planner knows.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, OrderByExpr, Visitor,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::collected::names_a_column;
use super::syntax::last_name;
use crate::syntax::{all, any, binary, call, nested, number, walk};

/// What is said of the row that is not there.
#[derive(Debug, Clone, Copy)]
enum Place {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

fn place_of(function: &Function) -> Option<Place> {
    if function.within_group.is_empty() {
        return None;
    }
    Some(match last_name(function)?.as_str() {
        "rank" => Place::Rank,
        "dense_rank" => Place::DenseRank,
        "percent_rank" => Place::PercentRank,
        "cume_dist" => Place::CumeDist,
        _ => return None,
    })
}

/// Whether [`rewritten`] gives an expression.
pub(super) fn is_hypothetical(function: &Function) -> bool {
    place_of(function).is_some()
}

/// The call as counts; `None` for what is none of these aggregates.
///
/// # Errors
/// 42883 unless there is a value for each ordering column, 42601 for DISTINCT, 0A000 for OVER, for values that are not the
/// same for all rows, and for `dense_rank` of several columns.
pub(super) fn rewritten(function: &Function) -> SqlResult<Option<Expr>> {
    let Some(place) = place_of(function) else { return Ok(None) };
    let name = last_name(function).unwrap_or_default();
    if function.over.is_some() {
        return Err(SqlError::new(
            ErrorKind::FeatureNotSupported,
            format!("OVER is not supported for ordered-set aggregate {name}"),
        ));
    }
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    if list.duplicate_treatment.is_some() {
        return Err(SqlError::new(ErrorKind::Syntax, "cannot use DISTINCT with WITHIN GROUP"));
    }
    let order = &function.within_group;
    if list.args.len() != order.len() {
        let hint = format!(
            "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must \
             match the number of ordering columns (here {}).",
            list.args.len(),
            order.len()
        );
        let message = format!("function {name} with these arguments does not exist");
        return Err(SqlError::new(ErrorKind::UndefinedFunction, message).with_hint(hint));
    }
    let mut sorted = Vec::with_capacity(order.len());
    for (argument, by) in list.args.iter().zip(order) {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(given)) if !names_a_column(given) && !has_query(given) => {
                sorted.push(Sorted { by: by.expr.clone(), given: given.clone(), order: by });
            }
            _ => {
                return Err(SqlError::not_supported(format!("{name} of a value that differs from row to row"))
                    .with_hint("Give it a constant or a parameter."));
            }
        }
    }
    counted(function, place, &sorted).map(Some)
}

/// A sub-query may name columns of the query around it.
fn has_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();
        fn pre_visit_query(&mut self, _query: &sqlparser::ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    walk(expr, &mut Queries).is_break()
}

fn counted(function: &Function, place: Place, sorted: &[Sorted<'_>]) -> SqlResult<Expr> {
    let count = |condition: Option<Expr>| aggregate(function, "count", FunctionArgExpr::Wildcard, condition);
    let before = || before(sorted);
    let plus = |left: Expr, right: Expr| binary(left, BinaryOperator::Plus, right);
    let ratio = |part: Expr, whole: Expr| {
        binary(call("float8", vec![part]), BinaryOperator::Divide, call("float8", vec![whole]))
    };
    Ok(match place {
        Place::Rank => plus(count(Some(before())), number(1)),
        Place::DenseRank => {
            let [one] = sorted else {
                return Err(SqlError::not_supported("dense_rank WITHIN GROUP of several columns")
                    .with_hint("Count the distinct rows of a sub-query."));
            };
            let value = FunctionArgExpr::Expr(one.by.clone());
            let mut distinct = aggregate(function, "count", value, Some(before()));
            if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut distinct {
                list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
            }
            // NULL is one more value, which count does not see.
            let null = all([before(), Expr::IsNull(Box::new(nested(one.by.clone())))]);
            let nulls = aggregate(function, "max", FunctionArgExpr::Expr(number(1)), Some(null));
            plus(plus(distinct, call("coalesce", vec![nulls, number(0)])), number(1))
        }
        Place::PercentRank => {
            let none = binary(count(None), BinaryOperator::Eq, number(0));
            Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![CaseWhen { condition: none, result: call("float8", vec![number(0)]) }],
                else_result: Some(Box::new(ratio(count(Some(before())), count(None)))),
            }
        }
        Place::CumeDist => {
            let same = all(sorted.iter().map(Sorted::is_same));
            let part = plus(count(Some(any([before(), same]))), number(1));
            ratio(part, plus(count(None), number(1)))
        }
    })
}

/// An aggregate of the rows that the call aggregates and that meet the condition.
fn aggregate(function: &Function, name: &str, argument: FunctionArgExpr, condition: Option<Expr>) -> Expr {
    let Expr::Function(mut aggregate) = call(name, Vec::new()) else { return call(name, Vec::new()) };
    aggregate.args = FunctionArguments::List(FunctionArgumentList {
        duplicate_treatment: None,
        args: vec![FunctionArg::Unnamed(argument)],
        clauses: Vec::new(),
    });
    let filter: Vec<Expr> = function.filter.as_deref().cloned().into_iter().chain(condition).collect();
    aggregate.filter = (!filter.is_empty()).then(|| Box::new(all(filter)));
    Expr::Function(aggregate)
}

/// A column that is sorted by, and what the row that is not there has in it.
struct Sorted<'a> {
    by: Expr,
    given: Expr,
    order: &'a OrderByExpr,
}

impl Sorted<'_> {
    /// The row that is there comes first.
    fn precedes(&self) -> Expr {
        let options = &self.order.options;
        let descends = options.asc == Some(false);
        let operator = if descends { BinaryOperator::Gt } else { BinaryOperator::Lt };
        let is_null = |expr: &Expr| Expr::IsNull(Box::new(nested(expr.clone())));
        let is_not_null = |expr: &Expr| Expr::IsNotNull(Box::new(nested(expr.clone())));
        let null_precedes = match options.nulls_first.unwrap_or(descends) {
            true => all([is_null(&self.by), is_not_null(&self.given)]),
            false => all([is_not_null(&self.by), is_null(&self.given)]),
        };
        any([binary(self.by.clone(), operator, self.given.clone()), null_precedes])
    }

    fn is_same(&self) -> Expr {
        Expr::IsNotDistinctFrom(Box::new(nested(self.by.clone())), Box::new(nested(self.given.clone())))
    }
}

/// A row comes before the one that is not there: by the first column in which they differ.
fn before(sorted: &[Sorted<'_>]) -> Expr {
    match sorted {
        [] => any([]),
        [last] => last.precedes(),
        [first, rest @ ..] => any([first.precedes(), all([first.is_same(), before(rest)])]),
    }
}
