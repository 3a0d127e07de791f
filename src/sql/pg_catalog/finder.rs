//! Finds what has a number or a name among the objects of one database.

use std::collections::HashMap;

use super::constraints::{TableConstraint, TableIndex};
use super::objects::{Class, Objects};
use crate::place::Place;

/// Where an object is among those it was made for.
#[derive(Clone, Copy)]
enum At {
    Table(usize),
    /// The table's, and which of its indexes.
    Index(usize, usize),
    Sequence(usize),
    View(usize),
}

/// The objects by number, and by place and name. Of two that have the same one a table comes before an index, a sequence and a
/// view.
#[derive(Default)]
pub(super) struct Finder {
    by_oid: HashMap<u32, At>,
    by_name: HashMap<Place, HashMap<String, (u32, At)>>,
    /// The table, and which of its constraints.
    constraints: HashMap<u32, (usize, usize)>,
}

impl Finder {
    pub(super) fn of(objects: &Objects) -> Self {
        let mut finder = Self::default();
        for (number, table) in objects.tables.iter().enumerate() {
            finder.add(table.oid, table.place(), &table.name, At::Table(number));
        }
        for (number, table) in objects.tables.iter().enumerate() {
            for (which, constraint) in TableConstraint::of_table(table).enumerate() {
                finder.constraints.entry(constraint.oid()).or_insert((number, which));
            }
            for (which, index) in TableIndex::of_table(table).enumerate() {
                finder.add(index.oid(), table.place(), &index.name(), At::Index(number, which));
            }
        }
        for (number, sequence) in objects.sequences.iter().enumerate() {
            finder.add(sequence.oid, sequence.place, &sequence.name, At::Sequence(number));
        }
        for (number, view) in objects.views.iter().enumerate() {
            finder.add(view.oid, view.place, &view.name, At::View(number));
        }
        finder
    }

    fn add(&mut self, oid: u32, place: Place, name: &str, at: At) {
        self.by_oid.entry(oid).or_insert(at);
        self.by_name.entry(place).or_default().entry(name.to_owned()).or_insert((oid, at));
    }

    /// `objects` are those that it was made for, here and below.
    pub(super) fn by_oid<'o>(&self, objects: &'o Objects, oid: u32) -> Option<Class<'o>> {
        at(objects, *self.by_oid.get(&oid)?)
    }

    pub(super) fn constraint<'o>(&self, objects: &'o Objects, oid: u32) -> Option<TableConstraint<'o>> {
        let (table, which) = *self.constraints.get(&oid)?;
        TableConstraint::of_table(objects.tables.get(table)?).nth(which)
    }

    /// What has exactly this name in a place, and its number.
    pub(super) fn by_name<'o>(&self, objects: &'o Objects, place: Place, name: &str) -> Option<(u32, Class<'o>)> {
        let (oid, found) = *self.by_name.get(&place)?.get(name)?;
        Some((oid, at(objects, found)?))
    }
}

fn at(objects: &Objects, at: At) -> Option<Class<'_>> {
    Some(match at {
        At::Table(number) => Class::Table(objects.tables.get(number)?),
        At::Index(table, which) => Class::Index(TableIndex::of_table(objects.tables.get(table)?).nth(which)?),
        At::Sequence(number) => Class::Sequence(objects.sequences.get(number)?),
        At::View(number) => Class::View(objects.views.get(number)?),
    })
}
