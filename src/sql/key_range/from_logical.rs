//! Reads logical expressions, as DataFusion's planner and simplifier write them.

use datafusion::logical_expr::expr::{InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::predicate::{KeyPredicate, KeyView, Operand};

/// Collects the expressions that the predicates refer to.
pub(super) struct Translator<'a> {
    keys: KeyView<'a>,
    sources: Vec<Expr>,
}

impl<'a> Translator<'a> {
    pub(super) fn new(keys: KeyView<'a>) -> Self {
        Self { keys, sources: Vec::new() }
    }

    /// What all of the filters say together.
    pub(super) fn conjunction(&mut self, filters: &[Expr]) -> KeyPredicate {
        KeyPredicate::And(filters.iter().map(|filter| self.predicate(filter)).collect())
    }

    /// What the sources of the predicates stand for.
    pub(super) fn into_sources(self) -> Vec<Expr> {
        self.sources
    }

    pub(super) fn predicate(&mut self, expr: &Expr) -> KeyPredicate {
        match expr {
            Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }) => {
                KeyPredicate::And(flatten(expr, Operator::And).into_iter().map(|e| self.predicate(e)).collect())
            }
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
                KeyPredicate::Or(flatten(expr, Operator::Or).into_iter().map(|e| self.predicate(e)).collect())
            }
            Expr::Not(inner) => KeyPredicate::Not(Box::new(self.predicate(inner))),
            Expr::Alias(alias) => self.predicate(&alias.expr),
            _ => {
                let inner = self.unsourced(expr);
                if matches!(inner, KeyPredicate::Literal(_)) {
                    return inner;
                }
                self.sources.push(expr.clone());
                inner.sourced(self.sources.len() - 1)
            }
        }
    }

    /// As [`Translator::predicate`], where the whole expression is evaluated if it cannot be decided.
    fn unsourced(&self, expr: &Expr) -> KeyPredicate {
        let within = |e: &Expr| Translator::new(self.keys).predicate(e);
        let test = |e: &Expr, outcome, negated| within(e).is(outcome).negate_if(negated);
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                KeyPredicate::binary(*op, &self.operand(left), &self.operand(right))
            }
            Expr::InList(InList { expr, list, negated }) => {
                let items = list.iter().map(|item| self.operand(item)).collect();
                KeyPredicate::in_list(&self.operand(expr), items).negate_if(*negated)
            }
            Expr::Between(between) => {
                let tested = self.operand(&between.expr);
                let low = KeyPredicate::binary(Operator::GtEq, &tested, &self.operand(&between.low));
                let high = KeyPredicate::binary(Operator::LtEq, &tested, &self.operand(&between.high));
                KeyPredicate::And(vec![low, high]).negate_if(between.negated)
            }
            Expr::Like(Like { negated, expr, pattern, escape_char, case_insensitive: false }) => {
                let escape = escape_char.unwrap_or('\\');
                KeyPredicate::like(&self.operand(expr), &self.operand(pattern), escape).negate_if(*negated)
            }
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                let negated = matches!(expr, Expr::IsNotNull(_));
                match self.operand(inner) {
                    Operand::Column { .. } => KeyPredicate::Literal(Some(negated)),
                    _ => test(inner, None, negated),
                }
            }
            Expr::IsTrue(inner) => test(inner, Some(true), false),
            Expr::IsNotTrue(inner) => test(inner, Some(true), true),
            Expr::IsFalse(inner) => test(inner, Some(false), false),
            Expr::IsNotFalse(inner) => test(inner, Some(false), true),
            Expr::IsUnknown(inner) => test(inner, None, false),
            Expr::IsNotUnknown(inner) => test(inner, None, true),
            Expr::Case(case) => {
                let otherwise = case.else_expr.as_deref().map_or(KeyPredicate::Literal(None), within);
                let branches = case.when_then_expr.iter().map(|(_, then)| within(then));
                KeyPredicate::OneOf(branches.chain([otherwise]).collect())
            }
            Expr::ScalarFunction(call) => match (call.name(), &*call.args) {
                ("starts_with", [tested, prefix]) => {
                    KeyPredicate::starts_with(&self.operand(tested), &self.operand(prefix))
                }
                _ => KeyPredicate::UNKNOWN,
            },
            _ => KeyPredicate::truth_of(&self.operand(expr)),
        }
    }

    fn operand(&self, expr: &Expr) -> Operand {
        match expr {
            Expr::Alias(alias) => self.operand(&alias.expr),
            Expr::Column(column) => Operand::column(&self.keys, &column.name),
            Expr::Literal(value, _) => Operand::Literal(value.clone()),
            Expr::Cast(cast) => self.operand(&cast.expr).cast(cast.field.data_type(), false),
            Expr::TryCast(cast) => self.operand(&cast.expr).cast(cast.field.data_type(), true),
            Expr::ScalarFunction(call) => {
                Operand::row_of(call.name(), call.args.iter().map(|argument| self.operand(argument)).collect())
            }
            _ => Operand::Unknown,
        }
    }
}

/// The operands of a chain of one operator, in order. Not recursive: a chain can be thousands long.
pub(crate) fn flatten(expr: &Expr, operator: Operator) -> Vec<&Expr> {
    let mut operands = Vec::new();
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == operator => open.extend([&**right, &**left]),
            _ => operands.push(expr),
        }
    }
    operands
}
