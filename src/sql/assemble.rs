//! placeholder
use super::error::{SqlError, SqlResult};
use super::relation::Relation;
use crate::model::StoredEntity;
use arrow::record_batch::RecordBatch;
pub fn relation_rows(_relation: &Relation, _stored: &[&StoredEntity]) -> SqlResult<RecordBatch> {
    Err(SqlError::not_supported("placeholder"))
}
