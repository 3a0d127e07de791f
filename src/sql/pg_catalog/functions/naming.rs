//! From names to OIDs and back: `to_regclass` and its kin, and what casts such as `::regclass` are turned into.

use super::{Definition, FunctionContext, argument, oid, text};
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::pg_catalog::built_ins;
use crate::sql::pg_catalog::cells::Cell;
use crate::sql::pg_catalog::objects;
use crate::sql::pg_catalog::quoting::{quote_ident, split_name};
use crate::sql::types::SqlType;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("catalog_class_oid", oid, |c, a| {
        number(a, "relation", ErrorKind::UndefinedTable, |t| class_oid(c, t))
    }),
    Definition::new(
        "catalog_class_name",
        |_| SqlType::Regclass,
        |c, a| printed(a, "relation", ErrorKind::UndefinedTable, |t| class_oid(c, t), |o| class_name(c, o)),
    ),
    Definition::new("catalog_type_oid", oid, |c, a| number(a, "type", ErrorKind::UndefinedObject, |t| type_oid(c, t))),
    Definition::new(
        "catalog_type_name",
        |_| SqlType::Regtype,
        |c, a| printed(a, "type", ErrorKind::UndefinedObject, |t| type_oid(c, t), |o| type_name(c, o)),
    ),
    Definition::new("catalog_proc_oid", oid, |_, a| number(a, "function", ErrorKind::UndefinedFunction, proc_oid)),
    Definition::new(
        "catalog_proc_name",
        |_| SqlType::Regproc,
        |_, a| printed(a, "function", ErrorKind::UndefinedFunction, proc_oid, proc_name),
    ),
    Definition::new("catalog_schema_oid", oid, |c, a| {
        number(a, "schema", ErrorKind::UndefinedSchema, |t| schema_oid(c, t))
    }),
    Definition::new("catalog_schema_name", text, |c, a| {
        printed(a, "schema", ErrorKind::UndefinedSchema, |t| schema_oid(c, t), |o| schema_name(c, o))
    }),
    Definition::new("catalog_role_oid", oid, |c, a| number(a, "role", ErrorKind::UndefinedObject, |t| role_oid(c, t))),
    Definition::new("catalog_role_name", text, |c, a| {
        printed(a, "role", ErrorKind::UndefinedObject, |t| role_oid(c, t), |o| role_name(c, o))
    }),
    Definition::new("catalog_find_class_oid", oid, |c, a| Ok(found(a, |t| class_oid(c, t)).into())),
    Definition::new("catalog_find_type_oid", oid, |c, a| Ok(found(a, |t| type_oid(c, t)).into())),
    Definition::new("catalog_find_proc_oid", oid, |_, a| Ok(found(a, proc_oid).into())),
    Definition::new("catalog_find_schema_oid", oid, |c, a| Ok(found(a, |t| schema_oid(c, t)).into())),
    Definition::new("catalog_find_role_oid", oid, |c, a| Ok(found(a, |t| role_oid(c, t)).into())),
    Definition::new(
        "to_regclass",
        |_| SqlType::Regclass,
        |c, a| Ok(found(a, |t| class_oid(c, t)).and_then(|o| class_name(c, o)).into()),
    ),
    Definition::new(
        "to_regtype",
        |_| SqlType::Regtype,
        |c, a| Ok(found(a, |t| type_oid(c, t)).and_then(|o| type_name(c, o)).into()),
    ),
    Definition::new("to_regproc", |_| SqlType::Regproc, |_, a| Ok(found(a, proc_oid).and_then(proc_name).into())),
    Definition::new("to_regnamespace", text, |c, a| {
        Ok(found(a, |t| schema_oid(c, t)).and_then(|o| schema_name(c, o)).into())
    }),
    Definition::new("to_regrole", text, |c, a| Ok(found(a, |t| role_oid(c, t)).and_then(|o| role_name(c, o)).into())),
    Definition::new("pg_get_userbyid", super::name, user_by_oid),
];

