//! CREATE INDEX and DROP INDEX: recorded under `egt.mode = observe`, never built.

use tablegate_bind::QualifiedName;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::{Position, Session};
use crate::catalog::{CatalogView, Declaration, duplicate_table};
use crate::ddl::{self, Recorder, Renaming};
use crate::outcome::{CommandTag, Outcome};
use crate::place::PlacedName;
use crate::plan::{placed_name, schema_and_table};
use crate::relation::RelationKind;
use crate::settings::EgtMode;
use crate::syntax::{CreateIndexCommand, DropObjects, RenameIndex};

impl Session {
    pub(super) async fn create_index(&mut self, create: &CreateIndexCommand, position: Position) -> SqlResult<Outcome> {
        self.check_writable("CREATE INDEX")?;
        if create.concurrently && self.transaction.in_block() {
            let message = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
            return Err(SqlError::new(ErrorKind::ActiveTransaction, message));
        }
        let done = Outcome::Done(CommandTag::Plain("CREATE INDEX"));
        let relation = self.claimed(&create.table).await?;
        if relation.kind == RelationKind::Found {
            return Err(SqlError::not_supported("an index on a table that was not declared")
                .with_hint("Declare the table with CREATE TABLE."));
        }
        let reads = self.reads();
        let own = relation.placed_name();
        let taken = |name: &str| {
            let placed = own.beside(name);
            reads.catalog.has_name(&placed) || index_of(&reads.catalog, &placed).is_some()
        };
        let name = match &create.name {
            Some(name) => schema_and_table(name)?.1,
            None => ddl::index_name(&relation.name, &create.definition, taken),
        };
        if taken(&name) {
            if create.if_not_exists {
                self.notice(
                    Notice::info(format!("relation \"{name}\" already exists, skipping"))
                        .of_kind(ErrorKind::DuplicateTable),
                );
                return Ok(done);
            }
            return Err(duplicate_table(&name));
        }
        let mut declaration = reads.catalog.declaration_of(&relation, false);
        let mut notices = Vec::new();
        let key: Vec<String> = relation.key_columns().into_iter().map(|i| relation.columns[i].name.clone()).collect();
        // An index that is not unique only makes reading faster, so for a temporary table it is left out without an
        // error.
        let is_harmless = relation.place().is_temporary() && !create.unique;
        let mut recorder = Recorder {
            mode: if is_harmless { EgtMode::Observe } else { self.settings.egt_mode() },
            table: &relation.name,
            place: relation.place(),
            columns: &declaration.columns,
            key: if relation.generated_partition.is_some() { &[] } else { &key },
            notices: &mut notices,
        };
        let mut constraints = declaration.constraints.clone();
        recorder.index(&mut constraints, create, name)?;
        ddl::bind_index(&relation, &create.definition)?;
        declaration.constraints = constraints;
        self.transaction.catalog_mut().put(declaration)?;
        self.notices.extend(notices.into_iter().filter(|_| !is_harmless));
        self.settle(position).await?;
        Ok(done)
    }

    pub(super) async fn drop_indexes(&mut self, drop: &DropObjects, position: Position) -> SqlResult<Outcome> {
        self.check_writable("DROP INDEX")?;
        for name in &self.in_known_schemas(drop) {
            let placed = placed_index(&self.reads().catalog, name)?;
            let table = index_of(&self.reads().catalog, &placed).map(|(declaration, _)| declaration.placed_name());
            if let Some(table) = table {
                self.claim(&table).await?;
            }
            let reads = self.reads();
            let name = placed.name.clone();
            match index_of(&reads.catalog, &placed) {
                Some((declaration, true)) => {
                    let mut declaration = declaration.clone();
                    declaration.constraints.unenforced.retain(|u| u.name != name || u.kind.is_constraint());
                    self.transaction.catalog_mut().put(declaration)?;
                }
                Some((declaration, false)) => return Err(belongs_to_constraint(&name, &declaration.name)),
                None if reads.catalog.has_name(&placed) => {
                    let message = format!("\"{name}\" is not an index");
                    return Err(SqlError::new(ErrorKind::WrongObjectType, message));
                }
                None if drop.if_exists => {
                    self.notice(Notice::info(format!("index \"{name}\" does not exist, skipping")));
                }
                None => {
                    return Err(SqlError::new(ErrorKind::UndefinedObject, format!("index \"{name}\" does not exist")));
                }
            }
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("DROP INDEX")))
    }

    /// ALTER INDEX ... RENAME TO. The index of a constraint has the constraint's name.
    pub(super) async fn rename_index(&mut self, rename: &RenameIndex, position: Position) -> SqlResult<Outcome> {
        self.check_writable("ALTER INDEX")?;
        let placed = placed_index(&self.reads().catalog, &rename.name)?;
        let table = index_of(&self.reads().catalog, &placed).map(|(declaration, _)| declaration.placed_name());
        if let Some(table) = table {
            self.claim(&table).await?;
        }
        let (None, to) = schema_and_table(&rename.to)? else {
            return Err(SqlError::new(ErrorKind::Syntax, "RENAME TO takes a name without a schema"));
        };
        let new = placed.beside(&to);
        let is_taken = self.is_taken(&new).await?;
        let reads = self.reads();
        let name = placed.name.clone();
        let Some((declaration, _)) = index_of(&reads.catalog, &placed) else {
            if reads.catalog.has_name(&placed) {
                return Err(SqlError::new(ErrorKind::WrongObjectType, format!("\"{name}\" is not an index")));
            }
            return Err(SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{name}\" does not exist")));
        };
        if is_taken || index_of(&reads.catalog, &new).is_some() {
            return Err(duplicate_table(&to));
        }
        let (after, _) = Renaming::Index { from: name, to }.apply(&reads.catalog, declaration)?;
        self.transaction.catalog_mut().put(after)?;
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("ALTER INDEX")))
    }
}

/// What the name of an index means: indexes are in the place of their table, and are looked for like tables.
pub(super) fn placed_index(catalog: &CatalogView, name: &QualifiedName) -> SqlResult<PlacedName> {
    let placed = placed_name(catalog, name)?;
    let own = PlacedName::new(catalog.temporary_place(), &placed.name);
    let is_own = name.parts().len() == 1 && !catalog.has_name(&placed) && index_of(catalog, &own).is_some();
    Ok(if is_own { own } else { placed })
}

/// The table with an index of this name, and whether the index stands alone: that of a primary key or of a UNIQUE
/// belongs to the constraint.
pub(super) fn index_of<'c>(catalog: &'c CatalogView, index: &PlacedName) -> Option<(&'c Declaration, bool)> {
    let name = index.name.as_str();
    catalog.declarations().filter(|declaration| declaration.place == index.place).find_map(|declaration| {
        let mut recorded = declaration.constraints.unenforced.iter();
        match recorded.find(|recorded| recorded.name == name && recorded.kind.has_index()) {
            Some(recorded) => Some((declaration, !recorded.kind.is_constraint())),
            None => (declaration.primary_key_name().as_deref() == Some(name)).then_some((declaration, false)),
        }
    })
}

fn belongs_to_constraint(index: &str, table: &str) -> Box<SqlError> {
    let message = format!("cannot drop index {index} because constraint {index} on table {table} requires it");
    SqlError::new(ErrorKind::DependentObjects, message)
        .with_hint(format!("You can drop constraint {index} on table {table} instead."))
}
