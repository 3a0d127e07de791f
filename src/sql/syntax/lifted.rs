//! A text with parameters in the places of its constants: statements that differ in nothing else have the same.
//!
//! Only constants are taken out that mean the same as a parameter there: what the rows of a VALUES list hold, what a WHERE compares
//! with or looks for in a list, with the sign of a number, what SET gives to a column, and integers that it adds or multiplies. One
//! may have a cast behind it. They are left where anything else stands beside them, so that an operator or a function finds the
//! constant itself. Texts in which anything is in doubt are not lifted at all.

use std::borrow::Cow;
use std::fmt::Write;

use tablegate_types::sql_type::SqlType;

use crate::syntax::{Lexeme, Lexemes};

/// Longer texts are parsed as they are.
const TEXT_BYTES: usize = 64 << 10;

/// A text without constants, and these.
#[derive(Debug, PartialEq)]
pub(crate) struct Lifted<'t> {
    pub text: String,
    /// In the places of `$1`, `$2`, ...
    pub constants: Vec<Constant<'t>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant<'t> {
    Int4(i32),
    Int8(i64),
    /// A number with digits behind the point.
    Decimal(&'t str),
    /// A string of no type yet.
    Text(Cow<'t, str>),
    /// The same, given to a column, of whatever type that is.
    Assigned(Cow<'t, str>),
}

impl Constant<'_> {
    /// The type that it has as a literal.
    pub(crate) fn sql_type(&self) -> SqlType {
        match self {
            Constant::Int4(_) => SqlType::Int4,
            Constant::Int8(_) => SqlType::Int8,
            Constant::Decimal(_) | Constant::Text(_) | Constant::Assigned(_) => SqlType::Unknown,
        }
    }

    /// What tells texts apart that differ in the kinds of their constants.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Constant::Int4(_) => "i",
            Constant::Int8(_) => "b",
            Constant::Decimal(_) => "d",
            Constant::Text(_) | Constant::Assigned(_) => "t",
        }
    }

    /// Whether it means the same as a parameter of this type, which was found for it. What is compared with a type that has a length
    /// or a precision is read without them there.
    pub(crate) fn is_same_as(&self, parameter: &SqlType, is_inserted: bool) -> bool {
        use SqlType as T;
        match self {
            Constant::Int4(_) | Constant::Int8(_) => *parameter == self.sql_type(),
            Constant::Decimal(_) => matches!(&*parameter.bare(), T::Numeric(_) | T::Float4 | T::Float8),
            Constant::Assigned(_) => true,
            Constant::Text(_) if is_inserted => true,
            Constant::Text(_) => matches!(
                parameter,
                T::Unknown
                    | T::Text
                    | T::Varchar(None)
                    | T::Int2
                    | T::Int4
                    | T::Int8
                    | T::Bool
                    | T::Float8
                    | T::Uuid
                    | T::Date
                    | T::Timestamp
                    | T::Timestamptz
            ),
        }
    }
}

/// Types whose casts take a constant as they take a parameter.
const CASTS: &[&str] = &[
    "bigint",
    "bool",
    "boolean",
    "date",
    "float8",
    "int",
    "int4",
    "int8",
    "integer",
    "text",
    "timestamp",
    "timestamptz",
    "uuid",
];

/// What the statement does, which says where its constants are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// SELECT, UPDATE, DELETE: those behind WHERE.
    Finds,
    /// INSERT: those in rows.
    Inserts,
}

/// What an opening parenthesis holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// A row of VALUES.
    Row,
    /// The items of IN.
    List,
    Other,
}

/// What stands before a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A parenthesis or a comma.
    Edge,
    /// A comparison.
    Comparison,
    /// What gives a column of SET its value.
    Assignment,
    /// A sum, difference or product.
    Arithmetic,
    Values,
    In,
    Other,
}

/// The text without its constants; `None` for one that is not a single SELECT, INSERT, UPDATE or DELETE, or that has
/// parameters of its own.
pub(crate) fn lifted(text: &str) -> Option<Lifted<'_>> {
    let verb = verb(text)?;
    if text.len() > TEXT_BYTES {
        return None;
    }
    let mut lifting = Lifting::new(verb, text.len());
    let mut lexemes = Lexemes::new(text);
    while let Some((lexeme, piece)) = lexemes.take().ok()? {
        lifting.take(lexeme, piece, lexemes.rest())?;
    }
    lifting.settle(true);
    Some(Lifted { text: lifting.out, constants: lifting.constants })
}

