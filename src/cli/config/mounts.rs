//! Accounts that are mounted beside the main store: `[mount.NAME]` in the file, `TABLEGATE_MOUNT_NAME`, `--mount
//! NAME=env:VARIABLE`.
//!
//! A mount named `public` is the main store itself, said another way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tablegate_sql::MountName;

use super::{ConfigError, Layer, Origin, account, account_use, checked, names_account, text_of};
use crate::cli::settings::{self, VARIABLE_PREFIX};
use crate::cli::store_account::{AccountConfig, AccountUse};

/// The mount that is no other store.
const PUBLIC: &str = "public";
/// The option, and what it must be.
const OPTION: &str = "--mount";
/// What a mount has of the settings, as they are named in the file.
const KEYS: [&str; 10] = [
    "connection_string",
    "endpoint",
    "key",
    "sas",
    "entra",
    "read_only",
    "account_requests",
    "retry_delays",
    "retry_budget",
    "rediscover",
];

/// An account that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountConfig {
    pub name: MountName,
    pub account: AccountConfig,
    pub usage: AccountUse,
}

/// What one source says of mounts, by their names.
#[derive(Debug, Default)]
pub(super) struct MountLayer(BTreeMap<String, Layer>);

impl MountLayer {
    /// # Errors
    /// When a name is given twice, or a secret stands in an option.
    pub(super) fn of_options(options: &[String]) -> Result<Self, ConfigError> {
        let mut mounts = Self::default();
        for option in options {
            let at = || Origin::Option(OPTION.to_owned());
            // What is wrong may be a secret: it is not shown.
            let Some((name, text)) = option.split_once('=') else { return Err(ConfigError::MountOption { at: at() }) };
            if !text.starts_with("env:") && !text.starts_with("file:") {
                return Err(ConfigError::SecretInOption { at: at() });
            }
            mounts.add_connection_string(name.to_owned(), text, at())?;
        }
        Ok(mounts)
    }

    /// Adds what a variable says, if it is one of a mount.
    ///
    /// # Errors
    /// When a name is given twice.
    pub(super) fn add_variable(&mut self, variable: &str, text: &str) -> Result<bool, ConfigError> {
        let name = variable.strip_prefix(VARIABLE_PREFIX).and_then(|rest| rest.strip_prefix("MOUNT_"));
        let Some(name) = name else { return Ok(false) };
        self.add_connection_string(name.to_ascii_lowercase(), text, Origin::Variable(variable.to_owned()))?;
        Ok(true)
    }

    /// Adds the tables below `mount` of the file.
    ///
    /// # Errors
    /// When one is no table, or has a key that mounts do not have.
    pub(super) fn add_tables(&mut self, file: &Path, value: toml::Value) -> Result<(), ConfigError> {
        let toml::Value::Table(mounts) = value else { return Err(no_table(file, "mount")) };
        for (name, value) in mounts {
            let toml::Value::Table(table) = value else { return Err(no_table(file, &format!("mount.{name}"))) };
            let mut layer = Layer::new();
            for (key, value) in table {
                let path = format!("mount.{name}.{key}");
                let Some(known) = KEYS.into_iter().find(|known| *known == key) else {
                    return Err(ConfigError::UnknownMountKey { file: file.to_owned(), key: path });
                };
                let text = text_of(value)
                    .ok_or_else(|| ConfigError::ValueKind { file: file.to_owned(), key: path.clone() })?;
                layer.insert(known, (text, Origin::MountKey(file.to_owned(), path)));
            }
            self.0.insert(name, layer);
        }
        Ok(())
    }

    fn add_connection_string(&mut self, name: String, text: &str, at: Origin) -> Result<(), ConfigError> {
        if self.0.contains_key(&name) {
            return Err(ConfigError::SecondMount { at, name });
        }
        self.0.insert(name, Layer::from([("connection_string", (text.to_owned(), at))]));
        Ok(())
    }

    /// Takes out what is said of `public`, and says it of the main store.
    ///
    /// # Errors
    /// When the same source says something else of that.
    pub(super) fn move_public_to(&mut self, main: &mut Layer) -> Result<(), ConfigError> {
        for (key, (text, at)) in self.0.remove(PUBLIC).into_iter().flatten() {
            if main.insert(key, (text, at.clone())).is_some() {
                return Err(ConfigError::SecondMount { at, name: PUBLIC.to_owned() });
            }
        }
        Ok(())
    }
}

pub(super) fn known_mount_keys() -> String {
    KEYS.join(", ")
}

fn no_table(file: &Path, key: &str) -> ConfigError {
    ConfigError::NoMountTable { file: file.to_owned(), key: key.to_owned() }
}

/// The mounts that these sources name, the first of them being the one that wins. How an account is asked is said by `main`
/// where a mount does not say it.
///
/// # Errors
/// When a name is not one of a schema, or an account is not named whole.
pub(super) fn mounts(sources: &[MountLayer], main: &[Layer]) -> Result<Vec<MountConfig>, ConfigError> {
    let names: BTreeSet<&String> = sources.iter().flat_map(|source| source.0.keys()).collect();
    names.into_iter().map(|name| mount(name, sources, main)).collect()
}

fn mount(name: &str, sources: &[MountLayer], main: &[Layer]) -> Result<MountConfig, ConfigError> {
    let own: Vec<Layer> = sources.iter().filter_map(|source| source.0.get(name)).cloned().collect();
    let anywhere = || own.iter().flat_map(Layer::values).next().map(|(_, at)| at.clone());
    let at = own.iter().find_map(names_account).or_else(anywhere);
    let at = at.unwrap_or_else(|| Origin::Option(format!("[mount.{name}]")));
    let name = MountName::parse(name).map_err(|reason| ConfigError::MountName {
        at: at.clone(),
        name: name.to_owned(),
        reason,
    })?;
    let with_main = [own.as_slice(), main].concat();
    Ok(MountConfig {
        name,
        account: account(&own, at)?,
        usage: account_use(&with_main, checked(&own, "read_only", settings::boolean)?)?,
    })
}
