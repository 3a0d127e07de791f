//! The system catalogue, as planning asks it. It is a trait, because the crate's rooms are in an order and the
//! relations and functions themselves are in a room above planning.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use tablegate_types::error::SqlResult;

use crate::engine::Engine;
use crate::expr::CatalogFunctions;
use crate::reads::Reads;
use crate::sequence::SessionSequences;
use crate::settings::Settings;

/// The system catalogue as one session's statement sees it.
#[async_trait]
pub(crate) trait SystemRelations: CatalogFunctions {
    /// Whether this is a system relation. Without a schema it is looked for where PostgreSQL looks first.
    fn knows(&self, schema: Option<&str>, table: &str) -> bool;

    /// The OID of a system relation.
    fn oid(&self, schema: Option<&str>, table: &str) -> Option<u32>;

    /// The columns of a system relation.
    fn columns(&self, schema: Option<&str>, table: &str) -> Option<SchemaRef>;

    /// The content of a system relation; `None` when there is no such relation.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    async fn provider(
        &self,
        engine: &Engine,
        reads: &Reads,
        schema: Option<&str>,
        table: &str,
    ) -> SqlResult<Option<Arc<dyn TableProvider>>>;

    /// The name of the database.
    fn database(&self) -> &str;

    /// The relation of `pg_catalog` whose rows a function gives.
    fn relation_of(&self, function: &str) -> Option<&'static str>;

    /// Whether a function of this name answers from the catalogue.
    fn answers(&self, function: &str) -> bool;

    /// Gives the functions the tables they are to know.
    ///
    /// # Errors
    /// When the catalogue cannot be read.
    async fn see(&self, engine: &Engine, reads: &Reads) -> SqlResult<()>;

    fn has_seen(&self) -> bool;

    /// The session's settings.
    fn settings(&self) -> &Settings;

    /// The session's sequences.
    ///
    /// # Errors
    /// XX000 outside a session.
    fn sequences(&self) -> SqlResult<&Arc<SessionSequences>>;
}
