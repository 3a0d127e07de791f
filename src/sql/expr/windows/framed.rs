//! An aggregate, or the value of one row, over a frame of which the engine does not know all.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::filter;
use arrow::datatypes::{FieldRef, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, PartitionEvaluator, Signature, Volatility, WindowUDFImpl};
use datafusion::physical_expr::PhysicalExpr;
use tablegate_types::error::{ErrorKind, SqlError};

use super::frames::{Bounds, Exclusion, Peers};

/// What is computed over the rows of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::expr) enum Of {
    Aggregate(Arc<AggregateUDF>),
    First,
    Last,
    /// The value of the row whose number is the second argument.
    Nth,
}

/// The arguments are those of the call, then the condition of FILTER, then the distances of bounds that are computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::expr) struct Framed {
    pub of: Of,
    pub is_filtered: bool,
    pub bounds: Option<Bounds>,
    pub exclusion: Exclusion,
    signature: Signature,
}

impl Framed {
    pub(in crate::expr) fn new(of: Of, is_filtered: bool, bounds: Option<Bounds>, exclusion: Exclusion) -> Self {
        Self { of, is_filtered, bounds, exclusion, signature: Signature::variadic_any(Volatility::Immutable) }
    }

    /// How many arguments the call itself has.
    fn own(&self, arguments: usize) -> usize {
        let others = usize::from(self.is_filtered) + self.bounds.as_ref().map_or(0, Bounds::distances);
        arguments.saturating_sub(others)
    }

    fn result_field(&self, fields: &[FieldRef], name: &str) -> Result<FieldRef> {
        let field = match &self.of {
            Of::Aggregate(aggregate) => aggregate.return_field(fields)?,
            Of::First | Of::Last | Of::Nth => match fields.first() {
                Some(field) => field.clone(),
                None => return internal_err!("{name} has no argument"),
            },
        };
        Ok(Arc::new(field.as_ref().clone().with_name(name).with_nullable(true)))
    }
}

impl WindowUDFImpl for Framed {
    fn name(&self) -> &str {
        match &self.of {
            Of::Aggregate(aggregate) => aggregate.name(),
            Of::First => "first_value",
            Of::Last => "last_value",
            Of::Nth => "nth_value",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let fields = args.input_fields();
        self.result_field(&fields[..self.own(fields.len())], args.name())
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let own = self.own(args.input_fields().len());
        let fields = args.input_fields()[..own].to_vec();
        Ok(Box::new(Evaluator {
            result: self.result_field(&fields, self.name())?,
            schema: Schema::new(fields.clone()),
            fields,
            exprs: args.input_exprs()[..own].to_vec(),
            arguments: args.input_fields().len(),
            function: self.clone(),
            row: 0,
            peers: None,
            running: None,
        }))
    }
}

/// The function over one partition, row by row.
#[derive(Debug)]
struct Evaluator {
    function: Framed,
    fields: Vec<FieldRef>,
    schema: Schema,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    result: FieldRef,
    /// Arguments of all kinds; what is sorted by is behind them.
    arguments: usize,
    row: usize,
    peers: Option<Peers>,
    running: Option<Running>,
}

/// An aggregate of the rows of one frame, which goes on when the next frame begins with them.
#[derive(Debug)]
struct Running {
    accumulator: Box<dyn Accumulator>,
    rows: Range<usize>,
}

impl PartitionEvaluator for Evaluator {
    fn uses_window_frame(&self) -> bool {
        true
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let (arguments, keys) = values.split_at(self.arguments);
        let (own, others) = arguments.split_at(self.fields.len());
        let (condition, distances) = others.split_at(usize::from(self.function.is_filtered));
        let peers = match &mut self.peers {
            Some(peers) => peers,
            none => none.insert(Peers::of(keys, keys.first().or(own.first()).map_or(range.end, |first| first.len()))?),
        };
        let frame = match &self.function.bounds {
            Some(bounds) => peers.frame(bounds, distances, row)?,
            None => range.clone(),
        };
        let pieces = peers.left_of(frame, self.function.exclusion, row);
        match self.function.of.clone() {
            Of::Aggregate(aggregate) => self.aggregate(&aggregate, own, condition.first(), &pieces),
            Of::First => value_at(&own[0], pieces.into_iter().flatten().next()),
            Of::Last => value_at(&own[0], pieces.into_iter().flatten().next_back()),
            Of::Nth => match nth(&own[1], row)? {
                Some(nth) => value_at(&own[0], pieces.into_iter().flatten().nth(nth)),
                None => ScalarValue::try_new_null(own[0].data_type()),
            },
        }
    }
}

impl Evaluator {
    fn aggregate(
        &mut self,
        aggregate: &AggregateUDF,
        values: &[ArrayRef],
        condition: Option<&ArrayRef>,
        pieces: &[Range<usize>],
    ) -> Result<ScalarValue> {
        let mut pieces = pieces.iter().filter(|piece| !piece.is_empty()).cloned();
        let first = pieces.next().unwrap_or(0..0);
        let mut running = match self.running.take() {
            Some(running) if continues(&running.rows, &first) => running,
            _ => Running { accumulator: self.accumulator(aggregate)?, rows: first.start..first.start },
        };
        add(running.accumulator.as_mut(), values, condition, running.rows.end..first.end)?;
        running.rows.end = first.end;
        let mut is_whole = true;
        for piece in pieces {
            is_whole = false;
            add(running.accumulator.as_mut(), values, condition, piece)?;
        }
        let result = running.accumulator.evaluate()?;
        self.running = is_whole.then_some(running);
        Ok(result)
    }

