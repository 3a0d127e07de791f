//! UNIQUE and FOREIGN KEY: what the Table model cannot enforce.
//!
//! `egt.mode = strict` refuses them. `observe` records them in the declaration, with a WARNING, so that an
//! application's schema goes through as it is and the view `schema_findings` can say what each of them means for the
//! model. A UNIQUE that follows from the primary key is kept in both modes, without a WARNING.

use std::sync::Arc;

use tablegate_bind::Identifier;
use tablegate_types::constraint::{Constraints, Deferral, Unenforced, UnenforcedKind};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::names::free_name;
use crate::catalog::{Declaration, DeclaredColumn, duplicate_table};
use crate::place::{Place, PlacedName};
use crate::plan::{Planner, resolve_column, schema_and_table};
use crate::relation::Relation;
use crate::settings::EgtMode;
use crate::syntax::{ForeignKey, Matching};

/// Records constraints of one table as its mode allows.
pub(crate) struct Recorder<'a> {
    pub mode: EgtMode,
    pub table: &'a str,
    /// Where the table is.
    pub place: Place,
    pub columns: &'a [DeclaredColumn],
    /// The columns of the primary key; none without one.
    pub key: &'a [String],
    pub notices: &'a mut Vec<Notice>,
}

impl Recorder<'_> {
    /// A UNIQUE constraint on these columns.
    ///
    /// # Errors
    /// 0A000 in `strict`, unless the primary key makes it true; 42703, 42701 and 42710 as PostgreSQL has them.
    pub(crate) fn unique(
        &mut self,
        constraints: &mut Constraints,
        name: Option<&Identifier>,
        listed: &[Identifier],
        (nulls_not_distinct, deferral): (bool, Deferral),
    ) -> SqlResult<()> {
        let columns = self.named(listed, |column| format!("column \"{column}\" named in key does not exist"))?;
        if let Some(twice) = columns.iter().enumerate().find(|(i, column)| columns[..*i].contains(column)) {
            let message = format!("column \"{}\" appears twice in unique constraint", twice.1);
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        let is_kept = !self.key.is_empty() && self.key.iter().all(|part| columns.contains(part));
        if self.mode == EgtMode::Strict && !is_kept {
            return Err(refused("UNIQUE")
                .with_detail("The Table service has one index, on PartitionKey and RowKey.")
                .with_hint(
                    "Make the unique columns the primary key, or keep a second table whose key they are. SET egt.mode = \
                     observe to record the constraint without enforcing it.",
                ));
        }
        let kind = UnenforcedKind::Unique { nulls_not_distinct, deferral };
        let name = self.record(constraints, name, columns, "key", kind)?;
        if !is_kept {
            self.warn(format!("UNIQUE constraint \"{name}\" of table \"{}\" is recorded and not enforced", self.table));
        }
        Ok(())
    }

    /// A foreign key from these columns. What it refers to is looked at by [`resolve_references`].
    ///
    /// # Errors
    /// 0A000 in `strict`; 42703 and 42710 as PostgreSQL has them.
    pub(crate) fn foreign_key(
        &mut self,
        constraints: &mut Constraints,
        name: Option<&Identifier>,
        key: &ForeignKey,
    ) -> SqlResult<()> {
        if self.mode == EgtMode::Strict {
            return Err(refused("FOREIGN KEY")
                .with_detail(
                    "A transaction reaches one partition of one table, so a reference to another cannot be checked.",
                )
                .with_hint(
                    "Leave the constraint out and check in the application. SET egt.mode = observe to record it without \
                     enforcing it.",
                ));
        }
        let missing = |column: &str| format!("column \"{column}\" referenced in foreign key constraint does not exist");
        let columns = self.named(&key.columns, missing)?;
        let (schema, table) = schema_and_table(&key.table)?;
        if schema.is_some_and(|schema| schema != self.place.schema() && !self.place.is_temporary()) {
            return Err(SqlError::not_supported("a foreign key to a table in another schema").with_hint(
                "Each schema is a store of its own: leave the constraint out and check in the application.",
            ));
        }
        let kind = UnenforcedKind::ForeignKey {
            table,
            referenced: key.referenced.iter().map(Identifier::folded).collect(),
            on_update: key.on_update,
            on_delete: key.on_delete,
            match_full: match key.matching {
                Matching::Simple => false,
                Matching::Full => true,
                Matching::Partial => return Err(SqlError::not_supported("MATCH PARTIAL")),
            },
            deferral: key.deferral,
        };
        let name = self.record(constraints, name, columns, "fkey", kind)?;
        self.warn(format!("foreign key \"{name}\" of table \"{}\" is recorded and not enforced", self.table));
        Ok(())
    }

    fn record(
        &self,
        constraints: &mut Constraints,
        name: Option<&Identifier>,
        columns: Vec<String>,
        label: &str,
        kind: UnenforcedKind,
    ) -> SqlResult<String> {
        let name = match name.map(Identifier::folded) {
            Some(name) if constraints.names().any(|taken| taken == name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", self.table);
                return Err(SqlError::new(ErrorKind::DuplicateObject, message));
            }
            Some(name) if kind.has_index() && constraints.has_index_alone(&name) => return Err(duplicate_table(&name)),
            Some(name) => name,
            None => {
                let joined = columns.join("_");
                let is_taken = |name: &str| {
                    constraints.names().any(|taken| taken == name)
                        || kind.has_index() && constraints.has_index_alone(name)
                };
                free_name(self.table, Some(&joined), label, is_taken)
            }
        };
        let number = constraints.next_number()?;
        constraints.unenforced.push(Unenforced::new(number, name.clone(), columns, kind));
        Ok(name)
    }

    /// The stored spelling of listed columns.
    pub(super) fn named(&self, listed: &[Identifier], missing: impl Fn(&str) -> String) -> SqlResult<Vec<String>> {
        let known: Vec<&String> = self.columns.iter().map(|column| &column.name).collect();
        listed
            .iter()
            .map(|ident| match resolve_column(known.iter().copied(), ident)? {
                Some(column) => Ok(column.to_owned()),
                None => Err(SqlError::new(ErrorKind::UndefinedColumn, missing(&ident.folded()))),
            })
            .collect()
    }

    pub(super) fn warn(&mut self, message: String) {
        let hint = "The view schema_findings says what it means for the Table model.";
        self.notices.push(Notice::warning(message).with_hint(hint));
    }
}

