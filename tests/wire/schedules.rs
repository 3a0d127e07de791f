//! Schedules of two and three sessions have the answers of PostgreSQL 15.
//!
//! `schedules.txt` has them: tables that each begins with, and steps, `session statement`. Below a step stands what came of it, as
//! PostgreSQL said: that it `waits`, or how many rows there were, and which; then what came of the statements of other
//! sessions that waited till then. `SCHEDULES_RECORD=1` writes these lines anew, from a PostgreSQL that is started for it or
//! from the one at `SCHEDULES_ADDRESS`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::support::postgres::{self, Postgres};
use crate::wire::harness::{PATIENCE, Server, pid_of};

const RECORDED: &str = include_str!("schedules.txt");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/schedules.txt");

/// Looks in a row at which PostgreSQL shows a session waiting, until that is believed.
const LOOKS: usize = 300;

/// Schedules whose answers here are others, with the reason; COMPAT.md has them too.
const DIFFERENT: &[(&str, &str)] =
    &[("a row whose key changed is found by another condition", "a row under another key is another entity")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_have_the_answers_of_postgresql_in_memory() {
    compare(async || Server::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_have_the_answers_of_postgresql_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    compare(async || {
        number += 1;
        Server::start_in(&folder.path().join(number.to_string())).await
    })
    .await;
}

async fn compare(mut server: impl AsyncFnMut() -> Server) {
    let File { setup, schedules } = File::parse(RECORDED);
    if std::env::var("SCHEDULES_RECORD").is_ok_and(|record| record == "1") {
        return record(setup, schedules).await;
    }
    let mut wrong = String::new();
    for schedule in &schedules {
        let server = server().await;
        let mut sessions = Sessions::new(server.address, "u");
        for statement in &setup {
            sessions.client("z").await.batch_execute(statement).await.unwrap();
        }
        let mut answers = Vec::new();
        for step in &schedule.steps {
            let came = sessions.step_as_expected(step).await;
            let is_expected = came == step.came;
            answers.push(came);
            // What follows would be about something else.
            if !is_expected {
                break;
            }
        }
        let is_different = DIFFERENT.iter().any(|(name, _)| *name == schedule.name);
        let expected = schedule.steps.iter().map(|step| &step.came);
        if answers.iter().eq(expected) == is_different {
            writeln!(wrong, "{}", schedule.shown(&answers)).unwrap();
        }
        drop(sessions);
        server.stop().await;
    }
    assert!(wrong.is_empty(), "these differ from what PostgreSQL said, or do not and are said to:\n\n{wrong}");
}

async fn record(setup: Vec<String>, mut schedules: Vec<Schedule>) {
    let given = std::env::var("SCHEDULES_ADDRESS").ok();
    let own = given.is_none().then(Postgres::start);
    let address = match (&own, given) {
        (Some(own), _) => own.address,
        (None, given) => given.unwrap().parse().expect("an address and a port"),
    };
    for schedule in &mut schedules {
        let mut sessions = Sessions::new(address, postgres::USER);
        let client = sessions.client("z").await;
        client.batch_execute("DROP TABLE IF EXISTS t, u, w CASCADE").await.unwrap();
        for statement in &setup {
            client.batch_execute(statement).await.unwrap();
        }
        for step in &mut schedule.steps {
            step.came = sessions.step_as_it_comes(step).await;
        }
    }
    let setup: String = setup.iter().map(|statement| format!("setup {statement}\n")).collect();
    let all: Vec<String> = schedules
        .iter()
        .map(|schedule| schedule.shown(&schedule.steps.iter().map(|step| step.came.clone()).collect::<Vec<_>>()))
        .collect();
    std::fs::write(PATH, format!("{setup}\n{}", all.join("\n"))).unwrap();
}

/// The file, read.
struct File {
    setup: Vec<String>,
    schedules: Vec<Schedule>,
}

struct Schedule {
    name: String,
    steps: Vec<Step>,
}

struct Step {
    session: String,
    statement: String,
    came: Vec<String>,
}

impl File {
    fn parse(text: &str) -> Self {
        let mut file = Self { setup: Vec::new(), schedules: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(came) = line.strip_prefix("  ") {
                let step = file.schedules.last_mut().and_then(|schedule| schedule.steps.last_mut());
                step.expect("an answer is below its step").came.push(came.to_owned());
                continue;
            }
            let (word, rest) = line.split_once(' ').expect("a line has two parts");
            match word {
                "setup" => file.setup.push(rest.to_owned()),
                "schedule" => file.schedules.push(Schedule { name: rest.to_owned(), steps: Vec::new() }),
                session => {
                    let step = Step { session: session.to_owned(), statement: rest.to_owned(), came: Vec::new() };
                    file.schedules.last_mut().expect("a step is in a schedule").steps.push(step);
                }
            }
        }
        file
    }
}

impl Schedule {
    fn shown(&self, answers: &[Vec<String>]) -> String {
        let mut shown = format!("schedule {}\n", self.name);
        for (step, came) in self.steps.iter().zip(answers) {
            writeln!(shown, "{} {}", step.session, step.statement).unwrap();
            came.iter().for_each(|line| writeln!(shown, "  {line}").unwrap());
        }
        shown
    }
}

/// The sessions of a schedule, and the statements that they wait with.
struct Sessions {
    address: SocketAddr,
    user: &'static str,
    /// With the process ids by which others know them.
    clients: BTreeMap<String, (Arc<Client>, i32)>,
    waiting: BTreeMap<String, Waiting>,
}

struct Waiting {
    pid: i32,
    answer: JoinHandle<String>,
}

impl Sessions {
    fn new(address: SocketAddr, user: &'static str) -> Self {
        Self { address, user, clients: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    async fn client(&mut self, name: &str) -> Arc<Client> {
        self.session(name).await.0
    }

    async fn session(&mut self, name: &str) -> (Arc<Client>, i32) {
        if let Some(session) = self.clients.get(name) {
            return session.clone();
        }
        let (address, user) = (self.address, self.user);
        let config = format!("host=127.0.0.1 port={} user={user} dbname=postgres sslmode=disable", address.port());
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        let pid = pid_of(&client).await;
        self.clients.entry(name.to_owned()).or_insert((Arc::new(client), pid)).clone()
    }

    async fn send(&mut self, step: &Step) {
        let (client, pid) = self.session(&step.session).await;
        let statement = step.statement.clone();
        let answer = tokio::spawn(async move { answer_to(&client, &statement).await });
        let before = self.waiting.insert(step.session.clone(), Waiting { pid, answer });
        assert!(before.is_none(), "a session has one statement at a time: {}", step.statement);
    }

    /// Sends a step, and waits for all that is to come of it.
    async fn step_as_expected(&mut self, step: &Step) -> Vec<String> {
        self.send(step).await;
        let mut came = Vec::new();
        if step.came.first().is_some_and(|first| first == "waits") && self.is_seen_waiting(&step.session).await {
            came.push("waits".to_owned());
        } else {
            came.push(self.answer_of(&step.session).await);
        }
        let others = step.came.iter().skip(1).filter_map(|line| line.split_once(' '));
        for other in others.map(|(other, _)| other.trim_end_matches(':')) {
            came.push(format!("{other}: {}", self.answer_of(other).await));
        }
        came
    }

    async fn answer_of(&mut self, session: &str) -> String {
        let Some(waiting) = self.waiting.remove(session) else { return "nothing".to_owned() };
        match tokio::time::timeout(PATIENCE, waiting.answer).await {
            Ok(answer) => answer.unwrap(),
            Err(_) => "waits".to_owned(),
        }
    }

    /// Whether a session is seen waiting for a lock before its statement ends.
    async fn is_seen_waiting(&mut self, session: &str) -> bool {
        let observer = self.client("observer").await;
        let Waiting { pid, answer } = &self.waiting[session];
        let seen = format!("SELECT FROM pg_stat_activity WHERE pid = {pid} AND wait_event_type = 'Lock'");
        while !answer.is_finished() {
            if !observer.query(&seen, &[]).await.unwrap().is_empty() {
                return true;
            }
        }
        false
    }

    /// Sends a step, and looks at what comes of it.
    async fn step_as_it_comes(&mut self, step: &Step) -> Vec<String> {
        self.send(step).await;
        let observer = self.client("observer").await;
        let mut came = Vec::new();
        for (session, Waiting { pid, answer }) in &self.waiting {
            let blocked = format!("SELECT FROM pg_stat_activity WHERE pid = {pid} AND pg_blocking_pids(pid) <> '{{}}'");
            let mut looks = 0;
            while !answer.is_finished() && looks < LOOKS {
                let is_blocked = !observer.query(&blocked, &[]).await.unwrap().is_empty();
                looks = if is_blocked { looks + 1 } else { 0 };
            }
            if answer.is_finished() || *session == step.session {
                came.push(session.clone());
            }
        }
        came.sort_by_key(|session| *session != step.session);
        let mut lines = Vec::new();
        for session in came {
            let is_own = session == step.session;
            if is_own && !self.waiting[&session].answer.is_finished() {
                lines.push("waits".to_owned());
                continue;
            }
            let answer = self.answer_of(&session).await;
            lines.push(if is_own { answer } else { format!("{session}: {answer}") });
        }
        lines
    }
}

/// How many rows there were, and which; or the error.
async fn answer_to(client: &Client, statement: &str) -> String {
    let messages = match client.simple_query(statement).await {
        Ok(messages) => messages,
        Err(error) => return format!("error {}", error.code().map_or("of the connection", |code| code.code())),
    };
    let mut rows = Vec::new();
    let mut count = 0;
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let value = |column| row.get(column).unwrap_or("NULL").to_owned();
                rows.push((0..row.len()).map(value).collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(rows) => count = rows,
            _ => {}
        }
    }
    if !statement.contains("ORDER BY") {
        rows.sort();
    }
    match rows.is_empty() {
        true => format!("{count} rows"),
        false => format!("{count} rows: {}", rows.join(", ")),
    }
}
