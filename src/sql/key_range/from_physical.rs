//! Reads physical expressions: filters that are known only while a query runs.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::predicate::{KeyPredicate, KeyView, Operand};

/// Reads expressions over some of a relation's columns.
pub(super) struct PhysicalReader<'a> {
    pub keys: KeyView<'a>,
    /// The names of the columns that the expressions number.
    pub columns: &'a [&'a str],
    /// Lists of more items are not read: the joins that make such lists also give the least and greatest key, and so
    /// many look-ups take longer than a scan between these.
    pub max_items: usize,
}

impl PhysicalReader<'_> {
    /// What an expression says about keys.
    pub(super) fn predicate(&self, expr: &Arc<dyn PhysicalExpr>) -> KeyPredicate {
        let within = |e: &Arc<dyn PhysicalExpr>| self.predicate(e);
        let side = |e: &Arc<dyn PhysicalExpr>| self.operand(e);
        if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return dynamic.current().map_or(KeyPredicate::UNKNOWN, |current| within(&current));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return match binary.op() {
                Operator::And => {
                    KeyPredicate::And(flatten_physical(expr, Operator::And).into_iter().map(within).collect())
                }
                Operator::Or => {
                    KeyPredicate::Or(flatten_physical(expr, Operator::Or).into_iter().map(within).collect())
                }
                operator => match truth_test(*operator, binary.right()) {
                    Some((outcome, negated)) => within(binary.left()).is(outcome).negate_if(negated),
                    None => KeyPredicate::binary(*operator, &side(binary.left()), &side(binary.right())),
                },
            };
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            if list.list().len() > self.max_items {
                return KeyPredicate::UNKNOWN;
            }
            let items = list.list().iter().map(side).collect();
            return KeyPredicate::in_list(&side(list.expr()), items).negate_if(list.negated());
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return KeyPredicate::Not(Box::new(within(not.arg())));
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>().filter(|like| !like.case_insensitive()) {
            return KeyPredicate::like(&side(like.expr()), &side(like.pattern()), '\\').negate_if(like.negated());
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return self.null_test(test.arg(), false);
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return self.null_test(test.arg(), true);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            // Joins that run in partitions choose among their filters by the hash of the key.
            let otherwise = case.else_expr().map_or(KeyPredicate::Literal(None), within);
            let branches = case.when_then_expr().iter().map(|(_, then)| within(then));
            return KeyPredicate::OneOf(branches.chain([otherwise]).collect());
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return match (call.fun().name(), call.args()) {
                ("starts_with", [tested, prefix]) => KeyPredicate::starts_with(&side(tested), &side(prefix)),
                _ => KeyPredicate::UNKNOWN,
            };
        }
        KeyPredicate::truth_of(&side(expr))
    }

    fn null_test(&self, tested: &Arc<dyn PhysicalExpr>, negated: bool) -> KeyPredicate {
        match self.operand(tested) {
            Operand::Column { .. } => KeyPredicate::Literal(Some(negated)),
            _ => self.predicate(tested).is(None).negate_if(negated),
        }
    }

    fn operand(&self, expr: &Arc<dyn PhysicalExpr>) -> Operand {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return match self.columns.get(column.index()) {
                Some(name) => Operand::column(&self.keys, name),
                None => Operand::Unknown,
            };
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Operand::Literal(literal.value().clone());
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.operand(cast.expr()).cast(cast.cast_type(), false);
        }
        if let Some(cast) = expr.downcast_ref::<TryCastExpr>() {
            return self.operand(cast.expr()).cast(cast.cast_type(), true);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let arguments = call.args().iter().map(|argument| self.operand(argument)).collect();
            return Operand::row_of(call.fun().name(), arguments);
        }
        Operand::Unknown
    }
}

/// IS TRUE and its like are comparisons with a constant here: the outcome asked for, and whether any but this one.
fn truth_test(operator: Operator, right: &Arc<dyn PhysicalExpr>) -> Option<(Option<bool>, bool)> {
    let negated = match operator {
        Operator::IsDistinctFrom => true,
        Operator::IsNotDistinctFrom => false,
        _ => return None,
    };
    match right.downcast_ref::<Literal>()?.value() {
        ScalarValue::Boolean(outcome) => Some((*outcome, negated)),
        _ => None,
    }
}

/// The operands of a chain of one operator, in order. Not recursive: a chain can be thousands long.
pub(crate) fn flatten_physical(expr: &Arc<dyn PhysicalExpr>, operator: Operator) -> Vec<&Arc<dyn PhysicalExpr>> {
    let mut operands = Vec::new();
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match expr.downcast_ref::<BinaryExpr>() {
            Some(binary) if *binary.op() == operator => open.extend([binary.right(), binary.left()]),
            _ => operands.push(expr),
        }
    }
    operands
}
