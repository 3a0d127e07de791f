//! Functions about the session and the server: who, where, which version, how large.

use tablegate_types::encodings;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument, boolean, int4, int8, name, text};
use crate::expr::SETTING_BY_ROW;
use crate::pg_catalog::cells::Cell;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("current_database", name, |c, _| Ok((*c.database).into())),
    Definition::new("current_catalog", name, |c, _| Ok((*c.database).into())),
    Definition::new("current_schema", name, |_, _| Ok("public".into())),
    Definition::new("current_schemas", names, current_schemas),
    Definition::new("current_user", name, |c, _| Ok((*c.user).into())),
    Definition::new("current_role", name, |c, _| Ok((*c.user).into())),
    Definition::new("session_user", name, |c, _| Ok((*c.user).into())),
    Definition::new("user", name, |c, _| Ok((*c.user).into())),
    Definition::new("current_setting", text, current_setting),
    Definition::new(SETTING_BY_ROW, text, current_setting).volatile(),
    Definition::new("set_config", text, set_config).of_nulls().volatile(),
    Definition::new("version", text, version),
    Definition::new("pg_backend_pid", int4, |c, _| Ok(c.login.process.into())),
    Definition::new("pg_my_temp_schema", super::oid, |c, _| Ok(c.objects.schema_oid("pg_temp").unwrap_or(0).into())),
    Definition::new("pg_is_other_temp_schema", boolean, |_, _| Ok(false.into())),
    Definition::new("inet_server_addr", text, |c, _| {
        Ok(c.login.server.map(|address| address.ip().to_canonical().to_string()).into())
    }),
    Definition::new("inet_server_port", int4, |c, _| {
        Ok(c.login.server.map(|address| i32::from(address.port())).into())
    }),
    Definition::new("pg_stat_get_numscans", int8, |_, _| Ok(0.into())),
    Definition::new("pg_encoding_to_char", name, encoding_name),
    Definition::new("pg_char_to_encoding", int4, encoding_number),
    Definition::new("getdatabaseencoding", name, |_, _| Ok("UTF8".into())),
    Definition::new("pg_client_encoding", name, |_, _| Ok("UTF8".into())),
];

fn names(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Name))
}

fn current_schemas(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let implicit = argument(arguments, 0).as_bool() == Some(true);
    Ok(Cell::List(context.objects.search_path(implicit).into_iter().map(Cell::from).collect()))
}

fn version(context: &FunctionContext, _: &[Cell]) -> SqlResult<Cell> {
    let (_, number) = context.handles.settings.show("server_version")?;
    let own = env!("CARGO_PKG_VERSION");
    Ok(format!("PostgreSQL {number} (tablegate {own}), 64-bit").into())
}

fn current_setting(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let name = argument(arguments, 0).as_text().unwrap_or_default();
    let missing_is_null = argument(arguments, 1).as_bool() == Some(true);
    match context.handles.settings.show(&name) {
        Ok((_, value)) => Ok(value.into()),
        Err(error) if missing_is_null && error.kind == ErrorKind::UndefinedObject => Ok(Cell::Null),
        Err(error) => Err(error),
    }
}

/// `set_config(name, value, is_local)`: NULL is the default; without a name there is nothing to set.
fn set_config(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let Some(name) = argument(arguments, 0).as_text() else {
        return Err(SqlError::new(ErrorKind::NullValueNotAllowed, "SET requires parameter name"));
    };
    let value = argument(arguments, 1).as_text();
    if matches!(name.as_str(), "transaction_isolation" | "transaction_read_only" | "transaction_deferrable") {
        return Err(SqlError::not_supported(format!("set_config of {name} beside other expressions"))
            .with_hint("Use SET TRANSACTION."));
    }
    if argument(arguments, 2).as_bool() == Some(true) {
        context.handles.settings.set_local(&name, value.as_deref())?;
    } else {
        context.handles.settings.set(&name, value.as_deref())?;
    }
    Ok(context.handles.settings.show(&name)?.1.into())
}

fn encoding_name(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let number = argument(arguments, 0).as_int().and_then(|number| usize::try_from(number).ok());
    Ok(number.and_then(encodings::name).unwrap_or_default().into())
}

fn encoding_number(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let found = encodings::number(&argument(arguments, 0).as_text().unwrap_or_default());
    Ok(Cell::Int(found.map_or(-1, |found| i64::try_from(found).unwrap_or(-1))))
}
