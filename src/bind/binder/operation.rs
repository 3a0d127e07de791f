//! Operators, comparisons, and conditions of several parts.

use sqlparser::ast::{BinaryOperator, Expr, Spanned, UnaryOperator, Value, ValueWithSpan};
use sqlparser::tokenizer::Span;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::cast::unnested;
use super::{Binder, is_mark};
use crate::catalogue::CastContext;
use crate::catalogue::oids::{self, Oid};
use crate::expr::{BoundExpr, CallForm, ExprKind, ExprType, SubQueryUse, Test};
use crate::name::folded;
use crate::place::{AtPlace, Place, Source};

use crate::resolve::Asked;

/// What the first bound of BETWEEN SYMMETRIC is appended to, which the parser has no form for.
pub const SYMMETRIC: &str = "symmetric#";

/// What a row of conditions is joined by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    And,
    Or,
}

impl Binder<'_> {
    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &Expr) -> SqlResult<BoundExpr> {
        if op == UnaryOperator::Not {
            let value = self.bind(operand)?;
            let place = self.before(value.place, &["NOT"]);
            let value = self.typing.coerce_to_boolean(value, "NOT")?;
            return Ok(negated(value, place));
        }
        // The sign belongs to the number.
        if op == UnaryOperator::Minus
            && let Some((digits, negative, inner)) = self.signed(operand)
        {
            let place = self.before(inner, &["-"]);
            return Ok(self.number(digits, !negative, place));
        }
        let value = self.bind(operand)?;
        let name = op.to_string();
        let place = self.before(value.place, &[&name]);
        self.typing.prefix_operation(&name, value, place)
    }

    /// A number with the signs before it.
    fn signed<'e>(&self, expr: &'e Expr) -> Option<(&'e str, bool, Place)> {
        match unnested(expr) {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), span }) => {
                Some((digits, false, Place::start(*span)))
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                let (digits, negative, inner) = self.signed(expr)?;
                Some((digits, !negative, self.before(inner, &["-"])))
            }
            _ => None,
        }
    }

    /// Operators between operands. What is joined from the left is gone through, not down into.
    pub(super) fn binary(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        if let Expr::BinaryOp { op: BinaryOperator::And, .. } = expr {
            return self.row_of_conditions(expr, Joined::And);
        }
        if let Expr::BinaryOp { op: BinaryOperator::Or, .. } = expr {
            return self.row_of_conditions(expr, Joined::Or);
        }
        let mut steps = Vec::new();
        let mut first = expr;
        while let Expr::BinaryOp { left, op, right } = first {
            if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                break;
            }
            steps.push((left, op, right));
            first = left;
        }
        let mut bound = None;
        while let Some((left, op, right)) = steps.pop() {
            bound = Some(self.step(bound, left, op, right)?);
        }
        bound.ok_or_else(|| SqlError::new(ErrorKind::Internal, "an operator without operands"))
    }

    fn step(
        &mut self,
        bound: Option<BoundExpr>,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> SqlResult<BoundExpr> {
        if *op == BinaryOperator::Overlaps {
            return self.overlaps(left, right);
        }
        let name = operator_name(op)?;
        if is_row(unnested(left))
            && let Expr::Subquery(query) = unnested(right)
        {
            let source = self.source;
            let at = move || place_of(source, left, op, Place::NOWHERE);
            return self.compared_with_query(&name, SubQueryUse::Row, left, query, &at);
        }
        let bound_left = match bound {
            Some(bound) => bound,
            None => self.bind(left)?,
        };
        let bound_right = self.bind(right)?;
        let (source, start) = (self.source, bound_right.place);
        let at = move || place_of(source, left, op, start);
        match (&bound_left.kind, &bound_right.kind) {
            (ExprKind::Row(_), ExprKind::Row(_)) => self.rows(&name, bound_left, bound_right, &at),
            _ => self.typing.operation(&name, bound_left, bound_right, &at),
        }
    }

    /// `a AND b AND c` is one AND of three: PostgreSQL's grammar joins them from the left, and looks through parentheses
    /// there.
    fn row_of_conditions(&mut self, expr: &Expr, joined: Joined) -> SqlResult<BoundExpr> {
        let (wanted, name) = match joined {
            Joined::And => (BinaryOperator::And, "AND"),
            Joined::Or => (BinaryOperator::Or, "OR"),
        };
        let mut parts = Vec::new();
        let mut waiting = vec![(expr, true)];
        while let Some((next, is_first)) = waiting.pop() {
            let inner = if is_first { unnested(next) } else { next };
            match inner {
                Expr::BinaryOp { left, op, right } if *op == wanted => {
                    waiting.push((right, false));
                    waiting.push((left, is_first));
                }
                part => {
                    let part = self.bind(part)?;
                    parts.push(self.typing.coerce_to_boolean(part, name)?);
                }
            }
        }
        let place = parts.first().map_or(Place::NOWHERE, |first| first.place);
        let kind = if joined == Joined::And { ExprKind::And(parts) } else { ExprKind::Or(parts) };
        Ok(BoundExpr::new(kind, ExprType::BOOL, place))
    }

    pub(super) fn test(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        let (inner, test, is_negated, words) = match expr {
            Expr::IsNull(inner) => (inner, Test::Null, false, ""),
            Expr::IsNotNull(inner) => (inner, Test::Null, true, ""),
            Expr::IsTrue(inner) => (inner, Test::True, false, "IS TRUE"),
            Expr::IsNotTrue(inner) => (inner, Test::True, true, "IS NOT TRUE"),
            Expr::IsFalse(inner) => (inner, Test::False, false, "IS FALSE"),
            Expr::IsNotFalse(inner) => (inner, Test::False, true, "IS NOT FALSE"),
            Expr::IsUnknown(inner) => (inner, Test::Unknown, false, "IS UNKNOWN"),
            Expr::IsNotUnknown(inner) => (inner, Test::Unknown, true, "IS NOT UNKNOWN"),
            other => return Err(SqlError::not_supported(format!("the test {other}"))),
        };
        let value = self.bind(inner)?;
        let value = if test == Test::Null { value } else { self.typing.coerce_to_boolean(value, words)? };
        Ok(tested(value, test, is_negated))
    }

    pub(super) fn distinct(&mut self, left: &Expr, right: &Expr, is_not: bool) -> SqlResult<BoundExpr> {
        let end = left.span().end;
        let source = self.source;
        let at = move || source.and_then(|source| source.behind(end, &["IS"], 0)).unwrap_or(Place::NOWHERE);
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        // Compared with NULL it is a test for NULL.
        if right.is_null_literal() && right.is_unknown() {
            return Ok(tested(left, Test::Null, !is_not));
        }
        if left.is_null_literal() && left.is_unknown() {
            return Ok(tested(right, Test::Null, !is_not));
        }
        let place = left.place;
        let bound = self.unlike(left, right, &at)?;
        Ok(if is_not { negated(bound, place) } else { bound })
    }

    fn unlike(&mut self, left: BoundExpr, right: BoundExpr, at: &dyn Fn() -> Place) -> SqlResult<BoundExpr> {
        let place = left.place;
        match (left.kind, right.kind) {
            (ExprKind::Row(ours), ExprKind::Row(theirs)) => {
                if ours.len() != theirs.len() {
                    let message = "unequal number of entries in row expressions";
                    return Err(SqlError::new(ErrorKind::Syntax, message).at_place(at()));
                }
                let pairs = ours.into_iter().zip(theirs);
                let mut parts = pairs.map(|(one, other)| self.unlike(one, other, at)).collect::<SqlResult<Vec<_>>>()?;
                Ok(match parts.len() {
                    1 => parts.remove(0),
                    _ => BoundExpr::new(ExprKind::Or(parts), ExprType::BOOL, place),
                })
            }
            (left_kind, right_kind) => {
                let (left, right) = (BoundExpr { kind: left_kind, ..left }, BoundExpr { kind: right_kind, ..right });
                let found = self.typing.comparison("=", "IS DISTINCT FROM", left, right, at)?;
                self.lookup.made_of(oids::BOOL, -1, [&found.left, &found.right])?;
                let (left, right) = (Box::new(found.left), Box::new(found.right));
                let kind = ExprKind::Distinct { operator: found.operator, left, right };
                Ok(BoundExpr::new(kind, ExprType::BOOL, place))
            }
        }
    }

    pub(super) fn between(&mut self, value: &Expr, is_not: bool, low: &Expr, high: &Expr) -> SqlResult<BoundExpr> {
        let words: &[&str] = if is_not { &["NOT"] } else { &["BETWEEN"] };
        let end = value.span().end;
        let source = self.source;
        let at = move || source.and_then(|source| source.behind(end, words, 0)).unwrap_or(Place::NOWHERE);
        let value = self.bind(value)?;
        let place = value.place;
        let plain = without_marker(low);
        let (low, high) = (self.bind(plain.as_ref().unwrap_or(low))?, self.bind(high)?);
        if plain.is_none() {
            return self.between_bounds(is_not, value, low, high, &at);
        }
        // The bounds may stand either way round.
        let swapped = [self.repeated(&value)?, self.repeated(&high)?, self.repeated(&low)?];
        let mut parts = vec![self.between_bounds(is_not, value, low, high, &at)?];
        let [value, high, low] = swapped;
        parts.push(self.between_bounds(is_not, value, high, low, &at)?);
        let kind = if is_not { ExprKind::And(parts) } else { ExprKind::Or(parts) };
        Ok(BoundExpr::new(kind, ExprType::BOOL, place))
    }

    fn between_bounds(
        &mut self,
        is_not: bool,
        value: BoundExpr,
        low: BoundExpr,
        high: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        let place = value.place;
        let (from, to) = if is_not { ("<", ">") } else { (">=", "<=") };
        let again = self.repeated(&value)?;
        let from = self.compared(from, value, low, at)?;
        // The lower bound may have told which type a parameter is of.
        let again = match again.kind {
            ExprKind::Parameter(number) => self.typing.parameter(number, again.place)?,
            _ => again,
        };
        let parts = vec![from, self.compared(to, again, high, at)?];
        let kind = if is_not { ExprKind::Or(parts) } else { ExprKind::And(parts) };
        Ok(BoundExpr::new(kind, ExprType::BOOL, place))
    }

    fn compared(
        &mut self,
        name: &str,
        left: BoundExpr,
        right: BoundExpr,
        at: &dyn Fn() -> Place,
    ) -> SqlResult<BoundExpr> {
        match (&left.kind, &right.kind) {
            (ExprKind::Row(_), ExprKind::Row(_)) => self.rows(name, left, right, at),
            _ => self.typing.operation(name, left, right, at),
        }
    }

    /// PostgreSQL's `transformAExprIn`: what names no column becomes one array, the rest is compared one by one.
    pub(super) fn in_list(&mut self, value: &Expr, list: &[Expr], is_not: bool) -> SqlResult<BoundExpr> {
        let words: &[&str] = if is_not { &["NOT"] } else { &["IN"] };
        let end = value.span().end;
        let source = self.source;
        let at = move || source.and_then(|source| source.behind(end, words, 0)).unwrap_or(Place::NOWHERE);
        let name = if is_not { "<>" } else { "=" };
        let value = self.bind(value)?;
        let place = value.place;
        let mut items = self.bind_all(list)?;
        let mut parts = Vec::new();
        if let Some((common, array)) = self.array_of_constants(&value, &items) {
            let (constant, single): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| !item.names_columns());
            items = single;
            let constant = constant.into_iter().map(|item| self.typing.coerce_to_common(item, common, "IN"));
            let constant = constant.collect::<SqlResult<Vec<_>>>()?;
            let ty = self.lookup.made_of(array, -1, &constant)?;
            let kind = ExprKind::Array { items: constant, is_of_arrays: false };
            let array = BoundExpr::new(kind, ty, Place::NOWHERE);
            let value = self.repeated(&value)?;
            parts.push(self.typing.of_items(name, !is_not, value, array, &at)?);
        }
        for item in items {
            let value = self.repeated(&value)?;
            let part = self.compared(name, value, item, &at)?;
            parts.push(self.typing.coerce_to_boolean(part, "IN")?);
        }
        if let [_] = parts.as_slice() {
            return Ok(parts.remove(0));
        }
        let kind = ExprKind::InList { any: !is_not, comparisons: parts };
        Ok(BoundExpr::new(kind, ExprType::BOOL, place))
    }

    /// The type of those members that name no column, and of arrays of them, where there are several and they have one.
    fn array_of_constants(&self, value: &BoundExpr, items: &[BoundExpr]) -> Option<(Oid, Oid)> {
        let constant = items.iter().filter(|item| !item.names_columns()).map(BoundExpr::oid);
        let types: Vec<Oid> = std::iter::once(value.oid()).chain(constant).collect();
        if types.len() < 3 {
            return None;
        }
        let common = self.lookup.common_of(&types).ok().filter(|oid| *oid != oids::RECORD)?;
        let becomes = |oid: &Oid| self.lookup.can_coerce_one(*oid, common, CastContext::Implicit);
        types.iter().all(becomes).then_some((common, self.lookup.array(common)?))
    }

    /// LIKE, ILIKE and SIMILAR TO, each an operator, with its pattern made by a function where ESCAPE is said.
    pub(super) fn like(&mut self, expr: &Expr) -> SqlResult<BoundExpr> {
        let (value, pattern, escape, is_not, any, word, names) = match expr {
            Expr::Like { negated, any, expr, pattern, escape_char } => {
                (expr, pattern, escape_char, *negated, *any, "LIKE", ["~~", "!~~"])
            }
            Expr::ILike { negated, any, expr, pattern, escape_char } => {
                (expr, pattern, escape_char, *negated, *any, "ILIKE", ["~~*", "!~~*"])
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                (expr, pattern, escape_char, *negated, false, "SIMILAR", ["~", "!~"])
            }
            other => return Err(SqlError::not_supported(format!("the pattern {other}"))),
        };
        let name = if is_not { names[1] } else { names[0] };
        let words = if is_not { ["NOT"] } else { [word] };
        let end = value.span().end;
        let source = self.source;
        let at = move || source.and_then(|source| source.behind(end, &words, 0)).unwrap_or(Place::NOWHERE);
        if let (true, Expr::Subquery(query)) = (any, unnested(pattern)) {
            return self.compared_with_query(name, SubQueryUse::Any, value, query, &at);
        }
        let value = self.bind(value)?;
        let mut pattern = self.bind(pattern)?;
        if any {
            return self.typing.of_items(name, true, value, pattern, &at);
        }
        let function = if word == "SIMILAR" { "similar_to_escape" } else { "like_escape" };
        let escape = escape.as_ref().map(|escape| self.value(escape)).transpose()?;
        if escape.is_some() || word == "SIMILAR" {
            let arguments = std::iter::once(pattern).chain(escape).collect();
            pattern = self.called("pg_catalog", function, arguments, at())?;
        }
        self.typing.operation(name, value, pattern, &at)
    }

    pub(super) fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        any: bool,
    ) -> SqlResult<BoundExpr> {
        let name = operator_name(op)?;
        let source = self.source;
        let at = move || place_of(source, left, op, Place::NOWHERE);
        if let Expr::Subquery(query) = unnested(right) {
            let used = if any { SubQueryUse::Any } else { SubQueryUse::All };
            return self.compared_with_query(&name, used, left, query, &at);
        }
        let value = self.bind(left)?;
        let array = self.bind(right)?;
        self.typing.of_items(&name, any, value, array, &at)
    }

    /// A function that the grammar calls, by its name alone.
    pub(super) fn called(
        &mut self,
        schema: &str,
        name: &str,
        arguments: Vec<BoundExpr>,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let given: Vec<_> = arguments.iter().map(BoundExpr::oid).collect();
        let asked = Asked { schema: Some(schema), name, given: &given, names: &[], variadic: false };
        self.call_of(&asked, arguments, place, CallForm::Plain)
    }
}

