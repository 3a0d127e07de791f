//! Casts that the statement asks for, and COLLATE.

use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Spanned,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::Binder;
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, collations};
use crate::expr::{BoundExpr, Collation, ExprKind, ExprType, Written};
use crate::name::QualifiedName;
use crate::place::{AtPlace, Place};

impl Binder<'_> {
    pub(super) fn cast_to(&mut self, kind: &CastKind, expr: &Expr, data_type: &DataType) -> SqlResult<BoundExpr> {
        let (oid, typmod) = self.type_of(data_type)?;
        // The items of an array are cast themselves: they need not have a type in common.
        let bound = match unnested(expr) {
            Expr::Array(array) if self.lookup.base_element(oid).is_some() => {
                let (array_type, array_typmod) = self.lookup.base_and_typmod(oid, typmod);
                self.array_of(expr, &array.elem, Some((array_type, array_typmod)))?
            }
            _ => self.bind(expr)?,
        };
        let place = match kind {
            CastKind::Cast => self.before(self.inside_of_cast(expr, bound.place), &["CAST"]),
            _ => self.double_colon(expr),
        };
        self.cast_explicitly(bound, oid, typmod, place)
    }

    /// Where the operand of a CAST begins: a literal that was cast before is where it was.
    fn inside_of_cast(&self, expr: &Expr, bound: Place) -> Place {
        match unnested(expr) {
            Expr::Value(value) => Place::start(value.span),
            Expr::Cast { kind: CastKind::Cast, expr, .. } => {
                self.before(self.inside_of_cast(expr, Place::NOWHERE), &["CAST"]).leftmost(bound)
            }
            Expr::Cast { expr, .. } => self.inside_of_cast(expr, bound),
            Expr::BinaryOp { left, .. } => self.inside_of_cast(left, Place::NOWHERE).leftmost(bound),
            other => Place::start(other.span()).leftmost(bound),
        }
    }

    /// Behind an operand that may end with such casts itself.
    fn double_colon(&self, expr: &Expr) -> Place {
        let (end, inner) = (expr.span().end, casts_at_end(expr));
        self.source.and_then(|source| source.behind(end, &["::"], inner)).unwrap_or(Place::NOWHERE)
    }

    /// A value as one of the type, because the statement says so.
    ///
    /// # Errors
    /// 42846 where it does not become one.
    pub(super) fn cast_explicitly(
        &mut self,
        expr: BoundExpr,
        oid: Oid,
        typmod: i32,
        place: Place,
    ) -> SqlResult<BoundExpr> {
        let (from, start) = (expr.oid(), expr.place);
        let cast =
            self.typing.coerce_to_target(expr, oid, typmod, CastContext::Explicit, Written::Explicitly, place)?;
        cast.ok_or_else(|| {
            let (from, to) = (self.lookup.type_name(from), self.lookup.type_name(oid));
            let place = if place.is_known() { place } else { start };
            let message = format!("cannot cast type {from} to {to}");
            SqlError::new(ErrorKind::CannotCoerce, message).at_place(place)
        })
    }

    pub(super) fn collate(&mut self, expr: &Expr, name: &ObjectName) -> SqlResult<BoundExpr> {
        let value = self.bind(expr)?;
        let at = self.behind(expr.span().end, &["COLLATE"]);
        if self.lookup.collation_of_type(value.oid()) == 0 && value.oid() != oids::UNKNOWN {
            let message = format!("collations are not supported by type {}", self.lookup.type_name(value.oid()));
            return Err(SqlError::new(ErrorKind::DatatypeMismatch, message).at_place(at));
        }
        let collation = collation_named(&name.into()).map_err(|error| error.at_place(at))?;
        let ty = ExprType { collation: Collation::Explicit(collation), ..value.ty };
        let start = value.place;
        Ok(BoundExpr::new(ExprKind::Collate { value: Box::new(value), collation, at }, ty, start))
    }
}

/// The collation that COLLATE names.
///
/// # Errors
/// 42704 for an unknown one, 0A000 for that of a language.
pub fn collation_named(name: &QualifiedName) -> SqlResult<Oid> {
    collations::named(&name.folded())
}

/// What stands in the parentheses.
pub(super) fn unnested(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    inner
}

/// How many casts stand behind what the parser notes as the end of an expression.
fn casts_at_end(expr: &Expr) -> usize {
    let (mut count, mut at) = (0, expr);
    loop {
        at = match at {
            Expr::Cast { kind, expr, .. } => {
                count += usize::from(*kind == CastKind::DoubleColon);
                expr
            }
            Expr::Nested(inner)
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::Extract { expr: inner, .. }
            | Expr::BinaryOp { right: inner, .. }
            | Expr::AnyOp { right: inner, .. }
            | Expr::AllOp { right: inner, .. }
            | Expr::IsDistinctFrom(_, inner)
            | Expr::IsNotDistinctFrom(_, inner)
            | Expr::Between { high: inner, .. }
            | Expr::Like { pattern: inner, .. }
            | Expr::ILike { pattern: inner, .. }
            | Expr::Position { r#in: inner, .. }
            | Expr::Ceil { expr: inner, .. }
            | Expr::Floor { expr: inner, .. }
            | Expr::Trim { expr: inner, .. }
            | Expr::AtTimeZone { time_zone: inner, .. } => inner,
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                substring_for.as_ref().or(substring_from.as_ref()).unwrap_or(expr)
            }
            Expr::Overlay { overlay_from, overlay_for, .. } => overlay_for.as_ref().unwrap_or(overlay_from),
            Expr::InList { list: items, .. } | Expr::Tuple(items) => match items.last() {
                Some(last) => last,
                None => return count,
            },
            Expr::Array(array) => match array.elem.last() {
                Some(last) => last,
                None => return count,
            },
            Expr::Function(function) => match last_argument(function) {
                Some(last) => last,
                None => return count,
            },
            _ => return count,
        };
    }
}

fn last_argument(function: &Function) -> Option<&Expr> {
    match &function.args {
        FunctionArguments::List(list) => match list.args.last()? {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(last))
            | FunctionArg::Named { arg: FunctionArgExpr::Expr(last), .. }
            | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(last), .. } => Some(last),
            _ => None,
        },
        FunctionArguments::None | FunctionArguments::Subquery(_) => None,
    }
}
