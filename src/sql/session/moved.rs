//! Statements on a table that another gateway has moved to another stored table: they look at the catalogue, and run once more.
//!
//! What is known of the catalogue may be a second old, and the stored table that it names may be gone by then. A statement
//! that has committed nothing learns of that by asking, and its client does not. In a block the rows that were read before
//! are those of another table: it is for the client to begin again. A statement on a table that another gateway is changing
//! waits for the end of that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::ScalarValue;
use futures::{StreamExt, stream};
use tablegate_store::table::StoreError;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::prepare::{Plan, Prepared};
use super::{Position, Session};
use crate::outcome::{CopyContent, Outcome, RowStream, Rows};
use crate::relation::{Relation, RelationKind};

/// So often a statement is run again whose tables are moved each time.
const RUNS_AGAIN_MAX: usize = 5;
/// So long a statement waits at most for the change of a table to end that another gateway makes, unless `lock_timeout` is less.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks at what is known of that, which asks nobody.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

impl Session {
    /// Runs a statement where other gateways may move its tables.
    pub(super) async fn run_among_others(
        &mut self,
        prepared: &Prepared,
        parameters: &[ScalarValue],
        position: Position,
    ) -> SqlResult<Outcome> {
        let may_repeat = !self.transaction.is_open();
        let patience = self.settings.lock_timeout().map_or(PATIENCE, |timeout| timeout.min(PATIENCE));
        let patient_until = Instant::now() + patience;
        let mut runs_left = if may_repeat { RUNS_AGAIN_MAX } else { 0 };
        loop {
            let version = self.engine.catalog().version();
            let ran = match self.run(prepared, parameters, position).await {
                Ok(Outcome::Rows(rows)) if matches!(prepared.plan, Plan::Query(_)) => {
                    begun(rows).await.map(Outcome::Rows)
                }
                ran => ran,
            };
            let error = match ran {
                Err(error) if is_of_moved(error.kind) => error,
                ran => return ran.map(told_later),
            };
            let followed = self.engine.catalog().follow().await;
            if let Some(changing) = self.told_of_changing(prepared) {
                if !may_repeat || !self.wait_for_change(prepared, patient_until).await {
                    return Err(changing);
                }
                drop(self.transaction.fail());
                continue;
            }
            if runs_left == 0 || followed.is_err() || self.engine.catalog().version() == version {
                return Err(self.told_of_moved(prepared, error));
            }
            runs_left -= 1;
            // What it has collected is of the table that is gone.
            drop(self.transaction.fail());
        }
    }

    /// The error of a statement on tables that another gateway is changing.
    fn told_of_changing(&self, prepared: &Prepared) -> Option<Box<SqlError>> {
        let catalog = self.engine.catalog();
        prepared.plan.relations().into_iter().find_map(|relation| catalog.told_of_changing(relation))
    }

    /// Waits until no other gateway is changing the tables of a statement; false if it still is by then.
    async fn wait_for_change(&self, prepared: &Prepared, until: Instant) -> bool {
        while self.told_of_changing(prepared).is_some() {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOKS_EVERY).await;
        }
        true
    }

    fn told_of_moved(&self, prepared: &Prepared, error: Box<SqlError>) -> Box<SqlError> {
        if error.kind != ErrorKind::StoredTableMissing {
            return error;
        }
        let is_it = |relation: &&Arc<Relation>| {
            StoreError::TableMissing(relation.stored.name.clone()).to_string() == error.message
        };
        let relation = prepared.plan.relations().into_iter().find(is_it);
        let is_known = |relation: &&Arc<Relation>| {
            relation.kind == RelationKind::Found || self.engine.catalog().is_declared_as(&relation.stored)
        };
        match relation.filter(is_known).filter(|_| !self.transaction.in_block()) {
            Some(relation) => {
                let message = format!("relation \"{}\" does not exist", relation.name);
                SqlError::new(ErrorKind::UndefinedTable, message).with_detail("Its stored table is missing.")
            }
            None => moved(),
        }
    }
}

/// Rows of which the first are there: what a query reads from is known to be there by then.
async fn begun(mut rows: Rows) -> SqlResult<Rows> {
    let first = match rows.stream.next().await {
        Some(Err(error)) if is_of_moved(error.kind) => return Err(error),
        first => first,
    };
    let stream: RowStream = Box::pin(stream::iter(first).chain(rows.stream));
    Ok(Rows { stream, ..rows })
}

/// Whether a stored table is gone that the statement was planned for.
pub(super) fn is_of_moved(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StoredTableMissing | ErrorKind::TableMoved)
}

/// What comes while rows are sent, when nothing can be done again, in words that name no stored table.
fn told_later(outcome: Outcome) -> Outcome {
    fn told(error: Box<SqlError>) -> Box<SqlError> {
        if error.kind == ErrorKind::StoredTableMissing { moved() } else { error }
    }
    match outcome {
        Outcome::Rows(rows) => {
            let stream: RowStream = Box::pin(rows.stream.map(|batch| batch.map_err(told)));
            Outcome::Rows(Rows { stream, ..rows })
        }
        Outcome::CopyOut(mut out) => {
            out.content = match out.content {
                CopyContent::Lines(lines) => CopyContent::Lines(Box::pin(lines.map(|piece| piece.map_err(told)))),
                CopyContent::Rows(rows) => CopyContent::Rows(Box::pin(rows.map(|batch| batch.map_err(told)))),
            };
            Outcome::CopyOut(out)
        }
        other => other,
    }
}

fn moved() -> Box<SqlError> {
    SqlError::new(ErrorKind::SerializationFailure, "could not serialize access due to concurrent DDL")
        .with_detail("A table that the statement reads was dropped, emptied or rewritten meanwhile.")
        .with_hint("Run the transaction again.")
}
