//! The privileges there are, their letters in access control lists, and which of them an object can have.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, SqlError, SqlResult};

/// A set of privileges. Kept and shown as PostgreSQL's letters: `arwdDxt`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Privileges(u16);

/// Each privilege with its letter and its name, in the order in which lists show them.
const KNOWN: [(Privileges, char, &str); 12] = [
    (Privileges::INSERT, 'a', "INSERT"),
    (Privileges::SELECT, 'r', "SELECT"),
    (Privileges::UPDATE, 'w', "UPDATE"),
    (Privileges::DELETE, 'd', "DELETE"),
    (Privileges::TRUNCATE, 'D', "TRUNCATE"),
    (Privileges::REFERENCES, 'x', "REFERENCES"),
    (Privileges::TRIGGER, 't', "TRIGGER"),
    (Privileges::EXECUTE, 'X', "EXECUTE"),
    (Privileges::USAGE, 'U', "USAGE"),
    (Privileges::CREATE, 'C', "CREATE"),
    (Privileges::TEMPORARY, 'T', "TEMPORARY"),
    (Privileges::CONNECT, 'c', "CONNECT"),
];

impl Privileges {
    pub const NONE: Self = Self(0);
    pub const INSERT: Self = Self(1);
    pub const SELECT: Self = Self(1 << 1);
    pub const UPDATE: Self = Self(1 << 2);
    pub const DELETE: Self = Self(1 << 3);
    pub const TRUNCATE: Self = Self(1 << 4);
    pub const REFERENCES: Self = Self(1 << 5);
    pub const TRIGGER: Self = Self(1 << 6);
    pub const EXECUTE: Self = Self(1 << 7);
    pub const USAGE: Self = Self(1 << 8);
    pub const CREATE: Self = Self(1 << 9);
    pub const TEMPORARY: Self = Self(1 << 10);
    pub const CONNECT: Self = Self(1 << 11);

    /// The privilege of this name, which PostgreSQL has.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let name = if name == "TEMP" { "TEMPORARY" } else { &name };
        KNOWN.iter().find(|(_, _, known)| *known == name).map(|(privilege, ..)| *privilege)
    }

    /// Each one on its own, with its name.
    pub fn each(self) -> impl Iterator<Item = (Self, &'static str)> {
        KNOWN.iter().filter(move |(one, ..)| self.has(*one)).map(|(one, _, name)| (*one, *name))
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether all of these are among them.
    pub fn has(self, others: Self) -> bool {
        self & others == others
    }

    /// Whether one of these is among them.
    pub fn has_any(self, others: Self) -> bool {
        !(self & others).is_empty()
    }

    /// As lists show them, a star behind each that may be handed on.
    pub fn letters(self, grantable: Self) -> String {
        let mut letters = String::new();
        for (privilege, letter, _) in KNOWN {
            if self.has(privilege) {
                letters.push(letter);
            }
            if grantable.has(privilege) {
                letters.push('*');
            }
        }
        letters
    }
}

impl BitOr for Privileges {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Privileges {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.letters(Self::NONE))
    }
}

impl From<Privileges> for String {
    fn from(privileges: Privileges) -> Self {
        privileges.letters(Privileges::NONE)
    }
}

impl TryFrom<String> for Privileges {
    type Error = String;

    fn try_from(letters: String) -> Result<Self, String> {
        letters.chars().try_fold(Self::NONE, |all, letter| {
            let known = KNOWN.iter().find(|(_, known, _)| *known == letter);
            known.map(|(one, ..)| all | *one).ok_or_else(|| format!("there is no privilege {letter:?}"))
        })
    }
}

/// What privileges are given on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Table,
    Sequence,
    Schema,
    Database,
}

impl ObjectKind {
    /// What messages call it.
    pub fn noun(self) -> &'static str {
        match self {
            ObjectKind::Table => "table",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Schema => "schema",
            ObjectKind::Database => "database",
        }
    }

    /// Every privilege that there can be on it.
    pub fn all(self) -> Privileges {
        use Privileges as P;
        match self {
            ObjectKind::Table => {
                P::INSERT | P::SELECT | P::UPDATE | P::DELETE | P::TRUNCATE | P::REFERENCES | P::TRIGGER
            }
            ObjectKind::Sequence => P::SELECT | P::UPDATE | P::USAGE,
            ObjectKind::Schema => P::USAGE | P::CREATE,
            ObjectKind::Database => P::CREATE | P::TEMPORARY | P::CONNECT,
        }
    }

    /// What PUBLIC may do by default.
    pub fn of_public(self) -> Privileges {
        match self {
            ObjectKind::Table | ObjectKind::Sequence => Privileges::NONE,
            ObjectKind::Schema => Privileges::USAGE,
            ObjectKind::Database => Privileges::TEMPORARY | Privileges::CONNECT,
        }
    }

    /// # Errors
    /// 0LP01 for a privilege that there cannot be on it.
    pub fn check(self, privileges: Privileges) -> SqlResult<()> {
        match (privileges & !self.all()).each().next() {
            None => Ok(()),
            Some((_, name)) => {
                let message = format!("invalid privilege type {name} for {}", self.noun());
                Err(SqlError::new(ErrorKind::InvalidGrant, message))
            }
        }
    }

    /// The error for a role that does not have the privilege (42501).
    pub fn denied(self, name: &str) -> Box<SqlError> {
        let message = format!("permission denied for {} {name}", self.noun());
        SqlError::new(ErrorKind::InsufficientPrivilege, message)
    }

    /// The error for a role that does not own the object (42501).
    pub fn not_owned(self, name: &str) -> Box<SqlError> {
        not_owned(self.noun(), name)
    }
}

/// The error for a role that does not own an object (42501).
pub fn not_owned(noun: &str, name: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InsufficientPrivilege, format!("must be owner of {noun} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_postgresql() {
        assert_eq!(ObjectKind::Table.all().letters(Privileges::NONE), "arwdDxt");
        assert_eq!(ObjectKind::Sequence.all().letters(Privileges::USAGE), "rwU*");
        assert_eq!(ObjectKind::Database.of_public().letters(Privileges::NONE), "Tc");
        for kind in [ObjectKind::Table, ObjectKind::Sequence, ObjectKind::Schema, ObjectKind::Database] {
            assert_eq!(Privileges::try_from(String::from(kind.all())), Ok(kind.all()));
        }
        assert!(Privileges::try_from("rz".to_owned()).is_err());
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(Privileges::named("select"), Some(Privileges::SELECT));
        assert_eq!(Privileges::named("Temp"), Privileges::named("temporary"));
        assert_eq!(Privileges::named("foo"), None);
        assert_eq!(
            ObjectKind::Table.check(Privileges::USAGE).unwrap_err().message,
            "invalid privilege type USAGE for table"
        );
    }
}
