//! Finding the rows under many keys, which ascend: by going through the rows between the first and the last one, as long as
//! those are mostly the ones that are looked for, and by looking up each key otherwise.

use std::time::{Duration, Instant};

use fjall::{Iter, KvPair, Slice};
use tablegate_store::table::StoreError;

use super::encoded_keys::EncodedKeys;
use super::engine::Engine;
use super::tries::Tries;

/// Fewer keys than this are looked up one by one.
const LEAST_KEYS: usize = 16;
/// So many rows may be passed over for each that is found: it takes about as long as looking up a key.
const PASSED_FOR_FOUND: usize = 4;
/// And so many more: about what looking up a few keys takes.
const PASSED_MORE: usize = 64;
/// Going through rows that takes longer than this for each key was not worth it, whatever it found: much that was removed
/// lies between them.
const LONG: Duration = Duration::from_micros(4);

/// The rows under keys, one after the other.
pub(super) struct LookUp<'a> {
    engine: &'a Engine,
    walk: Option<Walk<'a>>,
}

struct Walk<'a> {
    rows: Iter,
    ahead: Option<KvPair>,
    found: usize,
    passed: usize,
    begun: Instant,
    tries: &'a Tries,
}

impl<'a> LookUp<'a> {
    /// Of these keys. What comes of going through rows is noted in `tries`.
    pub(super) fn new(engine: &'a Engine, keys: &EncodedKeys, tries: &'a Tries) -> Self {
        let walk = match keys.span() {
            Some((first, last)) if keys.ascend() && keys.len() >= LEAST_KEYS && tries.is_worth_one() => Some(Walk {
                rows: engine.rows_between(first, last),
                ahead: None,
                found: 0,
                passed: 0,
                begun: Instant::now(),
                tries,
            }),
            _ => None,
        };
        Self { engine, walk }
    }

    /// The row under the next one of the keys, as it was last written, published or not.
    ///
    /// # Errors
    /// When the engine cannot read its files.
    pub(super) fn next(&mut self, key: &[u8]) -> Result<Option<Slice>, StoreError> {
        while let Some(walk) = &mut self.walk {
            if walk.ahead.is_none() {
                walk.ahead = self.engine.guarded(|| walk.rows.next().map(fjall::Guard::into_inner).transpose())?;
            }
            match walk.ahead.take() {
                None => return Ok(None),
                Some((at, row)) if *at == *key => {
                    walk.found += 1;
                    return Ok(Some(row));
                }
                Some((at, row)) if *at > *key => {
                    walk.ahead = Some((at, row));
                    return Ok(None);
                }
                Some(_) => walk.passed += 1,
            }
            if walk.passed > PASSED_FOR_FOUND * walk.found + PASSED_MORE {
                walk.tries.learn(false);
                self.walk = None;
            }
        }
        self.engine.written_row(key)
    }

    /// All have been looked for.
    pub(super) fn finish(self) {
        if let Some(Walk { found, begun, tries, .. }) = self.walk {
            let keys = u32::try_from(found + PASSED_MORE).unwrap_or(u32::MAX);
            tries.learn(begun.elapsed() < LONG * keys);
        }
    }
}
