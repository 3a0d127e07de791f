//! What properties a table's entities have, and of which types: the observed schema.
//!
//! A table has no schema of its own, so a store records each (property, type) pair it is given, in the same commit as
//! the entity that has it. The record may hold more than is still stored, never less.

use crate::model::limits::DOUBLE_EXACT_INTEGER_MAX;
use crate::model::{EdmRef, EdmType, Properties, PropertyName};

/// A set of EDM types, and whether an `Edm.Int64` beyond 2^53 is among the values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeSet(u16);

impl TypeSet {
    const WIDE_INT64: u16 = 1 << 8;

    pub fn of(value: EdmRef<'_>) -> Self {
        let wide = matches!(value, EdmRef::Int64(v) if v.unsigned_abs() > DOUBLE_EXACT_INTEGER_MAX);
        let wide = if wide { Self::WIDE_INT64 } else { 0 };
        Self(1 << value.edm_type().code() | wide)
    }

    /// What values of this type show; of integers those that a double holds exactly.
    pub fn of_type(edm_type: EdmType) -> Self {
        Self(1 << edm_type.code())
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn contains(self, edm_type: EdmType) -> bool {
        self.0 & (1 << edm_type.code()) != 0
    }

    /// Whether some integer does not fit a double exactly.
    pub fn has_wide_int64(self) -> bool {
        self.0 & Self::WIDE_INT64 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = EdmType> {
        EdmType::ALL.into_iter().filter(move |t| self.contains(*t))
    }

    /// For storing: the low nine bits.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// `None` when a bit is set that means nothing.
    pub fn from_bits(bits: u16) -> Option<Self> {
        (bits < 1 << 9).then_some(Self(bits))
    }
}

/// One property and the types it was seen with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedProperty {
    pub name: PropertyName,
    pub types: TypeSet,
}

/// The properties of a table in order of first sight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedSchema {
    properties: Vec<ObservedProperty>,
}

impl ObservedSchema {
    pub fn new(properties: Vec<ObservedProperty>) -> Self {
        Self { properties }
    }

    pub fn properties(&self) -> &[ObservedProperty] {
        &self.properties
    }

    pub fn get(&self, name: &str) -> Option<&ObservedProperty> {
        self.properties.iter().find(|p| p.name.as_str() == name)
    }

    /// What is left when only what `found` holds is still there: the order of first sight stays.
    #[must_use]
    pub fn narrowed_to(&self, found: &ObservedSchema) -> Self {
        let still_there = |known: &ObservedProperty| found.get(known.name.as_str()).cloned();
        Self { properties: self.properties.iter().filter_map(still_there).collect() }
    }

    /// Adds what these properties show; true when that was news.
    pub fn observe(&mut self, properties: &Properties) -> bool {
        let mut news = false;
        for (name, value) in properties.iter() {
            news |= self.add(name, TypeSet::of(value));
        }
        news
    }

    /// With what another schema shows; `None` where that is nothing new.
    #[must_use]
    pub fn with(&self, other: &ObservedSchema) -> Option<Self> {
        if other.properties.iter().all(|property| self.shows(&property.name, property.types)) {
            return None;
        }
        let mut both = self.clone();
        for property in &other.properties {
            both.add(&property.name, property.types);
        }
        Some(both)
    }

    /// Whether these properties show nothing new.
    pub fn covers(&self, properties: &Properties) -> bool {
        // Most entities have them in the order in which they were first seen, so each is looked for behind the last one.
        let mut next = 0;
        properties.iter().all(|(name, value)| {
            let (before, behind) = self.properties.split_at(next);
            let found = behind.iter().chain(before).position(|known| known.name == *name);
            found.is_some_and(|steps| {
                let place = (next + steps) % self.properties.len();
                next = place + 1;
                self.properties[place].types.contains_all(TypeSet::of(value))
            })
        })
    }

    fn shows(&self, name: &PropertyName, types: TypeSet) -> bool {
        self.get(name.as_str()).is_some_and(|known| known.types.contains_all(types))
    }

    /// Adds a property with the types it was seen with; true when that was news.
    pub fn add(&mut self, name: &PropertyName, types: TypeSet) -> bool {
        match self.properties.iter_mut().find(|p| p.name == *name) {
            Some(known) if known.types.contains_all(types) => return false,
            Some(known) => known.types = known.types.union(types),
            None => self.properties.push(ObservedProperty { name: name.clone(), types }),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EdmValue;

    fn properties<const N: usize>(pairs: [(&str, EdmValue); N]) -> Properties {
        pairs.into_iter().map(|(name, value)| (PropertyName::parse(name).unwrap(), value)).collect()
    }

    fn seen(schema: &ObservedSchema) -> Vec<(&str, Vec<EdmType>)> {
        schema.properties().iter().map(|p| (p.name.as_str(), p.types.iter().collect())).collect()
    }

    #[test]
    fn observes_each_name_and_type_once() {
        let mut schema = ObservedSchema::default();
        assert!(schema.observe(&properties([("b", EdmValue::Int32(1)), ("a", EdmValue::string(""))])));
        assert!(!schema.observe(&properties([("a", EdmValue::string("x"))])));
        assert!(schema.observe(&properties([("a", EdmValue::Int32(1)), ("A", EdmValue::Boolean(true))])));
        let expected =
            [("b", vec![EdmType::Int32]), ("a", vec![EdmType::String, EdmType::Int32]), ("A", vec![EdmType::Boolean])];
        assert_eq!(seen(&schema), expected);
    }

    #[test]
    fn an_integer_beyond_2_to_the_53_is_news() {
        let exact = i64::try_from(DOUBLE_EXACT_INTEGER_MAX).unwrap();
        let mut schema = ObservedSchema::default();
        for narrow in [0, exact, -exact] {
            schema.observe(&properties([("a", EdmValue::Int64(narrow))]));
        }
        assert!(!schema.get("a").unwrap().types.has_wide_int64());
        assert!(schema.observe(&properties([("a", EdmValue::Int64(i64::MIN))])));
        assert!(schema.get("a").unwrap().types.has_wide_int64());
        assert!(TypeSet::of(EdmRef::Int64(exact + 1)).has_wide_int64());
    }

    #[test]
    fn type_sets_survive_their_bits() {
        for bits in 0..1 << 9 {
            assert_eq!(TypeSet::from_bits(bits).map(TypeSet::bits), Some(bits));
        }
        assert_eq!(TypeSet::from_bits(1 << 9), None);
    }

    #[test]
    fn narrowing_drops_what_is_gone_and_keeps_the_order() {
        let (mut schema, mut found) = (ObservedSchema::default(), ObservedSchema::default());
        schema.observe(&properties([("c", EdmValue::Int32(1)), ("b", EdmValue::Int32(1)), ("a", EdmValue::Int32(1))]));
        schema.observe(&properties([("c", EdmValue::string(""))]));
        found.observe(&properties([("a", EdmValue::Int32(1)), ("c", EdmValue::string(""))]));
        assert_eq!(seen(&schema.narrowed_to(&found)), [("c", vec![EdmType::String]), ("a", vec![EdmType::Int32])]);
    }
}
