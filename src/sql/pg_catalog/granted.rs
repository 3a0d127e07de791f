//! Roles, owners and what is granted, as the catalogue shows them to one statement.

use std::collections::BTreeMap;
use std::sync::Arc;

use tablegate_types::privileges::{Acl, ObjectKind, Privileges};

use super::cells::Cell;
use super::objects::Class;
use crate::catalog::Access;
use crate::login::Role;
use crate::privileges::{KnownRole, Rights, Roles};

/// Who there is, and who may do what.
#[derive(Debug)]
pub(crate) struct Granted {
    pub roles: Roles,
    accesses: BTreeMap<u32, Arc<Access>>,
    /// Those of the session's user.
    pub rights: Rights,
}

impl Granted {
    pub(crate) fn new(roles: Roles, accesses: impl Iterator<Item = Arc<Access>>, rights: Rights) -> Self {
        Self { roles, accesses: accesses.map(|access| (access.oid, access)).collect(), rights }
    }

    /// Where there is but one user.
    #[cfg(test)]
    pub(crate) fn for_tests(user: &str) -> Self {
        let rights = Rights::new(user, Role::Admin);
        Self::new(Roles::new(&[], &rights, std::iter::empty()), std::iter::empty(), rights)
    }

    pub(crate) fn access(&self, oid: u32) -> Arc<Access> {
        self.accesses.get(&oid).cloned().unwrap_or_else(|| Arc::new(Access::new(oid)))
    }

    /// The name of an object's owner.
    pub(crate) fn owner(&self, oid: u32) -> String {
        self.roles.shown(self.access(oid).owner()).to_owned()
    }

    pub(crate) fn owner_oid(&self, oid: u32) -> u32 {
        self.roles.oid_of(self.access(oid).owner())
    }

    /// `relacl`: NULL until something was granted or revoked.
    pub(super) fn acl_of(&self, oid: u32) -> Cell {
        self.access(oid).acl.as_ref().map_or(Cell::Null, |acl| self.acl_cell(acl))
    }

    /// A list as `aclitem[]` shows it.
    pub(super) fn acl_cell(&self, acl: &Acl) -> Cell {
        Cell::List(acl.items().iter().map(|item| Cell::text(item.printed(|name| self.roles.shown(name)))).collect())
    }

    /// What a role may do with an object, and which of that it may hand on.
    pub(crate) fn of_role(&self, role: &KnownRole, kind: ObjectKind, oid: u32) -> (Privileges, Privileges) {
        let (rights, access) = (Rights::new(&role.name, role.role), self.access(oid));
        (rights.on(kind, &access), rights.grantable_on(kind, &access))
    }

    /// What PUBLIC may do with an object.
    pub(crate) fn of_public(&self, kind: ObjectKind, oid: u32) -> Privileges {
        // No role has an empty name.
        self.access(oid).acl(kind).privileges_of("")
    }

    /// Whether the session's user may see that a table is there: `information_schema` shows no others.
    pub(crate) fn shows(&self, kind: ObjectKind, oid: u32) -> bool {
        let access = self.access(oid);
        self.rights.owns(&access) || !self.rights.on(kind, &access).is_empty()
    }
}

/// What a relation is to privileges; `None` for one of the system and for an index.
pub(super) fn kind_of(class: &Class<'_>) -> Option<ObjectKind> {
    match class {
        Class::Table(_) | Class::View(_) => Some(ObjectKind::Table),
        Class::Sequence(_) => Some(ObjectKind::Sequence),
        Class::Index(_) | Class::System(_) => None,
    }
}

/// Whether a role is a superuser as others understand it.
pub(super) fn is_super(role: &KnownRole) -> bool {
    role.role == Role::Admin
}

impl Default for Granted {
    fn default() -> Self {
        Self { roles: Roles::default(), accesses: BTreeMap::new(), rights: Rights::new("", Role::Granted) }
    }
}
