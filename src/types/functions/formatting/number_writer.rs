//! `to_char` of numbers: places the digits of a number into a template.

use super::number_patterns::{Key, NumberTemplate, SignPlace};
use super::template::{Piece, ordinal_ending};

/// A number's digits, before they are placed: what PostgreSQL prepares for each type.
#[derive(Debug, Clone)]
pub(super) struct Digits {
    /// Without sign: digits, and a point with as many digits behind it as the template has.
    pub text: String,
    pub negative: bool,
    /// Places of the template in front of the first digit.
    pub blanks: usize,
    /// Digits in front of the point that the template has place for, `V` included.
    pub before: usize,
    /// Digits behind the point that are shown.
    pub behind: usize,
}

impl Digits {
    /// Of a number in plain notation, `-12.50`. What does not fit becomes `##.##`.
    pub(super) fn of(number: &str, template: &NumberTemplate, behind: usize) -> Self {
        let (negative, text) = match number.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, number),
        };
        let before = template.before + template.shift;
        let has = text.find('.').unwrap_or(text.len());
        if has > before {
            let text = format!("{}.{}", "#".repeat(before), "#".repeat(behind));
            return Self { text, negative, blanks: 0, before, behind };
        }
        Self { text: text.to_owned(), negative, blanks: before - has, before, behind }
    }
}

/// Writes a number in Roman digits; what has none is `###############`.
pub(super) fn write_roman(number: i64, template: &NumberTemplate, out: &mut String) {
    const WIDTH: usize = 15;
    let roman = roman(number).unwrap_or_else(|| "#".repeat(WIDTH));
    for piece in template.pieces.iter() {
        match piece {
            Piece::Pattern(pattern) => {
                if let Key::Roman(letters) = pattern.key {
                    if !template.fill {
                        (roman.len()..WIDTH).for_each(|_| out.push(' '));
                    }
                    letters.push(&roman, out);
                }
            }
            Piece::Separator(c) | Piece::Space(c) | Piece::Char(c) => out.push(*c),
        }
    }
}

fn roman(number: i64) -> Option<String> {
    const DIGITS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..4000).contains(&number) {
        return None;
    }
    let mut rest = number;
    let mut text = String::new();
    for (value, digit) in DIGITS {
        while rest >= value {
            text.push_str(digit);
            rest -= value;
        }
    }
    Some(text)
}

/// Places the digits.
pub(super) fn write_number(digits: &Digits, template: &NumberTemplate, out: &mut String) {
    let mut writer = Writer::new(digits, template, out);
    for piece in template.pieces.iter() {
        match piece {
            Piece::Pattern(pattern) => writer.pattern(pattern.key),
            Piece::Separator(c) | Piece::Space(c) | Piece::Char(c) => writer.out.push(*c),
        }
    }
}

struct Writer<'a> {
    digits: &'a Digits,
    template: &'a NumberTemplate,
    out: &'a mut String,
    text: &'a [u8],
    /// The next character of the number.
    next: usize,
    /// Digit patterns so far.
    place: usize,
    /// How many digit patterns there are before the end, as PostgreSQL counts.
    count: usize,
    /// With FM, the last character that is shown, which may be the point.
    last: Option<usize>,
    sign_place: Option<SignPlace>,
    bracket: bool,
    sign_written: bool,
    /// A digit was written, so that group separators show.
    in_number: bool,
}

impl<'a> Writer<'a> {
    fn new(digits: &'a Digits, template: &'a NumberTemplate, out: &'a mut String) -> Self {
        let text = digits.text.as_bytes();
        let own_sign = template.plus || template.minus;
        let sign_written =
            if own_sign { template.minus } else { !digits.negative && template.fill && template.sign.is_none() };
        let behind = template.sign == Some(SignPlace::Before) && digits.before == template.digits_before_sign;
        let sign_place = if !own_sign && behind { Some(SignPlace::Behind) } else { template.sign };
        let last = if template.fill && template.has_point { last_shown(digits, template) } else { None };
        let mut count = (digits.behind + digits.before).wrapping_sub(1);
        if !sign_written && digits.blanks == 0 {
            count = count.wrapping_add(1);
        }
        let bracket = template.bracket && (own_sign || digits.negative || !template.fill);
        Self {
            digits,
            template,
            out,
            text,
            next: 0,
            place: 0,
            count,
            last,
            sign_place,
            bracket,
            sign_written,
            in_number: false,
        }
    }

