//! A file for psql in pieces: a statement each, with the comments before it and the rows that COPY is given behind it, or a
//! command of psql's.

use std::path::Path;

/// The pieces; together they are the text.
pub(super) fn of(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let (mut pieces, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_i32);
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |length| from + length + 1);
    while at < bytes.len() {
        let rest = &text[at..];
        match bytes[at] {
            b'-' if rest.starts_with("--") => at = line_end(at),
            b'/' if rest.starts_with("/*") => at += comment(rest),
            b'\'' => at += quoted(rest, is_escaping(&text[..at])),
            b'"' => at += rest[1..].find('"').map_or(rest.len(), |length| length + 2),
            b'$' => at += dollar_quoted(rest),
            b'\\' => {
                at = line_end(at);
                pieces.push(text[start..at].to_owned());
                (start, depth) = (at, 0);
            }
            b';' if depth <= 0 => {
                at += 1;
                if reads_rows(&text[start..at]) {
                    at += text[at..].find("\n\\.\n").map_or(0, |length| length + 4);
                }
                pieces.push(text[start..at].to_owned());
                start = at;
            }
            other => {
                depth += i32::from(other == b'(') - i32::from(other == b')');
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        at = at.min(bytes.len());
    }
    if !text[start..].trim().is_empty() {
        pieces.push(text[start..].to_owned());
    }
    pieces
}

/// The piece with a `\copy` of the client's where it reads a file of the server's: `\set filename ..` said which.
pub(super) fn with_data(piece: &str, folder: &Path, data: &mut String) -> String {
    if let Some((_, name)) = piece.split_once("\\set filename :abs_srcdir '")
        && let Some((name, _)) = name.split_once('\'')
    {
        *data = format!("{}{name}", folder.display());
    }
    let Some((before, table)) = piece.split_once("COPY ") else { return piece.to_owned() };
    match table.split_once(" FROM :'filename'") {
        Some((table, _)) => format!("{before}\\copy {table} from '{data}'\n"),
        None => piece.to_owned(),
    }
}

fn reads_rows(statement: &str) -> bool {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
    text.trim_start().starts_with("copy ") && text.contains(" from stdin")
}

/// Whether a string behind this is one with escapes.
fn is_escaping(before: &str) -> bool {
    let mut last = before.chars().rev();
    matches!(last.next(), Some('e' | 'E')) && !last.next().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        let step = match () {
            () if rest.starts_with("/*") => {
                depth += 1;
                2
            }
            () if rest.starts_with("*/") => {
                depth -= 1;
                2
            }
            () => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted(text: &str, escapes: bool) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text.as_bytes()[at] {
            b'\\' if escapes => at += 1 + text[at + 1..].chars().next().map_or(1, char::len_utf8),
            b'\'' if text[at + 1..].starts_with('\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    text.len()
}

fn dollar_quoted(text: &str) -> usize {
    let Some(length) = text[1..].find('$') else { return 1 };
    let tag = &text[..length + 2];
    let is_tag = tag[1..=length].chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag[1..].starts_with(|c: char| c.is_ascii_digit());
    match text[tag.len()..].find(tag) {
        Some(end) if is_tag => end + 2 * tag.len(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart() {
        let text = "-- a; b\nSELECT ';', E'\\';', \";\", $x$;$x$ /* ; */;\n\\d t\nCREATE RULE r AS (A; B);\nCOPY t FROM stdin;\n1;\n\\.\nEND";
        let pieces = of(text);
        assert_eq!(pieces.concat(), text);
        let starts: Vec<&str> = pieces.iter().map(|piece| piece.trim().lines().next().unwrap()).collect();
        assert_eq!(starts, ["-- a; b", "\\d t", "CREATE RULE r AS (A; B);", "COPY t FROM stdin;", "END"]);
    }

    #[test]
    fn files_of_the_server_are_read_by_the_client() {
        let mut data = String::new();
        with_data("\\set filename :abs_srcdir '/data/a.data'\n", Path::new("/f"), &mut data);
        let copied = with_data("COPY a FROM :'filename';", Path::new("/f"), &mut data);
        assert_eq!(copied, "\\copy a from '/f/data/a.data'\n");
    }
}
