//! The result of a statement: rows, a command tag, or the start of a COPY.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::Stream;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

pub use super::copies::CopyProgress;
pub use tablegate_types::single_row::{SingleRow, Value};

/// One column of a result, as RowDescription tells it.
#[derive(Debug, Clone)]
pub struct ResultColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// Whether the length or precision in the type was declared: that of a computed number is not.
    pub is_declared: bool,
    /// OID of the table the column comes from, 0 when it is computed.
    pub table_oid: u32,
    /// Its position in that table, from 1; 0 when it is computed.
    pub attribute: i16,
}

/// Columns of one name and type are the same, whatever tables they come from: a table may be made anew. How many digits a number
/// has that is computed says nothing: it is those of what it is computed from.
impl PartialEq for ResultColumn {
    fn eq(&self, other: &Self) -> bool {
        let is_of_type = match (&self.sql_type, &other.sql_type) {
            (SqlType::Numeric(_), SqlType::Numeric(_)) if !self.is_declared => true,
            (one, other) => one == other,
        };
        is_of_type && (&self.name, self.is_declared) == (&other.name, other.is_declared)
    }
}

impl Eq for ResultColumn {}

pub type RowStream = Pin<Box<dyn Stream<Item = SqlResult<RecordBatch>> + Send>>;

/// What executing a statement gives.
pub enum Outcome {
    /// Rows to send; the tag is known when they end.
    Rows(Rows),
    /// Done, nothing to send but the tag.
    Done(CommandTag),
    /// The client is to send rows; feed them to `Session::copy_data`, or read ones to `Session::copy_rows`.
    CopyIn(CopyIn),
    /// Rows to send as CopyData, then the tag.
    CopyOut(CopyOut),
}

/// Rows of a statement. Dropping the stream stops the work behind it.
pub struct Rows {
    pub columns: Arc<[ResultColumn]>,
    pub stream: RowStream,
    pub tag: RowsTag,
}

/// What a statement gives that reads one row by its key.
pub struct Single {
    pub columns: Arc<[ResultColumn]>,
    /// `None` where there is no such row.
    pub row: Option<SingleRow>,
    pub tag: RowsTag,
}

/// COPY FROM STDIN has begun.
pub struct CopyIn {
    pub format: CopyFormat,
    /// Name of the table, for the places of errors.
    pub table: Arc<str>,
    /// Names and types of the columns that are read.
    pub columns: Arc<[(String, SqlType)]>,
}

/// COPY TO STDOUT.
pub struct CopyOut {
    pub columns: Arc<[ResultColumn]>,
    pub content: CopyContent,
    /// To be told what is sent; shows the COPY until it is dropped.
    pub progress: CopyProgress,
}

/// What COPY TO STDOUT sends.
pub enum CopyContent {
    /// Text and CSV, in pieces of whole lines.
    Lines(Pin<Box<dyn Stream<Item = SqlResult<CopyChunk>> + Send>>),
    /// Rows that the front-end writes in binary format.
    Rows(RowStream),
}

/// A piece of COPY output.
pub struct CopyChunk {
    pub data: bytes::Bytes,
    /// Where each line ends in `data`: clients may take each CopyData message for one.
    pub ends: Vec<usize>,
    pub rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    /// Text and CSV.
    Textual,
    Binary,
}

/// The command tag of a statement that returns rows; the row count is added when they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsTag {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    Fetch,
    Explain,
    Show,
}

impl RowsTag {
    pub fn complete(self, rows: u64) -> CommandTag {
        match self {
            RowsTag::Select => CommandTag::Counted("SELECT", rows),
            RowsTag::Insert => CommandTag::Counted("INSERT 0", rows),
            RowsTag::Update => CommandTag::Counted("UPDATE", rows),
            RowsTag::Delete => CommandTag::Counted("DELETE", rows),
            RowsTag::Merge => CommandTag::Counted("MERGE", rows),
            RowsTag::Fetch => CommandTag::Counted("FETCH", rows),
            RowsTag::Explain => CommandTag::Plain("EXPLAIN"),
            RowsTag::Show => CommandTag::Plain("SHOW"),
        }
    }
}

/// What CommandComplete says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTag {
    Plain(&'static str),
    Counted(&'static str, u64),
}

impl fmt::Display for CommandTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandTag::Plain(text) => f.write_str(text),
            CommandTag::Counted(text, rows) => write!(f, "{text} {rows}"),
        }
    }
}
