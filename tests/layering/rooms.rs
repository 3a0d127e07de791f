//! The rooms of `sql` import those before them, never those behind.

use std::collections::BTreeSet;

use super::{is_inside, sources};

/// The folders and files of `src/sql`, lowest first.
const ROOMS: &[&str] = &[
    "mount",
    "place",
    "progress",
    "read_log",
    "login",
    "database",
    "notify",
    "nesting",
    "roster",
    "tuning",
    "syntax",
    "relation",
    "observe",
    "derived",
    "activity",
    "statistics",
    "catalog",
    "tx",
    "copies",
    "expr",
    "outcome",
    "reads",
    "key_range",
    "findings",
    "privileges",
    "sequence",
    "functions",
    "cursor",
    "settings",
    "scan",
    "grouping",
    "handles",
    "engine",
    "plan",
    "dml",
    "advisory",
    "views",
    "ddl",
    "pg_catalog",
    "explain",
    "locking",
    "session",
];

/// Imports against the order that are left: from the first room to the second. None may be added.
const UPWARD: &[(&str, &str)] = &[
    ("activity", "settings"),
    ("catalog", "dml"),
    ("catalog", "pg_catalog"),
    ("catalog", "privileges"),
    ("catalog", "sequence"),
    ("catalog", "views"),
    ("dml", "pg_catalog"),
    ("engine", "pg_catalog"),
    ("engine", "plan"),
    ("expr", "functions"),
    ("expr", "pg_catalog"),
    ("functions", "plan"),
    ("observe", "dml"),
    ("observe", "tx"),
    ("plan", "pg_catalog"),
    ("plan", "views"),
    ("relation", "catalog"),
    ("relation", "derived"),
    ("relation", "plan"),
    ("syntax", "statistics"),
    ("syntax", "tx"),
];

#[test]
fn rooms_import_only_those_before_them() {
    let at = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut found = BTreeSet::new();
    let mut unplaced = BTreeSet::new();
    for file in sources() {
        let Some(path) = file.path.strip_prefix("sql/").filter(|path| *path != "lib.rs") else { continue };
        let Some(own) = ROOMS.iter().find(|room| is_inside(path, room)) else {
            unplaced.insert(path.to_owned());
            continue;
        };
        for other in file.code.crate_paths(path) {
            if at(&other) > at(own) {
                found.insert((*own, other));
            }
        }
    }
    let allowed: BTreeSet<(&str, String)> = UPWARD.iter().map(|(from, to)| (*from, (*to).to_owned())).collect();
    assert!(unplaced.is_empty(), "files that are in no room: {unplaced:?}");
    let added: Vec<_> = found.difference(&allowed).collect();
    assert!(added.is_empty(), "imports of rooms behind: {added:?}");
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(gone.is_empty(), "no longer needed in the list: {gone:?}");
}