fn verb(text: &str) -> Option<Verb> {
    let word = text.trim_start().get(..6)?;
    let is = |verb: &str| word.eq_ignore_ascii_case(verb);
    match () {
        () if is("insert") => Some(Verb::Inserts),
        () if is("select") || is("update") || is("delete") => Some(Verb::Finds),
        () => None,
    }
}

struct Lifting<'t> {
    verb: Verb,
    out: String,
    constants: Vec<Constant<'t>>,
    open: Vec<Inside>,
    before: Before,
    /// Operator characters so far, with nothing between them.
    operator: String,
    /// A minus sign that is not written yet: a number may follow it.
    has_sign: bool,
    /// A constant that may be lifted, if what follows lets it.
    pending: Option<Pending<'t>>,
    /// White space that is not written yet.
    space: bool,
    is_behind_where: bool,
    is_behind_set: bool,
    /// A column of SET has been named, or comes.
    is_to_assign: bool,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
struct Pending<'t> {
    piece: &'t str,
    /// It has the sign before it.
    is_negative: bool,
    /// What it would be given to, or added to.
    before: Before,
    /// A cast follows that takes it.
    is_cast: bool,
}

impl<'t> Lifting<'t> {
    fn new(verb: Verb, bytes: usize) -> Self {
        Self {
            verb,
            out: String::with_capacity(bytes),
            constants: Vec::new(),
            open: Vec::new(),
            before: Before::Other,
            operator: String::new(),
            has_sign: false,
            pending: None,
            space: false,
            is_behind_where: false,
            is_behind_set: false,
            is_to_assign: false,
            is_over: false,
        }
    }

    /// Takes a piece with what is behind it; `None` when the text is not to be lifted.
    fn take(&mut self, lexeme: Lexeme, piece: &'t str, behind: &str) -> Option<()> {
        let has_sign = std::mem::take(&mut self.has_sign);
        if has_sign && lexeme != Lexeme::Constant {
            self.write("-");
            self.operator.push('-');
        }
        match lexeme {
            Lexeme::Space => {
                self.end_operator();
                self.space = !self.out.is_empty();
                return Some(());
            }
            Lexeme::Parameter => return None,
            _ if self.is_over => return None,
            Lexeme::Constant => {
                self.end_operator();
                self.settle(false);
                if self.is_in_place() {
                    self.write("");
                    let is_compared = self.verb == Verb::Finds && self.before == Before::Edge;
                    let before = if is_compared { Before::Comparison } else { self.before };
                    let is_cast = begins_cast(behind);
                    self.pending = Some(Pending { piece, is_negative: has_sign, before, is_cast });
                } else {
                    self.write(piece);
                }
                self.before = Before::Other;
            }
            Lexeme::Other => self.take_other(piece)?,
        }
        Some(())
    }

    fn take_other(&mut self, piece: &'t str) -> Option<()> {
        if is_operator(piece) {
            self.settle(self.pending.is_some_and(|pending| pending.is_cast));
            self.has_sign = piece == "-" && self.operator.is_empty() && self.is_in_place();
            if self.has_sign {
                return Some(());
            }
            self.write(piece);
            self.operator.push_str(piece);
            return Some(());
        }
        self.end_operator();
        match piece {
            ";" => {
                self.settle(true);
                self.is_over = true;
                return Some(());
            }
            "(" => {
                self.settle(false);
                let inside = match self.before {
                    Before::Values => Inside::Row,
                    Before::In => Inside::List,
                    _ => Inside::Other,
                };
                self.open.push(inside);
                self.before = Before::Edge;
            }
            ")" => {
                self.settle(true);
                self.before = match self.open.pop()? {
                    // Another row may follow.
                    Inside::Row => Before::Values,
                    Inside::List | Inside::Other => Before::Other,
                };
            }
            "," => {
                self.settle(true);
                self.is_to_assign = self.is_behind_set && self.open.is_empty();
                self.before = if self.before == Before::Values { Before::Values } else { Before::Edge };
            }
            word => {
                let is = |other: &str| word.eq_ignore_ascii_case(other);
                let ends = ["and", "or", "order", "limit", "returning", "where", "from"];
                self.settle(ends.iter().any(|word| is(word)));
                if self.open.is_empty() {
                    self.is_behind_where |= is("where");
                    if is("set") {
                        (self.is_behind_set, self.is_to_assign) = (true, true);
                    } else if ends.iter().any(|word| is(word)) {
                        self.is_behind_set = false;
                    }
                }
                self.before = match () {
                    () if is("values") => Before::Values,
                    () if is("in") => Before::In,
                    () => Before::Other,
                };
            }
        }
        self.write(piece);
        Some(())
    }

