//! Greeting, refusing, negotiating.

use std::sync::Arc;
use std::time::Duration;

use tablegate::pg::PgConfig;
use tablegate::store::model::SystemClock;
use tokio::io::AsyncReadExt;

use crate::wire::harness::{Client, Server, VERSION_3_0, column, error_code, startup, status, tags};

#[tokio::test]
async fn a_client_is_greeted() {
    let server = Server::start().await;
    let messages = server.socket().await.start(&[("user", "alice"), ("application_name", "test")]).await;
    let parameters: Vec<String> = messages
        .iter()
        .filter(|message| message.tag == 'S')
        .map(|message| String::from_utf8_lossy(&message.body).replace('\0', "=").trim_end_matches('=').to_owned())
        .collect();
    for expected in
        ["client_encoding=UTF8", "session_authorization=alice", "application_name=test", "integer_datetimes=on"]
    {
        assert!(parameters.iter().any(|parameter| parameter == expected), "{expected} in {parameters:?}");
    }
    assert!(parameters.iter().any(|parameter| parameter.starts_with("server_version=15.")));
    let tags = tags(&messages);
    assert!(tags.starts_with('R') && tags.ends_with("KZ"), "{tags}");
    assert_eq!(messages[0].body, [0; 4]);
    assert_eq!(status(&messages), 'I');
    server.stop().await;
}

#[tokio::test]
async fn encryption_is_refused_and_the_client_may_go_on_without() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    for code in [80_877_103_u32, 80_877_104] {
        client.write(&[8_u32.to_be_bytes(), code.to_be_bytes()].concat()).await;
        assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    }
    client.start(&[("user", "u")]).await;
    assert_eq!(column(&client.query("SELECT 1").await), ["1"]);
    server.stop().await;
}

#[tokio::test]
async fn settings_of_the_startup_packet_are_in_force() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    client.start(&[("user", "u"), ("options", "-c statement_timeout=12s --extra_float_digits=2")]).await;
    assert_eq!(column(&client.query("SHOW statement_timeout").await), ["12s"]);
    assert_eq!(column(&client.query("SHOW extra_float_digits").await), ["2"]);
    server.stop().await;
}

/// A client that asked for this database.
async fn asking_for(server: &Server, database: &str) -> Client {
    let mut client = server.socket().await;
    client.start(&[("user", "u"), ("database", database)]).await;
    client
}

#[tokio::test]
async fn each_client_finds_the_database_it_asked_for() {
    let server = Server::start().await;
    let mut shop = asking_for(&server, "shop").await;
    shop.query("CREATE TABLE t (a int PRIMARY KEY)").await;
    shop.query("CREATE SEQUENCE s").await;
    for sql in [
        "SELECT current_database()",
        "SELECT current_catalog",
        "SELECT datname FROM pg_database WHERE NOT datistemplate",
        "SELECT datname FROM pg_stat_activity",
        "SELECT datname FROM pg_stat_database WHERE datid > 0",
        "SELECT catalog_name FROM information_schema.information_schema_catalog_name",
        "SELECT DISTINCT catalog_name FROM information_schema.schemata",
        "SELECT table_catalog FROM information_schema.tables WHERE table_name = 't'",
        "SELECT udt_catalog FROM information_schema.columns WHERE table_name = 't'",
        "SELECT DISTINCT constraint_catalog FROM information_schema.table_constraints WHERE table_name = 't'",
        "SELECT constraint_catalog FROM information_schema.key_column_usage WHERE table_name = 't'",
        "SELECT sequence_catalog FROM information_schema.sequences",
    ] {
        assert_eq!(column(&shop.query(sql).await), ["shop"], "{sql}");
    }
    // It is the same database whatever it is called: its OID and tables are.
    let oid = column(&shop.query("SELECT oid FROM pg_database WHERE datname = current_database()").await);
    let mut unnamed = server.socket().await;
    unnamed.start(&[("user", "Ann")]).await;
    assert_eq!(column(&unnamed.query("SELECT current_database()").await), ["Ann"]);
    assert_eq!(column(&unnamed.query("SELECT oid FROM pg_database WHERE datname = 'Ann'").await), oid);
    assert_eq!(
        column(&unnamed.query("SELECT table_catalog FROM information_schema.tables WHERE table_name = 't'").await),
        ["Ann"]
    );
    let long = format!("{}é", "d".repeat(62));
    let mut long = asking_for(&server, &long).await;
    assert_eq!(column(&long.query("SELECT current_database()").await), ["d".repeat(62)]);
    // A template's name is there once.
    let mut template = asking_for(&server, "template1").await;
    let names = "SELECT datname FROM pg_database ORDER BY oid";
    assert_eq!(column(&template.query(names).await).iter().filter(|name| *name == "template1").count(), 1);
    server.stop().await;
}

