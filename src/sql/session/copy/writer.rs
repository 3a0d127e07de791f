//! Writes rows as COPY output, text or CSV, in pieces of whole lines.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use bytes::{Bytes, BytesMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::output::{Style, TextColumn};
use tablegate_types::sql_type::SqlType;

use super::bytes::find_any;
use super::encoding::Encoding;
use super::options::{CopyOptions, Header};
use crate::outcome::{CopyChunk, ResultColumn};

/// A piece ends with the line that reaches this.
const CHUNK_BYTES: usize = 64 * 1024;

/// Prints the rows of one COPY.
pub(super) struct CopyWriter {
    options: CopyOptions,
    columns: Arc<[ResultColumn]>,
    style: Style,
    force_quote: Vec<bool>,
    /// Of each column: whether its values are always written as they are.
    is_plain: Vec<bool>,
    line: BytesMut,
    ends: Vec<usize>,
    rows: u64,
    cell: BytesMut,
}

impl CopyWriter {
    /// `force_quote` says of each column whether its values are quoted whatever they are.
    pub(super) fn new(
        columns: Arc<[ResultColumn]>,
        options: CopyOptions,
        style: Style,
        force_quote: Vec<bool>,
    ) -> Self {
        let (line, cell) = Default::default();
        let leaves_plain = leaves_plain_values(&options);
        let is_plain =
            |(column, quoted): (&ResultColumn, &bool)| leaves_plain && !quoted && is_plain_type(&column.sql_type);
        let is_plain = columns.iter().zip(&force_quote).map(is_plain).collect();
        Self { options, columns, style, force_quote, is_plain, line, ends: Vec::new(), rows: 0, cell }
    }

    /// The header line, when there is to be one.
    ///
    /// # Errors
    /// 22P05 for a name that the encoding cannot write.
    pub(super) fn header(&mut self) -> SqlResult<Option<CopyChunk>> {
        if self.options.header == Header::No {
            return Ok(None);
        }
        let columns = self.columns.clone();
        for (index, column) in columns.iter().enumerate() {
            self.separate(index);
            let start = self.line.len();
            self.line.extend_from_slice(column.name.as_bytes());
            self.escape_cell(start, false);
        }
        self.end_line();
        self.take().map(Some)
    }

    /// A batch of rows, as pieces of about 64 KiB.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding cannot write, or that no text has.
    pub(super) fn batch(&mut self, batch: &RecordBatch) -> SqlResult<Vec<CopyChunk>> {
        let columns = self.columns.clone();
        let style = self.style;
        let printed: Vec<TextColumn<'_>> = batch
            .columns()
            .iter()
            .zip(columns.iter())
            .map(|(array, column)| TextColumn::new(array, &column.sql_type, &style))
            .collect();
        let mut chunks = Vec::new();
        for row in 0..batch.num_rows() {
            for (index, column) in printed.iter().enumerate() {
                self.separate(index);
                if column.is_null(row) {
                    self.line.extend_from_slice(self.options.null.as_bytes());
                    continue;
                }
                let start = self.line.len();
                column.write(row, &mut self.line);
                if !self.is_plain[index] {
                    self.escape_cell(start, self.force_quote[index]);
                }
            }
            self.end_line();
            self.rows += 1;
            if self.line.len() >= CHUNK_BYTES {
                chunks.push(self.take()?);
            }
        }
        if self.rows > 0 {
            chunks.push(self.take()?);
        }
        Ok(chunks)
    }

    fn take(&mut self) -> SqlResult<CopyChunk> {
        let (line, ends) = (self.line.split().freeze(), std::mem::take(&mut self.ends));
        // Without a way out in the middle, so that the compiler has the processor compare many together.
        if line.iter().fold(false, |found, byte| found | (*byte == 0)) {
            return Err(holds_nul());
        }
        let (data, ends) = self.encoded(line, ends)?;
        Ok(CopyChunk { data, ends, rows: std::mem::take(&mut self.rows) })
    }

    /// The lines in the encoding that was asked for.
    fn encoded(&self, data: Bytes, ends: Vec<usize>) -> SqlResult<(Bytes, Vec<usize>)> {
        if self.options.encoding == Encoding::Utf8 || data.is_ascii() {
            return Ok((data, ends));
        }
        let (mut encoded, mut new_ends, mut start) = (BytesMut::with_capacity(data.len()), Vec::new(), 0);
        for end in ends {
            encoded.extend_from_slice(&self.options.encoding.encode(&data[start..end])?);
            new_ends.push(encoded.len());
            start = end;
        }
        Ok((encoded.freeze(), new_ends))
    }

