//! Announcing that a table is being changed, where other gateways write to it too.
//!
//! What they know of its declaration is some seconds old at most. So a change that goes through the rows of a table, to
//! write them anew or to look whether a constraint holds, would miss the rows that come meanwhile. It is announced
//! first, as a property beside the declaration, and begins when every gateway must have seen that. Until the new
//! declaration is written, which ends the announcement, nobody else writes to the table ([`super::fence`]).
//!
//! A gateway that dies leaves its announcement behind. It is renewed as long as it holds, and lapses for those who have not
//! seen it renewed for a while.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tablegate_store::model::{ETag, EdmRef, EdmValue, Entity, Properties, PropertyName, StoredEntity};
use tablegate_store::table::{IfMatch, Operation};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::staged::StagedCatalog;
use super::state::DeclaredTable;
use super::{Catalog, Shared, changed_meanwhile_by_another};
use crate::place::PlacedName;
use crate::relation::{Relation, RelationKind};

/// The property of a table's entry that says it is being changed.
const PROPERTY: &str = "Changing";
/// An announcement is renewed that many times before it would lapse.
const RENEWALS: u32 = 4;

/// How changes of tables are announced that other gateways write to.
#[derive(Debug, Clone, Copy)]
pub struct Announcing {
    /// How long before they begin: others know of it by then, and what they began to write before is written.
    pub ahead: Duration,
    /// How long others heed one that is not renewed.
    pub lapses: Duration,
}

impl Default for Announcing {
    /// What a gateway writes is checked against a catalogue that is three seconds old at most (`fence`); that leaves two for the
    /// request.
    fn default() -> Self {
        Self { ahead: Duration::from_secs(5), lapses: Duration::from_secs(60) }
    }
}

/// What an entry says of a change under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    /// The gateway, by a number of its own.
    by: String,
    change: String,
    /// Microseconds since 1970, by the gateway's clock. For whoever looks at the entry.
    since: i64,
}

/// A change under way, as it was seen: with each renewal anew.
#[derive(Debug)]
pub(super) struct Changing {
    content: Content,
    seen: Instant,
}

impl Changing {
    /// What the entry of a table says; nothing also where this gateway does not understand it.
    pub(super) fn of_entity(entity: &StoredEntity) -> Option<Self> {
        let Some(EdmRef::String(text)) = entity.entity.properties.get(PROPERTY).map(EdmValue::as_ref) else {
            return None;
        };
        Some(Self { content: serde_json::from_str(text).ok()?, seen: Instant::now() })
    }
}

impl DeclaredTable {
    /// Whether another gateway than this one is changing it.
    pub(super) fn is_changed_by_other(&self, this: &str, lapses: Duration) -> bool {
        self.changing.as_ref().is_some_and(|changing| changing.content.by != this && changing.seen.elapsed() < lapses)
    }

    /// Whether its declaration is still the one that was seen, and no other gateway has announced a change: what else is new in
    /// its entry are announcements that this gateway made or withdrew, and those that ended.
    pub(super) fn stands_as(&self, seen: &Self, this: &str) -> bool {
        let is_others = |changing: &Changing| changing.content.by != this;
        self.declaration == seen.declaration && !self.changing.as_ref().is_some_and(is_others)
    }

    /// Whether its entry says this.
    fn says(&self, content: &Content) -> bool {
        self.changing.as_ref().is_some_and(|changing| changing.content.change == content.change)
    }
}

/// A change that others know of. Ends with the transaction that makes it.
pub(crate) struct Announcement {
    shared: Arc<Shared>,
    name: PlacedName,
    table: u32,
    content: Content,
    renewed: Arc<Mutex<Instant>>,
    renewing: JoinHandle<()>,
}

impl Catalog {
    /// Announces that a table is going to be changed, and gives what ends the announcement when it is dropped; `None`
    /// where nobody else writes to the table. Others know of it after [`Announcing::ahead`].
    ///
    /// # Errors
    /// 40001 when the table is not what it was, or another gateway is changing it.
    pub(crate) async fn announce(
        &self,
        relation: &Relation,
        staged: &StagedCatalog,
    ) -> SqlResult<Option<Announcement>> {
        let place = relation.place();
        if relation.kind == RelationKind::Found
            || place.is_temporary()
            || staged.has_made(&relation.stored)
            || staged.has_announced(relation.oid)
        {
            return Ok(None);
        }
        let shared = self.part(place)?.clone();
        let Some(seen) = staged.seen_table(relation.oid).filter(|_| !shared.is_alone()) else { return Ok(None) };
        let (name, table) = (seen.declaration.placed_name(), relation.oid);
        let content = Content {
            by: self.common.gateway.clone(),
            change: Uuid::new_v4().to_string(),
            since: self.common.clock.now().unix_micros(),
        };
        let (announcing, first) = (shared.clone(), content.clone());
        let announced = tokio::spawn(async move { announcing.announce(&seen, &first).await }).await;
        announced.map_err(|error| SqlError::new(ErrorKind::Internal, error.to_string()))??;
        let renewed = Arc::new(Mutex::new(Instant::now()));
        let renewing = tokio::spawn(renew(shared.clone(), name.clone(), content.clone(), renewed.clone()));
        Ok(Some(Announcement { shared, name, table, content, renewed, renewing }))
    }

