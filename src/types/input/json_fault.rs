//! What is wrong with a text that is not JSON, in PostgreSQL's words.
//!
//! The text was refused already: this goes over it once more, token by token, to find the first one that has no place. It keeps
//! no values, and a bit for each array or object around.

use std::borrow::Cow;

/// The DETAIL that PostgreSQL has for the text.
pub(super) fn detail(text: &str) -> String {
    Scanner { text, at: 0, open: Vec::new() }.fault().unwrap_or_else(|| "The value is not JSON.".to_owned())
}

/// How much of a token is repeated, in characters.
const MAX_SHOWN: usize = 1_000;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Value,
    /// The first value of an array, or its end.
    Item,
    /// The first key of an object, or its end.
    Member,
    /// The key behind a comma.
    Key,
    Colon,
    /// A comma, or the end of what is open.
    Next,
}

impl Wanted {
    fn words(self, in_object: Option<bool>) -> &'static str {
        match (self, in_object) {
            (Wanted::Value | Wanted::Item, _) => "JSON value",
            (Wanted::Member, _) => "string or \"}\"",
            (Wanted::Key, _) => "string",
            (Wanted::Colon, _) => "\":\"",
            (Wanted::Next, Some(true)) => "\",\" or \"}\"",
            (Wanted::Next, Some(false)) => "\",\" or \"]\"",
            (Wanted::Next, None) => "end of input",
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Of each array or object around: whether it is an object.
    open: Vec<bool>,
}

impl<'a> Scanner<'a> {
    fn fault(mut self) -> Option<String> {
        let mut wanted = Wanted::Value;
        loop {
            let rest = self.text.get(self.at..)?;
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let in_object = self.open.last().copied();
            let Some(first) = self.text.as_bytes().get(self.at).copied() else {
                let is_whole = wanted == Wanted::Next && in_object.is_none();
                return (!is_whole).then(|| "The input string ended unexpectedly.".to_owned());
            };
            let token = match self.token(first) {
                Ok(token) => token,
                Err(fault) => return Some(fault),
            };
            self.at += token.len();
            wanted = match (wanted, first, in_object) {
                (Wanted::Value | Wanted::Item, b'[', _) => {
                    self.open.push(false);
                    Wanted::Item
                }
                (Wanted::Value | Wanted::Item, b'{', _) => {
                    self.open.push(true);
                    Wanted::Member
                }
                (Wanted::Item | Wanted::Next, b']', Some(false))
                | (Wanted::Member | Wanted::Next, b'}', Some(true)) => {
                    self.open.pop();
                    Wanted::Next
                }
                (Wanted::Value | Wanted::Item, b'"' | b'-' | b'0'..=b'9' | b'a'..=b'z', _) => Wanted::Next,
                (Wanted::Member | Wanted::Key, b'"', _) => Wanted::Colon,
                (Wanted::Colon, b':', _) => Wanted::Value,
                (Wanted::Next, b',', Some(true)) => Wanted::Key,
                (Wanted::Next, b',', Some(false)) => Wanted::Value,
                _ => return Some(format!("Expected {}, but found \"{}\".", wanted.words(in_object), excerpt(token))),
            };
        }
    }

    /// The token that begins with this byte, or what is wrong within it.
    fn token(&self, first: u8) -> Result<&'a str, String> {
        let rest = &self.text[self.at..];
        if b"[]{}:,".contains(&first) {
            return Ok(&rest[..1]);
        }
        if first == b'"' {
            return string(rest);
        }
        let is_number = matches!(first, b'-' | b'0'..=b'9');
        let number = if is_number { number(rest) } else { Ok(0) };
        let from = number.unwrap_or_else(|fault| fault);
        let word_end = rest[from..].find(|c: char| !is_of_word(c)).map_or(rest.len(), |length| from + length);
        let word = &rest[..word_end];
        let is_valid = match is_number {
            true => number == Ok(word_end),
            false => matches!(word, "true" | "false" | "null"),
        };
        let shown = if word.is_empty() { rest.chars().next().map_or("", |c| &rest[..c.len_utf8()]) } else { word };
        if is_valid { Ok(word) } else { Err(format!("Token \"{}\" is invalid.", excerpt(shown))) }
    }
}

