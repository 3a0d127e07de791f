//! `information_schema` about constraints: which there are, which columns they use, what they refer to.

use tablegate_types::constraint::{Deferral, UnenforcedKind};

use super::Rows;
use crate::catalog::PUBLIC;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::constraints::{TableConstraint, rule};
use crate::pg_catalog::deparse;
use crate::pg_catalog::functions::FunctionContext;
use crate::pg_catalog::objects::{has_key, key_numbers, visible_columns};
use crate::relation::{Relation, RelationColumn};

pub(super) fn table_constraints(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints() {
        let table = constraint.table();
        let deferral = constraint.deferral();
        rows.push([
            ("constraint_catalog", (*context.database).into()),
            ("constraint_schema", table.schema_name.as_str().into()),
            ("constraint_name", constraint.name().into()),
            ("table_catalog", (*context.database).into()),
            ("table_schema", table.schema_name.as_str().into()),
            ("table_name", table.name.as_str().into()),
            ("constraint_type", kind(&constraint).into()),
            ("is_deferrable", yes_or_no(deferral != Deferral::NotDeferrable)),
            ("initially_deferred", yes_or_no(deferral == Deferral::InitiallyDeferred)),
            ("enforced", yes_or_no(constraint.is_enforced())),
            ("nulls_distinct", nulls_distinct(&constraint)),
        ]);
    }
    for table in &context.objects.tables {
        for (name, _) in not_null_checks(context, table) {
            rows.push([
                ("constraint_catalog", (*context.database).into()),
                ("constraint_schema", table.schema_name.as_str().into()),
                ("constraint_name", name.into()),
                ("table_catalog", (*context.database).into()),
                ("table_schema", table.schema_name.as_str().into()),
                ("table_name", table.name.as_str().into()),
                ("constraint_type", "CHECK".into()),
                ("is_deferrable", yes_or_no(false)),
                ("initially_deferred", yes_or_no(false)),
                ("enforced", yes_or_no(true)),
            ]);
        }
    }
}

/// NOT NULL, which the standard takes for a CHECK: its name, as PostgreSQL makes one, and its condition.
fn not_null_checks(context: &FunctionContext, table: &Relation) -> Vec<(String, String)> {
    let schema = context.objects.schema_oid(&table.schema_name).unwrap_or(PUBLIC);
    let key = if has_key(table) { key_numbers(table) } else { Vec::new() };
    let not_null = visible_columns(table).filter(|(number, column)| column.not_null || key.contains(number));
    let check = |(number, column): (i32, &RelationColumn)| {
        (format!("{schema}_{}_{number}_not_null", table.oid), format!("{} IS NOT NULL", column.name))
    };
    not_null.map(check).collect()
}

/// Whether a UNIQUE takes NULLs for different values.
fn nulls_distinct(constraint: &TableConstraint<'_>) -> Cell {
    match constraint {
        TableConstraint::Recorded(_, recorded) => match recorded.kind {
            UnenforcedKind::Unique { nulls_not_distinct, .. } => yes_or_no(!nulls_not_distinct),
            UnenforcedKind::ForeignKey { .. } | UnenforcedKind::Index { .. } => Cell::Null,
        },
        TableConstraint::PrimaryKey(_) | TableConstraint::Check(..) => Cell::Null,
    }
}

