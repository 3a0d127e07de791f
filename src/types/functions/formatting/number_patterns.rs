//! The patterns of numbers, and what they say together.

use super::template::Letters::{self, Lower, Upper};
use super::template::{Keywords, Piece, parse};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::grown::Grown;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Comma,
    Point,
    Zero,
    Nine,
    /// `B`: a zero is blank.
    Blank,
    Decimal,
    Exponent,
    Fill,
    Group,
    Currency,
    Minus,
    Plus,
    Bracket,
    Roman(Letters),
    PlusMinus,
    Sign,
    Ordinal(Letters),
    Shift,
    /// `C`, `SP`: nothing.
    Nothing,
}

const KEYWORDS: Keywords<Key> = &[
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("C", Key::Nothing),
    ("D", Key::Decimal),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Group),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("RN", Key::Roman(Upper)),
    ("SG", Key::PlusMinus),
    ("SP", Key::Nothing),
    ("S", Key::Sign),
    ("TH", Key::Ordinal(Upper)),
    ("V", Key::Shift),
    ("b", Key::Blank),
    ("c", Key::Nothing),
    ("d", Key::Decimal),
    ("eeee", Key::Exponent),
    ("fm", Key::Fill),
    ("g", Key::Group),
    ("l", Key::Currency),
    ("mi", Key::Minus),
    ("pl", Key::Plus),
    ("pr", Key::Bracket),
    ("rn", Key::Roman(Lower)),
    ("sg", Key::PlusMinus),
    ("sp", Key::Nothing),
    ("s", Key::Sign),
    ("th", Key::Ordinal(Lower)),
    ("v", Key::Shift),
];

/// Where the sign of `S` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignPlace {
    Before,
    Behind,
}

/// A template of numbers, with what its patterns say together.
#[derive(Default)]
pub(super) struct NumberTemplate {
    pub pieces: Grown<Piece<Key>>,
    /// Digits in front of the point and behind it.
    pub before: usize,
    pub behind: usize,
    /// Digits by which the point is moved (`V`).
    pub shift: usize,
    /// The digit from which on zeros are written, from 1; 0 for none. And the digit with the last `0`.
    pub zero_start: usize,
    pub zero_end: usize,
    pub sign: Option<SignPlace>,
    /// Digits in front of `S`.
    pub digits_before_sign: usize,
    pub has_point: bool,
    pub fill: bool,
    pub minus: bool,
    pub plus: bool,
    pub bracket: bool,
    pub roman: bool,
    pub shifts: bool,
    pub exponent: bool,
    blank: bool,
}

impl NumberTemplate {
    /// # Errors
    /// 42601 for patterns that do not go together, 54000 or 53200 for a template that is too long.
    pub(super) fn parse(text: &str) -> SqlResult<Self> {
        let pieces = parse(text, KEYWORDS, false)?;
        let mut template = Self::default();
        for piece in pieces.iter() {
            if let Piece::Pattern(pattern) = piece {
                template.add(pattern.key)?;
            }
        }
        template.pieces = pieces;
        Ok(template)
    }

    pub(super) fn has_zeros(&self) -> bool {
        self.zero_start > 0
    }

    fn add(&mut self, key: Key) -> SqlResult<()> {
        if self.exponent && key != Key::Exponent {
            return Err(refused("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Nine => {
                self.check(!self.bracket, "\"9\" must be ahead of \"PR\"")?;
                if self.shifts {
                    self.shift += 1;
                } else {
                    self.add_digit();
                }
            }
            Key::Zero => {
                self.check(!self.bracket, "\"0\" must be ahead of \"PR\"")?;
                if !self.has_zeros() && !self.has_point {
                    self.zero_start = self.before + 1;
                }
                self.add_digit();
                self.zero_end = self.before + self.behind;
            }
            Key::Blank => self.blank |= self.before == 0 && self.behind == 0 && !self.has_zeros(),
            Key::Decimal | Key::Point => {
                self.check(!self.has_point, "multiple decimal points")?;
                self.check(!self.shifts, "cannot use \"V\" and decimal point together")?;
                self.has_point = true;
            }
            Key::Fill => self.fill = true,
            Key::Sign => self.add_sign()?,
            Key::Minus => {
                self.check(self.sign.is_none(), "cannot use \"S\" and \"MI\" together")?;
                self.minus = true;
            }
            Key::Plus => {
                self.check(self.sign.is_none(), "cannot use \"S\" and \"PL\" together")?;
                self.plus = true;
            }
            Key::PlusMinus => {
                self.check(self.sign.is_none(), "cannot use \"S\" and \"SG\" together")?;
                self.minus = true;
                self.plus = true;
            }
            Key::Bracket => {
                let alone = self.sign.is_none() && !self.plus && !self.minus;
                self.check(alone, "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")?;
                self.bracket = true;
            }
            Key::Roman(_) => self.roman = true,
            Key::Shift => {
                self.check(!self.has_point, "cannot use \"V\" and decimal point together")?;
                self.shifts = true;
            }
            Key::Exponent => self.add_exponent()?,
            Key::Comma | Key::Group | Key::Currency | Key::Ordinal(_) | Key::Nothing => {}
        }
        Ok(())
    }

    fn add_digit(&mut self) {
        if self.has_point {
            self.behind += 1;
        } else {
            self.before += 1;
        }
    }

    fn add_sign(&mut self) -> SqlResult<()> {
        self.check(self.sign.is_none(), "cannot use \"S\" twice")?;
        let alone = !self.plus && !self.minus && !self.bracket;
        self.check(alone, "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")?;
        if self.has_point {
            self.sign = Some(SignPlace::Behind);
        } else {
            self.sign = Some(SignPlace::Before);
            self.digits_before_sign = self.before;
        }
        Ok(())
    }

    fn add_exponent(&mut self) -> SqlResult<()> {
        self.check(!self.exponent, "cannot use \"EEEE\" twice")?;
        let incompatible = self.blank
            || self.fill
            || self.sign.is_some()
            || self.bracket
            || self.minus
            || self.plus
            || self.roman
            || self.shifts;
        if incompatible {
            return Err(refused("\"EEEE\" is incompatible with other formats")
                .with_detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
        }
        self.exponent = true;
        Ok(())
    }

    fn check(&self, holds: bool, message: &str) -> SqlResult<()> {
        if holds { Ok(()) } else { Err(refused(message)) }
    }
}

fn refused(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::Syntax, message)
}
