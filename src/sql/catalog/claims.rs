//! One transaction at a time changes what a name means.
//!
//! The first transaction to change a table locks its name until it ends; another one waits for that, and then goes on
//! with what was committed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::sync::OwnedMutexGuard;

use crate::place::PlacedName;

/// How long a change waits for another transaction's. Longer than a transaction with DDL should take, and an end to
/// two that wait for each other.
const PATIENCE: Duration = Duration::from_secs(10);

type Name = Arc<tokio::sync::Mutex<()>>;

/// The names that are taken, or were.
#[derive(Default)]
pub(super) struct Claims(Mutex<HashMap<PlacedName, Name>>);

/// The right to change what a name means.
#[derive(Debug)]
pub(crate) struct Claim {
    name: PlacedName,
    _held: OwnedMutexGuard<()>,
}

impl Claim {
    pub(crate) fn name(&self) -> &PlacedName {
        &self.name
    }
}

impl Claims {
    /// Waits for the name.
    ///
    /// # Errors
    /// 55P03 when another transaction does not let go of it.
    pub(super) async fn take(&self, name: &PlacedName) -> SqlResult<Claim> {
        let lock = self.lock_of(name);
        match tokio::time::timeout(PATIENCE, lock.lock_owned()).await {
            Ok(held) => Ok(Claim { name: name.clone(), _held: held }),
            Err(_) => Err(SqlError::new(
                ErrorKind::LockNotAvailable,
                format!("could not obtain lock on relation \"{}\"", name.name),
            )
            .with_detail("Another transaction changes its definition and has not ended.")),
        }
    }

    fn lock_of(&self, name: &PlacedName) -> Name {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|_, lock| Arc::strong_count(lock) > 1);
        names.entry(name.clone()).or_default().clone()
    }
}
