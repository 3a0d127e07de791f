//! Running CREATE TABLE ... AS and SELECT ... INTO.
//!
//! The rows go straight into the new stored table, which no other session sees before COMMIT. So they are not part of
//! the transaction's entity group transaction, and their number is not limited by it.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::ScalarValue;
use futures::StreamExt;
use tablegate_bind::{Identifier, ParsedQuery};
use tablegate_types::edm;
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::{Position, Session};
use crate::dml::{RowsToWrite, TargetColumn};
use crate::outcome::{CommandTag, Outcome, ResultColumn};
use crate::place::PlacedName;
use crate::plan::PlannedQuery;
use crate::relation::Relation;
use crate::syntax::dialect::create_as::CreateAsCommand;
use crate::syntax::{Command, CreateTableCommand, TableMode, TableOption, TableOptions, parse};
use crate::tx::{LoadError, TableLoader};

impl Session {
    pub(super) async fn create_table_as(
        &mut self,
        command: &CreateAsCommand,
        (declared_types, parameters): (&[SqlType], &[ScalarValue]),
        position: Position,
    ) -> SqlResult<Outcome> {
        self.check_writable("CREATE TABLE AS")?;
        let planned = self.planned_over_locked(&command.query, declared_types).await?;
        if planned.parameters.len() > parameters.len() {
            let message = format!("there is no parameter ${}", parameters.len() + 1);
            return Err(SqlError::new(ErrorKind::UndefinedParameter, message));
        }
        let columns = columns(&planned.columns, command)?;
        // The query reads the snapshot of its transaction, but the name must be free as it is now.
        let declared = declared(command, &columns)?;
        self.reads_past_snapshot = true;
        let made = self.declare_table(&declared).await;
        self.reads_past_snapshot = false;
        let made = made?;
        let tag = match made {
            Some(name) if command.with_data => {
                CommandTag::Counted("SELECT", self.load(&name, &planned, parameters).await?)
            }
            _ => CommandTag::Plain("CREATE TABLE AS"),
        };
        self.settle(position).await?;
        Ok(Outcome::Done(tag))
    }

    /// The query planned over tables that are locked: another session may change one while its lock is waited for.
    async fn planned_over_locked(
        &mut self,
        query: &ParsedQuery,
        declared_types: &[SqlType],
    ) -> SqlResult<PlannedQuery> {
        let mut locked = BTreeSet::new();
        loop {
            let planned = self.planner().plan(query, declared_types).await?;
            if planned.relations.iter().all(|relation| locked.contains(&relation.oid)) {
                return Ok(planned);
            }
            for relation in &planned.relations {
                self.lock_table(relation, TableMode::AccessShare).await?;
                locked.insert(relation.oid);
            }
        }
    }

    /// Fills a table that this transaction has made; gives the number of rows.
    async fn load(&mut self, table: &PlacedName, query: &PlannedQuery, parameters: &[ScalarValue]) -> SqlResult<u64> {
        let missing = || SqlError::new(ErrorKind::Internal, "the table that was made is not there");
        let planner = self.planner();
        let relation = planner.reads.relation(table).await?.ok_or_else(missing)?;
        let (engine, report) = (&self.engine, self.report(&relation, "CREATE TABLE AS"));
        let mut loader = TableLoader::new(engine.stores(), &relation.stored, engine.held_back(), report)?;
        let mut batches = planner.run(query, parameters).await?;
        let mut rows = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
            load_batch(&relation, &batch, &mut loader).await?;
        }
        loader.finish().await.map_err(|error| told(error, &relation))?;
        Ok(rows)
    }
}

async fn load_batch(relation: &Arc<Relation>, batch: &RecordBatch, loader: &mut TableLoader) -> SqlResult<()> {
    let visible: Vec<usize> = (0..relation.columns.len()).filter(|index| !relation.columns[*index].hidden).collect();
    let schema = batch.schema();
    let assigned = visible.iter().zip(batch.columns()).enumerate().map(|(position, (index, values))| {
        let column = &relation.columns[*index];
        let from = SqlType::of_field(schema.field(position));
        edm::assign(values, &from, &column.sql_type, from == SqlType::Unknown).map_err(|e| e.for_column(&column.name))
    });
    let assigned = assigned.collect::<SqlResult<Vec<ArrayRef>>>()?;
    let fields = visible.iter().map(|index| &relation.columns[*index]).map(|c| c.sql_type.field(&c.name, true));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields.collect::<Vec<_>>())), assigned, &options)?;
    let targets: Vec<TargetColumn> = visible.into_iter().map(TargetColumn::Known).collect();
    let entities = RowsToWrite::new(relation, &targets, &batch)?;
    if loader.push_new(entities.new_entities(relation)).await.map_err(|error| told(error, relation))? {
        return Ok(());
    }
    for row in 0..entities.len() {
        loader.push(entities.entity(row)?).await.map_err(|error| told(error, relation))?;
    }
    Ok(())
}

