//! Rows as lines of text: each cell as a client would get it, behind a bar.

use bytes::BytesMut;
use futures::StreamExt;
use tablegate::sql::outcome::{Outcome, Rows};
use tablegate::sql::session::{Position, Session};
use tablegate::types::error::SqlError;
use tablegate::types::output::TextColumn;

/// Runs the statements of a text: the rows of the last one that has some.
///
/// # Errors
/// What a statement meets.
pub(crate) async fn lines_of_last(session: &mut Session, sql: &str) -> Result<Vec<String>, Box<SqlError>> {
    let mut last = Vec::new();
    for statement in session.parse(sql)? {
        let prepared = session.prepare(statement, &[]).await?;
        let outcome = session.execute(&prepared, Vec::new(), Position::Last).await?;
        if let Outcome::Rows(rows) = outcome {
            last = lines(session, rows).await?;
        }
    }
    Ok(last)
}

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
