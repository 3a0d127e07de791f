//! `pg_index` and `pg_constraint`.

use super::Rows;
use super::types::operator_class;
use crate::sql::catalog::{Deferral, UnenforcedKind};
use crate::sql::pg_catalog::built_ins::{type_by_oid, type_oid};
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::constraints::{TableConstraint, action_code, numbers};
use crate::sql::pg_catalog::functions::FunctionContext;
use crate::sql::pg_catalog::objects::{PUBLIC, visible_columns};
use crate::sql::relation::Relation;

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for index in context.objects.indexes() {
        let key = index.columns();
        let count = Cell::Int(i64::try_from(key.len()).unwrap_or(0));
        let types = key_types(index.table(), &key);
        rows.push([
            ("indexrelid", index.oid().into()),
            ("indrelid", index.table().oid.into()),
            ("indnatts", count.clone()),
            ("indnkeyatts", count),
            ("indisunique", index.is_unique().into()),
            ("indisprimary", index.is_primary().into()),
            ("indimmediate", index.is_immediate().into()),
            ("indisvalid", index.is_valid().into()),
            ("indisready", index.is_valid().into()),
            ("indislive", true.into()),
            ("indkey", Cell::numbers(key.iter().copied())),
            ("indcollation", Cell::numbers(types.iter().map(|t| collation(*t)))),
            ("indclass", Cell::numbers(types.iter().map(|t| operator_class(*t)))),
            ("indoption", Cell::numbers(types.iter().map(|_| 0))),
        ]);
    }
}

pub(super) fn constraints(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints() {
        let table = constraint.table();
        let reference = Reference::of(context, &constraint);
        let deferral = constraint.deferral();
        rows.push([
            ("oid", constraint.oid().into()),
            ("conname", constraint.name().into()),
            ("connamespace", context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC).into()),
            ("contype", constraint.kind().into()),
            ("condeferrable", (deferral != Deferral::NotDeferrable).into()),
            ("condeferred", (deferral == Deferral::InitiallyDeferred).into()),
            ("convalidated", (constraint.is_enforced() || constraint.kind() == "u").into()),
            ("conrelid", table.oid.into()),
            ("conindid", constraint.index().into()),
            ("confrelid", reference.table.into()),
            ("confupdtype", reference.on_update.into()),
            ("confdeltype", reference.on_delete.into()),
            ("confmatchtype", reference.matching.into()),
            ("conislocal", true.into()),
            ("connoinherit", (constraint.kind() != "c").into()),
            ("conkey", Cell::numbers(constraint.columns())),
            ("confkey", reference.columns),
            ("conbin", condition(&constraint)),
        ]);
    }
}

/// What a foreign key refers to; blanks for other constraints.
struct Reference {
    table: u32,
    columns: Cell,
    on_update: &'static str,
    on_delete: &'static str,
    matching: &'static str,
}

impl Reference {
    fn of(context: &FunctionContext, constraint: &TableConstraint<'_>) -> Self {
        let none = Self { table: 0, columns: Cell::Null, on_update: " ", on_delete: " ", matching: " " };
        let TableConstraint::Recorded(_, recorded) = constraint else { return none };
        let UnenforcedKind::ForeignKey { table, referenced, on_update, on_delete, match_full, .. } = &recorded.kind
        else {
            return none;
        };
        let known = context.objects.table(table);
        Self {
            table: known.map_or(0, |table| table.oid),
            columns: known.map_or(Cell::Null, |table| Cell::numbers(numbers(table, referenced))),
            on_update: action_code(*on_update),
            on_delete: action_code(*on_delete),
            matching: if *match_full { "f" } else { "s" },
        }
    }
}

/// The source of a CHECK.
fn condition(constraint: &TableConstraint<'_>) -> Cell {
    match constraint {
        TableConstraint::Check(_, check) => check.expression.as_str().into(),
        TableConstraint::PrimaryKey(_) | TableConstraint::Recorded(..) => Cell::Null,
    }
}

/// The types of an index's columns; 0 for an expression.
fn key_types(table: &Relation, key: &[i32]) -> Vec<u32> {
    let of_number = |number: &i32| {
        visible_columns(table).find(|(n, _)| n == number).map_or(0, |(_, column)| type_oid(&column.sql_type))
    };
    key.iter().map(of_number).collect()
}

fn collation(type_oid: u32) -> u32 {
    type_by_oid(type_oid).map_or(0, |t| t.collation)
}
