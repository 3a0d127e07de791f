//! INSERTs of many rows that are constants, as loaders send them: cut out of the text, so that no row is parsed or bound on its own.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use super::lexemes::Lexeme;
use super::rows_in_text::{Pieces, RowsInText};

/// Fewer rows are parsed with their statement: there is little to gain, and one entity group transaction takes them.
const ROWS_MIN: usize = 101;

/// The rows of such a statement, and where they stand in it.
#[derive(Debug)]
pub(crate) struct ConstantRows<'t> {
    place: RowsInText<'t>,
    /// Values of a row.
    width: usize,
    /// Row by row.
    cells: Vec<Cell>,
}

/// Where a value stands, without its cast.
#[derive(Debug, Clone, Copy)]
struct Cell {
    from: u32,
    to: u32,
    kind: Kind,
    /// One of the [`CASTS`].
    cast: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Bool,
    Integer,
    Decimal,
    Quoted,
    /// With backslashes.
    Escaped,
}

/// A value, and the type to which it is cast where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConstantCell<'t> {
    pub value: CellValue<'t>,
    pub cast: Option<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CellValue<'t> {
    Null,
    Bool(&'t str),
    /// Digits, perhaps behind a minus.
    Integer(&'t str),
    /// The same with a point or an exponent.
    Decimal(&'t str),
    Text(Cow<'t, str>),
}

/// Types of one word, as drivers write them behind values.
const CASTS: &[&str] = &[
    "bigint",
    "bool",
    "boolean",
    "bytea",
    "date",
    "float",
    "float4",
    "float8",
    "int",
    "int2",
    "int4",
    "int8",
    "integer",
    "interval",
    "json",
    "jsonb",
    "numeric",
    "real",
    "smallint",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "uuid",
    "varchar",
];

impl<'t> ConstantRows<'t> {
    /// Whether it is worth a look.
    pub(crate) fn may_be_in(text: &str) -> bool {
        RowsInText::may_be_in(text, ROWS_MIN)
    }

    /// Those of a text that is one INSERT of more than a hundred rows, of one width, whose values are numbers, strings, NULL, true
    /// and false, each perhaps cast to a type; `None` for any other text, and when the work is to stop.
    pub(crate) fn of(text: &'t str) -> Option<Self> {
        if u32::try_from(text.len()).is_err() {
            return None;
        }
        let (mut cells, mut width) = (Vec::new(), None);
        let place = RowsInText::taken(text, ROWS_MIN, |pieces| {
            let before = cells.len();
            loop {
                let (cell, behind) = pieces.cell()?;
                cells.push(cell);
                match behind {
                    "," => {}
                    ")" => break,
                    _ => return None,
                }
            }
            let length = cells.len() - before;
            (length == *width.get_or_insert(length)).then_some(())
        })?;
        Some(Self { place, width: width?, cells })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.place.count()
    }

    /// The statement with one row, of parameters.
    pub(crate) fn template(&self) -> String {
        let (head, tail) = self.place.around();
        let mut template = String::with_capacity(head.len() + tail.len() + 6 * self.width);
        template.push_str(head);
        for number in 1..=self.width {
            // Writing to memory does not fail.
            let _ = write!(template, "{}${number}", if number == 1 { "(" } else { ", " });
        }
        template.push(')');
        template.push_str(tail);
        template
    }

    /// The statement with two of its rows: nothing else tells it from one with all of them, when values do not matter.
    pub(crate) fn shortened(&self) -> String {
        self.place.shortened()
    }

    /// The values of a column in some of the rows, from the first on; `None` for one whose escapes are not plain.
    pub(crate) fn column(
        &self,
        column: usize,
        rows: Range<usize>,
    ) -> impl Iterator<Item = Option<ConstantCell<'t>>> + '_ {
        rows.map(move |row| self.cells[row * self.width + column].read(self.place.text))
    }
}

impl Cell {
    fn read(self, text: &str) -> Option<ConstantCell<'_>> {
        let piece = text.get(self.from as usize..self.to as usize)?;
        let value = match self.kind {
            Kind::Null => CellValue::Null,
            Kind::Bool => CellValue::Bool(piece),
            Kind::Integer => CellValue::Integer(piece),
            Kind::Decimal => CellValue::Decimal(piece),
            Kind::Quoted => CellValue::Text(unquoted(piece)?),
            Kind::Escaped => CellValue::Text(unescaped(unquoted(piece.get(1..)?)?)?),
        };
        Some(ConstantCell { value, cast: self.cast.map(|cast| CASTS[usize::from(cast)]) })
    }
}

/// What is between the quotes.
fn unquoted(piece: &str) -> Option<Cow<'_, str>> {
    let inner = piece.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(if inner.contains('\'') { inner.replace("''", "'").into() } else { Cow::Borrowed(inner) })
}

/// With backslashes that stand for themselves, as drivers double them; `None` where there are other escapes.
fn unescaped(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if !text.contains('\\') {
        return Some(text);
    }
    let plain = text.replace("\\\\", "\0");
    (!plain.contains('\\')).then(|| plain.replace('\0', "\\").into())
}

impl<'t> Pieces<'t> {
    /// The next value, and what is behind it.
    fn cell(&mut self) -> Option<(Cell, &'t str)> {
        let (mut lexeme, mut piece) = self.next()?;
        let mut from = self.at() - piece.len();
        let is_negative = piece == "-";
        if is_negative {
            (lexeme, piece) = self.lexemes.take().ok()??;
        }
        let kind = kind(lexeme, piece)?;
        if is_negative && !matches!(kind, Kind::Integer | Kind::Decimal) {
            return None;
        }
        let to = self.at();
        let (_, mut behind) = self.next()?;
        let mut cast = None;
        if behind == ":" {
            // The cast would be of the number without its sign.
            let (Lexeme::Other, ":") = self.lexemes.take().ok()?? else { return None };
            let (Lexeme::Other, name) = self.next().filter(|_| !is_negative)? else { return None };
            let known = CASTS.iter().position(|known| name.eq_ignore_ascii_case(known))?;
            cast = Some(u8::try_from(known).ok()?);
            (_, behind) = self.next()?;
        }
        // There is no negative zero among numbers that are written so.
        if is_negative && !piece.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
            from += 1;
        }
        Some((Cell { from: u32::try_from(from).ok()?, to: u32::try_from(to).ok()?, kind, cast }, behind))
    }
}

