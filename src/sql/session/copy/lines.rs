//! Cuts COPY input, which arrives in pieces cut anywhere, into records.
//!
//! In text a record ends at a newline without a backslash before it, in CSV at one outside quotes. A carriage return
//! before that newline belongs to it. `\.` alone on a line ends the input.

use std::ops::Range;

use super::options::CopyOptions;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// Longest record, in bytes: an entity holds 1 MiB, and its text is some times that.
const RECORD_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Collects pieces and gives records.
#[derive(Debug)]
pub(super) struct LineSplitter {
    syntax: Syntax,
    buffer: Vec<u8>,
    /// Where the record under way begins in the buffer.
    start: usize,
    /// How far it was looked at.
    scanned: usize,
    in_quotes: bool,
    /// The byte before was an escape.
    escaped: bool,
    /// Line of the input where the last record ended, from 1.
    line: u64,
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
enum Syntax {
    Text,
    /// The escape is `None` when it is the quote.
    Csv {
        quote: u8,
        escape: Option<u8>,
    },
}

impl LineSplitter {
    pub fn new(options: &CopyOptions) -> Self {
        let syntax = if options.csv {
            Syntax::Csv { quote: options.quote, escape: (options.escape != options.quote).then_some(options.escape) }
        } else {
            Syntax::Text
        };
        Self {
            syntax,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            in_quotes: false,
            escaped: false,
            line: 0,
            ended: false,
        }
    }

