//! `pg_index` and `pg_constraint`.

use tablegate_types::constraint::{Deferral, UnenforcedKind};
use tablegate_types::oid::oid as type_oid;

use super::Rows;
use super::types::{class_named, operator_class};
use crate::catalog::PUBLIC;
use crate::pg_catalog::built_ins::type_by_oid;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::constraints::{TableConstraint, TableIndex, action_code, numbers};
use crate::pg_catalog::deparse::IndexShape;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::visible_columns;
use crate::relation::Relation;

pub(super) fn indexes(context: &FunctionContext, rows: &mut Rows) {
    let is_dump = is_dump(context);
    for index in context.objects.indexes() {
        let shape = context.objects.shape_of(&index);
        let all = index.columns_of(shape);
        let key_count = shape.map_or(all.len(), |shape| shape.columns.len());
        let key = all.get(..key_count).unwrap_or(&all);
        let types = key_types(index.table(), key, shape);
        let order: Vec<i32> = match shape {
            Some(shape) => shape.columns.iter().map(|column| column.order).collect(),
            None => vec![0; key_count],
        };
        rows.push([
            ("indexrelid", index.oid().into()),
            ("indrelid", index.table().oid.into()),
            ("indnatts", i64::try_from(all.len()).unwrap_or(0).into()),
            ("indnkeyatts", i64::try_from(key_count).unwrap_or(0).into()),
            ("indisunique", index.is_unique().into()),
            ("indnullsnotdistinct", index.is_nulls_not_distinct(shape).into()),
            ("indisprimary", index.is_primary().into()),
            ("indimmediate", index.is_immediate().into()),
            ("indisvalid", (index.is_valid() || is_dump).into()),
            ("indisready", (index.is_valid() || is_dump).into()),
            ("indislive", true.into()),
            ("indkey", Cell::numbers(all.iter().copied())),
            ("indcollation", Cell::numbers(collations(&types, &index, key, shape))),
            ("indclass", Cell::numbers(classes(&types, &index, shape))),
            ("indoption", Cell::numbers(order)),
            ("indexprs", shape.and_then(IndexShape::expressions).into()),
            ("indpred", shape.and_then(IndexShape::predicate).into()),
        ]);
    }
}

/// Whether pg_dump asks, by the name that it gives itself. It leaves out what is not valid without a word, and with it what
/// was declared: a dump has to hold that.
pub(super) fn is_dump(context: &FunctionContext) -> bool {
    context.handles.settings.show("application_name").is_ok_and(|(_, name)| name == "pg_dump")
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
            ("convalidated", constraint.is_valid().into()),
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

/// The collations of an index's columns: their own, those of the table's columns, or of their types.
fn collations(types: &[u32], index: &TableIndex<'_>, key: &[i32], shape: Option<&IndexShape>) -> Vec<u32> {
    let of_column = |number: i32| visible_columns(index.table()).find(|(n, _)| *n == number)?.1.collation;
    let own = |at: usize| match shape {
        Some(shape) => shape.columns.get(at)?.collation,
        None => of_column(*key.get(at)?),
    };
    let of_type = |type_oid: u32| type_by_oid(type_oid).map_or(0, |t| t.collation);
    types.iter().enumerate().map(|(at, type_oid)| own(at).unwrap_or_else(|| of_type(*type_oid))).collect()
}

/// The operator classes of an index's columns: those that were named, else those of their types.
fn classes(types: &[u32], index: &TableIndex<'_>, shape: Option<&IndexShape>) -> Vec<u32> {
    let named = |at: usize| class_named(index.method(), shape?.columns.get(at)?.class.as_deref()?);
    types.iter().enumerate().map(|(at, type_oid)| named(at).unwrap_or_else(|| operator_class(*type_oid))).collect()
}
