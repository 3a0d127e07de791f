//! The table in CONTRIBUTING.md of what to edit to add something leads to files that exist.

use super::{read, root};

/// What opens the table; it ends with the next heading.
const HEADING: &str = "## To add a ..., go to these files\n";

/// What one may want to add, in the order of the table.
const ADDED: &[&str] = &[
    "function on values",
    "operator",
    "type",
    "statement",
    "clause that sqlparser does not read",
    "setting of a session",
    "setting of the server",
    "catalogue view",
    "catalogue function",
    "metric",
    "backend",
    "wire message",
    "operation of the REST door",
    "error",
    "golden file",
    "limit",
];

/// The rows: what is added, and the text that says where.
fn rows(contributing: &str) -> Vec<(&str, &str)> {
    let (_, section) = contributing.split_once(HEADING).expect("CONTRIBUTING.md has the table");
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    cells.skip(1).collect()
}

/// What stands between backquotes and is a path: it has a slash, or names a file of the root folder.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.contains('/') || word.ends_with(".md"))
}

#[test]
fn everything_that_is_often_added_has_its_files() {
    let contributing = read(&root().join("CONTRIBUTING.md"));
    let rows = rows(&contributing);
    assert_eq!(rows.iter().map(|(added, _)| *added).collect::<Vec<_>>(), ADDED);
    for (added, text) in &rows {
        assert!(paths(text).next().is_some(), "no path says where a {added} is added");
    }
    let gone: Vec<&str> =
        rows.iter().flat_map(|(_, text)| paths(text)).filter(|path| !root().join(path).exists()).collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md sends to what does not exist:\n{}", gone.join("\n"));
}
