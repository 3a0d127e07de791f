//! A VALUES list as columns of its table's types: those that are the same in every run are made once, at its planning.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

use super::checks::batch_of;
use super::new_rows::BoundRows;
use super::target::TargetColumn;
use super::values::{Cell, CellValues, ValuesList};
use crate::sql::error::SqlResult;
use crate::sql::plan::Planner;
use crate::sql::relation::Relation;
use crate::sql::style::{Reading, Style};
use crate::sql::types::SqlType;

/// Rows of a VALUES list that are written between two looks at the store.
pub(super) const ROWS_PER_BATCH: usize = 1024;

/// The columns that a VALUES list gives.
pub(super) struct ListedColumns {
    columns: Vec<ListedColumn>,
    schema: SchemaRef,
    /// The style that constants were read in.
    style: Style,
}

struct ListedColumn {
    target: TargetColumn,
    name: String,
    sql_type: SqlType,
    /// Its values, where all of them are constants that mean the same at any time.
    fixed: Option<ArrayRef>,
}

impl ListedColumns {
    /// Values for `targets`, as the columns' types or as those in `own_types`.
    pub fn prepare(
        planner: &Planner<'_>,
        relation: &Relation,
        targets: &[TargetColumn],
        own_types: &[Option<SqlType>],
        values: &ValuesList,
    ) -> Self {
        // Without a clock a constant that means the time is an error, and is left to each run; as is any other error,
        // which belongs there.
        let reading = Reading { now: None, ..planner.reading() };
        let meaning = CellValues { parameters: &[], declared: &[], computed: &[], reading };
        let is_one_batch = values.rows().len() <= ROWS_PER_BATCH;
        let column = |(position, target): (usize, &TargetColumn)| {
            let own_type = own_types.get(position).and_then(Option::as_ref);
            let column_type = target.column(relation).map(|column| &column.sql_type);
            let sql_type = own_type.or(column_type).cloned().unwrap_or(SqlType::Text);
            let fixed = || {
                let cells = values.rows().iter().map(|row| row.get(position).filter(|cell| cell.is_constant()));
                let values: Option<Vec<_>> = cells.map(|cell| meaning.value(cell?, &sql_type).ok()).collect();
                ScalarValue::iter_to_array(values?).ok()
            };
            let fixed = is_one_batch.then(fixed).flatten();
            ListedColumn { target: target.clone(), name: target.name(relation).to_owned(), sql_type, fixed }
        };
        let columns: Vec<ListedColumn> = targets.iter().enumerate().map(column).collect();
        let fields: Vec<_> = columns.iter().map(|column| column.sql_type.field(&column.name, true)).collect();
        Self { columns, schema: Arc::new(Schema::new(fields)), style: reading.style }
    }

    /// The types that values are given as.
    pub fn types(&self) -> impl Iterator<Item = &SqlType> {
        self.columns.iter().map(|column| &column.sql_type)
    }

    /// Some of the list's rows, or all of them.
    ///
    /// # Errors
    /// What assigning the values to their columns refuses, and what defaults meet that are asked for.
    pub async fn batch(
        &self,
        cells: &[Vec<Cell>],
        meaning: &CellValues<'_>,
        rows: &BoundRows,
    ) -> SqlResult<RecordBatch> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (position, column) in self.columns.iter().enumerate() {
            columns.push(match &column.fixed {
                Some(fixed) if self.style == meaning.reading.style => fixed.clone(),
                _ => column.values(position, cells, meaning, rows).await?,
            });
        }
        batch_of(self.schema.clone(), columns, cells.len())
    }
}

impl ListedColumn {
    async fn values(
        &self,
        position: usize,
        cells: &[Vec<Cell>],
        meaning: &CellValues<'_>,
        rows: &BoundRows,
    ) -> SqlResult<ArrayRef> {
        let values = cells.iter().map(|row| meaning.value(&row[position], &self.sql_type));
        let mut values = values.collect::<SqlResult<Vec<_>>>().map_err(|e| e.for_column(&self.name))?;
        if let TargetColumn::Known(index) = self.target {
            let asking: Vec<usize> = (0..cells.len()).filter(|row| cells[*row][position] == Cell::Default).collect();
            if !asking.is_empty() {
                let defaults = rows.default_values(index, asking.len()).await?;
                for (nth, row) in asking.into_iter().enumerate() {
                    values[row] = ScalarValue::try_from_array(&defaults, nth)?;
                }
            }
        }
        Ok(ScalarValue::iter_to_array(values)?)
    }
}
