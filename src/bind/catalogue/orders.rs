//! Which types' values are sorted and told apart: those of the default operator classes, and what is made of them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::oids::{self, Oid};
use super::rows::{cells, number};
use super::{Lookup, TypeKind};
use crate::catalogue::CastContext;
use crate::coerce::Pathway;
use crate::place::{AtPlace, Place};

const BTREE: &str = "403";
const HASH: &str = "405";

static SORTED: LazyLock<HashSet<Oid>> = LazyLock::new(|| of_method(BTREE));
static HASHED: LazyLock<HashSet<Oid>> = LazyLock::new(|| of_method(HASH));

/// The types that a method has a default operator class for.
fn of_method(method: &str) -> HashSet<Oid> {
    let rows = cells("pg_opclass", ["opcintype", "opcmethod", "opcdefault"]);
    // What is mostly so is left out of the records.
    let is_default = |default: &str| default.is_empty() || default == "t";
    rows.filter(|[_, of, default]| *of == method && is_default(default)).map(|[oid, ..]| number(oid)).collect()
}

/// The families of the default classes for sorting, by type.
static FAMILIES: LazyLock<HashMap<Oid, Oid>> = LazyLock::new(|| {
    let rows = cells("pg_opclass", ["opcintype", "opcmethod", "opcdefault", "opcfamily"]);
    let sorting = rows.filter(|[_, of, default, _]| *of == BTREE && (default.is_empty() || *default == "t"));
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

impl Lookup<'_> {
    /// The types of offsets that RANGE takes for values of the type.
    pub(crate) fn range_offsets(self, oid: Oid) -> Vec<Oid> {
        let base = self.base(oid);
        let of = |oid: Oid| OFFSETS.get(&(*FAMILIES.get(&oid)?, oid)).cloned();
        of(base).unwrap_or_default()
    }

    /// Whether ORDER BY takes values of the type.
    pub(crate) fn is_sorted(self, oid: Oid) -> bool {
        self.is_of(oid, &SORTED)
    }

    /// Whether values of the type are told apart.
    pub(crate) fn is_told_apart(self, oid: Oid) -> bool {
        self.is_of(oid, &SORTED) || self.is_of(oid, &HASHED)
    }

    /// # Errors
    /// 42883 for a type whose values are not sorted.
    pub(crate) fn check_sorted(self, oid: Oid, place: Place) -> SqlResult<()> {
        if self.is_sorted(oid) {
            return Ok(());
        }
        let message = format!("could not identify an ordering operator for type {}", self.type_name(oid));
        Err(SqlError::new(ErrorKind::UndefinedFunction, message)
            .with_hint("Use an explicit ordering operator or modify the query.")
            .at_place(place))
    }

    /// # Errors
    /// 42883 for a type whose values are not told apart.
    pub(crate) fn check_told_apart(self, oid: Oid, place: Place) -> SqlResult<()> {
        if self.is_told_apart(oid) {
            return Ok(());
        }
        let message = format!("could not identify an equality operator for type {}", self.type_name(oid));
        Err(SqlError::new(ErrorKind::UndefinedFunction, message).at_place(place))
    }

    fn is_of(self, oid: Oid, known: &HashSet<Oid>) -> bool {
        let base = self.base(oid);
        if known.contains(&base) {
            return true;
        }
        let Some(of) = self.get(base) else { return base == oids::RECORD };
        match of.kind {
            TypeKind::Enum | TypeKind::Range | TypeKind::Multirange => true,
            TypeKind::Composite => {
                let columns = self.0.columns_of(of.relation);
                columns.iter().all(|(_, column, _)| self.is_of(*column, known))
            }
            _ if base == oids::RECORD => true,
            _ if of.is_array => self.is_of(of.element, known),
            _ => {
                let same = |other: &Oid| self.pathway(*other, base, CastContext::Implicit) == Some(Pathway::Binary);
                known.iter().any(same)
            }
        }
    }
}
