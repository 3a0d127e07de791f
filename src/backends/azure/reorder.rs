//! Entities in the order of the service, put into ours.
//!
//! The service orders keys by UTF-16 units, everything here by UTF-8 bytes. Where the first difference of two keys is a
//! character beyond U+D7FF the two disagree. All keys that agree up to such a place and go on with such a character
//! follow each other in both orders: such a run is gathered and sorted, everything else passes.

use std::collections::VecDeque;

use bytes::Bytes;
use tablegate_store::table::StoreError;

use super::entity::RawEntity;

/// Memory that the entities of one run may take.
const RUN_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The run that is being gathered, and the entities of sorted ones.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    /// What the keys of the run have in common.
    common: Option<Place>,
    run: Vec<Kept>,
    run_bytes: usize,
    sorted: VecDeque<Bytes>,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    partition: String,
    /// The start of the RowKey, where the PartitionKeys are one.
    row: Option<String>,
}

#[derive(Debug)]
struct Kept {
    key: (String, String),
    entity: Bytes,
}

impl Reorder {
    /// Takes an entity that belongs to a run; false when its place is where the service has it, and nothing is
    /// waiting that comes before it.
    ///
    /// # Errors
    /// When a run is too large to be sorted.
    pub(super) fn takes(&mut self, entity: &RawEntity<'_>, json: impl FnOnce() -> Bytes) -> Result<bool, StoreError> {
        let place = place(&entity.partition, &entity.row);
        if place != self.common {
            self.end_run();
        }
        if place.is_none() && self.sorted.is_empty() {
            return Ok(false);
        }
        let is_in_run = place.is_some();
        self.common = place;
        let json = json();
        if !is_in_run {
            self.sorted.push_back(json);
            return Ok(true);
        }
        self.run_bytes += json.len();
        if self.run_bytes > RUN_MAX_BYTES {
            return Err(StoreError::Unsupported("putting so many keys with characters beyond U+D7FF into order"));
        }
        self.run.push(Kept { key: (entity.partition.to_string(), entity.row.to_string()), entity: json });
        Ok(true)
    }

    /// What is gathered is a whole run.
    pub(super) fn end_run(&mut self) {
        self.run.sort_by(|a, b| a.key.cmp(&b.key));
        self.sorted.extend(self.run.drain(..).map(|kept| kept.entity));
        self.run_bytes = 0;
        self.common = None;
    }

    /// The next entity of those that were put into order.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        self.sorted.pop_front()
    }
}

fn place(partition: &str, row: &str) -> Option<Place> {
    if let Some(at) = disagreement(partition) {
        return Some(Place { partition: partition.get(..at)?.to_owned(), row: None });
    }
    let at = disagreement(row)?;
    Some(Place { partition: partition.to_owned(), row: Some(row.get(..at)?.to_owned()) })
}

/// Where the first character beyond U+D7FF is: it is the first byte from 0xEE on, for there are no surrogates in UTF-8.
fn disagreement(key: &str) -> Option<usize> {
    key.bytes().position(|byte| byte >= 0xee)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::azure::json::Json;

    fn entity(key: &(String, String)) -> String {
        let (partition, row) = key;
        format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"Timestamp\":\"\"}}")
    }

    /// What comes out, with each entity that is not kept standing for itself.
    fn reordered(keys: &[(String, String)]) -> Vec<String> {
        let mut reorder = Reorder::default();
        let mut out = Vec::new();
        let drain = |reorder: &mut Reorder, out: &mut Vec<String>| {
            out.extend(std::iter::from_fn(|| reorder.next()).map(|json| String::from_utf8(json.to_vec()).unwrap()));
        };
        for key in keys {
            let json = entity(key);
            let mut raw = RawEntity::default();
            raw.read(&mut Json::new(&json, 0)).unwrap();
            let taken = reorder.takes(&raw, || Bytes::from(json.clone())).unwrap();
            drain(&mut reorder, &mut out);
            if !taken {
                out.push(json);
            }
        }
        reorder.end_run();
        drain(&mut reorder, &mut out);
        out
    }

    proptest! {
        #[test]
        fn the_order_of_utf16_becomes_that_of_utf8(
            keys in prop::collection::btree_set(("[a\u{d7ff}\u{e000}\u{ffff}😀]{0,3}", "[a\u{d7ff}\u{e000}😀]{0,2}"), 0..40)
        ) {
            let expected: Vec<String> = keys.iter().map(entity).collect();
            let mut keys: Vec<(String, String)> = keys.into_iter().collect();
            let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
            keys.sort_by_key(|(partition, row)| (units(partition), units(row)));
            prop_assert_eq!(reordered(&keys), expected);
        }
    }
}
