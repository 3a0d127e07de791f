//! Joins: what their conditions may name, and what USING and NATURAL merge.

use sqlparser::ast::{BinaryOperator, Ident, JoinConstraint, JoinOperator, ObjectName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::expr::Clause;
use super::from::unreachable;
use super::scope::{Item, Place, ScopeColumn, find};
use super::{Resolver, quoted};
use crate::syntax::{all, binary, boolean, call, fold};

/// Which side's rows are kept without a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Neither's, or the left one's.
    LeftOrNone,
    Right,
    Both,
}

impl Resolver<'_> {
    /// Resolves the condition of a join; `before` is what stands before it in the list.
    pub(super) fn join(
        &mut self,
        left: Item,
        right: Item,
        operator: &mut JoinOperator,
        before: &[Item],
    ) -> SqlResult<Item> {
        let of_left = left.sources.len();
        let (misses_left, misses_right) = missing_sides(operator);
        let mut item = self.joined(left, right, operator, before)?;
        // In the condition both rows are there.
        for (place, source) in item.sources.iter_mut().enumerate() {
            source.row.may_be_missing |= if place < of_left { misses_left } else { misses_right };
        }
        Ok(item)
    }

    fn joined(&mut self, left: Item, right: Item, operator: &mut JoinOperator, before: &[Item]) -> SqlResult<Item> {
        let (constraint, kept) = constraint_of(operator)?;
        let Some(constraint) = constraint else { return Ok(side_by_side(left, right)) };
        let names = match constraint {
            JoinConstraint::On(condition) => {
                let mut scope = unreachable(before);
                scope.items = vec![side_by_side(left, right)];
                let (mut scope, _) = self.within(scope, |r| r.expr(condition, Clause::JoinCondition))?;
                return Ok(scope.items.remove(0));
            }
            JoinConstraint::Using(names) => names.iter().filter_map(using_name).collect(),
            JoinConstraint::Natural => common_names(&left, &right),
            JoinConstraint::None => {
                return Err(SqlError::new(ErrorKind::Syntax, "syntax error: JOIN needs ON or USING"));
            }
        };
        let merged = names.iter().map(|name| merge(name, &left, &right, kept)).collect::<SqlResult<Vec<_>>>()?;
        let equal = merged.iter().map(|m| binary(m.left.expr(), BinaryOperator::Eq, m.right.expr()));
        *constraint = JoinConstraint::On(if merged.is_empty() { boolean(true) } else { all(equal) });
        Ok(with_merged(merged, left, right))
    }
}

/// Whether a row of the result may be without one of the left side, and of the right side.
fn missing_sides(operator: &JoinOperator) -> (bool, bool) {
    use JoinOperator as Op;
    match operator {
        Op::Left(_) | Op::LeftOuter(_) => (false, true),
        Op::Right(_) | Op::RightOuter(_) => (true, false),
        Op::FullOuter(_) => (true, true),
        _ => (false, false),
    }
}

/// The constraint of a join of PostgreSQL's; none for a cross join.
fn constraint_of(operator: &mut JoinOperator) -> SqlResult<(Option<&mut JoinConstraint>, Kept)> {
    use JoinOperator as Op;
    match operator {
        Op::CrossJoin(JoinConstraint::None) => Ok((None, Kept::LeftOrNone)),
        Op::Join(c) | Op::Inner(c) | Op::Left(c) | Op::LeftOuter(c) => Ok((Some(c), Kept::LeftOrNone)),
        Op::Right(c) | Op::RightOuter(c) => Ok((Some(c), Kept::Right)),
        Op::FullOuter(c) => Ok((Some(c), Kept::Both)),
        _ => Err(SqlError::new(ErrorKind::Syntax, "syntax error: this kind of join is not PostgreSQL's")),
    }
}

fn side_by_side(mut left: Item, right: Item) -> Item {
    left.sources.extend(right.sources);
    left.columns.extend(right.columns);
    left
}

fn using_name(name: &ObjectName) -> Option<Ident> {
    name.0.last().and_then(|part| part.as_ident()).cloned()
}

/// The names that both sides have, in the left side's order.
fn common_names(left: &Item, right: &Item) -> Vec<Ident> {
    let in_right = |name: &str| right.columns.iter().any(|c| !c.hidden && c.name == name);
    left.columns.iter().filter(|c| !c.hidden && in_right(&c.name)).map(|c| quoted(&c.name)).collect()
}

/// One column of USING.
struct Merged {
    left: ScopeColumn,
    right: ScopeColumn,
    column: ScopeColumn,
}

fn merge(name: &Ident, left: &Item, right: &Item, kept: Kept) -> SqlResult<Merged> {
    let in_side = |item: &Item, side: &str| match find(item.columns.iter(), name) {
        Ok(Some(column)) => Ok(column.clone()),
        Ok(None) => {
            let message = format!("column \"{}\" specified in USING clause does not exist in {side} table", fold(name));
            Err(SqlError::new(ErrorKind::UndefinedColumn, message))
        }
        Err(_) => {
            let message = format!("common column name \"{}\" appears more than once in {side} table", fold(name));
            Err(SqlError::new(ErrorKind::AmbiguousColumn, message))
        }
    };
    let (left, right) = (in_side(left, "left")?, in_side(right, "right")?);
    let place = match kept {
        Kept::LeftOrNone => left.place.clone(),
        Kept::Right => right.place.clone(),
        Kept::Both => Place::Merged(Box::new(call("coalesce", vec![left.expr(), right.expr()]))),
    };
    let column = ScopeColumn { name: left.name.clone(), hidden: false, place };
    Ok(Merged { left, right, column })
}

/// The merged columns come first; what they were made of is known by its table's name only.
fn with_merged(merged: Vec<Merged>, left: Item, right: Item) -> Item {
    let is_merged =
        |column: &ScopeColumn| merged.iter().any(|m| column.place == m.left.place || column.place == m.right.place);
    let rest: Vec<ScopeColumn> = left.columns.iter().chain(&right.columns).filter(|c| !is_merged(c)).cloned().collect();
    let columns = merged.into_iter().map(|m| m.column).chain(rest).collect();
    Item { sources: left.sources.into_iter().chain(right.sources).collect(), columns }
}