    /// Takes the next piece of input.
    ///
    /// # Errors
    /// 54000 for a record of unreasonable length.
    pub fn feed(&mut self, data: &[u8]) -> SqlResult<()> {
        if self.ended {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.len() > RECORD_MAX_BYTES {
            return Err(SqlError::new(ErrorKind::LimitExceeded, "a line of the COPY input is too long")
                .with_detail(format!("At most {RECORD_MAX_BYTES} bytes are read as one line.")));
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// The next complete record, without its newline; see [`LineSplitter::bytes`].
    pub fn next_record(&mut self) -> Option<Range<usize>> {
        if self.ended {
            return None;
        }
        let end = self.find_newline()?;
        let mut record = self.start..end;
        self.start = end + 1;
        self.line += 1;
        if self.ends_with_return(&record) {
            record.end -= 1;
        }
        if &self.buffer[record.clone()] == b"\\." {
            self.ended = true;
            return None;
        }
        Some(record)
    }

    /// What is left when the input is complete: a last record without a newline.
    pub fn last_record(&mut self) -> Option<Range<usize>> {
        if self.ended || self.start == self.buffer.len() {
            return None;
        }
        self.ended = true;
        self.line += 1;
        let mut record = self.start..self.buffer.len();
        self.start = record.end;
        self.scanned = record.end;
        if self.ends_with_return(&record) {
            record.end -= 1;
        }
        (&self.buffer[record.clone()] != b"\\.").then_some(record)
    }

    pub fn bytes(&self, record: Range<usize>) -> &[u8] {
        &self.buffer[record]
    }

    /// Line of the input where the last record ended, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    fn find_newline(&mut self) -> Option<usize> {
        let from = self.scanned;
        let found = match self.syntax {
            Syntax::Text => self.find_in_text(from),
            Syntax::Csv { quote, escape } => self.find_in_csv(from, quote, escape),
        };
        self.scanned = found.map_or(self.buffer.len(), |at| at + 1);
        found
    }

    fn find_in_text(&mut self, from: usize) -> Option<usize> {
        let mut escaped = self.escaped;
        for (at, byte) in self.buffer.iter().enumerate().skip(from) {
            if escaped {
                escaped = false;
                self.line += u64::from(*byte == b'\n');
            } else if *byte == b'\\' {
                escaped = true;
            } else if *byte == b'\n' {
                self.escaped = false;
                return Some(at);
            }
        }
        self.escaped = escaped;
        None
    }

    fn find_in_csv(&mut self, from: usize, quote: u8, escape: Option<u8>) -> Option<usize> {
        let (mut in_quotes, mut escaped) = (self.in_quotes, self.escaped);
        let mut found = None;
        for (at, byte) in self.buffer.iter().enumerate().skip(from) {
            let is_escape = escape == Some(*byte);
            if in_quotes && is_escape {
                escaped = !escaped;
            }
            if *byte == quote && !escaped {
                in_quotes = !in_quotes;
            }
            if !is_escape {
                escaped = false;
            }
            if *byte == b'\n' {
                if !in_quotes {
                    found = Some(at);
                    break;
                }
                self.line += 1;
            }
        }
        (self.in_quotes, self.escaped) = (in_quotes, escaped);
        found
    }

    /// Whether the record ends with a carriage return that is not part of its data.
    fn ends_with_return(&self, record: &Range<usize>) -> bool {
        let Some((b'\r', before)) = self.buffer[record.clone()].split_last() else { return false };
        match self.syntax {
            Syntax::Text => before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0,
            Syntax::Csv { .. } => !self.in_quotes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Columns, Header};
    use super::*;

    fn options(csv: bool, escape: u8) -> CopyOptions {
        CopyOptions {
            csv,
            delimiter: b',',
            null: String::new(),
            header: Header::No,
            quote: b'"',
            escape,
            force_quote: Columns::None,
            force_null: Columns::None,
            force_not_null: Columns::None,
        }
    }

    /// The records with the lines they end on, from input cut into these pieces.
    fn records(options: &CopyOptions, pieces: &[&[u8]]) -> Vec<(String, u64)> {
        let mut splitter = LineSplitter::new(options);
        let mut found = Vec::new();
        let mut keep = |splitter: &LineSplitter, record: Range<usize>| {
            found.push((String::from_utf8(splitter.bytes(record).to_vec()).unwrap(), splitter.line()));
        };
        for piece in pieces {
            splitter.feed(piece).unwrap();
            while let Some(record) = splitter.next_record() {
                keep(&splitter, record);
            }
        }
        if let Some(record) = splitter.last_record() {
            keep(&splitter, record);
        }
        found
    }

    /// Checks the records whole, for every cut into two, and byte by byte.
    fn check(options: &CopyOptions, input: &str, expected: &[(&str, u64)]) {
        let expected: Vec<(String, u64)> = expected.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect();
        let input = input.as_bytes();
        assert_eq!(records(options, &[input]), expected);
        for cut in 0..=input.len() {
            assert_eq!(records(options, &[&input[..cut], &input[cut..]]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(records(options, &bytes), expected);
    }

    #[test]
    fn text_lines_at_every_cut() {
        let text = options(false, b'"');
        check(&text, "a,b\nc\n\nd", &[("a,b", 1), ("c", 2), ("", 3), ("d", 4)]);
        check(&text, "a\r\nb\r\n", &[("a", 1), ("b", 2)]);
        check(&text, "a\\\nb\nc\\\\\nd\n", &[("a\\\nb", 2), ("c\\\\", 3), ("d", 4)]);
        check(&text, "a\\\r\nb\\\\\r\n", &[("a\\\r", 1), ("b\\\\", 2)]);
        check(&text, "é\n😀\n", &[("é", 1), ("😀", 2)]);
        check(&text, "", &[]);
    }

    #[test]
    fn the_end_marker_ends_the_input_at_every_cut() {
        check(&options(false, b'"'), "a\n\\.\nb\nc", &[("a", 1)]);
        check(&options(false, b'"'), "a\n\\.", &[("a", 1)]);
        check(&options(false, b'"'), "a\r\n\\.\r\n", &[("a", 1)]);
        check(&options(true, b'"'), "a\n\\.\nb", &[("a", 1)]);
        check(&options(true, b'"'), "\"\n\\.\n\"\nb\n", &[("\"\n\\.\n\"", 3), ("b", 4)]);
    }

    #[test]
    fn csv_records_at_every_cut() {
        let csv = options(true, b'"');
        check(&csv, "a,\"b\nc\"\nd\n", &[("a,\"b\nc\"", 2), ("d", 3)]);
        check(&csv, "\"a\"\"\n\"\"b\"\nc", &[("\"a\"\"\n\"\"b\"", 2), ("c", 3)]);
        check(&csv, "\"a\r\nb\"\r\nc\r\n", &[("\"a\r\nb\"", 2), ("c", 3)]);
        check(&csv, "x\"y\nz\"w\nq", &[("x\"y\nz\"w", 2), ("q", 3)]);
        check(&csv, "a\\\nb\n", &[("a\\", 1), ("b", 2)]);
        check(&csv, "\"open\nx", &[("\"open\nx", 2)]);
    }

    #[test]
    fn csv_with_another_escape_at_every_cut() {
        let csv = options(true, b'\\');
        check(&csv, "\"a\\\"\nb\"\nc\n", &[("\"a\\\"\nb\"", 2), ("c", 3)]);
        check(&csv, "\"a\\\\\"\nb\n", &[("\"a\\\\\"", 1), ("b", 2)]);
        check(&csv, "a\\\"\nb\"\nc\n", &[("a\\\"\nb\"", 2), ("c", 3)]);
    }
}
