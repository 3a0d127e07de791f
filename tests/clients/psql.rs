//! psql: scripts, its commands that read the catalogue, `\copy`, variables, and what it prints.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::clients::{server, to};

/// A psql with a folder of its own for files.
struct Psql {
    server: crate::support::server::Server,
    folder: TempDir,
}

impl Psql {
    fn new() -> Self {
        Self { server: server(), folder: tempfile::tempdir().expect("there is room for temporary files") }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut psql = Command::new("psql");
        to(&self.server, &mut psql);
        psql.env("PSQLRC", "/dev/null").env("PAGER", "cat").current_dir(self.folder.path());
        psql.args(["-X", "-v", "ON_ERROR_STOP=1"]).args(arguments);
        psql.output().expect("psql is installed")
    }

    /// What it prints for each of these commands, one after another in one session.
    fn prints(&self, commands: &[&str]) -> String {
        let arguments: Vec<&str> = commands.iter().flat_map(|command| ["-c", command]).collect();
        let ended = self.run(&arguments);
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{commands:?}: {out}\n{err}");
        out.into_owned()
    }
}

const PARCELS: &str =
    "CREATE TABLE parcels (depot text, id int, price numeric(10, 2) DEFAULT 1.5, posted timestamptz NOT NULL,
    PRIMARY KEY (depot, id), CHECK (id > 0))";
const ROWS: &str =
    "INSERT INTO parcels VALUES ('north', 1, 2.5, '2024-02-29 12:00Z'), ('north', 2, DEFAULT, '2024-03-01 12:00Z')";

#[test]
fn a_table_is_shown_as_postgresql_shows_it() {
    let psql = Psql::new();
    let shown = psql.prints(&[PARCELS, r"\d parcels"]);
    let expected = r#"                       Table "public.parcels"
 Column |           Type           | Collation | Nullable | Default 
--------+--------------------------+-----------+----------+---------
 depot  | text                     |           | not null | 
 id     | integer                  |           | not null | 
 price  | numeric(10,2)            |           |          | 1.5
 posted | timestamp with time zone |           | not null | 
Indexes:
    "parcels_pkey" PRIMARY KEY, btree (depot, id)
Check constraints:
    "parcels_id_check" CHECK (id > 0)
"#;
    assert!(shown.contains(expected), "{shown}");
    for (command, word) in [
        (r"\dt", "parcels"),
        (r"\di", "parcels_pkey"),
        (r"\du", crate::clients::USER),
        (r"\l", crate::clients::DATABASE),
    ] {
        let shown = psql.prints(&[command]);
        assert!(shown.contains(word), "{command}: {shown}");
    }
}

#[test]
fn results_are_printed_in_its_formats() {
    let psql = Psql::new();
    let shown = psql.prints(&[PARCELS, ROWS, "SELECT depot, id, price FROM parcels ORDER BY id"]);
    assert!(
        shown.ends_with(
            " depot | id | price \n-------+----+-------\n north |  1 |  2.50\n north |  2 |  1.50\n(2 rows)\n\n"
        ),
        "{shown}"
    );
    let ended = psql.run(&["--csv", "-c", "SELECT * FROM parcels WHERE id = 1"]);
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "depot,id,price,posted\nnorth,1,2.50,2024-02-29 12:00:00+00\n");
}

/// The client does that: nothing but it can help, so it is told.
#[test]
fn psql_is_told_that_it_reads_the_rows_of_a_failed_copy_as_statements() {
    let psql = Psql::new();
    let script = "COPY nothing FROM stdin;\n1\tx\n\\.\nSELECT 'went on';\n";
    fs::write(psql.folder.path().join("script.sql"), script).unwrap();
    let ended = psql.run(&["-f", "script.sql", "-v", "ON_ERROR_STOP=0"]);
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("relation \"nothing\" does not exist"), "{told}");
    assert!(told.contains("ON_ERROR_STOP=1") && told.contains("pg_dump -Fc and pg_restore"), "{told}");
}

#[test]
fn files_are_copied_both_ways() {
    let psql = Psql::new();
    psql.prints(&[PARCELS, ROWS, r"\copy parcels TO 'parcels.csv' (FORMAT csv, HEADER)", "TRUNCATE parcels"]);
    let file = fs::read_to_string(psql.folder.path().join("parcels.csv")).expect("psql wrote it");
    assert_eq!(file.lines().count(), 3);
    let shown =
        psql.prints(&[r"\copy parcels FROM 'parcels.csv' (FORMAT csv, HEADER)", "SELECT sum(price) FROM parcels"]);
    assert!(shown.contains("COPY 2") && shown.contains("4.00"), "{shown}");
}

#[test]
fn a_script_runs_with_variables_cursors_and_prepared_statements() {
    let psql = Psql::new();
    psql.prints(&[PARCELS, ROWS]);
    let script = r"SELECT count(*) AS n FROM parcels \gset
\echo there are :n
\set FETCH_COUNT 1
SELECT id FROM parcels ORDER BY id;
\unset FETCH_COUNT
PREPARE one(int) AS SELECT price FROM parcels WHERE depot = :'depot' AND id = $1;
EXECUTE one(1);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM parcels ORDER BY id;
FETCH LAST FROM c;
ROLLBACK;
COPY parcels (depot, id, posted) FROM stdin;
south	7	2024-01-01
\.
SELECT 'SELECT id FROM parcels WHERE depot = ''south''' \gexec
";
    fs::write(psql.folder.path().join("script.sql"), script).expect("the folder is writable");
    let ended = psql.run(&["-At", "-v", "depot=north", "-f", "script.sql"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    let expected = "there are 2\n1\n2\nPREPARE\n2.50\nBEGIN\nDECLARE CURSOR\n2\nROLLBACK\nCOPY 1\n7\n";
    assert_eq!(out, expected, "{err}");
}

#[test]
fn an_error_names_its_place_and_code() {
    let psql = Psql::new();
    let ended = psql.run(&["-v", "VERBOSITY=verbose", "-c", "SELECT 1, nothing"]);
    let err = String::from_utf8_lossy(&ended.stderr);
    let expected = "ERROR:  42703: column \"nothing\" does not exist\nLINE 1: SELECT 1, nothing\n                  ^\n";
    assert!(err.starts_with(expected), "{err}");
}

#[test]
fn tls_is_used_where_it_is_asked_for() {
    let psql = Psql::new();
    let shown = psql.prints(&[r"\conninfo"]);
    assert!(shown.contains("SSL connection (protocol: TLSv1.3"), "psql prefers TLS: {shown}");
    let ended = psql.run(&["sslmode=disable", "-Atc", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"]);
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "f\n");
}
