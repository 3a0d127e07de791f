//! What SQL is told of the users in their file: names and roles, never verifiers.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use super::users_file::UsersFile;
use crate::sql::session::{Account, Accounts, AccountsError};

/// The users of a file, for the engine.
#[derive(Debug)]
pub struct FileAccounts(Arc<UsersFile>);

impl FileAccounts {
    pub fn new(file: &Path) -> Self {
        Self(Arc::new(UsersFile::new(file)))
    }
}

#[async_trait]
impl Accounts for FileAccounts {
    async fn all(&self) -> Result<Vec<Account>, AccountsError> {
        let file = self.0.clone();
        let read = tokio::task::spawn_blocking(move || file.current()).await;
        let users = read.map_err(|error| AccountsError(error.to_string()))?;
        let users = users.map_err(|error| AccountsError(error.to_string()))?;
        Ok(users.iter().map(|(name, user)| Account { name: name.to_owned(), role: user.role }).collect())
    }
}
