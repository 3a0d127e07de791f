//! Unicode: `normalize`, `IS NORMALIZED`, and the escapes of `unistr`.

use std::str::Chars;

use arrow::array::ArrayRef;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bool, Text};

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("normalize", &[Text], Text, |call| normalized(call, |_| Ok(Form::Nfc))),
    Overload::new("normalize", &[Text, Text], Text, |call| {
        let forms = call.text(1)?;
        normalized(call, |row| Form::named(forms.at(row)))
    }),
    Overload::new("is_normalized", &[Text], Bool, |call| {
        let texts = call.text(0)?;
        call.booleans(|row| Ok(Form::Nfc.is_of(texts.at(row))))
    }),
    Overload::new("is_normalized", &[Text, Text], Bool, |call| {
        let (texts, forms) = (call.text(0)?, call.text(1)?);
        call.booleans(|row| Ok(Form::named(forms.at(row))?.is_of(texts.at(row))))
    }),
    Overload::new("unistr", &[Text], Text, |call| {
        let texts = call.text(0)?;
        let mut unescaped = String::new();
        call.texts(|row, out| {
            unescaped.clear();
            unescape(texts.at(row), &mut unescaped)?;
            out.push_str(&unescaped);
            Ok(())
        })
    }),
];

/// A normalization form.
#[derive(Debug, Clone, Copy)]
enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    fn named(name: &str) -> SqlResult<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "nfc" => Form::Nfc,
            "nfd" => Form::Nfd,
            "nfkc" => Form::Nfkc,
            "nfkd" => Form::Nfkd,
            _ => {
                let message = format!("invalid normalization form: {name}");
                return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
            }
        })
    }

    fn is_of(self, text: &str) -> bool {
        let quick = match self {
            Form::Nfc => is_nfc_quick(text.chars()),
            Form::Nfd => is_nfd_quick(text.chars()),
            Form::Nfkc => is_nfkc_quick(text.chars()),
            Form::Nfkd => is_nfkd_quick(text.chars()),
        };
        match quick {
            IsNormalized::Yes => true,
            IsNormalized::No => false,
            IsNormalized::Maybe => {
                let mut is_same = true;
                let mut rest = text.chars();
                self.each(text, |c| is_same &= rest.next() == Some(c));
                is_same && rest.next().is_none()
            }
        }
    }

    /// The characters of the text in this form.
    fn each(self, text: &str, push: impl FnMut(char)) {
        match self {
            Form::Nfc => text.nfc().for_each(push),
            Form::Nfd => text.nfd().for_each(push),
            Form::Nfkc => text.nfkc().for_each(push),
            Form::Nfkd => text.nfkd().for_each(push),
        }
    }
}

fn normalized(call: &Call, form: impl Fn(usize) -> SqlResult<Form>) -> SqlResult<ArrayRef> {
    let texts = call.text(0)?;
    call.texts(|row, out| {
        form(row)?.each(texts.at(row), |c| out.push(c));
        Ok(())
    })
}

/// Writes a text with its `\XXXX`, `\+XXXXXX`, `\uXXXX` and `\UXXXXXXXX` replaced.
fn unescape(text: &str, out: &mut String) -> SqlResult<()> {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match escape(&mut rest)? {
            Escape::Backslash => out.push('\\'),
            Escape::Unit(high) if (0xD800..0xDC00).contains(&high) => {
                let low = match rest.next() {
                    Some('\\') => escape(&mut rest)?,
                    _ => return Err(wrong_surrogates()),
                };
                let Escape::Unit(low @ 0xDC00..0xE000) = low else { return Err(wrong_surrogates()) };
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                out.push(char::from_u32(code).ok_or_else(wrong_surrogates)?);
            }
            Escape::Unit(0xDC00..0xE000) => return Err(wrong_surrogates()),
            Escape::Unit(code) => {
                let c = char::from_u32(code).filter(|c| *c != '\0').ok_or_else(|| {
                    let message = format!("invalid Unicode code point: {code:04X}");
                    SqlError::new(ErrorKind::InvalidParameterValue, message)
                })?;
                out.push(c);
            }
        }
    }
    Ok(())
}

enum Escape {
    Backslash,
    /// A code point, or half of a surrogate pair.
    Unit(u32),
}

/// What stands behind a backslash.
fn escape(rest: &mut Chars<'_>) -> SqlResult<Escape> {
    let length = match rest.clone().next() {
        Some('\\') => {
            rest.next();
            return Ok(Escape::Backslash);
        }
        Some('+') => Some(6),
        Some('u') => Some(4),
        Some('U') => Some(8),
        _ => None,
    };
    if length.is_some() {
        rest.next();
    }
    let mut code = 0;
    for _ in 0..length.unwrap_or(4) {
        let digit = rest.next().and_then(|c| c.to_digit(16)).ok_or_else(|| {
            SqlError::new(ErrorKind::Syntax, "invalid Unicode escape")
                .with_hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
        })?;
        code = code << 4 | digit;
    }
    Ok(Escape::Unit(code))
}

fn wrong_surrogates() -> Box<SqlError> {
    SqlError::new(ErrorKind::Syntax, "invalid Unicode surrogate pair")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(text: &str) -> Result<String, String> {
        let mut out = String::new();
        unescape(text, &mut out).map(|()| out).map_err(|error| error.message.clone())
    }

    /// Each was asked of PostgreSQL 15.
    #[test]
    fn escapes_are_postgresqls() {
        assert_eq!(unescaped("d\\0061t\\+000061 \\\\ \\u00e9\\U0001F600").unwrap(), "data \\ é😀");
        assert_eq!(unescaped("\\d83d\\de00\\D83D\\+00DE00").unwrap(), "😀😀");
        for (text, message) in [
            ("\\zzzz", "invalid Unicode escape"),
            ("a\\", "invalid Unicode escape"),
            ("\\006", "invalid Unicode escape"),
            ("\\+110000", "invalid Unicode code point: 110000"),
            ("\\0000", "invalid Unicode code point: 0000"),
            ("\\d83dx", "invalid Unicode surrogate pair"),
            ("\\d83d\\0061", "invalid Unicode surrogate pair"),
            ("\\de00", "invalid Unicode surrogate pair"),
        ] {
            assert_eq!(unescaped(text).unwrap_err(), message, "{text}");
        }
    }

    #[test]
    fn forms_know_their_texts() {
        let all = |text: &str| [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd].map(|form| form.is_of(text));
        assert_eq!(all("abc"), [true; 4]);
        assert_eq!(all("é"), [true, false, true, false]);
        assert_eq!(all("e\u{301}"), [false, true, false, true]);
        assert_eq!(all("ﬁ"), [true, true, false, false]);
    }
}
