//! OIDs of what is in a mounted store, whose catalogue numbers its objects as if there were no other.
//!
//! Every store counts from the same number on. So that a number means one object in this server, the numbers of a mount
//! are rotated within their range, by a distance that is derived from the mount's name, which can be undone. Entries in
//! the store have the store's own numbers, which every server over it understands.
//!
//! Collisions remain possible, as they are between found tables: with a hundred tables in each of two stores, about
//! once in ten thousand pairs of names.

use xxhash_rust::xxh64::xxh64;

use super::found::FIRST_FOUND_OID;
use super::scratch::FIRST_TEMPORARY_OID;
use super::{FIRST_OID, OIDS_PER_TABLE};
use crate::place::Place;

/// The OID of the schema `public`.
pub(crate) const PUBLIC: u32 = 2200;
/// The database's own OID.
pub(crate) const DATABASE: u32 = 5;

/// What the schema itself counts as: the block in front of those that are handed out.
const SCHEMA_BLOCK: u32 = FIRST_OID - OIDS_PER_TABLE;

/// A range of OIDs that are handed out in blocks.
#[derive(Clone, Copy)]
struct Blocks {
    first: u32,
    end: u32,
}

const DECLARED: Blocks = Blocks { first: SCHEMA_BLOCK, end: FIRST_TEMPORARY_OID };
const FOUND: Blocks = Blocks { first: FIRST_FOUND_OID, end: u32::MAX };

impl Blocks {
    fn of(oid: u32) -> Option<Self> {
        [DECLARED, FOUND].into_iter().find(|blocks| (blocks.first..blocks.end()).contains(&oid))
    }

    fn count(self) -> u64 {
        u64::from((self.end - self.first) / OIDS_PER_TABLE)
    }

    fn end(self) -> u32 {
        self.end - (self.end - self.first) % OIDS_PER_TABLE
    }

    fn turned(self, oid: u32, by: u64) -> u32 {
        let (block, within) = ((oid - self.first) / OIDS_PER_TABLE, (oid - self.first) % OIDS_PER_TABLE);
        let block = (u64::from(block) + by) % self.count();
        // Fewer than there are numbers.
        self.first + u32::try_from(block).unwrap_or_default() * OIDS_PER_TABLE + within
    }
}

/// The OID that an object has here which is this one in the catalogue of its store.
pub(super) fn shown(place: Place, stored: u32) -> u32 {
    let Place::Mount(name) = place else { return stored };
    let stored = if stored == PUBLIC { SCHEMA_BLOCK } else { stored };
    let Some(blocks) = Blocks::of(stored) else { return stored };
    blocks.turned(stored, distance(name.as_str(), blocks))
}

/// The OID in the catalogue of its store of an object that is this one here.
pub(super) fn stored(place: Place, shown: u32) -> u32 {
    let Place::Mount(name) = place else { return shown };
    let Some(blocks) = Blocks::of(shown) else { return shown };
    match blocks.turned(shown, blocks.count() - distance(name.as_str(), blocks)) {
        SCHEMA_BLOCK => PUBLIC,
        stored => stored,
    }
}

/// The OID of a place's schema, if all sessions see that schema.
pub(crate) fn schema_oid(place: Place) -> u32 {
    shown(place, PUBLIC)
}

/// Never none: the store that the server is for has its numbers as they are.
fn distance(name: &str, blocks: Blocks) -> u64 {
    1 + xxh64(name.as_bytes(), 0) % (blocks.count() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::MountName;

    fn mount(name: &str) -> Place {
        Place::Mount(MountName::parse(name).unwrap())
    }

    #[test]
    fn numbers_of_a_mount_are_its_own_and_lead_back() {
        let oids =
            [PUBLIC, FIRST_OID, FIRST_OID + 1, FIRST_OID + 700, 1 << 29, FIRST_FOUND_OID, FIRST_FOUND_OID + 5_000];
        for place in [mount("prod"), mount("other"), mount("a")] {
            for oid in oids {
                let here = shown(place, oid);
                assert_ne!(here, oid, "{place:?}");
                assert_eq!(stored(place, here), oid, "{place:?}");
                assert_eq!(here >= FIRST_FOUND_OID, oid >= FIRST_FOUND_OID, "what is found shows as found");
                assert_eq!(here % OIDS_PER_TABLE, if oid == PUBLIC { 0 } else { oid % OIDS_PER_TABLE });
            }
        }
        assert_ne!(schema_oid(mount("prod")), schema_oid(mount("other")));
        assert_eq!((shown(Place::Public, 17_000), stored(Place::Public, PUBLIC)), (17_000, PUBLIC));
    }
}
