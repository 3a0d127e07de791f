//! Collations by their names.

use super::oids::Oid;
use super::rows::{cells, number};

/// The collation of a name, and its name as SQL prints it.
pub(crate) fn named(name: &str) -> Option<Oid> {
    rows().find(|(_, known)| *known == name).map(|(oid, _)| oid)
}

pub(crate) fn name(oid: Oid) -> Option<&'static str> {
    rows().find(|(known, _)| *known == oid).map(|(_, name)| name)
}

fn rows() -> impl Iterator<Item = (Oid, &'static str)> {
    cells("pg_collation", ["oid", "collname"]).map(|[oid, name]| (number(oid), name))
}
