//! COPY as data: its options, `WITH (FORMAT csv, HEADER match)` and the older `WITH CSV HEADER`, and the WHERE behind them.

use sqlparser::ast;
use sqlparser::tokenizer::{Span, Token};
use tablegate_bind::{Identifier, ParsedExpression, ParsedQuery, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::syntax::{changes_rows, fold, parse_tokens_of_expression};

#[derive(Debug, Clone)]
pub(crate) struct CopyCommand {
    pub source: CopySource,
    pub to_stdout: bool,
    /// What follows STDIN or STDOUT, or what is wrong with it, which is told when the command runs.
    pub clauses: SqlResult<CopyClauses>,
}

/// What is copied out, or into.
#[derive(Debug, Clone)]
pub(crate) enum CopySource {
    Table { name: QualifiedName, columns: Vec<Identifier> },
    Query(Box<ParsedQuery>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct CopyClauses {
    /// The options in their order.
    pub options: Vec<(String, CopyValue)>,
    /// Which rows are written. What is wrong with it is told when the table is known.
    pub condition: Option<SqlResult<ParsedExpression>>,
}

impl CopyCommand {
    /// Without its options.
    pub(crate) fn of(source: ast::CopySource, to_stdout: bool) -> Self {
        let source = match source {
            ast::CopySource::Table { table_name, columns } => {
                let columns = columns.into_iter().map(Identifier::from).collect();
                CopySource::Table { name: table_name.into(), columns }
            }
            ast::CopySource::Query(query) => CopySource::Query(Box::new((*query).into())),
        };
        Self { source, to_stdout, clauses: Ok(CopyClauses::default()) }
    }

    /// Reads what follows STDIN or STDOUT: sqlparser does not know all of PostgreSQL's options.
    pub(crate) fn read_clauses(&mut self, tokens: &[Token]) {
        self.clauses = clauses(tokens, self.to_stdout);
    }

    /// Which rows are written.
    pub(crate) fn condition(&self) -> Option<&SqlResult<ParsedExpression>> {
        self.clauses.as_ref().ok().and_then(|clauses| clauses.condition.as_ref())
    }

    /// Whether what it copies out are the rows of a change.
    pub(crate) fn changes_rows(&self) -> bool {
        matches!(&self.source, CopySource::Query(query) if changes_rows(query))
    }
}

fn clauses(tokens: &[Token], to_stdout: bool) -> SqlResult<CopyClauses> {
    let mut reader = Reader { tokens, at: 0 };
    let options = reader.options()?;
    Ok(CopyClauses { options, condition: reader.condition(to_stdout)? })
}

/// An option's value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyValue {
    Missing,
    Text(String),
    Star,
    Columns(Vec<Identifier>),
}

/// Goes through the tokens.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(wanted));
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self) -> Box<SqlError> {
        match self.peek() {
            Some(token) => SqlError::new(ErrorKind::Syntax, format!("syntax error at or near \"{token}\"")),
            None => SqlError::new(ErrorKind::Syntax, "syntax error at end of input"),
        }
    }

    fn options(&mut self) -> SqlResult<Vec<(String, CopyValue)>> {
        let mut options = Vec::new();
        if self.eat_word("using") {
            options.push(self.legacy_option()?);
        }
        self.eat_word("with");
        if self.eat(&Token::LParen) {
            loop {
                options.push(self.generic_option()?);
                if self.eat(&Token::RParen) {
                    break;
                }
                if !self.eat(&Token::Comma) {
                    return Err(self.unexpected());
                }
            }
        } else {
            while self.peek().is_some() && !self.is_where() {
                options.push(self.legacy_option()?);
            }
        }
        if self.peek().is_some() && !self.is_where() { Err(self.unexpected()) } else { Ok(options) }
    }

    /// What follows the options: the condition of a WHERE, or nothing.
    fn condition(&mut self, to_stdout: bool) -> SqlResult<Option<SqlResult<ParsedExpression>>> {
        if !self.eat_word("where") {
            return Ok(None);
        }
        if to_stdout {
            return Err(SqlError::new(ErrorKind::Syntax, "WHERE clause not allowed with COPY TO"));
        }
        match self.tokens.get(self.at..) {
            Some([]) | None => Err(self.unexpected()),
            Some(condition) => Ok(Some(parse_tokens_of_expression(condition.to_vec()))),
        }
    }

    fn is_where(&self) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case("where"))
    }

    fn generic_option(&mut self) -> SqlResult<(String, CopyValue)> {
        let name = self.word()?;
        let value = match self.peek() {
            Some(Token::Comma | Token::RParen) => CopyValue::Missing,
            Some(Token::Mul) => {
                self.at += 1;
                CopyValue::Star
            }
            Some(Token::LParen) => {
                self.at += 1;
                let columns = self.columns()?;
                if !self.eat(&Token::RParen) {
                    return Err(self.unexpected());
                }
                CopyValue::Columns(columns)
            }
            _ => CopyValue::Text(self.text()?),
        };
        Ok((name, value))
    }

    fn legacy_option(&mut self) -> SqlResult<(String, CopyValue)> {
        let name = self.word()?;
        let value = match name.as_str() {
            "binary" | "csv" => return Ok(("format".to_owned(), CopyValue::Text(name))),
            "header" | "freeze" => CopyValue::Missing,
            "delimiter" | "delimiters" | "null" | "quote" | "escape" | "encoding" => {
                self.eat_word("as");
                let value = CopyValue::Text(self.text()?);
                return Ok((name.trim_end_matches('s').to_owned(), value));
            }
            "force" => return self.legacy_force(),
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        Ok((name, value))
    }

    fn legacy_force(&mut self) -> SqlResult<(String, CopyValue)> {
        let name = if self.eat_word("quote") {
            "force_quote"
        } else if self.eat_word("not") && self.eat_word("null") {
            "force_not_null"
        } else if self.eat_word("null") {
            "force_null"
        } else {
            return Err(self.unexpected());
        };
        let value = if self.eat(&Token::Mul) { CopyValue::Star } else { CopyValue::Columns(self.columns()?) };
        Ok((name.to_owned(), value))
    }

    fn word(&mut self) -> SqlResult<String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word.value.to_lowercase()),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn text(&mut self) -> SqlResult<String> {
        match self.next() {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::Number(text, _)) => {
                Ok(text)
            }
            Some(Token::Word(word)) => Ok(fold(&word.into_ident(Span::empty()))),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn columns(&mut self) -> SqlResult<Vec<Identifier>> {
        let mut columns = Vec::new();
        loop {
            match self.next() {
                Some(Token::Word(word)) => columns.push(word.into_ident(Span::empty()).into()),
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            }
            if !self.eat(&Token::Comma) {
                return Ok(columns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Command, parse};

    #[test]
    fn a_condition_follows_the_options() {
        for tail in ["(FORMAT csv) WHERE a > 1", "CSV WHERE a > 1", "WHERE a > 1"] {
            let Command::Copy(copy) = parse(&format!("COPY t FROM STDIN {tail}")).unwrap().pop().unwrap().command
            else {
                panic!("not a COPY")
            };
            let condition = copy.clauses.unwrap().condition.unwrap().unwrap();
            assert_eq!(condition.to_string(), "a > 1", "{tail}");
        }
    }
}
