//! Users, passwords, and what a client learns that has neither.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use tablegate::pg::{AuthConfig, Method, PgConfig, Role, User, UsersFile, Verifier};
use tablegate::store::model::SystemClock;
use tempfile::TempDir;

use crate::wire::harness::{Client, Message, PATIENCE, Server, VERSION_3_0, column, message, startup};

pub(super) const PASSWORD: &str = "a secret, no less";
const SCRAM: &str = "SCRAM-SHA-256";

/// A folder with a users file.
pub(super) struct Door {
    folder: TempDir,
}

impl Door {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// With `ann`, who may write, and `ron`, who may not.
    pub(super) fn with_users() -> Self {
        let door = Self::new();
        door.add("ann", Role::ReadWrite);
        door.add("ron", Role::ReadOnly);
        door
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("users.toml")
    }

    pub(super) fn add(&self, name: &str, role: Role) {
        let user = User { role, verifier: Some(Verifier::of_password(PASSWORD).unwrap()) };
        UsersFile::new(self.file()).change(|users| users.add(name, user)).unwrap();
    }

    pub(super) fn config(&self, method: Method) -> PgConfig {
        let auth = AuthConfig { method, trust_loopback: false, users: Some(self.file()) };
        PgConfig { auth, ..PgConfig::default() }
    }

    pub(super) async fn serve(&self, method: Method) -> Server {
        serve(self.config(method)).await
    }
}

pub(super) async fn serve(config: PgConfig) -> Server {
    Server::start_with(config, Arc::new(SystemClock)).await
}

pub(super) fn sasl_initial(mechanism: &str, first: &[u8]) -> Vec<u8> {
    let length = u32::try_from(first.len()).unwrap().to_be_bytes();
    message(b'p', &[mechanism.as_bytes(), b"\0", &length, first].concat())
}

/// What an AuthenticationSASLContinue or Final says.
fn sasl_data(message: &Message, code: u8) -> &[u8] {
    assert_eq!((message.tag, &message.body[..4]), ('R', &[0, 0, 0, code][..]), "{message:?}");
    &message.body[4..]
}

