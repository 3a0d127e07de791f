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

/// A difference that is meant to be there.
#[derive(Debug)]
pub struct Accepted {
    /// As COMPAT.md has it.
    pub reason: &'static str,
    pub covers: fn(&Difference) -> bool,
}

/// Where two parts of a statement fail, nothing says which is computed first. Found by asking for each part alone.
pub const ORDER_OF_EVALUATION: &str = "which of two errors of a statement is reported";

pub const ACCEPTED: &[Accepted] = &[];

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
