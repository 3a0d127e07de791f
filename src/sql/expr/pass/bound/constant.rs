//! Literals, and casts that are asked for.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use tablegate_bind::catalogue::oids::{self, Oid};
use tablegate_bind::catalogue::types::built_in;
use tablegate_bind::expr::{BoundExpr, CastMethod, ExprKind, Literal, Written};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::input::parse_text;
use tablegate_types::oid::declared_of_oid;
use tablegate_types::sql_type::{CatalogType, SqlType};
use tablegate_types::style::Reading;

use super::Surroundings;
use crate::expr::catalog_functions::{name_of, names_of};
use crate::expr::literal;
use crate::expr::operand::Operand;
use crate::expr::pass::Pass;
use crate::expr::pass::cast::no_bits;
use crate::expr::typed::ValueType;

impl Pass<'_> {
    pub(super) fn constant(&self, constant: &Literal, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        if type_of(expr).is_err() {
            // Of a row, or of a type that only the catalogue has: that which it is beside has the type.
            match constant {
                Literal::Null => return Ok(Expr::Literal(ScalarValue::Null, None)),
                Literal::Text(text) => {
                    check_is_read(expr.ty.oid)?;
                    return Ok(Expr::Literal(ScalarValue::from(&**text), None));
                }
                Literal::Value(_) | Literal::Read { .. } => {}
            }
        }
        let sql_type = type_of(expr)?;
        if expr.ty.oid == oids::BPCHAR {
            // It has the length of what it is beside, and spaces at its end count for nothing.
            let value = match constant {
                Literal::Read { text, .. } | Literal::Text(text) => ScalarValue::from(text.trim_end_matches(' ')),
                Literal::Null | Literal::Value(_) => ScalarValue::Null,
            };
            return Ok(Expr::Literal(value, None));
        }
        match constant {
            Literal::Null => literal::null(&ValueType::of(sql_type)),
            Literal::Value(ScalarValue::Boolean(truth)) => Ok(Expr::Literal(ScalarValue::Boolean(*truth), None)),
            Literal::Value(value) => Ok(literal::literal(value.clone(), &sql_type)),
            Literal::Read { text, .. } | Literal::Text(text) if asks_the_catalog(&sql_type) => {
                let text = self.operand(Expr::Literal(ScalarValue::from(&**text), None), around.schema())?;
                self.cast_of_catalog(text, &sql_type, around)
            }
            Literal::Read { .. } if sql_type == SqlType::Catalog(CatalogType::Bit) => Err(no_bits()),
            // The fields that it was read with may not be those of its type any more.
            Literal::Read { value, .. } if expr.ty.oid == oids::INTERVAL => {
                Ok(literal::literal(value.clone(), &sql_type))
            }
            Literal::Read { text, .. } => literal::reading(text, &sql_type, self.parameters()),
            Literal::Text(text) => match &sql_type {
                SqlType::Numeric(_) => number(text),
                SqlType::Unknown => Ok(Expr::Literal(ScalarValue::from(&**text), None)),
                SqlType::Text | SqlType::Varchar(_) => Ok(literal::literal(ScalarValue::from(&**text), &sql_type)),
                other => literal::reading(text, other, self.parameters()),
            },
        }
    }

    pub(super) fn empty_array(&self, array: &BoundExpr) -> SqlResult<Expr> {
        literal::reading("{}", &type_of(array)?, self.parameters())
    }

    pub(super) fn bound_cast(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let ExprKind::Cast { value, method, written, .. } = &expr.kind else {
            return Err(SqlError::not_supported("a cast of this kind"));
        };
        // A number that is cast where it stands is read as the type that it is cast to, so that `1e300::float8` is one.
        if let (ExprKind::Constant(Literal::Text(digits)), oids::NUMERIC) = (&value.kind, value.ty.oid)
            && !fits(digits)
        {
            return literal::reading(digits, &type_of(expr)?, self.parameters());
        }
        match (written, method) {
            // What is called takes no greater number, other than what is assigned to; and `real IN (0.1, 0.2)` compares as real.
            (Written::Implicitly, _) if is_narrowed(value.ty.oid, expr.ty.oid) => {
                self.cast_to(self.bound_operand(value, around)?, &type_of(expr)?)
            }
            (Written::Implicitly, _)
                if expr.ty.oid == oids::BPCHAR && matches!(value.ty.oid, oids::VARCHAR | oids::TEXT) =>
            {
                self.without_end(self.bound_operand(value, around)?, around)
            }
            (Written::Implicitly, _) => self.bound(value, around),
            (Written::Explicitly, CastMethod::Row | CastMethod::Domain) => {
                Err(SqlError::not_supported("a cast to a row type"))
            }
            (Written::Explicitly, _) if expr.ty.oid == oids::BPCHAR && expr.ty.typmod < 0 => {
                let text = self.cast_to(self.bound_operand(value, around)?, &SqlType::Text)?;
                self.without_end(self.operand(text, around.schema())?, around)
            }
            (Written::Explicitly, _) => {
                let to = type_of(expr)?;
                let operand = self.bound_operand(value, around)?;
                match asks_the_catalog(&to) {
                    true => self.cast_of_catalog(operand, &to, around),
                    false => self.cast_to(operand, &to),
                }
            }
        }
    }

    /// A parameter; one whose type names objects as what its value names.
    pub(super) fn named_by_parameter(&self, parameter: Expr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let operand = self.operand(parameter, around.schema())?;
        match operand.sql_type().names_objects() {
            true => self.bound_call(&name_of(&operand.sql_type().to_string()), vec![operand], around),
            false => Ok(operand.expr),
        }
    }

    /// A value as one of a type whose values name objects, or of the catalogue's `"char"`.
    fn cast_of_catalog(&self, operand: Operand, to: &SqlType, around: &dyn Surroundings) -> SqlResult<Expr> {
        if operand.sql_type() == to {
            return Ok(operand.expr);
        }
        let function = match to {
            SqlType::InternalChar => "catalog_char".to_owned(),
            SqlType::Array(item) => names_of(&item.to_string()),
            other => name_of(&other.to_string()),
        };
        self.bound_call(&function, vec![operand], around)
    }
}

