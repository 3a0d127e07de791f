//! CREATE, ALTER and DROP SEQUENCE.

use std::sync::{Arc, PoisonError};

use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Position, Session};
use crate::catalog::{
    Access, CatalogView, Declaration, Sequence, SequenceOwner, SequenceState, default_after_renaming, duplicate_table,
};
use crate::outcome::{CommandTag, Outcome};
use crate::place::{Place, PlacedName};
use crate::plan::{placed_name, resolve_column, schema_and_table};
use crate::relation::Relation;
use crate::syntax::{AlterSequence, CreateSequence, DropObjects, GivenOptions};
use crate::{ddl, sequence};

impl Session {
    pub(super) async fn create_sequence(&mut self, create: &CreateSequence, position: Position) -> SqlResult<Outcome> {
        self.check_writable("CREATE SEQUENCE")?;
        let done = Outcome::Done(CommandTag::Plain("CREATE SEQUENCE"));
        refuse_name_option(&create.options)?;
        let placed = self.name_to_make(&create.name, create.temporary)?;
        let name = &placed.name;
        self.claim(&placed).await?;
        let reads = self.reads();
        let taken = self.is_taken(&placed).await?;
        if taken && create.if_not_exists {
            self.notice(
                Notice::info(format!("relation \"{name}\" already exists, skipping"))
                    .of_kind(ErrorKind::DuplicateTable),
            );
            return Ok(done);
        }
        if taken {
            return Err(duplicate_table(name));
        }
        let mut made = Sequence::new(name, sequence::created(&create.options, &SqlType::Int8)?);
        made.place = placed.place;
        made.owner = owner(&reads.catalog, &create.options, placed.place)?.flatten();
        made.oid = self.engine.catalog().next_oid(made.place);
        let state = made.initial();
        let (place, access) = (made.place, Access::made_by(self.rights.user(), made.oid));
        let staged = self.transaction.catalog_mut();
        staged.put_access(place, access);
        staged.start_sequence(made, state);
        self.settle(position).await?;
        Ok(done)
    }

    pub(super) async fn alter_sequence(&mut self, alter: &AlterSequence, position: Position) -> SqlResult<Outcome> {
        self.check_writable("ALTER SEQUENCE")?;
        let done = Outcome::Done(CommandTag::Plain("ALTER SEQUENCE"));
        if alter.if_exists && self.is_in_unknown_schema(&alter.name) {
            let (_, name) = schema_and_table(&alter.name)?;
            self.notice(Notice::info(format!("relation \"{name}\" does not exist, skipping")));
            return Ok(done);
        }
        let placed = placed_name(&self.reads().catalog, &alter.name)?;
        self.claim(&placed).await?;
        let reads = self.reads();
        let Some(old) = reads.catalog.sequence(&placed) else {
            if !reads.catalog.has_name(&placed) && alter.if_exists {
                self.notice(Notice::info(format!("relation \"{}\" does not exist, skipping", placed.name)));
                return Ok(done);
            }
            return Err(no_sequence(&reads.catalog, &placed, "relation"));
        };
        if let Some(to) = &alter.rename {
            self.rename_sequence(&old, to).await?;
            self.settle(position).await?;
            return Ok(done);
        }
        self.change_sequence(&old, &alter.options, position).await?;
        self.settle(position).await?;
        Ok(done)
    }

    /// Gives a sequence other options, and lets it begin anew where they say so.
    pub(super) async fn change_sequence(
        &mut self,
        old: &Arc<Sequence>,
        given: &GivenOptions,
        position: Position,
    ) -> SqlResult<()> {
        refuse_name_option(given)?;
        if !old.place.is_temporary() {
            // What is reserved was reserved as the sequence counted so far.
            self.engine.sequences().give_back(old.oid).await?;
        }
        let (options, restart) = sequence::altered(&old.options, given)?;
        let state = match restart {
            Some(last) => SequenceState { last, called: false },
            None => self.sequences.state(old).await?,
        };
        sequence::check_restart(&options, state.last)?;
        let mut new = Sequence::clone(old);
        new.options = options;
        let catalog = &self.reads().catalog;
        if let Some(owner) = owner(catalog, given, old.place)? {
            check_owner_may_change(catalog, old)?;
            new.owner = owner;
        }
        // What follows in the transaction counts by the new options, and nobody else does before it is committed.
        let is_followed = self.transaction.in_block() || position == Position::MoreFollow;
        let counts_in_store = !old.place.is_temporary() && catalog.own_counter(&old.placed_name()).is_none();
        let stored = match is_followed && counts_in_store && restart.is_none() && new.options != old.options {
            true => Some(self.engine.sequences().stored_state(old).await?),
            false => None,
        };
        let staged = self.transaction.catalog_mut();
        match (restart, stored) {
            (Some(_), _) => staged.start_sequence(new, state),
            (None, Some((state, version))) => staged.recount_sequence(version, new, state),
            (None, None) => staged.put_sequence(new),
        }
        Ok(())
    }

