//! AND and OR whose parts may fail.
//!
//! PostgreSQL computes a part only where those before it do not decide; the engine computes all of them for every row. So a
//! part that may fail stands behind a CASE, which the optimizer keeps as it is while it is of numbers:
//!
//! ```text
//! a AND f AND g    a AND CASE WHEN a IS NOT FALSE THEN
//!                            CASE WHEN f IS NOT FALSE THEN f AND g ELSE 0 END
//!                        ELSE 0 END
//! ```
//!
//! Parts that cannot fail stay visible beside it: scans read key ranges out of them. Each part is written a few times, never
//! once more for every part behind it.

use std::collections::HashSet;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, TableReference};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator, lit};

use super::predicate::{Truth, may_fail};
use crate::expr::operation::JOIN_OF_TEXTS;
use crate::syntax::{SHORT_ROW, balanced};

/// The expression with guards before all parts that may fail.
pub(super) fn guarded(expr: Expr) -> Result<Expr> {
    if !expr.exists(|part| Ok(chain_of(part).is_some()))? || !may_fail(&expr) {
        return Ok(expr);
    }
    let guarded = expr.transform_down(|part| match chain_of(&part) {
        None => Ok(Transformed::no(part)),
        Some(op) => {
            let mut parts = Vec::new();
            flatten(part, op, &mut parts);
            let parts = parts.into_iter().map(guarded).collect::<Result<Vec<_>>>()?;
            Ok(Transformed::new(chained(parts, op), true, TreeNodeRecursion::Jump))
        }
    })?;
    Ok(guarded.data)
}

/// The expression with each long row of `||` of texts as a balanced tree: it makes no difference to them how they are grouped.
pub(super) fn texts_evenly(expr: Expr) -> Result<Expr> {
    if !expr.exists(|part| Ok(is_long_row_of_texts(part)))? {
        return Ok(expr);
    }
    let even = expr.transform_down(|part| {
        let Some(function) = pair_of_texts(&part).filter(|_| is_long_row_of_texts(&part)).map(|call| call.func.clone())
        else {
            return Ok(Transformed::no(part));
        };
        let mut parts = Vec::new();
        flatten_texts(part, &mut parts);
        let pair = |left, right| Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), vec![left, right]));
        Ok(Transformed::yes(balanced(parts, pair).unwrap_or_else(|| lit(""))))
    })?;
    Ok(even.data)
}

/// Longer than a balanced tree of any row is deep.
fn is_long_row_of_texts(expr: &Expr) -> bool {
    const LONG: usize = 2 * SHORT_ROW;
    let mut rest = expr;
    let mut length = 0;
    while let Some([left, _]) = pair_of_texts(rest).map(|call| call.args.as_slice())
        && length <= LONG
    {
        length += 1;
        rest = left;
    }
    length > LONG
}

/// The function behind `||` of texts.
fn pair_of_texts(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == JOIN_OF_TEXTS && call.args.len() == 2 => Some(call),
        _ => None,
    }
}

/// The texts of a row from left to right.
fn flatten_texts(expr: Expr, parts: &mut Vec<Expr>) {
    let mut rest = vec![expr];
    while let Some(next) = rest.pop() {
        match next {
            Expr::ScalarFunction(call) if call.name() == JOIN_OF_TEXTS => rest.extend(call.args.into_iter().rev()),
            part => parts.push(part),
        }
    }
}

/// The same of what decides which rows of two relations go together. An equality between the two is no part that waits for others: it
/// is looked up, as PostgreSQL does it, among rows that have passed the conditions on theirs.
pub(super) fn guarded_condition(condition: Expr) -> Result<Expr> {
    let mut parts = Vec::new();
    flatten(condition, Operator::And, &mut parts);
    let (keys, others): (Vec<Expr>, Vec<Expr>) = parts.into_iter().partition(is_key_of_join);
    let others = joined(others, Operator::And).map(guarded).transpose()?;
    let keys = keys.into_iter().map(guarded).collect::<Result<Vec<_>>>()?;
    Ok(joined(keys.into_iter().chain(others).collect(), Operator::And).unwrap_or_else(|| lit(true)))
}

/// Whether each side of an equality is of other relations.
fn is_key_of_join(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return false };
    let (left, right) = (relations_of(left), relations_of(right));
    !left.is_empty() && !right.is_empty() && left.is_disjoint(&right)
}

