//! Statements that the program runs itself, and whose rows nobody reads.

use futures::StreamExt;
use tablegate_sql::outcome::Outcome;
use tablegate_sql::session::{Position, Session};
use tablegate_types::error::SqlResult;

/// Runs the statements of a text one after the other, each to its end.
///
/// # Errors
/// That of the first statement that fails.
pub(super) async fn run(session: &mut Session, sql: &str) -> SqlResult<()> {
    for statement in session.parse(sql)? {
        let prepared = session.prepare(statement, &[]).await?;
        if let Outcome::Rows(mut rows) = session.execute(&prepared, Vec::new(), Position::Last).await? {
            while let Some(batch) = rows.stream.next().await {
                batch?;
            }
        }
    }
    Ok(())
}
