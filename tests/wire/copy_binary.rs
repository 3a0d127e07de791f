//! COPY in binary format, both ways, and what a COPY shows of itself while it runs.

use crate::wire::harness::{Client, Message, Server, column, error, message, query, tags};

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: &[u8] = &[0xff, 0xff];

const EVERY_TYPE: &str = "CREATE TABLE types (s int, k int, b bool, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, \
     np numeric(8,2), t text, v varchar(5), c char(3), by bytea, d date, ti time, ts timestamp, tz timestamptz, iv interval, \
     u uuid, j json, jb jsonb, ai int[], at text[], PRIMARY KEY (s, k))";
const ROWS: &str = "INSERT INTO types VALUES (0, 1, true, -2, 9007199254740993, 1.5, -0.25, 123.4500, 0.07, 'é', 'abc', 'x', \
     '\\x00ff', '2024-02-29', '23:59:59.999999', '1999-12-31 00:00:01.5', '2001-01-01 00:00:00+00', '1 mon -2 days 03:04:05.6', \
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": 1}', '{\"a\": [1, null]}', '{1,NULL,3}', '{a,\"b c\",NULL}'), \
     (0, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL)";

fn data(bytes: &[u8]) -> Vec<u8> {
    message(b'd', bytes)
}

fn done() -> Vec<u8> {
    message(b'c', b"")
}

fn tuple(cells: &[Option<&[u8]>]) -> Vec<u8> {
    let mut bytes = i16::try_from(cells.len()).unwrap().to_be_bytes().to_vec();
    for cell in cells {
        bytes.extend(cell.map_or(-1, |cell| i32::try_from(cell.len()).unwrap()).to_be_bytes());
        bytes.extend(cell.unwrap_or_default());
    }
    bytes
}

async fn copy_in(client: &mut Client, sql: &str, input: &[u8]) -> Vec<Message> {
    client.send(&[query(sql), data(input), done()]).await;
    client.until_ready().await
}

async fn rows(client: &mut Client, sql: &str) -> Vec<Vec<String>> {
    client.query(sql).await.iter().filter(|m| m.tag == 'D').map(Message::texts).collect()
}

#[tokio::test]
async fn every_type_goes_out_and_comes_back_in() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query(EVERY_TYPE).await;
    assert_eq!(client.query(ROWS).await.last().unwrap().tag, 'Z');
    let out = client.query("COPY types TO STDOUT (FORMAT binary)").await;
    // The header comes with the first tuple, the end alone.
    assert_eq!(tags(&out), "HdddcCZ");
    assert_eq!((&out[0].body[..3], out[0].body.len()), (&[1, 0, 23][..], 3 + 2 * 23));
    assert!(out[1].body.starts_with(HEADER));
    assert_eq!(out[3].body, END);
    let bytes: Vec<u8> = out.iter().filter(|m| m.tag == 'd').flat_map(|m| m.body.clone()).collect();
    let before = rows(&mut client, "SELECT * FROM types ORDER BY k").await;
    client.query("TRUNCATE types").await;
    let start = copy_in(&mut client, "COPY types FROM STDIN WITH BINARY", &bytes).await;
    assert_eq!((start[0].tag, &start[0].body[..5]), ('G', &[1, 0, 23, 0, 1][..]));
    assert_eq!(start[start.len() - 2].text(), "COPY 2");
    assert_eq!(rows(&mut client, "SELECT * FROM types ORDER BY k").await, before);
    // And once more, a byte a message.
    client.query("TRUNCATE types").await;
    let mut messages = vec![query("COPY BINARY types FROM STDIN")];
    messages.extend(bytes.chunks(1).map(data));
    messages.push(done());
    client.send(&messages).await;
    assert_eq!(tags(&client.until_ready().await), "GCZ");
    assert_eq!(rows(&mut client, "SELECT * FROM types ORDER BY k").await, before);
    server.stop().await;
}

#[tokio::test]
async fn a_query_goes_out_in_binary() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let out = client.query("COPY (SELECT 7, 'x', NULL::int) TO STDOUT (FORMAT binary)").await;
    let expected = [HEADER, &tuple(&[Some(&[0, 0, 0, 7]), Some(b"x"), None])].concat();
    assert_eq!((tags(&out).as_str(), &out[1].body, &out[2].body[..]), ("HddcCZ", &expected, END));
    let out = client.query("COPY (SELECT 1 WHERE false) TO STDOUT WITH BINARY").await;
    assert_eq!((tags(&out).as_str(), &out[1].body), ("HdcCZ", &[HEADER, END].concat()));
    // An item would have no binary form, and there is none.
    let out = client.query("COPY (SELECT NULL::aclitem[]) TO STDOUT WITH BINARY").await;
    assert_eq!(out[1].body, [HEADER, &tuple(&[None])].concat());
    let out = client.query("COPY (SELECT ROW('pg_class'::regclass)) TO STDOUT WITH BINARY").await;
    assert_eq!(error(&out).code(), "0A000");
    server.stop().await;
}

