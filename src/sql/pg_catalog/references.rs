//! Types whose values name objects, `regclass` and the like: what a name means, and how an object's name is printed.

use tablegate_types::built_in::{RecordedFile, routines};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::{quote_ident, split_name};

use super::functions::FunctionContext;
use super::objects::{PG_CATALOG, RowType};
use super::{built_ins, routine_text};

/// A kind of objects that a type names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    Class,
    Type,
    Proc,
    Procedure,
    Oper,
    Operator,
    Schema,
    Role,
    Collation,
    Config,
    Dictionary,
}

impl Reference {
    /// What a text means; `None` when there is no such object.
    ///
    /// # Errors
    /// 42602 and 42601 for what is not a name, 42725 for a name of several functions or operators.
    pub(super) fn find(self, context: &FunctionContext, text: &str) -> SqlResult<Option<u32>> {
        if matches!(self, Reference::Type | Reference::Procedure | Reference::Oper | Reference::Operator) {
            return match self {
                Reference::Type => Ok(type_oid(context, text)),
                Reference::Procedure => by_signature(context, text),
                Reference::Oper => operator_of(text, None),
                _ => Ok(operator_by_signature(context, text)),
            };
        }
        let parts = parts(self, text)?;
        let Some(name) = parts.last() else { return Ok(None) };
        Ok(match self {
            Reference::Class => context.objects.class_by_name(text).map(|(oid, _)| oid),
            Reference::Proc => routines::by_name(&parts)?,
            Reference::Schema => context.objects.schema_oid(name),
            Reference::Role => context.granted.roles.named(name).map(|role| role.oid),
            Reference::Collation => recorded("pg_collation", "collname", name),
            Reference::Config => recorded("pg_ts_config", "cfgname", name),
            _ => recorded("pg_ts_dict", "dictname", name),
        })
    }

    /// The name as the type prints it; `None` for what nothing has.
    pub(super) fn print(self, context: &FunctionContext, oid: u32) -> Option<String> {
        match self {
            Reference::Class => context.objects.class_by_oid(oid).map(|class| context.objects.printed(&class)),
            Reference::Type => {
                let known = built_ins::type_by_oid(oid).is_some() || context.objects.row_type(oid).is_some();
                known.then(|| built_ins::format_type(&context.objects, oid, None))
            }
            Reference::Proc => routines::by_oid(oid).map(|_| routines::printed(oid)),
            Reference::Procedure => routines::by_oid(oid).map(|routine| routine_text::signature(routine, context)),
            Reference::Oper => operators().find(|o| o.oid == oid).map(|o| o.printed()),
            Reference::Operator => operators().find(|o| o.oid == oid).map(|o| o.signature(context)),
            Reference::Schema => {
                context.objects.schemas().into_iter().find(|(o, _)| *o == oid).map(|(_, name)| quote_ident(&name))
            }
            Reference::Role => context.granted.roles.with_oid(oid).map(|role| quote_ident(&role.name)),
            Reference::Collation => recorded_name("pg_collation", "collname", oid),
            Reference::Config => recorded_name("pg_ts_config", "cfgname", oid),
            Reference::Dictionary => recorded_name("pg_ts_dict", "dictname", oid),
        }
    }

    /// That a name means nothing.
    pub(super) fn missing(self, text: &str) -> Box<SqlError> {
        let (kind, what) = match self {
            Reference::Class => (ErrorKind::UndefinedTable, "relation"),
            Reference::Type => (ErrorKind::UndefinedObject, "type"),
            Reference::Proc | Reference::Procedure => (ErrorKind::UndefinedFunction, "function"),
            Reference::Oper | Reference::Operator => {
                let message = format!("operator does not exist: {text}");
                return SqlError::new(ErrorKind::UndefinedFunction, message);
            }
            Reference::Schema => (ErrorKind::UndefinedSchema, "schema"),
            Reference::Role => (ErrorKind::UndefinedObject, "role"),
            Reference::Collation => {
                let message = format!("collation \"{text}\" for encoding \"UTF8\" does not exist");
                return SqlError::new(ErrorKind::UndefinedObject, message);
            }
            Reference::Config => (ErrorKind::UndefinedObject, "text search configuration"),
            Reference::Dictionary => (ErrorKind::UndefinedObject, "text search dictionary"),
        };
        // A relation is named in its parts, as FROM names it.
        let shown = if self == Reference::Class { split_name(text).join(".") } else { text.to_owned() };
        SqlError::new(kind, format!("{what} \"{shown}\" does not exist"))
    }
}

