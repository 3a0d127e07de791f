//! CASE, COALESCE, NULLIF, GREATEST and LEAST: values of one type, of which one is chosen.

use sqlparser::ast::{CaseWhen, Expr};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Binder;
use crate::catalogue::oids;
use crate::coerce::common_modifier;
use crate::expr::{BoundExpr, ExprKind, Literal};
use crate::place::{AtPlace, Place};

/// # Errors
/// 0A000 where a part would have to be computed for some rows only, and gives rows of its own.
fn without_rows(bound: BoundExpr, construct: &str) -> SqlResult<BoundExpr> {
    match bound.place_of_rows() {
        Some(place) => {
            let message = format!("set-returning functions are not allowed in {construct}");
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_hint("You might be able to move the set-returning function into a LATERAL FROM item.")
                .at_place(place))
        }
        None => Ok(bound),
    }
}

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        place: Place,
        operand: Option<&Expr>,
        branches: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> SqlResult<BoundExpr> {
        let operand = match operand {
            None => None,
            Some(operand) => {
                let operand = self.bind(operand)?;
                Some(if operand.is_unknown() {
                    self.typing.coerce_to_common(operand, oids::TEXT, "CASE")?
                } else {
                    operand
                })
            }
        };
        let mut conditions = Vec::with_capacity(branches.len());
        let mut results = Vec::with_capacity(branches.len() + 1);
        for branch in branches {
            let mut condition = self.bind(&branch.condition)?;
            if let Some(operand) = &operand {
                let start = condition.place;
                let at = || self.source.and_then(|source| source.before(start, &["WHEN"])).unwrap_or(Place::NOWHERE);
                let at = at();
                let value = BoundExpr::new(ExprKind::CaseOperand, operand.ty, Place::NOWHERE);
                condition = self.typing.operation("=", value, condition, &|| at)?;
            }
            conditions.push(self.typing.coerce_to_boolean(condition, "CASE/WHEN")?);
            results.push(self.bind(&branch.result)?);
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.bind(otherwise)?,
            None => self.unknown(Literal::Null, Place::NOWHERE),
        };
        // What ELSE gives counts first.
        let common = self.lookup.common_type(std::iter::once(&otherwise).chain(&results), "CASE")?;
        let otherwise = self.typing.coerce_to_common(otherwise, common, "CASE/ELSE")?;
        let results = results.into_iter().map(|result| self.typing.coerce_to_common(result, common, "CASE/WHEN"));
        let results = results.collect::<SqlResult<Vec<_>>>()?;
        let modifier = common_modifier(results.iter().chain([&otherwise]), common);
        let ty = self.lookup.made_of(common, modifier, results.iter().chain([&otherwise]))?;
        let branches = conditions.into_iter().zip(results).collect();
        let kind = ExprKind::Case { operand: operand.map(Box::new), branches, otherwise: Box::new(otherwise) };
        without_rows(BoundExpr::new(kind, ty, place), "CASE")
    }

    pub(super) fn coalesce(&mut self, arguments: Vec<BoundExpr>, place: Place) -> SqlResult<BoundExpr> {
        without_rows(self.of_one_type(arguments, "COALESCE", place, ExprKind::Coalesce)?, "COALESCE")
    }

    pub(super) fn of_one_type(
        &mut self,
        arguments: Vec<BoundExpr>,
        context: &str,
        place: Place,
        kind: fn(Vec<BoundExpr>) -> ExprKind,
    ) -> SqlResult<BoundExpr> {
        let (arguments, common) = self.typing.coerce_all(arguments, context)?;
        let ty = self.lookup.made_of(common, common_modifier(&arguments, common), &arguments)?;
        Ok(BoundExpr::new(kind(arguments), ty, place))
    }

    pub(super) fn null_if(&mut self, left: BoundExpr, right: BoundExpr, place: Place) -> SqlResult<BoundExpr> {
        let found = self.typing.comparison("=", "NULLIF", left, right, &|| place)?;
        let ty = self.lookup.made_of(found.left.oid(), -1, [&found.left, &found.right])?;
        let (left, right) = (Box::new(found.left), Box::new(found.right));
        Ok(BoundExpr::new(ExprKind::NullIf { operator: found.operator, left, right }, ty, place))
    }
}
