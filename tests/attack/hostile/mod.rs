//! Statements that want more than there is, by three clients each: every one of them ends with an answer or with the error of
//! what it asks for, somebody who reads a row beside them is always answered, and the server has no more memory than it was
//! given, and gives it back.

mod memory;
mod statements;
mod way;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_postgres::Client;

use self::memory::Watch;
use self::statements::{HOSTILE, Hostile};
use crate::attack::{connect, seed};
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::setting;

const CLIENTS: usize = 3;
/// For what open transactions have written.
const TRANSACTION_MEMORY_MIB: u64 = 16;
/// For what is read of the store's files; it may be full at the end.
const CACHE_MEMORY_MIB: u64 = 16;
/// What may end a statement that asks for more than there is: memory, room for temporary files, a limit, depth, time.
const ENDS: &[&str] = &["00000", "53200", "53400", "54000", "54001", "54011", "57014"];
/// Memory that is left behind: caches that fill, the first pieces of stacks, what an allocator keeps.
const LEFT_BEHIND: u64 = 40 << 20;
/// How long is waited until no more of it is left. Most of it is a second later.
const GIVEN_BACK: Duration = Duration::from_secs(10);
/// A statement that the table says must work is given this much time by long runs alone: in seconds.
const ENOUGH_TIME: u64 = 20;
/// Seconds that a client of a short run gives its statement.
const SHORT_TIMEOUT: u64 = 2;
/// What comes and goes between two looks.
const STILL: u64 = 1 << 20;
/// Between two looks at whether the memory was given back.
const LOOK: Duration = Duration::from_millis(50);

/// What became of one statement.
struct Outcome {
    codes: Vec<String>,
    seconds: f64,
    /// Bytes when it began: with what those before it left behind.
    begun: u64,
    peak: u64,
    /// Until the memory was given back.
    back: f64,
    /// The longest that the reader beside it waited.
    point: Duration,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_takes_more_than_a_share() {
    let seed = seed();
    let rows: u64 = setting("ATTACK_ROWS", 10_000);
    let query_memory: u64 = setting("ATTACK_MEMORY", 64);
    let count = setting("ATTACK_STATEMENTS", 6);
    let timeout: u64 = setting("ATTACK_TIMEOUT", SHORT_TIMEOUT);
    let chosen = chosen(seed, count);
    let option = |mib: u64| format!("{mib}MB");
    let mut server = Server::start(&[
        "--query-memory",
        &option(query_memory),
        "--transaction-memory",
        &option(TRANSACTION_MEMORY_MIB),
        "--cache-memory",
        &option(CACHE_MEMORY_MIB),
    ]);
    prepare(&connect(server.port).await.expect("the server listens"), rows).await;
    let watch = Watch::new(&server);
    let base = watch.resident();
    let most = (((query_memory + TRANSACTION_MEMORY_MIB + CACHE_MEMORY_MIB) << 20) + base) * 3 / 2;
    println!("base {} MiB, at most {} MiB; {} statements", base >> 20, most >> 20, chosen.len());
    println!(
        "{:<44} {:<18} {:>7} {:>9} {:>7} {:>9}",
        "statement", "codes", "seconds", "peak MiB", "back s", "point ms"
    );

    let reader = Reader::start(server.port);
    let mut wrong = Vec::new();
    for hostile in chosen {
        let outcome = attack(&server, hostile, &watch, &reader, (timeout, base + LEFT_BEHIND)).await;
        let codes = outcome.codes.join(",");
        let (peak, point) = (outcome.peak >> 20, outcome.point.as_millis());
        let (seconds, back) = (outcome.seconds, outcome.back);
        println!("{:<44} {codes:<18} {seconds:>7.2} {peak:>9} {back:>7.1} {point:>9}", hostile.name);
        let ends = |code: &String| ENDS.contains(&code.as_str()) || hostile.also.contains(&code.as_str());
        let must_work = hostile.must_work && timeout >= ENOUGH_TIME;
        if !outcome.codes.iter().all(ends) || (must_work && outcome.codes.iter().any(|code| code != "00000")) {
            wrong.push(format!("{} ended with {codes}", hostile.name));
        }
        // What others left behind, each of which was judged for it, is not this one's.
        let left = outcome.begun.saturating_sub(base);
        let most = most + left + hostile.beyond.as_ref().map_or(0, |beyond| beyond.mib << 20);
        if outcome.peak > most {
            let known = hostile.beyond.as_ref().map_or("", |beyond| beyond.why);
            wrong.push(format!("{} took {peak} MiB of {}. {known}", hostile.name, most >> 20));
        }
        if outcome.back > GIVEN_BACK.as_secs_f64() {
            wrong.push(format!("{} left {} MiB", hostile.name, watch.resident() >> 20));
        }
        assert!(server.is_running(), "ATTACK_SEED={seed}: {} ended the server\n{}", hostile.name, server.log());
    }
    reader.stop().await;
    assert!(!server.log().contains("panicked at"), "ATTACK_SEED={seed}: {}", server.log());
    assert!(wrong.is_empty(), "ATTACK_SEED={seed}:\n{}", wrong.join("\n"));
}

/// So many statements of the table, those of a seed.
fn chosen(seed: u64, count: usize) -> Vec<&'static Hostile> {
    let mut all: Vec<&Hostile> = HOSTILE.iter().collect();
    if count < all.len() {
        let mut rng = Rng::of_case(seed, 0);
        for last in (1..all.len()).rev() {
            all.swap(last, rng.below(last + 1));
        }
        all.truncate(count);
    }
    // Some of them alone, by parts of their names: `ATTACK_ONLY='COPY,savepoints'`.
    let only: String = setting("ATTACK_ONLY", String::new());
    let is_named = |hostile: &&Hostile| only.split(',').any(|part| hostile.name.contains(part));
    if only.is_empty() { all } else { HOSTILE.iter().filter(is_named).collect() }
}

