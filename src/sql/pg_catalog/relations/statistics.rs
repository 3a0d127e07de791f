//! The statistics of tables, indexes and sequences: all are listed, and nothing is counted.

use super::Rows;
use crate::sql::pg_catalog::functions::FunctionContext;

pub(super) fn tables(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        rows.push_counters([
            ("relid", table.oid.into()),
            ("schemaname", table.schema_name.as_str().into()),
            ("relname", table.name.as_str().into()),
        ]);
    }
}

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for index in context.objects.indexes() {
        let table = index.table();
        rows.push_counters([
            ("relid", table.oid.into()),
            ("indexrelid", index.oid().into()),
            ("schemaname", table.schema_name.as_str().into()),
            ("relname", table.name.as_str().into()),
            ("indexrelname", index.name().into()),
        ]);
    }
}

pub(super) fn sequences(context: &FunctionContext, rows: &mut Rows) {
    for sequence in &context.objects.sequences {
        rows.push_counters([
            ("relid", sequence.oid.into()),
            ("schemaname", sequence.place.schema().into_owned().into()),
            ("relname", sequence.name.as_str().into()),
        ]);
    }
}
