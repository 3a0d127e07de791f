//! `pg_stat_ssl`: whether the session's own connection is encrypted, and how.

use super::Rows;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn ssl(context: &FunctionContext, rows: &mut Rows) {
    let encryption = context.login.encryption.as_deref();
    rows.push([
        ("pid", context.login.process.into()),
        ("ssl", encryption.is_some().into()),
        ("version", encryption.map(|e| e.version).into()),
        ("cipher", encryption.map(|e| e.cipher.clone()).into()),
        ("bits", encryption.map(|e| e.bits).into()),
    ]);
}
