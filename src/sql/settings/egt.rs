//! This product's own settings: how transactions keep to the rules of entity group transactions.

/// What a transaction may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EgtMode {
    /// One EGT: the statement that would make it more is refused.
    #[default]
    Strict,
    /// Anything; what is not one EGT is carried out all the same, and noted.
    Observe,
}

impl EgtMode {
    /// As the setting `egt.mode` has it.
    pub fn name(self) -> &'static str {
        match self {
            EgtMode::Strict => "strict",
            EgtMode::Observe => "observe",
        }
    }
}

/// How a statement that needs several EGTs outside a block is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Autocommit {
    /// It runs as several EGTs, and a NOTICE says how many.
    Split,
    /// It is refused before anything is written.
    Strict,
}
