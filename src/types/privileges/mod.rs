//! Privileges on objects, and who gave them to whom.

mod acl;
mod privilege;

pub use self::acl::{Acl, AclItem, Change};
pub use self::privilege::{ObjectKind, Privileges, not_owned};

/// Stands for the owner of objects that no user made: found tables, the sample, the schemas. Shown as one of the users
/// who own everything.
pub const BOOTSTRAP: &str = "tablegate";
