//! The types that have default operator classes to sort, and to tell apart, by.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::oids::Oid;
use super::rows::{cells, number};

const BTREE: &str = "403";
const HASH: &str = "405";

pub(crate) static SORTED: LazyLock<HashSet<Oid>> = LazyLock::new(|| of_method(BTREE));
pub(crate) static HASHED: LazyLock<HashSet<Oid>> = LazyLock::new(|| of_method(HASH));

/// The types that a method has a default operator class for.
fn of_method(method: &str) -> HashSet<Oid> {
    let rows = cells("pg_opclass", ["opcintype", "opcmethod", "opcdefault"]);
    rows.filter(|[_, of, default]| *of == method && *default == "t").map(|[oid, ..]| number(oid)).collect()
}

/// The families of the default classes for sorting, by type.
static FAMILIES: LazyLock<HashMap<Oid, Oid>> = LazyLock::new(|| {
    let rows = cells("pg_opclass", ["opcintype", "opcmethod", "opcdefault", "opcfamily"]);
    let sorting = rows.filter(|[_, of, default, _]| *of == BTREE && *default == "t");
    sorting.map(|[oid, _, _, family]| (number(oid), number(family))).collect()
});

/// Types that are added to those of a family to compare with the sum, by the family and the type.
static OFFSETS: LazyLock<HashMap<(Oid, Oid), Vec<Oid>>> = LazyLock::new(|| {
    let mut offsets: HashMap<(Oid, Oid), Vec<Oid>> = HashMap::new();
    for [family, left, right, purpose] in
        cells("pg_amproc", ["amprocfamily", "amproclefttype", "amprocrighttype", "amprocnum"])
    {
        let family = number(family);
        if purpose == IN_RANGE && FAMILIES.values().any(|known| *known == family) {
            offsets.entry((family, number(left))).or_default().push(number(right));
        }
    }
    offsets
});

/// PostgreSQL's `BTINRANGE_PROC`.
const IN_RANGE: &str = "3";

/// The types of offsets that RANGE takes for values of a type that has a class of its own.
pub(crate) fn offsets(oid: Oid) -> &'static [Oid] {
    let of = |family: &Oid| OFFSETS.get(&(*family, oid));
    FAMILIES.get(&oid).and_then(of).map_or(&[], Vec::as_slice)
}
