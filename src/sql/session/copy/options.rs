//! The options of COPY: `WITH (FORMAT csv, HEADER match)` and the older `WITH CSV HEADER`.

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::sql::error::{ErrorKind, SqlError, SqlResult};

/// How rows look on the wire, and what is done with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyOptions {
    pub csv: bool,
    pub delimiter: u8,
    pub null: String,
    pub header: Header,
    pub quote: u8,
    pub escape: u8,
    pub force_quote: Columns,
    pub force_null: Columns,
    pub force_not_null: Columns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    No,
    Yes,
    /// The names must be the columns'.
    Match,
}

/// The columns an option is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Columns {
    None,
    All,
    Named(Vec<Ident>),
}

impl CopyOptions {
    /// Reads what follows STDIN or STDOUT.
    ///
    /// # Errors
    /// 42601 for what is no option, 22023 for values that make no sense, 0A000 for what is not done here.
    pub fn parse(tokens: &[Token], to_stdout: bool) -> SqlResult<Self> {
        let given = Reader { tokens, at: 0 }.options()?;
        let mut collected = Collected::default();
        for (name, value) in given {
            collected.take(&name, value, to_stdout)?;
        }
        collected.finish(to_stdout)
    }
}

/// An option's value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Missing,
    Text(String),
    Star,
    Columns(Vec<Ident>),
}

