//! `any*` and `anycompatible*`: the types that they stand for in one call.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::catalogue::oids::{self, Oid};
use crate::catalogue::{Lookup, TypeKind};

/// Whether any type, or any of a kind, may stand for this one.
pub(crate) fn is_polymorphic(oid: Oid) -> bool {
    is_of_first_family(oid) || is_of_second_family(oid)
}

fn is_of_first_family(oid: Oid) -> bool {
    matches!(
        oid,
        oids::ANY_ELEMENT
            | oids::ANY_ARRAY
            | oids::ANY_NON_ARRAY
            | oids::ANY_ENUM
            | oids::ANY_RANGE
            | oids::ANY_MULTIRANGE
    )
}

fn is_of_second_family(oid: Oid) -> bool {
    matches!(
        oid,
        oids::ANY_COMPATIBLE
            | oids::ANY_COMPATIBLE_ARRAY
            | oids::ANY_COMPATIBLE_NON_ARRAY
            | oids::ANY_COMPATIBLE_RANGE
            | oids::ANY_COMPATIBLE_MULTIRANGE
    )
}

/// Whether arguments of the given types agree on what the polymorphic ones stand for.
pub(crate) fn are_consistent(lookup: Lookup<'_>, given: &[Oid], asked: &[Oid]) -> bool {
    Found::of(lookup, given, asked).is_ok()
}

/// The types that the arguments of a call are asked for in fact, and that of its result.
///
/// # Errors
/// 42804 where they do not agree, or nothing says what a polymorphic type stands for.
pub(crate) fn resolve(lookup: Lookup<'_>, given: &[Oid], asked: &mut [Oid], result: Oid) -> SqlResult<Oid> {
    if !asked.iter().any(|oid| is_polymorphic(*oid)) {
        return Ok(result);
    }
    let found = Found::of(lookup, given, asked)?;
    let is_literal = |at: usize| given.get(at) == Some(&oids::UNKNOWN);
    for (at, oid) in asked.iter_mut().enumerate() {
        // What has a type is taken as it is by the first family; by the second as the one that all become.
        if is_of_second_family(*oid) || (is_of_first_family(*oid) && is_literal(at)) {
            *oid = found.stands_for(lookup, *oid)?;
        }
    }
    if is_polymorphic(result) { found.stands_for(lookup, result) } else { Ok(result) }
}

/// What the arguments say.
#[derive(Default)]
struct Found {
    element: Oid,
    array: Oid,
    range: Oid,
    multirange: Oid,
    /// What all of the second family become.
    compatible: Oid,
    compatible_range: Oid,
    compatible_multirange: Oid,
}

impl Found {
    fn of(lookup: Lookup<'_>, given: &[Oid], asked: &[Oid]) -> SqlResult<Self> {
        let mut found = Found::default();
        let mut compatible = Vec::new();
        let (mut non_array, mut of_enum, mut compatible_non_array) = (false, false, false);
        for (given, asked) in given.iter().copied().zip(asked.iter().copied()) {
            non_array |= asked == oids::ANY_NON_ARRAY;
            of_enum |= asked == oids::ANY_ENUM;
            compatible_non_array |= asked == oids::ANY_COMPATIBLE_NON_ARRAY;
            if given == oids::UNKNOWN {
                continue;
            }
            let base = lookup.base(given);
            match asked {
                oids::ANY_ELEMENT | oids::ANY_NON_ARRAY | oids::ANY_ENUM => {
                    settle(lookup, &mut found.element, given, "anyelement")?;
                }
                oids::ANY_ARRAY => settle(lookup, &mut found.array, base, "anyarray")?,
                oids::ANY_RANGE => settle(lookup, &mut found.range, base, "anyrange")?,
                oids::ANY_MULTIRANGE => settle(lookup, &mut found.multirange, base, "anymultirange")?,
                oids::ANY_COMPATIBLE | oids::ANY_COMPATIBLE_NON_ARRAY => compatible.push(given),
                oids::ANY_COMPATIBLE_ARRAY => compatible
                    .push(lookup.element(base).ok_or_else(|| is_not(lookup, "anycompatiblearray", "an array", base))?),
                oids::ANY_COMPATIBLE_RANGE => {
                    settle(lookup, &mut found.compatible_range, base, "anycompatiblerange")?;
                    compatible.push(
                        lookup
                            .range_bounds(base)
                            .ok_or_else(|| is_not(lookup, "anycompatiblerange", "a range type", base))?,
                    );
                }
                oids::ANY_COMPATIBLE_MULTIRANGE => {
                    settle(lookup, &mut found.compatible_multirange, base, "anycompatiblemultirange")?;
                    let range = lookup.multirange_of(base);
                    compatible.push(
                        range
                            .and_then(|range| lookup.range_bounds(range))
                            .ok_or_else(|| is_not(lookup, "anycompatiblemultirange", "a multirange type", base))?,
                    );
                }
                _ => {}
            }
        }
        found.settle_elements(lookup)?;
        if non_array && lookup.base_element(found.element).is_some() {
            let message = format!("type matched to anynonarray is an array type: {}", lookup.type_name(found.element));
            return Err(mismatch(message));
        }
        let is_enum = |oid| lookup.get(oid).is_some_and(|t| t.kind == TypeKind::Enum);
        if of_enum && found.element != 0 && !is_enum(found.element) {
            let message = format!("type matched to anyenum is not an enum type: {}", lookup.type_name(found.element));
            return Err(mismatch(message));
        }
        found.settle_compatible(lookup, &compatible, compatible_non_array)?;
        Ok(found)
    }

