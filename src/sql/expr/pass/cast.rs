//! CAST and `::`.

use datafusion::common::ScalarValue;
use datafusion::common::metadata::FieldMetadata;
use datafusion::logical_expr::{Cast, Expr};
use tablegate_types::conversion::{is_castable, is_text, name, with_dimensions_of};
use tablegate_types::edm;
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::sql_type::{CatalogType, SqlType, TimeLimits};
use tablegate_types::style::Reading;

use super::Pass;
use crate::expr::fold::is_immutable_cast;
use crate::expr::kernels::{CAST, Computation};
use crate::expr::operand::{Operand, relabelled};
use crate::expr::typed::ValueType;
use crate::expr::{literal, references};

impl Pass<'_> {
    pub(super) fn cast_to(&self, operand: Operand, to: &SqlType) -> SqlResult<Expr> {
        if let SqlType::Limited(limits) = to {
            return self.limited_to(operand, *limits);
        }
        let to = &with_dimensions_of(operand.sql_type(), to);
        let cast = self.converted(operand, to)?;
        Ok(if matches!(to, SqlType::Numeric(Some(_))) { declared(cast, to) } else { cast })
    }

    /// As a time type with limits: a literal is read with them, what has a type is cast and then limited.
    fn limited_to(&self, operand: Operand, limits: TimeLimits) -> SqlResult<Expr> {
        let to = SqlType::Limited(limits);
        if let (true, Expr::Literal(value, _)) = (operand.is_unknown(), &operand.expr)
            && let Some(text) = value.try_as_str().flatten()
        {
            return literal::reading(text, &to, self.parameters());
        }
        // What a number without a unit means is in the limits.
        if !operand.is_unknown() && is_text(operand.sql_type()) {
            return Ok(Computation::reading(ValueType::of(to), operand.expr));
        }
        let value = match self.converted(operand, limits.of().bare())? {
            Expr::Literal(value, _) => {
                let kept = edm::limited(&value.to_array()?, limits);
                return Ok(literal::literal(ScalarValue::try_from_array(&kept, 0)?, &to));
            }
            value => value,
        };
        Ok(Computation::limited(&to, value))
    }

    fn converted(&self, operand: Operand, to: &SqlType) -> SqlResult<Expr> {
        if operand.is_unknown() {
            return self.read_as(operand, to);
        }
        let from = operand.sql_type().clone();
        if !is_castable(&from, to) {
            // That there is such a cast has been found out before.
            return Err(SqlError::not_supported(format!("a cast of type {} to {}", name(&from), name(to))));
        }
        if from.names_objects() && matches!(to, SqlType::Oid | SqlType::Int4 | SqlType::Int8) {
            return references::as_oid(operand, self.parameters()).coerced(to, self.parameters());
        }
        if *to == SqlType::Numeric(None) && operand.constant().is_some_and(ScalarValue::is_null) {
            return literal::null(&ValueType::of(to.clone()));
        }
        let target = match (to, operand.shape()) {
            // Without a precision it keeps the digits it has.
            (SqlType::Numeric(None), Some(shape)) => shape.value_type(),
            _ => ValueType::of(to.clone()),
        };
        let reading = Reading { style: self.parameters().style(), now: None };
        if *to == SqlType::Catalog(CatalogType::Bit) && from != *to {
            return Err(no_bits());
        }
        // What asks settings waits for a row.
        if let Some(value) = operand.constant().filter(|_| is_immutable_cast(&from, to)) {
            return Ok(match literal::cast(value, &from, &target, reading) {
                Ok(value) => literal::literal(value, &target.sql_type),
                // It may stand in a branch that is not taken.
                Err(_) if is_text(&from) => Computation::reading(target, operand.expr),
                Err(_) => Computation::cast(&from, target, operand.expr),
            });
        }
        match to {
            // Its precision is no longer declared.
            SqlType::Numeric(None) if operand.value_type == target => Ok(relabelled(operand.expr, &target)),
            _ if is_text(&from) && !is_text(to) => Ok(Computation::reading(target, operand.expr)),
            _ if operand.value_type == target => Ok(operand.expr),
            // They have the layout of text, but not every text is one.
            SqlType::Json | SqlType::Jsonb => Ok(Computation::call(&CAST, None, target, vec![operand.expr])),
            SqlType::Array(item) if from != *to && not_every_text_is_one(item) => {
                Ok(Computation::cast(&from, target, operand.expr))
            }
            SqlType::Text | SqlType::Varchar(None) if is_text(&from) => Ok(relabelled(operand.expr, &target)),
            _ if is_text(to) => Ok(Computation::cast(&from, target, operand.expr)),
            _ => operand.converted_to(&target, self.parameters()),
        }
    }

    /// A literal without a type as one of this type, which may have a length: what is too long for it is cut.
    fn read_as(&self, operand: Operand, to: &SqlType) -> SqlResult<Expr> {
        let text = match &operand.expr {
            Expr::Literal(value, _) => value.try_as_str().flatten(),
            _ => None,
        };
        let value = match (text, to) {
            (Some(text), SqlType::Varchar(_) | SqlType::Char(_)) => {
                literal::cast(&text.into(), &SqlType::Text, &ValueType::of(to.clone()), Reading::default())?
            }
            (Some(text), SqlType::Numeric(None)) => literal::read(text, to, Reading::default())?,
            (Some(text), _) => return literal::reading(text, to, self.parameters()),
            // NULL, or a parameter, which the cast declares.
            (None, _) => return operand.coerced(to, self.parameters()),
        };
        let sql_type = match to {
            SqlType::Numeric(None) => SqlType::of_arrow(&value.data_type()),
            other => other.clone(),
        };
        Ok(literal::literal(value, &sql_type))
    }
}

/// Bit strings are shown as they are written, and nothing is made of them.
pub(super) fn no_bits() -> Box<SqlError> {
    SqlError::not_supported("a cast to type bit").with_hint("Keep bits as a number, or as text.")
}

/// Whether values of the type have the layout of text, and not every text is one.
fn not_every_text_is_one(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Json | SqlType::Jsonb | SqlType::Varchar(Some(_)) | SqlType::Char(_) | SqlType::Name)
}

/// A number whose type says that its precision is declared.
fn declared(number: Expr, sql_type: &SqlType) -> Expr {
    let field = sql_type.field("", true);
    match number {
        Expr::Literal(value, _) => Expr::Literal(value, Some(FieldMetadata::from(&field))),
        Expr::Cast(cast) => Expr::Cast(Cast::new_from_field(cast.expr, field.into())),
        other => Computation::declared(sql_type, other),
    }
}
