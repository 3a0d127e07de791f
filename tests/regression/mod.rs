//! PostgreSQL's own regression files, statement by statement, here and on PostgreSQL: what the two answer is compared.
//!
//! The files are not ours. `make regression REGRESSION_FOLDER=.../src/test/regress` takes the folder of PostgreSQL's source
//! package, runs the files in it through psql, and writes what differs to one file each beside the build.
//!
//! ```text
//!     pieces     a file in pieces of one statement each
//!     judge      what becomes of a statement: alike, refused by name, or another answer
//! ```

#![allow(clippy::print_stdout, reason = "what is compared, file by file")]

mod judge;
mod pieces;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::judge::Verdict;
use crate::support::postgres::{self, Postgres};
use crate::support::server::Server;

/// What others need: tables and their rows.
const SETUP: &str = "test_setup";
/// The files about queries and changes of rows, in the order in which PostgreSQL runs them.
const FILES: &str = "create_misc create_index create_view select select_into select_distinct select_distinct_on select_implicit \
                     select_having subselect union case join aggregates groupingsets window with expressions insert \
                     insert_conflict update delete merge returning prepare portals";

#[test]
fn statements_are_answered_as_postgresql_answers_them() {
    let Some(folder) = std::env::var_os("REGRESSION_FOLDER").map(PathBuf::from) else {
        println!("REGRESSION_FOLDER names no folder with PostgreSQL's regression files");
        return;
    };
    let files = std::env::var("REGRESSION_FILES").unwrap_or_else(|_| FILES.to_owned());
    let reference = Postgres::start();
    let server = Server::start(&["--egt-mode", "observe"]);
    let ours = SocketAddr::from(([127, 0, 0, 1], server.port));
    let written = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("regression");
    fs::create_dir_all(&written).expect("there is room for what differs");
    println!("{:<20} {:>10} {:>6} {:>8} {:>7}", "file", "statements", "alike", "refused", "differ");
    for file in [SETUP].into_iter().chain(files.split_whitespace()) {
        let text = fs::read_to_string(folder.join("sql").join(file).with_extension("sql"));
        let pieces = pieces::of(&text.unwrap_or_else(|error| panic!("{file}: {error}")));
        let theirs = answers(reference.address, postgres::USER, &folder, &pieces);
        let own = answers(ours, "postgres", &folder, &pieces);
        let (mut counts, mut differing) = ([0_usize; 3], String::new());
        for ((piece, expected), found) in pieces.iter().zip(&theirs).zip(&own) {
            let verdict = judge::judge(piece, expected, found);
            counts[verdict as usize] += 1;
            if verdict == Verdict::Differs {
                let piece = piece.trim();
                write!(differing, "{piece}\n---- PostgreSQL\n{expected}\n---- here\n{found}\n====\n")
                    .expect("it is written");
            }
        }
        fs::write(written.join(file).with_extension("txt"), differing).expect("it is written");
        let [alike, refused, differ] = counts;
        println!("{file:<20} {:>10} {alike:>6} {refused:>8} {differ:>7}", pieces.len());
    }
    println!("what differs is in {}", written.display());
}

/// What psql shows for each piece.
fn answers(server: SocketAddr, user: &str, folder: &Path, pieces: &[String]) -> Vec<String> {
    let end = |number: usize| format!("@end of {number}@");
    let mut script = String::new();
    let mut data = String::new();
    for (number, piece) in pieces.iter().enumerate() {
        script.push_str(&pieces::with_data(piece, folder, &mut data));
        script.push_str(if piece.ends_with('\n') { "" } else { "\n" });
        writeln!(script, "\\echo {}", end(number)).expect("it is written");
    }
    // Errors stand among the answers.
    let mut psql = Command::new("sh")
        .args(["-c", "exec psql \"$@\" 2>&1", "psql"])
        .args([
            "-X",
            "-q",
            "-h",
            &server.ip().to_string(),
            "-p",
            &server.port().to_string(),
            "-U",
            user,
            "-d",
            "postgres",
        ])
        .env("PGTZ", "PST8PDT")
        .env("PGDATESTYLE", "Postgres, MDY")
        .env("PGOPTIONS", "-c intervalstyle=postgres_verbose")
        .env("PG_ABS_SRCDIR", folder)
        .env("PG_LIBDIR", folder)
        .env("PG_DLSUFFIX", ".so")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql is installed");
    let mut input = psql.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || drop(input.write_all(script.as_bytes())));
    let output = psql.wait_with_output().expect("psql ends");
    writer.join().expect("the script was written");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut rest = shown.as_str();
    let mut answers = Vec::with_capacity(pieces.len());
    for number in 0..pieces.len() {
        let (answer, behind) = rest.split_once(&end(number)).unwrap_or((rest, ""));
        answers.push(answer.to_owned());
        rest = behind;
    }
    answers
}
