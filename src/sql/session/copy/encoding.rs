//! The encodings COPY reads and writes, and what they cannot hold.

use std::borrow::Cow;

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// How the text of the input or output is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    #[default]
    Utf8,
    Latin1,
}

/// Encodings that PostgreSQL knows besides, by their names without punctuation.
const OTHERS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "iso88592",
    "iso88593",
    "iso88594",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "iso88599",
    "iso885910",
    "iso885913",
    "iso885914",
    "iso885915",
    "iso885916",
    "johab",
    "koi8",
    "koi8r",
    "koi8u",
    "latin10",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "shiftjis2004",
    "sjis",
    "tcvn",
    "tcvn5712",
    "uhc",
    "vscii",
    "win",
    "win1250",
    "win1251",
    "win1252",
    "win1253",
    "win1254",
    "win1255",
    "win1256",
    "win1257",
    "win1258",
    "win866",
    "win874",
    "win932",
    "win936",
    "win949",
    "win950",
    "windows1250",
    "windows1251",
    "windows1252",
    "windows1253",
    "windows1254",
    "windows1255",
    "windows1256",
    "windows1257",
    "windows1258",
    "windows866",
    "windows874",
    "windows932",
    "windows936",
    "windows949",
    "windows950",
];

impl Encoding {
    /// The encoding of this name, spelt in any of PostgreSQL's ways.
    ///
    /// # Errors
    /// 22023 for what is not an encoding, 0A000 for one that is not read here.
    pub(super) fn named(name: &str) -> SqlResult<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        match plain.as_str() {
            // Text is kept as UTF-8, and what says nothing of its encoding must be that.
            "utf8" | "unicode" | "sqlascii" => Ok(Encoding::Utf8),
            "latin1" | "iso88591" => Ok(Encoding::Latin1),
            other if OTHERS.contains(&other) => Err(SqlError::not_supported(format!("COPY with encoding \"{name}\""))
                .with_hint("Convert the data to UTF8 or LATIN1.")),
            _ => Err(SqlError::new(
                ErrorKind::InvalidParameterValue,
                "argument to option \"encoding\" must be a valid encoding name",
            )),
        }
    }

    /// A piece of input as UTF-8, as far as it is valid.
    pub(super) fn decode(self, data: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Encoding::Latin1 if !data.is_ascii() => {
                Cow::Owned(data.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes())
            }
            Encoding::Utf8 | Encoding::Latin1 => Cow::Borrowed(data),
        }
    }

    /// A piece of output that ends between two characters.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding does not have.
    pub(super) fn encode(self, data: &[u8]) -> SqlResult<Cow<'_, [u8]>> {
        if self == Encoding::Utf8 || data.is_ascii() {
            return Ok(Cow::Borrowed(data));
        }
        let text = String::from_utf8_lossy(data);
        let bytes = text.chars().map(|c| u8::try_from(c).map_err(|_| untranslatable(c)));
        bytes.collect::<SqlResult<Vec<u8>>>().map(Cow::Owned)
    }
}

fn untranslatable(c: char) -> Box<SqlError> {
    let mut utf8 = [0; 4];
    let bytes: Vec<String> = c.encode_utf8(&mut utf8).bytes().map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!(
        "character with byte sequence {} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
        bytes.join(" ")
    );
    SqlError::new(ErrorKind::UntranslatableCharacter, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_read_and_written() {
        assert_eq!(&*Encoding::Latin1.decode(b"a\xe9b"), "aéb".as_bytes());
        assert_eq!(&*Encoding::Latin1.encode("aéb".as_bytes()).unwrap(), b"a\xe9b");
        let error = Encoding::Latin1.encode("€".as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UntranslatableCharacter);
        assert!(error.message.starts_with("character with byte sequence 0xe2 0x82 0xac in encoding"));
    }

    #[test]
    fn names_are_spelt_in_many_ways() {
        for name in ["UTF8", "utf-8", "Unicode", "SQL_ASCII"] {
            assert_eq!(Encoding::named(name).unwrap(), Encoding::Utf8);
        }
        assert_eq!(Encoding::named("iso-8859-1").unwrap(), Encoding::Latin1);
    }
}
