//! The arguments, as text. What they may be is checked where the file and the environment are checked too.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use tablegate_pg::Role;

/// SQL over Azure Table's data model: a server for psql and every PostgreSQL driver.
#[derive(Debug, Parser)]
#[command(name = "tablegate", version, after_help = AFTER_HELP)]
pub(super) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGINT or SIGTERM (what happens without a command)
    #[command(after_help = AFTER_HELP)]
    Serve(Box<ServeArgs>),
    /// Users: add, list, remove, passwd
    User {
        #[command(flatten)]
        place: PlaceArgs,
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Accounts for the Azure SDKs: add, list, show, remove, rotate
    Account {
        #[command(flatten)]
        place: AccountPlaceArgs,
        #[command(subcommand)]
        command: AccountCommand,
    },
}

/// What `account` does.
#[derive(Debug, Subcommand)]
pub(super) enum AccountCommand {
    /// Let the Azure SDKs in under an account's name; its connection string is shown
    Add { name: String },
    /// Show the accounts
    List,
    /// Show an account's connection string
    Show { name: String },
    /// No longer let clients in under this name
    Remove { name: String },
    /// Give an account a new key in the place of one of its two
    Rotate {
        name: String,
        /// The key that clients no longer use: 1 or 2
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
        key: u8,
    },
}

/// What `user` does.
#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Let a user log in; the password is asked for, or the first line of stdin
    Add {
        name: String,
        #[command(flatten)]
        role: RoleArgs,
    },
    /// Show the users and their roles
    List,
    /// No longer let a user log in
    Remove { name: String },
    /// Give a user a new password, asked for or the first line of stdin
    Passwd { name: String },
}

/// What a new user may do; without any of these, everything with tables.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct RoleArgs {
    /// The user may do everything, and decides about users
    #[arg(long)]
    admin: bool,
    /// The user may read and not write
    #[arg(long)]
    read_only: bool,
    /// The user may do only what GRANT says
    #[arg(long)]
    granted: bool,
}

impl RoleArgs {
    pub(super) fn role(&self) -> Role {
        if self.admin {
            Role::Admin
        } else if self.read_only {
            Role::ReadOnly
        } else if self.granted {
            Role::Granted
        } else {
            Role::ReadWrite
        }
    }
}

