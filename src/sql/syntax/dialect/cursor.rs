//! DECLARE, FETCH, MOVE and CLOSE as commands.

use sqlparser::tokenizer::TokenWithSpan;

use crate::syntax::Statement;
use crate::syntax::dialect::words::{Read, Unexpected, Words};

/// A command about cursors.
#[derive(Debug, Clone)]
pub(crate) enum CursorCommand {
    Declare(Box<Declare>),
    Fetch(Fetch),
    /// One cursor, or all.
    Close(Option<String>),
}

/// DECLARE.
#[derive(Debug, Clone)]
pub(crate) struct Declare {
    pub name: String,
    /// Rows go out in the binary format, also in the simple protocol.
    pub binary: bool,
    /// SCROLL or NO SCROLL, where one is given.
    pub scroll: Option<bool>,
    pub hold: bool,
    pub query: Statement,
}

/// FETCH, or MOVE, which does the same without giving the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub name: String,
    pub direction: Direction,
    pub moves: bool,
}

/// Which rows, seen from where the cursor stands. `None` stands for ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward(Option<u64>),
    Backward(Option<u64>),
    /// The row of this number, from the end where it is negative.
    Absolute(i64),
    Relative(i64),
}

/// A command as far as words tell it.
#[derive(Debug)]
pub(crate) enum CursorSyntax<'a, 't> {
    /// DECLARE: what makes a [`Declare`] of the query whose tokens follow.
    Declare {
        name: String,
        options: Options,
        query: &'a [&'t TokenWithSpan],
    },
    Fetch(Fetch),
    Close(Option<String>),
}

/// The options of DECLARE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Options {
    binary: bool,
    scroll: Option<bool>,
    hold: bool,
}

impl Options {
    /// The command with its query.
    pub(crate) fn declare(self, name: String, query: Statement) -> Declare {
        Declare { name, binary: self.binary, scroll: self.scroll, hold: self.hold, query }
    }
}

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'a, 't>(tokens: &'a [&'t TokenWithSpan]) -> Option<Read<'t, CursorSyntax<'a, 't>>> {
    let mut words = Words::new(tokens);
    let first = words.take_word()?.value.to_ascii_uppercase();
    match first.as_str() {
        "DECLARE" => Some(declare(&mut words)),
        "FETCH" => Some(fetch(&mut words, false)),
        "MOVE" => Some(fetch(&mut words, true)),
        "CLOSE" => Some(close(&mut words)),
        _ => None,
    }
}

fn declare<'a, 't>(words: &mut Words<'a, 't>) -> Read<'t, CursorSyntax<'a, 't>> {
    let name = words.name()?;
    let mut options = Options::default();
    loop {
        if words.eat("BINARY") {
            options.binary = true;
        } else if words.eat("SCROLL") {
            options.scroll = Some(true);
        } else if words.eat("NO") {
            words.expect("SCROLL")?;
            options.scroll = Some(false);
        } else if !(words.eat("INSENSITIVE") || words.eat("ASENSITIVE")) {
            break;
        }
    }
    words.expect("CURSOR")?;
    if words.eat("WITH") {
        words.expect("HOLD")?;
        options.hold = true;
    } else if words.eat("WITHOUT") {
        words.expect("HOLD")?;
    }
    words.expect("FOR")?;
    let query = words.rest();
    if query.is_empty() { Err(Unexpected(None)) } else { Ok(CursorSyntax::Declare { name, options, query }) }
}

fn fetch<'a, 't>(words: &mut Words<'a, 't>, moves: bool) -> Read<'t, CursorSyntax<'a, 't>> {
    let direction = direction(words)?;
    if !words.eat("FROM") {
        words.eat("IN");
    }
    let name = words.name()?;
    words.end()?;
    Ok(CursorSyntax::Fetch(Fetch { name, direction, moves }))
}

fn direction<'t>(words: &mut Words<'_, 't>) -> Read<'t, Direction> {
    if let Some(count) = words.integer()? {
        return Ok(forward(count));
    }
    // A cursor may have the name of a direction.
    if words.rest().len() == 1 {
        return Ok(Direction::Forward(Some(1)));
    }
    Ok(if words.eat("NEXT") {
        Direction::Forward(Some(1))
    } else if words.eat("PRIOR") {
        Direction::Backward(Some(1))
    } else if words.eat("FIRST") {
        Direction::Absolute(1)
    } else if words.eat("LAST") {
        Direction::Absolute(-1)
    } else if words.eat("ABSOLUTE") {
        Direction::Absolute(number(words)?)
    } else if words.eat("RELATIVE") {
        Direction::Relative(number(words)?)
    } else if words.eat("ALL") {
        Direction::Forward(None)
    } else if words.eat("FORWARD") {
        if words.eat("ALL") { Direction::Forward(None) } else { forward(words.integer()?.unwrap_or(1)) }
    } else if words.eat("BACKWARD") {
        if words.eat("ALL") {
            Direction::Backward(None)
        } else {
            forward(words.integer()?.unwrap_or(1).saturating_neg())
        }
    } else {
        Direction::Forward(Some(1))
    })
}

