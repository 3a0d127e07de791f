//! What the options of COPY mean together, and which of them contradict each other.

use tablegate_bind::Identifier;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::encoding::Encoding;
use crate::syntax::dialect::copy::{CopyCommand, CopyValue};

/// Characters that cannot be the delimiter in text format: they stand behind a backslash.
const NO_DELIMITERS: &[u8] = b"\\.abcdefghijklmnopqrstuvwxyz0123456789";

/// How rows look on the wire, and what is done with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyOptions {
    pub format: Format,
    pub encoding: Encoding,
    pub delimiter: u8,
    pub null: String,
    pub header: Header,
    pub quote: u8,
    pub escape: u8,
    pub force_quote: Columns,
    pub force_null: Columns,
    pub force_not_null: Columns,
    /// Rows are to be written in a way that only a table made or emptied by the same transaction allows.
    pub freeze: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Csv,
    Binary,
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
    Named(Vec<Identifier>),
}

impl CopyOptions {
    /// What a COPY's options mean.
    ///
    /// # Errors
    /// 42601 for what is not an option, 22023 for values that make no sense, 0A000 for what is not done here.
    pub(super) fn of(copy: &CopyCommand) -> SqlResult<Self> {
        let clauses = copy.clauses.as_ref().map_err(Clone::clone)?;
        let mut collected = Collected::default();
        for (name, value) in &clauses.options {
            collected.take(name, value.clone(), copy.to_stdout)?;
        }
        collected.finish(copy.to_stdout)
    }

    pub(super) fn is_csv(&self) -> bool {
        self.format == Format::Csv
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
    encoding: Option<Encoding>,
    freeze: Option<bool>,
}

impl Collected {
    fn take(&mut self, name: &str, value: CopyValue, to_stdout: bool) -> SqlResult<()> {
        match name {
            "format" => once(&mut self.format, text_of(name, value)?),
            "delimiter" => once(&mut self.delimiter, text_of(name, value)?),
            "null" => once(&mut self.null, text_of(name, value)?),
            "quote" => once(&mut self.quote, text_of(name, value)?),
            "escape" => once(&mut self.escape, text_of(name, value)?),
            "encoding" => once(&mut self.encoding, Encoding::named(&text_of(name, value)?)?),
            "header" => once(&mut self.header, header(value, to_stdout)?),
            "force_quote" => once(&mut self.force_quote, columns_of(name, value, true)?),
            "force_null" => once(&mut self.force_null, columns_of(name, value, false)?),
            "force_not_null" => once(&mut self.force_not_null, columns_of(name, value, false)?),
            "freeze" => once(&mut self.freeze, boolean(name, &value)?),
            _ => Err(SqlError::new(ErrorKind::Syntax, format!("option \"{name}\" not recognized"))),
        }
    }

