//! Access control lists: who gave whom which privileges on one object, as PostgreSQL keeps them.
//!
//! A privilege may be granted by each role that holds its grant option, and by the owner always. Taking a grant option
//! away takes what was handed on with it: by CASCADE, or not at all.

use serde::{Deserialize, Serialize};

use super::privilege::{ObjectKind, Privileges};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::quoting::quote_ident;

/// What one role has granted to another, or to PUBLIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AclItem {
    /// `None` is PUBLIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grantee: Option<String>,
    pub grantor: String,
    pub privileges: Privileges,
    /// Those of them that the grantee may hand on.
    #[serde(default, skip_serializing_if = "is_none")]
    pub grantable: Privileges,
}

fn is_none(privileges: &Privileges) -> bool {
    privileges.is_empty()
}

/// All that was given on one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acl {
    items: Vec<AclItem>,
}

/// One GRANT or REVOKE, for one grantee.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub grantor: &'a str,
    pub grantee: Option<&'a str>,
    pub privileges: Privileges,
    /// GRANT: WITH GRANT OPTION. REVOKE: GRANT OPTION FOR.
    pub option: bool,
    pub owner: &'a str,
}

impl Acl {
    /// The privileges that an object has before the first GRANT or REVOKE on it.
    pub fn default_of(kind: ObjectKind, owner: &str) -> Self {
        let mut acl = Self::of_owner(kind.all(), kind.of_public(), owner);
        if kind == ObjectKind::Schema {
            // PostgreSQL grants it when it makes the schema.
            acl.items.reverse();
        }
        acl
    }

    /// With these privileges of PUBLIC and of the owner.
    pub fn of_owner(privileges: Privileges, of_public: Privileges, owner: &str) -> Self {
        let item = |grantee: Option<&str>, privileges| AclItem {
            grantee: grantee.map(str::to_owned),
            grantor: owner.to_owned(),
            privileges,
            grantable: Privileges::NONE,
        };
        let items = [item(None, of_public), item(Some(owner), privileges)];
        Self { items: items.into_iter().filter(|item| !item.privileges.is_empty()).collect() }
    }

    pub fn items(&self) -> &[AclItem] {
        &self.items
    }

    /// What a role may do: what was granted to it and to PUBLIC.
    pub fn privileges_of(&self, role: &str) -> Privileges {
        self.union(|item| item.grantee.as_deref().is_none_or(|grantee| grantee == role), |item| item.privileges)
    }

    /// What a role may hand on, if it is not the owner.
    pub fn grantable_by(&self, role: &str) -> Privileges {
        self.union(|item| item.grantee.as_deref() == Some(role), |item| item.grantable)
    }

    fn union(&self, of: impl Fn(&AclItem) -> bool, what: impl Fn(&AclItem) -> Privileges) -> Privileges {
        self.items.iter().filter(|item| of(item)).fold(Privileges::NONE, |all, item| all | what(item))
    }

    /// Gives privileges, which the grantor may give.
    ///
    /// # Errors
    /// 0LP01 for a grant option for PUBLIC, or for the one it comes from.
    pub fn grant(&mut self, change: &Change<'_>) -> SqlResult<()> {
        if change.option && change.grantee.is_none() {
            return Err(SqlError::new(ErrorKind::InvalidGrant, "grant options can only be granted to roles"));
        }
        if change.option && self.comes_from(change) {
            let message = "grant options cannot be granted back to your own grantor";
            return Err(SqlError::new(ErrorKind::InvalidGrant, message));
        }
        let item = self.item_mut(change.grantor, change.grantee);
        item.privileges = item.privileges | change.privileges;
        if change.option {
            item.grantable = item.grantable | change.privileges;
        }
        Ok(())
    }

