//! Turns COPY input into record batches, cell by cell into column builders.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use tablegate_types::error::{SqlError, SqlResult};
use tablegate_types::input::ColumnParser;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Reading;

use super::columns::Nameable;
use super::condition::kept;
use super::fields::{Fields, bad_format, check_utf8, literal_newline};
use super::lines::LineSplitter;
use super::options::{CopyOptions, Header};
use super::room::InputRoom;
use crate::relation::Relation;

/// Rows that are handed on together.
const BATCH_ROWS: usize = 8_192;
/// Bytes of input after which a batch ends before that.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Characters of the input that a message shows at most.
const SHOWN_CHARS: usize = 100;

/// Rows read, and where each was in the input.
pub struct CopiedRows {
    pub(super) batch: RecordBatch,
    /// The line each row ended on, from 1; in binary format its number.
    pub(super) lines: Vec<u64>,
    texts: Texts,
}

/// What rows were read from, one behind the other; nothing in binary format.
#[derive(Debug, Default)]
struct Texts {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl CopiedRows {
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Rows that were read from binary input; the first is the one with this number.
    pub fn numbered(batch: RecordBatch, first: u64) -> Self {
        let lines = (first..).take(batch.num_rows()).collect();
        Self { batch, lines, texts: Texts::default() }
    }

    /// The CONTEXT of an error that is about one whole row.
    pub(super) fn place_with_text(&self, table: &str, row: usize) -> Option<String> {
        let place = place(table, *self.lines.get(row)?);
        Some(match self.texts.get(row) {
            Some(text) => format!("{place}: \"{}\"", shortened(&String::from_utf8_lossy(text))),
            None => place,
        })
    }

    /// The rows where the mask is true.
    ///
    /// # Errors
    /// None are expected: the mask is as long as the rows.
    pub(super) fn kept(&self, mask: &BooleanArray) -> SqlResult<Self> {
        let mut left = Self { batch: kept(&self.batch, mask)?, lines: Vec::new(), texts: Texts::default() };
        for row in (0..self.lines.len()).filter(|row| mask.value(*row)) {
            left.lines.push(self.lines[row]);
            if let Some(text) = self.texts.get(row) {
                left.texts.push(text);
            }
        }
        Ok(left)
    }
}

impl Texts {
    fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
        self.ends.push(self.text.len());
    }

    fn get(&self, row: usize) -> Option<&[u8]> {
        let end = *self.ends.get(row)?;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start..end)
    }
}

/// Where in the input something is.
pub(super) fn place(table: &str, line: u64) -> String {
    format!("COPY {table}, line {line}")
}

/// Reads the rows of one COPY.
pub(super) struct CopyReader {
    table: String,
    options: CopyOptions,
    splitter: LineSplitter,
    fields: Fields,
    columns: Vec<Column>,
    schema: SchemaRef,
    lines: Vec<u64>,
    texts: Texts,
    header_ahead: bool,
}

struct Column {
    name: String,
    parser: ColumnParser,
    force_null: bool,
    force_not_null: bool,
}

