//! Cuts COPY input, which arrives in pieces cut anywhere, into records.
//!
//! In text a record ends at the end of a line that has no backslash before it, in CSV at one outside quotes. Lines end
//! with newlines, with carriage returns, or with both: the first one decides. `\.` alone on a line ends the input.

use std::ops::Range;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bytes::find_any;
use super::options::CopyOptions;
use super::room::InputRoom;

/// Longest record, in bytes: an entity holds 1 MiB, and its text is some times that.
const RECORD_MAX_BYTES: usize = 32 * 1024 * 1024;

/// What is made of shorter records is in the memory of their batch, which is bounded.
const LONG_RECORD_BYTES: usize = 1024 * 1024;

/// Collects pieces and gives records.
#[derive(Debug)]
pub(super) struct LineSplitter {
    syntax: Syntax,
    buffer: Vec<u8>,
    /// What the buffer may take.
    room: InputRoom,
    /// Where the record under way begins in the buffer.
    start: usize,
    /// How far it was looked at.
    scanned: usize,
    in_quotes: bool,
    /// The byte before was an escape.
    escaped: bool,
    /// Line of the input where the last record ended, from 1.
    line: u64,
    line_end: LineEnd,
    /// The last record ended as lines of this input do not end.
    is_cut_wrong: bool,
    ended: bool,
}

/// How the lines of the input end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    NotSeen,
    Newline,
    Return,
    Both,
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
    pub(super) fn new(options: &CopyOptions, room: InputRoom) -> Self {
        let syntax = if options.is_csv() {
            Syntax::Csv { quote: options.quote, escape: (options.escape != options.quote).then_some(options.escape) }
        } else {
            Syntax::Text
        };
        Self {
            syntax,
            buffer: Vec::new(),
            room,
            start: 0,
            scanned: 0,
            in_quotes: false,
            escaped: false,
            line: 0,
            line_end: LineEnd::NotSeen,
            is_cut_wrong: false,
            ended: false,
        }
    }

    /// Takes the next piece of input.
    ///
    /// # Errors
    /// 54000 for a record of unreasonable length, 53200 for one that there is no memory for.
    pub(super) fn feed(&mut self, data: &[u8]) -> SqlResult<()> {
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
        self.make_room(data.len())?;
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// As the buffer grows it is copied to twice its size, but to no more than the longest record and the piece that is too much
    /// take.
    fn make_room(&mut self, more: usize) -> SqlResult<()> {
        let (size, needed) = (self.buffer.capacity(), self.buffer.len() + more);
        if needed > size {
            let grown = (2 * size).min(RECORD_MAX_BYTES + more).max(needed);
            self.room.hold(size + grown)?;
            self.buffer.reserve_exact(grown - self.buffer.len());
            self.room.hold(self.buffer.capacity())?;
        }
        Ok(())
    }

    /// Counts what a long record takes as it is read: its fields, and the values made of them. Until
    /// [`LineSplitter::records_are_read`].
    ///
    /// # Errors
    /// 53200 where there is no memory for it.
    pub(super) fn reads(&self, record: &Range<usize>) -> SqlResult<()> {
        match record.len() > LONG_RECORD_BYTES {
            true => self.room.hold(self.buffer.capacity() + 2 * record.len()),
            false => Ok(()),
        }
    }

    /// What was given has been read.
    ///
    /// # Errors
    /// None, since no more is held than before.
    pub(super) fn records_are_read(&self) -> SqlResult<()> {
        self.room.hold(self.buffer.capacity())
    }

    /// The next complete record, without its newline; see [`LineSplitter::bytes`].
    pub(super) fn next_record(&mut self) -> Option<Range<usize>> {
        if self.ended {
            return None;
        }
        let end = self.find_newline()?;
        let mut record = self.start..end;
        self.start = end + 1;
        self.line += 1;
        if self.ends_with_return(&record) {
            record.end -= 1;
            if self.line_end == LineEnd::NotSeen {
                self.line_end = LineEnd::Both;
            }
        } else if self.line_end == LineEnd::NotSeen {
            self.line_end = LineEnd::Newline;
        }
        self.is_cut_wrong = self.line_end == LineEnd::Both && record.end == end;
        if &self.buffer[record.clone()] == b"\\." {
            self.ended = true;
            return None;
        }
        Some(record)
    }

    /// What is left when the input is complete: a last record without a newline.
    pub(super) fn last_record(&mut self) -> Option<Range<usize>> {
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

    pub(super) fn bytes(&self, record: Range<usize>) -> &[u8] {
        &self.buffer[record]
    }

    /// Whether the last record ended with a newline alone where lines end with a carriage return, too.
    pub(super) fn is_cut_wrong(&self) -> bool {
        self.is_cut_wrong
    }

    /// Line of the input where the last record ended, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    fn find_newline(&mut self) -> Option<usize> {
        let from = self.scanned;
        let found = match self.syntax {
            Syntax::Text => self.find_in_text(from),
            Syntax::Csv { quote, escape } => self.find_in_csv(from, quote, escape),
        };
        match found {
            Found::End(at) => {
                self.scanned = at + 1;
                Some(at)
            }
            Found::Nothing { looked_at } => {
                self.scanned = looked_at;
                None
            }
        }
    }

    fn find_in_text(&mut self, from: usize) -> Found {
        let mut at = from;
        let mut escaped = self.escaped;
        while at < self.buffer.len() {
            if escaped {
                escaped = false;
                self.line += u64::from(self.buffer[at] == b'\n');
                at += 1;
                continue;
            }
            let Some(plain) = find_any(&self.buffer[at..], [b'\\', b'\n', b'\r']) else { break };
            at += plain;
            if self.buffer[at] == b'\\' {
                escaped = true;
            } else {
                match ends_line(&self.buffer, at, &mut self.line_end) {
                    Some(false) => {}
                    Some(true) => {
                        self.escaped = false;
                        return Found::End(at);
                    }
                    None => {
                        self.escaped = false;
                        return Found::Nothing { looked_at: at };
                    }
                }
            }
            at += 1;
        }
        self.escaped = escaped;
        Found::Nothing { looked_at: self.buffer.len() }
    }

    fn find_in_csv(&mut self, from: usize, quote: u8, escape: Option<u8>) -> Found {
        let (mut in_quotes, mut escaped) = (self.in_quotes, self.escaped);
        let mut found = Found::Nothing { looked_at: self.buffer.len() };
        let special = [b'\n', b'\r', quote, escape.unwrap_or(quote)];
        let mut next = from;
        while let Some(plain) = find_any(&self.buffer[next..], special) {
            escaped &= plain == 0;
            let at = next + plain;
            next = at + 1;
            let byte = &self.buffer[at];
            if !in_quotes && matches!(byte, b'\n' | b'\r') {
                match ends_line(&self.buffer, at, &mut self.line_end) {
                    Some(false) => {}
                    Some(true) => {
                        found = Found::End(at);
                        escaped = false;
                        break;
                    }
                    None => {
                        found = Found::Nothing { looked_at: at };
                        break;
                    }
                }
            }
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
            let counted = if self.line_end == LineEnd::Return { b'\r' } else { b'\n' };
            self.line += u64::from(in_quotes && *byte == counted);
        }
        if matches!(found, Found::Nothing { looked_at } if looked_at > next) {
            escaped = false;
        }
        (self.in_quotes, self.escaped) = (in_quotes, escaped);
        found
    }

    /// Whether the record ends with a carriage return that is not part of its data.
    fn ends_with_return(&self, record: &Range<usize>) -> bool {
        if !matches!(self.line_end, LineEnd::NotSeen | LineEnd::Both) {
            return false;
        }
        let Some((b'\r', before)) = self.buffer[record.clone()].split_last() else { return false };
        match self.syntax {
            Syntax::Text => before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0,
            Syntax::Csv { .. } => !self.in_quotes,
        }
    }
}

