//! ParameterStatus: which settings a client is told, and when.

use crate::wire::harness::{Client, Message, Server, bind, column, execute, parse, query, sync, tags};

/// The settings that messages report.
fn reports(messages: &[Message]) -> Vec<String> {
    let report = |message: &Message| {
        let texts: Vec<String> =
            message.body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        format!("{}={}", texts[0], texts[1])
    };
    messages.iter().filter(|message| message.tag == 'S').map(report).collect()
}

#[tokio::test]
async fn the_start_reports_what_postgresql_reports() {
    let server = Server::start().await;
    let mut client = server.socket().await;
    let options =
        [("user", "u"), ("options", "-c DateStyle=SQL,DMY --timezone=europe/athens"), ("application_name", "a")];
    let mut told = reports(&client.start(&options).await);
    told.sort();
    let names: Vec<&str> = told.iter().filter_map(|report| report.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "DateStyle",
            "IntervalStyle",
            "TimeZone",
            "application_name",
            "client_encoding",
            "default_transaction_read_only",
            "in_hot_standby",
            "integer_datetimes",
            "is_superuser",
            "server_encoding",
            "server_version",
            "session_authorization",
            "standard_conforming_strings",
        ]
    );
    for report in ["DateStyle=SQL, DMY", "TimeZone=Europe/Athens", "application_name=a", "session_authorization=u"] {
        assert!(told.iter().any(|told| told == report), "{told:?}");
    }
    assert_eq!(column(&client.query("RESET ALL; SELECT date '2014-08-22'").await), ["22/08/2014"]);
    server.stop().await;
}

async fn told(client: &mut Client, sql: &str) -> Vec<String> {
    reports(&client.query(sql).await)
}

#[tokio::test]
async fn a_change_is_reported_and_so_is_its_end() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(told(&mut client, "SET TIME ZONE 'Asia/Tokyo'").await, ["TimeZone=Asia/Tokyo"]);
    assert!(told(&mut client, "SET TIME ZONE 'Asia/Tokyo'; SET jit = on").await.is_empty());
    client.query("BEGIN").await;
    assert_eq!(told(&mut client, "SET application_name = 'x'").await, ["application_name=x"]);
    assert_eq!(told(&mut client, "SET LOCAL IntervalStyle = iso_8601").await, ["IntervalStyle=iso_8601"]);
    assert_eq!(told(&mut client, "SELECT 1 / 0").await, ["application_name=", "IntervalStyle=postgres"]);
    assert!(told(&mut client, "ROLLBACK").await.is_empty());
    assert_eq!(told(&mut client, "SELECT set_config('timezone', 'UTC', false)").await, ["TimeZone=UTC"]);
    server.stop().await;
}

#[tokio::test]
async fn parameters_and_copies_are_read_in_the_sessions_zone() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (\"PartitionKey\" text, \"RowKey\" text, at timestamptz)").await;
    client.query("SET TIME ZONE 'Europe/Athens'; SET DateStyle = 'SQL, DMY'").await;
    let sql = "INSERT INTO t VALUES ('p', '1', $1)";
    client.ask(&[parse("s", sql, &[]), bind("", "s", &[Some("02/01/2014 10:00")]), execute("", 0), sync()]).await;
    client.write(&query("COPY t FROM STDIN")).await;
    assert_eq!(client.read().await.tag, 'G');
    client
        .send(&[
            crate::wire::harness::message(b'd', b"p\t2\t02/07/2014 10:00\n"),
            crate::wire::harness::message(b'c', b""),
        ])
        .await;
    assert_eq!(tags(&client.until_ready().await), "CZ");
    let messages = client.query("COPY t (at) TO STDOUT").await;
    let lines: Vec<String> = messages
        .iter()
        .filter(|message| message.tag == 'd')
        .map(|message| String::from_utf8_lossy(&message.body).into_owned())
        .collect();
    assert_eq!(lines.concat(), "02/01/2014 10:00:00 EET\n02/07/2014 10:00:00 EEST\n");
    client.query("RESET ALL").await;
    let at = column(&client.query("SELECT at FROM t ORDER BY at").await);
    assert_eq!(at, ["2014-01-02 08:00:00+00", "2014-07-02 07:00:00+00"]);
    server.stop().await;
}

#[tokio::test]
async fn a_statement_that_is_kept_follows_the_zone() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let sql = "SELECT timestamptz '2014-08-22 10:00+00', $1::timestamptz::text";
    client.ask(&[parse("s", sql, &[]), sync()]).await;
    let run = async |client: &mut Client| {
        let messages = client.ask(&[bind("", "s", &[Some("2014-08-22 10:00")]), execute("", 0), sync()]).await;
        messages.iter().find(|message| message.tag == 'D').unwrap().texts().join(" ")
    };
    assert_eq!(run(&mut client).await, "2014-08-22 10:00:00+00 2014-08-22 10:00:00+00");
    client.query("SET TIME ZONE 'Asia/Tokyo'").await;
    assert_eq!(run(&mut client).await, "2014-08-22 19:00:00+09 2014-08-22 10:00:00+09");
    server.stop().await;
}
