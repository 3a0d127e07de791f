//! `_pg_truetypid(a.*, t.*)` and `_pg_truetypmod(a.*, t.*)`, as `information_schema` calls them for rows of `pg_attribute`
//! and `pg_type`: what they need of the rows takes their place.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident};

use super::forms::last_name;
use crate::syntax::fold;

/// The functions, with the column of a domain and that of any other type.
const FUNCTIONS: &[(&str, &str, &str)] =
    &[("_pg_truetypid", "typbasetype", "atttypid"), ("_pg_truetypmod", "typtypmod", "atttypmod")];

pub(super) fn expression(expr: &mut Expr) {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return };
    let name = last_name(name);
    let Some((_, of_domain, of_column)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else { return };
    let [attribute, sql_type] = list.args.as_slice() else { return };
    let (Some(attribute), Some(sql_type)) = (table_of(attribute), table_of(sql_type)) else { return };
    let field = |table: &Ident, column: &str| {
        let column = Expr::CompoundIdentifier(vec![table.clone(), Ident::new(column)]);
        FunctionArg::Unnamed(FunctionArgExpr::Expr(column))
    };
    list.args = vec![field(&sql_type, "typtype"), field(&sql_type, of_domain), field(&attribute, of_column)];
}

/// The table whose row an argument is.
fn table_of(argument: &FunctionArg) -> Option<Ident> {
    let FunctionArg::Unnamed(argument) = argument else { return None };
    let name = match argument {
        FunctionArgExpr::QualifiedWildcard(name) | FunctionArgExpr::Expr(Expr::QualifiedWildcard(name, _)) => name,
        FunctionArgExpr::Expr(Expr::Identifier(table)) => return Some(table.clone()),
        _ => return None,
    };
    name.0.last().and_then(|part| part.as_ident()).map(|table| Ident::with_quote('"', fold(table)))
}
