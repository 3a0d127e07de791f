//! A server on threads of its own in this process, and a client that speaks the protocol by hand.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Weak};

use tablegate::backends::embedded::{EmbeddedOptions, EmbeddedStore, Fsync};
use tablegate::backends::memory::MemoryStore;
use tablegate::pg::{self, FileAccounts, PgConfig};
use tablegate::sql::limits::STATEMENT_STACK;
use tablegate::sql::session::Accounts;
use tablegate::sql::{Engine, EngineConfig, MountName, MountedStore, ScratchStore};
use tablegate::store::model::{Clock, SystemClock};
use tablegate::store::table::TableStore;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::support;
pub(crate) use crate::support::PATIENCE;

/// Threads that compute queries, whatever the machine has: clients that keep all of them busy have room in the memory for queries.
pub(super) const QUERY_THREADS: usize = 2;

pub(super) struct Server {
    pub address: SocketAddr,
    pub shutdown: CancellationToken,
    engine: Weak<Engine>,
    task: oneshot::Receiver<std::io::Result<()>>,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::start_with(PgConfig::default(), Arc::new(SystemClock)).await
    }

    pub(super) async fn start_with(config: PgConfig, clock: Arc<dyn Clock>) -> Self {
        Self::start_on(Arc::new(MemoryStore::new(Arc::new(SystemClock))), config, clock).await
    }

    /// A server whose rows are kept in a folder.
    pub(super) async fn start_in(folder: &Path) -> Self {
        Self::start_in_with(folder, PgConfig::default()).await
    }

    pub(super) async fn start_in_with(folder: &Path, config: PgConfig) -> Self {
        let clock = Arc::new(SystemClock);
        let options = EmbeddedOptions { fsync: Fsync::Never, ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open(folder, clock.clone(), options).unwrap();
        Self::start_on(Arc::new(store), config, clock).await
    }

    /// A server whose temporary tables are in this store.
    pub(super) async fn start_with_scratch(scratch: Arc<dyn TableStore>) -> Self {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::start_over(
            store,
            EngineConfig { scratch: Some(ScratchStore(scratch)), ..EngineConfig::default() },
            PgConfig::default(),
            clock,
        )
        .await
    }

    /// A server with an empty store mounted.
    pub(super) async fn start_with_mount(name: &str, config: PgConfig) -> Self {
        let clock = Arc::new(SystemClock);
        let memory = || Arc::new(MemoryStore::new(clock.clone()));
        let mount = MountedStore { name: MountName::parse(name).unwrap(), store: memory(), read_only: false };
        Self::start_over(
            memory(),
            EngineConfig { mounts: vec![mount], ..EngineConfig::default() },
            config,
            clock.clone(),
        )
        .await
    }

    pub(super) async fn start_on(store: Arc<dyn TableStore>, config: PgConfig, clock: Arc<dyn Clock>) -> Self {
        let scratch = Arc::new(MemoryStore::new(clock.clone()));
        Self::start_over(
            store,
            EngineConfig { scratch: Some(ScratchStore(scratch)), ..EngineConfig::default() },
            config,
            clock,
        )
        .await
    }

    async fn start_over(
        store: Arc<dyn TableStore>,
        options: EngineConfig,
        config: PgConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let accounts = config.auth.users.as_ref().map(|file| Arc::new(FileAccounts::new(file)) as Arc<dyn Accounts>);
        let options = EngineConfig { accounts, query_threads: QUERY_THREADS, ..options };
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let (tell_address, address) = oneshot::channel();
        let (tell_end, task) = oneshot::channel();
        let log = tracing::dispatcher::get_default(Clone::clone);
        let serve = async move {
            let engine = Engine::open(store, clock, options).await.unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell_address.send((listener.local_addr().unwrap(), Arc::downgrade(&engine))).unwrap();
            pg::serve(listener, engine, config, stop).await
        };
        let run = move || {
            let mut threads = tokio::runtime::Builder::new_multi_thread();
            threads.worker_threads(2).thread_stack_size(STATEMENT_STACK).enable_all();
            // What they log goes where the test's own goes, to their end.
            threads.on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&log)));
            let runtime = threads.build().unwrap();
            let served = runtime.block_on(async { tokio::spawn(serve).await.unwrap() });
            // A test that has failed does not wait for it.
            let _ = tell_end.send(served);
        };
        std::thread::spawn(run);
        let (address, engine) = address.await.expect("it says where it listens");
        Self { address, shutdown, engine, task }
    }

    /// A client that has been let in.
    pub(super) async fn client(&self) -> Client {
        let mut client = self.socket().await;
        client.start(&[("user", "u")]).await;
        client
    }

    /// A connection that has said nothing yet.
    pub(super) async fn socket(&self) -> Client {
        Client::over(TcpStream::connect(self.address).await.unwrap())
    }

    pub(super) async fn driver(&self) -> tokio_postgres::Client {
        let config = format!("host=127.0.0.1 port={} user=u sslmode=disable", self.address.port());
        let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Waits until others see a session run a statement.
    pub(super) async fn until_active(&self, pid: i32) {
        self.until(pid, "state = 'active'").await;
    }

    /// Waits until others see a session wait for a lock.
    pub(super) async fn until_waiting(&self, pid: i32) {
        self.until(pid, "wait_event_type = 'Lock'").await;
    }

    /// Waits until others see a session like this.
    pub(super) async fn until(&self, pid: i32, condition: &str) {
        let observer = self.driver().await;
        let seen = format!("SELECT FROM pg_stat_activity WHERE pid = {pid} AND {condition}");
        let looking = async {
            while observer.query(&seen, &[]).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{condition}: never seen"));
    }

    /// Waits until nothing of any query is left.
    pub(super) async fn until_idle(&self) {
        support::until_idle(|| self.engine.upgrade().is_some_and(|engine| engine.tasks() > 0)).await;
    }

    /// Sends a cancel request for a client's statement, and waits until it was taken.
    pub(super) async fn cancel(&self, pid: i32, secret: i32) {
        let mut socket = self.socket().await;
        socket.write(&cancel_request(pid, secret)).await;
        assert!(socket.is_closed().await);
    }

    pub(super) async fn stop(self) {
        self.shutdown.cancel();
        self.ended().await;
    }

    pub(super) async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the server stops").unwrap().unwrap();
    }
}

