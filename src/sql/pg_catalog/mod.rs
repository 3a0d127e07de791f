//! The system catalogue: what psql and drivers read to learn which tables there are.
//!
//! `pg_catalog` and `information_schema` are relations made from the live catalogue when a statement reads them
//! ([`relations`]), with the functions that go with them ([`functions`]).

mod built_ins;
mod cells;
mod comments;
mod constraints;
mod deparse;
mod finder;
mod functions;
mod granted;
mod layout;
mod objects;
mod origins;
mod recorded;
mod references;
mod relations;
mod routine_text;
mod sizes;

use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::logical_expr::ScalarUDF;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use self::functions::FunctionContext;
pub(crate) use self::granted::Granted;
use self::objects::Objects;
pub(crate) use self::origins::Origins;
pub(crate) use self::sizes::Sizes;
use super::advisory;
use super::catalog::{Sequence, SharedComments, View};
use super::copies::Copies;
use super::cursor::ShownCursor;
use super::database::Database;
use super::engine::Engine;
use super::expr::CatalogFunctions;
use super::handles::Handles;
use super::login::Login;
use super::plan::SystemRelations;
use super::privileges::{Rights, Roles};
use super::reads::Reads;
use super::relation::Relation;
use super::sequence::{self, SessionSequences};
use super::settings::Settings;

/// The user's tables and sequences as the system catalogue shows them to one statement.
#[derive(Clone)]
pub(crate) struct CatalogSnapshot {
    objects: Arc<Objects>,
    granted: Arc<Granted>,
    sizes: Arc<Sizes>,
    origins: Arc<Origins>,
}

impl CatalogSnapshot {
    /// What the system catalogue shows to a statement.
    ///
    /// # Errors
    /// When the catalogue or the users cannot be read.
    async fn load(engine: &Engine, reads: &Reads, rights: Rights) -> SqlResult<Self> {
        let roles = Roles::new(&engine.accounts().await?, &rights, reads.catalog.accesses());
        let granted = Granted::new(roles, reads.catalog.accesses().cloned(), rights);
        let relations = reads.relations().await?;
        let sizes = Sizes::new(&reads.readers, &relations, engine.stores().clone());
        let origins = Origins::new(&reads.readers, &relations);
        let objects = Self::objects(engine, reads, relations);
        let snapshot = Self { objects, granted: Arc::default(), sizes: Arc::default(), origins: Arc::default() };
        Ok(snapshot.with_granted(granted).with_sizes(sizes).with_origins(origins))
    }

    /// The objects that the last statement was shown, with what was found out about them, where they are still the same.
    fn objects(engine: &Engine, reads: &Reads, relations: Vec<Arc<Relation>>) -> Arc<Objects> {
        let sequences = reads.catalog.sequences().cloned().collect();
        let objects = Objects::new(relations, sequences)
            .with_views(reads.catalog.views().cloned().collect())
            .with_comments(reads.catalog.comments().clone())
            .with_search(reads.catalog.search().clone());
        if let Some(latest) = engine.shown().get::<Objects>().filter(|latest| latest.are(&objects)) {
            return latest;
        }
        let objects = Arc::new(objects);
        engine.shown().put(objects.clone());
        objects
    }

    pub(crate) fn new(
        relations: Vec<Arc<Relation>>,
        sequences: Vec<Arc<Sequence>>,
        views: Vec<Arc<View>>,
        comments: Arc<SharedComments>,
    ) -> Self {
        let objects = Objects::new(relations, sequences).with_views(views).with_comments(comments);
        let (granted, sizes, origins) = Default::default();
        Self { objects: Arc::new(objects), granted, sizes, origins }
    }

    /// With how much the tables hold.
    #[must_use]
    pub(crate) fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes: Arc::new(sizes), ..self }
    }

    /// With how their columns came to be known.
    #[must_use]
    pub(crate) fn with_origins(self, origins: Origins) -> Self {
        Self { origins: Arc::new(origins), ..self }
    }

    /// With the roles there are and what is granted.
    #[must_use]
    pub(crate) fn with_granted(self, granted: Granted) -> Self {
        Self { granted: Arc::new(granted), ..self }
    }
}

/// The system catalogue as one session's statement sees it.
#[derive(Clone)]
pub(crate) struct SystemCatalog {
    database: Database,
    user: String,
    login: Arc<Login>,
    handles: Handles,
    sequences: Option<Arc<SessionSequences>>,
    copies: Arc<Copies>,
    cursors: Arc<[ShownCursor]>,
    /// Set when the statement reads the catalogue, through a relation or a function.
    seen: OnceLock<CatalogSnapshot>,
}

impl SystemCatalog {
    pub(crate) fn new(database: Database, user: &str, handles: Handles) -> Self {
        let user = user.to_owned();
        Self {
            database,
            user,
            login: Arc::default(),
            handles,
            sequences: None,
            copies: Arc::default(),
            cursors: Arc::default(),
            seen: OnceLock::new(),
        }
    }

