//! What depends on a table: the foreign keys of other tables that refer to it.
//!
//! They are recorded and not enforced, but PostgreSQL would not drop or empty a table under them, so neither does this.

use std::collections::HashSet;

use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::error::{ErrorKind, Notice, SqlError};

use crate::catalog::CatalogView;
use crate::place::PlacedName;
use crate::views::{Dependent, Needed, needed_by_views};

/// A foreign key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The table that has the constraint.
    pub table: PlacedName,
    pub constraint: String,
    /// The table it refers to.
    pub referenced: String,
}

/// The foreign keys that other tables have to these, in the order of these.
pub(crate) fn references_to(catalog: &CatalogView, tables: &[PlacedName]) -> Vec<Reference> {
    let mut found = Vec::new();
    for wanted in tables {
        for declaration in catalog.declarations().filter(|d| !tables.contains(&d.placed_name())) {
            for constraint in &declaration.constraints.unenforced {
                if let UnenforcedKind::ForeignKey { table, .. } = &constraint.kind
                    && *table == wanted.name
                    && declaration.place == wanted.place
                {
                    found.push(Reference {
                        table: declaration.placed_name(),
                        constraint: constraint.name.clone(),
                        referenced: table.clone(),
                    });
                }
            }
        }
    }
    found
}

/// The foreign keys to this table, its own among them, whose referenced columns the condition is about.
pub(crate) fn references_to_columns(
    catalog: &CatalogView,
    name: &PlacedName,
    condition: impl Fn(&[String]) -> bool,
) -> Vec<Reference> {
    let mut found = Vec::new();
    // References stay in their place.
    for declaration in catalog.declarations().filter(|d| d.place == name.place) {
        for constraint in &declaration.constraints.unenforced {
            if let UnenforcedKind::ForeignKey { table, referenced, .. } = &constraint.kind
                && *table == name.name
                && condition(referenced)
            {
                found.push(Reference {
                    table: declaration.placed_name(),
                    constraint: constraint.name.clone(),
                    referenced: table.clone(),
                });
            }
        }
    }
    found
}

/// The lines of a DETAIL that tell of foreign keys: they depend on this.
pub(crate) fn lines_of_references(references: &[Reference], on: &str) -> Vec<String> {
    references
        .iter()
        .map(|r| format!("constraint {} on table {} depends on {on}", r.constraint, r.table.name))
        .collect()
}

/// DROP TABLE without CASCADE (2BP01).
pub(crate) fn still_needed(references: &[Reference]) -> Box<SqlError> {
    let detail: Vec<String> = references
        .iter()
        .map(|r| format!("constraint {} on table {} depends on table {}", r.constraint, r.table.name, r.referenced))
        .collect();
    match distinct(references.iter().map(|r| r.referenced.as_str())).as_slice() {
        [table] => needed(&format!("table {table}"), &detail),
        _ => depended_upon("cannot drop desired object(s) because other objects depend on them".to_owned(), &detail),
    }
}

/// DROP without CASCADE of what views depend on (2BP01).
pub(crate) fn needed_by(wanted: &[Needed<'_>], dependents: &[Dependent]) -> Box<SqlError> {
    let lines = needed_by_views(dependents);
    match (wanted, dependents.first().and_then(|dependent| wanted.get(dependent.root))) {
        ([_], Some(one)) => needed(&one.what, &lines),
        _ => depended_upon("cannot drop desired object(s) because other objects depend on them".to_owned(), &lines),
    }
}

/// DROP without CASCADE of what others depend on, a line for each (2BP01).
pub(crate) fn needed(what: &str, lines: &[String]) -> Box<SqlError> {
    depended_upon(format!("cannot drop {what} because other objects depend on it"), lines)
}

fn depended_upon(message: String, lines: &[String]) -> Box<SqlError> {
    SqlError::new(ErrorKind::DependentObjects, message)
        .with_detail(lines.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// What DROP CASCADE tells.
pub(crate) fn cascades(references: &[Reference]) -> Option<Notice> {
    let lines: Vec<String> = references
        .iter()
        .map(|r| format!("drop cascades to constraint {} on table {}", r.constraint, r.table.name))
        .collect();
    match lines.as_slice() {
        [] => None,
        [one] => Some(Notice::info(one)),
        several => Some(Notice {
            detail: Some(several.join("\n")),
            ..Notice::info(format!("drop cascades to {} other objects", several.len()))
        }),
    }
}

/// TRUNCATE without CASCADE (0A000).
pub(crate) fn still_referenced(reference: &Reference) -> Box<SqlError> {
    SqlError::new(ErrorKind::FeatureNotSupported, "cannot truncate a table referenced in a foreign key constraint")
        .with_detail(format!("Table \"{}\" references \"{}\".", reference.table.name, reference.referenced))
        .with_hint(format!(
            "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
            reference.table.name
        ))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(constraint: &str, referenced: &str) -> Reference {
        let (table, constraint) = (PlacedName::public("b"), constraint.to_owned());
        Reference { table, constraint, referenced: referenced.to_owned() }
    }

    #[test]
    fn what_depends_is_listed_as_postgresql_lists_it() {
        let one = [reference("b_a_id_fkey", "a"), reference("b_a_v_fkey", "a")];
        let error = still_needed(&one);
        assert_eq!(error.message, "cannot drop table a because other objects depend on it");
        assert!(error.detail.unwrap().ends_with("\nconstraint b_a_v_fkey on table b depends on table a"));
        assert_eq!(cascades(&one[..1]).unwrap().message, "drop cascades to constraint b_a_id_fkey on table b");
        assert_eq!(cascades(&one).unwrap().message, "drop cascades to 2 other objects");
        let two = still_needed(&[reference("x", "a"), reference("y", "c")]);
        assert_eq!(two.message, "cannot drop desired object(s) because other objects depend on them");
    }
}