    /// What arrays and ranges say of their elements.
    fn settle_elements(&mut self, lookup: Lookup<'_>) -> SqlResult<()> {
        if self.array != 0 {
            let of = match self.array {
                // Of columns of the catalogue: nothing is known of its items.
                oids::ANY_ARRAY if self.element == 0 => None,
                array => Some(lookup.element(array).ok_or_else(|| is_not(lookup, "anyarray", "an array", array))?),
            };
            if let Some(of) = of {
                self.agree(lookup, of, "anyarray")?;
            }
        }
        if self.range != 0 {
            let of = lookup
                .range_bounds(self.range)
                .ok_or_else(|| is_not(lookup, "anyrange", "a range type", self.range))?;
            self.agree(lookup, of, "anyrange")?;
        }
        if self.multirange != 0 {
            let range = lookup
                .multirange_of(self.multirange)
                .ok_or_else(|| is_not(lookup, "anymultirange", "a multirange type", self.multirange))?;
            if self.range == 0 {
                self.range = range;
                self.agree(lookup, lookup.range_bounds(range).unwrap_or(0), "anymultirange")?;
            } else if self.range != range {
                return Err(mismatch(
                    "argument declared anymultirange is not consistent with argument declared anyrange",
                ));
            }
        }
        Ok(())
    }

    fn agree(&mut self, lookup: Lookup<'_>, element: Oid, with: &str) -> SqlResult<()> {
        if self.element == 0 {
            self.element = element;
        } else if self.element != element {
            let message = format!("argument declared {with} is not consistent with argument declared anyelement");
            let (one, other) = (lookup.type_name(element), lookup.type_name(self.element));
            return Err(mismatch(message).with_detail(format!("{one} versus {other}")));
        }
        Ok(())
    }

    fn settle_compatible(&mut self, lookup: Lookup<'_>, types: &[Oid], non_array: bool) -> SqlResult<()> {
        if types.is_empty() {
            return Ok(());
        }
        let common = lookup.common_of(types).map_err(|unlike| {
            let (one, other) = (lookup.type_name(unlike.known), lookup.type_name(unlike.other));
            mismatch(format!("arguments of anycompatible family types {one} and {other} cannot be matched"))
        })?;
        let becomes = |oid: &Oid| lookup.can_coerce_one(*oid, common, crate::catalogue::CastContext::Implicit);
        if !types.iter().all(becomes) {
            return Err(mismatch("arguments of anycompatible family cannot be cast to a common type"));
        }
        if non_array && lookup.base_element(common).is_some() {
            let message =
                format!("type matched to anycompatiblenonarray is an array type: {}", lookup.type_name(common));
            return Err(mismatch(message));
        }
        let bounds = |range: Oid| lookup.range_bounds(range);
        let of_multirange = lookup.multirange_of(self.compatible_multirange).and_then(bounds);
        if [bounds(self.compatible_range), of_multirange].into_iter().flatten().any(|of| of != common) {
            return Err(mismatch("anycompatiblerange does not match anycompatible type"));
        }
        self.compatible = common;
        Ok(())
    }

    /// The type that a polymorphic one stands for.
    fn stands_for(&self, lookup: Lookup<'_>, wanted: Oid) -> SqlResult<Oid> {
        // Literals alone are text to the second family.
        let compatible = if self.compatible == 0 { oids::TEXT } else { self.compatible };
        let found = match wanted {
            oids::ANY_ELEMENT | oids::ANY_NON_ARRAY | oids::ANY_ENUM => Some(self.element),
            oids::ANY_ARRAY if self.array != 0 => Some(self.array),
            oids::ANY_ARRAY if self.element != 0 => {
                let array = lookup.array(self.element);
                return array.ok_or_else(|| no_array(lookup, self.element));
            }
            oids::ANY_RANGE => Some(self.range),
            oids::ANY_MULTIRANGE if self.multirange != 0 => Some(self.multirange),
            oids::ANY_MULTIRANGE => lookup.multirange(self.range),
            oids::ANY_COMPATIBLE | oids::ANY_COMPATIBLE_NON_ARRAY => Some(compatible),
            oids::ANY_COMPATIBLE_ARRAY => {
                return lookup.array(compatible).ok_or_else(|| no_array(lookup, compatible));
            }
            oids::ANY_COMPATIBLE_RANGE => Some(self.compatible_range),
            oids::ANY_COMPATIBLE_MULTIRANGE => Some(self.compatible_multirange),
            _ => None,
        };
        match found.filter(|oid| *oid != 0) {
            Some(oid) => Ok(oid),
            None if matches!(wanted, oids::ANY_ELEMENT | oids::ANY_NON_ARRAY | oids::ANY_ENUM | oids::ANY_ARRAY) => {
                Err(mismatch("could not determine polymorphic type because input has type unknown"))
            }
            None => Err(mismatch(format!(
                "could not determine polymorphic type {} because input has type unknown",
                lookup.type_name(wanted)
            ))),
        }
    }
}

/// The same type wherever it stands.
fn settle(lookup: Lookup<'_>, known: &mut Oid, next: Oid, name: &str) -> SqlResult<()> {
    if *known != 0 && *known != next {
        let detail = format!("{} versus {}", lookup.type_name(*known), lookup.type_name(next));
        return Err(mismatch(format!("arguments declared \"{name}\" are not all alike")).with_detail(detail));
    }
    *known = next;
    Ok(())
}

fn mismatch(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::DatatypeMismatch, message)
}

fn is_not(lookup: Lookup<'_>, declared: &str, what: &str, oid: Oid) -> Box<SqlError> {
    mismatch(format!("argument declared {declared} is not {what} but type {}", lookup.type_name(oid)))
}

pub(crate) fn no_array(lookup: Lookup<'_>, element: Oid) -> Box<SqlError> {
    let message = format!("could not find array type for data type {}", lookup.type_name(element));
    SqlError::new(ErrorKind::UndefinedObject, message)
}
