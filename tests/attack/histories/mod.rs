//! Clients append to lists and read them, at all levels of isolation, while the server is killed and started again, over and
//! over. What they saw and what is there is one history: nothing that was acknowledged is lost, nothing that was refused is
//! seen, and transactions can be put in the order that their level promises.

mod checker;
mod client;
#[cfg(test)]
mod defects;
mod graph;
mod history;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use self::checker::anomalies;
use self::client::{Plan, play, values};
use self::history::{End, History, Key, Level, Transaction, Value};
use crate::attack::{connect, seed};
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::setting;

const CLIENTS: usize = 6;
/// Lists of one round, over all partitions.
const KEYS: u32 = 9;
/// Keys of a round follow those of the round before.
const KEYS_OF_ROUND: u32 = 16;
/// Most transactions that are acknowledged before a kill.
const ACKNOWLEDGED_MOST: usize = 400;
/// A kill comes so long after the last answer that is waited for.
const LATER_MICROS: usize = 20_000;

/// What all rounds came to.
#[derive(Debug, Default)]
struct Figures {
    kills: usize,
    committed: usize,
    aborted: usize,
    unknown: usize,
    carried_out_unanswered: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_survives_kills_in_an_order_of_its_level() {
    let seed = seed();
    let rounds: u32 = setting("ATTACK_KILLS", 5);
    let began = Instant::now();
    let mut server = Server::start(&arguments(0));
    let first = connect(server.port).await.expect("the server listens");
    let table = "CREATE TABLE lists (part text, id int, items text, PRIMARY KEY (part, id))";
    first.batch_execute(table).await.expect("the table is made");
    let (mut kept, mut figures) = (HashMap::new(), Figures::default());
    for round in 0..rounds {
        let mut rng = Rng::of_case(seed, u64::from(round));
        let transactions = played(&mut server, round, &mut rng).await;
        figures.kills += 1;
        server = server.again(&arguments(round + 1));
        if rng.percent(25) {
            // Killed once more, before anybody has asked it for anything.
            server.kill();
            figures.kills += 1;
            server = server.again(&arguments(round + 1));
        }
        let client = connect(server.port).await.expect("the server listens again");
        let lists = lists(&client).await;
        let (new, old): (HashMap<_, _>, HashMap<_, _>) =
            lists.into_iter().partition(|(key, _)| key / KEYS_OF_ROUND == round);
        assert_eq!(old, kept, "ATTACK_SEED={seed} round {round}: lists of former rounds are not what they were");
        for (key, list) in &new {
            assert_eq!(*list, read_alone(&client, *key).await, "ATTACK_SEED={seed} round {round}: list {key}");
        }
        kept.extend(new.clone());
        let history = History { transactions, lists: new };
        figures.count(&history);
        let found = anomalies(&history);
        assert!(found.is_empty(), "ATTACK_SEED={seed} round {round}: {}", explained(&history, &found));
        assert!(!server.log().contains("panicked at"), "ATTACK_SEED={seed} round {round}: {}", server.log());
    }
    println!("{figures:?} in {:.0} s", began.elapsed().as_secs_f64());
    assert!(figures.committed > 20, "only {} transactions were acknowledged", figures.committed);
}

/// Some rounds sync, and some keep rows as columns too, of very few rows.
fn arguments(round: u32) -> Vec<&'static str> {
    let fsync = if round.is_multiple_of(2) { "always" } else { "never" };
    let rows = if round % 3 == 1 { "off" } else { "20" };
    vec!["--fsync", fsync, "--segment-rows", rows]
}

/// Transactions of all clients until the server is killed.
async fn played(server: &mut Server, round: u32, rng: &mut Rng) -> Vec<Transaction> {
    let (tell, mut told) = mpsc::unbounded_channel();
    // In some rounds all are of one level: then nothing but their own rules keeps them apart.
    let level = [None, Some(Level::Serializable), None, Some(Level::RepeatableRead)][round as usize % 4];
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let plan = Plan {
            port: server.port,
            number,
            first_key: round * KEYS_OF_ROUND,
            keys: KEYS,
            level,
            rng: Rng::of_case(u64::from(round), rng.below(1 << 40) as u64),
        };
        clients.spawn(play(plan, tell.clone()));
    }
    drop(tell);
    for _ in 0..=rng.below(ACKNOWLEDGED_MOST) {
        let heard = tokio::time::timeout(PATIENCE, told.recv()).await.expect("transactions are answered");
        heard.expect("clients go on until the server is killed");
    }
    tokio::time::sleep(Duration::from_micros(rng.below(LATER_MICROS) as u64)).await;
    server.kill();
    clients.join_all().await.into_iter().flatten().collect()
}

async fn lists(client: &Client) -> HashMap<Key, Vec<Value>> {
    let rows = client.query("SELECT id, items FROM lists", &[]).await.expect("lists can be read");
    rows.iter().map(|row| (key_of(row.get(0)), values(row.get(1)))).collect()
}

/// The same list by its key.
async fn read_alone(client: &Client, key: Key) -> Vec<Value> {
    let (part, id) = (client::part(key), i32::try_from(key).expect("it is small"));
    let read = client.query_one("SELECT items FROM lists WHERE part = $1 AND id = $2", &[&part, &id]).await;
    values(read.expect("it is there").get(0))
}

fn key_of(id: i32) -> Key {
    Key::try_from(id).expect("keys are not negative")
}

impl Figures {
    fn count(&mut self, history: &History) {
        for transaction in &history.transactions {
            match transaction.end {
                End::Committed => self.committed += 1,
                End::Aborted => self.aborted += 1,
                End::Unknown => {
                    self.unknown += 1;
                    let is_there = |step: &history::Step| {
                        matches!(step, history::Step::Append(key, value)
                            if history.lists.get(key).is_some_and(|list| list.contains(value)))
                    };
                    self.carried_out_unanswered += usize::from(transaction.steps.iter().any(is_there));
                }
            }
        }
    }
}

/// The anomalies, and the transactions of cycles.
fn explained(history: &History, found: &[checker::Anomaly]) -> String {
    let mut text = format!("{found:#?}");
    for anomaly in found {
        if let checker::Anomaly::Cycle(_, cycle) = anomaly {
            for (number, _) in cycle {
                text.push_str(&format!("\n{number}: {:?}", history.transactions[*number]));
            }
        }
    }
    text
}
