//! A run: cases are made in order, asked of both servers by a few connections at once, and compared.

use std::sync::Mutex;

use crate::differential::accepted::{self, Difference};
use crate::differential::compare::{Kind, difference};
use crate::differential::expressions::Scope;
use crate::differential::order;
use crate::differential::queries::{Query, SHAPES};
use crate::differential::recorded::{self, Recorded};
use crate::differential::report::{Counts, Group};
use crate::differential::shrink::shrink;
use crate::differential::wire::{Answer, Client};
use crate::differential::writes;
use crate::support::rng::Rng;

/// Cases that are asked in one piece: enough that nobody waits for the network, little enough for its buffers.
const CHUNK: usize = 24;
/// Connections to each server.
const CONNECTIONS: usize = 2;
/// Root causes that are looked for. With more, the list is too long to read anyway.
const GROUPS: usize = 400;
/// Scripts that write, in a hundred cases; each is some ten statements.
const SCRIPTS: usize = 4;

/// Where PostgreSQL's answers come from.
#[derive(Debug)]
pub(super) enum Reference {
    Live(std::net::SocketAddr),
    Recorded(Recorded),
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub seed: u64,
    pub statements: usize,
    /// Families of expressions and shapes of queries that are left out.
    pub without: Vec<String>,
}

/// The statements of a case: nearly always one, else a script.
pub(super) fn case(plan: &Plan, number: usize) -> Vec<Query> {
    let mut rng = Rng::of_case(plan.seed, u64::try_from(number).expect("it is small"));
    let scope = Scope { columns: Vec::new(), without: plan.without.clone() };
    let is_left_out = |name: &str| plan.without.iter().any(|left_out| left_out == name);
    let mut shapes = SHAPES.iter().filter(|(name, ..)| !is_left_out(name));
    let weight = shapes.clone().map(|(_, weight, _)| weight).sum();
    if weight == 0 || (!is_left_out("writes") && rng.percent(SCRIPTS)) {
        return writes::script(&mut rng, &scope, number);
    }
    let mut at = rng.below(weight);
    let (.., shape) = shapes
        .find(|(_, weight, _)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        })
        .expect("it is below the sum of the weights");
    vec![shape(&mut rng, &scope)]
}

/// A script and the difference that its last statement makes.
struct Failure {
    case: usize,
    script: Vec<Query>,
    difference: Difference,
}

#[derive(Default)]
struct Progress {
    next_case: usize,
    statements: usize,
    counts: Counts,
    failures: Vec<Failure>,
}

/// Runs the plan: its counts, and what differs, the most frequent first.
pub(super) fn run(plan: &Plan, reference: &Reference, gateway: std::net::SocketAddr) -> (Counts, Vec<Group>) {
    let progress = Mutex::new(Progress::default());
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| work(plan, reference, gateway, &progress));
        }
    });
    let progress = progress.into_inner().expect("no worker panicked");
    let mut counts = progress.counts;
    let mut failures = progress.failures;
    failures.sort_by_key(|failure| failure.case);
    let groups = group(failures, reference, gateway, &mut counts);
    (counts, groups)
}

fn work(plan: &Plan, reference: &Reference, gateway: std::net::SocketAddr, progress: &Mutex<Progress>) {
    let mut servers = Servers::connect(reference, gateway);
    while let Some((first, cases)) = next_chunk(plan, progress) {
        let (mut counts, mut failures) = (Counts::default(), Vec::new());
        let texts: Vec<Vec<String>> = cases.iter().map(|script| texts(script)).collect();
        let there = servers.ask_there(&texts);
        let mut here = servers.ask_here(&texts.concat()).into_iter();
        for (i, (script, there)) in cases.into_iter().zip(there).enumerate() {
            let here: Vec<Answer> = here.by_ref().take(script.len()).collect();
            failures.extend(judge(first + i, script, &there, &here, &mut counts));
        }
        let mut progress = progress.lock().expect("no worker panicked");
        progress.counts.add(&counts);
        progress.failures.append(&mut failures);
    }
}