fn number<'t>(words: &mut Words<'_, 't>) -> Read<'t, i64> {
    words.integer()?.ok_or_else(|| Unexpected(words.peek()))
}

/// So many rows forward, backward where they are negative; none is the row where the cursor stands.
fn forward(count: i64) -> Direction {
    match count {
        0 => Direction::Relative(0),
        1.. => Direction::Forward(Some(count.unsigned_abs())),
        _ => Direction::Backward(Some(count.unsigned_abs())),
    }
}

fn close<'a, 't>(words: &mut Words<'a, 't>) -> Read<'t, CursorSyntax<'a, 't>> {
    let name = if words.eat("ALL") { None } else { Some(words.name()?) };
    words.end()?;
    Ok(CursorSyntax::Close(name))
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::{Token, Tokenizer};

    use super::*;

    /// What is read, without the query of a DECLARE, or the token at which it makes no sense.
    fn command<T>(sql: &str, look: impl Fn(CursorSyntax<'_, '_>) -> T) -> Result<T, String> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        let tokens: Vec<_> = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
        let read = read(&tokens).unwrap_or_else(|| panic!("{sql}"));
        read.map(look).map_err(|at| at.0.map_or(String::new(), |token| token.token.to_string()))
    }

    fn direction_of(sql: &str) -> Result<Direction, String> {
        command(sql, |read| match read {
            CursorSyntax::Fetch(Fetch { name, direction, .. }) if name == "c" => direction,
            other => panic!("{sql}: {other:?}"),
        })
    }

    #[test]
    fn directions_have_many_forms() {
        use Direction as D;
        for (sql, direction) in [
            ("fetch c", D::Forward(Some(1))),
            ("FETCH FROM c", D::Forward(Some(1))),
            ("fetch next in c", D::Forward(Some(1))),
            ("fetch 10 c", D::Forward(Some(10))),
            ("fetch -2 from c", D::Backward(Some(2))),
            ("fetch +2 from c", D::Forward(Some(2))),
            ("fetch 0 c", D::Relative(0)),
            ("fetch all c", D::Forward(None)),
            ("fetch forward from c", D::Forward(Some(1))),
            ("fetch forward 5 from c", D::Forward(Some(5))),
            ("fetch forward all from c", D::Forward(None)),
            ("fetch backward c", D::Backward(Some(1))),
            ("fetch backward -3 in c", D::Forward(Some(3))),
            ("fetch backward all in c", D::Backward(None)),
            ("fetch prior c", D::Backward(Some(1))),
            ("fetch first c", D::Absolute(1)),
            ("move last in c", D::Absolute(-1)),
            ("move absolute -5 c", D::Absolute(-5)),
            ("fetch relative 0 from \"c\"", D::Relative(0)),
        ] {
            assert_eq!(direction_of(sql), Ok(direction), "{sql}");
        }
        let named = command("fetch next", |read| match read {
            CursorSyntax::Fetch(fetch) => fetch.name,
            other => panic!("{other:?}"),
        });
        assert_eq!(named, Ok("next".to_owned()));
    }

    #[test]
    fn options_come_in_any_order() {
        let options = |sql: &str| {
            command(sql, |read| match read {
                CursorSyntax::Declare { name, options, query } => (name, options, query.len()),
                other => panic!("{other:?}"),
            })
        };
        let read = options("declare c no scroll binary insensitive cursor without hold for select 1");
        assert_eq!(read, Ok(("c".to_owned(), Options { binary: true, scroll: Some(false), hold: false }, 2)));
        let read = options("DECLARE \"C\" SCROLL CURSOR WITH HOLD FOR TABLE t");
        assert_eq!(read, Ok(("C".to_owned(), Options { binary: false, scroll: Some(true), hold: true }, 2)));
        assert_eq!(options("declare c cursor for").unwrap_err(), "");
        assert_eq!(options("declare c cursor with select 1").unwrap_err(), "select");
        assert_eq!(direction_of("fetch absolute c").unwrap_err(), "c");
        assert_eq!(direction_of("fetch 1 c c").unwrap_err(), "c");
    }
}
