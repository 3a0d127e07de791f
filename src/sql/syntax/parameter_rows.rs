//! INSERTs of several rows that are written alike but for their parameters, as drivers and mappers send them: the statement is
//! planned with its first row, and the others follow that.

use std::ops::Range;

use super::lexemes::Lexeme;
use super::rows_in_text::{Pieces, RowsInText};

/// Fewer rows are as soon planned one by one.
const ROWS_MIN: usize = 8;

/// Such a statement: its parameters are counted through, row by row.
#[derive(Debug)]
pub(crate) struct ParameterRows<'t> {
    place: RowsInText<'t>,
    /// Parameters of a row.
    width: usize,
}

impl<'t> ParameterRows<'t> {
    /// `None` for any other text, and when the work is to stop.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        let (mut first, mut parameters, mut width) = (None, 0, 0);
        let place = RowsInText::taken(text, ROWS_MIN, |pieces| {
            let between: Vec<&str> = row(pieces, &mut parameters)?.into_iter().map(|range| &text[range]).collect();
            match &first {
                None => (first, width) = (Some(between), parameters),
                Some(first) if *first == between => {}
                Some(_) => return None,
            }
            Some(())
        })?;
        (width > 0).then_some(Self { place, width })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.place.count()
    }

    /// How many parameters a row has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The statement with its first row alone.
    pub(crate) fn template(&self) -> String {
        self.place.first_alone()
    }

    /// The statement with two of its rows: nothing else tells it from one with all of them, when values do not matter.
    pub(crate) fn shortened(&self) -> String {
        self.place.shortened()
    }
}

/// What stands between the parameters of a row, which begins behind its parenthesis. `None` where these are not the next ones.
fn row(pieces: &mut Pieces<'_>, parameters: &mut usize) -> Option<Vec<Range<usize>>> {
    let (mut between, mut from, mut open) = (Vec::new(), pieces.at(), 1_usize);
    while open > 0 {
        let (lexeme, piece) = pieces.next()?;
        match piece {
            _ if lexeme == Lexeme::Parameter => {
                *parameters += 1;
                if piece[1..].parse() != Ok(*parameters) {
                    return None;
                }
                between.push(from..pieces.at() - piece.len());
                from = pieces.at();
            }
            "(" => open += 1,
            ")" => open -= 1,
            _ => {}
        }
    }
    between.push(from..pieces.at());
    Some(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement of so many rows, in which each `?` is the next parameter.
    fn statement(row: &str, rows: usize, tail: &str) -> String {
        let mut number = 0;
        let mut numbered = |c: char| match c {
            '?' => {
                number += 1;
                format!("${number}")
            }
            other => other.to_string(),
        };
        let rows: Vec<String> = (0..rows).map(|_| row.chars().map(&mut numbered).collect()).collect();
        format!("INSERT INTO t (a, \"values\") VALUES {}{tail}", rows.join(", "))
    }

    #[test]
    fn rows_that_are_written_alike_are_found() {
        for row in ["(?, ?)", "( ?::int, ?::timestamp(3) WITH TIME ZONE)", "(DEFAULT, ?)", "(lower(?), 'a)' || ?, 1)"] {
            let text = statement(row, 300, " ON CONFLICT (a) DO NOTHING RETURNING a;");
            let rows = ParameterRows::of(&text).unwrap_or_else(|| panic!("{row}"));
            assert_eq!((rows.len(), rows.width()), (300, row.matches('?').count()), "{row}");
            assert_eq!(rows.template(), statement(row, 1, " ON CONFLICT (a) DO NOTHING RETURNING a;"), "{row}");
            assert_eq!(rows.shortened(), statement(row, 2, " ON CONFLICT (a) DO NOTHING RETURNING a;"), "{row}");
        }
    }

    #[test]
    fn all_else_is_planned_as_it_is() {
        let is_one = |text: &str| ParameterRows::of(text).is_some();
        assert!(is_one(&statement("(?)", ROWS_MIN, "")));
        assert!(!is_one(&statement("(?)", ROWS_MIN - 1, "")));
        assert!(!is_one(&statement("(1)", ROWS_MIN, "")), "no parameters");
        assert!(!is_one(&statement("(?)", ROWS_MIN, ", (1)")));
        assert!(!is_one(&statement("(?, ?)", ROWS_MIN, ", ($17, ($18))")));
        assert!(!is_one(&statement("(?)", ROWS_MIN, " RETURNING $1")));
        assert!(!is_one(&statement("(?)", ROWS_MIN, "; SELECT 1")));
        assert!(!is_one(&statement("(?)", ROWS_MIN, ", ($1)")), "a parameter comes again");
        assert!(!is_one(&format!("WITH x AS (SELECT 1) {}", statement("(?)", ROWS_MIN, ""))));
        let upside_down = statement("(?, ?)", ROWS_MIN, "").replace("$1, $2", "$2, $1");
        assert!(!is_one(&upside_down));
    }
}
