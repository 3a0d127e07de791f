//! The wire fuzzer: conversations of valid, changed and random messages, many at a time. Whatever a client sends, the
//! server does not panic, does not hang, does not keep memory, and goes on serving everybody else.
//!
//! `FUZZ_SECONDS` says how long (30), `FUZZ_SEED` which cases; a failure names its seed.
#![allow(clippy::print_stdout, reason = "the seed and the figures")]

mod conversation;
mod damage;
mod depth;
mod productions;
mod requests;
mod witness;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::fuzz::witness::Witness;
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::{setting, todays_seed};

/// Conversations at one time.
const CLIENTS: u64 = 8;
const SECONDS: u64 = 30;
/// Of each part of a run, at least.
const CONVERSATIONS: u64 = 100;
/// Memory may still grow by this after the first third of a run: caches that fill, an allocator that keeps pages.
const GROWTH_BYTES: u64 = 96 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_sent_costs_only_its_sender() {
    let seed = setting("FUZZ_SEED", todays_seed());
    let span = Duration::from_secs(setting("FUZZ_SECONDS", SECONDS));
    println!("FUZZ_SEED={seed} FUZZ_SECONDS={}", span.as_secs());
    let mut server = Server::start(&["--metrics", "127.0.0.1:0"]);
    let metrics = server.address_behind("metrics are at");
    let address = SocketAddr::from(([127, 0, 0, 1], server.port));
    let mut witness = Witness::arrive(address).await;

    let (first, second) = (span / 3, span - span / 3);
    let mut cases = run(address, seed, 0, first, &mut witness).await;
    let before = kept_bytes(&server, metrics).await;
    cases += run(address, seed, cases, second, &mut witness).await;
    let after = kept_bytes(&server, metrics).await;

    println!(
        "{cases} conversations; memory beside the store's buffers {} MiB after a third, {} MiB at the end",
        before >> 20,
        after >> 20
    );
    assert!(server.is_running(), "FUZZ_SEED={seed}: the server ended\n{}", server.log());
    let panics = server.log();
    assert!(!panics.contains("panicked at"), "FUZZ_SEED={seed}: {panics}");
    assert!(after < before + GROWTH_BYTES, "FUZZ_SEED={seed}: memory grew from {before} to {after} bytes");
}

/// Memory of the server without what its store says it buffers: what its clients have left in it.
async fn kept_bytes(server: &Server, metrics: SocketAddr) -> u64 {
    let mut stream = TcpStream::connect(metrics).await.expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let figure = |name: &str| -> u64 {
        let line =
            answer.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {answer}"));
        line.trim().parse().unwrap_or_else(|error| panic!("{name}: {error}: {line}"))
    };
    let buffers = figure("tablegate_store_write_buffer_bytes") + figure("tablegate_store_cache_bytes");
    server.resident_bytes().saturating_sub(buffers)
}

/// Conversations until the time is over and there were enough of them, and a witness who is served all the while; gives
/// how many there were.
async fn run(address: SocketAddr, seed: u64, from: u64, span: Duration, witness: &mut Witness) -> u64 {
    let began = Instant::now();
    let next = Arc::new(AtomicU64::new(from));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let next = next.clone();
        clients.spawn(async move {
            while began.elapsed() < span || next.load(Ordering::Relaxed) < from + CONVERSATIONS {
                let case = next.fetch_add(1, Ordering::Relaxed);
                let talk = tokio::time::timeout(PATIENCE, talk(address, seed, case));
                assert!(talk.await.is_ok(), "FUZZ_SEED={seed}: case {case} hangs");
            }
        });
    }
    while began.elapsed() < span || next.load(Ordering::Relaxed) < from + CONVERSATIONS {
        witness.is_served().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    clients.join_all().await;
    next.load(Ordering::Relaxed) - from
}

/// One conversation: all of it is sent, in pieces, whatever is answered; then the server has to close.
async fn talk(address: SocketAddr, seed: u64, case: u64) {
    let mut rng = Rng::of_case(seed, case);
    let mut frames = conversation::make(&mut rng);
    damage::change(&mut rng, &mut frames);
    let bytes = frames.concat();
    let Ok(stream) = TcpStream::connect(address).await else { return };
    let (mut reader, mut writer) = stream.into_split();
    let sending = async {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + rng.below(rest.len().min(4096)));
            // The server closed: it has said what it had to say.
            if writer.write_all(piece).await.is_err() {
                return;
            }
            rest = after;
        }
        let _ = writer.shutdown().await;
    };
    let reading = async {
        let mut taken = vec![0; 16 * 1024];
        while matches!(reader.read(&mut taken).await, Ok(1..)) {}
    };
    tokio::join!(sending, reading);
}
