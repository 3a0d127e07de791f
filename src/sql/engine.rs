//! What all sessions share: the stores, their catalogue, and DataFusion's functions and limits.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::catalog::TableFunction;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{SessionState, SessionStateDefaults};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::optimizer::{Analyzer, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use futures::future::BoxFuture;
use tablegate_store::model::{Clock, EdmDateTime};
use tablegate_store::table::{ReadOnlyStore, TableStore};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::functions::Moments;
use tablegate_types::interrupt::Interrupt;
use tablegate_types::style::Style;

use super::activity::Sessions;
use super::catalog::{Announcing, Catalog};
use super::copies::Copies;
use super::grouping::GroupByDictionary;
use super::in_turn::{CallsInOrder, MadeRowsInOrder, SortedUnions};
use super::latest::Latest;
use super::login::{Account, Accounts, Role};
use super::lost_order::SortedMerges;
use super::many_wanted::SortsOfManyRows;
use super::mount::MountedStore;
use super::notify::Hub;
use super::observe::Recorder;
use super::place::{Place, Stores};
use super::progress::LongWrites;
use super::range_join::RangeJoins;
use super::reads::Reads;
use super::recursion::StepsInOnePart;
use super::roster::Roster;
use super::run_time_filters::with_run_time_filters;
use super::self_equal::SelfEqualities;
use super::semi_joins::SemiJoins;
use super::sequence::Sequences;
use super::settings::EgtMode;
use super::statistics::{Commits, CountedStore, Counters, Memory, Statistics};
use super::tx::{Claims, HeldBackSpace, Locks, Serial, WriteSpace};
use super::window_keys::KeysOfWindows;
use super::workers::Workers;
use super::zeros::BothZeros;
use super::{false_order, guarded_rules, stoppable, tuning};
use crate::calls::StatementMoments;
use crate::empty_rows::SortsOfEmptyRows;

/// What the server is told about itself.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The database's name for clients that do not ask for one; others see the name they asked for.
    pub database: String,
    /// Memory all queries together may hold, in bytes.
    pub query_memory: usize,
    /// Threads one query is spread over.
    pub query_threads: usize,
    /// `egt.mode` of sessions that do not set it.
    pub egt_mode: EgtMode,
    /// Clients that are served at one time, as the setting `max_connections` says.
    pub max_connections: usize,
    /// Statements that take so long are logged, unless a session says otherwise.
    pub slow_statement: Option<Duration>,
    /// Memory the collected writes of all open transactions together may hold, in bytes; the rest is in files.
    pub transaction_memory: usize,
    /// Where those files are. They have no names and end with their transactions.
    pub spill_folder: PathBuf,
    /// The users; `None` where clients need not be users.
    pub accounts: Option<Arc<dyn Accounts>>,
    /// Where temporary tables are; without it there are none.
    pub scratch: Option<ScratchStore>,
    /// Further stores, each behind a schema of its name.
    pub mounts: Vec<MountedStore>,
    /// How other gateways over a store are told of changes that they must not write into.
    pub announcing: Announcing,
}

/// A store for temporary tables: it is empty when the server starts, and need not be durable.
#[derive(Clone)]
pub struct ScratchStore(pub Arc<dyn TableStore>);

impl std::fmt::Debug for ScratchStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScratchStore")
    }
}

impl Default for EngineConfig {
    /// 1 GiB for queries and 64 MiB for writes: what a small machine can spare; all of its processors.
    fn default() -> Self {
        let query_threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            database: "tablegate".to_owned(),
            query_memory: 1 << 30,
            query_threads,
            egt_mode: EgtMode::Strict,
            max_connections: 100,
            slow_statement: None,
            transaction_memory: 64 << 20,
            spill_folder: std::env::temp_dir(),
            accounts: None,
            scratch: None,
            mounts: Vec::new(),
            announcing: Announcing::default(),
        }
    }
}

/// The stores with their catalogue, ready to take statements.
pub struct Engine {
    stores: Stores,
    catalog: Catalog,
    recorder: Arc<Recorder>,
    sequences: Arc<Sequences>,
    write_space: Arc<WriteSpace>,
    held_back: Arc<HeldBackSpace>,
    clock: Arc<dyn Clock>,
    config: EngineConfig,
    base: SessionState,
    /// What constants are computed with that are the same in every statement.
    timeless: ExecutionProps,
    workers: Workers,
    locks: Arc<Locks>,
    serial: Arc<Serial>,
    copies: Arc<Copies>,
    long_writes: Arc<LongWrites>,
    hub: Arc<Hub>,
    sessions: Arc<Sessions>,
    statistics: Arc<Statistics>,
    counters: Arc<Counters>,
    commits: Arc<Commits>,
    roster: Roster,
    /// The objects that the system catalogue showed last.
    shown: Latest,
}

