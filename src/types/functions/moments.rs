//! What a statement knows besides its tables: when its transaction began, when it began itself, the clock, and the style
//! of its session.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tablegate_store::model::{Clock, EdmDateTime};

use crate::style::{Reading, Style};

/// Microseconds since 1970-01-01T00:00:00 UTC.
#[derive(Clone)]
pub struct Moments {
    /// `None` for a transaction that begins with its statement.
    transaction: Option<i64>,
    /// Asked of the clock once in a statement, and only when something depends on it.
    statement: Arc<OnceLock<i64>>,
    clock: Option<Arc<dyn Clock>>,
    style: Style,
}

impl Moments {
    /// For a statement that begins now, in a transaction that began when it says, or begins with it.
    pub fn new(clock: Arc<dyn Clock>, transaction: Option<EdmDateTime>, style: Style) -> Self {
        Self {
            transaction: transaction.map(EdmDateTime::unix_micros),
            statement: Arc::new(OnceLock::new()),
            clock: Some(clock),
            style,
        }
    }

    /// While a statement is planned, nothing depends on the time.
    pub fn unknown() -> Self {
        Self { transaction: None, statement: Arc::new(OnceLock::new()), clock: None, style: Style::PLAIN }
    }

    /// The style of the session.
    pub fn style(&self) -> Style {
        self.style
    }

    /// What a text of the statement is read with.
    pub fn reading(&self) -> Reading {
        Reading { style: self.style, now: self.known_transaction() }
    }

    /// When the transaction began; `None` where it is not known, as while a plan is made that is kept for later.
    pub fn known_transaction(&self) -> Option<i64> {
        if self.transaction.is_none() && self.clock.is_none() { None } else { Some(self.transaction()) }
    }

    /// When the transaction began.
    pub fn transaction(&self) -> i64 {
        self.transaction.unwrap_or_else(|| self.statement())
    }

    /// When the statement began.
    pub fn statement(&self) -> i64 {
        *self.statement.get_or_init(|| self.clock())
    }

    /// Now.
    pub fn clock(&self) -> i64 {
        self.clock.as_ref().map_or(0, |clock| clock.now().unix_micros())
    }
}

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moments").field("transaction", &self.transaction).finish_non_exhaustive()
    }
}
