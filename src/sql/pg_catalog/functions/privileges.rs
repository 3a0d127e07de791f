//! `has_table_privilege` and the like: what a role may do, for the session's own user or another.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::privileges::{Acl, ObjectKind, Privileges};
use tablegate_types::sql_type::{CatalogType, SqlType};

use super::{Definition, FunctionContext, argument, boolean};
use crate::catalog::{DATABASE, PUBLIC as PUBLIC_SCHEMA};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::granted::kind_of;
use crate::pg_catalog::objects::{Class, TEMPLATE0, TEMPLATE1, visible_columns};
use crate::privileges::{KnownRole, unknown_role};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("has_table_privilege", boolean, |c, a| on_relation(c, a, false)),
    Definition::new("has_any_column_privilege", boolean, has_any_column),
    Definition::new("has_column_privilege", boolean, has_column),
    Definition::new("has_sequence_privilege", boolean, |c, a| on_relation(c, a, true)),
    Definition::new("has_schema_privilege", boolean, has_schema),
    Definition::new("has_database_privilege", boolean, has_database),
    Definition::new("has_function_privilege", boolean, |c, a| of_everybody(c, a, Privileges::EXECUTE)),
    Definition::new("has_type_privilege", boolean, |c, a| of_everybody(c, a, Privileges::USAGE)),
    Definition::new("has_language_privilege", boolean, |c, a| of_everybody(c, a, Privileges::USAGE)),
    Definition::new("has_tablespace_privilege", boolean, |c, a| of_superusers(c, a, Privileges::CREATE)),
    Definition::new("has_foreign_data_wrapper_privilege", boolean, |c, a| of_superusers(c, a, Privileges::USAGE)),
    Definition::new("has_server_privilege", boolean, |c, a| of_superusers(c, a, Privileges::USAGE)),
    Definition::new("pg_has_role", boolean, has_role),
    Definition::new("acldefault", acl_items, default_acl),
];

/// Who is asked about.
enum Asked<'c> {
    Role(&'c KnownRole),
    /// PUBLIC, and any number that is not a role's.
    Public,
}

impl<'c> Asked<'c> {
    /// The role that a name or an OID means; 42704 for an unknown name.
    fn of(context: &'c FunctionContext, given: &Cell) -> SqlResult<Self> {
        let roles = &context.granted.roles;
        if let Cell::Int(_) = given {
            let known = given.as_oid().and_then(|oid| roles.with_oid(oid));
            return Ok(known.map_or(Asked::Public, Asked::Role));
        }
        let name = given.as_text().unwrap_or_default();
        match roles.named(&name) {
            Some(role) => Ok(Asked::Role(role)),
            None if name == "public" => Ok(Asked::Public),
            None => Err(unknown_role(&name)),
        }
    }

    /// What is held on an object, and what may be handed on.
    fn on(&self, context: &FunctionContext, kind: ObjectKind, oid: u32) -> (Privileges, Privileges) {
        match self {
            Asked::Role(role) => context.granted.of_role(role, kind, oid),
            Asked::Public => (context.granted.of_public(kind, oid), Privileges::NONE),
        }
    }

    fn is_super(&self) -> bool {
        matches!(self, Asked::Role(role) if crate::pg_catalog::granted::is_super(role))
    }
}

/// The arguments in front of which a user may be named: `count` of them without it.
fn split<'c, 'a>(
    context: &'c FunctionContext,
    arguments: &'a [Cell],
    count: usize,
) -> SqlResult<(Asked<'c>, &'a [Cell])> {
    if arguments.len() > count {
        return Ok((Asked::of(context, argument(arguments, 0))?, &arguments[1..]));
    }
    let user: &str = &context.user;
    Ok((context.granted.roles.named(user).map_or(Asked::Public, Asked::Role), arguments))
}

/// One of a list of privileges, and whether its grant option is meant.
type Wanted = Vec<(Privileges, bool)>;

/// A list such as `SELECT, INSERT WITH GRANT OPTION`: any of them is enough.
fn wanted(given: &Cell, allowed: Privileges) -> SqlResult<Wanted> {
    let text = given.as_text().unwrap_or_default();
    let one = |part: &str| {
        let part = part.trim();
        let words: Vec<String> = part.split(' ').map(str::to_ascii_uppercase).collect();
        let (name, option) = match words.as_slice() {
            [name] => (name, false),
            [name, with, grant, option] if with == "WITH" && grant == "GRANT" && option == "OPTION" => (name, true),
            _ => return Err(unrecognized(part)),
        };
        // RULE is no longer a privilege in PostgreSQL; its name is still accepted, and no role holds it.
        if name == "RULE" && allowed.has(Privileges::TRIGGER) {
            return Ok((Privileges::NONE, option));
        }
        let privilege = Privileges::named(name).filter(|privilege| allowed.has(*privilege));
        privilege.map(|privilege| (privilege, option)).ok_or_else(|| unrecognized(part))
    };
    text.split(',').map(one).collect()
}

