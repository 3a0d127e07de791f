//! Expressions that make a value one of another type.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::pathway::Pathway;
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, FunctionRef, functions};
use crate::constant;
use crate::expr::{BoundExpr, CastMethod, ExprKind, ExprType, Literal, Written};
use crate::place::{AtPlace, Place};
use crate::typing::Typing;

impl Typing<'_> {
    /// PostgreSQL's `coerce_to_target_type`: a value as one of a type with its modifier; `None` where it does not become
    /// one.
    ///
    /// # Errors
    /// What a literal's text is refused for.
    pub(crate) fn coerce_to_target(
        &mut self,
        expr: BoundExpr,
        target: Oid,
        typmod: i32,
        context: CastContext,
        written: Written,
        place: Place,
    ) -> SqlResult<Option<BoundExpr>> {
        if !self.lookup.can_coerce_one(expr.oid(), target, context) {
            return Ok(None);
        }
        // The cast is done under COLLATE, which says something of the result.
        if let ExprKind::Collate { value, collation, at } = expr.kind {
            let (start, ty) = (expr.place, expr.ty);
            let Some(inner) = self.coerce_to_target(*value, target, typmod, context, written, place)? else {
                return Ok(None);
            };
            if self.lookup.collation_of_type(target) == 0 {
                return Ok(Some(inner));
            }
            let ty = ExprType { oid: inner.ty.oid, typmod: inner.ty.typmod, ..ty };
            let kind = ExprKind::Collate { value: Box::new(inner), collation, at };
            return Ok(Some(BoundExpr::new(kind, ty, start)));
        }
        let before = expr.oid();
        let expr = self.coerce(expr, target, typmod, context, written, place)?;
        // A cast that was made for this one is not shown beside it.
        let is_new = before != target && !matches!(expr.kind, ExprKind::Constant(_));
        self.apply_modifier(expr, target, typmod, context, written, place, is_new).map(Some)
    }

    /// PostgreSQL's `coerce_type`, of a value that becomes one of the type: without the modifier.
    ///
    /// # Errors
    /// What a literal's text is refused for.
    pub(crate) fn coerce(
        &mut self,
        expr: BoundExpr,
        target: Oid,
        typmod: i32,
        context: CastContext,
        written: Written,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let from = expr.oid();
        let takes_any = matches!(
            target,
            oids::ANY | oids::ANY_ELEMENT | oids::ANY_NON_ARRAY | oids::ANY_COMPATIBLE | oids::ANY_COMPATIBLE_NON_ARRAY
        );
        if from == target || takes_any {
            return Ok(expr);
        }
        let takes_family = matches!(
            target,
            oids::ANY_ARRAY
                | oids::ANY_ENUM
                | oids::ANY_RANGE
                | oids::ANY_MULTIRANGE
                | oids::ANY_COMPATIBLE_ARRAY
                | oids::ANY_COMPATIBLE_RANGE
                | oids::ANY_COMPATIBLE_MULTIRANGE
        );
        if takes_family && from != oids::UNKNOWN {
            let base = self.lookup.base(from);
            return if base == from { Ok(expr) } else { self.relabelled(expr, base, -1, context, written, place) };
        }
        if from == oids::UNKNOWN {
            match expr.kind {
                ExprKind::Constant(literal) => return self.typed_literal(literal, target, typmod, expr.place),
                ExprKind::Parameter(number) => return self.typed_parameter(number, target, expr.place),
                _ => {}
            }
        }
        let expr = match expr.kind {
            ExprKind::Collate { value, collation, at } => {
                let inner = self.coerce(*value, target, typmod, context, written, place)?;
                if self.lookup.collation_of_type(target) == 0 {
                    return Ok(inner);
                }
                let ty = ExprType { oid: inner.ty.oid, typmod: inner.ty.typmod, ..expr.ty };
                return Ok(BoundExpr::new(ExprKind::Collate { value: Box::new(inner), collation, at }, ty, expr.place));
            }
            kind => BoundExpr { kind, ..expr },
        };
        let (base, base_typmod) = self.lookup.base_and_typmod(target, typmod);
        let made = match self.lookup.pathway(target, from, context) {
            Some(Pathway::Binary) if base != target => expr,
            Some(Pathway::Binary) => return self.relabelled(expr, target, -1, context, written, place),
            Some(pathway) => self.cast(expr, pathway, base, base_typmod, context, written, place)?,
            // A row is taken for the row of a table, and the other way round.
            None if target == oids::RECORD || target == oids::RECORD_ARRAY => return Ok(expr),
            None => {
                let ty = self.lookup.of_type(target, -1);
                return Ok(cast_node(expr, CastMethod::Row, ty, context, written, place));
            }
        };
        if base == target {
            return Ok(made);
        }
        self.of_domain(made, target, context, written, place)
    }

    /// PostgreSQL's `coerce_type_typmod`: the modifier on a value of the type.
    #[expect(clippy::too_many_arguments, reason = "what a cast consists of")]
    fn apply_modifier(
        &mut self,
        mut expr: BoundExpr,
        target: Oid,
        typmod: i32,
        context: CastContext,
        written: Written,
        place: Place,
        hides_input: bool,
    ) -> SqlResult<BoundExpr> {
        if typmod == expr.ty.typmod {
            return Ok(expr);
        }
        if hides_input && let ExprKind::Cast { written, .. } = &mut expr.kind {
            *written = Written::Implicitly;
        }
        match self.lookup.modifier_pathway(target).filter(|_| typmod >= 0) {
            Some(pathway) => self.cast(expr, pathway, target, typmod, context, written, place),
            None => self.relabelled(expr, target, typmod, context, written, place),
        }
    }

    /// PostgreSQL's `build_coercion_expression`.
    #[expect(clippy::too_many_arguments, reason = "what a cast consists of")]
    fn cast(
        &mut self,
        expr: BoundExpr,
        pathway: Pathway,
        target: Oid,
        typmod: i32,
        context: CastContext,
        written: Written,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let (method, typmod) = match pathway {
            Pathway::Function(oid) => {
                let Some(function) = functions::built_in(oid) else {
                    return Err(SqlError::new(ErrorKind::Internal, format!("no function {oid} for a cast")));
                };
                // Only what takes it gives a value that has it.
                let typmod = if function.arguments.len() > 1 { typmod } else { -1 };
                (CastMethod::Function(FunctionRef::BuiltIn(function)), typmod)
            }
            Pathway::Text => (CastMethod::Text, -1),
            Pathway::Binary => (CastMethod::Binary, -1),
            Pathway::Items => {
                let from = self.lookup.base_element(expr.oid()).unwrap_or(oids::UNKNOWN);
                let to = self.lookup.element(target).unwrap_or(oids::UNKNOWN);
                let ty = ExprType { oid: from, typmod: expr.ty.typmod, collation: expr.ty.collation };
                let item = BoundExpr::new(ExprKind::Item, ty, Place::NOWHERE);
                let Some(item) = self.coerce_to_target(item, to, typmod, context, written, place)? else {
                    return Err(SqlError::new(ErrorKind::Internal, "items of an array have no cast"));
                };
                let typmod = item.ty.typmod;
                (CastMethod::Items(Box::new(item)), typmod)
            }
        };
        let ty = self.lookup.made_of(target, typmod, [&expr])?;
        Ok(cast_node(expr, method, ty, context, written, place))
    }

    /// PostgreSQL's `applyRelabelType`: the value as it is, under another type. Of several such casts the last one counts.
    fn relabelled(
        &mut self,
        expr: BoundExpr,
        target: Oid,
        typmod: i32,
        context: CastContext,
        written: Written,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let ty = self.lookup.made_of(target, typmod, [&expr])?;
        let is_modifier_alone = expr.oid() == target;
        let mut inner = expr;
        if is_modifier_alone {
            while let ExprKind::Cast { value, method: CastMethod::Binary, .. } = inner.kind {
                inner = *value;
            }
            if let ExprKind::Constant(_) = inner.kind {
                return Ok(BoundExpr { ty, ..inner });
            }
            if inner.oid() == target && inner.ty.typmod == typmod {
                return Ok(inner);
            }
        }
        Ok(cast_node(inner, CastMethod::Binary, ty, context, written, place))
    }

    fn of_domain(
        &mut self,
        expr: BoundExpr,
        domain: Oid,
        context: CastContext,
        written: Written,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let mut expr = expr;
        if let ExprKind::Cast { written, .. } = &mut expr.kind {
            *written = Written::Implicitly;
        }
        let (base, typmod) = self.lookup.base_and_typmod(domain, -1);
        let expr = self.apply_modifier(expr, base, typmod, CastContext::Implicit, Written::Implicitly, place, false)?;
        let ty = self.lookup.made_of(domain, -1, [&expr])?;
        Ok(cast_node(expr, CastMethod::Domain, ty, context, written, place))
    }

    /// A literal as a value of the type: 22P02 where its text is none.
    fn typed_literal(&mut self, literal: Literal, target: Oid, typmod: i32, place: Place) -> SqlResult<BoundExpr> {
        let (base, base_typmod) = self.lookup.base_and_typmod(target, typmod);
        if base == oids::RECORD && matches!(literal, Literal::Text(_)) {
            let message = "input of anonymous composite types is not implemented";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(place));
        }
        // The input functions of other types would cut and refuse as an assignment does.
        let own = if base == oids::INTERVAL { base_typmod } else { -1 };
        let literal = match literal {
            Literal::Text(text) => {
                constant::read(&text, base, own, self.reading).map_err(|error| error.at_place(place))?
            }
            other => other,
        };
        let typed = BoundExpr::new(ExprKind::Constant(literal), self.lookup.of_type(base, own), place);
        if base == target {
            return Ok(typed);
        }
        self.of_domain(typed, target, CastContext::Implicit, Written::Implicitly, place)
    }
}

fn cast_node(
    value: BoundExpr,
    method: CastMethod,
    ty: ExprType,
    context: CastContext,
    written: Written,
    place: Place,
) -> BoundExpr {
    let place = place.leftmost(value.place);
    BoundExpr::new(ExprKind::Cast { value: Box::new(value), method, context, written }, ty, place)
}
