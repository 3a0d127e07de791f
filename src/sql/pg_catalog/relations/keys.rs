//! `pg_index` and `pg_constraint`: primary keys, the only constraint and the only index there is.

use super::Rows;
use super::types::operator_class;
use crate::sql::pg_catalog::built_ins::{type_by_oid, type_oid};
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{PUBLIC, constraint_oid, has_key, index_oid, key_numbers, visible_columns};
use crate::sql::relation::Relation;

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for table in context.objects.tables.iter().filter(|t| has_key(t)) {
        let key = key_numbers(table);
        let count = Cell::Int(i64::try_from(key.len()).unwrap_or(0));
        let types = key_types(table, &key);
        rows.push([
            ("indexrelid", index_oid(table).into()),
            ("indrelid", table.oid.into()),
            ("indnatts", count.clone()),
            ("indnkeyatts", count),
            ("indisunique", true.into()),
            ("indisprimary", true.into()),
            ("indimmediate", true.into()),
            ("indisvalid", true.into()),
            ("indisready", true.into()),
            ("indislive", true.into()),
            ("indkey", Cell::numbers(key.iter().copied())),
            ("indcollation", Cell::numbers(types.iter().map(|t| collation(*t)))),
            ("indclass", Cell::numbers(types.iter().map(|t| operator_class(*t)))),
            ("indoption", Cell::numbers(types.iter().map(|_| 0))),
        ]);
    }
}

pub(super) fn constraints(context: &FunctionContext, rows: &mut Rows) {
    for table in context.objects.tables.iter().filter(|t| has_key(t)) {
        rows.push([
            ("oid", constraint_oid(table).into()),
            ("conname", table.primary_key_name().into()),
            ("connamespace", context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC).into()),
            ("contype", "p".into()),
            ("convalidated", true.into()),
            ("conrelid", table.oid.into()),
            ("conindid", index_oid(table).into()),
            ("confupdtype", " ".into()),
            ("confdeltype", " ".into()),
            ("confmatchtype", " ".into()),
            ("conislocal", true.into()),
            ("connoinherit", true.into()),
            ("conkey", Cell::numbers(key_numbers(table))),
        ]);
    }
}

fn key_types(table: &Relation, key: &[i32]) -> Vec<u32> {
    let of_number =
        |number: &i32| visible_columns(table).find(|(n, _)| n == number).map(|(_, c)| type_oid(&c.sql_type));
    key.iter().filter_map(of_number).collect()
}

fn collation(type_oid: u32) -> u32 {
    type_by_oid(type_oid).and_then(|t| t.words.get(19)?.parse().ok()).unwrap_or(0)
}
