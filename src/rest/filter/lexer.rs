//! A filter's text into tokens.

use tablegate_store::model::{EdmValue, PropertyName};
use uuid::Uuid;

use crate::edm::datetime;
use crate::error::{Refusal, RestResult};

/// One token, and how many characters of the text are read with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind<'a> {
    Open,
    Close,
    /// A name or a keyword.
    Word(&'a str),
    Constant(EdmValue),
    End,
}

/// Reads a text token by token.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// # Errors
    /// For what is no token.
    pub(super) fn next(&mut self) -> RestResult<Token<'a>> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(self.token(TokenKind::End, 0)) };
        match first {
            '(' => Ok(self.token(TokenKind::Open, 1)),
            ')' => Ok(self.token(TokenKind::Close, 1)),
            '\'' => {
                let (text, length) = self.quoted(rest)?;
                Ok(self.token(TokenKind::Constant(EdmValue::string(text)), length))
            }
            '0'..='9' => self.number(rest),
            '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => self.number(rest),
            '-' if word(&rest[1..]) == "INF" || word(&rest[1..]) == "Infinity" => {
                let length = 1 + word(&rest[1..]).len();
                Ok(self.token(TokenKind::Constant(EdmValue::Double(f64::NEG_INFINITY)), length))
            }
            c if c == '_' || c.is_alphabetic() => self.word(rest),
            c => Err(self.error_behind(c.len_utf8())),
        }
    }

    /// The error for a token that ends after so many further bytes.
    pub(super) fn error_behind(&self, bytes: usize) -> Refusal {
        self.error_at(self.characters(self.at + bytes))
    }

    /// The error at so many characters of the text.
    pub(super) fn error_at(&self, position: usize) -> Refusal {
        Refusal::Syntax { position, text: shortened(self.text) }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn characters(&self, end: usize) -> usize {
        self.text.get(..end).unwrap_or(self.text).chars().count()
    }

    fn token(&mut self, kind: TokenKind<'a>, length: usize) -> Token<'a> {
        self.at += length;
        Token { kind, end: self.characters(self.at) }
    }

    /// The text in quotes that `rest` begins with, and how many bytes it takes there.
    fn quoted(&self, rest: &str) -> RestResult<(String, usize)> {
        let mut text = String::new();
        let mut at = 1;
        loop {
            let Some(length) = rest.get(at..).and_then(|rest| rest.find('\'')) else {
                return Err(self.error_behind(rest.len()));
            };
            text.push_str(&rest[at..at + length]);
            at += length + 1;
            if !rest[at..].starts_with('\'') {
                return Ok((text, at));
            }
            text.push('\'');
            at += 1;
        }
    }

    fn word(&mut self, rest: &'a str) -> RestResult<Token<'a>> {
        let word = word(rest);
        if rest[word.len()..].starts_with('\'') {
            let (text, length) = self.quoted(&rest[word.len()..])?;
            let end = word.len() + length;
            let constant = match word {
                "datetime" | "datetimeoffset" => datetime::parse(&text).map(EdmValue::DateTime),
                "guid" => parse_guid(&text).map(EdmValue::Guid),
                "X" | "binary" => parse_binary(&text).map(|bytes| EdmValue::Binary(bytes.into())),
                _ => return Err(self.error_behind(end)),
            };
            let constant = constant.ok_or_else(|| {
                let named = rest.get(..end).unwrap_or_default();
                Refusal::BadInput(format!("Unrecognized constant {named} in the filter."))
            })?;
            return Ok(self.token(TokenKind::Constant(constant), end));
        }
        let kind = match word {
            "true" => TokenKind::Constant(EdmValue::Boolean(true)),
            "false" => TokenKind::Constant(EdmValue::Boolean(false)),
            "NaN" => TokenKind::Constant(EdmValue::Double(f64::NAN)),
            "INF" | "Infinity" => TokenKind::Constant(EdmValue::Double(f64::INFINITY)),
            word => TokenKind::Word(word),
        };
        Ok(self.token(kind, word.len()))
    }

    fn number(&mut self, rest: &'a str) -> RestResult<Token<'a>> {
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let mut end = usize::from(rest.starts_with('-'));
        end += digits(end);
        let mut is_whole = true;
        if rest[end..].starts_with('.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
            is_whole = false;
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            if digits(end + 1 + sign) > 0 {
                end += 1 + sign + digits(end + 1 + sign);
                is_whole = false;
            }
        }
        let number = &rest[..end];
        let suffix = word(&rest[end..]);
        let length = end + suffix.len();
        let unrecognized =
            |edm_type: &str| Refusal::BadInput(format!("Unrecognized '{edm_type}' literal '{number}' in the filter."));
        let constant = match suffix {
            "" if is_whole => EdmValue::Int32(number.parse().map_err(|_| unrecognized("Edm.Int32"))?),
            "L" | "l" if is_whole => EdmValue::Int64(number.parse().map_err(|_| unrecognized("Edm.Int64"))?),
            "" | "d" | "D" | "f" | "F" | "m" | "M" => {
                EdmValue::Double(number.parse().map_err(|_| unrecognized("Edm.Double"))?)
            }
            _ => return Err(self.error_behind(length)),
        };
        Ok(self.token(TokenKind::Constant(constant), length))
    }
}

/// The word that a text begins with; empty for none.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !PropertyName::may_hold(c)).unwrap_or(text.len());
    &text[..end]
}

/// A GUID in its hyphenated form.
pub(crate) fn parse_guid(text: &str) -> Option<Uuid> {
    // `Uuid` reads other forms too, which the service does not take.
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// Bytes as pairs of hexadecimal digits.
fn parse_binary(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// A filter can be as long as a URL; an error repeats no more of it than helps.
fn shortened(text: &str) -> String {
    const MOST: usize = 512;
    text.chars().take(MOST).collect()
}
