//! Whether the session's user may do what a statement is about to do.
//!
//! Names are looked up as the statement looks them up, in its transaction's snapshot; what is granted counts as it is at
//! this moment, so that what is revoked is so for transactions that are under way.

use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::output::ShownKey;
use tablegate_types::privileges::{ObjectKind, Privileges, not_owned};

use super::Session;
use super::indexes::{index_of, placed_index};
use crate::catalog::{Access, CatalogView, DATABASE, SessionCatalog, StagedCatalog, schema_oid};
use crate::engine::Engine;
use crate::login::Role;
use crate::place::Place;
use crate::plan::schema_and_table;
use crate::privileges::{Demand, Rights, Wanted, demands};
use crate::reads::Reads;
use crate::relation::Relation;
use crate::syntax::{Command, WrittenColumns};

/// The OID of what no privileges are kept for: no object has it.
pub(super) const UNKNOWN: u32 = 0;

/// What a name stands for.
pub(super) struct Object {
    pub kind: ObjectKind,
    pub oid: u32,
    pub place: Place,
    pub name: String,
}

impl Object {
    /// The schema of a place.
    pub(super) fn schema(place: Place) -> Self {
        Self { kind: ObjectKind::Schema, oid: schema_oid(place), place, name: place.schema().into_owned() }
    }
}

impl Session {
    /// # Errors
    /// 42501 naming what the user lacks.
    pub(super) async fn check_privileges(&self, command: &Command) -> SqlResult<()> {
        if self.may_read_everything() {
            return Ok(());
        }
        let demands = demands(command);
        if demands.is_empty() {
            return Ok(());
        }
        let (reads, now) = (self.reads(), self.privileges_now());
        for demand in &demands {
            match demand {
                Demand::On(name, wanted) => {
                    if let Some(object) = object_named(&reads, name).await? {
                        if !object.place.is_temporary() {
                            self.check_schema(&now, object.place, Privileges::USAGE)?;
                        }
                        self.check_object(&now, &object, *wanted)?;
                    } else {
                        self.check_system_relation(name)?;
                    }
                }
                Demand::OwnIndex(name) => {
                    let index = placed_index(&reads.catalog, name)?;
                    let table = index_of(&reads.catalog, &index).map(|(table, _)| table.oid);
                    if let Some(table) = table
                        && !self.rights.owns(&now.access(table))
                    {
                        return Err(not_owned("index", &index.name));
                    }
                }
                // Both belong to those who own everything.
                Demand::OwnShared(kind, name) => return Err(kind.not_owned(name)),
                Demand::Create(name, temporary) => match self.name_to_make(name, *temporary)?.place {
                    Place::Temporary(_) => self.check_temporary(&now)?,
                    place => self.check_schema(&now, place, Privileges::CREATE)?,
                },
            }
        }
        Ok(())
    }

    /// An error of a statement that writes these columns, in the session's style and without what the user may not see: as in
    /// PostgreSQL, rows are shown to those who may read their table, and to others only what they gave themselves.
    pub(super) async fn concealed(
        &self,
        error: Box<SqlError>,
        written: impl FnOnce() -> WrittenColumns,
    ) -> Box<SqlError> {
        let error = ShownKey::in_style(error, &self.settings.style());
        if error.shown.is_none() || self.may_read_everything() || self.may_read_table_of(&error).await {
            return error;
        }
        written().conceal(error)
    }

