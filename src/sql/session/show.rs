//! SHOW.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use futures::stream;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::Session;
use crate::outcome::{Outcome, ResultColumn, Rows, RowsTag};
use crate::settings::Settings;

/// The columns of SHOW ALL.
const ALL_COLUMNS: [&str; 3] = ["name", "setting", "description"];

/// # Errors
/// 42704 for an unknown setting.
pub(super) fn columns(name: &str, settings: &Settings) -> SqlResult<Arc<[ResultColumn]>> {
    if name.eq_ignore_ascii_case("all") {
        return Ok(ALL_COLUMNS.iter().map(|n| text_column(n)).collect());
    }
    Ok(Arc::new([text_column(&settings.show(name)?.0)]))
}

/// A computed text column.
pub(super) fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_owned(), sql_type: SqlType::Text, is_declared: true, table_oid: 0, attribute: 0 }
}

/// Rows of text, or of what is laid out as text, ready to send.
///
/// # Errors
/// None are expected: all columns have the same length.
pub(super) fn text_rows(columns: Arc<[ResultColumn]>, rows: Vec<Vec<String>>, tag: RowsTag) -> SqlResult<Outcome> {
    let fields: Vec<_> = columns.iter().map(|c| c.sql_type.field(&c.name, true)).collect();
    let arrays = (0..columns.len())
        .map(|i| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[i].as_str()))) as ArrayRef)
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    Ok(Outcome::Rows(Rows { columns, stream: Box::pin(stream::iter([Ok(batch)])), tag }))
}

impl Session {
    pub(super) fn run_show(&self, name: &str) -> SqlResult<Outcome> {
        let rows = if name.eq_ignore_ascii_case("all") {
            self.settings.all().into_iter().map(|(name, value, about)| vec![name, value, about.to_owned()]).collect()
        } else {
            vec![vec![self.settings.show(name)?.1]]
        };
        text_rows(columns(name, &self.settings)?, rows, RowsTag::Show)
    }
}
