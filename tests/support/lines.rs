//! Rows as lines of text: each cell as a client would get it, behind a bar.

use bytes::BytesMut;
use futures::StreamExt;
use tablegate::sql::outcome::Rows;
use tablegate::sql::session::Session;
use tablegate::types::error::SqlError;
use tablegate::types::output::TextColumn;

/// In the session's style.
///
/// # Errors
/// What the rows meet on the way.
pub(crate) async fn lines(session: &Session, mut rows: Rows) -> Result<Vec<String>, Box<SqlError>> {
    let style = session.output_style();
    let mut lines = Vec::new();
    while let Some(batch) = rows.stream.next().await {
        let batch = batch?;
        let columns = batch.columns().iter().zip(rows.columns.iter());
        let columns: Vec<_> = columns.map(|(array, column)| TextColumn::new(array, &column.sql_type, &style)).collect();
        for row in 0..batch.num_rows() {
            let mut line = BytesMut::new();
            for column in &columns {
                line.extend_from_slice(b"|");
                if !column.is_null(row) {
                    column.write(row, &mut line);
                }
            }
            lines.push(String::from_utf8(line.to_vec()).expect("values are text"));
        }
    }
    Ok(lines)
}
