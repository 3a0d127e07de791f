//! Whether one type becomes another, and by what.

use super::polymorphic::{are_consistent, is_polymorphic};
use crate::catalogue::casts::{self, CastMethod};
use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{CastContext, Lookup};

/// What makes a value of one type one of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pathway {
    Function(Oid),
    /// Nothing: it is one.
    Binary,
    Text,
    /// The same for each item of an array.
    Items,
}

const CATEGORY_STRING: u8 = b'S';

impl Lookup<'_> {
    /// PostgreSQL's `find_coercion_pathway`.
    pub(crate) fn pathway(self, target: Oid, source: Oid, context: CastContext) -> Option<Pathway> {
        let (target, source) = (self.base(target), self.base(source));
        if target == source {
            return Some(Pathway::Binary);
        }
        if let Some(cast) = casts::between(source, target) {
            return (context >= cast.context).then_some(match cast.method {
                CastMethod::Function(function) => Pathway::Function(function),
                CastMethod::Binary => Pathway::Binary,
                CastMethod::Text => Pathway::Text,
            });
        }
        if !matches!(target, oids::OID_VECTOR | oids::INT2_VECTOR)
            && let (Some(to), Some(from)) = (self.element(target), self.element(source))
            && self.pathway(to, from, context).is_some()
        {
            return Some(Pathway::Items);
        }
        // Whatever has a text becomes text when it is put into a column, and comes of it when that is asked for.
        let is_to_text = context >= CastContext::Assignment && self.category(target) == CATEGORY_STRING;
        let is_from_text = context >= CastContext::Explicit && self.category(source) == CATEGORY_STRING;
        (is_to_text || is_from_text).then_some(Pathway::Text)
    }

    /// The function that applies a modifier to a type's values, and whether it does so to the items of arrays.
    pub(crate) fn modifier_pathway(self, oid: Oid) -> Option<Pathway> {
        let element = self.element(oid);
        let of = element.unwrap_or(oid);
        let cast = casts::between(of, of).filter(|cast| cast.function != 0)?;
        Some(if element.is_some() { Pathway::Items } else { Pathway::Function(cast.function) })
    }

    /// PostgreSQL's `can_coerce_type`: whether all of these become those that are asked for.
    pub(crate) fn can_coerce(self, given: &[Oid], asked: &[Oid], context: CastContext) -> bool {
        let mut has_polymorphic = false;
        for (input, target) in given.iter().copied().zip(asked.iter().copied()) {
            if input == target || target == oids::ANY {
                continue;
            }
            if is_polymorphic(target) {
                has_polymorphic = true;
                continue;
            }
            let is_row_for_row = match (input, target) {
                (oids::RECORD, _) => self.is_composite(target),
                (_, oids::RECORD) => self.is_composite(input),
                (oids::RECORD_ARRAY, _) => self.element(target).is_some_and(|of| self.is_composite(of)),
                (_, oids::RECORD_ARRAY) => self.element(input).is_some_and(|of| self.is_composite(of)),
                _ => false,
            };
            if input != oids::UNKNOWN && self.pathway(target, input, context).is_none() && !is_row_for_row {
                return false;
            }
        }
        !has_polymorphic || are_consistent(self, given, asked)
    }

    pub(crate) fn can_coerce_one(self, given: Oid, asked: Oid, context: CastContext) -> bool {
        self.can_coerce(&[given], &[asked], context)
    }
}
