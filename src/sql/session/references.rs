//! Values that name objects of the catalogue, as the OIDs that their binary form is.

use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use futures::future::{BoxFuture, ready};
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;

use super::Session;
use crate::outcome::{ResultColumn, RowStream};
use crate::pg_catalog::SystemCatalog;
use crate::plan::SystemRelations;

impl Session {
    /// The rows with the OIDs of what they name in those columns for which `is_wanted` is true.
    ///
    /// # Errors
    /// As the store's. A row that names what is there no longer is an error in the stream.
    pub fn with_oids<'a>(
        &'a mut self,
        columns: &[ResultColumn],
        is_wanted: impl Fn(usize) -> bool,
        rows: RowStream,
    ) -> BoxFuture<'a, SqlResult<RowStream>> {
        let all = columns.iter().enumerate().map(|(at, column)| (at, column.sql_type.clone()));
        let wanted: Vec<_> = all.filter(|(at, sql_type)| sql_type.is_of_references() && is_wanted(*at)).collect();
        if wanted.is_empty() {
            return Box::pin(ready(Ok(rows)));
        }
        Box::pin(self.with_numbers(wanted, rows))
    }

    async fn with_numbers(&mut self, wanted: Vec<(usize, SqlType)>, rows: RowStream) -> SqlResult<RowStream> {
        let system = self.system_catalog();
        let reads = self.reads();
        Box::pin(system.see(&self.engine, &reads)).await?;
        Ok(Box::pin(rows.map(move |batch| numbered(&system, &batch?, &wanted))))
    }
}

fn numbered(system: &SystemCatalog, batch: &RecordBatch, wanted: &[(usize, SqlType)]) -> SqlResult<RecordBatch> {
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    let mut arrays = batch.columns().to_vec();
    for (at, sql_type) in wanted {
        let (Some(field), Some(array)) = (fields.get_mut(*at), arrays.get_mut(*at)) else { continue };
        *array = system.oids(sql_type, array)?;
        *field = field.as_ref().clone().with_data_type(array.data_type().clone()).into();
    }
    let schema = arrow::datatypes::Schema::new(fields);
    Ok(RecordBatch::try_new(schema.into(), arrays)?)
}
