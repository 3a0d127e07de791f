//! One client of the lists: transactions of a few steps each, until the server is gone.

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::{Client, Error};

use super::history::{End, Key, Level, Step, Transaction, Value};
use crate::attack::connect;
use crate::support::rng::Rng;

/// Partitions of the lists.
const PARTITIONS: u32 = 3;
const STEPS: usize = 5;
/// What a transaction may be refused with: others were there before it.
const REFUSED: &[&str] = &["40001", "40P01"];
/// The one error that does not say whether it was carried out.
const UNKNOWN: &str = "40003";

pub(super) struct Plan {
    pub port: u16,
    pub number: usize,
    pub first_key: Key,
    pub keys: u32,
    /// That of all transactions, where it is not chosen for each.
    pub level: Option<Level>,
    pub rng: Rng,
}

pub(super) fn part(key: Key) -> String {
    format!("p{}", key % PARTITIONS)
}

pub(super) fn values(items: &str) -> Vec<Value> {
    items.split(',').map(|item| item.parse().expect("lists are of numbers")).collect()
}

/// Plays until the server is gone; tells of each transaction that was acknowledged.
pub(super) async fn play(mut plan: Plan, tell: UnboundedSender<()>) -> Vec<Transaction> {
    let mut all = Vec::new();
    let Ok(client) = connect(plan.port).await else { return all };
    // Half of the clients write to one partition in each transaction, half to any.
    let is_free = plan.number % 2 == 1;
    let mode = if is_free { "observe" } else { "strict" };
    if client.batch_execute(&format!("SET egt.mode = {mode}; SET client_min_messages = error")).await.is_err() {
        return all;
    }
    let mut player = Player { client, next: 0, number: plan.number as u64, is_free, taken_back: Vec::new() };
    loop {
        let transaction = player.transaction(&mut plan).await;
        let is_gone = player.client.is_closed();
        if transaction.end == End::Committed {
            let _ = tell.send(());
        }
        all.push(transaction);
        all.append(&mut player.taken_back);
        if is_gone {
            return all;
        }
    }
}

struct Player {
    client: Client,
    number: u64,
    next: u64,
    is_free: bool,
    /// What was undone by ROLLBACK TO: as if it had been transactions of their own that were refused.
    taken_back: Vec<Transaction>,
}

impl Player {
    async fn transaction(&mut self, plan: &mut Plan) -> Transaction {
        if plan.rng.percent(15) {
            return self.single(plan).await;
        }
        let rng = &mut plan.rng;
        let level = plan.level.unwrap_or_else(|| rng.pick(&Level::ALL));
        let mut steps = Vec::new();
        let begin = format!("BEGIN ISOLATION LEVEL {}", level.sql());
        let partition = u32::try_from(plan.rng.below(PARTITIONS as usize)).expect("it is small");
        let mut done = self.client.batch_execute(&begin).await;
        for _ in 0..=plan.rng.below(STEPS) {
            if done.is_err() {
                break;
            }
            done = self.step(plan, partition, level, &mut steps).await;
        }
        let end = match done {
            Ok(()) if plan.rng.percent(10) => {
                let _ = self.client.batch_execute("ROLLBACK").await;
                End::Aborted
            }
            Ok(()) => end_of(self.client.batch_execute("COMMIT").await),
            Err(error) => {
                check(&error);
                let _ = self.client.batch_execute("ROLLBACK").await;
                End::Aborted
            }
        };
        Transaction { level, steps, end }
    }

    /// A statement that is a transaction of its own.
    async fn single(&mut self, plan: &mut Plan) -> Transaction {
        let (key, mut steps) = (any_key(plan), Vec::new());
        let done = if plan.rng.percent(50) {
            self.append(plan, key, &mut steps).await
        } else {
            self.read(plan, key, &mut steps).await
        };
        Transaction { level: Level::ReadCommitted, steps, end: end_of(done) }
    }

