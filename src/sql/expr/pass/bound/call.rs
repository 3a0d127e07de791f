//! Functions: those whose values are computed here, and those that ask the catalogue and the session.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::prelude::lit;
use tablegate_bind::catalogue::{FunctionRef, oids};
use tablegate_bind::expr::{BoundExpr, ExprKind, Literal, ValueWord};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::oid::declared_of_oid;

use super::{EntryRow, Surroundings};
use crate::expr::catalog_functions::SETTING_BY_ROW;
use crate::expr::meaning::Meaning;
use crate::expr::operand::Operand;
use crate::expr::pass::Pass;
use crate::expr::set_functions::columns_of;

/// The stored type of a property in each row.
const EDM_TYPE: &str = "edm_type";

/// Functions of a row of `pg_attribute` and one of `pg_type`: which column of a domain's type and which of the attribute they
/// choose from.
const OF_TRUE_TYPES: &[(&str, &str, &str)] =
    &[("_pg_truetypid", "typbasetype", "atttypid"), ("_pg_truetypmod", "typtypmod", "atttypmod")];

/// Functions of many arguments, what gives the same of an array of the last ones, and where that has it.
const OF_LISTS: &[(&str, &str, ListOrder)] = &[
    ("concat", "array_to_string", ListOrder::Joined("")),
    ("concat_ws", "array_to_string", ListOrder::First),
    ("jsonb_build_array", "to_jsonb", ListOrder::Last),
    ("json_extract_path", "json_at", ListOrder::Last),
    ("jsonb_extract_path", "json_at", ListOrder::Last),
    ("json_extract_path_text", "json_at_text", ListOrder::Last),
    ("jsonb_extract_path_text", "json_at_text", ListOrder::Last),
];

#[derive(Clone, Copy)]
enum ListOrder {
    First,
    Last,
    /// With a text that stands between the items.
    Joined(&'static str),
}

impl Pass<'_> {
    pub(super) fn bound_function(&self, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let ExprKind::Call { function, arguments, names, variadic, .. } = &expr.kind else {
            return Err(SqlError::not_supported("a call of this kind"));
        };
        let spread;
        let arguments = match arguments.split_last() {
            Some((list, first)) if *variadic => match &list.without_implicit_casts().kind {
                // A list that the call writes out.
                ExprKind::Array { items, is_of_arrays: false }
                    if !items.is_empty() && !function.name.contains("_extract_path") =>
                {
                    spread = first.iter().chain(items).cloned().collect();
                    &spread
                }
                _ => return self.call_of_list(&function.name, first, list, around),
            },
            _ => arguments,
        };
        if !names.is_empty() {
            let arguments = self.by_name(function, arguments, names, around)?;
            return self.bound_call(&function.name, arguments, around);
        }
        if !function.is_built_in() && function.name == EDM_TYPE {
            let Some(ExprKind::Column { level, entry, column }) = arguments.first().map(|of| &of.kind) else {
                return Err(no_stored_type());
            };
            return around.stored_type(*level, *entry, *column);
        }
        if takes_a_name(&function.name) {
            let mut named = Vec::with_capacity(arguments.len());
            for argument in arguments {
                let expr = match name_in(argument) {
                    Some(name) => Expr::Literal(ScalarValue::from(name), None),
                    None => self.bound(argument, around)?,
                };
                let expr = if function.name == "nextval" { self.name_where_taken(expr) } else { expr };
                named.push(self.operand(expr, around.schema())?);
            }
            return self.bound_call(&function.name, named, around);
        }
        if let Some(parts) = self.parts_of_rows(&function.name, arguments, around)? {
            return self.bound_call(&function.name, parts, around);
        }
        let arguments = self.bound_operands(arguments, around)?;
        if function.gives_rows || is_one_row(&function.name) {
            return self.items_of(&function.name, arguments, around);
        }
        match &*function.name {
            "current_setting" if around.changes_settings() => self.bound_call(SETTING_BY_ROW, arguments, around),
            name => self.bound_call(name, arguments, around),
        }
    }

