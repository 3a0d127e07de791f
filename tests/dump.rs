//! pg_dump: what it writes of our tables, another server of ours reads, and so it is with PostgreSQL's dumps.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::postgres::{Postgres, USER};
use crate::support::server::Server;

/// Tables with what a dump has to keep: types, defaults, checks, keys, counters, comments, a view.
const SCHEMA: &str = "
    CREATE TABLE airlines (carrier text PRIMARY KEY, name text NOT NULL);
    CREATE TABLE planes (tailnum text PRIMARY KEY, year int, kind text COLLATE \"C\" DEFAULT 'jet', seats int CHECK (seats > 0), price numeric(12, 2));
    CREATE TABLE flights (id bigserial, carrier text REFERENCES airlines, tailnum text, dep timestamptz, tags text[], extra jsonb, raw bytea,
        PRIMARY KEY (id));
    CREATE VIEW jets AS SELECT tailnum, seats FROM planes WHERE kind = 'jet';
    ALTER TABLE planes ADD CONSTRAINT one_of_a_kind UNIQUE (kind, year), ADD CONSTRAINT priced UNIQUE (price) DEFERRABLE;
    CREATE INDEX by_seats ON planes (seats DESC) WHERE seats > 1;
    CREATE UNIQUE INDEX by_name ON airlines (lower(name));
    COMMENT ON INDEX by_seats IS 'the large ones first';
    COMMENT ON CONSTRAINT priced ON planes IS 'no price twice';
    CREATE TABLE trips (id integer NOT NULL, tailnum text);
    CREATE SEQUENCE trips_seq OWNED BY trips.id;
    ALTER TABLE trips ALTER COLUMN id SET DEFAULT nextval('public.trips_seq'::regclass);
    CREATE VIEW kinds AS SELECT p.tailnum, p.kind, count(*) AS n FROM planes p GROUP BY p.tailnum;
    COMMENT ON TABLE planes IS 'what flies';
    COMMENT ON COLUMN planes.seats IS 'how many';
    INSERT INTO airlines VALUES ('UA', 'United'), ('AA', E'Ameri\\tcan');
    INSERT INTO planes VALUES ('N1', 2000, 'jet', 100, 12.5), ('N2', NULL, DEFAULT, NULL, NULL);
    INSERT INTO flights (carrier, tailnum, dep, tags, extra, raw) VALUES
        ('UA', 'N1', '2024-01-01 12:00Z', '{a,\"b c\"}', '{\"k\": [1, null]}', '\\x00ff'), ('AA', 'N2', NULL, NULL, NULL, NULL);
    ";
/// What is asked of both servers; the last writes a row, with the next number.
const QUESTIONS: [&str; 11] = [
    "SELECT * FROM airlines ORDER BY 1",
    "SELECT * FROM planes ORDER BY 1",
    "SELECT * FROM flights ORDER BY 1",
    "SELECT * FROM jets ORDER BY 1",
    "SELECT column_name, data_type, is_nullable, numeric_precision FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u') ORDER BY 1",
    "SELECT attname, attcollation::int FROM pg_attribute WHERE attrelid = 'planes'::regclass AND attnum > 0 ORDER BY 1",
    "SELECT obj_description('by_seats'::regclass, 'pg_class'), pg_get_viewdef('kinds'::regclass)",
    "INSERT INTO trips (tailnum) VALUES ('N1') RETURNING id",
    "INSERT INTO flights (carrier) VALUES ('AA') RETURNING id",
];

/// A program of PostgreSQL's, told where a server is.
fn program(name: &str, port: u16, user: &str, database: &str) -> Command {
    let mut command = Command::new(name);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", user]);
    command.env("PGDATABASE", database).env("PGSSLMODE", "disable").env("PSQLRC", "/dev/null");
    command
}

fn output(mut command: Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = running.stdin.take().expect("it is piped");
    let input = input.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ended = running.wait_with_output().expect("it ends");
    let _ = writing.join();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{command:?}: {err}");
    out.into_owned()
}

/// Runs a script that must not meet an error.
fn run(port: u16, script: &str) {
    let mut psql = program("psql", port, "dumper", "tablegate");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]);
    output(psql, script);
}

fn answers(port: u16, user: &str, database: &str) -> Vec<String> {
    let ask = |sql: &&str| {
        let mut psql = program("psql", port, user, database);
        psql.args(["-X", "-At", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        output(psql, "")
    };
    QUESTIONS.iter().map(ask).collect()
}

fn gateway() -> Server {
    Server::start(&["--egt-mode", "observe"])
}

#[test]
fn what_is_dumped_is_restored() {
    for options in [&[][..], &["--inserts"]] {
        let (from, to) = (gateway(), gateway());
        run(from.port, SCHEMA);
        let mut dump = program("pg_dump", from.port, "dumper", "tablegate");
        dump.args(options);
        run(to.port, &output(dump, ""));
        assert_eq!(answers(to.port, "dumper", "tablegate"), answers(from.port, "dumper", "tablegate"), "{options:?}");
    }
}

#[test]
fn a_dump_of_postgresql_is_loaded() {
    let from = Postgres::start();
    let port = from.address.port();
    let mut psql = program("psql", port, USER, "postgres");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]);
    output(psql, SCHEMA);
    let to = gateway();
    let dump = output(program("pg_dump", port, USER, "postgres"), "");
    run(to.port, &dump);
    assert_eq!(answers(to.port, "dumper", "tablegate"), answers(port, USER, "postgres"));
}
