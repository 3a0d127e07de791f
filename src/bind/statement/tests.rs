//! Facts of PostgreSQL 15: what statements give, and what is wrong with them.
//!
//! Each file of facts has two lines per statement: itself, and the answer, as `facts/record_statements.py` writes it down. The tables
//! are those of `facts/schema.sql`.

use tablegate_types::error::ErrorKind;

use super::*;
use crate::facts::tables::{Tables, tables};
use crate::facts::{compare, compare_file, told};
use crate::query::bound::Target;

/// Messages whose DETAIL is said in other words.
const SAID_OTHERWISE: &[&str] = &["invalid input syntax for type json"];

/// What is said of a statement; `None` of what the parser does not read.
fn answer(tables: &Tables, text: &str) -> Option<String> {
    parse(text).ok()?;
    let mut parameters = Parameters::variable(Vec::new());
    let lookup = Lookup::new(tables);
    let bound = bind_statement(text, tables, &mut parameters);
    let found = bound.and_then(|bound| Ok((bound, parameters.found()?.to_vec())));
    Some(match found {
        Err(error) => told(&error, 0, SAID_OTHERWISE),
        Ok((bound, parameters)) => {
            let results: Vec<&Target> = match &bound {
                BoundStatement::Query(query) => query.results().collect(),
                BoundStatement::Change(change) => change.returning().iter().collect(),
            };
            let shown: Vec<String> = results
                .iter()
                .map(|target| {
                    let origin = target.origin.map_or_else(String::new, |origin| {
                        let relation =
                            tables.relations.iter().find(|relation| relation.oid == origin.relation).unwrap();
                        let schema = if relation.schema == "public" { "" } else { "s." };
                        let name = tablegate_types::quoting::quote_ident(&relation.name);
                        format!("@{schema}{name}.{}", origin.column)
                    });
                    let ty = target.expr.ty;
                    format!("{}:{}{origin}", target.name, lookup.type_with_modifier(ty.oid, ty.typmod))
                })
                .collect();
            let known: Vec<String> = parameters.iter().map(|oid| lookup.type_with_modifier(*oid, -1)).collect();
            format!("=\t{}|{}", shown.join("\t"), known.join(","))
        }
    })
}

fn compare_all(facts: &str, most_unread: usize) {
    let tables = tables();
    compare(facts, most_unread, |asked| answer(&tables, asked));
}

/// Forms that the parser of this crate's dependency does not read, and the server respells before it.
const UNREAD: usize = 8;

#[test]
fn queries_are_what_postgresql_says() {
    compare_all(include_str!("../facts/queries.txt"), UNREAD);
}

#[test]
fn changes_are_what_postgresql_says() {
    compare_all(include_str!("../facts/changes.txt"), 0);
}

#[test]
fn generated_statements_are_what_postgresql_says() {
    compare_all(include_str!("../facts/generated_statements.txt"), 0);
}

#[test]
fn facts_of_a_file() {
    let tables = tables();
    compare_file("QUERY_FACTS", |asked| answer(&tables, asked));
}

fn bound(text: &str) -> BoundStatement {
    let statement = parse(text).unwrap();
    let bound =
        StatementBinder::new(&tables()).bind(Syntax::of(&statement).unwrap(), &mut Parameters::default()).unwrap();
    // Members are inside of each other in the parser's tree, which would be dropped by calls of itself.
    std::mem::forget(statement);
    bound
}