    /// RENAME TO: the sequence keeps its owner and counts on, and defaults and identities that count with it follow.
    async fn rename_sequence(&mut self, old: &Sequence, to: &QualifiedName) -> SqlResult<()> {
        let (None, to) = schema_and_table(to)? else {
            return Err(SqlError::new(ErrorKind::Syntax, "RENAME TO takes a name without a schema"));
        };
        let from = old.placed_name();
        let placed = from.beside(&to);
        self.claim(&placed).await?;
        if self.is_taken(&placed).await? {
            return Err(duplicate_table(&to));
        }
        let reads = self.reads();
        let mut new = old.clone();
        new.name.clone_from(&to);
        match reads.catalog.own_counter(&from) {
            Some(counter) => {
                let state = *counter.lock().unwrap_or_else(PoisonError::into_inner);
                let staged = self.transaction.catalog_mut();
                staged.remove_sequence(from.clone());
                staged.start_sequence(new, state);
            }
            None => {
                self.engine.sequences().give_back(old.oid).await?;
                let (state, version) = self.engine.sequences().stored_state(old).await?;
                self.transaction.catalog_mut().move_sequence(from.clone(), version, new, state);
            }
        }
        let is_its = |table: &Declaration| {
            let identity = old.owner.as_ref().is_some_and(|owner| owner.identity && owner.table == table.oid);
            identity || ddl::counts_with(table, &from.name).next().is_some()
        };
        let tables = reads.catalog.declarations().filter(|table| table.place == from.place && is_its(table));
        for mut table in tables.cloned().collect::<Vec<_>>() {
            self.claim(&table.placed_name()).await?;
            for column in &mut table.columns {
                if let Some(text) = &mut column.default {
                    *text = default_after_renaming(from.place, text, &from.name, &to);
                }
                if let Some(identity) = column.identity.as_mut().filter(|identity| identity.sequence == from.name) {
                    identity.sequence.clone_from(&to);
                }
            }
            self.transaction.catalog_mut().put(table)?;
        }
        Ok(())
    }

    pub(super) async fn drop_sequences(&mut self, drop: &DropObjects, position: Position) -> SqlResult<Outcome> {
        self.check_writable("DROP SEQUENCE")?;
        for name in &self.in_known_schemas(drop) {
            let placed = placed_name(&self.reads().catalog, name)?;
            let name = &placed.name;
            self.claim(&placed).await?;
            let reads = self.reads();
            let Some(sequence) = reads.catalog.sequence(&placed) else {
                if !reads.catalog.has_name(&placed) && drop.if_exists {
                    self.notice(Notice::info(format!("sequence \"{name}\" does not exist, skipping")));
                    continue;
                }
                return Err(no_sequence(&reads.catalog, &placed, "sequence"));
            };
            check_not_identity(&reads.catalog, &sequence)?;
            let dependents: Vec<Declaration> = ddl::counting_with(&reads.catalog, &placed).cloned().collect();
            if !dependents.is_empty() && !drop.cascade {
                return Err(still_needed(&format!("sequence {name}"), &sequence, &dependents));
            }
            for declaration in dependents {
                self.drop_defaults(declaration, name).await?;
            }
            self.transaction.catalog_mut().remove_sequence(placed);
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("DROP SEQUENCE")))
    }

    /// Sequences go with the table or the column that they belong to. Other tables whose defaults count with them hold that up.
    ///
    /// # Errors
    /// 2BP01 for such defaults, unless they are to be dropped too.
    pub(super) async fn release_sequences(
        &mut self,
        sequences: &[Arc<Sequence>],
        of: &Relation,
        what: &str,
        cascade: bool,
    ) -> SqlResult<()> {
        let reads = self.reads();
        for sequence in sequences {
            let placed = sequence.placed_name();
            let counting = ddl::counting_with(&reads.catalog, &placed);
            let dependents: Vec<Declaration> = counting.filter(|table| table.oid != of.oid).cloned().collect();
            if !dependents.is_empty() && !cascade {
                return Err(still_needed(what, sequence, &dependents));
            }
            for declaration in dependents {
                self.drop_defaults(declaration, &sequence.name).await?;
            }
        }
        Ok(())
    }

    /// Takes away the defaults that DROP SEQUENCE ... CASCADE drops too.
    async fn drop_defaults(&mut self, mut declaration: Declaration, sequence: &str) -> SqlResult<()> {
        self.claim(&declaration.placed_name()).await?;
        let columns: Vec<String> = ddl::counts_with(&declaration, sequence).map(str::to_owned).collect();
        for column in declaration.columns.iter_mut().filter(|column| columns.contains(&column.name)) {
            column.default = None;
            let message =
                format!("drop cascades to default value for column {} of table {}", column.name, declaration.name);
            self.notices.push(Notice::info(message));
        }
        self.transaction.catalog_mut().put(declaration)
    }
}

