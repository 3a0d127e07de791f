//! The door: what a client has to do to be let in, and how long the wrong ones wait to hear that they are not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tablegate_sql::session::{Role, SessionOptions};
use tablegate_types::error::ErrorKind;
use tokio::sync::Semaphore;

use super::scram::{self, Proof};
use super::users::Users;
use super::users_file::UsersFile;
use super::{AuthConfig, Method, is_loopback};
use crate::error::Failure;
use crate::halt::Halt;
use crate::stream::Stream;
use crate::tls::Tls;

/// How long a client waits for the answer that its password is wrong.
const PENALTY: Duration = Duration::from_secs(1);
/// How many serve their penalty at once; the others wait for their turn, so that guessing is slow for all together.
const PENALTIES: usize = 16;

/// Decides who is let in.
pub(crate) struct Gate {
    method: Method,
    trust_loopback: bool,
    require_tls: bool,
    tls: Option<Tls>,
    users: Option<Arc<UsersFile>>,
    /// Set once a users file with users was read. From then on a missing file refuses every login instead of meaning
    /// that no login is needed.
    had_users: AtomicBool,
    penalties: Semaphore,
}

/// Who was let in.
pub(crate) struct Admitted {
    pub(crate) role: Role,
    /// A user of the file's that is one: where there are no users everybody has that role.
    pub(crate) is_admin: bool,
}

/// What a client is asked for.
enum Demand {
    Nothing,
    Password,
}

impl Gate {
    pub(crate) fn new(config: &AuthConfig, tls: Option<Tls>, require_tls: bool) -> Self {
        Self {
            method: config.method,
            trust_loopback: config.trust_loopback,
            require_tls,
            tls,
            users: config.users.as_ref().map(|file| Arc::new(UsersFile::new(file))),
            had_users: AtomicBool::new(false),
            penalties: Semaphore::new(PENALTIES),
        }
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Lets a client in as the user it wants to be, or says why not.
    ///
    /// # Errors
    /// 28000 for a connection of the wrong kind, 28P01 for a wrong password or name, 08P01 for nonsense.
    pub(crate) async fn admit(
        &self,
        stream: &mut Stream,
        peer: SocketAddr,
        options: &SessionOptions,
    ) -> Result<Admitted, Halt> {
        if self.require_tls && stream.encryption().is_none() {
            return Err(Halt::Fatal(no_entry(peer, options, stream)));
        }
        let users = self.users().await?;
        match self.demand(&users, peer) {
            Some(Demand::Nothing) => {}
            Some(Demand::Password) => self.check_password(stream, peer, &users, &options.user).await?,
            None => return Err(Halt::Fatal(no_entry(peer, options, stream))),
        }
        let user = users.get(&options.user);
        let is_admin = user.is_some_and(|user| user.role == Role::Admin);
        Ok(Admitted { role: user.map_or(Role::Admin, |user| user.role), is_admin })
    }

    fn demand(&self, users: &Users, peer: SocketAddr) -> Option<Demand> {
        let is_near = is_loopback(peer.ip());
        let has_users = !users.is_empty() || self.had_users.load(Ordering::Relaxed);
        match self.method {
            _ if is_near && self.trust_loopback => Some(Demand::Nothing),
            Method::Trust if is_near => Some(Demand::Nothing),
            Method::Auto if is_near && !has_users => Some(Demand::Nothing),
            Method::Trust => None,
            Method::Auto | Method::Scram => Some(Demand::Password),
        }
    }

    async fn users(&self) -> Result<Arc<Users>, Halt> {
        let Some(file) = self.users.clone() else { return Ok(Arc::default()) };
        let read = tokio::task::spawn_blocking(move || file.current()).await;
        let users = match read {
            Ok(Ok(users)) => users,
            Ok(Err(error)) => return Err(unreadable(&error)),
            Err(error) => return Err(unreadable(&error)),
        };
        if !users.is_empty() {
            self.had_users.store(true, Ordering::Relaxed);
        }
        Ok(users)
    }

    async fn check_password(
        &self,
        stream: &mut Stream,
        peer: SocketAddr,
        users: &Users,
        name: &str,
    ) -> Result<(), Halt> {
        let (verifier, is_user) = users.verifier(name);
        let bound = stream.encryption().and(self.tls.as_ref()).and_then(Tls::bound_scram);
        if scram::exchange(stream, &verifier, is_user, bound).await? == Proof::Right {
            return Ok(());
        }
        tracing::warn!(user = ?name, %peer, "password authentication failed");
        // Closed never: the error is that of a semaphore that is.
        let _turn = self.penalties.acquire().await;
        tokio::time::sleep(PENALTY).await;
        Err(Halt::Fatal(Failure::WrongPassword(name.to_owned())))
    }
}

/// Refuses a login because the users cannot be read. The reason goes to the log only, because it names files.
fn unreadable(error: &dyn std::error::Error) -> Halt {
    tracing::error!(%error, "nobody can log in");
    Halt::Fatal(Failure::sql(ErrorKind::StoreFailure, "the users of this server cannot be read"))
}

fn no_entry(peer: SocketAddr, options: &SessionOptions, stream: &Stream) -> Failure {
    let encryption = if stream.encryption().is_some() { "SSL encryption" } else { "no encryption" };
    let (user, database, host) = (&options.user, &options.database, peer.ip().to_canonical());
    tracing::warn!(?user, %peer, encryption, "a connection of this kind is not allowed");
    Failure::NotAuthorized(format!(
        "no pg_hba.conf entry for host \"{host}\", user \"{user}\", database \"{database}\", {encryption}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{User, Verifier};

    const NEAR: &str = "127.0.0.1:1";
    const FAR: &str = "10.0.0.1:1";

    fn gate(method: Method, trust_loopback: bool) -> Gate {
        Gate::new(&AuthConfig { method, trust_loopback, users: None }, None, false)
    }

    fn one_user() -> Users {
        let mut users = Users::default();
        let verifier = Some(Verifier::of_password("x").unwrap());
        users.add("u", User { role: Role::ReadWrite, verifier }).unwrap();
        users
    }

    fn asks(gate: &Gate, users: &Users, peer: &str) -> &'static str {
        match gate.demand(users, peer.parse().unwrap()) {
            Some(Demand::Nothing) => "nothing",
            Some(Demand::Password) => "password",
            None => "leave",
        }
    }

    #[test]
    fn only_this_machine_is_ever_trusted() {
        let (none, some) = (Users::default(), one_user());
        for (method, trust_loopback, users, near, far) in [
            (Method::Auto, false, &none, "nothing", "password"),
            (Method::Auto, false, &some, "password", "password"),
            (Method::Auto, true, &some, "nothing", "password"),
            (Method::Scram, false, &none, "password", "password"),
            (Method::Scram, true, &some, "nothing", "password"),
            (Method::Trust, false, &some, "nothing", "leave"),
        ] {
            let gate = gate(method, trust_loopback);
            assert_eq!((asks(&gate, users, NEAR), asks(&gate, users, FAR)), (near, far), "{method:?} {trust_loopback}");
        }
        assert_eq!(asks(&gate(Method::Auto, false), &none, "[::ffff:127.0.0.1]:1"), "nothing");
    }

    #[test]
    fn users_that_are_gone_do_not_open_the_door() {
        let gate = gate(Method::Auto, false);
        gate.had_users.store(true, Ordering::Relaxed);
        assert_eq!(asks(&gate, &Users::default(), NEAR), "password");
    }
}
