//! Running ALTER TABLE.

use std::collections::HashSet;
use std::sync::Arc;

use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::indexes::{index_of, placed_index};
use super::views::check_types_free;
use super::{Position, Session};
use crate::catalog::{Access, CatalogView, Declaration, Sequence, SequenceOwner, duplicate_table};
use crate::ddl::{self, Alteration, Renaming, RowCheck, Written};
use crate::dml::{contains_nulls, is_there_row};
use crate::outcome::{CommandTag, Outcome};
use crate::place::Place;
use crate::plan::{Renamed, placed_name, schema_and_table};
use crate::reads::Reads;
use crate::relation::Relation;
use crate::syntax::{AlterAction, AlterCommand, AlterSequence, GivenOptions, RenameIndex, ValueChange, is_null, not};
use crate::views::Needed;

impl Session {
    pub(super) async fn alter_table(&mut self, command: &AlterCommand, position: Position) -> SqlResult<Outcome> {
        self.check_writable("ALTER TABLE")?;
        let done = done_of(command);
        let (schema, name) = schema_and_table(&command.name)?;
        if command.if_exists && self.is_in_unknown_schema(&command.name) {
            self.notice(Notice::info(format!("relation \"{name}\" does not exist, skipping")));
            return Ok(done);
        }
        if self.planner().view(schema.as_deref(), &name).is_some() {
            let placed = placed_name(&self.reads().catalog, &command.name)?;
            self.claim(&placed).await?;
            // The transaction that had the name locked may have changed what it means.
            if let Some(view) = self.reads().catalog.view(&placed).cloned() {
                self.check_stays(placed.place, command)?;
                self.alter_view(&view, command).await?;
                self.settle(position).await?;
                return Ok(done_of(command));
            }
        }
        if let Some(done) = self.rename_other(command, position).await? {
            return Ok(done);
        }
        let relation = match self.claimed(&command.name).await {
            Ok(relation) if command.of_view => {
                let message = format!("\"{}\" is not a view", relation.name);
                return Err(SqlError::new(ErrorKind::WrongObjectType, message));
            }
            Ok(relation) => relation,
            Err(error) if error.kind == ErrorKind::UndefinedTable && command.if_exists => {
                let (_, table) = schema_and_table(&command.name)?;
                self.notice(Notice::info(format!("relation \"{table}\" does not exist, skipping")));
                return Ok(done);
            }
            Err(error) => return Err(error),
        };
        self.check_stays(relation.place(), command)?;
        match ddl::renaming(&command.actions)? {
            Some(renaming) => self.rename(&relation, &renaming).await?,
            None => self.alter(&relation, command).await?,
        }
        for what in &command.taken.ignored {
            self.notice(Notice::info(format!("{what} has no meaning here and is ignored")));
        }
        self.settle(position).await?;
        Ok(done)
    }

    /// RENAME TO of a sequence or an index, for which ALTER TABLE does as well; `None` where it is neither.
    async fn rename_other(&mut self, command: &AlterCommand, position: Position) -> SqlResult<Option<Outcome>> {
        let [AlterAction::RenameTable(to)] = &command.actions[..] else { return Ok(None) };
        let catalog = self.reads().catalog.clone();
        let (name, to) = (command.name.clone(), to.clone());
        if catalog.sequence(&placed_name(&catalog, &name)?).is_some() {
            let options = GivenOptions::default();
            let rename = AlterSequence { name, if_exists: command.if_exists, rename: Some(to), options };
            self.alter_sequence(&rename, position).await?;
        } else if index_of(&catalog, &placed_index(&catalog, &name)?).is_some() {
            self.rename_index(&RenameIndex { name, to }, position).await?;
        } else {
            return Ok(None);
        }
        Ok(Some(done_of(command)))
    }

    /// SET SCHEMA: what is there stays there.
    ///
    /// # Errors
    /// 3F000 for a schema that does not exist, 0A000 for another one.
    fn check_stays(&self, place: Place, command: &AlterCommand) -> SqlResult<()> {
        let Some(schema) = &command.taken.schema else { return Ok(()) };
        match self.reads().catalog.place_of_schema(schema) {
            None => Err(SqlError::new(ErrorKind::UndefinedSchema, format!("schema \"{schema}\" does not exist"))),
            Some(to) if to == place => Ok(()),
            Some(_) => Err(SqlError::not_supported("ALTER ... SET SCHEMA to another store")
                .with_hint("Make the table there, and copy it with INSERT INTO ... SELECT.")),
        }
    }

