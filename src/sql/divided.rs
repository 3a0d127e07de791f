//! Long values in batches of fewer rows: where the values of a batch are more than a column takes, or than there is memory for, the
//! batch is divided, as long as it has more than one row.
//!
//! How long the values are is seen of a short piece of the first batch: the others have as many rows as make a batch of a common size.
//!
//! An operator that computes values of each batch on its own stands between two nodes. The one below it gives it a batch, or a
//! piece of one; when the one above it sees that this was too much, the piece is given again as two.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use futures::{StreamExt, stream};
use tablegate_types::error::{ErrorKind, SqlError};

use crate::passing::{Batches, Passing, PassingExec, Plan};
use crate::short_batches::{BATCH_BYTES, rows_of};

/// After so many pieces of a length that did well, longer ones are tried.
const PIECES_UNTIL_LONGER: usize = 64;
/// A constant of so many bytes makes long rows.
const CONSTANT_BYTES: usize = 1024;
/// The first piece has so many rows: as many as two entity group transactions take, so that a change has no more of them for it.
const FIRST_ROWS: usize = 200;

/// The plan, whose uppermost operator divides batches of which it would compute too much; `None` where it computes nothing long.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn divided(plan: &Plan) -> Result<Option<Plan>> {
    let makes_long_values = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        can_be_divided(projection.expr().iter().map(|projected| &projected.expr))
    } else if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        can_be_divided([filter.predicate()])
    } else {
        false
    };
    if !makes_long_values {
        return Ok(None);
    }
    let shared = Arc::<Shared>::default();
    let plan = PassingExec::below(Arc::clone(plan), Divided { side: Side::Below, shared: Arc::clone(&shared) })?;
    Ok(Some(PassingExec::above(plan, Divided { side: Side::Above, shared })))
}

/// Whether one of the expressions makes values of any length, and none of them is to be computed once for each row.
fn can_be_divided<'e>(exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>) -> bool {
    let mut makes_long_values = false;
    for expr in exprs {
        if is_volatile(expr) {
            return false;
        }
        makes_long_values |= may_be_long(expr);
    }
    makes_long_values
}

/// Whether a function in the expression makes values of any length, or a long constant is put beside each row.
fn may_be_long(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut is_long = false;
    let look = |part: &Arc<dyn PhysicalExpr>| {
        let makes_long_values = |function: &ScalarFunctionExpr| !is_short(function.return_type());
        is_long |= part.downcast_ref::<ScalarFunctionExpr>().is_some_and(makes_long_values)
            || part.downcast_ref::<Literal>().is_some_and(|constant| constant.value().size() >= CONSTANT_BYTES);
        Ok(if is_long { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    };
    // Looking fails nowhere.
    expr.apply(look).is_ok() && is_long
}

fn is_short(data_type: &DataType) -> bool {
    data_type.primitive_width().is_some() || matches!(data_type, DataType::Boolean | DataType::Null)
}

/// The plan, with a node of its own for the long values that its uppermost operator, an aggregation, makes of its rows.
///
/// # Errors
/// XX000 if the new plan is not valid, which would be a defect here.
pub(crate) fn computed_before(plan: Plan) -> Result<Plan> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(plan) };
    let is_given_rows =
        matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned);
    let is_plain = aggregate.limit_options().is_none() && aggregate.dynamic_expressions_produced().is_empty();
    if !is_given_rows || !is_plain {
        return Ok(plan);
    }
    let mut computed = Computed::beside(aggregate.input());
    let group = aggregate.group_expr();
    let groups = group.expr().iter().map(|(expr, name)| (computed.column(expr), name.clone())).collect();
    let mut functions = Vec::with_capacity(aggregate.aggr_expr().len());
    for function in aggregate.aggr_expr() {
        let arguments: Vec<_> = function.expressions().iter().map(|argument| computed.column(argument)).collect();
        functions.push((function, arguments));
    }
    if !computed.is_divisible() {
        return Ok(plan);
    }
    let input = computed.node(aggregate.input())?;
    let schema = input.schema();
    let functions = functions.into_iter().map(|(function, arguments)| of_columns(function, arguments, &input));
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let null_groups = group.null_expr().to_vec();
    let group = PhysicalGroupBy::new(groups, null_groups, group.groups().to_vec(), group.has_grouping_set());
    let filters = aggregate.filter_expr().to_vec();
    let same = AggregateExec::try_new(*aggregate.mode(), group, functions, filters, input, schema)?;
    Ok(Arc::new(same))
}

