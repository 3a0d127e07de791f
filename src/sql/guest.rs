//! Clients of another door to the same store: they wait for the rows that SQL has locked, and are seen where sessions are.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use tablegate_bind::query::LockStrength;
use tablegate_store::model::{EntityKey, TableName};
use tablegate_types::error::SqlResult;

use super::activity::{Doing, Presence, Stopper, Visitor};
use super::engine::Engine;
use super::observe::{Client, Footprint, Observed, Outcome, Rule, SeenStatement};
use super::place::{Place, StoredTable};
use super::settings::Settings;
use super::statistics::Cost;
use super::tx::Claims;

/// The numbers of these clients begin here, far above those of sessions.
const FIRST_PROCESS: i32 = 1_000_000_000;
/// Most of what a client says of itself that is shown: as long as `application_name` can be.
const NAME_BYTES: usize = 63;

/// The clients of one other door.
pub struct Guests {
    engine: Arc<Engine>,
    next: AtomicU32,
}

/// A change set that was refused because it is no legal entity group transaction.
#[derive(Debug, Clone, Copy)]
pub struct RefusedChangeSet<'a> {
    pub rule: BrokenRule,
    /// What was asked for, without constants.
    pub request: &'a str,
    pub user: &'a str,
    /// As the client says of itself.
    pub application: &'a str,
    pub table: &'a str,
    /// Those that it named up to where it was refused.
    pub partitions: &'a [&'a str],
    pub entities: usize,
    pub bytes: usize,
}

/// Which rule such a change set breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenRule {
    SecondTable,
    SecondPartition,
    TooManyEntities,
    TooLarge,
}

/// Keeps rows locked until it is dropped.
pub struct GuestLocks(#[expect(dead_code, reason = "it is held, not looked at")] Claims);

/// One of these clients.
pub struct Guest {
    engine: Arc<Engine>,
    process: i32,
    address: SocketAddr,
    settings: Settings,
    stopper: Arc<dyn Stopper>,
    presence: OnceLock<Presence>,
}

/// What a request of such a client came to.
#[derive(Debug, Clone, Copy)]
pub struct GuestCost {
    pub time: Duration,
    pub rows: u64,
    pub scanned: u64,
    /// It wrote, as one entity group transaction.
    pub wrote: bool,
    pub failed: bool,
}

impl Guests {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, next: AtomicU32::new(0) }
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// A number that nobody else in the process has: who waits for locks is told apart by it.
    pub fn next_process(&self) -> i32 {
        let count = self.next.fetch_add(1, Ordering::Relaxed) % FIRST_PROCESS.unsigned_abs();
        FIRST_PROCESS + count.cast_signed()
    }

    /// Keeps what a client of the other door tried, beside what observe mode has seen of transactions.
    pub fn refused(&self, refused: RefusedChangeSet<'_>) {
        let rule = match refused.rule {
            BrokenRule::SecondTable => Rule::SecondTable,
            BrokenRule::SecondPartition => Rule::SecondPartition,
            BrokenRule::TooManyEntities => Rule::TooManyEntities,
            BrokenRule::TooLarge => Rule::TooLarge,
        };
        let statement = Arc::new(SeenStatement::new(refused.request));
        let mut observed = Observed::default();
        observed.see(&statement);
        observed.broke(rule, &statement);
        let client = Client::new(refused.application, refused.user);
        let RefusedChangeSet { table, partitions, entities, bytes, .. } = refused;
        let footprint = Footprint::of_change_set(table, partitions, entities, bytes);
        let recorder = self.engine.recorder();
        recorder.ended(&client, &observed, &footprint, Outcome::RolledBack, self.engine.now());
    }

    /// Whether a table of the store may be known of: not while a transaction makes it, nor once one has dropped it.
    pub fn shows(&self, table: &TableName) -> bool {
        !self.engine.catalog().is_doomed(table)
    }

    /// Whether a transaction makes it.
    pub fn makes(&self, table: &TableName) -> bool {
        self.engine.catalog().is_being_made(table)
    }

    /// The SQL name of a table of the store, as `DROP TABLE` takes it; `None` where SQL calls something else so, which is
    /// stored under another name.
    pub fn name_of(&self, table: &TableName) -> Option<String> {
        self.engine.catalog().name_of_stored(table)
    }

    /// Locks rows of a table, as a statement that writes them would, in this order. `None` where locks bind nobody because
    /// others write to the store.
    ///
    /// # Errors
    /// 55P03 when it takes longer than this, 40P01 when it would never end.
    pub fn lock<'a>(
        &'a self,
        table: &'a TableName,
        keys: &'a [&'a EntityKey],
        patience: Duration,
    ) -> BoxFuture<'a, SqlResult<Option<GuestLocks>>> {
        Box::pin(async move {
            let mut claims = self.engine.new_claims(self.next_process());
            if !claims.bind_everybody(Place::Public) {
                return Ok(None);
            }
            let stored = StoredTable::public(table.clone());
            let oid = self.engine.catalog().oid_of_stored(table);
            claims.lock_as_guest(&stored, oid, keys, LockStrength::Update, patience).await?;
            Ok(Some(GuestLocks(claims)))
        })
    }

    /// A client has connected.
    pub fn connected(&self, address: SocketAddr, stopper: Arc<dyn Stopper>) -> Guest {
        Guest {
            engine: self.engine.clone(),
            process: self.next_process(),
            address,
            settings: Settings::new(""),
            stopper,
            presence: OnceLock::new(),
        }
    }
}

impl Guest {
    /// A request begins: who it is of, what the client says it is, and what it does, without constants.
    pub fn begin(&self, user: &str, application: &str, request: &str) {
        let presence = self.presence.get_or_init(|| {
            let name = &application[..application.floor_char_boundary(NAME_BYTES)];
            // A name that cannot be set is not shown.
            let _ = self.settings.set("application_name", Some(name));
            let visitor = Visitor {
                process: self.process,
                user,
                address: Some(self.address),
                settings: &self.settings,
                stopper: self.stopper.clone(),
            };
            self.engine.sessions().enter(visitor, self.engine.now().unix_micros())
        });
        presence.run(request, None);
    }

    /// It has ended.
    pub fn end(&self, user: &str, request: &str, cost: GuestCost) {
        if let Some(presence) = self.presence.get() {
            presence.rest(Doing::Idle, None);
        }
        let GuestCost { time, rows, scanned, wrote, failed } = cost;
        let egts = u64::from(wrote && !failed);
        let cost = Cost { time, rows, scanned, returned: rows, egts, plans: 0, failed };
        self.engine.statistics().add(self.process, user, &Arc::from(request), &cost);
    }
}