    async fn rename(&mut self, relation: &Arc<Relation>, renaming: &Renaming) -> SqlResult<()> {
        if let Renaming::Table { to } = renaming {
            let new = relation.placed_name().beside(to);
            self.claim(&new).await?;
            if self.is_taken(&new).await? {
                return Err(duplicate_table(to));
            }
        }
        let catalog = self.reads().catalog.clone();
        let before = catalog.declaration_of(relation, matches!(renaming, Renaming::Column { .. }));
        let (after, others) = renaming.apply(&catalog, &before)?;
        match renaming {
            Renaming::Table { to } => self.rename_in_views(Renamed::Relation { oid: relation.oid, to }).await?,
            Renaming::Column { to, .. } => {
                let mut pairs = before.columns.iter().zip(&after.columns);
                if let Some((old, _)) = pairs.find(|(old, new)| new.name == *to && old.name != *to) {
                    self.rename_in_views(Renamed::Column { oid: relation.oid, from: &old.name, to }).await?;
                }
            }
            Renaming::Constraint { .. } | Renaming::Index { .. } => {}
        }
        for other in others {
            self.claim(&other.placed_name()).await?;
            self.transaction.catalog_mut().put(other)?;
        }
        let staged = self.transaction.catalog_mut();
        if let Renaming::Column { to, .. } = renaming {
            let renamed = before.columns.iter().zip(&after.columns).find(|(_, new)| new.name == *to);
            for sequence in catalog.sequences_of(relation.oid) {
                let owner = sequence.owner.clone().filter(|o| renamed.is_some_and(|(old, _)| old.name == o.column));
                if let Some(mut owner) = owner {
                    owner.column.clone_from(to);
                    let mut sequence = sequence.as_ref().clone();
                    sequence.owner = Some(owner);
                    staged.put_sequence(sequence);
                }
            }
        }
        staged.remove(before.placed_name());
        staged.put(after)
    }

    async fn alter(&mut self, relation: &Arc<Relation>, command: &AlterCommand) -> SqlResult<()> {
        let reads = self.reads();
        let about_columns = command.actions.iter().any(AlterAction::is_about_columns);
        let before = reads.catalog.declaration_of(relation, about_columns);
        let stored = stored_properties(&reads, relation, &before).await?;
        let mut alteration = ddl::alter(&reads.catalog, before, stored, command, self.settings.egt_mode())?;
        self.stage_sequences(&alteration).await?;
        {
            let planner = self.planner();
            ddl::check_expressions(&planner, &alteration.after, &[], &Written::of_changes(command))?;
            ddl::resolve_references(&planner, &mut alteration.after).await?;
        }
        let retyped = alteration.retyped();
        check_types_free(&reads.catalog, relation.oid, &retyped)?;
        let Alteration { notices, checks, dropped, uncounted, dropped_key, cascaded, .. } = &alteration;
        let (oid, table) = (relation.oid, &relation.name);
        let columns = dropped.iter().map(|column| Needed::column(oid, table, column));
        let key = dropped_key.iter().map(|constraint| Needed::primary_key(oid, table, constraint));
        let needed: Vec<Needed<'_>> = columns.chain(key).collect();
        let cascade = command.actions.iter().any(AlterAction::drops_with_cascade);
        self.drop_dependents(&needed, cascade).await?;
        self.notices.extend(notices.iter().cloned());
        self.drop_references(cascaded).await?;
        let is_dropped = |owner: &SequenceOwner| {
            dropped.contains(&owner.column) || (owner.identity && uncounted.contains(&owner.column))
        };
        self.drop_sequences_of(&reads.catalog, relation, is_dropped, cascade).await?;
        let goes_through_rows =
            !checks.is_empty() || alteration.rewrite(relation, &alteration.after.relation()?).is_some();
        if goes_through_rows {
            Box::pin(self.announce(relation)).await?;
        }
        let declaration = self.carry_out(relation, &alteration).await?;
        let after = declaration.relation()?;
        for check in checks {
            self.check_rows(&after, check).await?;
        }
        for (column, change) in &command.taken.values {
            if let ValueChange::Identity { options, .. } = change {
                self.change_identity(&declaration, column, options).await?;
            }
        }
        self.transaction.catalog_mut().put(declaration)
    }

    /// Tells other gateways that may write to the table that it is being changed, and waits until they know.
    async fn announce(&mut self, relation: &Relation) -> SqlResult<()> {
        let catalog = self.engine.catalog();
        if let Some(announcement) = catalog.announce(relation, self.transaction.catalog()).await? {
            self.transaction.catalog_mut().keep_announcement(announcement);
            tokio::time::sleep(catalog.announced_ahead()).await;
        }
        Ok(())
    }

    /// Sets what an ALTER COLUMN says of the sequence of an identity.
    async fn change_identity(&mut self, table: &Declaration, column: &str, given: &GivenOptions) -> SqlResult<()> {
        let declared = table.columns.iter().find(|declared| declared.name == column);
        let Some(identity) = declared.and_then(|declared| declared.identity.as_ref()) else { return Ok(()) };
        let placed = table.placed_name().beside(&identity.sequence);
        self.claim(&placed).await?;
        match self.reads().catalog.sequence(&placed) {
            Some(sequence) if *given != GivenOptions::default() => {
                self.change_sequence(&sequence, given, Position::Last).await
            }
            _ => Ok(()),
        }
    }

