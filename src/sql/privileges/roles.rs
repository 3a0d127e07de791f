//! The roles that names can mean: users, the role that owns what nobody else does, and whoever left a trace in the catalogue.

use xxhash_rust::xxh64::xxh64;

use super::rights::Rights;
use crate::sql::catalog::CatalogView;
use crate::sql::error::{ErrorKind, SqlError, SqlResult};
use crate::sql::login::{Account, Role};

/// The role that owns what no user made: found tables, the sample, the schemas. Nobody need be a user of this name.
pub(in crate::sql) const BOOTSTRAP: &str = "tablegate";
/// Its OID, as that of PostgreSQL's first superuser.
const BOOTSTRAP_OID: u32 = 10;
/// Other roles have OIDs made of their names, in this range: the same in every session and after every restart.
const FIRST_OID: u32 = 1 << 20;
const OIDS: u64 = 1 << 30;

/// One role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sql) struct KnownRole {
    pub name: String,
    pub oid: u32,
    pub role: Role,
    pub can_login: bool,
}

impl KnownRole {
    fn new(name: &str, role: Role, can_login: bool) -> Self {
        Self { name: name.to_owned(), oid: oid_of(name), role, can_login }
    }
}

/// All roles, by name.
#[derive(Debug, Clone, Default)]
pub(in crate::sql) struct Roles(Vec<KnownRole>);

impl Roles {
    /// The users, the session's own among them, and the roles that objects and their privileges name.
    pub fn new(accounts: &[Account], current: &Rights, role: Role, catalog: &CatalogView) -> Self {
        let mut roles: Vec<KnownRole> =
            accounts.iter().map(|account| KnownRole::new(&account.name, account.role, true)).collect();
        let mut add = |name: &str, role: Role, can_login: bool| {
            if roles.iter().all(|known| known.name != name) {
                roles.push(KnownRole::new(name, role, can_login));
            }
        };
        add(current.user(), role, true);
        add(BOOTSTRAP, Role::Admin, false);
        for access in catalog.accesses() {
            let items = access.acl.iter().flat_map(|acl| acl.items());
            let named = items.flat_map(|item| item.grantee.iter().chain([&item.grantor]));
            access.owner.iter().chain(named).for_each(|name| add(name, Role::Granted, false));
        }
        roles.sort_by(|a, b| a.name.cmp(&b.name));
        Self(roles)
    }

    pub fn named(&self, name: &str) -> Option<&KnownRole> {
        self.0.iter().find(|role| role.name == name)
    }

    /// # Errors
    /// 42704 for a name that is nobody's.
    pub fn check(&self, name: &str) -> SqlResult<()> {
        match self.named(name) {
            Some(_) => Ok(()),
            None => Err(unknown(name)),
        }
    }
}

/// The error for a name that is no role's (42704).
pub(in crate::sql) fn unknown(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedObject, format!("role \"{name}\" does not exist"))
}

fn oid_of(name: &str) -> u32 {
    if name == BOOTSTRAP {
        return BOOTSTRAP_OID;
    }
    FIRST_OID + u32::try_from(xxh64(name.as_bytes(), 0) % OIDS).unwrap_or(0)
}
