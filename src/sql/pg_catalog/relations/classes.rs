//! `pg_class`: tables, their key indexes, and the system relations themselves.

use super::Rows;
use crate::catalog::PUBLIC;
use crate::pg_catalog::built_ins::row_type_of;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::constraints::TableIndex;
use crate::pg_catalog::deparse::IndexShape;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::layout;
use crate::pg_catalog::objects::{INFORMATION_SCHEMA, OWNER, PG_CATALOG, visible_columns};
use crate::place::Place;
use crate::relation::row_type_oid;

/// Access methods, as `pg_am` numbers them.
pub(super) const HEAP: u32 = 2;
pub(super) const BTREE: u32 = 403;

pub(super) fn classes(context: &FunctionContext, rows: &mut Rows) {
    let with_foreign_keys = context.objects.with_foreign_keys();
    for table in &context.objects.tables {
        let schema = context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC);
        let described = Described {
            row_type: row_type_oid(table.oid),
            access: HEAP,
            columns: visible_columns(table).count() + table.dropped_columns.len(),
            has_index: TableIndex::of_table(table).next().is_some(),
            checks: table.constraints.checks.len(),
            has_triggers: with_foreign_keys.contains(&table.oid),
            owner: context.granted.owner_oid(table.oid),
            acl: context.granted.acl_of(table.oid),
            persistence: persistence(table.place()),
            tuples: context.sizes.of_table(table.oid).map(|size| size.entities),
            pages: context.sizes.pages_of(table.oid),
            ..Described::of(table.oid, &table.name, schema, "r")
        };
        push(rows, &described);
        for index in TableIndex::of_table(table) {
            let (name, shape) = (index.name(), context.objects.shape_of(&index));
            let columns = index.columns_of(shape).len();
            let access = access_method(index.method());
            let owner = context.granted.owner_oid(table.oid);
            let persistence = persistence(table.place());
            let options = shape.map(IndexShape::options).unwrap_or_default();
            let described = Described::of(index.oid(), &name, schema, "i");
            push(rows, &Described { access, columns, owner, persistence, options, ..described });
        }
    }
    for sequence in &context.objects.sequences {
        let (owner, acl) = (context.granted.owner_oid(sequence.oid), context.granted.acl_of(sequence.oid));
        let schema = context.objects.schema_oid(&sequence.place.schema()).unwrap_or(PUBLIC);
        let persistence = persistence(sequence.place);
        let described = Described::of(sequence.oid, &sequence.name, schema, "S");
        push(rows, &Described { columns: 3, owner, acl, persistence, ..described });
    }
    for view in &context.objects.views {
        let columns = view.columns.len();
        let (owner, acl) = (context.granted.owner_oid(view.oid), context.granted.acl_of(view.oid));
        let schema = context.objects.schema_oid(&view.place.schema()).unwrap_or(PUBLIC);
        let described = Described {
            row_type: row_type_oid(view.oid),
            columns,
            is_view: true,
            owner,
            acl,
            persistence: persistence(view.place),
            ..Described::of(view.oid, &view.name, schema, "v")
        };
        push(rows, &described);
    }
}

/// The system relations, which are the same in every database.
pub(super) fn system_classes(rows: &mut Rows) {
    for layout in layout::all() {
        let schema = if layout.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
        let described = Described {
            row_type: row_type_of(layout.oid),
            access: if layout.kind == "r" { HEAP } else { 0 },
            columns: layout.columns.len(),
            ..Described::of(layout.oid, layout.name, schema, layout.kind)
        };
        push(rows, &described);
    }
}

/// The access method's OID, as `pg_am` has it.
fn access_method(name: &str) -> u32 {
    match name {
        "hash" => 405,
        "gist" => 783,
        "gin" => 2742,
        "spgist" => 4000,
        "brin" => 3580,
        _ => BTREE,
    }
}

/// How long what is in a place is there.
fn persistence(place: Place) -> &'static str {
    if place.is_temporary() { "t" } else { "p" }
}

struct Described<'a> {
    oid: u32,
    name: &'a str,
    schema: u32,
    row_type: u32,
    kind: &'a str,
    access: u32,
    columns: usize,
    has_index: bool,
    checks: usize,
    has_triggers: bool,
    owner: u32,
    acl: Cell,
    /// About how many rows there are; `None` if the store does not count them.
    tuples: Option<u64>,
    pages: i32,
    /// A view of the user's, which a rule makes one.
    is_view: bool,
    persistence: &'static str,
    /// Storage parameters.
    options: Vec<String>,
}

impl<'a> Described<'a> {
    /// A relation without anything that belongs to it.
    fn of(oid: u32, name: &'a str, schema: u32, kind: &'a str) -> Self {
        Self {
            oid,
            name,
            schema,
            row_type: 0,
            kind,
            access: 0,
            columns: 0,
            has_index: false,
            checks: 0,
            has_triggers: false,
            owner: OWNER,
            acl: Cell::Null,
            tuples: None,
            pages: 0,
            is_view: false,
            persistence: persistence(Place::Public),
            options: Vec::new(),
        }
    }
}

/// As `reltuples` has it: a float, and -1 for what is not known.
#[expect(clippy::cast_precision_loss, reason = "the column is a real")]
fn tuples(tuples: Option<u64>) -> Cell {
    Cell::Float(tuples.map_or(-1.0, |tuples| tuples as f64))
}

fn push(rows: &mut Rows, class: &Described<'_>) {
    let columns = i32::try_from(class.columns).unwrap_or(i32::MAX);
    rows.push([
        ("oid", class.oid.into()),
        ("relname", class.name.into()),
        ("relnamespace", class.schema.into()),
        ("reltype", class.row_type.into()),
        ("relowner", class.owner.into()),
        ("relam", class.access.into()),
        ("relfilenode", class.oid.into()),
        ("relpages", class.pages.into()),
        ("reltuples", tuples(class.tuples)),
        ("relhasindex", class.has_index.into()),
        ("relpersistence", class.persistence.into()),
        ("relkind", class.kind.into()),
        ("relnatts", columns.into()),
        ("relchecks", i32::try_from(class.checks).unwrap_or(i32::MAX).into()),
        ("relhastriggers", class.has_triggers.into()),
        ("relacl", class.acl.clone()),
        ("reloptions", if class.options.is_empty() { Cell::Null } else { Cell::texts(&class.options) }),
        ("relhasrules", class.is_view.into()),
        ("relispopulated", true.into()),
        ("relreplident", if class.kind == "r" { "d" } else { "n" }.into()),
    ]);
}
