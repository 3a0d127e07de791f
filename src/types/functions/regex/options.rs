//! The letters that say how a regular expression is meant.

use crate::error::{ErrorKind, SqlError, SqlResult};

/// What the letters say, or their absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Options {
    /// `g`: all matches, not only the first.
    pub global: bool,
    /// `i`
    pub ignore_case: bool,
    /// `x`: blanks and comments mean nothing.
    pub expanded: bool,
    /// `q`: every character stands for itself.
    pub quoted: bool,
    /// `p`, and part of `n`: a dot and `[^...]` match no newline.
    pub newline_stops: bool,
    /// `w`, and part of `n`: `^` and `$` match at newlines.
    pub newline_anchors: bool,
    /// `b`: the syntax of grep.
    pub basic: bool,
}

impl Options {
    /// # Errors
    /// 22023 for a letter that means nothing.
    pub(super) fn parse(letters: &str) -> SqlResult<Self> {
        let mut options = Self::default();
        for letter in letters.chars() {
            if letter == 'g' {
                options.global = true;
            } else if !options.apply(letter) {
                let message = format!("invalid regular expression option: \"{letter}\"");
                return Err(SqlError::new(ErrorKind::InvalidParameterValue, message));
            }
        }
        Ok(options)
    }

    /// Takes one letter in; false when it means nothing. These may also stand in front of the expression.
    pub(super) fn apply(&mut self, letter: char) -> bool {
        match letter {
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'n' | 'm' => (self.newline_stops, self.newline_anchors) = (true, true),
            's' => (self.newline_stops, self.newline_anchors) = (false, false),
            'p' => (self.newline_stops, self.newline_anchors) = (true, false),
            'w' => (self.newline_stops, self.newline_anchors) = (false, true),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => (self.quoted, self.basic) = (true, false),
            'e' => (self.quoted, self.basic) = (false, false),
            'b' => (self.quoted, self.basic) = (false, true),
            _ => return false,
        }
        true
    }

    /// # Errors
    /// 22023 when `g` was given to a function that looks for one match.
    pub(super) fn without_global(self, function: &str, instead: Option<&str>) -> SqlResult<Self> {
        if !self.global {
            return Ok(self);
        }
        let message = format!("{function}() does not support the \"global\" option");
        let error = SqlError::new(ErrorKind::InvalidParameterValue, message);
        Err(match instead {
            Some(instead) => error.with_hint(format!("Use the {instead} function instead.")),
            None => error,
        })
    }
}
