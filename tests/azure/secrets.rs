//! What lets the gateway into an account: sent where it belongs, told nowhere.

use std::io::Read;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{TimeDelta, Utc};
use tablegate::backends::azure::{
    AzureAccount, AzureOptions, AzureStore, Credential, RetryPolicy, Secret, Token, TokenSource,
};
use tablegate::store::model::TableName;
use tablegate::store::table::{StoreError, TableStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::server::program;

/// A server that answers each request in turn with one of these, the last one for good, and keeps what it was asked.
struct Canned {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

const NO_TABLES: &str = "200 OK\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";

impl Canned {
    async fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while let Ok(byte) = client.read_u8().await {
                        head.push(byte);
                        if !head.ends_with(b"\r\n\r\n") {
                            continue;
                        }
                        let number = {
                            let mut kept = kept.lock().unwrap();
                            kept.push(String::from_utf8_lossy(&std::mem::take(&mut head)).into_owned());
                            kept.len() - 1
                        };
                        let answer = answers[number.min(answers.len() - 1)];
                        client.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await.unwrap();
                    }
                });
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn options() -> AzureOptions {
    let retry = RetryPolicy { delays: vec![Duration::from_millis(1)], budget: Duration::from_secs(5) };
    AzureOptions { retry, ..AzureOptions::default() }
}

fn store(address: SocketAddr, credential: Credential) -> AzureStore {
    AzureStore::new(AzureAccount::new(&format!("http://{address}/acct"), credential).unwrap(), options()).unwrap()
}

/// Numbered tokens that serve for so many minutes; after `most` there are none.
#[derive(Debug)]
struct Numbered {
    minutes: i64,
    most: usize,
    given: AtomicUsize,
}

#[async_trait]
impl TokenSource for Numbered {
    async fn token(&self, scope: &str) -> Result<Token, String> {
        assert_eq!(scope, "https://storage.azure.com/.default");
        let number = self.given.fetch_add(1, Ordering::SeqCst);
        if number >= self.most {
            return Err("as planned".to_owned());
        }
        let ends = Utc::now() + TimeDelta::minutes(self.minutes);
        Ok(Token { secret: Secret::new(format!("t0ken-{number}")), ends })
    }
}

fn tokens(minutes: i64, most: usize) -> Credential {
    Credential::Token(Arc::new(Numbered { minutes, most, given: AtomicUsize::new(0) }))
}

/// Asks for an entity, which takes one request.
async fn ask(store: &AzureStore) -> Result<(), StoreError> {
    let key = tablegate::store::model::EntityKey::parse("p", "r").unwrap();
    store.reader().get(&TableName::parse("Orders").unwrap(), &key).await.map(|_| ())
}

const NO_ENTITY: &str = "404 Not Found\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn a_token_goes_along_and_is_renewed_before_it_ends() {
    let server = Canned::start(&[NO_ENTITY]).await;
    let lasting = store(server.address, tokens(60, 9));
    ask(&lasting).await.unwrap();
    ask(&lasting).await.unwrap();
    let ending = store(server.address, tokens(4, 9));
    ask(&ending).await.unwrap();
    ask(&ending).await.unwrap();
    let carried: Vec<bool> = server
        .heads()
        .iter()
        .zip(["t0ken-0", "t0ken-0", "t0ken-0", "t0ken-1"])
        .map(|(head, token)| head.contains(&format!("authorization: Bearer {token}\r\n")))
        .collect();
    assert_eq!(carried, [true; 4], "{:?}", server.heads());
    assert!(server.heads().iter().all(|head| head.contains("x-ms-version: 2020-12-06")));
}

#[tokio::test]
async fn a_token_that_the_service_refuses_is_not_used_again() {
    let server = Canned::start(&["401 Unauthorized\r\nContent-Length: 0\r\n\r\n", NO_ENTITY]).await;
    let store = store(server.address, tokens(60, 9));
    assert!(matches!(ask(&store).await, Err(StoreError::Refused(_))));
    ask(&store).await.unwrap();
    assert!(server.heads()[1].contains("Bearer t0ken-1"), "{:?}", server.heads());
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let server = Canned::start(&[NO_ENTITY]).await;
    let told = ask(&store(server.address, tokens(60, 0))).await.unwrap_err();
    assert!(told.to_string().contains("no token of Entra ID: as planned"), "{told}");
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn no_error_tells_a_shared_access_signature_or_a_token() {
    const BROKEN: &[&str] = &[
        "500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        "503 Server Busy\r\nContent-Length: 0\r\n\r\n",
        "403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nContent-Length: 3\r\n\r\n{\"v",
        "302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nContent-Length: nonsense\r\n\r\n",
        "nonsense\r\n\r\n",
    ];
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut addresses = vec![nobody];
    for answer in BROKEN {
        addresses.push(Canned::start(std::slice::from_ref(answer)).await.address);
    }
    for address in addresses {
        for credential in [Credential::sas(&Secret::new("sv=1&sig=s3cret")).unwrap(), tokens(60, 9)] {
            let store = store(address, credential);
            let table = TableName::parse("Orders").unwrap();
            let told = [
                format!("{0} {0:?}", store.reader().list_tables().await.unwrap_err()),
                format!("{:?}", store.create_table(&table).await),
                format!("{store:?}"),
            ];
            let is_told = |text: &String| text.contains("s3cret") || text.contains("sig=") || text.contains("t0ken");
            assert!(!told.iter().any(is_told), "{told:?}");
        }
    }
}

/// A level alone is for the program's own messages; here its libraries say all that they have to say too.
const EVERYTHING: &str = "trace,hyper=trace,reqwest=trace,rustls=trace,azure=trace,tokio=trace,mio=trace,want=trace";

/// The program itself, with everything logged that anybody logs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_log_tells_a_shared_access_signature_or_a_key() {
    let server = Canned::start(&[NO_TABLES, "403 Forbidden\r\nContent-Length: 0\r\n\r\n"]).await;
    let endpoint = format!("TableEndpoint=http://{}/acct", server.address);
    // s3cret and s3cretkey, the second in base64.
    for (credential, secrets) in [
        ("SharedAccessSignature=sv=1&sig=s3cret", ["s3cret", "sig="]),
        ("AccountKey=czNjcmV0a2V5", ["czNjcmV0a2V5", "s3cretkey"]),
    ] {
        let connection = format!("{endpoint};{credential}");
        let log = tokio::task::spawn_blocking(move || {
            let mut child = program()
                .args(["--listen", "127.0.0.1:0", "--connection-string", "env:ACCOUNT", "--log", EVERYTHING])
                .args(["--retry-delays", "off"])
                .env("ACCOUNT", connection)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut log = String::new();
            child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            assert!(!child.wait().unwrap().success(), "the account lets nobody in");
            log
        });
        let log = log.await.unwrap();
        assert!(log.contains("TRACE") && log.contains("403"), "{log}");
        let told: Vec<&str> = log.lines().filter(|line| secrets.iter().any(|secret| line.contains(secret))).collect();
        assert!(told.is_empty(), "{told:?}");
    }
    assert!(server.heads().iter().any(|head| head.contains("sig=s3cret")), "it was sent, and not logged");
}
