//! COMMENT ON: kept with the declaration of what it is on, shown by `pg_description`.

use std::sync::Arc;

use tablegate_bind::{Identifier, QualifiedName};
use tablegate_types::constraint::UnenforcedKind;
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};

use super::indexes::{index_of, placed_index};
use super::{Position, Session};
use crate::catalog::{Declaration, SharedComments, View, set_comment};
use crate::dml::find_target;
use crate::outcome::{CommandTag, Outcome};
use crate::place::PlacedName;
use crate::plan::{placed_name, resolve_column, schema_and_table};
use crate::relation::Relation;
use crate::syntax::TableMode;
use crate::syntax::dialect::comment::{CommentCommand, CommentSubject};

/// What is claimed to change the comments on schemas and databases: no table's name.
const SHARED_COMMENTS: &str = "comments\0";

impl Session {
    pub(super) async fn comment(&mut self, command: &CommentCommand, position: Position) -> SqlResult<Outcome> {
        self.check_writable("COMMENT")?;
        let text = command.text.clone();
        match &command.subject {
            CommentSubject::Table(name) => {
                let mut declaration = self.commented(name, "table", false).await?;
                declaration.comment = text;
                self.transaction.catalog_mut().put(declaration)?;
            }
            CommentSubject::Column(name) => self.comment_on_column(name, text).await?,
            CommentSubject::Constraint { name, table } => {
                let mut declaration = self.commented(table, "table", false).await?;
                *constraint_comment(&mut declaration, name)? = text;
                self.transaction.catalog_mut().put(declaration)?;
            }
            CommentSubject::Index(name) => self.comment_on_index(name, text).await?,
            CommentSubject::Sequence(name) => self.comment_on_sequence(name, text).await?,
            CommentSubject::View(name) => {
                let Some(mut view) = self.commented_view(name).await? else {
                    return Err(self.is_no(name, "a view").await);
                };
                view.comment = text;
                self.transaction.catalog_mut().put_view(view);
            }
            CommentSubject::Schema(_) | CommentSubject::Database(_) | CommentSubject::Role(_) => {
                self.comment_on_shared(&command.subject, text).await?;
            }
            CommentSubject::Other(kind) => {
                return Err(SqlError::not_supported(format!("COMMENT ON {kind}")).with_hint(
                    "Leave it out: there are comments on tables, views, columns and what belongs to them.",
                ));
            }
        }
        self.settle(position).await?;
        Ok(Outcome::Done(CommandTag::Plain("COMMENT")))
    }

    async fn comment_on_column(&mut self, name: &[String], text: Option<String>) -> SqlResult<()> {
        let Some((column, table)) = name.split_last().filter(|(_, table)| !table.is_empty()) else {
            return Err(SqlError::new(ErrorKind::Syntax, "column name must be qualified"));
        };
        if let Some(mut view) = self.commented_view(table).await? {
            let names: Vec<String> = view.columns.iter().map(|column| column.name.clone()).collect();
            let found = resolve_column(names.iter(), &Identifier::quoted(column))?;
            let Some(commented) = view.columns.iter_mut().find(|c| Some(c.name.as_str()) == found) else {
                return Err(no_such_column(column, &view.name));
            };
            commented.comment = text;
            self.transaction.catalog_mut().put_view(view);
            return Ok(());
        }
        let mut declaration = match self.commented(table, "relation", true).await {
            Err(error) if error.kind == ErrorKind::WrongObjectType => {
                let shown = table.last().map_or("", String::as_str);
                let placed = placed_name(&self.reads().catalog, &QualifiedName::quoted(table))?;
                let kind = if self.reads().catalog.sequence(&placed).is_some() { "sequences" } else { "indexes" };
                let message = format!("cannot set comment on relation \"{shown}\"");
                return Err(SqlError::new(ErrorKind::WrongObjectType, message)
                    .with_detail(format!("This operation is not supported for {kind}.")));
            }
            other => other?,
        };
        let ident = Identifier::quoted(column);
        let found = resolve_column(declaration.columns.iter().map(|c| &c.name), &ident)?.map(str::to_owned);
        let Some(commented) = declaration.columns.iter_mut().find(|c| Some(&c.name) == found.as_ref()) else {
            return Err(no_such_column(column, &declaration.name));
        };
        commented.comment = text;
        self.transaction.catalog_mut().put(declaration)
    }

