//! The one list of differences that are meant to be there. Each has a row in COMPAT.md with the same words.

use crate::compare::Kind;
use crate::wire::Answer;

/// A statement whose two answers differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The statement, and before it what led there.
    pub script: Vec<String>,
    pub kind: Kind,
    pub there: Answer,
    pub here: Answer,
    /// The templates that its last statement is made of.
    pub labels: Vec<String>,
}

impl Difference {
    fn sql(&self) -> &str {
        self.script.last().map_or("", String::as_str)
    }

    fn message_here(&self) -> &str {
        match &self.here {
            Answer::Error { message, .. } => message,
            Answer::Done { .. } | Answer::Lost(_) => "",
        }
    }

    fn is_refused_here(&self) -> bool {
        matches!(&self.kind, Kind::OnlyHereFails(code) | Kind::Codes(_, code) if code == "0A000")
    }

    /// The values of an INSERT are checked against their columns one after the other; PostgreSQL checks all types first.
    fn is_other_error_of_insert(&self) -> bool {
        let is_of_data = |code: &str| ["22", "23", "428", "427", "21"].iter().any(|class| code.starts_with(class));
        let Kind::Codes(there, here) = &self.kind else { return false };
        self.sql().starts_with("INSERT ") && is_of_data(there) && is_of_data(here)
    }
}

/// A difference that is meant to be there.
#[derive(Debug)]
pub struct Accepted {
    /// As COMPAT.md has it.
    pub reason: &'static str,
    pub covers: fn(&Difference) -> bool,
}

/// Where two parts of a statement fail, nothing says which is computed first. Found by asking for each part alone.
pub const ORDER_OF_EVALUATION: &str = "which of two errors of a statement is reported";

pub const ACCEPTED: &[Accepted] = &[
    Accepted { reason: ORDER_OF_EVALUATION, covers: Difference::is_other_error_of_insert },
    Accepted {
        reason: "FULL JOIN over any condition",
        covers: |d| d.sql().contains(" FULL JOIN ") && d.kind == Kind::OnlyThereFails("0A000".to_owned()),
    },
    Accepted {
        reason: "`NaN` and `infinity` in numeric, `infinity` in dates and times",
        covers: |d| {
            let here = d.message_here().to_lowercase();
            here.starts_with("numeric value \"") && here.ends_with("\" cannot be held")
                || here.starts_with("date/time field value out of range: \"") && here.ends_with("infinity\"")
        },
    },
    Accepted {
        reason: "arrays of several dimensions",
        covers: |d| d.is_refused_here() && d.message_here().contains("array of several dimensions"),
    },
    Accepted {
        reason: "EXCLUDE in a window frame",
        covers: |d| d.is_refused_here() && d.message_here().contains("EXCLUDE in a window frame"),
    },
];

/// The reason for which a difference is accepted.
pub fn reason(difference: &Difference) -> Option<&'static str> {
    ACCEPTED.iter().find(|accepted| (accepted.covers)(difference)).map(|accepted| accepted.reason)
}

#[test]
fn every_accepted_difference_has_its_row_in_compat() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/COMPAT.md")).unwrap();
    for accepted in ACCEPTED {
        assert!(page.contains(accepted.reason), "COMPAT.md does not say: {}", accepted.reason);
    }
}