/// What was looked for in the buffer.
enum Found {
    /// The end of a record.
    End(usize),
    Nothing {
        /// Where to go on when there is more.
        looked_at: usize,
    },
}

/// Whether the newline or carriage return here ends a line; `None` where the byte behind it decides, and has not arrived.
fn ends_line(buffer: &[u8], at: usize, line_end: &mut LineEnd) -> Option<bool> {
    match (buffer[at], *line_end) {
        (b'\n', LineEnd::Return) => Some(false),
        (b'\n', LineEnd::NotSeen | LineEnd::Newline | LineEnd::Both) | (_, LineEnd::Return) => Some(true),
        (_, LineEnd::Newline | LineEnd::Both) => Some(false),
        (_, LineEnd::NotSeen) => {
            let is_both = *buffer.get(at + 1)? == b'\n';
            if !is_both {
                *line_end = LineEnd::Return;
            }
            Some(!is_both)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoding::Encoding;
    use super::super::options::{Columns, Format, Header};
    use super::*;

    fn options(csv: bool, escape: u8) -> CopyOptions {
        CopyOptions {
            format: if csv { Format::Csv } else { Format::Text },
            encoding: Encoding::Utf8,
            delimiter: b',',
            null: String::new(),
            header: Header::No,
            quote: b'"',
            escape,
            force_quote: Columns::None,
            force_null: Columns::None,
            force_not_null: Columns::None,
            freeze: false,
        }
    }

    /// The records with the lines they end on, from input cut into these pieces.
    fn records(options: &CopyOptions, pieces: &[&[u8]]) -> Vec<(String, u64)> {
        let mut splitter = LineSplitter::new(options, InputRoom::default());
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
        check(&text, "a\\\r\nb\n", &[("a\\\r", 1), ("b", 2)]);
        check(&text, "b\\\\\r\na\r\n", &[("b\\\\", 1), ("a", 2)]);
        check(&text, "é\n😀\n", &[("é", 1), ("😀", 2)]);
        check(&text, "", &[]);
    }

    #[test]
    fn lines_may_end_with_carriage_returns() {
        check(&options(false, b'"'), "a\rb\\\rc\rd\r", &[("a", 1), ("b\\\rc", 2), ("d", 3)]);
        check(&options(false, b'"'), "a\r\\.\rb", &[("a", 1)]);
        check(&options(true, b'"'), "\"a\rb\",c\rd\r", &[("\"a\rb\",c", 1), ("d", 2)]);
        let mut mixed = LineSplitter::new(&options(false, b'"'), InputRoom::default());
        mixed.feed(b"a\r\nb\nc\r\n").unwrap();
        let cut_wrong: Vec<bool> = (0..3).filter_map(|_| mixed.next_record().map(|_| mixed.is_cut_wrong())).collect();
        assert_eq!(cut_wrong, [false, true, false]);
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
