//! The columns whose names are nearest to one that does not exist: PostgreSQL's rules for its hints.

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
        let penalty = table.map_or(0, |table| distance(of, table));
        if penalty > least || column.is_empty() {
            continue;
        }
        let own = distance(column, name);
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

/// Levenshtein's distance.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in (1..).zip(one.chars()) {
        let mut diagonal = row[0];
        row[0] = i;
        for (j, b) in (1..).zip(&other) {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j];
            row[j] = replaced.min(row[j] + 1).min(row[j - 1] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
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
        assert_eq!((distance("kitten", "sitting"), distance("", "ab")), (3, 2));
    }
}
