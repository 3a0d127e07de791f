//! The facts that `src/bind` is tested with are what PostgreSQL 15 says: each is asked again.
//!
//! `src/bind/facts/record.py` makes more of them, at random too.

use tokio_postgres::error::ErrorPosition;
use tokio_postgres::{Client, Error, NoTls};

use crate::support::postgres::{self, Postgres};

const FILES: [&str; 2] =
    [include_str!("../../src/bind/facts/written.txt"), include_str!("../../src/bind/facts/generated.txt")];
const TABLE: &str = include_str!("../../src/bind/facts/things.sql");

/// A condition is asked of a table of the same name elsewhere, which is gone afterwards.
const CHECK: &str = "CREATE TABLE s.things (LIKE public.things, CONSTRAINT ck CHECK ((";

#[test]
fn facts_of_expressions_are_what_postgresql_says() {
    let server = Postgres::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let (host, port) = (server.address.ip(), server.address.port());
        let settings = format!("host={host} port={port} user={} dbname=postgres", postgres::USER);
        let (client, connection) = tokio_postgres::connect(&settings, NoTls).await.expect("PostgreSQL takes clients");
        let connection = tokio::spawn(connection);
        client.batch_execute(TABLE).await.expect("the table is made");
        let (mut count, mut wrong) = (0_usize, Vec::new());
        for file in FILES {
            let mut lines = file.lines();
            while let (Some(asked), Some(expected)) = (lines.next(), lines.next()) {
                let (kind, expr) = asked.split_once('\t').expect("a kind and an expression");
                let said = answer(&client, kind, expr).await;
                count += 1;
                if said != expected {
                    wrong.push(format!("{asked}\n  {expected}\n  {said}"));
                }
            }
        }
        drop(client);
        connection.await.expect("the connection ends").expect("and nothing is wrong with it");
        assert!(count > 2_000, "{count} facts");
        assert!(wrong.is_empty(), "{} of {count} differ\n{}", wrong.len(), wrong.join("\n"));
    });
}

async fn answer(client: &Client, kind: &str, expr: &str) -> String {
    match kind {
        "C" => {
            client.batch_execute("BEGIN").await.expect("a block begins");
            let made = client.batch_execute(&format!("{CHECK}{expr}) IS NOT NULL))")).await;
            let said = match made {
                Err(error) => told(&error, CHECK.len()),
                Ok(()) => {
                    let constraint = "SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) \
                                      FROM pg_constraint WHERE conname = 'ck'";
                    let texts = texts(client, constraint).await;
                    let inside = |text: &String| text["CHECK (".len()..text.len() - 1].to_owned();
                    let (full, pretty) = (inside(&texts[0]), inside(&texts[1]));
                    let of = type_of(client, expr).await;
                    format!("=\t{of}\t{}\t{}", escaped(&full), escaped(&pretty))
                }
            };
            client.batch_execute("ROLLBACK").await.expect("a block ends");
            said
        }
        "D" => {
            let (type_name, expr) = expr.split_once('\t').expect("a type and an expression");
            let begin = format!("CREATE TEMP TABLE dd (c {type_name} DEFAULT ");
            client.batch_execute("BEGIN").await.expect("a block begins");
            let said = match client.batch_execute(&format!("{begin}{expr})")).await {
                Err(error) => told(&error, begin.len()),
                Ok(()) => {
                    let default = "SELECT pg_get_expr(adbin, adrelid), pg_get_expr(adbin, adrelid, true) \
                                   FROM pg_attrdef WHERE adrelid = 'dd'::regclass";
                    let texts = texts(client, default).await;
                    format!("=\t{}\t{}", escaped(&texts[0]), escaped(&texts[1]))
                }
            };
            client.batch_execute("ROLLBACK").await.expect("a block ends");
            said
        }
        _ => match client.prepare(&format!("SELECT {expr} FROM things")).await {
            Err(error) => told(&error, "SELECT ".len()),
            Ok(prepared) => {
                let of = type_of(client, expr).await;
                let mut parameters = Vec::new();
                for parameter in prepared.params() {
                    let name = format!("SELECT format_type({}, -1)", parameter.oid());
                    parameters.extend(texts(client, &name).await);
                }
                format!("=\t{of}\t{}", parameters.join("\t"))
            }
        },
    }
}

/// The type with its modifier, which the driver does not give.
async fn type_of(client: &Client, expr: &str) -> String {
    let view = format!("SELECT {expr} AS x FROM things");
    // A parameter has no value here: its type is one without a modifier.
    let prepared = client.prepare(&view).await.expect("it was prepared before");
    let column = &prepared.columns()[0];
    let name = format!("SELECT format_type({}, {})", column.type_().oid(), column.type_modifier());
    texts(client, &name).await.remove(0)
}

/// The only row of a query.
async fn texts(client: &Client, query: &str) -> Vec<String> {
    let row = client.query_one(query, &[]).await.expect("the query has a row");
    (0..row.len()).map(|at| row.get::<_, String>(at)).collect()
}

fn told(error: &Error, before: usize) -> String {
    let error = error.as_db_error().expect("the server says it");
    let position = match error.position() {
        Some(ErrorPosition::Original(position)) => usize::try_from(*position).unwrap_or(0).saturating_sub(before),
        _ => 0,
    };
    // What is wrong with such a text, tablegate says in other words.
    let said_otherwise = ["invalid input syntax for type json", "malformed array literal"];
    let is_same = !said_otherwise.iter().any(|message| error.message().starts_with(message));
    let detail = error.detail().filter(|_| is_same).unwrap_or_default();
    let (state, hint) = (error.code().code(), error.hint().unwrap_or_default());
    format!("!\t{state}\t{position}\t{}\t{}\t{}", escaped(error.message()), escaped(detail), escaped(hint))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}