/// The function of other columns of the same values.
fn of_columns(
    function: &Arc<AggregateFunctionExpr>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    input: &Plan,
) -> Result<Arc<AggregateFunctionExpr>> {
    if arguments.iter().zip(function.expressions()).all(|(now, before)| now.eq(&before)) {
        return Ok(Arc::clone(function));
    }
    let same = AggregateExprBuilder::new(Arc::new(function.fun().clone()), arguments)
        .schema(input.schema())
        .alias(function.name())
        .order_by(function.order_bys().to_vec())
        .with_distinct(function.is_distinct())
        .with_reversed(function.is_reversed())
        .with_ignore_nulls(function.ignore_nulls());
    Ok(Arc::new(same.build()?))
}

/// Columns beside those of a plan.
struct Computed {
    columns: Vec<(Arc<dyn PhysicalExpr>, String)>,
    /// How many the plan has itself.
    own: usize,
}

impl Computed {
    fn beside(input: &Plan) -> Self {
        let schema = input.schema();
        let own = schema.fields().iter().enumerate().map(|(place, field)| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
            (column, field.name().clone())
        });
        let columns: Vec<_> = own.collect();
        Self { own: columns.len(), columns }
    }

    /// What stands for an expression: a column, if it makes long values.
    fn column(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        if !may_be_long(expr) {
            return Arc::clone(expr);
        }
        let known = self.columns.iter().position(|(column, _)| column.eq(expr));
        let place = known.unwrap_or_else(|| {
            self.columns.push((Arc::clone(expr), format!("computed {}", self.columns.len())));
            self.columns.len() - 1
        });
        Arc::new(Column::new(&self.columns[place].1, place))
    }

    fn is_divisible(&self) -> bool {
        can_be_divided(self.columns[self.own..].iter().map(|(expr, _)| expr))
    }

    fn node(self, input: &Plan) -> Result<Plan> {
        Ok(Arc::new(ProjectionExec::try_new(self.columns, Arc::clone(input))?))
    }
}

/// What each partition that is being run is given.
#[derive(Debug, Default)]
struct Shared {
    pieces: Mutex<HashMap<usize, Arc<Mutex<Pieces>>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// One of the two nodes.
#[derive(Debug)]
struct Divided {
    side: Side,
    shared: Arc<Shared>,
}

/// The rows that are to be given next.
#[derive(Debug)]
struct Pieces {
    next: VecDeque<RecordBatch>,
    /// What was given last, while it is not known what becomes of it.
    given: Option<RecordBatch>,
    rows_most: usize,
    /// `rows_most` is by what was made of others.
    is_measured: bool,
    /// How many did well since the length changed.
    well: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { next: VecDeque::new(), given: None, rows_most: FIRST_ROWS, is_measured: false, well: 0 }
    }
}

impl Pieces {
    /// The next piece, if there is one.
    fn give(&mut self) -> Option<RecordBatch> {
        let mut piece = self.next.pop_front()?;
        let rows = piece.num_rows();
        if rows > self.rows_most {
            self.next.push_front(piece.slice(self.rows_most, rows - self.rows_most));
            piece = piece.slice(0, self.rows_most);
        }
        self.given = Some(piece.clone());
        Some(piece)
    }

