//! The two doors together: what the one for the Azure SDKs asks of SQL.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tablegate_rest::{Broken, Call, Client, Coordinator, Ended, Locked, Objection, Rule};
use tablegate_sql::activity::Stopper;
use tablegate_sql::session::{Session, SessionOptions};
use tablegate_sql::{BrokenRule, Engine, Guest, GuestCost, Guests, RefusedChangeSet};
use tablegate_store::model::{EntityKey, TableName, own_tables};
use tablegate_store::table::StoreError;
use tablegate_types::error::{ErrorKind, SqlError};
use tablegate_types::quoting::quote_ident;
use tokio_util::sync::CancellationToken;

use super::script;

/// SQL, as the other door sees it.
pub(super) struct BesideSql(Guests);

impl BesideSql {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self(Guests::new(engine))
    }

    /// Runs a statement that gives no rows, as nobody in particular.
    async fn run(&self, sql: &str, patience: Duration) -> Result<(), Box<SqlError>> {
        let settings = vec![("lock_timeout".to_owned(), format!("{}ms", patience.as_millis().max(1)))];
        let options = SessionOptions { settings, ..SessionOptions::default() };
        let mut session = Session::new(self.0.engine().clone(), options)?;
        session.set_process(self.0.next_process());
        script::run(&mut session, sql).await
    }
}

#[async_trait::async_trait]
impl Coordinator for BesideSql {
    fn is_visible(&self, table: &TableName) -> bool {
        !own_tables::contains(table) && self.0.shows(table)
    }

    fn is_being_made(&self, table: &TableName) -> bool {
        self.0.makes(table)
    }

    async fn create_table(&self, table: &TableName) -> Result<(), Objection> {
        // What SQL keeps for itself is there, or is going to be; and a second one of a name in SQL nobody could reach there.
        if own_tables::contains(table) || self.0.name_of(table).is_none() {
            return Err(Objection::Store(StoreError::TableExists(table.clone())));
        }
        Ok(self.0.engine().stores().public().create_table(table).await?)
    }

    /// As DROP TABLE does it: with its locks, and not while a view reads the table.
    async fn drop_table(&self, table: &TableName, patience: Duration) -> Result<(), Objection> {
        let Some(name) = self.0.name_of(table) else {
            // SQL does not know it: it has no locks, and no views.
            return Ok(self.0.engine().stores().public().drop_table(table).await?);
        };
        let sql = format!("DROP TABLE public.{}", quote_ident(&name));
        self.run(&sql, patience).await.map_err(|error| objection(&error, table))
    }

    async fn lock(
        &self,
        table: &TableName,
        keys: &[&EntityKey],
        patience: Duration,
    ) -> Result<Option<Locked>, Objection> {
        let locked = self.0.lock(table, keys, patience).await.map_err(|error| objection(&error, table))?;
        Ok(locked.map(|locked| Box::new(locked) as Locked))
    }

    fn connected(&self, peer: SocketAddr, end: CancellationToken) -> Option<Box<dyn Client>> {
        Some(Box::new(Visitor(self.0.connected(peer, Arc::new(End(end))))))
    }

    fn refused(&self, call: Call<'_>, broken: &Broken) {
        let rule = match broken.rule {
            Rule::SecondTable => BrokenRule::SecondTable,
            Rule::SecondPartition => BrokenRule::SecondPartition,
            Rule::TooManyOperations => BrokenRule::TooManyEntities,
            Rule::TooLarge => BrokenRule::TooLarge,
        };
        let partitions: Vec<&str> = broken.partitions.iter().map(|partition| partition.as_str()).collect();
        self.0.refused(RefusedChangeSet {
            rule,
            request: call.shape,
            user: call.account,
            application: call.user_agent,
            table: broken.table.as_str(),
            partitions: &partitions,
            entities: broken.operations,
            bytes: broken.bytes,
        });
    }
}

fn objection(error: &SqlError, table: &TableName) -> Objection {
    match error.kind {
        ErrorKind::LockNotAvailable | ErrorKind::DeadlockDetected => Objection::Locked,
        ErrorKind::UndefinedTable | ErrorKind::StoredTableMissing => {
            Objection::Store(StoreError::TableMissing(table.clone()))
        }
        ErrorKind::DependentObjects => Objection::InUse(error.detail.clone().unwrap_or(error.message.clone())),
        _ => Objection::Store(StoreError::Unavailable(error.to_string())),
    }
}

/// A client of the other door among the sessions.
struct Visitor(Guest);

impl Client for Visitor {
    fn begin(&self, call: Call<'_>) {
        self.0.begin(call.account, call.user_agent, call.shape);
    }

    fn end(&self, call: Call<'_>, ended: Ended) {
        let Ended { time, failed, entities, scanned } = ended;
        self.0.end(call.account, call.shape, GuestCost { time, rows: entities, scanned, wrote: call.is_write, failed });
    }
}

/// Ends a connection. A request alone cannot be ended: its client would take it for one that failed, and send it again.
struct End(CancellationToken);

impl Stopper for End {
    fn cancel(&self) {}

    fn terminate(&self) {
        self.0.cancel();
    }
}
