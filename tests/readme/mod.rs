//! README.md and `examples/` hold what they promise: each block of them runs as it is printed, in order, on a fresh folder.
//!
//! README's blocks are run against one server with the sample tables, which stands for the one of the quick start:
//!
//! - `console`: lines behind `$ ` are commands of a shell, lines behind `tablegate=> ` statements for psql; what stands between
//!   them is what is printed. A line that ends with a colon is a question for the password.
//! - `sql`: a script for psql. It has the errors that it shows as comments (`-- ERROR: ..`, `-- HINT: ..`), and no others.
//! - `python`: a program that ends well.
//!
//! Where a block needs what a test does not have (an account, a certificate), the line before it is
//! `<!-- not run: why -->`. Blocks of other kinds are for the eye.

mod blocks;
#[path = "../../examples/in_process.rs"]
mod in_process;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use self::blocks::{Block, Kind, Step};
use crate::support::installed::Installed;
use crate::support::server::{PROGRAM, Server, forget_settings};
use crate::tpch::data;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The user whom README makes: before that anybody may come in under any name.
const USER: &str = "ann";
const PASSWORD: &str = "correct horse";

/// A reader with a server of the sample tables, and a folder to work in.
struct Reader {
    server: Server,
    folder: TempDir,
}

impl Reader {
    fn new() -> Self {
        let server = Server::start_with_sample(&["--rest", "127.0.0.1:0"]);
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let reader = Self { server, folder };
        let data = reader.server.data();
        reader.script("tablegate", &format!("export TABLEGATE_DATA='{}'\nexec '{PROGRAM}' \"$@\"", data.display()));
        reader.script("pwgen", &format!("echo '{PASSWORD}'"));
        reader
    }