    /// A function of many arguments of which an array has the last ones: as the function of an array that gives the same.
    fn call_of_list(
        &self,
        name: &str,
        first: &[BoundExpr],
        list: &BoundExpr,
        around: &dyn Surroundings,
    ) -> SqlResult<Expr> {
        let Some((_, of_array, order)) = OF_LISTS.iter().find(|(known, ..)| *known == name) else {
            return Err(SqlError::not_supported(format!(
                "VARIADIC before an array that is computed, as {name} is given"
            ))
            .with_hint("Write the items one by one: VARIADIC ARRAY[a, b]."));
        };
        let list = self.bound_operand(list, around)?;
        let mut arguments = self.bound_operands(first, around)?;
        match order {
            ListOrder::Last => arguments.push(list),
            ListOrder::First => arguments.insert(0, list),
            ListOrder::Joined(between) => {
                let between = Expr::Literal(ScalarValue::from(*between), None);
                arguments.extend([list, self.operand(between, around.schema())?]);
            }
        }
        self.bound_call(of_array, arguments, around)
    }

    /// The columns that a function of two rows looks at, where it is one; the catalogue answers of these.
    fn parts_of_rows(
        &self,
        name: &str,
        arguments: &[BoundExpr],
        around: &dyn Surroundings,
    ) -> SqlResult<Option<Vec<Operand>>> {
        let Some((_, of_domain, of_column)) = OF_TRUE_TYPES.iter().find(|(known, ..)| *known == name) else {
            return Ok(None);
        };
        let [attribute, sql_type] = arguments else { return Ok(None) };
        let row = |argument: &BoundExpr| match argument.without_implicit_casts().kind {
            ExprKind::WholeRow { level, entry } => around.row(level, entry),
            _ => Err(SqlError::not_supported(format!("{name} of another row than that of a table"))),
        };
        let (attribute, sql_type) = (row(attribute)?, row(sql_type)?);
        let column = |row: &EntryRow, wanted: &str| {
            let found = row.columns.iter().find(|(name, _)| name == wanted);
            let (_, column) = found.ok_or_else(|| SqlError::not_supported(format!("{name} of such a row")))?;
            SqlResult::Ok(self.operand(column.clone(), around.schema())?)
        };
        let parts = [column(&sql_type, "typtype"), column(&sql_type, of_domain), column(&attribute, of_column)];
        parts.into_iter().collect::<SqlResult<_>>().map(Some)
    }

    /// The value of a word that is one.
    pub(super) fn word(&self, word: ValueWord, expr: &BoundExpr, around: &dyn Surroundings) -> SqlResult<Expr> {
        let name = match word {
            ValueWord::CurrentDate => "current_date",
            ValueWord::CurrentTimestamp => "current_timestamp",
            ValueWord::LocalTime => "localtime",
            ValueWord::LocalTimestamp => "localtimestamp",
            ValueWord::CurrentTime => return Err(SqlError::not_supported("CURRENT_TIME")),
            ValueWord::CurrentRole => "current_role",
            ValueWord::CurrentUser => "current_user",
            ValueWord::User => "user",
            ValueWord::SessionUser => "session_user",
            ValueWord::CurrentCatalog => "current_catalog",
            ValueWord::CurrentSchema => "current_schema",
        };
        let value = self.bound_call(name, Vec::new(), around)?;
        match declared_of_oid(expr.ty.oid, expr.ty.typmod) {
            Some(limited) if expr.ty.typmod >= 0 => self.cast_to(self.operand(value, around.schema())?, &limited),
            _ => Ok(value),
        }
    }

