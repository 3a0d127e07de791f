//! PREPARE as a command: a name, types of parameters, and a statement.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::words::{Read, Unexpected, Words};
use crate::syntax::{Statement, TypeName};

/// PREPARE.
#[derive(Debug, Clone)]
pub(crate) struct PrepareCommand {
    pub name: String,
    /// `Unknown` where it is left to the statement.
    pub types: Vec<SqlType>,
    pub statement: Statement,
}

/// PREPARE as far as words tell it.
pub(crate) struct PrepareSyntax<'a, 't> {
    pub name: String,
    types: &'a [&'t TokenWithSpan],
    /// The tokens of the statement.
    pub statement: &'a [&'t TokenWithSpan],
}

/// The command these tokens are; `None` when they are of another kind. White space is left out.
pub(crate) fn read<'a, 't>(tokens: &'a [&'t TokenWithSpan]) -> Option<Read<'t, PrepareSyntax<'a, 't>>> {
    let mut words = Words::new(tokens);
    words.eat("PREPARE").then(|| prepare(&mut words))
}

fn prepare<'a, 't>(words: &mut Words<'a, 't>) -> Read<'t, PrepareSyntax<'a, 't>> {
    let name = words.name()?;
    let types = if words.eat_token(&Token::LParen) { words.until_closed()? } else { &[] };
    words.expect("AS")?;
    let statement = words.rest();
    if statement.is_empty() { Err(Unexpected(None)) } else { Ok(PrepareSyntax { name, types, statement }) }
}

impl PrepareSyntax<'_, '_> {
    /// The types of the parameters.
    ///
    /// # Errors
    /// 42601 for what is not a list of types, 42704 for a type that does not exist.
    pub(crate) fn types(&self) -> SqlResult<Vec<SqlType>> {
        if self.types.is_empty() {
            return Ok(Vec::new());
        }
        let tokens = self.types.iter().map(|token| (*token).clone()).collect();
        let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
        let types = parser.parse_comma_separated(Parser::parse_data_type);
        match types {
            Ok(types) if parser.peek_token().token == Token::EOF => types.into_iter().map(type_named).collect(),
            _ => Err(SqlError::new(ErrorKind::Syntax, "syntax error in the parameter types of PREPARE")),
        }
    }
}

fn type_named(data_type: sqlparser::ast::DataType) -> SqlResult<SqlType> {
    if data_type.to_string().eq_ignore_ascii_case("unknown") {
        Ok(SqlType::Unknown)
    } else {
        TypeName::from(data_type).sql_type()
    }
}
