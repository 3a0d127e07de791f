//! Encrypted connections: asked for and direct, required and refused, and what nobody can slip in before them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::authentication::sasl::ChannelBinding;
use tablegate::pg::{Method, PgConfig, Tls};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::wire::harness::{
    Client, Server, VERSION_3_0, cancel_request, column, endless_count, error_code, large_result, query, startup,
};
use crate::wire::logins::{Door, PASSWORD, begin, exchange, psql, serve};

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const GSSENC_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];
const PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Made for these tests, for `localhost` and 127.0.0.1, and trusted by nobody else.
fn data(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(file)
}

fn config() -> PgConfig {
    let tls = Tls::load(&data("server.crt"), &data("server.key")).unwrap();
    PgConfig { tls: Some(tls), ..PgConfig::default() }
}

fn connector(versions: &[&'static SupportedProtocolVersion], protocols: &[&str]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(data("ca.crt")).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config =
        builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

/// The handshake, without asking first.
async fn direct(server: &Server, connector: TlsConnector) -> std::io::Result<Client> {
    let tcp = TcpStream::connect(server.address).await?;
    Ok(Client::over(connector.connect(ServerName::try_from("localhost").unwrap(), tcp).await?))
}

/// Asks with SSLRequest and shakes hands.
async fn asked(server: &Server, versions: &[&'static SupportedProtocolVersion]) -> Client {
    let mut client = server.socket().await;
    client.write(&SSL_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'S');
    let connector = connector(versions, &[]);
    Client::over(connector.connect(ServerName::try_from("localhost").unwrap(), client.stream).await.unwrap())
}

const SHOWN: &str = "SELECT ssl || ' ' || version || ' ' || bits || ' ' || (pid = pg_backend_pid()) FROM pg_stat_ssl";

#[tokio::test]
async fn a_client_asks_and_is_encrypted() {
    let server = serve(config()).await;
    for (version, name) in [(&TLS13, "TLSv1.3"), (&TLS12, "TLSv1.2")] {
        let mut client = asked(&server, &[version]).await;
        client.start(&[("user", "u")]).await;
        let shown = column(&client.query(SHOWN).await);
        assert_eq!(shown, [format!("true {name} 256 true")]);
        let pid = column(&client.query("SELECT pg_backend_pid()").await);
        assert_eq!(pid, [client.pid.to_string()]);
        assert!(column(&client.query("SELECT cipher FROM pg_stat_ssl").await)[0].starts_with("TLS_"));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_ask_is_served_as_it_is() {
    let server = serve(config()).await;
    let mut client = server.socket().await;
    client.write(&GSSENC_REQUEST).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    client.start(&[("user", "u")]).await;
    assert_eq!(
        column(&client.query("SELECT ssl || coalesce(version, ' none') FROM pg_stat_ssl").await),
        ["false none"]
    );
    server.stop().await;
}

#[tokio::test]
async fn newer_clients_begin_with_the_handshake() {
    let server = serve(config()).await;
    let mut client = direct(&server, connector(&[&TLS13], &["postgresql"])).await.unwrap();
    client.start(&[("user", "u")]).await;
    assert_eq!(column(&client.query("SELECT ssl FROM pg_stat_ssl").await), ["t"]);
    let mut nameless = direct(&server, connector(&[&TLS13], &[])).await.unwrap();
    assert_eq!(nameless.read().await.code(), "08P01");
    assert!(direct(&server, connector(&[&TLS13], &["http/1.1"])).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn large_results_arrive_whole() {
    let server = serve(config()).await;
    let mut client = asked(&server, &[&TLS13]).await;
    client.start(&[("user", "u")]).await;
    let messages = client.query(&large_result()).await;
    assert_eq!(messages.iter().filter(|message| message.tag == 'D').count(), 10_000);
    server.stop().await;
}

#[tokio::test]
async fn without_encryption_nobody_is_let_in_where_it_is_required() {
    let server = serve(PgConfig { require_tls: true, ..config() }).await;
    let mut plain = server.socket().await;
    plain.write(&startup(VERSION_3_0, &[("user", "u"), ("database", "d")])).await;
    let error = plain.read().await;
    assert_eq!(error.code(), "28000");
    let told = "no pg_hba.conf entry for host \"127.0.0.1\", user \"u\", database \"d\", no encryption";
    assert_eq!(error.field('M').unwrap(), told);
    assert!(plain.is_closed().await);
    asked(&server, &[&TLS13]).await.start(&[("user", "u")]).await;
    server.stop().await;
}

#[tokio::test]
async fn what_is_slipped_in_before_the_handshake_is_not_taken() {
    let server = serve(config()).await;
    let mut client = server.socket().await;
    client.write(&[SSL_REQUEST.to_vec(), startup(VERSION_3_0, &[("user", "u")]), query("SELECT 1")].concat()).await;
    assert_eq!(client.stream.read_u8().await.unwrap(), b'S');
    let mut answer = Vec::new();
    // The server closes with bytes unread, which the client may see as a reset.
    let _ = client.stream.read_to_end(&mut answer).await;
    // At most an alert of TLS.
    assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_has_its_time() {
    let server = serve(PgConfig { startup_timeout: Duration::from_millis(500), ..config() }).await;
    let mut client = server.socket().await;
    client.write(&SSL_REQUEST).await;
    // It is offered, unless the machine is so busy that the time is over before.
    let offered = client.stream.read_u8().await;
    assert!(offered.is_err() || offered.is_ok_and(|offered| offered == b'S'));
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn encryption_is_asked_for_once() {
    let server = serve(config()).await;
    for again in [SSL_REQUEST, GSSENC_REQUEST] {
        let mut client = asked(&server, &[&TLS13]).await;
        client.write(&again).await;
        assert_eq!(client.read().await.code(), "0A000");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_requests_may_be_encrypted() {
    let server = serve(config()).await;
    let mut client = asked(&server, &[&TLS13]).await;
    client.start(&[("user", "u")]).await;
    client.send(&[query(&endless_count())]).await;
    server.until_active(client.pid).await;
    let mut canceller = asked(&server, &[&TLS13]).await;
    canceller.write(&cancel_request(client.pid, client.secret)).await;
    assert!(canceller.is_closed().await);
    assert_eq!(error_code(&client.until_ready().await), "57014");
    server.stop().await;
}

#[tokio::test]
async fn a_password_can_be_bound_to_the_certificate() {
    let door = Door::with_users();
    let server = serve(PgConfig { tls: config().tls, ..door.config(Method::Scram) }).await;
    let certificate = CertificateDer::from_pem_file(data("server.crt")).unwrap();
    let hash = |bytes: &[u8]| ring_hash(bytes);
    let bound = || ChannelBinding::tls_server_end_point(hash(&certificate));
    let elsewhere = || ChannelBinding::tls_server_end_point(hash(b"another certificate"));
    let attempts = [
        (PLUS, bound(), None),
        ("SCRAM-SHA-256", ChannelBinding::unsupported(), None),
        // Between the two stands somebody with a certificate of their own.
        (PLUS, elsewhere(), Some("08P01")),
        // The client could bind and was told that the server cannot.
        ("SCRAM-SHA-256", ChannelBinding::unrequested(), Some("08P01")),
        (PLUS, ChannelBinding::unsupported(), Some("08P01")),
    ];
    for (number, (mechanism, binding, expected)) in attempts.into_iter().enumerate() {
        let mut client = asked(&server, &[&TLS13]).await;
        assert_eq!(begin(&mut client, "ann").await, [PLUS, "SCRAM-SHA-256"]);
        let (_, error) = exchange(&mut client, mechanism, PASSWORD, binding).await;
        assert_eq!(error.map(|error| error.code()).as_deref(), expected, "attempt {number}");
    }
    // Nothing to bind to without TLS.
    assert_eq!(begin(&mut server.socket().await, "ann").await, ["SCRAM-SHA-256"]);
    server.stop().await;
}

fn ring_hash(bytes: &[u8]) -> Vec<u8> {
    ::ring::digest::digest(&::ring::digest::SHA256, bytes).as_ref().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql_checks_the_certificate_and_binds_to_it() {
    let door = Door::with_users();
    let server = serve(PgConfig { tls: config().tls, require_tls: true, ..door.config(Method::Scram) }).await;
    let ask = |options: &str| {
        let connection = format!(
            "host=localhost hostaddr=127.0.0.1 port={} user=ann dbname=tablegate sslrootcert={} {options}",
            server.address.port(),
            data("ca.crt").display()
        );
        tokio::task::spawn_blocking(move || psql(&connection, PASSWORD, "SELECT ssl, version FROM pg_stat_ssl"))
    };
    let answer = ask("sslmode=verify-full channel_binding=require").await.unwrap();
    assert_eq!(answer, (true, "t|TLSv1.3".to_owned()));
    let older = ask("sslmode=verify-full ssl_max_protocol_version=TLSv1.2").await.unwrap();
    assert_eq!(older, (true, "t|TLSv1.2".to_owned()));
    let (succeeded, text) = ask("sslmode=disable").await.unwrap();
    assert!(!succeeded && text.contains("no encryption"), "{text}");
    server.stop().await;
}

#[test]
fn files_that_are_no_certificate_and_key_are_named() {
    let message = |certificate: &str, key: &str| Tls::load(&data(certificate), &data(key)).unwrap_err().to_string();
    assert!(message("missing.crt", "server.key").contains("missing.crt"));
    assert!(message("server.key", "server.key").contains("holds no certificate"));
    assert!(message("server.crt", "server.crt").contains("server.crt"));
    assert!(message("ca.crt", "server.key").contains("cannot be used"));
}