/// Where the users are, as `serve` is told it. What is global is one with every argument of its id, above the command too, so
/// these have ids of their own.
#[derive(Debug, Default, Args)]
pub(super) struct PlaceArgs {
    /// Folder of the data, which has the users file [default: ./tablegate-data]
    #[arg(id = "place_data", long = "data", value_name = "DIR", global = true)]
    data: Option<String>,
    /// Users file [default: users.toml in the data folder]
    #[arg(id = "place_users", long = "users", value_name = "FILE", global = true)]
    users: Option<String>,
    /// Configuration file (TOML)
    #[arg(id = "place_config", long = "config", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// Where the accounts are, in the same way.
#[derive(Debug, Default, Args)]
pub(super) struct AccountPlaceArgs {
    /// Folder of the data, which has the accounts file [default: ./tablegate-data]
    #[arg(id = "account_data", long = "data", value_name = "DIR", global = true)]
    data: Option<String>,
    /// Accounts file [default: accounts.toml in the data folder]
    #[arg(id = "account_file", long = "rest-accounts", value_name = "FILE", global = true)]
    rest_accounts: Option<String>,
    /// Address that the connection string names [default: 127.0.0.1:10002]
    #[arg(id = "account_rest", long = "rest", value_name = "ADDR:PORT", global = true)]
    rest: Option<String>,
    /// Configuration file (TOML)
    #[arg(id = "account_config", long = "config", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// What is to be done, and the arguments of its configuration.
#[derive(Debug)]
pub(super) enum Task {
    Serve(ServeArgs),
    User(UserCommand, ServeArgs),
    Account(AccountCommand, ServeArgs),
}

const AFTER_HELP: &str = "\
Each option can also be an environment variable (TABLEGATE_MAX_CONNECTIONS=50) or a line of the configuration file
(max_connections = 50). An option wins over the environment, the environment over the file.";

/// What `serve` takes.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(super) struct ServeArgs {
    /// Address to listen on; others than loopback need users and TLS [default: 127.0.0.1:5433]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Folder of the data, made on first start [default: ./tablegate-data]
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub data: Option<String>,
    /// Keep everything in memory and lose it at the end
    #[arg(long)]
    pub memory: bool,
    /// Do not make the sample tables on first start
    #[arg(long)]
    pub no_sample: bool,
    /// Keep data in a Table service: env:VARIABLE or file:PATH of its connection string
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["data", "memory"])]
    pub connection_string: Option<String>,
    /// Mount another account as schema NAME, as prod=env:VARIABLE or prod=file:PATH
    #[arg(long, value_name = "NAME=WHERE")]
    pub mount: Vec<String>,
    /// Write nothing into the account
    #[arg(long)]
    pub read_only: bool,
    /// Requests under way to the account at one time [default: 64]
    #[arg(long, value_name = "N")]
    pub account_requests: Option<String>,
    /// Waits before a request to the account is repeated; off for never [default: 2s 4s 10s 30s]
    #[arg(long, value_name = "TIMES")]
    pub retry_delays: Option<String>,
    /// Time that the tries of a request and the waits between them may take together [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub retry_budget: Option<String>,
    /// Time that a sample of an undeclared table's columns serves; off until ANALYZE [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub rediscover: Option<String>,
    /// Sync each commit to the disk: always, never [default: always]
    #[arg(long, value_name = "WHEN")]
    pub fsync: Option<String>,
    /// Free space below which writes are refused [default: 256MB]
    #[arg(long, value_name = "SIZE")]
    pub disk_reserve: Option<String>,
    /// Memory for what is read of the files of rows [default: 128MB]
    #[arg(long, value_name = "SIZE")]
    pub cache_memory: Option<String>,
    /// Rows of a table that are worth being kept as columns too; off for none [default: 50000]
    #[arg(long, value_name = "ROWS")]
    pub segment_rows: Option<String>,
    /// Part of them that may change before their columns are made anew [default: 2%]
    #[arg(long, value_name = "PART")]
    pub segment_dirty: Option<String>,
    /// What a transaction may be: strict, observe [default: strict]
    #[arg(long, value_name = "MODE")]
    pub egt_mode: Option<String>,
    /// Clients served at one time [default: 100]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<String>,
    /// Clients of one user at one time; 0 for any number [default: 0]
    #[arg(long, value_name = "N")]
    pub max_connections_per_user: Option<String>,
    /// Users file, see `tablegate user` [default: users.toml in the data folder]
    #[arg(long, value_name = "FILE")]
    pub users: Option<String>,
    /// Who needs a password: scram, trust, auto (scram once there are users) [default: auto]
    #[arg(long, value_name = "METHOD")]
    pub auth: Option<String>,
    /// Clients of this machine need no password
    #[arg(long)]
    pub trust_loopback: bool,
    /// Time a client has to log in [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub authentication_timeout: Option<String>,
    /// Certificate of the server with its chain (PEM)
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<String>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<String>,
    /// Refuse connections without TLS
    #[arg(long)]
    pub require_tls: bool,
    /// Serve others than this machine without TLS
    #[arg(long)]
    pub insecure: bool,
    /// Memory all queries together may use [default: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub query_memory: Option<String>,
    /// Memory for writes of open transactions, the rest goes to disk [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    pub transaction_memory: Option<String>,
    /// Address for Prometheus, as 127.0.0.1:9187; nobody logs in there [default: off]
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<String>,
    /// Address for the Azure SDKs, as 127.0.0.1:10002 [default: off]
    #[arg(long, value_name = "ADDR:PORT")]
    pub rest: Option<String>,
    /// Their accounts, see `tablegate account` [default: accounts.toml in the data folder]
    #[arg(long, value_name = "FILE")]
    pub rest_accounts: Option<String>,
    /// Refuse what is beyond the scalability targets: service, off [default: off]
    #[arg(long, value_name = "WHAT")]
    pub rest_limits: Option<String>,
    /// Whose bearer tokens are let in there, as tokens name it [default: nobody's]
    #[arg(long, value_name = "ISSUER")]
    pub rest_token_issuer: Option<String>,
    /// Whom these tokens are for [default: https://storage.azure.com]
    #[arg(long, value_name = "AUDIENCE")]
    pub rest_token_audience: Option<String>,
    /// The keys that they are signed with (JSON Web Key Set): a file, or an https URL
    #[arg(long, value_name = "FILE|URL")]
    pub rest_token_keys: Option<String>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What is logged to stderr [default: warn,tablegate=info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
    /// How it is logged: text, json [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Log statements that take so long, without their values; off for none [default: off]
    #[arg(long, value_name = "TIME")]
    pub log_slow: Option<String>,
}

