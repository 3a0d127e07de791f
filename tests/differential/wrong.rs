//! Wrong statements: generated ones with one thing in each put wrong, as people get it wrong. Both servers must refuse them with
//! the same SQLSTATE and point to the same character.

use crate::differential::expressions::Scope;
use crate::differential::queries::SHAPES;
use crate::differential::recorded::{self, Recorded};
use crate::differential::wire::{Answer, Client};
use crate::support::rng::Rng;

/// So many are made that PostgreSQL refuses 5,000 of them: some mistakes make another statement that is right.
pub(super) const MADE: usize = 7_500;

/// Statements that are asked in one piece.
const CHUNK: usize = 24;

/// What makes a statement wrong: text that is looked for, and what takes its place.
type Mistake = (&'static str, fn(&mut Rng, &str) -> Option<String>);

const MISTAKES: &[Mistake] = &[
    ("a column that is misspelled", |rng, sql| in_place_of(rng, sql, &columns(sql), |name| format!("{name}z"))),
    ("an alias that is none", |rng, sql| in_place_of(rng, sql, &columns(sql), |name| format!("q{}", &name[1..]))),
    ("a table that is misspelled", |rng, sql| {
        in_place_of(rng, sql, &words(sql, &["facts", "items"]), |name| format!("{name}s"))
    }),
    ("a function that is misspelled", |rng, sql| in_place_of(rng, sql, &calls(sql), |name| format!("{name}x"))),
    ("an argument too many", |rng, sql| {
        in_place_of(rng, sql, &calls_with_parenthesis(sql), |call| format!("{call}DATE '2020-01-01', "))
    }),
    ("a column of another type", |rng, sql| {
        let other = rng.pick(&["f.jb", "f.by", "f.ai", "f.tm", "f.u", "f.b", "f.iv", "f.t"]);
        in_place_of(rng, sql, &columns(sql), |_| other.to_owned())
    }),
    ("a text in the place of a number", |rng, sql| in_place_of(rng, sql, &numbers(sql), |_| "'abc'".to_owned())),
    ("a type that is none", |rng, sql| in_place_of(rng, sql, &behind(sql, "::"), |name| format!("{name}x"))),
    ("another operator", |rng, sql| {
        let other = rng.pick(&["||", "@>", "->", "+", "~", "&&", "%", "<<"]);
        in_place_of(rng, sql, &operators(sql), |_| other.to_owned())
    }),
    ("an aggregate in WHERE", |_, sql| replaced(sql, " WHERE ", " WHERE count(*) > 1 AND ")),
    ("a window in WHERE", |_, sql| replaced(sql, " WHERE ", " WHERE rank() OVER () > 1 AND ")),
    ("a column that is not grouped by", |_, sql| {
        sql.contains(" GROUP BY ").then(|| replaced(sql, "SELECT ", "SELECT f.id + 1, ")).flatten()
    }),
    ("an aggregate beside columns", |_, sql| replaced(sql, "SELECT ", "SELECT max(f.i4), ")),
    ("an aggregate of an aggregate", |rng, sql| {
        in_place_of(rng, sql, &columns(sql), |name| format!("sum(sum({name}))"))
    }),
    ("an aggregate within what is grouped by", |_, sql| replaced(sql, " GROUP BY ", " GROUP BY max(f.id), ")),
    ("a place in the list that is none", |_, sql| replaced(sql, " ORDER BY ", " ORDER BY 77, ")),
    ("a set of another width", |_, sql| Some(format!("{} UNION ALL SELECT 1, 2, 3, 4, 5, 6, 7", without_order(sql)))),
    ("a set of other types", |_, sql| Some(format!("{} UNION SELECT true", without_order(sql)))),
    ("a condition that is none", |rng, sql| {
        let other = rng.pick(&["f.i4", "f.t", "f.d", "'maybe'", "1 + 1"]);
        replaced(sql, " WHERE ", &format!(" WHERE {other} AND "))
    }),
    ("a name that is twice there", |_, sql| replaced(sql, " FROM facts AS f", " FROM facts AS f, items AS f")),
    ("a name of two tables", |_, sql| {
        let joined = replaced(sql, " FROM facts AS f", " FROM facts AS f CROSS JOIN facts AS other")?;
        replaced(&joined, "SELECT ", "SELECT i8, ")
    }),
    ("HAVING without groups", |_, sql| {
        (!sql.contains(" HAVING ")).then(|| format!("{} HAVING f.i4 > 0", without_order(sql)))
    }),
];

/// The statements of a seed, and what is wrong with each.
fn statements(seed: u64) -> (Vec<String>, Vec<&'static str>) {
    let scope = Scope { columns: Vec::new(), without: Vec::new() };
    let shapes: Vec<_> = SHAPES.iter().filter(|(name, ..)| *name != "series").collect();
    let (mut made, mut mistakes) = (Vec::with_capacity(MADE), Vec::with_capacity(MADE));
    for number in 0.. {
        if made.len() == MADE {
            break;
        }
        let mut rng = Rng::of_case(seed, number);
        let (.., shape) = shapes[rng.below(shapes.len())];
        let right = shape(&mut rng, &scope).tree.render();
        let (what, mistake) = MISTAKES[rng.below(MISTAKES.len())];
        if let Some(wrong) = mistake(&mut rng, &right) {
            made.push(wrong);
            mistakes.push(what);
        }
    }
    (made, mistakes)
}

/// The lines of PostgreSQL's answers to what it refuses.
pub(super) fn record(client: &mut Client, seed: u64) -> String {
    let (statements, _) = statements(seed);
    let answers = statements.chunks(CHUNK).flat_map(|chunk| client.ask_all(chunk));
    let refused = statements.iter().zip(answers).filter(|(_, answer)| is_of_meaning(answer));
    refused.map(|(sql, answer)| recorded::line(recorded::hash(std::slice::from_ref(sql)), &answer)).collect()
}

/// How many were refused by PostgreSQL, and those that are refused otherwise here, or not at all.
pub(super) fn compared(
    mut postgres: Option<Client>,
    recorded: &Recorded,
    gateway: &mut Client,
    seed: u64,
) -> (usize, Vec<String>) {
    let (mut refused, mut differences) = (0, Vec::new());
    let (statements, mistakes) = statements(seed);
    for (chunk, mistakes) in statements.chunks(CHUNK).zip(mistakes.chunks(CHUNK)) {
        let there: Vec<Option<Answer>> = match &mut postgres {
            Some(postgres) => postgres.ask_all(chunk).into_iter().map(Some).collect(),
            None => {
                chunk.iter().map(|sql| recorded.answer(recorded::hash(std::slice::from_ref(sql))).cloned()).collect()
            }
        };
        for (((sql, mistake), there), here) in chunk.iter().zip(mistakes).zip(there).zip(gateway.ask_all(chunk)) {
            let Some(there) = there.filter(is_of_meaning) else { continue };
            refused += 1;
            if !is_same(&there, &here) {
                differences.push(format!("{mistake}: {sql}\n  there {}\n  here  {}", said(&there), said(&here)));
            }
        }
    }
    (refused, differences)
}

/// Whether PostgreSQL refuses what a statement means: not its grammar, and not a value that it meets while it runs.
fn is_of_meaning(answer: &Answer) -> bool {
    matches!(answer, Answer::Error { code, message, .. } if code.starts_with("42") && !message.starts_with("syntax error"))
}

/// What is not done here is refused for that, whatever else is wrong with it.
fn is_same(there: &Answer, here: &Answer) -> bool {
    match (there, here) {
        (Answer::Error { code, position, .. }, Answer::Error { code: c, position: p, message }) => {
            let is_not_done = c == "0A000" && message.ends_with("not supported") || message.ends_with("infinity\"");
            code == c && position == p || is_not_done
        }
        _ => false,
    }
}

fn said(answer: &Answer) -> String {
    match answer {
        Answer::Error { code, position, message } => format!("{code} at {position:?} {message}"),
        Answer::Done { rows, .. } => format!("{} rows", rows.len()),
        Answer::Lost(why) => why.clone(),
    }
}

/// The text with one of some pieces of it changed.
fn in_place_of(
    rng: &mut Rng,
    sql: &str,
    pieces: &[std::ops::Range<usize>],
    change: impl Fn(&str) -> String,
) -> Option<String> {
    if pieces.is_empty() {
        return None;
    }
    let piece = &pieces[rng.below(pieces.len())];
    Some(format!("{}{}{}", &sql[..piece.start], change(&sql[piece.clone()]), &sql[piece.end..]))
}

fn replaced(sql: &str, from: &str, to: &str) -> Option<String> {
    sql.contains(from).then(|| sql.replacen(from, to, 1))
}

fn without_order(sql: &str) -> &str {
    sql.split_once(" ORDER BY ").map_or(sql, |(before, _)| before)
}

/// Pieces outside of quotes that are words, as names are made of.
fn all_words(sql: &str) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut start, mut quoted) = (Vec::new(), None, false);
    for (at, c) in sql.char_indices().chain([(sql.len(), ' ')]) {
        let is_part = !quoted && (c.is_ascii_alphanumeric() || c == '_' || c == '.' && start.is_some());
        match (is_part, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            _ => {}
        }
        quoted ^= c == '\'' || c == '"';
    }
    found
}

