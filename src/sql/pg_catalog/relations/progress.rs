//! `pg_stat_progress_copy`: how far the COPY statements of all sessions have come.

use super::Rows;
use crate::sql::copies::CopyDirection;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::DATABASE;

pub(super) fn copies(context: &FunctionContext, rows: &mut Rows) {
    let number = |n: u64| Cell::Int(i64::try_from(n).unwrap_or(i64::MAX));
    for copy in context.copies.states() {
        rows.push([
            ("pid", copy.process.into()),
            ("datid", DATABASE.into()),
            ("datname", Cell::text(&*context.database)),
            ("relid", copy.relation.into()),
            (
                "command",
                match copy.direction {
                    CopyDirection::From => "COPY FROM",
                    CopyDirection::To => "COPY TO",
                }
                .into(),
            ),
            ("type", "PIPE".into()),
            ("bytes_processed", number(copy.bytes)),
            // How much a client will send, nobody knows.
            ("bytes_total", Cell::Int(0)),
            ("tuples_processed", number(copy.rows)),
            ("tuples_excluded", number(copy.excluded)),
        ]);
    }
}
