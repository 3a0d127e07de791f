//! The one database, under the name that a session's client asked for: clients look for that name in the catalogue.

use std::ops::Deref;
use std::sync::Arc;

use tablegate_types::input::shortened_name;

/// As text it is the name the session sees.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    asked: Arc<str>,
    /// What the server calls it, for every session alike.
    own: Arc<str>,
}

impl Database {
    /// A client that asks for none has it under the server's name.
    pub(crate) fn new(asked: &str, own: &str) -> Self {
        let own = Arc::from(own);
        let asked = if asked.is_empty() { Arc::clone(&own) } else { shortened_name(asked).into() };
        Self { asked, own }
    }

    /// The name that stays when another client comes.
    pub(crate) fn own_name(&self) -> &str {
        &self.own
    }

    /// Scripts may have been written for the server's name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        *self.asked == *name || *self.own == *name
    }
}

impl Deref for Database {
    type Target = str;

    fn deref(&self) -> &str {
        &self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::Database;

    #[test]
    fn names_are_as_long_as_postgres_keeps_them() {
        let asked = format!("{}é", "d".repeat(62));
        assert_eq!(*Database::new(&asked, "own"), *"d".repeat(62));
        assert_eq!(*Database::new("", "own"), *"own");
    }
}