#[test]
fn long_lists_are_bound_one_by_one() {
    let members = vec!["SELECT a, b FROM t1 WHERE a = 1"; 10_000].join(" UNION ALL ");
    let BoundStatement::Query(query) = bound(&members) else { panic!() };
    let Some(crate::query::bound::SetTree::Node { parts, .. }) = &query.set else { panic!() };
    assert_eq!((parts.len(), query.range.len()), (10_000, 10_000));
    let rows = vec!["(1, 'a', 1.5)"; 100_000].join(", ");
    bound(&format!("VALUES {rows}"));
    bound(&format!("INSERT INTO t1 (a, b, c) VALUES {rows}"));
    let tables: Vec<String> = (0..10_000).map(|number| format!("t1 x{number}")).collect();
    bound(&format!("SELECT x1.a FROM {}", tables.join(", ")));
    let items = vec!["1"; 100_000].join(", ");
    bound(&format!("SELECT a FROM t1 WHERE a IN ({items})"));
    let parts: Vec<String> = (1..2_000).map(|number| format!("w{number} AS (SELECT * FROM w{})", number - 1)).collect();
    bound(&format!("WITH w0 AS (SELECT 1), {} SELECT * FROM w1999", parts.join(", ")));
}

#[test]
fn what_is_read_twice_is_counted() {
    let BoundStatement::Query(query) =
        bound("WITH q AS (SELECT 1 AS x), r AS (SELECT x FROM q) SELECT (SELECT max(x) FROM q), r.x FROM r, q AS s")
    else {
        panic!()
    };
    assert_eq!(query.with.iter().map(|part| part.uses).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn names_of_outer_queries_say_how_far_out_they_are() {
    let BoundStatement::Query(query) = bound("SELECT (SELECT (SELECT t1.a + e FROM t3) FROM t2) FROM t1") else {
        panic!()
    };
    let levels =
        |query: &crate::BoundQuery| -> Vec<usize> { query.reach.columns.iter().map(|named| named.level).collect() };
    let middle = &query.sub_queries[0];
    let inner = &middle.sub_queries[0];
    assert_eq!(levels(inner), [0, 1]);
    assert_eq!(levels(middle), [0]);
    assert!(levels(&query).is_empty());
    // The aggregate is of the outermost query, whose column it has.
    let BoundStatement::Query(query) = bound("SELECT (SELECT sum(t1.a) FROM t2) FROM t1") else { panic!() };
    assert!(query.has_aggregates && !query.sub_queries[0].has_aggregates);
}

#[test]
fn members_of_other_types_are_no_flat_list() {
    let parts_of = |text: &str| {
        let BoundStatement::Query(query) = bound(text) else { panic!() };
        let Some(crate::query::bound::SetTree::Node { parts, .. }) = &query.set else { panic!() };
        parts.len()
    };
    assert_eq!(parts_of("SELECT i4 FROM num UNION ALL SELECT i4 FROM num UNION ALL SELECT i2 FROM num"), 3);
    // What is rounded in between is rounded.
    assert_eq!(parts_of("SELECT i4 FROM num UNION ALL SELECT f4 FROM num UNION ALL SELECT f8 FROM num"), 2);
    assert_eq!(parts_of("SELECT i4 FROM num UNION SELECT i4 FROM num UNION ALL SELECT i4 FROM num"), 2);
}

#[test]
fn keys_are_found_by_their_columns() {
    let keys_of = |target: &str| {
        let bound = bound(&format!("INSERT INTO t3 (x, y) VALUES (1, 2) ON CONFLICT {target} DO NOTHING"));
        let BoundStatement::Change(change) = bound else { panic!() };
        let ChangeKind::Insert { conflict: Some(conflict), .. } = &change.kind else { panic!() };
        conflict.keys(&change.relation).map(|keys| keys.len()).map_err(|error| error.kind)
    };
    assert_eq!(keys_of("(y, x)"), Ok(1));
    assert_eq!(keys_of(""), Ok(1));
    assert_eq!(keys_of("ON CONSTRAINT t3_pkey"), Ok(1));
    assert_eq!(keys_of("(x)"), Err(ErrorKind::InvalidColumnReference));
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    // The stack of a test is smaller than that of a thread of the server.
    let bound = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        let nested = format!("SELECT {}1{}", "(SELECT ".repeat(500), ")".repeat(500));
        bind_statement(&nested, &tables(), &mut Parameters::default()).unwrap_err()
    });
    assert_eq!(bound.unwrap().join().unwrap().kind, ErrorKind::TooComplex);
}
