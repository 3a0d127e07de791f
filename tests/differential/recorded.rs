//! Recorded answers of PostgreSQL 15, for machines that have none.
//!
//! One line for each statement of the recorded seed, in the order in which they are made: a hash of the statement, then its
//! SQLSTATE, or its columns, tag and rows. `DIFFERENTIAL_RECORD=1` writes the file anew; that is due when the generator
//! makes other statements, and the test says so.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

use crate::differential::wire::{Answer, Column, Row};

/// Statements that are recorded: the first of the default seed.
pub(super) const STATEMENTS: usize = 3_000;

const TEXT: &str = include_str!("recorded.tsv");
/// Those about aggregates, which are all asked each time.
const OF_AGGREGATES: &str = include_str!("recorded_aggregates.tsv");
/// Those to wrong statements that PostgreSQL refuses.
const OF_WRONG: &str = include_str!("recorded_wrong.tsv");

/// The answers, by the hash of their case's statements up to them.
#[derive(Debug)]
pub(super) struct Recorded(HashMap<u64, Answer>);

impl Recorded {
    pub(super) fn load() -> Self {
        Self(TEXT.lines().filter_map(read_line).collect())
    }

    pub(super) fn of_aggregates() -> Self {
        Self(OF_AGGREGATES.lines().filter_map(read_line).collect())
    }

    pub(super) fn of_wrong() -> Self {
        Self(OF_WRONG.lines().filter_map(read_line).collect())
    }

    pub(super) fn answer(&self, hash: u64) -> Option<&Answer> {
        self.0.get(&hash)
    }
}

/// FNV-1a over the statements of a case so far: a script's answer hangs on what went before.
pub(super) fn hash(statements: &[String]) -> u64 {
    let bytes = statements.iter().flat_map(|statement| statement.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(super) fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/differential/recorded.tsv")
}

pub(super) fn path_of_aggregates() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/differential/recorded_aggregates.tsv")
}

pub(super) fn path_of_wrong() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/differential/recorded_wrong.tsv")
}

/// A line of the file.
pub(super) fn line(hash: u64, answer: &Answer) -> String {
    let mut line = format!("{hash:016x}");
    match answer {
        Answer::Error { code, position: None, .. } => write!(line, "\t{code}").expect("strings take everything"),
        Answer::Error { code, position: Some(position), .. } => {
            write!(line, "\t{code}\t{position}").expect("strings take everything");
        }
        Answer::Lost(_) => line.push_str("\tlost"),
        Answer::Done { columns, rows, tag } => {
            let described: Vec<String> =
                columns.iter().map(|c| format!("{}:{}:{}", c.oid, c.typmod, escape(&c.name))).collect();
            write!(line, "\t-\t{tag}\t{}", described.join("\u{1f}")).expect("strings take everything");
            for row in rows {
                let cells: Vec<String> =
                    row.iter().map(|cell| cell.as_deref().map_or("\\N".to_owned(), escape)).collect();
                write!(line, "\t{}", cells.join("\u{1f}")).expect("strings take everything");
            }
        }
    }
    line.push('\n');
    line
}

fn read_line(line: &str) -> Option<(u64, Answer)> {
    let mut fields = line.split('\t');
    let hash = u64::from_str_radix(fields.next()?, 16).ok()?;
    let answer = match fields.next()? {
        "-" => {
            let tag = fields.next()?.to_owned();
            let columns = fields.next()?.split('\u{1f}').filter_map(read_column).collect();
            Answer::Done { columns, rows: fields.map(read_row).collect(), tag }
        }
        "lost" => Answer::Lost("when it was recorded".to_owned()),
        code => {
            let position = fields.next().and_then(|text| text.parse().ok());
            Answer::Error { code: code.to_owned(), message: String::new(), position }
        }
    };
    Some((hash, answer))
}

fn read_column(text: &str) -> Option<Column> {
    let mut fields = text.splitn(3, ':');
    let (oid, typmod) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Column { oid, typmod, name: unescape(fields.next()?) })
}

fn read_row(text: &str) -> Row {
    text.split('\u{1f}').map(|cell| (cell != "\\N").then(|| unescape(cell))).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t").replace('\u{1f}', "\\u")
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => plain.push(match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => '\u{1f}',
                _ => '\\',
            }),
            (c, false) => plain.push(c),
        }
    }
    plain
}