    async fn comment_on_index(&mut self, name: &[String], text: Option<String>) -> SqlResult<()> {
        let placed = placed_index(&self.reads().catalog, &QualifiedName::quoted(name))?;
        let table = index_of(&self.reads().catalog, &placed).map(|(table, _)| table.name.clone());
        let Some(table) = table else { return Err(self.is_no(name, "an index").await) };
        let index = placed.name;
        let path = [placed.place.schema().into_owned(), table];
        let mut declaration = self.commented(&path, "table", false).await?;
        if let Some(comment) = index_comment(&mut declaration, &index) {
            *comment = text;
        }
        self.transaction.catalog_mut().put(declaration)
    }

    async fn comment_on_sequence(&mut self, name: &[String], text: Option<String>) -> SqlResult<()> {
        let sequence = placed_name(&self.reads().catalog, &QualifiedName::quoted(name))?;
        self.claim(&sequence).await?;
        let Some(old) = self.reads().catalog.sequence(&sequence) else {
            return Err(self.is_no(name, "a sequence").await);
        };
        let mut commented = old.as_ref().clone();
        commented.comment = text;
        self.transaction.catalog_mut().put_sequence(commented);
        Ok(())
    }

    async fn comment_on_shared(&mut self, subject: &CommentSubject, text: Option<String>) -> SqlResult<()> {
        self.claim(&PlacedName::public(SHARED_COMMENTS)).await?;
        let mut comments = SharedComments::clone(self.reads().catalog.comments());
        match subject {
            CommentSubject::Schema(name)
                if matches!(name.as_str(), "public" | "pg_catalog" | "pg_toast" | "information_schema") =>
            {
                comments.schemas.insert(name.clone(), text.unwrap_or_default());
            }
            // Its name is one that this server gives: so is what is said of it.
            CommentSubject::Schema(name)
                if self.reads().catalog.place_of_schema(name).is_some_and(|place| place.is_mount()) =>
            {
                set_comment(&mut comments.schemas, name, text);
            }
            CommentSubject::Schema(name) => {
                let message = format!("schema \"{name}\" does not exist");
                return Err(SqlError::new(ErrorKind::UndefinedSchema, message));
            }
            CommentSubject::Database(name) if self.database.has_name(name) => {
                set_comment(&mut comments.databases, self.database.own_name(), text);
            }
            CommentSubject::Database(name) => {
                // A dump may be loaded into a database of another name.
                self.notice(Notice::warning(format!("database \"{name}\" does not exist")));
                return Ok(());
            }
            CommentSubject::Role(name) if *name == self.user => set_comment(&mut comments.roles, name, text),
            CommentSubject::Role(name) => {
                return Err(SqlError::new(ErrorKind::UndefinedObject, format!("role \"{name}\" does not exist")));
            }
            _ => {}
        }
        self.transaction.catalog_mut().put_comments(comments);
        Ok(())
    }

    /// The view of this name, locked against changes by other transactions.
    async fn commented_view(&mut self, name: &[String]) -> SqlResult<Option<View>> {
        let (schema, view) = schema_and_table(&QualifiedName::quoted(name))?;
        let Some(found) = self.planner().view(schema.as_deref(), &view).map(|view| view.placed_name()) else {
            return Ok(None);
        };
        self.claim(&found).await?;
        Ok(self.planner().view(schema.as_deref(), &view).map(|view| View::clone(view)))
    }

