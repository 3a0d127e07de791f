//! One expression, whose parts are typed already.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InSubquery, Placeholder, ScalarFunction, SetComparison};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use tablegate_types::built_in::routines;
use tablegate_types::conversion;
use tablegate_types::error::SqlError;
use tablegate_types::oid::of_oid;
use tablegate_types::sql_type::SqlType;

use super::{Pass, raised};
use crate::expr::operand::Operand;
use crate::expr::pending::{Meaning, Pending};
use crate::expr::{comparison, function, literal, operation, record};

/// Digits of the largest unsigned integer of 64 bits.
const UNSIGNED_DIGITS: u8 = 20;

impl Pass<'_> {
    pub(super) fn typed(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        match expr {
            Expr::Literal(ScalarValue::Int64(Some(value)), None) => Ok(Expr::Literal(literal::integer(value), None)),
            Expr::Literal(ScalarValue::UInt64(Some(value)), None) => {
                Ok(Expr::Literal(ScalarValue::Decimal128(Some(value.into()), UNSIGNED_DIGITS, 0), None))
            }
            Expr::Literal(value @ (ScalarValue::Decimal128(..) | ScalarValue::Decimal256(..)), None) => {
                Ok(Expr::Literal(literal::without_exponent(value).map_err(raised)?, None))
            }
            Expr::Placeholder(placeholder) => {
                self.parameters().see(&placeholder.id);
                Ok(self.parameters().typed(placeholder))
            }
            Expr::OuterReferenceColumn(..) => self.outer_column(expr),
            Expr::Cast(cast) => self.cast(cast, schema),
            Expr::TryCast(_) => Err(raised(SqlError::not_supported("TRY_CAST").with_hint("Use CAST."))),
            Expr::BinaryExpr(binary) => self.binary(binary, schema),
            Expr::Negative(operand) => self.prefix("-", *operand, schema),
            Expr::Not(operand) => Ok(Expr::Not(Box::new(self.truth(*operand, "NOT", schema)?))),
            Expr::IsTrue(operand) => Ok(Expr::IsTrue(Box::new(self.truth(*operand, "IS TRUE", schema)?))),
            Expr::IsFalse(operand) => Ok(Expr::IsFalse(Box::new(self.truth(*operand, "IS FALSE", schema)?))),
            Expr::IsUnknown(operand) => Ok(Expr::IsUnknown(Box::new(self.truth(*operand, "IS UNKNOWN", schema)?))),
            Expr::IsNotTrue(operand) => Ok(Expr::IsNotTrue(Box::new(self.truth(*operand, "IS NOT TRUE", schema)?))),
            Expr::IsNotFalse(operand) => {
                Ok(Expr::IsNotFalse(Box::new(self.truth(*operand, "IS NOT FALSE", schema)?)))
            }
            Expr::IsNotUnknown(operand) => {
                Ok(Expr::IsNotUnknown(Box::new(self.truth(*operand, "IS NOT UNKNOWN", schema)?)))
            }
            Expr::IsNull(operand) => self.is_null(*operand, false, schema),
            Expr::IsNotNull(operand) => self.is_null(*operand, true, schema),
            Expr::Between(between) => self.between(between, schema),
            Expr::InList(list) => self.in_list(list, schema),
            Expr::Like(like) => self.like(like, schema),
            Expr::SimilarTo(like) => self.similar_to(like, schema),
            Expr::Case(case) => self.case(case, schema),
            Expr::ScalarFunction(function) => self.function(function, schema),
            Expr::AggregateFunction(function) => self.aggregate(function, schema),
            Expr::WindowFunction(function) => self.window(*function, schema),
            Expr::ScalarSubquery(subquery) => {
                Ok(Expr::ScalarSubquery(self.subquery(subquery, &Arc::new(schema.clone()))?))
            }
            Expr::Exists(mut exists) => {
                exists.subquery = self.subquery(exists.subquery, &Arc::new(schema.clone()))?;
                Ok(Expr::Exists(exists))
            }
            Expr::InSubquery(mut within) => {
                within.subquery = self.subquery(within.subquery, &Arc::new(schema.clone()))?;
                self.in_subquery(within, schema)
            }
            Expr::SetComparison(mut set) => {
                set.subquery = self.subquery(set.subquery, &Arc::new(schema.clone()))?;
                self.set_comparison(set, schema)
            }
            other => Ok(other),
        }
    }

    fn binary(&self, binary: BinaryExpr, schema: &DFSchema) -> Result<Expr> {
        let BinaryExpr { left, op, right } = binary;
        if matches!(op, Operator::And | Operator::Or) {
            return self.logic(*left, op, *right, schema);
        }
        let (left, right) = (self.operand(*left, schema)?, self.operand(*right, schema)?);
        if comparison::symbol(op).is_some() {
            return comparison::compare(op, left, right, self.parameters()).map_err(raised);
        }
        operation::binary(&op.to_string(), left, right, self.parameters()).map_err(raised)
    }

    /// A row is NULL when all of its fields are.
    pub(super) fn is_null(&self, operand: Expr, negated: bool, schema: &DFSchema) -> Result<Expr> {
        let operand = self.operand(operand, schema)?;
        Ok(match record::all_null(&operand, negated) {
            Some(all_null) => all_null,
            None if negated => Expr::IsNotNull(Box::new(operand.expr)),
            None => Expr::IsNull(Box::new(operand.expr)),
        })
    }

    fn prefix(&self, name: &str, operand: Expr, schema: &DFSchema) -> Result<Expr> {
        let operand = self.operand(operand, schema)?;
        operation::prefix(name, operand, self.parameters()).map_err(raised)
    }

    /// A function of the catalogue, whose parameters have the types that it asks for. What names an object may be given as a
    /// text.
    fn with_known_parameters(&self, mut function: ScalarFunction) -> ScalarFunction {
        let (name, count) = (function.func.name().to_owned(), function.args.len());
        for (index, argument) in function.args.iter_mut().enumerate() {
            let Expr::Placeholder(parameter @ Placeholder { field: None, .. }) = argument else { continue };
            let asked = routines::argument_type(&name, count, index).and_then(of_oid);
            if let Some(asked) = asked.filter(is_plain) {
                *argument = self.parameters().take_for(parameter.id.clone(), &asked);
            }
        }
        function
    }

    /// A function: one whose meaning waits for its arguments' types gets it, all others are as they are.
    pub(super) fn function(&self, function: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
        let Some(pending) = function.func.inner().downcast_ref::<Pending>() else {
            return Ok(Expr::ScalarFunction(self.with_known_parameters(function)));
        };
        let meaning = pending.meaning().clone();
        let mut operands = Vec::with_capacity(function.args.len());
        for argument in function.args {
            operands.push(self.operand(argument, schema)?);
        }
        self.call(meaning, operands, schema)
    }

    pub(super) fn call(&self, meaning: Meaning, mut operands: Vec<Operand>, schema: &DFSchema) -> Result<Expr> {
        let pair =
            |operands: Vec<Operand>| <[Operand; 2]>::try_from(operands).map_err(|_| raised(wrong_count(&meaning)));
        let parameters = self.parameters();
        match &meaning {
            Meaning::Binary(name) => {
                let [left, right] = pair(operands)?;
                operation::binary(name, left, right, self.parameters()).map_err(raised)
            }
            Meaning::Prefix(name) if name == "NOT" => match operands.pop() {
                Some(operand) => Ok(Expr::Not(Box::new(self.truth(operand.expr, "NOT", schema)?))),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Prefix(name) => match operands.pop() {
                Some(operand) => operation::prefix(name, operand, parameters).map_err(raised),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Any(name) => {
                let [left, right] = pair(operands)?;
                self.any(name, left, right, schema)
            }
            Meaning::All(name) => {
                let [left, right] = pair(operands)?;
                self.all(name, left, right, schema)
            }
            Meaning::Coalesce | Meaning::Greatest | Meaning::Least => self.first_of(&meaning, operands, schema),
            Meaning::NullIf => {
                let [left, right] = pair(operands)?;
                self.null_if(left, right, schema)
            }
            Meaning::Array => self.array(operands),
            Meaning::Row(layout) => record::row(layout, operands, parameters).map_err(raised),
            Meaning::Field(name) => match operands.pop() {
                Some(row) => record::field(name, row).map_err(raised),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::OfSorted(set) => self.of_sorted(*set, operands).map_err(raised),
            Meaning::Average => {
                let [sum, count] = pair(operands)?;
                self.average(sum, count)
            }
            Meaning::TypeOf => match operands.pop() {
                Some(operand) => {
                    let name = conversion::name(operand.sql_type());
                    Ok(literal::literal(ScalarValue::from(name), &SqlType::Regtype))
                }
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::CastTo(sql_type) => match operands.pop() {
                Some(operand) => self.cast_to(operand, sql_type).map_err(raised),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Function(name) => function::call(name, operands, parameters).map_err(raised),
            Meaning::Cast(name, to) => match operands.as_slice() {
                [operand] if operand.is_unknown() || conversion::is_castable(operand.sql_type(), to) => {
                    let operand = operand.clone();
                    self.cast_to(operand, to).map_err(raised)
                }
                _ => Err(raised(function::missing(name, &operands))),
            },
            Meaning::Truth(clause) => match operands.pop() {
                Some(operand) => self.truth(operand.expr, clause, schema),
                None => Err(raised(wrong_count(&meaning))),
            },
            Meaning::Missing(name) => Err(raised(function::missing(name, &operands))),
            Meaning::Value => match operands.pop() {
                Some(operand) => Ok(operand.expr),
                None => Err(raised(wrong_count(&meaning))),
            },
        }
    }

    pub(super) fn in_subquery(&self, mut within: InSubquery, schema: &DFSchema) -> Result<Expr> {
        let (expr, subquery) = self.beside_subquery(Operator::Eq, *within.expr, within.subquery, schema)?;
        within.expr = Box::new(expr);
        within.subquery = subquery;
        Ok(Expr::InSubquery(within))
    }

    pub(super) fn set_comparison(&self, mut set: SetComparison, schema: &DFSchema) -> Result<Expr> {
        let (expr, subquery) = self.beside_subquery(set.op, *set.expr, set.subquery, schema)?;
        set.expr = Box::new(expr);
        set.subquery = subquery;
        Ok(Expr::SetComparison(set))
    }
}

/// Whether values of the type are what they say, rather than names of something.
fn is_plain(sql_type: &SqlType) -> bool {
    use SqlType::{Bool, Float4, Float8, Int2, Int4, Int8, Interval, Oid, Text, Timestamptz};
    [Bool, Float4, Float8, Int2, Int4, Int8, Interval, Oid, Text, Timestamptz].contains(sql_type)
}

pub(super) fn wrong_count(meaning: &Meaning) -> Box<SqlError> {
    SqlError::new(
        tablegate_types::error::ErrorKind::Syntax,
        format!("{} has the wrong number of arguments", meaning.name()),
    )
}
