//! LIMIT, OFFSET and FETCH. Where the engine's LIMIT cannot say which rows are wanted, they are numbered in their order: WITH
//! TIES, and counts that are asked of a query.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Column, Result};
use datafusion::functions_window::expr_fn::{rank, row_number};
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprFunctionExt, Filter, Limit, LogicalPlan, Projection, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Sort, SortExpr, Volatility, when,
};
use datafusion::prelude::lit;
use tablegate_bind::BoundQuery;
use tablegate_bind::expr::{BoundExpr, ExprKind};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};
use tablegate_types::sql_type::SqlType;

use super::level::{Around, Level};
use super::{Lowering, columns_of};

/// Columns that no query can name.
const NUMBER: &str = "row#";
const RANK: &str = "rank#";

impl Lowering<'_> {
    /// The rows that are wanted of those that are sorted by these keys.
    pub(super) fn limited(&self, plan: LogicalPlan, order: &[SortExpr], level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let query = level.query;
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(plan);
        }
        // The engine keeps rows sorted below a limit, and not below what only skips some of them.
        let skips_alone = query.limit.is_none() && !order.is_empty();
        if query.with_ties || asks(query) || skips_alone {
            return self.numbered(plan, order, level);
        }
        let around = Around::new(self, level, plan.schema().clone());
        let count = |expr: &Option<BoundExpr>| expr.as_ref().map(|expr| around.expr(expr).map(Box::new)).transpose();
        let (skip, fetch) = (count(&query.offset)?, count(&query.limit)?);
        let plan = self.forms.node(LogicalPlan::Limit(Limit { skip, fetch, input: Arc::new(plan) }))?;
        let LogicalPlan::Limit(Limit { skip, fetch, input }) = plan else { return Ok(plan) };
        let (skip, fetch) = (later_refused(skip, "OFFSET"), later_refused(fetch, "LIMIT"));
        Ok(LogicalPlan::Limit(Limit { skip, fetch, input }))
    }

    fn numbered(&self, plan: LogicalPlan, order: &[SortExpr], level: &Level<'_>) -> SqlResult<LogicalPlan> {
        let query = level.query;
        let columns: Vec<Expr> = columns_of(&plan).collect();
        // Without an order all rows are of one rank, which nobody asks for.
        let calls = match order {
            [] => vec![Ok(row_number())],
            order => vec![row_number(), rank()].into_iter().map(|call| call.order_by(order.to_vec()).build()).collect(),
        };
        let around = Around::new(self, level, plan.schema().clone());
        let calls = calls.into_iter().map(|call| self.forms.window(call?, &around)).collect::<SqlResult<_>>()?;
        let (windows, computed) = self.over_windows(plan, calls)?;
        let computed = computed.into_iter().zip([NUMBER, RANK]).map(|(call, name)| call.alias(name));
        let shown = columns.iter().cloned().chain(computed).collect();
        let mut plan = LogicalPlan::Projection(Projection::try_new(shown, Arc::new(windows))?);
        let around = Around::new(self, level, plan.schema().clone());
        let column = |name: &str| Expr::Column(Column::from_name(name));
        let count = |expr: &BoundExpr, clause: &'static str| {
            let count = self.forms.cast(around.expr(expr)?, &SqlType::Int8, &around)?;
            let count = Expr::Cast(Cast::new(Box::new(count), DataType::Int64));
            SqlResult::Ok(NotNegative::of(count, clause))
        };
        let offset = query.offset.as_ref().map(|offset| count(offset, "OFFSET")).transpose()?;
        let mut conditions = Vec::new();
        if let Some(limit) = &query.limit {
            let limit = count(limit, "LIMIT")?;
            let counted = column(if query.with_ties { RANK } else { NUMBER });
            let counted = Expr::Cast(Cast::new(Box::new(counted), DataType::Int64));
            let behind = match offset.clone() {
                None => counted,
                Some(offset) => counted - or_none(offset)?,
            };
            // NULL is no limit.
            conditions.push(limit.clone().is_null().or(behind.lt_eq(limit)));
        }
        let number = || Expr::Cast(Cast::new(Box::new(column(NUMBER)), DataType::Int64));
        if let Some(offset) = offset {
            conditions.push(number().gt(or_none(offset)?));
        }
        if let Some(wanted) = conditions.into_iter().reduce(Expr::and) {
            plan = self.forms.node(LogicalPlan::Filter(Filter::try_new(wanted, Arc::new(plan))?))?;
        }
        let by_number = vec![column(NUMBER).sort(true, false)];
        plan = LogicalPlan::Sort(Sort { expr: by_number, input: Arc::new(plan), fetch: None });
        self.forms.node(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
    }
}

/// A count that is refused where it is negative.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NotNegative {
    clause: &'static str,
    signature: Signature,
}

impl NotNegative {
    fn of(count: Expr, clause: &'static str) -> Expr {
        let signature = Signature::exact(vec![DataType::Int64], Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { clause, signature }).call(vec![count])
    }
}

impl ScalarUDFImpl for NotNegative {
    fn name(&self) -> &str {
        self.clause
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let counts = args.args[0].to_array(args.number_rows)?;
        if counts.as_primitive::<Int64Type>().iter().flatten().any(|count| count < 0) {
            let kind = if self.clause == "LIMIT" { ErrorKind::InvalidLimit } else { ErrorKind::InvalidOffset };
            let refused = SqlError::new(kind, format!("{} must not be negative", self.clause));
            return Err(datafusion::error::DataFusionError::External(refused));
        }
        Ok(args.args[0].clone())
    }
}

/// A count of which it is not known yet whether it is negative.
fn later_refused(count: Option<Box<Expr>>, clause: &'static str) -> Option<Box<Expr>> {
    count.map(|count| match *count {
        Expr::Literal(..) => count,
        other => Box::new(NotNegative::of(other, clause)),
    })
}

fn or_none(count: Expr) -> Result<Expr> {
    when(count.clone().is_null(), lit(0_i64)).otherwise(count)
}

/// Whether a count is asked of a query, or is another one each time.
fn asks(query: &BoundQuery) -> bool {
    let mut counts = [&query.limit, &query.offset].into_iter().flatten();
    counts.any(|count| {
        count.any(&mut |part| match &part.kind {
            ExprKind::SubQuery { .. } => true,
            ExprKind::Call { function, .. } => function.volatility == b'v',
            _ => false,
        })
    })
}