/// The OID of what a name means; a number means itself, `-` means none.
fn number(arguments: &[Cell], what: &str, missing: ErrorKind, find: impl Fn(&str) -> Option<u32>) -> SqlResult<Cell> {
    let given = argument(arguments, 0);
    if let Some(oid) = given.as_oid() {
        return Ok(oid.into());
    }
    let text = given.as_text().unwrap_or_default();
    if text == "-" {
        return Ok(0u32.into());
    }
    match find(&text) {
        Some(oid) => Ok(oid.into()),
        None => Err(SqlError::new(missing, format!("{what} \"{text}\" does not exist"))),
    }
}

/// The name of what a name or an OID means, as PostgreSQL prints it; an OID that nothing has is printed itself.
fn printed(
    arguments: &[Cell],
    what: &str,
    missing: ErrorKind,
    find: impl Fn(&str) -> Option<u32>,
    print: impl Fn(u32) -> Option<String>,
) -> SqlResult<Cell> {
    let oid = number(arguments, what, missing, find)?.as_oid().unwrap_or(0);
    if oid == 0 {
        return Ok("-".into());
    }
    Ok(print(oid).unwrap_or_else(|| oid.to_string()).into())
}

fn found(arguments: &[Cell], find: impl Fn(&str) -> Option<u32>) -> Option<u32> {
    let given = argument(arguments, 0);
    given.as_oid().or_else(|| find(&given.as_text()?))
}

fn class_oid(context: &FunctionContext, text: &str) -> Option<u32> {
    context.objects.class_by_name(text).map(|(oid, _)| oid)
}

fn class_name(context: &FunctionContext, oid: u32) -> Option<String> {
    context.objects.class_by_oid(oid).map(|class| class.printed())
}

fn type_oid(context: &FunctionContext, text: &str) -> Option<u32> {
    let parts = split_name(text);
    let name = parts.last()?.split('(').next()?.trim();
    let base = |name: &str| {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, known)| *known);
        let named =
            |t: &&built_ins::TypeRow| t.name == alias || built_ins::format_type(&context.objects, t.oid, None) == alias;
        let built_in = built_ins::types().iter().find(named).map(|t| t.oid);
        built_in.or_else(|| context.objects.tables.iter().find(|t| t.name == name).map(|t| objects::row_type_oid(t)))
    };
    match name.strip_suffix("[]") {
        Some(item) => {
            let item = base(item)?;
            built_ins::types().iter().find(|t| t.is_array() && t.element() == item).map(|t| t.oid)
        }
        None => base(name),
    }
}

/// Spellings that neither `pg_type` nor `format_type` has.
const ALIASES: &[(&str, &str)] =
    &[("int", "int4"), ("decimal", "numeric"), ("float", "float8"), ("character", "bpchar"), ("dec", "numeric")];

fn type_name(context: &FunctionContext, oid: u32) -> Option<String> {
    let known = built_ins::type_by_oid(oid).is_some() || context.objects.table_of_row_type(oid).is_some();
    known.then(|| built_ins::format_type(&context.objects, oid, None))
}

fn proc_oid(text: &str) -> Option<u32> {
    let parts = split_name(text);
    let name = parts.last()?.split('(').next()?;
    built_ins::functions_named(name).first().copied()
}

fn proc_name(oid: u32) -> Option<String> {
    built_ins::function_name(oid).map(|_| built_ins::printed_function(oid))
}

fn schema_oid(context: &FunctionContext, text: &str) -> Option<u32> {
    context.objects.schema_oid(split_name(text).last()?)
}

fn schema_name(context: &FunctionContext, oid: u32) -> Option<String> {
    context.objects.schemas().into_iter().find(|(o, _)| *o == oid).map(|(_, name)| quote_ident(&name))
}

fn role_oid(context: &FunctionContext, text: &str) -> Option<u32> {
    context.granted.roles.named(split_name(text).last()?).map(|role| role.oid)
}

fn role_name(context: &FunctionContext, oid: u32) -> Option<String> {
    context.granted.roles.with_oid(oid).map(|role| quote_ident(&role.name))
}

fn user_by_oid(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let oid = argument(arguments, 0).as_oid().unwrap_or(0);
    let role = context.granted.roles.with_oid(oid);
    Ok(role.map_or_else(|| format!("unknown (OID={oid})"), |role| role.name.clone()).into())
}
