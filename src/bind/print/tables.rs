//! Names that tables are told apart by, in a query and those around it: PostgreSQL's `set_rtable_names`.

use std::collections::HashMap;

use super::query::RelationNames;
use crate::query::bound::{BoundQuery, RangeSource};

/// The longest name, in bytes.
const MOST_BYTES: usize = 63;

/// The names of a query's range table, and what is taken by them.
#[derive(Default)]
pub(super) struct Tables {
    /// By entry; a join without an alias has none.
    pub names: Vec<Option<String>>,
    /// Names that are taken, with the last number that was put behind each.
    taken: HashMap<String, usize>,
}

impl Tables {
    /// `known` are names that the query has besides, `outer` says what queries around it have taken.
    pub(super) fn of(
        query: &BoundQuery,
        relations: &dyn RelationNames,
        known: &[&str],
        outer: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut tables = Self::default();
        tables.taken.extend(known.iter().map(|name| ((*name).to_owned(), 0)));
        for entry in &query.range {
            let name = match &entry.source {
                _ if entry.has_alias => Some(entry.name.clone()),
                RangeSource::Table { relation, .. } => Some(relations.table(relation)),
                RangeSource::Join { .. } => None,
                _ => Some(entry.name.clone()),
            };
            let name = name.map(|name| tables.unique(name, outer));
            tables.names.push(name);
        }
        tables
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.taken.contains_key(name)
    }

    fn unique(&mut self, name: String, outer: &dyn Fn(&str) -> bool) -> String {
        let is_taken = |taken: &HashMap<String, usize>, name: &str| taken.contains_key(name) || outer(name);
        if !is_taken(&self.taken, &name) {
            self.taken.insert(name.clone(), 0);
            return name;
        }
        let mut number = self.taken.get(&name).copied().unwrap_or(0);
        let made = loop {
            number += 1;
            let made = numbered(&name, number);
            if !is_taken(&self.taken, &made) {
                break made;
            }
        };
        self.taken.insert(name, number);
        self.taken.insert(made.clone(), 0);
        made
    }
}

/// A name with a number behind it, cut off where it would be too long.
pub(super) fn numbered(name: &str, number: usize) -> String {
    let suffix = format!("_{number}");
    let mut end = name.len().min(MOST_BYTES.saturating_sub(suffix.len()));
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbered_names_are_no_longer_than_names_may_be() {
        assert_eq!(numbered("t", 12), "t_12");
        assert_eq!(numbered(&"x".repeat(63), 1), format!("{}_1", "x".repeat(61)));
        assert_eq!(numbered(&"ä".repeat(31), 10), format!("{}_10", "ä".repeat(30)));
    }
}