    /// What was given last was too much: it will be given again, in two pieces. False where it cannot be divided.
    fn divide(&mut self) -> bool {
        let Some(piece) = self.given.take().filter(|piece| piece.num_rows() > 1) else { return false };
        (self.rows_most, self.well) = (piece.num_rows() / 2, 0);
        self.next.push_front(piece);
        true
    }

    /// So much was made of what was given last.
    fn did_well(&mut self, made: &RecordBatch) {
        let columns = made.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or_default());
        let bytes: usize = columns.sum();
        let fitting = rows_of(bytes / made.num_rows().max(1));
        self.well += 1;
        if !self.is_measured && made.num_rows() > 0 {
            self.rows_most = fitting;
            (self.is_measured, self.well) = (true, 0);
        } else if bytes > 2 * BATCH_BYTES {
            (self.rows_most, self.well) = (fitting.min(self.rows_most), 0);
        } else if self.well >= PIECES_UNTIL_LONGER {
            (self.rows_most, self.well) = (self.rows_most.saturating_mul(2), 0);
        }
    }
}

fn locked(pieces: &Mutex<Pieces>) -> MutexGuard<'_, Pieces> {
    // Never left half changed.
    pieces.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Passing for Divided {
    fn name(&self) -> &'static str {
        "DividedExec"
    }

    fn begin(&self, input: &Plan, partition: usize, context: Arc<TaskContext>) -> Result<Batches> {
        let all = || self.shared.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        match self.side {
            Side::Above => {
                let pieces = Arc::<Mutex<Pieces>>::default();
                all().insert(partition, Arc::clone(&pieces));
                Ok(above(input.execute(partition, context)?.boxed(), pieces))
            }
            Side::Below => {
                let Some(pieces) = all().remove(&partition) else { return internal_err!("nobody divides batches") };
                Ok(below(input.execute(partition, context)?.boxed(), pieces))
            }
        }
    }
}

/// What the operator gives.
fn above(rows: Batches, pieces: Arc<Mutex<Pieces>>) -> Batches {
    let results = stream::unfold((rows, pieces), |(mut rows, pieces)| async move {
        loop {
            let next = rows.next().await?;
            match &next {
                Err(error) if is_too_much(error) && locked(&pieces).divide() => continue,
                Ok(batch) => locked(&pieces).did_well(batch),
                Err(_) => {}
            }
            return Some((next, (rows, pieces)));
        }
    });
    results.boxed()
}

/// What the operator is given.
fn below(rows: Batches, pieces: Arc<Mutex<Pieces>>) -> Batches {
    let given = stream::unfold((rows, pieces), |(mut rows, pieces)| async move {
        loop {
            let piece = locked(&pieces).give();
            if let Some(piece) = piece {
                return Some((Ok(piece), (rows, pieces)));
            }
            // An error from here on is none of the operator's.
            locked(&pieces).given = None;
            match rows.next().await? {
                Ok(batch) if batch.num_rows() == 0 => return Some((Ok(batch), (rows, pieces))),
                Ok(batch) => locked(&pieces).next.push_back(batch),
                failed => return Some((failed, (rows, pieces))),
            }
        }
    });
    given.boxed()
}

