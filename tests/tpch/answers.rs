//! Answers as text, and where two of them differ.

/// A row of cells; `None` is NULL.
pub(super) type Row = Vec<Option<String>>;

/// Digits behind the point that PostgreSQL shows of a quotient or an average at least, and of no amount of TPC-H.
const QUOTIENT_DIGITS: usize = 16;

/// One line a row, as the files below `sql/tpch/answers` have it.
pub(super) fn to_text(rows: &[Row]) -> String {
    let line = |row: &Row| row.iter().map(|cell| cell.as_deref().unwrap_or("\\N")).collect::<Vec<_>>().join("|") + "\n";
    rows.iter().map(line).collect()
}

pub(super) fn from_text(text: &str) -> Vec<Row> {
    let cell = |cell: &str| (cell != "\\N").then(|| cell.to_owned());
    text.lines().map(|line| line.split('|').map(cell).collect()).collect()
}

/// The first difference between the rows, in words.
pub(super) fn difference(expected: &[Row], got: &[Row]) -> Option<String> {
    for (number, (wanted, row)) in expected.iter().zip(got).enumerate() {
        let same = wanted.len() == row.len() && wanted.iter().zip(row).all(|(wanted, cell)| is_same(wanted, cell));
        if !same {
            return Some(format!("row {}: expected {wanted:?}, got {row:?}", number + 1));
        }
    }
    (expected.len() != got.len()).then(|| format!("expected {} rows, got {}", expected.len(), got.len()))
}

/// Whether a cell is PostgreSQL's, to the last digit. How many zeros end a quotient depends in PostgreSQL on the first digits of both
/// numbers, of which the quotient does not tell all.
fn is_same(expected: &Option<String>, got: &Option<String>) -> bool {
    let is_quotient = |text: &str| text.split_once('.').is_some_and(|(_, digits)| digits.len() >= QUOTIENT_DIGITS);
    match (expected, got) {
        (Some(expected), Some(got)) if is_quotient(expected) && is_quotient(got) => {
            expected.trim_end_matches('0') == got.trim_end_matches('0')
        }
        _ => expected == got,
    }
}

#[test]
fn quotients_may_end_in_more_zeros_or_in_fewer() {
    let same = |expected: &str, got: &str| is_same(&Some(expected.to_owned()), &Some(got.to_owned()));
    assert!(same("1.50", "1.50") && same("a", "a"));
    assert!(same("25.7787356321839080", "25.7787356321839080"));
    assert!(same("0.000000000000000000000000", "0.00000000000000000000"));
    assert!(!same("1.50", "1.5") && !same("25.7787356321839081", "25.7787356321839080"));
    assert!(!same("0.00000000000000000000", "0"));
    assert!(!is_same(&None, &Some("0".to_owned())));
}
