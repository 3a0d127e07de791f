//! The plans of the sorts: each reads all rows, puts on disk what there is no memory for, and gives a group after the other.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{SortOptions, filter_record_batch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, stream};

use super::beside::{Sorts, results};
use super::collector::Collector;
use super::pieces::Pieces;
use super::shape::{Function, Gives, Part, Shape};
use super::shares::Shares;
use super::sorted::{Sorted, groups};
use super::tee::{Reader, readers};
use crate::calls::interrupt_of;
use crate::expr::comparable;
use crate::passing::{Batches, PassingExec, Plan};
use crate::turns::in_turns;

/// The results of the aggregation over these rows, in one piece.
///
/// # Errors
/// XX000 if a plan is not valid, which would be a defect here.
pub(super) fn aggregated(
    shape: &Shape,
    rows: Batches,
    shares: Shares,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let width = shape.group.len();
    let (has_others, count) = (shape.has_others(), shape.sorts());
    let at_once = shares.rows_at_once();
    let interrupt = interrupt_of(context.session_config().options());
    let run = |plan: Plan, context: Arc<TaskContext>| {
        let sorted = in_turns(&plan, &interrupt)?.execute(0, context)?;
        Ok::<_, DataFusionError>(spawn_buffered(sorted, 1))
    };
    let mut readers = readers(rows, count).into_iter();
    let mut next = || readers.next().ok_or_else(|| internal_datafusion_err!("a sort has nothing to read"));
    let others =
        if has_others { Some(run(sort_of_others(shape, next()?, at_once)?, shares.beside(context))?) } else { None };
    let mut sorted = Vec::with_capacity(shape.parts.len());
    for part in &shape.parts {
        sorted.push(run(sort_of(shape, part, next()?, at_once)?, shares.next(context))?);
    }
    let groups = match others.as_ref().or(sorted.first()) {
        Some(rows) => groups(rows, width)?,
        None => None,
    };
    let parts = shape.parts.iter().zip(sorted).map(|(part, rows)| {
        let collector = Collector::new(&part.gives, &shape.schema, &rows.schema(), width)?;
        let once = part.is_distinct.then_some(width + part.keys.len());
        Ok((Sorted::new(rows, groups.clone(), width, once)?, collector))
    });
    let sorts = Sorts {
        parts: parts.collect::<Result<_>>()?,
        others: others.map(|others| Sorted::new(others, groups.clone(), width, None)).transpose()?,
        places: (0..width).chain(shape.others.iter().map(|other| other.place)).collect(),
        schema: Arc::clone(&shape.schema),
        memory: MemoryConsumer::new("aggregates of sorted rows").register(context.memory_pool()),
        shares: shares.into_reservation(),
    };
    Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&shape.schema), results(sorts))))
}

/// All groups, with the aggregates that need no sort.
fn sort_of_others(shape: &Shape, reader: Reader, at_once: usize) -> Result<Plan> {
    let functions = shape.others.iter().map(|other| Arc::clone(&other.function)).collect();
    let filters = shape.others.iter().map(|Function { filter, .. }| filter.clone()).collect();
    let group = PhysicalGroupBy::new_single(shape.group.clone());
    let input = read_once(Arc::clone(&shape.input), reader.boxed())?;
    let mode = AggregateMode::Single;
    let aggregate = AggregateExec::try_new(mode, group, functions, filters, input, Arc::clone(&shape.input))?;
    let sorts = shape.group.iter().map(|_| SortOptions::default());
    sorted_by(sorts, Arc::new(aggregate), at_once)
}

