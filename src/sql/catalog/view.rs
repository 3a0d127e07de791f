//! The catalogue as one statement sees it: what is committed, and what its transaction has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tablegate_store::model::TableName;
use tablegate_store::table::{ObservedSchema, TableReader};
use tablegate_types::error::SqlResult;

use super::access::Access;
use super::comments::SharedComments;
use super::declaration::Declaration;
use super::parts::Parts;
use super::sequence::Sequence;
use super::session::{Search, SessionCatalog};
use super::staged::{OwnCounter, StagedCatalog};
use super::state::{DeclaredTable, State};
use super::views::View;
use super::{Shared, found, is_hidden};
use crate::place::{MountReaders, Place, PlacedName, Readers, StoredTable};
use crate::relation::Relation;

/// The stores and the catalogue of one moment, which fit: every table that the one declares is in the others.
#[derive(Clone)]
pub struct CatalogMoment {
    reader: Arc<dyn TableReader>,
    mounts: MountReaders,
    state: Arc<State>,
    parts: Arc<Parts>,
}

impl CatalogMoment {
    pub(super) fn now(parts: &Arc<Parts>) -> Self {
        let (reader, public) = parts.public.moment();
        let (mut mounts, mut states) = (MountReaders::new(), Vec::new());
        for mount in &parts.mounts {
            let (reader, state) = mount.moment();
            if let Place::Mount(name) = mount.place {
                mounts.push((name, reader));
            }
            states.push(state);
        }
        Self { reader, mounts, state: parts.joined(public, states), parts: Arc::clone(parts) }
    }

    /// Whether a table of these rows was declared then.
    pub fn has_stored(&self, stored: &StoredTable) -> bool {
        self.state.owner_of(stored).is_some()
    }

    /// The version of what a transaction with these changes sees of it: see [`CatalogView::version`].
    pub fn version_with(&self, staged: &StagedCatalog, own: &SessionCatalog) -> u64 {
        staged.over(own.over(&self.state)).version
    }

    /// What a transaction with these changes sees of it.
    pub fn view(&self, staged: &StagedCatalog, own: &SessionCatalog) -> (Readers, CatalogView) {
        let state = staged.over(own.over(&self.state));
        let catalog = CatalogView::new(state, self.parts.clone(), own.search());
        (Readers::new(self.reader.clone(), self.mounts.clone(), self.parts.common().stores.clone()), catalog)
    }
}

/// Declarations of one moment, and the tables found in the store beside them. Cheap to clone.
#[derive(Clone)]
pub struct CatalogView {
    state: Arc<State>,
    parts: Arc<Parts>,
    search: Search,
    written: BTreeMap<StoredTable, Arc<ObservedSchema>>,
}

impl CatalogView {
    pub(super) fn new(state: Arc<State>, parts: Arc<Parts>, search: Search) -> Self {
        Self { state, parts, search, written: BTreeMap::new() }
    }

    /// What is declared, and what names mean, is the same in all views of one version of one session.
    pub fn version(&self) -> u64 {
        self.state.version
    }

    /// Over what the transaction has written to found and open tables: their columns hold its values too.
    #[must_use]
    pub fn with_written(mut self, written: BTreeMap<StoredTable, Arc<ObservedSchema>>) -> Self {
        self.written = written;
        self
    }

    /// The place that a schema's name means; `None` where there is no such schema.
    pub fn place_of_schema(&self, schema: &str) -> Option<Place> {
        self.search.place_of_schema(schema)
    }

    /// The place of what `name` means: that of its schema, else the first one where something has the name. A name that
    /// nothing has is one of the public place.
    pub fn place_of(&self, schema: Option<&str>, name: &str) -> Option<Place> {
        if let Some(schema) = schema {
            return self.place_of_schema(schema);
        }
        let places = self.search.places();
        let exact = places.into_iter().find(|place| self.state.has_name(&PlacedName::new(*place, name)));
        let alike = || places.into_iter().find(|place| self.state.has_like(&PlacedName::new(*place, name)));
        Some(exact.or_else(alike).unwrap_or_default())
    }

    /// What `name` means, with its place; `None` where there is no such schema.
    pub fn named(&self, schema: Option<&str>, name: &str) -> Option<PlacedName> {
        Some(PlacedName::new(self.place_of(schema, name)?, name))
    }

    /// Where names without a schema are looked for.
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// Where temporary objects of this session are.
    pub fn temporary_place(&self) -> Place {
        self.search.temporary()
    }

    /// Whether its bare name finds this object.
    pub fn is_visible(&self, name: &PlacedName) -> bool {
        self.place_of(None, &name.name) == Some(name.place)
    }

