//! Roles: `pg_roles`, `pg_authid` and the views over them. What passwords are checked with is nowhere here.

use super::Rows;
use crate::login::Role;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::granted::is_super;
use crate::privileges::KnownRole;

/// What stands for a password, as in PostgreSQL's own views.
const HIDDEN: &str = "********";

/// `pg_roles`, which hides from every role whether a user has a password.
pub(super) fn roles(context: &FunctionContext, rows: &mut Rows) {
    for role in context.granted.roles.iter() {
        rows.push_all(
            attributes(role).into_iter().chain([("rolpassword", HIDDEN.into()), ("rolconfig", own_settings(role))]),
        );
    }
}

/// `pg_authid`, where a password is shown to nobody: a dump of the roles restores them without one.
pub(super) fn authids(context: &FunctionContext, rows: &mut Rows) {
    for role in context.granted.roles.iter() {
        rows.push_all(attributes(role).into_iter().chain([("rolpassword", Cell::Null)]));
    }
}

/// What both have of a role.
fn attributes(role: &KnownRole) -> [(&'static str, Cell); 10] {
    let all = is_super(role);
    [
        ("oid", role.oid.into()),
        ("rolname", role.name.as_str().into()),
        ("rolsuper", all.into()),
        ("rolinherit", true.into()),
        ("rolcreaterole", all.into()),
        ("rolcreatedb", all.into()),
        ("rolcanlogin", role.can_login.into()),
        ("rolreplication", all.into()),
        ("rolbypassrls", all.into()),
        ("rolconnlimit", (-1).into()),
    ]
}

/// `pg_user`: the roles that can log in.
pub(super) fn users(context: &FunctionContext, rows: &mut Rows) {
    log_ins(context, HIDDEN.into(), rows);
}

/// `pg_shadow`, the same with passwords, which are shown to nobody.
pub(super) fn shadow(context: &FunctionContext, rows: &mut Rows) {
    log_ins(context, Cell::Null, rows);
}

fn log_ins(context: &FunctionContext, password: Cell, rows: &mut Rows) {
    for role in context.granted.roles.iter().filter(|role| role.can_login) {
        let all = is_super(role);
        rows.push([
            ("usename", role.name.as_str().into()),
            ("usesysid", role.oid.into()),
            ("usecreatedb", all.into()),
            ("usesuper", all.into()),
            ("userepl", all.into()),
            ("usebypassrls", all.into()),
            ("passwd", password.clone()),
            ("useconfig", own_settings(role)),
        ]);
    }
}

/// The roles whose privileges the session has: its own, for none is a member of another.
pub(super) fn enabled_roles(context: &FunctionContext, rows: &mut Rows) {
    rows.push([("role_name", (*context.user).into())]);
}

/// The settings a role has of its own.
fn own_settings(role: &KnownRole) -> Cell {
    if role.role == Role::ReadOnly { Cell::texts(&["default_transaction_read_only=on"]) } else { Cell::Null }
}
