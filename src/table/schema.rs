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

    /// Adds what these properties show; true when that was news.
    pub fn observe(&mut self, properties: &Properties) -> bool {
        let mut news = false;
        for (name, value) in properties.iter() {
            let types = TypeSet::of(value);
            match self.properties.iter_mut().find(|p| p.name == *name) {
                Some(known) if known.types.contains_all(types) => {}
                Some(known) => {
                    known.types = known.types.union(types);
                    news = true;
                }
                None => {
                    self.properties.push(ObservedProperty { name: name.clone(), types });
                    news = true;
                }
            }
        }
        news
    }
}