#[tokio::test]
async fn the_database_is_known_by_the_name_asked_for_and_by_the_servers() {
    let server = Server::start().await;
    let mut shop = asking_for(&server, "shop").await;
    for name in ["shop", "tablegate"] {
        let (told, size) = (format!("told to {name}"), format!("SELECT pg_database_size('{name}') IS NOT NULL"));
        assert_eq!(column(&shop.query(&size).await), ["t"]);
        let may = format!("SELECT has_database_privilege('{name}', 'CONNECT')");
        assert_eq!(column(&shop.query(&may).await), ["t"]);
        assert_eq!(tags(&shop.query(&format!("COMMENT ON DATABASE {name} IS '{told}'")).await), "CZ");
        for reader in ["shop", "other"] {
            let mut reader = asking_for(&server, reader).await;
            let comment =
                "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()";
            assert_eq!(column(&reader.query(comment).await), [told.as_str()]);
        }
    }
    for sql in ["SELECT pg_database_size('other')", "SELECT has_database_privilege('other', 'CONNECT')"] {
        assert_eq!(error_code(&shop.query(sql).await), "3D000", "{sql}");
    }
    server.stop().await;
}

async fn refusal(server: &Server, packet: Vec<u8>) -> (String, String) {
    let mut client = server.socket().await;
    client.write(&packet).await;
    let error = client.read().await;
    assert!(client.is_closed().await);
    (error.field('S').unwrap(), error.code())
}

#[tokio::test]
async fn a_startup_that_cannot_be_served_is_fatal() {
    let server = Server::start().await;
    let fatal = |code: &str| ("FATAL".to_owned(), code.to_owned());
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("database", "d")])).await, fatal("28000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("no_such", "1")])).await, fatal("42704"));
    let encoding = [("user", "u"), ("client_encoding", "LATIN1")];
    assert_eq!(refusal(&server, startup(VERSION_3_0, &encoding)).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(2 << 16, &[("user", "u")])).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("replication", "1")])).await, fatal("0A000"));
    assert_eq!(refusal(&server, startup(VERSION_3_0, &[("user", "u"), ("options", "-z")])).await, fatal("42601"));
    server.client().await;
    server.stop().await;
}

#[tokio::test]
async fn a_newer_protocol_is_negotiated_down() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    client.write(&startup(VERSION_3_0 + 2, &[("user", "u"), ("_pq_.feature", "on")])).await;
    let messages = client.until_ready().await;
    assert_eq!(messages[0].tag, 'v');
    assert_eq!(messages[0].body[..4], VERSION_3_0.to_be_bytes());
    assert_eq!(messages[0].body[8..], *b"_pq_.feature\0");
    server.stop().await;
}

#[tokio::test]
async fn a_length_that_cannot_be_is_refused_at_once() {
    let server = Server::start().await;
    for length in [0_u32, 3, 7, 10_001, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        let mut client = server.socket().await;
        client.write(&length.to_be_bytes()).await;
        assert!(client.is_closed().await, "{length}");
    }
    // A TLS client that does not ask first.
    let mut client = server.socket().await;
    client.write(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await;
    assert!(client.is_closed().await);
    server.stop().await;
}

#[tokio::test]
async fn one_client_too_many_is_told_so() {
    let config = PgConfig { max_connections: 2, ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    let one = server.client().await;
    let _two = server.client().await;
    let refused = refusal(&server, startup(VERSION_3_0, &[("user", "u")])).await;
    assert_eq!(refused, ("FATAL".to_owned(), "53300".to_owned()));
    drop(one);
    // Its place is free when the server has seen it leave.
    loop {
        let mut client = server.socket().await;
        client.write(&startup(VERSION_3_0, &[("user", "u")])).await;
        if client.read().await.tag == 'R' {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_says_nothing_is_dropped() {
    let config = PgConfig { startup_timeout: Duration::from_millis(50), ..PgConfig::default() };
    let server = Server::start_with(config, Arc::new(SystemClock)).await;
    assert!(server.socket().await.is_closed().await);
    let mut half = server.socket().await;
    half.write(&startup(VERSION_3_0, &[("user", "u")])[..10]).await;
    assert!(half.is_closed().await);
    server.stop().await;
}
