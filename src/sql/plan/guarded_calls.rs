//! `nextval` in a branch of CASE, COALESCE, AND or OR is called only for the rows that take the branch.
//!
//! A plan calls it before such an expression is computed, for all rows. So the name of the sequence is made absent for rows
//! that do not take the branch: `CASE WHEN a THEN nextval('s') END` becomes `CASE WHEN a THEN nextval(CASE WHEN a THEN 's'
//! END) END`, and a sequence without a name does not count.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Visitor,
    VisitorMut,
};

use crate::syntax::{fold, walk, walk_mut};

/// Gives the calls in the branches of a query's expressions their conditions.
pub(super) fn guard(query: &mut Query) {
    if walk(query, &mut Finder).is_break() {
        let _ = walk_mut(query, &mut Branches);
    }
}

fn is_named(function: &Function, wanted: &str) -> bool {
    function.name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| fold(ident) == wanted)
}

/// Looks for a call.
struct Finder;

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if is_named(function, "nextval") => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn calls(expr: &Expr) -> bool {
    walk(expr, &mut Finder).is_break()
}

/// Looks for expressions with branches: outer ones first, so that inner conditions come around outer ones.
struct Branches;

impl VisitorMut for Branches {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut before = Vec::new();
                for CaseWhen { condition, result } in conditions {
                    let taken = match operand {
                        Some(operand) => equal((**operand).clone(), condition.clone()),
                        None => condition.clone(),
                    };
                    guard_calls(condition, &before);
                    let mut when = before.clone();
                    when.push(Expr::IsTrue(Box::new(nested(taken.clone()))));
                    guard_calls(result, &when);
                    before.push(Expr::IsNotTrue(Box::new(nested(taken))));
                }
                if let Some(result) = else_result {
                    guard_calls(result, &before);
                }
            }
            Expr::Function(Function { args: FunctionArguments::List(list), name, .. })
                if name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| fold(ident) == "coalesce") =>
            {
                let mut before = Vec::new();
                for argument in &mut list.args {
                    let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { break };
                    let is_absent = Expr::IsNull(Box::new(nested(argument.clone())));
                    guard_calls(argument, &before);
                    before.push(is_absent);
                }
            }
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                guard_calls(right, &[Expr::IsNotFalse(Box::new(nested((**left).clone())))]);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                guard_calls(right, &[Expr::IsNotTrue(Box::new(nested((**left).clone())))]);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Makes the calls in an expression depend on these conditions. One that calls such a function itself cannot be computed
/// twice: it is left out.
fn guard_calls(expr: &mut Expr, conditions: &[Expr]) {
    if !calls(expr) {
        return;
    }
    let all = conditions.iter().filter(|condition| !calls(condition)).cloned();
    let all = all.reduce(|one, other| Expr::BinaryOp {
        left: Box::new(one),
        op: BinaryOperator::And,
        right: Box::new(other),
    });
    if let Some(condition) = all {
        let _ = walk_mut(expr, &mut Guard { condition, depth: 0 });
    }
}

/// Gives the calls in an expression a condition; those in its sub-queries have rows of their own.
struct Guard {
    condition: Expr,
    depth: usize,
}

impl VisitorMut for Guard {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.depth == 0
            && is_named(function, "nextval")
            && let FunctionArguments::List(list) = &mut function.args
            && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(name))] = list.args.as_mut_slice()
        {
            let named = CaseWhen { condition: self.condition.clone(), result: name.clone() };
            *name = Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![named],
                else_result: None,
            };
        }
        ControlFlow::Continue(())
    }
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(nested(left)), op: BinaryOperator::Eq, right: Box::new(nested(right)) }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}
