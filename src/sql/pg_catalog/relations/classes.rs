//! `pg_class`: tables, their key indexes, and the system relations themselves.

use super::Rows;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::layout;
use crate::sql::pg_catalog::objects::{
    INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, has_key, index_oid, key_numbers, row_type_oid, visible_columns,
};

/// Access methods, as `pg_am` numbers them.
pub(super) const HEAP: u32 = 2;
pub(super) const BTREE: u32 = 403;

pub(super) fn classes(context: &FunctionContext, rows: &mut Rows) {
    for table in &context.objects.tables {
        let schema = context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC);
        let described = Described {
            oid: table.oid,
            name: &table.name,
            schema,
            row_type: row_type_oid(table),
            kind: "r",
            access: HEAP,
            columns: visible_columns(table).count(),
            has_index: has_key(table),
        };
        push(rows, &described);
        if has_key(table) {
            let columns = key_numbers(table).len();
            let name = table.primary_key_name();
            let oid = index_oid(table);
            push(
                rows,
                &Described {
                    oid,
                    name: &name,
                    row_type: 0,
                    kind: "i",
                    access: BTREE,
                    columns,
                    has_index: false,
                    ..described
                },
            );
        }
    }
    for layout in layout::all() {
        let schema = if layout.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
        let access = if layout.kind == "r" { HEAP } else { 0 };
        push(
            rows,
            &Described {
                oid: layout.oid,
                name: layout.name,
                schema,
                row_type: 0,
                kind: layout.kind,
                access,
                columns: layout.columns.len(),
                has_index: false,
            },
        );
    }
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
}

fn push(rows: &mut Rows, class: &Described<'_>) {
    let columns = i32::try_from(class.columns).unwrap_or(i32::MAX);
    rows.push([
        ("oid", class.oid.into()),
        ("relname", class.name.into()),
        ("relnamespace", class.schema.into()),
        ("reltype", class.row_type.into()),
        ("relowner", OWNER.into()),
        ("relam", class.access.into()),
        ("relfilenode", class.oid.into()),
        // How many rows there are is not known without reading them all.
        ("reltuples", (-1).into()),
        ("relhasindex", class.has_index.into()),
        ("relpersistence", "p".into()),
        ("relkind", class.kind.into()),
        ("relnatts", columns.into()),
        ("relispopulated", true.into()),
        ("relreplident", if class.kind == "r" { "d" } else { "n" }.into()),
        ("relfrozenxid", Cell::text("0")),
        ("relminmxid", Cell::text("1")),
    ]);
}
