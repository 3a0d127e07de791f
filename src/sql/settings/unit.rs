//! Units of settings: of memory and of time.

/// What a number of a setting counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    /// As `pg_settings` names it.
    pub name: &'static str,
    /// Bytes or microseconds.
    size: u64,
    of: Quantity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Memory,
    Time,
}

/// Largest first, as they are shown.
const MEMORY: [(&str, u64); 5] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];
const TIME: [(&str, u64); 6] =
    [("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];
/// A page: what some settings count in.
const PAGE: (&str, u64) = ("8kB", 8 << 10);

impl Unit {
    /// `None` for what is counted in nothing.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let find = |units: &[(&'static str, u64)], of| {
            units.iter().find(|(known, _)| *known == name).map(|(name, size)| Unit { name, size: *size, of })
        };
        let page = || find(&[PAGE], Quantity::Memory);
        find(&MEMORY, Quantity::Memory).or_else(page).or_else(|| find(&TIME, Quantity::Time))
    }

    fn others(self) -> &'static [(&'static str, u64)] {
        match self.of {
            Quantity::Memory => &MEMORY,
            Quantity::Time => &TIME,
        }
    }

    /// How many of this unit one of another is; `None` for a unit of something else.
    #[expect(clippy::cast_precision_loss, reason = "sizes of units have few digits that are not 0")]
    pub(crate) fn of(self, other: &str) -> Option<f64> {
        let (_, size) = self.others().iter().find(|(name, _)| *name == other)?;
        Some(*size as f64 / self.size as f64)
    }

    /// A number of this unit in the largest one that counts it whole: `1h`.
    pub(crate) fn shown(self, value: i64) -> String {
        let Some(total) = u64::try_from(value).ok().filter(|value| *value > 0).and_then(|v| v.checked_mul(self.size))
        else {
            return value.to_string();
        };
        let whole = self.others().iter().find(|(_, size)| total.is_multiple_of(*size));
        whole.map_or_else(|| value.to_string(), |(name, size)| format!("{}{name}", total / size))
    }

    /// What may stand behind a number.
    pub(crate) fn hint(self) -> &'static str {
        match self.of {
            Quantity::Memory => r#"Valid units for this parameter are "B", "kB", "MB", "GB", and "TB"."#,
            Quantity::Time => r#"Valid units for this parameter are "us", "ms", "s", "min", "h", and "d"."#,
        }
    }
}