/// Whether an expression is a row that is written out: `(a, b)`, or `ROW(a, b)`.
fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(_) => true,
        Expr::Function(call) => match call.name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|name| name.quote_style.is_none() && folded(name) == "row"),
            _ => false,
        },
        _ => false,
    }
}

/// Where an operator stands: behind its left operand, or before the right one, if that alone is known.
fn place_of(source: Option<&Source<'_>>, left: &Expr, op: &BinaryOperator, right: Place) -> Place {
    let text = op.to_string();
    let word = match op {
        BinaryOperator::PGCustomBinaryOperator(_) => "OPERATOR",
        _ => text.as_str(),
    };
    let place = source.and_then(|source| match left.span() {
        span if span == Span::empty() => source.before(right, &[word]),
        span => source.behind(span.end, &[word], 0),
    });
    place.unwrap_or(Place::NOWHERE)
}

/// The operator as the catalogue names it.
fn operator_name(op: &BinaryOperator) -> SqlResult<String> {
    Ok(match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => match parts.as_slice() {
            [name] => name.clone(),
            [schema, name] if schema == "pg_catalog" => name.clone(),
            _ => return Err(SqlError::not_supported(format!("the operator {op}"))),
        },
        other => other.to_string(),
    })
}

pub(super) fn negated(value: BoundExpr, place: Place) -> BoundExpr {
    let place = place.leftmost(value.place);
    BoundExpr::new(ExprKind::Not(Box::new(value)), ExprType::BOOL, place)
}

fn tested(value: BoundExpr, test: Test, negated: bool) -> BoundExpr {
    let place = value.place;
    BoundExpr::new(ExprKind::Test { value: Box::new(value), test, negated }, ExprType::BOOL, place)
}

/// The first bound of BETWEEN SYMMETRIC without the mark on its left; `None` where there is none.
fn without_marker(bound: &Expr) -> Option<Expr> {
    let Expr::BinaryOp { left, op, right } = bound else { return None };
    if matches!(&**left, Expr::Identifier(ident) if is_mark(ident, SYMMETRIC)) {
        return Some((**right).clone());
    }
    let left = Box::new(without_marker(left)?);
    Some(Expr::BinaryOp { left, op: op.clone(), right: right.clone() })
}