/// A token as it is repeated. A string may be all of a long text: its beginning tells which one it is.
fn excerpt(token: &str) -> Cow<'_, str> {
    match token.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", &token[..end]).into(),
        None => token.into(),
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Where the number ends that a text begins with. The error is where digits are missing.
fn number(text: &str) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| match bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(from),
        count => Ok(from + count),
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at + 1 + sign)?;
    }
    Ok(at)
}

/// The string that a text begins with, quotes and all.
fn string(text: &str) -> Result<&str, String> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(&text[..=at]),
            '\\' => match chars.next() {
                Some((_, 'u')) => {
                    let digits =
                        text.get(at + 2..at + 6).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                    if digits.is_none() {
                        return Err("\"\\u\" must be followed by four hexadecimal digits.".to_owned());
                    }
                }
                Some((_, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {}
                Some((_, other)) => return Err(format!("Escape sequence \"\\{other}\" is invalid.")),
                None => break,
            },
            c if c < ' ' => return Err(format!("Character with value 0x{:02x} must be escaped.", u32::from(c))),
            _ => {}
        }
    }
    Err(format!("Token \"{}\" is invalid.", excerpt(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of PostgreSQL 15.
    #[test]
    fn faults_are_told_as_postgresql_tells_them() {
        for (text, expected) in [
            ("", "The input string ended unexpectedly."),
            ("  ", "The input string ended unexpectedly."),
            ("{", "The input string ended unexpectedly."),
            ("[1,", "The input string ended unexpectedly."),
            ("a", "Token \"a\" is invalid."),
            ("'a'", "Token \"'\" is invalid."),
            ("{\"a\":1,}", "Expected string, but found \"}\"."),
            ("{,}", "Expected string or \"}\", but found \",\"."),
            ("{1:2}", "Expected string or \"}\", but found \"1\"."),
            ("{\"a\" 1}", "Expected \":\", but found \"1\"."),
            ("{\"a\":1 \"b\"}", "Expected \",\" or \"}\", but found \"\"b\"\"."),
            ("[1 2]", "Expected \",\" or \"]\", but found \"2\"."),
            ("[,1]", "Expected JSON value, but found \",\"."),
            ("[1}", "Expected \",\" or \"]\", but found \"}\"."),
            ("1 2", "Expected end of input, but found \"2\"."),
            ("nul", "Token \"nul\" is invalid."),
            ("01", "Token \"01\" is invalid."),
            ("-", "Token \"-\" is invalid."),
            ("1.2.3", "Token \".\" is invalid."),
            ("1e", "Token \"1e\" is invalid."),
            ("-a", "Token \"-a\" is invalid."),
            ("[1.]", "Token \"1.\" is invalid."),
            ("[1e+]", "Token \"1e+\" is invalid."),
            ("12 a", "Token \"a\" is invalid."),
            ("+1", "Token \"+\" is invalid."),
            ("[]]", "Expected end of input, but found \"]\"."),
            ("[1,]", "Expected JSON value, but found \"]\"."),
            ("tru€", "Token \"tru€\" is invalid."),
            ("\"abc", "Token \"\"abc\" is invalid."),
            ("\"\\x\"", "Escape sequence \"\\x\" is invalid."),
            ("\"\\u12\"", "\"\\u\" must be followed by four hexadecimal digits."),
            ("\"a\nb\"", "Character with value 0x0a must be escaped."),
            ("{\"a\":é}", "Token \"é\" is invalid."),
        ] {
            assert_eq!(detail(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_string_without_an_end_is_not_repeated() {
        let told = detail(&format!("\"{}", "é".repeat(10_000_000)));
        assert_eq!(told, format!("Token \"\"{}...\" is invalid.", "é".repeat(MAX_SHOWN - 1)));
    }
}