/// The parts of a name with dots.
fn parts(reference: Reference, text: &str) -> SqlResult<Vec<String>> {
    let parts = split_name(text);
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '"') || c.is_whitespace();
    let has_blank_inside = !text.contains('"') && text.trim().split('.').any(|part| part.trim().contains(' '));
    if parts.is_empty() || !text.contains('"') && (!text.chars().all(is_plain) || has_blank_inside) {
        return Err(SqlError::new(ErrorKind::InvalidName, "invalid name syntax"));
    }
    if reference == Reference::Class && parts.len() > 3 {
        let message = format!("improper relation name (too many dotted names): {}", parts.join("."));
        return Err(SqlError::new(ErrorKind::Syntax, message));
    }
    Ok(parts)
}

/// The type that a name means, as SQL spells types.
pub(super) fn type_oid(context: &FunctionContext, text: &str) -> Option<u32> {
    let text = text.trim();
    let (text, is_array) = match text.strip_suffix("[]") {
        Some(item) => (item.trim_end(), true),
        None => (text, false),
    };
    let folded = without_modifier(text);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == folded).map(|(_, known)| *known);
    let parts = split_name(alias.unwrap_or(text));
    let (schema, name) = match parts.as_slice() {
        [name] => (None, name.as_str()),
        [schema, name] | [_, schema, name] => (Some(schema.as_str()), name.as_str()),
        _ => return None,
    };
    let name = name.split('(').next().unwrap_or(name).trim();
    let schema = schema.map(|schema| context.objects.schema_oid(schema));
    let in_schema = |own: u32| match schema {
        None => true,
        Some(schema) => schema == Some(own),
    };
    let built_in = built_ins::types()
        .iter()
        .find(|t| t.name == name && in_schema(t.schema) && (schema.is_some() || t.schema == PG_CATALOG));
    let base = built_in.map(|t| t.oid).or_else(|| {
        let in_own = |row: &RowType<'_>| in_schema(context.objects.schema_oid(row.schema).unwrap_or(0));
        context.objects.row_types().find(|row| row.name == name && in_own(row)).map(|row| row.oid())
    })?;
    if !is_array {
        return Some(base);
    }
    let array = built_ins::types().iter().find(|t| t.is_array() && t.element() == base).map(|t| t.oid);
    array.or_else(|| {
        let (row, _) = context.objects.row_type(base)?;
        Some(row.array_oid())
    })
}

