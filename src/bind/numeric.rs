//! Numbers of any length as PostgreSQL prints them: the digits that were written, without an exponent.

/// Digits that a number may have on one side of its point.
const MOST_DIGITS: usize = 16_383;

/// The text of a numeric; `None` for what is none.
pub(crate) fn printed(text: &str) -> Option<String> {
    if is_printed(text) {
        return Some(text.to_owned());
    }
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    match rest.to_ascii_lowercase().as_str() {
        "nan" if text.len() == rest.len() => return Some("NaN".to_owned()),
        "infinity" | "inf" => return Some(format!("{sign}Infinity")),
        _ => {}
    }
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    // Where the point stands among the digits, and how many digits are shown behind it.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let scale = usize::try_from((i64::try_from(fraction.len()).ok()? - i64::from(exponent)).max(0)).ok()?;
    if scale > MOST_DIGITS || point.unsigned_abs() > 131_072 {
        return None;
    }
    let (before, behind) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => (format!("{digits}{}", "0".repeat(point - digits.len())), String::new()),
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => (String::new(), "0".repeat(usize::try_from(-point).ok()?) + &digits),
    };
    let before = before.trim_start_matches('0');
    let before = if before.is_empty() { "0" } else { before };
    let is_zero = before == "0" && behind.bytes().all(|b| b == b'0');
    let sign = if is_zero { "" } else { sign };
    Some(if scale == 0 { format!("{sign}{before}") } else { format!("{sign}{before}.{behind}") })
}

/// Whether it is what would be printed: digits alone, and some behind a point.
fn is_printed(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits =
        |digits: &str| !digits.is_empty() && digits.len() < 100 && digits.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole) && !whole.starts_with('0') && is_digits(fraction)
}

#[cfg(test)]
mod tests {
    use super::printed;

    #[test]
    fn numbers_print_as_postgresqls() {
        for (text, shown) in [
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            ("1.25e1", "12.5"),
            ("-0.00", "0.00"),
            ("007", "7"),
            ("NaN", "NaN"),
            (" -12 ", "-12"),
            ("-Inf", "-Infinity"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(shown), "{text}");
        }
        assert_eq!((printed("1.2.3"), printed(""), printed("1x")), (None, None, None));
    }
}
