//! The strengths of locks, and which of them two transactions can hold at once: PostgreSQL's tables 13.2 and 13.3.

use tablegate_bind::query::LockStrength;

use crate::syntax::TableMode;

/// What is asked for: a strength of a row's lock or a mode of a table's. No target is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Row(LockStrength),
    Table(TableMode),
}

/// Several modes of one target, as a bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Modes(u8);

impl Mode {
    fn bit(self) -> u8 {
        match self {
            Mode::Row(strength) => 1 << strength as u8,
            Mode::Table(mode) => 1 << mode as u8,
        }
    }

    /// The modes that conflict with this one.
    pub(super) fn conflicts(self) -> Modes {
        Modes(match self {
            Mode::Row(LockStrength::KeyShare) => 0b1000,
            Mode::Row(LockStrength::Share) => 0b1100,
            Mode::Row(LockStrength::NoKeyUpdate) => 0b1110,
            Mode::Row(LockStrength::Update) => 0b1111,
            Mode::Table(TableMode::AccessShare) => 0b1000_0000,
            Mode::Table(TableMode::RowShare) => 0b1100_0000,
            Mode::Table(TableMode::RowExclusive) => 0b1111_0000,
            Mode::Table(TableMode::ShareUpdateExclusive) => 0b1111_1000,
            Mode::Table(TableMode::Share) => 0b1110_1100,
            Mode::Table(TableMode::ShareRowExclusive) => 0b1111_1100,
            Mode::Table(TableMode::Exclusive) => 0b1111_1110,
            Mode::Table(TableMode::AccessExclusive) => 0b1111_1111,
        })
    }
}

impl Modes {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// PostgreSQL's names of these modes; those of rows are the modes it locks a tuple with.
    pub(super) fn names(self, of_row: bool) -> impl Iterator<Item = &'static str> {
        const ROW_NAMES: [&str; 4] = ["AccessShareLock", "RowShareLock", "ExclusiveLock", "AccessExclusiveLock"];
        const TABLE_NAMES: [&str; 8] = [
            "AccessShareLock",
            "RowShareLock",
            "RowExclusiveLock",
            "ShareUpdateExclusiveLock",
            "ShareLock",
            "ShareRowExclusiveLock",
            "ExclusiveLock",
            "AccessExclusiveLock",
        ];
        let names: &[&str] = if of_row { &ROW_NAMES } else { &TABLE_NAMES };
        names.iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| *name)
    }

    #[must_use]
    pub(super) fn with(self, mode: Mode) -> Self {
        Self(self.0 | mode.bit())
    }

    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn overlap(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the row they are held on cannot have been changed by anybody else.
    pub(super) fn keep_row_unchanged(self) -> bool {
        self.0 & !Mode::Row(LockStrength::KeyShare).bit() != 0
    }

    /// Whether one of them keeps others out at least as much as `mode` would.
    pub(super) fn cover(self, mode: Mode) -> bool {
        let wanted = mode.conflicts().0;
        let all: &[Mode] = match mode {
            Mode::Row(_) => &ROWS,
            Mode::Table(_) => &TABLES,
        };
        all.iter().any(|held| self.0 & held.bit() != 0 && held.conflicts().0 & wanted == wanted)
    }
}

const ROWS: [Mode; 4] = [
    Mode::Row(LockStrength::KeyShare),
    Mode::Row(LockStrength::Share),
    Mode::Row(LockStrength::NoKeyUpdate),
    Mode::Row(LockStrength::Update),
];

const TABLES: [Mode; 8] = [
    Mode::Table(TableMode::AccessShare),
    Mode::Table(TableMode::RowShare),
    Mode::Table(TableMode::RowExclusive),
    Mode::Table(TableMode::ShareUpdateExclusive),
    Mode::Table(TableMode::Share),
    Mode::Table(TableMode::ShareRowExclusive),
    Mode::Table(TableMode::Exclusive),
    Mode::Table(TableMode::AccessExclusive),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(a: Mode, b: Mode) -> bool {
        a.conflicts().overlap(Modes::NONE.with(b))
    }

    #[test]
    fn conflicts_are_mutual() {
        for modes in [&ROWS[..], &TABLES[..]] {
            for a in modes {
                for b in modes {
                    assert_eq!(conflict(*a, *b), conflict(*b, *a), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn conflicts_are_those_of_postgresql() {
        // Table 13.3: a key share goes with an update that leaves the key.
        let [key_share, share, no_key_update, update] = ROWS;
        assert!(!conflict(key_share, no_key_update) && conflict(key_share, update));
        assert!(!conflict(share, share) && conflict(share, no_key_update));
        assert!(conflict(no_key_update, no_key_update));
        // Table 13.2, its column for each mode: how many modes it conflicts with.
        let counts = TABLES.map(|a| TABLES.iter().filter(|b| conflict(a, **b)).count());
        assert_eq!(counts, [1, 2, 4, 5, 5, 6, 7, 8]);
        assert!(!conflict(Mode::Table(TableMode::Share), Mode::Table(TableMode::Share)));
    }

    #[test]
    fn a_stronger_mode_covers_a_weaker_one() {
        let update = Modes::NONE.with(ROWS[3]);
        assert!(ROWS.iter().all(|mode| update.cover(*mode)));
        assert!(!Modes::NONE.with(ROWS[1]).cover(ROWS[2]));
        // Neither covers the other: both must be held.
        assert!(!Modes::NONE.with(Mode::Table(TableMode::Share)).cover(Mode::Table(TableMode::RowExclusive)));
        assert!(!Modes::NONE.with(Mode::Table(TableMode::RowExclusive)).cover(Mode::Table(TableMode::Share)));
    }

    #[test]
    fn only_a_key_share_lets_the_row_change() {
        assert!(!Modes::NONE.keep_row_unchanged());
        assert!(!Modes::NONE.with(ROWS[0]).keep_row_unchanged());
        assert!(Modes::NONE.with(ROWS[0]).with(ROWS[1]).keep_row_unchanged());
    }
}