fn refuse_name_option(options: &GivenOptions) -> SqlResult<()> {
    match options.name {
        Some(_) => Err(SqlError::new(ErrorKind::Syntax, "invalid sequence option SEQUENCE NAME")),
        None => Ok(()),
    }
}

/// What OWNED BY says of a sequence in this place: nothing, NONE, or a column.
fn owner(catalog: &CatalogView, options: &GivenOptions, place: Place) -> SqlResult<Option<Option<SequenceOwner>>> {
    let Some(given) = &options.owner else { return Ok(None) };
    let Some(named) = given else { return Ok(Some(None)) };
    let Some((column, table)) = named.parts().split_last().filter(|(_, table)| !table.is_empty()) else {
        return Err(SqlError::new(ErrorKind::Syntax, "invalid OWNED BY option")
            .with_hint("Specify OWNED BY table.column or OWNED BY NONE."));
    };
    let placed = placed_name(catalog, &QualifiedName::new(table.to_vec()))?;
    let table = &placed.name;
    let declaration = catalog
        .declaration(&placed)
        .ok_or_else(|| SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{table}\" does not exist")))?;
    if declaration.place != place {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(SqlError::new(ErrorKind::ObjectNotInState, message));
    }
    match resolve_column(declaration.columns.iter().map(|declared| &declared.name), column)? {
        Some(column) => {
            Ok(Some(Some(SequenceOwner { table: declaration.oid, column: column.to_owned(), identity: false })))
        }
        None => {
            let message = format!("column \"{}\" of relation \"{table}\" does not exist", column.written());
            Err(SqlError::new(ErrorKind::UndefinedColumn, message))
        }
    }
}

/// The name of the table a sequence belongs to.
fn owning_table(catalog: &CatalogView, owner: &SequenceOwner) -> String {
    catalog.declarations().find(|d| d.oid == owner.table).map(|d| d.name.clone()).unwrap_or_default()
}

fn check_owner_may_change(catalog: &CatalogView, sequence: &Sequence) -> SqlResult<()> {
    let Some(owner) = sequence.owner.as_ref().filter(|owner| owner.identity) else { return Ok(()) };
    let table = owning_table(catalog, owner);
    Err(SqlError::new(ErrorKind::FeatureNotSupported, "cannot change ownership of identity sequence")
        .with_detail(format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name)))
}

fn check_not_identity(catalog: &CatalogView, sequence: &Sequence) -> SqlResult<()> {
    let Some(owner) = sequence.owner.as_ref().filter(|owner| owner.identity) else { return Ok(()) };
    let (table, column, name) = (owning_table(catalog, owner), &owner.column, &sequence.name);
    let message = format!("cannot drop sequence {name} because column {column} of table {table} requires it");
    Err(SqlError::new(ErrorKind::DependentObjects, message)
        .with_hint(format!("You can drop column {column} of table {table} instead.")))
}

fn still_needed(what: &str, sequence: &Sequence, dependents: &[Declaration]) -> Box<SqlError> {
    let name = &sequence.name;
    let lines: Vec<String> = dependents
        .iter()
        .flat_map(|d| {
            let line = move |column: &str| {
                format!("default value for column {column} of table {} depends on sequence {name}", d.name)
            };
            ddl::counts_with(d, name).map(line)
        })
        .collect();
    let message = format!("cannot drop {what} because other objects depend on it");
    SqlError::new(ErrorKind::DependentObjects, message)
        .with_detail(lines.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

/// A name that is not a sequence's: 42809 for a table's, else 42P01.
fn no_sequence(catalog: &CatalogView, placed: &PlacedName, what: &str) -> Box<SqlError> {
    let name = &placed.name;
    if catalog.has_name(placed) {
        return SqlError::new(ErrorKind::WrongObjectType, format!("\"{name}\" is not a sequence"));
    }
    SqlError::new(ErrorKind::UndefinedTable, format!("{what} \"{name}\" does not exist"))
}
