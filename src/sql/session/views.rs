//! Running CREATE VIEW, DROP VIEW and what ALTER does with views.

use std::collections::BTreeSet;
use std::sync::Arc;

use tablegate_bind::{Identifier, ParsedQuery};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::{Position, Session};
use crate::catalog;
use crate::catalog::{Access, CatalogView, View, ViewColumn, duplicate_table};
use crate::ddl::{self, Renaming};
use crate::outcome::{CommandTag, Outcome, ResultColumn};
use crate::place::Place;
use crate::plan::{Renamed, placed_name, resolve_column, schema_and_table};
use crate::syntax::{AlterCommand, CreateViewCommand, DropObjects, TableMode};
use crate::views::{self, Dependent, MOST_LEVELS, Needed};

impl Session {
    pub(super) async fn create_view(&mut self, create: &CreateViewCommand, position: Position) -> SqlResult<Outcome> {
        self.check_writable("CREATE VIEW")?;
        create.clauses.clone()?;
        let mut placed = self.name_to_make(&create.name, create.temporary)?;
        let (mut view, places) = self.planned_view(&placed.name, &create.query, &create.columns).await?;
        let reads = self.reads();
        if !placed.place.is_temporary() && reads_temporary(&reads.catalog, &view) {
            if create.name.parts().len() > 1 {
                let message = "cannot create temporary relation in non-temporary schema";
                return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
            }
            placed.place = self.own.place();
            self.notice(Notice::info(format!("view \"{}\" will be a temporary view", placed.name)));
        }
        if !placed.place.is_temporary() {
            check_one_place(placed.place, &places)?;
        }
        view.place = placed.place;
        self.claim(&placed).await?;
        let reads = self.reads();
        let name = &placed.name;
        let existing = reads.catalog.view(&placed).cloned();
        let is_table = reads.catalog.exact(&reads.readers, &placed).await?.is_some();
        match &existing {
            None if create.or_replace && is_table => return Err(not_a_view(name, false)),
            None if reads.catalog.has_name(&placed) || is_table => return Err(duplicate_table(name)),
            Some(_) if !create.or_replace => return Err(duplicate_table(name)),
            _ => {}
        }
        match &existing {
            Some(old) => {
                check_replaces(old, &view)?;
                view.oid = old.oid;
                view.keep_comments_of(old);
                check_no_cycle(&reads.catalog, &view)?;
            }
            None => {
                view.oid = self.engine.catalog().next_oid(view.place);
                let access = Access::made_by(self.rights.user(), view.oid);
                self.transaction.catalog_mut().put_access(view.place, access);
            }
        }
        check_levels(&reads.catalog, &view)?;
        self.transaction.catalog_mut().put_view(view);
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("CREATE VIEW")))
    }

    /// The view that a query makes, and the places it reads; its tables stay as they are until the transaction ends.
    async fn planned_view(
        &mut self,
        name: &str,
        query: &ParsedQuery,
        given: &[String],
    ) -> SqlResult<(View, BTreeSet<Place>)> {
        let planned = self.planner().plan(query, &[]).await?;
        for relation in &planned.relations {
            self.lock_table(relation, TableMode::AccessShare).await?;
        }
        if !planned.parameters.is_empty() {
            return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1"));
        }
        let columns = view_columns(&planned.columns, given)?;
        let planner = self.planner();
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let printed = planner.printed(query, &names, None).await?;
        let mut view = View::new(name, columns, printed.definition, printed.uses);
        // What is kept must mean what was said.
        let again = match catalog::query_of(&view) {
            Ok(kept) => view_columns(&planner.plan(&kept, &[]).await?.columns, &names).ok(),
            Err(_) => None,
        };
        if again.is_none_or(|columns| columns != view.columns) {
            return Err(SqlError::not_supported("this form of query in a view")
                .with_detail(format!("It would be kept as: {}", view.query)));
        }
        for (column, collation) in view.columns.iter_mut().zip(printed.collations) {
            column.collation = collation;
        }
        Ok((view, planned.relations.iter().map(|relation| relation.place()).collect()))
    }

    pub(super) async fn drop_views(&mut self, drop: &DropObjects, position: Position) -> SqlResult<Outcome> {
        self.check_writable("DROP VIEW")?;
        let mut dropped: Vec<Arc<View>> = Vec::new();
        for name in &self.in_known_schemas(drop) {
            let placed = placed_name(&self.reads().catalog, name)?;
            self.claim(&placed).await?;
            let (schema, name) = schema_and_table(name)?;
            let planner = self.planner();
            match planner.view(schema.as_deref(), &name) {
                Some(view) => dropped.push(view.clone()),
                None if planner.relation(schema.as_deref(), &name).await?.is_some() => {
                    return Err(not_a_view(&name, true));
                }
                None if drop.if_exists => {
                    self.notice(Notice::info(format!("view \"{name}\" does not exist, skipping")));
                }
                None => {
                    let message = format!("view \"{name}\" does not exist");
                    return Err(SqlError::new(ErrorKind::UndefinedTable, message));
                }
            }
        }
        let needed: Vec<Needed<'_>> = dropped.iter().map(|view| Needed::view(view)).collect();
        self.drop_dependents(&needed, drop.cascade).await?;
        for view in &dropped {
            self.transaction.catalog_mut().remove_view(view.placed_name());
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("DROP VIEW")))
    }

    /// Drops the views that need what is about to go.
    ///
    /// # Errors
    /// 2BP01 without `cascade`, if there are any.
    pub(super) async fn drop_dependents(&mut self, needed: &[Needed<'_>], cascade: bool) -> SqlResult<()> {
        let dependents = views::dependents_of(&self.reads().catalog, needed);
        if !cascade && !dependents.is_empty() {
            return Err(ddl::needed_by(needed, &dependents));
        }
        for Dependent { view, .. } in &dependents {
            self.claim(&view.placed_name()).await?;
            self.transaction.catalog_mut().remove_view(view.placed_name());
        }
        self.notices.extend(views::cascades(&dependents));
        Ok(())
    }

    /// ALTER VIEW, and ALTER TABLE of a view: it can get another name, and its columns can.
    pub(super) async fn alter_view(&mut self, view: &Arc<View>, command: &AlterCommand) -> SqlResult<()> {
        match ddl::renaming(&command.actions)? {
            Some(Renaming::Table { to }) => self.rename_view(view, &to).await,
            Some(Renaming::Column { from, to }) => self.rename_view_column(view, &from, &to).await,
            Some(Renaming::Constraint { .. } | Renaming::Index { .. }) => {
                Err(not_for_views(&view.name, "RENAME CONSTRAINT"))
            }
            None if !command.taken.values.is_empty() => Err(not_for_views(&view.name, "ALTER COLUMN")),
            None => Err(not_for_views(&view.name, &command.first_words)),
        }
    }

    async fn rename_view(&mut self, view: &Arc<View>, to: &str) -> SqlResult<()> {
        let new = view.placed_name().beside(to);
        self.claim(&new).await?;
        if self.is_taken(&new).await? {
            return Err(duplicate_table(to));
        }
        self.rename_in_views(Renamed::Relation { oid: view.oid, to }).await?;
        let staged = self.transaction.catalog_mut();
        staged.remove_view(view.placed_name());
        staged.put_view(view.renamed(to));
        Ok(())
    }

    async fn rename_view_column(&mut self, view: &Arc<View>, from: &Identifier, to: &str) -> SqlResult<()> {
        let names: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
        let Some(from) = resolve_column(names.iter(), from)?.map(str::to_owned) else {
            let message = format!("column \"{}\" does not exist", from.folded());
            return Err(SqlError::new(ErrorKind::UndefinedColumn, message));
        };
        if names.iter().any(|name| name == to) {
            let message = format!("column \"{to}\" of relation \"{}\" already exists", view.name);
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        self.rename_in_views(Renamed::Column { oid: view.oid, from: &from, to }).await?;
        let mut renamed = view.as_ref().clone();
        renamed.columns.iter_mut().filter(|c| c.name == from).for_each(|c| to.clone_into(&mut c.name));
        self.print_view(&mut renamed, None).await?;
        self.transaction.catalog_mut().put_view(renamed);
        Ok(())
    }

    /// Lets the views that read a relation follow its new name, or that of a column. To be called while it has the old one.
    pub(super) async fn rename_in_views(&mut self, renamed: Renamed<'_>) -> SqlResult<()> {
        let (Renamed::Relation { oid, .. } | Renamed::Column { oid, .. }) = renamed;
        for view in self.views_of(oid) {
            let mut view = view.as_ref().clone();
            self.print_view(&mut view, Some(renamed)).await?;
            self.transaction.catalog_mut().put_view(view);
        }
        Ok(())
    }

    /// Prints the query of a view anew.
    async fn print_view(&self, view: &mut View, renamed: Option<Renamed<'_>>) -> SqlResult<()> {
        let names: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
        let printed = self.planner().printed(&catalog::query_of(view)?, &names, renamed).await;
        let printed = printed.map_err(|error| {
            let name = &view.name;
            error
                .with_detail(format!(
                    "View \"{name}\" would follow the new name, but its query means nothing any more."
                ))
                .with_hint(format!("Drop the view \"{name}\", or make it anew."))
        })?;
        view.query = printed.definition.query();
        (view.definition, view.uses) = (Some(printed.definition), printed.uses);
        Ok(())
    }

    fn views_of(&self, relation: u32) -> Vec<Arc<View>> {
        self.reads().catalog.views().filter(|view| view.use_of(relation).is_some()).cloned().collect()
    }
}

/// The type of a column that a view reads cannot change under it.
///
/// # Errors
/// 0A000 when a view names one of these columns.
pub(super) fn check_types_free(catalog: &CatalogView, relation: u32, columns: &[&str]) -> SqlResult<()> {
    for view in catalog.views() {
        let Some(used) = view.use_of(relation) else { continue };
        if let Some(column) = columns.iter().find(|column| used.columns.iter().any(|name| name == *column)) {
            let message = "cannot alter type of a column used by a view or rule";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message)
                .with_detail(format!("rule _RETURN on view {} depends on column \"{column}\"", view.name)));
        }
    }
    Ok(())
}

