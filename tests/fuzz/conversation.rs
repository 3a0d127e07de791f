//! Conversations as clients have them, message by message.

use crate::support::rng::Rng;

const PROTOCOL_3_0: u32 = 3 << 16;
const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// Statements of all kinds; none runs long, and together they write to a handful of keys.
const STATEMENTS: [&str; 46] = [
    "",
    ";",
    "SELECT 1",
    "SELECT 1; SELECT 'two'; SELECT 3.5",
    "SELECT $1::int + 1",
    "SELECT $1, $2",
    "SELECT a, b, c FROM f WHERE a = 'x' AND b = 1",
    "SELECT * FROM f ORDER BY a, b LIMIT 3",
    "SELECT count(*), sum(b), string_agg(c, ',') FROM f GROUP BY a",
    "SELECT x.a FROM f x JOIN f y ON x.b = y.b WHERE y.c LIKE '%e%'",
    "SELECT '2024-02-30'::date",
    "SELECT E'\\\\x', U&'\\0041', $$dollar$$, ARRAY[1, 2], '{\"a\": [1]}'::jsonb -> 'a'",
    "SELECT 1/0",
    "SELECT * FROM nowhere",
    "SELEC 1",
    "SELECT (((((((((1)))))))))",
    "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LIMIT 5",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT sum(i) FROM n",
    "CREATE TABLE IF NOT EXISTS f (a text, b int, c text, PRIMARY KEY (a, b))",
    "CREATE TABLE g (a int PRIMARY KEY, b numeric(10, 2) DEFAULT 1)",
    "DROP TABLE IF EXISTS g",
    "ALTER TABLE f ADD COLUMN d int",
    "INSERT INTO f VALUES ('x', 1, 'one') ON CONFLICT DO NOTHING",
    "INSERT INTO f (a, b, c) VALUES ($1, $2, $3) ON CONFLICT (a, b) DO UPDATE SET c = EXCLUDED.c",
    "INSERT INTO f VALUES ('x', 2, 'two'), ('x', 3, NULL) ON CONFLICT DO NOTHING RETURNING *",
    "UPDATE f SET c = 'new' WHERE a = 'x'",
    "DELETE FROM f WHERE a = 'x' AND b = 3",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "BEGIN; INSERT INTO f VALUES ('y', 1, 'y') ON CONFLICT DO NOTHING; ROLLBACK",
    "DECLARE k CURSOR FOR SELECT * FROM f",
    "FETCH 2 FROM k",
    "CLOSE ALL",
    "PREPARE p AS SELECT $1::text",
    "EXECUTE p('x')",
    "DEALLOCATE ALL",
    "COPY f TO STDOUT",
    "COPY f TO STDOUT (FORMAT csv, HEADER)",
    "COPY (SELECT 1, 'x') TO STDOUT (FORMAT binary)",
    "SET statement_timeout = '10s'",
    "SHOW ALL",
    "EXPLAIN ANALYZE SELECT * FROM f WHERE a = 'x'",
    "DISCARD ALL",
];
const COPIES: [&str; 4] = [
    "COPY f FROM STDIN",
    "COPY f (a, b) FROM STDIN (FORMAT csv)",
    "COPY f FROM STDIN (FORMAT binary)",
    "COPY f FROM STDIN (DELIMITER ',', NULL 'none')",
];
const COPY_DATA: [&[u8]; 6] = [
    b"x\t4\tfour\n",
    b"y\t5\t\\N\nx\t6",
    b"x,7\n\"y\",8\n",
    b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x01x\0\0\0\x04\0\0\0\x09\xff\xff\xff\xff\xff\xff",
    b"\\.\n",
    b"\xff\xfe\t1\t\0\n",
];
const NAMES: [&str; 4] = ["", "s1", "s2", "never made"];
const VALUES: [&[u8]; 7] = [b"1", b"x", b"", b"\0\0\0\x01", b"2024-01-01", b"-99999999999999999999", b"\xff\xff"];

/// The messages of a client from the first to the last.
pub(super) fn make(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = opening(rng);
    for _ in 0..rng.below(12) {
        match rng.below(10) {
            0..=3 => frames.push(query(rng.pick(&STATEMENTS))),
            4..=6 => extended(rng, &mut frames),
            7 => copy_in(rng, &mut frames),
            8 => frames.push(message(rng.pick(b"QPBDECHSXFdcfp?\0\x7f"), &noise(rng, 40))),
            _ => frames.push(message(b'S', b"")),
        }
    }
    if rng.percent(70) {
        frames.push(message(b'X', b""));
    }
    frames
}

