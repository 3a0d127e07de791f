//! Running statements that maintain or extend a PostgreSQL server (VACUUM, CREATE EXTENSION, ..). Most have nothing to
//! do here, and only give the answer that clients expect.

use std::sync::Arc;

use tablegate_bind::QualifiedName;
use tablegate_store::table::{Renewal, StoreError};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::Session;
use crate::dml::{find_target, target_column};
use crate::outcome::{CommandTag, Outcome};
use crate::plan::{placed_name, schema_and_table};
use crate::relation::Relation;
use crate::syntax::DropObjects;
use crate::syntax::dialect::utility::{Maintained, ReindexKind, UtilityCommand};

/// The one language that every PostgreSQL has, so scripts make sure of it.
const PLPGSQL: &str = "plpgsql";
const PUBLIC: &str = "public";
const VACUUM_OPTIONS: &[&str] = &[
    "full",
    "freeze",
    "verbose",
    "analyze",
    "disable_page_skipping",
    "skip_locked",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
];
const ANALYZE_OPTIONS: &[&str] = &["verbose", "skip_locked"];

/// What VACUUM and ANALYZE do for a table.
#[derive(Clone, Copy)]
struct Maintenance {
    /// Rows are removed as soon as they are deleted; what is left to do is to renew what is kept beside them.
    vacuums: Option<Renewal>,
    analyzes: bool,
}

impl Maintenance {
    fn verb(self) -> &'static str {
        if self.vacuums.is_some() { "vacuum" } else { "analyze" }
    }
}

impl Session {
    pub(super) async fn run_utility_command(&mut self, command: &UtilityCommand) -> SqlResult<Outcome> {
        let tag = match command {
            UtilityCommand::Vacuum(vacuum) => {
                self.check_outside_block("VACUUM")?;
                check_options("VACUUM", &vacuum.options, VACUUM_OPTIONS)?;
                let analyzes = vacuum.options.iter().any(|option| option.starts_with("analy"));
                if !analyzes && vacuum.tables.iter().any(|(_, columns)| !columns.is_empty()) {
                    let message = "ANALYZE option must be specified when a column list is provided";
                    return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
                }
                let full = vacuum.options.iter().any(|option| option == "full");
                let which = if full { Renewal::All } else { Renewal::Due };
                self.maintain(vacuum, Maintenance { vacuums: Some(which), analyzes }).await?;
                "VACUUM"
            }
            UtilityCommand::Analyze(analyze) => {
                check_options("ANALYZE", &analyze.options, ANALYZE_OPTIONS)?;
                self.maintain(analyze, Maintenance { vacuums: None, analyzes: true }).await?;
                "ANALYZE"
            }
            UtilityCommand::Reindex { kind, name } => {
                self.check_reindexed(*kind, name.as_ref()).await?;
                "REINDEX"
            }
            UtilityCommand::Cluster(name) => {
                match name {
                    Some(name) => drop(find_target(&self.planner(), name).await?),
                    None => self.check_outside_block("CLUSTER")?,
                }
                "CLUSTER"
            }
            UtilityCommand::Checkpoint => "CHECKPOINT",
            UtilityCommand::CreateExtension { name, if_not_exists } => {
                self.create_extension(name, *if_not_exists)?;
                "CREATE EXTENSION"
            }
            UtilityCommand::DropExtension { names, if_exists } => {
                self.drop_named(names, *if_exists, "extension", PLPGSQL, ErrorKind::UndefinedObject)?;
                "DROP EXTENSION"
            }
            UtilityCommand::CreateSchema { name, if_not_exists } => {
                self.create_schema(name, *if_not_exists)?;
                "CREATE SCHEMA"
            }
            UtilityCommand::DropSchema { names, if_exists } => {
                self.drop_named(names, *if_exists, "schema", PUBLIC, ErrorKind::UndefinedSchema)?;
                "DROP SCHEMA"
            }
            UtilityCommand::DropAbsent { tag, absent } => {
                for what in absent {
                    self.notice(Notice::info(format!("{what} does not exist, skipping")));
                }
                tag
            }
            UtilityCommand::SetConstraints { names, deferred } => {
                names.iter().try_for_each(|name| self.check_constraint(name, *deferred))?;
                "SET CONSTRAINTS"
            }
            UtilityCommand::Refused { name, hint } => {
                return Err(SqlError::not_supported(name).with_hint(*hint));
            }
        };
        Ok(Outcome::Done(CommandTag::Plain(tag)))
    }