impl Cli {
    /// Reads the arguments, the first being the program's own name.
    ///
    /// # Errors
    /// What clap says, also where options before a command are none that it has.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Task, clap::Error> {
        Self::try_parse_from(arguments)?.into_task()
    }

    /// The command, `serve` when none is named. Where the users are may be said before `user` too.
    fn into_task(self) -> Result<Task, clap::Error> {
        let before = self.serve;
        match self.command {
            None => Ok(Task::Serve(before)),
            Some(Command::Serve(args)) if before == ServeArgs::default() => Ok(Task::Serve(*args)),
            Some(Command::Serve(args)) if *args == ServeArgs::default() => Ok(Task::Serve(before)),
            Some(Command::Serve(_)) => Err(misplaced("Options stand before `serve` or behind it, not on both sides")),
            Some(Command::User { place: PlaceArgs { data, users, config }, command }) => {
                let ServeArgs { data: data_before, users: users_before, config: config_before, .. } = &before;
                let place = ServeArgs {
                    data: one(data_before, data, "--data")?,
                    users: one(users_before, users, "--users")?,
                    config: one(config_before, config, "--config")?,
                    ..ServeArgs::default()
                };
                let known = ServeArgs {
                    data: data_before.clone(),
                    users: users_before.clone(),
                    config: config_before.clone(),
                    ..ServeArgs::default()
                };
                if before != known {
                    return Err(misplaced("Of the options before `user` only --data, --users and --config are for it"));
                }
                Ok(Task::User(command, place))
            }
            Some(Command::Account { place: AccountPlaceArgs { data, rest_accounts, rest, config }, command }) => {
                let place = ServeArgs {
                    data: one(&before.data, data, "--data")?,
                    rest_accounts: one(&before.rest_accounts, rest_accounts, "--rest-accounts")?,
                    rest: one(&before.rest, rest, "--rest")?,
                    config: one(&before.config, config, "--config")?,
                    ..ServeArgs::default()
                };
                let known = ServeArgs {
                    data: before.data.clone(),
                    rest_accounts: before.rest_accounts.clone(),
                    rest: before.rest.clone(),
                    config: before.config.clone(),
                    ..ServeArgs::default()
                };
                if before != known {
                    let message =
                        "Of the options before `account` only --data, --rest-accounts, --rest and --config are for it";
                    return Err(misplaced(message));
                }
                Ok(Task::Account(command, place))
            }
        }
    }
}

/// An option that is given once, before the command or behind it.
fn one<T: Clone>(before: &Option<T>, behind: Option<T>, name: &str) -> Result<Option<T>, clap::Error> {
    match (before, behind) {
        (Some(_), Some(_)) => Err(misplaced(&format!("{name} is given twice"))),
        (before, behind) => Ok(behind.or_else(|| before.clone())),
    }
}

fn misplaced(message: &str) -> clap::Error {
    Cli::command().error(ErrorKind::ArgumentConflict, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::settings;

    fn task(arguments: &[&str]) -> Result<Task, clap::Error> {
        Cli::read(arguments.iter().map(OsString::from))
    }

    #[test]
    fn help_fits_one_tall_screen() {
        let lines = Cli::command().render_help().to_string().lines().count();
        assert!((24..=56).contains(&lines), "--help has {lines} lines");
    }

    #[test]
    fn serve_may_be_left_out() {
        for arguments in [
            ["tablegate", "--memory"].as_slice(),
            &["tablegate", "serve", "--memory"],
            &["tablegate", "--memory", "serve"],
        ] {
            assert!(matches!(task(arguments).unwrap(), Task::Serve(ServeArgs { memory: true, .. })));
        }
        assert!(task(&["tablegate", "--memory", "serve", "--no-sample"]).is_err());
    }

    #[test]
    fn where_the_users_are_is_said_before_the_command_or_behind_it() {
        for arguments in [
            ["tablegate", "--data", "d", "user", "add", "ann"].as_slice(),
            &["tablegate", "user", "--data", "d", "add", "ann"],
            &["tablegate", "user", "add", "ann", "--data", "d"],
        ] {
            let Task::User(UserCommand::Add { name, .. }, place) = task(arguments).unwrap() else {
                panic!("{arguments:?}")
            };
            assert_eq!((name.as_str(), place.data.as_deref()), ("ann", Some("d")), "{arguments:?}");
        }
        let Task::User(_, place) = task(&["tablegate", "--config", "c", "user", "list", "--users", "u"]).unwrap()
        else {
            panic!("a command about users");
        };
        assert_eq!((place.config, place.users.as_deref()), (Some(PathBuf::from("c")), Some("u")));
        for misplaced in [
            ["tablegate", "--memory", "user", "list"].as_slice(),
            &["tablegate", "--data", "d", "--max-connections", "5", "user", "list"],
            &["tablegate", "--data", "d", "user", "list", "--data", "e"],
        ] {
            assert!(task(misplaced).is_err(), "{misplaced:?}");
        }
    }

    #[test]
    fn a_password_is_never_an_argument() {
        let added = task(&["tablegate", "user", "add", "ann", "--read-only", "--users", "f"]).unwrap();
        let Task::User(UserCommand::Add { name, role }, place) = added else { panic!("{added:?}") };
        assert_eq!((name.as_str(), role.role(), place.users.as_deref()), ("ann", Role::ReadOnly, Some("f")));
        assert!(task(&["tablegate", "user", "add", "ann", "--admin", "--granted"]).is_err());
        assert!(task(&["tablegate", "user", "add", "ann", "secret"]).is_err());
        assert!(task(&["tablegate", "user", "passwd", "ann", "--password", "secret"]).is_err());
    }

    #[test]
    fn a_folder_and_memory_exclude_each_other() {
        assert!(Cli::try_parse_from(["tablegate", "--memory", "--data", "x"]).is_err());
    }

    #[test]
    fn help_tells_the_defaults_that_hold() {
        let help = Cli::command().render_help().to_string();
        for definition in settings::DEFINITIONS.iter().filter(|d| !matches!(d.default, "" | "true" | "false")) {
            let told = format!("[default: {}]", definition.default);
            assert!(help.contains(&told), "--help does not say {told} of {}", definition.key);
        }
    }
}
