//! CREATE TABLE (LIKE ...): the columns of another table or view, spelled out as if they had been written.

use std::sync::Arc;

use tablegate_bind::{QualifiedName, collation_name};
use tablegate_types::constraint::{Constraints, UnenforcedKind};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::Session;
use crate::catalog::{Declaration, SequenceOptions};
use crate::dml::find_target;
use crate::plan::schema_and_table;
use crate::relation::{Relation, RelationColumn};
use crate::syntax::dialect::like::{Copied, LikeClause};
use crate::syntax::{ColumnDefinition, Command, CreateTableCommand, TableConstraint, parse};

/// What a clause stands for.
struct Spelled {
    columns: Vec<ColumnDefinition>,
    constraints: Vec<TableConstraint>,
}

/// The comments that come along with the columns.
#[derive(Default)]
pub(super) struct CopiedComments(Vec<(String, String)>);

impl CopiedComments {
    pub(super) fn put(&self, declaration: &mut Declaration) {
        for (name, comment) in &self.0 {
            let column = declaration.columns.iter_mut().find(|column| column.name == *name);
            column.into_iter().for_each(|column| column.comment = Some(comment.clone()));
        }
    }
}

impl Session {
    /// The command without LIKE, and the comments that its columns get.
    ///
    /// # Errors
    /// 42P01 for a table that does not exist.
    pub(super) async fn without_like(
        &mut self,
        command: &CreateTableCommand,
    ) -> SqlResult<(CreateTableCommand, CopiedComments)> {
        let mut spelled_out = CreateTableCommand { likes: Vec::new(), ..command.clone() };
        let mut comments = CopiedComments::default();
        let mut shift = 0;
        for like in &command.likes {
            let spelled = self.spelled(like, &mut comments).await?;
            let at = like.at + shift;
            shift += spelled.columns.len();
            spelled_out.columns.splice(at..at, spelled.columns);
            spelled_out.constraints.extend(spelled.constraints);
        }
        Ok((spelled_out, comments))
    }

    async fn spelled(&mut self, like: &LikeClause, comments: &mut CopiedComments) -> SqlResult<Spelled> {
        let planner = self.planner();
        let (schema, name) = schema_and_table(&like.source)?;
        if let Some(view) = planner.view(schema.as_deref(), &name) {
            let columns = view.typed_columns()?;
            let elements = columns.iter().map(|(name, t)| format!("{} {t}", quote_ident(name)));
            return read(&elements.collect::<Vec<_>>());
        }
        let relation = source(&planner, &like.source).await?;
        let catalog = &planner.reads.catalog;
        let options = |column: &RelationColumn| {
            let identity = column.identity.as_ref()?;
            catalog
                .sequence(&relation.placed_name().beside(&identity.sequence))
                .map(|sequence| sequence.options.clone())
        };
        let visible = relation.columns.iter().filter(|column| !column.hidden);
        let mut elements: Vec<String> =
            visible.map(|column| column_text(column, like.copied, options(column).as_ref())).collect();
        if like.copied.constraints {
            let checks = relation.constraints.checks.iter();
            elements.extend(checks.map(|c| format!("CONSTRAINT {} CHECK ({})", quote_ident(&c.name), c.expression)));
        }
        let left_out = if like.copied.indexes { add_keys(&relation, &mut elements) } else { Vec::new() };
        if like.copied.comments {
            comments.0.extend(relation.comments.columns.iter().map(|(name, text)| (name.clone(), text.clone())));
        }
        drop(planner);
        for index in left_out {
            self.notice(Notice::info(format!("index \"{index}\" is not copied: it was only recorded")));
        }
        read(&elements)
    }
}

async fn source(planner: &crate::plan::Planner<'_>, name: &QualifiedName) -> SqlResult<Arc<Relation>> {
    find_target(planner, name).await.map_err(|error| match error.kind {
        ErrorKind::InsufficientPrivilege => SqlError::not_supported("LIKE of a system catalog")
            .with_hint("CREATE TABLE ... AS SELECT ... WITH NO DATA makes a table of its columns."),
        _ => error,
    })
}

/// A column as CREATE TABLE has it.
fn column_text(column: &RelationColumn, copied: Copied, identity: Option<&SequenceOptions>) -> String {
    let sql_type = if column.sql_type == SqlType::Unknown { &SqlType::Text } else { &column.sql_type };
    let mut text = format!("{} {sql_type}", quote_ident(&column.name));
    if let Some(collation) = column.collation.and_then(collation_name) {
        text += &format!(" COLLATE {}", quote_ident(collation));
    }
    if column.not_null {
        text.push_str(" NOT NULL");
    }
    if let (Some(expression), true) = (&column.generated, copied.generated) {
        text += &format!(" GENERATED ALWAYS AS ({expression}) STORED");
    } else if let (Some(given), true) = (&column.identity, copied.identity) {
        let always = if given.always { "ALWAYS" } else { "BY DEFAULT" };
        text += &format!(" GENERATED {always} AS IDENTITY");
        if let Some(options) = identity {
            text += &format!(" ({})", identity_options(options));
        }
    } else if let (Some(default), true) = (&column.default, copied.defaults) {
        text += &format!(" DEFAULT {default}");
    }
    text
}

fn identity_options(options: &SequenceOptions) -> String {
    let SequenceOptions { increment, minimum, maximum, start, cycle, .. } = options;
    let cycle = if *cycle { "CYCLE" } else { "NO CYCLE" };
    format!("INCREMENT BY {increment} MINVALUE {minimum} MAXVALUE {maximum} START WITH {start} {cycle}")
}

/// Adds the primary key, and what is recorded as unique; gives the indexes that cannot come along.
fn add_keys(relation: &Relation, elements: &mut Vec<String>) -> Vec<String> {
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(quote_ident).collect::<Vec<_>>().join(", ");
    let key = relation.key_columns();
    if relation.generated_partition.is_none() && !key.is_empty() {
        let names = list(&mut key.iter().map(|index| relation.columns[*index].name.as_str()));
        elements.push(format!("PRIMARY KEY ({names})"));
    }
    let constraints: &Constraints = &relation.constraints;
    let mut left_out = Vec::new();
    for unenforced in &constraints.unenforced {
        match &unenforced.kind {
            UnenforcedKind::Unique { .. } => {
                let names = list(&mut unenforced.columns.iter().map(String::as_str));
                elements.push(format!("UNIQUE ({names})"));
            }
            UnenforcedKind::Index { .. } => left_out.push(unenforced.name.clone()),
            // PostgreSQL copies no references either.
            UnenforcedKind::ForeignKey { .. } => {}
        }
    }
    left_out
}

/// Reads the elements of a table's definition.
fn read(elements: &[String]) -> SqlResult<Spelled> {
    let text = format!("CREATE TABLE t ({})", elements.join(", "));
    match parse(&text)?.pop().map(|statement| statement.command) {
        Some(Command::CreateTable(command)) => {
            Ok(Spelled { columns: command.columns, constraints: command.constraints })
        }
        _ => Err(SqlError::new(ErrorKind::Internal, "the columns of a table did not parse")),
    }
}