/// Sends the startup packet and reads which mechanisms are offered.
pub(super) async fn begin(client: &mut Client, user: &str) -> Vec<String> {
    client.write(&startup(VERSION_3_0, &[("user", user)])).await;
    let asked = client.read().await;
    let names = String::from_utf8(sasl_data(&asked, 10).to_vec()).unwrap();
    names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The exchange up to the server's verdict: its signature is checked, or the error returned with the server's challenge.
pub(super) async fn exchange(
    client: &mut Client,
    mechanism: &str,
    password: &str,
    binding: ChannelBinding,
) -> (String, Option<Message>) {
    let mut scram = ScramSha256::new(password.as_bytes(), binding);
    client.write(&sasl_initial(mechanism, scram.message())).await;
    let challenge = client.read().await;
    if challenge.tag == 'E' {
        return (String::new(), Some(challenge));
    }
    let text = String::from_utf8(sasl_data(&challenge, 11).to_vec()).unwrap();
    scram.update(text.as_bytes()).unwrap();
    client.write(&message(b'p', scram.message())).await;
    let verdict = client.read().await;
    if verdict.tag == 'E' {
        return (text, Some(verdict));
    }
    scram.finish(sasl_data(&verdict, 12)).unwrap();
    (text, None)
}

/// Logs in and reads to ReadyForQuery.
pub(super) async fn login(server: &Server, user: &str) -> Client {
    let mut client = server.socket().await;
    assert_eq!(begin(&mut client, user).await, [SCRAM]);
    let (_, error) = exchange(&mut client, SCRAM, PASSWORD, ChannelBinding::unsupported()).await;
    assert!(error.is_none(), "{error:?}");
    let messages = client.until_ready().await;
    client.note_key(&messages);
    client
}

/// The challenge and the code of a login that is refused.
async fn refusal(server: &Server, user: &str, password: &str) -> (String, String) {
    let mut client = server.socket().await;
    begin(&mut client, user).await;
    let (challenge, error) = exchange(&mut client, SCRAM, password, ChannelBinding::unsupported()).await;
    let error = error.expect("it is refused");
    assert_eq!(error.field('S').as_deref(), Some("FATAL"));
    assert_eq!(error.field('M').unwrap(), format!("password authentication failed for user \"{user}\""));
    assert!(client.is_closed().await);
    (challenge, error.code())
}

#[tokio::test]
async fn a_password_opens_the_door_and_a_wrong_one_does_not() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let mut ann = login(&server, "ann").await;
    let who = ann.query("SELECT current_user || ' ' || session_user || ' ' || (SELECT rolname FROM pg_roles WHERE rolname = current_user)").await;
    assert_eq!(column(&who), ["ann ann ann"]);
    let began = Instant::now();
    assert_eq!(refusal(&server, "ann", "wrong").await.1, "28P01");
    assert!(began.elapsed() >= Duration::from_secs(1), "guessing is slow");
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_name_is_asked_like_a_known_one() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let salt_and_count = |challenge: &str| challenge.split_once(",s=").unwrap().1.to_owned();
    let (known, unknown, again) =
        tokio::join!(refusal(&server, "ann", "wrong"), refusal(&server, "eve", PASSWORD), refusal(&server, "eve", "x"));
    assert_eq!([&known.1, &unknown.1, &again.1], ["28P01"; 3]);
    assert_eq!(salt_and_count(&unknown.0), salt_and_count(&again.0), "a user's salt is always the same");
    assert_eq!(salt_and_count(&unknown.0).len(), salt_and_count(&known.0).len());
    assert!(unknown.0.ends_with(",i=4096") && known.0.ends_with(",i=4096"));
    // A start of the server is no reason for another salt.
    let restarted = door.serve(Method::Scram).await;
    assert_eq!(salt_and_count(&refusal(&restarted, "eve", "x").await.0), salt_and_count(&again.0));
    restarted.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn drivers_log_in() {
    let door = Door::with_users();
    let server = door.serve(Method::Auto).await;
    let connect = async |password: &str| {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(server.address.port()).user("ann").password(password);
        let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.query_one("SELECT 1", &[]).await.map(|row| row.get::<_, i32>(0))
    };
    assert_eq!(connect(PASSWORD).await.unwrap(), 1);
    assert_eq!(connect("wrong").await.unwrap_err().code().unwrap().code(), "28P01");
    server.stop().await;
}

#[tokio::test]
async fn changes_of_the_users_are_noticed() {
    let door = Door::new();
    let server = door.serve(Method::Auto).await;
    // Nobody could log in, so nobody of this machine has to.
    server.client().await;
    door.add("ann", Role::ReadWrite);
    let mut ann = login(&server, "ann").await;
    let verifier = Verifier::of_password("another").unwrap();
    UsersFile::new(door.file()).change(|users| users.change("ann", None, Some(Some(verifier)))).unwrap();
    assert_eq!(refusal(&server, "ann", PASSWORD).await.1, "28P01");
    UsersFile::new(door.file()).change(|users| users.remove("ann")).unwrap();
    // The last user is gone, and the door stays closed.
    assert_eq!(refusal(&server, "ann", "another").await.1, "28P01");
    std::fs::remove_file(door.file()).unwrap();
    assert_eq!(refusal(&server, "ann", "another").await.1, "28P01");
    assert_eq!(column(&ann.query("SELECT 1").await), ["1"], "who is in stays in");
    server.stop().await;
}

#[tokio::test]
async fn a_damaged_file_lets_nobody_in() {
    let door = Door::with_users();
    std::fs::write(door.file(), "users = 1").unwrap();
    let config = door.config(Method::Auto);
    let server_refused = tablegate::pg::check_listen_address("127.0.0.1:1".parse().unwrap(), &config);
    assert!(server_refused.unwrap_err().to_string().contains("is damaged"));
    std::fs::remove_file(door.file()).unwrap();
    let server = serve(config).await;
    server.client().await;
    std::fs::write(door.file(), "users = 1").unwrap();
    let mut client = server.socket().await;
    client.write(&startup(VERSION_3_0, &[("user", "ann")])).await;
    let error = client.read().await;
    assert_eq!(error.code(), "58030");
    assert!(!error.field('M').unwrap().contains("users.toml"), "where it is is nobody's business");
    server.stop().await;
}

#[tokio::test]
async fn this_machine_can_be_trusted() {
    let door = Door::with_users();
    let mut config = door.config(Method::Scram);
    config.auth.trust_loopback = true;
    let server = serve(config).await;
    let mut anyone = server.client().await;
    assert_eq!(column(&anyone.query("SELECT current_user").await), ["u"]);
    // A name that is a user's has that user's role.
    let mut ron = server.socket().await;
    ron.start(&[("user", "ron")]).await;
    assert_eq!(column(&ron.query("SHOW transaction_read_only").await), ["on"]);
    server.stop().await;
}

#[tokio::test]
async fn nonsense_instead_of_a_proof_is_refused() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let first = b"n,,n=,r=abcdefghijklmnop";
    let answers = [
        sasl_initial("SCRAM-SHA-1", first),
        sasl_initial("SCRAM-SHA-256-PLUS", first),
        sasl_initial(SCRAM, b"p=tls-server-end-point,,n=,r=abcdefghijklmnop"),
        sasl_initial(SCRAM, b""),
        sasl_initial(SCRAM, b"n"),
        sasl_initial(SCRAM, b"\xff\xfe,,"),
        sasl_initial(SCRAM, &[b'n'; 2000]),
        message(b'p', b""),
        message(b'p', b"SCRAM-SHA-256\0\0\0\0\x09n"),
        message(b'p', b"SCRAM-SHA-256\0\x80\0\0\0n"),
        message(b'Q', b"SELECT 1\0"),
        [b'p', 0x7f, 0xff, 0xff, 0xff].to_vec(),
        [b'p', 0, 0, 0, 0].to_vec(),
    ];
    for answer in answers {
        let mut client = server.socket().await;
        begin(&mut client, "ann").await;
        client.write(&answer).await;
        let error = client.read().await;
        assert_eq!((error.code().as_str(), error.field('S').unwrap().as_str()), ("08P01", "FATAL"), "{answer:?}");
        assert!(client.is_closed().await);
    }
    for last in [&b""[..], b"c=biws", b"c=biws,r=x,p=", b"c=biws,r=x,p=*", b"c=eSws,r=x,p=AAAA", b"\xff"] {
        let mut client = server.socket().await;
        begin(&mut client, "ann").await;
        client.write(&sasl_initial(SCRAM, first)).await;
        sasl_data(&client.read().await, 11);
        client.write(&message(b'p', last)).await;
        assert_eq!(client.read().await.code(), "08P01", "{last:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_may_wait_to_be_asked_for_its_first_message() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let mut client = server.socket().await;
    begin(&mut client, "ann").await;
    client.write(&message(b'p', b"SCRAM-SHA-256\0\xff\xff\xff\xff")).await;
    assert_eq!(sasl_data(&client.read().await, 11), b"");
    client.write(&message(b'p', b"n,,n=,r=abcdefghijklmnop")).await;
    assert!(sasl_data(&client.read().await, 11).starts_with(b"r=abcdefghijklmnop"));
    server.stop().await;
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_says_who_came_and_nothing_secret() {
    let log = Log::default();
    let writer = log.clone();
    // While there is only one dispatcher, an event that another test's thread meets first is off for everybody.
    let _another = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
    let _guard = tracing::subscriber::set_default(subscriber.with_max_level(tracing::Level::TRACE).finish());
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    login(&server, "ann").await.query("SELECT 'a value'").await;
    refusal(&server, "ron", "not his secret").await;
    refusal(&server, "e\nve", "x").await;
    server.stop().await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for expected in ["connected", "disconnected", "user=\"ann\"", "password authentication failed user=\"ron\""] {
        assert!(log.contains(expected), "{expected} in {log}");
    }
    assert!(log.contains(r#"user="e\nve""#), "a name does not make lines of its own: {log}");
    for secret in [PASSWORD, "not his secret", "a value", "SCRAM", ",p=", ",s="] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

/// Runs psql with a password: whether it succeeds, and what it prints.
pub(super) fn psql(connection: &str, password: &str, sql: &str) -> (bool, String) {
    let mut command = Command::new("psql");
    command.args(["-X", "-At", "-w", "-c", sql, connection]).env("PGPASSWORD", password);
    command.env("PGCONNECT_TIMEOUT", PATIENCE.as_secs().to_string()).stdin(Stdio::null());
    let output = command.output().expect("psql is installed: tests/clients/install.sh does that");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.success(), text.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql_logs_in() {
    let door = Door::with_users();
    let server = door.serve(Method::Scram).await;
    let connection = format!("host=127.0.0.1 port={} user=ann dbname=tablegate", server.address.port());
    let ask = |password: &'static str| {
        let connection = connection.clone();
        tokio::task::spawn_blocking(move || psql(&connection, password, "SELECT current_user"))
    };
    assert_eq!(ask(PASSWORD).await.unwrap(), (true, "ann".to_owned()));
    let (succeeded, text) = ask("wrong").await.unwrap();
    assert!(!succeeded && text.contains("password authentication failed for user \"ann\""), "{text}");
    server.stop().await;
}
