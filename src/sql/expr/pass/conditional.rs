//! CASE, COALESCE and the like: one type for all the values they may give.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::core::{coalesce, greatest, least, nullif};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, Operator};
use tablegate_types::conversion::{common_type, is_same, without_parameters};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::predicate::{Truth, may_fail};
use super::sets::precision;
use super::{Pass, raised};
use crate::expr::chosen::{Chosen, FirstKnown};
use crate::expr::kernels::Computation;
use crate::expr::meaning::Meaning;
use crate::expr::operand::{Operand, relabelled};
use crate::expr::sort_key::{Purpose, key};
use crate::expr::typed::{Shape, ValueType};
use crate::expr::{comparison, literal, record};

/// What numbers that are written out say of the digits that are shown of values beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// As much as the values do.
    Count,
    /// Nothing: they stand for values that are not there, as in `coalesce(price, 0)` or `CASE WHEN paid THEN price ELSE 0 END`.
    StandIn,
}

impl Pass<'_> {
    /// The type that several values have in common.
    pub(super) fn common(&self, operands: &[&Operand], context: &str) -> SqlResult<ValueType> {
        self.common_where(operands, context, Numbers::Count)
    }

    pub(super) fn common_where(&self, operands: &[&Operand], context: &str, numbers: Numbers) -> SqlResult<ValueType> {
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
        // A length or precision is that of a type only if all of them have it, and a literal has none.
        let common = without_parameters(&common_type(operands.iter().map(|operand| operand.sql_type()), context)?);
        let SqlType::Numeric(_) = common else { return Ok(ValueType::of(common)) };
        let (mut computed, mut literals): (Option<Shape>, Option<Shape>) = (None, None);
        // What is NULL has no digits.
        for operand in operands.iter().filter(|operand| !is_null(&operand.expr)) {
            let next = match &operand.expr {
                Expr::Literal(value, _) if operand.is_unknown() => literal_shape(value)?,
                _ => operand.shape().or_else(|| operand.is_unknown().then(Shape::bare)),
            };
            let stands_in = numbers == Numbers::StandIn && is_number(operand);
            let (Some(next), shape) = (next, if stands_in { &mut literals } else { &mut computed }) else { continue };
            *shape = Some(shape.map_or(next, |shape| shape.union(next)));
        }
        let shape = match (computed, literals) {
            (Some(computed), Some(literals)) => Some(computed.with_literals(literals)),
            (computed, literals) => computed.or(literals),
        };
        Ok(shape.unwrap_or_else(Shape::bare).value_type())
    }

    /// Values in the type they have in common.
    pub(super) fn unified(&self, operands: Vec<Operand>, context: &str) -> Result<(Vec<Expr>, ValueType)> {
        self.unified_where(operands, context, Numbers::Count)
    }

    fn unified_where(&self, operands: Vec<Operand>, context: &str, numbers: Numbers) -> Result<(Vec<Expr>, ValueType)> {
        let target = self.common_where(&operands.iter().collect::<Vec<_>>(), context, numbers).map_err(raised)?;
        let converted = operands.into_iter().map(|operand| operand.converted_to(&target, self.parameters()));
        Ok((converted.collect::<SqlResult<_>>().map_err(raised)?, target))
    }

    pub(super) fn case(&self, case: Case, schema: &DFSchema) -> Result<Expr> {
        let Case { expr, when_then_expr, else_expr } = case;
        let (whens, thens): (Vec<Expr>, Vec<Expr>) = when_then_expr.into_iter().map(|(w, t)| (*w, *t)).unzip();
        let (subject, whens) = match expr {
            Some(subject) => asked_once(self.compared_with(*subject, whens, schema)?),
            None => {
                let truths = whens.into_iter().map(|when| self.truth(when, "CASE/WHEN", schema));
                (None, truths.collect::<Result<_>>()?)
            }
        };
        let last = else_expr.map_or(Expr::Literal(ScalarValue::Null, None), |expr| *expr);
        // To PostgreSQL the default comes first.
        let values = std::iter::once(last).chain(thens).map(|value| self.operand(value, schema));
        let values = values.collect::<Result<Vec<_>>>()?;
        let declared_type = all_declared(&values.iter().collect::<Vec<_>>(), schema)?;
        let (values, target) = self.unified_where(values, "CASE", Numbers::StandIn)?;
        let mut values = values.into_iter();
        let last = values.next();
        let branches: Vec<(Expr, Expr)> = whens.into_iter().zip(values).collect();
        Ok(declared(cases(subject, branches, last, &target), declared_type))
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
    pub(super) fn first_of(&self, meaning: &Meaning, operands: Vec<Operand>, schema: &DFSchema) -> Result<Expr> {
        let all: Vec<&Operand> = operands.iter().collect();
        let common = self.common_where(&all, meaning.name(), Numbers::StandIn).map_err(raised)?;
        let operands = match (meaning, given(&operands)) {
            (Meaning::Coalesce, Some(given)) if given.iter().all(|o| is_same(o.sql_type(), &common.sql_type)) => given,
            _ => operands,
        };
        let declared_type = all_declared(&operands.iter().collect::<Vec<_>>(), schema)?;
        let (values, target) = self.unified_where(operands, meaning.name(), Numbers::StandIn)?;
        let is_greatest = *meaning == Meaning::Greatest;
        let keys: Option<Vec<Expr>> = values.iter().map(|value| key(value, &target.sql_type, Purpose::Order)).collect();
        let value = match (meaning, keys) {
            (Meaning::Greatest | Meaning::Least, Some(keys)) => Chosen::call(is_greatest, values, keys),
            (Meaning::Greatest, None) => greatest().call(values),
            (Meaning::Least, None) => least().call(values),
            _ if values.iter().any(Expr::is_volatile) => FirstKnown::call(values),
            _ => coalesce().call(values),
        };
        Ok(declared(labelled(value, &target), declared_type))
    }

    /// NULLIF is the left value, unless it equals the right one.
    pub(super) fn null_if(&self, left: Operand, right: Operand, schema: &DFSchema) -> Result<Expr> {
        let parameters = self.parameters();
        let left = match (left.is_unknown(), right.is_unknown()) {
            (true, true) => self.read(left, &SqlType::Text)?,
            (true, false) => {
                let to = right.sql_type().clone();
                self.read(left, &to)?
            }
            _ => left,
        };
        let declared_type = all_declared(&[&left], schema)?;
        let value = left.clone();
        let equal = comparison::compare(Operator::Eq, left, right, parameters).map_err(raised)?;
        let target = match value.value_type.clone() {
            // It is compared as text.
            ValueType { sql_type: SqlType::Varchar(_), .. } => ValueType::of(SqlType::Text),
            value_type => standard(value_type),
        };
        if let (true, Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })) =
            (value.expr.is_volatile(), &equal)
        {
            // It is computed once, as what it is compared as.
            let value = self.operand(nullif().call(vec![left.as_ref().clone(), right.as_ref().clone()]), schema)?;
            let value = self.cast_to(value, &target.sql_type).map_err(raised)?;
            return Ok(declared(labelled(value, &target), declared_type));
        }
        let null = literal::null(&target).map_err(raised)?;
        Ok(declared(cases(None, vec![(equal, null)], Some(value.expr), &target), declared_type))
    }

    /// A literal without a type, read as one.
    pub(super) fn read(&self, operand: Operand, to: &SqlType) -> Result<Operand> {
        let expr = operand.coerced(to, self.parameters()).map_err(raised)?;
        self.operand(expr, &DFSchema::empty())
    }
}