    /// Whether the grantor has the options only because of the grantee.
    fn comes_from(&self, change: &Change<'_>) -> bool {
        if change.grantor == change.owner {
            return false;
        }
        let mut without = self.clone();
        for item in self.items.iter().filter(|item| item.grantee.as_deref() == change.grantee) {
            let taken = Change { grantor: &item.grantor, privileges: item.grantable, option: true, ..*change };
            if without.revoke(&taken, true).is_err() {
                return true;
            }
        }
        !without.grantable_by(change.grantor).has(change.privileges)
    }

    /// Takes away what the grantor has given.
    ///
    /// # Errors
    /// 2BP01 when something was handed on that the grantee may not hand on any more, without `cascade`.
    pub fn revoke(&mut self, change: &Change<'_>, cascade: bool) -> SqlResult<()> {
        let found =
            self.items.iter_mut().find(|i| i.grantor == change.grantor && i.grantee.as_deref() == change.grantee);
        let Some(item) = found else { return Ok(()) };
        let lost = item.grantable & change.privileges;
        item.grantable = item.grantable & !change.privileges;
        if !change.option {
            item.privileges = item.privileges & !change.privileges;
        }
        self.items.retain(|item| !(item.privileges | item.grantable).is_empty());
        match change.grantee {
            Some(grantee) if grantee != change.owner && !lost.is_empty() => {
                self.revoke_handed_on(grantee, lost, change.owner, cascade)
            }
            _ => Ok(()),
        }
    }

    fn revoke_handed_on(&mut self, by: &str, lost: Privileges, owner: &str, cascade: bool) -> SqlResult<()> {
        let lost = lost & !self.grantable_by(by);
        let dependent = |item: &&AclItem| item.grantor == by && (item.privileges | item.grantable).has_any(lost);
        while let Some(item) = self.items.iter().find(dependent).cloned() {
            if !cascade {
                return Err(SqlError::new(ErrorKind::DependentObjects, "dependent privileges exist")
                    .with_hint("Use CASCADE to revoke them too."));
            }
            let grantee = item.grantee.as_deref();
            self.revoke(&Change { grantor: by, grantee, privileges: lost, option: false, owner }, cascade)?;
        }
        Ok(())
    }

    fn item_mut(&mut self, grantor: &str, grantee: Option<&str>) -> &mut AclItem {
        let known = self.items.iter().position(|i| i.grantor == grantor && i.grantee.as_deref() == grantee);
        let index = known.unwrap_or(self.items.len());
        if known.is_none() {
            self.items.push(AclItem {
                grantee: grantee.map(str::to_owned),
                grantor: grantor.to_owned(),
                privileges: Privileges::NONE,
                grantable: Privileges::NONE,
            });
        }
        &mut self.items[index]
    }

    /// Another role owns the object: what was the old owner's is the new one's.
    pub fn change_owner(&mut self, from: &str, to: &str) {
        let old = std::mem::take(&mut self.items);
        for item in old {
            let renamed = |name: &str| if name == from { to.to_owned() } else { name.to_owned() };
            let grantee = item.grantee.as_deref().map(renamed);
            let merged = self.item_mut(&renamed(&item.grantor), grantee.as_deref());
            merged.privileges = merged.privileges | item.privileges;
            merged.grantable = merged.grantable | item.grantable;
        }
    }

    /// Whether a role has given or was given something.
    pub fn names(&self, role: &str) -> bool {
        self.items.iter().any(|item| item.grantor == role || item.grantee.as_deref() == Some(role))
    }
}

impl AclItem {
    /// As `aclitem` prints, with roles shown by these names: `azt=arwdDxt/azt`, `=r/azt`.
    pub fn printed<'a>(&'a self, shown: impl Fn(&'a str) -> &'a str) -> String {
        let grantee = self.grantee.as_deref().map(|name| printed(shown(name))).unwrap_or_default();
        let letters = self.privileges.letters(self.grantable);
        format!("{grantee}={letters}/{}", printed(shown(&self.grantor)))
    }
}