    /// Arguments some of which are given by name, in the places where the function has them.
    fn by_name(
        &self,
        function: &FunctionRef,
        arguments: &[BoundExpr],
        names: &[(usize, String)],
        around: &dyn Surroundings,
    ) -> SqlResult<Vec<Operand>> {
        let required = function.arguments.len().saturating_sub(function.defaults.len());
        let mut places = Vec::with_capacity(function.arguments.len());
        for place in 0..function.arguments.len() {
            let given = match names.iter().find(|(_, name)| function.names.get(place).is_some_and(|own| own == name)) {
                Some((at, _)) => arguments.get(*at),
                None => arguments.get(place).filter(|_| names.iter().all(|(at, _)| *at != place)),
            };
            let default = || function.defaults.get(place.checked_sub(required)?);
            places.push(match (given, default()) {
                (Some(given), _) => self.bound_operand(given, around)?,
                (None, Some(default)) => self.operand(default_value(default)?, around.schema())?,
                (None, None) => return Err(SqlError::not_supported("a call without one of its arguments")),
            });
        }
        Ok(places)
    }

    pub(super) fn bound_call(&self, name: &str, arguments: Vec<Operand>, around: &dyn Surroundings) -> SqlResult<Expr> {
        if let Some(meaning) = Meaning::named(name) {
            return Ok(self.call(meaning, arguments, around.schema())?);
        }
        let function = self.parameters().catalog_function(name);
        let function = function.ok_or_else(|| not_there(name))?;
        let arguments = arguments.into_iter().map(|argument| argument.expr).collect();
        match function.call(arguments) {
            Expr::ScalarFunction(call) => Ok(Expr::ScalarFunction(self.with_known_parameters(call))),
            other => Ok(other),
        }
    }
}

/// A function that PostgreSQL has, and that is not here.
pub(super) fn not_there(name: &str) -> Box<SqlError> {
    let hint = match name {
        _ if name.starts_with("jsonb_path_") => {
            "There is no jsonpath here: ->, ->>, #>, @> and jsonb_array_elements find the same."
        }
        _ if name.ends_with("range") => {
            "There are no ranges here: bounds are two columns, and two spans overlap where each begins before the other ends."
        }
        _ if name.contains("tsvector") || name.contains("tsquery") || name.starts_with("ts_") => {
            "There is no text search here: LIKE, ILIKE and regular expressions look at each text."
        }
        _ => "pg_proc lists PostgreSQL's functions, also those that are not done here.",
    };
    SqlError::not_supported(format!("the function {name}")).with_hint(hint)
}

/// The default of an argument, which the catalogue has as text.
fn default_value(text: &str) -> SqlResult<Expr> {
    let text = text.trim_end_matches("::jsonb");
    match (text.parse::<i32>(), text.parse::<f64>(), text) {
        (Ok(number), ..) => Ok(lit(number)),
        (_, Ok(number), _) => Ok(lit(number)),
        (_, _, "true") => Ok(lit(true)),
        (_, _, "false") => Ok(lit(false)),
        _ => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(text) => Ok(Expr::Literal(ScalarValue::from(text), None)),
            None => Err(SqlError::not_supported(format!("the default {text} of an argument"))),
        },
    }
}

pub(crate) fn no_stored_type() -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedFunction, "function edm_type does not exist for such a value")
        .with_hint("edm_type takes one column of a table that is stored as a property.")
}

/// Functions whose value is one row.
fn is_one_row(function: &str) -> bool {
    columns_of(function).is_some_and(|columns| columns.len() > 1)
}

/// Functions of a sequence, which look for it by its name.
fn takes_a_name(function: &str) -> bool {
    matches!(function, "nextval" | "currval" | "setval")
}

/// The argument of a call whose function looks for what it names itself, as functions of a sequence do.
pub(crate) fn argument_by_name(part: &BoundExpr) -> Option<&BoundExpr> {
    match &part.kind {
        ExprKind::Call { function, arguments, .. } if takes_a_name(&function.name) => {
            arguments.first().filter(|argument| name_in(argument).is_some())
        }
        _ => None,
    }
}

/// The name of a relation that is written out.
fn name_in(argument: &BoundExpr) -> Option<&str> {
    match &argument.without_implicit_casts().kind {
        ExprKind::Constant(Literal::Text(text) | Literal::Read { text, .. }) if argument.ty.oid == oids::REGCLASS => {
            Some(text)
        }
        _ => None,
    }
}
