//! Running CREATE TABLE, DROP TABLE, TRUNCATE and ANALYZE.
//!
//! Changes of the catalogue are staged in the session's transaction. Outside a block that is the implicit one, which
//! commits as the statement ends.

use std::sync::Arc;
use std::time::Duration;

use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::privileges::Privileges;

use super::{Position, Session};
use crate::catalog::{Access, Sequence, duplicate_table};
use crate::ddl::{self, Reference, Written};
use crate::dml::find_target;
use crate::outcome::{CommandTag, Outcome};
use crate::place::{Place, PlacedName};
use crate::plan::schema_and_table;
use crate::relation::{Relation, RelationKind};
use crate::syntax::{CreateTableCommand, DropObjects, TableMode, Truncate};
use crate::views::Needed;

/// So often CREATE TABLE IF NOT EXISTS looks for a table that another gateway is making, and so long it waits before each time.
const LOOKS_AGAIN: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl Session {
    pub(super) async fn create_table(
        &mut self,
        command: &CreateTableCommand,
        position: Position,
    ) -> SqlResult<Outcome> {
        self.check_writable("CREATE TABLE")?;
        // Another gateway may be making it at the same time, of which a part may be seen already: its sequence, or its stored
        // table. Then it is looked for until it is there, to be skipped. Nothing but this statement must be collected.
        let is_alone = position == Position::Last && !self.transaction.is_open();
        let looks_again = is_alone && command.if_not_exists && self.engine.catalog().is_shared();
        let mut looks_left = if looks_again { LOOKS_AGAIN } else { 0 };
        while let Err(error) = self.make_table(command, position).await {
            if looks_left == 0 || error.kind != ErrorKind::DuplicateTable {
                return Err(error);
            }
            looks_left -= 1;
            drop(self.transaction.fail());
            tokio::time::sleep(BETWEEN_LOOKS).await;
            self.engine.catalog().follow().await?;
        }
        Ok(Outcome::Done(CommandTag::Plain("CREATE TABLE")))
    }

    async fn make_table(&mut self, command: &CreateTableCommand, position: Position) -> SqlResult<()> {
        self.declare_table(command).await?;
        self.settle(position).await
    }

    /// Stages a new table; gives its name, or `None` when it is there already and that is no error.
    pub(super) async fn declare_table(&mut self, command: &CreateTableCommand) -> SqlResult<Option<PlacedName>> {
        let name = self.name_to_make(&command.name, command.temporary)?;
        self.claim(&name).await?;
        let reads = self.reads();
        if self.is_taken(&name).await? {
            if command.if_not_exists {
                self.notice(
                    Notice::info(format!("relation \"{}\" already exists, skipping", name.name))
                        .of_kind(ErrorKind::DuplicateTable),
                );
                return Ok(None);
            }
            return Err(duplicate_table(&name.name));
        }
        let is_taken =
            |other: &str| reads.catalog.has_name(&name.beside(other)) || reads.catalog.has_index(&name, other);
        let (spelled_out, comments) = Box::pin(self.without_like(command)).await?;
        let mut declared = ddl::declare(&spelled_out, &name, self.settings.egt_mode(), &is_taken)?;
        comments.put(&mut declared.declaration);
        for sequence in &declared.sequences {
            self.claim(&sequence.placed_name()).await?;
            if self.reads().catalog.has_name(&sequence.placed_name()) {
                return Err(duplicate_table(&sequence.name));
            }
        }
        let planner = self.planner();
        let written = Written::of_table(command);
        ddl::check_expressions(&planner, &declared.declaration, &declared.sequences, &written)?;
        ddl::resolve_references(&planner, &mut declared.declaration).await?;
        self.stage_table(declared).await?;
        Ok(Some(name))
    }

    /// Makes the stored table and declares it, with the sequences of its columns.
    async fn stage_table(&mut self, declared: ddl::Declared) -> SqlResult<()> {
        let ddl::Declared { mut declaration, is_stored_as_chosen, sequences, notices } = declared;
        let reads = self.reads();
        let catalog = self.engine.catalog();
        let (view, readers) = (&reads.catalog, &reads.readers);
        let fresh = catalog.make_first(view, readers, &mut declaration, is_stored_as_chosen).await?;
        let place = declaration.place;
        declaration.oid = catalog.next_oid(place);
        let table = declaration.oid;
        let owner = self.rights.user().to_owned();
        self.transaction.keep(fresh);
        let staged = self.transaction.catalog_mut();
        staged.put_access(place, Access::made_by(&owner, table));
        staged.put(declaration)?;
        for mut sequence in sequences {
            sequence.oid = catalog.next_oid(place);
            sequence.owner.iter_mut().for_each(|owner| owner.table = table);
            let state = sequence.initial();
            staged.put_access(place, Access::made_by(&owner, sequence.oid));
            staged.start_sequence(sequence, state);
        }
        self.notices.extend(notices);
        Ok(())
    }

    pub(super) async fn drop_tables(&mut self, drop: &DropObjects, position: Position) -> SqlResult<Outcome> {
        self.check_writable("DROP TABLE")?;
        let mut relations = Vec::new();
        for name in &self.in_known_schemas(drop) {
            match self.claimed(name).await {
                Ok(relation) => relations.push(relation),
                Err(error) if error.kind == ErrorKind::UndefinedTable => {
                    let (_, table) = schema_and_table(name)?;
                    if !drop.if_exists {
                        let message = format!("table \"{table}\" does not exist");
                        return Err(SqlError::new(ErrorKind::UndefinedTable, message));
                    }
                    self.notice(Notice::info(format!("table \"{table}\" does not exist, skipping")));
                }
                Err(error) if error.kind == ErrorKind::WrongObjectType => {
                    let (_, table) = schema_and_table(name)?;
                    let (schema, _) = schema_and_table(name)?;
                    return Err(match self.planner().view(schema.as_deref(), &table) {
                        Some(_) => error.with_hint("Use DROP VIEW to remove a view."),
                        None => error,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        let reads = self.reads();
        let names: Vec<PlacedName> = relations.iter().map(|r| r.placed_name()).collect();
        let references = ddl::references_to(&reads.catalog, &names);
        if !references.is_empty() && !drop.cascade {
            return Err(ddl::still_needed(&references));
        }
        let needed: Vec<Needed<'_>> = relations.iter().map(|r| Needed::table(r.oid, &r.name)).collect();
        self.drop_dependents(&needed, drop.cascade).await?;
        self.drop_references(&references).await?;
        for relation in &relations {
            self.drop_table(relation);
        }
        for relation in &relations {
            // Of the tables that go none holds another one up.
            let owned: Vec<Arc<Sequence>> = reads.catalog.sequences_of(relation.oid).cloned().collect();
            let what = format!("table {}", relation.name);
            self.release_sequences(&owned, relation, &what, drop.cascade).await?;
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("DROP TABLE")))
    }

    /// Takes away the foreign keys that DROP ... CASCADE drops too.
    pub(super) async fn drop_references(&mut self, references: &[Reference]) -> SqlResult<()> {
        for reference in references {
            self.claim(&reference.table).await?;
            let reads = self.reads();
            if let Some(declaration) = reads.catalog.declaration(&reference.table) {
                let mut declaration = declaration.clone();
                declaration.constraints.unenforced.retain(|c| c.name != reference.constraint);
                self.transaction.catalog_mut().put(declaration)?;
            }
        }
        self.notices.extend(ddl::cascades(references));
        Ok(())
    }

    /// Takes a table out of the session's catalogue, with the sequences that belong to it.
    fn drop_table(&mut self, relation: &Relation) {
        let reads = self.reads();
        self.transaction.writes_mut().forget(&relation.stored);
        let staged = self.transaction.catalog_mut();
        if relation.kind == RelationKind::Found {
            staged.give_up(relation.stored.clone());
            return;
        }
        staged.remove(relation.placed_name());
        for sequence in reads.catalog.sequences_of(relation.oid) {
            staged.remove_sequence(sequence.placed_name());
        }
    }

    pub(super) async fn truncate(&mut self, truncate: &Truncate, position: Position) -> SqlResult<Outcome> {
        self.check_writable("TRUNCATE")?;
        let mut relations = Vec::new();
        for name in &truncate.names {
            let relation = self.claimed(name).await?;
            if !relations.iter().any(|known: &Arc<Relation>| known.oid == relation.oid) {
                relations.push(relation);
            }
        }
        while let Some(reference) = self.first_reference_to(&relations) {
            if !truncate.cascade {
                return Err(ddl::still_referenced(&reference));
            }
            self.notice(Notice::info(format!("truncate cascades to table \"{}\"", reference.table.name)));
            self.claim(&reference.table).await?;
            match self.reads().relation(&reference.table).await? {
                Some(relation) if relation.name == reference.table.name => {
                    self.check_on_table(&relation, Privileges::TRUNCATE)?;
                    relations.push(relation);
                }
                _ => break,
            }
        }
        for relation in &relations {
            self.truncate_table(relation, truncate.restart_identity).await?;
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("TRUNCATE TABLE")))
    }

    fn first_reference_to(&self, relations: &[Arc<Relation>]) -> Option<Reference> {
        let names: Vec<PlacedName> = relations.iter().map(|r| r.placed_name()).collect();
        ddl::references_to(&self.reads().catalog, &names).into_iter().next()
    }

    /// Moves a table to a new stored table, which is empty: so others see the old rows until COMMIT. A found table
    /// becomes a declared one, to remember where it is stored.
    async fn truncate_table(&mut self, relation: &Relation, restart_identity: bool) -> SqlResult<()> {
        let reads = self.reads();
        let mut declaration = reads.catalog.declaration_of(relation, false);
        let fresh = self.engine.catalog().make_next(&mut declaration).await?;
        self.transaction.writes_mut().forget(&relation.stored);
        self.transaction.keep(fresh);
        let staged = self.transaction.catalog_mut();
        if relation.kind == RelationKind::Found {
            staged.give_up(relation.stored.clone());
        }
        for sequence in reads.catalog.sequences_of(relation.oid).filter(|_| restart_identity) {
            staged.start_sequence(Sequence::clone(sequence), sequence.initial());
        }
        staged.put(declaration)
    }

    /// The table to change, which no other transaction changes until this one ends.
    pub(super) async fn claimed(&mut self, name: &QualifiedName) -> SqlResult<Arc<Relation>> {
        let relation = find_target(&self.planner(), name).await?;
        self.lock_table(&relation, TableMode::AccessExclusive).await?;
        if self.transaction.catalog().holds(&relation.placed_name()) {
            return Ok(relation);
        }
        self.claim(&relation.placed_name()).await?;
        // The transaction that had it locked may have changed or dropped the table.
        find_target(&self.planner(), name).await
    }

    /// Waits for the right to change what a name means; it ends with the transaction.
    ///
    /// # Errors
    /// 25006 for a name in a store that is mounted read-only, 55P03 when it takes too long.
    pub(super) async fn claim(&mut self, name: &PlacedName) -> SqlResult<()> {
        self.engine.stores().check_writable(name.place)?;
        if !self.transaction.catalog().holds(name) {
            self.engine.catalog().claim(name, self.transaction.catalog_mut()).await?;
        }
        Ok(())
    }

    /// Whether a new table, sequence or view cannot have this name.
    pub(super) async fn is_taken(&self, name: &PlacedName) -> SqlResult<bool> {
        let reads = self.reads();
        Ok(reads.catalog.has_name(name) || reads.catalog.exact(&reads.readers, name).await?.is_some())
    }

    /// What a new object is to be called: in the place of its schema, or of what its statement says.
    ///
    /// # Errors
    /// 3F000 for an unknown schema, 42P16 for a temporary object in a schema of others.
    pub(super) fn name_to_make(&self, name: &QualifiedName, temporary: bool) -> SqlResult<PlacedName> {
        let (schema, table) = schema_and_table(name)?;
        let own = self.own.place();
        let Some(schema) = schema else {
            return Ok(PlacedName::new(if temporary { own } else { Place::Public }, &table));
        };
        match self.reads().catalog.place_of_schema(&schema) {
            Some(place) if place.is_temporary() || !temporary => Ok(PlacedName::new(place, &table)),
            Some(_) => {
                let message = "cannot create temporary relation in non-temporary schema";
                Err(SqlError::new(ErrorKind::InvalidTableDefinition, message))
            }
            None => Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{schema}\" does not exist"))),
        }
    }

    /// The end of a statement that changed the catalogue: outside a block that commits it, unless more follow.
    pub(super) async fn settle(&mut self, position: Position) -> SqlResult<()> {
        self.transaction.check_one_store()?;
        if position == Position::Last { self.finish_implicit().await } else { Ok(()) }
    }
}
