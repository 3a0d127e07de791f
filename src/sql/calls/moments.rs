//! The moments of a statement among the options of the session that runs it, where functions find them.

use std::any::Any;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::{Result, config_err};
use datafusion::config::ConfigOptions;
use tablegate_types::functions::Moments;

/// The moments, as an extension of the engine's options.
#[derive(Debug, Clone)]
pub(crate) struct StatementMoments(pub Moments);

/// The moments of the statement that runs with these options.
pub(crate) fn moments_of(options: &ConfigOptions) -> Moments {
    options.extensions.get::<StatementMoments>().map_or_else(Moments::unknown, |moments| moments.0.clone())
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