/// Goes through the tokens.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
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

    fn options(&mut self) -> SqlResult<Vec<(String, Value)>> {
        self.eat_word("with");
        let mut options = Vec::new();
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
            self.eat_word("using");
            while self.peek().is_some() && !self.is_where() {
                options.push(self.legacy_option()?);
            }
        }
        if self.is_where() {
            return Err(SqlError::not_supported("COPY FROM ... WHERE")
                .with_hint("Copy into the table and delete what is not wanted, or filter the input."));
        }
        if self.peek().is_some() { Err(self.unexpected()) } else { Ok(options) }
    }

    fn is_where(&self) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case("where"))
    }

    fn generic_option(&mut self) -> SqlResult<(String, Value)> {
        let name = self.word()?;
        let value = match self.peek() {
            Some(Token::Comma | Token::RParen) => Value::Missing,
            Some(Token::Mul) => {
                self.at += 1;
                Value::Star
            }
            Some(Token::LParen) => {
                self.at += 1;
                let columns = self.columns()?;
                if !self.eat(&Token::RParen) {
                    return Err(self.unexpected());
                }
                Value::Columns(columns)
            }
            _ => Value::Text(self.text()?),
        };
        Ok((name, value))
    }

    fn legacy_option(&mut self) -> SqlResult<(String, Value)> {
        let name = self.word()?;
        let value = match name.as_str() {
            "binary" | "csv" => return Ok(("format".to_owned(), Value::Text(name))),
            "header" | "freeze" => Value::Missing,
            "delimiter" | "delimiters" | "null" | "quote" | "escape" | "encoding" => {
                self.eat_word("as");
                let value = Value::Text(self.text()?);
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

    fn legacy_force(&mut self) -> SqlResult<(String, Value)> {
        let name = if self.eat_word("quote") {
            "force_quote"
        } else if self.eat_word("not") && self.eat_word("null") {
            "force_not_null"
        } else if self.eat_word("null") {
            "force_null"
        } else {
            return Err(self.unexpected());
        };
        let value = if self.eat(&Token::Mul) { Value::Star } else { Value::Columns(self.columns()?) };
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
            Some(Token::Word(word)) => Ok(word.value),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn columns(&mut self) -> SqlResult<Vec<Ident>> {
        let mut columns = Vec::new();
        loop {
            match self.next() {
                Some(Token::Word(word)) => {
                    columns.push(word.into_ident(datafusion::sql::sqlparser::tokenizer::Span::empty()))
                }
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

/// The options as given, before the defaults.
#[derive(Default)]
struct Collected {
    format: Option<String>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<Columns>,
    force_null: Option<Columns>,
    force_not_null: Option<Columns>,
    encoding: Option<String>,
}

impl Collected {
    fn take(&mut self, name: &str, value: Value, to_stdout: bool) -> SqlResult<()> {
        match name {
            "format" => once(&mut self.format, text_of(name, value)?),
            "delimiter" => once(&mut self.delimiter, text_of(name, value)?),
            "null" => once(&mut self.null, text_of(name, value)?),
            "quote" => once(&mut self.quote, text_of(name, value)?),
            "escape" => once(&mut self.escape, text_of(name, value)?),
            "encoding" => once(&mut self.encoding, text_of(name, value)?),
            "header" => once(&mut self.header, header(value, to_stdout)?),
            "force_quote" => once(&mut self.force_quote, columns_of(name, value, true)?),
            "force_null" => once(&mut self.force_null, columns_of(name, value, false)?),
            "force_not_null" => once(&mut self.force_not_null, columns_of(name, value, false)?),
            "freeze" => match boolean(name, &value)? {
                false => Ok(()),
                true => Err(SqlError::not_supported("COPY FREEZE")),
            },
            _ => Err(SqlError::new(ErrorKind::Syntax, format!("option \"{name}\" not recognized"))),
        }
    }

    fn finish(self, to_stdout: bool) -> SqlResult<CopyOptions> {
        let csv = match self.format.as_deref() {
            None | Some("text") => false,
            Some("csv") => true,
            Some("binary") => return Err(SqlError::not_supported("COPY in binary format")),
            Some(other) => {
                return Err(invalid(format!("COPY format \"{other}\" not recognized")));
            }
        };
        if let Some(encoding) = &self.encoding {
            let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
            if !plain.eq_ignore_ascii_case("utf8") && !plain.eq_ignore_ascii_case("unicode") {
                return Err(SqlError::not_supported(format!("COPY with encoding \"{encoding}\"")));
            }
        }
        let delimiter = one_byte("delimiter", self.delimiter.as_deref(), if csv { b',' } else { b'\t' })?;
        let quote = one_byte("quote", self.quote.as_deref(), b'"')?;
        let options = CopyOptions {
            csv,
            delimiter,
            null: self.null.clone().unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() }),
            header: self.header.unwrap_or(Header::No),
            quote,
            escape: one_byte("escape", self.escape.as_deref(), quote)?,
            force_quote: self.force_quote.clone().unwrap_or(Columns::None),
            force_null: self.force_null.clone().unwrap_or(Columns::None),
            force_not_null: self.force_not_null.clone().unwrap_or(Columns::None),
        };
        self.check_mode(csv, to_stdout)?;
        check(&options)?;
        Ok(options)
    }

    /// Options that only one format or one direction has.
    fn check_mode(&self, csv: bool, to_stdout: bool) -> SqlResult<()> {
        let only_csv = [
            (self.quote.is_some(), "quote"),
            (self.escape.is_some(), "escape"),
            (self.force_quote.is_some(), "force quote"),
            (self.force_not_null.is_some(), "force not null"),
            (self.force_null.is_some(), "force null"),
        ];
        if let Some((_, name)) = only_csv.iter().find(|(given, _)| *given && !csv) {
            let message = format!("COPY {name} available only in CSV mode");
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        }
        let wrong_way = match to_stdout {
            false if self.force_quote.is_some() => Some("force quote only available using COPY TO"),
            true if self.force_not_null.is_some() => Some("force not null only available using COPY FROM"),
            true if self.force_null.is_some() => Some("force null only available using COPY FROM"),
            _ => None,
        };
        match wrong_way {
            Some(what) => Err(SqlError::new(ErrorKind::FeatureNotSupported, format!("COPY {what}"))),
            None => Ok(()),
        }
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> SqlResult<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(ErrorKind::Syntax, "conflicting or redundant options")),
    }
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

fn text_of(name: &str, value: Value) -> SqlResult<String> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a parameter"))),
    }
}

fn columns_of(name: &str, value: Value, star: bool) -> SqlResult<Columns> {
    match value {
        Value::Columns(columns) => Ok(Columns::Named(columns)),
        Value::Star if star => Ok(Columns::All),
        _ => Err(invalid(format!("argument to option \"{name}\" must be a list of column names"))),
    }
}

fn boolean(name: &str, value: &Value) -> SqlResult<bool> {
    match value {
        Value::Missing => Ok(true),
        Value::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a Boolean value"))),
        },
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a Boolean value"))),
    }
}

fn header(value: Value, to_stdout: bool) -> SqlResult<Header> {
    match &value {
        Value::Text(text) if text.eq_ignore_ascii_case("match") => {
            if to_stdout {
                return Err(SqlError::new(
                    ErrorKind::FeatureNotSupported,
                    "cannot use \"match\" with HEADER in COPY TO",
                ));
            }
            Ok(Header::Match)
        }
        _ => boolean("header", &value)
            .map(|yes| if yes { Header::Yes } else { Header::No })
            .map_err(|_| SqlError::new(ErrorKind::Syntax, "header requires a Boolean value or \"match\"")),
    }
}

fn one_byte(name: &str, given: Option<&str>, default: u8) -> SqlResult<u8> {
    match given.map(str::as_bytes) {
        None => Ok(default),
        Some([byte]) => Ok(*byte),
        Some(_) => {
            let message = format!("COPY {name} must be a single one-byte character");
            Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
        }
    }
}

/// Characters that would be mistaken for each other.
fn check(options: &CopyOptions) -> SqlResult<()> {
    let CopyOptions { csv, delimiter, quote, .. } = *options;
    if matches!(delimiter, b'\r' | b'\n') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    if options.null.contains(['\r', '\n']) {
        return Err(invalid("COPY null representation cannot use newline or carriage return"));
    }
    if !csv && (delimiter == b'\\' || delimiter == b'.' || delimiter.is_ascii_lowercase() || delimiter.is_ascii_digit())
    {
        return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
    }
    if csv && delimiter == quote {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    if options.null.as_bytes().contains(&delimiter) {
        return Err(invalid("COPY delimiter must not appear in the NULL specification"));
    }
    if csv && options.null.as_bytes().contains(&quote) {
        return Err(invalid("CSV quote character must not appear in the NULL specification"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::statement::{Command, parse};

    fn options(sql: &str) -> SqlResult<CopyOptions> {
        let Command::Copy(copy) = parse(sql)?.pop().unwrap().command else { panic!("not a COPY") };
        CopyOptions::parse(&copy.options, copy.to_stdout)
    }

    #[test]
    fn defaults_depend_on_the_format() {
        let text = options("COPY t FROM STDIN").unwrap();
        assert_eq!((text.csv, text.delimiter, text.null.as_str(), text.header), (false, b'\t', "\\N", Header::No));
        let csv = options("COPY t FROM STDIN WITH (FORMAT csv)").unwrap();
        assert_eq!((csv.csv, csv.delimiter, csv.null.as_str(), csv.quote, csv.escape), (true, b',', "", b'"', b'"'));
    }

    #[test]
    fn both_syntaxes_say_the_same() {
        for (new, old) in [
            ("(FORMAT csv, HEADER)", "CSV HEADER"),
            ("(FORMAT 'csv', HEADER true, QUOTE '''', ESCAPE '\\')", "WITH CSV HEADER QUOTE AS '''' ESCAPE '\\'"),
            ("(DELIMITER '|', NULL '')", "DELIMITER '|' NULL AS ''"),
            ("(DELIMITER '|')", "USING DELIMITERS '|'"),
            ("(FORMAT csv, FORCE_NOT_NULL (a, \"B\"))", "CSV FORCE NOT NULL a, \"B\""),
            ("(FORMAT csv, FORCE_NULL (a))", "CSV FORCE NULL a"),
            ("(ENCODING 'UTF-8')", "ENCODING 'utf8'"),
        ] {
            let new = options(&format!("COPY t FROM STDIN WITH {new}")).unwrap();
            assert_eq!(new, options(&format!("COPY t FROM STDIN {old}")).unwrap(), "{old}");
        }
        let star = options("COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *)").unwrap();
        assert_eq!(star, options("COPY t TO STDOUT CSV FORCE QUOTE *").unwrap());
        assert_eq!(options("COPY t FROM STDIN (FORMAT csv, HEADER match)").unwrap().header, Header::Match);
        assert_eq!(options("COPY (SELECT 1) TO STDOUT (HEADER off)").unwrap().header, Header::No);
        assert_eq!(options("COPY t FROM STDIN (DELIMITER E'\\t', FREEZE false)").unwrap().delimiter, b'\t');
    }

    #[test]
    fn what_makes_no_sense_is_refused_as_postgresql_does() {
        let (syntax, value, feature) =
            (ErrorKind::Syntax, ErrorKind::InvalidParameterValue, ErrorKind::FeatureNotSupported);
        for (tail, kind, message) in [
            ("FROM STDIN (FOO 1)", syntax, "option \"foo\" not recognized"),
            ("FROM STDIN (FORMAT csv, FORMAT csv)", syntax, "conflicting or redundant options"),
            ("FROM STDIN (FORMAT xml)", value, "COPY format \"xml\" not recognized"),
            ("FROM STDIN (FORMAT binary)", feature, "COPY in binary format is not supported"),
            ("FROM STDIN BINARY", feature, "COPY in binary format is not supported"),
            ("FROM STDIN (DELIMITER 'ab')", feature, "COPY delimiter must be a single one-byte character"),
            ("FROM STDIN (DELIMITER 'a')", value, "COPY delimiter cannot be \"a\""),
            ("FROM STDIN (QUOTE '''')", feature, "COPY quote available only in CSV mode"),
            ("FROM STDIN CSV QUOTE ','", value, "COPY delimiter and quote must be different"),
            ("FROM STDIN (FORMAT csv, FORCE_QUOTE *)", feature, "COPY force quote only available using COPY TO"),
            ("TO STDOUT (FORMAT csv, FORCE_NULL (a))", feature, "COPY force null only available using COPY FROM"),
            ("TO STDOUT (HEADER match)", feature, "cannot use \"match\" with HEADER in COPY TO"),
            ("FROM STDIN (HEADER 2)", syntax, "header requires a Boolean value or \"match\""),
            ("FROM STDIN (ENCODING 'latin1')", feature, "COPY with encoding \"latin1\" is not supported"),
            ("FROM STDIN (FREEZE)", feature, "COPY FREEZE is not supported"),
            ("FROM STDIN (FORMAT csv) WHERE a > 1", feature, "COPY FROM ... WHERE is not supported"),
            ("FROM STDIN (FORMAT csv", syntax, "syntax error at end of input"),
            ("FROM STDIN NONSENSE", syntax, "syntax error at or near \"NONSENSE\""),
        ] {
            let error = options(&format!("COPY t {tail}")).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, message), "{tail}");
        }
    }
}
