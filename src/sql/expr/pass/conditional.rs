//! CASE, COALESCE and their kin: one type for all the values they may give.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::core::{coalesce, greatest, least};
use datafusion::logical_expr::{Case, Expr, Operator, ScalarUDF};

use super::predicate::{Truth, may_fail};
use super::{Pass, raised};
use crate::sql::error::SqlResult;
use crate::sql::expr::comparison;
use crate::sql::expr::conversion::common_type;
use crate::sql::expr::literal;
use crate::sql::expr::operand::{Operand, relabelled};
use crate::sql::expr::pending::Meaning;
use crate::sql::expr::record;
use crate::sql::expr::typed::{Shape, ValueType};
use crate::sql::types::SqlType;

impl Pass<'_> {
    /// The type that several values have in common.
    pub(super) fn common(&self, operands: &[&Operand], context: &str) -> SqlResult<ValueType> {
        if let Some((first, others)) = operands.split_first()
            && !first.is_unknown()
            && others.iter().all(|other| other.value_type == first.value_type)
        {
            return Ok(standard(first.value_type.clone()));
        }
        let rows = record::common_type(operands, context, &|fields| self.common(fields, context))?;
        if let Some(common) = rows {
            return Ok(common);
        }
        let common = common_type(operands.iter().map(|operand| operand.sql_type()), context)?;
        let SqlType::Numeric(_) = common else { return Ok(ValueType::of(common)) };
        let mut shape: Option<Shape> = None;
        for operand in operands {
            let next = match &operand.expr {
                Expr::Literal(value, _) if operand.is_unknown() => literal_shape(value)?,
                _ => operand.shape().or_else(|| operand.is_unknown().then(Shape::bare)),
            };
            shape = match (shape, next) {
                (Some(shape), Some(next)) => Some(shape.union(next)),
                (shape, next) => shape.or(next),
            };
        }
        Ok(shape.unwrap_or_else(Shape::bare).value_type())
    }

    /// Values in the type they have in common.
    pub(super) fn unified(&self, operands: Vec<Operand>, context: &str) -> Result<(Vec<Expr>, ValueType)> {
        let target = self.common(&operands.iter().collect::<Vec<_>>(), context).map_err(raised)?;
        let converted = operands.into_iter().map(|operand| operand.converted_to(&target, self.parameters()));
        Ok((converted.collect::<SqlResult<_>>().map_err(raised)?, target))
    }

    pub(super) fn case(&self, case: Case, schema: &DFSchema) -> Result<Expr> {
        let Case { expr, when_then_expr, else_expr } = case;
        let (whens, thens): (Vec<Expr>, Vec<Expr>) = when_then_expr.into_iter().map(|(w, t)| (*w, *t)).unzip();
        let whens = match expr {
            Some(subject) => self.compared_with(*subject, whens, schema)?,
            None => whens.into_iter().map(|when| self.truth(when, "CASE/WHEN", schema)).collect::<Result<_>>()?,
        };
        let last = else_expr.map_or(Expr::Literal(ScalarValue::Null, None), |expr| *expr);
        // To PostgreSQL the default comes first.
        let values = std::iter::once(last).chain(thens).map(|value| self.operand(value, schema));
        let (values, target) = self.unified(values.collect::<Result<_>>()?, "CASE")?;
        let mut values = values.into_iter();
        let last = values.next();
        let branches: Vec<(Expr, Expr)> = whens.into_iter().zip(values).collect();
        Ok(cases(branches, last, &target))
    }

    /// The conditions that the subject of a CASE equals each of the values.
    fn compared_with(&self, subject: Expr, values: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
        let compared = |value: Expr| {
            let (left, right) = (self.operand(subject.clone(), schema)?, self.operand(value, schema)?);
            comparison::compare(Operator::Eq, left, right, self.parameters()).map_err(raised)
        };
        values.into_iter().map(compared).collect()
    }

    /// COALESCE, GREATEST, LEAST.
    pub(super) fn first_of(&self, meaning: &Meaning, operands: Vec<Operand>) -> Result<Expr> {
        let (values, target) = self.unified(operands, meaning.name())?;
        let function: Arc<ScalarUDF> = match meaning {
            Meaning::Greatest => greatest(),
            Meaning::Least => least(),
            _ => coalesce(),
        };
        Ok(labelled(function.call(values), &target))
    }

    /// NULLIF is the left value, unless it equals the right one.
    pub(super) fn null_if(&self, left: Operand, right: Operand) -> Result<Expr> {
        let parameters = self.parameters();
        let left = match (left.is_unknown(), right.is_unknown()) {
            (true, true) => self.read(left, &SqlType::Text)?,
            (true, false) => {
                let to = right.sql_type().clone();
                self.read(left, &to)?
            }
            _ => left,
        };
        let value = left.clone();
        let equal = comparison::compare(Operator::Eq, left, right, parameters).map_err(raised)?;
        let target = standard(value.value_type.clone());
        let null = literal::null(&target).map_err(raised)?;
        Ok(cases(vec![(equal, null)], Some(value.expr), &target))
    }

    /// A literal without a type, read as one.
    pub(super) fn read(&self, operand: Operand, to: &SqlType) -> Result<Operand> {
        let expr = operand.coerced(to, self.parameters()).map_err(raised)?;
        self.operand(expr, &DFSchema::empty())
    }
}

/// A searched CASE.
fn cases(branches: Vec<(Expr, Expr)>, last: Option<Expr>, target: &ValueType) -> Expr {
    let truths = target.sql_type == SqlType::Bool && branches.iter().any(|(_, value)| may_fail(value))
        || last.as_ref().is_some_and(may_fail);
    let boxed = |branches: Vec<(Expr, Expr)>| branches.into_iter().map(|(w, t)| (Box::new(w), Box::new(t))).collect();
    if truths && target.sql_type == SqlType::Bool {
        // The optimizer would turn a CASE of truth values into AND and OR, and compute all of its branches.
        let branches = branches.into_iter().map(|(when, value)| (when, Truth::to_number(value))).collect();
        let last = last.map(|value| Box::new(Truth::to_number(value)));
        return Truth::of_number(Expr::Case(Case::new(None, boxed(branches), last)));
    }
    labelled(Expr::Case(Case::new(None, boxed(branches), last.map(Box::new))), target)
}

/// The expression with its type said where its layout does not.
fn labelled(expr: Expr, target: &ValueType) -> Expr {
    if target.is_obvious() { expr } else { relabelled(expr, target) }
}

/// The layout that expressions of a type have; the planner's own functions have others.
fn standard(value_type: ValueType) -> ValueType {
    match value_type.sql_type {
        SqlType::Numeric(_) => value_type,
        other => ValueType::of(other),
    }
}

/// How many digits a literal without a type has as a numeric.
fn literal_shape(value: &ScalarValue) -> SqlResult<Option<Shape>> {
    let Some(text) = value.try_as_str().flatten() else { return Ok(None) };
    let value = literal::read(text, &SqlType::Numeric(None))?;
    let data_type = value.data_type();
    Ok(Shape::of(&ValueType { sql_type: SqlType::of_arrow(&data_type), data_type }))
}