impl Engine {
    /// Opens the catalogue of a store.
    ///
    /// # Errors
    /// When the store cannot be read or its catalogue is damaged.
    pub fn open(
        store: Arc<dyn TableStore>,
        clock: Arc<dyn Clock>,
        config: EngineConfig,
    ) -> BoxFuture<'static, SqlResult<Arc<Self>>> {
        Box::pin(async move {
            let commits = Arc::<Commits>::default();
            let counted =
                |place, store| -> Arc<dyn TableStore> { Arc::new(CountedStore::new(place, store, commits.clone())) };
            let store = counted(Place::Public, store);
            let mounts = config.mounts.iter().cloned().map(|mount| match mount.read_only {
                true => MountedStore { store: Arc::new(ReadOnlyStore::new(mount.store)), ..mount },
                false => MountedStore { store: counted(Place::Mount(mount.name), mount.store), ..mount },
            });
            let stores = Stores::new(store.clone(), config.scratch.clone().map(|scratch| scratch.0), mounts.collect());
            let catalog = Catalog::load(stores.clone(), clock.clone(), config.announcing).await?;
            let base = SessionStateBuilder::new()
                .with_config(tuning::session_config(config.query_threads))
                .with_runtime_env(tuning::runtime_env(config.query_memory)?)
                .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
                .with_window_functions(SessionStateDefaults::default_window_functions())
                .with_table_function_list(series())
                .with_analyzer_rules(stoppable::analyses(tuning::with_own_coercion(Analyzer::new().rules)))
                .with_optimizer_rules(stoppable::rules(logical_rules()))
                .with_physical_optimizer_rules(physical_rules())
                .build();
            let recorder = Recorder::new(store.clone());
            let sequences = Arc::new(Sequences::new(stores.clone()));
            let (memory, query_memory) = (&base.runtime_env().memory_pool, config.query_memory);
            let (values, folder) = (config.transaction_memory, config.spill_folder.clone());
            let write_space = WriteSpace::new(values, folder, Arc::clone(memory), query_memory);
            let held_back = HeldBackSpace::within(Arc::clone(memory), query_memory);
            let locks = Arc::new(Locks::within(Arc::clone(memory)));
            let (serial, copies, long_writes, hub, statistics, counters) = Default::default();
            let sessions = Arc::new(Sessions::since(clock.now().unix_micros()));
            Ok(Arc::new(Self {
                stores,
                catalog,
                recorder,
                sequences,
                write_space,
                held_back,
                clock,
                workers: Workers::start(config.query_threads)?,
                config,
                timeless: moment(&base, &Moments::unknown()),
                base,
                locks,
                serial,
                copies,
                long_writes,
                hub,
                sessions,
                statistics,
                counters,
                commits,
                roster: Roster::default(),
                shown: Latest::default(),
            }))
        })
    }

    /// Writes what is kept in memory for a moment (the counts of observe mode, values of sequences that were not given
    /// out). To be called before the store is closed, or the last seconds of these are lost.
    pub fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.recorder.flush().await;
            self.sequences.give_all_back().await;
        })
    }

    /// What the system catalogue keeps for the next statement.
    pub(crate) fn shown(&self) -> &Latest {
        &self.shown
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// The stores of all places.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The memory of rows that statements hold back.
    pub(super) fn held_back(&self) -> &Arc<HeldBackSpace> {
        &self.held_back
    }

    /// Where transactions collect what they write.
    pub(super) fn write_space(&self) -> &Arc<WriteSpace> {
        &self.write_space
    }

    /// What observe mode has seen.
    pub(super) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// The sequences, as all sessions share them.
    pub(super) fn sequences(&self) -> &Arc<Sequences> {
        &self.sequences
    }

    /// The COPY statements under way.
    pub(super) fn copies(&self) -> &Arc<Copies> {
        &self.copies
    }

    /// The statements that write many entity group transactions.
    pub(super) fn long_writes(&self) -> &Arc<LongWrites> {
        &self.long_writes
    }

    /// What all serializable transactions have to do with each other.
    pub(super) fn serial(&self) -> &Arc<Serial> {
        &self.serial
    }

    /// Where sessions notify each other.
    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The sessions there are.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// What statements cost.
    pub(super) fn statistics(&self) -> &Arc<Statistics> {
        &self.statistics
    }

    /// What the sessions have done, all together.
    pub(super) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Counts of what was committed, by all sessions and by the gateway itself.
    pub(super) fn commits(&self) -> &Arc<Commits> {
        &self.commits
    }

    /// All locks.
    pub(super) fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// The locks of a new transaction of the session with this number.
    pub(super) fn new_claims(&self, process: i32) -> Claims {
        Claims::new(self.locks.clone(), self.stores.clone(), process)
    }

    pub(super) fn now(&self) -> EdmDateTime {
        self.clock.now()
    }

    /// The times of a statement that begins now, in a session of this style.
    pub(super) fn moments(&self, transaction_began: Option<EdmDateTime>, style: Style) -> Moments {
        Moments::new(self.clock.clone(), transaction_began, style)
    }

    /// The threads that run plans.
    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// How many tasks of plans there are: none once nothing runs and nothing of what was given up is left.
    pub fn tasks(&self) -> usize {
        self.workers.tasks()
    }

    /// DataFusion's state for planning.
    pub(super) fn state(&self) -> &SessionState {
        &self.base
    }

    /// DataFusion's state for running one statement on its own snapshot, until the interrupt is raised.
    pub(super) fn state_with(&self, reads: Arc<Reads>, interrupt: Interrupt) -> SessionState {
        let mut config = self.base.config().clone();
        let memory = self.base.runtime_env().memory_pool.clone();
        let statement = StatementMoments { moments: reads.moments.clone(), interrupt: Some(interrupt), memory };
        config.options_mut().extensions.insert(statement);
        let config = config.with_extension(reads);
        let mut state = SessionStateBuilder::new_from_existing(self.base.clone()).with_config(config).build();
        // Functions find the options, and so the times among them, only from here on.
        state.mark_start_execution();
        state
    }

    /// What expressions outside a plan are evaluated with in one statement.
    pub(super) fn moment(&self, moments: &Moments) -> ExecutionProps {
        moment(&self.base, moments)
    }

    /// What constants are computed with that are the same in every statement.
    pub(super) fn timeless(&self) -> &ExecutionProps {
        &self.timeless
    }

    /// Memory of queries' own, for what is kept besides their plans.
    pub(super) fn memory(&self, purpose: &str) -> MemoryReservation {
        MemoryConsumer::new(purpose).register(&self.base.runtime_env().memory_pool)
    }

    /// How much of the memory of queries is taken.
    pub(super) fn query_memory(&self) -> Memory {
        let used = self.base.runtime_env().memory_pool.reserved();
        Memory { used: used as u64, limit: self.config.query_memory as u64 }
    }

    /// The users that can log in.
    ///
    /// # Errors
    /// 58030 when they cannot be read.
    pub(super) async fn accounts(&self) -> SqlResult<Vec<Account>> {
        match &self.config.accounts {
            None => Ok(Vec::new()),
            Some(accounts) => accounts.all().await.map_err(|error| {
                tracing::error!(%error, "the users cannot be read");
                SqlError::new(ErrorKind::StoreFailure, "the users of this server cannot be read")
            }),
        }
    }

    /// The role that a user has now; `None` for a name that is not a user's, where clients need not be users.
    ///
    /// # Errors
    /// 58030 when the users cannot be read.
    pub(super) async fn role_of(&self, user: &str) -> SqlResult<Option<Role>> {
        if self.config.accounts.is_none() {
            return Ok(None);
        }
        let roles = match self.roster.known(Instant::now()) {
            Some(roles) => roles,
            None => self.roster.learn(&self.accounts().await?, Instant::now()),
        };
        Ok(roles.get(user).copied())
    }

    /// A user was changed.
    pub(super) fn forget_roles(&self) {
        self.roster.forget();
    }
}

