//! CREATE SEQUENCE, ALTER SEQUENCE and the options of identity columns, read with sqlparser's own parser.
//!
//! sqlparser wants the options in one order and does not know all of them; PostgreSQL takes them in any order, and
//! pg_dump writes them in another.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_bind::QualifiedName;

use crate::syntax::TypeName;

/// What is said of an option that is given twice.
pub(crate) const CONFLICTING: &str = "conflicting or redundant options";

#[derive(Debug, Clone)]
pub(crate) struct CreateSequence {
    pub name: QualifiedName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub options: GivenOptions,
}

#[derive(Debug, Clone)]
pub(crate) struct AlterSequence {
    pub name: QualifiedName,
    pub if_exists: bool,
    /// RENAME TO, which stands alone.
    pub rename: Option<QualifiedName>,
    pub options: GivenOptions,
}

/// A statement about a sequence.
pub(crate) enum SequenceCommand {
    Create(CreateSequence),
    Alter(AlterSequence),
    /// A form of either that is not done, by its name.
    Refused(&'static str),
}

/// The options that were given; numbers as they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GivenOptions {
    pub data_type: Option<TypeName>,
    pub increment: Option<String>,
    /// `Some(None)` is NO MINVALUE.
    pub minimum: Option<Option<String>>,
    pub maximum: Option<Option<String>>,
    pub start: Option<String>,
    /// `Some(None)` is RESTART without a value.
    pub restart: Option<Option<String>>,
    pub cache: Option<String>,
    pub cycle: Option<bool>,
    /// `Some(None)` is OWNED BY NONE.
    pub owner: Option<Option<QualifiedName>>,
    /// SEQUENCE NAME of an identity column.
    pub name: Option<QualifiedName>,
}

/// Reads a statement about a sequence; `None` when it is about something else.
pub(crate) fn parse_command(parser: &mut Parser<'_>) -> Result<Option<SequenceCommand>, ParserError> {
    use Keyword::{ALTER, CREATE, EXISTS, IF, NOT, SEQUENCE, TEMP, TEMPORARY, UNLOGGED};
    let temporary =
        parser.parse_keywords(&[CREATE, TEMP, SEQUENCE]) || parser.parse_keywords(&[CREATE, TEMPORARY, SEQUENCE]);
    // What is not logged may be lost in a crash; here nothing is, and nothing has to be.
    if temporary || parser.parse_keywords(&[CREATE, SEQUENCE]) || parser.parse_keywords(&[CREATE, UNLOGGED, SEQUENCE]) {
        let if_not_exists = parser.parse_keywords(&[IF, NOT, EXISTS]);
        let name = object_name(parser)?;
        let options = GivenOptions::parse(parser)?;
        return Ok(Some(SequenceCommand::Create(CreateSequence { name, temporary, if_not_exists, options })));
    }
    if !parser.parse_keywords(&[ALTER, SEQUENCE]) {
        return Ok(None);
    }
    let if_exists = parser.parse_keywords(&[IF, EXISTS]);
    let name = object_name(parser)?;
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        let (rename, options) = (Some(object_name(parser)?), GivenOptions::default());
        return Ok(Some(SequenceCommand::Alter(AlterSequence { name, if_exists, rename, options })));
    }
    if parser.parse_keyword(Keyword::SET) {
        return refuse(parser, "ALTER SEQUENCE ... SET");
    }
    let options = GivenOptions::parse(parser)?;
    if options == GivenOptions::default() {
        return parser.expected("an option of the sequence", parser.peek_token());
    }
    Ok(Some(SequenceCommand::Alter(AlterSequence { name, if_exists, rename: None, options })))
}

fn refuse(parser: &mut Parser<'_>, what: &'static str) -> Result<Option<SequenceCommand>, ParserError> {
    while parser.next_token().token != Token::EOF {}
    Ok(Some(SequenceCommand::Refused(what)))
}

/// Takes the options in parentheses behind each `AS IDENTITY` off a CREATE or ALTER TABLE: one entry for each, in the
/// order of the text.
pub(crate) fn identity_options(tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<GivenOptions>, ParserError> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(identity) = next_identity(tokens, from) {
        from = identity + 1;
        let open = (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
        match open.filter(|at| tokens[*at].token == Token::LParen) {
            Some(open) => found.push(take_options(tokens, open)?),
            None => found.push(GivenOptions::default()),
        }
    }
    Ok(found)
}

/// The place of the next `IDENTITY` behind `AS`.
fn next_identity(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut words = tokens.iter().enumerate().skip(from).filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)));
    let mut after_as = false;
    words.find_map(|(at, token)| {
        let keyword = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
            _ => None,
        };
        let found = after_as && keyword == Some(Keyword::IDENTITY);
        after_as = keyword == Some(Keyword::AS);
        found.then_some(at)
    })
}

fn take_options(tokens: &mut Vec<TokenWithSpan>, open: usize) -> Result<GivenOptions, ParserError> {
    let length = tokens[open..].iter().position(|t| t.token == Token::RParen).map_or(tokens.len() - open, |n| n + 1);
    let inner: Vec<TokenWithSpan> = tokens.drain(open..open + length).skip(1).take(length.saturating_sub(2)).collect();
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(inner);
    let options = GivenOptions::parse(&mut parser)?;
    match parser.peek_token().token {
        Token::EOF => Ok(options),
        _ => parser.expected("an option of the sequence", parser.peek_token()),
    }
}

