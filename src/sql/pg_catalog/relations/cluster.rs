//! What PostgreSQL has once per server or database: schemas, databases, roles.

use super::Rows;
use crate::sql::login::Role;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{DATABASE, OWNER, TEMPLATE0, TEMPLATE1};
use crate::sql::pg_catalog::quoting::quote_ident;

/// `pg_encoding_to_char` of the only encoding.
const UTF8: i32 = 6;
const DEFAULT_TABLESPACE: u32 = 1663;

pub(super) fn namespaces(context: &FunctionContext, rows: &mut Rows) {
    for (oid, name) in context.objects.schemas() {
        rows.push([("oid", oid.into()), ("nspname", name.into()), ("nspowner", OWNER.into())]);
    }
}

pub(super) fn databases(context: &FunctionContext, rows: &mut Rows) {
    database(rows, DATABASE, &context.database, Cell::Null, true);
    // Nobody can connect to them, but tools expect them to be there.
    let user = quote_ident(&context.user);
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

pub(super) fn roles(context: &FunctionContext, rows: &mut Rows) {
    let may_write = may_write(context);
    rows.push([
        ("rolname", (*context.user).into()),
        ("rolsuper", may_write.into()),
        ("rolinherit", true.into()),
        ("rolcreaterole", may_write.into()),
        ("rolcreatedb", may_write.into()),
        ("rolcanlogin", true.into()),
        ("rolreplication", may_write.into()),
        ("rolconnlimit", (-1).into()),
        ("rolpassword", "********".into()),
        ("rolbypassrls", may_write.into()),
        ("rolconfig", own_settings(may_write)),
        ("oid", OWNER.into()),
    ]);
}

pub(super) fn users(context: &FunctionContext, rows: &mut Rows) {
    let may_write = may_write(context);
    rows.push([
        ("usename", (*context.user).into()),
        ("usesysid", OWNER.into()),
        ("usecreatedb", may_write.into()),
        ("usesuper", may_write.into()),
        ("userepl", may_write.into()),
        ("usebypassrls", may_write.into()),
        ("passwd", "********".into()),
        ("useconfig", own_settings(may_write)),
    ]);
}

/// A user who may write may do everything.
fn may_write(context: &FunctionContext) -> bool {
    context.login.role != Role::ReadOnly
}

/// The settings a role has of its own.
fn own_settings(may_write: bool) -> Cell {
    if may_write { Cell::Null } else { Cell::texts(&["default_transaction_read_only=on"]) }
}