    /// The COPY statements of all sessions, for `pg_stat_progress_copy`.
    #[must_use]
    pub(crate) fn with_copies(mut self, copies: Arc<Copies>) -> Self {
        self.copies = copies;
        self
    }

    /// The session's open cursors, for `pg_cursors`.
    #[must_use]
    pub(crate) fn with_cursors(mut self, cursors: Arc<[ShownCursor]>) -> Self {
        self.cursors = cursors;
        self
    }

    /// The session's client, for `pg_roles`, `pg_stat_ssl` and the like.
    #[must_use]
    pub(crate) fn with_login(mut self, login: Arc<Login>) -> Self {
        self.login = login;
        self
    }

    /// What the session's user may do.
    pub(crate) fn rights(&self) -> Rights {
        Rights::new(&self.user, self.login.role)
    }

    /// The session's sequences, for `nextval` and the like.
    #[must_use]
    pub(crate) fn with_sequences(mut self, sequences: Arc<SessionSequences>) -> Self {
        self.sequences = Some(sequences);
        self
    }

    /// Whether this is a view of what observe mode saw.
    pub(crate) fn shows_observations(&self, schema: Option<&str>, table: &str) -> bool {
        layout::find(schema, table).is_some_and(relations::shows_observations)
    }

    /// Values that name objects as the OIDs of these; any others as they are.
    ///
    /// # Errors
    /// When the object that a value names does not exist any more.
    pub(crate) fn oids(&self, sql_type: &SqlType, values: &ArrayRef) -> SqlResult<ArrayRef> {
        functions::oids(&self.context(), sql_type, values)
    }

    fn context(&self) -> FunctionContext {
        let nothing = || CatalogSnapshot::new(Vec::new(), Vec::new(), Vec::new(), Arc::default());
        let CatalogSnapshot { objects, granted, sizes, origins, .. } = self.seen.get().cloned().unwrap_or_else(nothing);
        FunctionContext {
            objects,
            database: self.database.clone(),
            user: self.user.as_str().into(),
            login: self.login.clone(),
            handles: self.handles.clone(),
            granted,
            sizes,
            origins,
            observations: Arc::default(),
            copies: self.copies.clone(),
            cursors: self.cursors.clone(),
        }
    }
}

impl CatalogFunctions for SystemCatalog {
    fn function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let of_sequence = self.sequences.as_ref().and_then(|sequences| sequence::function(name, sequences));
        let handles = &self.handles;
        let of_lock = || advisory::function(name, &handles.advisory, &handles.settings);
        of_sequence.or_else(of_lock).or_else(|| functions::find(name, &self.context()))
    }
}

#[async_trait]
impl SystemRelations for SystemCatalog {
    fn knows(&self, schema: Option<&str>, table: &str) -> bool {
        layout::find(schema, table).is_some()
    }

    fn oid(&self, schema: Option<&str>, table: &str) -> Option<u32> {
        layout::find(schema, table).map(|layout| layout.oid)
    }

    fn columns(&self, schema: Option<&str>, table: &str) -> Option<SchemaRef> {
        layout::find(schema, table).map(|layout| layout.arrow.clone())
    }

    async fn provider(
        &self,
        engine: &Engine,
        reads: &Reads,
        schema: Option<&str>,
        table: &str,
    ) -> SqlResult<Option<Arc<dyn TableProvider>>> {
        let Some(layout) = layout::find(schema, table) else { return Ok(None) };
        self.see(engine, reads).await?;
        let observations = match relations::shows_observations(layout) {
            true => Arc::new(engine.recorder().observations(reads.readers.public()).await?),
            false => Arc::default(),
        };
        let context = FunctionContext { observations, ..self.context() };
        relations::provider(layout, &context).map(Some)
    }

    fn database(&self) -> &str {
        &self.database
    }

    fn relation_of(&self, function: &str) -> Option<&'static str> {
        functions::relation_of(function)
    }

    fn answers(&self, function: &str) -> bool {
        functions::is_known(function)
    }

    async fn see(&self, engine: &Engine, reads: &Reads) -> SqlResult<()> {
        if !self.has_seen() {
            let _ = self.seen.set(CatalogSnapshot::load(engine, reads, self.rights()).await?);
        }
        Ok(())
    }

    fn has_seen(&self) -> bool {
        self.seen.get().is_some()
    }

    fn settings(&self) -> &Settings {
        &self.handles.settings
    }

    fn sequences(&self) -> SqlResult<&Arc<SessionSequences>> {
        self.sequences
            .as_ref()
            .ok_or_else(|| SqlError::new(ErrorKind::Internal, "there are no sequences outside a session"))
    }
}
