//! `tablegate user`: who may log in. Works on the users file alone, so a server may run meanwhile: it looks at the next
//! login whether the file has changed.

use std::io::{self, BufRead, IsTerminal, Write};

use tablegate_pg::{Role, User, UsersError, UsersFile, Verifier};
use thiserror::Error;

use super::args::UserCommand;
use super::config::Config;

/// Why a user could not be added, changed or removed.
#[derive(Debug, Error)]
pub(super) enum UserError {
    #[error("a store in memory keeps no users; say where they are with --users")]
    NoFile,
    #[error("cannot read the password: {0}")]
    Unreadable(io::Error),
    #[error("the two passwords are not the same")]
    NotTheSame,
    #[error("a password must not be empty")]
    Empty,
    #[error(transparent)]
    Users(#[from] UsersError),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Carries out the command and says what was done.
///
/// # Errors
/// One line for the person who asked.
pub(super) fn run(command: &UserCommand, config: &Config) -> Result<(), UserError> {
    let file = UsersFile::new(config.users.as_ref().ok_or(UserError::NoFile)?);
    let text = match command {
        UserCommand::Add { name, role } => {
            let role = role.role();
            let verifier = Some(Verifier::of_password(&password(name)?)?);
            file.change(|users| users.add(name, User { role, verifier }))?;
            format!("user \"{name}\" may log in, {}\n", role_name(role))
        }
        UserCommand::Passwd { name } => {
            let verifier = Verifier::of_password(&password(name)?)?;
            file.change(|users| users.change(name, None, Some(Some(verifier))))?;
            format!("user \"{name}\" has a new password\n")
        }
        UserCommand::Remove { name } => {
            file.change(|users| users.remove(name))?;
            format!("user \"{name}\" can no longer log in\n")
        }
        UserCommand::List => {
            let users = file.read()?;
            let line = |(name, user): (&str, &User)| {
                let note = if user.verifier.is_some() { "" } else { "\tno password" };
                format!("{name}\t{}{note}\n", role_name(user.role))
            };
            users.iter().map(line).collect()
        }
    };
    io::stdout().write_all(text.as_bytes()).map_err(UserError::Output)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::ReadWrite => "read-write",
        Role::ReadOnly => "read-only",
        Role::Granted => "granted",
    }
}

/// From the terminal, twice and without showing it, or the first line of what is piped in.
fn password(name: &str) -> Result<String, UserError> {
    let password = if io::stdin().is_terminal() {
        let ask = |prompt: String| rpassword::prompt_password(prompt).map_err(UserError::Unreadable);
        let first = ask(format!("Password for user \"{name}\": "))?;
        if ask("Again: ".to_owned())? != first {
            return Err(UserError::NotTheSame);
        }
        first
    } else {
        first_line(&mut io::stdin().lock()).map_err(UserError::Unreadable)?
    };
    if password.is_empty() { Err(UserError::Empty) } else { Ok(password) }
}

fn first_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_ends_with_its_line() {
        for (input, expected) in [("a b\n", "a b"), ("a\r\nb\n", "a"), ("a ", "a "), ("", ""), ("\n", "")] {
            assert_eq!(first_line(&mut input.as_bytes()).unwrap(), expected, "{input:?}");
        }
        assert!(first_line(&mut &b"\xff\n"[..]).is_err());
    }
}