fn texts(script: &[Query]) -> Vec<String> {
    script.iter().map(|query| query.tree.render()).collect()
}

fn next_chunk(plan: &Plan, progress: &Mutex<Progress>) -> Option<(usize, Vec<Vec<Query>>)> {
    let mut progress = progress.lock().expect("no worker panicked");
    let first = progress.next_case;
    let mut cases = Vec::new();
    while cases.len() < CHUNK && progress.statements < plan.statements {
        let case = case(plan, first + cases.len());
        progress.statements += case.len();
        cases.push(case);
    }
    progress.next_case += cases.len();
    (!cases.is_empty()).then_some((first, cases))
}

/// Compares a script's answers up to the first that differs.
fn judge(
    case: usize,
    mut script: Vec<Query>,
    there: &[Answer],
    here: &[Answer],
    counts: &mut Counts,
) -> Option<Failure> {
    counts.generated += script.len();
    for i in 0..script.len() {
        match difference(&there[i], &here[i], script[i].is_ordered) {
            None if matches!(there[i], Answer::Error { .. }) => counts.equal_errors += 1,
            None => counts.equal += 1,
            Some(kind) => {
                counts.different += 1;
                counts.skipped += script.len() - i - 1;
                script.truncate(i + 1);
                let difference = describe(&script, kind, there[i].clone(), here[i].clone());
                return Some(Failure { case, script, difference });
            }
        }
    }
    None
}

fn describe(script: &[Query], kind: Kind, there: Answer, here: Answer) -> Difference {
    let labels = script.last().map(|query| query.tree.labels()).unwrap_or_default();
    Difference { script: texts(script), kind, there, here, labels }
}

/// Both servers, asked from one thread.
struct Servers<'a> {
    there: There<'a>,
    here: Client,
}

enum There<'a> {
    Live(Client),
    Recorded(&'a Recorded),
}

impl<'a> Servers<'a> {
    fn connect(reference: &'a Reference, gateway: std::net::SocketAddr) -> Self {
        let there = match reference {
            Reference::Live(address) => There::Live(
                Client::connect(*address, crate::support::postgres::USER).expect("PostgreSQL takes connections"),
            ),
            Reference::Recorded(recorded) => There::Recorded(recorded),
        };
        Self { there, here: Client::connect(gateway, "u").expect("the gateway takes connections") }
    }

    fn ask_there(&mut self, scripts: &[Vec<String>]) -> Vec<Vec<Answer>> {
        match &mut self.there {
            There::Live(client) => {
                let mut answers = client.ask_all(&scripts.concat()).into_iter();
                scripts.iter().map(|script| answers.by_ref().take(script.len()).collect()).collect()
            }
            There::Recorded(recorded) => scripts.iter().map(|script| recorded_answers(recorded, script)).collect(),
        }
    }

    fn ask_here(&mut self, statements: &[String]) -> Vec<Answer> {
        let statements: Vec<String> = statements.iter().map(|sql| writes::for_gateway(sql)).collect();
        self.here.ask_all(&statements)
    }

    /// The answers of both to the last statements of some scripts of a case, each run anew.
    fn ask_both(&mut self, case: usize, scripts: &[Vec<Query>]) -> Vec<(Answer, Answer)> {
        let mut asked: Vec<Vec<String>> = scripts.iter().map(|script| texts(script)).collect();
        for script in asked.iter_mut().filter(|script| script.len() > 1) {
            script.insert(0, writes::cleanup(case));
        }
        let mut answers = Vec::new();
        for scripts in asked.chunks(CHUNK) {
            let there = self.ask_there(scripts);
            let mut here = self.ask_here(&scripts.concat()).into_iter();
            for (mut there, script) in there.into_iter().zip(scripts) {
                answers.extend(there.pop().zip(here.by_ref().take(script.len()).last()));
            }
        }
        answers
    }

