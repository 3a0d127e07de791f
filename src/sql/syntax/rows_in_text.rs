//! INSERTs whose list has many rows, as far as it takes to find these in the text.

use std::ops::Range;

use tablegate_types::interrupt;

use super::lexemes::{Lexeme, Lexemes};

/// Where the rows of a list stand in the text of their statement.
#[derive(Debug)]
pub(super) struct RowsInText<'t> {
    pub(super) text: &'t str,
    /// From the parenthesis that opens the first row to the one that closes the last.
    rows: Range<usize>,
    /// Where the first row ends, and the second.
    one: usize,
    two: usize,
    count: usize,
}

impl<'t> RowsInText<'t> {
    /// Whether a text may be such a statement of so many rows or more: each row has a parenthesis.
    pub(super) fn may_be_in(text: &str, rows: usize) -> bool {
        let verb = text.trim_start().get(..6);
        verb.is_some_and(|verb| verb.eq_ignore_ascii_case("insert"))
            && text.bytes().filter(|byte| *byte == b'(').nth(rows.saturating_sub(1)).is_some()
    }

    /// Those of a text that is one INSERT of so many rows or more, each of which `take` takes behind its first parenthesis; `None` for
    /// any other text, where `take` says so, and when the work is to stop.
    pub(super) fn taken(
        text: &'t str,
        least: usize,
        mut take: impl FnMut(&mut Pieces<'t>) -> Option<()>,
    ) -> Option<Self> {
        if !Self::may_be_in(text, least) {
            return None;
        }
        let mut pieces = Pieces { text, lexemes: Lexemes::new(text) };
        pieces.find_values()?;
        let mut found = Self { text, rows: 0..0, one: 0, two: 0, count: 0 };
        loop {
            if pieces.next()? != (Lexeme::Other, "(") {
                return None;
            }
            if found.count == 0 {
                found.rows.start = pieces.at() - 1;
            }
            take(&mut pieces)?;
            interrupt::check().ok()?;
            found.count += 1;
            found.rows.end = pieces.at();
            match found.count {
                1 => found.one = pieces.at(),
                2 => found.two = pieces.at(),
                _ => {}
            }
            match pieces.next() {
                Some((_, ",")) => {}
                Some((lexeme, piece)) => {
                    pieces.find_end(lexeme, piece)?;
                    break;
                }
                None => break,
            }
        }
        (found.count >= least && pieces.lexemes.rest().is_empty()).then_some(found)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The statement with its first row alone.
    pub(super) fn first_alone(&self) -> String {
        self.up_to(self.one)
    }

    /// The statement with two of its rows: nothing else tells it from one with all of them, when values do not matter.
    pub(super) fn shortened(&self) -> String {
        self.up_to(self.two)
    }

    fn up_to(&self, end: usize) -> String {
        let (head, tail) = self.around();
        [head, &self.text[self.rows.start..end], tail].concat()
    }

    /// What stands before and behind the rows.
    pub(super) fn around(&self) -> (&'t str, &'t str) {
        (&self.text[..self.rows.start], &self.text[self.rows.end..])
    }
}

/// The pieces of a text that are not between others.
pub(super) struct Pieces<'t> {
    text: &'t str,
    pub(super) lexemes: Lexemes<'t>,
}

impl<'t> Pieces<'t> {
    /// The next one; `None` at the end, and where something does not end.
    pub(super) fn next(&mut self) -> Option<(Lexeme, &'t str)> {
        loop {
            match self.lexemes.take().ok()?? {
                (Lexeme::Space, _) => {}
                piece => return Some(piece),
            }
        }
    }

    /// Where the one ends that was taken last.
    pub(super) fn at(&self) -> usize {
        self.text.len() - self.lexemes.rest().len()
    }

    /// Goes on behind VALUES, which is not in parentheses; `None` where something else gives the rows, or has parameters.
    fn find_values(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            let (Lexeme::Other, word) = self.next()? else { return None };
            match word {
                "(" => open += 1,
                ")" => open = open.checked_sub(1)?,
                ";" => return None,
                _ if open > 0 => {}
                _ if word.eq_ignore_ascii_case("values") => return Some(()),
                _ if ["select", "default", "table", "with"].iter().any(|other| word.eq_ignore_ascii_case(other)) => {
                    return None;
                }
                _ => {}
            }
        }
    }

    /// Goes on to the end, from the piece that was taken last; `None` where another statement follows, or a parameter.
    fn find_end(&mut self, mut lexeme: Lexeme, mut piece: &'t str) -> Option<()> {
        loop {
            match lexeme {
                Lexeme::Parameter => return None,
                Lexeme::Other if piece == ";" => return self.next().is_none().then_some(()),
                _ => {}
            }
            match self.next() {
                Some(next) => (lexeme, piece) = next,
                None => return Some(()),
            }
        }
    }
}
