//! Which types' values are sorted and told apart: those that have operator classes, and what is made of them.

use std::collections::HashSet;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::pathway::Pathway;
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::orders::{self, HASHED, SORTED};
use crate::catalogue::{CastContext, Lookup, TypeKind};
use crate::place::{AtPlace, Place};

impl Lookup<'_> {
    /// The type by whose class values of a type are sorted: its own, or one that they are without a cast.
    pub(crate) fn sorted_as(self, oid: Oid) -> Oid {
        let base = self.base(oid);
        let has_class = |oid: Oid| SORTED.contains(&oid);
        let is_text = || self.pathway(oids::TEXT, base, CastContext::Implicit) == Some(Pathway::Binary);
        if !has_class(base) && is_text() { oids::TEXT } else { base }
    }

    /// The types of offsets that RANGE takes for values of the type.
    pub(crate) fn range_offsets(self, oid: Oid) -> &'static [Oid] {
        orders::offsets(self.sorted_as(oid))
    }

    /// Whether ORDER BY takes values of the type.
    pub(crate) fn is_sorted(self, oid: Oid) -> bool {
        self.is_of(oid, &SORTED)
    }

    /// Whether values of the type are told apart.
    pub(crate) fn is_told_apart(self, oid: Oid) -> bool {
        self.is_of(oid, &SORTED) || self.is_of(oid, &HASHED)
    }

    /// # Errors
    /// 42883 for a type whose values are not sorted.
    pub(crate) fn check_sorted(self, oid: Oid, place: Place) -> SqlResult<()> {
        if self.is_sorted(oid) {
            return Ok(());
        }
        let message = format!("could not identify an ordering operator for type {}", self.type_name(oid));
        Err(SqlError::new(ErrorKind::UndefinedFunction, message)
            .with_hint("Use an explicit ordering operator or modify the query.")
            .at_place(place))
    }

    /// # Errors
    /// 42883 for a type whose values are not told apart.
    pub(crate) fn check_told_apart(self, oid: Oid, place: Place) -> SqlResult<()> {
        if self.is_told_apart(oid) {
            return Ok(());
        }
        let message = format!("could not identify an equality operator for type {}", self.type_name(oid));
        Err(SqlError::new(ErrorKind::UndefinedFunction, message).at_place(place))
    }

    fn is_of(self, oid: Oid, known: &HashSet<Oid>) -> bool {
        let base = self.base(oid);
        if known.contains(&base) {
            return true;
        }
        let Some(of) = self.get(base) else { return base == oids::RECORD };
        match of.kind {
            TypeKind::Enum | TypeKind::Range | TypeKind::Multirange => true,
            TypeKind::Composite => {
                let columns = self.0.columns_of(of.relation);
                columns.iter().all(|(_, column, _)| self.is_of(*column, known))
            }
            _ if base == oids::RECORD => true,
            _ if of.is_array => self.is_of(of.element, known),
            _ => {
                let same = |other: &Oid| self.pathway(*other, base, CastContext::Implicit) == Some(Pathway::Binary);
                known.iter().any(same)
            }
        }
    }
}
