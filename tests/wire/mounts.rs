//! A mounted store is a schema like another: for COPY, and for users who may do only what is granted.

use tablegate::pg::{Method, PgConfig, Role};

use crate::wire::harness::{Client, Server, column, error_code, message, query, tags};
use crate::wire::logins::{Door, login};

const MAKE: &str = "CREATE TABLE prod.orders (customer text, id int, note text, PRIMARY KEY (customer, id))";

#[tokio::test]
async fn rows_are_copied_into_a_mount_and_out_of_it() {
    let server = Server::start_with_mount("prod", PgConfig::default()).await;
    let mut client = server.client().await;
    client.query(MAKE).await;
    client.send(&[query("COPY prod.orders FROM STDIN")]).await;
    assert_eq!(client.read().await.tag, 'G');
    let ended = client.ask(&[message(b'd', b"ada\t1\tfirst\neve\t2\t\\N\n"), message(b'c', b"")]).await;
    assert_eq!(tags(&ended), "NCZ");
    let out = client.query("COPY (SELECT * FROM prod.orders ORDER BY id) TO STDOUT").await;
    let lines: Vec<_> = out.iter().filter(|m| m.tag == 'd').map(|m| String::from_utf8_lossy(&m.body)).collect();
    assert_eq!(lines.concat(), "ada\t1\tfirst\neve\t2\t\\N\n");
}

/// What a statement is refused with, if it is.
async fn refused(client: &mut Client, sql: &str) -> Option<String> {
    let answer = client.query(sql).await;
    answer.iter().any(|m| m.tag == 'E').then(|| error_code(&answer))
}

#[tokio::test]
async fn what_is_in_a_mount_is_granted_like_anything_else() {
    let door = Door::with_users();
    door.add("gil", Role::Granted);
    let server = Server::start_with_mount("prod", door.config(Method::Scram)).await;
    let (mut ann, mut gil) = (login(&server, "ann").await, login(&server, "gil").await);
    assert_eq!(refused(&mut ann, MAKE).await, None);
    assert_eq!(refused(&mut ann, "INSERT INTO prod.orders VALUES ('ada', 1)").await, None);

    let read = "SELECT id FROM prod.orders";
    let write = "UPDATE prod.orders SET note = 'x' WHERE customer = 'ada'";
    let make = "CREATE TABLE prod.own (id int PRIMARY KEY)";
    for sql in [read, write, make] {
        assert_eq!(refused(&mut gil, sql).await.as_deref(), Some("42501"), "{sql}");
    }
    assert_eq!(refused(&mut ann, "GRANT SELECT ON prod.orders TO gil").await, None);
    assert_eq!(refused(&mut ann, "GRANT CREATE ON SCHEMA prod TO gil").await, None);
    assert_eq!(column(&gil.query(read).await), ["1"]);
    assert_eq!(refused(&mut gil, write).await.as_deref(), Some("42501"));
    assert_eq!(refused(&mut gil, make).await, None);
    assert_eq!(refused(&mut gil, "CREATE TABLE public.own (id int PRIMARY KEY)").await.as_deref(), Some("42501"));
    assert_eq!(refused(&mut ann, "REVOKE SELECT ON prod.orders FROM gil").await, None);
    assert_eq!(refused(&mut gil, read).await.as_deref(), Some("42501"));
}
