//! How many digits a numeric is shown with behind its point.

use crate::sql_type::SqlType;

/// Digits that PostgreSQL counts as one.
const GROUP: usize = 4;
/// Significant digits of a quotient (`NUMERIC_MIN_SIG_DIGITS`).
const SIGNIFICANT_DIGITS: usize = 16;

/// Which zeros at the end of a numeric are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownDigits {
    /// All that there are.
    All,
    /// None.
    Needed,
    /// Those that PostgreSQL gives the quotients of this size: they have 16 significant digits.
    OfQuotient,
}

impl ShownDigits {
    /// For the values of a type.
    pub fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Numeric(None) => ShownDigits::Needed,
            SqlType::Quotient => ShownDigits::OfQuotient,
            _ => ShownDigits::All,
        }
    }

    /// How many digits behind the point are shown in any case, of `scale` that there are. `digits` are all those of the number from
    /// the first one on that is not zero, as numbers or as ASCII.
    pub fn least(self, scale: usize, digits: &[u8]) -> usize {
        match self {
            ShownDigits::All => scale,
            ShownDigits::Needed => 0,
            ShownDigits::OfQuotient => of_quotient(scale, digits).min(scale),
        }
    }
}

/// PostgreSQL looks at the first groups of four digits of both operands (`select_div_scale`): where that of the dividend is no greater,
/// it takes the quotient for a group shorter. Of a quotient alone that is known where the two were equal, which makes it a power of
/// 10,000, and where the dividend was zero; between that and twice as much it is taken to have been greater.
fn of_quotient(scale: usize, digits: &[u8]) -> usize {
    // The place of the first group before the point, counted from it; groups behind the point add digits.
    let (before, behind) = match digits.len().checked_sub(scale + 1) {
        Some(exponent) => (exponent / GROUP, 0),
        None => (0, (scale - digits.len()) / GROUP + 1),
    };
    let is_group_shorter = match digits.split_first() {
        None | Some((0 | b'0', _)) => return SIGNIFICANT_DIGITS + GROUP,
        Some((first, rest)) => {
            let exponent = digits.len().abs_diff(scale + 1);
            first % 16 == 1 && exponent.is_multiple_of(GROUP) && rest.iter().all(|digit| digit % 16 == 0)
        }
    };
    let groups = behind + usize::from(is_group_shorter);
    (SIGNIFICANT_DIGITS + GROUP * groups).saturating_sub(GROUP * before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits behind the point of PostgreSQL 15's quotients.
    #[test]
    fn quotients_have_sixteen_significant_digits_counted_in_groups() {
        for (digits, scale, shown) in [
            // 6 / 2, 3 / 2, 15 / 2, 1e4 / 2, 99990000 / 3.
            ("3", 0, 16),
            ("15", 1, 16),
            ("75", 1, 16),
            ("5000", 0, 16),
            ("33330000", 0, 12),
            // 2 / 2, 10000 / 1, 1 / 10000.
            ("1", 0, 20),
            ("10000", 0, 16),
            ("1", 4, 24),
            // 1 / 2, 1 / 8000, 1 / 20000.
            ("5", 1, 20),
            ("125", 6, 20),
            ("5", 5, 24),
            // 0 / 3.
            ("", 0, 20),
            // 2e20 / 1.
            ("200000000000000000000", 0, 0),
        ] {
            let mut padded: Vec<u8> = digits.bytes().collect();
            if !digits.is_empty() {
                padded.extend(std::iter::repeat_n(b'0', 36 - scale));
            }
            assert_eq!(ShownDigits::OfQuotient.least(36, &padded), shown, "{digits} of {scale}");
        }
    }
}
