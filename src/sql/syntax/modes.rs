//! What kind of transaction it is: how isolated, and whether it may write.

/// How much a transaction sees of others that commit while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isolation {
    /// The same as READ COMMITTED: uncommitted data is never visible.
    ReadUncommitted,
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// Every statement sees what was committed before the first one began.
    RepeatableRead,
    /// And the outcome is as if the transactions of this kind had run one after the other.
    Serializable,
}

impl Isolation {
    /// The names as PostgreSQL lists them.
    pub(crate) const NAMES: [&'static str; 4] =
        ["serializable", "repeatable read", "read committed", "read uncommitted"];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// By its name, ignoring case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let levels =
            [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
        levels.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// Whether all statements read one snapshot, so that a row that changed since cannot be written any more.
    pub(crate) fn keeps_snapshot(self) -> bool {
        self >= Isolation::RepeatableRead
    }
}

/// The modes of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionModes {
    pub isolation: Isolation,
    pub read_only: bool,
    pub deferrable: bool,
}

impl TransactionModes {
    /// The settings that show them.
    pub(crate) fn settings(self) -> [(&'static str, &'static str); 3] {
        let on = |is_on| if is_on { "on" } else { "off" };
        [
            ("transaction_deferrable", on(self.deferrable)),
            ("transaction_isolation", self.isolation.name()),
            ("transaction_read_only", on(self.read_only)),
        ]
    }
}

/// The modes a command names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NamedModes {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
    pub deferrable: Option<bool>,
}

impl NamedModes {
    /// These modes, and for what is not named those of `others`.
    pub(crate) fn or(self, others: TransactionModes) -> TransactionModes {
        TransactionModes {
            isolation: self.isolation.unwrap_or(others.isolation),
            read_only: self.read_only.unwrap_or(others.read_only),
            deferrable: self.deferrable.unwrap_or(others.deferrable),
        }
    }
}
