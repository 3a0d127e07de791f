//! Names that PostgreSQL makes for constraints, indexes and sequences: `table_column_check`.

/// Longest name, in bytes: PostgreSQL's own bound.
const NAME_BYTES: usize = 63;

/// `table_column_label`, or `table_label` without a column: the first one that is free, with a number behind it from
/// the second on.
pub(crate) fn free_name(table: &str, column: Option<&str>, label: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut number = 0_usize;
    loop {
        let numbered = if number == 0 { label.to_owned() } else { format!("{label}{number}") };
        let name = made_name(table, column, &numbered);
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// The parts joined; where that is too long, the longer of table and column is cut, as PostgreSQL does.
fn made_name(table: &str, column: Option<&str>, label: &str) -> String {
    let separators = 1 + usize::from(column.is_some());
    let room = NAME_BYTES.saturating_sub(label.len() + separators);
    let (mut table_bytes, mut column_bytes) = (table.len(), column.map_or(0, str::len));
    while table_bytes + column_bytes > room {
        if table_bytes > column_bytes { table_bytes -= 1 } else { column_bytes -= 1 }
    }
    let table = head(table, table_bytes);
    match column {
        Some(column) => format!("{table}_{}_{label}", head(column, column_bytes)),
        None => format!("{table}_{label}"),
    }
}

/// The beginning of a text, in whole characters.
fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_postgresqls() {
        assert_eq!(free_name("t", Some("c"), "check", |_| false), "t_c_check");
        assert_eq!(free_name("t", None, "check", |name| name == "t_check"), "t_check1");
        let long = "x".repeat(60);
        // As PostgreSQL 15 names the sequence of a serial column.
        assert_eq!(free_name(&long, Some("id"), "seq", |_| false), format!("{}_id_seq", "x".repeat(56)));
        assert_eq!(free_name(&long, Some(&long), "check", |_| false).len(), 63);
        assert_eq!(free_name(&"é".repeat(40), None, "check", |_| false), format!("{}_check", "é".repeat(28)));
    }
}
