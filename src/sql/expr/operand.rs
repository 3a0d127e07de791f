//! An expression with its type, and its implicit casts to other types.

use arrow::datatypes::Field;
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator};
use tablegate_types::conversion::{is_same, is_text};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::kernels::{self, Computation, RELABEL};
use super::parameters::Parameters;
use super::typed::{Shape, ValueType};
use super::{comparison, literal, references};
use crate::calls;

/// An expression whose own parts have their final types.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub expr: Expr,
    pub value_type: ValueType,
}

impl Operand {
    /// # Errors
    /// When the expression is of columns that the schema does not have.
    pub(super) fn of(expr: Expr, schema: &dyn ExprSchema) -> Result<Self> {
        let value_type = type_of(&expr, schema)?;
        Ok(Self { expr, value_type })
    }

    pub(super) fn sql_type(&self) -> &SqlType {
        &self.value_type.sql_type
    }

    /// Whether it has no type yet: a literal in quotes, NULL, a parameter that stands alone.
    pub(super) fn is_unknown(&self) -> bool {
        self.value_type.is_unknown()
    }

    /// The value of a constant that has a type.
    pub(super) fn constant(&self) -> Option<&ScalarValue> {
        match &self.expr {
            Expr::Literal(value, _) if !self.is_unknown() => Some(value),
            _ => None,
        }
    }

    /// How many digits it has, a constant no more than it is written with; `None` for what is not an exact number.
    pub(super) fn shape(&self) -> Option<Shape> {
        self.constant().and_then(Shape::of_literal).or_else(|| Shape::of(&self.value_type))
    }

    /// As an operand of type `to`, which has no parameters: what an operator asks for. Numbers that are to be numeric keep
    /// the layout they have.
    ///
    /// # Errors
    /// The errors of the type's input function, for a literal without a type.
    pub(super) fn coerced(self, to: &SqlType, parameters: &Parameters) -> SqlResult<Expr> {
        if self.is_unknown() {
            return self.read(to, parameters);
        }
        if matches!(to, SqlType::Numeric(_)) && self.shape().is_some() {
            return Ok(self.expr);
        }
        if is_text(self.sql_type()) && is_text(to) {
            return Ok(self.expr);
        }
        let standard = ValueType::of(to.clone());
        if is_same(self.sql_type(), to) && self.value_type.data_type == standard.data_type {
            return Ok(self.expr);
        }
        self.converted(&standard, parameters)
    }

    /// As [`Operand::coerced`], with the type it has then: what a function asks for. Integers that are to be numeric become so.
    ///
    /// # Errors
    /// As [`Operand::coerced`].
    pub(super) fn into_argument(self, to: &SqlType, parameters: &Parameters) -> SqlResult<Self> {
        if self.is_unknown() {
            let expr = self.read(to, parameters)?;
            return Ok(Operand::of(expr, &DFSchema::empty())?);
        }
        let value_type = match (to, self.shape()) {
            (SqlType::Numeric(_), Some(shape)) if !matches!(self.sql_type(), SqlType::Numeric(_)) => shape.value_type(),
            (SqlType::Numeric(_), Some(_)) => return Ok(self),
            _ => ValueType::of(to.clone()),
        };
        let is_text = is_text(self.sql_type()) && is_text(to);
        if is_text || is_same(self.sql_type(), to) && self.value_type.data_type == value_type.data_type {
            return Ok(self);
        }
        Ok(Self { expr: self.converted(&value_type, parameters)?, value_type })
    }

    /// As a value of exactly this type, by a cast that loses nothing.
    ///
    /// # Errors
    /// As [`Operand::coerced`].
    pub(super) fn converted_to(self, to: &ValueType, parameters: &Parameters) -> SqlResult<Expr> {
        if self.is_unknown() {
            let expr = self.read(&to.sql_type, parameters)?;
            return match (&expr, Shape::of(to)) {
                // It was read with the digits it has.
                (Expr::Literal(value, _), Some(_)) if value.data_type() != to.data_type => {
                    let value = literal::cast(value, &SqlType::of_arrow(&value.data_type()), to, Reading::default())?;
                    Ok(literal::literal(value, &to.sql_type))
                }
                _ => Ok(expr),
            };
        }
        if self.value_type == *to {
            return Ok(self.expr);
        }
        self.converted(to, parameters)
    }

