//! The differential test: generated statements, asked of PostgreSQL 15 and of the gateway, must have the same answers.
//!
//! Values, result types, column labels, command tags and SQLSTATEs are compared. What may differ stands in `accepted.rs`,
//! and in COMPAT.md. PostgreSQL is started for it; with `DIFFERENTIAL_RECORDED=1` its recorded answers are used. The environment
//! chooses more: `DIFFERENTIAL_STATEMENTS` and `DIFFERENTIAL_SEED`, `DIFFERENTIAL_WITHOUT` (names of families and shapes that
//! are left out), `DIFFERENTIAL_REPORT` (a file for the whole report), `DIFFERENTIAL_RECORD=1` (record answers anew).

mod accepted;
mod compare;
mod every_aggregate;
mod expressions;
mod facts;
mod families;
mod fixture;
mod gateway;
mod large;
mod nested;
mod node;
mod order;
mod queries;
mod recorded;
mod report;
mod run;
mod shrink;
mod types;
mod wire;
mod writes;
mod wrong;

use std::fmt::Write;
use std::net::SocketAddr;
use std::str::FromStr;

use crate::support::postgres::{self, Postgres};
use gateway::Gateway;
use recorded::Recorded;
use run::{Plan, Reference};
use wire::{Answer, Client};

/// Statements of a run that nobody asked more or less of.
const STATEMENTS: usize = 20_000;
const SEED: u64 = 15;
/// Queries within queries of a run that nobody asked more or less of.
const NESTED_STATEMENTS: u64 = 300;
/// Queries of many rows of a run that nobody asked more or less of.
const LARGE_STATEMENTS: u64 = 150;
/// Root causes that are printed; all of them go into the report file.
const GROUPS_SHOWN: usize = 40;

#[test]
fn generated_statements_have_the_answers_of_postgresql() {
    let postgres = (setting("DIFFERENTIAL_RECORDED", 0) != 1).then(Postgres::start);
    let reference = match &postgres {
        Some(postgres) => Reference::Live(postgres.address),
        None => Reference::Recorded(Recorded::load()),
    };
    let plan = plan(&reference);
    if setting("DIFFERENTIAL_RECORD", 0) == 1 {
        record(&plan, &reference);
        return;
    }
    let gateway = Gateway::start();
    set_up(gateway.address, "u");
    if let Reference::Live(address) = &reference {
        set_up(*address, postgres::USER);
    }
    let (counts, groups) = run::run(&plan, &reference, gateway.address);
    let source = match &reference {
        Reference::Live(_) => "a PostgreSQL 15 started for this run",
        Reference::Recorded(_) => "recorded answers of PostgreSQL 15",
    };
    let mut text = format!("compared with {source}, seed {}\n{}", plan.seed, counts.lines());
    let different: usize = groups.iter().map(|group| group.count).sum();
    writeln!(text, "{different} differ, of {} kinds\n", groups.len()).expect("strings take everything");
    let all: Vec<String> = groups.iter().map(report::Group::describe).collect();
    if let Ok(path) = std::env::var("DIFFERENTIAL_REPORT") {
        std::fs::write(&path, format!("{text}{}", all.join("\n"))).expect("the report can be written");
    }
    tell(&text);
    assert!(groups.is_empty(), "{text}{}", all[..all.len().min(GROUPS_SHOWN)].join("\n"));
}

#[test]
fn every_aggregate_of_every_type_has_the_answer_of_postgresql() {
    let postgres = (setting("DIFFERENTIAL_RECORDED", 0) != 1).then(Postgres::start);
    let mut client = postgres.as_ref().map(|postgres| {
        set_up(postgres.address, postgres::USER);
        Client::connect(postgres.address, postgres::USER).expect("PostgreSQL takes connections")
    });
    if let (1, Some(client)) = (setting("DIFFERENTIAL_RECORD", 0), &mut client) {
        std::fs::write(recorded::path_of_aggregates(), every_aggregate::record(client))
            .expect("the file can be written");
        return;
    }
    let gateway = Gateway::start();
    set_up(gateway.address, "u");
    let mut here = Client::connect(gateway.address, "u").expect("the gateway takes connections");
    let (asked, differences) = every_aggregate::compared(client, &Recorded::of_aggregates(), &mut here);
    tell(&format!("{asked} statements of aggregates, {} differ", differences.len()));
    let shown = &differences[..differences.len().min(GROUPS_SHOWN)];
    assert!(differences.is_empty(), "{} of {asked} differ\n{}", differences.len(), shown.join("\n"));
}

#[test]
fn wrong_statements_are_refused_as_postgresql_refuses_them() {
    let postgres = (setting("DIFFERENTIAL_RECORDED", 0) != 1).then(Postgres::start);
    let mut client = postgres.as_ref().map(|postgres| {
        set_up(postgres.address, postgres::USER);
        Client::connect(postgres.address, postgres::USER).expect("PostgreSQL takes connections")
    });
    if let (1, Some(client)) = (setting("DIFFERENTIAL_RECORD", 0), &mut client) {
        std::fs::write(recorded::path_of_wrong(), wrong::record(client, SEED)).expect("the file can be written");
        return;
    }
    let seed = if client.is_some() { setting("DIFFERENTIAL_SEED", SEED) } else { SEED };
    let gateway = Gateway::start();
    set_up(gateway.address, "u");
    let mut here = Client::connect(gateway.address, "u").expect("the gateway takes connections");
    let (refused, differences) = wrong::compared(client, &Recorded::of_wrong(), &mut here, seed);
    let text = format!("seed {seed}: {refused} wrong statements, {} refused otherwise\n", differences.len());
    if let Ok(path) = std::env::var("DIFFERENTIAL_REPORT") {
        std::fs::write(&path, format!("{text}{}", differences.join("\n"))).expect("the report can be written");
    }
    tell(&text);
    let shown = &differences[..differences.len().min(GROUPS_SHOWN)];
    assert!(differences.is_empty(), "{text}{}", shown.join("\n"));
}