    /// Whether a constant here would mean the same as a parameter, as far as what precedes it says.
    fn is_in_place(&self) -> bool {
        match (self.verb, self.before, self.open.last()) {
            (_, Before::Assignment | Before::Arithmetic, None) => self.is_behind_set,
            (Verb::Inserts, Before::Edge, Some(Inside::Row)) => self.open.len() == 1,
            (Verb::Finds, Before::Comparison, _) | (Verb::Finds, Before::Edge, Some(Inside::List)) => {
                self.is_behind_where
            }
            _ => false,
        }
    }

    /// An operator has ended, if there was one.
    fn end_operator(&mut self) {
        if !self.operator.is_empty() {
            self.before = match self.operator.as_str() {
                "=" if std::mem::take(&mut self.is_to_assign) => Before::Assignment,
                "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" => Before::Comparison,
                "+" | "-" | "*" => Before::Arithmetic,
                _ => Before::Other,
            };
            self.operator.clear();
        }
    }

    /// Decides about the constant that waits for what follows it.
    fn settle(&mut self, may_be_lifted: bool) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { piece, is_negative, .. } = pending;
        match constant(&pending).filter(|_| may_be_lifted) {
            Some(constant) => {
                self.constants.push(constant);
                // Writing to memory does not fail.
                let _ = write!(self.out, "${}", self.constants.len());
            }
            None => {
                self.out.push_str(if is_negative { "-" } else { "" });
                self.out.push_str(piece);
            }
        }
    }

    fn write(&mut self, piece: &str) {
        if std::mem::take(&mut self.space) {
            self.out.push(' ');
        }
        self.out.push_str(piece);
    }
}

fn is_operator(piece: &str) -> bool {
    piece.len() == 1 && piece.contains(|c| "+-*/<>=~!@#%^&|`?:.[]".contains(c))
}

/// Whether the text begins with a cast to one of the [`CASTS`].
fn begins_cast(text: &str) -> bool {
    let Some(cast) = text.strip_prefix("::") else { return false };
    let end = cast.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(cast.len());
    let (name, behind) = cast.split_at(end);
    CASTS.iter().any(|known| name.eq_ignore_ascii_case(known)) && !behind.trim_start().starts_with(['(', '['])
}