    /// How long a change is announced before it begins.
    pub(crate) fn announced_ahead(&self) -> Duration {
        self.common.announcing.ahead
    }
}

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcement").field("name", &self.name).field("content", &self.content).finish_non_exhaustive()
    }
}

impl Announcement {
    /// The number of the table.
    pub(super) fn table(&self) -> u32 {
        self.table
    }

    /// # Errors
    /// 40001 when others may have taken it for that of a gateway that is gone.
    pub(super) fn check_holds(&self) -> SqlResult<()> {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() < self.shared.common.announcing.lapses / 2 {
            return Ok(());
        }
        Err(changed_meanwhile_by_another(&self.name.name))
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.renewing.abort();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (shared, name, content) = (self.shared.clone(), self.name.clone(), self.content.clone());
        runtime.spawn(async move {
            if let Err(error) = shared.withdraw(&name, &content).await {
                tracing::warn!(table = %name.name, %error, "the announcement of a change that is not made stays, and lapses");
            }
        });
    }
}

async fn renew(shared: Arc<Shared>, name: PlacedName, content: Content, renewed: Arc<Mutex<Instant>>) {
    loop {
        tokio::time::sleep(shared.common.announcing.lapses / RENEWALS).await;
        let began = Instant::now();
        match shared.renew_announcement(&name, &content).await {
            Ok(true) => *renewed.lock().unwrap_or_else(PoisonError::into_inner) = began,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(table = %name.name, %error, "the announcement of a change could not be renewed")
            }
        }
    }
}

impl Shared {
    /// Announces a change of a table as it was seen.
    async fn announce(&self, seen: &DeclaredTable, content: &Content) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let name = seen.declaration.placed_name();
        let state = self.state();
        let current = state.tables.get(&name).filter(|current| current.relation.stored == seen.relation.stored);
        let is_free = |table: &&Arc<DeclaredTable>| !self.is_changed_by_other(table);
        let Some(current) = current.filter(is_free) else { return Err(changed_meanwhile_by_another(&name.name)) };
        let version = if current.stands_as(seen, &self.common.gateway) { &current.version } else { &seen.version };
        match self.put_announcement(current, version.as_ref(), content).await? {
            true => Ok(()),
            false => Err(changed_meanwhile_by_another(&name.name)),
        }
    }

    /// False when the change is not announced any more.
    async fn renew_announcement(&self, name: &PlacedName, content: &Content) -> SqlResult<bool> {
        let _one_at_a_time = self.changes.lock().await;
        match self.announced(name, content) {
            Some(table) => self.put_announcement(&table, table.version.as_ref(), content).await,
            None => Ok(false),
        }
    }

    async fn withdraw(&self, name: &PlacedName, content: &Content) -> SqlResult<()> {
        let _one_at_a_time = self.changes.lock().await;
        let Some(table) = self.announced(name, content) else { return Ok(()) };
        let condition = table.version.clone().map_or(IfMatch::Any, IfMatch::ETag);
        let whole = Operation::Replace(table.declaration.to_entity()?, condition);
        if let Some(version) = self.write_own_entry(whole).await? {
            self.put_version(&table, version, None);
        }
        Ok(())
    }

    /// The table, while this announcement stands in its entry.
    fn announced(&self, name: &PlacedName, content: &Content) -> Option<Arc<DeclaredTable>> {
        self.state().tables.get(name).filter(|table| table.says(content)).cloned()
    }

    /// Writes an announcement beside the declaration of this version; false when that is another one by now.
    async fn put_announcement(
        &self,
        table: &Arc<DeclaredTable>,
        version: Option<&ETag>,
        content: &Content,
    ) -> SqlResult<bool> {
        let text = serde_json::to_string(content).map_err(|e| SqlError::new(ErrorKind::Internal, e.to_string()))?;
        let properties: Properties = [(PropertyName::parse(PROPERTY)?, EdmValue::string(text))].into_iter().collect();
        let entity = Entity::new(table.declaration.entity_key()?, properties);
        let condition = version.cloned().map_or(IfMatch::Any, IfMatch::ETag);
        let Some(version) = self.write_own_entry(Operation::Merge(entity, condition)).await? else { return Ok(false) };
        self.put_version(table, version, Some(Changing { content: content.clone(), seen: Instant::now() }));
        Ok(true)
    }

    fn put_version(&self, table: &Arc<DeclaredTable>, version: ETag, changing: Option<Changing>) {
        let (declaration, relation) = (table.declaration.clone(), table.relation.clone());
        let name = declaration.placed_name();
        let renewed = DeclaredTable { declaration, relation, version: Some(version), changing };
        self.change_state(|state| {
            state.tables.insert(name, Arc::new(renewed));
        });
    }

    /// Whether another gateway is changing the table.
    pub(super) fn is_changed_by_other(&self, table: &DeclaredTable) -> bool {
        table.is_changed_by_other(&self.common.gateway, self.common.announcing.lapses)
    }
}