fn unrecognized(part: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, format!("unrecognized privilege type: \"{part}\""))
}

fn holds(wanted: &Wanted, (held, grantable): (Privileges, Privileges)) -> bool {
    let one = |(privilege, option): &(Privileges, bool)| {
        !privilege.is_empty() && if *option { grantable.has(*privilege) } else { held.has(*privilege) }
    };
    wanted.iter().any(one)
}

/// The relation that a name or an OID means; `None` for an OID that nothing has.
fn relation<'c>(context: &'c FunctionContext, given: &Cell) -> SqlResult<Option<(u32, Class<'c>)>> {
    if let Cell::Int(_) = given {
        return Ok(given.as_oid().and_then(|oid| context.objects.class_by_oid(oid).map(|class| (oid, class))));
    }
    let name = given.as_text().unwrap_or_default();
    match context.objects.class_by_name(&name) {
        Some(found) => Ok(Some(found)),
        None => Err(SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{name}\" does not exist"))),
    }
}

/// What a role holds on a relation. Every role may read the system catalogue.
fn on_class(
    context: &FunctionContext,
    asked: &Asked<'_>,
    (oid, class): &(u32, Class<'_>),
    kind: ObjectKind,
) -> (Privileges, Privileges) {
    match kind_of(class) {
        Some(own) => asked.on(context, own, *oid),
        None if asked.is_super() => (kind.all(), kind.all()),
        None => (Privileges::SELECT, Privileges::NONE),
    }
}

fn on_relation(context: &FunctionContext, arguments: &[Cell], sequences: bool) -> SqlResult<Cell> {
    let kind = if sequences { ObjectKind::Sequence } else { ObjectKind::Table };
    let (asked, rest) = split(context, arguments, 2)?;
    let found = relation(context, argument(rest, 0))?;
    let wanted = wanted(argument(rest, 1), kind.all())?;
    let Some(found) = found else { return Ok(Cell::Null) };
    if sequences && !matches!(found.1, Class::Sequence(_)) {
        let message = format!("\"{}\" is not a sequence", found.1.name());
        return Err(SqlError::new(ErrorKind::WrongObjectType, message));
    }
    Ok(holds(&wanted, on_class(context, &asked, &found, kind)).into())
}

/// The privileges that columns have.
fn of_columns() -> Privileges {
    Privileges::SELECT | Privileges::INSERT | Privileges::UPDATE | Privileges::REFERENCES
}

fn has_any_column(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let found = relation(context, argument(rest, 0))?;
    let wanted = wanted(argument(rest, 1), of_columns())?;
    Ok(found.map(|found| holds(&wanted, on_class(context, &asked, &found, ObjectKind::Table))).into())
}

fn has_column(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 3)?;
    let found = relation(context, argument(rest, 0))?;
    let column = argument(rest, 1);
    let Some(found) = found else { return Ok(Cell::Null) };
    let is_there = match (&found.1, column) {
        (Class::Table(table), Cell::Int(number)) => visible_columns(table).any(|(n, _)| i64::from(n) == *number),
        (Class::Table(table), name) => {
            let name = name.as_text().unwrap_or_default();
            if !table.columns.iter().any(|column| column.name == name) {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
                return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
            }
            true
        }
        _ => true,
    };
    let wanted = wanted(argument(rest, 2), of_columns())?;
    let held = holds(&wanted, on_class(context, &asked, &found, ObjectKind::Table));
    Ok(is_there.then_some(held).into())
}

fn has_schema(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let given = argument(rest, 0);
    let oid = match given {
        Cell::Int(_) => given.as_oid().filter(|oid| context.objects.schemas().iter().any(|(known, _)| known == oid)),
        name => {
            let name = name.as_text().unwrap_or_default();
            let known = context.objects.schema_oid(&name);
            Some(known.ok_or_else(|| {
                SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{name}\" does not exist"))
            })?)
        }
    };
    let wanted = wanted(argument(rest, 1), ObjectKind::Schema.all())?;
    Ok(oid
        .map(|oid| {
            let held = match oid {
                PUBLIC_SCHEMA => asked.on(context, ObjectKind::Schema, oid),
                _ if asked.is_super() => (ObjectKind::Schema.all(), ObjectKind::Schema.all()),
                _ => (Privileges::USAGE, Privileges::NONE),
            };
            holds(&wanted, held)
        })
        .into())
}