impl CopyReader {
    /// For rows of these columns, in this order, read in a session's style.
    ///
    /// # Errors
    /// 42703 and 42P10 when an option names a column that is not there or not copied.
    pub(super) fn new(
        relation: &Relation,
        columns: &[(String, SqlType)],
        options: CopyOptions,
        reading: Reading,
        room: InputRoom,
    ) -> SqlResult<Self> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let nameable = Nameable { relation: Some(relation), copied: &names };
        let force_not_null = nameable.chosen("FORCE_NOT_NULL", &options.force_not_null)?;
        let force_null = nameable.chosen("FORCE_NULL", &options.force_null)?;
        let fields: Vec<Field> = columns.iter().map(|(name, sql_type)| sql_type.field(name, true)).collect();
        let columns = columns
            .iter()
            .zip(force_null.into_iter().zip(force_not_null))
            .map(|((name, sql_type), (force_null, force_not_null))| Column {
                name: name.clone(),
                parser: ColumnParser::new(sql_type).reading(reading),
                force_null,
                force_not_null,
            })
            .collect();
        Ok(Self {
            table: relation.name.clone(),
            splitter: LineSplitter::new(&options, room),
            header_ahead: options.header != Header::No,
            options,
            fields: Fields::default(),
            columns,
            schema: Arc::new(Schema::new(fields)),
            lines: Vec::new(),
            texts: Texts::default(),
        })
    }

    /// Takes a piece of input, cut anywhere. [`CopyReader::full_batch`] is to be asked until it has no more.
    ///
    /// # Errors
    /// 54000 for a line of unreasonable length, 53200 for one that there is no memory for.
    pub(super) fn feed(&mut self, data: &[u8]) -> SqlResult<()> {
        self.splitter.feed(data).map_err(|e| e.with_context(place(&self.table, self.splitter.line() + 1)))
    }

    /// Reads on; gives rows when there are enough for a batch, `None` when more input is needed.
    ///
    /// # Errors
    /// What is wrong with the input, with the place in it.
    pub(super) fn full_batch(&mut self) -> SqlResult<Option<CopiedRows>> {
        while let Some(record) = self.splitter.next_record() {
            self.read(record)?;
            if self.lines.len() >= BATCH_ROWS || self.texts.text.len() >= BATCH_BYTES {
                return self.take().map(Some);
            }
        }
        Ok(None)
    }

    /// The input is complete: the rows that are left.
    ///
    /// # Errors
    /// As [`CopyReader::full_batch`].
    pub(super) fn last_batch(&mut self) -> SqlResult<CopiedRows> {
        if let Some(record) = self.splitter.last_record() {
            self.read(record)?;
        }
        self.take()
    }

    fn take(&mut self) -> SqlResult<CopiedRows> {
        let arrays = self.columns.iter_mut().map(|c| c.parser.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.lines.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?;
        self.splitter.records_are_read()?;
        Ok(CopiedRows { batch, lines: std::mem::take(&mut self.lines), texts: std::mem::take(&mut self.texts) })
    }

    fn read(&mut self, record: Range<usize>) -> SqlResult<()> {
        let line = self.splitter.line();
        self.splitter.reads(&record).map_err(|error| error.with_context(place(&self.table, line)))?;
        let bytes = self.splitter.bytes(record);
        let at_line = |error: Box<SqlError>, table: &str| {
            if error.context.is_some() {
                return error;
            }
            let shown = String::from_utf8_lossy(bytes);
            error.with_context(format!("COPY {table}, line {line}: \"{}\"", shortened(&shown)))
        };
        let text = check_utf8(bytes).map_err(|error| error.with_context(place(&self.table, line)))?;
        if self.splitter.is_cut_wrong() {
            return Err(literal_newline(&self.options).with_context(place(&self.table, line)));
        }
        self.fields.split(text, &self.options).map_err(|e| at_line(e, &self.table))?;
        if std::mem::take(&mut self.header_ahead) {
            return match self.options.header {
                Header::Match => {
                    check_header(&self.columns, &self.fields, text, &self.options).map_err(|e| at_line(e, &self.table))
                }
                Header::Yes | Header::No => Ok(()),
            };
        }
        push_row(&mut self.columns, &self.fields, text, &self.options, &Place { table: &self.table, line })
            .map_err(|e| at_line(e, &self.table))?;
        self.lines.push(line);
        self.texts.push(bytes);
        Ok(())
    }
}

/// Where in the input something is.
struct Place<'a> {
    table: &'a str,
    line: u64,
}

fn push_row(
    columns: &mut [Column],
    fields: &Fields,
    record: &str,
    options: &CopyOptions,
    place: &Place<'_>,
) -> SqlResult<()> {
    if fields.len() > columns.len() {
        return Err(bad_format("extra data after last expected column"));
    }
    for (index, column) in columns.iter_mut().enumerate() {
        if index >= fields.len() {
            return Err(bad_format(format!("missing data for column \"{}\"", column.name)));
        }
        let cell = match fields.get(record, index) {
            None if column.force_not_null => Some(options.null.as_str()),
            Some(text) if column.force_null && text == options.null => None,
            as_read => as_read,
        };
        column.parser.push(cell).map_err(|error| {
            let (table, line, name) = (place.table, place.line, &column.name);
            let context = match cell {
                Some(text) => format!("COPY {table}, line {line}, column {name}: \"{}\"", shortened(text)),
                None => format!("COPY {table}, line {line}, column {name}: null input"),
            };
            error.for_column(name).with_context(context)
        })?;
    }
    Ok(())
}

