//! Violations: one row for each rule that a transaction broke.

use serde::{Deserialize, Serialize};
use tablegate_store::model::EdmDateTime;
use tablegate_store::table::Operation;
use tablegate_types::error::SqlResult;
use uuid::Uuid;

use super::rule::Observed;
use super::seen::bounded;
use super::{Footprint, storage};

/// The partition of the violations in the gateway's own table. A later format gets another one.
pub(super) const PARTITION: &str = "violation1";
/// Characters of a client's names that are kept, as PostgreSQL keeps them.
const NAME_MAX_CHARS: usize = 63;

/// Who ran the transaction.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    application: String,
    user: String,
}

impl Client {
    pub(crate) fn new(application: &str, user: &str) -> Self {
        Self { application: bounded(application, NAME_MAX_CHARS), user: bounded(user, NAME_MAX_CHARS) }
    }

    pub(crate) fn application(&self) -> &str {
        &self.application
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// All of it was committed, atomically.
    Committed,
    /// Nothing of it is there.
    RolledBack,
    /// A statement outside a block, committed as several EGTs.
    Split,
    /// The same, but it failed when some of them were committed.
    Torn,
}

impl Outcome {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::RolledBack => "rolled back",
            Outcome::Split => "split",
            Outcome::Torn => "torn",
        }
    }
}

/// One rule that one transaction broke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Violation {
    /// When the transaction ended, in microseconds since 1970.
    pub recorded_at: i64,
    /// The same for all rules of one transaction.
    pub transaction_id: String,
    pub rule: String,
    pub outcome: Outcome,
    /// The statement that broke the rule first.
    pub statement: String,
    pub shape: String,
    pub tables: Vec<String>,
    pub partitions: Vec<String>,
    pub partition_count: usize,
    pub entities: usize,
    pub bytes: usize,
    pub application_name: String,
    pub user_name: String,
}

/// A violation for each rule that the transaction broke.
pub(crate) fn violations(
    client: &Client,
    observed: &Observed,
    footprint: &Footprint,
    outcome: Outcome,
    now: EdmDateTime,
) -> Vec<Violation> {
    // Of version 7, so that the order of the keys is that of time.
    let transaction_id = Uuid::now_v7().to_string();
    let violation = |breach: &super::rule::Breach| Violation {
        recorded_at: now.unix_micros(),
        transaction_id: transaction_id.clone(),
        rule: breach.rule.name().to_owned(),
        outcome,
        statement: breach.statement.text().to_owned(),
        shape: breach.statement.shape().to_owned(),
        tables: footprint.tables.clone(),
        partitions: footprint.partitions.clone(),
        partition_count: footprint.partition_count(),
        entities: footprint.entities,
        bytes: footprint.bytes,
        application_name: client.application.clone(),
        user_name: client.user.clone(),
    };
    observed.breaches().iter().map(violation).collect()
}

/// The operations that write the violations. They may be applied again after a lost answer: the keys are the same each
/// time.
///
/// # Errors
/// None are expected: every text in a violation is cut to a bounded length.
pub(super) fn to_operations(violations: &[Violation]) -> SqlResult<Vec<Operation>> {
    let operation = |violation: &Violation| {
        let row = format!("{} {}", violation.transaction_id, violation.rule);
        Ok(Operation::InsertOrReplace(storage::entity(PARTITION, &row, violation)?))
    };
    violations.iter().map(operation).collect()
}
