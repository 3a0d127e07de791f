//! `SELECT set_config('name', 'value', is_local)`: SET as a query, which pg_dump writes at the head of its scripts.
//!
//! One that stands alone in its query and has constants is read here: it may set the modes of the open transaction too,
//! which the function of other queries cannot.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, SetExpr, Value,
};

use super::Session;
use super::show::{text_column, text_rows};
use crate::sql::error::SqlResult;
use crate::sql::outcome::{Outcome, ResultColumn, RowsTag};
use crate::sql::statement::fold;

/// A call of `set_config`.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sql) struct SetConfig {
    pub name: String,
    pub value: String,
    /// Until the transaction ends.
    pub local: bool,
}

impl SetConfig {
    /// Reads a query that is one call and nothing else.
    pub fn of_query(query: &Query) -> Option<Self> {
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

/// The one column of its result.
pub(super) fn column() -> ResultColumn {
    text_column("set_config")
}

impl Session {
    pub(super) fn run_set_config(&mut self, call: &SetConfig) -> SqlResult<Outcome> {
        self.set_setting(&call.name, Some(&call.value), call.local)?;
        let value = self.settings.show(&call.name)?.1;
        text_rows([column()].into(), vec![vec![value]], RowsTag::Select)
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::statement::{Command, parse};

    #[test]
    fn a_call_alone_is_read() {
        let read = |sql: &str| match parse(sql).unwrap().remove(0).command {
            Command::SetConfig(call) => Some((call.name, call.value, call.local)),
            _ => None,
        };
        let call = read("SELECT pg_catalog.set_config('search_path', '', false)");
        assert_eq!(call, Some(("search_path".to_owned(), String::new(), false)));
        assert_eq!(read("SELECT set_config('a', 'b', true) FROM t"), None);
        assert_eq!(read("SELECT set_config('a', x, true)"), None);
    }
}
