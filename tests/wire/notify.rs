//! LISTEN and NOTIFY between connections: who hears what, and when.

use crate::wire::harness::{Client, Message, Server, bind, column, error_code, execute, parse, sync, tags};

/// Channel and payload of a NotificationResponse.
fn heard(message: &Message) -> (String, String) {
    assert_eq!(message.tag, 'A');
    let texts: Vec<String> =
        message.body[4..].split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    (texts[0].clone(), texts[1].clone())
}

async fn listening(server: &Server, channel: &str) -> Client {
    let mut client = server.client().await;
    assert_eq!(tags(&client.query(&format!("LISTEN {channel}")).await), "CZ");
    client
}

#[tokio::test]
async fn an_idle_client_hears_what_was_committed() {
    let server = Server::start().await;
    let mut listener = listening(&server, "news").await;
    let mut speaker = server.client().await;
    speaker.query("BEGIN").await;
    speaker.query("NOTIFY news, 'rolled back'").await;
    speaker.query("ROLLBACK").await;
    speaker.query("BEGIN").await;
    speaker.query("NOTIFY news, 'one'").await;
    speaker.query("NOTIFY News, 'one'").await;
    speaker.query("SAVEPOINT s").await;
    speaker.query("SELECT pg_notify('news', 'taken back')").await;
    speaker.query("ROLLBACK TO s").await;
    speaker.query("SELECT pg_notify('news', 'two'), pg_notify('other', 'unheard')").await;
    speaker.query("COMMIT").await;
    speaker.query("NOTIFY news").await;
    for payload in ["one", "two", ""] {
        let message = listener.read().await;
        assert_eq!(heard(&message), ("news".to_owned(), payload.to_owned()));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_hears_itself_before_it_is_ready() {
    let server = Server::start().await;
    let mut client = listening(&server, "\"My Channel\"").await;
    let messages = client.query("NOTIFY \"My Channel\", 'x'").await;
    assert_eq!(tags(&messages), "CAZ");
    assert_eq!(heard(&messages[1]), ("My Channel".to_owned(), "x".to_owned()));
    let messages = client
        .ask(&[
            parse("", "SELECT pg_notify($1, $2)", &[]),
            bind("", "", &[Some("My Channel"), None]),
            execute("", 0),
            sync(),
        ])
        .await;
    assert_eq!(tags(&messages), "12DCAZ");
    assert_eq!(tags(&client.query("UNLISTEN *").await), "CZ");
    assert_eq!(tags(&client.query("NOTIFY \"My Channel\", 'x'").await), "CZ");
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_heard_inside_a_transaction() {
    let server = Server::start().await;
    let mut listener = listening(&server, "news").await;
    let mut speaker = server.client().await;
    listener.query("BEGIN").await;
    speaker.query("NOTIFY news, 'meanwhile'").await;
    assert_eq!(tags(&listener.query("SELECT 1").await), "TDCZ");
    assert_eq!(tags(&listener.query("COMMIT").await), "CAZ");
    server.stop().await;
}

#[tokio::test]
async fn listening_begins_and_ends_with_a_commit() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("BEGIN").await;
    client.query("LISTEN a").await;
    assert!(column(&client.query("SELECT * FROM pg_listening_channels()").await).is_empty());
    client.query("ROLLBACK").await;
    assert_eq!(tags(&client.query("NOTIFY a").await), "CZ");
    client.query("LISTEN b; LISTEN a; UNLISTEN b").await;
    assert_eq!(column(&client.query("SELECT pg_listening_channels()").await), ["a"]);
    client.query("DISCARD ALL").await;
    assert_eq!(tags(&client.query("NOTIFY a").await), "CZ");
    server.stop().await;
}

#[tokio::test]
async fn a_listener_that_does_not_read_costs_a_bounded_amount() {
    let server = Server::start().await;
    let mut listener = listening(&server, "news").await;
    listener.query("BEGIN").await;
    let mut speaker = server.client().await;
    let large = "x".repeat(7900);
    let say = format!("SELECT count(pg_notify('news', '{large}' || n)) FROM generate_series(1, 500) AS g(n)");
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(error_code_or_none(&speaker.query(&say).await));
    }
    assert!(codes[0].is_none() && codes.contains(&Some("54000".to_owned())), "{codes:?}");
    assert_eq!(error_code(&speaker.query("NOTIFY news, 'more'").await), "54000");
    // Whoever says nothing to it goes on.
    assert_eq!(tags(&speaker.query("NOTIFY other").await), "CZ");
    let messages = listener.query("COMMIT").await;
    assert!(messages.len() > 500);
    assert_eq!(tags(&speaker.query("NOTIFY news, 'again'").await), "CZ");
    assert_eq!(heard(&listener.read().await).1, "again");
    server.stop().await;
}

fn error_code_or_none(messages: &[Message]) -> Option<String> {
    messages.iter().any(|message| message.tag == 'E').then(|| error_code(messages))
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let long = "x".repeat(8000);
    assert_eq!(error_code(&client.query(&format!("NOTIFY c, '{long}'")).await), "22023");
    assert_eq!(error_code(&client.query("SELECT pg_notify('', 'x')").await), "22023");
    assert_eq!(error_code(&client.query("SELECT pg_notify(NULL, 'x')").await), "22023");
    server.stop().await;
}
