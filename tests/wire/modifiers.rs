//! The lengths and precisions that the description of a result gives its columns.

use crate::wire::harness::{Message, Server};

const VARCHAR: u32 = 1043;
const NUMERIC: u32 = 1700;
const TEXT: u32 = 25;
const VARCHAR_ARRAY: u32 = 1015;
const NUMERIC_ARRAY: u32 = 1231;

/// `varchar(5)` and `numeric(4,1)`.
const LENGTH: i32 = 5 + 4;
const PRECISION: i32 = (4 << 16 | 1) + 4;

/// The type and the modifier of the first column.
fn described(messages: &[Message]) -> (u32, i32) {
    assert_eq!(messages[0].tag, 'T', "{messages:?}");
    let body = &messages[0].body[2..];
    let name = body.iter().position(|byte| *byte == 0).unwrap();
    let field = &body[name + 1 + 6..];
    (u32::from_be_bytes(field[..4].try_into().unwrap()), i32::from_be_bytes(field[6..10].try_into().unwrap()))
}

/// Each was asked of PostgreSQL 15.
#[tokio::test]
async fn a_length_is_that_of_a_result_only_if_it_is_that_of_all_its_parts() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.query("CREATE TABLE t (id int PRIMARY KEY, v varchar(5), n numeric(4,1))").await;
    for (sql, oid, modifier) in [
        ("SELECT v FROM t UNION SELECT v FROM t", VARCHAR, LENGTH),
        ("SELECT v FROM t UNION SELECT NULL", VARCHAR, -1),
        ("SELECT NULL UNION ALL SELECT v FROM t", VARCHAR, -1),
        ("SELECT v FROM t EXCEPT SELECT 'x'", VARCHAR, -1),
        ("SELECT v FROM t UNION ALL SELECT v::varchar(6) FROM t", VARCHAR, -1),
        ("SELECT ''::text UNION ALL SELECT v FROM t", TEXT, -1),
        ("SELECT n FROM t UNION ALL SELECT n FROM t", NUMERIC, PRECISION),
        ("SELECT n FROM t UNION ALL SELECT NULL", NUMERIC, -1),
        ("SELECT NULL INTERSECT SELECT n FROM t", NUMERIC, -1),
        ("SELECT n FROM t UNION SELECT 1", NUMERIC, -1),
        ("VALUES (1::numeric(4,1)), (2::numeric(4,1))", NUMERIC, PRECISION),
        ("VALUES (1::numeric(4,1)), (2)", NUMERIC, -1),
        ("VALUES ('a'::varchar(5)), ('b')", VARCHAR, -1),
        ("SELECT coalesce(v, 'x') FROM t", VARCHAR, -1),
        ("SELECT coalesce(v, v) FROM t", VARCHAR, LENGTH),
        ("SELECT greatest(n, n) FROM t", NUMERIC, PRECISION),
        ("SELECT coalesce(1.5::numeric(4,1), 0.25)", NUMERIC, PRECISION),
        ("SELECT CASE WHEN id > 1 THEN n END FROM t", NUMERIC, -1),
        ("SELECT CASE WHEN id > 1 THEN n ELSE n END FROM t", NUMERIC, PRECISION),
        ("SELECT nullif(n, 1) FROM t", NUMERIC, PRECISION),
        ("SELECT nullif(v, 'x') FROM t", TEXT, -1),
        ("SELECT n::numeric FROM t", NUMERIC, -1),
        ("SELECT first_value(v) OVER (ORDER BY id) FROM t", VARCHAR, -1),
        ("SELECT lag(n) OVER (ORDER BY id) FROM t", NUMERIC, -1),
        ("SELECT ARRAY[v] FROM t", VARCHAR_ARRAY, LENGTH),
        ("SELECT ARRAY[v, 'x'] FROM t", VARCHAR_ARRAY, -1),
        ("SELECT array_agg(v) FROM t", VARCHAR_ARRAY, -1),
        ("SELECT array_agg(n) FROM t", NUMERIC_ARRAY, -1),
    ] {
        assert_eq!(described(&client.query(sql).await), (oid, modifier), "{sql}");
    }
    server.stop().await;
}
