//! Operators between values of `character(n)`. They are kept without the spaces at their ends, which count for nothing where
//! they are compared; where a pattern is matched they are there.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::prelude::lit;
use tablegate_bind::catalogue::oids;
use tablegate_bind::catalogue::operators::Operator;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::{Pass, Surroundings};
use crate::expr::operand::Operand;

/// The function that takes a text's spaces from its end.
const WITHOUT_END: &str = "rtrim";

impl Pass<'_> {
    /// The left operand as the operator looks at it, beside the right one if there is one alone.
    pub(super) fn as_left_of(
        &self,
        operator: &Operator,
        operand: Operand,
        right: Option<&Expr>,
        around: &dyn Surroundings,
    ) -> SqlResult<Operand> {
        match (operator.left, operator.right, operand.sql_type()) {
            (oids::BPCHAR, oids::BPCHAR, _) => self.trimmed(operand, around),
            (oids::BPCHAR, oids::TEXT, SqlType::Char(length))
                if !right.is_some_and(|right| is_start(operator, right)) =>
            {
                let length = self.operand(lit(i32::try_from(*length).unwrap_or(i32::MAX)), around.schema())?;
                Ok(self.operand(self.bound_call("rpad", vec![operand, length], around)?, around.schema())?)
            }
            _ => Ok(operand),
        }
    }

    /// The right operand as the operator looks at it.
    pub(super) fn as_right_of(
        &self,
        operator: &Operator,
        operand: Operand,
        around: &dyn Surroundings,
    ) -> SqlResult<Operand> {
        if operator.right == oids::BPCHAR { self.trimmed(operand, around) } else { Ok(operand) }
    }

    /// The items of an array on the right as the operator looks at them.
    pub(super) fn items_as_compared(
        &self,
        operator: &Operator,
        array: Operand,
        around: &dyn Surroundings,
    ) -> SqlResult<Operand> {
        if operator.right != oids::BPCHAR {
            return Ok(array);
        }
        // None of them is as long as that, and all lose the spaces at their ends.
        let trimmed = SqlType::Array(Box::new(SqlType::Char(u32::MAX)));
        Ok(self.operand(self.cast_to(array, &trimmed)?, around.schema())?)
    }

    /// A text as a `character(n)`: spaces at its end count for nothing.
    pub(super) fn without_end(&self, text: Operand, around: &dyn Surroundings) -> SqlResult<Expr> {
        self.bound_call(WITHOUT_END, vec![text], around)
    }

    /// A value without a length may have spaces at its end.
    fn trimmed(&self, operand: Operand, around: &dyn Surroundings) -> SqlResult<Operand> {
        let is_text = matches!(operand.sql_type(), SqlType::Text | SqlType::Varchar(_));
        let Operand { expr, value_type } = operand;
        match expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => {
                let text = ScalarValue::from(text.trim_end_matches(' '));
                Ok(Operand { expr: Expr::Literal(text, metadata), value_type })
            }
            expr if is_text && !is_trimmed(&expr) => {
                let trimmed = self.without_end(Operand { expr, value_type }, around)?;
                Ok(self.operand(trimmed, around.schema())?)
            }
            expr => Ok(Operand { expr, value_type }),
        }
    }
}

fn is_trimmed(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == WITHOUT_END)
}

/// Whether a pattern matches whatever spaces are at the end of the text: it ends with a sign that is none, and anything may
/// follow.
fn is_start(operator: &Operator, pattern: &Expr) -> bool {
    let Expr::Literal(ScalarValue::Utf8(Some(pattern)), _) = pattern else { return false };
    let is_like = matches!(operator.name, "~~" | "!~~" | "~~*" | "!~~*");
    let start = pattern.strip_suffix('%').filter(|_| is_like);
    start.is_some_and(|start| !start.ends_with([' ', '_', '%', '\\']))
}
