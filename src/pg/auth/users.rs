//! The users: names, what each may do, and the verifiers of their passwords.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tablegate_sql::session::{Role, is_reserved_role};

use super::verifier::{Verifier, random_bytes};

/// Longer names are cut off by clients and servers of PostgreSQL.
const MAX_NAME_BYTES: usize = 63;
const SECRET_BYTES: usize = 32;

/// Why the users cannot be had or changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error("cannot use the users file {}: {error}", file.display())]
    File { file: PathBuf, error: std::io::Error },
    #[error("the users file {} is damaged: {reason}", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("user \"{0}\" exists already; `tablegate user passwd` changes its password")]
    Exists(String),
    #[error("there is no user \"{0}\"")]
    Missing(String),
    #[error("a user's name has 1 to {MAX_NAME_BYTES} bytes and no control characters")]
    Name,
    #[error("the name \"{0}\" is reserved: public, none and what begins with pg_ are no users")]
    Reserved(String),
    #[error("the system has no random bytes")]
    NoRandomness,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub role: Role,
    /// A user without one exists as a role, but cannot log in.
    pub verifier: Option<Verifier>,
}

/// All users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users {
    /// What the made-up verifiers of unknown names are derived from.
    secret: Vec<u8>,
    by_name: BTreeMap<String, User>,
}

impl Users {
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&User> {
        self.by_name.get(name)
    }

    /// In order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &User)> {
        self.by_name.iter().map(|(name, user)| (name.as_str(), user))
    }

    /// # Errors
    /// When the name is taken or cannot be one.
    pub fn add(&mut self, name: &str, user: User) -> Result<(), UsersError> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
            return Err(UsersError::Name);
        }
        if is_reserved_role(name) {
            return Err(UsersError::Reserved(name.to_owned()));
        }
        if self.by_name.contains_key(name) {
            return Err(UsersError::Exists(name.to_owned()));
        }
        if self.secret.is_empty() {
            self.secret = random_bytes::<SECRET_BYTES>()?.to_vec();
        }
        self.by_name.insert(name.to_owned(), user);
        Ok(())
    }

    /// # Errors
    /// When there is no such user.
    pub fn remove(&mut self, name: &str) -> Result<(), UsersError> {
        self.by_name.remove(name).map(|_| ()).ok_or_else(|| UsersError::Missing(name.to_owned()))
    }

    /// Changes what is not `None`.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn change(
        &mut self,
        name: &str,
        role: Option<Role>,
        verifier: Option<Option<Verifier>>,
    ) -> Result<(), UsersError> {
        let user = self.by_name.get_mut(name).ok_or_else(|| UsersError::Missing(name.to_owned()))?;
        user.role = role.unwrap_or(user.role);
        if let Some(verifier) = verifier {
            user.verifier = verifier;
        }
        Ok(())
    }

    /// The verifier to ask a client about that says it is this user, and whether it is a user's at all.
    pub(super) fn verifier(&self, name: &str) -> (Verifier, bool) {
        match self.by_name.get(name).and_then(|user| user.verifier.as_ref()) {
            Some(verifier) => (verifier.clone(), true),
            None => (Verifier::decoy(&self.secret, name), false),
        }
    }

    /// As the file has them.
    pub(super) fn to_text(&self) -> Result<String, String> {
        let users = self.iter().map(|(name, user)| (name.to_owned(), Record::of(user))).collect();
        let file = FileForm { secret: STANDARD.encode(&self.secret), users };
        toml::to_string(&file).map_err(|error| error.to_string())
    }

    /// # Errors
    /// The reason why the text is not one of users. It quotes nothing of the text.
    pub(super) fn from_text(text: &str) -> Result<Self, String> {
        let file: FileForm = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let secret = STANDARD.decode(&file.secret).map_err(|_| "the secret is not Base64".to_owned())?;
        let mut by_name = BTreeMap::new();
        for (name, record) in file.users {
            let user = record.user().map_err(|reason| format!("user \"{name}\": {reason}"))?;
            by_name.insert(name, user);
        }
        Ok(Self { secret, by_name })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    secret: String,
    #[serde(default)]
    users: BTreeMap<String, Record>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    role: RoleName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verifier: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoleName {
    Admin,
    ReadWrite,
    ReadOnly,
    Granted,
}

impl Record {
    fn of(user: &User) -> Self {
        let role = match user.role {
            Role::Admin => RoleName::Admin,
            Role::ReadWrite => RoleName::ReadWrite,
            Role::ReadOnly => RoleName::ReadOnly,
            Role::Granted => RoleName::Granted,
        };
        Self { role, verifier: user.verifier.as_ref().map(ToString::to_string) }
    }

    fn user(self) -> Result<User, String> {
        let role = match self.role {
            RoleName::Admin => Role::Admin,
            RoleName::ReadWrite => Role::ReadWrite,
            RoleName::ReadOnly => Role::ReadOnly,
            RoleName::Granted => Role::Granted,
        };
        let parsed = self.verifier.map(|text| text.parse()).transpose();
        Ok(User { role, verifier: parsed.map_err(|error: super::verifier::NotAVerifier| error.to_string())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(role: Role) -> User {
        User { role, verifier: Some(Verifier::of_password("secret").unwrap()) }
    }

    fn two() -> Users {
        let mut users = Users::default();
        users.add("bob \"the\" reader = 1", user(Role::ReadOnly)).unwrap();
        users.add("alice", user(Role::ReadWrite)).unwrap();
        users
    }

    #[test]
    fn users_survive_their_text() {
        let users = two();
        let text = users.to_text().unwrap();
        assert_eq!(Users::from_text(&text), Ok(users));
        assert!(text.contains("role = \"read-only\"") && text.contains("SCRAM-SHA-256$4096:"), "{text}");
        assert!(!text.contains("= \"secret\""));
        assert_eq!(Users::from_text(&Users::default().to_text().unwrap()), Ok(Users::default()));
    }

    #[test]
    fn a_text_that_is_not_understood_is_refused() {
        let good = two().to_text().unwrap();
        let wrong = [
            String::new(),
            good.replace("read-only", "superuser"),
            good.replace("SCRAM", "PLAIN"),
            good.replace("role", "rule"),
        ];
        for text in wrong {
            let reason = Users::from_text(&text).unwrap_err();
            assert!(!reason.contains("PLAIN"), "a verifier in a message: {reason}");
        }
    }

    #[test]
    fn names_are_unique_and_clean() {
        let mut users = two();
        assert!(matches!(users.add("alice", user(Role::ReadOnly)), Err(UsersError::Exists(_))));
        for name in ["", "a\0b", "a\nb", &"x".repeat(64)] {
            assert!(matches!(users.add(name, user(Role::ReadOnly)), Err(UsersError::Name)), "{name:?}");
        }
        assert!(matches!(users.remove("eve"), Err(UsersError::Missing(_))));
        users.remove("alice").unwrap();
        assert!(users.get("alice").is_none());
    }

    #[test]
    fn an_unknown_name_has_a_verifier_too() {
        let users = two();
        let (verifier, is_user) = users.verifier("eve");
        assert!(!is_user);
        assert_eq!(users.verifier("eve").0, verifier);
        assert!(users.verifier("alice").1);
    }
}
