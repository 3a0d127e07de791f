//! The roles that names can mean: users, the role that owns what no user made, and the roles that the catalogue still
//! names as owners or in grants.

use std::sync::Arc;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::privileges::BOOTSTRAP;
use xxhash_rust::xxh64::xxh64;

use super::rights::Rights;
use crate::catalog::Access;
use crate::login::{Account, Role};

/// The OID of [`BOOTSTRAP`], as that of PostgreSQL's first superuser.
const BOOTSTRAP_OID: u32 = 10;
/// Other roles have OIDs made of their names, in this range: the same in every session and after every restart.
const FIRST_OID: u32 = 1 << 20;
const OIDS: u64 = 1 << 30;

/// One role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownRole {
    pub name: String,
    pub oid: u32,
    pub role: Role,
    pub can_login: bool,
}

/// All roles, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roles {
    roles: Vec<KnownRole>,
    /// The name that [`BOOTSTRAP`] is shown as.
    first: String,
}

impl Roles {
    /// The users, the session's own among them, and the roles that objects and their privileges name.
    pub(crate) fn new<'a>(
        accounts: &[Account],
        current: &Rights,
        accesses: impl Iterator<Item = &'a Arc<Access>>,
    ) -> Self {
        let first = first_owner(accounts, current);
        let mut roles = Self { roles: Vec::new(), first };
        accounts.iter().for_each(|account| roles.add(&account.name, account.role, account.can_login));
        roles.add(current.user(), current.role(), true);
        roles.add(BOOTSTRAP, Role::Admin, false);
        for access in accesses {
            let items = access.acl.iter().flat_map(|acl| acl.items());
            let named = items.flat_map(|item| item.grantee.iter().chain([&item.grantor]));
            named.for_each(|name| roles.add(name, Role::Granted, false));
            roles.add(access.owner(), Role::Granted, false);
        }
        roles.roles.sort_by(|a, b| a.name.cmp(&b.name));
        roles
    }

    fn add(&mut self, name: &str, role: Role, can_login: bool) {
        let name = self.shown(name).to_owned();
        if self.named(&name).is_none() {
            let oid = self.oid_of(&name);
            self.roles.push(KnownRole { name, oid, role, can_login });
        }
    }

    /// The name under which a role that the catalogue names is shown.
    pub(crate) fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        if name == BOOTSTRAP { &self.first } else { name }
    }

    /// The OID of a role that the catalogue names.
    pub(crate) fn oid_of(&self, name: &str) -> u32 {
        if self.shown(name) == self.first {
            return BOOTSTRAP_OID;
        }
        FIRST_OID + u32::try_from(xxh64(name.as_bytes(), 0) % OIDS).unwrap_or(0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &KnownRole> {
        self.roles.iter()
    }

    pub(crate) fn named(&self, name: &str) -> Option<&KnownRole> {
        self.roles.iter().find(|role| role.name == name)
    }

    pub(crate) fn with_oid(&self, oid: u32) -> Option<&KnownRole> {
        self.roles.iter().find(|role| role.oid == oid)
    }

    /// # Errors
    /// 42704 for a name that is not a role's.
    pub(crate) fn check(&self, name: &str) -> SqlResult<()> {
        match self.named(name) {
            Some(_) => Ok(()),
            None => Err(unknown_role(name)),
        }
    }
}

/// The error for a name that is not a role's (42704).
pub(crate) fn unknown_role(name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::UndefinedObject, format!("role \"{name}\" does not exist"))
}

/// Who is shown as the owner of what no user made: of those who own everything the first; without users, the session's
/// user.
fn first_owner(accounts: &[Account], current: &Rights) -> String {
    let of_role =
        |role: Role| accounts.iter().filter(|account| account.role == role).map(|account| &account.name).min();
    match of_role(Role::Admin).or_else(|| of_role(Role::ReadWrite)) {
        _ if accounts.iter().any(|account| account.name == BOOTSTRAP) => BOOTSTRAP.to_owned(),
        Some(name) => name.clone(),
        None if accounts.is_empty() => current.user().to_owned(),
        None => BOOTSTRAP.to_owned(),
    }
}