    fn accumulator(&self, aggregate: &AggregateUDF) -> Result<Box<dyn Accumulator>> {
        aggregate.accumulator(AccumulatorArgs {
            return_field: self.result.clone(),
            schema: &self.schema,
            ignore_nulls: false,
            order_bys: &[],
            is_reversed: false,
            name: self.result.name(),
            is_distinct: false,
            exprs: &self.exprs,
            expr_fields: &self.fields,
        })
    }
}

/// Whether a frame has the rows of another one and others behind them.
fn continues(before: &Range<usize>, now: &Range<usize>) -> bool {
    before.start == now.start && before.end <= now.end
}

/// Adds rows to an aggregate: those that fulfil the condition.
fn add(
    accumulator: &mut dyn Accumulator,
    values: &[ArrayRef],
    condition: Option<&ArrayRef>,
    rows: Range<usize>,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let taken = values.iter().map(|value| value.slice(rows.start, rows.len()));
    let taken: Vec<ArrayRef> = match condition {
        None => taken.collect(),
        Some(condition) => {
            let condition = condition.slice(rows.start, rows.len());
            taken.map(|value| filter(&value, condition.as_boolean())).collect::<Result<_, _>>()?
        }
    };
    accumulator.update_batch(&taken)
}

fn value_at(values: &ArrayRef, row: Option<usize>) -> Result<ScalarValue> {
    match row {
        Some(row) => ScalarValue::try_from_array(values, row),
        None => ScalarValue::try_new_null(values.data_type()),
    }
}

/// The number of the row that `nth_value` asks for, counted from 0.
///
/// # Errors
/// 22016 for one that is not positive.
fn nth(numbers: &ArrayRef, row: usize) -> Result<Option<usize>> {
    let numbers = numbers.as_primitive::<Int64Type>();
    if numbers.is_null(row) {
        return Ok(None);
    }
    match usize::try_from(numbers.value(row)).ok().and_then(|number| number.checked_sub(1)) {
        Some(number) => Ok(Some(number)),
        None => {
            let message = "argument of nth_value must be greater than zero";
            Err(DataFusionError::External(SqlError::new(ErrorKind::InvalidNthValue, message)))
        }
    }
}