/// The process id by which others know a driver's session.
pub(super) async fn pid_of(client: &tokio_postgres::Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0)
}

/// A message of the server.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub tag: char,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub(super) fn field(&self, name: char) -> Option<String> {
        assert!(matches!(self.tag, 'E' | 'N'), "{self:?}");
        let fields = self.body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let mut found = fields.filter(|field| char::from(field[0]) == name);
        found.next().map(|field| String::from_utf8(field[1..].to_vec()).unwrap())
    }

    pub(super) fn code(&self) -> String {
        self.field('C').unwrap()
    }

    /// The text of a CommandComplete.
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body[..self.body.len() - 1].to_vec()).unwrap()
    }

    /// The cells of a DataRow.
    pub(super) fn cells(&self) -> Vec<Option<Vec<u8>>> {
        assert_eq!(self.tag, 'D', "{self:?}");
        let mut rest = &self.body[2..];
        let mut cells = Vec::new();
        while !rest.is_empty() {
            let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
            rest = &rest[4..];
            cells.push(usize::try_from(length).ok().map(|length| {
                let cell = rest[..length].to_vec();
                rest = &rest[length..];
                cell
            }));
        }
        assert_eq!(cells.len(), usize::from(u16::from_be_bytes(self.body[..2].try_into().unwrap())));
        cells
    }

    pub(super) fn texts_of(&self, column: usize) -> String {
        String::from_utf8(self.cells()[column].clone().unwrap()).unwrap()
    }

    /// The cells of a DataRow in text form, `NULL` for none.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |cell: Option<Vec<u8>>| cell.map_or("NULL".to_owned(), |cell| String::from_utf8(cell).unwrap());
        self.cells().into_iter().map(text).collect()
    }
}

/// The types of messages, in order.
pub(super) fn tags(messages: &[Message]) -> String {
    messages.iter().map(|message| message.tag).collect()
}

/// The status byte of the ReadyForQuery that ends the messages.
pub(super) fn status(messages: &[Message]) -> char {
    let last = messages.last().unwrap();
    assert_eq!(last.tag, 'Z');
    char::from(last.body[0])
}

/// The SQLSTATE of the one error among the messages.
pub(super) fn error_code(messages: &[Message]) -> String {
    error(messages).code()
}

pub(super) fn error(messages: &[Message]) -> &Message {
    let mut errors = messages.iter().filter(|message| message.tag == 'E');
    let error = errors.next().unwrap_or_else(|| panic!("no error in {messages:?}"));
    assert!(errors.next().is_none(), "{messages:?}");
    error
}

/// The first column of the rows among the messages.
pub(super) fn column(messages: &[Message]) -> Vec<String> {
    messages.iter().filter(|message| message.tag == 'D').map(|row| row.texts()[0].clone()).collect()
}

/// A message of the client.
pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

fn cstring(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

fn count(count: usize) -> [u8; 2] {
    u16::try_from(count).unwrap().to_be_bytes()
}

pub(super) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &cstring(sql))
}

pub(super) fn parse(name: &str, sql: &str, oids: &[u32]) -> Vec<u8> {
    let mut body = [cstring(name), cstring(sql)].concat();
    body.extend(count(oids.len()));
    body.extend(oids.iter().flat_map(|oid| oid.to_be_bytes()));
    message(b'P', &body)
}

/// Bind with text values.
pub(super) fn bind(portal: &str, statement: &str, values: &[Option<&str>]) -> Vec<u8> {
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.map(str::as_bytes)).collect();
    bind_as(portal, statement, &[], &values, &[])
}