fn told(error: LoadError, relation: &Relation) -> Box<SqlError> {
    match error {
        LoadError::Duplicate(key) => relation.duplicate_key(&key),
        LoadError::Other(error) => error,
    }
}

/// The columns of the table: those of the query, the first with the names that are given.
fn columns(found: &[ResultColumn], command: &CreateAsCommand) -> SqlResult<Vec<(String, SqlType)>> {
    if command.columns.len() > found.len() {
        return Err(SqlError::new(ErrorKind::Syntax, "too many column names were specified"));
    }
    let mut columns: Vec<(String, SqlType)> = Vec::with_capacity(found.len());
    for (index, column) in found.iter().enumerate() {
        let name = command.columns.get(index).map_or_else(|| column.name.clone(), Identifier::folded);
        if columns.iter().any(|(known, _)| *known == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(ErrorKind::DuplicateColumn, message));
        }
        if matches!(column.sql_type, SqlType::Record(_) | SqlType::Void) {
            let message = format!("column \"{name}\" has pseudo-type {}", column.sql_type);
            return Err(SqlError::new(ErrorKind::InvalidTableDefinition, message));
        }
        columns.push((name, stored_type(column)));
    }
    Ok(columns)
}

/// The type that a table can have for a query's column: names of the system catalogue become text.
fn stored_type(column: &ResultColumn) -> SqlType {
    match &column.sql_type {
        SqlType::Numeric(_) if !column.is_declared => SqlType::Numeric(None),
        SqlType::Quotient => SqlType::Numeric(None),
        SqlType::Oid => SqlType::Int8,
        SqlType::Unknown
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc => SqlType::Text,
        SqlType::Int2Vector => SqlType::Array(Box::new(SqlType::Int2)),
        SqlType::OidVector => SqlType::Array(Box::new(SqlType::Int8)),
        other => other.clone(),
    }
}

/// The CREATE TABLE that makes the table, with the key that its options name.
fn declared(command: &CreateAsCommand, columns: &[(String, SqlType)]) -> SqlResult<CreateTableCommand> {
    let mut parts: Vec<String> = columns.iter().map(|(name, t)| format!("{} {t}", quote_ident(name))).collect();
    let key = key_of_options(&command.table.options, columns);
    if !key.is_empty() {
        let names: Vec<String> = key.iter().map(|name| quote_ident(name)).collect();
        parts.push(format!("PRIMARY KEY ({})", names.join(", ")));
    }
    let text = format!("CREATE TABLE {} ({})", command.table.name, parts.join(", "));
    let Some(Command::CreateTable(made)) = parse(&text)?.pop().map(|statement| statement.command) else {
        return Err(SqlError::new(ErrorKind::Internal, "the table of a query did not parse"));
    };
    let CreateTableCommand { temporary, if_not_exists, on_commit, .. } = command.table;
    Ok(CreateTableCommand { options: command.table.options.clone(), temporary, if_not_exists, on_commit, ..*made })
}

/// The columns that `partition_key` and `row_key` name.
fn key_of_options(options: &TableOptions, columns: &[(String, SqlType)]) -> Vec<String> {
    let TableOptions::With(list) = options else { return Vec::new() };
    let value = |wanted: &str| {
        list.iter().find_map(|option| match option {
            TableOption::Given { name, written, .. } if name == wanted => Some(written),
            _ => None,
        })
    };
    let mut key: Vec<String> = Vec::new();
    for text in [value("partition_key"), value("row_key")].into_iter().flatten() {
        for part in text.trim_matches('\'').split(',') {
            let word = part.split_whitespace().next().unwrap_or_default();
            let name = match word.strip_prefix('"') {
                Some(quoted) => quoted.trim_end_matches('"').to_owned(),
                None => word.to_ascii_lowercase(),
            };
            if columns.iter().any(|(column, _)| *column == name) && !key.contains(&name) {
                key.push(name);
            }
        }
    }
    key
}
