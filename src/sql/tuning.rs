//! placeholder
use std::sync::Arc;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::SessionConfig;
use super::error::SqlResult;

pub fn session_config() -> SessionConfig {
    let mut config = SessionConfig::new();
    config.options_mut().sql_parser.map_string_types_to_utf8view = false;
    config
}

pub fn runtime_env(memory: usize) -> SqlResult<Arc<RuntimeEnv>> {
    Ok(RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc()?)
}
