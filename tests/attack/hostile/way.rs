//! How a hostile statement reaches the server, and what becomes of it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error};

use crate::attack::connect;

/// In texts `{i}` is the number of a repetition, and `{n}` the number of the client.
pub(super) enum Way {
    /// Statements, one after the other, until one of them fails.
    Say(&'static [&'static str]),
    /// One statement: a head, a part that is repeated, a tail.
    Long(&'static str, &'static str, usize, &'static str),
    /// What comes before, and a statement so many times on one session, as far as there is time.
    Each(&'static [&'static str], &'static str, usize),
    /// A statement that is prepared so many times, as far as there is time, and kept.
    Prepare(&'static str, usize),
    /// A text as the first parameter: a head, a part that is repeated, a tail.
    Parameter(&'static str, &'static str, &'static str, usize, &'static str),
    /// So many parameters of so many bytes.
    Parameters(usize, usize),
    /// COPY, and one line of so many bytes, with an end or none.
    Line(&'static str, usize),
    /// COPY, and so many lines.
    Lines(&'static str, &'static str, usize),
    /// So many connections, each of which sends so many bytes of a message that is longer.
    Halves(usize, usize),
    /// So many connections, each of which sends so many statements and reads nothing.
    Deaf(usize, &'static str),
}

/// For what says many statements there is this many times the time of one.
const MANY: u32 = 3;
/// Bytes that COPY sends at a time.
const PIECE: usize = 1 << 20;

impl Way {
    /// Says it; gives the SQLSTATE, 00000 for an answer, or what else happened.
    pub(super) async fn say(&self, port: u16, number: usize, timeout: Duration) -> String {
        let client = match connect(port).await {
            Ok(client) => client,
            Err(error) => return told(&error),
        };
        let set = format!("SET statement_timeout = {}", timeout.as_millis());
        let said = match client.batch_execute(&set).await {
            Ok(()) => self.by(&client, port, number, Instant::now() + MANY * timeout).await,
            Err(error) => Err(error),
        };
        said.map_or_else(|error| told(&error), |()| "00000".to_owned())
    }

    async fn by(&self, client: &Client, port: u16, number: usize, until: Instant) -> Result<(), Error> {
        let number = number.to_string();
        let of = |text: &str, i: usize| text.replace("{n}", &number).replace("{i}", &i.to_string());
        match self {
            Self::Say(statements) => {
                for statement in *statements {
                    send(client, &of(statement, 0)).await?;
                }
                Ok(())
            }
            Self::Long(head, part, times, tail) => send(client, &long(head, part, *times, tail)).await,
            Self::Each(before, statement, times) => {
                for statement in *before {
                    send(client, &of(statement, 0)).await?;
                }
                for i in (0..*times).take_while(|_| Instant::now() < until) {
                    send(client, &of(statement, i)).await?;
                }
                Ok(())
            }
            Self::Prepare(statement, times) => {
                let mut kept = Vec::with_capacity(*times);
                for i in (0..*times).take_while(|_| Instant::now() < until) {
                    kept.push(client.prepare(&of(statement, i)).await?);
                }
                Ok(())
            }
            Self::Parameter(statement, head, part, times, tail) => {
                let value = long(head, part, *times, tail);
                let rows = client.query_raw(*statement, [&value]).await?;
                rows.try_for_each(|_| async { Ok(()) }).await
            }
            Self::Parameters(count, bytes) => {
                let value = "x".repeat(*bytes);
                let values = vec![&value as &(dyn ToSql + Sync); *count];
                let places: Vec<String> = (1..=*count).map(|place| format!("length(${place}::text)")).collect();
                client.query(&format!("SELECT {}", places.join(" + ")), &values).await.map(drop)
            }
            Self::Line(copy, bytes) => {
                let start = format!("{number}\t");
                let line = "x".repeat(PIECE);
                let pieces = (0..bytes / PIECE).map(|_| line.clone());
                copy_in(client, copy, [start].into_iter().chain(pieces)).await
            }
            Self::Lines(copy, line, lines) => {
                let lines: Vec<usize> = (0..*lines).collect();
                let piece = |numbers: &[usize]| numbers.iter().map(|i| of(line, *i)).collect::<String>();
                copy_in(client, copy, lines.chunks(1000).map(piece)).await
            }
            Self::Halves(connections, bytes) => {
                // A message that promises more than there comes of it.
                let mut half = [&b"Q"[..], &(60_i32 << 20).to_be_bytes()].concat();
                half.resize(*bytes, b' ');
                raw(port, *connections, &half).await;
                Ok(())
            }
            Self::Deaf(connections, statement) => {
                raw(port, *connections, &query(statement)).await;
                Ok(())
            }
        }
    }
}

fn long(head: &str, part: &str, times: usize, tail: &str) -> String {
    [head, &part.repeat(times), tail].concat()
}

/// The rows of an answer are read and forgotten one by one.
async fn send(client: &Client, text: &str) -> Result<(), Error> {
    client.simple_query_raw(text).await?.try_for_each(|_| async { Ok(()) }).await
}

async fn copy_in(client: &Client, copy: &str, pieces: impl Iterator<Item = String>) -> Result<(), Error> {
    let sink = client.copy_in::<_, Bytes>(copy).await?;
    let mut sink = std::pin::pin!(sink);
    for piece in pieces {
        sink.send(Bytes::from(piece)).await?;
    }
    sink.finish().await.map(drop)
}

/// Logs in so many times, sends the same on each connection, waits until the server has heard all of it or ended the
/// connection, and leaves.
async fn raw(port: u16, connections: usize, bytes: &[u8]) {
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
        let body = b"\0\x03\0\0user\0attacker\0\0";
        let length = i32::try_from(body.len() + 4).expect("it is short").to_be_bytes();
        if stream.write_all(&[&length[..], body].concat()).await.is_err() {
            continue;
        }
        // Until it is let in, or told that there is no place.
        let mut answer = vec![0; 4096];
        let _ = stream.read(&mut answer).await;
        if stream.write_all(bytes).await.is_ok() {
            streams.push(stream);
        }
    }
    // What a client asks now is answered when what came before is read.
    if let Ok(client) = connect(port).await {
        let _ = client.batch_execute("SELECT 1").await;
    }
}

fn query(text: &str) -> Vec<u8> {
    let length = i32::try_from(text.len() + 5).expect("it is short").to_be_bytes();
    [b"Q", &length[..], text.as_bytes(), b"\0"].concat()
}

fn told(error: &Error) -> String {
    match error.code() {
        Some(code) => {
            // What is nobody's fault but ours has to be told whole.
            if *code == SqlState::INTERNAL_ERROR {
                println!("{error:?}");
            }
            code.code().to_owned()
        }
        None => format!("no answer: {error}"),
    }
}
