//! A text of SQL cut into pieces, as far as it takes to find its constants: one pass, nothing copied.
//!
//! Every statement that runs is counted under its text, so this is done for each; the tokens of the parser cost many
//! times as much. A constant begins and ends where PostgreSQL says so; for a text in which that is in doubt the result
//! is `None`.

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lexeme {
    /// White space and comments.
    Space,
    /// A number or a string, with its quotes.
    Constant,
    /// `$1` and its like.
    Parameter,
    /// A word, a name in quotes, or a single other character.
    Other,
}

/// The pieces of a text, in order.
pub(crate) struct Lexemes<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexemes<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What has not been taken.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next piece; `Ok(None)` at the end.
    ///
    /// # Errors
    /// When a string, a name or a comment does not end.
    pub(crate) fn take(&mut self) -> Result<Option<(Lexeme, &'a str)>, Unended> {
        let (start, rest) = (self.at, &self.text.as_bytes()[self.at..]);
        let Some(&first) = rest.first() else { return Ok(None) };
        let (lexeme, length) = piece(first, rest).ok_or(Unended)?;
        self.at += length;
        Ok(self.text.get(start..self.at).map(|piece| (lexeme, piece)))
    }
}

/// Something begins and does not end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unended;

/// What begins here, and how long it is. Pieces end before or behind ASCII, so between characters.
fn piece(first: u8, rest: &[u8]) -> Option<(Lexeme, usize)> {
    let second = rest.get(1).copied();
    Some(match (first, second) {
        (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, _) => {
            (Lexeme::Space, length(rest, |b| b.is_ascii_whitespace() || b == 0x0b))
        }
        (b'-', Some(b'-')) => (Lexeme::Space, length(rest, |b| b != b'\n' && b != b'\r')),
        (b'/', Some(b'*')) => (Lexeme::Space, comment(rest)?),
        (b'\'', _) => (Lexeme::Constant, quoted(rest, b'\'', false)?),
        (b'"', _) => (Lexeme::Other, quoted(rest, b'"', false)?),
        (b'E' | b'e', Some(b'\'')) => (Lexeme::Constant, 1 + quoted(&rest[1..], b'\'', true)?),
        (b'B' | b'b' | b'X' | b'x' | b'N' | b'n', Some(b'\'')) => {
            (Lexeme::Constant, 1 + quoted(&rest[1..], b'\'', false)?)
        }
        (b'U' | b'u', Some(b'&')) => match rest.get(2) {
            Some(b'\'') => (Lexeme::Constant, 2 + quoted(&rest[2..], b'\'', false)?),
            Some(b'"') => (Lexeme::Other, 2 + quoted(&rest[2..], b'"', false)?),
            _ => (Lexeme::Other, 1),
        },
        (b'$', Some(b'0'..=b'9')) => (Lexeme::Parameter, 1 + length(&rest[1..], |b| b.is_ascii_digit())),
        (b'$', _) => dollar(rest)?,
        (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => (Lexeme::Constant, number(rest)),
        _ if is_word(first) => (Lexeme::Other, length(rest, |b| is_word(b) || b.is_ascii_digit() || b == b'$')),
        _ => (Lexeme::Other, 1),
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn length(rest: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
}

/// With its quotes; two of them are one of the text, and a backslash may take what follows.
fn quoted(rest: &[u8], quote: u8, backslash: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        match *rest.get(at)? {
            b'\\' if backslash => at += 2,
            byte if byte == quote && rest.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Comments are within each other.
fn comment(rest: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        match (rest.get(at)?, rest.get(at + 1)) {
            (b'/', Some(b'*')) => (at, depth) = (at + 2, depth + 1),
            (b'*', Some(b'/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    Some(at)
}

/// `$tag$ ... $tag$`, or a `$` that begins nothing.
fn dollar(rest: &[u8]) -> Option<(Lexeme, usize)> {
    let tag = 1 + length(&rest[1..], |b| is_word(b) || b.is_ascii_digit());
    if rest.get(tag) != Some(&b'$') {
        return Some((Lexeme::Other, 1));
    }
    let (tag, content) = rest.split_at(tag + 1);
    let end = content.windows(tag.len()).position(|window| window == tag)?;
    Some((Lexeme::Constant, 2 * tag.len() + end))
}

/// With a point, an exponent, and whatever word it runs into: `0x1f`, `1_000`.
fn number(rest: &[u8]) -> usize {
    let part = |from: usize| from + length(&rest[from..], |b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    let end = part(0);
    let is_hexadecimal = matches!(rest, [b'0', b'x' | b'X', ..]);
    let has_exponent = matches!(rest.get(end - 1), Some(b'e' | b'E')) && !is_hexadecimal;
    match (rest.get(end), rest.get(end + 1)) {
        (Some(b'+' | b'-'), Some(b'0'..=b'9')) if has_exponent => part(end + 1),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn constants(text: &str) -> Vec<&str> {
        let (mut lexemes, mut found) = (Lexemes::new(text), Vec::new());
        while let Some((lexeme, piece)) = lexemes.take().unwrap() {
            if lexeme == Lexeme::Constant {
                found.push(piece);
            }
        }
        found
    }

    #[test]
    fn constants_are_found_whole() {
        for (text, expected) in [
            ("a1 = 1 AND b = 'x''y'", &["1", "'x''y'"][..]),
            (r"E'a\'b' e'\\' 'a\'", &[r"E'a\'b'", r"e'\\'", r"'a\'"]),
            ("$$a'b$$ $t$ $$ $t$ $1 x$y$z", &["$$a'b$$", "$t$ $$ $t$"]),
            ("1.5e-3+2 .5 0x1f-1 1_000 t.a", &["1.5e-3", "2", ".5", "0x1f", "1", "1_000"]),
            (
                "B'01' x'ff' N'n' U&'d\\0061' U&\"d 'x' 1\" \"a \"\"1\"\" '\"",
                &["B'01'", "x'ff'", "N'n'", "U&'d\\0061'"],
            ),
            ("1 -- 2 'x\n /* 3 /* 4 */ 'y */ 5", &["1", "5"]),
            ("é1 = 'ü'", &["'ü'"]),
        ] {
            assert_eq!(constants(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_end_is_in_doubt() {
        for text in ["'a", "E'a\\'", "\"a", "/* /* */", "$$a$", "$t$ $x$", "U&'a"] {
            let mut lexemes = Lexemes::new(text);
            assert_eq!(lexemes.take(), Err(Unended), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "[ a1'\"$.eE/*-\\\\\nü]{0,40}") {
            let (mut lexemes, mut all) = (Lexemes::new(&text), String::new());
            while let Ok(Some((_, piece))) = lexemes.take() {
                prop_assert!(!piece.is_empty());
                all.push_str(piece);
            }
            prop_assert!(text.starts_with(&all));
        }
    }
}
