//! The binary form of `numeric`: digits to the base 10,000, aligned at the decimal point.

use arrow::datatypes::i256;
use bytes::{Buf, BufMut, BytesMut};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::output::ShownDigits;

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
/// Decimal digits in one digit of the binary form.
const GROUP: usize = 4;
/// Room for the 77 digits of the largest 256-bit integer and the zeros of a negative scale.
const MAX_DIGITS: usize = 77 + 128;
/// Most groups before the point that are read: far more than any value here holds.
const MAX_READ_GROUPS: i16 = 64;

/// Appends `unscaled * 10^-scale`; how many of the zeros at its end are shown is for `shown` to say.
pub(super) fn write(unscaled: i256, scale: i8, shown: ShownDigits, out: &mut BytesMut) {
    let mut buffer = [0_u8; MAX_DIGITS];
    let mut start = decimal_digits(unscaled, &mut buffer);
    let mut end = MAX_DIGITS;
    let mut decimals = usize::from(scale.unsigned_abs());
    if scale < 0 {
        // Trailing zeros: move the digits to make room for them.
        buffer.copy_within(start..end, start - decimals);
        buffer[end - decimals..].fill(0);
        start -= decimals;
        decimals = 0;
    }
    let least = shown.least(decimals, &buffer[start..end]);
    while decimals > least && (start == end || buffer[end - 1] == 0) {
        end = end.max(start + 1) - 1;
        start = start.min(end);
        decimals -= 1;
    }
    let digits = &buffer[start..end];
    let whole = digits.len().saturating_sub(decimals);
    // Zeros between the point and the first digit.
    let gap = decimals.saturating_sub(digits.len());
    let (before, after) = (whole.div_ceil(GROUP), decimals.div_ceil(GROUP));
    let digit = |group: usize, place: usize| -> u16 {
        let position = (group * GROUP + place).checked_sub(before * GROUP - whole + gap);
        position.and_then(|position| digits.get(position)).map_or(0, |digit| u16::from(*digit))
    };
    let value = |group: usize| (0..GROUP).fold(0, |sum, place| sum * 10 + digit(group, place));
    let first = (0..before + after).find(|group| value(*group) != 0);
    let last = (0..before + after).rfind(|group| value(*group) != 0);
    let (Some(first), Some(last)) = (first, last) else {
        return put_header(out, 0, 0, POSITIVE, decimals);
    };
    let weight = i16::try_from(before).unwrap_or(i16::MAX) - 1 - i16::try_from(first).unwrap_or(i16::MAX);
    let sign = if unscaled.is_negative() { NEGATIVE } else { POSITIVE };
    put_header(out, last - first + 1, weight, sign, decimals);
    for group in first..=last {
        out.put_u16(value(group));
    }
}

/// Reads a value into decimal text.
///
/// # Errors
/// 22P03 for bytes that are not a numeric, 22003 for one far too large, 0A000 for NaN and infinities.
pub(super) fn read(mut bytes: &[u8]) -> SqlResult<String> {
    let cut = || SqlError::new(ErrorKind::ValueCutShort, "insufficient data left in message");
    let truncated = |_| cut();
    let count = usize::from(bytes.try_get_u16().map_err(truncated)?);
    let weight = bytes.try_get_i16().map_err(truncated)?;
    let sign = bytes.try_get_u16().map_err(truncated)?;
    let decimals = usize::from(bytes.try_get_u16().map_err(truncated)?);
    if bytes.len() < count * 2 {
        return Err(cut());
    }
    if bytes.len() != count * 2 {
        return Err(invalid("invalid length in external \"numeric\" value"));
    }
    match sign {
        POSITIVE | NEGATIVE => {}
        0xC000 | 0xD000 | 0xF000 => return Err(SqlError::not_supported("a numeric that is NaN or infinite")),
        _ => return Err(invalid("invalid sign in external \"numeric\" value")),
    }
    let digits: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    if digits.iter().any(|digit| *digit >= 10_000) {
        return Err(invalid("invalid digit in external \"numeric\" value"));
    }
    if decimals > 0x3fff {
        return Err(invalid("invalid scale in external \"numeric\" value"));
    }
    if weight > MAX_READ_GROUPS && digits.iter().any(|digit| *digit != 0) {
        return Err(SqlError::new(ErrorKind::NumericOutOfRange, "value overflows numeric format"));
    }
    Ok(text(&digits, weight, sign == NEGATIVE, decimals))
}

fn text(digits: &[u16], weight: i16, negative: bool, decimals: usize) -> String {
    // The group that stands for 10,000^power.
    let group = |power: i32| {
        let position = usize::try_from(i32::from(weight) - power).ok();
        position.and_then(|position| digits.get(position)).copied().unwrap_or(0)
    };
    let mut text = String::from(if negative { "-" } else { "" });
    let highest = i32::from(weight.clamp(0, MAX_READ_GROUPS));
    for power in (0..=highest).rev() {
        text += &format!("{:04}", group(power));
    }
    if decimals > 0 {
        text.push('.');
        let end = text.len() + decimals;
        let mut power = -1;
        while text.len() < end {
            text += &format!("{:04}", group(power));
            power -= 1;
        }
        text.truncate(end);
    }
    text
}