    /// The table of this SQL name: exactly, else one that the store had first and that differs only in case.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn relation(&self, readers: &Readers, name: &PlacedName) -> SqlResult<Option<Arc<Relation>>> {
        if let Some(table) = self.state.find(name) {
            return self.relation_of(readers, table).await.map(Some);
        }
        self.found_as(readers, name).await
    }

    async fn found_as(&self, readers: &Readers, name: &PlacedName) -> SqlResult<Option<Arc<Relation>>> {
        match (TableName::parse(&name.name), self.parts.at(name.place)) {
            (Ok(stored), Some(part)) => self.found(readers, part, &stored).await,
            // The catalogue of this store was not read yet, so the name may exist in it.
            (Err(_), Some(part)) => part.contact.wait().await.map(|()| None),
            (_, None) => Ok(None),
        }
    }

    /// The table of exactly this SQL name, or found in the store under it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn exact(&self, readers: &Readers, name: &PlacedName) -> SqlResult<Option<Arc<Relation>>> {
        if let Some(table) = self.state.tables.get(name) {
            return Ok(Some(table.relation.clone()));
        }
        self.found_as(readers, name).await
    }

    /// Every table, declared and found, by SQL name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn relations(&self, readers: &Readers) -> SqlResult<Vec<Arc<Relation>>> {
        let mut relations = Vec::new();
        for (_, table) in self.state.tables.iter().filter(|(name, _)| name.place.is_temporary()) {
            relations.push(self.relation_of(readers, table).await?);
        }
        let stored = readers.at(self.parts.public.place)?.list_tables().await?;
        relations.extend(self.relations_in(readers, &self.parts.public, stored).await?);
        for part in &self.parts.mounts {
            // One that is away does not hide the others.
            let listed = async { Ok(readers.at(part.place)?.list_tables().await?) };
            let Some(stored) = part.contact.news(listed).await else { continue };
            let schema = part.place.schema();
            match self.relations_in(readers, part, stored).await {
                Ok(found) => relations.extend(found),
                Err(error) => tracing::warn!(%schema, %error, "the tables of what is mounted cannot be listed"),
            }
        }
        relations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(relations)
    }

    /// Those of one store, which has these tables.
    async fn relations_in(
        &self,
        readers: &Readers,
        part: &Arc<Shared>,
        mut stored: Vec<TableName>,
    ) -> SqlResult<Vec<Arc<Relation>>> {
        let mut relations = Vec::new();
        for (_, table) in self.state.tables.iter().filter(|(name, _)| name.place == part.place) {
            relations.push(self.relation_of(readers, table).await?);
        }
        // One whose name is another's, stored elsewhere, cannot be named.
        let is_free = |stored: &TableName| !self.state.has_name(&PlacedName::new(part.place, stored.as_str()));
        stored.retain(|stored| self.can_be_found(&part.stored_as(stored)) && is_free(stored));
        for stored in part.strangers_among(stored).await? {
            relations.push(self.observed_relation(readers, &part.stored_as(&stored), None).await?);
        }
        Ok(relations)
    }

    /// The declared or found table that is stored under this name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stored_as(&self, readers: &Readers, stored: &StoredTable) -> SqlResult<Option<Arc<Relation>>> {
        match (self.state.owner_of(stored), self.parts.at(stored.place)) {
            (Some(table), _) => self.relation_of(readers, table).await.map(Some),
            (None, Some(part)) => self.found(readers, part, &stored.name).await,
            (None, None) => Ok(None),
        }
    }

    /// The declaration of exactly this SQL name.
    pub fn declaration(&self, name: &PlacedName) -> Option<&Declaration> {
        self.state.tables.get(name).map(|table| &table.declaration)
    }

    /// The declaration of a table; of a found one, that which makes it a declared one as it is. With `all_columns`, those
    /// that an open table only shows are declared too.
    pub fn declaration_of(&self, relation: &Relation, all_columns: bool) -> Declaration {
        let declared = self.declaration(&relation.placed_name()).cloned();
        let mut declaration = declared.unwrap_or_else(|| found::declaration_of(relation));
        if all_columns && relation.open {
            found::declare_all(&mut declaration, relation);
        }
        declaration
    }

    /// Every declaration, by SQL name.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.state.tables.values().map(|table| &table.declaration)
    }

    /// Whether an index has this name, in the place of `beside`: that of a key, or one that is recorded.
    pub fn has_index(&self, beside: &PlacedName, name: &str) -> bool {
        let is_its = |d: &Declaration| d.primary_key_name().as_deref() == Some(name) || d.constraints.has_index(name);
        self.declarations().any(|d| d.place == beside.place && is_its(d))
    }

    /// The comments on schemas and databases.
    pub fn comments(&self) -> &Arc<SharedComments> {
        &self.state.comments
    }

    /// The sequence of exactly this SQL name.
    pub fn sequence(&self, name: &PlacedName) -> Option<Arc<Sequence>> {
        self.state.sequences.get(name).cloned()
    }

    /// Every sequence, by SQL name.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.state.sequences.values()
    }

    /// Where a sequence stands that counts in the statement's transaction, or its session, alone.
    pub(crate) fn own_counter(&self, name: &PlacedName) -> Option<OwnCounter> {
        self.state.counters.get(name).cloned()
    }

    /// The sequences that belong to columns of the table with this OID.
    pub fn sequences_of(&self, table: u32) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences().filter(move |s| s.owner.as_ref().is_some_and(|owner| owner.table == table))
    }

    /// The view of exactly this SQL name.
    pub fn view(&self, name: &PlacedName) -> Option<&Arc<View>> {
        self.state.views.get(name)
    }

    /// Every view, by SQL name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.state.views.values()
    }

    /// Who owns the object with this OID, and what is granted on it.
    pub fn access(&self, oid: u32) -> Arc<Access> {
        self.state.accesses.get(&oid).cloned().unwrap_or_else(|| Arc::new(Access::new(oid)))
    }

    /// The same of every object that somebody made or something was granted on.
    pub fn accesses(&self) -> impl Iterator<Item = &Arc<Access>> {
        self.state.accesses.values()
    }

    /// Whether a table, a sequence or a view has this SQL name, exactly.
    pub fn has_name(&self, name: &PlacedName) -> bool {
        self.state.has_name(name)
    }

    async fn found(
        &self,
        readers: &Readers,
        part: &Arc<Shared>,
        stored: &TableName,
    ) -> SqlResult<Option<Arc<Relation>>> {
        part.contact.wait().await?;
        if !self.can_be_found(&part.stored_as(stored)) {
            return Ok(None);
        }
        // The store keeps the spelling the table was created with; the name asked for may differ in case.
        let Some(stored) = readers.at(part.place)?.list_tables().await?.into_iter().find(|t| t == stored) else {
            return Ok(None);
        };
        match part.strangers_among(vec![stored]).await?.pop() {
            Some(stored) => self.observed_relation(readers, &part.stored_as(&stored), None).await.map(Some),
            // Somebody else's since this view was taken: a later one has it under its declared name.
            None => Ok(None),
        }
    }

    /// Whether a stored table shows under its own name, as a found table: no declaration uses it, and it is not doomed.
    fn can_be_found(&self, stored: &StoredTable) -> bool {
        !is_hidden(stored) && !self.state.knows(stored)
    }

    async fn observed_relation(
        &self,
        readers: &Readers,
        stored: &StoredTable,
        declared: Option<&Arc<Relation>>,
    ) -> SqlResult<Arc<Relation>> {
        let schema = readers.of(stored)?.observed_schema(stored).await?;
        match self.written.get(stored).and_then(|written| schema.with(written)) {
            // The relation with the transaction's own properties is not cached, because only this transaction may see
            // it.
            Some(own) => Ok(relation_showing(stored, declared, &own)),
            None => Ok(self.parts.common().observed.relation(stored, declared, schema)),
        }
    }

    async fn relation_of(&self, readers: &Readers, table: &DeclaredTable) -> SqlResult<Arc<Relation>> {
        if table.relation.open {
            self.observed_relation(readers, &table.relation.stored, Some(&table.relation)).await
        } else {
            Ok(table.relation.clone())
        }
    }
}

