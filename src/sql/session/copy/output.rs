//! COPY TO STDOUT: a table or a query, as its rows come.

use std::sync::Arc;

use futures::{StreamExt, stream};
use tablegate_bind::{Identifier, ParsedQuery, QualifiedName};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::columns::{Nameable, written};
use super::options::{CopyOptions, Format};
use super::writer::CopyWriter;
use crate::copies::CopyDirection;
use crate::dml::PreparedDml;
use crate::outcome::{CopyContent, CopyOut, Outcome, ResultColumn, RowStream};
use crate::plan::schema_and_table;
use crate::relation::Relation;
use crate::session::change::Change;
use crate::session::lock::held_with;
use crate::session::run::command_name;
use crate::session::{Position, Session};
use crate::syntax::{Command, parse};

impl Session {
    pub(super) async fn copy_table_out(
        &mut self,
        table: &QualifiedName,
        columns: &[Identifier],
        options: CopyOptions,
        position: Position,
    ) -> SqlResult<Outcome> {
        let (schema, name) = schema_and_table(table)?;
        let planner = self.planner();
        if planner.view(schema.as_deref(), &name).is_some() {
            let message = format!("cannot copy from view \"{name}\"");
            return Err(
                SqlError::new(ErrorKind::WrongObjectType, message).with_hint("Try the COPY (SELECT ...) TO variant.")
            );
        }
        let relation = match planner.system.knows(schema.as_deref(), &name) {
            true => None,
            false => planner.relation(schema.as_deref(), &name).await?,
        };
        if relation.is_none() && planner.sequence(schema.as_deref(), &name).is_some() {
            let message = format!("cannot copy from sequence \"{name}\"");
            return Err(SqlError::new(ErrorKind::WrongObjectType, message));
        }
        let listed = match &relation {
            Some(relation) => written(relation, columns)?.iter().map(|name| Identifier::quoted(name)).collect(),
            None => columns.to_vec(),
        };
        let query = table_query(table, &listed)?;
        self.copy_query_out(&query, relation.as_deref(), options, position).await
    }

    /// `relation` is the table the query is all of.
    pub(super) async fn copy_query_out(
        &mut self,
        query: &ParsedQuery,
        relation: Option<&Relation>,
        options: CopyOptions,
        position: Position,
    ) -> SqlResult<Outcome> {
        let planned = self.planner().plan(query, &[]).await?;
        let locks = self.lock_for_reading(&planned.relations, position).await?;
        if !planned.parameters.is_empty() {
            return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1"));
        }
        let rows = held_with(self.planner().run(&planned, &[]).await?, locks);
        self.copied(planned.columns.clone(), rows, relation, &options)
    }

    /// The rows that a change returns: all of it has run before the first is sent.
    pub(super) async fn copy_changes_out(
        &mut self,
        query: &ParsedQuery,
        options: &CopyOptions,
        position: Position,
    ) -> SqlResult<Outcome> {
        let command = Command::Query(Box::new(query.clone()));
        self.check_writable(command_name(&command))?;
        let planner = self.planner();
        let dml = PreparedDml::prepare(&planner, &command, None, &[]).await?;
        drop(planner);
        let dml = dml.ok_or_else(|| SqlError::new(ErrorKind::Internal, "a change was planned as a query"))?;
        let Some(columns) = dml.columns() else {
            let message = "COPY query must have a RETURNING clause";
            return Err(SqlError::new(ErrorKind::FeatureNotSupported, message));
        };
        if !dml.parameters().is_empty() {
            return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1"));
        }
        let change = Change { dml: &dml, command: &command, declared: &[], around: None, current_in: None };
        let changed = self.change(&change, &[], position).await?;
        let rows: RowStream = match changed.returned {
            Some((_, rows)) => rows,
            None => Box::pin(stream::empty()),
        };
        self.copied(columns, rows, None, options)
    }

    fn copied(
        &self,
        columns: Arc<[ResultColumn]>,
        rows: RowStream,
        relation: Option<&Relation>,
        options: &CopyOptions,
    ) -> SqlResult<Outcome> {
        let options = options.clone();
        let force_quote = forced(&columns, relation, &options)?;
        let oid = relation.map_or(0, |relation| relation.oid);
        let progress = self.engine.copies().begin(self.login.process, oid, CopyDirection::To);
        let content = match options.format {
            Format::Binary => CopyContent::Rows(Box::pin(rows)),
            Format::Text | Format::Csv => {
                let mut writer = CopyWriter::new(columns.clone(), options, self.output_style(), force_quote);
                let header = stream::iter(writer.header().transpose());
                let rows = rows.flat_map(move |batch| {
                    stream::iter(match batch.and_then(|batch| writer.batch(&batch)) {
                        Ok(chunks) => chunks.into_iter().map(Ok).collect(),
                        Err(error) => vec![Err(error)],
                    })
                });
                CopyContent::Lines(Box::pin(header.chain(rows)))
            }
        };
        Ok(Outcome::CopyOut(CopyOut { columns, content, progress }))
    }
}

/// The columns whose values are quoted whatever they are.
fn forced(columns: &Arc<[ResultColumn]>, relation: Option<&Relation>, options: &CopyOptions) -> SqlResult<Vec<bool>> {
    let copied: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Nameable { relation, copied: &copied }.chosen("FORCE_QUOTE", &options.force_quote)
}

/// The query that COPY of a table means.
fn table_query(table: &QualifiedName, columns: &[Identifier]) -> SqlResult<ParsedQuery> {
    let list: Vec<String> = columns.iter().map(Identifier::to_string).collect();
    let list = if list.is_empty() { "*".to_owned() } else { list.join(", ") };
    match parse(&format!("SELECT {list} FROM {table}"))?.pop().map(|s| s.command) {
        Some(Command::Query(query)) => Ok(*query),
        _ => Err(SqlError::new(ErrorKind::Internal, "the query of a COPY did not parse")),
    }
}