impl GivenOptions {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let mut options = Self::default();
        while options.parse_one(parser)? {}
        Ok(options)
    }

    /// Reads one option, if there is one.
    pub(super) fn parse_one(&mut self, parser: &mut Parser<'_>) -> Result<bool, ParserError> {
        use Keyword as K;
        if parser.parse_keyword(K::AS) {
            set(parser, &mut self.data_type, |p| p.parse_data_type().map(TypeName::from))?;
        } else if parser.parse_keyword(K::INCREMENT) {
            let _ = parser.parse_keyword(K::BY);
            set(parser, &mut self.increment, number)?;
        } else if parser.parse_keyword(K::MINVALUE) {
            set(parser, &mut self.minimum, |p| number(p).map(Some))?;
        } else if parser.parse_keywords(&[K::NO, K::MINVALUE]) {
            set(parser, &mut self.minimum, |_| Ok(None))?;
        } else if parser.parse_keyword(K::MAXVALUE) {
            set(parser, &mut self.maximum, |p| number(p).map(Some))?;
        } else if parser.parse_keywords(&[K::NO, K::MAXVALUE]) {
            set(parser, &mut self.maximum, |_| Ok(None))?;
        } else if parser.parse_keyword(K::START) {
            let _ = parser.parse_keyword(K::WITH);
            set(parser, &mut self.start, number)?;
        } else if parser.parse_keyword(K::RESTART) {
            let with = parser.parse_keyword(K::WITH);
            let valued = with || matches!(parser.peek_token().token, Token::Number(..) | Token::Minus | Token::Plus);
            set(parser, &mut self.restart, |p| if valued { number(p).map(Some) } else { Ok(None) })?;
        } else if parser.parse_keyword(K::CACHE) {
            set(parser, &mut self.cache, number)?;
        } else if parser.parse_keyword(K::CYCLE) {
            set(parser, &mut self.cycle, |_| Ok(true))?;
        } else if parser.parse_keywords(&[K::NO, K::CYCLE]) {
            set(parser, &mut self.cycle, |_| Ok(false))?;
        } else if parser.parse_keywords(&[K::OWNED, K::BY]) {
            let none = parser.parse_keyword(K::NONE);
            set(parser, &mut self.owner, |p| if none { Ok(None) } else { object_name(p).map(Some) })?;
        } else if parser.parse_keywords(&[K::SEQUENCE, K::NAME]) {
            set(parser, &mut self.name, object_name)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Reads an option's value; given twice it is an error, as in PostgreSQL.
fn set<T>(
    parser: &mut Parser<'_>,
    option: &mut Option<T>,
    read: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Result<(), ParserError> {
    if option.is_some() {
        return Err(ParserError::ParserError(CONFLICTING.to_owned()));
    }
    *option = Some(read(parser)?);
    Ok(())
}

fn object_name(parser: &mut Parser<'_>) -> Result<QualifiedName, ParserError> {
    parser.parse_object_name(false).map(QualifiedName::from)
}

fn number(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    parser.parse_number().map(|number| number.to_string())
}

#[cfg(test)]
mod tests {
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn tokens(sql: &str) -> Vec<TokenWithSpan> {
        Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap()
    }

    fn parse(sql: &str) -> Result<Option<SequenceCommand>, ParserError> {
        parse_command(&mut Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens(sql)))
    }

    fn created(sql: &str) -> GivenOptions {
        match parse(sql).unwrap() {
            Some(SequenceCommand::Create(create)) => create.options,
            _ => panic!("{sql}"),
        }
    }

    #[test]
    fn options_come_in_any_order() {
        let options =
            created("CREATE SEQUENCE s AS integer START WITH 1 INCREMENT BY -1 NO MINVALUE NO MAXVALUE CACHE 1");
        assert_eq!(options.start.as_deref(), Some("1"));
        assert_eq!(options.increment.as_deref(), Some("-1"));
        assert_eq!((options.minimum, options.maximum), (Some(None), Some(None)));
        let options = created("CREATE SEQUENCE IF NOT EXISTS a.s OWNED BY a.t.c CYCLE MAXVALUE 9");
        assert_eq!(options.owner.flatten().map(|name| name.to_string()).as_deref(), Some("a.t.c"));
        assert_eq!((options.cycle, options.maximum), (Some(true), Some(Some("9".to_owned()))));
    }

    #[test]
    fn other_statements_are_left_alone() {
        assert!(parse("ALTER TABLE t ADD COLUMN c int").unwrap().is_none());
        assert!(parse("CREATE SEQUENCE s CYCLE NO CYCLE").is_err());
        assert!(parse("ALTER SEQUENCE s").is_err());
        assert!(matches!(parse("ALTER SEQUENCE s SET SCHEMA t"), Ok(Some(SequenceCommand::Refused(_)))));
    }

    #[test]
    fn options_of_identity_columns_are_taken_off() {
        let mut tokens = tokens(
            "CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT 2), b int GENERATED BY DEFAULT AS \
             IDENTITY, c int GENERATED ALWAYS AS (a) STORED)",
        );
        let options = identity_options(&mut tokens).unwrap();
        assert_eq!(options.len(), 2);
        assert_eq!(options[0].start.as_deref(), Some("5"));
        assert_eq!(options[1], GivenOptions::default());
        let left: String = tokens.iter().map(|t| t.token.to_string()).collect();
        assert!(left.starts_with("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY , b int"), "{left}");
    }
}
