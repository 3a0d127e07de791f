//! COPY FROM STDIN and COPY TO STDOUT.
//!
//! What is read goes the way INSERT's rows go. Outside a block it is committed while more arrives, as entity group
//! transactions of one partition each; inside a block it is collected and obeys the block's rules.

mod fields;
mod lines;
mod options;
mod reader;
mod writer;

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CopySource, Ident, ObjectName, Query};
use futures::{StreamExt, stream};

use self::options::CopyOptions;
use self::reader::{CopiedRows, CopyReader};
use self::writer::CopyWriter;
use super::lock::held_with;
use super::{Position, Session};
use crate::sql::dml::{
    BadRow, BoundRows, NewRows, RowsToWrite, TargetColumn, WriteMode, Writes, find_target, target_column,
};
use crate::sql::error::{ErrorKind, Notice, SqlError, SqlResult};
use crate::sql::outcome::{CommandTag, CopyFormat, CopyIn, CopyOut, Outcome};
use crate::sql::relation::{ColumnSource, Relation};
use crate::sql::statement::{Command, CopyCommand, parse};
use crate::sql::tx::{EgtCount, Isolation, TableMode};
use crate::sql::types::SqlType;

/// A COPY FROM STDIN whose input is still arriving.
pub(super) struct CopyInProgress {
    relation: Arc<Relation>,
    /// The columns of the input.
    targets: Vec<TargetColumn>,
    new_rows: BoundRows,
    reader: CopyReader,
    /// Where rows are committed as they come; `None` when the open transaction collects them.
    direct: Option<Writes<'static>>,
    rows: u64,
}

impl Session {
    pub(super) async fn start_copy(&mut self, copy: &CopyCommand, position: Position) -> SqlResult<Outcome> {
        let options = CopyOptions::parse(&copy.options, copy.to_stdout)?;
        match (&copy.source, copy.to_stdout) {
            (CopySource::Table { table_name, columns }, true) => {
                let query = table_query(table_name, columns)?;
                self.copy_out(&query, options, position).await
            }
            (CopySource::Query(query), _) => self.copy_out(query, options, position).await,
            (CopySource::Table { table_name, columns }, false) => {
                self.check_writable("COPY FROM")?;
                self.begin_copy_in(table_name, columns, options).await
            }
        }
    }