#[tokio::test]
async fn bad_input_is_refused_with_its_place() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (a int PRIMARY KEY, b varchar(3) CHECK (b <> 'no'), j jsonb)").await;
    let one: &[u8] = &[0, 0, 0, 1];
    for (input, code, text, context) in [
        (b"nonsense".to_vec(), "22P04", "COPY file signature not recognized", None),
        (HEADER[..11].to_vec(), "22P04", "invalid COPY file header (missing flags)", None),
        ([HEADER, &tuple(&[None])].concat(), "22P04", "row field count is 1, expected 3", Some("COPY t, line 1")),
        (
            [HEADER, &tuple(&[Some(one), None, None])[..9]].concat(),
            "22P04",
            "unexpected EOF in COPY data",
            Some("COPY t, line 1, column a"),
        ),
        (
            [HEADER, &tuple(&[Some(b"123"), None, None])].concat(),
            "08P01",
            "insufficient data left in message",
            Some("COPY t, line 1, column a"),
        ),
        (
            [HEADER, &tuple(&[Some(b"12345"), None, None])].concat(),
            "22P03",
            "incorrect binary data format",
            Some("COPY t, line 1, column a"),
        ),
        (
            [HEADER, &tuple(&[Some(one), Some(b"\xff"), None])].concat(),
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0xff",
            Some("COPY t, line 1, column b"),
        ),
        (
            [HEADER, &tuple(&[Some(one), Some(b"long"), None])].concat(),
            "22001",
            "value too long for type character varying(3)",
            Some("COPY t, line 1, column b"),
        ),
        (
            [HEADER, &tuple(&[Some(one), None, None]), &tuple(&[Some(&[0, 0, 0, 2]), Some(b"no"), None])].concat(),
            "23514",
            "new row for relation \"t\" violates check constraint \"t_b_check\"",
            Some("COPY t, line 2"),
        ),
        (
            [HEADER, &tuple(&[Some(one), None, None]), &tuple(&[Some(one), None, None]), END].concat(),
            "23505",
            "duplicate key value violates unique constraint \"t_pkey\"",
            Some("COPY t, line 2"),
        ),
        ([HEADER, END, b"more"].concat(), "22P04", "received copy data after EOF marker", Some("COPY t, line 1")),
    ] {
        let messages = copy_in(&mut client, "BEGIN; COPY t FROM STDIN BINARY", &input).await;
        client.query("ROLLBACK").await;
        let error = error(&messages);
        assert_eq!((error.code().as_str(), error.field('M').as_deref()), (code, Some(text)));
        assert_eq!(error.field('W').as_deref(), context, "{text}");
    }
    assert!(column(&client.query("SELECT a FROM t").await).is_empty());
    server.stop().await;
}

#[tokio::test]
async fn others_see_how_far_a_copy_is() {
    let server = Server::start().await;
    let (mut client, mut other) = (server.client().await, server.client().await);
    client.query("CREATE TABLE t (a int PRIMARY KEY)").await;
    let progress = "SELECT pid, relid::regclass, command, type, bytes_processed, tuples_processed, tuples_excluded \
                    FROM pg_stat_progress_copy";
    let lines: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    client.send(&[query("COPY t FROM STDIN WHERE a % 2 = 0"), data(lines.as_bytes())]).await;
    // What has been sent is worked on; nothing tells when, so it is asked until it shows.
    let shown = loop {
        let shown = rows(&mut other, progress).await;
        if shown.first().is_some_and(|row| row[4] == lines.len().to_string() && row[5] != "0") {
            break shown;
        }
    };
    let pid = client.pid.to_string();
    assert_eq!(shown[0][..4], [pid.as_str(), "t", "COPY FROM", "PIPE"]);
    let counted: u32 = shown[0][5].parse().unwrap();
    let excluded: u32 = shown[0][6].parse().unwrap();
    // The two are counted one after the other, and asked for in between.
    assert!((1..=10_000).contains(&counted) && (1..=10_000).contains(&excluded), "{shown:?}");
    let messages = client.ask(&[done()]).await;
    assert_eq!(messages[messages.len() - 2].text(), "COPY 10000");
    assert!(rows(&mut other, progress).await.is_empty());
    server.stop().await;
}
