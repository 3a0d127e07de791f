//! How undeclared columns came to be known, as the stores say when a statement begins.

use std::collections::HashMap;
use std::sync::Arc;

use tablegate_store::table::Sightings;

use crate::place::Readers;
use crate::relation::Relation;

/// Under the OIDs of the tables that have such columns.
#[derive(Default)]
pub(crate) struct Origins(HashMap<u32, Arc<Sightings>>);

impl Origins {
    pub(crate) fn new(readers: &Readers, relations: &[Arc<Relation>]) -> Self {
        let open = relations.iter().filter(|relation| relation.open);
        Self(open.map(|relation| (relation.oid, readers.sightings_of(&relation.stored))).collect())
    }

    pub(crate) fn of_table(&self, oid: u32) -> Arc<Sightings> {
        self.0.get(&oid).cloned().unwrap_or_default()
    }
}