    async fn copy_out(&mut self, query: &Query, options: CopyOptions, position: Position) -> SqlResult<Outcome> {
        let planned = self.planner().plan(query, &[]).await?;
        let locks = self.lock_for_reading(&planned.relations, position).await?;
        if !planned.parameters.is_empty() {
            return Err(SqlError::new(ErrorKind::UndefinedParameter, "there is no parameter $1"));
        }
        let mut writer = CopyWriter::new(planned.columns.clone(), options, self.output_style())?;
        let columns = planned.columns.len();
        let batches = held_with(self.planner().run(&planned, &[]).await?, locks);
        let header = stream::iter(writer.header().map(Ok));
        let rows = batches.flat_map(move |batch| {
            let chunks = match batch {
                Ok(batch) => writer.batch(&batch).into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            stream::iter(chunks)
        });
        let stream = Box::pin(header.chain(rows));
        Ok(Outcome::CopyOut(CopyOut { format: CopyFormat::Textual, columns, stream }))
    }

    async fn begin_copy_in(
        &mut self,
        table: &ObjectName,
        columns: &[Ident],
        options: CopyOptions,
    ) -> SqlResult<Outcome> {
        let relation = find_target(&self.planner(), table).await?;
        self.lock_table(&relation, TableMode::RowExclusive).await?;
        let planner = self.planner();
        let targets = targets(&relation, columns)?;
        let new_rows = Arc::new(NewRows::prepare(&planner, &relation, &targets, &[])?).bind(&planner)?;
        let typed: Vec<(String, SqlType)> = targets
            .iter()
            .map(|t| (t.name(&relation).to_owned(), t.column(&relation).map_or(SqlType::Text, |c| c.sql_type.clone())))
            .collect();
        let reader = CopyReader::new(&relation.name, &typed, options, planner.reading())?;
        let collects = self.transaction.is_open() || self.modes().isolation == Isolation::Serializable;
        let direct = (!collects).then(|| {
            let claims = self.transaction.take_claims();
            let writer = self.direct_writer(&relation).with_claims(claims);
            let mode = WriteMode::Direct(Box::new(writer));
            Writes::new(&self.engine, relation.clone(), self.reads(), mode)
        });
        let columns = targets.len();
        self.copy = Some(CopyInProgress { relation, targets, new_rows, reader, direct, rows: 0 });
        Ok(Outcome::CopyIn(CopyIn { format: CopyFormat::Textual, columns }))
    }

    pub(super) async fn copy_in(&mut self, data: &[u8]) -> SqlResult<()> {
        // After an error the rest of the input is of no use: the COPY is over.
        let mut copy = self.copy.take().ok_or_else(no_copy)?;
        let fed = self.feed(&mut copy, data).await;
        match &fed {
            Ok(()) => self.copy = Some(copy),
            Err(_) => self.record_copied(&mut copy, true),
        }
        fed
    }

    async fn feed(&mut self, copy: &mut CopyInProgress, data: &[u8]) -> SqlResult<()> {
        copy.reader.feed(data).map_err(|e| copy.with_committed(e))?;
        while let Some(rows) = copy.reader.full_batch().map_err(|e| copy.with_committed(e))? {
            self.write_copied(copy, &rows).await?;
        }
        Ok(())
    }

    /// The client gave up, or an error ended the COPY.
    pub(super) fn forget_copy(&mut self) {
        if let Some(mut copy) = self.copy.take() {
            self.record_copied(&mut copy, true);
        }
    }

    fn record_copied(&self, copy: &mut CopyInProgress, failed: bool) {
        if let Some(writes) = &mut copy.direct {
            self.record_direct(writes.take_footprint().as_ref(), writes.committed(), failed);
        }
    }

    pub(super) async fn copy_finish(&mut self, position: Position) -> SqlResult<CommandTag> {
        let mut copy = self.copy.take().ok_or_else(no_copy)?;
        let finished = self.finish_copy(&mut copy, position).await;
        self.record_copied(&mut copy, finished.is_err());
        finished
    }

    async fn finish_copy(&mut self, copy: &mut CopyInProgress, position: Position) -> SqlResult<CommandTag> {
        let rows = copy.reader.last_batch().map_err(|e| copy.with_committed(e))?;
        self.write_copied(copy, &rows).await?;
        match &mut copy.direct {
            Some(writes) => {
                writes.finish().await?;
                let committed = writes.committed();
                self.tell_about_split(committed);
            }
            None if position == Position::Last => self.finish_implicit().await?,
            None => {}
        }
        self.tell_about_copied_timestamp(copy);
        Ok(CommandTag::Counted("COPY", copy.rows))
    }

    async fn write_copied(&mut self, copy: &mut CopyInProgress, rows: &CopiedRows) -> SqlResult<()> {
        let batch = match copy.new_rows.complete(&rows.batch).await {
            Ok(batch) => batch,
            Err(BadRow { row, error }) => return Err(copy.with_committed(placed(error, row, rows, &copy.reader))),
        };
        let entities =
            RowsToWrite::new(&copy.relation, copy.new_rows.targets(), &batch).map_err(|e| copy.with_committed(e))?;
        let written = match &mut copy.direct {
            Some(writes) => insert_all(writes, &entities, rows, &copy.reader).await,
            None => {
                let reads = self.reads();
                let mode = if self.transaction.in_block() {
                    WriteMode::Block(&mut self.transaction)
                } else {
                    WriteMode::Implicit(&mut self.transaction)
                };
                let mut writes = Writes::new(&self.engine, copy.relation.clone(), reads, mode);
                let written = insert_all(&mut writes, &entities, rows, &copy.reader).await;
                self.transaction.end_statement();
                written
            }
        };
        copy.rows += u64::try_from(entities.len()).unwrap_or(u64::MAX);
        written
    }

    fn tell_about_copied_timestamp(&mut self, copy: &CopyInProgress) {
        let sets_timestamp =
            copy.targets.iter().any(|t| t.column(&copy.relation).is_some_and(|c| c.source == ColumnSource::Timestamp));
        if sets_timestamp && !self.told_about_timestamp {
            self.told_about_timestamp = true;
            self.notice(Notice::info("\"Timestamp\" is set by the store: the given value is ignored"));
        }
    }
}

impl CopyInProgress {
    fn with_committed(&self, error: Box<SqlError>) -> Box<SqlError> {
        with_committed(error, self.direct.as_ref().map_or(EgtCount::default(), Writes::committed))
    }
}

/// Says in an error's DETAIL what is committed already.
fn with_committed(mut error: Box<SqlError>, committed: EgtCount) -> Box<SqlError> {
    if committed.egts == 0 {
        return error;
    }
    let note = format!(
        "{} rows in {} entity group transactions were committed before the error.",
        committed.rows, committed.egts
    );
    error.detail = Some(match error.detail.take() {
        Some(detail) => format!("{detail} {note}"),
        None => note,
    });
    error
}

async fn insert_all(
    writes: &mut Writes<'_>,
    entities: &RowsToWrite,
    rows: &CopiedRows,
    reader: &CopyReader,
) -> SqlResult<()> {
    for row in 0..entities.len() {
        let place = |error: Box<SqlError>| placed(error, row, rows, reader);
        let entity = entities.entity(row).map_err(|e| with_committed(place(e), writes.committed()))?;
        let direct = writes.is_direct();
        // What is committed directly is asked of the store for many rows at once: any of them may be the one refused.
        writes.insert(entity).await.map_err(|e| if direct { e } else { place(e) })?;
    }
    Ok(())
}

/// The error with the line of the row it is about.
fn placed(error: Box<SqlError>, row: usize, rows: &CopiedRows, reader: &CopyReader) -> Box<SqlError> {
    match rows.lines.get(row) {
        Some(line) if error.context.is_none() => error.with_context(reader.place(*line)),
        _ => error,
    }
}

fn no_copy() -> Box<SqlError> {
    SqlError::new(ErrorKind::ObjectNotInState, "COPY data arrived, but no COPY FROM STDIN is in progress")
}

/// The columns that are read: those named, else all that `SELECT *` shows.
fn targets(relation: &Relation, columns: &[Ident]) -> SqlResult<Vec<TargetColumn>> {
    if columns.is_empty() {
        let visible = relation.columns.iter().enumerate().filter(|(_, c)| !c.hidden && c.generated.is_none());
        return Ok(visible.map(|(index, _)| TargetColumn::Known(index)).collect());
    }
    let mut targets: Vec<TargetColumn> = Vec::with_capacity(columns.len());
    for ident in columns {
        let target = target_column(relation, ident)?;
        if target.column(relation).is_some_and(|column| column.generated.is_some()) {
            let message = format!("column \"{}\" is a generated column", target.name(relation));
            return Err(SqlError::new(ErrorKind::InvalidColumnReference, message)
                .with_detail("Generated columns cannot be used in COPY."));
        }
        if targets.contains(&target) {
            let message = format!("column \"{}\" specified more than once", target.name(relation));
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// The query that COPY of a table means.
fn table_query(table: &ObjectName, columns: &[Ident]) -> SqlResult<Query> {
    let list: Vec<String> = columns.iter().map(Ident::to_string).collect();
    let list = if list.is_empty() { "*".to_owned() } else { list.join(", ") };
    match parse(&format!("SELECT {list} FROM {table}"))?.pop().map(|s| s.command) {
        Some(Command::Query(query)) => Ok(*query),
        _ => Err(SqlError::new(ErrorKind::Internal, "the query of a COPY did not parse")),
    }
}
