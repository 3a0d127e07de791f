//! The one table of types: `pg_type` and `pg_range` as PostgreSQL 15 has them built in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::oids::{Oid, PG_CATALOG};
use super::rows::{cells, number};

/// The handler of subscripts that true arrays have.
const ARRAY_SUBSCRIPTS: &str = "6179";

/// What kind of type it is, as `typtype` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    Base,
    Composite,
    Domain,
    Enum,
    Pseudo,
    Range,
    Multirange,
}

/// One row of `pg_type`.
#[derive(Debug, Clone)]
pub struct Type {
    pub oid: Oid,
    pub name: Cow<'static, str>,
    pub schema: Oid,
    pub kind: TypeKind,
    /// The letter of its category.
    pub category: u8,
    /// Whether it is what its category leans to.
    pub is_preferred: bool,
    /// The type of its items: of arrays, and of some that are subscripted as arrays are.
    pub element: Oid,
    pub is_array: bool,
    pub has_subscripts: bool,
    /// The type of arrays of it.
    pub array: Oid,
    /// Of a domain: the type that it is of, and the modifier given to it.
    pub base: Oid,
    pub base_typmod: i32,
    pub collation: Oid,
    /// The relation whose rows these are.
    pub relation: Oid,
    pub takes_modifiers: bool,
    /// Of a range and a multirange: the type of the bounds, and that of the other of the two.
    pub bounds: Oid,
    pub range: Oid,
}

static TYPES: LazyLock<HashMap<Oid, Type>> = LazyLock::new(|| {
    let columns = [
        "oid",
        "typname",
        "typnamespace",
        "typtype",
        "typcategory",
        "typispreferred",
        "typelem",
        "typsubscript",
        "typarray",
        "typbasetype",
        "typtypmod",
        "typcollation",
        "typrelid",
        "typmodin",
    ];
    let mut types: HashMap<Oid, Type> = cells("pg_type", columns).map(read).map(|t| (t.oid, t)).collect();
    for [range, bounds, multirange] in cells("pg_range", ["rngtypid", "rngsubtype", "rngmultitypid"]) {
        let (range, bounds, multirange) = (number(range), number(bounds), number(multirange));
        for (of, other) in [(range, multirange), (multirange, range)] {
            if let Some(known) = types.get_mut(&of) {
                (known.bounds, known.range) = (bounds, other);
            }
        }
    }
    types
});

/// By schema and name.
static BY_NAME: LazyLock<HashMap<(Oid, &'static str), Oid>> =
    LazyLock::new(|| TYPES.values().map(|t| ((t.schema, &*t.name), t.oid)).collect());

fn read(row: [&'static str; 14]) -> Type {
    let [oid, name, schema, kind, category, is_preferred, element, subscripts, array, base, typmod, rest @ ..] = row;
    let [collation, relation, modifiers] = rest;
    Type {
        oid: number(oid),
        name: Cow::Borrowed(name),
        schema: number(schema),
        kind: match kind {
            "c" => TypeKind::Composite,
            "d" => TypeKind::Domain,
            "e" => TypeKind::Enum,
            "p" => TypeKind::Pseudo,
            "r" => TypeKind::Range,
            "m" => TypeKind::Multirange,
            _ => TypeKind::Base,
        },
        category: category.bytes().next().unwrap_or(b'X'),
        is_preferred: is_preferred == "t",
        element: number(element),
        is_array: subscripts == ARRAY_SUBSCRIPTS,
        has_subscripts: subscripts != "0",
        array: number(array),
        base: number(base),
        base_typmod: typmod.parse().unwrap_or(-1),
        collation: number(collation),
        relation: number(relation),
        takes_modifiers: modifiers != "0",
        bounds: 0,
        range: 0,
    }
}

/// A type that is built in.
pub fn built_in(oid: Oid) -> Option<&'static Type> {
    TYPES.get(&oid)
}

/// Whether `pg_catalog` has a type of this name.
pub fn is_built_in(name: &str) -> bool {
    built_in_named(name).is_some()
}

/// A type of `pg_catalog`.
pub(crate) fn built_in_named(name: &str) -> Option<&'static Type> {
    BY_NAME.get(&(PG_CATALOG, name)).and_then(|oid| TYPES.get(oid))
}
