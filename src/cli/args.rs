//! The arguments, as text. What they may be is checked where the file and the environment are checked too.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// SQL over Azure Table's data model: a server for psql and every PostgreSQL driver.
#[derive(Debug, Parser)]
#[command(name = "tablegate", version, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGINT or SIGTERM (what happens without a command)
    #[command(after_help = AFTER_HELP)]
    Serve(ServeArgs),
}

const AFTER_HELP: &str = "\
Each option can also be an environment variable (TABLEGATE_MAX_CONNECTIONS=50)
or a line of the configuration file (max_connections = 50). An option wins over
the environment, the environment over the file.";

/// What `serve` takes.
#[derive(Debug, Default, Args)]
pub struct ServeArgs {
    /// Address to listen on; loopback only [default: 127.0.0.1:5433]
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
    /// Sync each commit to the disk: always, never [default: always]
    #[arg(long, value_name = "WHEN")]
    pub fsync: Option<String>,
    /// Free space below which writes are refused [default: 256MB]
    #[arg(long, value_name = "SIZE")]
    pub disk_reserve: Option<String>,
    /// What a transaction may be: strict, observe [default: strict]
    #[arg(long, value_name = "MODE")]
    pub egt_mode: Option<String>,
    /// Clients served at one time [default: 100]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<String>,
    /// Memory all queries together may use [default: 1GB]
    #[arg(long, value_name = "SIZE")]
    pub query_memory: Option<String>,
    /// Memory for writes of open transactions, the rest goes to disk [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    pub transaction_memory: Option<String>,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What is logged to stderr [default: warn,tablegate=info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}

impl Cli {
    /// The arguments of `serve`, named or not.
    pub fn into_serve(self) -> ServeArgs {
        match self.command {
            Some(Command::Serve(args)) => args,
            None => self.serve,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::settings;

    #[test]
    fn help_fits_one_screen() {
        let lines = Cli::command().render_help().to_string().lines().count();
        assert!((24..=40).contains(&lines), "--help has {lines} lines");
    }

    #[test]
    fn serve_may_be_left_out() {
        for arguments in [["tablegate", "--memory"].as_slice(), &["tablegate", "serve", "--memory"]] {
            assert!(Cli::try_parse_from(arguments).unwrap().into_serve().memory);
        }
    }

    #[test]
    fn a_folder_and_memory_exclude_each_other() {
        assert!(Cli::try_parse_from(["tablegate", "--memory", "--data", "x"]).is_err());
    }

    #[test]
    fn help_tells_the_defaults_that_hold() {
        let help = Cli::command().render_help().to_string();
        for definition in settings::DEFINITIONS.iter().filter(|d| !matches!(d.key, "memory" | "sample")) {
            let told = format!("[default: {}]", definition.default);
            assert!(help.contains(&told), "--help does not say {told} of {}", definition.key);
        }
    }
}
