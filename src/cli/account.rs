//! `tablegate account`: under which names the Azure SDKs are let in, and with which keys. Works on the accounts file alone,
//! so a server may run meanwhile: it looks at each request whether the file has changed.
//!
//! A key is shown to who asks for it here, and nowhere else.

use std::io::{self, Write};

use tablegate_rest::{AccountKey, AccountsError, AccountsFile, KeyNumber, is_loopback};
use thiserror::Error;

use super::args::AccountCommand;
use super::config::Config;

/// Where connection strings lead unless the configuration says otherwise: the port of the service's emulators.
const USUAL_ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 10002);

/// Why an account could not be added, changed or shown.
#[derive(Debug, Error)]
pub(super) enum AccountError {
    #[error("a store in memory keeps no accounts; say where they are with --rest-accounts")]
    NoFile,
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Carries out the command and says what was done.
///
/// # Errors
/// One line for the person who asked.
pub(super) fn run(command: &AccountCommand, config: &Config) -> Result<(), AccountError> {
    let file = AccountsFile::new(config.rest_accounts.as_ref().ok_or(AccountError::NoFile)?);
    let shown = |name: &str, key: &AccountKey| format!("{}\n", connection_string(name, key, config));
    let text = match command {
        AccountCommand::Add { name } => shown(name, &file.change(|accounts| accounts.add(name))?),
        AccountCommand::Show { name } => {
            let accounts = file.current()?;
            let keys = accounts.keys(name).ok_or_else(|| AccountsError::Missing(name.clone()))?;
            shown(name, &keys[0])
        }
        AccountCommand::Rotate { name, key } => {
            let number = if *key == 1 { KeyNumber::First } else { KeyNumber::Second };
            shown(name, &file.change(|accounts| accounts.rotate(name, number))?)
        }
        AccountCommand::Remove { name } => {
            file.change(|accounts| accounts.remove(name))?;
            format!("clients are no longer let in as \"{name}\"\n")
        }
        AccountCommand::List => file.current()?.names().map(|name| format!("{name}\n")).collect(),
    };
    io::stdout().write_all(text.as_bytes()).map_err(AccountError::Output)
}

/// As the SDKs take it.
pub(super) fn connection_string(name: &str, key: &AccountKey, config: &Config) -> String {
    let address = config.rest.unwrap_or(USUAL_ADDRESS.into());
    let scheme = if config.tls.is_some() || !is_loopback(address) { "https" } else { "http" };
    let key = key.to_base64();
    format!(
        "DefaultEndpointsProtocol={scheme};AccountName={name};AccountKey={key};TableEndpoint={scheme}://{address}/{name};"
    )
}
