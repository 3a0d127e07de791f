//! A query that is one call of `set_config` and nothing else.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, SetExpr, Value,
};

use crate::syntax::fold;

/// A call of `set_config`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SetConfig {
    pub name: String,
    pub value: String,
    /// Until the transaction ends.
    pub local: bool,
}

impl SetConfig {
    /// Reads a query that is one call and nothing else.
    pub(crate) fn of_query(query: &Query) -> Option<Self> {
        let SetExpr::Select(select) = &*query.body else { return None };
        let [SelectItem::UnnamedExpr(Expr::Function(function))] = select.projection.as_slice() else { return None };
        let alone = select.from.is_empty() && select.selection.is_none() && query.with.is_none();
        let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
        if !alone || name.as_deref() != Some("set_config") {
            return None;
        }
        match constants(function)?.as_slice() {
            [Value::SingleQuotedString(name), Value::SingleQuotedString(value), Value::Boolean(local)] => {
                Some(Self { name: name.clone(), value: value.clone(), local: *local })
            }
            _ => None,
        }
    }
}

fn constants(function: &Function) -> Option<Vec<&Value>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    list.args.iter().map(constant).collect()
}

fn constant(argument: &FunctionArg) -> Option<&Value> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => Some(&value.value),
        _ => None,
    }
}