/// # Errors
/// 0A000 for a type that values cannot have here.
pub(super) fn type_of(expr: &BoundExpr) -> SqlResult<SqlType> {
    let declared = declared_of_oid(expr.ty.oid, expr.ty.typmod);
    if matches!(expr.ty.oid, oids::BIT | oids::VARBIT) && expr.ty.typmod >= 0 {
        return Err(no_bits());
    }
    match declared {
        Some(declared) if is_value(&declared) => Ok(declared),
        Some(declared) => Err(SqlError::not_supported(format!("a value of type {declared}"))),
        None if expr.ty.oid == oids::NUMERIC => {
            Err(SqlError::not_supported("a numeric whose scale is negative, or greater than its precision")
                .with_hint("Use a scale between 0 and the precision, of at most 76."))
        }
        None => {
            check_is_read(expr.ty.oid)?;
            Err(SqlError::not_supported(format!("a value of the type with OID {}", expr.ty.oid)))
        }
    }
}

/// # Errors
/// 0A000 for a type whose values would be compared as their texts are: addresses, shapes, ranges and some others.
fn check_is_read(oid: Oid) -> SqlResult<()> {
    let Some(known) = built_in(oid) else { return Ok(()) };
    if known.is_array {
        return check_is_read(known.element);
    }
    let hint = match known.category {
        b'R' => "Keep its bounds in two columns.",
        b'I' | b'G' => "Keep it as text.",
        _ if matches!(
            oid,
            oids::TIMETZ
                | oids::MONEY
                | oids::MACADDR
                | oids::MACADDR8
                | oids::TSVECTOR
                | oids::TSQUERY
                | oids::VARBIT
                | oids::XML
        ) =>
        {
            "Keep it as text."
        }
        _ => return Ok(()),
    };
    Err(SqlError::not_supported(format!("a value of type {}", known.name)).with_hint(hint))
}

/// Whether a number becomes one of an integer type that may not have room for it.
fn is_narrowed(from: Oid, to: Oid) -> bool {
    let wider = [oids::INT4, oids::INT8, oids::NUMERIC, oids::FLOAT4, oids::FLOAT8];
    match to {
        oids::INT2 => wider.contains(&from),
        oids::INT4 => wider[1..].contains(&from),
        oids::FLOAT4 => from == oids::NUMERIC,
        _ => false,
    }
}

/// Most digits of a numeric.
const MAX_DIGITS: i64 = 76;

/// Whether a numeric has room for all digits of a number.
fn fits(number: &str) -> bool {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(i64::MAX)),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let whole = whole.trim_start_matches(['-', '0']);
    let before = length(whole).saturating_add(exponent).max(0);
    let behind = length(fraction).saturating_sub(exponent).max(0);
    before.saturating_add(behind) <= MAX_DIGITS
}

/// A number with the digits that it is written with.
///
/// # Errors
/// 22003 for more of them than there is room for.
fn number(text: &str) -> SqlResult<Expr> {
    if !fits(text) {
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format")
            .with_detail(format!("A numeric holds {MAX_DIGITS} digits.")));
    }
    let value = literal::read(text, &SqlType::Numeric(None), Reading::default())
        .or_else(|_| parse_text(&SqlType::Numeric(None), text))?;
    let sql_type = SqlType::of_arrow(&value.data_type());
    Ok(literal::literal(value, &sql_type))
}

/// Whether values of the type are made here.
fn is_value(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Array(item) => is_value(item),
        SqlType::Catalog(CatalogType::Bit | CatalogType::Xid) => true,
        SqlType::Catalog(_) => sql_type.names_objects(),
        SqlType::Record(_) | SqlType::Void => false,
        _ => true,
    }
}

fn asks_the_catalog(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Array(item) => item.names_objects(),
        other => other.names_objects() || *other == SqlType::InternalChar,
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn digits_are_counted_on_both_sides_of_the_point() {
        for (number, expected) in
            [("1", true), ("1e75", true), ("1e76", false), ("1e-76", true), ("1e-77", false), ("1.5e300", false)]
        {
            assert_eq!(fits(number), expected, "{number}");
        }
    }
}
