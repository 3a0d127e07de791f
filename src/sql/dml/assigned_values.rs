//! Values as they are given to a column, before they become values of its type.
//!
//! The binder casts them as an assignment casts. That is done where they are written, batch by batch: a cast that is
//! assigned refuses what one that is written cuts off.

use tablegate_bind::BoundExpr;
use tablegate_bind::catalogue::{CastContext, oids};
use tablegate_bind::expr::{ExprKind, Literal};

/// The value without the casts of its assignment.
pub(super) fn as_given(value: &BoundExpr) -> &BoundExpr {
    let mut given = value;
    while let ExprKind::Cast { value, context: CastContext::Assignment, .. } = &given.kind {
        if is_float_written_out(given, value) {
            break;
        }
        given = value;
    }
    given
}

/// A number that is written where a float is wanted is read as one: no numeric holds `1e300`.
fn is_float_written_out(cast: &BoundExpr, value: &BoundExpr) -> bool {
    let is_number = matches!(value.kind, ExprKind::Constant(Literal::Text(_))) && value.ty.oid == oids::NUMERIC;
    is_number && [oids::FLOAT4, oids::FLOAT8].contains(&cast.ty.oid)
}

/// Whether it is a literal that has no type: its text is read as the column's type.
pub(super) fn has_no_type(value: &BoundExpr) -> bool {
    value.ty.oid == oids::UNKNOWN
}
