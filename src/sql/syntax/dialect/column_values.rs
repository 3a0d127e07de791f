//! What ALTER COLUMN says of how a column gets its values: of the sequence of its identity, DROP IDENTITY and DROP EXPRESSION.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::sequence::{CONFLICTING, GivenOptions};
use crate::syntax::is_word;

/// How a column gets its values from now on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueChange {
    /// SET GENERATED, and options of the sequence that counts.
    Identity {
        always: Option<bool>,
        options: Box<GivenOptions>,
    },
    DropIdentity {
        if_exists: bool,
    },
    DropExpression {
        if_exists: bool,
    },
}

impl ValueChange {
    /// Reads what stands behind the column's name; `None` when it is about something else.
    pub(super) fn read(tokens: &[&TokenWithSpan]) -> Result<Option<Self>, ParserError> {
        use Keyword as K;
        let tokens = tokens.iter().map(|token| (*token).clone()).collect();
        let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
        let dropped = |parser: &mut Parser<'_>| parser.parse_keywords(&[K::IF, K::EXISTS]);
        let change = if parser.parse_keywords(&[K::DROP, K::IDENTITY]) {
            Self::DropIdentity { if_exists: dropped(&mut parser) }
        } else if parser.parse_keyword(K::DROP) {
            if !is_word(&parser.next_token(), "EXPRESSION") {
                return Ok(None);
            }
            Self::DropExpression { if_exists: dropped(&mut parser) }
        } else {
            match Self::of_identity(&mut parser)? {
                Some(change) => change,
                None => return Ok(None),
            }
        };
        match parser.peek_token().token {
            Token::EOF => Ok(Some(change)),
            _ => parser.expected("end of the action", parser.peek_token()),
        }
    }

    /// One or more of `SET GENERATED ..`, `SET` with an option of the sequence, and RESTART.
    fn of_identity(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        use Keyword as K;
        let (mut always, mut options) = (None, GivenOptions::default());
        let mut found = false;
        loop {
            let is_set = parser.parse_keyword(K::SET);
            if is_set && parser.parse_keyword(K::GENERATED) {
                if always.is_some() {
                    return Err(ParserError::ParserError(CONFLICTING.to_owned()));
                }
                let is_always = parser.parse_keyword(K::ALWAYS);
                if !is_always {
                    parser.expect_keywords(&[K::BY, K::DEFAULT])?;
                }
                always = Some(is_always);
            } else if is_set || is_word(&parser.peek_token(), "RESTART") {
                if !options.parse_one(parser)? {
                    // Behind the first one there is nothing else.
                    return if found {
                        parser.expected("an option of the sequence", parser.peek_token())
                    } else {
                        Ok(None)
                    };
                }
            } else {
                refuse_options_of_sequences(&options)?;
                return Ok(found.then_some(Self::Identity { always, options: Box::new(options) }));
            }
            found = true;
        }
    }
}

/// The type, the owner and the name of an identity's sequence follow from the column.
fn refuse_options_of_sequences(options: &GivenOptions) -> Result<(), ParserError> {
    let name = match options {
        GivenOptions { data_type: Some(_), .. } => "as",
        GivenOptions { owner: Some(_), .. } => "owned_by",
        GivenOptions { name: Some(_), .. } => "sequence_name",
        _ => return Ok(()),
    };
    Err(ParserError::ParserError(format!("sequence option \"{name}\" not supported here")))
}
