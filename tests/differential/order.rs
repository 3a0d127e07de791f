//! Which of two errors of a statement is reported: nothing says which part of a statement is computed first.
//!
//! That is accepted where both servers say of one part that it fails with the one error, and of another that it fails with
//! the other. A part is asked for alone, over the tables whose columns it names; or the statement is asked without one of
//! its parts, and what is left fails alike on both.

use crate::differential::compare::Kind;
use crate::differential::fixture::FACTS_ROWS;
use crate::differential::node::{Node, Part};
use crate::differential::queries::Query;
use crate::differential::wire::Answer;

/// Most questions of one kind about a statement.
const QUESTIONS: usize = 40;
/// Fewer about one whose script must run anew each time.
const SCRIPTS: usize = 16;

/// Whether two parts of a script's last statement fail, each alike on both servers, and only which fails first differs.
/// `ask` gives the answers of both to the last statement of each script.
pub(super) fn differs_only(
    script: &[Query],
    kind: &Kind,
    mut ask: impl FnMut(Vec<Vec<Query>>) -> Vec<(Answer, Answer)>,
) -> bool {
    let (Kind::Codes(there, here), Some((last, before))) = (kind, script.split_last()) else { return false };
    let mut agreed = Vec::new();
    if before.is_empty() {
        let parts = last.tree.expressions().into_iter().map(|part| vec![alone(part)]).take(QUESTIONS).collect();
        agreed.extend(ask(parts).iter().filter_map(common_code));
    }
    let most = if before.is_empty() { QUESTIONS } else { SCRIPTS };
    if !(agreed.contains(there) && agreed.contains(here)) {
        let without = last.tree.without_parts().into_iter().take(most).map(|tree| {
            let rest = Query { tree, is_ordered: last.is_ordered };
            before.iter().map(Query::copy).chain([rest]).collect()
        });
        agreed.extend(ask(without.collect()).iter().filter_map(common_code));
    }
    agreed.contains(there) && agreed.contains(here)
        || before.is_empty() && differs_by_row(&last.tree.render(), there, here, ask)
}

/// Whether both servers say the same of each row of `facts` on its own, of one that it fails with the one error and of
/// another that it fails with the other: then what differs is how far each gets with the one before it looks at the next.
fn differs_by_row(
    text: &str,
    there: &str,
    here: &str,
    mut ask: impl FnMut(Vec<Vec<Query>>) -> Vec<(Answer, Answer)>,
) -> bool {
    const TABLE: &str = "FROM facts AS f";
    if text.matches(TABLE).count() != 1 {
        return false;
    }
    let of_row = |row| text.replace(TABLE, &format!("FROM (SELECT * FROM facts WHERE id = {row}) AS f"));
    let query = |row| Query { tree: Node::clause("", vec![Part::Text(of_row(row).into())]), is_ordered: true };
    let answers = ask((1..=FACTS_ROWS).map(|row| vec![query(row)]).collect());
    let is_alike = |answers: &(Answer, Answer)| match answers {
        (Answer::Done { .. }, Answer::Done { .. }) => true,
        answers => common_code(answers).is_some(),
    };
    let codes: Vec<String> = answers.iter().filter_map(common_code).collect();
    let has = |code: &str| codes.iter().any(|found| found == code);
    answers.iter().all(is_alike) && has(there) && has(here)
}

fn common_code(answers: &(Answer, Answer)) -> Option<String> {
    match answers {
        (Answer::Error { code: there, .. }, Answer::Error { code: here, .. }) if there == here => Some(there.clone()),
        _ => None,
    }
}

/// An expression as a query of its own, over the tables whose columns it names.
pub(super) fn alone(expression: Node) -> Query {
    let text = expression.render();
    let names =
        |alias: &str| text.match_indices(alias).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()));
    let from = match (names("f."), names("i.")) {
        (true, true) => " FROM facts AS f CROSS JOIN items AS i",
        (true, false) => " FROM facts AS f",
        (false, true) => " FROM items AS i",
        (false, false) => "",
    };
    let parts = vec![Part::Text("SELECT ".into()), Part::Node(expression), Part::Text(from.into())];
    Query { tree: Node::clause("", parts), is_ordered: from.is_empty() }
}

#[test]
fn a_part_is_asked_for_over_its_tables() {
    let asked = |text: &'static str| alone(Node::leaf(None, text)).tree.render();
    assert_eq!(asked("1 / 0"), "SELECT 1 / 0");
    assert_eq!(asked("f.i4 / 0"), "SELECT f.i4 / 0 FROM facts AS f");
    assert_eq!(asked("i.qty + f.id"), "SELECT i.qty + f.id FROM facts AS f CROSS JOIN items AS i");
}

#[test]
fn both_errors_must_be_agreed_on() {
    use crate::differential::types::Ty;
    let part = |text: &'static str| Node { label: text.into(), ..Node::leaf(Some(Ty::Int4), text) };
    let parts = vec![Part::Node(part("a")), Part::Text(" ".into()), Part::Node(part("b"))];
    let script = [Query { tree: Node::clause("", parts), is_ordered: true }];
    let kind = Kind::Codes("A".to_owned(), "B".to_owned());
    let error = |code: &str| Answer::Error { code: code.to_owned(), message: String::new(), position: None };
    // Here `b` fails before `a`, or otherwise than there.
    let answers = |of_b: &'static str| {
        move |scripts: Vec<Vec<Query>>| -> Vec<(Answer, Answer)> {
            let answer = |script: &Vec<Query>| {
                let text = script[0].tree.render();
                match (text.contains('a'), text.contains('b')) {
                    (true, true) => (error("A"), error(of_b)),
                    (true, false) => (error("A"), error("A")),
                    _ => (error("B"), error(of_b)),
                }
            };
            scripts.iter().map(answer).collect()
        }
    };
    assert!(differs_only(&script, &kind, answers("B")));
    assert!(!differs_only(&script, &kind, answers("C")));
}