    async fn may_read_table_of(&self, error: &SqlError) -> bool {
        let Some(table) = &error.table else { return false };
        match object_called(&self.reads(), error.schema.as_deref(), table).await {
            Ok(Some(table)) => {
                self.check_object(&self.privileges_now(), &table, Wanted::All(Privileges::SELECT)).is_ok()
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Whether no privileges need to be looked up. A read-only user may read everything, and the transaction's mode
    /// keeps it from writing.
    pub(super) fn may_read_everything(&self) -> bool {
        self.rights.owns_everything() || self.login.role == Role::ReadOnly
    }

    /// What only shows while a statement runs.
    ///
    /// # Errors
    /// 42501 for a table that the user has not all these privileges on.
    pub(super) fn check_on_table(&self, relation: &Relation, privileges: Privileges) -> SqlResult<()> {
        let (oid, place, name) = (relation.oid, relation.place(), relation.name.clone());
        let object = Object { kind: ObjectKind::Table, oid, place, name };
        self.check_object(&self.privileges_now(), &object, Wanted::All(privileges))
    }

    /// Whether ANALYZE of the table is the user's to run. It changes nothing that others see, so who may only read may too.
    pub(super) fn may_analyze(&self, relation: &Relation) -> bool {
        self.login.role == Role::ReadOnly || self.may_vacuum(relation)
    }

    /// Whether VACUUM of the table is the user's to run.
    pub(super) fn may_vacuum(&self, relation: &Relation) -> bool {
        self.rights.owns(&self.privileges_now().access(relation.oid))
    }

    /// The catalogue with what is granted at this moment, and what the transaction has granted itself.
    pub(super) fn privileges_now(&self) -> CatalogView {
        self.engine.catalog().view(self.transaction.catalog(), &self.own).1
    }

    /// Every role may read the system catalogue, but not the statements of others in what observe mode saw.
    fn check_system_relation(&self, name: &QualifiedName) -> SqlResult<()> {
        let (schema, table) = schema_and_table(name)?;
        if self.system_catalog().shows_observations(schema.as_deref(), &table) {
            let message = format!("permission denied for view {table}");
            return Err(SqlError::new(ErrorKind::InsufficientPrivilege, message));
        }
        Ok(())
    }

    fn check_temporary(&self, now: &CatalogView) -> SqlResult<()> {
        if self.rights.on(ObjectKind::Database, &now.access(DATABASE)).has(Privileges::TEMPORARY) {
            return Ok(());
        }
        let database = &*self.database;
        let message = format!("permission denied to create temporary tables in database \"{database}\"");
        Err(SqlError::new(ErrorKind::InsufficientPrivilege, message))
    }

    fn check_schema(&self, now: &CatalogView, place: Place, privileges: Privileges) -> SqlResult<()> {
        self.check_object(now, &Object::schema(place), Wanted::All(privileges))
    }

    fn check_object(&self, now: &CatalogView, object: &Object, wanted: Wanted) -> SqlResult<()> {
        let access: &Access = &now.access(object.oid);
        let has = self.rights.on(object.kind, access);
        match wanted {
            Wanted::All(privileges) if !has.has(privileges) => Err(object.kind.denied(&object.name)),
            Wanted::OneOf(privileges) if !has.has_any(privileges) => Err(object.kind.denied(&object.name)),
            Wanted::Ownership if !self.rights.owns(access) => Err(object.kind.not_owned(&object.name)),
            _ => Ok(()),
        }
    }
}

/// # Errors
/// 42501 for a user who may not connect to the database.
pub(super) fn check_may_connect(engine: &Engine, database: &str, rights: &Rights) -> SqlResult<()> {
    let (_, catalog) = engine.catalog().view(&StagedCatalog::default(), &SessionCatalog::none());
    if rights.owns_everything() || rights.on(ObjectKind::Database, &catalog.access(DATABASE)).has(Privileges::CONNECT) {
        return Ok(());
    }
    let message = format!("permission denied for database \"{database}\"");
    Err(SqlError::new(ErrorKind::InsufficientPrivilege, message).with_detail("User does not have CONNECT privilege."))
}

/// The table, view or sequence of this name; `None` for one of the system, and where there is none.
pub(super) async fn object_named(reads: &Reads, name: &QualifiedName) -> SqlResult<Option<Object>> {
    let (schema, name) = schema_and_table(name)?;
    object_called(reads, schema.as_deref(), &name).await
}

async fn object_called(reads: &Reads, schema: Option<&str>, name: &str) -> SqlResult<Option<Object>> {
    let Some(placed) = reads.catalog.named(schema, name) else { return Ok(None) };
    let name = name.to_owned();
    if let Some(view) = reads.catalog.view(&placed) {
        return Ok(Some(Object { kind: ObjectKind::Table, oid: view.oid, place: placed.place, name }));
    }
    if let Some(relation) = reads.relation(&placed).await? {
        let (oid, name) = (relation.oid, relation.name.clone());
        return Ok(Some(Object { kind: ObjectKind::Table, oid, place: placed.place, name }));
    }
    if let Some(sequence) = reads.catalog.sequence(&placed) {
        let (oid, name) = (sequence.oid, sequence.name.clone());
        return Ok(Some(Object { kind: ObjectKind::Sequence, oid, place: placed.place, name }));
    }
    // What else there may be of this name is nobody's whose privileges are not kept.
    let unknown = Object { kind: ObjectKind::Table, oid: UNKNOWN, place: placed.place, name };
    Ok(reads.catalog.has_name(&placed).then_some(unknown))
}
