//! COPY FROM STDIN: rows on their way from the client into the table.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use tablegate_bind::{Identifier, ParsedExpression, QualifiedName};
use tablegate_types::error::{ErrorKind, Notice, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::columns::targets;
use super::condition::{Condition, kept};
use super::direct::{DirectRows, insert, placed};
use super::encoding::Encoding;
use super::options::{CopyOptions, Format};
use super::reader::{CopiedRows, CopyReader};
use crate::aside::aside_unless;
use crate::copies::{CopyDirection, CopyProgress};
use crate::dml::{BadRow, BoundRows, FEW_ROWS, NewRows, RowsToWrite, TargetColumn, WriteMode, Writes, find_target};
use crate::outcome::{CommandTag, CopyFormat, CopyIn, Outcome};
use crate::plan::schema_and_table;
use crate::relation::{ColumnSource, Relation};
use crate::session::{Position, Session};
use crate::syntax::{Isolation, TableMode, WrittenColumns};

/// A COPY FROM STDIN whose input is still arriving.
pub(in crate::session) struct CopyInProgress {
    relation: Arc<Relation>,
    /// The columns of the input.
    targets: Vec<TargetColumn>,
    new_rows: BoundRows,
    condition: Option<Condition>,
    /// `None` when the front-end reads the input.
    reader: Option<CopyReader>,
    encoding: Encoding,
    /// Where rows are committed as they come; `None` when the open transaction collects them.
    direct: Option<DirectRows>,
    /// The open transaction has made the table: rows are written as they come, and seen when it commits.
    is_unseen: bool,
    /// The open transaction has collected rows of it as columns.
    has_columns: bool,
    rows: u64,
    progress: CopyProgress,
    written: WrittenColumns,
}

impl Session {
    pub(super) async fn begin_copy_in(
        &mut self,
        table: &QualifiedName,
        columns: &[Identifier],
        options: CopyOptions,
        condition: Option<&SqlResult<ParsedExpression>>,
    ) -> SqlResult<Outcome> {
        let relation = self.locked_copy_target(table).await?;
        self.check_targets(&[&relation]).await?;
        let planner = self.planner();
        let targets = targets(&relation, columns)?;
        let new_rows = Arc::new(NewRows::prepare(&planner, &relation, &targets, &[])?).bind(&planner)?;
        let condition = condition.map(|parsed| Condition::plan(&planner, &relation, parsed)).transpose()?;
        if options.freeze && !self.transaction.catalog().has_made(&relation.stored) {
            let message = "cannot perform COPY FREEZE because the table was not created or truncated in the current \
                           subtransaction";
            return Err(SqlError::new(ErrorKind::ObjectNotInState, message));
        }
        let typed: Arc<[(String, SqlType)]> = targets
            .iter()
            .map(|t| (t.name(&relation).to_owned(), t.column(&relation).map_or(SqlType::Text, |c| c.sql_type.clone())))
            .collect();
        let (format, encoding) = (options.format, options.encoding);
        let reader = match format {
            Format::Binary => None,
            Format::Text | Format::Csv => {
                Some(CopyReader::new(&relation, &typed, options, planner.reading(), self.input_room())?)
            }
        };
        // Of temporary tables all of it is committed, or nothing: no rule divides it.
        let is_unseen = self.may_write_at_once(&relation);
        let collects = self.transaction.is_open()
            || self.modes().isolation == Isolation::Serializable
            || !relation.place().has_rules();
        let direct = if is_unseen {
            self.write_collected(&relation.stored).await?;
            let mode = WriteMode::Direct(Box::new(self.unseen_writer(&relation, COPY_FROM)?));
            Some(DirectRows::new(Writes::new(&self.engine, relation.clone(), self.reads(), mode)))
        } else if collects {
            None
        } else {
            let claims = self.transaction.take_claims();
            let writer =
                self.direct_writer(&relation, COPY_FROM)?.with_claims(claims).holding_back(self.engine.held_back());
            let mode = WriteMode::Direct(Box::new(writer));
            Some(DirectRows::new(Writes::new(&self.engine, relation.clone(), self.reads(), mode)))
        };
        let progress = self.engine.copies().begin(self.login.process, relation.oid, CopyDirection::From);
        let start = CopyIn {
            format: if format == Format::Binary { CopyFormat::Binary } else { CopyFormat::Textual },
            table: relation.name.as_str().into(),
            columns: typed,
        };
        self.copy = Some(CopyInProgress {
            relation,
            targets,
            new_rows,
            condition,
            reader,
            encoding,
            direct,
            is_unseen,
            has_columns: false,
            rows: 0,
            progress,
            written: WrittenColumns::by_copy(columns),
        });
        Ok(Outcome::CopyIn(start))
    }

    /// The table, locked, as it is then: another session may have changed it while the lock was waited for.
    async fn locked_copy_target(&mut self, table: &QualifiedName) -> SqlResult<Arc<Relation>> {
        let mut relation = self.copy_target(table).await?;
        loop {
            self.engine.stores().check_writable(relation.place())?;
            self.lock_table(&relation, TableMode::RowExclusive).await?;
            let found = self.copy_target(table).await?;
            if found.oid == relation.oid && found.stored == relation.stored {
                return Ok(found);
            }
            relation = found;
        }
    }

    async fn copy_target(&self, table: &QualifiedName) -> SqlResult<Arc<Relation>> {
        let planner = self.planner();
        let (schema, name) = schema_and_table(table)?;
        find_target(&planner, table).await.map_err(|error| match error.kind {
            ErrorKind::WrongObjectType if planner.sequence(schema.as_deref(), &name).is_some() => {
                SqlError::new(ErrorKind::WrongObjectType, format!("cannot copy to sequence \"{name}\""))
            }
            ErrorKind::WrongObjectType if planner.view(schema.as_deref(), &name).is_some() => {
                SqlError::new(ErrorKind::WrongObjectType, format!("cannot copy to view \"{name}\""))
                    .with_hint("Copy into the table that the view reads.")
            }
            _ => error,
        })
    }

    pub(in crate::session) async fn copy_in(&mut self, data: &[u8]) -> SqlResult<()> {
        // After an error the rest of the input is of no use: the COPY is over.
        let mut copy = self.copy.take().ok_or_else(no_copy)?;
        let fed = self.feed(&mut copy, data).await;
        self.go_on(copy, fed).await
    }

    pub(in crate::session) async fn copy_read(&mut self, rows: CopiedRows, bytes: usize) -> SqlResult<()> {
        let mut copy = self.copy.take().ok_or_else(no_copy)?;
        copy.progress.add_bytes(bytes);
        let written = self.write_copied(&mut copy, rows).await;
        self.go_on(copy, written).await
    }

    async fn go_on(&mut self, mut copy: CopyInProgress, done: SqlResult<()>) -> SqlResult<()> {
        match done {
            Ok(()) => {
                self.copy = Some(copy);
                Ok(())
            }
            Err(error) => {
                let error = copy.failed(error).await;
                self.record_copied(&mut copy, true);
                Err(self.concealed(error, || copy.written).await)
            }
        }
    }

    async fn feed(&mut self, copy: &mut CopyInProgress, data: &[u8]) -> SqlResult<()> {
        copy.progress.add_bytes(data.len());
        let text = copy.encoding.decode(data);
        copy.text_reader()?.feed(&text)?;
        while let Some(rows) = copy.text_reader()?.full_batch()? {
            self.write_copied(copy, rows).await?;
        }
        Ok(())
    }

    /// The client gave up: nothing further is committed, and what is under way has been when this returns.
    pub(in crate::session) async fn give_up_copy(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.failed(SqlError::new(ErrorKind::QueryCanceled, "COPY from stdin failed")).await;
        }
        self.forget_copy();
    }

    /// The client gave up, or an error ended the COPY.
    pub(in crate::session) fn forget_copy(&mut self) {
        if let Some(mut copy) = self.copy.take() {
            self.record_copied(&mut copy, true);
        }
    }

    pub(in crate::session) async fn copy_failed(&mut self, error: Box<SqlError>) -> Box<SqlError> {
        match &mut self.copy {
            Some(copy) => copy.failed(error).await,
            None => error,
        }
    }

    fn record_copied(&self, copy: &mut CopyInProgress, failed: bool) {
        if let Some((footprint, committed)) = copy.direct.as_mut().and_then(DirectRows::take_outcome) {
            self.record_direct(footprint.as_ref(), committed, failed);
        }
    }

    pub(in crate::session) async fn copy_finish(&mut self, position: Position) -> SqlResult<CommandTag> {
        let mut copy = self.copy.take().ok_or_else(no_copy)?;
        let finished = match self.finish_copy(&mut copy, position).await {
            Ok(tag) => Ok(tag),
            Err(error) => Err(copy.failed(error).await),
        };
        self.record_copied(&mut copy, finished.is_err());
        match finished {
            Ok(tag) => Ok(tag),
            Err(error) => Err(self.concealed(error, || copy.written).await),
        }
    }

    async fn finish_copy(&mut self, copy: &mut CopyInProgress, position: Position) -> SqlResult<CommandTag> {
        if let Some(reader) = &mut copy.reader {
            let rows = reader.last_batch()?;
            self.write_copied(copy, rows).await?;
        }
        if let Some(direct) = &mut copy.direct {
            let committed = direct.finish().await?;
            if !copy.is_unseen {
                self.tell_about_split(committed);
            }
        }
        if (copy.direct.is_none() || copy.is_unseen) && position == Position::Last {
            self.finish_implicit().await?;
        }
        self.tell_about_copied_timestamp(copy);
        Ok(CommandTag::Counted("COPY", copy.rows))
    }

    async fn write_copied(&mut self, copy: &mut CopyInProgress, rows: CopiedRows) -> SqlResult<()> {
        let (batch, kept_rows) = copy.chosen(&rows).await?;
        let rows = kept_rows.unwrap_or(rows);
        let made = aside_unless(batch.num_rows() < FEW_ROWS, || {
            let finished = copy.new_rows.finish(&batch)?;
            RowsToWrite::new(&copy.relation, copy.new_rows.targets(), &finished)
        });
        let entities = made.map_err(|BadRow { row, error }| match rows.place_with_text(&copy.relation.name, row) {
            Some(place) if error.context.is_none() => error.with_context(place),
            _ => error,
        })?;
        let count = u64::try_from(entities.len()).unwrap_or(u64::MAX);
        match &mut copy.direct {
            // One snapshot for all of it would keep all of it in the store's memory.
            Some(direct) => direct.begin(entities, rows.lines, self.reads_of_rows()).await?,
            None => {
                let reads = self.reads();
                let mode = if self.transaction.in_block() {
                    WriteMode::Block(&mut self.transaction)
                } else {
                    WriteMode::Implicit(&mut self.transaction)
                };
                let writes = Writes::new(&self.engine, copy.relation.clone(), reads, mode);
                let mut writes = writes.behind_columns(copy.has_columns);
                let written = insert(&entities, &rows.lines, &mut writes).await;
                copy.has_columns = writes.has_columns();
                self.transaction.end_statement();
                written?;
            }
        }
        copy.rows += count;
        copy.progress.add_rows(count);
        Ok(())
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
    fn text_reader(&mut self) -> SqlResult<&mut CopyReader> {
        self.reader
            .as_mut()
            .ok_or_else(|| SqlError::new(ErrorKind::ObjectNotInState, "text arrived for a COPY in binary format"))
    }

    /// The rows with their defaults that WHERE lets through; and their lines, where these are not all.
    async fn chosen(&self, rows: &CopiedRows) -> SqlResult<(RecordBatch, Option<CopiedRows>)> {
        let filled = self.new_rows.fill(&rows.batch).await?;
        let Some(condition) = &self.condition else { return Ok((filled, None)) };
        let shown = self.new_rows.visible(&filled)?;
        let held = condition.of(&shown)?;
        let excluded = held.len() - held.true_count();
        if excluded == 0 {
            return Ok((filled, None));
        }
        self.progress.add_excluded(u64::try_from(excluded).unwrap_or(u64::MAX));
        Ok((kept(&filled, &held)?, Some(rows.kept(&held)?)))
    }

    /// The error to tell: one of a commit under way goes first; with its line, and what is committed already.
    async fn failed(&mut self, error: Box<SqlError>) -> Box<SqlError> {
        let Some(direct) = &mut self.direct else { return error };
        let (mut error, line) = direct.give_up(error).await;
        if direct.has_committed() && !self.is_unseen {
            error = with_way_on(error);
        }
        placed(error, &self.relation.name, line)
    }
}

/// What `statement_progress` calls it.
pub(in crate::session) const COPY_FROM: &str = "COPY FROM";

/// The error of a COPY of which some rows are committed, with what to do then.
pub(in crate::session) fn with_way_on(error: Box<SqlError>) -> Box<SqlError> {
    let hints = error.hint.iter().map(String::as_str).chain([GO_ON]).collect::<Vec<_>>().join(" ");
    error.with_hint(hints)
}

const GO_ON: &str = "To go on, COPY the input into another table and INSERT its rows with ON CONFLICT DO NOTHING, or leave out \
                     the rows that are there with COPY ... WHERE.";

fn no_copy() -> Box<SqlError> {
    SqlError::new(ErrorKind::ObjectNotInState, "COPY data arrived, but no COPY FROM STDIN is in progress")
}