/// A role's name: quoted unless it is of letters, digits and underscores.
fn printed(role: &str) -> String {
    let is_plain = role.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_plain { role.to_owned() } else { quote_ident(role) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "o";

    fn table() -> Acl {
        Acl::default_of(ObjectKind::Table, OWNER)
    }

    fn change<'a>(grantor: &'a str, grantee: &'a str, letters: &str, option: bool) -> Change<'a> {
        let privileges = Privileges::try_from(letters.to_owned()).unwrap();
        Change { grantor, grantee: (grantee != "public").then_some(grantee), privileges, option, owner: OWNER }
    }

    fn shown(acl: &Acl) -> String {
        acl.items().iter().map(|item| item.printed(|name| name)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_given_is_taken_again() {
        let mut acl = table();
        acl.grant(&change(OWNER, "a", "r", false)).unwrap();
        acl.grant(&change(OWNER, "a", "wa", true)).unwrap();
        acl.grant(&change(OWNER, "public", "r", false)).unwrap();
        assert_eq!(shown(&acl), "o=arwdDxt/o a=a*rw*/o =r/o");
        acl.revoke(&change(OWNER, "a", "w", true), false).unwrap();
        acl.revoke(&change(OWNER, "a", "a", false), false).unwrap();
        assert_eq!(shown(&acl), "o=arwdDxt/o a=rw/o =r/o");
        acl.revoke(&change(OWNER, "a", "rwa", false), false).unwrap();
        acl.revoke(&change(OWNER, OWNER, "arwdDxt", false), false).unwrap();
        assert_eq!(shown(&acl), "=r/o");
        assert_eq!(acl.privileges_of("a"), Privileges::SELECT);
    }

    #[test]
    fn what_was_handed_on_goes_with_its_option() {
        let mut acl = table();
        acl.grant(&change(OWNER, "a", "r", true)).unwrap();
        acl.grant(&change("a", "b", "r", true)).unwrap();
        acl.grant(&change("b", "public", "r", false)).unwrap();
        let refused = acl.clone().revoke(&change(OWNER, "a", "r", true), false).unwrap_err();
        assert_eq!(
            (refused.kind, refused.message.as_str()),
            (ErrorKind::DependentObjects, "dependent privileges exist")
        );
        let mut kept = acl.clone();
        kept.grant(&change(OWNER, "b", "r", true)).unwrap();
        kept.revoke(&change(OWNER, "a", "r", true), true).unwrap();
        assert_eq!(shown(&kept), "o=arwdDxt/o a=r/o =r/b b=r*/o");
        acl.revoke(&change(OWNER, "a", "r", true), true).unwrap();
        assert_eq!(shown(&acl), "o=arwdDxt/o a=r/o");
    }

    #[test]
    fn options_do_not_go_in_circles() {
        let mut acl = table();
        acl.grant(&change(OWNER, "a", "r", true)).unwrap();
        acl.grant(&change("a", "b", "r", true)).unwrap();
        for (grantor, grantee) in [("b", "a"), (OWNER, "public")] {
            let error = acl.grant(&change(grantor, grantee, "r", true)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidGrant, "{grantor} to {grantee}");
        }
    }

    #[test]
    fn another_owner_takes_over() {
        let mut acl = table();
        acl.grant(&change(OWNER, "a", "r", false)).unwrap();
        acl.change_owner(OWNER, "a");
        assert_eq!(shown(&acl), "a=arwdDxt/a");
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let mut acl = Acl::default();
        acl.grant(&change("a b", "Übung_1", "r", false)).unwrap();
        assert_eq!(shown(&acl), "Übung_1=r/\"a b\"");
    }

    #[test]
    fn lists_survive_their_text() {
        let mut acl = table();
        acl.grant(&change(OWNER, "public", "r", false)).unwrap();
        let text = serde_json::to_string(&acl).unwrap();
        assert_eq!(text, r#"[{"grantee":"o","grantor":"o","privileges":"arwdDxt"},{"grantor":"o","privileges":"r"}]"#);
        assert_eq!(serde_json::from_str::<Acl>(&text).unwrap(), acl);
    }
}
