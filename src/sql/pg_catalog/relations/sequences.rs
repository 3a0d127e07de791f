//! `pg_sequence`, `pg_sequences`, `information_schema.sequences`.

use tablegate_types::oid::oid as type_oid;
use tablegate_types::sql_type::SqlType;

use super::Rows;
use crate::catalog::Sequence;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn sequences(context: &FunctionContext, rows: &mut Rows) {
    for sequence in &context.objects.sequences {
        let options = &sequence.options;
        rows.push([
            ("seqrelid", sequence.oid.into()),
            ("seqtypid", type_oid(&counted_type(sequence)).into()),
            ("seqstart", options.start.into()),
            ("seqincrement", options.increment.into()),
            ("seqmax", options.maximum.into()),
            ("seqmin", options.minimum.into()),
            ("seqcache", options.cache.into()),
            ("seqcycle", options.cycle.into()),
        ]);
    }
}

/// `last_value` is NULL: it would have to be asked of the store. `SELECT last_value FROM` the sequence does that.
pub(super) fn sequences_view(context: &FunctionContext, rows: &mut Rows) {
    for sequence in &context.objects.sequences {
        let options = &sequence.options;
        rows.push([
            ("schemaname", sequence.place.schema().into_owned().into()),
            ("sequencename", sequence.name.as_str().into()),
            ("sequenceowner", context.granted.owner(sequence.oid).into()),
            ("data_type", options.sql_type.as_str().into()),
            ("start_value", options.start.into()),
            ("min_value", options.minimum.into()),
            ("max_value", options.maximum.into()),
            ("increment_by", options.increment.into()),
            ("cycle", options.cycle.into()),
            ("cache_size", options.cache.into()),
        ]);
    }
}

pub(super) fn standard_sequences(context: &FunctionContext, rows: &mut Rows) {
    // Those of identity columns are a part of the column.
    let is_identity = |sequence: &Sequence| sequence.owner.as_ref().is_some_and(|owner| owner.identity);
    for sequence in context.objects.sequences.iter().filter(|sequence| !is_identity(sequence)) {
        let options = &sequence.options;
        let bits = match counted_type(sequence) {
            SqlType::Int2 => 16,
            SqlType::Int4 => 32,
            _ => 64,
        };
        rows.push([
            ("sequence_catalog", (*context.database).into()),
            ("sequence_schema", sequence.place.schema().into_owned().into()),
            ("sequence_name", sequence.name.as_str().into()),
            ("data_type", options.sql_type.as_str().into()),
            ("numeric_precision", Cell::Int(bits)),
            ("numeric_precision_radix", Cell::Int(2)),
            ("numeric_scale", Cell::Int(0)),
            ("start_value", options.start.to_string().into()),
            ("minimum_value", options.minimum.to_string().into()),
            ("maximum_value", options.maximum.to_string().into()),
            ("increment", options.increment.to_string().into()),
            ("cycle_option", if options.cycle { "YES" } else { "NO" }.into()),
        ]);
    }
}

fn counted_type(sequence: &Sequence) -> SqlType {
    SqlType::parse(&sequence.options.sql_type).unwrap_or(SqlType::Int8)
}
