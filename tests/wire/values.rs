//! Values of every type, in and out, in binary and in text form, through a driver and by hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_postgres::types::{FromSql, ToSql, Type};

use crate::wire::harness::{Server, bind_as, describe, error, error_code, execute, parse, sync};

/// What is sent comes back, NULL among it.
async fn round_trips<T>(client: &tokio_postgres::Client, sql_type: Type, values: &[T])
where
    T: ToSql + for<'a> FromSql<'a> + PartialEq + std::fmt::Debug + Sync,
{
    let statement = client.prepare_typed("SELECT $1", std::slice::from_ref(&sql_type)).await.unwrap();
    assert_eq!(statement.columns()[0].type_(), &sql_type);
    for value in values {
        let row = client.query_one(&statement, &[value]).await.unwrap();
        assert_eq!(row.get::<_, T>(0), *value, "{sql_type}");
    }
    let row = client.query_one(&statement, &[&None::<T>]).await.unwrap();
    assert_eq!(row.get::<_, Option<T>>(0), None, "{sql_type}");
}

#[tokio::test]
async fn drivers_get_back_what_they_send() {
    let server = Server::start().await;
    let client = server.driver().await;
    round_trips(&client, Type::BOOL, &[true, false]).await;
    round_trips(&client, Type::INT2, &[i16::MIN, 0, i16::MAX]).await;
    round_trips(&client, Type::INT4, &[i32::MIN, 0, i32::MAX]).await;
    round_trips(&client, Type::INT8, &[i64::MIN, 0, i64::MAX]).await;
    round_trips(&client, Type::FLOAT4, &[f32::MIN, 0.1, f32::INFINITY]).await;
    round_trips(&client, Type::FLOAT8, &[f64::MAX, -0.1, f64::NEG_INFINITY]).await;
    round_trips(&client, Type::TEXT, &[String::new(), "é\u{1f600}".to_owned()]).await;
    round_trips(&client, Type::VARCHAR, &["abc".to_owned()]).await;
    round_trips(&client, Type::BYTEA, &[vec![], vec![0_u8, 255, 10]]).await;
    let second = Duration::from_secs(1);
    let times = [UNIX_EPOCH, UNIX_EPOCH + second * 2_000_000_000, SystemTime::UNIX_EPOCH - second * 1_000_000_000];
    round_trips(&client, Type::TIMESTAMP, &times).await;
    round_trips(&client, Type::TIMESTAMPTZ, &times).await;
    server.stop().await;
}

#[tokio::test]
async fn drivers_get_back_arrays() {
    let server = Server::start().await;
    let client = server.driver().await;
    round_trips(&client, Type::INT4_ARRAY, &[vec![1, 2, 3], vec![]]).await;
    round_trips(&client, Type::INT8_ARRAY, &[vec![Some(1_i64), None]]).await;
    round_trips(&client, Type::TEXT_ARRAY, &[vec!["a".to_owned(), String::new()]]).await;
    server.stop().await;
}

/// Bytes of a type, by its OID, that come back unchanged in binary form, and their text form.
const BINARY: &[(u32, &[u8], &str)] = &[
    (2950, &[0x11; 16], "11111111-1111-1111-1111-111111111111"),
    (1082, &[0, 0, 0, 1], "2000-01-02"),
    (1082, &[0xff, 0xff, 0xff, 0xff], "1999-12-31"),
    (1083, &[0, 0, 0, 0, 0, 0x0f, 0x42, 0x40], "00:00:01"),
    (1186, &[0, 0, 0, 0, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 2, 0, 0, 0, 13], "1 year 1 mon 2 days 00:00:01"),
    (114, b"{\"a\": 1}", "{\"a\": 1}"),
    (3802, b"\x01{\"a\": 1}", "{\"a\": 1}"),
    (1700, &[0, 2, 0, 0, 0x40, 0, 0, 1, 0, 12, 0x13, 0x88], "-12.5"),
    (26, &[0xff, 0xff, 0xff, 0xff], "4294967295"),
    (
        1000,
        &[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff],
        "{t,NULL}",
    ),
    (1043, b"abc", "abc"),
    (16, &[1], "t"),
];

#[tokio::test]
async fn binary_and_text_forms_are_those_of_postgres() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (oid, bytes, text) in BINARY {
        let bound = bind_as("", "", &[1], &[Some(bytes)], &[1, 0]);
        let messages = client.ask(&[parse("", "SELECT $1, $1", &[*oid]), bound, execute("", 0), sync()]).await;
        let row = messages.iter().find(|message| message.tag == 'D');
        let row = row.unwrap_or_else(|| panic!("{oid}: {:?}", error(&messages).field('M')));
        assert_eq!(row.cells()[0].as_deref(), Some(*bytes), "{oid}");
        assert_eq!(row.texts_of(1), *text, "{oid}");
    }
    server.stop().await;
}

