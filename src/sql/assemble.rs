//! placeholder
use arrow::record_batch::RecordBatch;
use super::error::{SqlError, SqlResult};
use super::relation::Relation;
use crate::model::StoredEntity;
pub fn relation_rows(_relation: &Relation, _stored: &[&StoredEntity]) -> SqlResult<RecordBatch> {
    Err(SqlError::not_supported("placeholder"))
}