    fn converted(self, to: &ValueType, parameters: &Parameters) -> SqlResult<Expr> {
        if self.sql_type().names_objects() && to.sql_type == SqlType::Oid {
            return Ok(references::as_oid(self, parameters).expr);
        }
        if let Some(value) = self.constant() {
            let reading = Reading { style: parameters.style(), now: None };
            let value = literal::cast(value, self.sql_type(), to, reading)?;
            return Ok(literal::literal(value, &to.sql_type));
        }
        if is_text(self.sql_type()) && is_text(&to.sql_type) {
            return Ok(self.expr);
        }
        if self.value_type.data_type == to.data_type {
            return Ok(relabelled(self.expr, to));
        }
        if self.is_widened_by_arrow(to, parameters.style()) {
            // A field of its own would say of the cast that it may be NULL, which the plan knows better.
            let cast = Expr::Cast(Cast::new(Box::new(self.expr), to.data_type.clone()));
            return Ok(if to.is_obvious() { cast } else { relabelled(cast, to) });
        }
        Ok(Computation::cast(&self.value_type.sql_type, to.clone(), self.expr))
    }

    /// Whether the planner's own cast does the same: the optimizer sees through it.
    fn is_widened_by_arrow(&self, to: &ValueType, style: Style) -> bool {
        use SqlType::{Date, Float4, Float8, Int2, Int4, Int8, Numeric, Oid, Timestamp, Timestamptz};
        match (self.sql_type(), &to.sql_type) {
            // Functions of the planner give unsigned integers, and times in nanoseconds.
            (Int8, Int8) | (Timestamp, Timestamp) | (Timestamptz, Timestamptz) => true,
            (Int2, Int4 | Int8 | Float4 | Float8)
            | (Int4, Int8 | Float8)
            | (Int8, Float8)
            | (Float4, Float8)
            | (Oid, Int8)
            | (Date, Timestamp) => true,
            // A plan is made for one time zone.
            (Date | Timestamp, Timestamptz) => style.is_in_utc(),
            (Int2 | Int4 | Int8 | Numeric(_), Numeric(_)) => match (Shape::of(&self.value_type), Shape::of(to)) {
                (Some(from), Some(to)) => from.whole <= to.whole && from.scale <= to.scale,
                _ => false,
            },
            _ => false,
        }
    }

    /// A literal or parameter without a type, taken for one of type `to`.
    fn read(self, to: &SqlType, parameters: &Parameters) -> SqlResult<Expr> {
        Ok(match self.expr {
            Expr::Literal(value, _) => match value.try_as_str().flatten() {
                Some(text) => literal::reading(text, to, parameters)?,
                None => literal::null(&ValueType::of(to.clone()))?,
            },
            // The length in the type is that of no column.
            Expr::Placeholder(Placeholder { id, .. }) if matches!(to, SqlType::Char(_)) => {
                parameters.take_for(id, &SqlType::Text)
            }
            Expr::Placeholder(Placeholder { id, .. }) => parameters.take_for(id, to),
            Expr::Alias(alias) => {
                let inner = Operand { expr: *alias.expr, value_type: self.value_type };
                inner.read(to, parameters)?
            }
            other => other,
        })
    }
}

/// The same values, said to be of a type whose layout they have.
pub(super) fn relabelled(expr: Expr, to: &ValueType) -> Expr {
    Computation::call(&RELABEL, None, to.clone(), vec![expr])
}

/// The same values, said to be of a field's type, where Arrow's type does not say all of it: the engine forgets that of a CASE.
pub(crate) fn known_as(expr: Expr, field: &Field) -> Expr {
    let known = ValueType::of_field(field);
    if known.is_obvious() || known.is_unknown() { expr } else { relabelled(expr, &known) }
}

/// What the engine says of an expression's type, without asking all that is in it where the outermost part tells: it is asked
/// at every level.
fn type_of(expr: &Expr, schema: &dyn ExprSchema) -> Result<ValueType> {
    if is_untyped(expr) {
        return Ok(ValueType::of(SqlType::Unknown));
    }
    let field = match expr {
        Expr::Column(column) => return Ok(ValueType::of_field(schema.field_from_column(column)?)),
        Expr::Alias(alias) if alias.metadata.is_none() => return type_of(&alias.expr, schema),
        Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::SetComparison(_) => return Ok(ValueType::boolean()),
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            return Ok(ValueType::boolean());
        }
        Expr::BinaryExpr(binary) if comparison::symbol(binary.op).is_some() => return Ok(ValueType::boolean()),
        Expr::ScalarFunction(call) => kernels::field_of(&call.func).or_else(|| calls::field_of(&call.func)),
        _ => None,
    };
    match field {
        Some(field) => Ok(ValueType::of_field(&field)),
        None => Ok(ValueType::of_field(&expr.to_field(schema)?.1)),
    }
}

/// Whether the expression has no type yet.
pub(super) fn is_untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Utf8(_), None) => true,
        Expr::Literal(value, None) => value.is_null(),
        Expr::Placeholder(Placeholder { field: None, .. }) => true,
        Expr::Alias(alias) => is_untyped(&alias.expr),
        _ => false,
    }
}