/// Whether it is written out as NULL, of whatever type.
fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

/// Whether it is a number that is written out.
fn is_number(operand: &Operand) -> bool {
    matches!(&operand.expr, Expr::Literal(value, _) if !value.is_null())
}

/// The subject of a CASE, and the values that it may equal, where it is compared with all of them as one type: then it is computed
/// once, as one that gives other values each time must be. A column is none; its conditions are as if they were written.
fn asked_once(conditions: Vec<Expr>) -> (Option<Expr>, Vec<Expr>) {
    let subject = match conditions.first() {
        Some(Expr::BinaryExpr(BinaryExpr { left, .. })) if !is_short(left) => left.as_ref().clone(),
        _ => return (None, conditions),
    };
    let is_asked = |condition: &Expr| matches!(condition, Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, .. }) if **left == subject);
    if !conditions.iter().all(is_asked) {
        return (None, conditions);
    }
    let value = |condition| match condition {
        Expr::BinaryExpr(BinaryExpr { right, .. }) => *right,
        other => other,
    };
    let values = conditions.into_iter().map(value).collect();
    (Some(subject), values)
}

/// Whether it is a column, or a constant: conditions of constants are decided before the statement runs.
fn is_short(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
        Expr::Cast(cast) => is_short(&cast.expr),
        Expr::Alias(alias) => is_short(&alias.expr),
        other => !other.is_volatile() && !other.any_column_refs() && !other.contains_outer(),
    }
}

