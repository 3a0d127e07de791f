//! `to_number`: reads a text by a template of numbers.

use super::number_patterns::{Key, NumberTemplate, SignPlace};
use super::template::Piece;
use crate::error::{ErrorKind, SqlError, SqlResult};

/// The number that a text stands for, in plain notation; its point is still where the text has it, whatever `V` says.
///
/// # Errors
/// 0A000 for patterns that are only written.
pub(super) fn read_number(text: &str, template: &NumberTemplate) -> SqlResult<String> {
    if template.exponent {
        return Err(SqlError::new(ErrorKind::FeatureNotSupported, "\"EEEE\" not supported for input"));
    }
    if template.roman {
        return Err(SqlError::new(ErrorKind::FeatureNotSupported, "\"RN\" not supported for input"));
    }
    let mut reader =
        Reader { template, rest: text, sign: ' ', digits: String::new(), before: 0, behind: 0, has_point: false };
    for piece in template.pieces.iter() {
        if reader.rest.is_empty() {
            break;
        }
        match piece {
            Piece::Pattern(pattern) => reader.pattern(pattern.key),
            // Whatever stands there.
            Piece::Separator(_) | Piece::Space(_) | Piece::Char(_) => reader.skip(),
        }
    }
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    Ok(format!("{}{digits}", reader.sign))
}

struct Reader<'a> {
    template: &'a NumberTemplate,
    rest: &'a str,
    /// A blank while there is none.
    sign: char,
    digits: String,
    before: usize,
    behind: usize,
    has_point: bool,
}

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn pattern(&mut self, key: Key) {
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::Decimal => self.digit(key),
            // With FM a separator is left to the next digit pattern, which makes nothing of it.
            Key::Comma | Key::Group => {
                if self.next() == Some(',') && !self.template.fill {
                    self.skip();
                }
            }
            Key::Currency => self.skip_words(1),
            Key::Ordinal(_) => self.skip_words(2),
            Key::Minus | Key::Plus | Key::PlusMinus => match (self.next(), key) {
                (Some('-'), Key::Minus | Key::PlusMinus) => self.take_sign('-'),
                (Some('+'), Key::Plus | Key::PlusMinus) => self.take_sign('+'),
                _ => self.skip_words(1),
            },
            Key::Blank
            | Key::Exponent
            | Key::Fill
            | Key::Bracket
            | Key::Roman(_)
            | Key::Sign
            | Key::Shift
            | Key::Nothing => {}
        }
    }

    fn take_sign(&mut self, sign: char) {
        self.sign = sign;
        self.skip();
    }

    /// Skips so many characters that are no part of a number.
    fn skip_words(&mut self, count: usize) {
        for _ in 0..count {
            match self.next() {
                None | Some('0'..='9' | '.' | ',' | '+' | '-') => break,
                Some(_) => self.skip(),
            }
        }
    }

    fn digit(&mut self, key: Key) {
        if self.next() == Some(' ') {
            self.skip();
        }
        self.leading_sign(key);
        let Some(next) = self.next() else { return };
        let mut taken = false;
        if next.is_ascii_digit() {
            if self.has_point && self.behind == self.template.behind {
                return;
            }
            self.digits.push(next);
            if self.has_point {
                self.behind += 1;
            } else {
                self.before += 1;
            }
            taken = true;
        } else if next == '.' && self.template.has_point && !self.has_point {
            self.digits.push('.');
            self.has_point = true;
            taken = true;
        }
        self.trailing_sign(taken);
        // The character of this place, whatever it was.
        self.skip();
    }

    fn leading_sign(&mut self, key: Key) {
        let at_first_digit = self.sign == ' ' && matches!(key, Key::Zero | Key::Nine) && self.before + self.behind == 0;
        if !at_first_digit {
            return;
        }
        match (self.next(), self.template.sign) {
            (Some(sign @ ('-' | '+')), None | Some(SignPlace::Before)) => self.take_sign(sign),
            (Some('<'), None) if self.template.bracket => self.take_sign('-'),
            _ => {}
        }
    }

    /// A sign behind the last digit.
    fn trailing_sign(&mut self, taken: bool) {
        if self.sign != ' ' || self.before + self.behind == 0 {
            return;
        }
        if self.template.sign.is_some() {
            let mut behind = self.rest.chars();
            behind.next();
            if let (true, Some(sign @ ('-' | '+'))) = (taken, behind.clone().next()) {
                self.sign = sign;
                // The digit; the sign goes with the place.
                self.skip();
            }
        } else if !taken
            && (self.template.plus || self.template.minus)
            && let Some(sign @ ('-' | '+')) = self.next()
        {
            self.sign = sign;
        }
    }
}
