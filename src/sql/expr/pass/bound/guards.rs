//! Calls that count a sequence on, in parts of an expression that are computed for some rows only.
//!
//! A plan calls `nextval` before the expression is computed, for all rows. So the name of the sequence is made absent for rows
//! that do not take the branch: `CASE WHEN a THEN nextval('s') END` becomes `CASE WHEN a THEN nextval(CASE WHEN a THEN 's' END)
//! END`, and a sequence without a name does not count.

use datafusion::logical_expr::{Case, Expr};
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_types::error::SqlResult;

use crate::expr::pass::Pass;

/// Whether an expression counts a sequence on.
pub(super) fn counts(expr: &BoundExpr) -> bool {
    expr.any(&mut |part| matches!(&part.kind, ExprKind::Call { function, .. } if function.name == "nextval"))
}

impl Pass<'_> {
    /// What is made where this condition holds, if there is one.
    pub(super) fn where_taken<T>(&self, condition: Option<Expr>, make: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        let before = self.taken.borrow().len();
        self.taken.borrow_mut().extend(condition);
        let made = make();
        self.taken.borrow_mut().truncate(before);
        made
    }

    /// The name of a sequence where the branch around it is taken.
    pub(super) fn name_where_taken(&self, name: Expr) -> Expr {
        let conditions = self.taken.borrow().iter().cloned().reduce(Expr::and);
        match conditions {
            None => name,
            Some(condition) => Expr::Case(Case::new(None, vec![(Box::new(condition), Box::new(name))], None)),
        }
    }

    /// Parts of which each is computed where those before it leave the answer open: `is_open` says of one that it does. One that
    /// counts itself cannot be computed twice, and says nothing.
    pub(super) fn one_by_one(
        &self,
        parts: &[BoundExpr],
        make: &dyn Fn(&BoundExpr) -> SqlResult<Expr>,
        is_open: &dyn Fn(Expr) -> Expr,
    ) -> SqlResult<Vec<Expr>> {
        if !parts.iter().skip(1).any(counts) {
            return parts.iter().map(make).collect();
        }
        let mut open: Option<Expr> = None;
        let mut made = Vec::with_capacity(parts.len());
        for part in parts {
            let expr = self.where_taken(open.clone(), || make(part))?;
            if !counts(part) {
                let is_open = is_open(expr.clone());
                open = Some(match open {
                    Some(open) => open.and(is_open),
                    None => is_open,
                });
            }
            made.push(expr);
        }
        Ok(made)
    }
}
