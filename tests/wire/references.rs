//! Values that name objects of the catalogue: `regclass` and its kin are their OIDs in binary form.

use crate::wire::harness::{Client, Message, Server, bind_as, describe, execute, parse, sync, tags};

/// `orders` is the first declared table; its key's index has the next OID.
const ORDERS: u32 = 16_384;

async fn server() -> Server {
    let server = Server::start().await;
    server.client().await.query("CREATE TABLE orders (id int PRIMARY KEY)").await;
    server
}

async fn row(client: &mut Client, sql: &str, given: &[Option<&[u8]>], formats: &[i16]) -> Message {
    let bound = bind_as("", "", &[1], given, formats);
    let messages = client.ask(&[parse("", sql, &[]), bound, execute("", 0), sync()]).await;
    messages.into_iter().find(|message| message.tag == 'D').unwrap_or_else(|| panic!("{sql} gives no row"))
}

#[tokio::test]
async fn references_go_out_as_oids() {
    let server = server().await;
    let mut client = server.client().await;
    for (sql, oid) in [
        ("SELECT 'orders'::regclass", ORDERS),
        ("SELECT conindid::regclass FROM pg_constraint WHERE conname = 'orders_pkey'", ORDERS + 1),
        ("SELECT oid::regclass FROM pg_class WHERE relname = 'pg_class'", 1259),
        ("SELECT 0::regclass", 0),
        ("SELECT 'character varying'::regtype", 1043),
        ("SELECT pg_typeof(1)", 23),
        ("SELECT 'orders'::regtype", ORDERS + 3),
        ("SELECT typinput FROM pg_type WHERE oid = 23", 42),
        // Several functions have its name.
        ("SELECT aggfnoid FROM pg_aggregate WHERE aggfnoid = 2101", 2101),
        ("SELECT 'avg(bigint)'::regprocedure", 2100),
        ("SELECT '+(integer,integer)'::regoperator", 551),
        ("SELECT 'public'::regnamespace", 2200),
        ("SELECT 'simple'::regconfig", 3748),
    ] {
        let row = row(&mut client, sql, &[], &[1]).await;
        assert_eq!(row.cells(), [Some(oid.to_be_bytes().to_vec())], "{sql}");
    }
    let row = row(&mut client, "SELECT NULL::regclass, 'orders'::regclass", &[], &[1, 0]).await;
    assert_eq!((row.cells()[0].as_deref(), row.texts_of(1).as_str()), (None, "orders"));
    server.stop().await;
}

#[tokio::test]
async fn lists_of_references_are_lists_of_oids() {
    let server = server().await;
    let mut client = server.client().await;
    let row = row(&mut client, "SELECT ARRAY['int4'::regtype, 'text'::regtype]", &[], &[1]).await;
    let words: [u32; 9] = [1, 0, 2206, 2, 1, 4, 23, 4, 25];
    assert_eq!(row.cells()[0].as_deref(), Some(words.map(u32::to_be_bytes).concat().as_slice()));
    server.stop().await;
}

#[tokio::test]
async fn references_come_in_as_oids() {
    let server = server().await;
    let mut client = server.client().await;
    for (sql, oid, shown) in [
        ("SELECT $1::regclass", ORDERS, "orders"),
        ("SELECT relname FROM pg_class WHERE oid = $1::regclass", ORDERS + 1, "orders_pkey"),
        ("SELECT $1::regtype", 1043, "character varying"),
        ("SELECT $1::regproc", 2101, "pg_catalog.avg"),
        ("SELECT $1::oid", 1043, "1043"),
        ("SELECT typname FROM pg_type WHERE typinput = $1::regproc AND oid < 100", 42, "int4"),
    ] {
        let row = row(&mut client, sql, &[Some(&oid.to_be_bytes())], &[0]).await;
        assert_eq!(row.texts(), [shown], "{sql}");
    }
    server.stop().await;
}

/// A driver sends what it is told the parameter is.
#[tokio::test]
async fn a_cast_declares_the_parameter() {
    let server = server().await;
    let mut client = server.client().await;
    for (sql, oid) in [
        ("SELECT $1::regclass", 2205_u32),
        ("SELECT 1 FROM pg_class WHERE oid = $1::regclass", 2205),
        ("SELECT $1::regtype", 2206),
        ("SELECT $1::oid", 26),
        ("SELECT conname FROM pg_constraint WHERE conrelid IN ($1::oid)", 26),
        ("SELECT typname FROM pg_type WHERE typinput = $1", 26),
    ] {
        let messages = client.ask(&[parse("", sql, &[]), describe(b'S', ""), sync()]).await;
        let described = messages.iter().find(|message| message.tag == 't');
        let described = described.unwrap_or_else(|| panic!("{sql}: {}", tags(&messages)));
        assert_eq!(described.body, [&[0, 1][..], &oid.to_be_bytes()].concat(), "{sql}");
    }
    server.stop().await;
}

/// `attgenerated` of most columns.
#[tokio::test]
async fn an_empty_char_is_a_zero_byte() {
    let server = server().await;
    let mut client = server.client().await;
    let sql = "SELECT attgenerated, attstorage FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum = 1";
    let row = row(&mut client, sql, &[], &[1]).await;
    assert_eq!(row.cells(), [Some(vec![0]), Some(b"p".to_vec())]);
    server.stop().await;
}

#[tokio::test]
async fn copies_and_cursors_have_oids_too() {
    let server = server().await;
    let mut client = server.client().await;
    let messages = client.query("BEGIN; DECLARE c BINARY CURSOR FOR SELECT 'orders'::regclass; FETCH c").await;
    let row = messages.iter().find(|message| message.tag == 'D').unwrap();
    assert_eq!(row.cells(), [Some(ORDERS.to_be_bytes().to_vec())]);
    client.query("COMMIT").await;
    let out = client.query("COPY (SELECT 'pg_class'::regclass) TO STDOUT WITH BINARY").await;
    let tuple = [&[0, 1][..], &[0, 0, 0, 4], &1259_u32.to_be_bytes()].concat();
    assert!(out.iter().any(|message| message.tag == 'd' && message.body.ends_with(&tuple)));
    server.stop().await;
}
