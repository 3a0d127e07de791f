//! What a run found, with one entry for each root cause as far as templates tell it.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::differential::accepted::Difference;
use crate::differential::wire::Answer;

/// Lines of an answer that are shown.
const ROWS_SHOWN: usize = 6;

/// Counts of a run.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    pub generated: usize,
    pub equal: usize,
    pub equal_errors: usize,
    /// After the first difference of a script, the rest of it says nothing.
    pub skipped: usize,
    pub different: usize,
    pub accepted: BTreeMap<&'static str, usize>,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.generated += other.generated;
        self.equal += other.equal;
        self.equal_errors += other.equal_errors;
        self.skipped += other.skipped;
        self.different += other.different;
    }

    pub(super) fn lines(&self) -> String {
        let mut text = format!(
            "{} statements generated: {} equal, {} equal errors, {} after a difference in their script\n",
            self.generated, self.equal, self.equal_errors, self.skipped
        );
        for (reason, count) in &self.accepted {
            writeln!(text, "{count:>7} accepted: {reason}").expect("strings take everything");
        }
        text
    }
}

/// Differences that look like one root cause.
#[derive(Debug)]
pub(super) struct Group {
    pub smallest: Difference,
    pub count: usize,
}

impl Group {
    /// Whether a difference has the same kind, and we refuse in the same words, or it has in it everything that this
    /// group's smallest statement needs.
    pub(super) fn explains(&self, other: &Difference) -> bool {
        let smallest = &self.smallest;
        if smallest.kind != other.kind {
            return false;
        }
        match (wording(&smallest.here), wording(&other.here)) {
            (Some(words), Some(other)) if words == other => true,
            _ => !smallest.labels.is_empty() && smallest.labels.iter().all(|label| other.labels.contains(label)),
        }
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!("{} x {}\n", self.count, self.smallest.kind);
        for statement in &self.smallest.script {
            writeln!(text, "    {statement};").expect("strings take everything");
        }
        write!(text, "  PostgreSQL: {}\n  here:       {}\n", brief(&self.smallest.there), brief(&self.smallest.here))
            .expect("strings take everything");
        text
    }
}

/// The message of an error without its numbers.
fn wording(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Error { message, .. } => Some(message.chars().filter(|c| !c.is_ascii_digit()).collect()),
        _ => None,
    }
}

fn brief(answer: &Answer) -> String {
    match answer {
        Answer::Error { code, message, .. } => format!("{code} {message}"),
        Answer::Lost(why) => why.clone(),
        Answer::Done { columns, rows, tag } => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let mut shown: Vec<String> = Vec::new();
            for row in rows.iter().take(ROWS_SHOWN) {
                let cells: Vec<String> = row
                    .iter()
                    .map(|cell| cell.as_ref().map_or("NULL".to_owned(), |cell| format!("{cell:?}")))
                    .collect();
                shown.push(cells.join(" "));
            }
            let more = if rows.len() > ROWS_SHOWN { " | ..." } else { "" };
            format!("({}) {}{more} [{tag}]", names.join(", "), shown.join(" | "))
        }
    }
}
