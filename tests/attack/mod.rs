//! Attacks on a server as its users start it: clients that want more than their share, kills under a checker of histories,
//! bits that flip on the disk, and a user without rights who tries everything.
//!
//! | variable            | without it        | `make attack` | what                                              |
//! |---------------------|-------------------|---------------|---------------------------------------------------|
//! | `ATTACK_SEED`       | the time          | the time      | which statements, moments and bits                |
//! | `ATTACK_STATEMENTS` | 6                 | all           | hostile statements, by three clients each         |
//! | `ATTACK_TIMEOUT`    | 2                 | 20            | seconds until a client has its statement ended    |
//! | `ATTACK_ROWS`       | 10,000            | 200,000       | rows of the table that they read                  |
//! | `ATTACK_MEMORY`     | 64                | 128           | `--query-memory`, in megabytes                    |
//! | `ATTACK_KILLS`      | 5                 | 500           | kills among transactions                          |
//! | `ATTACK_FLIPS`      | 12                | 200           | damaged copies of a store                         |
//!
//! Kills among loads are in the program `killed`: `ATTACK_LOADS` (2, `make attack` 60) for each kind of them.
//! The statements of the user without rights are tried all, always.
#![allow(clippy::print_stdout, reason = "the seed and the figures")]

mod flips;
mod histories;
mod hostile;
mod privileges;

use tokio_postgres::{Client, Config, NoTls};

use crate::support::settings::{setting, todays_seed};

/// What the cases of a run are made of.
fn seed() -> u64 {
    let seed = setting("ATTACK_SEED", todays_seed());
    println!("ATTACK_SEED={seed}");
    seed
}

/// A client of a server that asks for no password.
async fn connect(port: u16) -> Result<Client, tokio_postgres::Error> {
    let mut config = Config::new();
    let (client, connection) = config.host("127.0.0.1").port(port).user("attacker").connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
