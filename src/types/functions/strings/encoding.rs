//! Digests, and bytes as text: `md5`, `sha256`, `encode`, `decode`, `convert_to`, `convert_from`.

use arrow::array::ArrayRef;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::measure::int4;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::functions::call::Call;
use crate::functions::signature::Overload;
use crate::functions::signature::Type::{Bytea, Int4, Text};
use crate::functions::text_writer::TextWriter;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("md5", &[Text], Text, |call| {
        let text = call.text(0)?;
        call.texts(|row, out| push_hex(&Md5::digest(text.at(row)), out))
    }),
    Overload::new("md5", &[Bytea], Text, |call| {
        let bytes = call.bytes(0)?;
        call.texts(|row, out| push_hex(&Md5::digest(bytes.at(row)), out))
    }),
    Overload::new("sha224", &[Bytea], Bytea, digest::<Sha224>),
    Overload::new("sha256", &[Bytea], Bytea, digest::<Sha256>),
    Overload::new("sha384", &[Bytea], Bytea, digest::<Sha384>),
    Overload::new("sha512", &[Bytea], Bytea, digest::<Sha512>),
    Overload::new("encode", &[Bytea, Text], Text, encode),
    Overload::new("decode", &[Text, Text], Bytea, decode),
    Overload::new("convert_to", &[Text, Text], Bytea, convert_to).stable(),
    Overload::new("convert_from", &[Bytea, Text], Text, convert_from).stable(),
    Overload::new("length", &[Bytea, Text], Int4, |call| {
        let (bytes, encodings) = (call.bytes(0)?, call.text(1)?);
        call.numbers::<arrow::datatypes::Int32Type>(|row| {
            check_encoding(encodings.at(row), "source")?;
            int4(utf8(bytes.at(row))?.chars().count())
        })
    }),
];

fn digest<D: Digest>(call: &Call) -> SqlResult<ArrayRef> {
    let bytes = call.bytes(0)?;
    call.byte_strings(|row, out| {
        out.extend_from_slice(&D::digest(bytes.at(row)));
        Ok(())
    })
}

fn push_hex(bytes: &[u8], out: &mut TextWriter) -> SqlResult<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_chars(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)].into())))
}

/// How bytes are written as text.
#[derive(Clone, Copy)]
enum Form {
    Hex,
    Base64,
    Escape,
}

impl Form {
    fn of(name: &str) -> SqlResult<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "hex" => Form::Hex,
            "base64" => Form::Base64,
            "escape" => Form::Escape,
            _ => return Err(invalid(format!("unrecognized encoding: \"{name}\""))),
        })
    }
}

fn invalid(message: impl Into<String>) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidParameterValue, message)
}

/// Padding is asked for, but bits that no byte has are left unread.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

fn encode(call: &Call) -> SqlResult<ArrayRef> {
    let (values, forms) = (call.bytes(0)?, call.text(1)?);
    call.texts(|row, out| {
        let bytes = values.at(row);
        match Form::of(forms.at(row))? {
            Form::Hex => push_hex(bytes, out),
            Form::Base64 => push_base64(bytes, out),
            Form::Escape => push_escaped(bytes, out),
        }
    })
}

/// In lines of 76 characters.
fn push_base64(bytes: &[u8], out: &mut TextWriter) -> SqlResult<()> {
    const BYTES_PER_LINE: usize = 57;
    let mut line = [0; 76];
    for (index, chunk) in bytes.chunks(BYTES_PER_LINE).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let length = BASE64.encode_slice(chunk, &mut line).unwrap_or(0);
        out.push_str(std::str::from_utf8(&line[..length]).unwrap_or_default());
        out.going_on()?;
    }
    Ok(())
}

fn push_escaped(bytes: &[u8], out: &mut TextWriter) -> SqlResult<()> {
    out.push_chars(bytes.iter().flat_map(|byte| {
        let digit = |shift: u8| Some((b'0' + (byte >> shift & 7)).into());
        let written = match byte {
            b'\\' => [Some('\\'), Some('\\'), None, None],
            0 | 0x80.. => [Some('\\'), digit(6), digit(3), digit(0)],
            _ => [Some((*byte).into()), None, None, None],
        };
        written.into_iter().flatten()
    }))
}

fn decode(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, forms) = (call.text(0)?, call.text(1)?);
    let mut scratch = Vec::new();
    call.byte_strings(|row, out| {
        let text = texts.at(row);
        match Form::of(forms.at(row))? {
            Form::Hex => from_hex(text, out),
            Form::Base64 => from_base64(text, &mut scratch, out),
            Form::Escape => from_escaped(text.as_bytes(), out),
        }
    })
}

