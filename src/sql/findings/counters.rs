//! Sequences: each is one entity that all inserts wait for.

use std::sync::Arc;

use super::{Finding, Kind, Severity};
use crate::catalog::Sequence;
use crate::relation::Relation;

pub(super) fn findings(tables: &[Arc<Relation>], sequences: &[Arc<Sequence>], found: &mut Vec<Finding>) {
    for sequence in sequences {
        let owner = sequence.owner.as_ref();
        let table = owner.and_then(|owner| tables.iter().find(|table| table.oid == owner.table));
        let column = owner.map(|owner| format!(" of column \"{}\"", owner.column)).unwrap_or_default();
        found.push(Finding {
            table: table.map(|table| table.name.clone()),
            object: Some(sequence.name.clone()),
            kind: Kind::Counter,
            severity: Severity::Low,
            meaning: format!(
                "The counter{column} is one entity. Values are reserved in blocks, one durable write for each; several \
                 gateways over one store take turns at it, and a restart leaves a gap."
            ),
            advice: "Where many gateways insert, use uuid keys (gen_random_uuid()), or a larger CACHE.".to_owned(),
        });
    }
}
