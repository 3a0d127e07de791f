//! LIMIT and OFFSET, which may be parameters.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Expr, Limit};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tablegate_types::error::SqlResult;

use super::outputs::{Run, in_run};

/// Which of the rows are wanted, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Cut {
    skip: Option<Expr>,
    fetch: Option<Expr>,
    /// How many rows there are to skip and to fetch, as the optimizer has it where it knows that.
    most: Option<usize>,
}

impl Cut {
    /// This limit, which is the only one; `None` where there is another.
    pub(super) fn below(self, limit: &Limit) -> Option<Self> {
        if self.skip.is_some() || self.fetch.is_some() {
            return None;
        }
        Some(Self { skip: limit.skip.as_deref().cloned(), fetch: limit.fetch.as_deref().cloned(), ..self })
    }

    pub(super) fn needs_at_most(&mut self, rows: Option<usize>) {
        self.most = self.most.into_iter().chain(rows).min();
    }

    /// Whether it leaves a row that is the only one, whatever the parameters are.
    pub(super) fn leaves_one(&self) -> bool {
        let is_positive = |fetch: &Expr| matches!(fetch, Expr::Literal(ScalarValue::Int64(Some(1..)), _));
        self.skip.is_none() && self.fetch.as_ref().is_none_or(is_positive) && self.most != Some(0)
    }

    /// What it is in a run; `None` for counts that are not known before.
    ///
    /// # Errors
    /// 2201W and 2201X for negative ones.
    pub(super) fn in_run(&self, run: &Run<'_>) -> SqlResult<Option<RunCut>> {
        let (Some(skip), Some(fetch)) = (count(self.skip.as_ref(), run)?, count(self.fetch.as_ref(), run)?) else {
            return Ok(None);
        };
        Ok(Some(RunCut { skip: skip.unwrap_or(0), fetch, most: self.most }))
    }
}

/// A count, which there may be none of; outer `None` for one that is not known here.
#[expect(clippy::option_option, reason = "two different absences, told apart at the only caller")]
fn count(expr: Option<&Expr>, run: &Run<'_>) -> SqlResult<Option<Option<usize>>> {
    let Some(expr) = expr else { return Ok(Some(None)) };
    let computed;
    let count = match expr {
        Expr::Literal(..) => expr,
        other => {
            computed = in_run(other, &Arc::new(DFSchema::empty()), run)?;
            &computed
        }
    };
    Ok(match count {
        Expr::Literal(ScalarValue::Int64(None), _) => Some(None),
        Expr::Literal(ScalarValue::Int64(Some(count)), _) => usize::try_from(*count).ok().map(Some),
        _ => None,
    })
}

/// The same in one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunCut {
    skip: usize,
    fetch: Option<usize>,
    most: Option<usize>,
}

impl RunCut {
    /// How many rows are looked at.
    pub(super) fn needed(&self) -> Option<usize> {
        self.most.into_iter().chain(self.fetch.map(|fetch| fetch.saturating_add(self.skip))).min()
    }

    /// The rows that it leaves.
    pub(super) fn of(self, rows: BoxStream<'static, Result<RecordBatch>>) -> BoxStream<'static, Result<RecordBatch>> {
        if self.skip == 0 && self.fetch.is_none() && self.most.is_none() {
            return rows;
        }
        let mut left = self;
        let rows = rows.map_ok(move |batch| left.take_of(&batch));
        rows.try_filter(|batch| futures::future::ready(batch.num_rows() > 0)).boxed()
    }

    /// The rows of a batch that it leaves; from then on it is about those behind them.
    pub(super) fn take_of(&mut self, rows: &RecordBatch) -> RecordBatch {
        let skipped = self.skip.min(rows.num_rows());
        let left = self.most.into_iter().map(|most| most.saturating_sub(self.skip)).chain(self.fetch).min();
        let taken = left.unwrap_or(usize::MAX).min(rows.num_rows() - skipped);
        self.skip -= skipped;
        self.most = self.most.map(|most| most.saturating_sub(skipped + taken));
        self.fetch = self.fetch.map(|fetch| fetch - taken);
        rows.slice(skipped, taken)
    }
}
