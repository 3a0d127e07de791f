//! What the parser binds otherwise than PostgreSQL.
//!
//! It takes all that follows `IS DISTINCT FROM` for the right operand, AND and OR too; and it binds `^` more tightly than the
//! minus before its left operand.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};
use tablegate_types::stack::deeper;

/// Binds an expression as PostgreSQL does; called on the outermost one of a kind first.
pub fn set_right(expr: &mut Expr) {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand }
            if matches!(&**operand, Expr::BinaryOp { op: BinaryOperator::PGExp, .. }) =>
        {
            let mut power = take(operand);
            negate_base(&mut power);
            *expr = power;
        }
        _ if swallows(expr) => {
            let mut words = Vec::new();
            flatten(take(expr), &mut words);
            *expr = Rebuild { words: words.into_iter().peekable() }.disjunction();
        }
        _ => {}
    }
}

/// Whether an expression is bound otherwise than PostgreSQL does.
pub(super) fn is_wrong(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            matches!(&**expr, Expr::BinaryOp { op: BinaryOperator::PGExp, .. })
        }
        other => swallows(other),
    }
}

/// Puts the minus before the leftmost base of a chain of powers.
fn negate_base(power: &mut Expr) {
    match power {
        Expr::BinaryOp { left, op: BinaryOperator::PGExp, .. } => negate_base(left),
        base => *base = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(take(base)) },
    }
}

/// Whether a condition, outside of parentheses, has an `IS DISTINCT FROM` that took too much.
fn swallows(expr: &Expr) -> bool {
    deeper(|| match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => is_condition(right) || swallows(right),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            swallows(left) || swallows(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => swallows(expr),
        _ => false,
    })
}

fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Value::Null.into()))
}

fn is_condition(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. })
}

/// A condition word by word, as it was written.
enum Word {
    And,
    Or,
    Not,
    Operand(Box<Expr>),
}

fn flatten(expr: Expr, words: &mut Vec<Word>) {
    match expr {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            flatten(*left, words);
            words.push(if op == BinaryOperator::And { Word::And } else { Word::Or });
            flatten(*right, words);
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            words.push(Word::Not);
            flatten(*expr, words);
        }
        Expr::IsDistinctFrom(left, right) => distinct(*left, *right, words, Expr::IsDistinctFrom),
        Expr::IsNotDistinctFrom(left, right) => distinct(*left, *right, words, Expr::IsNotDistinctFrom),
        other => words.push(Word::Operand(Box::new(other))),
    }
}

/// Only the first operand of what was taken for the right side is it.
fn distinct(left: Expr, right: Expr, words: &mut Vec<Word>, compare: fn(Box<Expr>, Box<Expr>) -> Expr) {
    let first = words.len();
    flatten(right, words);
    if let Some(Word::Operand(operand)) = words.get_mut(first) {
        **operand = compare(Box::new(left), Box::new(take(operand)));
    }
}

/// Puts the words together again: NOT binds before AND, AND before OR.
struct Rebuild<I: Iterator<Item = Word>> {
    words: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = Word>> Rebuild<I> {
    fn disjunction(&mut self) -> Expr {
        let mut left = self.conjunction();
        while self.words.next_if(|word| matches!(word, Word::Or)).is_some() {
            left = joined(left, BinaryOperator::Or, self.conjunction());
        }
        left
    }

    fn conjunction(&mut self) -> Expr {
        let mut left = self.negation();
        while self.words.next_if(|word| matches!(word, Word::And)).is_some() {
            left = joined(left, BinaryOperator::And, self.negation());
        }
        left
    }

    fn negation(&mut self) -> Expr {
        match self.words.next() {
            Some(Word::Not) => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(self.negation()) },
            Some(Word::Operand(operand)) => *operand,
            // No operand is ever missing between words.
            Some(Word::And | Word::Or) | None => Expr::Value(Value::Null.into()),
        }
    }
}

fn joined(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    /// The expression with parentheses around each of its parts.
    fn bound(sql: &str) -> String {
        let mut expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
        set_right(&mut expr);
        shown(&expr)
    }

    fn shown(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
            Expr::UnaryOp { op, expr } => format!("({op} {})", shown(expr)),
            Expr::IsDistinctFrom(left, right) => format!("({} ISD {})", shown(left), shown(right)),
            Expr::IsNotDistinctFrom(left, right) => format!("({} ISND {})", shown(left), shown(right)),
            other => other.to_string(),
        }
    }

    #[test]
    fn distinct_ends_before_and() {
        assert_eq!(bound("a IS DISTINCT FROM b AND c"), "((a ISD b) AND c)");
        assert_eq!(bound("a IS NOT DISTINCT FROM b OR c AND d"), "((a ISND b) OR (c AND d))");
        assert_eq!(bound("x AND a IS DISTINCT FROM b AND c OR d"), "(((x AND (a ISD b)) AND c) OR d)");
        assert_eq!(bound("NOT a IS DISTINCT FROM b OR c"), "((NOT (a ISD b)) OR c)");
        assert_eq!(bound("a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e"), "(((a ISD b) AND (c ISD d)) OR e)");
        assert_eq!(bound("a IS DISTINCT FROM (b AND c)"), "(a ISD (b AND c))");
        assert_eq!(bound("a IS DISTINCT FROM b = c"), "(a ISD (b = c))");
    }

    #[test]
    fn minus_binds_before_powers() {
        assert_eq!(bound("-2 ^ 2"), "((- 2) ^ 2)");
        assert_eq!(bound("-a ^ b ^ c"), "(((- a) ^ b) ^ c)");
        assert_eq!(bound("-(2 ^ 2)"), "(- (2 ^ 2))");
    }
}
