//! The moments of a statement among the options of the session that runs it, where functions find them; its interrupt and its memory.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::{Result, config_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryPool;
use tablegate_types::functions::Moments;
use tablegate_types::interrupt::Interrupt;

/// An extension of the engine's options.
#[derive(Debug, Clone)]
pub(crate) struct StatementMoments {
    pub moments: Moments,
    /// Raised when nobody waits for the statement any longer. `None` where whoever evaluates sees to that on its thread.
    pub interrupt: Option<Interrupt>,
    /// What long values are counted in.
    pub memory: Arc<dyn MemoryPool>,
}

impl StatementMoments {
    fn of(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>()
    }
}

/// The moments of the statement that runs with these options.
pub(crate) fn moments_of(options: &ConfigOptions) -> Moments {
    StatementMoments::of(options).map_or_else(Moments::unknown, |statement| statement.moments.clone())
}

/// The memory that it takes a part of.
pub(super) fn memory_of(options: &ConfigOptions) -> Option<Arc<dyn MemoryPool>> {
    StatementMoments::of(options).map(|statement| statement.memory.clone())
}

/// Its interrupt.
pub(crate) fn interrupt_of(options: &ConfigOptions) -> Interrupt {
    own_interrupt_of(options).unwrap_or_default()
}

/// The same, where it is not that of the thread.
pub(super) fn own_interrupt_of(options: &ConfigOptions) -> Option<Interrupt> {
    StatementMoments::of(options).and_then(|statement| statement.interrupt.clone())
}

impl ConfigExtension for StatementMoments {
    const PREFIX: &'static str = "moments";
}

impl ExtensionOptions for StatementMoments {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> Result<()> {
        config_err!("{key} is not an option")
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}