/// What a piece is, if it is a value.
fn kind(lexeme: Lexeme, piece: &str) -> Option<Kind> {
    if lexeme == Lexeme::Other {
        let is = |word: &str| piece.eq_ignore_ascii_case(word);
        return match () {
            () if is("null") => Some(Kind::Null),
            () if is("true") || is("false") => Some(Kind::Bool),
            () => None,
        };
    }
    let all = |belongs: fn(u8) -> bool| piece.bytes().all(belongs);
    match piece.as_bytes().first()? {
        _ if lexeme != Lexeme::Constant => None,
        b'\'' => Some(Kind::Quoted),
        b'E' | b'e' => Some(Kind::Escaped),
        b'0'..=b'9' | b'.' if all(|byte| byte.is_ascii_digit()) => Some(Kind::Integer),
        b'0'..=b'9' | b'.' if all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte)) => Some(Kind::Decimal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement of so many rows.
    fn statement(row: &str, rows: usize, tail: &str) -> String {
        format!("INSERT INTO t (a, \"values\") VALUES {}{tail}", vec![row; rows].join(", "))
    }

    fn cells(row: &str) -> Option<Vec<Option<ConstantCell<'static>>>> {
        let text: &'static str = Box::leak(statement(row, ROWS_MIN, "").into_boxed_str());
        let rows = ConstantRows::of(text)?;
        Some((0..rows.width).flat_map(|column| rows.column(column, 100..101)).collect())
    }

    #[test]
    fn values_are_found_with_their_casts() {
        use CellValue as V;
        let found = cells(" ( 1,-2.5e3 , NULL::date, TRUE, 'it''s'::TEXT,E'a\\\\b', -0, .5, '' ) /* , */").unwrap();
        let expected = [
            (V::Integer("1"), None),
            (V::Decimal("-2.5e3"), None),
            (V::Null, Some("date")),
            (V::Bool("TRUE"), None),
            (V::Text("it's".into()), Some("text")),
            (V::Text("a\\b".into()), None),
            (V::Integer("0"), None),
            (V::Decimal(".5"), None),
            (V::Text("".into()), None),
        ];
        let expected = expected.map(|(value, cast)| Some(ConstantCell { value, cast }));
        assert_eq!(found, expected);
        assert_eq!(cells(r"(E'a\n')"), Some(vec![None]), "it is not plain");
    }

    #[test]
    fn all_else_is_parsed() {
        for row in [
            "(1 + 1)",
            "(f(1))",
            "(DEFAULT)",
            "($1)",
            "(- 1)",
            "(-1::int)",
            "(-'1')",
            "('1'::varchar(3))",
            "('{}'::int[])",
            "('a'::mood)",
            "('a' COLLATE \"C\")",
            "(0x1f)",
            "(1_000)",
            "(B'1')",
            "((1))",
            "()",
            "1",
        ] {
            assert_eq!(cells(row), None, "{row}");
        }
        let rows = |text: &str| ConstantRows::of(text).map(|rows| rows.len());
        assert_eq!(rows(&statement("(1)", ROWS_MIN - 1, "")), None);
        assert_eq!(rows(&statement("(1)", ROWS_MIN, ", (1, 2)")), None);
        assert_eq!(rows(&statement("(1)", ROWS_MIN, "; SELECT 1")), None);
        assert_eq!(rows(&statement("(1)", ROWS_MIN, " RETURNING $1")), None);
        assert_eq!(rows(&statement("(1)", ROWS_MIN, " RETURNING 'open")), None);
        assert_eq!(rows(&format!("{};{}", statement("(1)", 1, ""), statement("(1)", ROWS_MIN, ""))), None);
        assert_eq!(rows(&statement("(1)", ROWS_MIN, ",")), None);
        for tail in ["", ";", " ; -- end", " ON CONFLICT (a) DO UPDATE SET a = 1 RETURNING (a);"] {
            assert_eq!(rows(&statement("(1)", ROWS_MIN, tail)), Some(ROWS_MIN), "{tail}");
        }
    }

    #[test]
    fn the_rest_is_kept_as_it_is_written() {
        let text = statement("(1, 'x')", 200, " RETURNING a");
        let rows = ConstantRows::of(&text).unwrap();
        assert_eq!(rows.template(), "INSERT INTO t (a, \"values\") VALUES ($1, $2) RETURNING a");
        assert_eq!(rows.shortened(), statement("(1, 'x')", 2, " RETURNING a"));
    }
}
