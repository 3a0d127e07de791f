//! Whether a filter is true of an entity.

use std::cmp::Ordering;

use tablegate_store::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use tablegate_store::model::{EdmRef, EdmValue};

use super::{CompareOp, Comparison, Filter, Property};

/// The values of an entity, by name. `E` is why one cannot be told.
pub(crate) trait Values<E> {
    /// `None` where the entity has no such property.
    fn value(&self, property: &Property) -> Result<Option<EdmRef<'_>>, E>;
}

impl Filter {
    /// # Errors
    /// When a value cannot be told.
    pub(crate) fn holds<E>(&self, values: &dyn Values<E>) -> Result<bool, E> {
        match self {
            Filter::All(parts) => {
                for part in parts {
                    if !part.holds(values)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Any(parts) => {
                for part in parts {
                    if part.holds(values)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::Not(inner) => Ok(!inner.holds(values)?),
            Filter::Compare(comparison) => {
                Ok(values.value(&comparison.property)?.is_some_and(|value| comparison.holds(value)))
            }
            Filter::Constant(value) => Ok(*value),
        }
    }
}

impl Comparison {
    /// Whether it is true of a value that is there.
    fn holds(&self, value: EdmRef<'_>) -> bool {
        match compare(value, &self.constant) {
            Compared::As(order) => self.op.holds(order),
            Compared::Unlike => self.op == CompareOp::NotEq,
        }
    }
}

enum Compared {
    As(Ordering),
    /// The types do not meet, or one of them is no number at all (NaN).
    Unlike,
}

fn compare(value: EdmRef<'_>, constant: &EdmValue) -> Compared {
    use EdmRef as V;
    use EdmValue as C;
    Compared::As(match (value, constant) {
        (V::String(value), C::String(constant)) => value.as_bytes().cmp(constant.as_bytes()),
        (V::Int32(value), C::Int32(constant)) => value.cmp(constant),
        (V::Int64(value), C::Int32(constant)) => value.cmp(&i64::from(*constant)),
        (V::Int64(value), C::Int64(constant)) => value.cmp(constant),
        (V::Double(value), C::Int32(constant)) => return doubles(value, f64::from(*constant)),
        (V::Double(value), C::Int64(constant)) => return double_and_int64(value, *constant),
        (V::Double(value), C::Double(constant)) => return doubles(value, *constant),
        (V::Boolean(value), C::Boolean(constant)) => value.cmp(constant),
        (V::DateTime(value), C::DateTime(constant)) => value.cmp(constant),
        (V::Guid(value), C::Guid(constant)) => value.as_bytes().cmp(constant.as_bytes()),
        (V::Binary(value), C::Binary(constant)) => (*value).cmp(constant),
        _ => return Compared::Unlike,
    })
}

fn doubles(value: f64, constant: f64) -> Compared {
    value.partial_cmp(&constant).map_or(Compared::Unlike, Compared::As)
}

/// A whole number that no double holds lies between two of them, and equals neither.
fn double_and_int64(value: f64, constant: i64) -> Compared {
    #[expect(clippy::cast_precision_loss, reason = "where it is not exact, what is lost is looked at below")]
    let near = constant as f64;
    match value.partial_cmp(&near) {
        None => Compared::Unlike,
        Some(Ordering::Equal) if constant.unsigned_abs() > DOUBLE_EXACT_INTEGER_MAX => {
            // The conversion back saturates at the ends, where every double is a whole number.
            #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of that size")]
            let exact = value as i128;
            Compared::As(exact.cmp(&i128::from(constant)))
        }
        Some(order) => Compared::As(order),
    }
}
