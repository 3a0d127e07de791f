//! How DataFusion is set up: its options, memory and spill space.

use std::sync::Arc;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::prelude::SessionConfig;
use tablegate_types::error::SqlResult;

use super::coercion::{self, Coercion};
use super::spill_files::SpillFiles;

/// Most bytes that queries spill to temporary files, all together.
const SPILL_BYTES_MAX: u64 = 10 * 1024 * 1024 * 1024;
/// Most temporary files that are merged at once: more are merged in several steps.
const SPILLS_MERGED_MAX: usize = 128;

/// Most keys of a join's build side that it tells the scan of its probe side: a few become point reads, more are what rows
/// are left out by. Beyond it the scan knows the least and the greatest, and asks the join of each row.
const RUN_TIME_KEYS_MAX: usize = 20_000;
/// Most bytes that the rows with these keys may take, of which many may have the same: telling a million of them takes longer than
/// reading what they would leave out.
const RUN_TIME_KEYS_BYTES_MAX: usize = 512 * 1024;

/// Options that every query runs with, spread over so many threads.
pub(crate) fn session_config(threads: usize) -> SessionConfig {
    let mut config = SessionConfig::new().with_information_schema(false).with_target_partitions(threads.max(1));
    let options = config.options_mut();
    // Stores hand out Utf8; views would be made by a copy.
    options.sql_parser.map_string_types_to_utf8view = false;
    // PostgreSQL's: NULLs are larger than everything else.
    options.sql_parser.default_null_ordering = "nulls_max".to_owned();
    // It compares what columns say of NULL before and after physical planning, and the engine's own casts say two things.
    options.execution.skip_physical_aggregate_schema_check = true;
    // What reads a sub-query relies on its order: its own rows, and the lists made of them.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // It does not find groups of NaN again that it has made, and ends in a panic.
    options.optimizer.enable_topk_aggregation = false;
    // It leaves out rows that one min or max has no use for and another one has: of an expression, or with FILTER.
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // One build side for all of the probe side: its keys, all of them, then narrow what the probe side scans.
    options.optimizer.repartition_joins = false;
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = RUN_TIME_KEYS_MAX;
    options.optimizer.hash_join_inlist_pushdown_max_size = RUN_TIME_KEYS_BYTES_MAX;
    config
}

/// A pool of this many bytes for all queries together; operators that can spill do so before it is exceeded.
///
/// # Errors
/// When there is no folder for temporary files.
pub(crate) fn runtime_env(memory: usize) -> SqlResult<Arc<RuntimeEnv>> {
    let folder = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::OsTmpDirectory)
        .with_max_temp_directory_size(SPILL_BYTES_MAX)
        .build()?;
    let files = Arc::new(SpillFiles::new(Arc::new(folder)));
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Custom(files))
        .with_max_spill_merge_fan_in(SPILLS_MERGED_MAX);
    let pool = Arc::new(FairSpillPool::new(memory));
    Ok(RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(disk).build_arc()?)
}

/// The engine's rule that puts joins in the order in which their tables are written. Planning has an order of its own (`plan/joins`), which
/// it would undo.
const RULE_OF_WRITTEN_ORDER: &str = "eliminate_cross_join";

/// The rules that are left to the engine.
pub(crate) fn without_written_order(
    rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>,
) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    rules.into_iter().filter(|rule| rule.name() != RULE_OF_WRITTEN_ORDER).collect()
}

/// The rule that takes aggregates from what is known of the rows below: it counts one different value in a column of a constant, also
/// where there are no rows. Tables say how many rows they have about, so that there is nothing to take.
const RULE_OF_KNOWN_ROWS: &str = "aggregate_statistics";

/// The rules of physical plans that are left to the engine.
pub(crate) fn without_known_rows(
    rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    rules.into_iter().filter(|rule| rule.name() != RULE_OF_KNOWN_ROWS).collect()
}

/// The engine's analysis, with our rule in the place of its own for casts.
pub(crate) fn with_own_coercion(
    rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let own = |rule: Arc<dyn AnalyzerRule + Send + Sync>| match rule.name() {
        coercion::RULE => Arc::new(Coercion) as _,
        _ => rule,
    };
    rules.into_iter().map(own).collect()
}