/// What the columns of an expression are of; columns of a query around are those of another relation.
pub(crate) fn relations_of(expr: &Expr) -> HashSet<(bool, Option<&TableReference>)> {
    let mut relations = HashSet::new();
    // Nothing refuses.
    let _ = expr.apply(|part| {
        match part {
            Expr::Column(column) => _ = relations.insert((false, column.relation.as_ref())),
            Expr::OuterReferenceColumn(_, column) => _ = relations.insert((true, column.relation.as_ref())),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    relations
}

fn chain_of(expr: &Expr) -> Option<Operator> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => Some(*op),
        _ => None,
    }
}

/// The parts of a chain from left to right.
pub(super) fn flatten(expr: Expr, op: Operator, parts: &mut Vec<Expr>) {
    let mut rest = vec![expr];
    while let Some(next) = rest.pop() {
        match next {
            Expr::BinaryExpr(binary) if binary.op == op => rest.extend([*binary.right, *binary.left]),
            part => parts.push(part),
        }
    }
}

fn chained(parts: Vec<Expr>, op: Operator) -> Expr {
    let fails: Vec<bool> = parts.iter().map(may_fail).collect();
    let Some(last) = fails.iter().rposition(|fails| *fails).filter(|last| *last > 0) else {
        return joined(parts, op).unwrap_or_else(|| lit(op == Operator::And));
    };
    // From the last part that may fail to the front, parts that cannot taken together.
    let mut guard = parts[last].clone();
    let mut before = last;
    while before > 0 {
        let run = match fails[before - 1] {
            true => before - 1..before,
            false => fails[..before].iter().rposition(|fails| *fails).map_or(0, |fails| fails + 1)..before,
        };
        let start = run.start;
        if let Some(condition) = joined(parts[run].to_vec(), op) {
            // The first part stands beside all this, as do those that cannot fail.
            let is_beside = start == 0 || !fails[start];
            let value = if is_beside { guard } else { pair(condition.clone(), op, guard) };
            guard = behind(condition, op, value);
        }
        before = start;
    }
    let beside = parts.into_iter().zip(fails).enumerate().filter(|(place, (_, fails))| *place == 0 || !fails);
    joined(beside.map(|(_, (part, _))| part).chain([guard]).collect(), op).unwrap_or_else(|| lit(op == Operator::And))
}

/// All conditions as one; `None` when there are none. A long row is a tree that is not deep.
pub(crate) fn conjunction(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    joined(conditions.into_iter().collect(), Operator::And)
}

/// The same of conditions of which one is enough.
pub(crate) fn disjunction(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    joined(conditions.into_iter().collect(), Operator::Or)
}

pub(super) fn joined(parts: Vec<Expr>, op: Operator) -> Option<Expr> {
    balanced(parts, |left, right| pair(left, op, right))
}

fn pair(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) })
}

/// `value` only where the condition does not decide.
fn behind(condition: Expr, op: Operator, value: Expr) -> Expr {
    let (undecided, decided) = match op {
        Operator::And => (Expr::IsNotFalse(Box::new(condition)), 0),
        _ => (Expr::IsNotTrue(Box::new(condition)), 1),
    };
    let branches = vec![(Box::new(undecided), Box::new(Truth::to_number(value)))];
    Truth::of_number(Expr::Case(Case::new(None, branches, Some(Box::new(lit(decided))))))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::col;

    use tablegate_types::sql_type::SqlType;

    use super::*;
    use crate::calls::{Known, choose};
    use crate::expr::kernels::{CAST, Computation};
    use crate::expr::typed::ValueType;

    /// A part that may fail.
    fn cast(column: &str) -> Expr {
        Computation::call(&CAST, None, ValueType::boolean(), vec![col(column)])
    }

    fn size(expr: &Expr) -> usize {
        let mut nodes = 0;
        expr.apply(|_| {
            nodes += 1;
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        nodes
    }

    #[test]
    fn what_cannot_fail_stays_beside_the_guard() {
        let plain = col("a").and(col("b")).or(col("c"));
        assert_eq!(guarded(plain.clone()).unwrap(), plain);
        let first = cast("f").and(col("a"));
        assert_eq!(guarded(first.clone()).unwrap(), first);
        let expr = guarded(col("a").and(cast("f")).and(col("b"))).unwrap();
        let expected = "a AND b AND CASE WHEN a IS NOT FALSE THEN CAST(cast(f) AS Int32) ELSE Int32(0) END = Int32(1)";
        assert_eq!(expr.to_string(), expected);
    }

    #[test]
    fn an_equality_of_two_relations_is_not_guarded() {
        let reading = |column: &str| Computation::reading(ValueType::of(SqlType::Int4), col(column));
        let key = reading("a.x").eq(col("b.y"));
        let kept = guarded_condition(col("b.z").and(key.clone())).unwrap();
        assert_eq!(kept, key.and(col("b.z")));
        let of_one = guarded_condition(col("a.z").and(reading("a.x").eq(col("a.y")))).unwrap();
        assert!(of_one.to_string().contains("CASE"), "{of_one}");
    }

    #[test]
    fn long_rows_of_texts_are_not_deep() {
        let row = |parts: usize| joined_as_written((0..parts).map(|n| col(format!("c{n}"))).collect());
        let short = row(20);
        assert_eq!(texts_evenly(short.clone()).unwrap(), short);
        let even = texts_evenly(row(2_000)).unwrap();
        let depth = |mut expr: &Expr| {
            let mut depth = 0;
            while let Some(call) = pair_of_texts(expr) {
                (depth, expr) = (depth + 1, &call.args[0]);
            }
            depth
        };
        assert!(depth(&even) < 50, "{}", depth(&even));
        let mut parts = Vec::new();
        flatten_texts(even, &mut parts);
        assert_eq!(parts, (0..2_000).map(|n| col(format!("c{n}"))).collect::<Vec<_>>());
    }

    fn joined_as_written(parts: Vec<Expr>) -> Expr {
        let text = || Known { sql_type: SqlType::Text, data_type: SqlType::Text.arrow(), constant: None };
        let function = choose(JOIN_OF_TEXTS, &[SqlType::Text, SqlType::Text]).unwrap();
        let function = function.function(vec![text(), text()]).unwrap();
        parts.into_iter().reduce(|left, right| function.call(vec![left, right])).unwrap()
    }

    #[test]
    fn long_chains_stay_small() {
        let chain = |parts: usize| (0..parts).map(|_| cast("f")).reduce(Expr::and).unwrap();
        let (ten, twenty) = (size(&guarded(chain(10)).unwrap()), size(&guarded(chain(20)).unwrap()));
        assert!(twenty < 3 * ten, "{ten} and {twenty} nodes");
    }
}