/// Needs a PostgreSQL of its own: its answers are not recorded.
#[test]
fn queries_within_queries_have_the_answers_of_postgresql() {
    let postgres = Postgres::start();
    let gateway = Gateway::start();
    let seed = setting("NESTED_SEED", SEED);
    let mut there = client_beside(nested::SETUP, postgres.address, postgres::USER);
    let mut here = client_beside(nested::SETUP, gateway.address, "u");
    let (mut compared, mut refused, mut differences) = (0, 0, Vec::new());
    for number in 0..setting("NESTED_STATEMENTS", NESTED_STATEMENTS) {
        let sql = nested::query(seed, number);
        let Answer::Done { columns, rows: expected, .. } = there.ask(&sql) else { continue };
        compared += 1;
        let oids: Vec<u32> = columns.iter().map(|column| column.oid).collect();
        match here.ask(&sql) {
            Answer::Done { rows, .. } if compare::same_rows(&oids, &expected, &rows, false) => {}
            // A form that is not supported is told so; what overflows may do so in rows that PostgreSQL does not come to.
            Answer::Error { code, .. } if ["0A000", "22003", "22012"].contains(&code.as_str()) => refused += 1,
            other => differences.push(format!("number {number}: {sql}\n  there {expected:?}\n  here  {other:?}")),
        }
    }
    tell(&format!("NESTED_SEED={seed}: {compared} queries, {refused} refused, {} differ", differences.len()));
    let shown = &differences[..differences.len().min(GROUPS_SHOWN)];
    assert!(differences.is_empty(), "{} of {compared} differ, seed {seed}\n{}", differences.len(), shown.join("\n"));
}

/// Needs a PostgreSQL of its own, as above.
#[test]
fn queries_of_many_rows_have_the_answers_of_postgresql() {
    let postgres = Postgres::start();
    let gateway = Gateway::start();
    let seed = setting("LARGE_SEED", SEED);
    let mut there = client_beside(large::SETUP, postgres.address, postgres::USER);
    let mut here = client_beside(large::SETUP, gateway.address, "u");
    let (mut compared, mut differences) = (0, Vec::new());
    for number in 0..setting("LARGE_STATEMENTS", LARGE_STATEMENTS) {
        let (sql, is_ordered) = large::query(seed, number);
        let expected = there.ask(&sql);
        let found = here.ask(&sql);
        compared += 1;
        if let Some(kind) = compare::difference(&expected, &found, is_ordered) {
            differences.push(format!("number {number}: {kind:?}\n  {sql}"));
        }
    }
    tell(&format!("LARGE_SEED={seed}: {compared} queries of many rows, {} differ", differences.len()));
    let shown = &differences[..differences.len().min(GROUPS_SHOWN)];
    assert!(differences.is_empty(), "{} of {compared} differ, seed {seed}\n{}", differences.len(), shown.join("\n"));
}

/// Recorded answers are those of the first statements of the default seed.
fn plan(reference: &Reference) -> Plan {
    let without = std::env::var("DIFFERENTIAL_WITHOUT").unwrap_or_default();
    let without = without.split(',').map(str::to_owned).collect();
    let is_recorded = matches!(reference, Reference::Recorded(_)) || setting("DIFFERENTIAL_RECORD", 0) == 1;
    if is_recorded {
        return Plan { seed: SEED, statements: recorded::STATEMENTS, without: Vec::new() };
    }
    let statements = setting("DIFFERENTIAL_STATEMENTS", STATEMENTS);
    Plan { seed: setting("DIFFERENTIAL_SEED", SEED), statements, without }
}

fn setting<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => default,
    }
}

fn set_up(address: SocketAddr, user: &str) {
    client_beside(fixture::SETUP, address, user);
}

/// A client of a server, after these statements.
fn client_beside(setup: &[&str], address: SocketAddr, user: &str) -> Client {
    let mut client = Client::connect(address, user).expect("the server takes connections");
    for sql in setup {
        let answer = client.ask(sql);
        assert!(matches!(answer, Answer::Done { .. }), "{address}: {answer:?}\n{sql}");
    }
    client
}

fn record(plan: &Plan, reference: &Reference) {
    if let Reference::Live(address) = reference {
        set_up(*address, postgres::USER);
    }
    std::fs::write(recorded::path(), run::record(plan, reference)).expect("the file can be written");
    tell(&format!("{} statements recorded in {}", plan.statements, recorded::path().display()));
}

#[expect(clippy::print_stdout, reason = "a run says what it compared, and with what, when it passes too")]
fn tell(text: &str) {
    println!("{text}");
}