    fn finish(self, to_stdout: bool) -> SqlResult<CopyOptions> {
        let format = match self.format.as_deref() {
            None | Some("text") => Format::Text,
            Some("csv") => Format::Csv,
            Some("binary") => Format::Binary,
            Some(other) => return Err(invalid(format!("COPY format \"{other}\" not recognized"))),
        };
        self.check_binary(format)?;
        let csv = format == Format::Csv;
        let quote_given = self.quote.as_deref().map(str::as_bytes);
        let quote = quote_given.and_then(|bytes| bytes.first().copied()).unwrap_or(b'"');
        let options = CopyOptions {
            format,
            encoding: self.encoding.unwrap_or_default(),
            delimiter: one_byte("delimiter", self.delimiter.as_deref(), if csv { b',' } else { b'\t' })?,
            null: self.null.clone().unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() }),
            header: self.header.unwrap_or(Header::No),
            quote,
            escape: self.escape.as_deref().and_then(|text| text.bytes().next()).unwrap_or(quote),
            force_quote: self.force_quote.clone().unwrap_or(Columns::None),
            force_null: self.force_null.clone().unwrap_or(Columns::None),
            force_not_null: self.force_not_null.clone().unwrap_or(Columns::None),
            freeze: self.freeze.unwrap_or(false),
        };
        check_lines(&options)?;
        self.check_modes(&options, to_stdout)?;
        check_null(&options)?;
        Ok(options)
    }

    /// What binary format has no use for.
    fn check_binary(&self, format: Format) -> SqlResult<()> {
        if format != Format::Binary {
            return Ok(());
        }
        let given = [
            (self.delimiter.is_some(), "DELIMITER", ErrorKind::Syntax),
            (self.null.is_some(), "NULL", ErrorKind::Syntax),
            (self.header.is_some_and(|header| header != Header::No), "HEADER", ErrorKind::FeatureNotSupported),
        ];
        match given.into_iter().find(|(is_given, ..)| *is_given) {
            None => Ok(()),
            Some((_, name, kind)) => Err(SqlError::new(kind, format!("cannot specify {name} in BINARY mode"))),
        }
    }

    /// Options that only one format or one direction has, in PostgreSQL's order.
    fn check_modes(&self, options: &CopyOptions, to_stdout: bool) -> SqlResult<()> {
        let feature = |message: String| Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        let csv = options.is_csv();
        for (given, name) in [(&self.quote, "quote"), (&self.escape, "escape")] {
            if given.is_some() && !csv {
                return feature(format!("COPY {name} available only in CSV mode"));
            }
            one_byte(name, given.as_deref(), 0)?;
            if csv && name == "quote" && options.delimiter == options.quote {
                return Err(invalid("COPY delimiter and quote must be different"));
            }
        }
        let forced = [
            (self.force_quote.is_some(), "force quote", true, "COPY TO"),
            (self.force_not_null.is_some(), "force not null", false, "COPY FROM"),
            (self.force_null.is_some(), "force null", false, "COPY FROM"),
        ];
        for (given, name, of_output, direction) in forced {
            if given && !csv {
                return feature(format!("COPY {name} available only in CSV mode"));
            }
            if given && of_output != to_stdout {
                return feature(format!("COPY {name} only available using {direction}"));
            }
        }
        Ok(())
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

fn text_of(name: &str, value: CopyValue) -> SqlResult<String> {
    match value {
        CopyValue::Text(text) => Ok(text),
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a parameter"))),
    }
}

fn columns_of(name: &str, value: CopyValue, star: bool) -> SqlResult<Columns> {
    match value {
        CopyValue::Columns(columns) => Ok(Columns::Named(columns)),
        CopyValue::Star if star => Ok(Columns::All),
        _ => Err(invalid(format!("argument to option \"{name}\" must be a list of column names"))),
    }
}

fn boolean(name: &str, value: &CopyValue) -> SqlResult<bool> {
    match value {
        CopyValue::Missing => Ok(true),
        CopyValue::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a Boolean value"))),
        },
        _ => Err(SqlError::new(ErrorKind::Syntax, format!("{name} requires a Boolean value"))),
    }
}

