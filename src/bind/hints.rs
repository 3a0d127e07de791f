//! The columns whose names are nearest to one that does not exist: PostgreSQL's rules for its hints.

use strsim::levenshtein;

/// What is further away is not what was meant.
const MOST_DISTANCE: usize = 3;

/// The one column, or the two, that a name may have been meant for, with their tables.
pub(crate) fn nearest<'n>(
    columns: impl Iterator<Item = (&'n str, &'n str)>,
    table: Option<&str>,
    name: &str,
) -> Vec<(&'n str, &'n str)> {
    let mut least = MOST_DISTANCE + 1;
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (of, column) in columns {
        let penalty = table.map_or(0, |table| levenshtein(of, table));
        if penalty > least || column.is_empty() {
            continue;
        }
        let own = levenshtein(column, name);
        if own > name.len() / 2 {
            continue;
        }
        let total = own + penalty;
        if total < least {
            least = total;
            found = vec![(of, column)];
        } else if total == least {
            match found.len() {
                // Too many are as near: then none of them is named, nor any that is as far.
                2 => {
                    found.clear();
                    least = total.saturating_sub(1);
                }
                1 => found.push((of, column)),
                _ if least <= MOST_DISTANCE => found.push((of, column)),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_columns_are_named() {
        let columns = || [("t", "amount"), ("t", "count"), ("u", "amounts")].into_iter();
        assert_eq!(nearest(columns(), None, "amoun"), [("t", "amount")]);
        assert_eq!(nearest(columns(), None, "zzz"), []);
        assert_eq!(nearest(columns(), None, "amountz"), [("t", "amount"), ("u", "amounts")]);
        assert_eq!((levenshtein("kitten", "sitting"), levenshtein("", "ab")), (3, 2));
    }
}
