//! CREATE, ALTER and DROP ROLE; SET ROLE and the like.
//!
//! Users are not the store's: what is changed of them is changed at once, for every login from then on, and no ROLLBACK
//! takes it back. So these commands stand alone.

use std::sync::Arc;

use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::Session;
use crate::catalog::schema_oid;
use crate::login::{AccountChange, Accounts, AccountsError, Login, Role};
use crate::outcome::{CommandTag, Outcome};
use crate::place::Place;
use crate::privileges::{Rights, Roles, unknown_role};
use crate::syntax::{Grantee, RoleCommand, RoleOptions};

impl Session {
    pub(super) async fn run_role(&mut self, command: &RoleCommand) -> SqlResult<Outcome> {
        let tag = match command {
            RoleCommand::Create { name, options } => {
                self.create_role(name, options).await?;
                "CREATE ROLE"
            }
            RoleCommand::Alter { role, options } => {
                self.alter_role(role, options).await?;
                "ALTER ROLE"
            }
            RoleCommand::Drop { names, if_exists } => {
                self.drop_roles(names, *if_exists).await?;
                "DROP ROLE"
            }
            RoleCommand::Set(role) => {
                self.check_may_be(role.as_deref(), "set role").await?;
                "SET"
            }
            RoleCommand::SetAuthorization(role) => {
                self.check_may_be(role.as_deref(), "set session authorization").await?;
                "SET"
            }
            RoleCommand::Reset => "RESET",
            RoleCommand::Refused(what) => return Err(SqlError::not_supported(what).with_hint(hint_for(what))),
        };
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    async fn create_role(&self, name: &str, options: &RoleOptions) -> SqlResult<()> {
        self.check_alone("CREATE ROLE")?;
        if !self.rights.manages_users() {
            return Err(SqlError::new(ErrorKind::InsufficientPrivilege, "permission denied to create role"));
        }
        check_name(name)?;
        let (role, password) = check_options(options)?;
        let accounts = self.kept_accounts("CREATE ROLE")?;
        let roles = self.roles().await?;
        let is_first = self.engine.accounts().await?.is_empty();
        if is_first && (role != Some(true) || password.as_ref().is_none_or(Option::is_none)) {
            return Err(SqlError::new(
                ErrorKind::ObjectNotInState,
                "the first user must be a superuser with a password",
            )
            .with_detail("As soon as there is a user, everybody logs in with a password.")
            .with_hint(format!("CREATE ROLE {name} SUPERUSER LOGIN PASSWORD '...';")));
        }
        if options.login == Some(false) && password.is_some() {
            return Err(
                SqlError::not_supported("NOLOGIN with a password").with_hint("Say LOGIN, or leave the password out.")
            );
        }
        let role = if role == Some(true) { Role::Admin } else { Role::Granted };
        let change = AccountChange::Add { role, password: password.flatten() };
        self.told(name, &roles, accounts.change(name, change).await)
    }

    async fn alter_role(&self, role: &Grantee, options: &RoleOptions) -> SqlResult<()> {
        self.check_alone("ALTER ROLE")?;
        let roles = self.roles().await?;
        let name = match role {
            Grantee::Named(name) => name.as_str(),
            Grantee::Current | Grantee::Public => self.rights.user(),
        };
        let known = roles.named(name).ok_or_else(|| unknown_role(name))?;
        let (superuser, password) = check_options(options)?;
        let is_own_password = name == self.rights.user()
            && superuser.is_none()
            && options.login.is_none()
            && options.of_superusers.is_none();
        if !self.rights.manages_users() && !is_own_password {
            return Err(SqlError::new(ErrorKind::InsufficientPrivilege, "permission denied"));
        }
        let accounts = self.kept_accounts("ALTER ROLE")?;
        // What is to log in needs a password, and what has one may.
        if options.login == Some(false) && known.can_login && password != Some(None) {
            return Err(SqlError::not_supported("NOLOGIN of a user with a password").with_hint("Say PASSWORD NULL."));
        }
        let role = match superuser {
            Some(true) => Some(Role::Admin),
            Some(false) if known.role == Role::Admin => Some(Role::Granted),
            _ => None,
        };
        self.told(name, &roles, accounts.change(name, AccountChange::Change { role, password }).await)
    }

    async fn drop_roles(&mut self, names: &[String], if_exists: bool) -> SqlResult<()> {
        self.check_alone("DROP ROLE")?;
        if !self.rights.manages_users() {
            return Err(SqlError::new(ErrorKind::InsufficientPrivilege, "permission denied to drop role"));
        }
        let roles = self.roles().await?;
        let mut dropped = Vec::new();
        for name in names {
            match roles.named(name) {
                Some(_) if name == self.rights.user() => {
                    return Err(SqlError::new(ErrorKind::ObjectInUse, "current user cannot be dropped"));
                }
                Some(_) => {
                    self.check_unneeded(name).await?;
                    dropped.push(name);
                }
                None if if_exists => {
                    self.notice(Notice::info(format!("role \"{name}\" does not exist, skipping")));
                }
                None => return Err(unknown_role(name)),
            }
        }
        for name in dropped {
            let done = self.kept_accounts("DROP ROLE")?.change(name, AccountChange::Remove).await;
            self.told(name, &roles, done)?;
        }
        Ok(())
    }

    /// Nothing may be owned by a role that is dropped, nor granted to it: a later user of its name would have it.
    async fn check_unneeded(&self, name: &str) -> SqlResult<()> {
        let reads = self.reads();
        let relations = reads.relations().await?;
        let mut lines = Vec::new();
        for access in reads.catalog.accesses().filter(|access| access.names(name)) {
            let table = relations.iter().find(|r| r.oid == access.oid).map(|r| format!("table {}", r.name));
            let sequence = || {
                let found = reads.catalog.sequences().find(|s| s.oid == access.oid);
                found.map(|s| format!("sequence {}", s.name))
            };
            let schema = || {
                let mut places = [Place::Public].into_iter().chain(reads.catalog.search().mounts());
                places.find(|place| schema_oid(*place) == access.oid).map(|place| format!("schema {}", place.schema()))
            };
            let object = table.or_else(sequence).or_else(schema).unwrap_or_else(|| "the database".to_owned());
            let is_owner = access.owner() == name;
            lines.push(if is_owner { format!("owner of {object}") } else { format!("privileges for {object}") });
        }
        if lines.is_empty() {
            return Ok(());
        }
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        Err(SqlError::new(ErrorKind::DependentObjects, message).with_detail(lines.join("\n")))
    }

    /// The user's role as it is now. A session whose user was dropped keeps only what PUBLIC has.
    ///
    /// # Errors
    /// 58030 when the users cannot be read: no session may go on with rights that may have been revoked.
    pub(super) async fn follow_role(&mut self) -> SqlResult<()> {
        let role = match self.engine.role_of(&self.user).await? {
            Some(role) => {
                self.is_user = true;
                role
            }
            None if self.is_user => Role::Granted,
            None => return Ok(()),
        };
        if role != self.login.role {
            self.login = Arc::new(Login { role, ..Login::clone(&self.login) });
            self.rights = Rights::new(&self.user, role);
            self.settings.follow_role(role);
        }
        Ok(())
    }

    /// Refuses a session that has changed to another role, or wants to: roles have no members here.
    async fn check_may_be(&self, role: Option<&str>, what: &str) -> SqlResult<()> {
        let Some(role) = role.filter(|role| *role != self.rights.user()) else { return Ok(()) };
        if self.roles().await?.named(role).is_none() {
            let message = format!("role \"{role}\" does not exist");
            return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
        }
        let target = if what == "set role" { format!(" \"{role}\"") } else { String::new() };
        Err(SqlError::new(ErrorKind::InsufficientPrivilege, format!("permission denied to {what}{target}"))
            .with_hint("Connect as that user."))
    }

    fn check_alone(&self, what: &'static str) -> SqlResult<()> {
        self.check_writable(what)?;
        if self.transaction.in_block() {
            let message = format!("{what} cannot run inside a transaction block");
            return Err(SqlError::new(ErrorKind::ActiveTransaction, message)
                .with_detail("Users are changed at once, and no ROLLBACK takes it back."));
        }
        Ok(())
    }

    fn kept_accounts(&self, what: &str) -> SqlResult<&dyn Accounts> {
        self.engine.config().accounts.as_deref().ok_or_else(|| {
            SqlError::not_supported(format!("{what} on a server that keeps no users"))
                .with_hint("Start it with --users FILE, or with a data folder; `tablegate user add` makes users, too.")
        })
    }

    fn told(&self, name: &str, roles: &Roles, done: Result<(), AccountsError>) -> SqlResult<()> {
        let by = self.rights.user();
        match done {
            Ok(()) => {
                self.engine.forget_roles();
                tracing::info!(?by, user = ?name, "a user was changed");
                Ok(())
            }
            Err(AccountsError::Exists) => {
                Err(SqlError::new(ErrorKind::DuplicateObject, format!("role \"{name}\" already exists")))
            }
            Err(AccountsError::Missing) if roles.named(name).is_some() => {
                // Somebody who needed no password, or who left tables behind.
                Err(SqlError::not_supported(format!("changing \"{name}\", who is no user of this server"))
                    .with_hint("CREATE ROLE makes users."))
            }
            Err(AccountsError::Missing) => Err(unknown_role(name)),
            Err(AccountsError::Refused(why)) => Err(SqlError::new(ErrorKind::InvalidParameterValue, why)),
            Err(AccountsError::Unavailable(why)) => {
                tracing::error!(%why, "a user could not be changed");
                Err(SqlError::new(ErrorKind::StoreFailure, "the users of this server cannot be changed"))
            }
        }
    }
}

/// Whether the role is to be a superuser, and its password.
type Asked = (Option<bool>, Option<Option<crate::login::Secret>>);

fn check_options(options: &RoleOptions) -> SqlResult<Asked> {
    if let Some(what) = options.refused {
        return Err(SqlError::not_supported(what).with_hint(hint_for(what)));
    }
    if let Some(what) = options.of_superusers.filter(|_| options.superuser != Some(true)) {
        return Err(SqlError::not_supported(format!("{what} without SUPERUSER"))
            .with_hint("Only superusers make users; nobody makes databases."));
    }
    Ok((options.superuser, options.password.clone()))
}

/// Whether SQL keeps a name to itself: no user can have it.
pub fn is_reserved_role(name: &str) -> bool {
    name == "public" || name == "none" || name.starts_with("pg_")
}

/// Names that cannot be a user's.
fn check_name(name: &str) -> SqlResult<()> {
    if is_reserved_role(name) {
        let mut error = SqlError::new(ErrorKind::ReservedName, format!("role name \"{name}\" is reserved"));
        if name.starts_with("pg_") {
            error = error.with_detail("Role names starting with \"pg_\" are reserved.");
        }
        return Err(error);
    }
    Ok(())
}

fn hint_for(what: &str) -> &'static str {
    match what {
        "membership of roles in roles" => "Grant the privileges to each user, or to PUBLIC.",
        "CONNECTION LIMIT" => "The limit of all users is the server's: --max-connections-per-user.",
        "VALID UNTIL" => "Say PASSWORD NULL when the time has come.",
        "ALTER ROLE ... SET" => "Set it in the client: PGOPTIONS, or options= in the connection string.",
        "ALTER ROLE ... RENAME" => "Make another user, and grant it what this one has.",
        _ => "There are no foreign servers.",
    }
}
