//! Privileges on objects, and who gave them to whom.

mod acl;
mod privilege;

pub use self::acl::{Acl, AclItem, Change};
pub use self::privilege::{ObjectKind, Privileges, not_owned};
