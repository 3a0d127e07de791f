//! How each property of a table, and each type of it, came to be known.
//!
//! A store that takes part in every write needs no such record: what there is was written through it. One that others
//! write to behind its back knows what a sample, a scan or a write of its own has shown, and says which.

use crate::model::{EdmDateTime, EdmType, PropertyName};

/// What showed a property with a type first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SightingSource {
    /// A sample of the table's entities.
    Sample,
    /// All of them, read to be counted.
    Analysis,
    /// A scan that was after something else.
    Scan,
    /// A write of this process.
    Write,
}

impl SightingSource {
    pub fn name(self) -> &'static str {
        match self {
            SightingSource::Sample => "sampled",
            SightingSource::Analysis => "analyzed",
            SightingSource::Scan => "scanned",
            SightingSource::Write => "written",
        }
    }
}

/// One property with one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    pub property: PropertyName,
    pub edm_type: EdmType,
    pub source: SightingSource,
    pub first_seen: EdmDateTime,
    /// How many entities had it so, of those that were counted.
    pub entities: u64,
}

/// All of a table. Empty where the store keeps no such record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sightings {
    pub each: Vec<Sighting>,
    pub counted: Option<Counted>,
}

/// The last sample, or the last time that the whole table was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub entities: u64,
    pub at: EdmDateTime,
}

impl Sightings {
    pub fn of(&self, property: &str, edm_type: EdmType) -> Option<&Sighting> {
        self.each.iter().find(|seen| seen.edm_type == edm_type && seen.property.as_str() == property)
    }
}
