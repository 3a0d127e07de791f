//! The views of observe mode: `egt_violations`, `egt_transactions` and `refused_statements`.
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
//!
//! `refused_statements` has a row for each application, SQLSTATE and shape of a statement that was refused for what PostgreSQL would do:
//! the `message`, `detail` and `hint` that it got first, that `statement`, and how many `times`.

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

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
            ("partition_count", Cell::count(violation.partition_count as u64)),
            ("entities", Cell::count(violation.entities as u64)),
            ("bytes", Cell::count(violation.bytes as u64)),
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
            ("transactions", Cell::count(count.transactions())),
            ("fitted", Cell::count(count.fitted)),
            ("violating", Cell::count(count.violating)),
            ("split", Cell::count(count.split)),
            ("rolled_back", Cell::count(count.rolled_back)),
            ("first_seen", Cell::Int(count.first_seen)),
            ("last_seen", Cell::Int(count.last_seen)),
        ]);
    }
}

pub(super) fn refused(context: &FunctionContext, rows: &mut Rows) {
    for refusal in &context.observations.refusals {
        rows.push([
            ("application_name", refusal.application_name.as_str().into()),
            ("sqlstate", refusal.sqlstate.as_str().into()),
            ("message", refusal.message.as_str().into()),
            ("detail", refusal.detail.as_deref().into()),
            ("hint", refusal.hint.as_deref().into()),
            ("statement", refusal.statement.as_str().into()),
            ("shape", refusal.shape.as_str().into()),
            ("times", Cell::count(refusal.times)),
            ("first_seen", Cell::Int(refusal.first_seen)),
            ("last_seen", Cell::Int(refusal.last_seen)),
        ]);
    }
}
