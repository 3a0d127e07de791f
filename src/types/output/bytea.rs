//! Text of byte strings, as bytea_output has them.

use std::fmt;

use crate::style::ByteaOutput;

pub(super) const HEX: &[u8; 16] = b"0123456789abcdef";

pub(super) fn write_bytea(out: &mut impl fmt::Write, bytes: &[u8], form: ByteaOutput) -> fmt::Result {
    match form {
        ByteaOutput::Hex => write_hex(out, bytes),
        ByteaOutput::Escape => bytes.iter().try_for_each(|byte| write_escaped(out, *byte)),
    }
}

fn write_hex(out: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    out.write_str("\\x")?;
    let mut text = [0; 128];
    for chunk in bytes.chunks(64) {
        for (pair, byte) in text.chunks_exact_mut(2).zip(chunk) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        out.write_str(std::str::from_utf8(&text[..chunk.len() * 2]).unwrap_or_default())?;
    }
    Ok(())
}

/// Printable ASCII as it is, a backslash twice, all else as three octal digits.
fn write_escaped(out: &mut impl fmt::Write, byte: u8) -> fmt::Result {
    match byte {
        b'\\' => out.write_str("\\\\"),
        b' '..=b'~' => out.write_char(char::from(byte)),
        _ => write!(out, "\\{byte:03o}"),
    }
}