    async fn step(
        &mut self,
        plan: &mut Plan,
        partition: u32,
        level: Level,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let any = any_key(plan);
        if plan.rng.percent(45) {
            return if plan.rng.percent(20) {
                self.read_all(plan, steps).await
            } else {
                self.read(plan, any, steps).await
            };
        }
        // A key of its partition, where it is bound to one.
        let key = if self.is_free { any } else { any - any % PARTITIONS + partition };
        let key = if key < plan.first_key + plan.keys { key } else { key - PARTITIONS };
        let key = if key < plan.first_key { key + PARTITIONS } else { key };
        if plan.rng.percent(10) {
            self.client.batch_execute("SAVEPOINT s").await?;
            let mut undone = Vec::new();
            let appended = self.append(plan, key, &mut undone).await;
            self.taken_back.push(Transaction { level, steps: undone, end: End::Aborted });
            appended?;
            return self.client.batch_execute("ROLLBACK TO s; RELEASE s").await;
        }
        self.append(plan, key, steps).await
    }

    async fn append(&mut self, plan: &mut Plan, key: Key, steps: &mut Vec<Step>) -> Result<(), Error> {
        self.next += 1;
        let value = self.next * 16 + self.number;
        // What is refused was tried, too.
        steps.push(Step::Append(key, value));
        let part = part(key);
        let update = format!("UPDATE lists SET items = items || ',{value}' WHERE part = '{part}' AND id = {key}");
        let insert = format!(
            "INSERT INTO lists VALUES ('{part}', {key}, '{value}')
             ON CONFLICT (part, id) DO UPDATE SET items = lists.items || ',' || EXCLUDED.items"
        );
        if plan.rng.percent(50) && self.client.execute(&*update, &[]).await? == 1 {
            return Ok(());
        }
        self.client.execute(&*insert, &[]).await.map(drop)
    }

    async fn read(&mut self, plan: &mut Plan, key: Key, steps: &mut Vec<Step>) -> Result<(), Error> {
        let lock = if plan.rng.percent(20) { " FOR UPDATE" } else { "" };
        let read = format!("SELECT items FROM lists WHERE part = '{}' AND id = {key}{lock}", part(key));
        let row = self.client.query_opt(&*read, &[]).await?;
        steps.push(Step::Read(key, row.map_or_else(Vec::new, |row| values(row.get(0)))));
        Ok(())
    }

    /// All lists of the round with one statement, over all partitions.
    async fn read_all(&mut self, plan: &mut Plan, steps: &mut Vec<Step>) -> Result<(), Error> {
        let (first, end) = (plan.first_key, plan.first_key + plan.keys);
        let read = format!("SELECT id, items FROM lists WHERE id >= {first} AND id < {end}");
        let rows = self.client.query(&*read, &[]).await?;
        let mut lists: std::collections::HashMap<Key, Vec<Value>> =
            rows.iter().map(|row| (super::key_of(row.get(0)), values(row.get(1)))).collect();
        steps.extend((first..end).map(|key| Step::Read(key, lists.remove(&key).unwrap_or_default())));
        Ok(())
    }
}

fn any_key(plan: &mut Plan) -> Key {
    plan.first_key + u32::try_from(plan.rng.below(plan.keys as usize)).expect("it is small")
}

/// What the answer to a COMMIT says, or to a statement on its own.
fn end_of(answer: Result<(), Error>) -> End {
    match answer {
        Ok(()) => End::Committed,
        Err(error) if error.code().is_none() || error.code().is_some_and(|code| code.code() == UNKNOWN) => End::Unknown,
        Err(error) => {
            check(&error);
            End::Aborted
        }
    }
}

/// A server that is killed says nothing.
fn check(error: &Error) {
    let code = error.code().map(tokio_postgres::error::SqlState::code);
    assert!(code.is_none_or(|code| REFUSED.contains(&code) || code == UNKNOWN), "{error:?}");
}
