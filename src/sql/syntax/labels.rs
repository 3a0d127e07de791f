//! Names of columns in plans.
//!
//! DataFusion wants the columns of a projection to have different names, PostgreSQL does not mind. So a label that
//! occurs again gets a suffix behind U+0001 in a plan; clients see the labels that the binder found.

use std::collections::HashSet;

const SUFFIX: char = '\u{1}';

/// A text of DataFusion's with the labels in it as a client sees them. Labels that only the input of a change has are
/// numbers behind U+0002.
pub(crate) fn shown_labels(text: &str) -> String {
    let text = text.replace('\u{2}', "");
    let mut pieces = text.split(SUFFIX);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| shown + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// A name for each column that no other column has: its label, or the label with a suffix where it occurs again.
pub(crate) fn unique_names(labels: &[String]) -> Vec<String> {
    let mut used: HashSet<String> = HashSet::with_capacity(labels.len());
    let mut name = |label: &String| match !label.contains(SUFFIX) && used.insert(label.clone()) {
        true => label.clone(),
        false => next_free(label, &mut used),
    };
    labels.iter().map(&mut name).collect()
}

/// A name for a label that nothing in `used` has; it is used then.
pub(crate) fn next_free(label: &str, used: &mut HashSet<String>) -> String {
    (2..).map(|n| format!("{label}{SUFFIX}{n}")).find(|candidate| used.insert(candidate.clone())).unwrap_or_default()
}
