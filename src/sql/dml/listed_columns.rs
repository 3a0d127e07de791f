//! A VALUES list as columns of its table's types: columns that are the same in every run are made once, in the first
//! run that needs them.

use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::checks::batch_of;
use super::new_rows::BoundRows;
use super::target::TargetColumn;
use super::values::{Cell, CellValues, ValuesList};
use crate::relation::Relation;

/// Rows of a VALUES list that are written between two looks at the store.
pub(super) const ROWS_PER_BATCH: usize = 1024;

/// The columns that a VALUES list gives.
pub(super) struct ListedColumns {
    columns: Vec<ListedColumn>,
    schema: SchemaRef,
    /// Made when they are first needed; `None` where the list is more than one batch.
    constants: Option<OnceLock<Constants>>,
}

struct ListedColumn {
    target: TargetColumn,
    name: String,
    sql_type: SqlType,
}

/// What is the same in every run of one style.
struct Constants {
    style: Style,
    /// Of each column its values, where all of them are constants that mean the same at any time.
    columns: Vec<Option<ArrayRef>>,
}

impl ListedColumns {
    /// Values for `targets`, as the columns' types or as those in `own_types`.
    pub(super) fn prepare(
        relation: &Relation,
        targets: &[TargetColumn],
        own_types: &[Option<SqlType>],
        values: &ValuesList,
    ) -> Self {
        let column = |(position, target): (usize, &TargetColumn)| {
            let own_type = own_types.get(position).and_then(Option::as_ref);
            let column_type = target.column(relation).map(|column| &column.sql_type);
            let sql_type = own_type.or(column_type).cloned().unwrap_or(SqlType::Text);
            ListedColumn { target: target.clone(), name: target.name(relation).to_owned(), sql_type }
        };
        let columns: Vec<ListedColumn> = targets.iter().enumerate().map(column).collect();
        let fields: Vec<_> = columns.iter().map(|column| column.sql_type.field(&column.name, true)).collect();
        let is_one_batch = values.rows().len() <= ROWS_PER_BATCH && !values.is_in_turn();
        let constants = is_one_batch.then(OnceLock::new);
        Self { columns, schema: Arc::new(Schema::new(fields)), constants }
    }

    /// The types that values are given as.
    pub(super) fn types(&self) -> impl Iterator<Item = &SqlType> {
        self.columns.iter().map(|column| &column.sql_type)
    }

    /// The columns that the list gives.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Some of the list's rows, or all of them.
    ///
    /// # Errors
    /// The errors of assigning the values to their columns, and of evaluating the defaults that are asked for.
    pub(super) async fn batch(
        &self,
        cells: &[Vec<Cell>],
        meaning: &CellValues<'_>,
        rows: &BoundRows,
    ) -> SqlResult<RecordBatch> {
        let constants = self.constants.as_ref().map(|made| made.get_or_init(|| self.constants(cells, meaning.reading)));
        let constants = constants.filter(|constants| constants.style == meaning.reading.style);
        let mut columns = Vec::with_capacity(self.columns.len());
        for (position, column) in self.columns.iter().enumerate() {
            columns.push(match constants.and_then(|constants| constants.columns[position].clone()) {
                Some(values) => values,
                None => column.values(position, cells, meaning, rows).await?,
            });
        }
        batch_of(self.schema.clone(), columns, cells.len())
    }

    /// Those among all rows of the list. Errors are left to each run.
    fn constants(&self, cells: &[Vec<Cell>], reading: Reading) -> Constants {
        let meaning = CellValues::of_constants(reading);
        let column = |(position, column): (usize, &ListedColumn)| {
            let cells = cells.iter().map(|row| row.get(position).filter(|cell| cell.is_constant()));
            let values: Option<Vec<_>> = cells.map(|cell| meaning.value(cell?, &column.sql_type).ok()).collect();
            ScalarValue::iter_to_array(values?).ok()
        };
        Constants { style: reading.style, columns: self.columns.iter().enumerate().map(column).collect() }
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