/// The rows of a part, with their groups before them.
fn sort_of(shape: &Shape, part: &Part, reader: Reader, at_once: usize) -> Result<Plan> {
    let rows = Arc::new(RowsOf::new(shape, part)?);
    let schema = Arc::clone(&rows.schema);
    let read = reader.map(move |batch| rows.of(&batch?));
    let input = read_once(Arc::clone(&schema), read.boxed())?;
    let sorts = shape.group.iter().map(|_| SortOptions::default()).chain(part.keys.iter().map(|(_, options)| *options));
    let Gives::Functions(_) = part.gives else { return sorted_by(sorts, input, at_once) };
    // Where few values differ, most of them need not be sorted.
    let columns = schema.fields().iter().enumerate();
    let columns = columns.map(|(place, field)| (column(field.name(), place), field.name().clone())).collect();
    let group = PhysicalGroupBy::new_single(columns);
    let once = AggregateExec::try_new(AggregateMode::Partial, group, Vec::new(), Vec::new(), input, schema)?;
    sorted_by(sorts, Arc::new(once), at_once)
}

fn column(name: &str, place: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(name, place))
}

/// The rows, sorted by their first columns, for which so many are taken at once.
fn sorted_by(sorts: impl Iterator<Item = SortOptions>, rows: Plan, at_once: usize) -> Result<Plan> {
    let schema = rows.schema();
    let sorts = sorts
        .enumerate()
        .map(|(place, options)| PhysicalSortExpr::new(column(schema.field(place).name(), place), options));
    Ok(match LexOrdering::new(sorts) {
        Some(order) => Arc::new(SortExec::new(order, PassingExec::above(rows, Pieces { rows: at_once }))),
        None => rows,
    })
}

/// What is sorted for a part: of each row the group, the keys, and the value.
struct RowsOf {
    columns: Vec<Arc<dyn PhysicalExpr>>,
    /// Which of them are keys.
    keys: std::ops::Range<usize>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// Rows without a value do not count.
    needs_value: bool,
    schema: SchemaRef,
}

impl RowsOf {
    fn new(shape: &Shape, part: &Part) -> Result<Self> {
        let groups = shape.group.iter().map(|(expr, _)| expr);
        let columns = groups.chain(part.keys.iter().map(|(expr, _)| expr)).chain(part.gives.value());
        let columns: Vec<Arc<dyn PhysicalExpr>> = columns.cloned().collect();
        let field = |(place, expr): (usize, &Arc<dyn PhysicalExpr>)| {
            Ok(Field::new(place.to_string(), expr.data_type(&shape.input)?, true))
        };
        let fields = columns.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        let keys = shape.group.len()..shape.group.len() + part.keys.len();
        let needs_value = matches!(part.gives, Gives::Text { .. });
        Ok(Self { columns, keys, filter: part.filter.clone(), needs_value, schema: Arc::new(Schema::new(fields)) })
    }

    fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let array =
            |expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch| expr.evaluate(batch)?.into_array(batch.num_rows());
        let filtered = match &self.filter {
            Some(filter) => Some(filter_record_batch(batch, array(filter, batch)?.as_boolean())?),
            None => None,
        };
        let batch = filtered.as_ref().unwrap_or(batch);
        let columns = self.columns.iter().enumerate().map(|(place, expr)| {
            let values = array(expr, batch)?;
            Ok(if self.keys.contains(&place) { comparable(&values) } else { values })
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let nulls = columns.last().filter(|_| self.needs_value).and_then(|values| values.logical_nulls());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        match nulls {
            Some(nulls) => Ok(filter_record_batch(&rows, &BooleanArray::new(nulls.into_inner(), None))?),
            None => Ok(rows),
        }
    }
}

/// A plan that gives these rows, once.
///
/// # Errors
/// XX000 if it is not valid, which would be a defect here.
pub(super) fn read_once(schema: SchemaRef, rows: Batches) -> Result<Plan> {
    let once: Arc<dyn PartitionStream> =
        Arc::new(ReadOnce { schema: Arc::clone(&schema), rows: Mutex::new(Some(rows)) });
    Ok(Arc::new(StreamingTableExec::try_new(schema, vec![once], None, [], false, None)?))
}

struct ReadOnce {
    schema: SchemaRef,
    rows: Mutex<Option<Batches>>,
}

impl fmt::Debug for ReadOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadOnce")
    }
}

impl PartitionStream for ReadOnce {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = rows.unwrap_or_else(|| stream::iter([Err(internal_datafusion_err!("rows are read twice"))]).boxed());
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
