//! Queries over all rows of a table, for statements that change its definition.

use futures::StreamExt;
use tablegate_bind::{ParsedExpression, ParsedQuery};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use crate::plan::Planner;
use crate::relation::Relation;
use crate::syntax::{MadeRows, column_of, made_query, number};

/// The keys of all rows and, behind them, the values of expressions over their columns.
pub(crate) fn keys_and(relation: &Relation, expressions: impl Iterator<Item = ParsedExpression>) -> ParsedQuery {
    let keys = ["PartitionKey", "RowKey"].map(|column| column_of(&relation.name, column));
    let table = &[&*relation.place().schema(), &relation.name];
    made_query(keys.into_iter().chain(expressions), MadeRows { table, ..MadeRows::default() })
}

/// Whether some row fulfils the condition.
///
/// # Errors
/// The errors of planning the condition and of evaluating it.
pub(crate) async fn is_there_row(
    planner: &Planner<'_>,
    relation: &Relation,
    condition: ParsedExpression,
) -> SqlResult<bool> {
    let table = &[&*relation.place().schema(), &relation.name];
    let query = made_query([number("1")], MadeRows { table, condition: Some(condition), only_one: true });
    let planned = planner.plan(&query, &[]).await?;
    let mut batches = planner.run(&planned, &[]).await?;
    while let Some(batch) = batches.next().await {
        if batch?.num_rows() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A NULL in a stored row where there must be none (23502).
pub(crate) fn contains_nulls(relation: &Relation, column: &str) -> Box<SqlError> {
    let message = format!("column \"{column}\" of relation \"{}\" contains null values", relation.name);
    let mut error = relation.error(ErrorKind::NotNullViolation, message);
    error.column = Some(column.to_owned());
    error
}