/// The engine's way to give a long series of numbers without a list of them.
fn series() -> Vec<Arc<TableFunction>> {
    let functions = SessionStateDefaults::default_table_functions().into_iter();
    functions.filter(|function| function.name() == "generate_series").collect()
}

/// What expressions outside a plan are evaluated with: these times, and the memory of queries.
fn moment(base: &SessionState, moments: &Moments) -> ExecutionProps {
    let mut options = base.config_options().as_ref().clone();
    let memory = base.runtime_env().memory_pool.clone();
    options.extensions.insert(StatementMoments { moments: moments.clone(), interrupt: None, memory });
    let mut moment = base.execution_props().clone();
    moment.mark_start_execution(Arc::new(options));
    moment
}

/// The engine's own rules, with what keeps them from mistakes, and what must come behind them.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = guarded_rules::guarded(tuning::without_written_order(Optimizer::new().rules));
    rules.push(Arc::new(BothZeros));
    rules
}

/// The same of physical plans.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> =
        vec![Arc::new(SelfEqualities), Arc::new(KeysOfWindows), Arc::new(CallsInOrder), Arc::new(RangeJoins)];
    let own = PhysicalOptimizer::new().rules;
    rules.extend(with_run_time_filters(false_order::unseen(tuning::without_known_rows(own)), Arc::new(SemiJoins)));
    // The engine's last rule checks the plan.
    rules.insert(rules.len() - 1, Arc::new(StepsInOnePart));
    rules.insert(rules.len() - 1, Arc::new(SortedUnions));
    rules.insert(rules.len() - 1, Arc::new(SortedMerges));
    rules.push(Arc::new(SortsOfEmptyRows));
    rules.push(Arc::new(SortsOfManyRows));
    rules.push(Arc::new(MadeRowsInOrder));
    rules.push(Arc::new(GroupByDictionary));
    rules.push(Arc::new(false_order::RealSorts));
    stoppable::physical(rules)
}
