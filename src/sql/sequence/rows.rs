//! A sequence as a relation: one row that says where it stands.

use std::sync::Arc;

use arrow::array::{BooleanArray, Int64Array};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use datafusion::catalog::{MemTable, TableProvider};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::session::SessionSequences;
use crate::catalog::Sequence;

/// `SELECT last_value, log_cnt, is_called FROM sequence`, which pg_dump asks.
///
/// # Errors
/// When the store fails.
pub(crate) async fn provider(
    sequences: &SessionSequences,
    sequence: &Arc<Sequence>,
) -> SqlResult<Arc<dyn TableProvider>> {
    let state = sequences.state(sequence).await?;
    let schema = Arc::new(Schema::new(vec![
        SqlType::Int8.field("last_value", false),
        SqlType::Int8.field("log_cnt", false),
        SqlType::Bool.field("is_called", false),
    ]));
    let row = RecordBatch::try_new(
        schema.clone(),
        vec![
            Arc::new(Int64Array::from(vec![state.last])),
            Arc::new(Int64Array::from(vec![0])),
            Arc::new(BooleanArray::from(vec![state.called])),
        ],
    )?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![row]])?))
}