fn from_hex(text: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    let digit = |c: char| {
        let value = c.to_digit(16).and_then(|d| u8::try_from(d).ok());
        value.ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    let mut rest = text.chars();
    while let Some(high) = rest.by_ref().find(|c| !matches!(c, ' ' | '\n' | '\t' | '\r')) {
        let high = digit(high)?;
        let low = rest.next().ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits"))?;
        out.push(high << 4 | digit(low)?);
    }
    Ok(())
}

fn from_base64(text: &str, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> SqlResult<()> {
    scratch.clear();
    scratch.extend(text.bytes().filter(|b| !matches!(b, b' ' | b'\n' | b'\t' | b'\r')));
    BASE64.decode_vec(&scratch, out).map_err(|error| match error {
        base64::DecodeError::InvalidByte(_, b'=') => invalid("unexpected \"=\" while decoding base64 sequence"),
        base64::DecodeError::InvalidByte(at, _) => {
            let behind = String::from_utf8_lossy(scratch.get(at..).unwrap_or_default()).chars().next();
            let symbol = behind.unwrap_or_default();
            invalid(format!("invalid symbol \"{symbol}\" found while decoding base64 sequence"))
        }
        base64::DecodeError::InvalidLength(_)
        | base64::DecodeError::InvalidLastSymbol(..)
        | base64::DecodeError::InvalidPadding => invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."),
    })
}

fn from_escaped(mut text: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    loop {
        text = match text {
            [] => return Ok(()),
            [b'\\', b'\\', rest @ ..] => {
                out.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => {
                let message = "invalid input syntax for type bytea";
                return Err(SqlError::new(ErrorKind::InvalidTextRepresentation, message));
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        }
    }
}

/// Text is UTF-8 here, and so are the bytes it is converted from and to.
fn check_encoding(name: &str, role: &str) -> SqlResult<()> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match plain.as_str() {
        "utf8" | "unicode" => Ok(()),
        "latin1" | "iso88591" | "sqlascii" | "win1252" | "latin9" | "euckr" | "eucjp" | "sjis" | "gbk" | "big5" => {
            Err(SqlError::not_supported(format!("conversion of encoding {name}")).with_hint("Only UTF8 is converted."))
        }
        _ => Err(invalid(format!("invalid {role} encoding name \"{name}\""))),
    }
}

fn convert_to(call: &Call) -> SqlResult<ArrayRef> {
    let (texts, encodings) = (call.text(0)?, call.text(1)?);
    call.byte_strings(|row, out| {
        check_encoding(encodings.at(row), "destination")?;
        out.extend_from_slice(texts.at(row).as_bytes());
        Ok(())
    })
}

fn convert_from(call: &Call) -> SqlResult<ArrayRef> {
    let (values, encodings) = (call.bytes(0)?, call.text(1)?);
    call.texts(|row, out| {
        check_encoding(encodings.at(row), "source")?;
        out.push_str(utf8(values.at(row))?);
        Ok(())
    })
}

fn utf8(bytes: &[u8]) -> SqlResult<&str> {
    let refused = |bad: &[u8]| {
        let shown: Vec<String> = bad.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        SqlError::new(ErrorKind::CharacterNotInRepertoire, message)
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |length| at + length);
        refused(&bytes[at..end])
    })?;
    if text.contains('\0') { Err(refused(&[0])) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_bytes_decode_again() {
        let mut out = Vec::new();
        from_hex("0a fF", &mut out).unwrap();
        from_base64("Y Q = =", &mut Vec::new(), &mut out).unwrap();
        from_escaped(b"a\\\\b\\101", &mut out).unwrap();
        assert_eq!(out, b"\x0a\xffaa\\bA");
    }

    #[test]
    fn what_does_not_decode_is_refused_as_in_postgresql() {
        let message = |text: &str, decode: fn(&str, &mut Vec<u8>) -> SqlResult<()>| {
            decode(text, &mut Vec::new()).unwrap_err().message
        };
        assert_eq!(message("a b", from_hex), "invalid hexadecimal digit: \" \"");
        assert_eq!(message("abc", from_hex), "invalid hexadecimal data: odd number of digits");
        let base64 = |text: &str, out: &mut Vec<u8>| from_base64(text, &mut Vec::new(), out);
        assert_eq!(message("Y", base64), "invalid base64 end sequence");
        assert_eq!(message("Y=", base64), "unexpected \"=\" while decoding base64 sequence");
        assert_eq!(message("Y!", base64), "invalid symbol \"!\" found while decoding base64 sequence");
    }
}
