//! The user's views in `pg_class`, `pg_attribute`, `pg_rewrite`, `pg_depend` and `information_schema.views`.

use super::Rows;
use crate::catalog::View;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{Class, constraint_oid, rule_oid, view_definition, visible_columns};

/// OIDs of the relations that hold what depends and what is depended upon.
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
const PG_REWRITE: u32 = 2618;
/// The rule that makes a relation a view.
const RETURN: &str = "_RETURN";

/// The rules that views consist of.
pub(super) fn rules(context: &FunctionContext, rows: &mut Rows) {
    for view in &context.objects.views {
        rows.push([
            ("oid", rule_oid(view).into()),
            ("rulename", RETURN.into()),
            ("ev_class", view.oid.into()),
            ("ev_type", "1".into()),
            ("ev_enabled", "O".into()),
            ("is_instead", true.into()),
            ("ev_qual", "<>".into()),
            ("ev_action", "<>".into()),
        ]);
    }
}

/// The rule is part of its view, and needs the relations and columns that the query names.
pub(super) fn dependencies(context: &FunctionContext, rows: &mut Rows) {
    for view in &context.objects.views {
        push_dependency(rows, view, (PG_CLASS, view.oid, 0), "i");
        for used in &view.uses {
            push_dependency(rows, view, (PG_CLASS, used.relation, 0), "n");
            if used.needs_key
                && let Some(Class::Table(table)) = context.objects.class_by_oid(used.relation)
            {
                push_dependency(rows, view, (PG_CONSTRAINT, constraint_oid(table), 0), "n");
            }
            for column in &used.columns {
                if let Some(number) = column_number(context, used.relation, column) {
                    push_dependency(rows, view, (PG_CLASS, used.relation, number), "n");
                }
            }
        }
    }
}

/// What is needed is a row of a relation, and the number of a column or 0.
fn push_dependency(rows: &mut Rows, view: &View, (class, needed, column): (u32, u32, i32), kind: &'static str) {
    rows.push([
        ("classid", PG_REWRITE.into()),
        ("objid", rule_oid(view).into()),
        ("objsubid", Cell::Int(0)),
        ("refclassid", class.into()),
        ("refobjid", needed.into()),
        ("refobjsubid", column.into()),
        ("deptype", kind.into()),
    ]);
}

fn column_number(context: &FunctionContext, relation: u32, column: &str) -> Option<i32> {
    match context.objects.class_by_oid(relation)? {
        Class::Table(table) => visible_columns(table).find(|(_, c)| c.name == column).map(|(number, _)| number),
        Class::View(view) => (1..).zip(&view.columns).find(|(_, c)| c.name == column).map(|(number, _)| number),
        Class::Index(_) | Class::Sequence(_) | Class::System(_) => None,
    }
}

/// `pg_views`
pub(super) fn views(context: &FunctionContext, rows: &mut Rows) {
    for view in &context.objects.views {
        rows.push([
            ("schemaname", view.place.schema().into_owned().into()),
            ("viewname", view.name.as_str().into()),
            ("viewowner", (*context.user).into()),
            ("definition", view_definition(context, view, false).into()),
        ]);
    }
}

/// `information_schema.views`
pub(super) fn standard_views(context: &FunctionContext, rows: &mut Rows) {
    for view in &context.objects.views {
        rows.push([
            ("table_catalog", (*context.database).into()),
            ("table_schema", view.place.schema().into_owned().into()),
            ("table_name", view.name.as_str().into()),
            ("view_definition", view_definition(context, view, false).into()),
            ("check_option", "NONE".into()),
            ("is_updatable", "NO".into()),
            ("is_insertable_into", "NO".into()),
            ("is_trigger_updatable", "NO".into()),
            ("is_trigger_deletable", "NO".into()),
            ("is_trigger_insertable_into", "NO".into()),
        ]);
    }
}