fn put_header(out: &mut BytesMut, groups: usize, weight: i16, sign: u16, decimals: usize) {
    // Both are bounded by the digits of a 256-bit integer and an 8-bit scale.
    out.put_u16(u16::try_from(groups).unwrap_or(u16::MAX));
    out.put_i16(weight);
    out.put_u16(sign);
    out.put_u16(u16::try_from(decimals).unwrap_or(u16::MAX));
}

/// Writes the digits of a magnitude to the end of the buffer; gives where they start. None for zero.
fn decimal_digits(value: i256, buffer: &mut [u8; MAX_DIGITS]) -> usize {
    const CHUNK_DIGITS: usize = 38;
    let chunk = i256::from_i128(10_i128.pow(38));
    let mut start = buffer.len();
    let mut rest = value;
    while rest != i256::ZERO {
        // Divided with its sign: the magnitude of the smallest value has no positive form.
        let low = rest.wrapping_rem(chunk).to_i128().map_or(0, i128::unsigned_abs);
        rest = rest.wrapping_div(chunk);
        start = put_chunk(low, if rest == i256::ZERO { 0 } else { CHUNK_DIGITS }, buffer, start);
    }
    start
}

/// Writes at least `width` digits before `start`.
fn put_chunk(mut value: u128, width: usize, buffer: &mut [u8; MAX_DIGITS], mut start: usize) -> usize {
    let stop = start - width;
    while value != 0 || start > stop {
        start -= 1;
        buffer[start] = u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
    }
    start
}

fn invalid(message: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::InvalidBinaryRepresentation, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ShownDigits::{All, Needed};

    use super::*;

    fn round_trip(unscaled: i256, scale: i8, shown: ShownDigits) -> String {
        let mut out = BytesMut::new();
        write(unscaled, scale, shown, &mut out);
        let text = read(&out).unwrap();
        let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let digits = digits.trim_start_matches('0');
        let zero = if digits.is_empty() || digits.starts_with('.') { "0" } else { "" };
        format!("{sign}{zero}{digits}")
    }

    fn plain(value: i128, scale: i8, shown: ShownDigits) -> String {
        round_trip(i256::from_i128(value), scale, shown)
    }

    #[test]
    fn values_keep_their_digits_and_scale() {
        assert_eq!(plain(0, 0, All), "0");
        assert_eq!(plain(0, 2, All), "0.00");
        assert_eq!(plain(0, 20, Needed), "0");
        assert_eq!(plain(1, 20, Needed), "0.00000000000000000001");
        assert_eq!(plain(-12_345, 2, All), "-123.45");
        assert_eq!(plain(1_000_000, 4, All), "100.0000");
        assert_eq!(plain(1_000_000, 4, Needed), "100");
        assert_eq!(plain(10_000, 0, Needed), "10000");
        assert_eq!(plain(5, -3, All), "5000");
        assert_eq!(plain(7, 9, All), "0.000000007");
        assert_eq!(
            round_trip(i256::MIN, 0, All),
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968"
        );
    }

    #[test]
    fn the_bytes_are_those_of_postgres() {
        let mut out = BytesMut::new();
        write(i256::from_i128(1_234_567), 2, ShownDigits::All, &mut out);
        // 12345.67: groups 1, 2345, 6700; weight 1; scale 2.
        assert_eq!(&out[..], [0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 9, 41, 26, 44]);
    }

    #[test]
    fn broken_values_are_refused() {
        for bytes in [&[0, 1, 0, 0, 0, 1, 0, 0, 0, 1][..], &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]] {
            assert_eq!(read(bytes).unwrap_err().kind, ErrorKind::InvalidBinaryRepresentation, "{bytes:?}");
        }
        for cut in [&[0, 1][..], &[0, 1, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(read(cut).unwrap_err().kind, ErrorKind::ValueCutShort, "{cut:?}");
        }
        let huge = [0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1];
        assert_eq!(read(&huge).unwrap_err().kind, ErrorKind::NumericOutOfRange);
        let nan = [0, 0, 0, 0, 0xc0, 0, 0, 0];
        assert_eq!(read(&nan).unwrap_err().kind, ErrorKind::FeatureNotSupported);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value: i128, scale in 0_i8..60) {
            let digits = format!("{:0>width$}", value.unsigned_abs(), width = usize::from(scale.unsigned_abs()) + 1);
            let (whole, decimals) = digits.split_at(digits.len() - usize::from(scale.unsigned_abs()));
            let point = if scale > 0 { "." } else { "" };
            let sign = if value < 0 { "-" } else { "" };
            prop_assert_eq!(plain(value, scale, All), format!("{sign}{whole}{point}{decimals}"));
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&bytes);
        }
    }
}
