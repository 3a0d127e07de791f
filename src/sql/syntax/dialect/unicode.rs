//! `U&'d\0061ta'` and `U&"d\0061ta"`: characters by their numbers. UESCAPE names another sign than the backslash. The scanner
//! gives a letter, a sign and what is quoted.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::source::SourceText;

/// Digits behind the sign, and behind the sign and a plus.
const SHORT: usize = 4;
const LONG: usize = 6;

/// Puts plain strings and names in the place of those with numbers.
///
/// # Errors
/// 42601 for numbers that are no characters, and for what UESCAPE cannot name.
pub(crate) fn read(sql: &SourceText, tokens: Vec<TokenWithSpan>) -> SqlResult<Vec<TokenWithSpan>> {
    if !tokens.windows(3).any(begins) {
        return Ok(tokens);
    }
    let (mut kept, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while let Some(token) = tokens.get(at) {
        let start = token.span.start;
        let refused = |error: Box<SqlError>| error.at(sql.position(start));
        if !begins(&tokens[at..]) {
            kept.push(token.clone());
            at += 1;
            continue;
        }
        let (content, is_name) = match &tokens[at + 2].token {
            Token::SingleQuotedString(text) => (text, false),
            Token::Word(name) => (&name.value, true),
            _ => continue,
        };
        let (sign, behind) = escape_sign(&tokens[at + 3..]).map_err(refused)?;
        let text = characters(content, sign).map_err(refused)?;
        at += 3 + behind;
        let token = if is_name { Token::make_word(&text, Some('"')) } else { Token::SingleQuotedString(text) };
        kept.push(TokenWithSpan { token, span: Span { start, end: tokens[at - 1].span.end } });
    }
    Ok(kept)
}

/// Whether one begins here.
fn begins(tokens: &[TokenWithSpan]) -> bool {
    let [letter, sign, quoted, ..] = tokens else { return false };
    sign.token == Token::Ampersand
        && matches!(&letter.token, Token::Word(word) if is_word(word, "u"))
        && match &quoted.token {
            Token::SingleQuotedString(_) => true,
            Token::Word(name) => name.quote_style == Some('"'),
            _ => false,
        }
        && letter.span.end == sign.span.start
        && sign.span.end == quoted.span.start
}

fn is_word(word: &Word, wanted: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted)
}

/// The sign before a number, and how many tokens behind the string name it.
fn escape_sign(behind: &[TokenWithSpan]) -> SqlResult<(char, usize)> {
    let mut words = behind.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    match words.next() {
        Some((_, TokenWithSpan { token: Token::Word(word), .. })) if is_word(word, "uescape") => {}
        _ => return Ok(('\\', 0)),
    }
    let Some((at, TokenWithSpan { token: Token::SingleQuotedString(sign), .. })) = words.next() else {
        return Err(error("UESCAPE must be followed by a simple string literal"));
    };
    let cannot_be = |c: char| c.is_ascii_hexdigit() || c.is_ascii_whitespace() || "+'\"".contains(c);
    match sign.chars().next().filter(|sign| !cannot_be(*sign)) {
        Some(first) if sign.len() == first.len_utf8() => Ok((first, at + 1)),
        _ => Err(error("invalid Unicode escape character")),
    }
}

/// The text with characters in the place of their numbers.
fn characters(text: &str, sign: char) -> SqlResult<String> {
    let (mut read, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once(sign) {
        read.push_str(before);
        if let Some(behind) = behind.strip_prefix(sign) {
            read.push(sign);
            rest = behind;
            continue;
        }
        let (number, behind) = number(behind, sign)?;
        let (character, behind) = match number {
            0xd800..0xdc00 => {
                let low = behind.strip_prefix(sign).map(|behind| self::number(behind, sign)).transpose()?;
                let (low, behind) = low.filter(|(low, _)| (0xdc00..0xe000).contains(low)).ok_or_else(no_pair)?;
                (0x1_0000 + ((number - 0xd800) << 10) + (low - 0xdc00), behind)
            }
            0xdc00..0xe000 => return Err(no_pair()),
            other => (other, behind),
        };
        let character = char::from_u32(character).filter(|character| *character != '\0');
        read.push(character.ok_or_else(|| error("invalid Unicode escape value"))?);
        rest = behind;
    }
    read.push_str(rest);
    Ok(read)
}

/// The number behind the sign, and what follows it.
fn number(behind: &str, sign: char) -> SqlResult<(u32, &str)> {
    let (digits, length) = match behind.strip_prefix('+') {
        Some(digits) => (digits, LONG),
        None => (behind, SHORT),
    };
    let number = digits.get(..length).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let hint = || format!("Unicode escapes must be {sign}XXXX or {sign}+XXXXXX.");
    Ok((number.ok_or_else(|| error("invalid Unicode escape").with_hint(hint()))?, &digits[length..]))
}

fn no_pair() -> Box<SqlError> {
    error("invalid Unicode surrogate pair")
}

fn error(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::Syntax, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::scanner;

    fn read_all(sql: &str) -> Result<String, String> {
        let tokens = scanner::tokens(sql).unwrap();
        let tokens = read(&SourceText::new(sql), tokens).map_err(|error| error.message)?;
        Ok(tokens.iter().map(|token| token.token.to_string()).collect())
    }

    #[test]
    fn numbers_become_characters() {
        for (sql, expected) in [
            (r"U&'d\0061t\+000061'", "'data'"),
            (r"u&'a\\b''c' || 'x'", r"'a\b'c' || 'x'"),
            (r#"U&"d\0061t" = u & "x""#, r#""dat" = u & "x""#),
            (r"U&'d!0061\' UESCAPE '!' , 1", r"'da\' , 1"),
            (r"U&'\D83D\DE00'", "'😀'"),
        ] {
            assert_eq!(read_all(sql).as_deref(), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn what_is_no_character_is_refused() {
        for (sql, message) in [
            (r"U&'d!06' UESCAPE '!'", "invalid Unicode escape"),
            (r"U&'!D83D' UESCAPE '!'", "invalid Unicode surrogate pair"),
            (r"U&'!0000' UESCAPE '!'", "invalid Unicode escape value"),
            (r"U&'x' UESCAPE 'a'", "invalid Unicode escape character"),
            (r"U&'x' UESCAPE 1", "UESCAPE must be followed by a simple string literal"),
        ] {
            assert_eq!(read_all(sql), Err(message.to_owned()), "{sql}");
        }
    }
}