pub(super) fn refused(what: &str) -> Box<SqlError> {
    SqlError::not_supported(what)
}

/// Finds what the foreign keys of a declaration refer to: the referenced table's own spelling, its primary key where
/// no columns are named.
///
/// # Errors
/// 42P01 for a table that is not there, 42703 for a column, 42830 for columns that are not unique.
pub(crate) async fn resolve_references(planner: &Planner<'_>, declaration: &mut Declaration) -> SqlResult<()> {
    let own = declaration.relation()?;
    for recorded in &mut declaration.constraints.unenforced {
        let UnenforcedKind::ForeignKey { table, referenced, .. } = &mut recorded.kind else { continue };
        let found;
        let target: &Relation = if *table == own.name {
            &own
        } else {
            found = referenced_table(planner, own.place(), table).await?;
            &found
        };
        *table = target.name.clone();
        *referenced = referenced_columns(target, referenced)?;
        if referenced.len() != recorded.columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(SqlError::new(ErrorKind::InvalidForeignKey, message));
        }
    }
    Ok(())
}

/// The table of this name in the place of the one that refers to it.
///
/// # Errors
/// 42P16 for one that is elsewhere, 42P01 where there is none.
async fn referenced_table(planner: &Planner<'_>, place: Place, name: &str) -> SqlResult<Arc<Relation>> {
    if let Some(found) = planner.reads.relation(&PlacedName::new(place, name)).await? {
        return Ok(found);
    }
    if planner.relation(None, name).await?.is_none() {
        return Err(SqlError::new(ErrorKind::UndefinedTable, format!("relation \"{name}\" does not exist")));
    }
    let kind = if place.is_temporary() { "temporary" } else { "permanent" };
    let message = format!("constraints on {kind} tables may reference only {kind} tables");
    Err(SqlError::new(ErrorKind::InvalidTableDefinition, message))
}

fn referenced_columns(target: &Relation, named: &[String]) -> SqlResult<Vec<String>> {
    let key: Vec<String> = if target.generated_partition.is_some() {
        Vec::new()
    } else {
        target.key_columns().into_iter().map(|index| target.columns[index].name.clone()).collect()
    };
    if named.is_empty() {
        if key.is_empty() {
            let message = format!("there is no primary key for referenced table \"{}\"", target.name);
            return Err(SqlError::new(ErrorKind::UndefinedObject, message));
        }
        return Ok(key);
    }
    let visible: Vec<&String> = target.columns.iter().filter(|c| !c.hidden).map(|c| &c.name).collect();
    let mut columns = Vec::with_capacity(named.len());
    for name in named {
        // A name that was quoted has no other spelling, so looking for both does no harm.
        let found = resolve_column(visible.iter().copied(), &Identifier::quoted(name))?
            .or(resolve_column(visible.iter().copied(), &Identifier::bare(name))?);
        match found {
            Some(column) => columns.push(column.to_owned()),
            None => {
                let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
                return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
            }
        }
    }
    let same = |unique: &[String]| unique.len() == columns.len() && unique.iter().all(|part| columns.contains(part));
    let is_unique = same(&key)
        || target.constraints.unenforced.iter().any(|recorded| match recorded.kind {
            UnenforcedKind::Unique { .. } | UnenforcedKind::Index { unique: true, .. } => same(&recorded.columns),
            UnenforcedKind::ForeignKey { .. } | UnenforcedKind::Index { .. } => false,
        });
    if is_unique {
        return Ok(columns);
    }
    let message = format!("there is no unique constraint matching given keys for referenced table \"{}\"", target.name);
    Err(SqlError::new(ErrorKind::InvalidForeignKey, message))
}