    fn end_line(&mut self) {
        self.line.extend_from_slice(b"\n");
        self.ends.push(self.line.len());
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.line.extend_from_slice(&[self.options.delimiter]);
        }
    }

    /// What was written from here on is a cell: most are as they are to be.
    fn escape_cell(&mut self, start: usize, force_quote: bool) {
        let cell = &self.line[start..];
        if self.options.is_csv() {
            let alone = self.columns.len() == 1;
            if needs_quotes(cell, &self.options, force_quote, alone) {
                self.take_cell(start);
                append_quoted(&mut self.line, &self.cell, &self.options);
            }
        } else if needs_escapes(cell, self.options.delimiter) {
            self.take_cell(start);
            append_text(&mut self.line, &self.cell, self.options.delimiter);
        }
    }

    fn take_cell(&mut self, start: usize) {
        self.cell.clear();
        self.cell.extend_from_slice(&self.line[start..]);
        self.line.truncate(start);
    }
}

/// Whoever writes with an SDK can store it: a file with it would not be read again.
fn holds_nul() -> Box<SqlError> {
    SqlError::new(ErrorKind::UntranslatableCharacter, "a text holds the character U+0000, which no text of PostgreSQL has")
        .with_hint(
            "position('\\x00'::bytea IN convert_to(column, 'UTF8')) > 0 finds such texts; write them anew, or COPY a query without them.",
        )
}

/// Whether values are printed with letters, digits and what stands between these in numbers and times, at least one of them.
fn is_plain_type(sql_type: &SqlType) -> bool {
    use SqlType as T;
    let is_number = matches!(sql_type, T::Int2 | T::Int4 | T::Int8 | T::Oid | T::Float4 | T::Float8 | T::Numeric(_));
    is_number || matches!(sql_type, T::Bool | T::Uuid | T::Date | T::Time | T::Timestamp | T::Timestamptz)
}

/// Whether such values are never escaped or quoted: nothing of them stands for something else.
fn leaves_plain_values(options: &CopyOptions) -> bool {
    let is_apart = matches!(options.delimiter, b'\t' | b',' | b';' | b'|');
    let null = options.null.as_bytes();
    is_apart
        && (!options.is_csv() || (matches!(options.quote, b'"' | b'\'') && (null.is_empty() || null.contains(&b'\\'))))
}

/// Whether some byte may have to be written otherwise.
fn needs_escapes(cell: &[u8], delimiter: u8) -> bool {
    // Without a way out in the middle, so that the compiler has the processor compare many together.
    cell.iter().fold(false, |found, byte| found | (*byte <= b'\r') | (*byte == b'\\') | (*byte == delimiter))
}

fn append_text(line: &mut BytesMut, cell: &[u8], delimiter: u8) {
    let mut plain = 0;
    for (at, byte) in cell.iter().enumerate() {
        let escape = match byte {
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            11 => b'v',
            12 => b'f',
            b'\r' => b'r',
            b'\\' => b'\\',
            other if *other == delimiter => delimiter,
            _ => continue,
        };
        line.extend_from_slice(&cell[plain..at]);
        line.extend_from_slice(&[b'\\', escape]);
        plain = at + 1;
    }
    line.extend_from_slice(&cell[plain..]);
}

fn needs_quotes(cell: &[u8], options: &CopyOptions, force_quote: bool, alone: bool) -> bool {
    // A line of `\.` would end the input when it is read again.
    force_quote
        || cell == options.null.as_bytes()
        || (alone && cell == b"\\.")
        || find_any(cell, [options.delimiter, options.quote, b'\n', b'\r']).is_some()
}