/// What comes before the first statement.
fn opening(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    match rng.below(20) {
        0 => frames.push(untyped(SSL_REQUEST, b"")),
        1 => frames.push(untyped(GSSENC_REQUEST, b"")),
        2 => return vec![untyped(CANCEL_REQUEST, &noise(rng, 8))],
        3 => return vec![noise(rng, 200)],
        _ => {}
    }
    let mut parameters = vec![("user", "fuzz")];
    if rng.percent(40) {
        parameters.push(("options", "-c statement_timeout=10s -c egt.mode=observe"));
    }
    if rng.percent(20) {
        parameters.push(rng.pick(&[("database", "elsewhere"), ("DateStyle", "?"), ("replication", "true"), ("", "x")]));
    }
    let version = if rng.percent(90) { PROTOCOL_3_0 } else { rng.pick(&[2 << 16, PROTOCOL_3_0 + 2, 0, u32::MAX]) };
    let mut body: Vec<u8> = parameters.iter().flat_map(|(name, value)| [text(name), text(value)].concat()).collect();
    body.push(0);
    frames.push(untyped(version, &body));
    frames
}

/// Parse, Bind, Describe, Execute, Close, in this order or nearly.
fn extended(rng: &mut Rng, frames: &mut Vec<Vec<u8>>) {
    let (statement, portal) = (rng.pick(&NAMES), rng.pick(&NAMES));
    if rng.percent(80) {
        let oids: Vec<u8> =
            (0..rng.below(3)).flat_map(|_| rng.pick(&[0_u32, 23, 25, 1700, 99_999]).to_be_bytes()).collect();
        let count = i16::try_from(oids.len() / 4).expect("it is few").to_be_bytes();
        frames.push(message(b'P', &[text(statement), text(rng.pick(&STATEMENTS)), count.to_vec(), oids].concat()));
    }
    if rng.percent(80) {
        frames.push(bind(rng, portal, statement));
    }
    if rng.percent(60) {
        let kind = rng.pick(b"SPx");
        frames.push(message(b'D', &[vec![kind], text(if kind == b'S' { statement } else { portal })].concat()));
    }
    if rng.percent(80) {
        let rows = rng.pick(&[0_i32, 1, 2, -1, i32::MAX]);
        frames.push(message(b'E', &[text(portal), rows.to_be_bytes().to_vec()].concat()));
    }
    if rng.percent(30) {
        frames.push(message(b'C', &[vec![rng.pick(b"SP")], text(statement)].concat()));
    }
    frames.push(message(rng.pick(b"SSSH"), b""));
}

fn bind(rng: &mut Rng, portal: &str, statement: &str) -> Vec<u8> {
    let format = |rng: &mut Rng| rng.pick(&[0_i16, 1, 2]).to_be_bytes();
    let mut body = [text(portal), text(statement)].concat();
    let formats = rng.below(3);
    body.extend(i16::try_from(formats).expect("it is few").to_be_bytes());
    for _ in 0..formats {
        body.extend(format(rng));
    }
    let values = rng.below(4);
    body.extend(i16::try_from(values).expect("it is few").to_be_bytes());
    for _ in 0..values {
        let value = rng.pick(&VALUES);
        let length = if rng.percent(15) { -1 } else { i32::try_from(value.len()).expect("it is short") };
        body.extend(length.to_be_bytes());
        if length >= 0 {
            body.extend(value);
        }
    }
    let results = rng.below(3);
    body.extend(i16::try_from(results).expect("it is few").to_be_bytes());
    for _ in 0..results {
        body.extend(format(rng));
    }
    message(b'B', &body)
}

fn copy_in(rng: &mut Rng, frames: &mut Vec<Vec<u8>>) {
    frames.push(query(rng.pick(&COPIES)));
    for _ in 0..rng.below(5) {
        let data = if rng.percent(80) { rng.pick(&COPY_DATA).to_vec() } else { noise(rng, 300) };
        frames.push(message(b'd', &data));
    }
    match rng.below(4) {
        0 => frames.push(message(b'f', b"enough\0")),
        1 => {}
        _ => frames.push(message(b'c', b"")),
    }
}

/// Bytes of any value.
pub(super) fn noise(rng: &mut Rng, at_most: usize) -> Vec<u8> {
    (0..rng.below(at_most + 1)).map(|_| u8::try_from(rng.below(256)).expect("it is a byte")).collect()
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &text(sql))
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &length(body)[..], body].concat()
}

/// A message of the time before the startup packet is taken: a number in place of a type.
fn untyped(number: u32, body: &[u8]) -> Vec<u8> {
    let body = [&number.to_be_bytes()[..], body].concat();
    [&length(&body)[..], &body].concat()
}

/// A message's length counts itself.
fn length(body: &[u8]) -> [u8; 4] {
    u32::try_from(body.len() + 4).expect("it is short").to_be_bytes()
}
