//! Sub-queries that never run.
//!
//! A select over a relation that is always empty never evaluates its select list. psql's sub-queries there (members
//! of publications, roles of policies) use lateral forms that cannot be planned, so they are dropped.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Array, CaseWhen, CastKind, DataType, Expr, Function, FunctionArguments, GroupByExpr, JoinOperator, Select,
    SelectItem, TableFactor, TableWithJoins, Value, VisitorMut,
};

use super::forms::{string, value};
use super::subqueries::has_aggregate;
use crate::pg_catalog::relations;
use crate::syntax::walk_mut;

/// Drops the sub-queries of a select list that no row reaches.
pub(super) fn drop_from_projection(select: &mut Select) {
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let aggregates = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => has_aggregate(expr),
        _ => false,
    });
    if !ungrouped || aggregates || !select.from.iter().any(is_empty_source) {
        return;
    }
    for item in &mut select.projection {
        let _ = walk_mut(item, &mut Drops);
    }
}

/// Whether an item of FROM has no rows: an always empty relation, not only on the outer side of a join.
pub(super) fn is_empty_source(from: &TableWithJoins) -> bool {
    let mut empty = is_empty_relation(&from.relation);
    for join in &from.joins {
        let right = is_empty_relation(&join.relation);
        empty = match &join.join_operator {
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => empty || right,
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => empty,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => right,
            JoinOperator::FullOuter(_) => empty && right,
            _ => false,
        };
    }
    empty
}

fn is_empty_relation(factor: &TableFactor) -> bool {
    let TableFactor::Table { name, args: None, .. } = factor else { return false };
    super::layout_of(name).is_some_and(relations::is_always_empty)
}

struct Drops;

impl VisitorMut for Drops {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(_) => *expr = null_text(),
            Expr::Exists { .. } => *expr = value(Value::Boolean(false)),
            Expr::Function(Function { args: FunctionArguments::Subquery(_), .. }) => *expr = null_list(),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn null_text() -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value(Value::Null)),
        data_type: DataType::Text,
        array: false,
        format: None,
    }
}

/// NULL of a list type, which no cast can write.
pub(super) fn null_list() -> Expr {
    let never = CaseWhen {
        condition: value(Value::Boolean(false)),
        result: Expr::Array(Array { elem: vec![string("")], named: true }),
    };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![never],
        else_result: None,
    }
}
