//! Bits that flip in the files of a closed store: it opens and gives the rows that were written, or says what is damaged. It
//! gives no other row, and does not come to a bad end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::attack::{connect, seed};
use crate::support::PATIENCE;
use crate::support::rng::Rng;
use crate::support::server::Server;
use crate::support::settings::setting;

/// Small segments, so that there are several.
const ARGUMENTS: &[&str] = &["--fsync", "always", "--segment-rows", "500", "--segment-dirty", "0%"];
/// What a damaged store may say to a client: the store failed, or its contents are not what was written.
const SAID: &[&str] = &["58030", "XX001"];
/// Most bits that flip in one file at once.
const BITS: usize = 3;
/// Tries to find a byte that is not 0: files are longer than what is written in them.
const TRIES: usize = 1000;

const TABLES: &str = "
    CREATE TABLE readings (id int PRIMARY KEY, t text, n numeric(12, 3), at timestamptz, j jsonb, is_good bool, d float8);
    INSERT INTO readings SELECT i, repeat(md5(i::text), i % 5), i * 0.125, timestamptz '2024-01-01 00:00Z' + i * interval '1 hour',
        jsonb_build_object('i', i, 'list', ARRAY[i, i + 1]), i % 3 = 0, sqrt(i) FROM generate_series(1, 3000) i;
    CREATE TABLE places (country text, city text, people bigint, PRIMARY KEY (country, city));
    INSERT INTO places SELECT 'c' || i % 7, 'city ' || i, i * 1000 FROM generate_series(1, 400) i;
    CREATE TABLE \"Raw\" (\"PartitionKey\" text, \"RowKey\" text, v text);
    INSERT INTO \"Raw\" VALUES ('a', '1', 'one'), ('a', '2', NULL), ('b', '', 'three');
    CREATE SEQUENCE counter START 17;
    CREATE VIEW crowded AS SELECT country, count(*) AS cities, max(people) AS most FROM places GROUP BY country;
    COMMIT; VACUUM FULL readings; VACUUM FULL places;
    UPDATE readings SET t = 'changed later' WHERE id % 100 = 0;
    DELETE FROM readings WHERE id % 250 = 0;
    INSERT INTO places VALUES ('c9', 'the last', 1)";

/// What must give the same, or say that it cannot: through columns, through rows, by key, and through the catalogue.
const QUERIES: &[&str] = &[
    "SELECT * FROM readings ORDER BY id",
    "SELECT * FROM readings ORDER BY id DESC",
    "SELECT count(*), sum(n), max(at), min(t), count(j) FROM readings WHERE is_good",
    "SELECT id, t, n FROM readings WHERE t LIKE '%later' OR id IN (3, 77, 1234, 2999)",
    "SELECT * FROM readings WHERE id = 1500",
    "SELECT * FROM readings WHERE id = 2999",
    "SELECT * FROM places ORDER BY country, city",
    "SELECT * FROM places WHERE country = 'c3' AND city = 'city 17'",
    "SELECT * FROM crowded ORDER BY country",
    "SELECT * FROM \"Raw\" ORDER BY \"PartitionKey\", \"RowKey\"",
    "SELECT last_value FROM counter",
    "SELECT relname, relkind, attname, atttypid::regtype FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE relnamespace = 'public'::regnamespace AND attnum > 0 ORDER BY relname, attnum",
];

