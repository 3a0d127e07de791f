//! What PostgreSQL has once per server or database: schemas, databases.

use tablegate_types::privileges::ObjectKind;
use tablegate_types::quoting::quote_ident;

use super::Rows;
use crate::catalog::DATABASE;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::comments::PG_NAMESPACE;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{OWNER, PG_CATALOG, TEMPLATE0, TEMPLATE1};

/// `pg_encoding_to_char` of the only encoding.
const UTF8: i32 = 6;
const DEFAULT_TABLESPACE: u32 = 1663;

pub(super) fn namespaces(context: &FunctionContext, rows: &mut Rows) {
    for (oid, name) in context.objects.schemas() {
        // Every role may use every schema, unless that was revoked for `public`.
        let acl = context.granted.acl_cell(&context.granted.access(oid).acl(ObjectKind::Schema));
        rows.push([("oid", oid.into()), ("nspname", name.into()), ("nspowner", OWNER.into()), ("nspacl", acl)]);
    }
}

/// What was granted on schemas before anybody granted anything: pg_dump leaves it out of what it writes.
pub(super) fn initial_privileges(context: &FunctionContext, rows: &mut Rows) {
    for (oid, _) in context.objects.schemas() {
        let acl = context.granted.acl_cell(&context.granted.access(PG_CATALOG).acl(ObjectKind::Schema));
        rows.push([
            ("objoid", oid.into()),
            ("classoid", PG_NAMESPACE.into()),
            ("objsubid", 0.into()),
            ("privtype", "i".into()),
            ("initprivs", acl),
        ]);
    }
}

pub(super) fn databases(context: &FunctionContext, rows: &mut Rows) {
    database(rows, DATABASE, &context.database, context.granted.acl_of(DATABASE), true);
    // No client can connect to the templates, but tools expect them to be there.
    let user = quote_ident(&context.granted.owner(DATABASE));
    let privileges = Cell::texts(&[format!("=c/{user}"), format!("{user}=CTc/{user}")]);
    for (oid, name) in [(TEMPLATE1, "template1"), (TEMPLATE0, "template0")] {
        if *context.database != *name {
            database(rows, oid, name, privileges.clone(), false);
        }
    }
}

fn database(rows: &mut Rows, oid: u32, name: &str, privileges: Cell, is_own: bool) {
    rows.push([
        ("oid", oid.into()),
        ("datname", name.into()),
        ("datdba", OWNER.into()),
        ("encoding", UTF8.into()),
        ("datlocprovider", "c".into()),
        ("datistemplate", (!is_own).into()),
        ("datallowconn", is_own.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", DEFAULT_TABLESPACE.into()),
        // Text is ordered by its bytes.
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
        ("datacl", privileges),
    ]);
}
