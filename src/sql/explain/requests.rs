//! What EXPLAIN says of the requests that a scan will make: the store tells, whatever store it is.

use std::sync::Arc;

use serde_json::{Value, json};
use tablegate_store::table::{RemotePlan, ScanPlan};

use crate::reads::Reads;
use crate::scan::EntityScanExec;

/// Rows of a batch as the scan would ask for: no plan depends on it.
const BATCH_ROWS: usize = 1;

/// What the scan would ask its store for now. What the scope says anyway is told only when `all` is.
pub(super) fn properties(scan: &EntityScanExec, reads: &Arc<Reads>, all: bool) -> Vec<(&'static str, Value)> {
    // A place without a store has nothing to tell; running the statement says why.
    let Ok(plan) = scan.scan_plan(Arc::clone(reads), BATCH_ROWS) else { return Vec::new() };
    let mut properties = Vec::new();
    if all {
        let pushed = distinct(scan.predicates().filter(|_| reads.pushes_filters()).map(ToString::to_string));
        if !pushed.is_empty() {
            properties.push(("Pushed Filter", json!(pushed.join("; "))));
        }
        properties.push(("Look-Ups", json!(plan.look_ups)));
        properties.push(("Range Reads", json!(plan.range_reads)));
    }
    if let Some(remote) = &plan.remote {
        properties.push(("Planned Requests", json!(requests(&plan, remote))));
        let mut filters = distinct(remote.filters.iter().cloned());
        if remote.more_filters > 0 {
            filters.push(format!("... and {} more", remote.more_filters));
        }
        if !filters.is_empty() {
            properties.push(("Query Filters", json!(filters)));
        }
        if plan.look_ups + plan.range_reads > 0 {
            properties.push(("Select", json!(remote.select.as_deref().unwrap_or("all properties"))));
        }
    }
    properties
}

/// `2 GETs, 1 query in pages, at most 8 at once (16 to a partition, 64 in all)`
fn requests(plan: &ScanPlan, remote: &RemotePlan) -> String {
    let mut parts = Vec::new();
    match plan.look_ups {
        0 => {}
        1 => parts.push("1 GET".to_owned()),
        several => parts.push(format!("{several} GETs")),
    }
    match plan.range_reads {
        0 => {}
        1 => parts.push("1 query in pages".to_owned()),
        several => parts.push(format!("{several} queries in pages")),
    }
    if parts.is_empty() {
        return "none".to_owned();
    }
    if plan.look_ups + plan.range_reads > 1 {
        let RemotePlan { at_once, at_once_in_partition, at_once_in_all, .. } = remote;
        parts.push(format!(
            "at most {at_once} at once ({at_once_in_partition} to a partition, {at_once_in_all} in all)"
        ));
    }
    if remote.reads_all_first && plan.range_reads > 0 {
        parts.push("all before the first row".to_owned());
    }
    parts.join(", ")
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = Vec::new();
    for text in texts {
        if !known.contains(&text) {
            known.push(text);
        }
    }
    known
}
