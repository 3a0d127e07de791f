//! `information_schema`'s views of what is granted.

use std::sync::Arc;

use tablegate_types::privileges::{AclItem, ObjectKind, Privileges};

use super::Rows;
use crate::catalog::Access;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::visible_columns;
use crate::relation::Relation;

/// What PUBLIC is called here.
const PUBLIC: &str = "PUBLIC";

pub(super) fn table_privileges(context: &FunctionContext, rows: &mut Rows) {
    for (table, access, item) in items(context).filter(|(_, _, item)| concerns_user(context, item, true)) {
        push_table(context, rows, &table, &access, &item);
    }
}

/// Those that the session's own roles have given or were given.
pub(super) fn role_table_grants(context: &FunctionContext, rows: &mut Rows) {
    for (table, access, item) in items(context).filter(|(_, _, item)| concerns_user(context, item, false)) {
        push_table(context, rows, &table, &access, &item);
    }
}

pub(super) fn column_privileges(context: &FunctionContext, rows: &mut Rows) {
    for (table, access, item) in items(context).filter(|(_, _, item)| concerns_user(context, item, true)) {
        push_columns(context, rows, &table, &access, &item);
    }
}

pub(super) fn role_column_grants(context: &FunctionContext, rows: &mut Rows) {
    for (table, access, item) in items(context).filter(|(_, _, item)| concerns_user(context, item, false)) {
        push_columns(context, rows, &table, &access, &item);
    }
}

/// Everything granted on tables, said or not.
fn items(context: &FunctionContext) -> impl Iterator<Item = (Arc<Relation>, Arc<Access>, AclItem)> {
    context.objects.tables.iter().flat_map(|table| {
        let access = context.granted.access(table.oid);
        let items = access.acl(ObjectKind::Table).items().to_vec();
        items.into_iter().map(move |item| (table.clone(), access.clone(), item))
    })
}

/// Whether the session's user is one of the two; the user who owns everything counts as every owner.
fn concerns_user(context: &FunctionContext, item: &AclItem, public: bool) -> bool {
    let is_user = |name: &str| name == &*context.user || context.granted.rights.owns_everything();
    is_user(&item.grantor) || item.grantee.as_deref().map_or(public, is_user)
}

fn push_table(context: &FunctionContext, rows: &mut Rows, table: &Relation, access: &Access, item: &AclItem) {
    for (privilege, name) in item.privileges.each() {
        rows.push([
            ("grantor", context.granted.roles.shown(&item.grantor).into()),
            ("grantee", item.grantee.as_deref().map_or(PUBLIC, |name| context.granted.roles.shown(name)).into()),
            ("table_catalog", (*context.database).into()),
            ("table_schema", table.schema_name.as_str().into()),
            ("table_name", table.name.as_str().into()),
            ("privilege_type", name.into()),
            ("is_grantable", yes_or_no(is_grantable(access, item, privilege))),
            ("with_hierarchy", yes_or_no(privilege == Privileges::SELECT)),
        ]);
    }
}

/// A privilege on a table is one on each of its columns, as far as columns have it.
fn push_columns(context: &FunctionContext, rows: &mut Rows, table: &Relation, access: &Access, item: &AclItem) {
    let of_columns = Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE | Privileges::REFERENCES;
    for (_, column) in visible_columns(table) {
        for (privilege, name) in (item.privileges & of_columns).each() {
            rows.push([
                ("grantor", context.granted.roles.shown(&item.grantor).into()),
                ("grantee", item.grantee.as_deref().map_or(PUBLIC, |name| context.granted.roles.shown(name)).into()),
                ("table_catalog", (*context.database).into()),
                ("table_schema", table.schema_name.as_str().into()),
                ("table_name", table.name.as_str().into()),
                ("column_name", column.name.as_str().into()),
                ("privilege_type", name.into()),
                ("is_grantable", yes_or_no(is_grantable(access, item, privilege))),
            ]);
        }
    }
}

fn is_grantable(access: &Access, item: &AclItem, privilege: Privileges) -> bool {
    item.grantable.has(privilege) || item.grantee.as_deref() == Some(access.owner())
}

fn yes_or_no(yes: bool) -> Cell {
    if yes { "YES" } else { "NO" }.into()
}
