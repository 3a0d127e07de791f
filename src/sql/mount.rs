//! A further store behind a schema of its own: the name it is mounted under, and what may be done there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tablegate_store::table::TableStore;
use thiserror::Error;

/// Longest name of a schema, in bytes: PostgreSQL's.
const NAME_MAX: usize = 63;

/// The name of a schema that a store is mounted under. Names are kept for the life of the process, so that one is as
/// small as a number: a server has a handful.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountName(&'static str);

/// Why a name cannot be that of a mount.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MountNameError {
    #[error(
        "a name begins with a lower-case letter or _, goes on with those and digits, and has at most {NAME_MAX} characters"
    )]
    Spelling,
    #[error("the schemas public, information_schema and those that begin with pg_ are there already")]
    Reserved,
}

impl MountName {
    /// # Errors
    /// What SQL would have to quote, and the names of schemas that are always there.
    pub fn parse(name: &str) -> Result<Self, MountNameError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        if !begins || !name.chars().all(is_plain) || name.len() > NAME_MAX {
            return Err(MountNameError::Spelling);
        }
        if matches!(name, "public" | "information_schema") || name.starts_with("pg_") {
            return Err(MountNameError::Reserved);
        }
        Ok(Self(kept(name)))
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for MountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for MountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// The one copy of a name.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(new);
    new
}

/// A store that is mounted, with its own catalogue in it.
#[derive(Clone)]
pub struct MountedStore {
    pub name: MountName,
    pub store: Arc<dyn TableStore>,
    /// Nothing is written there: no row, no declaration.
    pub read_only: bool,
}

impl fmt::Debug for MountedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, store: _, read_only } = self;
        f.debug_struct("MountedStore").field("name", name).field("read_only", read_only).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_a_name_that_no_schema_has_and_nobody_must_quote() {
        for name in ["prod", "_x", "a1_b", "pgx"] {
            assert_eq!(MountName::parse(name).map(MountName::as_str), Ok(name));
        }
        assert_eq!(MountName::parse("prod"), MountName::parse(&String::from("prod")));
        for name in ["", "Prod", "1a", "a-b", "a.b", "\u{e4}", &"a".repeat(64)] {
            assert_eq!(MountName::parse(name), Err(MountNameError::Spelling), "{name}");
        }
        for name in ["public", "information_schema", "pg_catalog", "pg_temp", "pg_temp_1", "pg_x"] {
            assert_eq!(MountName::parse(name), Err(MountNameError::Reserved), "{name}");
        }
    }
}