    /// The declaration of a table that gets a comment, locked against changes by other transactions; for a found table,
    /// the declaration that makes it a declared one.
    async fn commented(&mut self, name: &[String], kind: &str, all_columns: bool) -> SqlResult<Declaration> {
        let relation = self.commented_relation(name, kind).await?;
        self.lock_table(&relation, TableMode::ShareUpdateExclusive).await?;
        self.claim(&relation.placed_name()).await?;
        let relation = self.commented_relation(name, kind).await?;
        Ok(self.reads().catalog.declaration_of(&relation, all_columns))
    }

    async fn commented_relation(&self, name: &[String], kind: &str) -> SqlResult<Arc<Relation>> {
        let object = QualifiedName::quoted(name);
        let found = find_target(&self.planner(), &object).await;
        let (_, table) = schema_and_table(&object)?;
        match found {
            Err(error) if error.kind == ErrorKind::UndefinedTable => {
                let reads = self.reads();
                let is_index = reads.catalog.declarations().any(|d| has_index(d, &table));
                if is_index { Err(wrong_kind(&table, &format!("a {kind}"))) } else { Err(error) }
            }
            Err(error) if error.kind == ErrorKind::WrongObjectType => Err(wrong_kind(&table, &format!("a {kind}"))),
            other => other,
        }
    }

    /// The error for a name that means something else, or nothing.
    async fn is_no(&self, name: &[String], what: &str) -> Box<SqlError> {
        let object = QualifiedName::quoted(name);
        let table = name.last().map_or("", String::as_str);
        let is_index = self.reads().catalog.declarations().any(|d| has_index(d, table));
        match find_target(&self.planner(), &object).await {
            Err(error) if error.kind == ErrorKind::UndefinedTable && !is_index => error,
            Err(error) if error.kind == ErrorKind::UndefinedSchema => error,
            _ => wrong_kind(table, what),
        }
    }
}

fn no_such_column(column: &str, relation: &str) -> Box<SqlError> {
    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
    SqlError::new(ErrorKind::UndefinedColumn, message)
}

fn wrong_kind(name: &str, what: &str) -> Box<SqlError> {
    SqlError::new(ErrorKind::WrongObjectType, format!("\"{name}\" is not {what}"))
}

/// Where the comment on a constraint is kept.
fn constraint_comment<'d>(declaration: &'d mut Declaration, name: &str) -> SqlResult<&'d mut Option<String>> {
    let is_key = declaration.primary_key_name().as_deref() == Some(name);
    let table = declaration.name.clone();
    let constraints = &mut declaration.constraints;
    let check = constraints.checks.iter_mut().find(|c| c.name == name).map(|c| &mut c.comment);
    let recorded = constraints.unenforced.iter_mut().find(|c| c.name == name && c.kind.is_constraint());
    match check.or(recorded.map(|c| &mut c.comment)) {
        Some(comment) => Ok(comment),
        None if is_key => Ok(&mut constraints.primary_key_comment),
        None => {
            let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
            Err(SqlError::new(ErrorKind::UndefinedObject, message))
        }
    }
}

fn has_index(declaration: &Declaration, name: &str) -> bool {
    declaration.constraints.has_index(name) || declaration.primary_key_name().as_deref() == Some(name)
}

/// Where the comment on an index is kept.
fn index_comment<'d>(declaration: &'d mut Declaration, name: &str) -> Option<&'d mut Option<String>> {
    let constraints = &mut declaration.constraints;
    match constraints.unenforced.iter_mut().find(|c| c.name == name && c.kind.has_index()) {
        None => Some(&mut constraints.primary_key_index_comment),
        Some(recorded) => match recorded.kind {
            UnenforcedKind::Index { .. } => Some(&mut recorded.comment),
            UnenforcedKind::Unique { .. } => Some(&mut recorded.index_comment),
            UnenforcedKind::ForeignKey { .. } => None,
        },
    }
}