fn append_quoted(line: &mut BytesMut, cell: &[u8], options: &CopyOptions) {
    line.extend_from_slice(&[options.quote]);
    let mut plain = 0;
    for (at, byte) in cell.iter().enumerate() {
        if *byte == options.quote || *byte == options.escape {
            line.extend_from_slice(&cell[plain..at]);
            line.extend_from_slice(&[options.escape]);
            plain = at;
        }
    }
    line.extend_from_slice(&cell[plain..]);
    line.extend_from_slice(&[options.quote]);
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array, StringArray};
    use arrow::datatypes::Schema;

    use super::super::columns::Nameable;
    use super::*;
    use crate::syntax::{Command, parse};

    fn writer(options: &str, types: &[(&str, SqlType)]) -> CopyWriter {
        let Command::Copy(copy) = parse(&format!("COPY t TO STDOUT {options}")).unwrap().pop().unwrap().command else {
            panic!("not a COPY")
        };
        let column = |(name, sql_type): &(&str, SqlType)| ResultColumn {
            name: (*name).to_owned(),
            sql_type: sql_type.clone(),
            is_declared: true,
            table_oid: 0,
            attribute: 0,
        };
        let options = CopyOptions::of(&copy).unwrap();
        let columns: Arc<[ResultColumn]> = types.iter().map(column).collect();
        let copied: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
        let force = Nameable { relation: None, copied: &copied }.chosen("FORCE_QUOTE", &options.force_quote).unwrap();
        CopyWriter::new(columns, options, Style::PLAIN, force)
    }

    fn batch(arrays: Vec<ArrayRef>) -> RecordBatch {
        let fields: Vec<_> = arrays
            .iter()
            .enumerate()
            .map(|(i, a)| arrow::datatypes::Field::new(format!("c{i}"), a.data_type().clone(), true))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }

    fn output(options: &str, texts: Vec<Option<&str>>) -> String {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(1..=i32::try_from(texts.len()).unwrap()));
        let mut writer = writer(options, &[("n", SqlType::Int4), ("T,t", SqlType::Text)]);
        let rows = u64::try_from(texts.len()).unwrap();
        let mut chunks: Vec<CopyChunk> = writer.header().unwrap().into_iter().collect();
        chunks.extend(writer.batch(&batch(vec![numbers, Arc::new(StringArray::from(texts))])).unwrap());
        assert_eq!(chunks.iter().map(|c| c.rows).sum::<u64>(), rows);
        chunks.iter().map(|c| String::from_utf8(c.data.to_vec()).unwrap()).collect()
    }

    #[test]
    fn text_escapes_what_would_be_misread() {
        assert_eq!(
            output("", vec![Some("a\tb\nc\\d\re"), None, Some(""), Some("é\u{8}\u{b}\u{c}"), Some("\\N")]),
            "1\ta\\tb\\nc\\\\d\\re\n2\t\\N\n3\t\n4\té\\b\\v\\f\n5\t\\\\N\n"
        );
        assert_eq!(output("DELIMITER '|' NULL ''", vec![Some("a|b"), None]), "1|a\\|b\n2|\n");
        assert_eq!(output("(HEADER)", vec![]), "n\tT,t\n");
    }

    #[test]
    fn csv_quotes_what_would_be_misread() {
        assert_eq!(
            output("CSV HEADER", vec![Some("a,b"), None, Some(""), Some("x\"y"), Some("l\nm"), Some("plain")]),
            "n,\"T,t\"\n1,\"a,b\"\n2,\n3,\"\"\n4,\"x\"\"y\"\n5,\"l\nm\"\n6,plain\n"
        );
        assert_eq!(output("(FORMAT csv, FORCE_QUOTE *)", vec![Some("a"), None]), "\"1\",\"a\"\n\"2\",\n");
        assert_eq!(output("(FORMAT csv, FORCE_QUOTE (N))", vec![Some("a")]), "\"1\",a\n");
        assert_eq!(output("CSV QUOTE '''' ESCAPE '\\'", vec![Some("it's \\ ,")]), "1,'it\\'s \\\\ ,'\n");
    }

    #[test]
    fn numbers_are_written_as_they_are_unless_something_of_them_means_more() {
        assert_eq!(output("DELIMITER '-'", vec![Some("a-b")]), "1-a\\-b\n");
        assert_eq!(output("(FORMAT csv, NULL '1')", vec![Some("a"), None]), "\"1\",a\n2,1\n");
        assert_eq!(output("(FORMAT csv, NULL 'x1')", vec![Some("x1"), None]), "1,\"x1\"\n2,x1\n");
        let mut negative = writer("DELIMITER '-'", &[("n", SqlType::Int4)]);
        let chunks = negative.batch(&batch(vec![Arc::new(Int32Array::from(vec![-5]))])).unwrap();
        assert_eq!(chunks[0].data, "\\-5\n");
    }

    #[test]
    fn the_end_marker_is_quoted_when_it_would_stand_alone() {
        let mut alone = writer("CSV", &[("t", SqlType::Text)]);
        let chunks = alone.batch(&batch(vec![Arc::new(StringArray::from(vec!["\\."]))])).unwrap();
        assert_eq!(chunks[0].data, "\"\\.\"\n");
    }

    #[test]
    fn pieces_are_whole_lines_of_about_64_kib() {
        let texts: Vec<String> = (0..2_000).map(|_| "x".repeat(100)).collect();
        let mut writer = writer("", &[("t", SqlType::Text)]);
        let chunks = writer.batch(&batch(vec![Arc::new(StringArray::from(texts))])).unwrap();
        assert!(chunks.len() > 2);
        assert!(chunks.iter().all(|c| c.data.ends_with(b"\n") && c.data.len() < CHUNK_BYTES + 200));
        assert_eq!(chunks.iter().map(|c| c.rows).sum::<u64>(), 2_000);
    }
}
