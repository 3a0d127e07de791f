//! How much a plan reads, in words for EXPLAIN.

use std::fmt;

use tablegate_store::model::{Cut, Span};
use tablegate_store::table::KeyRange;

/// Values of a list that are shown before "and so many more".
const SHOWN: usize = 3;

/// What is read, from least to most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Nothing can match.
    Nothing,
    /// One key.
    Point,
    /// A span of rows in one partition.
    RowRange,
    /// All rows of one partition.
    Partition,
    /// A span of partitions.
    PartitionRange,
    /// Everything.
    Table,
    /// Several of these, with how many there are of each.
    List(Vec<(Scope, usize)>),
}

impl Scope {
    pub fn of<'a>(ranges: impl IntoIterator<Item = &'a KeyRange>) -> Self {
        let mut counts = [0_usize; 5];
        for range in ranges {
            match (range.partitions.as_point(), range.has_all_rows()) {
                (Some(_), true) => counts[2] += 1,
                (Some(_), false) => {
                    let points = range.rows.iter().filter(|span| span.as_point().is_some()).count();
                    counts[0] += points;
                    counts[1] += range.rows.len() - points;
                }
                (None, true) if range.partitions.is_all() => counts[4] += 1,
                (None, _) => counts[3] += 1,
            }
        }
        let kinds = [Scope::Point, Scope::RowRange, Scope::Partition, Scope::PartitionRange, Scope::Table];
        let mut found: Vec<_> = kinds.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect();
        match &*found {
            [] => Scope::Nothing,
            [(_, 1)] => found.swap_remove(0).0,
            _ => Scope::List(found),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Nothing => f.write_str("none"),
            Scope::Point => f.write_str("point"),
            Scope::RowRange => f.write_str("row range"),
            Scope::Partition => f.write_str("partition"),
            Scope::PartitionRange => f.write_str("partition range"),
            Scope::Table => f.write_str("table"),
            Scope::List(items) => {
                for (index, (scope, count)) in items.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    let plural = if *count == 1 { "" } else { "s" };
                    write!(f, "{separator}{count} {scope}{plural}")?;
                }
                Ok(())
            }
        }
    }
}

/// The ranges in a line: `PartitionKey = 'a', RowKey >= '05' and < '10'`.
pub(super) fn describe<'a>(ranges: impl IntoIterator<Item = &'a KeyRange>) -> String {
    let mut runs: Vec<Vec<&KeyRange>> = Vec::new();
    for range in ranges {
        match runs.last_mut() {
            Some(run) if run[0].rows == range.rows => run.push(range),
            _ => runs.push(vec![range]),
        }
    }
    if runs.is_empty() {
        return "none".to_owned();
    }
    capped(runs.iter().map(|run| describe_run(run)), "; ")
}

/// Ranges with the same rows.
fn describe_run(run: &[&KeyRange]) -> String {
    let partitions = spans("PartitionKey", run.iter().map(|range| &range.partitions));
    let rows = spans("RowKey", run[0].rows.iter());
    match (partitions, rows) {
        (None, None) => "all".to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(partitions), Some(rows)) => format!("{partitions}, {rows}"),
    }
}

/// `None` when everything goes.
fn spans<'a>(name: &str, spans: impl ExactSizeIterator<Item = &'a Span> + Clone) -> Option<String> {
    let points: Option<Vec<String>> = spans.clone().map(|span| span.as_point().map(|text| quote(text))).collect();
    match points.as_deref() {
        Some([only]) => return Some(format!("{name} = {only}")),
        Some(points) => return Some(format!("{name} in ({})", capped(points.iter().cloned(), ", "))),
        None => {}
    }
    let written: Vec<String> = spans.map(span).collect();
    match &*written {
        [only] if only.is_empty() => None,
        _ => Some(format!("{name} {}", capped(written.into_iter(), " or "))),
    }
}

fn span(span: &Span) -> String {
    let from = match &span.from {
        Cut::Min | Cut::Max => None,
        Cut::Before(text) => match &span.to {
            Cut::AfterPrefix(prefix) if prefix == text => return format!("like {}", quote_prefix(prefix)),
            Cut::After(to) if to == text => return format!("= {}", quote(text)),
            _ => Some(format!(">= {}", quote(text))),
        },
        Cut::After(text) => Some(format!("> {}", quote(text))),
        Cut::AfterPrefix(prefix) => Some(format!("> {}", quote_prefix(prefix))),
    };
    let to = match &span.to {
        Cut::Min | Cut::Max => None,
        Cut::Before(text) => Some(format!("< {}", quote(text))),
        Cut::After(text) => Some(format!("<= {}", quote(text))),
        Cut::AfterPrefix(prefix) => Some(format!("<= {}", quote_prefix(prefix))),
    };
    from.into_iter().chain(to).collect::<Vec<_>>().join(" and ")
}

fn capped(items: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let count = items.len();
    // One more is shown rather than counted.
    let shown = if count <= SHOWN + 1 { count } else { SHOWN };
    let text = items.take(shown).collect::<Vec<_>>().join(separator);
    if shown < count { format!("{text}{separator}... and {} more", count - shown) } else { text }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn quote_prefix(prefix: &str) -> String {
    format!("'{}%'", prefix.replace('\'', "''"))
}