    fn pattern(&mut self, key: Key) {
        let fill = self.template.fill;
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::Decimal => self.digit(key),
            Key::Comma | Key::Group => {
                if self.in_number {
                    self.out.push(',');
                } else if !fill {
                    self.out.push(' ');
                }
            }
            Key::Currency => self.out.push(' '),
            Key::Ordinal(letters) => {
                let is_ordinal = self.text.first() != Some(&b'#') && !self.digits.negative && !self.template.has_point;
                if is_ordinal {
                    letters.push(ordinal_ending(&self.digits.text), self.out);
                }
            }
            Key::Minus if self.digits.negative => self.out.push('-'),
            Key::Plus if !self.digits.negative => self.out.push('+'),
            Key::Minus | Key::Plus => {
                if !fill {
                    self.out.push(' ');
                }
            }
            Key::PlusMinus => self.out.push(if self.digits.negative { '-' } else { '+' }),
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

    /// `0.1` in `9.9`: the zero in front of the point is not written.
    fn is_zero_before_point(&self) -> bool {
        !self.template.has_zeros() && self.next == 0 && self.text.first() == Some(&b'0') && self.digits.behind != 0
    }

    fn last_is_point(&self) -> bool {
        self.last.is_some_and(|last| self.text.get(last) == Some(&b'.'))
    }

    fn digit(&mut self, key: Key) {
        let template = self.template;
        self.in_number = false;
        // Places are counted from 0.
        let zeros = template.has_zeros() && template.zero_start - 1 <= self.place;
        let zeros_begin = template.has_zeros() && template.zero_start - 1 == self.place;
        let in_number = self.place >= self.digits.blanks;
        if !self.sign_written && (in_number || zeros_begin) && (!self.is_zero_before_point() || self.last_is_point()) {
            self.leading_sign();
        }
        if !in_number && !zeros {
            if !template.fill {
                self.out.push(' ');
            }
        } else if !in_number {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.character(key);
            if self.next < self.text.len() {
                self.next += 1;
            }
        }
        self.trailing_sign();
        self.place += 1;
    }

    fn leading_sign(&mut self) {
        let negative = self.digits.negative;
        match self.sign_place {
            Some(SignPlace::Before) => self.out.push(if negative { '-' } else { '+' }),
            Some(SignPlace::Behind) => return,
            None if self.bracket => self.out.push(if negative { '<' } else { ' ' }),
            None if negative => self.out.push('-'),
            None if self.template.fill => {}
            None => self.out.push(' '),
        }
        self.sign_written = true;
    }

    /// Writes the next character of the number, or what stands for it.
    fn character(&mut self, key: Key) {
        let Some(&byte) = self.text.get(self.next) else { return };
        if byte == b'.' {
            if !self.last_is_point() || self.template.fill {
                self.out.push('.');
            }
        } else if self.last.is_some_and(|last| self.next > last) && key != Key::Zero {
            // Zeros behind what is shown.
        } else if self.is_zero_before_point() {
            if !self.template.fill {
                self.out.push(' ');
            } else if self.last_is_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(byte.into());
            self.in_number = true;
        }
    }

    /// The sign that stands behind the last digit.
    fn trailing_sign(&mut self) {
        let blanks = usize::from(self.digits.blanks > 0);
        let mut end = self.count.wrapping_add(blanks).wrapping_add(usize::from(self.template.has_point));
        if self.last == Some(self.next) {
            end = self.place;
        }
        if self.place.wrapping_add(1) != end {
            return;
        }
        let negative = self.digits.negative;
        if self.sign_written && self.bracket {
            self.out.push(if negative { '>' } else { ' ' });
        } else if self.sign_place == Some(SignPlace::Behind) {
            self.out.push(if negative { '-' } else { '+' });
        }
    }
}

/// The last digit behind the point that is not zero, else the point; a `0` of the template shows what it stands for.
fn last_shown(digits: &Digits, template: &NumberTemplate) -> Option<usize> {
    let point = digits.text.find('.')?;
    let last = digits.text.trim_end_matches('0').len() - 1;
    let last = last.max(point);
    if template.zero_end > digits.blanks {
        let zero = (template.zero_end - digits.blanks).min(digits.text.len() - 1);
        return Some(last.max(zero));
    }
    Some(last)
}
