//! Who may do what with which table.
//!
//! Users come from outside ([`Accounts`](super::login::Accounts)): a name, a role, and nothing else. A user has at
//! least the rights of its role; GRANT can only add to them:
//!
//! ```text
//! admin        everything, and the users themselves
//! read-write   everything with tables: these users and the admins own them all together
//! read-only    reads every table; its transactions are read-only
//! granted      nothing but what GRANT gave to the user or to PUBLIC, and what the user made
//! ```
//!
//! What is granted on a table, a sequence, the schema or the database is an entry of the catalogue under the object's OID,
//! so it stays with a table that is renamed and goes with one that is dropped.
//!
//! What a statement needs is told in one place ([`demands`]) by its syntax, kind by kind, and checked in one place each
//! time a statement runs (`Session::run`), prepared ones, cursors' and EXECUTE's among them: a kind of statement that
//! is not on the list does not compile. Only names in the statement's text are checked, so what a view reads is checked
//! against its owner's rights, not the reader's.

mod demands;
mod rights;
mod roles;

pub(super) use self::demands::{Demand, Wanted, demands};
pub(super) use self::rights::Rights;
pub(super) use self::roles::{KnownRole, Roles, unknown_role};
