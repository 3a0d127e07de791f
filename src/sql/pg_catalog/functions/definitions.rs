//! Functions that spell out what an OID stands for: types, keys, expressions, comments.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;

use super::{Definition, FunctionContext, argument, boolean, nothing, text};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::objects::{Class, PG_CATALOG, view_definition};
use crate::pg_catalog::{built_ins, comments, deparse, layout, references};
use crate::place::Place;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("format_type", text, format_type).of_nulls(),
    Definition::new("pg_get_expr", text, expression),
    Definition::new("pg_get_constraintdef", text, constraint_definition),
    Definition::new("pg_get_indexdef", text, index_definition_of),
    Definition::new("pg_get_viewdef", text, view_query),
    Definition::new("pg_get_ruledef", text, nothing),
    Definition::new("pg_get_triggerdef", text, nothing),
    Definition::new("pg_get_partkeydef", text, nothing),
    Definition::new("pg_get_partition_constraintdef", text, nothing),
    Definition::new("pg_get_statisticsobjdef", text, nothing),
    Definition::new("pg_get_statisticsobjdef_columns", text, nothing),
    Definition::new("pg_get_serial_sequence", text, serial_sequence),
    Definition::new("pg_tablespace_location", text, empty),
    Definition::new("obj_description", text, object_comment),
    Definition::new("col_description", text, column_comment),
    Definition::new("shobj_description", text, shared_comment),
    Definition::new("pg_table_is_visible", boolean, table_is_visible),
    Definition::new("pg_type_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_type"))),
    Definition::new("pg_function_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_proc"))),
    Definition::new("pg_operator_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_operator"))),
    Definition::new("pg_opclass_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_opclass"))),
    Definition::new("pg_opfamily_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_opfamily"))),
    Definition::new("pg_collation_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_collation"))),
    Definition::new("pg_conversion_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_conversion"))),
    Definition::new("pg_statistics_obj_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_statistic_ext"))),
    Definition::new("pg_ts_config_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_ts_config"))),
    Definition::new("pg_ts_dict_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_ts_dict"))),
    Definition::new("pg_ts_parser_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_ts_parser"))),
    Definition::new("pg_ts_template_is_visible", boolean, |c, a| Ok(visible(c, a, "pg_ts_template"))),
];

fn format_type(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    Ok(built_ins::format_type(&context.objects, oid, argument(arguments, 1).as_int()).into())
}

fn constraint_definition(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    let pretty = argument(arguments, 1).as_bool().unwrap_or(false);
    let constraint = context.objects.constraint_by_oid(oid);
    Ok(constraint.map(|constraint| constraint.definition(pretty)).into())
}

/// The whole index, or with a column number that column alone.
fn index_definition_of(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let oid = argument(arguments, 0).as_oid();
    let Some(Class::Index(index)) = oid.and_then(|oid| context.objects.class_by_oid(oid)) else {
        return Ok(Cell::Null);
    };
    let pretty = argument(arguments, 2).as_bool().unwrap_or(false);
    Ok(match argument(arguments, 1).as_int().and_then(|n| usize::try_from(n).ok()) {
        None | Some(0) => index.definition(pretty).into(),
        Some(position) => index.column(position - 1, pretty).unwrap_or_default().into(),
    })
}

/// The text of a default, which `pg_attrdef` keeps as its source.
fn expression(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let pretty = argument(arguments, 2).as_bool().unwrap_or(false);
    let class = argument(arguments, 1).as_oid().and_then(|oid| context.objects.class_by_oid(oid));
    let table = if let Some(Class::Table(table)) = class { Some(table) } else { None };
    Ok(argument(arguments, 0).as_text().map(|printed| deparse::expression(table, &printed, pretty)).into())
}

/// The sequence that a column of a table owns.
fn serial_sequence(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (Some(table), Some(column)) = (argument(arguments, 0).as_text(), argument(arguments, 1).as_text()) else {
        return Ok(Cell::Null);
    };
    let Some((oid, class)) = context.objects.class_by_name(&table) else {
        let message = format!("relation \"{table}\" does not exist");
        return Err(SqlError::new(ErrorKind::UndefinedTable, message));
    };
    let is_there = match class {
        Class::Table(table) => table.column(&column).is_some(),
        Class::View(view) => view.columns.iter().any(|known| known.name == column),
        Class::System(layout) => layout.position(&column).is_some(),
        Class::Index(_) | Class::Sequence(_) => false,
    };
    if !is_there {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", class.name());
        return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
    }
    let owned = context
        .objects
        .sequences
        .iter()
        .find(|sequence| sequence.owner.as_ref().is_some_and(|owner| owner.table == oid && owner.column == column));
    let schema = |place: Place| if place.is_temporary() { "pg_temp".into() } else { place.schema() };
    Ok(owned.map(|sequence| format!("{}.{}", schema(sequence.place), quote_ident(&sequence.name))).into())
}

/// The query of a view, named by its OID or as `regclass` reads names.
fn view_query(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let given = argument(arguments, 0);
    // A width to wrap lines at asks for that, too.
    let is_pretty = arguments.len() > 1 && argument(arguments, 1).as_bool().unwrap_or(true);
    let class = match given.as_oid() {
        Some(oid) => context.objects.class_by_oid(oid),
        None => match given.as_text() {
            None => None,
            Some(name) => match context.objects.class_by_name(&name) {
                Some((_, class)) => Some(class),
                None => {
                    let message = format!("relation \"{name}\" does not exist");
                    return Err(SqlError::new(ErrorKind::UndefinedTable, message));
                }
            },
        },
    };
    Ok(match class {
        Some(Class::View(view)) => view_definition(context, view, is_pretty).into(),
        _ => Cell::Null,
    })
}

/// The comment on an object; the second argument names the relation that lists it.
fn object_comment(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    let class = match argument(arguments, 1).as_text() {
        None => None,
        Some(name) => match layout::find(None, &name) {
            Some(layout) => Some(layout.oid),
            None => return Ok(Cell::Null),
        },
    };
    Ok(comments::comment_on(&context.objects, oid, class, 0).into())
}

fn column_comment(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    let number = argument(arguments, 1).as_int().and_then(|number| i32::try_from(number).ok());
    let found = number.filter(|n| *n != 0).and_then(|n| comments::comment_on(&context.objects, oid, None, n));
    Ok(found.into())
}

fn shared_comment(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    let class = argument(arguments, 1).as_text().and_then(|name| layout::find(None, &name)).map(|l| l.oid);
    let shared = comments::shared_comments(&context.objects, &context.granted, &context.database);
    let found = shared.iter().find(|comment| comment.object == oid && Some(comment.class) == class);
    Ok(found.map(|comment| comment.text).into())
}

fn table_is_visible(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let class = argument(arguments, 0).as_oid().and_then(|oid| context.objects.class_by_oid(oid));
    Ok(class.map(|class| context.objects.is_visible(&class)).into())
}

fn empty(_: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    Ok("".into())
}

/// Whether the name alone finds what a relation lists under an OID; NULL when it lists nothing so.
fn visible(context: &FunctionContext, arguments: &[Cell], relation: &str) -> Cell {
    let Some(oid) = argument(arguments, 0).as_oid() else { return Cell::Null };
    let is_row_type = relation == "pg_type" && context.objects.row_type(oid).is_some();
    if is_row_type {
        return true.into();
    }
    references::schema_of(relation, oid).map(|schema| schema == PG_CATALOG).into()
}