/// Whether fewer rows might do: they have more than a column takes, or than there is memory for.
fn is_too_much(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::External(error) => error
            .downcast_ref::<SqlError>()
            .is_some_and(|error| matches!(error.kind, ErrorKind::OutOfMemory | ErrorKind::LimitExceeded)),
        DataFusionError::ArrowError(error, _) => matches!(**error, ArrowError::OffsetOverflowError(_)),
        DataFusionError::Context(_, inner) => is_too_much(inner),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{Hash, Hasher};

    use arrow::array::{ArrayRef, AsArray, Int32Array, StringArray};
    use arrow::datatypes::Int32Type;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    };
    use datafusion::physical_expr::expressions::col;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// A text of each number, of at most so many rows, and none of one number.
    #[derive(Debug)]
    struct OfFew {
        rows: usize,
        refused: i32,
        signature: Signature,
    }

    impl PartialEq for OfFew {
        fn eq(&self, other: &Self) -> bool {
            self.rows == other.rows
        }
    }

    impl Eq for OfFew {}

    impl Hash for OfFew {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.rows.hash(state);
        }
    }

    impl ScalarUDFImpl for OfFew {
        fn name(&self) -> &'static str {
            "of_few"
        }

        fn signature(&self) -> &Signature {
            &self.signature
        }

        fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
            Ok(DataType::Utf8)
        }

        fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
            let numbers = args.args[0].to_array(args.number_rows)?;
            let numbers = numbers.as_primitive::<Int32Type>();
            if args.number_rows > self.rows || numbers.values().contains(&self.refused) {
                return Err(DataFusionError::External(SqlError::new(ErrorKind::LimitExceeded, "too many")));
            }
            let texts: StringArray = numbers.iter().map(|number| number.map(|number| number.to_string())).collect();
            Ok(ColumnarValue::Array(Arc::new(texts)))
        }
    }

    async fn given(rows: usize, refused: i32, numbers: std::ops::Range<i32>) -> Result<Vec<RecordBatch>> {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers));
        let batch = RecordBatch::try_from_iter([("n", numbers)])?;
        let schema = batch.schema();
        let input = MemorySourceConfig::try_new_exec(&[vec![batch.clone(), batch]], schema.clone(), None)?;
        let signature = Signature::any(1, Volatility::Immutable);
        let function = Arc::new(ScalarUDF::new_from_impl(OfFew { rows, refused, signature }));
        let options = Arc::new(SessionConfig::new().options().as_ref().clone());
        let text = Arc::new(ScalarFunctionExpr::try_new(function, vec![col("n", &schema)?], &schema, options)?);
        let text: Arc<dyn PhysicalExpr> = text;
        let projection: Plan = Arc::new(ProjectionExec::try_new([(text, "t".to_owned())], input)?);
        let divided = divided(&projection)?.unwrap();
        collect(divided, SessionContext::new().task_ctx()).await
    }

    #[tokio::test]
    async fn a_batch_of_which_there_would_be_too_much_is_divided() {
        let batches = given(10, -1, 0..100).await.unwrap();
        assert!(batches.len() > 20 && batches.iter().all(|batch| batch.num_rows() <= 10));
        let texts: Vec<String> = batches
            .iter()
            .flat_map(|batch| {
                batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(texts, (0..100).chain(0..100).map(|number: i32| number.to_string()).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_row_that_is_too_much_by_itself_is_an_error() {
        let error = given(usize::MAX, 77, 0..100).await.unwrap_err();
        assert!(is_too_much(&error), "{error}");
    }

    #[test]
    fn long_values_are_made_of_few_rows() {
        let texts = |length: usize| {
            let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(length); FIRST_ROWS]));
            RecordBatch::try_from_iter([("t", texts)]).unwrap()
        };
        let mut pieces = Pieces::default();
        pieces.did_well(&texts(10));
        assert!(pieces.rows_most > 100_000);
        pieces.did_well(&texts(100_000));
        assert!(pieces.rows_most < 100, "{}", pieces.rows_most);
    }

    #[test]
    fn pieces_become_longer_again() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let mut pieces = Pieces { rows_most: usize::MAX, is_measured: true, ..Pieces::default() };
        pieces.next.push_back(batch.clone());
        assert_eq!(pieces.give().unwrap().num_rows(), 1000);
        assert!(pieces.divide());
        assert_eq!(pieces.give().unwrap().num_rows(), 500);
        assert!(pieces.divide());
        for _ in 0..3 {
            assert_eq!(pieces.give().unwrap().num_rows(), 250);
        }
        (0..PIECES_UNTIL_LONGER).for_each(|_| pieces.did_well(&batch));
        assert_eq!((pieces.rows_most, pieces.give().unwrap().num_rows()), (500, 250));
        assert!(pieces.give().is_none());
    }
}
