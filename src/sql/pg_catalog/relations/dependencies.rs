//! `pg_depend`: what belongs to what, and what needs what. Built-in objects are not listed, because they cannot be
//! dropped.

use tablegate_types::constraint::{Unenforced, UnenforcedKind};

use super::Rows;
use crate::catalog::PUBLIC;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::constraints::{TableConstraint, TableIndex, numbers};
use crate::pg_catalog::deparse;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{Class, Objects, default_oid, visible_columns};
use crate::relation::{Relation, RelationColumn};

/// OIDs of the relations that list the objects.
const PG_TYPE: u32 = 1247;
const PG_CLASS: u32 = 1259;
const PG_ATTRDEF: u32 = 2604;
const PG_CONSTRAINT: u32 = 2606;
const PG_NAMESPACE: u32 = 2615;

/// The kinds of dependencies: dropped with it, a part of it, needed by it.
const AUTO: &str = "a";
const INTERNAL: &str = "i";
const NORMAL: &str = "n";

/// An object: the relation that lists it, its OID, and the column of it that is meant, else 0.
#[derive(Clone, Copy)]
struct Object(u32, u32, i32);

pub(super) fn dependencies(context: &FunctionContext, rows: &mut Rows) {
    super::view_rows::dependencies(context, rows);
    for table in &context.objects.tables {
        of_table(&context.objects, table, rows);
        for (number, column) in visible_columns(table) {
            of_default(&context.objects, table, number, column, rows);
        }
        for constraint in TableConstraint::of_table(table) {
            of_constraint(&context.objects, &constraint, rows);
        }
        for index in TableIndex::of_table(table) {
            of_index(&context.objects, &index, rows);
        }
    }
    for view in &context.objects.views {
        push(rows, Object(PG_CLASS, view.oid, 0), Object(PG_NAMESPACE, PUBLIC, 0), NORMAL);
    }
    for row_type in context.objects.row_types() {
        let (row, array) = (Object(PG_TYPE, row_type.oid(), 0), Object(PG_TYPE, row_type.array_oid(), 0));
        push(rows, row, Object(PG_CLASS, row_type.relation, 0), INTERNAL);
        push(rows, array, row, INTERNAL);
    }
    for sequence in &context.objects.sequences {
        let own = Object(PG_CLASS, sequence.oid, 0);
        let schema = context.objects.schema_oid(&sequence.place.schema()).unwrap_or(PUBLIC);
        push(rows, own, Object(PG_NAMESPACE, schema, 0), NORMAL);
        let Some(owner) = &sequence.owner else { continue };
        let Some(Class::Table(table)) = context.objects.class_by_oid(owner.table) else { continue };
        if let Some((number, _)) = visible_columns(table).find(|(_, c)| c.name == owner.column) {
            push(rows, own, column(table, number), if owner.identity { INTERNAL } else { AUTO });
        }
    }
}

fn of_table(objects: &Objects, table: &Relation, rows: &mut Rows) {
    let own = Object(PG_CLASS, table.oid, 0);
    let schema = objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC);
    push(rows, own, Object(PG_NAMESPACE, schema, 0), NORMAL);
}

fn of_default(objects: &Objects, table: &Relation, number: i32, described: &RelationColumn, rows: &mut Rows) {
    let Some(source) = deparse::value_source(table, described) else { return };
    let own = Object(PG_ATTRDEF, default_oid(table, number), 0);
    push(rows, own, column(table, number), if described.generated.is_some() { INTERNAL } else { AUTO });
    if described.generated.is_some() {
        for needed in deparse::columns_in(table, &source) {
            push(rows, own, column(table, needed), NORMAL);
        }
    }
    for sequence in &objects.sequences {
        if sequence.place == table.place() && deparse::counts_with(&source, sequence) {
            push(rows, own, Object(PG_CLASS, sequence.oid, 0), NORMAL);
        }
    }
}

fn of_constraint(objects: &Objects, constraint: &TableConstraint<'_>, rows: &mut Rows) {
    let own = Object(PG_CONSTRAINT, constraint.oid(), 0);
    let table = constraint.table();
    for number in constraint.columns() {
        push(rows, own, column(table, number), AUTO);
    }
    if constraint.index() != 0 {
        push(rows, Object(PG_CLASS, constraint.index(), 0), own, INTERNAL);
    }
    let TableConstraint::Recorded(_, Unenforced { kind, .. }) = constraint else { return };
    let UnenforcedKind::ForeignKey { table: name, referenced, .. } = kind else { return };
    let Some(target) = objects.referenced(table, name) else { return };
    for number in numbers(target, referenced) {
        push(rows, own, column(target, number), NORMAL);
    }
    if let Some(index) = TableIndex::unique_over(target, referenced) {
        push(rows, own, Object(PG_CLASS, index.oid(), 0), NORMAL);
    }
}

/// An index that belongs to no constraint.
fn of_index(objects: &Objects, index: &TableIndex<'_>, rows: &mut Rows) {
    let Some(shape) = objects.shape_of(index) else { return };
    let table = index.table();
    let mut needed: Vec<i32> = index.columns_of(Some(shape)).into_iter().filter(|number| *number != 0).collect();
    for text in [shape.expressions(), shape.predicate()].into_iter().flatten() {
        needed.extend(deparse::columns_in(table, &text));
    }
    needed.sort_unstable();
    needed.dedup();
    for number in needed {
        push(rows, Object(PG_CLASS, index.oid(), 0), column(table, number), AUTO);
    }
}

fn column(table: &Relation, number: i32) -> Object {
    Object(PG_CLASS, table.oid, number)
}

fn push(rows: &mut Rows, object: Object, needs: Object, kind: &str) {
    let Object(class, oid, part) = object;
    let Object(needed_class, needed_oid, needed_part) = needs;
    rows.push([
        ("classid", class.into()),
        ("objid", oid.into()),
        ("objsubid", part.into()),
        ("refclassid", needed_class.into()),
        ("refobjid", needed_oid.into()),
        ("refobjsubid", Cell::from(needed_part)),
        ("deptype", kind.into()),
    ]);
}
