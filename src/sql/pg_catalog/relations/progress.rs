//! `pg_stat_progress_copy` and `statement_progress`: how far the statements of all sessions have come.

use super::Rows;
use crate::catalog::DATABASE;
use crate::copies::CopyDirection;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn copies(context: &FunctionContext, rows: &mut Rows) {
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
            ("bytes_processed", Cell::count(copy.bytes)),
            // It is not known how much a client will send.
            ("bytes_total", Cell::Int(0)),
            ("tuples_processed", Cell::count(copy.rows)),
            ("tuples_excluded", Cell::count(copy.excluded)),
        ]);
    }
}

/// Statements that write many entity group transactions.
pub(super) fn statements(context: &FunctionContext, rows: &mut Rows) {
    for (writer, tally) in context.handles.long_writes.all() {
        rows.push([
            ("pid", writer.process.into()),
            ("relid", writer.relation.into()),
            ("command", writer.command.into()),
            ("rows_committed", Cell::count(tally.rows())),
            ("egts_committed", Cell::count(tally.egts())),
            ("egts_under_way", Cell::count(tally.under_way())),
        ]);
    }
}