/// A CASE of conditions, or of values that the subject may equal.
fn cases(subject: Option<Expr>, branches: Vec<(Expr, Expr)>, last: Option<Expr>, target: &ValueType) -> Expr {
    let subject = subject.map(Box::new);
    let truths = target.sql_type == SqlType::Bool && branches.iter().any(|(_, value)| may_fail(value))
        || last.as_ref().is_some_and(may_fail);
    let boxed = |branches: Vec<(Expr, Expr)>| branches.into_iter().map(|(w, t)| (Box::new(w), Box::new(t))).collect();
    if truths && target.sql_type == SqlType::Bool {
        // The optimizer would turn a CASE of truth values into AND and OR, and compute all of its branches.
        let branches = branches.into_iter().map(|(when, value)| (when, Truth::to_number(value))).collect();
        let last = last.map(|value| Box::new(Truth::to_number(value)));
        return Truth::of_number(Expr::Case(Case::new(subject, boxed(branches), last)));
    }
    labelled(Expr::Case(Case::new(subject, boxed(branches), last.map(Box::new))), target)
}

/// Of the arguments of COALESCE those that it may give, as far as constants tell: none is NULL, and one that is there is the
/// last. `None` when that says nothing.
fn given(operands: &[Operand]) -> Option<Vec<Operand>> {
    let constant = |operand: &Operand| match &operand.expr {
        Expr::Literal(value, _) => Some(!value.is_null()),
        _ => None,
    };
    let known = operands.iter().filter(|operand| constant(operand) != Some(false));
    let end = known.clone().position(|operand| constant(operand) == Some(true)).map_or(usize::MAX, |last| last + 1);
    let given: Vec<Operand> = known.take(end).cloned().collect();
    (!given.is_empty()).then_some(given)
}

/// The type that all declare with the same precision: then what is chosen among them has it, too.
pub(super) fn all_declared(operands: &[&Operand], schema: &DFSchema) -> Result<Option<SqlType>> {
    let mut all = None;
    for operand in operands {
        // What is chosen among quotients has the layout that all of them have room in.
        let declared =
            precision(operand.expr.to_field(schema)?.1.as_ref()).filter(|declared| *declared != SqlType::Quotient);
        if declared.is_none() || all.as_ref().is_some_and(|all| Some(all) != declared.as_ref()) {
            return Ok(None);
        }
        all = declared;
    }
    Ok(all)
}

/// The expression with its precision said to be declared, if it is.
fn declared(expr: Expr, sql_type: Option<SqlType>) -> Expr {
    match sql_type {
        Some(sql_type) => Computation::declared(&sql_type, expr),
        None => expr,
    }
}

/// The expression with its type said where its layout does not.
pub(super) fn labelled(expr: Expr, target: &ValueType) -> Expr {
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
    let value = literal::read(text, &SqlType::Numeric(None), Reading::default())?;
    let data_type = value.data_type();
    Ok(Shape::of(&ValueType { sql_type: SqlType::of_arrow(&data_type), data_type }))
}
