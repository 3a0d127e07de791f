//! The view `schema_findings`: what the declared schema means in the Table model.
//!
//! A row for each finding, by table and the gravest first: the `table_name` (NULL for a sequence of its own), the
//! `object_name` (constraint, index, columns or sequence; NULL for the whole table), the `kind`, the `severity` (`high`: a
//! promise of PostgreSQL's is not kept; `medium`: it costs; `low`: a limit; `info`), what it means, and the advice.

use super::Rows;
use crate::findings::findings;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn schema_findings(context: &FunctionContext, rows: &mut Rows) {
    for finding in findings(&context.objects.tables, &context.objects.sequences) {
        rows.push([
            ("table_name", finding.table.into()),
            ("object_name", finding.object.into()),
            ("kind", finding.kind.name().into()),
            ("severity", finding.severity.name().into()),
            ("meaning", finding.meaning.into()),
            ("advice", finding.advice.into()),
        ]);
    }
}