#[tokio::test]
async fn quotients_have_all_their_digits_in_binary_form() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let bound = bind_as("", "", &[], &[], &[1]);
    let asked = [parse("", "SELECT 1e-10/3, 1/10000.0, 2.5", &[]), bound, execute("", 0), sync()];
    let messages = client.ask(&asked).await;
    let cells = messages.iter().find(|message| message.tag == 'D').unwrap().cells();
    // How many digits there are, the place of the first, the sign, how many are shown behind the point; the digits.
    let expected: [&[u16]; 3] =
        [&[5, 0xfffd, 0, 28, 33, 3333, 3333, 3333, 3333], &[1, 0xffff, 0, 24, 1], &[2, 0, 0, 1, 2, 5000]];
    for (cell, expected) in cells.iter().zip(expected) {
        let expected: Vec<u8> = expected.iter().flat_map(|digits| digits.to_be_bytes()).collect();
        assert_eq!(cell.as_deref(), Some(&*expected));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_value_of_the_wrong_size_is_refused() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (oid, bytes, code) in [
        (16, &[][..], "08P01"),
        (21, &[0], "08P01"),
        (23, &[0; 8], "22P03"),
        (20, &[0; 4], "08P01"),
        (701, &[0; 4], "08P01"),
        (2950, &[0; 15], "08P01"),
        (1082, &[0x7f, 0xff, 0xff, 0xff], "22008"),
        (1184, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "22008"),
        (1083, &[0xff; 8], "22008"),
        (25, &[0xc3, 0x28], "22021"),
        (25, &[b'a', 0], "22021"),
        (3802, b"\x02{}", "22P03"),
        (114, b"{", "22P02"),
        (1700, &[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff], "22P03"),
        (1007, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1], "54000"),
        (1007, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25], "42804"),
        (1007, &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 23], "0A000"),
    ] {
        let sent = [parse("", "SELECT $1", &[oid]), bind_as("", "", &[1], &[Some(bytes)], &[]), sync()];
        assert_eq!(error_code(&client.ask(&sent).await), code, "{oid} {bytes:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_driver_stores_and_reads_rows() {
    let server = Server::start().await;
    let client = server.driver().await;
    client.batch_execute("CREATE TABLE t (p text, r text, n int8, b bytea, PRIMARY KEY (p, r))").await.unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3, $4)").await.unwrap();
    assert_eq!(insert.params(), [Type::TEXT, Type::TEXT, Type::INT8, Type::BYTEA]);
    for n in 0..50_i64 {
        let bytes = vec![7_u8; 3];
        assert_eq!(client.execute(&insert, &[&"a", &format!("{n:03}"), &n, &bytes]).await.unwrap(), 1);
    }
    let rows = client.query("SELECT r, n, b FROM t WHERE p = $1 ORDER BY r", &[&"a"]).await.unwrap();
    assert_eq!(rows.len(), 50);
    assert_eq!(rows[49].get::<_, i64>("n"), 49);
    assert_eq!(rows[49].get::<_, &[u8]>("b"), [7; 3]);
    let error = client.execute(&insert, &[&"a", &"001", &1_i64, &vec![0_u8]]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "23505");
    server.stop().await;
}

#[tokio::test]
async fn blanks_that_fill_a_char_are_sent_in_both_forms() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE c (k char(4) PRIMARY KEY)").await;
    client.query("INSERT INTO c VALUES ('ab')").await;
    for format in [0, 1] {
        for sql in ["SELECT k FROM c", "SELECT CAST('ab' AS char(4))", "SELECT CAST($1 AS char(4))"] {
            let value: &[Option<&[u8]>] = if sql.contains("$1") { &[Some(b"ab")] } else { &[] };
            let asked = [parse("", sql, &[]), bind_as("", "", &[], value, &[format]), execute("", 0), sync()];
            let answer = client.ask(&asked).await;
            let row = answer.iter().find(|message| message.tag == 'D').unwrap();
            assert_eq!(row.cells(), [Some(b"ab  ".to_vec())], "{sql} in format {format}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_row_read_by_its_key_has_the_forms_of_any_other() {
    let server = Server::start().await;
    let driver = server.driver().await;
    driver
        .batch_execute(
            "CREATE TABLE all_types (a text, k int, b bool, i2 smallint, i8 bigint, f8 float8, t text, v varchar(9), y bytea, \
             u uuid, d date, ts timestamp, tz timestamptz, PRIMARY KEY (a, k));
             INSERT INTO all_types VALUES ('p', -7, true, -2, 5000000000, -0.25, 'é', '', '\\x00ff', \
             '6f1ed002-ab5d-4d4c-9a5e-3f3c1c5d7e11', '1969-12-31', '2024-05-06 07:08:09.5', '2024-05-06 07:08:09.5+02');
             INSERT INTO all_types VALUES ('p', 1)",
        )
        .await
        .unwrap();
    let mut client = server.client().await;
    for key in ["-7", "1", "2"] {
        let select = "SELECT tz, k, a, b, i2, i8, f8, t, v, y, u, d, ts FROM all_types WHERE k = $1 AND a = 'p'";
        for format in [0, 1] {
            let mut answers = Vec::new();
            for way in ["on", "off"] {
                client.query(&format!("SET tablegate.direct_reads = {way}")).await;
                client.ask(&[parse("", select, &[23]), sync()]).await;
                // The first run of a plan finds out whether it is current. A limit takes the way of many rows.
                for limit in [0, 0, 1, 2] {
                    let bound = bind_as("", "", &[], &[Some(key.as_bytes())], &[format]);
                    let asked = [bound, describe(b'P', ""), execute("", limit), sync()];
                    let messages = client.ask(&asked).await;
                    let tags: String = messages.iter().map(|message| message.tag).collect();
                    let expected = match (key, limit) {
                        ("2", _) => "2TCZ",
                        (_, 1) => "2TDsZ",
                        _ => "2TDCZ",
                    };
                    assert_eq!(tags, expected, "{key} with limit {limit}");
                    let cells = messages.iter().find(|message| message.tag == 'D').map(|message| message.cells());
                    answers.push(cells);
                }
            }
            assert!(answers.iter().all(|cells| *cells == answers[0]), "{key} in format {format}: {answers:?}");
            assert_eq!(answers[0].as_ref().map_or(0, Vec::len), if key == "2" { 0 } else { 13 });
        }
    }
    server.stop().await;
}
