//! `edm_type(column)`: the stored type of a property in each row, as `Edm.Int32`; NULL where the row has no such
//! property.
//!
//! A store hands the type out as a column of its own, so the call becomes a reference to a hidden column of the
//! relation, named as the call is written.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SelectItem, SetExpr, Value,
    VisitorMut,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::relation::edm_type_column;
use crate::syntax::{fold, walk_mut};

const FUNCTION: &str = "edm_type";

/// Whether an expression asks for a stored type.
pub(super) fn is_call(expr: &Expr) -> bool {
    as_call(expr).is_some()
}

/// Puts column references in the place of the calls.
///
/// # Errors
/// 42883 for an argument that is not a column.
pub(super) fn resolve(query: &mut Query) -> SqlResult<()> {
    match walk_mut(query, &mut Resolver) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Resolver;

impl VisitorMut for Resolver {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        label(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(call) = as_call(expr) else { return ControlFlow::Continue(()) };
        match reference(call) {
            Some(column) => *expr = column,
            None => {
                let error = SqlError::new(ErrorKind::UndefinedFunction, format!("function {call} does not exist"));
                let hint = "edm_type takes one column of a table that is stored as a property.";
                return ControlFlow::Break(error.with_hint(hint));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The label of a call is the function's name, which the column reference would not give.
fn label(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) = item
                    && is_call(expr)
                {
                    let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                    *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', FUNCTION) };
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            label(left);
            label(right);
        }
        _ => {}
    }
}

fn as_call(expr: &Expr) -> Option<&Function> {
    let Expr::Function(function) = expr else { return None };
    let [name] = function.name.0.as_slice() else { return None };
    name.as_ident().is_some_and(|name| fold(name) == FUNCTION).then_some(function)
}

fn reference(call: &Function) -> Option<Expr> {
    let FunctionArguments::List(arguments) = &call.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = arguments.args.as_slice() else { return None };
    let renamed = |ident: &Ident| Ident { value: edm_type_column(&ident.value), ..ident.clone() };
    match argument {
        Expr::Identifier(ident) => Some(Expr::Identifier(renamed(ident))),
        Expr::CompoundIdentifier(parts) => {
            let (column, qualifier) = parts.split_last()?;
            Some(Expr::CompoundIdentifier(qualifier.iter().cloned().chain([renamed(column)]).collect()))
        }
        _ => None,
    }
}
