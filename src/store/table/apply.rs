//! What an operation makes of the entity it finds: preconditions and merging, defined once for every store that applies
//! operations itself.

use super::{IfMatch, Operation, Rejection};
use crate::model::limits::{CUSTOM_PROPERTIES_MAX, ENTITY_MAX_BYTES};
use crate::model::{ETag, Entity, Properties};

impl Operation {
    /// Whether the operation may go ahead. `stored` is the version under its key now, `None` when there is no entity.
    ///
    /// # Errors
    /// [`Rejection::EntityExists`], [`Rejection::EntityMissing`] or [`Rejection::ETagMismatch`].
    pub fn check_precondition(&self, stored: Option<&ETag>) -> Result<(), Rejection> {
        match (self, stored) {
            (Operation::Insert(_), Some(_)) => Err(Rejection::EntityExists),
            (Operation::Insert(_) | Operation::InsertOrMerge(_) | Operation::InsertOrReplace(_), _) => Ok(()),
            (Operation::Merge(..) | Operation::Replace(..) | Operation::Delete(..), None) => {
                Err(Rejection::EntityMissing)
            }
            (
                Operation::Merge(_, if_match) | Operation::Replace(_, if_match) | Operation::Delete(_, if_match),
                Some(stored),
            ) => match if_match {
                IfMatch::ETag(expected) if expected != stored => Err(Rejection::ETagMismatch),
                IfMatch::Any | IfMatch::ETag(_) => Ok(()),
            },
        }
    }

    /// Whether the result depends on the properties that are stored, not just on the version.
    pub fn is_merge(&self) -> bool {
        matches!(self, Operation::Merge(..) | Operation::InsertOrMerge(_))
    }

    /// The entity that is to be stored, `None` after a Delete. `stored` is what is there now; only a merge
    /// ([`Operation::is_merge`]) looks at it.
    ///
    /// # Errors
    /// [`Rejection::TooManyProperties`] or [`Rejection::EntityTooLarge`], when each side of a merge is within the
    /// limits and both together are not.
    pub fn into_result(self, stored: Option<Properties>) -> Result<Option<Entity>, Rejection> {
        match self {
            Operation::Insert(entity) | Operation::Replace(entity, _) | Operation::InsertOrReplace(entity) => {
                Ok(Some(entity))
            }
            Operation::Merge(entity, _) | Operation::InsertOrMerge(entity) => merge(entity, stored).map(Some),
            Operation::Delete(..) => Ok(None),
        }
    }
}

fn merge(written: Entity, stored: Option<Properties>) -> Result<Entity, Rejection> {
    let Some(mut properties) = stored else { return Ok(written) };
    properties.merge(written.properties);
    let merged = Entity::new(written.key, properties);
    if merged.properties.len() > CUSTOM_PROPERTIES_MAX {
        return Err(Rejection::TooManyProperties { count: merged.properties.len() });
    }
    let bytes = merged.stored_size();
    if bytes > ENTITY_MAX_BYTES { Err(Rejection::EntityTooLarge { bytes }) } else { Ok(merged) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EdmDateTime, EdmValue, EntityKey, PropertyName};

    fn key() -> EntityKey {
        EntityKey::parse("p", "r").unwrap()
    }

    fn properties(names: impl IntoIterator<Item = String>) -> Properties {
        names.into_iter().map(|name| (PropertyName::parse(&name).unwrap(), EdmValue::Int32(1))).collect()
    }

    fn etag(tick: i64) -> ETag {
        ETag::of_timestamp(EdmDateTime::from_unix_ticks(tick).unwrap())
    }

    #[test]
    fn preconditions_are_the_services() {
        let entity = || Entity::new(key(), Properties::new());
        let (now, before) = (etag(2), etag(1));
        let is = |etag: &ETag| IfMatch::ETag(etag.clone());
        let (missing, exists, mismatch) =
            (Err(Rejection::EntityMissing), Err(Rejection::EntityExists), Err(Rejection::ETagMismatch));
        let cases = [
            (Operation::Insert(entity()), Ok(()), exists),
            (Operation::InsertOrMerge(entity()), Ok(()), Ok(())),
            (Operation::InsertOrReplace(entity()), Ok(()), Ok(())),
            (Operation::Merge(entity(), IfMatch::Any), missing, Ok(())),
            (Operation::Merge(entity(), is(&now)), missing, Ok(())),
            (Operation::Merge(entity(), is(&before)), missing, mismatch),
            (Operation::Replace(entity(), IfMatch::Any), missing, Ok(())),
            (Operation::Replace(entity(), is(&now)), missing, Ok(())),
            (Operation::Replace(entity(), is(&before)), missing, mismatch),
            (Operation::Delete(key(), IfMatch::Any), missing, Ok(())),
            (Operation::Delete(key(), is(&now)), missing, Ok(())),
            (Operation::Delete(key(), is(&before)), missing, mismatch),
        ];
        for (operation, when_missing, when_there) in cases {
            assert_eq!(operation.check_precondition(None), when_missing, "{operation:?}");
            assert_eq!(operation.check_precondition(Some(&now)), when_there, "{operation:?}");
        }
    }

    #[test]
    fn a_merge_keeps_what_it_does_not_write() {
        let operation = Operation::InsertOrMerge(Entity::new(key(), properties(["b".to_owned()])));
        let merged = operation.into_result(Some(properties(["a".to_owned()]))).unwrap().unwrap();
        assert_eq!(merged.properties, properties(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_merge_beyond_the_limits_is_refused() {
        let many = |prefix: &str| properties((0..200).map(|i| format!("{prefix}{i}")));
        let operation = Operation::Merge(Entity::new(key(), many("a")), IfMatch::Any);
        assert_eq!(operation.clone().into_result(Some(many("b"))), Err(Rejection::TooManyProperties { count: 400 }));
        assert!(operation.into_result(Some(many("a"))).is_ok());

        let large = |prefix: &str| -> Properties {
            let name = |i| PropertyName::parse(&format!("{prefix}{i}")).unwrap();
            (0..10).map(|i| (name(i), EdmValue::Binary(vec![0; 65_536].into()))).collect()
        };
        let operation = Operation::Merge(Entity::new(key(), large("a")), IfMatch::Any);
        assert!(matches!(operation.into_result(Some(large("b"))), Err(Rejection::EntityTooLarge { .. })));
    }
}