fn header(value: CopyValue, to_stdout: bool) -> SqlResult<Header> {
    match &value {
        CopyValue::Text(text) if text.eq_ignore_ascii_case("match") => {
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

/// Characters that would be mistaken for the ends of lines or for escapes.
fn check_lines(options: &CopyOptions) -> SqlResult<()> {
    let delimiter = options.delimiter;
    if matches!(delimiter, b'\r' | b'\n') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    if options.null.contains(['\r', '\n']) {
        return Err(invalid("COPY null representation cannot use newline or carriage return"));
    }
    if !options.is_csv() && NO_DELIMITERS.contains(&delimiter) {
        return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
    }
    Ok(())
}

/// Characters that NULL would be mistaken for.
fn check_null(options: &CopyOptions) -> SqlResult<()> {
    let message = if options.null.as_bytes().contains(&options.delimiter) {
        "COPY delimiter must not appear in the NULL specification"
    } else if options.is_csv() && options.null.as_bytes().contains(&options.quote) {
        "CSV quote character must not appear in the NULL specification"
    } else {
        return Ok(());
    };
    Err(SqlError::new(ErrorKind::FeatureNotSupported, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Command, parse};

    fn options(sql: &str) -> SqlResult<CopyOptions> {
        let Command::Copy(copy) = parse(sql)?.pop().unwrap().command else { panic!("not a COPY") };
        CopyOptions::of(&copy)
    }

    #[test]
    fn defaults_depend_on_the_format() {
        let text = options("COPY t FROM STDIN").unwrap();
        assert_eq!(
            (text.format, text.delimiter, text.null.as_str(), text.header),
            (Format::Text, b'\t', "\\N", Header::No)
        );
        let csv = options("COPY t FROM STDIN WITH (FORMAT csv)").unwrap();
        assert_eq!(
            (csv.format, csv.delimiter, csv.null.as_str(), csv.quote, csv.escape),
            (Format::Csv, b',', "", b'"', b'"')
        );
    }

    #[test]
    fn both_syntaxes_say_the_same() {
        for (new, old) in [
            ("(FORMAT csv, HEADER)", "CSV HEADER"),
            ("(FORMAT 'csv', HEADER true, QUOTE '''', ESCAPE '\\')", "WITH CSV HEADER QUOTE AS '''' ESCAPE '\\'"),
            ("(DELIMITER '|', NULL '')", "DELIMITER '|' NULL AS ''"),
            ("(DELIMITER '|')", "USING DELIMITERS '|'"),
            ("(DELIMITER '|', NULL 'x')", "USING DELIMITERS '|' WITH NULL AS 'x'"),
            ("(DELIMITER '|', FORMAT csv)", "USING DELIMITERS '|' WITH CSV"),
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
    fn binary_is_asked_for_in_three_ways() {
        for sql in ["COPY t FROM STDIN (FORMAT BINARY)", "COPY t FROM STDIN WITH BINARY", "COPY BINARY t FROM STDIN"] {
            assert_eq!(options(sql).unwrap().format, Format::Binary, "{sql}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_as_postgresql_does() {
        let (syntax, value, feature) =
            (ErrorKind::Syntax, ErrorKind::InvalidParameterValue, ErrorKind::FeatureNotSupported);
        for (tail, kind, message) in [
            ("FROM STDIN (FOO 1)", syntax, "option \"foo\" not recognized"),
            ("FROM STDIN (FORMAT csv, FORMAT csv)", syntax, "conflicting or redundant options"),
            ("FROM STDIN (FORMAT xml)", value, "COPY format \"xml\" not recognized"),
            ("FROM STDIN CSV BINARY", syntax, "conflicting or redundant options"),
            ("FROM STDIN (FORMAT binary, DELIMITER ',')", syntax, "cannot specify DELIMITER in BINARY mode"),
            ("FROM STDIN (FORMAT binary, NULL '')", syntax, "cannot specify NULL in BINARY mode"),
            ("TO STDOUT (FORMAT binary, HEADER)", feature, "cannot specify HEADER in BINARY mode"),
            ("TO STDOUT BINARY QUOTE ','", feature, "COPY quote available only in CSV mode"),
            (
                "FROM STDIN (DELIMITER ',', NULL 'a,')",
                feature,
                "COPY delimiter must not appear in the NULL specification",
            ),
            ("FROM STDIN CSV NULL '\"'", feature, "CSV quote character must not appear in the NULL specification"),
            ("FROM STDIN CSV ESCAPE 'ab'", feature, "COPY escape must be a single one-byte character"),
            ("FROM STDIN (DELIMITER 'ab')", feature, "COPY delimiter must be a single one-byte character"),
            ("FROM STDIN (DELIMITER 'a')", value, "COPY delimiter cannot be \"a\""),
            ("FROM STDIN (QUOTE '''')", feature, "COPY quote available only in CSV mode"),
            ("FROM STDIN CSV QUOTE ','", value, "COPY delimiter and quote must be different"),
            ("FROM STDIN (FORMAT csv, FORCE_QUOTE *)", feature, "COPY force quote only available using COPY TO"),
            ("TO STDOUT (FORMAT csv, FORCE_NULL (a))", feature, "COPY force null only available using COPY FROM"),
            ("TO STDOUT (HEADER match)", feature, "cannot use \"match\" with HEADER in COPY TO"),
            ("FROM STDIN (HEADER 2)", syntax, "header requires a Boolean value or \"match\""),
            ("FROM STDIN (ENCODING 'koi8r')", feature, "COPY with encoding \"koi8r\" is not supported"),
            ("FROM STDIN (ENCODING 'x')", value, "argument to option \"encoding\" must be a valid encoding name"),
            ("TO STDOUT (FORMAT csv) WHERE a > 1", syntax, "WHERE clause not allowed with COPY TO"),
            ("FROM STDIN WHERE", syntax, "syntax error at end of input"),
            ("FROM STDIN (FORMAT csv", syntax, "syntax error at end of input"),
            ("FROM STDIN NONSENSE", syntax, "syntax error at or near \"NONSENSE\""),
        ] {
            let error = options(&format!("COPY t {tail}")).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, message), "{tail}");
        }
    }
}
