//! The one type of several values.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, Lookup};
use crate::expr::{BoundExpr, Written};
use crate::place::{AtPlace, Place};
use crate::typing::Typing;

impl Lookup<'_> {
    /// PostgreSQL's `select_common_type`. The context is the word for what the values are of.
    ///
    /// # Errors
    /// 42804 for types of different categories.
    pub(crate) fn common_type<'e>(
        self,
        exprs: impl IntoIterator<Item = &'e BoundExpr>,
        context: &str,
    ) -> SqlResult<Oid> {
        let given: Vec<(Oid, Place)> = exprs.into_iter().map(|expr| (expr.oid(), expr.place)).collect();
        let types: Vec<Oid> = given.iter().map(|(oid, _)| *oid).collect();
        self.common_of(&types).map_err(|unlike| {
            let (one, other) = (self.type_name(unlike.known), self.type_name(unlike.other));
            let message = format!("{context} types {one} and {other} cannot be matched");
            let place = given.get(unlike.at).map_or(Place::NOWHERE, |(_, place)| *place);
            SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place)
        })
    }

    /// The same of types alone.
    pub(crate) fn common_of(self, types: &[Oid]) -> Result<Oid, Unlike> {
        let Some((first, rest)) = types.split_first() else { return Ok(oids::TEXT) };
        if *first != oids::UNKNOWN && rest.iter().all(|other| other == first) {
            return Ok(*first);
        }
        let mut known = self.base(*first);
        for (at, other) in (1..).zip(rest) {
            let other = self.base(*other);
            if other == oids::UNKNOWN || other == known {
                continue;
            }
            if known == oids::UNKNOWN {
                known = other;
            } else if self.category(known) != self.category(other) {
                return Err(Unlike { known, other, at });
            } else if !self.is_preferred(known)
                && self.can_coerce_one(known, other, CastContext::Implicit)
                && !self.can_coerce_one(other, known, CastContext::Implicit)
            {
                known = other;
            }
        }
        Ok(if known == oids::UNKNOWN { oids::TEXT } else { known })
    }
}

/// Two types that have none in common.
pub(crate) struct Unlike {
    pub known: Oid,
    pub other: Oid,
    /// Which value has the other.
    pub at: usize,
}

/// The modifier that all have, if they are of the type.
pub(crate) fn common_modifier<'e>(exprs: impl IntoIterator<Item = &'e BoundExpr>, oid: Oid) -> i32 {
    let mut found = None;
    for expr in exprs {
        if expr.oid() != oid || found.is_some_and(|known| known != expr.ty.typmod) {
            return -1;
        }
        found = Some(expr.ty.typmod);
    }
    found.unwrap_or(-1)
}

impl Typing<'_> {
    /// A value as one of the type that all have in common.
    ///
    /// # Errors
    /// 42846 where it does not become one.
    pub(crate) fn coerce_to_common(&mut self, expr: BoundExpr, target: Oid, context: &str) -> SqlResult<BoundExpr> {
        if expr.oid() == target {
            return Ok(expr);
        }
        if !self.lookup.can_coerce_one(expr.oid(), target, CastContext::Implicit) {
            let (from, to) = (self.lookup.type_name(expr.oid()), self.lookup.type_name(target));
            let message = format!("{context} could not convert type {from} to {to}");
            return Err(SqlError::new(ErrorKind::CannotCoerce, message).at_place(expr.place));
        }
        self.coerce(expr, target, -1, CastContext::Implicit, Written::Implicitly, Place::NOWHERE)
    }

    /// Values as ones of the type that they have in common.
    pub(crate) fn coerce_all(&mut self, exprs: Vec<BoundExpr>, context: &str) -> SqlResult<(Vec<BoundExpr>, Oid)> {
        let common = self.lookup.common_type(&exprs, context)?;
        let exprs = exprs.into_iter().map(|expr| self.coerce_to_common(expr, common, context));
        Ok((exprs.collect::<SqlResult<_>>()?, common))
    }

    /// A value where a condition is asked for.
    ///
    /// # Errors
    /// 42804 for other types.
    pub(crate) fn coerce_to_boolean(&mut self, expr: BoundExpr, construct: &str) -> SqlResult<BoundExpr> {
        self.coerce_to(expr, oids::BOOL, construct)
    }

    /// A value where one of this type is asked for.
    ///
    /// # Errors
    /// 42804 for others.
    pub(crate) fn coerce_to(&mut self, expr: BoundExpr, target: Oid, construct: &str) -> SqlResult<BoundExpr> {
        let (oid, place) = (expr.oid(), expr.place);
        let expr = if oid == target {
            Some(expr)
        } else {
            self.coerce_to_target(expr, target, -1, CastContext::Assignment, Written::Implicitly, Place::NOWHERE)?
        };
        let Some(expr) = expr else {
            let (wanted, given) = (self.lookup.type_name(target), self.lookup.type_name(oid));
            let message = format!("argument of {construct} must be type {wanted}, not type {given}");
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place));
        };
        if expr.gives_rows() {
            let message = format!("argument of {construct} must not return a set");
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(place));
        }
        Ok(expr)
    }
}