/// The relation of a found table, or of an open one with what its declaration does not name.
fn relation_showing(stored: &StoredTable, declared: Option<&Arc<Relation>>, schema: &ObservedSchema) -> Arc<Relation> {
    Arc::new(match declared {
        Some(declared) => found::open_relation(declared, schema),
        None => found::found_relation(stored, schema),
    })
}

/// Relations of found and open tables, with what they were made from.
#[derive(Default)]
pub(super) struct ObservedRelations(RwLock<HashMap<StoredTable, Observed>>);

struct Observed {
    schema: Arc<ObservedSchema>,
    declared: Option<Arc<Relation>>,
    relation: Arc<Relation>,
}

impl Observed {
    fn is_of(&self, schema: &Arc<ObservedSchema>, declared: Option<&Arc<Relation>>) -> bool {
        let same_declared = match (&self.declared, declared) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_declared && (Arc::ptr_eq(&self.schema, schema) || self.schema == *schema)
    }
}

impl ObservedRelations {
    /// [`relation_showing`], made again only when the declaration or what is observed changed.
    fn relation(
        &self,
        stored: &StoredTable,
        declared: Option<&Arc<Relation>>,
        schema: Arc<ObservedSchema>,
    ) -> Arc<Relation> {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(stored)
            && known.is_of(&schema, declared)
        {
            return known.relation.clone();
        }
        let relation = relation_showing(stored, declared, &schema);
        let entry = Observed { schema, declared: declared.cloned(), relation: relation.clone() };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(stored.clone(), entry);
        relation
    }

    /// Forgets a stored table that is gone.
    pub(super) fn forget(&self, stored: &StoredTable) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(stored);
    }
}