fn words(sql: &str, wanted: &[&str]) -> Vec<std::ops::Range<usize>> {
    let mut found = all_words(sql);
    found.retain(|word| wanted.contains(&&sql[word.clone()]));
    found
}

/// `f.id` and the like.
fn columns(sql: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = all_words(sql);
    found.retain(|word| sql[word.clone()].starts_with("f.") || sql[word.clone()].starts_with("i."));
    found
}

fn numbers(sql: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = all_words(sql);
    found.retain(|word| sql[word.clone()].bytes().all(|byte| byte.is_ascii_digit()));
    found
}

/// Words in small letters before a parenthesis.
fn calls(sql: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = all_words(sql);
    let is_call = |word: &std::ops::Range<usize>| {
        sql[word.end..].starts_with('(')
            && sql[word.clone()].bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    found.retain(|word| is_call(word) && !sql[..word.start].ends_with("AS ") && !sql[..word.start].ends_with("::"));
    found
}

/// The same with the parenthesis.
fn calls_with_parenthesis(sql: &str) -> Vec<std::ops::Range<usize>> {
    calls(sql).into_iter().map(|word| word.start..word.end + 1).collect()
}

fn behind(sql: &str, before: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = all_words(sql);
    found.retain(|word| sql[..word.start].ends_with(before));
    found
}

/// Symbols between two operands.
fn operators(sql: &str) -> Vec<std::ops::Range<usize>> {
    let symbols = ["+", "-", "*", "/", "=", "<", ">", "||", "<>", "<=", ">="];
    let (mut found, mut quoted) = (Vec::new(), false);
    for (at, c) in sql.char_indices() {
        quoted ^= c == '\'' || c == '"';
        if quoted || c != ' ' {
            continue;
        }
        let next = &sql[at + 1..];
        let symbol = next.split(' ').next().unwrap_or_default();
        if symbols.contains(&symbol) && next.len() > symbol.len() {
            found.push(at + 1..at + 1 + symbol.len());
        }
    }
    found
}
