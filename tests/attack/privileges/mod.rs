//! A user without rights tries everything that shows what others keep: `denied.txt` is refused (42501), `shown.txt` may be
//! answered. Neither rows nor any part of an error or a notice has one of the secrets in it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::{AsyncMessage, Client, Config, Error, NoTls, SimpleQueryMessage};

use crate::support::PATIENCE;
use crate::support::server::{Server, add_user_with};

const DENIED: &str = include_str!("denied.txt");
const SHOWN: &str = include_str!("shown.txt");
const PASSWORD: &str = "a word that opens";
const REFUSED: &str = "42501";

/// What no answer may have in it: texts and numbers that are in rows, statements and files, and in no statement of the lists.
const SECRETS: &[&str] = &["hidden7", "918273645", "564738291", "445566778", "777000111", "SCRAM-SHA-256$", PASSWORD];

/// Of the owner, whose session stays open with a temporary table, a prepared statement and a cursor.
const OWNED: &str = "
    CREATE TABLE vault (id int PRIMARY KEY, card text, pin int NOT NULL DEFAULT 5 CHECK (pin > 0));
    INSERT INTO vault VALUES (1, 'zq-hidden7-card1', 918273645), (2, 'zq-hidden7-card2', 564738291);
    CREATE TABLE ledger (account text, entry int, amount text, PRIMARY KEY (account, entry));
    INSERT INTO ledger SELECT 'zq-hidden7-account', n, 'zq-hidden7-amount' FROM generate_series(1, 50) n;
    CREATE TABLE raw (\"PartitionKey\" text, \"RowKey\" text, v text);
    INSERT INTO raw VALUES ('zq-hidden7-partition', 'zq-hidden7-row', 'zq-hidden7-value');
    CREATE TABLE shared (id int PRIMARY KEY, v text);
    INSERT INTO shared VALUES (1, 'one'), (2, 'two');
    CREATE TABLE inbox (id int PRIMARY KEY, body text, checked int DEFAULT 1 CHECK (checked > 0), secret text, must text NOT NULL DEFAULT 'm');
    INSERT INTO inbox VALUES (1, 'zq-hidden7-body', 445566778, 'zq-hidden7-inbox', 'zq-hidden7-must'),
        (2, 'zq-hidden7-body', 445566778, 'zq-hidden7-inbox', 'zq-hidden7-must');
    CREATE SEQUENCE secret_seq;
    SELECT setval('secret_seq', 777000111);
    CREATE VIEW peek AS SELECT * FROM vault;
    CREATE VIEW peek2 AS SELECT card FROM peek;
    CREATE VIEW window_on AS SELECT id FROM vault;
    COMMIT; VACUUM FULL vault; VACUUM FULL ledger; VACUUM FULL raw; VACUUM FULL inbox;
    ANALYZE vault; ANALYZE ledger;
    GRANT SELECT ON shared, window_on TO mallory;
    GRANT INSERT, UPDATE, DELETE ON inbox TO mallory;
    CREATE TEMP TABLE private (id int PRIMARY KEY, v text);
    INSERT INTO private VALUES (1, 'zq-hidden7-private');
    PREPARE hush AS SELECT 'zq-hidden7-prepared';
    EXECUTE hush;
    SET my.secret = 'zq-hidden7-setting';
    SELECT set_config('my.secret2', 'zq-hidden7-setting2', false);
    DECLARE hush CURSOR WITH HOLD FOR SELECT 'zq-hidden7-cursor';
    SELECT pg_notify('others', 'zq-hidden7-notified')";
/// Statements of the owner that fail, each with a secret in it.
const FAILED: &[&str] = &[
    "SELEC 'zq-hidden7-syntax'",
    "SELECT 'zq-hidden7-number'::int",
    "INSERT INTO vault VALUES (1, 'zq-hidden7-again', 1)",
    "SELECT * FROM vault WHERE card = 'zq-hidden7-last' AND nosuch = 1",
];
/// The owner's last words, which stay in `pg_stat_activity`.
const LAST: &str = "SELECT count(*) FROM vault WHERE card = 'zq-hidden7-asked'";

/// A session, and all that the server has said to it besides answers.
struct Session {
    client: Client,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Session {
    async fn login(port: u16, user: &str) -> Self {
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user(user).password(PASSWORD);
        let (client, mut connection) = config.connect(NoTls).await.expect("the user may log in");
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let said = notices.clone();
        tokio::spawn(async move {
            let mut messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
            while let Ok(Some(message)) = messages.try_next().await {
                let text = match message {
                    AsyncMessage::Notice(notice) => format!("{notice:?}"),
                    AsyncMessage::Notification(notification) => format!("{notification:?}"),
                    _ => continue,
                };
                said.lock().expect("nobody panics with it").push(text);
            }
        });
        Self { client, notices }
    }

    /// Everything that is said to a text of the simple protocol.
    async fn simple(&self, text: &str) -> (Result<(), Error>, String) {
        let mut said = String::new();
        let answer = tokio::time::timeout(PATIENCE, self.client.simple_query(text)).await.expect("there is an answer");
        let end = answer.map(|messages| {
            for message in &messages {
                match message {
                    SimpleQueryMessage::Row(row) => {
                        (0..row.len()).for_each(|column| said.extend([row.get(column).unwrap_or_default(), "|"]));
                    }
                    SimpleQueryMessage::RowDescription(columns) => {
                        columns.iter().for_each(|column| said.extend([column.name(), "|"]));
                    }
                    _ => {}
                }
            }
        });
        (end, said)
    }

    /// The same of one statement of the extended protocol, and of COPY.
    async fn extended(&self, text: &str) -> (Result<(), Error>, String) {
        let mut said = String::new();
        let client = &self.client;
        let answer = async {
            // A driver that has been refused still says that it has nothing to copy, which the next statement would hear.
            if text.starts_with("COPY") && text.contains("FROM STDIN") && SHOWN.contains(text) {
                let sink = client.copy_in::<_, Bytes>(text).await?;
                let mut sink = std::pin::pin!(sink);
                sink.send(Bytes::from_static(b"1\tx\n")).await?;
                return sink.finish().await.map(drop);
            }
            if text.starts_with("COPY") && text.contains("TO STDOUT") {
                let pieces: Vec<Bytes> = client.copy_out(text).await?.try_collect().await?;
                pieces.iter().for_each(|piece| said.push_str(&String::from_utf8_lossy(piece)));
                return Ok(());
            }
            let statement = client.prepare(text).await?;
            statement.columns().iter().for_each(|column| said.push_str(column.name()));
            let none: [&str; 0] = [];
            client.query_raw(&statement, none).await?.try_for_each(|_| async { Ok(()) }).await
        };
        let answer = tokio::time::timeout(PATIENCE, answer).await.expect("there is an answer");
        (answer, said)
    }

    /// What it was told besides answers, which is forgotten.
    fn take_notices(&self) -> String {
        std::mem::take(&mut *self.notices.lock().expect("nobody panics with it")).join("\n")
    }

    /// As it was before, as far as a statement changes a session.
    async fn forget(&self) {
        let _ = self.client.batch_execute("ROLLBACK").await;
        let _ = self.client.batch_execute("RESET ALL; RESET SESSION AUTHORIZATION; CLOSE ALL").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_do_nothing_learns_nothing() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    add_user_with(folder.path(), "olga", PASSWORD, &[]);
    add_user_with(folder.path(), "mallory", PASSWORD, &["--granted"]);
    let mut server = Server::start_in(folder, &["--auth", "scram", "--segment-rows", "1", "--log", "info"]);
    let owner = Session::login(server.port, "olga").await;
    owner.client.batch_execute(OWNED).await.expect("the tables are made");
    for failing in FAILED {
        owner.simple(failing).await.0.expect_err(failing);
    }
    let rows = owner.simple("SELECT v.*, s.* FROM vault v, shared s").await.1;
    owner.simple(LAST).await.0.expect("it is right");

    let mallory = Session::login(server.port, "mallory").await;
    let mut wrong = Vec::new();
    let (mut denied, mut shown) = (0, 0);
    for text in statements(DENIED) {
        denied += 1;
        for (protocol, (end, said)) in tried(&mallory, text).await {
            let told = told(&mallory, &end, said);
            let code = end.as_ref().err().and_then(Error::code).map(|code| code.code().to_owned());
            if code.as_deref() != Some(REFUSED) {
                wrong.push(format!("{protocol}: {text}: not refused, but {end:?}"));
            }
            wrong.extend(secrets(&told).map(|secret| format!("{protocol}: {text} tells {secret}: {told}")));
        }
    }
    for text in statements(SHOWN) {
        shown += 1;
        for (protocol, (end, said)) in tried(&mallory, text).await {
            let told = told(&mallory, &end, said);
            wrong.extend(secrets(&told).map(|secret| format!("{protocol}: {text} tells {secret}: {told}")));
            let code = end.as_ref().err().and_then(Error::code).map(|code| code.code().to_owned());
            if code.as_deref() == Some("XX000") {
                wrong.push(format!("{protocol}: {text}: {told}"));
            }
        }
    }
    println!("{denied} statements that are refused, {shown} that show nothing");
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    // Nothing was changed, and nobody was thrown out.
    let kept = owner.simple("SELECT v.*, s.* FROM vault v, shared s").await;
    assert_eq!((kept.0.map_err(|error| error.to_string()), kept.1), (Ok(()), rows));
    assert!(server.is_running() && !server.log().contains("panicked at"), "{}", server.log());
    assert_eq!(secrets(&server.log()).collect::<Vec<_>>(), [""; 0], "{}", server.log());
}

/// In both protocols, where it is one statement.
async fn tried(session: &Session, text: &str) -> Vec<(&'static str, (Result<(), Error>, String))> {
    let mut tried = Vec::new();
    if !(text.starts_with("COPY") && SHOWN.contains(text)) {
        tried.push(("simple", session.simple(text).await));
        session.forget().await;
    }
    if !text.contains(';') {
        tried.push(("extended", session.extended(text).await));
        session.forget().await;
    }
    tried
}

/// All that was said: rows, all parts of an error, notices.
fn told(session: &Session, end: &Result<(), Error>, mut said: String) -> String {
    if let Err(error) = end {
        said.push_str(&format!("{error:?}"));
    }
    said.push_str(&session.take_notices());
    said
}

fn secrets(told: &str) -> impl Iterator<Item = &'static str> {
    SECRETS.iter().copied().filter(|secret| told.contains(secret))
}

fn statements(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}
