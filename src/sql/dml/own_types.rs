//! Values of undeclared properties keep the type they have.
//!
//! A found or open table takes any property with any EDM type. What PostgreSQL casts on assignment is cast to the type
//! the column shows. What it would refuse (42804) keeps its own type here, and so does every typed value of a property
//! that is stored with several types already. Such a column shows as text.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use tablegate_types::edm;
use tablegate_types::error::{Notice, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::target::TargetColumn;
use crate::relation::{ColumnSource, Relation, RelationColumn};

/// The type that values of type `from` are stored as in a column.
pub(super) fn stored_type(column: &RelationColumn, from: &SqlType, untyped: bool) -> SqlType {
    let Some(seen) = column.observed.filter(|_| !untyped && *from != SqlType::Unknown) else {
        return column.sql_type.clone();
    };
    let is_mixed = column.sql_type == SqlType::Text && seen.iter().count() > 1;
    if !is_mixed && can_assign(from, &column.sql_type) { column.sql_type.clone() } else { from.clone() }
}

fn can_assign(from: &SqlType, to: &SqlType) -> bool {
    edm::assign(&new_empty_array(&from.arrow()), from, to, false).is_ok()
}

/// The table as it shows once its columns hold values of these types: those that hold several that no one type but text
/// has room for are text.
pub(super) fn evolved<'a>(
    relation: &Arc<Relation>,
    stored: impl IntoIterator<Item = (&'a TargetColumn, SqlType)>,
) -> Arc<Relation> {
    let mut columns = None;
    for (target, stored) in stored {
        let TargetColumn::Known(index) = target else { continue };
        if relation.columns[*index].observed.is_none() || can_assign(&stored, &relation.columns[*index].sql_type) {
            continue;
        }
        let column = &mut columns.get_or_insert_with(|| relation.columns.clone())[*index];
        if let ColumnSource::Property { column_type, .. } = &mut column.source {
            *column_type = edm::column_type(&SqlType::Text);
        }
        column.sql_type = SqlType::Text;
    }
    match columns {
        None => relation.clone(),
        Some(columns) => Arc::new(relation.with_columns(columns)),
    }
}

/// Says which columns of `before` show as text in `after`.
pub(super) fn notice(before: &Relation, after: &Relation) -> Option<Notice> {
    let pairs = before.columns.iter().zip(&after.columns);
    let changed: Vec<_> = pairs.filter(|(b, a)| b.sql_type != a.sql_type).map(|(b, _)| b.name.as_str()).collect();
    if changed.is_empty() {
        return None;
    }
    let message = format!(
        "values of several types are stored in \"{}\" of \"{}\", which shows as text",
        changed.join("\", \""),
        before.name
    );
    Some(Notice::info(message))
}

/// Values of a column as the column shows them.
///
/// # Errors
/// 42804 for values that the column has no room for.
pub(super) fn shown(values: ArrayRef, column: &RelationColumn) -> SqlResult<ArrayRef> {
    if column.observed.is_none() || *values.data_type() == column.sql_type.arrow() {
        return Ok(values);
    }
    edm::assign(&values, &SqlType::of_arrow(values.data_type()), &column.sql_type, false)
}

/// The type that values in a column are stored as.
pub(super) fn type_of_values(values: &ArrayRef, column: &RelationColumn) -> SqlType {
    if column.observed.is_none() || *values.data_type() == column.sql_type.arrow() {
        return column.sql_type.clone();
    }
    SqlType::of_arrow(values.data_type())
}