fn has_database(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let own = &context.database;
    let known = [(DATABASE, &**own), (DATABASE, own.own_name()), (TEMPLATE1, "template1"), (TEMPLATE0, "template0")];
    let given = argument(rest, 0);
    let oid = if let Cell::Int(_) = given {
        given.as_oid().filter(|oid| known.iter().any(|(known, _)| known == oid))
    } else {
        let name = given.as_text().unwrap_or_default();
        let found = known.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid);
        Some(found.ok_or_else(|| {
            SqlError::new(ErrorKind::UndefinedDatabase, format!("database \"{name}\" does not exist"))
        })?)
    };
    let kind = ObjectKind::Database;
    let wanted = wanted(argument(rest, 1), kind.all())?;
    let held = |oid| match oid {
        DATABASE => asked.on(context, kind, oid),
        _ if asked.is_super() => (kind.all(), kind.all()),
        // What is granted on the templates.
        _ => (Privileges::CONNECT, Privileges::NONE),
    };
    Ok(oid.map(|oid| holds(&wanted, held(oid))).into())
}

/// What PUBLIC may do with built-in objects.
fn of_everybody(context: &FunctionContext, arguments: &[Cell], privilege: Privileges) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let wanted = wanted(argument(rest, 1), privilege)?;
    let grantable = if asked.is_super() { privilege } else { Privileges::NONE };
    Ok(holds(&wanted, (privilege, grantable)).into())
}

/// What only superusers may do with things of the system.
fn of_superusers(context: &FunctionContext, arguments: &[Cell], privilege: Privileges) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let wanted = wanted(argument(rest, 1), privilege)?;
    let held = if asked.is_super() { privilege } else { Privileges::NONE };
    Ok(holds(&wanted, (held, held)).into())
}

/// Whether one role has the privileges of another: its own, and those of an owner of everything.
fn has_role(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let (asked, rest) = split(context, arguments, 2)?;
    let other = Asked::of(context, argument(rest, 0))?;
    let text = argument(rest, 1).as_text().unwrap_or_default();
    for part in text.split(',').map(str::trim) {
        let known = ["USAGE", "MEMBER"].iter().any(|kind| {
            ["", " WITH ADMIN OPTION", " WITH GRANT OPTION"]
                .iter()
                .any(|option| part.eq_ignore_ascii_case(&format!("{kind}{option}")))
        });
        if !known {
            return Err(unrecognized(part));
        }
    }
    Ok(match (asked, other) {
        (Asked::Role(role), Asked::Role(other)) => {
            let owns_everything = crate::privileges::Rights::new(&role.name, role.role).owns_everything();
            (owns_everything || role.oid == other.oid).into()
        }
        _ => Cell::Bool(false),
    })
}

fn acl_items(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Catalog(CatalogType::AclItem)))
}

/// What holds on an object of some kind of its owner's until something is granted or revoked.
fn default_acl(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let letter = argument(arguments, 0).as_text().unwrap_or_default();
    let owner = argument(arguments, 1).as_oid().unwrap_or(0);
    let owner = context.granted.roles.with_oid(owner).map_or_else(|| owner.to_string(), |role| role.name.clone());
    let shown = |acl: &Acl| context.granted.acl_cell(acl);
    Ok(match letter.as_str() {
        "r" => shown(&Acl::default_of(ObjectKind::Table, &owner)),
        "s" => shown(&Acl::default_of(ObjectKind::Sequence, &owner)),
        "d" => shown(&Acl::default_of(ObjectKind::Database, &owner)),
        // PostgreSQL's default for schemas gives PUBLIC nothing; that of `public` is granted on it.
        "n" => shown(&Acl::of_owner(Privileges::USAGE | Privileges::CREATE, Privileges::NONE, &owner)),
        "f" => shown(&Acl::of_owner(Privileges::EXECUTE, Privileges::EXECUTE, &owner)),
        "l" | "T" => shown(&Acl::of_owner(Privileges::USAGE, Privileges::USAGE, &owner)),
        "t" => shown(&Acl::of_owner(Privileges::CREATE, Privileges::NONE, &owner)),
        "F" | "S" => shown(&Acl::of_owner(Privileges::USAGE, Privileges::NONE, &owner)),
        "L" => shown(&Acl::of_owner(Privileges::SELECT | Privileges::UPDATE, Privileges::NONE, &owner)),
        "c" => Cell::List(Vec::new()),
        other => {
            let message = format!("unrecognized object type abbreviation: {other}");
            return Err(SqlError::new(ErrorKind::Internal, message));
        }
    })
}
