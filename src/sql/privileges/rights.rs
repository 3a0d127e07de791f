//! What one user may do: what the role implies, and what was granted.

use std::sync::Arc;

use tablegate_types::privileges::{Acl, ObjectKind, Privileges};

use crate::catalog::Access;
use crate::login::Role;

/// A user, as far as privileges go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    user: Arc<str>,
    role: Role,
}

impl Rights {
    pub(crate) fn new(user: &str, role: Role) -> Self {
        Self { user: user.into(), role }
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Whether every table is the user's own.
    pub(crate) fn owns_everything(&self) -> bool {
        match self.role {
            Role::Admin | Role::ReadWrite => true,
            Role::ReadOnly | Role::Granted => false,
        }
    }

    /// Whether the user may make, change and remove users.
    pub(crate) fn manages_users(&self) -> bool {
        self.role == Role::Admin
    }

    pub(crate) fn owns(&self, access: &Access) -> bool {
        self.owns_everything() || access.owner.as_deref() == Some(&*self.user)
    }

    /// What the user may do with an object.
    pub(crate) fn on(&self, kind: ObjectKind, access: &Access) -> Privileges {
        if self.owns_everything() {
            return kind.all();
        }
        let implied = match (self.role, kind) {
            (Role::ReadOnly, ObjectKind::Table | ObjectKind::Sequence) => Privileges::SELECT,
            _ => Privileges::NONE,
        };
        implied | access.acl(kind).privileges_of(&self.user)
    }

    /// What the user may hand on.
    pub(crate) fn grantable_on(&self, kind: ObjectKind, access: &Access) -> Privileges {
        if self.owns(access) { kind.all() } else { access.acl(kind).grantable_by(&self.user) }
    }

    /// In whose name the user grants: an owner's grants are those of the object's owner.
    pub(crate) fn grantor<'a>(&'a self, access: &'a Access) -> &'a str {
        if self.owns(access) { access.owner() } else { &self.user }
    }
}

impl Access {
    /// What is granted, said or not.
    pub(crate) fn acl(&self, kind: ObjectKind) -> Acl {
        self.acl.clone().unwrap_or_else(|| Acl::default_of(kind, self.owner()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tablegate_types::privileges::BOOTSTRAP;
    use tablegate_types::privileges::Change;

    fn access(owner: Option<&str>) -> Access {
        owner.map_or_else(|| Access::new(1), |owner| Access::made_by(owner, 1))
    }

    #[test]
    fn a_role_is_a_floor() {
        let table = access(None);
        for (role, letters) in
            [(Role::Admin, "arwdDxt"), (Role::ReadWrite, "arwdDxt"), (Role::ReadOnly, "r"), (Role::Granted, "")]
        {
            let on = Rights::new("u", role).on(ObjectKind::Table, &table);
            assert_eq!(on.letters(Privileges::NONE), letters, "{role:?}");
        }
    }

    #[test]
    fn a_granted_user_owns_what_it_made() {
        let (own, other) = (access(Some("u")), access(Some("v")));
        let user = Rights::new("u", Role::Granted);
        assert!(user.owns(&own) && !user.owns(&other) && !user.owns(&access(None)));
        assert_eq!(user.on(ObjectKind::Table, &own), ObjectKind::Table.all());
        assert_eq!(user.on(ObjectKind::Table, &other), Privileges::NONE);
        assert_eq!(Rights::new("w", Role::ReadWrite).grantor(&other), "v");
        assert_eq!(Rights::new("w", Role::ReadWrite).grantor(&access(None)), BOOTSTRAP);
    }

    #[test]
    fn everybody_has_what_public_has() {
        let mut table = access(None);
        let mut acl = table.acl(ObjectKind::Table);
        let (grantor, owner) = (BOOTSTRAP, BOOTSTRAP);
        acl.grant(&Change { grantor, grantee: None, privileges: Privileges::SELECT, option: false, owner }).unwrap();
        table.acl = Some(acl);
        assert_eq!(Rights::new("u", Role::Granted).on(ObjectKind::Table, &table), Privileges::SELECT);
    }
}