    /// A command that README takes for granted.
    fn script(&self, name: &str, text: &str) {
        let place = self.folder.path().join(name);
        fs::write(&place, format!("#!/bin/sh\n{text}\n")).expect("the folder is writable");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// README's server is the test's.
    fn here(&self, text: &str) -> String {
        let port = self.server.port;
        let text = text.replace("127.0.0.1:10002", &crate::rest::address(&self.server).to_string());
        let text = text.replace("127.0.0.1:5433", &format!("127.0.0.1:{port}"));
        text.replace("-p 5433", &format!("-p {port}")).replace("port=5433", &format!("port={port}"))
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str], input: &str) -> Output {
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap_or_default());
        let read = self.folder.path().join("input");
        fs::write(&read, self.here(input)).expect("the folder is writable");
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.folder.path()).env("PATH", path);
        forget_settings(&mut command);
        command.env("PGUSER", USER).env("PGPASSWORD", PASSWORD).env("PSQLRC", "/dev/null").env("PAGER", "cat");
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.server.port.to_string()).env("PGDATABASE", "tablegate");
        command.stdin(Stdio::from(fs::File::open(read).expect("it was written")));
        command.output().unwrap_or_else(|error| panic!("{}: {error}", program.as_ref().display()))
    }

    fn check(&self, block: &Block) {
        match block.kind {
            Kind::Console => {
                for step in block.steps() {
                    self.step(block, &step);
                }
            }
            Kind::Sql => {
                let ran = self.run("psql", &["-X", "-q", "-v", "VERBOSITY=default"], &block.text);
                assert_eq!(blocks::errors(&text(&ran.stderr)), block.errors(), "{block}");
            }
            Kind::Python => succeeds(block, &self.run(Installed::find().python(), &["-"], &self.here(&block.text))),
        }
    }

    /// A command or a statement of a console, and what it prints.
    fn step(&self, block: &Block, step: &Step) {
        let ran = match step {
            Step::Shell { command, .. } => {
                let password = format!("{PASSWORD}\n");
                self.run("bash", &["-o", "pipefail", "-c", &self.here(command)], &password)
            }
            Step::Statement { statement, .. } => self.run("psql", &["-X", "-c", statement], ""),
        };
        succeeds(block, &ran);
        let (Step::Shell { prints, .. } | Step::Statement { prints, .. }) = step;
        if !prints.is_empty() {
            assert_eq!(&blocks::lines(&text(&ran.stdout)), prints, "{step:?} of {block}");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeds(what: &dyn std::fmt::Display, ran: &Output) {
    assert!(ran.status.success(), "{what}\n{}\n{}", text(&ran.stdout), text(&ran.stderr));
}

#[test]
fn every_block_of_the_readme_runs_as_printed() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("there is one");
    let found = blocks::of(&readme);
    let ran: Vec<&Block> = found.iter().filter(|block| block.not_run.is_none()).collect();
    assert!(ran.len() * 2 >= found.len(), "exceptions are few: {} of {} run", ran.len(), found.len());
    assert!(found.iter().all(|block| block.not_run.as_deref() != Some("")), "each has its reason");
    let reader = Reader::new();
    for block in ran {
        reader.check(block);
    }
}

#[test]
fn the_example_for_psql_runs() {
    let reader = Reader::new();
    let script = format!("{ROOT}/examples/psql-walkthrough.sh");
    let ran = reader.run("bash", &[&script, "127.0.0.1", &reader.server.port.to_string()], "");
    succeeds(&script, &ran);
    let errors = blocks::errors(&text(&ran.stderr));
    let first = errors.first().map(String::as_str).unwrap_or_default();
    assert!(first.contains("cannot write to two partitions"), "the one error that it is about: {errors:?}");
    assert_eq!(errors.iter().filter(|line| line.starts_with("ERROR:")).count(), 1, "{errors:?}");
    assert!(text(&ran.stdout).contains("Human Resources") || text(&ran.stdout).contains("Finance"), "it shows rows");
}

#[test]
fn the_example_in_python_runs() {
    let reader = Reader::new();
    let script = format!("{ROOT}/examples/python/employees.py");
    let program = reader.here(&fs::read_to_string(&script).expect("it is there"));
    let ran = reader.run(Installed::find().python(), &["-"], &program);
    succeeds(&script, &ran);
    assert!(
        text(&ran.stdout).contains("refused: a transaction is one entity group transaction"),
        "{}",
        text(&ran.stdout)
    );
}

#[test]
fn the_example_in_node_runs() {
    let reader = Reader::new();
    let folder = reader.folder.path();
    for name in ["employees.js", "package.json"] {
        fs::copy(format!("{ROOT}/examples/node/{name}"), folder.join(name)).expect("it is there");
    }
    symlink(Installed::find().node_modules(), folder.join("node_modules")).expect("the folder is writable");
    let ran = reader.run("node", &["employees.js"], "");
    succeeds(&"examples/node/employees.js", &ran);
    assert!(text(&ran.stdout).contains("etag of the written entity: W/"), "{}", text(&ran.stdout));
}

#[test]
fn the_example_in_process_runs() {
    in_process::main().expect("it ends well");
}

/// A script that compares this program with PostgreSQL, with generators and data of a folder.
fn compares(script: &str, arguments: &[&str], folder: &Path) -> String {
    let ran = Command::new("bash")
        .arg(format!("{ROOT}/examples/{script}"))
        .args(arguments)
        .env("TABLEGATE", PROGRAM)
        .env("TPCH", folder.join("generator"))
        .output()
        .expect("bash is there");
    succeeds(&script, &ran);
    text(&ran.stdout)
}

#[test]
fn the_example_of_flights_runs() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    for (name, lines) in [
        ("airlines", "carrier,name\nUA,United Air Lines Inc.\nB6,JetBlue Airways\n".to_owned()),
        ("airports", "faa,name,lat,lon,alt,tz,dst,tzone\nEWR,Newark,40.69,-74.17,18,-5,A,America/New_York\n".to_owned()),
        (
            "planes",
            "tailnum,year,type,manufacturer,model,engines,seats,speed,engine\nN1,1999,Fixed,BOEING,737,2,149,NA,Turbo-fan\n"
                .to_owned(),
        ),
        (
            "weather",
            "origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour\n\
             EWR,2013,1,1,5,39.02,26.06,59.37,270,10.36,NA,0.2,1012,10,2013-01-01T10:00:00Z\n"
                .to_owned(),
        ),
        ("flights", flights()),
    ] {
        fs::write(folder.path().join(format!("{name}.csv")), lines).expect("the folder is writable");
    }
    let told = compares("nycflights/run.sh", &[&folder.path().display().to_string()], folder.path());
    assert!(told.contains("all 6 queries give the same answers"), "{told}");
}

/// Flights of two days, each hour.
fn flights() -> String {
    let mut lines =
        "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,\
                     origin,dest,air_time,distance,hour,minute,time_hour\n"
            .to_owned();
    for (month, day, hour, carrier) in [(1, 1), (7, 4)]
        .into_iter()
        .flat_map(|(month, day)| (5..20).flat_map(move |hour| ["UA", "B6"].map(|carrier| (month, day, hour, carrier))))
    {
        let (delay, flight) = (hour - 12, if hour == 10 { 1545 } else { 1000 + hour });
        lines.push_str(&format!(
            "2013,{month},{day},{hour}17,{hour}15,{delay},NA,{hour}59,{delay},{carrier},{flight},N1,EWR,IAH,227,1400,{hour},15,\
             2013-{month:02}-{day:02}T{hour:02}:00:00Z\n"
        ));
    }
    lines
}

#[test]
fn the_example_of_tpc_h_runs() {
    const SCALE: f64 = 0.01;
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    for table in data::TABLES {
        let lines: String = data::lines(table, SCALE).collect();
        fs::write(folder.path().join(format!("{table}.tbl")), lines).expect("the folder is writable");
    }
    let generator = folder.path().join("generator");
    fs::write(&generator, format!("#!/bin/sh\ncp {}/*.tbl \"$2\"\n", folder.path().display())).expect("it is writable");
    fs::set_permissions(&generator, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let told = compares("tpch/run.sh", &[&SCALE.to_string()], folder.path());
    assert_eq!(told.matches(" equal ").count(), 22, "{told}");
}
