//! Reads uuid and bytea.

use super::invalid;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::SqlType;

/// Hyphens may stand behind every second byte or be left out; braces around it all.
pub(super) fn uuid(text: &str) -> SqlResult<[u8; 16]> {
    uuid_bytes(text).ok_or_else(|| invalid(&SqlType::Uuid, text))
}

fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let mut rest = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}')?,
        None => text,
    }
    .as_bytes();
    let mut id = [0; 16];
    for (index, byte) in id.iter_mut().enumerate() {
        let (pair, after) = rest.split_at_checked(2)?;
        *byte = hex_value(pair[0])? << 4 | hex_value(pair[1])?;
        rest = match after.strip_prefix(b"-") {
            Some(after) if index % 2 == 1 && index < 15 => after,
            _ => after,
        };
    }
    rest.is_empty().then_some(id)
}

/// Appends the bytes of `\xDEADBEEF`, or of the older form with `\000` and `\\`.
pub(super) fn bytea(text: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    match text.strip_prefix("\\x") {
        Some(hex) => hex_bytes(hex, out),
        None => escaped_bytes(text.as_bytes(), out)
            .ok_or_else(|| SqlError::new(ErrorKind::InvalidTextRepresentation, "invalid input syntax for type bytea")),
    }
}

fn hex_bytes(hex: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    let mut digits = hex.chars();
    while let Some(high) = digits.next() {
        if high.is_ascii_whitespace() {
            continue;
        }
        let high = hex_digit(high)?;
        let low = digits.next().ok_or_else(|| {
            SqlError::new(ErrorKind::InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
        })?;
        out.push(high << 4 | hex_digit(low)?);
    }
    Ok(())
}

fn hex_digit(digit: char) -> SqlResult<u8> {
    u8::try_from(digit).ok().and_then(hex_value).ok_or_else(|| {
        SqlError::new(ErrorKind::InvalidParameterValue, format!("invalid hexadecimal digit: \"{digit}\""))
    })
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn escaped_bytes(mut rest: &[u8], out: &mut Vec<u8>) -> Option<()> {
    loop {
        rest = match rest {
            [] => return Some(()),
            [b'\\', b'\\', after @ ..] => {
                out.push(b'\\');
                after
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', ..] => return None,
            [byte, after @ ..] => {
                out.push(*byte);
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        bytea(text, &mut out).map(|()| out).map_err(|e| e.message)
    }

    #[test]
    fn uuids_in_every_form() {
        let expected = 0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11_u128.to_be_bytes();
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
        ] {
            assert_eq!(uuid(text).unwrap(), expected, "{text}");
        }
        for text in [
            "x",
            "",
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0-eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0eebc999c0b4ef8bb6d6bb9bd380a1",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11-",
        ] {
            assert_eq!(uuid(text).unwrap_err().message, format!("invalid input syntax for type uuid: \"{text}\""));
        }
    }

    #[test]
    fn bytea_in_both_forms() {
        assert_eq!(bytes("\\xDEad 01").unwrap(), [0xde, 0xad, 1]);
        assert!(bytes("\\x").unwrap().is_empty());
        assert_eq!(bytes("a\\001\\\\\\377").unwrap(), [b'a', 1, b'\\', 255]);
        assert_eq!(bytes("\\xzz").unwrap_err(), "invalid hexadecimal digit: \"z\"");
        assert_eq!(bytes("\\x0").unwrap_err(), "invalid hexadecimal data: odd number of digits");
        assert_eq!(bytes("a\\").unwrap_err(), "invalid input syntax for type bytea");
        assert_eq!(bytes("\\400").unwrap_err(), "invalid input syntax for type bytea");
    }
}
