//! What SQL is told of the users in their file, and may change there: names, roles and new passwords, never verifiers.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tablegate_sql::session::{Account, AccountChange, Accounts, AccountsError, Role, Secret};

use super::users::{User, Users, UsersError};
use super::users_file::UsersFile;
use super::verifier::Verifier;

/// The users of a file, for the engine.
#[derive(Debug)]
pub struct FileAccounts(Arc<UsersFile>);

impl FileAccounts {
    pub fn new(file: &Path) -> Self {
        Self(Arc::new(UsersFile::new(file)))
    }

    /// Files are not for threads that serve.
    async fn with_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&UsersFile) -> Result<T, AccountsError> + Send + 'static,
    ) -> Result<T, AccountsError> {
        let file = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&file)).await;
        done.map_err(|error| AccountsError::Unavailable(error.to_string()))?
    }
}

#[async_trait]
impl Accounts for FileAccounts {
    async fn all(&self) -> Result<Vec<Account>, AccountsError> {
        self.with_file(|file| {
            let users = file.current().map_err(told)?;
            let account = |(name, user): (&str, &User)| Account {
                name: name.to_owned(),
                role: user.role,
                can_login: user.verifier.is_some(),
            };
            Ok(users.iter().map(account).collect())
        })
        .await
    }

    async fn change(&self, name: &str, change: AccountChange) -> Result<(), AccountsError> {
        let name = name.to_owned();
        self.with_file(move |file| {
            let change = Checked::of(change)?;
            file.change(|users| change.apply(users, &name)).map_err(told)
        })
        .await
    }
}

/// A change whose password was already turned into a verifier. That takes long, so it is done before the users file is
/// locked.
enum Checked {
    Add(User),
    Alter { role: Option<Role>, verifier: Option<Option<Verifier>> },
    Remove,
}

impl Checked {
    fn of(change: AccountChange) -> Result<Self, AccountsError> {
        let verifier = |secret: Option<Secret>| secret.map(|secret| verifier_of(secret.reveal())).transpose();
        Ok(match change {
            AccountChange::Add { role, password } => Self::Add(User { role, verifier: verifier(password)? }),
            AccountChange::Change { role, password } => {
                Self::Alter { role, verifier: password.map(verifier).transpose()? }
            }
            AccountChange::Remove => Self::Remove,
        })
    }

    fn apply(self, users: &mut Users, name: &str) -> Result<(), UsersError> {
        match self {
            Self::Add(user) => users.add(name, user),
            Self::Alter { role, verifier } => users.change(name, role, verifier),
            Self::Remove => users.remove(name),
        }
    }
}

/// The verifier that a text is, or that of the password it is.
fn verifier_of(text: &str) -> Result<Verifier, AccountsError> {
    if text.is_empty() {
        return Err(AccountsError::Refused("a password must not be empty".to_owned()));
    }
    if let Ok(verifier) = text.parse() {
        return Ok(verifier);
    }
    let is_md5 = text.len() == 35 && text.starts_with("md5") && text.bytes().skip(3).all(|b| b.is_ascii_hexdigit());
    if is_md5 {
        return Err(AccountsError::Refused("passwords hashed with MD5 cannot be used here".to_owned()));
    }
    Verifier::of_password(text).map_err(told)
}

fn told(error: UsersError) -> AccountsError {
    match error {
        UsersError::Exists(_) => AccountsError::Exists,
        UsersError::Missing(_) => AccountsError::Missing,
        UsersError::Name | UsersError::Reserved(_) => AccountsError::Refused(error.to_string()),
        UsersError::File { .. } | UsersError::Damaged { .. } | UsersError::NoRandomness => {
            AccountsError::Unavailable(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Option<Secret> {
        Some(Secret::new(text.to_owned()))
    }

    #[tokio::test]
    async fn users_are_made_changed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = FileAccounts::new(&folder.path().join("users.toml"));
        accounts.change("a", AccountChange::Add { role: Role::Granted, password: secret("x") }).await.unwrap();
        accounts.change("b", AccountChange::Add { role: Role::Granted, password: None }).await.unwrap();
        let again = accounts.change("a", AccountChange::Add { role: Role::Admin, password: None }).await;
        assert!(matches!(again, Err(AccountsError::Exists)));
        let verifier = Verifier::of_password("y").unwrap().to_string();
        let change = AccountChange::Change { role: Some(Role::Admin), password: Some(secret(&verifier)) };
        accounts.change("b", change).await.unwrap();
        let kept = UsersFile::new(folder.path().join("users.toml")).read().unwrap();
        assert_eq!(kept.get("b").unwrap().verifier.as_ref().map(ToString::to_string), Some(verifier));
        accounts.change("a", AccountChange::Remove).await.unwrap();
        let expected = Account { name: "b".to_owned(), role: Role::Admin, can_login: true };
        assert_eq!(accounts.all().await.unwrap(), [expected]);
        assert!(matches!(accounts.change("a", AccountChange::Remove).await, Err(AccountsError::Missing)));
    }

    #[test]
    fn what_cannot_be_a_password_is_refused() {
        for text in ["", "md5aabbccddeeff00112233445566778899"] {
            assert!(matches!(verifier_of(text), Err(AccountsError::Refused(_))), "{text}");
        }
        assert!(verifier_of("md5").is_ok());
    }
}