/// A type's name as SQL has it, without length or precision, in small letters and with single blanks.
fn without_modifier(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => out.push(c.to_ascii_lowercase()),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Spellings of SQL that are not the names in `pg_type`.
const ALIASES: &[(&str, &str)] = &[
    ("int", "int4"),
    ("integer", "int4"),
    ("smallint", "int2"),
    ("bigint", "int8"),
    ("real", "float4"),
    ("float", "float8"),
    ("double precision", "float8"),
    ("decimal", "numeric"),
    ("dec", "numeric"),
    ("boolean", "bool"),
    ("character", "bpchar"),
    ("char", "bpchar"),
    ("nchar", "bpchar"),
    ("character varying", "varchar"),
    ("char varying", "varchar"),
    ("bit varying", "varbit"),
    ("timestamp without time zone", "timestamp"),
    ("timestamp with time zone", "timestamptz"),
    ("time without time zone", "time"),
    ("time with time zone", "timetz"),
];

/// An operator of PostgreSQL.
struct OperatorRow {
    oid: u32,
    name: &'static str,
    left: u32,
    right: u32,
}

impl OperatorRow {
    /// As `regoper` prints it.
    fn printed(&self) -> String {
        if operators().filter(|o| o.name == self.name).count() > 1 {
            return format!("pg_catalog.{}", self.name);
        }
        self.name.to_owned()
    }

    fn signature(&self, context: &FunctionContext) -> String {
        let operand = |oid: u32| match oid {
            0 => "NONE".to_owned(),
            oid => built_ins::format_type(&context.objects, oid, None),
        };
        format!("{}({},{})", self.name, operand(self.left), operand(self.right))
    }
}

fn operators() -> impl Iterator<Item = OperatorRow> {
    let file = RecordedFile::of("pg_operator");
    let positions = file.as_ref().map(|file| {
        ["oid", "oprname", "oprleft", "oprright"].map(|column| file.position(column).unwrap_or(usize::MAX))
    });
    let rows: Vec<Vec<&'static str>> = file.map(|file| file.rows().collect()).unwrap_or_default();
    rows.into_iter().filter_map(move |row| {
        let [oid, name, left, right] = positions?;
        let number = |at: usize| row.get(at).and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(OperatorRow { oid: number(oid), name: row.get(name)?, left: number(left), right: number(right) })
    })
}

/// The operator of a name, which must be the only one.
fn operator_of(text: &str, operands: Option<(u32, u32)>) -> SqlResult<Option<u32>> {
    let name = text.trim().rsplit('.').next().unwrap_or_default();
    let fits = |o: &OperatorRow| o.name == name && operands.is_none_or(|asked| asked == (o.left, o.right));
    let mut found = operators().filter(fits);
    let first = found.next().map(|o| o.oid);
    if found.next().is_some() {
        return Err(SqlError::new(ErrorKind::AmbiguousFunction, format!("more than one operator named {name}")));
    }
    Ok(first)
}

/// `+(integer,integer)`, with NONE for an operand that is not there.
fn operator_by_signature(context: &FunctionContext, text: &str) -> Option<u32> {
    let (name, rest) = text.split_once('(')?;
    let (left, right) = rest.trim().strip_suffix(')')?.split_once(',')?;
    let operand = |text: &str| match text.trim() {
        none if none.eq_ignore_ascii_case("none") => Some(0),
        name => type_oid(context, name),
    };
    operator_of(name, Some((operand(left)?, operand(right)?))).ok().flatten()
}

/// The OID of a recorded row with this name.
fn recorded(relation: &str, column: &str, name: &str) -> Option<u32> {
    let file = RecordedFile::of(relation)?;
    let (oid, column) = (oid_position(&file)?, file.position(column)?);
    file.rows().find(|row| row.get(column) == Some(&name))?.get(oid)?.parse().ok()
}

fn recorded_name(relation: &str, column: &str, wanted: u32) -> Option<String> {
    let file = RecordedFile::of(relation)?;
    let (oid, column) = (oid_position(&file)?, file.position(column)?);
    let row = file.rows().find(|row| row.get(oid).and_then(|text| text.parse().ok()) == Some(wanted))?;
    row.get(column).map(|name| quote_ident(name))
}

fn oid_position(file: &RecordedFile) -> Option<usize> {
    file.position("oid")
}

/// The schema of what a recorded relation lists under an OID.
pub(super) fn schema_of(relation: &str, wanted: u32) -> Option<u32> {
    let file = RecordedFile::of(relation)?;
    let oid = oid_position(&file)?;
    let row = file.rows().find(|row| row.get(oid).and_then(|text| text.parse().ok()) == Some(wanted))?;
    let columns = ["typnamespace", "pronamespace", "oprnamespace", "opcnamespace", "opfnamespace", "collnamespace"];
    let others = ["connamespace", "cfgnamespace", "dictnamespace", "prsnamespace", "tmplnamespace"];
    let schema = columns.iter().chain(&others).find_map(|column| file.position(column))?;
    row.get(schema)?.parse().ok()
}

/// The function of a name with the types of its arguments: `format(text)`.
///
/// # Errors
/// 22P02 without parentheses, 42704 for a type that does not exist.
pub(super) fn by_signature(context: &FunctionContext, text: &str) -> SqlResult<Option<u32>> {
    let Some((name, rest)) = text.split_once('(') else {
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, "expected a left parenthesis"));
    };
    let Some(types) = rest.trim().strip_suffix(')') else {
        return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, "expected a right parenthesis"));
    };
    let mut asked = Vec::new();
    for name in types.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        asked.push(
            type_oid(context, name)
                .ok_or_else(|| SqlError::new(ErrorKind::UndefinedObject, format!("type \"{name}\" does not exist")))?,
        );
    }
    let parts = split_name(name);
    let Some(name) = parts.last() else { return Ok(None) };
    let has_arguments = |oid: &&u32| routines::by_oid(**oid).is_some_and(|routine| routine.arguments == asked);
    Ok(routines::named(name).iter().find(has_arguments).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::objects::OWNER;

    #[test]
    fn names_are_found_and_printed() {
        let context = FunctionContext::for_tests(Vec::new());
        for (reference, text, oid, printed) in [
            (Reference::Class, "pg_class", 1259, "pg_class"),
            (Reference::Class, "PG_Catalog.pg_class", 1259, "pg_class"),
            (Reference::Type, "int4", 23, "integer"),
            (Reference::Type, "timestamp(3) with  time zone", 1184, "timestamp with time zone"),
            (Reference::Type, "character varying(10)[]", 1015, "character varying[]"),
            (Reference::Type, "\"char\"", 18, "\"char\""),
            (Reference::Proc, "now", 1299, "now"),
            (Reference::Procedure, "format(text)", 3540, "format(text)"),
            (Reference::Operator, "+(int4, integer)", 551, "+(integer,integer)"),
            (Reference::Operator, "-(NONE,int4)", 558, "-(NONE,integer)"),
            (Reference::Schema, "public", 2200, "public"),
            (Reference::Role, "u", OWNER, "u"),
            (Reference::Config, "simple", 3748, "simple"),
        ] {
            assert_eq!(reference.find(&context, text).unwrap(), Some(oid), "{text}");
            assert_eq!(reference.print(&context, oid).as_deref(), Some(printed));
        }
        assert_eq!(Reference::Proc.find(&context, "format").unwrap_err().kind, ErrorKind::AmbiguousFunction);
        assert_eq!(Reference::Class.find(&context, "2020-01-01 10:00").unwrap_err().kind, ErrorKind::InvalidName);
        assert_eq!(Reference::Type.find(&context, "nosuch").unwrap(), None);
    }
}
