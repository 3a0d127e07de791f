//! `json_to_recordset(...) AS t (a int, b text)`: functions whose columns the alias defines.
//!
//! They become sub-queries that take each column out of an object and read it as its type, as PostgreSQL does: what is a
//! string by its text, null and what is missing as NULL.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName,
    ObjectNamePart, TableAliasColumnDef, TableFactor, Value,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::quoted;
use crate::syntax::{self, call, fold, take};

/// The objects that a function makes rows of. A statement can give nothing such a name.
const OBJECTS: &str = "objects of records";

/// Name, what gives its objects, and whether these are many.
const FUNCTIONS: &[(&str, &str, bool)] = &[
    ("json_to_record", "json record", false),
    ("jsonb_to_record", "jsonb record", false),
    ("json_to_recordset", "json records", true),
    ("jsonb_to_recordset", "jsonb records", true),
];

/// The sub-query that stands for such a function; `None` for any other.
///
/// # Errors
/// 42601 where columns are defined for another function, or none for one of these; 0A000 for arrays.
pub(super) fn defined(factor: &mut TableFactor) -> SqlResult<Option<TableFactor>> {
    let TableFactor::Function { name, args, alias, with_ordinality, .. } = factor else { return Ok(None) };
    let function = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    let given = alias.as_mut().map(|alias| &mut alias.columns);
    let is_defined = given.as_ref().is_some_and(|columns| columns.iter().any(|column| column.data_type.is_some()));
    let known = FUNCTIONS.iter().find(|(known, ..)| *known == function);
    let (Some((_, objects, are_many)), true) = (known, is_defined) else {
        let wrong = match (known.is_some(), is_defined) {
            (true, false) => "a column definition list is required for functions returning \"record\"",
            (false, true) => "a column definition list is only allowed for functions returning \"record\"",
            _ => return Ok(None),
        };
        return Err(SqlError::new(ErrorKind::Syntax, wrong));
    };
    if *with_ordinality {
        return Err(SqlError::new(ErrorKind::Syntax, "WITH ORDINALITY cannot be used with a column definition list"));
    }
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = args.as_mut_slice() else { return Ok(None) };
    let argument = take(argument);
    let Some(alias) = alias.take() else { return Ok(None) };
    let mut items = Vec::with_capacity(alias.columns.len());
    for TableAliasColumnDef { name, data_type } in &alias.columns {
        let name = fold(name);
        let Some(data_type) = data_type else {
            return Err(SqlError::new(ErrorKind::Syntax, format!("column \"{name}\" has no type")));
        };
        items.push(syntax::item(field(&name, data_type)?, &name));
    }
    let source = if *are_many { rows(objects, argument) } else { row(objects, argument) };
    let query = syntax::query_of(syntax::select(items, vec![syntax::from(source)], None));
    Ok(Some(syntax::lateral(query, &fold(&alias.name))))
}

/// The member of this name, as this type.
fn field(name: &str, data_type: &DataType) -> SqlResult<Expr> {
    let object = || syntax::column(OBJECTS, "value");
    let member = |op| syntax::binary(object(), op, syntax::value(Value::SingleQuotedString(name.to_owned())));
    let text = member(BinaryOperator::LongArrow);
    let value = match data_type {
        DataType::Array(_) => {
            return Err(SqlError::not_supported("an array in a column definition list")
                .with_hint("Declare the column as jsonb and take its elements with jsonb_array_elements_text."));
        }
        // Null is NULL here too.
        DataType::JSON | DataType::JSONB => Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen {
                condition: Expr::IsNotNull(Box::new(syntax::nested(text))),
                result: member(BinaryOperator::Arrow),
            }],
            else_result: None,
        },
        _ => text,
    };
    Ok(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type: data_type.clone(),
        array: false,
        format: None,
    })
}

/// `function(argument) AS objects (value)`
fn rows(function: &str, argument: Expr) -> TableFactor {
    let mut alias = syntax::table_alias(OBJECTS);
    alias.columns = vec![TableAliasColumnDef { name: quoted("value"), data_type: None }];
    TableFactor::Function {
        lateral: true,
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote('"', function))]),
        args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))],
        with_ordinality: false,
        alias: Some(alias),
    }
}

/// `LATERAL (SELECT function(argument) AS value) AS objects`
fn row(function: &str, argument: Expr) -> TableFactor {
    let item = syntax::item(call(function, vec![argument]), "value");
    syntax::lateral(syntax::query_of(syntax::select(vec![item], Vec::new(), None)), OBJECTS)
}
