//! Queries over all rows of a table, for statements that change its definition.

use futures::StreamExt;
use sqlparser::ast::{Expr, Ident, LimitClause, ObjectName, ObjectNamePart, Query, TableWithJoins, Value};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::select_text::{item, labelled, select, table_as};
use crate::plan::Planner;
use crate::relation::Relation;

/// The keys of all rows and, behind them, the values of expressions over their columns.
pub(crate) fn keys_and(relation: &Relation, expressions: impl Iterator<Item = Expr>) -> Query {
    let alias = Ident::with_quote('"', &relation.name);
    let mut items = vec![item(&alias, "PartitionKey", 0), item(&alias, "RowKey", 1)];
    for expression in expressions {
        items.push(labelled(expression, items.len()));
    }
    select(items, vec![from(relation)], None)
}

/// Whether some row fulfils the condition.
///
/// # Errors
/// The errors of planning the condition and of evaluating it.
pub(crate) async fn is_there_row(planner: &Planner<'_>, relation: &Relation, condition: Expr) -> SqlResult<bool> {
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let mut query = select(vec![labelled(one(), 0)], vec![from(relation)], Some(condition));
    query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(one()), offset: None, limit_by: Vec::new() });
    let planned = planner.plan(&query, &[]).await?;
    let mut batches = planner.run(&planned, &[]).await?;
    while let Some(batch) = batches.next().await {
        if batch?.num_rows() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn from(relation: &Relation) -> TableWithJoins {
    let name = Ident::with_quote('"', &relation.name);
    let schema = Ident::with_quote('"', relation.place().schema());
    table_as(ObjectName(vec![ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(name.clone())]), &name)
}

/// A NULL in a stored row where there must be none (23502).
pub(crate) fn contains_nulls(relation: &Relation, column: &str) -> Box<SqlError> {
    let message = format!("column \"{column}\" of relation \"{}\" contains null values", relation.name);
    let mut error = relation.error(ErrorKind::NotNullViolation, message);
    error.column = Some(column.to_owned());
    error
}
