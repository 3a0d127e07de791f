//! Every aggregate of every type, with and without DISTINCT, ORDER BY and FILTER: each alone, then those that PostgreSQL computes
//! in pairs, of all rows and by groups. Nothing is left to chance, so the recorded answers serve every run.

use crate::differential::accepted::{self, Difference};
use crate::differential::compare::difference;
use crate::differential::fixture::FACTS;
use crate::differential::recorded::{self, Recorded};
use crate::differential::types::Ty;
use crate::differential::wire::{Answer, Client};

/// Aggregates whose value does not hang on the order of what they aggregate.
const UNORDERED: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "stddev",
    "stddev_pop",
    "variance",
    "var_pop",
];
const LISTS: &[&str] = &["array_agg", "json_agg", "jsonb_agg"];
const MEMBERS: &[&str] = &["json_object_agg", "jsonb_object_agg"];
const FILTERS: &[&str] = &["", " FILTER (WHERE f.id > 3)"];
/// Of all pairs that could be made one in so many is.
const PAIRED_ONE_OF: usize = 4;

fn calls() -> Vec<String> {
    let mut calls = Vec::new();
    // The key is the first column. How many digits a list shows of a numeric is another matter, and of `1 mon` and `30 days`
    // nothing says which stands for both.
    for (name, ty) in FACTS.columns.iter().skip(1) {
        let x = format!("f.{name}");
        let mut add = |functions: &[&str], arguments: &[String]| {
            for (function, arguments) in functions.iter().flat_map(|f| arguments.iter().map(move |a| (f, a))) {
                calls.extend(FILTERS.iter().map(|filter| format!("{function}({arguments}){filter}")));
            }
        };
        let orders = ["f.id".to_owned(), format!("{x} DESC, f.id DESC"), format!("{x} NULLS FIRST, f.id")];
        let own = [
            "".to_owned(),
            format!(" ORDER BY {x} DESC"),
            format!(" ORDER BY {x} NULLS FIRST"),
            " ORDER BY f.id".to_owned(),
        ];
        let distinct: Vec<String> = own.iter().map(|order| format!("DISTINCT {x}{order}")).collect();
        add(UNORDERED, &[x.clone(), format!("{x} ORDER BY f.id"), distinct[0].clone(), distinct[1].clone()]);
        if *ty != Ty::Numeric {
            let ordered = orders.iter().map(|order| format!("{x} ORDER BY {order}"));
            add(LISTS, &ordered.chain(distinct).collect::<Vec<_>>());
            let text = format!("{x}::text");
            add(
                &["string_agg"],
                &[
                    format!("{text}, ',' ORDER BY f.id"),
                    format!("DISTINCT {text}, ','"),
                    format!("DISTINCT {text}, ',' ORDER BY {text} DESC"),
                    format!("DISTINCT {text}, f.t ORDER BY {text} DESC"),
                ],
            );
            add(
                MEMBERS,
                &[
                    format!("f.id, {x} ORDER BY f.id DESC"),
                    format!("DISTINCT f.id % 3, {x}"),
                    format!("DISTINCT f.id % 3, {x} ORDER BY {x} DESC, f.id % 3"),
                ],
            );
            calls.push(format!("mode() WITHIN GROUP (ORDER BY {x})"));
            calls.push(format!("percentile_disc(0.5) WITHIN GROUP (ORDER BY {x} DESC)"));
        }
    }
    for function in ["corr", "covar_pop", "regr_count", "regr_avgx", "regr_slope"] {
        calls.extend(
            ["", "DISTINCT "].map(|distinct| format!("{function}({distinct}f.f8, f.i4) FILTER (WHERE f.id < 9)")),
        );
    }
    calls.retain(|call| !call.contains("DISTINCT f.iv"));
    calls
}

fn alone() -> Vec<String> {
    calls().into_iter().map(|call| format!("SELECT {call} FROM facts AS f")).collect()
}

/// Pairs of calls that were answered alone.
fn pairs(answers: &[Answer]) -> Vec<String> {
    let calls = calls();
    let answered = calls.iter().zip(answers).filter(|(_, answer)| matches!(answer, Answer::Done { .. }));
    let answered: Vec<&String> = answered.map(|(call, _)| call).collect();
    let pair = |at: usize| {
        let (a, b) = (answered[at], answered[(at * 37 + 11) % answered.len()]);
        match at % (2 * PAIRED_ONE_OF) {
            0 => format!("SELECT {a}, {b} FROM facts AS f"),
            _ => format!("SELECT f.b, {a}, {b} FROM facts AS f GROUP BY f.b ORDER BY 1"),
        }
    };
    (0..answered.len()).step_by(PAIRED_ONE_OF).map(pair).collect()
}

/// The lines of PostgreSQL's answers.
pub(super) fn record(client: &mut Client) -> String {
    let alone = alone();
    let answers = client.ask_all(&alone);
    let pairs = pairs(&answers);
    let of_pairs = client.ask_all(&pairs);
    let lines = alone.iter().chain(&pairs).zip(answers.iter().chain(&of_pairs));
    lines.map(|(sql, answer)| recorded::line(recorded::hash(std::slice::from_ref(sql)), answer)).collect()
}

/// How many answers are compared, and what differs; PostgreSQL is asked, or its recorded answers are used.
pub(super) fn compared(
    mut postgres: Option<Client>,
    recorded: &Recorded,
    gateway: &mut Client,
) -> (usize, Vec<String>) {
    let mut there = |statements: &[String]| -> Vec<Answer> {
        if let Some(postgres) = &mut postgres {
            return postgres.ask_all(statements);
        }
        let answer = |sql: &String| recorded.answer(recorded::hash(std::slice::from_ref(sql))).cloned();
        let missing = |sql: &String| panic!("recorded_aggregates.tsv has no answer to `{sql}`: record it anew");
        statements.iter().map(|sql| answer(sql).unwrap_or_else(|| missing(sql))).collect()
    };
    let alone = alone();
    let answers = there(&alone);
    let pairs = pairs(&answers);
    let of_pairs = there(&pairs);
    let statements: Vec<String> = alone.into_iter().chain(pairs).collect();
    let here = gateway.ask_all(&statements);
    let mut differences = Vec::new();
    let asked = statements.iter().zip(answers.into_iter().chain(of_pairs)).zip(here);
    for ((sql, there), here) in asked {
        let Some(kind) = difference(&there, &here, true) else { continue };
        let script = vec![sql.clone()];
        let found = Difference { script, kind, there, here, labels: Vec::new() };
        if accepted::reason(&found).is_none() {
            differences.push(format!("{}: {sql}\n  there {:?}\n  here  {:?}", found.kind, found.there, found.here));
        }
    }
    (statements.len(), differences)
}
