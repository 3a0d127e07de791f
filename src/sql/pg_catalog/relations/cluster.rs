//! What PostgreSQL has once per server or database: schemas, databases.

use super::Rows;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{DATABASE, OWNER};
use crate::sql::privileges::ObjectKind;

/// `pg_encoding_to_char` of the only encoding.
const UTF8: i32 = 6;
const DEFAULT_TABLESPACE: u32 = 1663;

pub(super) fn namespaces(context: &FunctionContext, rows: &mut Rows) {
    for (oid, name) in context.objects.schemas() {
        // Everybody may use what is in any schema, unless somebody says otherwise of `public`.
        let acl = context.granted.acl_cell(&context.granted.access(oid).acl(ObjectKind::Schema));
        rows.push([("oid", oid.into()), ("nspname", name.into()), ("nspowner", OWNER.into()), ("nspacl", acl)]);
    }
}

pub(super) fn databases(context: &FunctionContext, rows: &mut Rows) {
    rows.push([
        ("oid", DATABASE.into()),
        ("datname", (*context.database).into()),
        ("datdba", OWNER.into()),
        ("encoding", UTF8.into()),
        ("datlocprovider", "c".into()),
        ("datallowconn", true.into()),
        ("datconnlimit", (-1).into()),
        ("dattablespace", DEFAULT_TABLESPACE.into()),
        // Text is ordered by its bytes.
        ("datcollate", "C".into()),
        ("datctype", "C".into()),
        ("datacl", context.granted.acl_of(DATABASE)),
    ]);
}