    /// # Errors
    /// 42704 for a constraint that no table has, 42809 for one that cannot wait and is to.
    fn check_constraint(&self, name: &QualifiedName, deferred: bool) -> SqlResult<()> {
        let catalog = &self.reads().catalog;
        let placed = placed_name(catalog, name)?;
        let name = placed.name.as_str();
        let mut has_it = false;
        for table in catalog.declarations().filter(|table| table.place == placed.place || table.place.is_temporary()) {
            has_it |= table.primary_key_name().as_deref() == Some(name);
            has_it |= table.constraints.names().any(|known| known == name);
            if table.constraints.unenforced.iter().any(|recorded| recorded.name == name && recorded.kind.may_wait()) {
                return Ok(());
            }
        }
        match (has_it, deferred) {
            (true, false) => Ok(()),
            (true, true) => {
                let message = format!("constraint \"{name}\" is not deferrable");
                Err(SqlError::new(ErrorKind::WrongObjectType, message))
            }
            (false, _) => {
                Err(SqlError::new(ErrorKind::UndefinedObject, format!("constraint \"{name}\" does not exist")))
            }
        }
    }

    pub(super) fn check_outside_block(&self, command: &str) -> SqlResult<()> {
        if !self.transaction.is_open() {
            return Ok(());
        }
        let message = format!("{command} cannot run inside a transaction block");
        Err(SqlError::new(ErrorKind::ActiveTransaction, message))
    }

