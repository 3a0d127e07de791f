//! CASE.

use datafusion::logical_expr::{Case, Expr};
use tablegate_bind::expr::{BoundExpr, ExprKind, Literal};
use tablegate_types::error::{SqlError, SqlResult};

use super::Surroundings;
use super::guards::counts;
use crate::expr::meaning::Meaning;
use crate::expr::pass::Pass;

impl Pass<'_> {
    pub(super) fn bound_case(
        &self,
        operand: Option<&BoundExpr>,
        branches: &[(BoundExpr, BoundExpr)],
        otherwise: &BoundExpr,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let parts = branches.iter().flat_map(|(when, then)| [when, then]).chain([otherwise]);
        let is_guarded = { parts }.any(counts);
        let subject = match operand {
            None => None,
            Some(operand) => Some(Box::new(self.bound(operand, around)?)),
        };
        let mut when_then = Vec::with_capacity(branches.len());
        let mut not_before: Option<Expr> = None;
        for (when, then) in branches {
            let (own, counts_on) = (when, counts(when));
            let when = match (&subject, &when.kind) {
                (None, _) => when,
                (Some(_), ExprKind::Operation { links, .. }) if links.len() == 1 => &links[0].operand,
                (Some(_), _) => return Err(SqlError::not_supported("a comparison of this kind in CASE")),
            };
            let when = self.where_taken(not_before.clone(), || self.bound(when, around))?;
            let mut taken = None;
            if is_guarded && !counts_on {
                let condition = match &subject {
                    None => when.clone(),
                    Some(subject) => {
                        let operands =
                            [(**subject).clone(), when.clone()].map(|one| self.operand(one, around.schema()));
                        let operands = operands.into_iter().collect::<Result<_, _>>()?;
                        self.call(Meaning::Binary(operator_of(own).to_owned()), operands, around.schema())?
                    }
                };
                taken = Some(condition.clone().is_true());
                not_before = Some(match not_before.clone() {
                    None => condition.is_not_true(),
                    Some(before) => before.and(condition.is_not_true()),
                });
            }
            let then = self.where_taken(taken, || self.bound(then, around))?;
            when_then.push((Box::new(when), Box::new(then)));
        }
        // NULL that nobody wrote has no type of its own: it is of the type that a branch has.
        let is_of_branch = branches.iter().any(|(_, then)| then.without_implicit_casts().ty.oid == otherwise.ty.oid);
        let otherwise = match otherwise.kind {
            ExprKind::Constant(Literal::Null) if is_of_branch => None,
            _ => Some(Box::new(self.where_taken(not_before, || self.bound(otherwise, around))?)),
        };
        Ok(self.case(Case::new(subject, when_then, otherwise), around.schema())?)
    }
}

/// The operator by which CASE compares.
fn operator_of(when: &BoundExpr) -> &'static str {
    match &when.kind {
        ExprKind::Operation { links, .. } => links.first().map_or("=", |link| link.operator.name),
        _ => "=",
    }
}