    /// Writes the rows anew where that is needed. Gives the new declaration, and stages it without what is still to be
    /// checked of the rows: a column that is declared NOT NULL is not looked at for NULLs.
    async fn carry_out(&mut self, before: &Arc<Relation>, alteration: &Alteration<'_>) -> SqlResult<Declaration> {
        let mut declaration = alteration.after.clone();
        if let Some(rewrite) = alteration.rewrite(before, &declaration.relation()?) {
            self.rewrite(before, &mut declaration, &rewrite).await?;
        }
        let mut unchecked = declaration.clone();
        for check in &alteration.checks {
            if let RowCheck::NotNull { column } = check {
                unchecked.columns.iter_mut().filter(|c| c.name == *column).for_each(|c| c.not_null = false);
            }
        }
        self.transaction.catalog_mut().put(unchecked)?;
        Ok(declaration)
    }

    /// Stages the sequences of columns that count: values for rows that are there come from them.
    async fn stage_sequences(&mut self, alteration: &Alteration<'_>) -> SqlResult<()> {
        for sequence in &alteration.sequences {
            self.claim(&sequence.placed_name()).await?;
            let mut sequence = sequence.clone();
            if sequence.oid != 0 {
                self.transaction.catalog_mut().put_sequence(sequence);
                continue;
            }
            if self.reads().catalog.has_name(&sequence.placed_name()) {
                return Err(duplicate_table(&sequence.name));
            }
            sequence.oid = self.engine.catalog().next_oid(sequence.place);
            sequence.owner.iter_mut().for_each(|owner| owner.table = alteration.after.oid);
            let state = sequence.initial();
            let owner = self.reads().catalog.access(alteration.after.oid);
            let staged = self.transaction.catalog_mut();
            staged.put_access(sequence.place, Access::made_by(owner.owner(), sequence.oid));
            staged.start_sequence(sequence, state);
        }
        Ok(())
    }

    async fn drop_sequences_of(
        &mut self,
        catalog: &CatalogView,
        relation: &Relation,
        is_dropped: impl Fn(&SequenceOwner) -> bool,
        cascade: bool,
    ) -> SqlResult<()> {
        let owned = catalog.sequences_of(relation.oid);
        let dropped = owned.filter(|sequence| sequence.owner.as_ref().is_some_and(&is_dropped));
        let dropped: Vec<Arc<Sequence>> = dropped.cloned().collect();
        for sequence in &dropped {
            let column = sequence.owner.as_ref().map_or("", |owner| owner.column.as_str());
            let what = format!("column {column} of table {}", relation.name);
            self.release_sequences(std::slice::from_ref(sequence), relation, &what, cascade).await?;
        }
        for name in dropped.iter().map(|sequence| sequence.placed_name()) {
            self.claim(&name).await?;
            self.transaction.catalog_mut().remove_sequence(name);
        }
        Ok(())
    }

    /// Looks for a row that a new constraint does not allow.
    async fn check_rows(&self, relation: &Relation, check: &RowCheck) -> SqlResult<()> {
        let (is_bad, error) = match check {
            RowCheck::NotNull { column } => (is_null(column), contains_nulls(relation, column)),
            RowCheck::Condition { constraint, expression } => {
                (not((**expression).clone()), violated(relation, constraint))
            }
        };
        // A condition of the statement was bound before: this one's places are not in its text.
        let found = is_there_row(&self.planner(), relation, is_bad).await.map_err(SqlError::without_position);
        if found? { Err(error) } else { Ok(()) }
    }
}

fn done_of(command: &AlterCommand) -> Outcome {
    Outcome::Done(CommandTag::Plain(if command.of_view { "ALTER VIEW" } else { "ALTER TABLE" }))
}

/// A stored row that a new CHECK does not allow (23514).
fn violated(relation: &Relation, constraint: &str) -> Box<SqlError> {
    let message =
        format!("check constraint \"{constraint}\" of relation \"{}\" is violated by some row", relation.name);
    let mut error = relation.error(ErrorKind::CheckViolation, message);
    error.constraint = Some(constraint.to_owned());
    error
}

/// Every property that rows of the table can have: those the store has seen, and those of the transaction's own writes.
async fn stored_properties(reads: &Reads, relation: &Relation, before: &Declaration) -> SqlResult<HashSet<String>> {
    let stored = &relation.stored;
    let observed = reads.readers.of(stored)?.observed_schema(stored).await?;
    let mut names: HashSet<String> = observed.properties().iter().map(|p| p.name.as_str().to_owned()).collect();
    names.extend(before.columns.iter().filter_map(|c| c.property.clone()));
    // A store that others write to has seen a sample of what it has.
    names.extend(before.dropped_properties.iter().cloned());
    if let Some(own) = reads.own_writes(stored) {
        names.extend(own.properties()?);
    }
    Ok(names)
}
