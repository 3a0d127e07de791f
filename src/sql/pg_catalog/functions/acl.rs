//! Privileges as PostgreSQL writes them: `acldefault` and the columns of `aclexplode`.

use arrow::datatypes::FieldRef;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::{CatalogType, SqlType};

use super::{Definition, FunctionContext, argument};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::references::Reference;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("acldefault", |_| SqlType::Array(Box::new(SqlType::Catalog(CatalogType::AclItem))), acl_default),
    Definition::new("acl grantors", oids, |c, a| exploded(c, a, |grant| grant.grantor.into())),
    Definition::new("acl grantees", oids, |c, a| exploded(c, a, |grant| grant.grantee.into())),
    Definition::new("acl privileges", texts, |c, a| exploded(c, a, |grant| grant.privilege.into())),
    Definition::new("acl grant options", booleans, |c, a| exploded(c, a, |grant| grant.is_grantable.into())),
];

/// The letters of privileges, in PostgreSQL's order.
const PRIVILEGES: &[(char, &str)] = &[
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// One privilege of one grantee.
struct Grant {
    grantor: u32,
    /// 0 for PUBLIC.
    grantee: u32,
    privilege: &'static str,
    is_grantable: bool,
}

fn oids(_: &[FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Oid))
}

fn texts(_: &[FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Text))
}

fn booleans(_: &[FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Bool))
}

/// What an object of a kind may be used for when nothing was granted.
fn acl_default(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let kind = argument(arguments, 0).as_text().unwrap_or_default();
    let (public, owner) = match kind.as_str() {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => {
            let message = format!("unrecognized object type abbreviation: {other}");
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
    };
    let oid = argument(arguments, 1).as_oid().unwrap_or(0);
    let role = Reference::Role.print(context, oid).unwrap_or_else(|| oid.to_string());
    let mut items = Vec::new();
    if !public.is_empty() {
        items.push(Cell::from(format!("={public}/{role}")));
    }
    if !owner.is_empty() {
        items.push(Cell::from(format!("{role}={owner}/{role}")));
    }
    Ok(Cell::List(items))
}

/// One column of `aclexplode`.
fn exploded(context: &FunctionContext, arguments: &[Cell], column: impl Fn(&Grant) -> Cell) -> SqlResult<Cell> {
    let Cell::List(items) = argument(arguments, 0) else { return Ok(Cell::Null) };
    let mut cells = Vec::new();
    for item in items {
        for grant in grants(context, &item.as_text().unwrap_or_default())? {
            cells.push(column(&grant));
        }
    }
    Ok(Cell::List(cells))
}

/// The privileges of `grantee=letters/grantor`; one with `*` behind it may be granted on.
fn grants(context: &FunctionContext, item: &str) -> SqlResult<Vec<Grant>> {
    let Some((grantee, (letters, grantor))) =
        item.rsplit_once('=').and_then(|(grantee, rest)| Some((grantee, rest.split_once('/')?)))
    else {
        return Ok(Vec::new());
    };
    let role = |name: &str| -> SqlResult<u32> {
        if name.is_empty() {
            return Ok(0);
        }
        let known = Reference::Role.find(context, name)?;
        Ok(known.or_else(|| name.parse().ok()).unwrap_or(0))
    };
    let (grantor, grantee) = (role(grantor)?, role(grantee)?);
    let grant = |(letter, privilege): &(char, &'static str)| {
        let at = letters.find(*letter)?;
        let is_grantable = letters.get(at + 1..).is_some_and(|rest| rest.starts_with('*'));
        Some(Grant { grantor, grantee, privilege, is_grantable })
    };
    Ok(PRIVILEGES.iter().filter_map(grant).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_taken_apart() {
        let context = FunctionContext::for_tests(Vec::new());
        let default = acl_default(&context, &["d".into(), 10.into()]).unwrap();
        assert_eq!(default, Cell::List(vec!["=Tc/u".into(), "u=CTc/u".into()]));
        let given = grants(&context, "u=r*w/u").unwrap();
        let shown: Vec<_> = given.iter().map(|g| (g.grantee, g.privilege, g.is_grantable)).collect();
        assert_eq!(shown, [(10, "SELECT", true), (10, "UPDATE", false)]);
    }
}
