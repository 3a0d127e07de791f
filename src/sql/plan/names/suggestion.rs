//! Which column was meant by a name that no column has: the closest in sight, by PostgreSQL's measure.

use strsim::levenshtein;

use super::scope::{ScopeColumn, Source};

/// Changes of single characters that may lie between a name and the one that was meant: PostgreSQL's number.
const MOST_CHANGES: usize = 3;

/// The columns that are closest to a name so far.
pub(super) struct Suggestion {
    changes: usize,
    columns: Vec<String>,
}

impl Suggestion {
    /// The hint about a column of some tables; `alias` is what the name was qualified with.
    pub(super) fn hint<'s>(
        name: &str,
        alias: Option<&str>,
        sources: impl Iterator<Item = &'s Source>,
    ) -> Option<String> {
        let mut closest = Self { changes: MOST_CHANGES + 1, columns: Vec::new() };
        for source in sources {
            let other_table = alias.map_or(0, |alias| levenshtein(alias, &source.alias));
            for column in source.columns.iter().filter(|column| !column.hidden) {
                closest.consider(name, other_table, source, column);
            }
        }
        match closest.columns.as_slice() {
            [one] => Some(format!("Perhaps you meant to reference the column \"{one}\".")),
            [one, other] => {
                Some(format!("Perhaps you meant to reference the column \"{one}\" or the column \"{other}\"."))
            }
            // None, or so many that none of them is a help.
            _ => None,
        }
    }

    fn consider(&mut self, name: &str, other_table: usize, source: &Source, column: &ScopeColumn) {
        let other_name = levenshtein(&column.name, name);
        // A name of which more than half is different would be a ridiculous suggestion.
        if other_name > name.len() / 2 {
            return;
        }
        let changes = other_name + other_table;
        if changes < self.changes {
            self.changes = changes;
            self.columns.clear();
        }
        if changes == self.changes && changes <= MOST_CHANGES {
            self.columns.push(format!("{}.{}", source.alias, column.name));
        }
    }
}