/// A view is kept in the store of what it reads: another server over that store could do nothing with other names.
///
/// # Errors
/// 0A000 where it reads what is elsewhere.
fn check_one_place(own: Place, read: &BTreeSet<Place>) -> SqlResult<()> {
    let Some(other) = read.iter().find(|place| **place != own) else { return Ok(()) };
    let (own, other) = (own.schema(), other.schema());
    Err(SqlError::not_supported(format!("a view in schema \"{own}\" of a table in schema \"{other}\""))
        .with_detail("Each schema is a store of its own, and a view is kept in the store of what it reads.")
        .with_hint("Use CREATE TEMPORARY VIEW, which can read from all of them."))
}

/// Whether a view reads something temporary: then it is temporary itself.
fn reads_temporary(catalog: &CatalogView, view: &View) -> bool {
    let is_read = |place: Place, oid: u32| place.is_temporary() && view.use_of(oid).is_some();
    catalog.declarations().any(|table| is_read(table.place, table.oid))
        || catalog.views().any(|other| is_read(other.place, other.oid))
}

/// The columns of a view: those of its query, the first with the names that are given.
fn view_columns(columns: &[ResultColumn], given: &[String]) -> SqlResult<Vec<ViewColumn>> {
    if given.len() > columns.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::new(ErrorKind::Syntax, message));
    }
    let mut found: Vec<ViewColumn> = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let name = given.get(index).unwrap_or(&column.name);
        if found.iter().any(|known| known.name == *name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        let sql_type = match (&column.sql_type, column.is_declared) {
            (SqlType::Unknown, _) => SqlType::Text,
            (SqlType::Numeric(_), false) | (SqlType::Quotient, _) => SqlType::Numeric(None),
            (sql_type, _) => sql_type.clone(),
        };
        if matches!(sql_type, SqlType::Record(_) | SqlType::Void) {
            let message = format!("column \"{name}\" has pseudo-type {sql_type}");
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
        found.push(ViewColumn::new(name, &sql_type));
    }
    Ok(found)
}

