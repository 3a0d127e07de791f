//! The server as its users start it, killed while clients load tables in all the ways that there are: every entity group
//! transaction is there whole or not at all, what was acknowledged is there, and of what a block made nothing is there in part.
//!
//! `ATTACK_LOADS` says how many kills each way gets; every second one comes when a load has just been acknowledged.
#![allow(clippy::print_stdout, reason = "the seed and the figures")]

mod programs;
mod statements;

use std::time::{Duration, Instant};

use tokio_postgres::{Client, Config, NoTls};

use self::programs::{Frames, Restores};
use self::statements::{Block, Copy, FilledInBlock, InsertSelect, LongCopy, MadeInBlock};
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::{setting, todays_seed};

/// A way of loading, again and again under another number.
pub(super) trait Load: Clone + Send + 'static {
    /// Makes what all loads need.
    fn prepare(&mut self, server: &Server) -> impl Future<Output = ()> + Send;
    /// Loads: whether it was acknowledged.
    fn load(&self, port: u16, number: i64) -> impl Future<Output = bool> + Send;
    /// Looks at what is there, and panics if it may not be. All loads up to this number were acknowledged, and the next one
    /// may have begun. The number of the last one that is there.
    fn check(&self, client: &Client, acknowledged: i64, may_have_begun: bool) -> impl Future<Output = i64> + Send;
}

pub(crate) async fn a_kill_leaves_all_of_a_short_copy_or_nothing() {
    kills(Copy).await;
}

pub(crate) async fn a_kill_leaves_whole_transactions_of_a_long_copy() {
    kills(LongCopy).await;
}

pub(crate) async fn a_kill_leaves_all_of_a_copy_in_a_block_or_nothing() {
    kills(Block).await;
}

pub(crate) async fn a_kill_leaves_all_tables_that_a_block_fills_or_none() {
    kills(FilledInBlock).await;
}

pub(crate) async fn a_kill_leaves_all_of_a_table_that_a_block_copies_into_or_nothing() {
    kills(MadeInBlock).await;
}

pub(crate) async fn a_kill_leaves_whole_transactions_of_an_insert_of_a_query() {
    kills(InsertSelect).await;
}

pub(crate) async fn a_kill_leaves_all_of_a_restored_dump_or_nothing() {
    kills(Restores::default()).await;
}

pub(crate) async fn a_kill_leaves_all_of_a_frame_of_pandas_or_nothing() {
    kills(Frames).await;
}

async fn kills<L: Load>(mut load: L) {
    let (seed, rounds) = (setting("ATTACK_SEED", todays_seed()), setting("ATTACK_LOADS", 2));
    println!("ATTACK_SEED={seed}");
    let mut server = Server::start(&[]);
    load.prepare(&server).await;
    let began = Instant::now();
    assert!(load.load(server.port, 1).await, "it is loaded");
    let takes = began.elapsed();
    let mut last = load.check(&connect(server.port).await, 1, false).await;
    let mut unfinished = 0;
    for round in 0..rounds {
        let mut rng = Rng::of_case(seed, round);
        let is_idle = round % 2 == 1;
        let acknowledged = killed(&mut server, &load, last, takes, is_idle, &mut rng).await;
        unfinished += u64::from(!is_idle);
        server = server.again(&[]);
        let client = connect(server.port).await;
        last = load.check(&client, acknowledged, !is_idle).await;
        assert!(
            (acknowledged..=acknowledged + 1).contains(&last),
            "round {round}: {last} loads, {acknowledged} acknowledged"
        );
    }
    println!("{rounds} kills, {unfinished} of them within a load, of which one takes {takes:?}; {last} loads");
}

/// Loads until the server is killed: at the end of a load, or at any moment of one. The number of the last one that was
/// acknowledged.
async fn killed<L: Load>(
    server: &mut Server,
    load: &L,
    last: i64,
    takes: Duration,
    is_idle: bool,
    rng: &mut Rng,
) -> i64 {
    if is_idle {
        assert!(load.load(server.port, last + 1).await, "it is loaded");
        server.kill();
        return last + 1;
    }
    let (load, port) = (load.clone(), server.port);
    let loading = tokio::spawn(async move {
        let mut acknowledged = last;
        while load.load(port, acknowledged + 1).await {
            acknowledged += 1;
        }
        acknowledged
    });
    // At any moment of one load or the next: the machine may be busier than it was, or less so.
    let percent = u32::try_from(rng.below(150)).expect("it is small");
    tokio::time::sleep(takes * percent / 100).await;
    server.kill();
    loading.await.expect("it comes to an end")
}

pub(super) async fn connect(port: u16) -> Client {
    try_connect(port).await.expect("the server listens")
}

pub(super) async fn try_connect(port: u16) -> Result<Client, tokio_postgres::Error> {
    let mut config = Config::new();
    let (client, connection) = config.host("127.0.0.1").port(port).user("loader").connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The number that a query gives.
pub(super) async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

/// The tables of loads that make one each, `load_1` and so on: they are there without a gap, each with so many rows.
pub(super) async fn whole_tables(client: &Client, acknowledged: i64, rows: i64) -> i64 {
    let names = "SELECT substr(relname, 6)::bigint FROM pg_class WHERE relname ~ '^load_[0-9]+$' ORDER BY 1";
    let found = client.query(names, &[]).await.expect("the catalogue can be read");
    let last = i64::try_from(found.len()).expect("there are few");
    assert!(found.iter().map(|row| row.get::<_, i64>(0)).eq(1..=last), "{found:?}");
    // Those before were looked at when they were new.
    for number in acknowledged.max(1)..=last {
        let count = self::number(client, &format!("SELECT count(*) FROM load_{number} WHERE load = {number}")).await;
        assert_eq!(count, rows, "load {number}");
    }
    last
}
