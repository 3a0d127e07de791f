//! The rooms of `sql` import those before them, never those behind.

use std::collections::BTreeSet;

use super::{is_inside, sources};

/// The folders and files of `src/sql`, lowest first.
const ROOMS: &[&str] = &[
    "limits",
    "stoppable",
    "spare_stack",
    "spill_files",
    "aside",
    "coercion",
    "own_rows",
    "mount",
    "place",
    "login",
    "syntax",
    "settings",
    "activity",
    "batches",
    "relation",
    "observe",
    "statistics",
    "copies",
    "outcome",
    "one_input",
    "passing",
    "recursion",
    "accounted",
    "short_batches",
    "short_lists",
    "divided",
    "turns",
    "workers",
    "catalog",
    "privileges",
    "progress",
    "read_log",
    "tx",
    "advisory",
    "cursor",
    "database",
    "calls",
    "expr",
    "guarded_rules",
    "false_order",
    "lost_order",
    "self_equal",
    "window_keys",
    "zeros",
    "empty_rows",
    "many_wanted",
    "apart",
    "key_range",
    "newest",
    "reads",
    "scan",
    "range_join",
    "semi_joins",
    "run_time_filters",
    "grouping",
    "in_turn",
    "notify",
    "roster",
    "sequence",
    "tuning",
    "latest",
    "engine",
    "guest",
    "handles",
    "plan",
    "dml",
    "views",
    "ddl",
    "findings",
    "pg_catalog",
    "explain",
    "locking",
    "session",
];

/// Imports against the order that are left: from the first room to the second. None may be added.
const UPWARD: &[(&str, &str)] = &[];

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