fn kind(constraint: &TableConstraint<'_>) -> &'static str {
    match constraint.kind() {
        "p" => "PRIMARY KEY",
        "u" => "UNIQUE",
        "f" => "FOREIGN KEY",
        _ => "CHECK",
    }
}

fn yes_or_no(value: bool) -> Cell {
    if value { "YES" } else { "NO" }.into()
}

pub(super) fn check_constraints(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints() {
        let TableConstraint::Check(table, check) = constraint else { continue };
        rows.push([
            ("constraint_catalog", (*context.database).into()),
            ("constraint_schema", table.schema_name.as_str().into()),
            ("constraint_name", check.name.as_str().into()),
            ("check_clause", format!("({})", deparse::condition(table, &check.expression, false)).into()),
        ]);
    }
    for table in &context.objects.tables {
        for (name, condition) in not_null_checks(context, table) {
            rows.push([
                ("constraint_catalog", (*context.database).into()),
                ("constraint_schema", table.schema_name.as_str().into()),
                ("constraint_name", name.into()),
                ("check_clause", condition.into()),
            ]);
        }
    }
}

pub(super) fn referential_constraints(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints() {
        let TableConstraint::Recorded(table, recorded) = constraint else { continue };
        let UnenforcedKind::ForeignKey { table: to, on_update, on_delete, match_full, .. } = &recorded.kind else {
            continue;
        };
        let key = context.objects.referenced(table, to).map(Relation::primary_key_name);
        rows.push([
            ("constraint_catalog", (*context.database).into()),
            ("constraint_schema", table.schema_name.as_str().into()),
            ("constraint_name", recorded.name.as_str().into()),
            ("unique_constraint_catalog", (*context.database).into()),
            ("unique_constraint_schema", table.schema_name.as_str().into()),
            ("unique_constraint_name", key.into()),
            ("match_option", if *match_full { "FULL" } else { "NONE" }.into()),
            ("update_rule", rule(*on_update).into()),
            ("delete_rule", rule(*on_delete).into()),
        ]);
    }
}

pub(super) fn key_column_usage(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints().filter(|constraint| constraint.kind() != "c") {
        let table = constraint.table();
        for (position, column) in (1..).zip(names(table, &constraint.columns())) {
            let of_referenced = if constraint.kind() == "f" { Cell::Int(position) } else { Cell::Null };
            rows.push([
                ("constraint_catalog", (*context.database).into()),
                ("constraint_schema", table.schema_name.as_str().into()),
                ("constraint_name", constraint.name().into()),
                ("table_catalog", (*context.database).into()),
                ("table_schema", table.schema_name.as_str().into()),
                ("table_name", table.name.as_str().into()),
                ("column_name", column.into()),
                ("ordinal_position", Cell::Int(position)),
                ("position_in_unique_constraint", of_referenced),
            ]);
        }
    }
}

pub(super) fn constraint_column_usage(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints() {
        let schema = constraint.table().schema_name.as_str();
        for (table, column) in used_columns(context, &constraint) {
            rows.push([
                ("table_catalog", (*context.database).into()),
                ("table_schema", schema.into()),
                ("table_name", table.into()),
                ("column_name", column.into()),
                ("constraint_catalog", (*context.database).into()),
                ("constraint_schema", schema.into()),
                ("constraint_name", constraint.name().into()),
            ]);
        }
    }
}

/// The columns a constraint depends on: its own, or those a foreign key refers to.
fn used_columns(context: &FunctionContext, constraint: &TableConstraint<'_>) -> Vec<(String, String)> {
    let table = constraint.table();
    if let TableConstraint::Recorded(_, recorded) = constraint
        && let UnenforcedKind::ForeignKey { table: to, referenced, .. } = &recorded.kind
    {
        let known = context.objects.referenced(table, to).is_some();
        return referenced.iter().filter(|_| known).map(|column| (to.clone(), column.clone())).collect();
    }
    names(table, &constraint.columns()).into_iter().map(|column| (table.name.clone(), column.to_owned())).collect()
}

pub(super) fn constraint_table_usage(context: &FunctionContext, rows: &mut Rows) {
    for constraint in context.objects.constraints().filter(|constraint| constraint.kind() != "c") {
        let table = constraint.table();
        let used = match constraint {
            TableConstraint::Recorded(_, recorded) => match &recorded.kind {
                UnenforcedKind::ForeignKey { table: to, .. } => to.as_str(),
                UnenforcedKind::Unique { .. } | UnenforcedKind::Index { .. } => table.name.as_str(),
            },
            TableConstraint::PrimaryKey(_) | TableConstraint::Check(..) => table.name.as_str(),
        };
        rows.push([
            ("table_catalog", (*context.database).into()),
            ("table_schema", table.schema_name.as_str().into()),
            ("table_name", used.into()),
            ("constraint_catalog", (*context.database).into()),
            ("constraint_schema", table.schema_name.as_str().into()),
            ("constraint_name", constraint.name().into()),
        ]);
    }
}

fn names<'t>(table: &'t Relation, numbers: &[i32]) -> Vec<&'t str> {
    let name = |number: &i32| visible_columns(table).find(|(n, _)| n == number).map(|(_, c)| c.name.as_str());
    numbers.iter().filter_map(name).collect()
}