/// How the runs ended.
#[derive(Debug, Default)]
struct Figures {
    /// All rows are right.
    unharmed: usize,
    /// Some queries were refused, all others right.
    refused: usize,
    /// The server did not start.
    not_started: usize,
    by_file: BTreeMap<String, [usize; 3]>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_harmless_or_told() {
    let seed = seed();
    let flips: u64 = setting("ATTACK_FLIPS", 12);
    let (whole, expected) = written().await;
    let mut files_of_kind: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files(whole.path()) {
        files_of_kind.entry(kind(&file)).or_default().push(file);
    }
    let files: Vec<_> = files_of_kind.into_values().collect();
    let (mut figures, began) = (Figures::default(), Instant::now());
    for flip in 0..flips {
        let mut rng = Rng::of_case(seed, flip);
        // Some kinds have hundreds of files, and others one.
        let of_kind = &files[rng.below(files.len())];
        let file = of_kind[rng.below(of_kind.len())].clone();
        let folder = Arc::new(tempfile::tempdir().expect("there is room for temporary files"));
        copy(whole.path(), folder.path());
        let what = damage(&folder.path().join(&file), &mut rng);
        let what = format!("ATTACK_SEED={seed} flip {flip}: {} {what}", file.display());
        let end = match Server::try_start_in(folder, ARGUMENTS) {
            Err(said) => {
                check_refusal(&what, &said);
                2
            }
            Ok(mut server) => {
                let refused = check_answers(&what, &server, &expected).await;
                assert!(server.is_running(), "{what}: the server ended\n{}", server.log());
                check_log(&what, &server.log());
                usize::from(refused)
            }
        };
        *[&mut figures.unharmed, &mut figures.refused, &mut figures.not_started][end] += 1;
        figures.by_file.entry(kind(&file)).or_default()[end] += 1;
    }
    println!("{flips} flips in {:.0} s: {figures:#?}", began.elapsed().as_secs_f64());
}

/// A store that was closed, and the answers to all queries.
async fn written() -> (TempDir, Vec<Vec<String>>) {
    let mut server = Server::start(ARGUMENTS);
    let client = connect(server.port).await.expect("the server listens");
    client.batch_execute(TABLES).await.expect("the tables are made");
    let mut answers = Vec::new();
    for query in QUERIES {
        answers.push(answer(&client, query).await.unwrap_or_else(|error| panic!("{query}: {error:?}")));
    }
    drop(client);
    server.terminate();
    assert!(server.ended(), "{}", server.log());
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    copy(&server.data(), &folder.path().join("data"));
    (folder, answers)
}

async fn answer(client: &Client, query: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let said = tokio::time::timeout(PATIENCE, client.simple_query(query)).await.expect("there is an answer")?;
    Ok(said
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| format!("|{}", row.get(column).unwrap_or("NULL"))).collect())
            }
            _ => None,
        })
        .collect())
}

/// Whether one of them is refused.
async fn check_answers(what: &str, server: &Server, expected: &[Vec<String>]) -> bool {
    let client = connect(server.port).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let mut is_refused = false;
    for (query, expected) in QUERIES.iter().zip(expected) {
        match answer(&client, query).await {
            Ok(rows) => {
                let other = rows.iter().zip(expected).find(|(row, expected)| row != expected);
                assert!(rows == *expected, "{what}: {query} gives {} rows, {other:?}", rows.len());
            }
            Err(error) => {
                let code = error.code().map(|code| code.code().to_owned());
                let is_said = code.as_ref().is_some_and(|code| SAID.contains(&code.as_str()));
                assert!(is_said, "{what}: {query}: {error:?}\n{}", server.log());
                is_refused = true;
            }
        }
    }
    is_refused
}

/// It ended by itself, and named the folder.
fn check_refusal(what: &str, said: &str) {
    assert!(said.starts_with("exit status: "), "{what}: {said}");
    assert!(said.contains("/data"), "{what}: {said}");
    check_log(what, said);
}

/// Files that are not what was written can make the engine below panic, which is caught and told. Nothing else does.
fn check_log(what: &str, log: &str) {
    assert!(!log.contains("panicked at src/"), "{what}: {log}");
}

/// Flips some bits: which.
fn damage(file: &Path, rng: &mut Rng) -> String {
    let mut bytes = fs::read(file).expect("it was copied");
    let mut flipped = Vec::new();
    for _ in 0..=rng.below(BITS) {
        let places = (0..TRIES).map(|_| rng.below(bytes.len())).collect::<Vec<_>>();
        let place = places.iter().copied().find(|place| bytes[*place] != 0).unwrap_or(places[0]);
        let bit = rng.below(8);
        bytes[place] ^= 1 << bit;
        flipped.push(format!("{place}.{bit}"));
    }
    fs::write(file, bytes).expect("it is writable");
    format!("of {} bits {}", fs::metadata(file).map_or(0, |file| file.len()), flipped.join(" "))
}

/// All files below a folder that hold something.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).expect("it is a folder") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
                files.push(path.strip_prefix(folder).expect("it is inside").to_owned());
            }
        }
    }
    files.sort();
    files
}

/// A copy for its owner alone, as the server wants it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room for temporary files");
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("it is ours");
    for entry in fs::read_dir(from).expect("it is a folder") {
        let entry = entry.expect("it can be listed");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("there is room for temporary files");
        }
    }
}

/// The folder and the ending of a file, without what numbers it.
fn kind(file: &Path) -> String {
    let text = file.to_string_lossy();
    let parts = text.split('/').map(|part| if part.chars().any(|c| c.is_ascii_digit()) { "*" } else { part });
    let end = file.extension().map_or_else(String::new, |end| format!(" .{}", end.to_string_lossy()));
    format!("{}{end}", parts.collect::<Vec<_>>().join("/"))
}
