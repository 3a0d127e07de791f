//! Takes a record of COPY input apart into its fields.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bytes::find_any;
use super::options::CopyOptions;

/// The fields of one record; reused from record to record.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// Contents of fields that are not in the record as they are.
    decoded: Vec<u8>,
}

/// Where a field's content is.
#[derive(Debug, Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    decoded: bool,
    null: bool,
}

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field's content, `None` for NULL. `record` is what was split last.
    pub(super) fn get<'a>(&'a self, record: &'a str, index: usize) -> Option<&'a str> {
        let field = self.fields.get(index).filter(|f| !f.null)?;
        if !field.decoded {
            // Fields are cut at ASCII characters.
            return Some(record.get(field.start..field.end).unwrap_or_default());
        }
        // Split has checked that decoded fields are UTF-8.
        Some(std::str::from_utf8(&self.decoded[field.start..field.end]).unwrap_or_default())
    }

    /// # Errors
    /// 22P04 for a record that is not well formed, 22021 for escapes that are no UTF-8.
    pub(super) fn split(&mut self, record: &str, options: &CopyOptions) -> SqlResult<()> {
        self.fields.clear();
        self.decoded.clear();
        if options.is_csv() {
            self.split_csv(record.as_bytes(), options)
        } else {
            self.split_text(record.as_bytes(), options)
        }
    }

    fn split_text(&mut self, record: &[u8], options: &CopyOptions) -> SqlResult<()> {
        let special = [options.delimiter, b'\\', b'\r', b'\n'];
        let mut start = 0;
        loop {
            let mut at = start;
            let mut escapes = false;
            while let Some(plain) = record.get(at..).and_then(|rest| find_any(rest, special)) {
                at += plain;
                match record.get(at) {
                    Some(byte) if *byte == options.delimiter => break,
                    Some(b'\\') => {
                        escapes = true;
                        at += 2;
                    }
                    Some(b'\r') => {
                        return Err(bad_format("literal carriage return found in data")
                            .with_hint("Use \"\\r\" to represent carriage return."));
                    }
                    Some(_) => return Err(literal_newline(options)),
                    None => break,
                }
            }
            if record.get(at) != Some(&options.delimiter) {
                at = record.len();
            }
            let end = at.min(record.len());
            let raw = &record[start..end];
            let null = raw == options.null.as_bytes();
            if escapes && !null {
                self.push_unescaped(raw)?;
            } else {
                self.fields.push(Field { start, end, decoded: false, null });
            }
            if end >= record.len() {
                return Ok(());
            }
            start = end + 1;
        }
    }

    fn push_unescaped(&mut self, mut raw: &[u8]) -> SqlResult<()> {
        let start = self.decoded.len();
        let mut made_bytes = false;
        while let [byte, rest @ ..] = raw {
            raw = rest;
            if *byte != b'\\' {
                self.decoded.push(*byte);
                continue;
            }
            let [escape, rest @ ..] = raw else { break };
            raw = rest;
            self.decoded.push(match escape {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'0'..=b'7' => {
                    made_bytes = true;
                    number(escape - b'0', &mut raw, 2, 8)
                }
                b'x' if raw.first().is_some_and(u8::is_ascii_hexdigit) => {
                    made_bytes = true;
                    number(0, &mut raw, 2, 16)
                }
                other => *other,
            });
        }
        if made_bytes {
            check_utf8(&self.decoded[start..])?;
        }
        self.fields.push(Field { start, end: self.decoded.len(), decoded: true, null: false });
        Ok(())
    }

    fn split_csv(&mut self, record: &[u8], options: &CopyOptions) -> SqlResult<()> {
        let mut at = 0;
        loop {
            let start = at;
            at += plain_bytes(&record[at..], options)?;
            let field = if record.get(at) == Some(&options.quote) {
                let decoded_start = self.decoded.len();
                self.decoded.extend_from_slice(&record[start..at]);
                at = self.decode_quoted(record, at, options)?;
                Field { start: decoded_start, end: self.decoded.len(), decoded: true, null: false }
            } else {
                Field { start, end: at, decoded: false, null: record[start..at] == *options.null.as_bytes() }
            };
            self.fields.push(field);
            if at >= record.len() {
                return Ok(());
            }
            at += 1;
        }
    }

    /// Decodes from a quote to the end of the field; a field may go in and out of quotes. Gives where it ends.
    fn decode_quoted(&mut self, record: &[u8], mut at: usize, options: &CopyOptions) -> SqlResult<usize> {
        while record.get(at) == Some(&options.quote) {
            at += 1;
            loop {
                match (record.get(at), record.get(at + 1)) {
                    (None, _) => return Err(bad_format("unterminated CSV quoted field")),
                    (Some(byte), Some(next))
                        if *byte == options.escape && (*next == options.escape || *next == options.quote) =>
                    {
                        self.decoded.push(*next);
                        at += 2;
                    }
                    (Some(byte), _) => {
                        at += 1;
                        if *byte == options.quote {
                            break;
                        }
                        self.decoded.push(*byte);
                    }
                }
            }
            let plain = plain_bytes(&record[at..], options)?;
            self.decoded.extend_from_slice(&record[at..at + plain]);
            at += plain;
        }
        Ok(at)
    }
}

/// A newline in data whose lines end otherwise.
pub(super) fn literal_newline(options: &CopyOptions) -> Box<SqlError> {
    if options.is_csv() {
        bad_format("unquoted newline found in data").with_hint("Use quoted CSV field to represent newline.")
    } else {
        bad_format("literal newline found in data").with_hint("Use \"\\n\" to represent newline.")
    }
}

