//! The views of observe mode: `egt_violations` and `egt_transactions`.
//!
//! They are relations of `pg_catalog`, so that their bare names find them and tools that dump a database leave them out.
//!
//! `egt_violations` has a row for each rule that a transaction broke, oldest first: when the transaction ended
//! (`recorded_at`), its `transaction_id`, the `rule`, the `outcome` (committed; rolled back; split and torn are
//! statements outside a block that ran as several entity group transactions), the `statement` that broke the rule first
//! and its `shape` (the text without its constants), the `tables` and some of the `partitions` of the whole transaction
//! (`table/PartitionKey`), their `partition_count`, the `entities` and `bytes` it wrote, `application_name` and
//! `user_name`.
//!
//! `egt_transactions` has a row for each application and shape of its writing transactions: how many there were, and of
//! these how many `fitted` one entity group transaction, were committed although they were `violating` its rules, were
//! `split`, or were `rolled_back`.

use super::Rows;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;

pub(super) fn violations(context: &FunctionContext, rows: &mut Rows) {
    for violation in &context.observations.violations {
        rows.push([
            ("recorded_at", Cell::Int(violation.recorded_at)),
            ("transaction_id", violation.transaction_id.as_str().into()),
            ("rule", violation.rule.as_str().into()),
            ("outcome", violation.outcome.name().into()),
            ("statement", violation.statement.as_str().into()),
            ("shape", violation.shape.as_str().into()),
            ("tables", Cell::texts(&violation.tables)),
            ("partitions", Cell::texts(&violation.partitions)),
            ("partition_count", number(violation.partition_count as u64)),
            ("entities", number(violation.entities as u64)),
            ("bytes", number(violation.bytes as u64)),
            ("application_name", violation.application_name.as_str().into()),
            ("user_name", violation.user_name.as_str().into()),
        ]);
    }
}

pub(super) fn transactions(context: &FunctionContext, rows: &mut Rows) {
    for count in &context.observations.counts {
        rows.push([
            ("application_name", count.application_name.as_str().into()),
            ("shape", count.shape.as_str().into()),
            ("transactions", number(count.transactions())),
            ("fitted", number(count.fitted)),
            ("violating", number(count.violating)),
            ("split", number(count.split)),
            ("rolled_back", number(count.rolled_back)),
            ("first_seen", Cell::Int(count.first_seen)),
            ("last_seen", Cell::Int(count.last_seen)),
        ]);
    }
}

fn number(n: u64) -> Cell {
    Cell::Int(i64::try_from(n).unwrap_or(i64::MAX))
}
