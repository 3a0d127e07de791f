//! The view `table_segments`: what of the tables is kept as columns too, and what is being made so at this moment.

use tablegate_store::model::EdmDateTime;
use tablegate_store::table::SegmentFigures;
use tablegate_types::privileges::{ObjectKind, Privileges};

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn table_segments(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let access = context.granted.access(table.oid);
        // Keys are what is in the table.
        let shows_keys = context.granted.rights.on(ObjectKind::Table, &access).has(Privileges::SELECT);
        for segment in context.sizes.segments_of(&table.stored) {
            let keys = segment.keys.as_ref().filter(|_| shows_keys);
            let (first, last) = keys.map(|(first, last)| (first, last)).unzip();
            rows.push([
                ("table_schema", table.schema_name.as_str().into()),
                ("table_name", table.name.as_str().into()),
                ("first_partition_key", first.map(|key| key.partition.as_str()).into()),
                ("first_row_key", first.map(|key| key.row.as_str()).into()),
                ("last_partition_key", last.map(|key| key.partition.as_str()).into()),
                ("last_row_key", last.map(|key| key.row.as_str()).into()),
                ("entities", Cell::count(segment.entities)),
                ("bytes", segment.bytes.map(Cell::count).into()),
                ("commit_number", Cell::count(segment.commit)),
                ("dirty_entities", segment.dirty.map(Cell::count).into()),
                ("dirty_percent", dirty_percent(&segment)),
                ("built_at", segment.built_at.map(EdmDateTime::unix_micros).into()),
                ("state", segment.state.name().into()),
            ]);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share, to two digits")]
fn dirty_percent(segment: &SegmentFigures) -> Cell {
    let share = |dirty: u64| (dirty as f64 * 1e4 / segment.entities as f64).round() / 1e2;
    segment.dirty.filter(|_| segment.entities > 0).map_or(Cell::Null, |dirty| Cell::Float(share(dirty)))
}
