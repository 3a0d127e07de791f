//! `pg_index` and `pg_constraint`.

use tablegate_types::constraint::{Deferral, UnenforcedKind};
use tablegate_types::oid::oid as type_oid;

use super::Rows;
use super::types::operator_class;
use crate::catalog::PUBLIC;
use crate::pg_catalog::built_ins::type_by_oid;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::constraints::{TableConstraint, TableIndex, action_code, numbers};
use crate::pg_catalog::deparse::IndexShape;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::visible_columns;
use crate::relation::Relation;

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    for index in context.objects.indexes() {
        let all = index.columns();
        let shape = index.shape();
        let key_count = shape.as_ref().map_or(all.len(), |shape| shape.columns.len());
        let key = all.get(..key_count).unwrap_or(&all);
        let types = key_types(index.table(), key, shape.as_ref());
        let order: Vec<i32> = match &shape {
            Some(shape) => shape.columns.iter().map(|column| column.order).collect(),
            None => vec![0; key_count],
        };
        rows.push([
            ("indexrelid", index.oid().into()),
            ("indrelid", index.table().oid.into()),
            ("indnatts", i64::try_from(all.len()).unwrap_or(0).into()),
            ("indnkeyatts", i64::try_from(key_count).unwrap_or(0).into()),
            ("indisunique", index.is_unique().into()),
            ("indisprimary", index.is_primary().into()),
            ("indimmediate", index.is_immediate().into()),
            ("indisvalid", index.is_valid().into()),
            ("indisready", index.is_valid().into()),
            ("indislive", true.into()),
            ("indkey", Cell::numbers(all.iter().copied())),
            ("indcollation", Cell::numbers(types.iter().map(|t| collation(*t)))),
            ("indclass", Cell::numbers(types.iter().map(|t| operator_class(*t)))),
            ("indoption", Cell::numbers(order)),
            ("indexprs", shape.as_ref().and_then(IndexShape::expressions).into()),
            ("indpred", shape.as_ref().and_then(IndexShape::predicate).into()),
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
            ("conindid", reference.index.unwrap_or_else(|| constraint.index()).into()),
            ("confrelid", reference.table.into()),
            ("confupdtype", reference.on_update.into()),
            ("confdeltype", reference.on_delete.into()),
            ("confmatchtype", reference.matching.into()),
            ("conislocal", true.into()),
            ("connoinherit", (constraint.kind() != "c").into()),
            ("conkey", Cell::numbers(constraint.columns())),
            ("confkey", reference.columns),
            ("conbin", constraint.check().into()),
        ]);
    }
}

/// What a foreign key refers to; blanks for other constraints.
struct Reference {
    table: u32,
    /// The index that makes what is referred to unique; `None` for other constraints.
    index: Option<u32>,
    columns: Cell,
    on_update: &'static str,
    on_delete: &'static str,
    matching: &'static str,
}

impl Reference {
    fn of(context: &FunctionContext, constraint: &TableConstraint<'_>) -> Self {
        let none = Self { table: 0, index: None, columns: Cell::Null, on_update: " ", on_delete: " ", matching: " " };
        let TableConstraint::Recorded(_, recorded) = constraint else { return none };
        let UnenforcedKind::ForeignKey { table, referenced, on_update, on_delete, match_full, .. } = &recorded.kind
        else {
            return none;
        };
        let known = context.objects.referenced(constraint.table(), table);
        Self {
            table: known.map_or(0, |table| table.oid),
            index: Some(
                known.and_then(|table| TableIndex::unique_over(table, referenced)).map_or(0, |index| index.oid()),
            ),
            columns: known.map_or(Cell::Null, |table| Cell::numbers(numbers(table, referenced))),
            on_update: action_code(*on_update),
            on_delete: action_code(*on_delete),
            matching: if *match_full { "f" } else { "s" },
        }
    }
}

/// The types of an index's columns; 0 for an expression of a type that is not known.
fn key_types(table: &Relation, key: &[i32], shape: Option<&IndexShape>) -> Vec<u32> {
    let of_column =
        |number: i32| visible_columns(table).find(|(n, _)| *n == number).map(|(_, column)| type_oid(&column.sql_type));
    let of_expression = |at: usize| shape.and_then(|shape| shape.columns.get(at)?.type_oid);
    key.iter().enumerate().map(|(at, number)| of_column(*number).or(of_expression(at)).unwrap_or(0)).collect()
}

fn collation(type_oid: u32) -> u32 {
    type_by_oid(type_oid).map_or(0, |t| t.collation)
}
