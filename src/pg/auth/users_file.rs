//! The file that keeps the users.

use std::io;
use std::path::Path;

use tablegate_files::{Kept, KeptFile};

use super::users::{Users, UsersError};

/// The users of a file.
pub type UsersFile = KeptFile<Users>;

impl Kept for Users {
    type Error = UsersError;

    const HEADER: &'static str = "# The users of tablegate, as `tablegate user` writes them. There are no passwords here, \
                                  only what\n# they are checked with; keep it to yourself all the same.\n\n";
    const PREFIX: &'static str = ".users";

    fn from_text(text: &str, file: &Path) -> Result<Self, UsersError> {
        Users::from_text(text).map_err(|reason| damaged(file, reason))
    }

    fn to_text(&self, file: &Path) -> Result<String, UsersError> {
        Users::to_text(self).map_err(|reason| damaged(file, reason))
    }

    fn unusable(file: &Path, error: io::Error) -> UsersError {
        UsersError::File { file: file.to_owned(), error }
    }
}

fn damaged(file: &Path, reason: String) -> UsersError {
    UsersError::Damaged { file: file.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::auth::{User, Verifier};
    use tablegate_sql::session::Role;

    fn add(file: &UsersFile, name: &str) -> Result<(), UsersError> {
        let user = User { role: Role::ReadOnly, verifier: Some(Verifier::of_password("x").unwrap()) };
        file.change(|users| users.add(name, user))
    }

    #[test]
    fn changes_are_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = UsersFile::new(folder.path().join("new/users.toml"));
        assert!(file.current().unwrap().is_empty());
        add(&file, "a").unwrap();
        assert!(file.current().unwrap().get("a").is_some());
        let again = file.current().unwrap();
        assert!(Arc::ptr_eq(&again, &file.current().unwrap()), "it is read only when it changed");
        add(&UsersFile::new(folder.path().join("new/users.toml")), "b").unwrap();
        assert!(file.current().unwrap().get("b").is_some());
    }

    #[test]
    fn a_change_that_fails_leaves_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        let file = UsersFile::new(&path);
        add(&file, "a").unwrap();
        let before = fs::read(&path).unwrap();
        assert!(add(&file, "a").is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::write(&path, "secret = ").unwrap();
        assert!(matches!(add(&file, "b"), Err(UsersError::Damaged { .. })));
        assert!(matches!(file.current(), Err(UsersError::Damaged { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"secret = ");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        add(&UsersFile::new(&path), "a").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
