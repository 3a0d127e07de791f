//! Sub-queries inside of expressions: their plans are those of the queries around.

use datafusion::common::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{Expr, Operator};
use tablegate_bind::expr::{ExprKind, SubQueryUse};

use super::{Surroundings, formed};
use crate::expr::operation::comparison_operator;
use crate::expr::pass::{Pass, raised};

impl Pass<'_> {
    pub(super) fn bound_sub_query(
        &self,
        number: usize,
        used: &SubQueryUse,
        around: &dyn Surroundings,
    ) -> Result<Option<Expr>> {
        let (test, is_any) = match used {
            SubQueryUse::Exists => {
                let subquery = formed!(around.sub_query(number).map_err(raised));
                return Ok(Some(Expr::Exists(Exists { subquery, negated: false })));
            }
            SubQueryUse::Value => {
                return Ok(Some(Expr::ScalarSubquery(formed!(around.sub_query(number).map_err(raised)))));
            }
            SubQueryUse::Any(test) => (test, true),
            SubQueryUse::All(test) => (test, false),
            SubQueryUse::Array | SubQueryUse::Row(_) => return Ok(None),
        };
        let ExprKind::Operation { first, links } = &test.without_implicit_casts().kind else { return Ok(None) };
        let [link] = links.as_slice() else { return Ok(None) };
        if !matches!(link.operand.without_implicit_casts().kind, ExprKind::SubQueryColumn(0)) {
            return Ok(None);
        }
        let Some(op) = comparison_operator(link.operator.name) else { return Ok(None) };
        let expr = Box::new(formed!(self.bound(first, around)));
        let subquery = formed!(around.sub_query(number).map_err(raised));
        match (op, is_any) {
            (Operator::Eq, true) | (Operator::NotEq, false) => {
                self.in_subquery(InSubquery { expr, subquery, negated: !is_any }, around.schema()).map(Some)
            }
            _ => {
                let quantifier = if is_any { SetQuantifier::Any } else { SetQuantifier::All };
                self.set_comparison(SetComparison { expr, subquery, op, quantifier }, around.schema()).map(Some)
            }
        }
    }
}