    /// The difference that the last statement of a script makes when it runs anew.
    fn ask_again(&mut self, case: usize, script: &[Query]) -> Option<(Kind, Answer, Answer)> {
        let copy = script.iter().map(Query::copy).collect();
        let (there, here) = self.ask_both(case, &[copy]).pop()?;
        let kind = difference(&there, &here, script.last()?.is_ordered)?;
        Some((kind, there, here))
    }
}

fn recorded_answers(recorded: &Recorded, script: &[String]) -> Vec<Answer> {
    let answer = |i: usize| {
        let found = recorded.answer(recorded::hash(&script[..=i]));
        found.cloned().unwrap_or_else(|| panic!("recorded.tsv has no answer to `{}`: record it anew", script[i]))
    };
    (0..script.len()).map(answer).collect()
}

/// Sorts differences by root cause: each that no known group explains is made small, and begins one.
fn group(
    failures: Vec<Failure>,
    reference: &Reference,
    gateway: std::net::SocketAddr,
    counts: &mut Counts,
) -> Vec<Group> {
    let mut servers = Servers::connect(reference, gateway);
    let can_ask = matches!(reference, Reference::Live(_));
    let mut groups: Vec<Group> = Vec::new();
    for failure in failures {
        let found = &failure.difference;
        let mut accepted = accepted::reason(found);
        if let Some(reason) = accepted {
            *counts.accepted.entry(reason).or_default() += 1;
            continue;
        }
        if let Some(group) = groups.iter_mut().find(|group| group.explains(found)) {
            group.count += 1;
            continue;
        }
        let mut smallest = failure.difference;
        // Recorded answers tell that both fail, and nobody can be asked about the parts.
        if !can_ask && matches!(smallest.kind, Kind::Codes(..)) {
            accepted = Some(accepted::ORDER_OF_EVALUATION);
        }
        if can_ask && groups.len() < GROUPS {
            let case = failure.case;
            if order::differs_only(&failure.script, &smallest.kind, |scripts| servers.ask_both(case, &scripts)) {
                accepted = Some(accepted::ORDER_OF_EVALUATION);
            }
            let kind = smallest.kind.clone();
            let script = shrink(failure.script, &kind, |script| servers.ask_again(case, script).map(|(kind, ..)| kind));
            if let Some((kind, there, here)) = servers.ask_again(case, &script) {
                smallest = describe(&script, kind, there, here);
            }
            if accepted.is_none()
                && order::differs_only(&script, &smallest.kind, |asked| servers.ask_both(case, &asked))
            {
                accepted = Some(accepted::ORDER_OF_EVALUATION);
            }
            accepted = accepted.or_else(|| accepted::reason(&smallest));
        }
        if let Some(reason) = accepted {
            *counts.accepted.entry(reason).or_default() += 1;
            continue;
        }
        let same = |group: &&mut Group| {
            group.smallest.kind == smallest.kind
                && group.smallest.labels == smallest.labels
                && !smallest.labels.is_empty()
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.count += 1,
            None => groups.push(Group { smallest, count: 1 }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

/// Asks PostgreSQL for the answers to the first cases of a plan, as lines of the file of recorded answers.
pub(super) fn record(plan: &Plan, reference: &Reference) -> String {
    let Reference::Live(address) = reference else { panic!("there is no PostgreSQL 15 to record from") };
    let mut client = Client::connect(*address, crate::support::postgres::USER).expect("PostgreSQL takes connections");
    let mut text = String::new();
    let mut number = 0;
    let mut statements = 0;
    while statements < plan.statements {
        let script = texts(&case(plan, number));
        let answers = client.ask_all(&script);
        for (i, answer) in answers.iter().enumerate() {
            text.push_str(&recorded::line(recorded::hash(&script[..=i]), answer));
        }
        statements += script.len();
        number += 1;
    }
    text
}