pub(super) fn bind_as(
    portal: &str,
    statement: &str,
    formats: &[i16],
    values: &[Option<&[u8]>],
    result_formats: &[i16],
) -> Vec<u8> {
    let mut body = [cstring(portal), cstring(statement)].concat();
    body.extend(count(formats.len()));
    body.extend(formats.iter().flat_map(|format| format.to_be_bytes()));
    body.extend(count(values.len()));
    for value in values {
        match value {
            Some(value) => {
                body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
                body.extend(*value);
            }
            None => body.extend((-1_i32).to_be_bytes()),
        }
    }
    body.extend(count(result_formats.len()));
    body.extend(result_formats.iter().flat_map(|format| format.to_be_bytes()));
    message(b'B', &body)
}

/// `kind` is `S` for a statement, `P` for a portal.
pub(super) fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[vec![kind], cstring(name)].concat())
}

pub(super) fn close(kind: u8, name: &str) -> Vec<u8> {
    message(b'C', &[vec![kind], cstring(name)].concat())
}

pub(super) fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    message(b'E', &[cstring(portal), max_rows.to_be_bytes().to_vec()].concat())
}

pub(super) fn sync() -> Vec<u8> {
    message(b'S', b"")
}

pub(super) fn flush() -> Vec<u8> {
    message(b'H', b"")
}

/// The startup packet.
pub(super) fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend([cstring(name), cstring(value)].concat());
    }
    body.push(0);
    let mut bytes = u32::try_from(body.len() + 4).unwrap().to_be_bytes().to_vec();
    bytes.extend(body);
    bytes
}

pub(super) fn cancel_request(pid: i32, secret: i32) -> Vec<u8> {
    [16, 80_877_102, pid, secret].into_iter().flat_map(i32::to_be_bytes).collect()
}

pub(super) const VERSION_3_0: u32 = 3 << 16;

/// A connection's bytes, encrypted or not.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

pub(super) struct Client {
    pub stream: Box<dyn Wire>,
    pub pid: i32,
    pub secret: i32,
}

impl Client {
    pub(super) fn over(stream: impl Wire + 'static) -> Self {
        Self { stream: Box::new(stream), pid: 0, secret: 0 }
    }

    /// Sends the startup packet and reads to the first ReadyForQuery.
    pub(super) async fn start(&mut self, parameters: &[(&str, &str)]) -> Vec<Message> {
        self.write(&startup(VERSION_3_0, parameters)).await;
        let messages = self.until_ready().await;
        self.note_key(&messages);
        messages
    }

    /// Remembers what a cancel request needs.
    pub(super) fn note_key(&mut self, messages: &[Message]) {
        let key = messages.iter().find(|message| message.tag == 'K').unwrap();
        self.pid = i32::from_be_bytes(key.body[..4].try_into().unwrap());
        self.secret = i32::from_be_bytes(key.body[4..].try_into().unwrap());
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        tokio::time::timeout(PATIENCE, self.stream.write_all(bytes)).await.expect("the server reads").unwrap();
    }

    /// Sends messages in one piece.
    pub(super) async fn send(&mut self, messages: &[Vec<u8>]) {
        self.write(&messages.concat()).await;
    }

    /// Sends messages and reads to ReadyForQuery.
    pub(super) async fn ask(&mut self, messages: &[Vec<u8>]) -> Vec<Message> {
        self.send(messages).await;
        self.until_ready().await
    }

    pub(super) async fn query(&mut self, sql: &str) -> Vec<Message> {
        self.ask(&[query(sql)]).await
    }

    pub(super) async fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.read().await;
            messages.push(message);
            if messages.last().unwrap().tag == 'Z' {
                return messages;
            }
        }
    }

    pub(super) async fn read(&mut self) -> Message {
        self.try_read().await.expect("the server answers")
    }

    /// The next message; `None` when the server closed the connection.
    pub(super) async fn try_read(&mut self) -> Option<Message> {
        let read = async {
            let tag = self.stream.read_u8().await.ok()?;
            let length = usize::try_from(self.stream.read_u32().await.ok()?).unwrap();
            let mut body = vec![0; length - 4];
            self.stream.read_exact(&mut body).await.ok()?;
            Some(Message { tag: char::from(tag), body })
        };
        tokio::time::timeout(PATIENCE, read).await.expect("the server answers in time")
    }

    /// Whether the server closes the connection without another word.
    pub(super) async fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut byte)).await;
        matches!(read.expect("the server closes in time"), Ok(0) | Err(_))
    }
}

/// A relation of `10^digits` rows. Each join has ten rows on its left, which is the side that is kept in memory.
pub(super) fn many_rows(digits: usize) -> String {
    let tables = (0..digits).map(|i| format!("(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) t{i}(c{i})"));
    let joined = tables.reduce(|rows, table| format!("({table} CROSS JOIN {rows})")).unwrap();
    joined.strip_prefix('(').and_then(|rows| rows.strip_suffix(')')).unwrap().to_owned()
}

/// A query that never ends, and keeps nothing.
pub(super) fn endless_count() -> String {
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n".to_owned()
}

/// A query of ten thousand rows, 40 MB together: more than lies between a server and a client that does not read.
pub(super) fn large_result() -> String {
    format!("SELECT c0, repeat('x', 4000) FROM {}", many_rows(4))
}
