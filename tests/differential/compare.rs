//! Whether two answers are the same, and if not, in what way they differ.

use std::fmt;

use crate::differential::wire::{Answer, Row};

/// How two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// PostgreSQL answers, we refuse.
    OnlyHereFails(String),
    /// PostgreSQL refuses, we answer.
    OnlyThereFails(String),
    /// Both refuse: there, here.
    Codes(String, String),
    /// Other result types: there, here.
    Types(String, String),
    Names,
    Count,
    Rows,
    Tag,
    /// We broke the connection or never answered.
    Lost,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::OnlyHereFails(code) => write!(f, "only here fails with {code}"),
            Kind::OnlyThereFails(code) => write!(f, "should fail with {code}"),
            Kind::Codes(there, here) => write!(f, "should fail with {there}, fails with {here}"),
            Kind::Types(there, here) => write!(f, "should be of type {there}, is {here}"),
            Kind::Names => f.write_str("other column labels"),
            Kind::Count => f.write_str("another number of rows"),
            Kind::Rows => f.write_str("other values"),
            Kind::Tag => f.write_str("another command tag"),
            Kind::Lost => f.write_str("no answer"),
        }
    }
}

/// Where the numbers begin that a server gives to what its users create, such as the row types of tables: they differ by the
/// order of creation.
const FIRST_USER_OID: u32 = 16_384;

/// The first way in which our answer differs from PostgreSQL's; `None` when it does not.
pub(super) fn difference(there: &Answer, here: &Answer, is_ordered: bool) -> Option<Kind> {
    match (there, here) {
        (_, Answer::Lost(_)) => Some(Kind::Lost),
        // What PostgreSQL itself does not survive or finish says nothing.
        (Answer::Lost(_), _) => None,
        (Answer::Error { code, .. }, _) if code == "57014" => None,
        (Answer::Error { code: there, .. }, Answer::Error { code: here, .. }) => {
            (there != here).then(|| Kind::Codes(there.clone(), here.clone()))
        }
        (Answer::Done { .. }, Answer::Error { code, .. }) => Some(Kind::OnlyHereFails(code.clone())),
        (Answer::Error { code, .. }, Answer::Done { .. }) => Some(Kind::OnlyThereFails(code.clone())),
        (Answer::Done { columns: c1, rows: r1, tag: t1 }, Answer::Done { columns: c2, rows: r2, tag: t2 }) => {
            let types = |columns: &[crate::differential::wire::Column]| -> Vec<(u32, i32)> {
                columns.iter().map(|column| (column.oid.min(FIRST_USER_OID), column.typmod)).collect()
            };
            let (types1, types2) = (types(c1), types(c2));
            if types1 != types2 {
                let at = types1.iter().zip(&types2).find(|(a, b)| a != b);
                let told = |ty: Option<(u32, i32)>| ty.map_or("absent".to_owned(), format_type);
                return Some(Kind::Types(told(at.map(|(a, _)| *a)), told(at.map(|(_, b)| *b))));
            }
            if c1.iter().map(|column| &column.name).ne(c2.iter().map(|column| &column.name)) {
                return Some(Kind::Names);
            }
            if r1.len() != r2.len() {
                return Some(Kind::Count);
            }
            let oids: Vec<u32> = c1.iter().map(|column| column.oid).collect();
            if !same_rows(&oids, r1, r2, is_ordered) {
                return Some(Kind::Rows);
            }
            (t1 != t2).then_some(Kind::Tag)
        }
    }
}

/// Whether the rows are the same, in the same order if there is one.
pub(super) fn same_rows(oids: &[u32], there: &[Row], here: &[Row], is_ordered: bool) -> bool {
    let pairwise = |there: &[&Row], here: &[&Row]| there.iter().zip(here).all(|(a, b)| same_row(oids, a, b));
    let (mut there, mut here): (Vec<&Row>, Vec<&Row>) = (there.iter().collect(), here.iter().collect());
    if is_ordered {
        return pairwise(&there, &here);
    }
    there.sort();
    here.sort();
    if pairwise(&there, &here) {
        return true;
    }
    // Rows whose numbers are equal but printed otherwise may have been sorted apart.
    here.iter().all(|row| {
        let found = there.iter().position(|other| same_row(oids, other, row));
        found.map(|at| there.remove(at)).is_some()
    })
}

fn same_row(oids: &[u32], there: &Row, here: &Row) -> bool {
    there.len() == here.len() && oids.iter().zip(there.iter().zip(here)).all(|(oid, (a, b))| same_cell(*oid, a, b))
}

const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;

fn same_cell(oid: u32, there: &Option<String>, here: &Option<String>) -> bool {
    let (Some(there), Some(here)) = (there, here) else { return there == here };
    if there == here {
        return true;
    }
    match oid {
        // A few units in the last place: sine and its like are the machine's library's.
        FLOAT8 => is_near(there, here, 8.0 * f64::EPSILON),
        FLOAT4 => is_near(there, here, 4.0 * f64::from(f32::EPSILON)),
        // Sixteen significant digits; whole numbers to the last.
        NUMERIC if there.contains('.') || here.contains('.') => is_near(there, here, 1e-15),
        _ => false,
    }
}

fn is_near(there: &str, here: &str, tolerance: f64) -> bool {
    let (Ok(there), Ok(here)) = (there.parse::<f64>(), here.parse::<f64>()) else { return false };
    (there - here).abs() <= tolerance * there.abs().max(here.abs())
}

/// A type as PostgreSQL's format_type names it, roughly: the numbers of the less common ones are telling enough.
fn format_type((oid, typmod): (u32, i32)) -> String {
    let name = match oid {
        16 => "boolean",
        17 => "bytea",
        20 => "bigint",
        21 => "smallint",
        23 => "integer",
        25 => "text",
        114 => "json",
        FLOAT4 => "real",
        FLOAT8 => "double precision",
        1007 => "integer[]",
        1009 => "text[]",
        1042 => "character",
        1043 => "varchar",
        1082 => "date",
        1083 => "time",
        1114 => "timestamp",
        1184 => "timestamptz",
        1186 => "interval",
        NUMERIC => "numeric",
        2950 => "uuid",
        3802 => "jsonb",
        other => return format!("oid {other} typmod {typmod}"),
    };
    if typmod == -1 { name.to_owned() } else { format!("{name} typmod {typmod}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same_cell(NUMERIC, &cell("0.33333333333333333333"), &cell("0.3333333333333333")));
        assert!(!same_cell(NUMERIC, &cell("9223372036854775807"), &cell("9223372036854775806")));
        assert!(same_cell(FLOAT8, &cell("0.8414709848078965"), &cell("0.8414709848078966")));
        assert!(!same_cell(FLOAT8, &cell("1"), &cell("1.0000001")));
        assert!(!same_cell(25, &cell("1.0"), &cell("1")));
    }

    #[test]
    fn bags_are_compared_without_order() {
        let rows = |texts: &[&str]| -> Vec<Row> { texts.iter().map(|text| vec![cell(text)]).collect() };
        assert!(same_rows(&[25], &rows(&["a", "b"]), &rows(&["b", "a"]), false));
        assert!(!same_rows(&[25], &rows(&["a", "b"]), &rows(&["b", "a"]), true));
        assert!(!same_rows(&[25], &rows(&["a", "a"]), &rows(&["a", "b"]), false));
    }
}