fn check_header(columns: &[Column], fields: &Fields, record: &str, options: &CopyOptions) -> SqlResult<()> {
    if fields.len() != columns.len() {
        let (got, expected) = (fields.len(), columns.len());
        return Err(bad_format(format!("wrong number of fields in header line: got {got}, expected {expected}")));
    }
    for (index, column) in columns.iter().enumerate() {
        let (field, expected) = (index + 1, &column.name);
        match fields.get(record, index) {
            Some(got) if got == expected => {}
            Some(got) => {
                return Err(bad_format(format!(
                    "column name mismatch in header line field {field}: got \"{got}\", expected \"{expected}\""
                )));
            }
            None => {
                return Err(bad_format(format!(
                    "column name mismatch in header line field {field}: got null value (\"{}\"), expected \"{expected}\"",
                    options.null
                )));
            }
        }
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::syntax::{Command, parse};
    use tablegate_types::error::ErrorKind;

    fn reader(options: &str) -> CopyReader {
        let Command::Copy(copy) = parse(&format!("COPY t FROM STDIN {options}")).unwrap().pop().unwrap().command else {
            panic!("not a COPY")
        };
        let columns = [("a".to_owned(), SqlType::Int4), ("b".to_owned(), SqlType::Varchar(Some(3)))];
        let options = CopyOptions::of(&copy).unwrap();
        let relation = Relation { name: "t".to_owned(), ..Relation::for_tests("table") };
        CopyReader::new(&relation, &columns, options, Reading::default(), InputRoom::default()).unwrap()
    }

    fn read(options: &str, input: &str) -> SqlResult<CopiedRows> {
        let mut reader = reader(options);
        reader.feed(input.as_bytes())?;
        assert!(reader.full_batch()?.is_none());
        reader.last_batch()
    }

    fn rows(options: &str, input: &str) -> Vec<(Option<i32>, Option<String>)> {
        let batch = read(options, input).unwrap().batch;
        let (a, b) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
        (0..batch.num_rows())
            .map(|i| (a.is_valid(i).then(|| a.value(i)), b.is_valid(i).then(|| b.value(i).to_owned())))
            .collect()
    }

    #[test]
    fn rows_become_columns_of_their_types() {
        let expected = vec![(Some(1), Some("x".to_owned())), (None, Some(String::new()))];
        assert_eq!(rows("", "1\tx\n\\N\t\n\\.\n"), expected);
        assert_eq!(rows("CSV HEADER", "z,y\r\n1,x\r\n,\"\"\r\n"), expected);
        assert_eq!(rows("(FORMAT csv, HEADER match, FORCE_NOT_NULL (b))", "a,b\n1,x\n,\n"), expected);
        assert_eq!(rows("(FORMAT csv, FORCE_NULL (B))", "1,\"\"\n"), [(Some(1), None)]);
        assert_eq!(rows("", ""), []);
    }

    #[test]
    fn errors_name_their_place() {
        for (options, input, message, context) in [
            ("", "1\tx\nz\ty\n", "invalid input syntax for type integer: \"z\"", "COPY t, line 2, column a: \"z\""),
            ("", "1\tabcd\n", "value too long for type character varying(3)", "COPY t, line 1, column b: \"abcd\""),
            ("", "1\n", "missing data for column \"b\"", "COPY t, line 1: \"1\""),
            ("", "z\n", "invalid input syntax for type integer: \"z\"", "COPY t, line 1, column a: \"z\""),
            ("", "1\tx\ty\n", "extra data after last expected column", "COPY t, line 1: \"1\tx\ty\""),
            ("CSV", "1,\"a\nb\"\n2,\"x", "unterminated CSV quoted field", "COPY t, line 3: \"2,\"x\""),
            (
                "CSV",
                "1,\"a\nb\"\nq,x",
                "invalid input syntax for type integer: \"q\"",
                "COPY t, line 3, column a: \"q\"",
            ),
            (
                "(HEADER match)",
                "a\tc\n",
                "column name mismatch in header line field 2: got \"c\", expected \"b\"",
                "COPY t, line 1: \"a\tc\"",
            ),
            (
                "(HEADER match)",
                "a\n",
                "wrong number of fields in header line: got 1, expected 2",
                "COPY t, line 1: \"a\"",
            ),
        ] {
            let error = read(options, input).map(|_| ()).unwrap_err();
            assert_eq!((error.message.as_str(), error.context.as_deref()), (message, Some(context)));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let mut reader = reader("");
        reader.feed(b"1\t\xff\n").unwrap();
        let error = reader.full_batch().map(|_| ()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::CharacterNotInRepertoire);
        assert_eq!(error.context.as_deref(), Some("COPY t, line 1"));
    }

    #[test]
    fn batches_are_bounded() {
        let mut reader = reader("CSV");
        reader.feed("1,x\n".repeat(20_000).as_bytes()).unwrap();
        let mut sizes = Vec::new();
        while let Some(rows) = reader.full_batch().unwrap() {
            sizes.push((rows.batch.num_rows(), rows.lines[0]));
        }
        let last = reader.last_batch().unwrap();
        sizes.push((last.batch.num_rows(), last.lines[0]));
        assert_eq!(sizes, [(8192, 1), (8192, 8193), (3616, 16385)]);
    }
}
