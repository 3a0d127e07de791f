//! Casts to the types of `pg_catalog`.
//!
//! A value of `regclass` is an OID that prints as a name. Here it is the name, of a type that knows of what; what it is
//! used for decides: compared, cast to a number or given to a function of the catalogue it is the OID. Where the text of
//! a statement does not show that, the pass that types expressions sees to it.

use sqlparser::ast::{ArrayElemTypeDef, BinaryOperator, DataType, Expr, Ident, ObjectName, Value, ValueWithSpan};
use tablegate_types::sql_type::SqlType;

use super::forms::{arguments, call, last_name, literal, take};
use crate::expr::{cast_function, name_of, oid_of};
use crate::pg_catalog::functions;
use crate::syntax::fold;

/// A type whose values name objects, by its name.
type Names = &'static str;

/// The types whose values name objects.
const NAMING: &[Names] = &[
    "regclass",
    "regtype",
    "regproc",
    "regprocedure",
    "regoper",
    "regoperator",
    "regnamespace",
    "regrole",
    "regcollation",
    "regconfig",
    "regdictionary",
];

/// Whether a cast to this type asks the catalogue.
pub(super) fn names_objects(data_type: &DataType) -> bool {
    names_of(data_type).is_some() || names_of_items(data_type).is_some()
}

pub(super) fn expression(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => compared(left, right),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => compared(left, right),
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
            to_oid(left);
            match &mut **right {
                Expr::Array(items) => items.elem.iter_mut().for_each(to_oid),
                other => to_oids(other),
            }
        }
        Expr::InSubquery { expr, .. } => to_oid(expr),
        Expr::InList { expr, list, .. } => {
            list.iter_mut().for_each(|item| compared(expr.clone().as_mut(), item));
            to_oid(expr);
        }
        Expr::Function(function) => {
            let name = last_name(&function.name);
            if functions::is_known(&name) {
                arguments(function).for_each(to_oid);
            }
        }
        Expr::Cast { .. } => cast(expr),
        _ => {}
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq)
}

/// Two operands of a comparison.
fn compared(left: &mut Expr, right: &mut Expr) {
    match (names_of_cast(left), names_of_cast(right)) {
        (Some(names), None) if literal(right).is_some() => {
            *right = call(&oid_of(names), vec![take(right)]);
        }
        (None, Some(names)) if literal(left).is_some() => {
            *left = call(&oid_of(names), vec![take(left)]);
        }
        _ => {}
    }
    to_oid(left);
    to_oid(right);
}

/// Turns `e::regclass` and `to_regclass(e)` into the OID.
fn to_oid(expr: &mut Expr) {
    if let Expr::Function(function) = expr {
        let name = last_name(&function.name);
        let Some(names) = name.strip_prefix("to_").and_then(|name| NAMING.iter().find(|known| **known == name)) else {
            return;
        };
        *expr = call(&functions::found_oid_of(names), arguments(function).map(take).collect());
        return;
    }
    if let Some((names, inner)) = named_cast(expr) {
        *expr = call(&oid_of(names), vec![declared(names, inner)]);
    }
}

/// A parameter with the type that the cast around it declares.
fn declared(names: Names, operand: Expr) -> Expr {
    let is_parameter = matches!(&operand, Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }));
    match SqlType::of_typname(names).filter(|_| is_parameter) {
        Some(sql_type) => call(&cast_function(&sql_type), vec![operand]),
        None => operand,
    }
}

/// Turns a cast to an array of names, as in `'{a,b}'::regclass[]`, into the array of the OIDs.
fn to_oids(expr: &mut Expr) {
    let array = match expr {
        Expr::Nested(inner) => return to_oids(inner),
        Expr::Cast { data_type, expr: inner, .. } => names_of_items(data_type).map(|names| (names, take(inner))),
        _ => None,
    };
    if let Some((names, inner)) = array {
        *expr = call(&functions::oids_of(names), vec![inner]);
    }
}

fn names_of_cast(expr: &Expr) -> Option<Names> {
    match expr {
        Expr::Cast { data_type, .. } => names_of(data_type),
        Expr::Nested(inner) => names_of_cast(inner),
        _ => None,
    }
}

/// Takes the operand out of a cast to a type that names objects.
fn named_cast(expr: &mut Expr) -> Option<(Names, Expr)> {
    match expr {
        Expr::Cast { data_type, expr: inner, .. } => Some((names_of(data_type)?, take(inner))),
        Expr::Nested(inner) => named_cast(inner),
        _ => None,
    }
}

fn cast(expr: &mut Expr) {
    let Expr::Cast { expr: inner, data_type, .. } = expr else { return };
    if let Some(names) = names_of(data_type) {
        *expr = call(&name_of(names), vec![declared(names, take(inner))]);
        return;
    }
    if let Some(names) = names_of_items(data_type) {
        *expr = call(&functions::names_of(names), vec![take(inner)]);
        return;
    }
    if let Some(native) = native(data_type) {
        *data_type = native;
    }
    let to_number = is_oid(data_type)
        || matches!(
            data_type,
            DataType::IntUnsigned(_)
                | DataType::Integer(_)
                | DataType::Int(_)
                | DataType::BigInt(_)
                | DataType::Int8(_)
                | DataType::Int4(_)
        );
    if to_number {
        to_oid(inner);
    }
    if is_internal_char(data_type) {
        *expr = call("catalog_char", vec![take(inner)]);
    }
}

fn is_internal_char(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Custom(name, _) if type_name(name).as_deref() == Some("\"char\""))
}

fn names_of(data_type: &DataType) -> Option<Names> {
    let DataType::Custom(name, _) = data_type else {
        return matches!(data_type, DataType::Regclass).then_some("regclass");
    };
    let name = type_name(name)?;
    NAMING.iter().copied().find(|known| *known == name)
}

/// What the items of an array name.
fn names_of_items(data_type: &DataType) -> Option<Names> {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => names_of(item),
        _ => None,
    }
}

/// A type name without `pg_catalog.`; `"char"` keeps its quotes, since it is not `char`.
fn type_name(name: &ObjectName) -> Option<String> {
    let parts: Vec<_> = name.0.iter().filter_map(|p| p.as_ident()).collect();
    let last = match parts.as_slice() {
        [last] => last,
        [schema, last] if fold(schema) == "pg_catalog" => last,
        _ => return None,
    };
    let folded = fold(last);
    Some(if folded == "char" { "\"char\"".to_owned() } else { folded })
}

/// A type of PostgreSQL's that the planner has no name for.
fn custom(name: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::with_quote('"', name)]), Vec::new())
}

fn is_oid(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Custom(name, _) if type_name(name).as_deref() == Some("oid"))
}

/// The planner's own name of a type that is written as one of PostgreSQL's names.
fn native(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) => {
            let item = match native(item) {
                Some(item) => item,
                None if is_internal_char(item) => custom("char"),
                None => return None,
            };
            DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(item), *size))
        }
        DataType::Custom(name, _) => match type_name(name)?.as_str() {
            "oid" => custom("oid"),
            "xid" | "cid" => DataType::IntUnsigned(None),
            "text" | "varchar" | "bpchar" | "cstring" | "unknown" | "pg_node_tree" => DataType::Text,
            "int2" => DataType::SmallInt(None),
            "int4" => DataType::Integer(None),
            "int8" => DataType::BigInt(None),
            "bool" => DataType::Boolean,
            "float4" => DataType::Real,
            "float8" => DataType::DoublePrecision,
            _ => return None,
        },
        _ => return None,
    })
}