async fn prepare(client: &Client, rows: u64) {
    let tables = format!(
        "CREATE TABLE points (id int PRIMARY KEY, v int); INSERT INTO points SELECT n, n FROM generate_series(1, 100) n;
         CREATE TABLE big (id int PRIMARY KEY, g int, d float8, t text);
         INSERT INTO big SELECT n, n % 1000, n * 0.5, repeat(md5(n::text), 6) FROM generate_series(1, {rows}) n;
         CREATE TABLE sink (id int PRIMARY KEY, t text)"
    );
    client.batch_execute(&tables).await.expect("the tables are made");
    // What everybody needs once is no part of what a statement takes.
    client.batch_execute("SELECT count(*), max(t) FROM big; SELECT * FROM pg_class").await.expect("they are read");
}

/// All clients say the same at the same time.
async fn attack(
    server: &Server,
    hostile: &'static Hostile,
    watch: &Watch,
    reader: &Reader,
    (timeout, idle): (u64, u64),
) -> Outcome {
    watch.begin();
    let begun = watch.resident();
    reader.longest.store(0, Ordering::Relaxed);
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let port = server.port;
        clients.spawn(async move {
            let said = hostile.way.say(port, number, Duration::from_secs(timeout));
            tokio::time::timeout(PATIENCE, said).await.unwrap_or_else(|_| panic!("{} hangs", hostile.name))
        });
    }
    let mut codes = clients.join_all().await;
    codes.sort();
    codes.dedup();
    let (seconds, peak) = (began.elapsed().as_secs_f64(), watch.peak());
    let ended = Instant::now();
    let (mut before, mut now) = (u64::MAX, watch.resident());
    // The next one begins when no more is given back.
    while (now > idle || now + STILL < before) && ended.elapsed() < GIVEN_BACK {
        tokio::time::sleep(LOOK).await;
        (before, now) = (now, watch.resident());
    }
    let point = Duration::from_micros(reader.longest.load(Ordering::Relaxed));
    Outcome { codes, seconds, begun, peak, back: ended.elapsed().as_secs_f64(), point }
}

/// Somebody who reads a row by its key, over and over, and logs in anew now and then.
struct Reader {
    ends: Arc<AtomicBool>,
    /// Microseconds.
    longest: Arc<std::sync::atomic::AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Reader {
    /// Reads between two logins.
    const READS: usize = 20;

    fn start(port: u16) -> Self {
        let (ends, longest) = (Arc::<AtomicBool>::default(), Arc::<std::sync::atomic::AtomicU64>::default());
        let (ended, waited) = (ends.clone(), longest.clone());
        let task = tokio::spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                let client = connect(port).await.expect("a client beside them is let in");
                for _ in 0..Self::READS {
                    let began = Instant::now();
                    let read = client.query_one("SELECT v FROM points WHERE id = 7", &[]);
                    let row = tokio::time::timeout(PATIENCE, read).await.expect("a reader beside them is answered");
                    assert_eq!(row.expect("a row by its key can always be read").get::<_, i32>(0), 7);
                    let micros = u64::try_from(began.elapsed().as_micros()).expect("it is short");
                    waited.fetch_max(micros, Ordering::Relaxed);
                    tokio::time::sleep(LOOK).await;
                }
            }
        });
        Self { ends, longest, task }
    }

    async fn stop(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.task.await.expect("the reader was always answered");
    }
}
