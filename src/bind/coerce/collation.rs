//! By which rules a result's texts are compared: those of its operands, where they agree.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{DEFAULT_COLLATION, Oid};
use crate::catalogue::{Lookup, collations};
use crate::expr::{BoundExpr, Collation, ExprKind, ExprType};
use crate::place::AtPlace;

impl Lookup<'_> {
    /// The type of what is made of these parts.
    ///
    /// # Errors
    /// 42P21 where two of them have different collations by COLLATE.
    pub(crate) fn made_of<'e>(
        self,
        oid: Oid,
        typmod: i32,
        parts: impl IntoIterator<Item = &'e BoundExpr>,
    ) -> SqlResult<ExprType> {
        let own = self.collation_of_type(oid);
        let mut merged = Collation::None;
        for part in parts {
            merged = merge(merged, part)?;
        }
        let collation = match (own, merged) {
            (0, _) => Collation::None,
            (own, Collation::None) => Collation::Implicit(own),
            (_, merged) => merged,
        };
        Ok(ExprType { oid, typmod, collation })
    }

    /// A value of a type on its own.
    pub fn of_type(self, oid: Oid, typmod: i32) -> ExprType {
        let collation = match self.collation_of_type(oid) {
            0 => Collation::None,
            own => Collation::Implicit(own),
        };
        ExprType { oid, typmod, collation }
    }
}

fn merge(known: Collation, part: &BoundExpr) -> SqlResult<Collation> {
    Ok(match (known, part.ty.collation) {
        (known, Collation::None) => known,
        (Collation::None, next) => next,
        (Collation::Explicit(one), Collation::Explicit(other)) if one != other => {
            let name = |oid| collations::name(oid).unwrap_or_default();
            let message =
                format!("collation mismatch between explicit collations \"{}\" and \"{}\"", name(one), name(other));
            let place = if let ExprKind::Collate { at, .. } = part.kind { at } else { part.place };
            return Err(SqlError::new(ErrorKind::CollationMismatch, message).at_place(place));
        }
        (known @ Collation::Explicit(_), _) => known,
        (_, next @ Collation::Explicit(_)) => next,
        (Collation::Implicit(one), Collation::Implicit(other)) => match (one, other) {
            _ if one == other => known,
            (DEFAULT_COLLATION, _) => Collation::Implicit(other),
            (_, DEFAULT_COLLATION) => known,
            _ => Collation::Conflict,
        },
        (Collation::Conflict, _) | (_, Collation::Conflict) => Collation::Conflict,
    })
}