/// What the constant is, if a parameter can stand for it. The sign is not a part of what makes a number int4 or int8.
fn constant<'t>(pending: &Pending<'t>) -> Option<Constant<'t>> {
    let Pending { piece, is_negative, before, is_cast } = *pending;
    // The cast would be of the number without its sign.
    if is_cast && is_negative {
        return None;
    }
    if let Some(quoted) = piece.strip_prefix('\'').filter(|_| !is_negative) {
        let inner = quoted.strip_suffix('\'')?;
        let text = if inner.contains('\'') { inner.replace("''", "'").into() } else { Cow::Borrowed(inner) };
        return match before {
            Before::Arithmetic => None,
            Before::Assignment if !is_cast => Some(Constant::Assigned(text)),
            _ => Some(Constant::Text(text)),
        };
    }
    if !piece.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_given = matches!(before, Before::Assignment | Before::Edge);
        let is_plain = piece.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        return (is_given && is_plain && !is_negative && !is_cast).then_some(Constant::Decimal(piece));
    }
    let narrow = || piece.parse().ok().map(|n: i32| Constant::Int4(if is_negative { -n } else { n }));
    let wide = || piece.parse().ok().map(|n: i64| Constant::Int8(if is_negative { -n } else { n }));
    narrow().or_else(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift(text: &str) -> Option<(String, usize)> {
        lifted(text).map(|lifted| (lifted.text, lifted.constants.len()))
    }

    fn as_it_is(text: &str) {
        assert_eq!(lift(text), Some((text.to_owned(), 0)));
    }

    #[test]
    fn constants_that_are_compared_or_inserted_are_lifted() {
        for (text, expected) in [
            ("SELECT a FROM t WHERE a = 1 AND b='x''y' ;", "SELECT a FROM t WHERE a = $1 AND b=$2"),
            (
                "select 5 from t where a in (1,  2) or 3 <= b limit 4",
                "select 5 from t where a in ($1, $2) or 3 <= b limit 4",
            ),
            (
                "INSERT INTO t VALUES (1, 'a', -2), (1+1, 3, f('x'))",
                "INSERT INTO t VALUES ($1, $2, $3), (1+1, $4, f('x'))",
            ),
            ("SELECT a FROM t WHERE a = -1 AND b IN (-2, 3)", "SELECT a FROM t WHERE a = $1 AND b IN ($2, $3)"),
            (
                "INSERT INTO t (a) VALUES (4) ON CONFLICT (a) DO UPDATE SET b = 5",
                "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2",
            ),
            ("UPDATE t SET n = 5 WHERE (a >= 99999999999)", "UPDATE t SET n = $1 WHERE (a >= $2)"),
            (
                "UPDATE t SET n = n + 5, b='x', c = -2 , d = 1.50, e = f * 2 - 1 WHERE a = 3",
                "UPDATE t SET n = n + $1, b=$2, c = $3 , d = $4, e = f * 2 - $5 WHERE a = $6",
            ),
            (
                "INSERT INTO t VALUES (1.5, '2024-01-01'::timestamptz, 'a'::varchar(3), 7::bigint, '{1}'::int[])",
                "INSERT INTO t VALUES ($1, $2::timestamptz, 'a'::varchar(3), $3::bigint, '{1}'::int[])",
            ),
            ("SELECT a FROM t WHERE a = 1::text", "SELECT a FROM t WHERE a = $1::text"),
            ("DELETE /* all */ FROM t\nWHERE a <> 1 RETURNING 2", "DELETE FROM t WHERE a <> $1 RETURNING 2"),
        ] {
            assert_eq!(lift(text).map(|(lifted, _)| lifted).as_deref(), Some(expected));
        }
        let constants = lifted("SELECT 1 FROM t WHERE a = 7 AND b = 3000000000 AND c = 'it''s'").unwrap().constants;
        assert_eq!(constants, [Constant::Int4(7), Constant::Int8(3_000_000_000), Constant::Text("it's".into())]);
        let constants = lifted("INSERT INTO t VALUES (-7, -2147483648, -2147483647)").unwrap().constants;
        assert_eq!(constants, [Constant::Int4(-7), Constant::Int8(-2_147_483_648), Constant::Int4(-2_147_483_647)]);
    }

    #[test]
    fn others_stay() {
        for text in [
            "SELECT a = 1, 2 FROM t ORDER BY 1",
            "SELECT a FROM t WHERE a = 1 + 1",
            "UPDATE t SET a = b = 1, c = 2 + d, e = e / 3, f = 'x' || f, g = g || 'x', h = (h + 1), i = -1.5, (j, k) = (1, 2)",
            "UPDATE t SET a = a + 1.5, b = 1e3, c = date '2024-01-01', d = CASE WHEN e = 1 THEN 2 END, f = g - '1'",
            "SELECT a FROM t WHERE a =-1 AND b = - 2 AND d = -'1' AND e = -1.5 AND f = -g AND h = - -1",
            "SELECT a FROM t WHERE a = -1::text AND b = -2 * 3 AND 5 - 1 = b AND c IN (-(1), 2 - 3)",
            "SELECT a FROM t WHERE a -> 'x' = b",
            "SELECT a FROM t WHERE a = 1.5 AND b = E'x' AND c = x'ff'",
            "SELECT a FROM t WHERE left(a, 1) = b",
            "SELECT a FROM t WHERE a = 'x' 'y'",
            "SELECT a FROM t WHERE a = date '2020-01-01'",
            "SELECT a FROM t WHERE b BETWEEN 1 AND 2 GROUP BY a, 3",
            "INSERT INTO t SELECT 1, 2",
            "INSERT INTO t VALUES ((1), (SELECT 2 WHERE a = 3))",
        ] {
            as_it_is(text);
        }
    }

    #[test]
    fn what_is_in_doubt_is_left_alone() {
        for text in
            ["SELECT $1", "SELECT 1; SELECT 2", "SELECT 'a", "BEGIN", "WITH a AS (SELECT 1) SELECT 2", "SELECT a)"]
        {
            assert_eq!(lift(text), None, "{text}");
        }
    }
}
