//! What a stored entity says about a write whose answer was lost.
//!
//! An Insert of a key finds what it wrote, or nothing. A conditional change finds the version it was made for, which
//! says that it was not applied; another version may be its own or somebody else's, and taking the one for the other would
//! lose an update. In doubt the answer is doubt.

use tablegate_store::model::{Properties, StoredEntity};
use tablegate_store::table::{IfMatch, Operation};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Applied,
    NotApplied,
    /// Of a batch: it is being applied, or somebody else was there meanwhile.
    Partly,
    Unclear,
}

/// What the entity that is stored now under the operation's key says.
pub(super) fn sign(operation: &Operation, stored: Option<&StoredEntity>) -> Sign {
    match operation {
        Operation::Insert(entity) | Operation::InsertOrReplace(entity) => match stored {
            None => Sign::NotApplied,
            Some(stored) if is_same(&entity.properties, &stored.entity.properties) => Sign::Applied,
            Some(_) => Sign::Unclear,
        },
        Operation::InsertOrMerge(entity) => match stored {
            None => Sign::NotApplied,
            Some(stored) if is_within(&entity.properties, &stored.entity.properties) => Sign::Applied,
            Some(_) => Sign::Unclear,
        },
        Operation::Merge(_, IfMatch::ETag(etag))
        | Operation::Replace(_, IfMatch::ETag(etag))
        | Operation::Delete(_, IfMatch::ETag(etag)) => match stored {
            Some(stored) if stored.etag == *etag => Sign::NotApplied,
            _ => Sign::Unclear,
        },
        Operation::Merge(entity, IfMatch::Any) => match stored {
            Some(stored) if is_within(&entity.properties, &stored.entity.properties) => Sign::Applied,
            _ => Sign::Unclear,
        },
        Operation::Replace(entity, IfMatch::Any) => match stored {
            Some(stored) if is_same(&entity.properties, &stored.entity.properties) => Sign::Applied,
            _ => Sign::Unclear,
        },
        Operation::Delete(_, IfMatch::Any) => Sign::Unclear,
    }
}

/// Whether a second try would be refused if the first was applied after all.
pub(super) fn is_refused_when_applied(operation: &Operation) -> bool {
    match operation {
        Operation::Insert(_)
        | Operation::Merge(_, IfMatch::ETag(_))
        | Operation::Replace(_, IfMatch::ETag(_))
        | Operation::Delete(_, IfMatch::ETag(_)) => true,
        Operation::InsertOrReplace(_)
        | Operation::InsertOrMerge(_)
        | Operation::Merge(_, IfMatch::Any)
        | Operation::Replace(_, IfMatch::Any)
        | Operation::Delete(_, IfMatch::Any) => false,
    }
}

/// What the signs of all operations of a batch say, of which all or none were applied.
pub(super) fn together(signs: impl Iterator<Item = Sign>) -> Sign {
    let (mut applied, mut not_applied) = (false, false);
    for sign in signs {
        applied |= sign == Sign::Applied;
        not_applied |= sign == Sign::NotApplied;
    }
    match (applied, not_applied) {
        (true, false) => Sign::Applied,
        (false, true) => Sign::NotApplied,
        (true, true) => Sign::Partly,
        (false, false) => Sign::Unclear,
    }
}

fn is_within(part: &Properties, whole: &Properties) -> bool {
    !part.is_empty() && part.iter().all(|(name, value)| whole.get(name.as_str()).is_some_and(|v| v.as_ref() == value))
}

fn is_same(a: &Properties, b: &Properties) -> bool {
    a.len() == b.len() && (a.is_empty() || is_within(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_store::model::{ETag, EdmDateTime, EdmValue, Entity, EntityKey, PropertyName};

    fn entity(n: i32) -> Entity {
        let properties = [(PropertyName::parse("n").unwrap(), EdmValue::Int32(n))].into_iter().collect();
        Entity::new(EntityKey::parse("p", "r").unwrap(), properties)
    }

    fn stored(n: i32, tick: i64) -> StoredEntity {
        let timestamp = EdmDateTime::from_unix_ticks(tick).unwrap();
        StoredEntity { entity: entity(n), timestamp, etag: ETag::of_timestamp(timestamp) }
    }

    #[test]
    fn an_equal_value_of_another_version_is_no_proof() {
        let was = stored(1, 1);
        let add_one = Operation::Merge(entity(2), IfMatch::ETag(was.etag.clone()));
        assert_eq!(sign(&add_one, Some(&was)), Sign::NotApplied);
        // Two who count from 1 to 2 write the same.
        assert_eq!(sign(&add_one, Some(&stored(2, 2))), Sign::Unclear);
        assert_eq!(sign(&Operation::Delete(entity(1).key, IfMatch::ETag(was.etag)), None), Sign::Unclear);
    }

    #[test]
    fn inserts_are_known_by_what_they_wrote() {
        let insert = Operation::Insert(entity(1));
        assert_eq!(sign(&insert, None), Sign::NotApplied);
        assert_eq!(sign(&insert, Some(&stored(1, 5))), Sign::Applied);
        assert_eq!(sign(&insert, Some(&stored(2, 5))), Sign::Unclear);
    }

    #[test]
    fn signs_are_taken_together() {
        use Sign::{Applied, NotApplied, Partly, Unclear};
        assert_eq!(together([Unclear, Applied].into_iter()), Applied);
        assert_eq!(together([Unclear, NotApplied].into_iter()), NotApplied);
        assert_eq!(together([Applied, Unclear, NotApplied].into_iter()), Partly);
        assert_eq!(together([Unclear].into_iter()), Unclear);
    }
}
