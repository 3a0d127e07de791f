//! Queries over a few rows, run as they stand: joins by key, what is counted of them, a page of them in another order.
//!
//! The engine takes longer to set its operators up than such a query takes to run. So the optimized plan is kept with its
//! parameters in their places, and a run goes through it node by node, with all rows of a node in memory. Tables whose keys the
//! parameters name are read first; rows of others are looked up by what these rows hold.
//!
//! A run that meets more than a few rows, or an error, is given up: the engine does it then, and says what is wrong.
//!
//! ```text
//!     built     an optimized plan -> nodes
//!     node      the nodes, and how rows go through them
//!     table     rows of a table, by their keys
//!     wanted    which values of a column are looked for
//!     join      rows of two nodes beside each other
//!     groups    aggregates
//!     few       how many rows are a few
//! ```

mod built;
mod few;
mod groups;
mod join;
mod node;
mod table;
mod wanted;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use self::built::Built;
pub(super) use self::built::is_candidate;
use self::node::{Node, Rows, Running};
use super::held_rows::named;
use super::lasting::Lasting;
use super::outputs::Run;
use crate::engine::Engine;
use crate::reads::Reads;

/// A query that is given up so often, one time after the other, is not tried again.
const GIVEN_UP_MOST: u8 = 4;

/// A query over rows that may be few.
#[derive(Debug)]
pub(super) struct ShortQuery {
    /// Sub-queries that give a value, each after those that it asks. Their values stand behind the parameters.
    values: Vec<Node>,
    root: Node,
    schema: SchemaRef,
    /// How often in a row it was given up.
    given_up: AtomicU8,
}

impl ShortQuery {
    /// The query that a plan with so many parameters is, if it may be a short one.
    pub(super) fn of(lasting: &Lasting, parameters: usize, engine: &Engine) -> Option<Self> {
        // What the engine does not compute as it stands, it may compute in a plan.
        let Built { values, root } = Built::of(lasting, parameters, engine).ok().flatten()?;
        let schema = Arc::clone(lasting.plan.schema().inner());
        Some(Self { values, root, schema, given_up: AtomicU8::new(0) })
    }

    /// The rows with these parameters; `None` where the engine is to find them.
    pub(super) async fn rows(
        &self,
        engine: &Engine,
        parameters: &[ScalarValue],
        reads: &Arc<Reads>,
    ) -> Option<RecordBatch> {
        if self.given_up.load(Ordering::Relaxed) >= GIVEN_UP_MOST {
            return None;
        }
        let rows = self.met(engine, parameters, reads).await.ok().flatten();
        match rows {
            Some(_) => self.given_up.store(0, Ordering::Relaxed),
            None => _ = self.given_up.fetch_add(1, Ordering::Relaxed),
        }
        rows
    }

    async fn met(&self, engine: &Engine, parameters: &[ScalarValue], reads: &Arc<Reads>) -> SqlResult<Option<Rows>> {
        let mut known = parameters.to_vec();
        for value in &self.values {
            let Some(rows) = rows_of(value, engine, &known, reads).await? else { return Ok(None) };
            known.push(value_of(&rows)?);
        }
        let rows = rows_of(&self.root, engine, &known, reads).await?;
        rows.map(|rows| named(&self.schema, &rows)).transpose()
    }
}

/// The rows of a node with these parameters, and the values behind them.
async fn rows_of(node: &Node, engine: &Engine, known: &[ScalarValue], reads: &Arc<Reads>) -> SqlResult<Option<Rows>> {
    let run = Run::new(engine, reads, known);
    node.rows(&[], &Running { run: &run, reads }).await
}

/// The value that a sub-query gives: NULL where it has no row.
fn value_of(rows: &RecordBatch) -> SqlResult<ScalarValue> {
    match rows.num_rows() {
        0 => Ok(ScalarValue::try_from(rows.schema().field(0).data_type())?),
        1 => Ok(ScalarValue::try_from_array(rows.column(0), 0)?),
        // It is said by the engine.
        _ => Err(SqlError::new(ErrorKind::CardinalityViolation, "more than one row returned by a subquery")),
    }
}