/// Bytes up to the next delimiter or quote.
fn plain_bytes(record: &[u8], options: &CopyOptions) -> SqlResult<usize> {
    let len = find_any(record, [options.delimiter, options.quote, b'\r', b'\n']).unwrap_or(record.len());
    match record.get(len) {
        Some(b'\r') if options.delimiter != b'\r' => Err(bad_format("unquoted carriage return found in data")
            .with_hint("Use quoted CSV field to represent carriage return.")),
        Some(b'\n') if options.delimiter != b'\n' => Err(literal_newline(options)),
        _ => Ok(len),
    }
}

/// Goes on with a number in the given base, with so many more digits at most.
fn number(first: u8, rest: &mut &[u8], digits: usize, base: u32) -> u8 {
    let mut value = u32::from(first);
    for _ in 0..digits {
        let Some((digit, after)) = rest.split_first() else { break };
        let Some(digit) = char::from(*digit).to_digit(base) else { break };
        value = value * base + digit;
        *rest = after;
    }
    // `\777` keeps its low eight bits, as in PostgreSQL.
    u8::try_from(value & 0xff).unwrap_or_default()
}

/// Input that is not as its format says (22P04).
pub(super) fn bad_format(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::BadCopyFileFormat, message)
}

/// The bytes as text. A zero byte is none, as in PostgreSQL.
///
/// # Errors
/// 22021
pub(super) fn check_utf8(bytes: &[u8]) -> SqlResult<&str> {
    let wrong = match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => return Ok(text),
        Ok(_) => &[0][..],
        Err(error) => {
            let from = error.valid_up_to();
            let rest = &bytes[from..];
            let len = error.error_len().unwrap_or(rest.len());
            // PostgreSQL shows as many bytes as the first one promises.
            let promised = match rest.first() {
                Some(0xc0..=0xdf) => 2,
                Some(0xe0..=0xef) => 3,
                Some(0xf0..=0xf7) => 4,
                _ => 1,
            };
            &rest[..promised.max(len).min(rest.len())]
        }
    };
    let shown: Vec<String> = wrong.iter().map(|b| format!("0x{b:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Err(SqlError::new(ErrorKind::CharacterNotInRepertoire, message))
}

#[cfg(test)]
mod tests {
    use super::super::encoding::Encoding;
    use super::super::options::{Columns, Format, Header};
    use super::*;

    fn options(csv: bool) -> CopyOptions {
        CopyOptions {
            format: if csv { Format::Csv } else { Format::Text },
            encoding: Encoding::Utf8,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { String::new() } else { "\\N".to_owned() },
            header: Header::No,
            quote: b'"',
            escape: b'"',
            force_quote: Columns::None,
            force_null: Columns::None,
            force_not_null: Columns::None,
            freeze: false,
        }
    }

    fn split(record: &str, options: &CopyOptions) -> Result<Vec<Option<String>>, String> {
        let mut fields = Fields::default();
        fields.split(record, options).map_err(|e| e.message)?;
        Ok((0..fields.len()).map(|i| fields.get(record, i).map(str::to_owned)).collect())
    }

    fn texts(items: &[Option<&str>]) -> Vec<Option<String>> {
        items.iter().map(|item| item.map(str::to_owned)).collect()
    }

    #[test]
    fn text_fields_are_unescaped() {
        let text = options(false);
        for (record, expected) in [
            ("a\tb", &[Some("a"), Some("b")][..]),
            ("", &[Some("")]),
            ("\t", &[Some(""), Some("")]),
            ("\\N\t\\\\N\tN", &[None, Some("\\N"), Some("N")]),
            ("a\\tb\\nc\\\\d\\.\\\te", &[Some("a\tb\nc\\d.\te")]),
            ("\\x41\\102\\1\\xg", &[Some("AB\u{1}xg")]),
            ("\\xc3\\xa9", &[Some("é")]),
            ("a\\", &[Some("a")]),
            ("a\\\nb", &[Some("a\nb")]),
        ] {
            assert_eq!(split(record, &text).unwrap(), texts(expected), "{record}");
        }
        assert_eq!(split("\\xff", &text).unwrap_err(), "invalid byte sequence for encoding \"UTF8\": 0xff");
        assert_eq!(split("\\0", &text).unwrap_err(), "invalid byte sequence for encoding \"UTF8\": 0x00");
        assert_eq!(split("a\rb", &text).unwrap_err(), "literal carriage return found in data");
    }

    #[test]
    fn csv_fields_are_unquoted() {
        let csv = options(true);
        for (record, expected) in [
            ("a,b", &[Some("a"), Some("b")][..]),
            ("", &[None]),
            (",", &[None, None]),
            ("\"\",x", &[Some(""), Some("x")]),
            ("\"a,\"\"b\"\"\nc\",d", &[Some("a,\"b\"\nc"), Some("d")]),
            ("x\"y,z\"w", &[Some("xy,zw")]),
            (" a , \\N", &[Some(" a "), Some(" \\N")]),
            ("\"a\"\"b\"\"\"", &[Some("a\"b\"")]),
        ] {
            assert_eq!(split(record, &csv).unwrap(), texts(expected), "{record}");
        }
        assert_eq!(split("a,\"b", &csv).unwrap_err(), "unterminated CSV quoted field");
        assert_eq!(split("a\rb", &csv).unwrap_err(), "unquoted carriage return found in data");
    }

    #[test]
    fn csv_with_another_escape() {
        let csv = CopyOptions { escape: b'\\', ..options(true) };
        assert_eq!(split("\"a\\\"b\\\\c\\d\"", &csv).unwrap(), texts(&[Some("a\"b\\c\\d")]));
    }
}
