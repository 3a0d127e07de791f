//! `pg_stat_activity` and `pg_locks`: what the sessions of the server are doing and what they hold.

use super::Rows;
use crate::catalog::DATABASE;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::OWNER;
use crate::tx::{AdvisoryKey, ShownTarget};

pub(super) fn sessions(context: &FunctionContext, rows: &mut Rows) {
    let waits = context.handles.locks.waits();
    for activity in context.handles.sessions.all() {
        let now = activity.now();
        let is_seen = activity.user == *context.user || context.login.role.sees_others();
        let wait = waits.get(&activity.process).copied();
        // Who waits for its client does.
        let (kind, event) = match (wait, now.doing) {
            (Some(event), _) => (Some("Lock"), Some(event)),
            (None, crate::activity::Doing::Active) => (None, None),
            (None, _) => (Some("Client"), Some("ClientRead")),
        };
        let address = activity.address.filter(|_| is_seen);
        let seen = |cell: Cell| if is_seen { cell } else { Cell::Null };
        rows.push([
            ("datid", DATABASE.into()),
            ("datname", (*context.database).into()),
            ("pid", activity.process.into()),
            ("usesysid", OWNER.into()),
            ("usename", activity.user.as_str().into()),
            ("application_name", activity.application_name().into()),
            ("client_addr", address.map(|address| address.ip().to_string()).into()),
            ("client_port", address.map(|address| i32::from(address.port())).into()),
            ("backend_start", seen(activity.began.into())),
            ("xact_start", seen(now.transaction_began.into())),
            ("query_start", seen(now.query_began.into())),
            ("state_change", seen(now.since.into())),
            ("wait_event_type", seen(kind.into())),
            ("wait_event", seen(event.into())),
            ("state", seen(now.doing.name().into())),
            ("query", if is_seen { (*now.query).into() } else { "<insufficient privilege>".into() }),
            ("backend_type", seen("client backend".into())),
        ]);
    }
}

pub(super) fn locks(context: &FunctionContext, rows: &mut Rows) {
    for lock in context.handles.locks.rows() {
        let owner = format!("{}/{}", lock.process, lock.transaction);
        let common = [
            ("database", Cell::from(DATABASE)),
            ("virtualtransaction", owner.into()),
            ("pid", lock.process.into()),
            ("mode", lock.mode.into()),
            ("granted", lock.granted.into()),
            ("fastpath", false.into()),
        ];
        let [database, transaction, pid, mode, granted, fastpath] = common;
        let (kind, relation, numbers) = match &lock.target {
            ShownTarget::Table(oid) => ("relation", Some(*oid), None),
            ShownTarget::Row(stored) => ("tuple", context.objects.oid_of_stored(stored), None),
            ShownTarget::Advisory(key) => ("advisory", None, Some(numbers(*key))),
        };
        rows.push([
            ("locktype", kind.into()),
            database,
            ("relation", relation.into()),
            ("classid", numbers.map(|(high, _, _)| high).into()),
            ("objid", numbers.map(|(_, low, _)| low).into()),
            ("objsubid", numbers.map(|(_, _, kind)| kind).into()),
            transaction,
            pid,
            mode,
            granted,
            fastpath,
        ]);
    }
}

/// Both halves of what is locked, and PostgreSQL's mark of which kind it is.
fn numbers(key: AdvisoryKey) -> (u32, u32, i32) {
    match key {
        AdvisoryKey::One(key) => {
            let [a, b, c, d, e, f, g, h] = key.to_be_bytes();
            (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]), 1)
        }
        AdvisoryKey::Pair(first, second) => (first.cast_unsigned(), second.cast_unsigned(), 2),
    }
}