/// What CREATE OR REPLACE VIEW may change: columns can only be added.
fn check_replaces(old: &View, new: &View) -> SqlResult<()> {
    let refused = |message: String| Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
    if new.columns.len() < old.columns.len() {
        return refused("cannot drop columns from view".to_owned());
    }
    for (old, new) in old.columns.iter().zip(&new.columns) {
        if old.name != new.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            return refused(message).map_err(|error: Box<SqlError>| {
                error.with_hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
            });
        }
        if old.sql_type != new.sql_type {
            return refused(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name, old.sql_type, new.sql_type
            ));
        }
    }
    Ok(())
}

/// A view cannot read itself, through others neither.
fn check_no_cycle(catalog: &CatalogView, view: &View) -> SqlResult<()> {
    let mut open: Vec<u32> = view.uses.iter().map(|used| used.relation).collect();
    let mut seen = Vec::new();
    while let Some(relation) = open.pop() {
        if relation == view.oid {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(SqlError::new(ErrorKind::InvalidObjectDefinition, message));
        }
        if !seen.contains(&relation) {
            seen.push(relation);
            let read = catalog.views().find(|other| other.oid == relation);
            open.extend(read.iter().flat_map(|other| &other.uses).map(|used| used.relation));
        }
    }
    Ok(())
}

/// How many views lie below each other, those above this one among them.
fn check_levels(catalog: &CatalogView, view: &View) -> SqlResult<()> {
    let mut level: Vec<u32> = view.uses.iter().map(|used| used.relation).collect();
    let mut levels = 1;
    while !level.is_empty() {
        let read = catalog.views().filter(|other| level.contains(&other.oid));
        level = read.flat_map(|other| &other.uses).map(|used| used.relation).collect();
        level.dedup();
        levels += 1;
        if levels > MOST_LEVELS + 1 {
            return Err(SqlError::new(ErrorKind::TooComplex, "views are nested too deeply")
                .with_detail(format!("At most {MOST_LEVELS} views lie on top of each other.")));
        }
    }
    Ok(())
}

fn not_a_view(name: &str, is_drop: bool) -> Box<SqlError> {
    let error = SqlError::new(ErrorKind::WrongObjectType, format!("\"{name}\" is not a view"));
    if is_drop { error.with_hint("Use DROP TABLE to remove a table.") } else { error }
}

fn not_for_views(name: &str, action: &str) -> Box<SqlError> {
    let message = format!("ALTER action {action} cannot be performed on relation \"{name}\"");
    SqlError::new(ErrorKind::WrongObjectType, message).with_detail("This operation is not supported for views.")
}