    /// Lets the store do this for tables; of what is not a table says so.
    async fn maintain(&mut self, given: &Maintained, what: Maintenance) -> SqlResult<()> {
        let verb = what.verb();
        let mut relations: Vec<Arc<Relation>> = Vec::new();
        for (name, columns) in &given.tables {
            let (schema, table) = schema_and_table(name)?;
            // `vacuumdb` names the tables of the system one by one: there is nothing to do in them.
            if self.planner().system.knows(schema.as_deref(), &table) {
                continue;
            }
            if self.planner().view(schema.as_deref(), &table).is_some() {
                let message = format!("skipping \"{table}\" --- cannot {verb} non-tables or special system tables");
                self.notice(Notice::warning(message));
                continue;
            }
            let relation = find_target(&self.planner(), name).await?;
            columns.iter().try_for_each(|column| target_column(&relation, column).map(|_| ()))?;
            relations.push(relation);
        }
        if given.tables.is_empty() {
            relations = self.reads().relations().await?;
        }
        let left_out: Vec<_> = relations.extract_if(.., |relation| !self.may_maintain(relation, what)).collect();
        for relation in left_out {
            let name = &relation.name;
            self.notice(Notice::warning(format!("skipping \"{name}\" --- only table or database owner can {verb} it")));
        }
        for relation in relations {
            let store = self.engine.stores().at(relation.place())?;
            let done = async {
                if let Some(which) = what.vacuums {
                    store.renew_segments(&relation.stored, which).await?;
                }
                if what.analyzes { store.analyze(&relation.stored).await } else { Ok(()) }
            };
            match done.await {
                // The table was dropped meanwhile; that is no error, because the statement did not name it.
                Err(StoreError::TableMissing(_)) if given.tables.is_empty() => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn may_maintain(&self, relation: &Relation, what: Maintenance) -> bool {
        match what.vacuums {
            Some(_) => self.may_vacuum(relation),
            None => self.may_analyze(relation),
        }
    }

    async fn check_reindexed(&self, kind: ReindexKind, name: Option<&QualifiedName>) -> SqlResult<()> {
        match (kind, name) {
            (ReindexKind::Everything(what), _) => self.check_outside_block(&format!("REINDEX {what}")),
            (ReindexKind::Table, Some(name)) => find_target(&self.planner(), name).await.map(|_| ()),
            (ReindexKind::Index, Some(name)) => {
                let (_, index) = schema_and_table(name)?;
                let relations = self.reads().relations().await?;
                let is_key = relations.iter().any(|relation| relation.primary_key_name() == index);
                let is_recorded = || relations.iter().any(|r| r.constraints.has_index(&index));
                if is_key || is_recorded() {
                    return Ok(());
                }
                let message = format!("relation \"{index}\" does not exist");
                Err(SqlError::new(ErrorKind::UndefinedTable, message))
            }
            (ReindexKind::Table | ReindexKind::Index, None) => Ok(()),
        }
    }

    fn create_extension(&mut self, name: &str, if_not_exists: bool) -> SqlResult<()> {
        if name != PLPGSQL {
            return Err(SqlError::new(
                ErrorKind::FeatureNotSupported,
                format!("extension \"{name}\" is not available"),
            )
            .with_hint("What is not built in is not there: leave the extension out."));
        }
        let message = format!("extension \"{name}\" already exists");
        if !if_not_exists {
            return Err(SqlError::new(ErrorKind::DuplicateObject, message));
        }
        self.notice(Notice::info(format!("{message}, skipping")).of_kind(ErrorKind::DuplicateObject));
        Ok(())
    }

    fn create_schema(&mut self, name: &str, if_not_exists: bool) -> SqlResult<()> {
        if self.reads().catalog.place_of_schema(name).is_none_or(|place| place.is_temporary()) {
            return Err(SqlError::not_supported(format!("CREATE SCHEMA {name}")).with_hint(
                "A schema is a store: public, and those that the server mounts. Use a prefix in names of tables.",
            ));
        }
        let message = format!("schema \"{name}\" already exists");
        if !if_not_exists {
            return Err(SqlError::new(ErrorKind::DuplicateSchema, message));
        }
        self.notice(Notice::info(format!("{message}, skipping")).of_kind(ErrorKind::DuplicateSchema));
        Ok(())
    }

    /// DROP of objects of which there is only one, and that stays.
    fn drop_named(
        &mut self,
        names: &[String],
        if_exists: bool,
        what: &str,
        only: &str,
        missing: ErrorKind,
    ) -> SqlResult<()> {
        for name in names {
            let message = format!("{what} \"{name}\" does not exist");
            let place = self.reads().catalog.place_of_schema(name);
            if what == "schema" && place.is_some_and(|place| place.is_mount()) {
                return Err(SqlError::not_supported(format!("DROP SCHEMA {name}"))
                    .with_hint("It is there as long as the server mounts it; what is in it stays in its store."));
            }
            if name == only {
                return Err(SqlError::not_supported(format!("DROP {} {name}", what.to_uppercase())));
            }
            if !if_exists {
                return Err(SqlError::new(missing, message));
            }
            self.notice(Notice::info(format!("{message}, skipping")));
        }
        Ok(())
    }

    /// The names of what is to be dropped, without those that DROP .. IF EXISTS has of schemas that are not there: each is told of.
    pub(super) fn in_known_schemas(&mut self, drop: &DropObjects) -> Vec<QualifiedName> {
        let is_left_out = |name: &&QualifiedName| drop.if_exists && self.is_in_unknown_schema(name);
        let (unknown, known): (Vec<_>, Vec<_>) = drop.names.iter().partition(is_left_out);
        for (schema, _) in unknown.into_iter().filter_map(|name| schema_and_table(name).ok()) {
            let schema = schema.unwrap_or_default();
            self.notice(Notice::info(format!("schema \"{schema}\" does not exist, skipping")));
        }
        known.into_iter().cloned().collect()
    }

    /// Whether a name is one in a schema that is not there.
    pub(super) fn is_in_unknown_schema(&self, name: &QualifiedName) -> bool {
        let Ok((Some(schema), _)) = schema_and_table(name) else { return false };
        let is_of_system = matches!(schema.as_str(), "pg_catalog" | "information_schema");
        !is_of_system && self.reads().catalog.place_of_schema(&schema).is_none()
    }
}

fn check_options(command: &str, given: &[String], known: &[&str]) -> SqlResult<()> {
    match given.iter().find(|option| !known.contains(&option.as_str()) && *option != "analyse") {
        None => Ok(()),
        Some(other) => Err(SqlError::new(ErrorKind::Syntax, format!("unrecognized {command} option \"{other}\""))),
    }
}
