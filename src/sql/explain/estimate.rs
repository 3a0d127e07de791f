//! What a plan is expected to give and to cost, in PostgreSQL's units: reading one page of 8 KiB in order is 1.
//!
//! Costs say which of two plans is expected to take longer, and where; nothing is chosen by them.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use serde_json::{Value, json};

/// PostgreSQL's `cpu_tuple_cost` and `cpu_operator_cost`: a row, and an operator on one.
const ROW: f64 = 0.01;
const OPERATOR: f64 = 0.0025;
/// Bytes of a page, of which one is `seq_page_cost`.
const PAGE: f64 = 8192.0;
/// What PostgreSQL takes a value of a type without a fixed length to have, in bytes.
const VALUE: usize = 32;
/// Of so many rows one group is taken to come, and one row to be kept by a condition of which nothing is known.
const ROWS_OF_A_GROUP: f64 = 10.0;
const KEPT: f64 = 1.0 / 3.0;

/// How a node makes its rows, as far as its cost tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// It reads from a store.
    Reads,
    /// Each row is looked at when it comes.
    Passes,
    /// Rows that a condition keeps.
    Filters,
    /// All rows come before the first one goes.
    Gathers,
    /// The same, and they are sorted.
    Sorts,
    /// One row comes of all.
    MakesOne,
    /// A row comes of each group.
    MakesGroups,
    /// Rows of two inputs: the first is gathered before the second comes.
    JoinsHashed,
    /// Each row of one input meets each of the other.
    JoinsEach,
    /// It does something with the rows that are found, and gives none.
    Writes,
}

/// What is expected of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    /// Before the first row, and to the last one.
    pub startup: f64,
    pub total: f64,
    pub rows: f64,
    /// Bytes of a row.
    pub width: usize,
}

impl Estimate {
    pub(super) fn of(
        plan: &Arc<dyn ExecutionPlan>,
        statistics: &StatisticsContext,
        work: Work,
        inputs: &[Estimate],
    ) -> Self {
        let width = plan.schema().fields().iter().map(|field| width_of(field.data_type())).sum();
        let known = statistics.compute(plan.as_ref(), &StatisticsArgs::new()).ok();
        let known = known.and_then(|known| known.num_rows.get_value().copied());
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let known = known.map(|rows| rows as f64).or_else(|| fetched(plan));
        Self::made(work, inputs, known, width)
    }

    /// Of a node that is no operator's: what a change does with its rows, or the hash of a join.
    pub(super) fn above(work: Work, input: Estimate) -> Self {
        Self::made(work, &[input], None, input.width)
    }

    fn made(work: Work, inputs: &[Estimate], known: Option<f64>, width: usize) -> Self {
        let first = inputs.first().copied().unwrap_or_default();
        let below = inputs.iter().fold(0.0, |sum, input| sum + input.total);
        let rows_below = inputs.iter().fold(0.0, |sum, input| sum + input.rows);
        let most = inputs.iter().map(|input| input.rows).fold(0.0, f64::max);
        let rows = known.unwrap_or(match work {
            Work::Reads => 0.0,
            Work::Filters => (first.rows * KEPT).max(1.0),
            Work::MakesOne => 1.0,
            Work::MakesGroups => (first.rows / ROWS_OF_A_GROUP).max(1.0),
            Work::JoinsHashed | Work::JoinsEach => most,
            Work::Passes | Work::Gathers | Work::Sorts => rows_below,
            Work::Writes => 0.0,
        });
        let rows = if work == Work::MakesOne { 1.0 } else { rows };
        let given = rows * ROW;
        let (startup, total) = match work {
            Work::Reads => {
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let pages = (rows * width as f64 / PAGE).ceil().max(1.0);
                (0.0, pages + given)
            }
            Work::Writes => return Self { startup: first.startup, total: below, rows: 0.0, width: 0 },
            Work::Passes if inputs.is_empty() => (0.0, given),
            Work::Passes => (first.startup, below + rows_below.min(rows) * OPERATOR),
            Work::Filters => (first.startup, below + first.rows * OPERATOR),
            Work::Gathers => (below, below),
            Work::Sorts => {
                let sorted = below + first.rows * first.rows.max(2.0).log2() * 2.0 * OPERATOR;
                (sorted, sorted + rows * OPERATOR)
            }
            Work::MakesOne => (below + first.rows * OPERATOR, below + first.rows * OPERATOR + ROW),
            Work::MakesGroups => (below + first.rows * OPERATOR, below + first.rows * OPERATOR + given),
            Work::JoinsHashed => (first.total, below + rows_below * OPERATOR + given),
            Work::JoinsEach => {
                let pairs = inputs.iter().map(|input| input.rows.max(1.0)).product::<f64>();
                (first.startup, below + pairs * OPERATOR + given)
            }
        };
        Self { startup, total, rows, width: if work == Work::Gathers { first.width } else { width } }
    }

    /// `cost=0.00..1.01 rows=1 width=4`
    pub(super) fn text(&self) -> String {
        let Self { startup, total, rows, width } = self;
        format!("cost={startup:.2}..{total:.2} rows={:.0} width={width}", rows.ceil())
    }

    /// The same as programs get it.
    pub(super) fn properties(&self) -> [(&'static str, Value); 4] {
        let cents = |cost: f64| json!((cost * 100.0).round() / 100.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as large as it can be")]
        let rows = self.rows.ceil() as u64;
        [
            ("Startup Cost", cents(self.startup)),
            ("Total Cost", cents(self.total)),
            ("Plan Rows", json!(rows)),
            ("Plan Width", json!(self.width)),
        ]
    }
}

/// How many rows a limit lets through.
fn fetched(plan: &Arc<dyn ExecutionPlan>) -> Option<f64> {
    let fetch = match plan.downcast_ref::<GlobalLimitExec>() {
        Some(limit) => limit.fetch(),
        None => plan.downcast_ref::<LocalLimitExec>().map(LocalLimitExec::fetch),
    };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fetch.map(|rows| rows as f64)
}

fn width_of(of: &DataType) -> usize {
    match of {
        DataType::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or(VALUE),
        DataType::Struct(fields) => Schema::new(fields.clone()).fields().iter().map(|f| width_of(f.data_type())).sum(),
        DataType::Decimal128(..) => VALUE,
        other => other.primitive_width().unwrap_or(if *other == DataType::Boolean { 1 } else { VALUE }),
    }
}
