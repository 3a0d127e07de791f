//! What becomes of a statement beside PostgreSQL's answer.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Alike,
    /// It needs something that is refused by name, or that such a refusal left out.
    Refused,
    Differs,
}

/// What a refusal says, and what follows from one.
const REFUSALS: &[&str] = &[
    "not supported",
    "recorded and not enforced",
    "current transaction is aborted",
    "cannot insert into view",
    "cannot update view",
];

/// What there is not, when what would have made it is refused.
const LEFT_OUT: &[&str] = &["relation", "table", "view", "function", "type", "schema", "role", "sequence", "index"];

/// Plans are described otherwise; whether a statement works is compared.
pub(super) fn judge(statement: &str, expected: &str, found: &str) -> Verdict {
    let (theirs, ours) = (plain(expected), plain(found));
    let is_error = |lines: &[String]| lines.iter().any(|line| line.starts_with("ERROR:"));
    let sorted = |lines: &[String]| {
        let mut lines = lines.to_vec();
        lines.sort();
        lines
    };
    let is_alike = theirs == ours
        || (!orders(statement) && sorted(&theirs) == sorted(&ours))
        || (explains(statement) && is_error(&theirs) == is_error(&ours));
    if is_alike {
        return Verdict::Alike;
    }
    let says_refusal = |line: &String| REFUSALS.iter().any(|refusal| line.contains(refusal));
    let says_left_out = |line: &String| {
        let kind = line.strip_prefix("ERROR: ").and_then(|message| message.split_whitespace().next());
        line.ends_with("does not exist") && kind.is_some_and(|kind| LEFT_OUT.contains(&kind))
    };
    let is_refused = ours.iter().any(|line| says_refusal(line) || says_left_out(line));
    if is_refused && is_error(&ours) { Verdict::Refused } else { Verdict::Differs }
}

/// The lines that say something: without notices, hints and frames, with numbers as they are read.
fn plain(answer: &str) -> Vec<String> {
    const BESIDE: &[&str] = &["NOTICE:", "WARNING:", "HINT:", "DETAIL:", "CONTEXT:", "drop cascades"];
    let lines = answer.lines().map(str::trim).filter(|line| !BESIDE.iter().any(|word| line.starts_with(word)));
    let words = lines.map(|line| line.split_whitespace().map(read).collect::<Vec<_>>().join(" "));
    words.filter(|line| !line.is_empty()).collect()
}

fn read(word: &str) -> String {
    if word.chars().all(|c| matches!(c, '-' | '+')) {
        return "-".to_owned();
    }
    match word.parse::<f64>() {
        // Zeros at the end of a number say nothing.
        Ok(number) if word.contains('.') && number.fract() == 0.0 && number.abs() < 1e15 => format!("{number}"),
        Ok(number) if word.contains('.') => format!("{number:.9e}"),
        _ => word.to_owned(),
    }
}

fn explains(statement: &str) -> bool {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join(" ").trim_start().to_lowercase().starts_with("explain")
}

/// Whether the order of its rows is said: an ORDER BY outside of all parentheses.
fn orders(statement: &str) -> bool {
    let mut depth = 0_i32;
    let outside: String = statement
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        })
        .collect();
    outside.to_lowercase().contains("order by")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_by_what_they_say() {
        let shown = " a \n---\n 1.50\n 2.000\n(2 rows)\n";
        assert_eq!(judge("SELECT", shown, " a \n-----\n 2\n 1.5\n(2 rows)\n"), Verdict::Alike);
        assert_eq!(judge("SELECT .. ORDER BY 1", shown, " a \n-----\n 2\n 1.5\n(2 rows)\n"), Verdict::Differs);
        assert_eq!(judge("SELECT (.. ORDER BY 1)", shown, "ERROR:  type x is not supported"), Verdict::Refused);
        assert_eq!(judge("SELECT", shown, "ERROR:  division by zero"), Verdict::Differs);
        assert_eq!(judge("-- a\nEXPLAIN SELECT", "Seq Scan", "Scan"), Verdict::Alike);
    }
}
