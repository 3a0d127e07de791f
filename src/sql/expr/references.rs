//! Values that name objects of the catalogue, `regclass` and the like, beside numbers: what is compared is the OID.
//!
//! Such a value is kept as the name it prints, a `regproc` as its OID. The functions that find its OID, and that print the name of an OID, are the
//! catalogue's, and know the objects of the statement.

use datafusion::logical_expr::Expr;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::catalog_functions::{name_of, oid_of};
use super::operand::{Operand, relabelled};
use super::parameters::Parameters;
use super::typed::ValueType;

/// Both sides of a comparison in which one names an object: names of one type as they are, all others as OIDs.
///
/// # Errors
/// As [`Operand::coerced`].
pub(super) fn aligned(left: Operand, right: Operand, parameters: &Parameters<'_>) -> SqlResult<(Operand, Operand)> {
    let (left_type, right_type) = (left.sql_type().clone(), right.sql_type().clone());
    Ok(match (left_type.names_objects(), right_type.names_objects()) {
        (false, false) => (left, right),
        (true, true) if left_type == right_type => (left, right),
        (true, true) => (as_oid(left, parameters), as_oid(right, parameters)),
        (true, false) if right.is_unknown() => {
            let right = as_name(right, &left_type, parameters)?;
            (left, right)
        }
        (false, true) if left.is_unknown() => (as_name(left, &right_type, parameters)?, right),
        (true, false) if is_number(&right_type) => (as_oid(left, parameters), right),
        (false, true) if is_number(&left_type) => (left, as_oid(right, parameters)),
        _ => (left, right),
    })
}

/// A value that names an object, as its OID; others as they are.
pub(super) fn as_oid(operand: Operand, parameters: &Parameters<'_>) -> Operand {
    if !operand.sql_type().names_objects() {
        return operand;
    }
    if *operand.sql_type() == SqlType::Regproc {
        let oid = ValueType::of(SqlType::Oid);
        return Operand { expr: relabelled(operand.expr, &oid), value_type: oid };
    }
    match parameters.catalog_function(&oid_of(&type_name(operand.sql_type()))) {
        Some(function) => Operand { expr: function.call(vec![operand.expr]), value_type: ValueType::of(SqlType::Oid) },
        None => operand,
    }
}

/// A literal or parameter as a value of a type that names objects, spelled as the type prints it.
fn as_name(operand: Operand, sql_type: &SqlType, parameters: &Parameters<'_>) -> SqlResult<Operand> {
    let text = operand.coerced(sql_type, parameters)?;
    if *sql_type == SqlType::Regproc {
        return Ok(Operand { expr: text, value_type: ValueType::of(sql_type.clone()) });
    }
    Ok(match parameters.catalog_function(&name_of(&type_name(sql_type))) {
        Some(function) => {
            Operand { expr: function.call(vec![as_text(text)]), value_type: ValueType::of(sql_type.clone()) }
        }
        None => Operand { expr: text, value_type: ValueType::of(sql_type.clone()) },
    })
}

/// A value under no other name than that of its layout.
fn as_text(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(value, _) => Expr::Literal(value, None),
        other => other,
    }
}

fn is_number(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Oid | SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
}

fn type_name(sql_type: &SqlType) -> String {
    sql_type.to_string()
}
